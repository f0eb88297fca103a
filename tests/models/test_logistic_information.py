"""The kernel for the information of each row against NumPy, deep into both tails."""

from __future__ import annotations

import numpy as np
import pytest

from aggcal._core.arrays import constant
from aggcal._core.kernels import library
from aggcal.models.information import Information
from aggcal.models.links import link
from aggcal.models.rows import Rows
from aggcal.models.thurstone import Thurstone

pytestmark = pytest.mark.skipif(library() is None, reason="no C compiler when aggcal was installed")

ITEMS = 300


def rows_of_many(weighted: bool, whole: bool) -> Rows:
    """More rows than one range has; annotators of one row up to several chunks."""
    random = np.random.default_rng(7)
    sizes = np.concatenate([[5_000, 1, 2_048], random.integers(1, 400, 250)])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    number = int(starts[-1])
    winner = random.integers(0, ITEMS, number).astype(np.int32)
    loser = ((winner + random.integers(1, ITEMS, number)) % ITEMS).astype(np.int32)
    weight = random.choice([0.25, 1.0, 3.0], number) if weighted else constant(1.0, number)
    return Rows(winner, loser, weight, starts, ITEMS, whole)


@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.parametrize("precision", [None, 4.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_the_kernel_says_what_numpy_says(
    monkeypatch: pytest.MonkeyPatch,
    *,
    observed: bool,
    precision: float | None,
    weighted: bool,
    whole: bool,
) -> None:
    rows = rows_of_many(weighted, whole)
    random = np.random.default_rng(8)
    scores = 2.0 * random.normal(size=ITEMS)
    scores[:4] = [0.0, 30.0, -900.0, 2000.0]
    theta = random.normal(1.0, 0.7, rows.n_annotators) if precision else np.ones(rows.n_annotators)
    theta[5] = 0.0 if precision else 1.0
    problem = Thurstone(rows, link("logistic"), 0.5, precision)
    found = Information(problem, scores, theta, observed=observed)
    monkeypatch.setattr("aggcal.models.logistic_information.library", lambda: None)
    expected = Information(problem, scores, theta, observed=observed)
    np.testing.assert_allclose(found.inner, expected.inner, rtol=1e-13)
    for name in ("_gap_curvature", "_cross_curvature"):
        mine, theirs = getattr(found, name), getattr(expected, name)
        assert mine.dtype == theirs.dtype == np.float32
        # Both round a number of twice the digits.
        np.testing.assert_allclose(mine, theirs, rtol=2.0**-23, atol=2.0**-149)
        assert np.count_nonzero(mine != theirs) <= len(mine) // 1_000


def test_annotators_who_differ_without_being_fitted_are_left_to_numpy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = rows_of_many(weighted=False, whole=True)
    theta = np.linspace(0.5, 2.0, rows.n_annotators)
    scores = np.random.default_rng(9).normal(size=ITEMS)
    problem = Thurstone(rows, link("logistic"), 0.5, None)
    found = Information(problem, scores, theta).diagonal()
    monkeypatch.setattr("aggcal.models.logistic_information.library", lambda: None)
    assert found.tobytes() == Information(problem, scores, theta).diagonal().tobytes()
