"""Results as people meet them: text that fits a terminal, and a card for notebooks."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, cast
from unicodedata import east_asian_width

import numpy as np

from aggcal._core.arrays import TextArray
from aggcal._core.markup import Markup, tag
from aggcal._core.palette import AMBER
from aggcal._core.tables import Columns, cells
from aggcal.errors import AggcalWarning, count, ended, printable, sentence, some

WIDTH = 88
"""Columns that a printed line may take."""

ROWS = 8
"""Rows of a table that a card shows."""

_LONGEST = 40  # columns of an id in a table
_LONGEST_NOTE = 300  # columns of what a warning quotes
_NAMED = 3  # ids that a sentence names before it counts

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

_BLANKS = re.compile(" +")

# A code point that is no character: it stands in no text.
_SECOND = "\ufdd0"

# Greys with an alpha and the colour of the page around: readable on light and on dark.
_TEXT = "aggcal-text"  # the class of what is set to the left
_STYLE = (
    ".aggcal{display:inline-block;box-sizing:border-box;max-width:100%;overflow-x:auto;color:inherit;"
    "border:1px solid rgba(128,128,128,.4);border-radius:6px;padding:.6em .9em;"
    "font:13px/1.45 system-ui,sans-serif}"
    ".aggcal p{margin:.15em 0;max-width:52em}"
    ".aggcal .aggcal-title{font-weight:600}"
    ".aggcal .aggcal-faint{opacity:.7}"
    f".aggcal .aggcal-warning{{border-left:3px solid {AMBER};padding-left:.6em}}"
    ".aggcal table{border-collapse:collapse;margin:.5em 0;color:inherit;"
    "font:inherit;font-variant-numeric:tabular-nums}"
    ".aggcal th,.aggcal td{white-space:nowrap;color:inherit;background:none;"
    "text-align:right;padding:.1em .7em;border:0;border-bottom:1px solid rgba(128,128,128,.25)}"
    f".aggcal .{_TEXT}{{text-align:left}}"
)


def clipped(text: object, longest: int = _LONGEST) -> str:
    r"""Return a text on one line, without what would disturb its surroundings, cut if long.

    Length is counted in columns of a terminal: a Chinese character takes two.

    Examples
    --------
    >>> clipped("two\nlines"), clipped("x" * 10_000, 5), clipped("語" * 9, 5)
    ('two lines', 'xxxx…', '語語…')
    """
    # Only the beginning is looked at: an id may be a whole document.
    begun = str(text)[: 4 * longest]
    plain = _padded(_BLANKS.sub(" ", printable(begun)))
    fits = len(plain) <= longest and len(begun) == len(str(text))
    kept = plain if fits else plain[: longest - 1].rstrip() + "…"
    return kept.replace(_SECOND, "")


def _padded(text: str) -> str:
    """Mark the second column of wide characters, so that every character is one column."""
    return "".join(c + _SECOND if east_asian_width(c) in "WF" else c for c in text)


def named(ids: Sequence[object] | TextArray) -> str:
    """Name the first few ids, each cut if long, and count the rest.

    Examples
    --------
    >>> named(["a", "b" * 100, "c", "d"])
    "'a', 'bbbbbbbbbbbbbbbbbbbbbbb…', 'c' and 1 more"
    """
    return some([*(clipped(i, WIDTH // _NAMED - 5) for i in ids[:_NAMED]), *ids[_NAMED:]])


def ordinal(rank: int) -> str:
    """Write a rank.

    Examples
    --------
    >>> [ordinal(rank) for rank in (1, 2, 3, 4, 11, 22, 1013)]
    ['1st', '2nd', '3rd', '4th', '11th', '22nd', '1,013th']
    """
    teens = rank % 100 in {11, 12, 13}
    ending = "th" if teens else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank:,}{ending}"


def in_words(number: int) -> str:
    """Spell out a small number.

    Examples
    --------
    >>> in_words(5), in_words(1200)
    ('five', '1,200')
    """
    return _WORDS[number] if 0 <= number < len(_WORDS) else f"{number:,}"


def brief(thing: object) -> str:
    """Show an object by its fields on at most three lines, what is long by its size: for reprs.

    Examples
    --------
    >>> from dataclasses import make_dataclass
    >>> import numpy as np
    >>> brief(make_dataclass("Fit", ["name", "values"])("btl", np.zeros(9)))
    "Fit(name='btl', values=<9>)"
    """
    shown = (one.name for one in fields(cast("Any", thing)) if one.repr)
    parts = ", ".join(f"{name}={_sized(getattr(thing, name))}" for name in shown)
    return wrapped(clipped(f"{type(thing).__name__}({parts})", 2 * WIDTH))


def _sized(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"<{'×'.join(map(str, value.shape))}>"
    if isinstance(value, list | tuple | set | frozenset | dict) and len(value) > _NAMED:
        return f"<{len(value)}>"
    if is_dataclass(value):
        return f"{type(value).__name__}(…)"
    return clipped(repr(value)) if isinstance(value, str) else clipped(value)


def wrapped(*lines: str) -> str:
    """Break lines that are too long for a terminal; what follows is indented.

    Examples
    --------
    >>> print(wrapped("short", "long " * 20))
    short
    long long long long long long long long long long long long long long long long long
      long long long
    """
    filled = (
        textwrap.fill(_padded(printable(line)), WIDTH, subsequent_indent="  ") for line in lines
    )
    return "\n".join(filled).replace(_SECOND, "")


def unwrapped(text: str) -> list[str]:
    """Return the lines that `wrapped` was given.

    Examples
    --------
    >>> unwrapped(wrapped("short", "long " * 19 + "long")) == ["short", "long " * 19 + "long"]
    True
    """
    return text.replace("\n  ", " ").splitlines()


def warning_text(warning: AggcalWarning) -> str:
    """Say a warning; what it quotes may be cut, what to do is not.

    Examples
    --------
    >>> len(warning_text(AggcalWarning("x" * 10_000, "", "shorten it")))
    117
    """
    return f"{ended(clipped(warning.what, _LONGEST_NOTE))} {sentence(warning.remedy)}"


def columns_of(rows: Sequence[Sequence[str]], *, right: Iterable[int] = ()) -> list[str]:
    r"""Return a line for each row of texts, the columns below each other.

    Examples
    --------
    >>> print("\n".join(columns_of([("item", "n"), ("語", "10")], right={1})))
    item   n
    語    10
    """
    marked = [[_padded(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*marked, strict=True)]
    lines = (
        "  ".join(
            cell.rjust(width) if k in right else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in marked
    )
    return [line.rstrip().replace(_SECOND, "") for line in lines]


def card(
    title: str,
    columns: Columns | Markup,
    *,
    rows: int,
    notes: Iterable[str] = (),
    warnings: Iterable[AggcalWarning] = (),
) -> str:
    """Return a self-contained piece of HTML for notebooks; whatever it shows is shown as text.

    Parameters
    ----------
    title
        What it is, with counts.
    columns
        The table, of which the first rows are shown; or what is written of it already.
    rows
        How many rows there are in all: a caller may pass only the first ones.
    notes, warnings
        What to say above and below the table.

    Examples
    --------
    >>> import numpy as np
    >>> made = card("1 item", {"item": np.array(["<b>"], dtype=object)}, rows=1)
    >>> "<bdi>&lt;b&gt;</bdi>" in made
    True
    """
    above = [_paragraph("aggcal-title", title), *(_paragraph("", note) for note in notes)]
    below = list[Markup]()
    if rows > ROWS and not isinstance(columns, Markup):
        below.append(_paragraph("aggcal-faint", f"… and {count(rows - ROWS, 'more row')}"))
    below += [_paragraph("aggcal-warning", warning_text(warning)) for warning in warnings]
    table = columns if isinstance(columns, Markup) else _table(columns) if rows else ""
    return tag("div", tag("style", Markup(_STYLE)), *above, table, *below, class_="aggcal")


def head(columns: Columns, chosen: Iterable[str]) -> Columns:
    """Return the first rows of the chosen columns that there are: as many as a card shows.

    Examples
    --------
    >>> import numpy as np
    >>> head({"a": np.arange(99), "b": np.arange(99)}, ["b", "c"])
    {'b': array([0, 1, 2, 3, 4, 5, 6, 7])}
    """
    return {name: columns[name][:ROWS] for name in chosen if name in columns}


def _paragraph(kind: str, text: str) -> Markup:
    # An id in it may be written from right to left; the sentence is not.
    return tag("p", clipped(text, 2 * _LONGEST_NOTE), class_=kind, dir="ltr")


def _table(columns: Columns) -> Markup:
    shown = {name: cells(column[:ROWS]) for name, column in columns.items()}
    heads = (
        tag("th", name, class_=_TEXT if any(isinstance(value, str) for value in values) else "")
        for name, values in shown.items()
    )
    rows = (tag("tr", *map(_cell, row)) for row in zip(*shown.values(), strict=True))
    return tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows))


def _cell(value: object) -> Markup:
    if value is None:
        return tag("td")
    if isinstance(value, float):
        return tag("td", f"{value:.4g}")
    if isinstance(value, int):
        return tag("td", f"{value:,}")
    return tag("td", tag("bdi", clipped(value)), class_=_TEXT)
