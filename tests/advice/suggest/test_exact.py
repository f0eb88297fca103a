"""What pairs are worth after others were asked, against matrices that are worked out anew."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from aggcal._core.arrays import FloatArray
from aggcal._core.kernels import library
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


@pytest.fixture(params=["compiled", "plain"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work with compiled kernels and without."""
    if request.param == "plain":
        monkeypatch.setattr("aggcal.advice.suggest.asked.library", lambda: None)


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("number", [0, 1, 4, len(ASKED)])
def test_asking_changes_what_pairs_are_worth(number: int) -> None:
    found = exact()
    for k in ASKED[:number]:
        found.ask(k, GAINED)
    assert_worth(found, ASKED[:number])


@pytest.mark.usefixtures("either")
def test_pairs_follow_what_some_of_them_were_asked() -> None:
    """Whether they are valued all at once, one part after the other, or some of them twice."""
    whole, kept = exact(), np.unique(ASKED)
    own = whole.copy()
    random = np.random.default_rng(2)
    for first, last in ((0, 3), (3, 40), (40, len(ASKED))):
        part = own.narrowed(kept)
        for k in ASKED[first:last]:
            part.ask(int(np.searchsorted(kept, k)), GAINED)
        own.renew(random.choice(len(own.stake), 500, replace=False))
    assert_worth(whole, [])  # the copy went its own way
    stake, _ = by_matrices(ASKED)
    np.testing.assert_allclose(part.stake, stake[kept], rtol=1e-9)
    with pytest.raises(AssertionError):
        assert_worth(own, ASKED)  # of most nobody has asked yet
    own.renew(np.arange(len(stake)))
    assert_worth(own, ASKED)
    own.renew(np.arange(len(stake)))  # nothing was asked since
    assert_worth(own, ASKED)
    own.ask(9, GAINED)
    assert_worth(own, [*ASKED, 9])


@pytest.mark.usefixtures("either")
def test_what_is_left_of_the_covariance() -> None:
    found = exact()
    for k in ASKED:
        found.ask(k, GAINED)
    _, variance = by_matrices(ASKED)
    i, j = np.triu_indices(ITEMS, 1)
    left = found.covariance_left
    own = np.diag(left)
    np.testing.assert_allclose(own[i] + own[j] - 2.0 * left[i, j], variance, rtol=1e-9)
    np.testing.assert_allclose(found.toward(3, 8), left[3] - left[8], atol=1e-12)


@pytest.mark.skipif(library() is None, reason="it takes the compiled kernels")
@pytest.mark.parametrize("again", [False, True])
def test_the_best_are_asked_one_after_the_other(again: bool) -> None:
    """In one go or each by itself, until too little is gained."""
    gained = np.random.default_rng(3).uniform(0.2, 1.0, size=ITEMS * (ITEMS - 1) // 2)
    allowed = np.random.default_rng(4).random(len(gained)) < 0.8
    quick, slow, may = exact(), exact(), allowed.copy()
    expected = []
    for _ in range(100):
        worth = np.where(may, slow.worth(gained), -1.0)
        k = int(np.argmax(worth))
        expected.append((k, worth[k], slow.variance[k]))
        slow.ask(k, gained[k])
        may[k] = again
    # Those up to the last but one are worth more than this.
    floor = 0.5 * (expected[-1][1] + expected[-2][1])
    found: list[tuple[int, float, float]] = []
    while True:
        which, known = quick.ask_best(gained, allowed, floor, 1000, again=again)
        if not len(which):
            break
        found += [(k, *row) for k, row in zip(which.tolist(), known.tolist(), strict=True)]
        allowed[which] &= again
    assert len(found) == 99
    np.testing.assert_allclose(found, expected[:99], rtol=1e-9)
    which, _ = quick.ask_best(gained, allowed, 0.0, 1, again=again)
    assert which.tolist() == [expected[99][0]]


@pytest.mark.skipif(library() is None, reason="it takes the compiled kernels")
def test_of_two_that_are_worth_the_same_neither_is_clearly_the_best() -> None:
    pairs = (np.array([0, 2, 4]), np.array([1, 3, 5]))
    found = ExactCriterion(np.eye(6), np.zeros(6), None, *pairs)
    allowed = np.ones(3, dtype=bool)
    for gained, chosen in (([1.0, 1.0, 0.5], []), ([1.0, 1.0 + 1e-6, 0.5], [1, 0, 2])):
        which, _ = found.ask_best(np.array(gained), allowed, 0.0, 3, again=False)
        assert which.tolist() == chosen


@pytest.mark.usefixtures("either")
def test_single_precision_is_enough_for_many_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SINGLE", ITEMS)
    kept = np.unique(ASKED)
    whole = exact()
    assert_worth(whole, [], rtol=1e-5)
    with pytest.raises(AssertionError):
        assert_worth(whole, [], rtol=1e-9)  # it was not double precision
    part = whole.narrowed(kept)
    for k in ASKED:
        part.ask(int(np.searchsorted(kept, k)), GAINED)
    whole.renew()
    assert_worth(whole, ASKED, rtol=1e-4)


def test_candidates_are_the_same_marked_or_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 700
    scores = np.random.default_rng(2).normal(size=n)
    some = SimpleNamespace(n_items=n, scores=scores, variances=np.ones(n), piece=np.zeros(n, int))
    marked = choice.candidates(cast(Beliefs, some), 5, np.random.default_rng(0))
    monkeypatch.setattr(choice, "_MARKED", 0)
    in_order = choice.candidates(cast(Beliefs, some), 5, np.random.default_rng(0))
    np.testing.assert_array_equal(marked, in_order)
    assert (marked[0] < marked[1]).all()
