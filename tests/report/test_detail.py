"""Why a score moved: every sentence of every row held against the numbers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from aggcal.assessment import assess
from aggcal.report.item import Details
from aggcal.report.results import columns
from aggcal.simulation import simulate

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {}, "bounds": {"bounds": (40.0, 60.0)}, "digits": {"digits": 0}, "missing": {},
    "weighted": {},
}  # fmt: skip


@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize("seed", range(3))
def test_every_reason_is_true(kind: str, seed: int) -> None:
    study = simulate(items=25, annotators=8, judgments=500, seed=seed)
    scores = {name: np.asarray(column) for name, column in study.scores.items()}
    if kind == "missing":
        scores = {name: column[3:] for name, column in scores.items()}
    if kind == "weighted":
        scores["sd"] = np.random.default_rng(seed).uniform(1.0, 4.0, len(scores["item"]))
    run = assess(study.judgments, scores, warn=False, **OPTIONS[kind]).to_run()
    model, calibrated, block = (
        np.asarray(run.items[name], dtype=np.float64) for name in ("model", "calibrated", "block")
    )
    details = Details(run, columns(run))
    said = [details.why(k) for k in range(len(run.names))]
    for k, why in enumerate(said):
        if "keeps its score" in why:
            assert calibrated[k] == pytest.approx(model[k])
        if "rounded or limited" in why:
            assert calibrated[k] != model[k]
        found = re.search(r"these (\d+) items share ([a-z ]+)", why)
        if found:
            own = block == block[k]
            assert int(found[1]) == own.sum() > 1
            if found[2].startswith("their mean"):
                assert calibrated[k] == pytest.approx(model[own].mean())
    assert any("share" in why for why in said)
