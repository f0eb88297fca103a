"""The text of a study file, with comments for whoever changes it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from aggcal._core.records import dataclass
from aggcal.errors import OptionError

_HEAD = """\
# This study, as 'aggcal init' read it. Correct anything that is wrong.
# In this folder, 'aggcal check', 'run', 'suggest' and 'report' need no arguments.
# Paths are relative to this file. Options on the command line take precedence.
"""
_TITLES = """\
# title = "Essays"                     # shown at the top of the report
# question = "Which essay is better?"  # what annotators were asked
"""
_TAIL = """\
# Options of one command, as on the command line but without dashes: aggcal COMMAND --help.
[run]
# method = "btl"
# level = 0.9

[check]
# strict = true

[suggest]
# pairs = 40
"""
_MAPPED = {
    "column": "# Names of columns: ours = theirs.",
    "outcome": "# Meanings of outcomes: left, right, tie, skip, failed, or 0 (right) to 1 (left).",
}


@dataclass
class Described:
    """What is known of a study: options that hold for all commands, and a word about each."""

    options: dict[str, Any] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)

    def add(self, key: str, value: Any, comment: str = "") -> None:
        """Add an option."""
        self.options[key] = value
        self.comments[key] = comment

    def text(self) -> str:
        """Write the file.

        Examples
        --------
        >>> study = Described()
        >>> study.add("scores", "my scores.csv", "of 3 items")
        >>> print(study.text().splitlines()[4])
        scores = "my scores.csv"  # of 3 items
        """
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield _HEAD
        for key, value in self.options.items():
            if not isinstance(value, Mapping):
                comment = self.comments[key]
                yield f"{key} = {_toml(value)}" + (f"  # {comment}" if comment else "")
        yield _TITLES
        for key, value in self.options.items():
            if isinstance(value, Mapping) and value:
                yield _MAPPED[key]
                yield f"[{key}]"
                yield from (f"{_key(str(own))} = {_toml(other)}" for own, other in value.items())
                yield ""
        yield _TAIL


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)


def _toml(value: Any) -> str:
    r"""Write a value as TOML.

    Examples
    --------
    >>> print(_toml("a \"b\"\n"), _toml(True), _toml(0.5))
    "a \"b\"\n" true 0.5
    """
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise OptionError(
                f"'{value}' is not UTF-8 text, which a study file must be; rename the file."
            ) from None
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)
