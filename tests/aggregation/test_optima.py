"""Small studies in which annotators contradict each other: the best of several optima is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

import aggcal
from aggcal.data.judgments import Judgments

MISSED = (55, 58, 191, 196)
"""Where crowd-bt ended in a worse optimum when begun at the btl and the hra-g fit alone (crowd-tcv
in the last two), in the first 200 studies of `benchmarks/optima.py`."""


def adversarial(seed: int) -> Judgments:
    """Return the study of this seed in `benchmarks/optima.py`."""
    random = np.random.default_rng([seed, 8])
    n, m = int(random.integers(5, 9)), int(random.integers(3, 11))
    latent = random.choice([0.5, 1.0, 2.0, 4.0]) * random.standard_normal(n)
    # Honest, reversed, guessing; never contradicting themselves, honest or reversed.
    kinds = random.choice(5, size=m, p=random.dirichlet([2.0, 2.0, 1.0, 1.0, 1.0]))
    rows = []
    for u, kind in enumerate(kinds):
        each = int(random.choice([2, 4, 8, 15, 40]))
        slope = [1.0, -1.0, 0.0, 30.0, -30.0][kind] * float(np.exp(0.4 * random.standard_normal()))
        for _ in range(each):
            i, j = random.choice(n, size=2, replace=False)
            wins = random.random() < expit(slope * (latent[i] - latent[j]))
            rows.append((f"u{u}", f"i{i if wins else j}", f"i{j if wins else i}"))
    return aggcal.read_judgments(rows)


@pytest.mark.parametrize(
    ("method", "seed"),
    [
        *((aggcal.methods.CrowdBT, seed) for seed in (*range(8), *MISSED)),
        *((aggcal.methods.CrowdTCV, seed) for seed in MISSED[2:]),
    ],
)
def test_no_random_start_finds_a_better_mode(
    method: type[aggcal.methods.CrowdBT | aggcal.methods.CrowdTCV], seed: int
) -> None:
    judgments, aggregator = adversarial(seed), method(estimator="mode")
    consensus = aggregator.fit(judgments)
    random = np.random.default_rng(seed)
    for width in (0.3, 1.0, 3.0) * 2:
        start = width * random.standard_normal(judgments.n_items)
        other = replace(aggregator, tolerance=1e-6).refit(judgments, start, consensus)
        assert consensus.objective is not None
        assert other.objective is not None
        assert consensus.objective < other.objective + 1e-3
