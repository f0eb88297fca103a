"""Tables of judgments, plain and messy, and the two readers side by side."""

from __future__ import annotations

import csv
import dataclasses
import gzip
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import aggcal.io.judgments
from aggcal.data.judgments import Judgments
from aggcal.errors import InputError
from aggcal.io import read_judgments
from aggcal.io.quick import streams

LONG = ("annotator", "left", "right", "outcome")
SHORT = ("annotator", "winner", "loser")

Table = dict[str, list[Any]]


class Readers:
    """Reads with and without the quick readers, and tells whether one of them did it.

    The reader of small tables, which would be asked before them, is used only by `small`.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self._quickly: Callable[..., Judgments | None] = vars(aggcal.io.judgments)["quickly"]
        self._small: Callable[..., Judgments | None] = vars(aggcal.io.judgments)["small_judgments"]
        self.was_quick = False

    def _noted(self, *given: Any, **how: Any) -> Judgments | None:
        found = self._quickly(*given, **how)
        self.was_quick = found is not None
        return found

    def _noted_small(self, *given: Any) -> Judgments | None:
        found = self._small(*given)
        self.was_quick = found is not None
        return found

    def quick(self, data: Any, **how: Any) -> Judgments | str:
        self.was_quick = False
        return self._read(self._noted, data, how)

    def small(self, data: Any, **how: Any) -> Judgments | str:
        self.was_quick = False
        return self._read(self._quickly, data, how, self._noted_small)

    def general(self, data: Any, **how: Any) -> Judgments | str:
        return self._read(lambda *_, **__: None, data, how)

    def _read(
        self,
        way: Callable[..., Judgments | None],
        data: Any,
        how: dict[str, Any],
        small: Callable[..., Judgments | None] = lambda *_: None,
    ) -> Judgments | str:
        with self._patch.context() as patch:
            patch.setattr(aggcal.io.judgments, "quickly", way)
            patch.setattr(aggcal.io.judgments, "small_judgments", small)
            try:
                return read_judgments(data, **how)
            except InputError as error:
                return f"{type(error).__name__}: {error}"

    def agree(self, data: Any, **how: Any) -> Judgments | str:
        """Read in both ways and compare everything there is; few rows, and as if they were many."""
        one, other = self.quick(data, **how), self.general(data, **how)
        same(one, other)
        with self._patch.context() as patch:
            patch.setattr(streams, "_FEW", -1)
            same(self.quick(data, **how), other)
        return one


def same(one: Any, other: Any) -> None:
    """Compare judgments, or what was said instead, to the bit."""
    assert type(one) is type(other), (one, other)
    if isinstance(one, str):
        assert one == other
        return
    for field in dataclasses.fields(one):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if dataclasses.is_dataclass(mine):
            same(mine, theirs)
        elif field.name == "categories":
            for each, its in zip(mine, theirs, strict=True):
                same(each, its)
        elif isinstance(mine, np.ndarray):
            assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape), field.name
            # Of an empty array, NumPy's versions say different ones.
            assert not mine.size or mine.strides == theirs.strides, field.name
            bits = mine.tolist() if mine.dtype == object else mine.tobytes()
            assert bits == (theirs.tolist() if mine.dtype == object else theirs.tobytes()), field
        else:
            assert mine == theirs, field.name


def texts(table: Table) -> Table:
    return {
        name: [None if cell is None else str(cell) for cell in column]
        for name, column in table.items()
    }


def write_parquet(table: Table, folder: Path, rows: int = 1 << 20) -> Path:
    path = folder / "t.parquet"
    pq.write_table(pa.table(table), path, row_group_size=rows)
    return path


def write_folder(table: Table, folder: Path) -> Path:
    inside = folder / "parts"
    inside.mkdir(exist_ok=True)
    whole = pa.table(table)
    half = len(whole) // 2
    pq.write_table(whole.slice(0, half), inside / "a.parquet")
    pq.write_table(whole.slice(half), inside / "b.parquet")
    return inside


def write_csv(table: Table, folder: Path, *, delimiter: str = ",", packed: bool = False) -> Path:
    path = folder / ("t.csv.gz" if packed else "t.csv")
    with (gzip.open if packed else open)(path, "wt", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    return path


def write_quoted(table: Table, folder: Path) -> Path:
    path = folder / "q.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
        writer.writerow([f" {name.title()}" for name in table])
        writer.writerows(zip(*table.values(), strict=True))
    return path


CODED = ("annotator", "left", "right", "winner", "loser", "outcome")


def arrow_coded(table: Table) -> pa.Table:
    made = pa.table(table)
    columns = [
        made[name].cast(pa.string()).dictionary_encode() if name in CODED else made[name]
        for name in made.column_names
    ]
    halves = pa.table(dict(zip(made.column_names, columns, strict=True)))
    middle = len(made) // 2
    return pa.concat_tables([halves.slice(0, middle), halves.slice(middle)])


def pandas_coded(table: Table) -> pd.DataFrame:
    return pd.DataFrame(
        {
            name: pd.Categorical(column) if name in CODED else column
            for name, column in table.items()
        }
    )


def polars_coded(table: Table) -> pl.DataFrame:
    return pl.DataFrame(table, strict=False).with_columns(
        pl.col(name).cast(pl.String).cast(pl.Categorical) for name in table if name in CODED
    )


def study(
    rows: int, columns: Sequence[str] = LONG, *, seed: int = 0, weighted: bool = False
) -> Table:
    """A plain study with ids as text, skewed activity, some ties, and repeated answers."""
    rng = np.random.default_rng(seed)
    who = rng.zipf(1.3, rows) % 40
    one = rng.integers(0, 25, rows)
    other = (one + rng.integers(1, 25, rows)) % 25
    said = rng.choice(["left", "right", "tie"], rows, p=[0.6, 0.39, 0.01])
    found: Table = {"annotator": [f"worker-{k}" for k in who]}
    found |= {columns[1]: [f"item_{k}" for k in one], columns[2]: [f"item_{k}" for k in other]}
    if len(columns) > len(SHORT):
        found["outcome"] = said.tolist()
    if weighted:
        found["weight"] = rng.choice([0.1, 0.5, 1.0, 2.7], rows).tolist()
    return found
