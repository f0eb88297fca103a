"""The title of a study and the question that its annotators were asked."""

from __future__ import annotations

from typing import TypedDict

from aggcal.errors import OptionError, cut, option, printable

_LONGEST = 200
"""Characters that are kept: a heading of more fills the screen that should show the results."""


class Titles(TypedDict, total=False):
    """Those that are known, as ``summary.json`` holds them."""

    title: str
    question: str


def checked_titles(title: str | None = None, question: str | None = None) -> Titles:
    """Return those that are given, cut to 200 characters, as ``summary.json`` holds them.

    Raises
    ------
    OptionError
        If one has line breaks or other control characters, which no heading can show.

    Examples
    --------
    >>> checked_titles(" Essays of 2024 ")
    {'title': 'Essays of 2024'}
    >>> len(checked_titles(question="why " * 100)["question"])
    200
    """
    found: Titles = {}
    if kept := _line("title", title):
        found["title"] = kept
    if kept := _line("question", question):
        found["question"] = kept
    return found


def _line(name: str, text: str | None) -> str:
    kept = (text or "").strip()
    if printable(kept) != kept:
        raise OptionError(
            f"{option(name).rstrip('=')} is not one line of plain text; remove line breaks "
            "and control characters."
        )
    return cut(kept, _LONGEST - 1)
