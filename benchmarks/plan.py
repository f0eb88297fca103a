"""What 1e11 judgments would take: a cost model, its constants fitted to kept measurements.

    python benchmarks/plan.py [--judgments 1e11] [--items 1e6]

Reads the newest results of ``engines.py`` (CPU time of a fit), ``gpu.py`` (seconds of a fit on one
card) and ``scheduler.py`` (CPU time of Dask's scheduler for each shard and pass), and simulates
passes over ever more workers, event by event: the scheduler hands out the shards' tasks one after
the other and hears of each result, sums are added in a tree, vectors travel. Prints what a fit
takes and which share of it the workers work. Keeps the table as a dated file in benchmarks/results.
It is a plan: nothing of this size was run.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import re
from collections import Counter
from dataclasses import dataclass
from heapq import heappop, heappush
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results"
PASSES = 40
CORES = 16
BRANCHES = 8
BANDWIDTH = 10e9 / 8
"""Bytes per second between two machines: ten gigabits."""
WORKERS = (10, 30, 100, 300, 1_000, 3_000, 10_000)


@dataclass(frozen=True)
class Line:
    """A straight line through measurements: a part that stays, and a part per unit."""

    fixed: float
    each: float
    largest_misfit: float

    @classmethod
    def through(cls, size: list[float], value: list[float]) -> Line:
        """Fit with errors relative to the values, so that small sizes count, too."""
        x, y = np.asarray(size), np.asarray(value)
        design = np.column_stack([np.ones(len(x)), x]) / y[:, None]
        fixed, each = np.linalg.lstsq(design, np.ones(len(y)), rcond=None)[0]
        return cls(float(fixed), float(each), float(np.abs((fixed + each * x) / y - 1.0).max()))


def newest(pattern: str) -> Path:
    """Return the file of the latest date."""
    return max(RESULTS.glob(pattern))


def processors() -> Line:
    """CPU seconds of a local fit by its judgments."""
    sizes, seconds = [], []
    for path in sorted(RESULTS.glob("engines-*.md")):
        table = [line.strip("| ").split(" | ") for line in path.read_text("utf-8").splitlines()]
        head = next(cells for cells in table if cells[0] == "judgments")
        for cells in table:
            if cells[1:2] == ["local"]:
                sizes.append(float(cells[0]))
                seconds.append(float(cells[head.index("fit (CPU s)")]))
    return Line.through(sizes, seconds)


def card(items: int) -> Line:
    """Seconds of a fit on one card by its judgments."""
    lines = newest("gpu-*.jsonl").read_text("utf-8").splitlines()
    found = [each for each in map(json.loads, lines) if each.get("items") == items]
    return Line.through([f["rows"] for f in found], [f["again_seconds"] for f in found])


def scheduler() -> Line:
    """CPU seconds of the scheduler for a pass, by the number of shards."""
    text = newest("scheduler-*.txt").read_text("utf-8")
    rows = re.findall(r"^\s*([\d,]+):\s+[\d.]+,\s+([\d.]+),", text, flags=re.MULTILINE)
    return Line.through(
        [float(a.replace(",", "")) for a, _ in rows], [float(b) / 1e3 for _, b in rows]
    )


def plan(judgments: float, items: float) -> list[str]:
    """Write the table."""
    work, fast, messages = processors(), card(1_000_000), scheduler()
    heads = (
        *("workers", f"fit, {CORES} cores each (s)", "of it work"),
        *("fit, a card each (s)", "of it work", "judgments a worker"),
    )
    lines = f"""\
A plan for {judgments:.0e} judgments of {items:.0e} items (nothing of this size was run):

- processors: {1e9 * work.each:.0f} ns of CPU a judgment for a whole fit
  (the line misses its measurements by {100 * work.largest_misfit:.0f}% at most)
- one H200: {1e9 * fast.each:.2f} ns a judgment and {1e3 * fast.fixed:.0f} ms a fit
  ({100 * fast.largest_misfit:.0f}%)
- scheduler: {1e3 * messages.each:.2f} ms a shard and pass
  ({100 * messages.largest_misfit:.0f}%), {PASSES} passes a fit
- network: {BANDWIDTH / 1.25e8:.0f} gigabits a second; 8 bytes an item to each worker, 16 from
  each, added in a tree of {BRANCHES} branches

| {" | ".join(heads)} |
{"|--:" * len(heads)}|""".splitlines()
    for workers in WORKERS:
        cells = []
        for alone in (work.each * judgments / CORES, fast.each * judgments):
            share = alone / workers
            took = PASSES * simulated_pass(workers, share / PASSES, messages.each, items)
            cells += [f"{took:,.0f}", f"{100 * share / took:.0f}%"]
        lines.append(f"| {workers:,} | {' | '.join(cells)} | {judgments / workers:.0e} |")
    return lines


def simulated_pass(workers: int, compute: float, scheduling: float, items: float) -> float:
    """Play one pass, event by event; return its seconds.

    Parameters
    ----------
    workers
        How many, with a shard each.
    compute
        Seconds that a worker sums over its judgments.
    scheduling
        Seconds of the scheduler for each shard, its share of the tree included.
    items
        How long the vectors are that travel.
    """
    # Of every task the scheduler hears twice: when it hands it out, and when it is done.
    handling = scheduling / (1.0 + 1.0 / (BRANCHES - 1)) / 2.0
    vector = 8.0 * items / BANDWIDTH
    clock = 0.0
    running: list[tuple[float, int, int]] = []
    for shard in range(workers):
        clock += handling
        heappush(running, (clock + vector + compute, 0, shard))
    waiting: Counter[tuple[int, int]] = Counter()
    sizes = [workers]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // BRANCHES))
    while running:
        done, level, place = heappop(running)
        clock = max(clock, done) + handling
        if level + 1 == len(sizes):
            return clock
        parent = (level + 1, place // BRANCHES)
        waiting[parent] += 1
        children = min(BRANCHES, sizes[level] - parent[1] * BRANCHES)
        if waiting[parent] == children:
            clock += handling
            # Gradients and diagonals arrive one after the other through one connection.
            heappush(running, (clock + 2.0 * children * vector, *parent))
    return clock


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--judgments", type=float, default=1e11)
    parser.add_argument("--items", type=float, default=1e6)
    options = parser.parse_args()
    text = "\n".join(plan(options.judgments, options.items))
    print(text)
    today = dt.datetime.now(tz=dt.UTC).date()
    (RESULTS / f"plan-{today}.md").write_text(f"{text}\n", encoding="utf-8")
