"""The manual page ``aggcal.1`` as roff, and the scripts of shells: every command and option."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from aggcal._version import __version__
from aggcal.cli.commands import COMMANDS
from aggcal.cli.console import print_json
from aggcal.cli.parser import DESCRIPTION, EXIT_CODES, parser
from aggcal.cli.table import FILES, FOLDER, Command, Option

_ENVIRONMENT = {
    "AGGCAL_DATA": "Folder in which the real datasets are looked for first.",
    "AGGCAL_MIRROR": "Server that datasets are downloaded from instead of their public source.",
}
_FILES = {
    "aggcal.toml": "Study file of the current folder; 'aggcal init' writes it.",
}


def page() -> str:
    r"""Return the manual page.

    Examples
    --------
    >>> print(page().splitlines()[3])
    aggcal \- aggregate judgments, then calibrate scores
    """
    return "\n".join(_lines()) + "\n"


def completion(options: argparse.Namespace) -> int:
    """Print the completion script of a shell."""
    text = script(options.shell)
    if options.json:
        print_json({"shell": options.shell, "script": text})
    else:
        print(text, end="")
    return 0


def script(shell: str) -> str:
    """Return the script that lets a shell complete commands, options, choices and files."""
    import shtab

    whole = parser()
    (commands,) = (a for a in whole._actions if isinstance(a, argparse._SubParsersAction))  # noqa: SLF001
    for name, command in commands.choices.items():
        command.description = COMMANDS[name].line  # shells show it beside the name
        for action in command._actions:  # noqa: SLF001  # argparse has no public list
            if action.metavar in FILES:
                action.complete = shtab.DIRECTORY if action.metavar == FOLDER else shtab.FILE
    return f"{shtab.complete(whole, shell).rstrip()}\n"


def _lines() -> Iterator[str]:
    # Without a date: the same source gives the same page.
    yield f'.TH AGGCAL 1 "" "aggcal {__version__}" "User Commands"'
    yield ".ad l"  # long names would be torn apart
    yield from (".SH NAME", r"aggcal \- aggregate judgments, then calibrate scores")
    yield from (".SH SYNOPSIS", ".B aggcal", r".I COMMAND\/", r"[\fIoption\fR ...]")
    yield from (".SH DESCRIPTION", _text(DESCRIPTION))
    yield from (".PP", "Data go to files or standard output; messages go to standard error.")
    yield ".SH COMMANDS"
    for command in COMMANDS.values():
        yield from _command(command)
    yield ".SH EXIT STATUS"
    for code, meaning in EXIT_CODES.items():
        yield from _item(rf"\fB{code}\fR", f"{meaning[0].upper()}{meaning[1:]}.")
    yield ".SH ENVIRONMENT"
    for name, meaning in _ENVIRONMENT.items():
        yield from _item(rf"\fB{name}\fR", meaning)
    yield ".SH FILES"
    for name, meaning in _FILES.items():
        yield from _item(rf"\fI{name}\fR", meaning)


def _command(command: Command) -> Iterator[str]:
    yield f'.SS "aggcal {command.name}"'
    yield from (_text(command.description), ".PP", ".nf", _text(command.usage), ".fi")
    if command.about:
        yield from (".PP", _text(command.about))
    yield from (".PP", "Example:", ".PP", ".nf", ".RS", _text(command.example), ".RE", ".fi")
    for heading, _, options in command.sections():
        if options:
            yield from (".PP", rf"\fB{_text(heading).capitalize()}\fR")
        for option in options:
            yield from _item(_called(option), option.described)


def _called(option: Option) -> str:
    """Name an option with what it takes, as in the help."""
    names = ", ".join(rf"\fB{_text(name)}\fR" for name in option.names)
    return " ".join(filter(None, (names, option.shown and rf"\fI{_text(option.shown)}\fR")))


def _item(term: str, text: str) -> Iterator[str]:
    yield from (".TP", term, _text(text))


def _text(text: str) -> str:
    r"""Write a text so that roff takes nothing in it for a command.

    Examples
    --------
    >>> print(_text("-o DIR: a\\b"), _text(".csv"), _text("it's"), _text("±"))
    \-o DIR: a\eb \&.csv it\(aqs \[u00B1]
    """
    safe = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")
    safe = re.sub(r"[^\x00-\x7f]", lambda found: rf"\[u{ord(found[0]):04X}]", safe)
    return re.sub(r"(?m)^(?=\.)", r"\\&", safe)
