"""Fit made judgments on a GPU and on the processors: ``python benchmarks/gpu.py --sizes 2e6,2e7``.

Needs CuPy and a GPU, NumPy and SciPy, and nothing else that aggcal needs. Judgments have no ties,
or ties and sides that annotators favour; each is fitted with the annotators' parameters integrated
out, on either, and the scores are compared.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from aggcal._core.arrays import FloatArray, constant
from aggcal.aggregation.empirical import Fit, Model, Problem, fit
from aggcal.aggregation.families import POSITION, READINESS, RELIABILITY, Adjacent, Advantage
from aggcal.aggregation.rows import GAP, Plan
from aggcal.aggregation.shards import lay_out
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.engines.gpu import GpuEngine

HEAD = """\
| judgments | items | annotators | model | GPU | processors | largest difference of scores |
|---|---|---|---|---|---|---|"""
_EACH, _FEW = 1_000, 400
"""Judgments of an item, and of an annotator."""


def made(judgments: int, *, ties: bool, seed: int = 0) -> Judgments:
    """Make judgments of annotators who differ in reliability and in how they favour a side."""
    random = np.random.default_rng(seed)
    n, m = max(judgments // _EACH, 50), max(judgments // _FEW, 20)
    score, reliability = random.normal(size=n), np.maximum(random.normal(1.0, 0.4, m), 0.05)
    position, readiness = random.normal(0.3, 0.4, m), random.normal(-1.0, 0.8, m)
    who = np.sort(np.concatenate([np.arange(m), random.integers(m, size=judgments - m)]))
    left = random.integers(n, size=judgments)
    right = (left + 1 + random.integers(n - 1, size=judgments)) % n
    order = np.lexsort((right, left, who))
    left, right = left[order], right[order]
    eta = reliability[who] * (score[left] - score[right]) + ties * position[who]
    weights = np.exp(eta / 2), np.exp(-eta / 2), ties * np.exp(readiness[who])
    chance = random.random(judgments) * sum(weights)
    outcome = np.where(
        chance < weights[0], 1.0, np.where(chance < weights[0] + weights[1], 0.0, 0.5)
    )
    return Judgments(
        np.array([f"item {k}" for k in range(n)], dtype=object),
        np.array([f"annotator {k}" for k in range(m)], dtype=object),
        who.astype(np.int32),
        left.astype(np.int32),
        right.astype(np.int32),
        outcome,
        constant(1.0, judgments),
        np.broadcast_to(np.int64(1), (judgments,)),
        sided=True,
    )


def first_scores(judgments: Judgments) -> FloatArray:
    """Return the logit of the share of its comparisons that each item won."""
    won, lost = judgments.wins_and_losses
    return np.asarray(np.log((won + 0.5) / (lost + 0.5)))


def timed(judgments: AnyJudgments, scores: FloatArray, *, ties: bool) -> tuple[float, Fit]:
    """Fit, wherever rows lie."""
    began = time.perf_counter()
    rows = lay_out(judgments, Plan(ties=ties, sides=ties))
    further = (POSITION, READINESS) if ties else ()
    family = Advantage((RELIABILITY, *further), Adjacent(), (GAP,))
    component = np.zeros(judgments.n_items, dtype=np.int64)
    model = Model(rows, family, component, further)
    result = fit(Problem(model), model.first_state(scores))
    return time.perf_counter() - began, result


def main() -> None:
    """Measure each size, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="2e5,2e6,2e7", help="of judgments, with commas")
    print(HEAD, flush=True)
    for size in parser.parse_args().sizes.split(","):
        for ties in (False, True):
            judgments = made(int(float(size)), ties=ties)
            engine, scores = GpuEngine(), first_scores(judgments)
            on_gpu, one = timed(engine.distribute(judgments), scores, ties=ties)
            here, other = timed(judgments, scores, ties=ties)
            engine.close()
            model = "ties and sides" if ties else "reliabilities"
            apart = float(np.abs(one.scores - other.scores).max())
            print(
                f"| {judgments.n_judgments:,} | {judgments.n_items:,} | "
                f"{judgments.n_annotators:,} | {model} | {on_gpu:.1f} s | {here:.1f} s | "
                f"{apart:.1e} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
