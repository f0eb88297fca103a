"""The different cells of a column: ids get their numbers, outcomes their meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, TextArray
from aggcal.io.encoding import NATURAL
from aggcal.io.per_item import damaged
from aggcal.io.quick.streams import NotPlain
from aggcal.io.row_checks import NOT_ANSWERED
from aggcal.io.tables.cells import PLAIN_NUMBER
from aggcal.io.tables.source import number_or_nan

if TYPE_CHECKING:
    import duckdb

_STRENGTHS = {"left": 1.0, "right": 0.0, "tie": 0.5}
_REASONS = ("skip", "failed", NOT_ANSWERED)
_LIGHTEST, _HEAVIEST, WIDEST = 1e-9, 1e9, 1e12
"""Weights, and the heaviest over the lightest, that are read; as in `aggcal.io.row_checks`."""
MOST_OUTCOMES = 1 << 20
"""Different outcomes: more are measurements, which take the bits of a key that ids need."""
_FEW = 10_000
"""Different cells that Python puts in order: of more, DuckDB's threads are quicker than its start
is slow."""
_WHOLE = re.compile(r"-?[0-9]{1,18}")
"""A number that an id is ordered by: it fits 64 bits."""


def trimmed(text: str) -> str:
    """Write the SQL of a cell without the blanks around it; NULL if nothing is left.

    Examples
    --------
    >>> trimmed("x")
    "nullif(trim(x::VARCHAR), '')"
    """
    return f"nullif(trim({text}::VARCHAR), '')"


@dataclass(frozen=True)
class Ids:
    """Ids in their order, and the code of each different cell that was found."""

    texts: TextArray
    code: CodeArray
    cell: np.ndarray
    """Which cell each code is of: its hash, or its number."""

    @property
    def as_written(self) -> bool:
        """Whether every id is written in one way."""
        return len(self.texts) == len(self.code)

    @property
    def by_cell(self) -> CodeArray:
        """The code of each cell that is known by its number."""
        return _by_cell(self.code, self.cell)

    @classmethod
    def of(cls, connection: duckdb.DuckDBPyConnection, cells: str, text: str, cell: str) -> Ids:
        """Give numbers to the ids of a relation of different cells.

        Parameters
        ----------
        connection, cells
            Where they are, and the SQL of the relation.
        text, cell
            The SQL of a cell as text, and of what it is known by.
        """
        given = f"(SELECT {trimmed(text)} AS id, {cell} AS c FROM {cells})"
        faults = " OR ".join(("id IS NULL", *(where for where, _, _ in damaged("id"))))
        if connection.execute(f"SELECT count(*) FROM {given} WHERE {faults}").fetchall()[0][0]:
            raise NotPlain
        found = connection.execute(f"SELECT id, c FROM {given} {NATURAL}").fetchnumpy()
        ids = np.asarray(found["id"], dtype=object)
        new = np.ones(len(ids), dtype=bool)
        new[1:] = ids[1:] != ids[:-1]
        code = np.cumsum(new, dtype=np.int32) - np.int32(1)
        return cls(ids[new], code, np.asarray(found["c"]))

    @classmethod
    def plain(cls, cells: Sequence[str]) -> Ids | None:
        """Give numbers to different cells that are all plain ids; None if one is not.

        Plain is a whole number, or what begins with a letter and is as it is shown: DuckDB, which
        takes ``1e3`` and more for numbers, puts these in the same order.
        """
        keys: list[tuple[bool, int, str, int]] = []
        for k, text in enumerate(cells):
            if _WHOLE.fullmatch(text):
                keys.append((False, int(text), text, k))
            elif text[:1].isalpha() and text[-1] != " " and text.isprintable():
                keys.append((True, 0, text, k))
            else:
                return None
        keys.sort()
        ids: TextArray = np.empty(len(keys), dtype=object)
        ids[:] = [text for _, _, text, _ in keys]
        code = np.arange(len(keys), dtype=np.int32)
        return cls(ids, code, np.array([k for *_, k in keys], dtype=np.int64))


@dataclass(frozen=True)
class Outcomes:
    """What outcomes mean, by code: values from the lowest on, then reasons not to fit a row."""

    values: FloatArray
    code: CodeArray
    cell: np.ndarray
    as_written: bool
    """Whether every value is written in one way."""
    numbers: bool
    """Whether some are numbers."""
    sides: bool
    """Whether some name a side."""

    @property
    def by_cell(self) -> CodeArray:
        """The code of each cell that is known by its number."""
        return _by_cell(self.code, self.cell)

    @property
    def number(self) -> int:
        """How many codes there are."""
        return len(self.values) + len(_REASONS)

    def reason(self, code: int) -> str:
        """Why a row with this code is not fitted."""
        return _REASONS[code - len(self.values)]

    @property
    def missing(self) -> int:
        """The code of no answer."""
        return len(self.values) + _REASONS.index(NOT_ANSWERED)

    @classmethod
    def of(
        cls, connection: duckdb.DuckDBPyConnection, cells: str, text: str, cell: str
    ) -> Outcomes:
        """Say what the outcomes of a relation of different cells mean; see `Ids.of`."""
        found = connection.execute(
            f"SELECT lower(said) AS label, {number_or_nan('said')} AS number, c FROM "
            f"(SELECT {trimmed(text)} AS said, {cell} AS c FROM {cells}) LIMIT {MOST_OUTCOMES + 1}"
        ).fetchnumpy()
        label: TextArray = np.array(found["label"], dtype=object)
        if len(label) > MOST_OUTCOMES:
            raise NotPlain
        label[getattr(found["label"], "mask", [])] = None
        return cls._meaning(label, np.array(found["number"]), np.asarray(found["c"]))

    @classmethod
    def plain(cls, cells: Sequence[str]) -> Outcomes | None:
        """Say what different cells mean that are all labels of ours or numbers; None if not."""
        labels = [text.lower() for text in cells]
        known = {*_STRENGTHS, *_REASONS[:-1]}
        if not all(text in known or PLAIN_NUMBER.fullmatch(text) for text in labels):
            return None
        numbers = [np.nan if text in known else float(text) for text in labels]
        label: TextArray = np.empty(len(labels), dtype=object)
        label[:] = labels
        return cls._meaning(label, np.array(numbers), np.arange(len(labels)))

    @classmethod
    def _meaning(cls, label: TextArray, number: FloatArray, cell: np.ndarray) -> Outcomes:
        special = {k: _REASONS.index(v) for k, v in enumerate(label) if v in _REASONS[:-1]}
        special |= {k: len(_REASONS) - 1 for k, v in enumerate(label) if v is None}
        for k, said in enumerate(label):
            if said in _STRENGTHS:
                number[k] = _STRENGTHS[said]
        plain = np.ones(len(label), dtype=bool)
        plain[list(special)] = False
        strength = number[plain]
        # What a negative zero is merged into depends on which of the two is met first.
        within = (strength >= 0.0) & (strength <= 1.0) & ~np.signbit(strength)
        if not within.all():
            raise NotPlain
        values, inverse = np.unique(strength, return_inverse=True)
        code = np.empty(len(label), dtype=np.int32)
        code[plain] = inverse
        for k, reason in special.items():
            code[k] = len(values) + reason
        labels = {*label[plain]}
        numbers, sides = not labels <= {*_STRENGTHS}, bool(labels & {"left", "right"})
        return cls(values, code, cell, len(values) == len(strength), numbers, sides)


@dataclass(frozen=True)
class Weights:
    """Different weights from the lightest on, and the code of each different cell."""

    values: FloatArray
    code: CodeArray
    cell: np.ndarray

    @property
    def as_written(self) -> bool:
        """Whether every weight is written in one way."""
        return len(self.values) == len(self.code)

    @property
    def by_cell(self) -> CodeArray:
        """The code of each cell that is known by its number."""
        return _by_cell(self.code, self.cell)

    @classmethod
    def of(cls, connection: duckdb.DuckDBPyConnection, cells: str, text: str, cell: str) -> Weights:
        """Read the weights of a relation of different cells; see `Ids.of`."""
        found = connection.execute(
            f"SELECT {number_or_nan(trimmed(text))} AS w, {cell} AS c FROM {cells}"
        ).fetchnumpy()
        return cls._sorted(np.asarray(found["w"]), np.asarray(found["c"]))

    @classmethod
    def plain(cls, cells: Sequence[str]) -> Weights | None:
        """Read different cells that are all plain numbers; None if one is not."""
        if not all(map(PLAIN_NUMBER.fullmatch, cells)):
            return None
        return cls._sorted(np.array([float(text) for text in cells]), np.arange(len(cells)))

    @classmethod
    def _sorted(cls, weight: FloatArray, cell: np.ndarray) -> Weights:
        above = weight[weight != 0.0]
        fit = (above >= _LIGHTEST) & (above <= _HEAVIEST)
        if not fit.all() or (len(above) and above.min() < above.max() / WIDEST):
            raise NotPlain
        values, inverse = np.unique(weight, return_inverse=True)
        return cls(values, inverse.astype(np.int32), cell)


Kind = TypeVar("Kind", Ids, Outcomes, Weights)


def numbered(connection: duckdb.DuckDBPyConnection, kind: type[Kind], cells: TextArray) -> Kind:
    """Give cells in memory their codes; each is known by its number.

    Examples
    --------
    >>> import duckdb
    >>> cells = np.array(["b", "10", " 9"], dtype=object)
    >>> found = numbered(duckdb.connect(), Ids, cells)
    >>> found.texts.tolist(), found.by_cell.tolist()
    (['9', '10', 'b'], [2, 1, 0])
    """
    found = plainly(kind, cells.tolist())
    if found is not None:
        return found
    with registered_cells(connection, cells) as name:
        return kind.of(connection, name, "raw", "k")


def plainly(kind: type[Kind], cells: Sequence[str]) -> Kind | None:
    """Give a few plain cells their codes without asking DuckDB; None for others.

    Examples
    --------
    >>> plainly(Ids, ["b", "10", "9"]).by_cell.tolist(), plainly(Ids, [" 9"])
    ([2, 1, 0], None)
    """
    if len(cells) > _FEW or not all(type(cell) is str for cell in cells):
        return None
    return kind.plain(cells)


@contextmanager
def registered_cells(connection: duckdb.DuckDBPyConnection, cells: TextArray) -> Iterator[str]:
    """Show cells to DuckDB as the column ``raw`` of a relation, with their numbers ``k``."""
    connection.register("quick_texts", {"raw": cells, "k": np.arange(len(cells))})
    try:
        yield "quick_texts"
    finally:
        connection.unregister("quick_texts")


def _by_cell(code: CodeArray, cell: np.ndarray) -> CodeArray:
    found = np.empty(len(code), dtype=np.int32)
    found[cell] = code
    return found
