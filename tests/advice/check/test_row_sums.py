"""Sums over rows by the logistic link: compiled, by NumPy, and written out."""

from __future__ import annotations

import numpy as np
import pytest

from aggcal._core.kernels import library
from aggcal.advice.check import row_sums
from aggcal.advice.check.row_sums import Seen, Shifted, slope_losses

ANNOTATORS, ITEMS, ROWS, SETS = 40, 25, 90_000, 7


@pytest.fixture(params=["compiled", "plain"], autouse=True)
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to sum, in several ranges."""
    if request.param == "plain":
        monkeypatch.setattr(row_sums, "library", lambda: None)
    elif library() is None:
        pytest.skip("there is no kernel")


def rows_of(seed: int) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
    """Rows of annotators of whom some are idle and one has most; and where each one's begin."""
    random = np.random.default_rng(seed)
    owner = np.sort(random.choice(ANNOTATORS, ROWS, p=random.dirichlet(np.full(ANNOTATORS, 0.3))))
    owner[owner == 7] = 8
    return random, owner, np.searchsorted(owner, np.arange(ANNOTATORS + 1))


@pytest.mark.parametrize("weights", [(0.0, 1.0), (0.0, 0.5, 1.0, 3.0)])
def test_losses_at_slopes(weights: tuple[float, ...]) -> None:
    random, owner, starts = rows_of(1)
    size = np.abs(random.normal(0.0, 3.0, ROWS)) * (random.random(ROWS) > 0.01)
    size[:3] = [0.0, 1e4, 1e-12]
    number, slopes = random.choice(weights, ROWS), np.array([0.04, 1.0, 10.0])
    found = slope_losses(starts, size, number, slopes)
    for k, slope in enumerate(slopes.tolist()):
        lost = number * np.logaddexp(0.0, -slope * size)
        wanted = np.bincount(owner, lost, ANNOTATORS)
        assert found[:, k] == pytest.approx(wanted, rel=1e-12)
    assert not found[7].any()


def test_sums_for_a_shift_of_each_annotator() -> None:
    random, owner, starts = rows_of(2)
    offset, outcome = random.normal(0.0, 4.0, ROWS), random.choice([0.0, 1.0], ROWS)
    number, shift = random.choice([0.0, 1.0, 2.5], ROWS), random.normal(0.0, 2.0, ANNOTATORS)
    offset[:2] = [-900.0, 900.0]
    pull, curve = Shifted(starts, offset, outcome, number).sums(shift)
    p = 0.5 + 0.5 * np.tanh(0.5 * (offset + shift[owner]))
    off, doubt = number * (outcome - p), number * p * (1.0 - p)
    assert pull == pytest.approx(np.bincount(owner, off, ANNOTATORS), rel=1e-10, abs=1e-10)
    assert curve == pytest.approx(np.bincount(owner, doubt, ANNOTATORS), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("sets", [SETS, 64, 65])
def test_agreement_that_is_expected_of_annotators(sets: int) -> None:
    random, _, starts = rows_of(4)
    left = random.integers(0, ITEMS, ROWS, dtype=np.int32)
    right = (left + random.integers(1, ITEMS, ROWS, dtype=np.int32)) % ITEMS
    gap, size = random.normal(size=ROWS), np.abs(random.normal(size=ROWS))
    number, errors = random.choice([0.0, 0.5, 1.0], ROWS), random.normal(size=(ITEMS, sets))
    wider = random.uniform(1.0, 2.0, ANNOTATORS)
    seen = Seen(starts, left, right.astype(np.int32), gap, number, size, errors, wider)
    few = np.argsort(np.diff(starts))[:20]
    assert 7 in few.tolist()
    who, slopes = random.permutation(few), np.array([0.1, 2.0])
    mean, variance = seen.agreeing(who, slopes)
    assert mean.shape == variance.shape == (len(who), 2, sets)
    for k, u in enumerate(who.tolist()):
        for row in range(int(starts[u]), int(starts[u + 1])):
            real = gap[row] + wider[u] * (errors[left[row]] - errors[right[row]])
            real = real if gap[row] >= 0.0 else -real
            p = 0.5 + 0.5 * np.tanh(0.5 * slopes[:, None] * real)
            mean[k] -= number[row] * size[row] * (p - 0.5)
            variance[k] -= number[row] * size[row] ** 2 * p * (1.0 - p)
    assert np.abs(mean).max() < 1e-9
    assert np.abs(variance).max() < 1e-9
