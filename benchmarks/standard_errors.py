"""What standard errors cost beside the fit, and whether they are right.

    python benchmarks/standard_errors.py [ITEMS JUDGMENTS ANNOTATORS]

Fits a simulated study and works out the standard errors of all scores and reliabilities in one run;
prints both times, their ratio, and how many of the true scores the 90% intervals hold.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import aggcal
from aggcal.simulation import simulate


def main(items: int, judgments: int, annotators: int) -> None:
    study = simulate(items=items, annotators=annotators, judgments=judgments)
    order = np.argsort(study.annotator, kind="stable")
    columns = (study.annotator, study.winner, study.loser)
    u, w, lost = (column[order].astype(np.int32) for column in columns)
    rows = aggcal.Judgments.of_codes(u, w, lost)
    began = time.perf_counter()
    consensus = aggcal.aggregate(rows, warn=False)
    fitted = time.perf_counter()
    known = consensus.quantify(level=0.9).uncertainty
    done = time.perf_counter()
    if known is None:
        raise SystemExit("no uncertainty")
    off = np.abs(consensus.scores - study.latent)
    inside = (known.low <= study.latent) & (study.latent <= known.high)
    rank = items - np.argsort(np.argsort(study.latent))
    print(
        f"{items:,} items, {judgments:,} judgments, {annotators:,} annotators: fit "
        f"{fitted - began:.1f} s, standard errors {done - fitted:.1f} s "
        f"({(done - fitted) / (fitted - began):.1f} fits)"
    )
    print(
        f"90% covered: {np.mean(off <= 1.6449 * known.se):.3f} by the standard error, "
        f"{inside.mean():.3f} by the interval, "
        f"{np.mean((known.rank_low <= rank) & (rank <= known.rank_high)):.3f} of the ranks"
    )


if __name__ == "__main__":
    sizes = [int(float(x)) for x in sys.argv[1:]] or [100_000, 10_000_000, 10_000]
    main(*sizes)
