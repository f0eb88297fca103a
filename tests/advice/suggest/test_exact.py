"""What pairs are worth after others were asked, against matrices that are worked out anew."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from aggcal._core.arrays import FloatArray
from aggcal.advice.suggest import candidates as choice
from aggcal.advice.suggest import exact as module
from aggcal.advice.suggest.beliefs import Beliefs
from aggcal.advice.suggest.exact import ExactCriterion
from aggcal.advice.suggest.worth import weights

ITEMS = 70
ASKED = [5, 77, 800, 5, *range(100, 140)]  # more than there is room for at first
GAINED = 0.7


def study() -> tuple[FloatArray, FloatArray]:
    random = np.random.default_rng(4)
    root = random.normal(size=(ITEMS, ITEMS)) / np.sqrt(ITEMS)
    return 0.2 * root @ root.T + 0.05 * np.eye(ITEMS), random.normal(size=ITEMS)


def by_matrices(asked: list[int]) -> tuple[FloatArray, FloatArray]:
    """Return stakes and variances of all pairs after some of them were asked."""
    covariance, scores = study()
    own = np.diag(covariance)
    gaps = own[:, None] + own[None, :] - 2.0 * covariance
    near = weights(scores[:, None] - scores[None, :], gaps, None)
    np.fill_diagonal(near, 0.0)
    laplacian = np.diag(near.sum(axis=1)) - near
    i, j = np.triu_indices(ITEMS, 1)
    contrasts = np.eye(ITEMS)[i] - np.eye(ITEMS)[j]
    for k in asked:
        toward = covariance @ contrasts[k]
        share = GAINED / (1.0 + GAINED * float(contrasts[k] @ toward))
        covariance = covariance - share * np.outer(toward, toward)
    carried = contrasts @ covariance
    return np.sum((carried @ laplacian) * carried, axis=1), np.sum(contrasts * carried, axis=1)


def exact() -> ExactCriterion:
    return ExactCriterion(*study(), None, *np.triu_indices(ITEMS, 1))


def assert_worth(found: ExactCriterion, asked: list[int], rtol: float = 1e-9) -> None:
    stake, variance = by_matrices(asked)
    np.testing.assert_allclose(found.stake, stake, rtol=rtol, atol=1e-3 * rtol)
    np.testing.assert_allclose(found.variance, variance, rtol=rtol, atol=1e-3 * rtol)


@pytest.mark.parametrize("number", [0, 1, 4, len(ASKED)])
def test_asking_changes_what_pairs_are_worth(number: int) -> None:
    found = exact()
    for k in ASKED[:number]:
        found.ask(k, GAINED)
    assert_worth(found, ASKED[:number])


def test_all_pairs_follow_what_some_of_them_were_asked() -> None:
    whole = exact()
    for first, last in ((0, 3), (3, 40), (40, len(ASKED))):
        kept = np.unique(ASKED)
        part = whole.narrowed(kept)
        for k in ASKED[first:last]:
            part.ask(int(np.searchsorted(kept, k)), GAINED)
        assert_worth(whole, ASKED[:first])  # it went its own way
        whole = whole.after(part)
        assert_worth(whole, ASKED[:last])
    whole.ask(9, GAINED)
    assert_worth(whole, [*ASKED, 9])


def test_single_precision_is_enough_for_many_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SINGLE", ITEMS)
    kept = np.unique(ASKED)
    whole = exact()
    part = whole.narrowed(kept)
    for k in ASKED:
        part.ask(int(np.searchsorted(kept, k)), GAINED)
    assert_worth(whole, [], rtol=1e-5)
    assert_worth(whole.after(part), ASKED, rtol=1e-4)
    with pytest.raises(AssertionError):
        assert_worth(whole, [], rtol=1e-9)  # it was not double precision


def test_candidates_are_the_same_marked_or_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 700
    scores = np.random.default_rng(2).normal(size=n)
    some = SimpleNamespace(n_items=n, scores=scores, variances=np.ones(n), piece=np.zeros(n, int))
    marked = choice.candidates(cast(Beliefs, some), 5, np.random.default_rng(0))
    monkeypatch.setattr(choice, "_MARKED", 0)
    in_order = choice.candidates(cast(Beliefs, some), 5, np.random.default_rng(0))
    np.testing.assert_array_equal(marked, in_order)
    assert (marked[0] < marked[1]).all()
