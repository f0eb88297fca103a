"""How sure the mean of a parameter over annotators is, when its spread is not known either."""

from __future__ import annotations

import numpy as np

import aggcal
from aggcal.aggregation.effects import Effects
from aggcal.aggregation.families import READINESS
from aggcal.simulation import SimulatedTerms, simulate


def effects(annotators: int, each: int) -> Effects:
    terms = SimulatedTerms(ties="davidson", tie_readiness=-0.5, tie_readiness_sd=1.0)
    n = annotators * each
    made = simulate(items=12, annotators=annotators, judgments=n, terms=terms, seed=5)
    judgments = aggcal.read_judgments(made.shown)
    found = aggcal.aggregate(judgments, terms=aggcal.Terms(position="off"), warn=False).effects
    assert found is not None
    return found


def test_a_mean_is_less_sure_where_few_judgments_tell_the_spread() -> None:
    """Quadrature of the marginal likelihood says 1.09 to 1.12 times as wide at 5 judgments each."""
    ratios = []
    for annotators, each in ((160, 5), (20, 120)):
        found = effects(annotators, each)
        assert found.readiness is not None
        k = found.fit.problem.model.index(READINESS)
        held = float(np.sqrt(found.variances[k]))
        ratios.append(found.readiness.common_se / held)
    assert 1.07 < ratios[0] < 1.25
    assert 1.0 <= ratios[1] < 1.04
