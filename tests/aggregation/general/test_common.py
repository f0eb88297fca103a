"""How sure the mean of a parameter over annotators is, when its spread is not known either."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal.aggregation.general.found import GeneralEffects
from aggcal.aggregation.general.posterior import _unseen_skew
from aggcal.models.general.annotators import Known, cubature
from aggcal.simulation import SimulatedTerms, simulate


@pytest.mark.parametrize("c", [0.0, 0.01, -0.03])
@pytest.mark.parametrize("parameters", [1, 2, 3])
def test_skewness_that_the_nodes_do_not_show(parameters: int, c: float) -> None:
    """For φ(x)(1 + c x³) with sd 2 the third cumulant is 6c · 2³, to first order."""
    points, shares = cubature(parameters)
    weights = shares * (1.0 + c * points[:, -1] ** 3)
    nodes = 5.0 + 2.0 * points
    both = np.concatenate([nodes, nodes])[None]
    known = Known(("x",), both, both[..., 0], np.append(weights, 0.0 * weights)[None], 0.0)
    assert known.weights.sum() == pytest.approx(1.0)
    found = _unseen_skew(known, both[..., -1])
    assert found[0] == pytest.approx(6.0 * c * 8.0, rel=0.02, abs=1e-12)


def effects(annotators: int, each: int) -> GeneralEffects:
    terms = SimulatedTerms(ties="davidson", tie_readiness=-0.5, tie_readiness_sd=1.0)
    n = annotators * each
    made = simulate(items=12, annotators=annotators, judgments=n, terms=terms, seed=5)
    judgments = aggcal.read_judgments(made.shown)
    found = aggcal.aggregate(judgments, terms=aggcal.Terms(position="off"), warn=False).effects
    assert isinstance(found, GeneralEffects)
    return found


def test_a_mean_is_less_sure_where_few_judgments_tell_the_spread() -> None:
    """Quadrature of the marginal likelihood says 1.09 to 1.12 times as wide at 5 judgments each."""
    ratios = []
    for annotators, each in ((160, 5), (20, 120)):
        found = effects(annotators, each)
        assert found.readiness is not None
        at = found.problem.layout.at_means
        held = float(np.sqrt(np.diag(found.posterior.covariance)[at]))
        ratios.append(found.readiness.common_se / held)
    assert 1.07 < ratios[0] < 1.25
    assert 1.0 <= ratios[1] < 1.04
