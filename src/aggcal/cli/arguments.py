"""How a command takes arguments: errors in one sentence, defaults where they tell something."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any

from aggcal.errors import did_you_mean, printable

FILES = {"JUDGMENTS", "SCORES", "ITEMS", "CONSENSUS", "TRUTH", "IN", "OUT", "FILE", "DIR"}
"""What the names of files are called in the help: a file may have any name."""


_REQUIRED = "the following arguments are required: "


class Parser(argparse.ArgumentParser):
    """Errors in one sentence, without the usage in front of it."""

    hint = ""
    """What else to do where something that must be given is missing."""

    def describe(self, more: str) -> None:
        """Say more about a command than the line that the list of commands has for it."""
        self.description = f"{self.description} {more}"

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
        found, rest = super().parse_known_args(args, namespace)
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
                hint = " (put a value that holds spaces in quotation marks)"
            self.error(f"{' '.join(rest)} is not understood{hint}")
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


def _called(action: argparse.Action) -> str:
    return "/".join(action.option_strings) or str(action.metavar or action.dest)


def _is_not_text(value: object) -> bool:
    """Whether a word holds bytes that are not UTF-8, which Python keeps as half characters."""
    return isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value)


class Formatter(argparse.HelpFormatter):
    """Shows a default where it tells something."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        # By identity: 0 equals False, and is worth showing.
        default = action.default
        if any(default is nothing for nothing in (None, False, argparse.SUPPRESS)) or default == []:
            return action.help
        return f"{action.help} (default: %(default)s)"
