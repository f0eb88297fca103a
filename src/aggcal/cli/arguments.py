"""How a command takes arguments: errors in one sentence, defaults where they tell something."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from difflib import get_close_matches

from aggcal.errors import printable

_FILES = {"JUDGMENTS", "SCORES", "ITEMS", "CONSENSUS", "TRUTH", "IN", "OUT", "FILE", "DIR"}
"""What the names of files are called in the help: a file may have any name."""


class Parser(argparse.ArgumentParser):
    """Errors in one sentence, without the usage in front of it."""

    def describe(self, more: str) -> None:
        """Say more about a command than the line that the list of commands has for it."""
        self.description = f"{self.description} {more}"

    def error(self, message: str) -> None:  # type: ignore[override]  # exits, as its parent does
        """Say what is wrong and leave."""
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
            if action.metavar not in _FILES and any(map(_is_not_text, texts)):
                name = "/".join(action.option_strings) or str(action.metavar)
                self.error(f"the value of {name} is not UTF-8 text")
        if rest:
            known = [option for action in self._actions for option in action.option_strings]
            close = get_close_matches(rest[0].split("=")[0], known, 1)
            hint = f" (did you mean {close[0]}?)" if close else ""
            if "--judgments" in known and os.path.exists(rest[0]):  # noqa: PTH110
                hint = f" (further judgments: --judgments {rest[0]})"
            elif not rest[0].startswith("-"):
                hint = " (put a value that holds spaces in quotation marks)"
            self.error(f"{' '.join(rest)} is not understood{hint}")
        return found, rest


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
