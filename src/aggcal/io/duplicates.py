"""Rows that were recorded twice: equal in every column of the file, also those not used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from aggcal._core.tables import as_texts
from aggcal.io.tables.source import Source

if TYPE_CHECKING:
    import duckdb

Everything = Callable[[], str]
"""Returns the SQL of a relation that tells rows apart by all their columns.

It has one row for each row of ``raw``, in that order, whose one column ``h`` is equal where the
rows are. It is only asked for where rows are equal in the columns that are used.
"""

_ONLY = (
    {"annotator", "winner", "loser"},
    {"annotator", "left", "right", "outcome"},
)


def duplicate_rows(
    source: Source, merged: Mapping[str, Any], *, respelt: bool = False
) -> int | None:
    """Count the judgments that repeat another one in every column of the file.

    None where there is no column but those by which equal rows are merged: all of them are
    duplicates then. The view ``judged`` and the numbers of ids must be there.

    Parameters
    ----------
    source
        The table that was read.
    merged
        How often each annotator (their number) said the same of two items: ``n``, ``annotator``,
        ``l`` and ``r``.
    respelt
        Whether ids were merged, so that rows of the file differ that are now the same judgment.
    """
    names = {name.strip().lower() for name in source.found}
    alone = names in _ONLY and names == source.columns and not respelt
    if source.everything is None or alone:
        return None
    again: np.ndarray = merged["n"] != 1
    if not again.any():
        return 0
    run = source.connection.execute
    run(f"CREATE TEMP TABLE whole AS {source.everything()}")
    if source.one("count(*)") != run("SELECT count(*) FROM whole").fetchall()[0][0]:
        return 0  # pragma: no cover  # no row may be called a duplicate that is not known to be one
    source.connection.register(
        "repeated", {name: merged[name][again] for name in ("annotator", "l", "r")}
    )
    run(
        "CREATE TEMP TABLE twin AS SELECT n, hash(annotator, l, r, outcome) AS k, location "
        "FROM judged SEMI JOIN (SELECT DISTINCT a.id AS annotator, x.id AS l, y.id AS r "
        "FROM repeated t JOIN annotator_id a ON a.code = t.annotator JOIN item x "
        "ON x.code = t.l JOIN item y ON y.code = t.r) USING (annotator, l, r) "
        "WHERE reason IS NULL"
    )
    each = (
        "FROM (SELECT raw.rowid AS n, h FROM raw POSITIONAL JOIN whole) JOIN twin USING (n) "
        "GROUP BY k, h"
    )
    counted = f"SELECT count(*) - 1 AS extra {each}"
    if "location" in source.columns:
        # One record may hold several judgments: only those of other records are its duplicates.
        counted = (
            f"SELECT sum(c) - max(c) AS extra FROM (SELECT k, h, count(*) AS c {each}, location) "
            "GROUP BY k, h"
        )
    found = run(f"SELECT sum(extra) FROM ({counted})").fetchall()[0][0]
    for table in ("whole", "twin"):
        run(f"DROP TABLE {table}")
    return int(found or 0)


def registered(connection: duckdb.DuckDBPyConnection, columns: Iterable[Iterable[object]]) -> str:
    """Return the SQL that tells rows in memory apart, from all their columns."""
    total: np.ndarray | None = None
    for column in columns:
        # Python's hashes of texts: cells may hold what is no valid Unicode for DuckDB.
        codes = np.array([hash(text) for text in as_texts(column)], dtype=np.int64)
        total = codes if total is None else mixed(total, codes)
    connection.register("everything", {"h": total})
    return "SELECT h FROM everything"


def mixed(codes: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Combine hash codes, so that they are equal only where both are.

    Examples
    --------
    >>> mixed(np.array([1, 1, 2]), np.array([5, 5, 5])).tolist() == [1000008, 1000008, 2000011]
    True
    """
    combined: np.ndarray = codes * np.int64(1_000_003) + more
    return combined
