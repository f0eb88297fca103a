"""How fast ten million judgments load, beside a bare scan of the same file in the same run.

    python benchmarks/load.py [ROWS]

Prints seconds, rows a second, peak memory, and how many times the bare scan (DuckDB counting the
rows of the CSV, nothing encoded, nothing merged) the whole load takes.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import duckdb

import aggcal


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "judgments.csv"
        duckdb.connect().execute(
            f"""COPY (SELECT 'annotator-' || (hash(i * 3 + 1) % 10000) AS annotator,
                'item-' || (hash(i * 7 + 2) % 100000) AS winner,
                'item-' || (hash(i * 11 + 5) % 100000) AS loser
                FROM range({rows}) t(i)) TO '{path}' (HEADER)"""
        )
        began = time.perf_counter()
        scanned = f"SELECT count(winner || loser) FROM '{path}'"
        counted = duckdb.connect().execute(scanned).fetchone()
        scan = time.perf_counter() - began
        began = time.perf_counter()
        judgments = aggcal.read_judgments(path)
        load = time.perf_counter() - began
    if counted != (rows,) or judgments.n_rows != rows:
        raise SystemExit("not every row was read")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{rows:,} rows: bare scan {scan:.1f} s; load {load:.1f} s ({load / scan:.1f} x the scan,"
    )
    print(f"{rows / load / 1e6:.2f} M rows/s), peak memory {peak:.2f} GB; {judgments}")


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10_000_000)
