"""How a command takes arguments: its help, errors in one sentence, defaults worth showing."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from typing import Any

from aggcal.errors import did_you_mean, printable
from aggcal.registry import BRIDGES

FOLDER = "DIR"
FILES = {"JUDGMENTS", "SCORES", "ITEMS", "CONSENSUS", "TRUTH", "IN", "OUT", "FILE", FOLDER}
"""What the names of files are called in the help: a file may have any name."""
EXIT_CODES = {
    0: "success",
    1: "internal error, or problems found by 'aggcal check --strict'",
    2: "bad input or usage",
    129: "interrupted because the terminal was closed (SIGHUP)",
    130: "interrupted by Ctrl-C (SIGINT)",
    143: "terminated (SIGTERM)",
}

_REQUIRED = "the following arguments are required: "


_BELOW_ZERO = re.compile(r"-\d+(?::|\.\.)\S+").fullmatch
"""A scale that begins below 0, which argparse would take for an option."""


def _joined(words: Sequence[str]) -> list[str]:
    """Join an option with a scale after it that begins with a minus sign; end --bridge.

    Examples
    --------
    >>> _joined(["votes.csv", "--strength-scale", "-3:3", "--by", "topic"])
    ['votes.csv', '--strength-scale=-3:3', '--by', 'topic']
    >>> _joined(["--bridge", "votes.csv"]), _joined(["votes.csv", "--bridge", "camps"])
    (['--bridge=axis', 'votes.csv'], ['votes.csv', '--bridge', 'camps'])
    """
    found: list[str] = []
    for word in words:
        if found and found[-1] == "--bridge" and not _meant_for_bridge(word):
            found[-1] += f"={BRIDGES[0]}"  # else a file after it would be taken for its value
        if found and found[-1].startswith("--") and _BELOW_ZERO(word):
            found[-1] += f"={word}"
        else:
            found.append(word)
    return found


def _meant_for_bridge(word: str) -> bool:
    """Whether a word after --bridge says how, perhaps misspelled, and is no file."""
    near = word in BRIDGES or bool(did_you_mean(word, BRIDGES))
    return near and (word in BRIDGES or not os.path.exists(word))  # noqa: PTH110


class Parser(argparse.ArgumentParser):
    """Errors in one sentence, without the usage in front of it."""

    hint = ""
    """What else to do where something that must be given is missing."""
    example = ""
    """How it is called."""
    more = ""
    """What else is to be said about it."""

    def describe(self, more: str) -> None:
        """Say more about a command than the line that the list of commands has for it."""
        self.more = more

    def format_help(self) -> str:
        """Write the help: what it does, an example, how it is called, then every option."""
        formatter = self._get_formatter()
        formatter.add_text(self.description)
        shown = formatter.format_help()
        if self.example:
            shown += f"\nExample:\n  {self.example}\n"
        shown += f"\nUsage:\n  {usage_of(self)}\n"
        rest = self._get_formatter()
        rest.add_text(self.more)
        for group in self._action_groups:
            rest.start_section(f"{str(group.title)[:1].upper()}{str(group.title)[1:]}")
            rest.add_text(group.description)
            rest.add_arguments(group._group_actions)  # noqa: SLF001
            rest.end_section()
        rest.add_text(self.epilog)
        return f"{shown}\n{rest.format_help()}"

    def error(self, message: str) -> None:  # type: ignore[override]  # exits, as its parent does
        """Say what is wrong and leave."""
        missing = message.removeprefix(_REQUIRED)
        if missing != message:
            what = "them" if "," in missing else "it"
            hint = self.hint.replace("{it}", what)
            message = f"{missing} missing; give {what}" + (f", or {hint}" if hint else "")
        said = f"aggcal: error: {message.rstrip('.')}; see '{self.prog} --help'."
        self.exit(2, f"{printable(said)}\n")

    def parse_known_args(  # type: ignore[override]  # the stricter half of its parent's signature
        self, args: Sequence[str], namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Refuse what is left over here, where the command's own options are known."""
        found, rest = super().parse_known_args(_joined(args), namespace)
        for action in self._actions:
            value = getattr(found, action.dest, None)
            texts = value if isinstance(value, list) else [value]
            if action.metavar not in FILES and any(map(_is_not_text, texts)):
                self.error(f"the value of {_called(action)} is not UTF-8 text")
        if rest:
            known = [option for action in self._actions for option in action.option_strings]
            hint = did_you_mean(rest[0].split("=")[0], known)
            if "--judgments" in known and os.path.exists(rest[0]):  # noqa: PTH110
                hint = f" (further judgments: --judgments {rest[0]})"
            elif not rest[0].startswith("-"):
                hint = " (put a value with spaces in quotation marks)"
            self.error(f"{' '.join(rest)} is not recognised{hint}")
        return found, rest

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Refuse a word that is no number where one is needed."""
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError:
            kind = {int: "a whole number", float: "a number"}.get(action.type)  # type: ignore[call-overload]
            if kind is None:
                raise
            said = f"{_called(action)} '{arg_string}' is not {kind}"
            raise argparse.ArgumentError(None, said) from None

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value that is none of the choices, and name the nearest."""
        if action.choices is None or value in action.choices:
            return
        name = "command" if action.metavar == "COMMAND" else _called(action)
        raise argparse.ArgumentError(
            None,
            f"{name} '{value}' is unknown{did_you_mean(value, action.choices)}; choose "
            f"{', '.join(map(str, action.choices))}",
        )


def usage_of(parser: argparse.ArgumentParser) -> str:
    """Write how a command is called, with what must be given; all else is options.

    Examples
    --------
    >>> command = Parser(prog="aggcal run")
    >>> _ = command.add_argument("judgments", metavar="JUDGMENTS")
    >>> _ = command.add_argument("-o", "--output", metavar="DIR", required=True)
    >>> usage_of(command)
    'aggcal run JUDGMENTS -o DIR [options]'
    """
    words = [parser.prog]
    for action in parser._actions:  # noqa: SLF001  # argparse has no public list
        if action.option_strings:
            if action.required:
                words.append(f"{action.option_strings[0]} {action.metavar}")
            continue
        name = str(action.metavar or action.dest)
        several = f"{name} ..." if action.nargs in ("+", "*") else name
        words.append(f"[{several}]" if action.nargs in ("?", "*") else several)
    return " ".join([*words, "[options]"])


def commands_of(whole: argparse.ArgumentParser) -> dict[str, Parser]:
    """Return the parsers of the commands by name.

    Examples
    --------
    >>> whole = Parser()
    >>> _ = whole.add_subparsers(parser_class=Parser).add_parser("run")
    >>> list(commands_of(whole))
    ['run']
    """
    (found,) = (a for a in whole._actions if isinstance(a, argparse._SubParsersAction))  # noqa: SLF001
    return dict(found.choices)


def _called(action: argparse.Action) -> str:
    return "/".join(action.option_strings) or str(action.metavar or action.dest)


def _is_not_text(value: object) -> bool:
    """Whether a word holds bytes that are not UTF-8, which Python keeps as half characters."""
    return isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value)


class Formatter(argparse.HelpFormatter):
    """Shows a default where there is one."""

    def _format_action(self, action: argparse.Action) -> str:
        # The commands stand in a section of their own: they need no heading and no indentation.
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            return "".join(map(self._format_action, action._get_subactions()))  # noqa: SLF001
        return super()._format_action(action)

    def _get_help_string(self, action: argparse.Action) -> str | None:
        # By identity: 0 equals False, and is worth showing.
        default = action.default
        if any(default is nothing for nothing in (None, False, argparse.SUPPRESS)) or default == []:
            return action.help
        return f"{action.help} (default: %(default)s)"
