"""Several criteria: how far their orders agree, and their weighted mean."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal import Terms
from aggcal.aggregation.effects import CategoryScores

MIXED = np.array([[1.0, 0.9, 0.2], [0.9, 1.0, 0.2], [0.2, 0.2, 1.0]])


def study(seed: int, sigma: np.ndarray, items: int = 25, rows: int = 1500) -> dict[str, list[str]]:
    random = np.random.default_rng(seed)
    truth = random.multivariate_normal(np.zeros(len(sigma)), sigma, size=items)
    left = random.integers(items, size=rows)
    right = (left + random.integers(1, items, rows)) % items
    on = random.integers(len(sigma), size=rows)
    won = random.random(rows) < 1.0 / (1.0 + np.exp(truth[right, on] - truth[left, on]))
    return {
        "annotator": [f"u{u}" for u in random.integers(10, size=rows)],
        "left": [f"i{i:02d}" for i in left],
        "right": [f"i{i:02d}" for i in right],
        "outcome": ["left" if each else "right" for each in won],
        "criterion": [("content", "form", "style")[k] for k in on],
    }


def by_criterion(found: aggcal.Consensus) -> CategoryScores:
    assert found.effects is not None
    (column,) = found.effects.categories
    return column


def test_correlations_are_those_of_the_truth() -> None:
    """The fit itself supposes one correlation for all pairs: it must not show."""
    inside, values = [], []
    for seed in range(8):
        judgments = aggcal.read_judgments(study(seed, MIXED), by="criterion")
        terms = Terms(position="off")
        found = aggcal.aggregate(judgments, method="btl", terms=terms, warn=False)
        alike = by_criterion(found).correlation
        assert alike is not None
        low, high = alike.interval(0.9)
        pairs = np.triu_indices(3, 1)
        inside.append((low < MIXED)[pairs] & (high > MIXED)[pairs])
        values.append(alike.values[pairs])
    # .90 are expected; of 24, fewer than 17 have a chance of 1 in 500.
    assert np.sum(inside) >= 17
    assert np.mean(values, axis=0) == pytest.approx(MIXED[np.triu_indices(3, 1)], abs=0.15)


@pytest.mark.parametrize("method", ["hra-g", "btl"])
def test_a_weighted_mean_is_one_of_scores_by_criterion(method: str) -> None:
    judgments = aggcal.read_judgments(study(20, MIXED, items=12, rows=600), by="criterion")
    given = {"style": 1.0, "content": 3.0, "form": 0.0}
    terms = Terms(position="off", criteria_weights=given)
    found = aggcal.aggregate(judgments, method=method, terms=terms, warn=False)
    found = found.quantify("laplace")
    column = by_criterion(found)
    expected = 0.75 * column.scores[0] + 0.25 * column.scores[2]
    assert found.scores == pytest.approx(expected - expected.mean(), abs=1e-9)
    plain = aggcal.aggregate(judgments, method=method, terms=Terms(position="off"), warn=False)
    assert by_criterion(plain).scores == pytest.approx(column.scores, abs=1e-9)
    # Its variance is that of the same sum of what was fitted, about the mean of the items.
    effects = found.effects
    assert effects is not None
    assert found.uncertainty is not None
    block, n = effects.fit.problem.model.rows.blocks["by criterion"], judgments.n_items
    each = np.zeros((n, len(effects.fit.state.unknowns)))
    each[:, :n] = np.eye(n)
    each[block.item, np.arange(block.where.start, block.where.stop)] = np.array([0.75, 0.0, 0.25])[
        block.group
    ]
    each -= each.mean(axis=0)
    assert np.sqrt(np.diag(each @ effects.covariance @ each.T)) == pytest.approx(
        found.uncertainty.se, rel=1e-6
    )
    assert found.to_dict()["terms"]["criteria_weights"]["content"] == 0.75


def test_wrong_weights_are_refused() -> None:
    table = study(21, MIXED, items=6, rows=200)
    judgments = aggcal.read_judgments(table, by="criterion")
    for weights, said in (
        ({"content": 1.0, "form": 1.0}, "no weight for 'style'"),
        ({"content": 1.0, "form": 1.0, "stlye": 1.0}, "no criterion 'stlye'"),
    ):
        with pytest.raises(aggcal.AggcalError, match=said):
            aggcal.aggregate(judgments, terms=Terms(criteria_weights=weights))
    with pytest.raises(aggcal.AggcalError, match="not a number of at least 0"):
        Terms(criteria_weights={"content": -1.0})
    with pytest.raises(aggcal.AggcalError, match="no criterion has a weight above 0"):
        Terms(criteria_weights={"content": 0.0})
    del table["criterion"]
    with pytest.raises(aggcal.AggcalError, match="several criteria"):
        aggcal.aggregate(table, terms=Terms(criteria_weights={"content": 1.0}))
