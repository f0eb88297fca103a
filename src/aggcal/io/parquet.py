"""Parquet, a file or all those in a folder, read by DuckDB: distinct texts, and hashes of cells."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from aggcal._core.kernels import at, library
from aggcal.errors import FileError, TableError
from aggcal.io.columns import Column
from aggcal.io.tables import LOOKED_AT, Table

_CONFIG = {"autoinstall_known_extensions": "false"}
_ROWS = 1_000
"""Rows at a time: more take more memory."""


def _driver() -> ModuleType:
    """Return DuckDB's compiled module: the package around it takes 0.1 s to load."""
    try:
        return import_module("_duckdb")
    except ImportError:  # a DuckDB that is arranged in another way
        return import_module("duckdb")


def of_parquet(path: Path, name: str, names: set[str], scratch: Path) -> Table:
    """Open a file, or a folder that holds the parts of one table."""
    parts = sorted(p for p in path.rglob("*.parquet") if p.is_file()) if path.is_dir() else [path]
    if not parts:
        raise FileError(f"{name}: is a directory without Parquet files; give the file in it.")
    links = []
    for k, part in enumerate(parts):  # DuckDB takes some signs in a name for a pattern
        links.append(scratch / f"part-{k}.parquet")
        links[-1].symlink_to(part.absolute())
    table = Parquet(name, links, path if path.is_file() else None)
    if path.is_dir():
        within = [part.relative_to(path) for part in parts]
        refuse_partitions(within, name, names - table.columns.keys())
    return table


def refuse_partitions(parts: Iterable[Path], name: str, names: Collection[str]) -> None:
    """Refuse a folder that keeps a wanted column in the names of its folders (Hive's layout).

    Such a name is not read: it would replace the column of the files, or add one, unasked.
    """
    for folder in {folder for part in parts for folder in part.parts[:-1]}:
        column, equals, _ = folder.partition("=")
        if equals and column.strip().lower() in names:
            raise TableError(
                f"{name}: has the column '{column}' in the names of its folders ('{folder}'), "
                "which are not read; write it as a column into the files and rename the folders."
            )


class Parquet(Table):
    """Parquet as a relation of DuckDB."""

    def __init__(self, name: str, parts: list[Path], path: Path | None) -> None:
        listed = ", ".join(map(_quoted, map(str, parts)))
        self.relation = f"read_parquet([{listed}], hive_partitioning=false)"
        self.label = name
        described = self._fetch(f"DESCRIBE SELECT * FROM {self.relation}")
        self.kinds = {str(row[0]): str(row[1]) for row in described}
        super().__init__(name, [str(row[0]) for row in described], path=path)

    @cached_property
    def connection(self) -> Any:
        """A database in memory."""
        return _driver().connect(config=_CONFIG)

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        duck = _driver()
        try:
            yield
        except duck.Error as error:
            if "schema mismatch" in str(error):
                raise FileError(
                    f"{self.label}: the Parquet files in this folder and below it have different "
                    "columns; give a folder that holds the parts of one table only."
                ) from None
            reason = re.sub(r"[^\s\"']*/part-\d+\.parquet", self.label, str(error).split("\n")[0])
            raise FileError(f"{self.label}: cannot be read as a table ({reason}).") from None

    def _fetch(self, query: str) -> list[tuple[Any, ...]]:
        with self._in_words():
            rows: list[tuple[Any, ...]] = self.connection.execute(query).fetchall()
        return rows

    def _dicts(self, query: str) -> Iterator[dict[str, Any]]:
        with self._in_words():
            result = self.connection.cursor().execute(query)
            names = [str(column[0]) for column in result.description]
            while batch := result.fetchmany(_ROWS):
                for row in batch:
                    yield dict(zip(names, row, strict=True))

    @cached_property
    def head(self) -> list[dict[str, Any]]:
        """The first rows, under small letters."""
        rows = self._dicts(f"SELECT * FROM {self.relation} LIMIT {LOOKED_AT}")
        return [{k.strip().lower(): v for k, v in row.items()} for row in rows]

    def __len__(self) -> int:
        return int(self._fetch(f"SELECT count(*) FROM {self.relation}")[0][0])

    def load(self, names: Iterable[str]) -> dict[str, Column]:
        """Return columns by their names in small letters."""
        columns = {name: self._column(self.columns[name]) for name in names}
        self.connection.close()  # which keeps much memory; the next who asks opens another
        del self.connection
        return columns

    def _column(self, name: str) -> Column:
        """Return a column: its distinct texts by hash, and the hash of each cell looked up."""
        cell = _as_text(_identifier(name), self.kinds[name])
        distinct = f"SELECT DISTINCT {cell} AS text FROM {self.relation}"
        with self._in_words():
            run = self.connection.execute
            texts, keys = (
                run(f"SELECT text, hash(text) AS key FROM ({distinct})").fetchnumpy().values()
            )
            cells = run(f"SELECT hash({cell}) AS key FROM {self.relation}").fetchnumpy()["key"]
        keys, cells = np.asarray(keys), np.asarray(cells)
        texts = texts.tolist()  # None where one is masked
        kernels: Any = library()
        codes: np.ndarray = np.empty(len(cells), np.int32)
        if len(np.unique(keys)) < len(keys):  # two texts of the same hash
            with self._in_words():
                cells = run(f"SELECT {cell} AS text FROM {self.relation}").fetchall()
            return Column.of(text for (text,) in cells)
        if kernels is not None:
            missing = kernels.aggcal_look_among(len(cells), *at(cells), len(keys), *at(keys, codes))
        else:
            order = np.argsort(keys)
            codes = order[np.minimum(np.searchsorted(keys[order], cells), len(keys) - 1)]
            missing = np.count_nonzero(keys[codes] != cells)
        if missing:
            raise FileError(f"{self.label}: was changed while it was read; read it again.")
        return Column.tidy(texts, codes)

    def records(self) -> Iterator[tuple[str, Any]]:
        """Go through the rows, lists and structures as they are, with their places."""
        rows = self._dicts(f"SELECT * FROM {self.relation}")
        return ((self.place(k), row) for k, row in enumerate(rows))

    def whole(self, rows: np.ndarray) -> list[Any]:
        """Return what tells rows apart by all their columns."""
        every = ", ".join(map(_identifier, self.header))
        with self._in_words():
            hashes = self.connection.execute(
                f"SELECT hash({every}) AS key FROM {self.relation}"
            ).fetchnumpy()["key"]
        kept: list[Any] = np.asarray(hashes)[rows].tolist()
        return kept


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _as_text(column: str, kind: str) -> str:
    """Write the SQL of a typed column as text, as `text_of` does."""
    if kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION")):
        return f"to_json({column})::VARCHAR"
    if kind in ("DOUBLE", "FLOAT"):
        whole = f"{column} = trunc({column}) AND abs({column}) < 2.0**53"
        # DuckDB may cast what is no whole number, too, before it looks at the conditions.
        return (
            f"(CASE WHEN isnan({column}) THEN NULL WHEN {whole} "
            f"THEN try_cast({column} AS BIGINT)::VARCHAR ELSE {column}::VARCHAR END)"
        )
    return f"{column}::VARCHAR"
