"""Pairs are certified the same whether they are looked at one by one or in blocks."""

from __future__ import annotations

import numpy as np
import pytest

from aggcal._core.arrays import IntArray
from aggcal.aggregation.uncertainty import certified
from aggcal.aggregation.uncertainty.certified import Certified
from aggcal.aggregation.uncertainty.covariance import Covariance, DenseCovariance


def _covariance(n: int) -> Covariance:
    noise = np.random.default_rng(n).normal(size=(n, 2 * n))
    return DenseCovariance(0.02 * noise @ noise.T / n)


def _is_certified(found: Certified, i: int, j: int) -> bool:
    gap = found.scores[i] - found.scores[j]
    alike = found.component is None or found.component[i] == found.component[j]
    sd = np.sqrt(found.covariance.gap_bound(np.array([i]), np.array([j]))[0])
    return bool(alike and gap > 0.0 and gap > found.critical_value * sd)


@pytest.mark.parametrize("at_once", [1, 40, 1 << 17])
@pytest.mark.parametrize("component", [None, np.arange(17) % 3])
def test_blocks_certify_what_single_pairs_do(
    at_once: int, component: IntArray | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certified, "_AT_ONCE", at_once)
    scores = np.random.default_rng(3).normal(size=17)
    scores[4] = scores[9]
    found = Certified(scores, _covariance(17), 0.9, component=component)
    expected = {(i, j) for i in range(17) for j in range(17) if _is_certified(found, i, j)}
    assert 5 < len(expected) < 130
    assert set(found.pairs()) == expected
    assert found.count == len(expected)
    if component is None:
        order = np.argsort(-scores, kind="stable")
        above = [rows.tolist() for rows in found.above(order)]
        assert len(above) == 17
        assert {(order[i], order[k]) for k, rows in enumerate(above) for i in rows} == expected


def test_a_low_level_certifies_nothing_against_the_order() -> None:
    """The critical value is then below 0."""
    found = Certified(np.array([1.0, 0.0]), _covariance(2), 0.1)
    assert found.critical_value < 0.0
    assert list(found.pairs()) == [(0, 1)]
