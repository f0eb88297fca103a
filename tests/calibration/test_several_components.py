"""Whole studies in several connected components, from judgments to calibrated scores."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal.engines.local import LocalEngine


def _rows(sizes: tuple[int, ...], seed: int = 0, each: int = 25) -> list[tuple[str, str, str]]:
    random = np.random.default_rng(seed)
    rows = []
    for part, size in enumerate(sizes):
        for _ in range(each * size):
            i, j = random.choice(size, 2, replace=False)
            won = random.random() < 1.0 / (1.0 + np.exp(0.9 * (i - j)))
            pair = (f"{part}-{i}", f"{part}-{j}")
            rows.append((f"u{random.integers(5)}", *(pair if won else pair[::-1])))
    return rows


@pytest.fixture(scope="module")
def study() -> tuple[aggcal.Consensus, dict[str, float]]:
    consensus = aggcal.aggregate(_rows((8, 6, 3)), warn=False)
    random = np.random.default_rng(1)
    model = {i: 30.0 * int(i[0]) - int(i[2]) + random.standard_normal() for i in consensus.item_ids}
    return consensus, {item: float(score) for item, score in model.items()}


def _by_item(found: aggcal.Calibration) -> dict[str, float]:
    return dict(zip(found.item_ids, found.calibrated.tolist(), strict=True))


def test_calibrated_together_as_alone(study: tuple[aggcal.Consensus, dict[str, float]]) -> None:
    consensus, model = study
    together = _by_item(aggcal.calibrate(model, consensus, warn=False))
    for part in "012":
        own = {item: score for item, score in model.items() if item[0] == part}
        found = aggcal.calibrate(own, consensus, warn=False)
        assert found.inputs.component is None
        for item, score in _by_item(found).items():
            if item in own:
                assert together[item] == score
    # A table of numbers is one order of all its items.
    table = dict(zip(consensus.item_ids, consensus.scores.tolist(), strict=True))
    assert aggcal.calibrate(model, table, warn=False).inputs.component is None


def test_without_an_uncertainty_too(study: tuple[aggcal.Consensus, dict[str, float]]) -> None:
    consensus, model = study
    found = aggcal.assess(_rows((8, 6, 3)), model, uncertainty=None, warn=False).calibration
    assert found is not None
    assert _by_item(found) == pytest.approx(
        _by_item(aggcal.calibrate(model, consensus, warn=False))
    )
    assert found.inputs.covariance is None
    assert found.inputs.component is not None


def test_new_items_are_placed_within_their_component(
    study: tuple[aggcal.Consensus, dict[str, float]],
) -> None:
    consensus, model = study
    found = aggcal.calibrate(model, consensus, method="fused", warn=False)
    rows = [("u0", "new", "2-0")] * 3 + [("u1", "new", "2-1"), ("u0", "low", "0-7")]
    rows += [("u0", "both", "0-1"), ("u0", "2-0", "both")]
    told = found.predict({"new": 61.0, "low": -5.0, "both": 30.0}, rows)
    assert told.judged.tolist() == [True, True, False]
    assert abs(told.predicted[0] - 61.0) < 3.0
    assert abs(told.predicted[1] + 5.0) < 4.0


def test_what_is_said_of_components(study: tuple[aggcal.Consensus, dict[str, float]]) -> None:
    consensus, model = study
    found = aggcal.calibrate(model, consensus, warn=False)
    assert found.to_dict()["n_components"] == 3
    rows = _rows((8, 6, 3))
    said = aggcal.assess(rows, model, warn=False).guarantees["interval"].says
    assert "Each of 3 components is calibrated by itself" in said
    assert "comes from the model alone" in said


def test_an_engine_knows_the_components(study: tuple[aggcal.Consensus, dict[str, float]]) -> None:
    consensus, model = study
    there = aggcal.aggregate(_rows((8, 6, 3)), engine=LocalEngine(shards=3), warn=False)
    for method in ("atc", "fused"):
        found, wanted = (
            aggcal.calibrate(model, each, method=method, warn=False) for each in (there, consensus)
        )
        assert found.inputs.component is not None
        assert _by_item(found) == pytest.approx(_by_item(wanted), abs=1e-3)
