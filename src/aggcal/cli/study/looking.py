"""A look at a file: its columns, what is in them, and what the file is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from aggcal._core.records import dataclass
from aggcal.errors import FileError, InputError
from aggcal.io.formats._synonyms import ANNOTATOR
from aggcal.io.known_columns import KnownColumns
from aggcal.io.tables.opening import opened

Role: TypeAlias = Literal["judgments", "scores", "truth", "texts", "items"]

_MOST_COLUMNS = 100  # that are looked into: a study has few, and each takes time
_MOST_VALUES = 20_000  # of a column that are compared with others: more take more memory


@dataclass(frozen=True)
class Column:
    """A column: its name in the file, and what is in it."""

    name: str
    filled: int
    """Rows that are not blank."""
    numbers: int
    """Rows that hold a number."""
    values: frozenset[str]
    """Different values, the first so many."""
    distinct: int

    @property
    def is_number(self) -> bool:
        """Whether it holds nothing but numbers."""
        return 0 < self.filled == self.numbers


@dataclass(frozen=True)
class Look:
    """The columns of a file by their names in small letters; none of a file that is no table."""

    path: str
    rows: int
    columns: Mapping[str, Column]

    def column(self, name: str) -> Column | None:
        """Return a column by its name, in whatever letters."""
        return self.columns.get(name.strip().lower())

    def names(self, outcome: str) -> dict[str, str]:
        """Return what is read of the file for its outcomes: all columns, which tell its header."""
        return {name: f"c{k}" for k, name in enumerate(self.columns)} | {outcome: "outcome"}

    @property
    def keys(self) -> list[Column]:
        """The columns that may name the rows: all there and different, and no measurements."""
        return [
            column
            for k, column in enumerate(self.columns.values())
            if column.filled == self.rows == column.distinct > 0 and not (k and column.is_number)
        ]

    def scores(self, item: Column) -> list[Column]:
        """Return the columns of numbers, but for the item's and the standard deviation."""
        return [c for n, c in self.columns.items() if c.is_number and c != item and n != "sd"]


def look_at(path: str) -> Look:
    """Look at a file; one that is no table has no columns.

    Raises
    ------
    FileError
        If it cannot be read at all.
    """
    try:
        found = _header(path, KnownColumns())
        # Named after its own columns, a table is parted where its header is.
        names = {name.strip().lower(): f"c{k}" for k, name in enumerate(found[:_MOST_COLUMNS])}
        with opened(path, names, what="tables", shapes={}) as source:
            shown = {name.strip().lower(): name.strip() for name in source.found}
            rows = source.rows() if source.columns else 0
            columns = {}
            for name, own in names.items():
                if own not in source.columns or not name:
                    continue
                filled, numbers, distinct = source.connection.execute(
                    f"SELECT count({own}), count(try_cast({own} AS DOUBLE)), "
                    f"count(DISTINCT {own}) FROM raw"
                ).fetchall()[0]
                values = source.connection.execute(
                    f"SELECT DISTINCT {own} FROM raw WHERE {own} IS NOT NULL LIMIT {_MOST_VALUES}"
                ).fetchall()
                columns[name] = Column(
                    shown.get(name, name),
                    filled,
                    numbers,
                    frozenset(v for (v,) in values),
                    distinct,
                )
        return Look(path, rows, columns)
    except FileError:
        raise
    except InputError:
        return Look(path, 0, {})


def _header(path: str, known: Mapping[str, str]) -> Sequence[str]:
    with opened(path, known, what="tables", shapes={}) as source:
        return source.found


def role_of(look: Look, refused: InputError | None) -> Role:
    """Say what a file is for.

    Parameters
    ----------
    look
        The file.
    refused
        Why it cannot be read as judgments; None if it can.
    """
    if refused is None:
        return "judgments"
    item, keys = look.column("item"), look.keys
    if item is not None and look.column("truth") is not None:
        return "truth"
    judged = look.columns.keys() & {*ANNOTATOR}
    if item is None and (judged or not keys or _pairs(look)):
        return "judgments"  # of which something is still to be asked
    named = item or keys[0]
    if look.scores(named):
        return "scores"
    return "texts" if item is not None and look.column("text") is not None else "items"


def _pairs(look: Look) -> bool:
    """Whether two columns hold about the same names, as those of compared items do."""
    texts = [c.values for c in look.columns.values() if not c.is_number and c.distinct > 1]
    return any(
        2 * len(one & other) >= min(len(one), len(other))
        for k, one in enumerate(texts)
        for other in texts[:k]
    )


def item_column(look: Look, judged: frozenset[str]) -> Column | None:
    """Return the column that names the items of a table; None if that is not certain.

    The judged items tell, where there are some: whatever it is called, the column holds them.
    """
    item = look.column("item")
    if not judged:
        return item or (look.keys[0] if len(look.keys) == 1 else None)
    if item is not None and item.values & judged:
        return item
    held = {column.name: len(column.values & judged) for column in look.keys}
    best = [c for c in look.keys if held[c.name] and held[c.name] == max(held.values())]
    return best[0] if len(best) == 1 else None
