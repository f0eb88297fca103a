"""What reading judgments costs, beside a count of the different cells of the same columns.

    python benchmarks/reading.py [--rows 5e6] [--repeats 3] [--seed 0]

Makes files of its own: ids as text, activity after Zipf, 1% ties, weights; once with few ids and
once with many. Reads each as Parquet, as CSV and as a frame of categories, and has DuckDB count the
different values of the five columns of the same file. Each measurement is a process of its own,
the two kinds in turn; times are seconds of all processors, the least of the repeats: other work on
the machine matters less to them than to the clock. Memory is the peak of the process less what it
held before it began to read, and less the judgments themselves, the most of the repeats. Writes
benchmarks/results/reading.md.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from aggcal._core.machine import cores

_RESULTS = Path(__file__).with_name("results") / "reading.md"
_SHAPES = {"few": (2_000, 1_000), "many": (100_000, 100_000)}
_COLUMNS = ("annotator", "left", "right", "outcome", "weight")
_AT_ONCE = 5_000_000  # rows that are made at a time
_TEXT = "VARCHAR"
_HEAD = """| ids | file | distinct count | reading | ratio | beyond the judgments |
|---|---|---|---|---|---|"""


def make(folder: Path, rows: int, items: int, annotators: int, seed: int) -> dict[str, Path]:
    """Write the same judgments as Parquet and as CSV."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    names = pa.array([f"item_{k}" for k in range(items)])
    people = pa.array([f"worker-{k:06d}" for k in rng.permutation(annotators)])
    activity = np.cumsum(1.0 / np.arange(1, annotators + 1) ** 0.8)
    paths = {kind: folder / f"judgments.{kind}" for kind in ("parquet", "csv")}
    writers: list[Any] = []
    for begin in range(0, rows, _AT_ONCE):
        size = min(_AT_ONCE, rows - begin)
        who = np.searchsorted(activity, rng.random(size) * activity[-1]).astype(np.int32)
        one = rng.integers(0, items, size, dtype=np.int32)
        other = (one + rng.integers(1, items, size, dtype=np.int32)) % np.int32(items)
        said = rng.choice(3, size, p=[0.6, 0.39, 0.01]).astype(np.int8)
        labels = pa.array(["left", "right", "tie"])
        coded = zip((who, one, other, said), (people, names, names, labels), strict=True)
        cells = [pa.DictionaryArray.from_arrays(c, n).cast(pa.string()) for c, n in coded]
        table = pa.table([*cells, pa.array(rng.choice([0.5, 1.0, 1.25, 2.0], size))], _COLUMNS)
        if not writers:
            writers = [
                pq.ParquetWriter(paths["parquet"], table.schema),
                pyarrow.csv.CSVWriter(paths["csv"], table.schema),
            ]
        for writer in writers:
            writer.write_table(table)
    for writer in writers:
        writer.close()
    return paths


def count_distinct(path: Path) -> dict[str, float]:
    """Have DuckDB count the different values of every column."""
    import duckdb

    kinds = ", ".join(f"'{name}': '{_TEXT}'" for name in _COLUMNS)
    packed = path.suffix == ".parquet"
    options = f", header=true, auto_detect=false, delim=',', quote='\"', columns={{{kinds}}}"
    table = f"read_parquet('{path}')" if packed else f"read_csv('{path}'{options})"
    counted = ", ".join(f'count(DISTINCT "{name}")' for name in _COLUMNS)
    connection = duckdb.connect()
    began = time.process_time()
    connection.execute(f"SELECT {counted} FROM {table}").fetchall()
    return {"cpu": time.process_time() - began}


def read(path: Path, *, framed: bool = False) -> dict[str, float]:
    """Read the judgments."""
    import duckdb  # noqa: F401  # what is imported is not what is measured
    import narwhals  # noqa: F401

    import aggcal

    data: Any = path
    if framed:
        import pandas as pd

        data = pd.read_parquet(path).astype(dict.fromkeys(_COLUMNS[:-1], "category"))
    aggcal.read_judgments([("ann", "a", "b")])
    before = _memory("VmRSS")
    began = time.process_time()
    found = aggcal.read_judgments(data)
    spent = time.process_time() - began
    # A frame was read from a file before, whose peak may be the higher one.
    peak = _memory("VmHWM") - before - sys.getsizeof(found)
    each = float("nan") if framed else peak / found.n_judgments
    return {"cpu": spent, "bytes": each}


def _memory(what: str) -> int:
    """Return the bytes of memory that this process has now, or had at most since it began."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(what))


_MEASURED: dict[str, Callable[[Path], dict[str, float]]] = {
    "distinct": count_distinct,
    "reading": read,
    "frame": lambda path: read(path, framed=True),
}


def measured(what: str, path: Path) -> dict[str, float]:
    """Measure in a process of its own."""
    command = [sys.executable, __file__, "--measure", what, str(path)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(ran.stdout)
    return found


def line(shape: str, path: Path, what: str, repeats: int) -> str:
    """Measure a file and write what was found as a row."""
    both = [(measured("distinct", path), measured(what, path)) for _ in range(repeats)]
    count = min(one["cpu"] for one, _ in both)
    took = min(other["cpu"] for _, other in both)
    memory = max(other["bytes"] for _, other in both)
    kind = "pandas, categories" if what == "frame" else path.suffix[1:]
    held = "" if memory != memory else f"{memory:.0f} bytes a row"  # noqa: PLR0124  # NaN
    cells = (shape, kind, f"{count:.2f} s", f"{took:.2f} s", f"{took / count:.2f}", held)
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure all shapes, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=5e6)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--measure", nargs=2)
    asked = parser.parse_args()
    if asked.measure:
        what, path = asked.measure
        print(json.dumps(_MEASURED[what](Path(path))))
        return
    rows, lines = int(asked.rows), []
    for shape, (items, annotators) in _SHAPES.items():
        with TemporaryDirectory() as folder:
            paths = make(Path(folder), rows, items, annotators, asked.seed)
            for kind, what in (("parquet", "reading"), ("csv", "reading"), ("parquet", "frame")):
                found = line(shape, paths[kind], what, asked.repeats)
                lines.append(found)
                print(lines[-1], flush=True)
    said = (
        f"`python benchmarks/reading.py {' '.join(sys.argv[1:])}`".replace(" `", "`")
        + f": {rows:,} judgments; few ids are 2,000 items and 1,000 annotators, many 100,000 of "
        f"each; seconds of all {cores()} processors ({platform.machine()}), the least of "
        f"{asked.repeats}, and bytes, the most."
    )
    title = "# Reading judgments, beside a count of the different cells\n"
    _RESULTS.write_text("\n".join((title, said, "", _HEAD, *lines, "")))


if __name__ == "__main__":
    main()
