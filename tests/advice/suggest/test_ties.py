"""Suggestions where ties were fitted: a question that may end in a tie tells less."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.advice.suggest.annotators import anybody, people
from aggcal.advice.suggest.beliefs import Beliefs
from aggcal.advice.suggest.criterion import Answering
from aggcal.aggregation.families import Adjacent, RaoKupper
from aggcal.aggregation.links import LOGISTIC, link
from aggcal.simulation import SimulatedTerms, simulate

X = np.linspace(-4.0, 4.0, 17)


@pytest.mark.parametrize("thresholds", [False, True])
@pytest.mark.parametrize("readiness", [-6.0, -1.0, 0.5])
def test_the_information_is_that_of_three_answers(thresholds: bool, readiness: float) -> None:
    someone = Answering(link("logistic"), 1.0, readiness, thresholds)

    def chances(x: FloatArray) -> FloatArray:
        ready = np.full(len(x), readiness)
        if thresholds:
            return RaoKupper().probabilities(x, ready)
        return Adjacent().probabilities(x, ready)

    slope = (np.log(chances(X + 1e-5)) - np.log(chances(X - 1e-5))) / 2e-5
    expected = (chances(X) * slope**2).sum(axis=1)
    np.testing.assert_allclose(someone.information(X), expected, rtol=1e-6)
    # Next to nobody calls a tie: it is the plain one.
    if readiness < -5.0:
        plain = Answering(link("logistic"), 1.0).information(X)
        np.testing.assert_allclose(someone.information(X), plain, rtol=0.05)


def test_everybody_is_asked_with_their_own_readiness() -> None:
    made = simulate(
        items=12, annotators=10, judgments=1500, terms=SimulatedTerms("davidson"), seed=2
    )
    judgments = aggcal.read_judgments(made.shown)
    consensus = aggcal.aggregate(judgments, warn=False)
    assert consensus.effects is not None
    ready = consensus.effects.readiness
    assert ready is not None
    beliefs = Beliefs.of(judgments, consensus, None, np.empty(0, dtype=object))
    ids = judgments.annotator_ids.tolist()
    *known, new = people(judgments, beliefs, ids, ["somebody"])
    assert [each.readiness for each in known] == ready.values.tolist()
    assert new.readiness == anybody(beliefs).readiness == ready.common
    most, least = (
        known[k].answering(beliefs) for k in (ready.values.argmax(), ready.values.argmin())
    )
    assert float(most.information(np.zeros(1))[0]) < float(least.information(np.zeros(1))[0])
    found = aggcal.suggest_pairs(judgments, n=10, consensus=consensus)
    assert ((found.probability > 0.0) & (found.probability < 1.0)).all()
    assert (found.information > 0.0).all()


def test_the_information_of_the_logistic_link_is_its_variance() -> None:
    """It is worked out more quickly than that of other links."""
    x = np.concatenate([np.random.default_rng(0).normal(scale=5.0, size=1000), [0.0, 40.0, -900.0]])
    expected = LOGISTIC.terms(x)[1] * LOGISTIC.terms(-x)[1]
    found = Answering(LOGISTIC, 1.0).information(x)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
