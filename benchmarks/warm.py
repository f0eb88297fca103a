"""What an earlier consensus saves when one judgment in a hundred is new.

    python benchmarks/warm.py [JUDGMENTS]

Reads a study from a CSV and fits it; then 1% of judgments come in another file. Brings the
consensus up to date in two ways, in one run: by reading and fitting everything again, and by
`add_judgments` and a fit from the earlier consensus. Each time is the least of three. Prints the
times, their ratios and how far apart the two optima are; for a million judgments also into
benchmarks/results/.
"""

from __future__ import annotations

import datetime as dt
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import aggcal
from aggcal.simulation import simulate

_RESULTS = Path(__file__).with_name("results")
_MILLION = 1_000_000
_REPEATS = 3


def least(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the shortest time that the work took, and what it returned."""
    seconds = []
    for _ in range(_REPEATS):
        began = time.perf_counter()
        found = work()
        seconds.append(time.perf_counter() - began)
    return min(seconds), found


def write(path: Path, lines: list[str]) -> Path:
    """Write rows of judgments as CSV."""
    path.write_text("annotator,winner,loser\n" + "".join(lines))
    return path


def measure(judgments: int, folder: Path) -> list[str]:
    """Return what was measured, a sentence each."""
    study = simulate(
        items=judgments // 100, annotators=judgments // 100, judgments=judgments * 101 // 100
    )
    lines = [f"u{u},i{w},i{lost}\n" for u, w, lost in zip(*study.judgments.values(), strict=True)]
    whole = write(folder / "whole.csv", lines)
    early = write(folder / "early.csv", lines[:judgments])
    late = write(folder / "late.csv", lines[judgments:])
    reading, everything = least(partial(aggcal.read_judgments, whole))
    old = aggcal.read_judgments(early)
    adding, grown = least(partial(aggcal.add_judgments, old, late))
    said = [
        f"{old!r}, then {len(lines) - judgments:,} more.",
        f"Reading everything again {reading:.2f} s, adding what is new {adding:.2f} s.",
    ]
    methods = {
        "btl": aggcal.methods.BTL(),
        "hra-g": aggcal.methods.HRA(),
        "hra-g by the mode": aggcal.methods.HRA(estimator="mode"),
    }
    for name, method in methods.items():
        fit = partial(aggcal.aggregate, method=method, warn=False)
        cold, first = least(partial(fit, everything))
        warm, again = least(partial(fit, grown, start=fit(old)))
        apart = np.abs(first.scores - again.scores).max()
        said.append(
            f"{name}: the fit takes {cold:.3f} s from nothing, {warm:.3f} s from the earlier "
            f"consensus ({warm / cold:.2f} of it); with the reading {reading + cold:.2f} s and "
            f"{adding + warm:.2f} s ({(adding + warm) / (reading + cold):.2f} of it); the optima "
            f"differ by {apart:.0e}."
        )
    return said


def main(judgments: int) -> None:
    """Measure, print and keep."""
    with tempfile.TemporaryDirectory() as folder:
        text = "\n".join(measure(judgments, Path(folder))) + "\n"
    print(text, end="")
    if judgments == _MILLION:
        today = dt.datetime.now(tz=dt.UTC).date()
        (_RESULTS / f"warm-{today}.txt").write_text(text)


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else _MILLION)
