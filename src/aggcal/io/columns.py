"""Columns by their distinct texts: what is asked of a text once is answered for all its rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count as count_from
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from aggcal.errors import TableError, count
from aggcal.io.words import NUMBERLESS

if TYPE_CHECKING:
    from aggcal.io.tables import Table


@dataclass(frozen=True)
class Column:
    """The distinct texts of a column, and the number of that of each row, −1 where it is blank.

    Examples
    --------
    >>> column = Column.of(["ann", " bob", "", "ann"])
    >>> column.texts, column.codes
    (['ann', 'bob'], array([ 0,  1, -1,  0], dtype=int32))
    """

    texts: list[str]
    codes: np.ndarray

    @classmethod
    def of(cls, cells: Iterable[str | None]) -> Column:
        """Return a column of cells, its texts in the order in which they occur."""
        cells = list(cells)
        number = dict(zip(dict.fromkeys(cells), count_from(0), strict=False))
        codes = np.fromiter(map(number.__getitem__, cells), np.int32, len(cells))
        return cls.tidy(number, codes)

    @classmethod
    def tidy(
        cls, texts: Iterable[str | None], codes: np.ndarray, blank: str | None = None
    ) -> Column:
        """Trim texts, unite those that are then equal, and take out the blank ones.

        ``blank`` is the text of the rows that have none.
        """
        trimmed = [text.strip() if text else "" for text in (*texts, blank)]
        if not trimmed[-1] and "" not in trimmed[:-1] and len({*trimmed}) == len(trimmed):
            return cls(trimmed[:-1], codes.astype(np.int32, copy=False))
        number: dict[str, int] = {}
        places = [number.setdefault(text, len(number)) if text else -1 for text in trimmed]
        return cls([*number], np.array(places, np.int32)[codes])

    @classmethod
    def fill(cls, text: str | None, rows: int) -> Column:
        """Return a column of one text in all rows, or of nothing."""
        return cls.tidy([text], np.zeros(rows, np.int32))

    def __len__(self) -> int:
        return len(self.codes)

    def rows(self, at: np.ndarray | slice) -> Column:
        """Return some rows."""
        return Column(self.texts, self.codes[at])

    def compact(self) -> Column:
        """Leave out the texts that no row has."""
        used = self.times() > 0
        places = np.append(np.cumsum(used, dtype=np.int32) - 1, np.int32(-1)).astype(np.int32)
        return Column(
            [t for t, kept in zip(self.texts, used, strict=True) if kept], places[self.codes]
        )

    def times(self) -> np.ndarray:
        """Return how many rows have each text."""
        return np.bincount(self.codes + 1, minlength=len(self.texts) + 1)[1:]

    @property
    def blank(self) -> np.ndarray:
        """Which rows have no text."""
        return self.codes < 0

    def map(self, change: Callable[[str], str | None], blank: str | None = None) -> Column:
        """Change each text, and perhaps what is blank."""
        return Column.tidy(map(change, self.texts), self.codes, blank)

    def look_up(self, values: Sequence[Any], blank: Any, kind: Any) -> np.ndarray:
        """Return the value that belongs to the text of each row."""
        every = np.array([*values, blank], kind)
        looked_up: np.ndarray = every[self.codes]
        return looked_up

    def has(self, test: Callable[[str], object]) -> np.ndarray:
        """Return which rows have a text that passes a test; a blank one does not."""
        return self.look_up([bool(test(text)) for text in self.texts], blank=False, kind=bool)

    def at(self, row: int) -> str | None:
        """Return the text of a row."""
        return self.texts[self.codes[row]] if self.codes[row] >= 0 else None

    def cells(self) -> list[str | None]:
        """Return the text of each row."""
        every = [*self.texts, None]
        return [every[code] for code in self.codes.tolist()]

    def within(self, texts: Sequence[str]) -> np.ndarray:
        """Return codes that count among other texts, −1 where they lack one."""
        number = dict(zip(texts, count_from(0), strict=False))
        return self.look_up([*map(number.get, self.texts, repeat(-1))], -1, np.int32)

    def same(self, other: Column) -> np.ndarray:
        """Return in which rows another column holds the same text."""
        codes = self.within(other.texts)
        return np.asarray((codes >= 0) & (codes == other.codes))


def joined(columns: Sequence[Column], meaning: Callable[..., str | None]) -> Column:
    """Make one column of several: a function of each distinct combination of their texts."""
    key = folded([c.codes + 1 for c in columns], [len(c.texts) + 1 for c in columns])[0]
    _, first, codes = np.unique(key, return_index=True, return_inverse=True)
    return Column.tidy([meaning(*(c.at(row) for c in columns)) for row in first.tolist()], codes)


def folded(codes: Sequence[np.ndarray], sizes: Sequence[int]) -> tuple[np.ndarray, int]:
    """Make one key of several codes, equal where all are and in their order; and its size.

    Examples
    --------
    >>> folded([np.array([0, 1]), np.array([2, 0])], [2, 3])
    (array([2, 3], dtype=uint64), 6)
    """
    key, whole = codes[0].astype(np.uint64), max(sizes[0], 1)
    for code, size in zip(codes[1:], sizes[1:], strict=True):
        if whole * size >= 1 << 63:
            distinct, numbers = np.unique(key, return_inverse=True)
            key, whole = numbers.astype(np.uint64), len(distinct)
        key *= np.uint64(size)
        np.add(key, code, out=key, dtype=np.uint64, casting="unsafe")
        whole *= max(size, 1)
    return key, whole


def unfolded(key: np.ndarray, sizes: Sequence[int]) -> list[np.ndarray]:
    """Return the codes that keys were made of, where their size is the product of all.

    The keys are used up.

    Examples
    --------
    >>> unfolded(np.array([2, 3], dtype=np.uint64), [2, 3])
    [array([0, 1], dtype=int32), array([2, 0], dtype=int32)]
    """
    codes, code = [], np.empty_like(key)
    for size in reversed(sizes[1:]):
        np.divmod(key, np.uint64(max(size, 1)), out=(key, code))
        codes.append(code.astype(np.int32))
    return [key.astype(np.int32), *reversed(codes)]


def stacked(parts: Sequence[Column]) -> Column:
    """Put columns below each other."""
    if len(parts) == 1:
        return parts[0]
    texts = list(dict.fromkeys(text for part in parts for text in part.texts))
    return Column(texts, np.concatenate([part.within(texts) for part in parts]))


PLAIN = re.compile(
    r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan|infinity)", re.ASCII | re.IGNORECASE
)
_END = r"([eE][+-]?\d+)?"
_SHAPES = {
    name: re.compile(rf"[+-]?{shape}", re.ASCII)
    for name, shape in {
        "point": rf"\d*\.\d+{_END}",
        "point_or_thousand": r"[1-9]\d{0,2}\.\d{3}",
        "comma": rf"\d*,\d+{_END}",
        "comma_or_thousand": r"[1-9]\d{0,2},\d{3}",
        "thousand_points": r"\d{1,3}(\.\d{3})+,\d+",
        "many_points": r"\d{1,3}(\.\d{3}){2,}",
        "thousand_commas": r"\d{1,3}(,\d{3})+\.\d+",
        "many_commas": r"\d{1,3}(,\d{3}){2,}",
        "whole": rf"\d+{_END}",
    }.items()
}
_SPACES = " \u00a0\u202f\u2009'’"
"""What stands between thousands in France, Switzerland and elsewhere."""
_SPACED = re.compile(rf"[+-]?\d{{1,3}}([{_SPACES}]\d{{3}})+([.,]\d+)?", re.ASCII)


def number(text: str | None) -> float:
    """Return a plain number, NaN for anything else.

    Examples
    --------
    >>> number("1.5e3"), number("1,5"), number(None)
    (1500.0, nan, nan)
    """
    return float(text) if text and PLAIN.fullmatch(text) else np.nan


def numbers(column: Column) -> np.ndarray:
    """Return the plain numbers of a column, NaN where there is none."""
    return column.look_up([*map(number, column.texts)], np.nan, float)


def plain_numbers(column: Column, shown: str, table: Table) -> tuple[Column, list[str]]:
    """Write decimal commas, thousands and percent signs as usual; return what was made of them.

    A comma is a decimal comma where the column or the delimiter tells so: '1,5' and '1.234,5' do,
    and '1,234' does in a file whose values are parted by semicolons. Where it may part thousands as
    well, and where points and commas are mixed, the column is refused. What is no number stays.

    Parameters
    ----------
    column
        The column; "NA" and the like become blank.
    shown
        What the user calls it.
    table
        Where it is from, for messages.
    """
    column = column.map(lambda text: None if text.lower() in NUMBERLESS else text)
    if all(map(PLAIN.fullmatch, column.texts)):
        _refuse_thousands(column, shown, table)
        return column, []
    shapes = {
        text: {name for name, shape in _SHAPES.items() if shape.fullmatch(_bare(text))}
        for text in column.texts
    }
    frequency = dict(zip(column.texts, column.times().tolist(), strict=True))
    n = {name: sum(frequency[t] for t in shapes if name in shapes[t]) for name in _SHAPES}

    def first(test: Callable[[str], bool]) -> tuple[str, str]:
        row = int(np.argmax(column.has(test)))
        return table.place(row), str(column.at(row))

    percent = {text for text in shapes if shapes[text] and text.endswith("%")}
    if percent and any(shapes[t] and t not in percent and _bare(t) != "0" for t in shapes):
        where, value = first(percent.__contains__)
        rows = count(sum(frequency[text] for text in percent), "such row")
        raise TableError(
            f"{table.name}: column '{shown}' has numbers with a percent sign ('{value}' in "
            f"{where}; {rows}) and without; write all of them in one way."
        )
    grouped = n["thousand_points"] + n["many_points"]
    commas = n["comma"] - n["comma_or_thousand"] + grouped
    points = n["point"] - n["point_or_thousand"] + n["thousand_commas"] + n["many_commas"]
    if table.delimiter == ";":
        commas += n["comma_or_thousand"]
    if commas and (points or (n["point_or_thousand"] and not grouped)):
        kind = "thousand_commas" if n["thousand_commas"] else "point"
        where, value = first(lambda text: kind in shapes[text])
        raise TableError(
            f"{table.name}: column '{shown}' has numbers with a decimal comma and others with a "
            f"point, such as '{value}' in {where}; write all of them in one way."
        )
    if not commas and not points and n["comma_or_thousand"]:
        where, value = first(lambda text: "comma_or_thousand" in shapes[text])
        raise TableError(
            f"{table.name}: {where}: '{value}' in column '{shown}' may be a decimal number or "
            f"thousands; write {value.replace(',', '.')} or {value.replace(',', '')}."
        )

    def usual(text: str) -> str:
        if not shapes[text] or (PLAIN.fullmatch(text) and not (commas and "." in text)):
            return text
        plain = _bare(text)
        plain = plain.replace(".", "").replace(",", ".") if commas else plain.replace(",", "")
        return repr(float(plain) / 100) if text.endswith("%") else plain

    changed = next((text for text in column.texts if usual(text) != text), None)
    if changed is None:
        return column, []
    note = f"column '{shown}': '{changed}' is read as {usual(changed)}, and others like it"
    return column.map(usual), [note]


def _refuse_thousands(column: Column, shown: str, table: Table) -> None:
    """Refuse '10.500' beside '987' in a file with semicolons: it may be ten thousand or ten."""
    grouped = [t for t in column.texts if _SHAPES["point_or_thousand"].fullmatch(t)]
    rest = [t for t in column.texts if t not in grouped]
    if (
        table.delimiter == ";"
        and grouped
        and rest
        and all(re.fullmatch(r"\d{1,3}", t) for t in rest)
    ):
        value = grouped[0]
        raise TableError(
            f"{table.name}: '{value}' in column '{shown}', beside '{rest[0]}', may be a decimal "
            f"number or thousands; write {value.replace('.', ',')} or {value.replace('.', '')}, "
            "and the others like it."
        )


def _bare(text: str) -> str:
    """Return a number without its percent sign, and without spaces between thousands."""
    text = text.rstrip("%").strip().replace("\u2212", "-")
    return re.sub(f"[{_SPACES}]", "", text) if _SPACED.fullmatch(text) else text
