"""What `aggcal check` says of honest studies whose answers have weights.

    python benchmarks/weighted_rates.py [--studies 200] [-o benchmarks/results/weighted-rates.md]

20 items, 10 annotators, 1,000 judgments by the heterogeneous Bradley-Terry model; reliabilities
have a log sd of 0.5. Weights say nothing of the answers: whoever weighs little is as good as the
others. The seeds are not those of any test.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from one_core import on_one_core_each
from scipy.special import expit

import aggcal
from aggcal._core.arrays import FloatArray, IntArray
from aggcal.advice.check import check

FIRST_SEED = 61_000_000
ITEMS, ANNOTATORS, JUDGMENTS = 20, 10, 1000
ACCUSED = ("reversed-annotators", "contradicting", "guessing", "position-bias", "side-preferred")
ERRATIC = "erratic"
Weights = Callable[[np.random.Generator, IntArray], FloatArray]

WEIGHTS: dict[str, Weights | None] = {
    "none": None,
    "of annotators, 0 to 1": lambda random, who: random.beta(0.5, 0.5, ANNOTATORS)[who] + 1e-3,
    "of annotators, log sd 1.5": lambda random, who: np.exp(1.5 * random.normal(size=ANNOTATORS))[
        who
    ],
    "of answers, 0.05 to 0.95": lambda random, who: random.uniform(0.05, 0.95, len(who)),
    "of answers, log sd 1.5": lambda random, who: random.lognormal(0, 1.5, len(who)),
    "of answers, 0.001 or 1": lambda random, who: random.choice([1e-3, 1.0], len(who)),
    "of answers, 1 or 300": lambda random, who: random.choice([1.0, 300.0], len(who)),
}


def looked_at(kind: str, seed: int) -> set[str]:
    """Simulate a study and return the codes of what is found in it."""
    random = np.random.default_rng(seed)
    who = np.sort(random.integers(ANNOTATORS, size=JUDGMENTS))
    left = random.integers(ITEMS, size=JUDGMENTS)
    right = (left + random.integers(1, ITEMS, size=JUDGMENTS)) % ITEMS
    scores, slopes = random.normal(size=ITEMS), np.exp(0.5 * random.normal(size=ANNOTATORS))
    up = random.random(JUDGMENTS) < expit(slopes[who] * (scores[left] - scores[right]))
    rows = {
        "annotator": who,
        "left": left,
        "right": right,
        "outcome": np.where(up, "left", "right").astype(object),
    }
    weights = WEIGHTS[kind]
    if weights is not None:
        rows["weight"] = weights(random, who)
    return {finding.code for finding in check(aggcal.read_judgments(rows)).findings}


def main() -> None:
    """Count, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()
    lines = [
        "Written by `python benchmarks/weighted_rates.py`: in how many honest studies something is",
        "said.",
        "",
        f"| weights | studies | accused | {ERRATIC} |",
        "|---" * 4 + "|",
    ]
    with on_one_core_each(os.cpu_count()) as pool:
        for k, kind in enumerate(WEIGHTS):
            seeds = range(FIRST_SEED + 10_000 * k, FIRST_SEED + 10_000 * k + asked.studies)
            found = list(pool.map(partial(looked_at, kind), seeds, chunksize=5))
            accused = sum(not codes.isdisjoint(ACCUSED) for codes in found)
            erratic = sum(ERRATIC in codes for codes in found)
            lines.append(f"| {kind} | {len(found)} | {accused} | {erratic} |")
            print(lines[-1], flush=True)
    text = "\n".join(lines) + "\n"
    if asked.output is not None:
        asked.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
