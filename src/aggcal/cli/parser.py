"""The parser of the whole command line."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from importlib import import_module

from aggcal._version import __version__
from aggcal.cli.arguments import EXIT_CODES, Formatter, Parser, commands_of
from aggcal.cli.commands import COMMANDS, EXAMPLES
from aggcal.cli.study import STUDY_COMMANDS
from aggcal.cli.study.defaults import Defaults, study_path

_STUDY = "study file to take options from, instead of aggcal.toml in this folder; none: no file"


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; what comes back has the function to ``call`` with it.

    Examples
    --------
    >>> parse(["run", "judgments.csv", "scores.csv", "-o", "out"]).method
    'hra-g'
    """
    if not words:
        words = ["--help"]  # without arguments, show what there is
    # The file of a command that is not even named need not be imported; and where one comes first,
    # the others need no parsers, which take longer to make than the words to parse.
    named = [name for name in COMMANDS if name in words]
    listed = words[:1] if words[0] in COMMANDS else COMMANDS
    defaults = None
    command = next((word for word in words if not word.startswith("-")), "")
    if command in STUDY_COMMANDS and not {"-h", "--help"} & set(words):
        path = study_path(words)
        if path is None:
            whole = parser(named, listed)
        else:
            whole = parser({*named, *STUDY_COMMANDS})
            of = commands_of(whole)
            defaults = Defaults(path, command, {name: of[name] for name in STUDY_COMMANDS})
    else:
        whole = parser(named, listed)
    found = whole.parse_args(words)
    if "call" not in found:
        whole.error("no command given")
    found.words = list(words)
    if getattr(found, "study", None) and not any(word.startswith("--study") for word in words):
        whole.error("--study must be written in full")
    if defaults is not None:
        defaults.fill(found, words)
    return found


def parser(
    complete: Collection[str] = COMMANDS, listed: Collection[str] = COMMANDS
) -> argparse.ArgumentParser:
    """Return the parser, in which some commands or all are listed and know what they take.

    Examples
    --------
    >>> parser().prog
    'aggcal'
    """
    whole = Parser(
        prog="aggcal",
        formatter_class=Formatter,
        description="Aggregate, then calibrate: turn many fallible judgments and one imperfect "
        "model into scores you can stand behind.",
        epilog="Start with 'aggcal demo'; 'aggcal COMMAND --help' explains a command. Exit codes: "
        + "; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items())
        + ".",
    )
    whole.example = "aggcal run judgments.csv scores.csv -o results"
    whole.add_argument("--version", action="version", version=f"aggcal {__version__}")
    commands = whole.add_subparsers(
        dest="command",
        metavar="COMMAND",
        title="commands",
        required=False,  # or a misspelt option would be reported as a missing command
        parser_class=Parser,
    )
    for name, line in COMMANDS.items():
        if name not in listed:
            continue
        command = commands.add_parser(
            name,
            help=line,
            description=f"{line[0].upper()}{line[1:]}.",
            formatter_class=Formatter,
        )
        command.example = EXAMPLES[name]
        command._positionals.title = "arguments"  # noqa: SLF001
        command.set_defaults(whole=parser)
        command.add_argument(
            "-q",
            "--quiet",
            action="store_true",
            help="no progress and no notes; errors and warnings are still shown",
        )
        if name in STUDY_COMMANDS:
            command.hint = "describe the study once with 'aggcal init'"
            if name == "run":
                command.hint += ", or rank without scores with 'aggcal aggregate'"
            command.add_argument("--study", metavar="FILE", help=_STUDY)
        if name in complete:
            import_module(f"aggcal.cli.commands.{name}").add(command)
    return whole
