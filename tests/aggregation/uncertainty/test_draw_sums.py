"""What draws are made of: kernels against NumPy, and single precision against double."""

from __future__ import annotations

import numpy as np
import pytest

from aggcal._core.kernels import library
from aggcal.aggregation.uncertainty import draw_sums
from aggcal.aggregation.uncertainty.covariance import DenseCovariance
from aggcal.aggregation.uncertainty.shape import Shaped


def without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(library(), "aggcal_draw_ranks"):
        pytest.skip("there are no kernels to compare with")
    monkeypatch.setattr(draw_sums, "library", lambda: None)


def covariance(n: int, seed: int = 0) -> DenseCovariance:
    """That of a study: some items are better known than others, and all depend on each other."""
    random = np.random.default_rng(seed)
    rows = random.standard_normal((n, 3 * n)) * random.uniform(0.5, 2.0, (n, 1))
    return DenseCovariance(np.asarray(np.linalg.inv(rows @ rows.T / n + 0.1 * np.eye(n)), float))


@pytest.mark.parametrize("n", [1, 3, 37, 130])
def test_kernels_estimate_the_same_shape(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    random = np.random.default_rng(n)
    scores, variances = random.choice([-1.0, 1.0], n) + 0.1, random.uniform(0.05, 0.5, n)
    one = Shaped.of(scores, variances, 1.0)
    without_kernels(monkeypatch)
    other = Shaped.of(scores, variances, 1.0)
    np.testing.assert_allclose(one.below, other.below, atol=2e-5)
    assert one.share == pytest.approx(other.share, abs=1e-4)


@pytest.mark.parametrize("n", [2, 9, 140])
def test_kernels_draw_the_same_scores(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    random = np.random.default_rng(n)
    variances = np.where(np.arange(n) % 5 == 1, 1e-9, random.uniform(0.05, 0.5, n))
    found = Shaped.of(random.standard_normal(n), variances, 1.0)
    assert found.sharp.any()
    apart = found.sd * random.standard_normal((300, n))
    apart[0], apart[1] = 40.0 * found.sd, -40.0 * found.sd  # beyond all that is possible
    one = found.drawn(apart)
    without_kernels(monkeypatch)
    step = found.grid[1] - found.grid[0]
    # Where nearly nothing is probable a rounded probability is another place, within a cell or two.
    off = np.abs(one - found.drawn(apart)) / step
    assert off.max() < 2.0
    assert np.quantile(off, 0.999) < 1e-3


@pytest.mark.parametrize("n", [1, 2, 30, 700, 1500])
def test_kernels_rank_as_numpy_does(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    drawn = np.random.default_rng(n).standard_normal((150, n))
    drawn[3] = np.sort(drawn[3])
    drawn[4, : n // 2] *= 1e9
    whole, some = draw_sums.ranks_in_draws(drawn), draw_sums.ranks_in_draws(drawn[:, ::2])
    without_kernels(monkeypatch)
    np.testing.assert_array_equal(whole, draw_sums.ranks_in_draws(drawn))
    np.testing.assert_array_equal(some, draw_sums.ranks_in_draws(drawn[:, ::2]))


@pytest.mark.parametrize("n", [2, 5, 80, 400])
def test_draws_in_single_precision_are_those_in_double(n: int) -> None:
    known, exact = covariance(n), covariance(n)
    vars(exact)["_single_root"] = None
    one, other = (each.draws(200, np.random.default_rng(1)) for each in (known, exact))
    off = np.abs(one - other) / np.sqrt(known.variances)
    # In double precision a trace of noise stands for what the last score has none of.
    assert off[:, :-1].max() < 1e-5
    assert off.max() < 0.01
    assert np.abs(one.sum(axis=1)).max() < 1e-9


def test_scores_that_others_tell_are_drawn_in_double_precision() -> None:
    # Two groups that hardly anything joins: within each, items differ a million times less.
    together = np.kron(np.eye(2), np.ones((4, 4)))
    known = DenseCovariance(1e6 * together + np.eye(8))
    drawn = known.draws(2000, np.random.default_rng(0))
    assert np.var(drawn[:, 0] - drawn[:, 1]) == pytest.approx(2.0, rel=0.15)


def test_what_draws_gain_is_what_an_estimate_gains() -> None:
    known, random = covariance(60), np.random.default_rng(3)
    residual = random.standard_normal((60, 7))
    for noise in (1.0, 1e-2, 1e-300):
        given = 1.3, 0.1 * noise, np.full(60, noise), residual
        np.testing.assert_allclose(known.gained(*given), known.gain(*given)[0], atol=1e-4)


def test_gaps_of_a_table_of_pairs_are_those_of_each_pair() -> None:
    known, some = covariance(12), np.array([3, 0, 11, 3])
    every = np.arange(12)[::-1]
    for i, j in ((some[:, None], every), (every, some[:, None]), (some[:, None], every[None, :])):
        one, other = np.broadcast_arrays(i, j)
        found = known.gap_variance(i, j)
        by_pair = known.gap_variance(one.ravel(), other.ravel())
        np.testing.assert_allclose(found.ravel(), by_pair, rtol=1e-12, atol=1e-15)


def test_tiny_numbers_are_numbers_again_after_a_shape() -> None:
    """The kernel lets them be 0 on processors that take long for them, and only meanwhile."""
    likelihood = np.exp(-0.5 * np.square(np.linspace(-14.0, 14.0, 9)[:, None] - np.arange(8)))
    draw_sums.shape_steps(likelihood, np.full(8, 0.125), 1.0, 5)
    tiny = np.full(64, 1e-30, dtype=np.float32)
    assert (tiny * np.float32(1e-10) > 0.0).all()
