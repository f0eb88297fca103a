"""The manual page ``aggcal.1``: every command and option, from the parser, as roff."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from aggcal._version import __version__
from aggcal.cli.arguments import EXIT_CODES, Parser, commands_of, usage_of

_ENVIRONMENT = {
    "AGGCAL_DATA": "Folder in which the real datasets are looked for first.",
    "AGGCAL_MIRROR": "Server that datasets are downloaded from instead of their public source.",
}
_FILES = {
    "aggcal.toml": "Study file of the current folder; 'aggcal init' writes it.",
}


def page(whole: argparse.ArgumentParser) -> str:
    r"""Return the page for a parser.

    Examples
    --------
    >>> from aggcal.cli.parser import parser
    >>> print(page(parser()).splitlines()[3])
    aggcal \- aggregate judgments, then calibrate scores
    """
    return "\n".join(_lines(whole)) + "\n"


def _lines(whole: argparse.ArgumentParser) -> Iterator[str]:
    # Without a date: the same source gives the same page.
    yield f'.TH AGGCAL 1 "" "aggcal {__version__}" "User Commands"'
    yield ".ad l"  # long names would be torn apart
    yield from (".SH NAME", r"aggcal \- aggregate judgments, then calibrate scores")
    yield from (".SH SYNOPSIS", ".B aggcal", r".I COMMAND\/", r"[\fIoption\fR ...]")
    yield from (".SH DESCRIPTION", _text(whole.description or ""))
    yield from (".PP", "Data go to files or standard output; messages go to standard error.")
    yield ".SH COMMANDS"
    for name, command in commands_of(whole).items():
        yield from _command(name, command)
    yield ".SH EXIT STATUS"
    for code, meaning in EXIT_CODES.items():
        yield from _item(rf"\fB{code}\fR", f"{meaning[0].upper()}{meaning[1:]}.")
    yield ".SH ENVIRONMENT"
    for name, meaning in _ENVIRONMENT.items():
        yield from _item(rf"\fB{name}\fR", meaning)
    yield ".SH FILES"
    for name, meaning in _FILES.items():
        yield from _item(rf"\fI{name}\fR", meaning)


def _command(name: str, command: Parser) -> Iterator[str]:
    yield f'.SS "aggcal {name}"'
    yield from (_text(command.description or ""), ".PP", ".nf")
    yield from (_text(usage_of(command)), ".fi")
    if command.more:
        yield from (".PP", _text(command.more))
    yield from (".PP", "Example:", ".PP", ".nf", ".RS", _text(command.example), ".RE", ".fi")
    formatter = command._get_formatter()  # noqa: SLF001  # argparse has no public way to it
    for group in command._action_groups:  # noqa: SLF001
        shown = [a for a in group._group_actions if a.help is not None]  # noqa: SLF001
        if shown:
            yield from (".PP", rf"\fB{_text(str(group.title)).capitalize()}\fR")
        for action in shown:
            yield from _item(_called(action), formatter._expand_help(action))  # noqa: SLF001


def _called(action: argparse.Action) -> str:
    """Name an option with what it takes, as in the help."""
    value = "" if action.nargs == 0 else str(action.metavar or "")
    if not value and action.nargs != 0:
        value = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest
        value = value if action.choices else value.upper()
    if not action.option_strings:
        return rf"\fI{_text(value)}\fR"
    names = ", ".join(rf"\fB{_text(name)}\fR" for name in action.option_strings)
    return rf"{names} \fI{_text(value)}\fR" if value else names


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
