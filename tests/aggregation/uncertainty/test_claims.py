"""What is claimed of an order: closed forms, and how often it is wrong."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from scipy.special import ndtri

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.aggregation.claims import Claims, claims_of
from aggcal.aggregation.covariance import DenseCovariance
from aggcal.simulation import simulate

Z = float(ndtri(0.95))


def of(scores: list[float] | FloatArray, sd: float = 1.0, **more: float) -> Claims:
    values = np.asarray(scores, dtype=float)
    return claims_of(values, DenseCovariance(sd**2 * np.eye(len(values))), 0.95, **more)  # type: ignore[arg-type]


def test_of_two_items_one_is_claimed_to_be_above_at_the_two_sided_quantile() -> None:
    """Two hypotheses, one of which is always true: the largest of both is the absolute value."""
    limit = float(ndtri(0.975)) * np.sqrt(2.0)
    assert of([1.05 * limit, 0.0]).count == 1
    assert of([0.95 * limit, 0.0]).count == 0
    # Whether one of them is the best is a single comparison each way: one-sided.
    first = Z * np.sqrt(2.0)
    assert of([1.05 * first, 0.0]).first.tolist() == [True, False]
    assert of([0.9 * first, 0.0]).first.tolist() == [True, True]


def test_few_degrees_of_freedom_claim_less() -> None:
    assert of([5.0, 0.0]).count == 1
    assert of([5.0, 0.0], degrees_of_freedom=2).count == 0


@pytest.mark.parametrize("n", [4, 7])
def test_claims_follow_from_the_pairs(n: int) -> None:
    """Brute force: joint ranks are those over all orders that keep the certified pairs."""
    random = np.random.default_rng(n)
    found = of(2.5 * random.standard_normal(n))
    assert found.above is not None
    assert found.count == found.above.sum() == (found.low - 1).sum() == (n - found.high).sum()
    ranks = [
        np.argsort(order)
        for order in permutations(range(n))
        if all(order.index(i) < order.index(j) for i, j in np.argwhere(found.above))
    ]
    np.testing.assert_array_equal(found.low, 1 + np.min(ranks, axis=0))
    np.testing.assert_array_equal(found.high, 1 + np.max(ranks, axis=0))
    for k in range(1, n):
        assert not (found.inside(k) & found.outside(k)).any()
        assert found.inside(k).sum() <= k <= n - found.outside(k).sum()
        words = found.verdicts(k).tolist()
        assert [word == "in" for word in words] == found.inside(k).tolist()
    for tier in range(found.n_tiers - 1):
        upper, lower = found.tiers <= tier, found.tiers > tier
        assert found.above[np.ix_(upper, lower)].all()


def test_tiers_are_cuts_with_all_pairs_across_certified() -> None:
    assert of([30.0, 29.0, 10.0, 9.5, 9.0, -20.0]).tiers.tolist() == [0, 0, 1, 1, 1, 2]
    assert of([0.0, 0.1, 0.2]).n_tiers == 1


@pytest.mark.parametrize("n", [200, 201, 3001])
def test_claims_of_few_and_of_many_items_agree(n: int) -> None:
    """Draws, union bounds and intervals that do not overlap, each a little more careful."""
    scores, sd = np.linspace(9.0, 0.0, n), 0.3
    matrix = DenseCovariance(sd**2 * np.eye(n))
    found = claims_of(scores, matrix, 0.95) if n <= 3000 else of_many(scores, sd)
    exact = found.count / found.n_pairs
    assert 0.5 < exact < 0.65
    assert found.first[0]
    assert not found.first[n // 2 :].any()
    assert (found.low <= np.arange(1, n + 1)).all()
    assert (found.high >= np.arange(1, n + 1)).all()


def of_many(scores: FloatArray, sd: float) -> Claims:
    from aggcal.aggregation.covariance import independent

    return claims_of(scores, independent(np.full(len(scores), sd)), 0.95)


@pytest.mark.parametrize("shape", ["equal", "plateau", "chain", "clusters", "two groups"])
def test_a_kind_of_claim_is_wrong_in_a_twentieth_of_studies_at_most(shape: str) -> None:
    """Errors depend on each other, and true scores have any shape: 400 studies each."""
    n, random = 12, np.random.default_rng(sum(map(ord, shape)))
    truth = {
        "equal": np.zeros(n),
        "plateau": np.minimum(np.linspace(4.0, -4.0, n), 1.0),
        "chain": np.linspace(6.0, -6.0, n),
        "clusters": np.repeat([4.0, 0.0, -4.0], 4),
        "two groups": np.repeat([1.5, -1.5], 6),
    }[shape]
    root = random.standard_normal((n, 2 * n)) * random.uniform(0.5, 2.0, (n, 1)) / np.sqrt(2 * n)
    covariance, studies = DenseCovariance(root @ root.T), 400
    wrong = np.zeros(4)
    # Tied items share the ranks that they could have.
    best = 1 + (truth[:, None] < truth - 1e-9).sum(axis=1)
    worst = n - (truth[:, None] > truth + 1e-9).sum(axis=1)
    for seed in range(studies):
        found = claims_of(
            truth + root @ random.standard_normal(2 * n), covariance, 0.95, seed=seed % 7
        )
        assert found.above is not None
        wrong += [
            (found.above & (truth[:, None] <= truth + 1e-9)).any(),
            ((found.low > best) | (found.high < worst)).any(),
            not found.first[np.argmin(best)],
            found.best[seed % n] > best[seed % n] or found.worst[seed % n] < worst[seed % n],
        ]
    # 20 are expected at most, by 4.4 of chance and more of draws; of a best or worst rank 40.
    assert (wrong <= [36, 36, 40, 60]).all(), wrong


def test_the_consensus_claims_from_scores_that_hardly_any_prior_has_pulled() -> None:
    study = simulate(items=15, annotators=8, judgments=600, seed=3)
    consensus = aggcal.aggregate(study.judgments, warn=False)
    known, claims = consensus.uncertainty, consensus.claims()
    assert known is not None
    assert claims is not None
    by_prior = claims_of(known.scores, known.covariance, known.level)
    assert claims.count > by_prior.count
    assert claims is consensus.claims(known.level)
    fewer = consensus.claims(0.999)
    assert fewer is not None
    assert fewer.count < claims.count


@pytest.mark.parametrize(
    ("method", "more"),
    [
        ("btl", {}),
        ("btl", {"uncertainty": "bootstrap"}),
        ("btl", {"prior": None}),
        ("hra-n", {}),
        ("hra-g", {"uncertainty": "bootstrap"}),
        ("crowd-bt", {}),
        ("gppl", {"features": "identity"}),
        ("barcw", {"features": "identity"}),
    ],
)
def test_every_method_with_errors_claims(method: str, more: dict[str, object]) -> None:
    study = simulate(items=8, annotators=6, judgments=500, seed=2)
    kind = more.pop("uncertainty", "laplace")
    consensus = aggcal.aggregate(study.judgments, method, warn=False, **more)  # type: ignore[arg-type]
    found = consensus.quantify(kind, draws=40).claims()  # type: ignore[arg-type]
    assert found is not None
    assert 4 <= found.count <= 28
    rank = consensus.ranks
    assert ((found.low <= rank) & (rank <= found.high)).all()
    assert found.first[rank == 1].all()


def test_without_errors_nothing_is_claimed() -> None:
    rows = [("ann", "a", "b"), ("bob", "a", "b"), ("bob", "b", "c")]
    fitted = aggcal.aggregate(rows, warn=False)
    assert fitted.claims() is not None
    record = fitted.convergence
    assert record is not None
    lost = replace(fitted, convergence=replace(record, converged=False))
    assert lost.claims() is None
    assert replace(fitted, quantifier=None).claims() is None


def test_unanimous_answers_tell_items_apart() -> None:
    """Where nothing contradicts the order, errors grow with the scores under ever wider priors."""
    rows = [(u, *pair) for u in ("ann", "bob", "eve") for pair in ("ab", "ac", "bc")] * 9
    found = aggcal.aggregate(rows, warn=False).claims()
    assert found is not None
    assert found.count == 3
    assert found.tiers.tolist() == [0, 1, 2]


def test_terms_are_part_of_the_fit_that_claims_are_made_from() -> None:
    random = np.random.default_rng(5)
    truth = np.linspace(1.5, -1.5, 8)
    rows = []
    for k in range(900):
        i, j = random.choice(8, 2, replace=False)
        tie = random.random() < 0.15
        left = random.random() < 1.0 / (1.0 + np.exp(truth[j] - truth[i] - 0.4))
        rows.append((f"u{k % 9}", f"i{i}", f"i{j}", "tie" if tie else "left" if left else "right"))
    for method in ("hra-g", "btl"):
        consensus = aggcal.aggregate(rows, method, warn=False)
        found = consensus.claims()
        assert found is not None
        assert found.count > 15
        assert found.first[np.argsort(consensus.item_ids)][0]
