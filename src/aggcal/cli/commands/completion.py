"""``aggcal completion``: scripts that let a shell complete commands, options, choices and files."""

from __future__ import annotations

import argparse

from aggcal.cli.arguments import FILES, FOLDER, Parser, commands_of
from aggcal.cli.commands import COMMANDS
from aggcal.cli.options.common import add_json, print_json

_SHELLS = ("bash", "zsh", "fish")


def add(command: Parser) -> None:
    """Add its options."""
    command.set_defaults(call=completion)
    command.describe(
        "The script completes commands, options, the values of options and file names. For bash, "
        "write it to ~/.local/share/bash-completion/completions/aggcal; for zsh, to a file _aggcal "
        "in a folder of $fpath; for fish, to ~/.config/fish/completions/aggcal.fish."
    )
    command.add_argument(
        "shell",
        metavar="SHELL",
        choices=_SHELLS,
        help=f"{', '.join(_SHELLS[:-1])} or {_SHELLS[-1]}",
    )
    add_json(command, "the script")


def completion(options: argparse.Namespace) -> int:
    """Print the script."""
    text = script(options.whole(), options.shell)
    if options.json:
        print_json({"shell": options.shell, "script": text})
    else:
        print(text, end="")
    return 0


def script(whole: argparse.ArgumentParser, shell: str) -> str:
    """Return the completion script of a parser for a shell."""
    import shtab

    for name, command in commands_of(whole).items():
        command.description = COMMANDS[name]  # shells show it beside the name
        for action in command._actions:  # noqa: SLF001  # argparse has no public list
            if action.metavar in FILES:
                only = action.metavar == FOLDER
                action.complete = shtab.DIRECTORY if only else shtab.FILE  # type: ignore[attr-defined]
    return f"{shtab.complete(whole, shell).rstrip()}\n"
