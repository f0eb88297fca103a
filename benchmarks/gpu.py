"""Time a plain fit on a GPU beside the processors: ``python benchmarks/gpu.py --sizes 1e6,2e7``.

Each line of the output is a JSON object. Needs CuPy and a GPU.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

import aggcal
from aggcal.aggregation.terms import PLAIN
from aggcal.engines import prepare
from aggcal.simulation import simulate


def one(judgments: int, items: int) -> None:
    """Print the seconds of a fit by either, and how far apart their scores are."""
    study = simulate(items=items, annotators=items, judgments=judgments)
    order = np.argsort(study.annotator, kind="stable")
    columns = study.annotator, study.winner, study.loser
    whole = aggcal.Judgments.of_codes(*(column[order].astype(np.int32) for column in columns))
    line, scores = {"rows": judgments, "items": items}, []
    for engine in ("local", "gpu"):
        rows = prepare(whole, engine)
        began = time.perf_counter()
        scores.append(aggcal.aggregate(rows, terms=PLAIN, warn=False).scores)
        line[f"{engine}_seconds"] = round(time.perf_counter() - began, 2)
    print(json.dumps(line | {"apart": float(np.abs(scores[0] - scores[1]).max())}), flush=True)


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1e6,2e7", help="numbers of judgments")
    parser.add_argument("--items", type=float, default=1e4, help="as many annotators")
    options = parser.parse_args()
    one(100_000, 1_000)  # so that no time is spent on compiling
    for size in options.sizes.split(","):
        one(int(float(size)), int(options.items))


if __name__ == "__main__":
    main()
