"""Pairs out of rankings: weighted so that standard errors are those of the rankings."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.data.acts import RankingWeight, pair_weight
from aggcal.io.formats.base import Row
from aggcal.io.formats.orders import Orders
from aggcal.registry.literals import UncertaintyName

_TRUTH = np.array([0.9, 0.5, 0.1, -0.2, -0.4, -0.9])
_RANKINGS = 100


def _rankings(random: np.random.Generator) -> list[list[int]]:
    """Draw rankings from the Plackett-Luce model: scores plus Gumbel noise, sorted."""
    heights = _TRUTH + random.gumbel(size=(_RANKINGS, len(_TRUTH)))
    drawn: list[list[int]] = np.argsort(-heights, axis=1).tolist()
    return drawn


def _scores_of_pairs(rankings: list[list[int]]) -> FloatArray:
    """Fit all pairs of each ranking, without the reader, which takes longer than the fit."""
    order = np.asarray(rankings, dtype=np.int32)
    above, below = np.triu_indices(order.shape[1], 1)
    who = np.repeat(np.arange(len(order), dtype=np.int32), len(above))
    judgments = aggcal.Judgments.of_codes(who, order[:, above].ravel(), order[:, below].ravel())
    return aggcal.aggregate(judgments, method="btl", prior=None, warn=False).scores


def _spread(consensus: aggcal.Consensus, kind: UncertaintyName) -> float:
    known = consensus.quantify(kind, draws=100).uncertainty
    assert known is not None
    return float(np.sqrt(np.mean(known.se**2)))


@pytest.mark.slow
def test_errors_are_those_that_repeated_studies_show(random: np.random.Generator) -> None:
    def fitted(rankings: list[list[int]], kind: RankingWeight) -> aggcal.Consensus:
        judgments = aggcal.read_judgments(rankings, format="choix", ranking_weight=kind)
        return aggcal.aggregate(judgments, method="btl", prior=None, warn=False)

    rankings = _rankings(random)
    stated = {kind: _spread(fitted(rankings, kind), "laplace") for kind in get_args(RankingWeight)}
    drawn = _spread(fitted(rankings, "information"), "bootstrap")
    # Without a prior a common weight leaves the scores alone: the pairs serve for all kinds.
    of_pairs = _scores_of_pairs(rankings)
    np.testing.assert_allclose(of_pairs, fitted(rankings, "information").scores, atol=1e-7)
    found = [_scores_of_pairs(_rankings(random)) for _ in range(60)]
    real = float(np.sqrt(np.mean(np.var(found, axis=0, ddof=1))))
    # 60 studies of 6 items tell a standard deviation to some 6 per cent.
    assert stated["information"] == pytest.approx(real, rel=0.2)
    assert drawn == pytest.approx(real, rel=0.25)
    assert stated["pair"] < 0.85 * real
    assert stated["item"] > 1.3 * real


@pytest.mark.parametrize("k", [2, 3, 5, 9])
def test_the_weight_is_a_ratio_of_informations(k: int) -> None:
    # Each stage of Plackett-Luce picks one of r equal items: the trace of diag(p) - pp' is 1 - 1/r.
    ranking = sum(np.trace(np.eye(r) / r - np.ones((r, r)) / r**2) for r in range(2, k + 1))
    pairs = k * (k - 1) // 2
    each = np.trace(0.25 * np.array([[1.0, -1.0], [-1.0, 1.0]]))
    assert pair_weight(pairs, [k], "information") == pytest.approx(ranking / (pairs * each))


def test_best_and_worst_of_four_is_two_choices() -> None:
    like = Row("u", None, None, "", "row 1")
    rows = list(Orders("information").apart([["a"], ["b", "c"], ["d"]], like, tied=False))
    assert len(rows) == 5
    assert rows[0].weight == pytest.approx(2.0 * ((1 - 1 / 4) + (1 - 1 / 3)) / 5)


def test_long_rankings_stay_connected_and_small() -> None:
    order = [[f"i{k}"] for k in range(1000)]
    rows = list(Orders("information").apart(order, Row("u", None, None, "", "row 1")))
    assert len(rows) == 1000 * 100
    partners = {item: 0 for tier in order for item in tier}
    for row in rows:
        assert int(str(row.left)[1:]) < int(str(row.right)[1:])
        partners[str(row.left)] += 1
        partners[str(row.right)] += 1
    assert set(partners.values()) == {200}
    assert len({(row.left, row.right) for row in rows}) == len(rows)
