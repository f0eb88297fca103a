"""Covariates held equal: what their coefficients mean, and what is taken out of the scores."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal import Terms


def answered(eta: np.ndarray, random: np.random.Generator) -> list[str]:
    won = random.random(len(eta)) < 1.0 / (1.0 + np.exp(-eta))
    return ["left" if each else "right" for each in won]


def test_by_item_it_is_the_regression_of_the_scores_given_much_data() -> None:
    random = np.random.default_rng(1)
    n, rows, m = 12, 60_000, 4
    x = random.normal(0.0, 1.0, n)
    scores = 0.6 * x + random.normal(0.0, 0.7, n)
    left = random.integers(n, size=rows)
    right = (left + random.integers(1, n, rows)) % n
    judgments = aggcal.read_judgments(
        {
            "annotator": [f"u{k % m}" for k in range(rows)],
            "left": [f"i{i:02d}" for i in left],
            "right": [f"i{i:02d}" for i in right],
            "outcome": answered(scores[left] - scores[right], random),
        }
    )
    control = aggcal.read_control({"item": [f"i{i:02d}" for i in range(n)], "words": 80 * x + 200})
    found = aggcal.aggregate(judgments, terms=Terms(position="off", control=control), warn=False)
    assert found.effects is not None
    assert found.effects.control is not None
    assert found.effects.uncontrolled is not None
    plain, scaled = found.effects.uncontrolled, (x - x.mean()) / x.std()
    slope = float(scaled @ (plain - plain.mean()) / (scaled @ scaled))
    assert found.effects.control.values[0] == pytest.approx(slope, abs=0.01)
    rest = plain - plain.mean() - slope * scaled
    assert np.abs(found.scores - found.scores.mean() - rest).max() < 0.03
    assert abs(np.corrcoef(found.scores, scaled)[0, 1]) < 0.02
    # Nothing but the items' own spread makes it uncertain.
    residual = float(np.std(rest, ddof=2)) / np.sqrt(n)
    assert found.effects.control.se[0] == pytest.approx(residual, rel=0.25)


def test_coefficients_are_for_a_standard_deviation_and_a_typical_annotator() -> None:
    random = np.random.default_rng(2)
    n, contexts, rows, m = 8, 10, 12_000, 6
    gamma = np.array([0.5, 0.8, 1.0, 1.0, 1.2, 1.5])
    x = random.normal(0.0, 1.0, (contexts, n))
    scores = random.normal(0.0, 1.0, n)
    left = random.integers(n, size=rows)
    right = (left + random.integers(1, n, rows)) % n
    at, who = random.integers(contexts, size=rows), random.integers(m, size=rows)
    eta = gamma[who] * (scores[left] - scores[right] + 0.5 * (x[at, left] - x[at, right]))
    judgments = aggcal.read_judgments(
        {
            "annotator": [f"u{u}" for u in who],
            "left": [f"i{i}" for i in left],
            "right": [f"i{i}" for i in right],
            "outcome": answered(eta, random),
            "prompt": [f"p{c}" for c in at],
        },
        context="prompt",
    )
    coefficients = {}
    for unit in (1.0, 37.0):
        table = [(f"i{i}", f"p{c}", unit * x[c, i]) for c in range(contexts) for i in range(n)]
        control = aggcal.read_control(table, context="prompt")
        terms = Terms(position="off", context="off", control=control)
        found = aggcal.aggregate(judgments, terms=terms, warn=False)
        assert found.effects is not None
        assert found.effects.control is not None
        coefficients[unit] = float(found.effects.control.values[0])
        low, high = found.effects.control.interval(0.999)
        assert low[0] < 0.5 * x.std() < high[0]
    assert coefficients[37.0] == pytest.approx(coefficients[1.0], abs=1e-6)


def test_terms_that_would_not_be_fitted_are_refused() -> None:
    rows = [("ann", "a", "b"), ("bob", "b", "a")]
    control = aggcal.read_control({"item": ["a", "b"], "words": [1, 2]})
    for how in ({"prior": None}, {"estimator": "mode"}):
        with pytest.raises(aggcal.AggcalError, match="leave the"):
            aggcal.aggregate(rows, terms=Terms(control=control), **how)
