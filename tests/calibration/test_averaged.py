"""Intervals of many projected scores: they cover what they say, and need no hundreds of draws."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal._core.tables import as_text
from aggcal.calibration.project import project
from aggcal.data.scores import Scores

N = 20_000


@pytest.mark.parametrize(("noise", "seed"), [(8.0, 31), (2.0, 32)])
def test_intervals_of_many_items_cover_what_the_exact_order_gives(noise: float, seed: int) -> None:
    """The consensus is a posterior mean, as that of Stage 1 is."""
    random = np.random.default_rng(seed)
    truth, se = random.normal(size=N), random.uniform(0.1, 0.5, N)
    shrink = 1.0 / (1.0 + se**2)
    consensus = shrink * (truth + se * random.normal(size=N))
    model = 50.0 + 10.0 * truth + noise * random.normal(size=N)
    ids = as_text(range(N))
    order = Scores(ids, consensus, np.sqrt(shrink) * se, "consensus")
    found = aggcal.calibrate(Scores(ids, model, None, "model"), order, warn=False)
    exact = project(truth, model)[0]
    table = found.item_columns()
    place = {item: k for k, item in enumerate(ids)}
    at = [place[item] for item in table["item"]]
    low, high = table["calibrated_low"], table["calibrated_high"]
    assert np.all(low <= table["calibrated"])
    assert np.all(table["calibrated"] <= high)
    covered = np.mean((low <= exact[at] + 1e-9) & (exact[at] <= high + 1e-9))
    assert 0.94 < covered < 0.96
