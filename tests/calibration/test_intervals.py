"""Intervals of very many items hold only the tails of their draws, and are the same."""

import numpy as np
import pytest

import aggcal
from aggcal.calibration import intervals
from aggcal.simulation import simulate


def test_tails_give_the_quantiles(monkeypatch: pytest.MonkeyPatch) -> None:
    study = simulate(items=80, annotators=8, judgments=600, seed=4)
    wanted = aggcal.assess(study.judgments, study.scores, warn=False)
    monkeypatch.setattr(intervals, "_NUMBERS", 1000)
    monkeypatch.setattr(intervals, "_SLICE", 33)
    found = aggcal.assess(study.judgments, study.scores, warn=False)
    for end in ("calibrated_low", "calibrated_high"):
        np.testing.assert_allclose(found.items[end], wanted.items[end], atol=1e-10)
        assert len(np.unique(wanted.items[end])) > 5
