"""What 1e11 judgments would take: a cost model, its constants fitted to kept measurements.

    python benchmarks/plan.py [--judgments 1e11] [--items 1e6]

Reads the newest results of ``engines.py`` (work of a fit on processors), ``gpu.py`` (seconds of a
fit on one card) and ``scheduler.py`` (what a pass costs however little there is to add up), fits

    seconds of a fit = passes × (rows × work / workers + scheduler's part + network's part),

and prints, for ever more workers, what a fit takes and which share of it is work on judgments.
Keeps the table as a dated file in benchmarks/results. It is a plan: nothing of this size was run.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import re
from dataclasses import dataclass
from math import ceil, log
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
    rows = re.findall(
        r"\| (\S+) \| local \| [\d.]+ \| [\d.]+ (?:\| [\d.]+ )?\| [\d.]+ \| ([\d.]+) \|",
        newest("engines-*.md").read_text("utf-8"),
    )
    return Line.through([float(a) for a, _ in rows], [float(b) for _, b in rows])


def card(items: int) -> Line:
    """Seconds of a fit on one card by its judgments."""
    lines = newest("gpu-*.jsonl").read_text("utf-8").splitlines()
    found = [each for each in map(json.loads, lines) if each.get("items") == items]
    return Line.through([f["rows"] for f in found], [f["again_seconds"] for f in found])


def scheduler() -> Line:
    """Seconds of a pass over shards that hold nothing, by their number."""
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
- scheduler: {1e3 * messages.each:.2f} ms a shard and {1e3 * messages.fixed:.0f} ms a pass
  ({100 * messages.largest_misfit:.0f}%), {PASSES} passes a fit
- network: {BANDWIDTH / 1.25e8:.0f} gigabits a second, 24 bytes an item and pass,
  through a tree of {BRANCHES} branches

| {" | ".join(heads)} |
{"|--:" * len(heads)}|""".splitlines()
    for workers in WORKERS:
        depth = max(1, ceil(log(workers, BRANCHES)))
        around = PASSES * (
            messages.fixed + messages.each * workers + depth * 24.0 * items / BANDWIDTH
        )
        cells = []
        for alone in (work.each * judgments / CORES, fast.each * judgments):
            share = alone / workers
            cells += [f"{share + around:,.0f}", f"{100 * share / (share + around):.0f}%"]
        lines.append(f"| {workers:,} | {' | '.join(cells)} | {judgments / workers:.0e} |")
    for name, alone in (
        (f"{CORES} cores", work.each * judgments / CORES), ("a card", fast.each * judgments)
    ):  # fmt: skip
        best = (alone / (PASSES * messages.each)) ** 0.5
        lines += ["", f"With {name} each, more than about {best:,.0f} workers make it slower."]
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--judgments", type=float, default=1e11)
    parser.add_argument("--items", type=float, default=1e6)
    options = parser.parse_args()
    text = "\n".join(plan(options.judgments, options.items))
    print(text)
    today = dt.datetime.now(tz=dt.UTC).date()
    (RESULTS / f"plan-{today}.md").write_text(f"{text}\n", encoding="utf-8")
