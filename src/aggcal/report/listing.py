"""The page's long tables: their first rows in words, all of them as columns for its script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import isfinite, isnan
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, TextArray
from aggcal._core.kernels.threads import in_turn
from aggcal._core.records import dataclass
from aggcal._core.tables import as_text
from aggcal.pages.numbers import cut, decimals_for, number_text, span
from aggcal.pages.numbers import signed as with_sign
from aggcal.report.script_data import array_json, object_json, script_json

STATIC_ROWS, FIRST_ROWS = 200, 100
"""Rows up to which all of them stand in the page itself, for a reader without scripts, and how many
of more do: the first of the pages that the script makes of them."""
MOST_ROWS = 200_000
"""Rows that the script gets: more would make the page too heavy to open."""
LONGEST_NAME, LONGEST_TEXT, SHORTEST_CUT = 10_000, 20_000, 80
STATIC_TEXT = 400
"""Where texts are cut in the rows that stand in the page itself."""
_MANY = 10_000  # rows that are worth waking threads for
_EXACT = 2.0**53
"""Up to here every whole number is one of floating point."""
_ROOM_FOR_NAMES, _ROOM_FOR_TEXTS = 400_000, 3_000_000  # characters: the page stays below 5 MB


def static_rows(number: int) -> int:
    """Return how many of so many rows stand in the page itself.

    Examples
    --------
    >>> static_rows(200), static_rows(201)
    (200, 100)
    """
    return number if number <= STATIC_ROWS else FIRST_ROWS


@dataclass(frozen=True, eq=False)
class Names:
    """A column of ids, perhaps with the text of each, cut where they are too long for a page.

    ``cut`` and ``cut_texts`` are the lengths to which some were cut; None if all are whole.
    """

    key: str
    title: str
    values: Sequence[str]
    texts: Sequence[str] | None = None
    cut: int | None = None
    cut_texts: int | None = None
    kind = "name"

    def cells(self, stop: int) -> list[dict[str, Any]]:
        """Return what the first rows show."""
        shown = [{"text": value} for value in self.values[:stop]]
        if self.texts is not None:
            for cell, said in zip(shown, self.texts, strict=False):
                cell["says"] = cut(said, STATIC_TEXT)
        return shown

    def data(self, stop: int) -> dict[str, str]:
        """Return what the script needs, each part as JSON."""
        found = {"values": script_json(list(self.values[:stop]))}
        if self.texts is not None:
            found["texts"] = script_json(list(self.texts[:stop]))
        return found


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers, perhaps with an interval around each.

    Parameters
    ----------
    key, title, hint
        The name of the column in the data, its heading, and what it means.
    values, low, high
        NaN for what is not there.
    decimals
        How many to show; None for as many as tell the values apart.
    signed, unit
        Write a plus before what is above 0; what follows the number.
    """

    key: str
    title: str
    values: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None
    hint: str = ""
    decimals: int | None = None
    signed: bool = False
    unit: str = ""
    kind = "number"

    @cached_property
    def digits(self) -> int | None:
        """Decimals that tell the values apart; None where only an exponent does."""
        return decimals_for(self.values) if self.decimals is None else self.decimals

    @cached_property
    def _texts(self) -> dict[int, str]:
        """The numbers of rows, as they were asked for: a page shows most of them twice."""
        return {}

    @cached_property
    def _intervals(self) -> dict[int, str]:
        return {}

    def text(self, k: int) -> str:
        """Return the number of a row, in words."""
        found = self._texts.get(k)
        if found is None:
            found = self._texts[k] = self._text(float(self.values[k]))
        return found

    def interval(self, k: int) -> str:
        """Return the interval of a row, in words; nothing where there is none."""
        if self.low is None or self.high is None:
            return ""
        found = self._intervals.get(k)
        if found is None:
            low, high = float(self.low[k]), float(self.high[k])
            found = "" if isnan(low) or isnan(high) else span(low, high, self.digits)
            self._intervals[k] = found
        return found

    def cells(self, stop: int) -> list[dict[str, Any]]:
        """Return what the first rows show."""
        found = []
        for k in range(min(stop, len(self.values))):
            cell: dict[str, Any] = {"text": self.text(k)}
            if interval := self.interval(k):
                cell["range"] = interval
            found.append(cell)
        return found

    def data(self, stop: int) -> dict[str, str]:
        """Return what the script needs, each part as JSON."""
        found = {"decimals": script_json(self.digits)}
        for name in ("values", "low", "high"):
            column = getattr(self, name)
            if column is not None:
                found[name] = self._packed(column[:stop])
        if self.signed:
            found["signed"] = script_json(True)  # noqa: FBT003
        if self.unit:
            found["unit"] = script_json(self.unit)
        return found

    def _text(self, value: float) -> str:
        text = with_sign(value, self.digits) if self.signed else number_text(value, self.digits)
        return text if isnan(value) else text + self.unit

    def _packed(self, column: FloatArray) -> str:
        if self.digits is None:
            rounded = [float(f"{x:.5g}") for x in column.tolist()]
        else:
            near = np.round(column, self.digits)
            if np.fmax.reduce(np.abs(near), initial=0.0) < _EXACT:
                return array_json(near, rounded=self.digits == 0)
            rounded = near.tolist()
        whole = self.digits == 0
        # JSON has no word for what is not there but null, and none for the infinite.
        return script_json(
            [
                (int(x) if whole else x)
                if isfinite(x)
                else (None if x != x else "∞" if x > 0 else "−∞")  # noqa: PLR0124
                for x in rounded
            ]
        )


@dataclass(frozen=True, eq=False)
class Marks:
    """A column of a few words, each with a colour of its own."""

    key: str
    title: str
    values: Sequence[str]
    hint: str = ""
    kind = "mark"

    def text(self, k: int) -> str:
        """Return the word of a row."""
        return self.values[k]

    def cells(self, stop: int) -> list[dict[str, Any]]:
        """Return what the first rows show."""
        return [{"text": value} for value in self.values[:stop]]

    def data(self, stop: int) -> dict[str, str]:
        """Return what the script needs, each part as JSON."""
        words = sorted(set(self.values))
        code = {word: k for k, word in enumerate(words)}
        coded = np.array([code[value] for value in self.values[:stop]], dtype=np.int64)
        return {"words": script_json(words), "values": array_json(coded)}


Column = Names | Numbers | Marks


@dataclass(frozen=True, eq=False)
class Listing:
    """A long table of the page, and the file that holds it whole.

    Examples
    --------
    >>> table = Listing("items", "items.csv", [Numbers("score", "score", np.array([1.25, 0.5]))])
    >>> table.rows[0][0]["text"], table.n_rows
    ('1.2500', 2)
    >>> table.json
    '{"columns":[{"kind":"number","key":"score","title":"score","decimals":4,"values":[1.25,0.5]}]}'
    """

    name: str
    file: str
    columns: Sequence[Column]

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.columns[0].values)

    @property
    def n_static(self) -> int:
        """How many of them stand in the page itself."""
        return static_rows(self.n_rows)

    @property
    def n_listed(self) -> int:
        """How many of them the script can show."""
        return min(self.n_rows, MOST_ROWS)

    @cached_property
    def _by_key(self) -> dict[tuple[type, str], Any]:
        """The columns by kind and name; of several, the first."""
        return {(type(c), c.key): c for c in reversed(self.columns)}

    def column(self, key: str) -> Numbers | None:
        """Return a column of numbers; None if there is none of this name."""
        return self._by_key.get((Numbers, key))

    def words(self, key: str) -> Marks | None:
        """Return a column of words; None if there is none of this name."""
        return self._by_key.get((Marks, key))

    @cached_property
    def names(self) -> Names:
        """The column of ids."""
        return next(column for column in self.columns if isinstance(column, Names))

    @property
    def rows(self) -> list[tuple[dict[str, Any], ...]]:
        """The first rows, in words."""
        return list(zip(*(column.cells(self.n_static) for column in self.columns), strict=True))

    @property
    def json(self) -> str:
        """All rows as columns, safe inside a script element."""

        def written(c: Column) -> str:
            about = {"kind": c.kind, "key": c.key, "title": c.title}
            told = {name: script_json(text) for name, text in about.items()}
            return object_json(told | c.data(self.n_listed))

        each = in_turn if self.n_rows > _MANY else map
        return object_json({"columns": f"[{','.join(each(written, self.columns))}]"})


def names(key: str, ids: TextArray, texts: Mapping[str, str] | None = None) -> Names:
    """Return a column of ids, each cut to its share of the room that a page has for them.

    Parameters
    ----------
    key
        The name of the column, and its heading.
    ids
        Ids of the rows.
    texts
        What some of them say.

    Examples
    --------
    >>> column = names("item", np.array(["ok", "x" * 20_000], dtype=object))
    >>> [len(value) for value in column.values], column.cut
    ([2, 10001], 10000)
    """
    values = as_text(ids).tolist()
    shown, is_cut = _cut_to_fit(values, _ROOM_FOR_NAMES, LONGEST_NAME)
    if not texts:
        return Names(key, key, shown, None, is_cut)
    said = [texts.get(one, "") for one in values]
    told, is_cut_too = _cut_to_fit(said, _ROOM_FOR_TEXTS, LONGEST_TEXT)
    return Names(key, key, shown, told, is_cut, is_cut_too)


def _cut_to_fit(values: list[str], room: int, most: int) -> tuple[list[str], int | None]:
    """Cut texts so that all of them fit into some bytes; return to what length, if any was cut.

    Only the long ones pay for it: what is shorter than that stays whole.
    """
    length = np.fromiter(map(len, values), dtype=np.float64, count=len(values))
    plain, size = "".join(values).isascii(), length
    if not plain:
        sizes = (len(v) if v.isascii() else len(v.encode("utf-8", "replace")) for v in values)
        size = np.fromiter(sizes, dtype=np.float64, count=len(values))
    longest = _fitting(length, size, room, most)
    if length.max(initial=0.0) > longest:
        return [cut(one, longest) for one in values], longest
    return values if plain else [cut(one, longest) for one in values], None


def _fitting(length: FloatArray, size: FloatArray, room: int, most: int) -> int:
    """Return the length to which texts of these lengths and bytes must be cut to fit."""
    per_character = size / np.maximum(length, 1.0)
    low, high = SHORTEST_CUT, most
    while low < high:
        middle = (low + high + 1) // 2
        fits = float(np.minimum(length, middle) @ per_character) <= room
        low, high = (middle, high) if fits else (low, middle - 1)
    return low
