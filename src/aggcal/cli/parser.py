"""The parser of a command line, made from the table; its errors are one sentence."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from aggcal._version import __version__
from aggcal.cli.commands import COMMANDS
from aggcal.cli.study import Setting, Study, study_path
from aggcal.cli.table import FILES, HELP, HELP_ALL, Command, Option
from aggcal.errors import PYTHON_ONLY, did_you_mean, keyword, printable

DESCRIPTION = (
    "Aggregate, then calibrate: turn many fallible judgments and one imperfect model into scores "
    "you can stand behind."
)
EXIT_CODES = {
    0: "success",
    1: "internal error, or problems found by 'aggcal check --strict'",
    2: "bad input or usage",
    129: "interrupted because the terminal was closed (SIGHUP)",
    130: "interrupted by Ctrl-C (SIGINT)",
    143: "terminated (SIGTERM)",
}
_HINT = "describe the study once with 'aggcal init'"
_REQUIRED = "the following arguments are required: "
_BELOW_ZERO = re.compile(r"-[\d.]+(?:[:,=]|\.\.)\S+").fullmatch
"""Numbers of which the first is below 0, which argparse would take for an option."""


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Parse a command line: the options of a command, its name and the words that were typed.

    Examples
    --------
    >>> parse(["run", "judgments.csv", "scores.csv", "-o", "out"]).method
    'hra-g'
    """
    words = list(words) or ["--help"]
    if words[0] not in COMMANDS:
        whole = parser(complete=words)
        found = whole.parse_args(words)
        if found.command is None:
            whole.error("no command given")
        found.words = words
        return found
    command, settings, path = COMMANDS[words[0]], dict[str, Setting](), None
    if command.study and not {"-h", "--help", "--help-all"} & set(words):
        path = study_path(words)
        if path is not None:
            settings = Study.read(path).settings(command)
    own = _parser_of(command, settings)
    if path is not None:
        own.hint = f"write {{it}} into {path}"
    found = own.parse_args(words[1:])
    found.words = words
    if getattr(found, "study", None) and not any(word.startswith("--study") for word in words):
        own.error("--study must be written in full")
    if path is not None:
        Setting.fill(settings, found, path)
    return found


def parser(complete: Collection[str] = COMMANDS) -> Parser:
    """Return the parser of the whole command line, in which these commands know what they take.

    Examples
    --------
    >>> parser().prog
    'aggcal'
    """
    whole = Parser(
        prog="aggcal",
        formatter_class=Formatter,
        description=DESCRIPTION,
        epilog="Start with 'aggcal demo'; 'aggcal COMMAND --help' explains a command. Exit codes: "
        + "; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items())
        + ".",
    )
    whole.usage_line = "aggcal COMMAND [options]"
    whole.example = "aggcal run judgments.csv scores.csv -o results"
    whole.add_argument("--version", action="version", version=f"aggcal {__version__}")
    commands = whole.add_subparsers(
        dest="command",
        metavar="COMMAND",
        title="commands",
        required=False,  # or a misspelt option would be reported as a missing command
        parser_class=Parser,
    )
    for name, command in COMMANDS.items():
        own = commands.add_parser(
            name, help=command.line, description=command.description, formatter_class=Formatter
        )
        if name in complete:
            own.take(command, {})
    return whole


def _parser_of(command: Command, settings: Mapping[str, Setting]) -> Parser:
    own = Parser(
        prog=f"aggcal {command.name}", description=command.description, formatter_class=Formatter
    )
    own.take(command, settings)
    return own


def parse_as(command: str, words: Sequence[str]) -> argparse.Namespace:
    """Parse the words of one command, without its name and without a study file.

    Examples
    --------
    >>> parse_as("check", ["votes.csv"]).judgments
    'votes.csv'
    """
    found = _parser_of(COMMANDS[command], {}).parse_args(words)
    found.words = [command, *words]
    return found


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence, without the usage in front of it."""

    hint = ""
    """What else to do where something that must be given is missing."""
    usage_line = example = about = ""
    rows: Mapping[str, Option] = {}
    brief: Collection[str] | None = None
    """What of it the first screen of the help shows; None for all."""

    def take(self, command: Command, settings: Mapping[str, Setting]) -> None:
        """Declare what a command takes; what a study file sets may be left out."""
        self.usage_line, self.example, self.about = command.usage, command.example, command.about
        self.hint = _HINT if command.study else ""
        self.set_defaults(command=command.name)
        self.rows = {option.dest: option for option in command.options}
        self.brief = command.brief
        groups: list[Any] = [self._positionals, self._optionals]
        for heading, about, options in command.sections():
            group = groups.pop(0) if groups else self.add_argument_group(heading, about or None)
            group.title = heading
            for option in options:
                if option is HELP_ALL:
                    group.add_argument(
                        *option.names, action=_HelpAll, nargs=0, help=option.help, dest=option.dest
                    )
                elif option is not HELP:
                    (option.unset() if option.dest in settings else option).add_to(group)

    def format_help(self) -> str:
        """Write the help: what it does, an example, how it is called, then every option."""
        formatter = self._get_formatter()
        formatter.add_text(self.description)
        shown = f"{formatter.format_help()}\nExample:\n  {self.example}\n"
        shown += f"\nUsage:\n  {self.usage_line}\n"
        rest = self._get_formatter()
        rest.add_text(self.about)
        for group in self._action_groups:
            shown_of = [a for a in group._group_actions if not self._left_out(a)]  # noqa: SLF001
            rest.start_section(f"{str(group.title)[:1].upper()}{str(group.title)[1:]}")
            rest.add_text(group.description if shown_of else None)
            rest.add_arguments(shown_of)
            rest.end_section()
        rest.add_text(self.epilog)
        return f"{shown}\n{rest.format_help()}"

    def _left_out(self, action: argparse.Action) -> bool:
        """Whether only the whole help shows it."""
        if self.brief is None or not action.option_strings:
            return False
        return action.option_strings[-1].lstrip("-") not in self.brief

    def error(self, message: str) -> None:  # type: ignore[override]  # exits, as its parent does
        """Say what is wrong and leave."""
        missing = message.removeprefix(_REQUIRED)
        known = [option for action in self._actions for option in action.option_strings]
        called = (word.partition("=")[0] for word in self.given if word.startswith("--"))
        wrong = next((w for w in called if not any(o.startswith(w) for o in known)), None)
        if missing != message and wrong is not None:
            message = f"{wrong} is not recognised{did_you_mean(wrong, known)}"
        elif missing != message:
            what = "them" if "," in missing else "it"
            hint = self.hint.replace("{it}", what)
            message = f"{missing} missing; give {what}" + (f", or {hint}" if hint else "")
        message = re.sub(r"^argument (-\S+): expected .*", r"\1 needs a value", message)
        said = f"aggcal: error: {message.rstrip('.')}; see '{self.prog} --help'."
        self.exit(2, f"{printable(said)}\n")

    def parse_known_args(  # type: ignore[override]  # the stricter half of its parent's signature
        self, args: Sequence[str], namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Refuse what is left over here, where the command's own options are known."""
        self.given = args
        found, rest = super().parse_known_args(_joined(args), namespace)
        for action in self._actions:
            value = getattr(found, action.dest, None)
            texts = value if isinstance(value, list) else [value]
            if action.metavar not in FILES and any(map(_is_not_text, texts)):
                self.error(f"the value of {_called(action)} is not UTF-8 text")
            limit = self.rows[action.dest].limit if action.dest in self.rows else None
            if limit is not None and value is not None and (fault := limit.fault(value)):
                self.error(f"{action.option_strings[-1]} {fault}")
        if rest:
            known = [option for action in self._actions for option in action.option_strings]
            name = rest[0].split("=")[0]
            hint = did_you_mean(name, known)
            if name.removeprefix("--") in PYTHON_ONLY:
                hint = f" (it is for Python only: {keyword(name.removeprefix('--'))}=)"
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


class _HelpAll(argparse.Action):
    """Shows the help with every option, and leaves."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,  # noqa: ARG002  # these arguments argparse gives
        values: object,  # noqa: ARG002
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        parser.brief = None  # type: ignore[attr-defined]
        parser.print_help()
        parser.exit()


class Formatter(argparse.HelpFormatter):
    """Lists the commands in a section of their own, without heading and indentation."""

    def _format_action(self, action: argparse.Action) -> str:
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            return "".join(map(self._format_action, action._get_subactions()))  # noqa: SLF001
        return super()._format_action(action)


def _joined(words: Sequence[str]) -> list[str]:
    """Join an option with numbers after it that begin with a minus sign.

    Examples
    --------
    >>> _joined(["votes.csv", "--strength-scale", "-3:3", "--by", "topic"])
    ['votes.csv', '--strength-scale=-3:3', '--by', 'topic']
    """
    found: list[str] = []
    for word in words:
        if found and found[-1].startswith("--") and _BELOW_ZERO(word):
            found[-1] += f"={word}"
        else:
            found.append(word)
    return found


def _called(action: argparse.Action) -> str:
    return "/".join(action.option_strings) or str(action.metavar)


def _is_not_text(value: object) -> bool:
    """Whether a word holds bytes that are not UTF-8, which Python keeps as half characters."""
    return isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value)
