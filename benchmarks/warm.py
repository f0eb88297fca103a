"""What an earlier consensus saves when one judgment in a hundred is new.

    python benchmarks/warm.py [JUDGMENTS]

Fits a study, adds 1% of judgments, and fits again from nothing and from the earlier consensus, in
one run; prints both times, their ratio, and how far apart the two optima are.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import aggcal
from aggcal.simulate import Simulation, simulate


def first(study: Simulation, rows: int) -> aggcal.Judgments:
    order = np.argsort(study.annotator[:rows], kind="stable")
    columns = (study.annotator, study.winner, study.loser)
    u, w, lost = (column[:rows][order].astype(np.int32) for column in columns)
    return aggcal.Judgments.of_codes(u, w, lost)


def main(judgments: int) -> None:
    study = simulate(
        items=judgments // 100, annotators=judgments // 100, judgments=judgments * 101 // 100
    )
    old, new = first(study, judgments), first(study, judgments * 101 // 100)
    for method in ("btl", "hra-g"):
        earlier = aggcal.aggregate(old, method, warn=False)
        seconds, found = [], []
        for start in (None, earlier):
            began = time.perf_counter()
            found.append(aggcal.aggregate(new, method, start=start, warn=False))
            seconds.append(time.perf_counter() - began)
        apart = np.abs(found[0].scores - found[1].scores).max()
        print(
            f"{method}: {seconds[0]:.2f} s from nothing, {seconds[1]:.2f} s from the earlier "
            f"consensus (ratio {seconds[1] / seconds[0]:.2f}); the optima differ by {apart:.0e}"
        )


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000)
