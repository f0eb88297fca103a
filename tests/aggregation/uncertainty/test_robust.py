"""Errors that hold where answers share an annotator, a question or a context."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import FloatArray


def study(
    seed: int, *, effect: float = 0.0, shared: str = "question"
) -> tuple[dict[str, list[str]], FloatArray]:
    """Return 1,500 answers of 12 people to 80 questions on 20 items, and the items' scores."""
    random = np.random.default_rng(seed)
    truth, gamma = random.normal(size=20), random.normal(1.0, 0.3, 12)
    who, what, prompt = (
        random.integers(12, size=1500),
        random.integers(80, size=1500),
        random.integers(10, size=1500),
    )
    left = random.integers(20, size=80)
    right = (left + random.integers(1, 20, 80)) % 20
    i, j = left[what], right[what]
    by_group = effect * random.normal(size=(80, 20))
    group = {"question": what, "annotator": who, "prompt": prompt}[shared]
    gap = truth[i] - truth[j] + by_group[group, i] - by_group[group, j]
    first = random.random(1500) < 1.0 / (1.0 + np.exp(-gamma[who] * gap))
    columns = {
        "annotator": [f"u{u:02}" for u in who],
        "winner": [f"i{k:02}" for k in np.where(first, i, j)],
        "loser": [f"i{k:02}" for k in np.where(first, j, i)],
        "prompt": [f"p{p}" for p in prompt],
    }
    return columns, truth - truth.mean()


def covered(consensus: aggcal.Consensus, truth: FloatArray) -> float:
    """Return the share of gaps of two items that their interval at .9 holds, on its own scale."""
    known = consensus.uncertainty
    assert known is not None
    scores, n = consensus.scores - consensus.scores.mean(), len(truth)
    slope = scores @ truth / (truth @ truth)
    i, j = np.triu_indices(n, 1)
    off = (scores[i] - scores[j]) - slope * (truth[i] - truth[j])
    return float(np.mean(np.abs(off) < 1.645 * np.sqrt(known.covariance.gap_variance(i, j))))


@pytest.mark.parametrize("shared", ["question", "annotator", "prompt"])
def test_dependent_answers_widen_errors(shared: str) -> None:
    model, robust, names = [], [], []
    for seed in range(8):
        columns, truth = study(seed, effect=0.7, shared=shared)
        judgments = aggcal.read_judgments(columns, context="prompt")
        terms = aggcal.Terms(context="errors")
        found = aggcal.aggregate(judgments, terms=terms, warn=False)
        known = found.uncertainty
        assert known is not None
        model.append(covered(found.quantify("laplace"), truth))
        robust.append(covered(found, truth))
        single = [factor for factor in known.factors if factor.name != "all"]
        names.append(max(single, key=lambda factor: factor.squared).name)
    assert np.mean(model) < 0.82
    assert np.mean(robust) > 0.86
    assert names.count(shared) >= 7


def test_independent_answers_keep_the_errors_of_the_model() -> None:
    factors = []
    for seed in range(12):
        found = aggcal.aggregate(study(seed)[0], warn=False).uncertainty
        assert found is not None
        factors.append(found.factor)
    assert np.median(factors) < 1.05
    assert max(factors) < 1.25


@pytest.mark.parametrize("method", ["btl", "tcv", "hra-e", "hra-n", "crowd-bt", "crowd-tcv"])
def test_every_method_with_a_likelihood_has_factors(method: str) -> None:
    columns, _ = study(3, effect=0.8)
    del columns["prompt"]
    found = aggcal.aggregate(columns, method, warn=False).uncertainty
    assert found is not None
    by_name = {factor.name: factor.squared for factor in found.factors}
    assert by_name["question"] > 1.5 > by_name["annotator"]
    assert found.factor**2 == pytest.approx(max(each.used for each in found.factors))


def test_two_items_by_hand() -> None:
    """f² = Σ_c (Σ z)² / (E − L) over annotators, for Bradley–Terry without a prior."""
    wins = {"ann": (9, 1), "bob": (2, 8), "cy": (7, 3), "di": (5, 5)}
    rows = [
        (u, *order) for u, (a, b) in wins.items() for order in [("a", "b")] * a + [("b", "a")] * b
    ]
    found = aggcal.aggregate(rows, "btl", prior=None, warn=False).uncertainty
    assert found is not None
    [factor] = found.factors
    won, given = np.array([a for a, _ in wins.values()]), 10.0
    p = won.sum() / 40.0
    clusters = np.square(won - given * p).sum() / (40.0 * p * (1.0 - p))  # T, by V = 1/I
    assert factor.squared == pytest.approx(clusters / (1.0 - 4 * 0.25**2), rel=1e-6)
    assert (factor.name, factor.clusters) == ("annotator", 4)


def test_rows_that_were_merged_or_counted_are_answers_each() -> None:
    columns, _ = study(5, effect=0.6)
    del columns["prompt"]
    apart = aggcal.aggregate(columns, warn=False).uncertainty
    rows = list(zip(*columns.values(), strict=True))
    number = {row: rows.count(row) for row in rows}
    counted = {name: [row[k] for row in number] for k, name in enumerate(columns)}
    weighted = aggcal.aggregate(counted | {"weight": list(number.values())}, warn=False).uncertainty
    assert apart is not None
    assert weighted is not None
    for one, other in zip(apart.factors, weighted.factors, strict=True):
        assert one.name == other.name
        assert one.squared == pytest.approx(other.squared, rel=1e-6)


def test_contexts_of_one_annotator_each_are_never_effects() -> None:
    columns, _ = study(1)
    nested = [f"{u} {p}" for u, p in zip(columns["annotator"], columns["prompt"], strict=True)]
    judgments = aggcal.read_judgments(columns | {"prompt": nested}, context="prompt")
    found = aggcal.aggregate(judgments, warn=False)
    assert found.effects is None or not found.effects.context_fitted
    with pytest.raises(aggcal.AggcalError, match="each prompt is of one annotator"):
        aggcal.aggregate(judgments, terms=aggcal.Terms(context="fit"), warn=False)
