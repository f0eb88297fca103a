"""What reading Parquet on a graphics card takes, by cuDF, beside the processors.

    python benchmarks/card_reading.py FILE.parquet [FILE.parquet ...] [--output FILE]

For files of `benchmarks/whole.py`. Each measurement is a process of its own, the two kinds in turn,
three of each; ``loading`` is the time until it has loaded its libraries and, with cuDF, opened the
card. What both have read is compared to the bit. Needs a card, and aggcal's extra ``cudf``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path
from statistics import median

import numpy as np

import aggcal
from aggcal.engines.gpu_columns import card
from aggcal.io.quick import carded

KINDS = ("processors", "card")
REPEATS = 3
HEAD = """| judgments | read by | seconds | loading | reading | CPU |
|---|---|---|---|---|---|"""


def read(kind: str, file: str) -> aggcal.Judgments:
    """Read a file by the processors or by the card."""
    carded.FEWEST = 0
    with carded.on_card(card() if kind == "card" else None):
        return aggcal.read_judgments(file)


def one_run(kind: str, file: str, began: float) -> None:
    """Read once and print how long it took."""
    if kind == "card":
        import cupy
        import pylibcudf

        pylibcudf.Table([])
        cupy.zeros(1)
    loaded = time.time()
    read(kind, file)
    print(json.dumps({"loading": loaded - began, "reading": time.time() - loaded}))


def measured(kind: str, file: str) -> dict[str, float]:
    """Measure one reader in a process of its own."""
    command = [sys.executable, __file__, file, "--only", kind, "--began", str(time.time())]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    out = child.stdout.read() if child.stdout else ""
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{kind} failed")
    parts: dict[str, float] = json.loads(out.splitlines()[-1])
    return {"seconds": sum(parts.values()), **parts, "CPU": used.ru_utime + used.ru_stime}


def same(file: str) -> bool:
    """Whether both read the same."""
    one, other = (read(kind, file) for kind in KINDS)
    pairs = [(getattr(one, f.name), getattr(other, f.name)) for f in fields(one)]
    return all(np.array_equal(a, b) for a, b in pairs if isinstance(a, np.ndarray))


def main() -> None:
    """Measure both in turn and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--only", help=argparse.SUPPRESS)
    parser.add_argument("--began", type=float, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.only:
        one_run(asked.only, asked.files[0], asked.began)
        return
    machine = f"{os.cpu_count()} cores, {platform.machine()}; Python {platform.python_version()}"
    lines = [f"Seconds, the median of {REPEATS}; {machine}. `python benchmarks/card_reading.py`"]
    lines += ["", *HEAD.splitlines()]
    for file in asked.files:
        runs = [{kind: measured(kind, file) for kind in KINDS} for _ in range(REPEATS)]
        rows = aggcal.read_judgments(file).n_judgments
        for kind in KINDS:
            cells = [f"{median(run[kind][part] for run in runs):.2f}" for part in runs[0][kind]]
            lines.append(f"| {rows:,} | {kind} | " + " | ".join(cells) + " |")
        if not same(file):
            raise SystemExit(f"{file}: not the same")
    print("\n".join(lines))
    if asked.output:
        asked.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
