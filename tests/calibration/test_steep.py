"""Truths that rise steeply at the top: the model is right about those items, and not the curve."""

from __future__ import annotations

import numpy as np

import aggcal
from aggcal._core.tables import as_text
from aggcal.data.scores import Scores


def ratio(seed: int) -> float:
    """Return the error of fused scores, in that of the model, where the truth is steep."""
    random = np.random.default_rng([seed, 41])
    latent, se = random.normal(size=60), np.full(60, 0.25)
    shrink = 1.0 / (1.0 + se**2)
    consensus = shrink * (latent + se * random.normal(size=60))
    truth = 10.0 * np.exp(2.5 * latent)
    model = truth + 8.0 * random.normal(size=60)
    ids = as_text(range(60))
    order = Scores(ids, consensus, np.sqrt(shrink) * se, "consensus")
    found = aggcal.calibrate(Scores(ids, model, None, "model"), order, method="fused", warn=False)
    at = {item: k for k, item in enumerate(ids)}
    table = found.item_columns()
    mine = truth[[at[item] for item in table["item"]]]
    return float(np.mean((table["calibrated"] - mine) ** 2) / np.mean((model - truth) ** 2))


def test_fused_scores_stay_near_a_good_model_of_a_steep_truth() -> None:
    """The median was 3.2 without a limit, and the largest 119,186."""
    found = [ratio(seed) for seed in range(30)]
    assert np.median(found) < 1.1
    assert max(found) < 100.0
