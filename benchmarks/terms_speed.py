"""What ties and position cost: fits with these terms beside plain hra-g.

    python benchmarks/terms_speed.py [--zipf] [JUDGMENTS ...]

Simulates studies of 1,000 items with ties, position effects and a few reversed annotators, each of
whom gives 100 judgments; with --zipf, of 10,000 items and annotators active by Zipf's law, the most
active of whom gives a 27th of all judgments, as in whole.py. Fits plain hra-g (ties as halves), and
by `aggregate` reliability, position and readiness of each annotator, in one run. Times are seconds
of all processors, the least of three runs, or one beyond a million judgments: other work on the
machine matters less to them than to the clock. Prints a table; with several sizes also into
benchmarks/results/.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import aggcal
from aggcal.aggregation.methods import HRA
from aggcal.aggregation.terms import PLAIN

_RESULTS = Path(__file__).with_name("results") / "terms-speed.md"
_MILLION = 1_000_000
_ITEMS, _EACH = 1_000, 100
_REVERSED, _REPEATS = 0.03, 3
_ZIPF_ITEMS, _ZIPF = 10_000, 0.8
_HEAD = """| judgments | hra-g | aggregate with terms | ratio | peak memory |
|---|---|---|---|---|"""


def study(judgments: int, *, zipf: bool, seed: int = 0) -> aggcal.Judgments:
    """Simulate judgments with ties and position effects, sorted as they are when read."""
    rng, annotators = np.random.default_rng(seed), judgments // _EACH
    items = _ZIPF_ITEMS if zipf else _ITEMS
    scores = rng.normal(size=items)
    owner = np.repeat(np.arange(annotators, dtype=np.int32), _EACH)
    if zipf:
        share = np.arange(1, annotators + 1.0) ** -_ZIPF
        drawn = rng.choice(annotators, len(owner), p=share / share.sum())
        owner = np.unique(np.sort(drawn), return_inverse=True)[1].astype(np.int32)
    left = rng.integers(0, items, len(owner))
    right = (left + rng.integers(1, items, len(owner))) % items
    strength = np.maximum(rng.normal(1.0, 0.5, annotators), 0.05)
    strength[rng.random(annotators) < _REVERSED] *= -1.0
    position, ready = rng.normal(0.2, 0.5, annotators), rng.normal(-0.5, 1.0, annotators)
    advantage = strength[owner] * (scores[left] - scores[right]) + position[owner]
    won, tied = np.exp(advantage), np.exp(ready[owner] + 0.5 * advantage)
    drawn = rng.random(len(owner)) * (1.0 + won + tied)
    outcome = np.where(drawn < won, 1.0, np.where(drawn < won + tied, 0.5, 0.0))
    order = np.argsort((owner * np.int64(items) + left) * items + right, kind="stable")
    codes = (column[order].astype(np.int32) for column in (owner, left, right))
    return replace(aggcal.Judgments.of_codes(*codes), outcome=outcome[order], sided=True)


def least(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Return the shortest processor time that the work took, and what it returned."""
    seconds = []
    for _ in range(repeats):
        began = time.process_time()
        found = work()
        seconds.append(time.process_time() - began)
    return min(seconds), found


def measure(judgments: int, *, zipf: bool) -> str:
    """Return a row of the table."""
    data = study(judgments, zipf=zipf)
    repeats = _REPEATS if judgments <= _MILLION else 1
    alone, plain = least(lambda: HRA(terms=PLAIN).fit(data), repeats)
    with_terms, whole = least(lambda: aggcal.aggregate(data, warn=False), repeats)
    if not all(fit.convergence is not None and fit.convergence.converged for fit in (plain, whole)):
        raise RuntimeError("a fit has not converged")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return (
        f"| {judgments:,}{', Zipf' if zipf else ''} | {alone:.2f} s | {with_terms:.2f} s | "
        f"{with_terms / alone:.2f} | {memory:.1f} GB |"
    )


def main(sizes: list[int], *, zipf: bool) -> None:
    """Measure, print and keep."""
    lines = []
    print(_HEAD)
    for judgments in sizes:
        for shape in (False, True) if zipf else (False,):
            lines.append(measure(judgments, zipf=shape))
            print(lines[-1], flush=True)
    if len(sizes) > 1:
        said = (__doc__ or "").partition("\n\n    ")[0]
        _RESULTS.write_text("\n".join([said, "", _HEAD, *lines, ""]))


if __name__ == "__main__":
    asked = [each for each in sys.argv[1:] if each != "--zipf"]
    main([int(float(size)) for size in asked] or [_MILLION], zipf="--zipf" in sys.argv)
