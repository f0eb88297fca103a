"""The covariance of many scores, without ever writing it down."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, frozen
from aggcal.aggregation.uncertainty.covariance import (
    MOST_DENSE,
    Covariance,
    DenseCovariance,
    about_means,
)

_FEW_PAIRS = 32
"""Pairs for which a linear system each takes less time than a matrix."""


class MatrixFreeCovariance(Covariance):
    """The inverse of a matrix that is known by its products only.

    Parameters
    ----------
    variances
        The diagonal of the covariance.
    solve
        Multiplies a vector by it.
    exactly
        Works it out as a matrix, for whoever needs all of it; None for too many scores.
    """

    item_by_item = True

    def __init__(
        self,
        variances: FloatArray,
        solve: Callable[[FloatArray], FloatArray],
        exactly: Callable[[], DenseCovariance] | None = None,
    ) -> None:
        n = len(variances)
        shared = solve(np.full(n, 1.0 / n))
        self.variances = frozen(np.maximum(variances - 2.0 * shared + shared.mean(), 0.0))
        self._solve = solve
        self._exactly = exactly

    def scaled(
        self, factors: FloatArray, exactly: Callable[[], DenseCovariance] | None = None
    ) -> MatrixFreeCovariance:
        """Return it with every score's standard error multiplied by the root of a factor."""
        found = MatrixFreeCovariance.__new__(MatrixFreeCovariance)
        found.variances = frozen(factors * self.variances)
        found._solve = partial(_scaled, self._solve, np.sqrt(factors))  # noqa: SLF001
        found._exactly = exactly  # noqa: SLF001
        return found

    def dense(self) -> DenseCovariance | None:
        """Return it as a matrix; None for too many scores."""
        return self._dense

    @cached_property
    def _dense(self) -> DenseCovariance | None:
        return None if self._exactly is None else self._exactly()

    def gap_variance(self, i: IntArray, j: IntArray) -> FloatArray:
        """Variance of s_i − s_j for each pair of positions: a linear system each, of few pairs."""
        i, j = np.broadcast_arrays(i, j)
        exact = self.dense() if i.size > _FEW_PAIRS else None
        if exact is not None:
            return exact.gap_variance(i, j)
        found = np.empty(len(i))
        for k, (one, other) in enumerate(zip(i, j, strict=True)):
            contrast = np.zeros(len(self.variances))
            contrast[one] += 1.0
            contrast[other] -= 1.0
            found[k] = contrast @ self._solve(contrast)
        return found

    def contrast_variance(self, contrast: FloatArray) -> float:
        """Variance of a sum of the scores with these factors: one linear system."""
        return float(contrast @ self._solve(contrast))

    def draws(self, number: int, random: np.random.Generator) -> FloatArray:
        """Draw normal deviations, item by item: among so many, correlations hardly count."""
        deviations = random.standard_normal((number, len(self.variances)))
        deviations *= np.sqrt(self.variances)
        return deviations

    def gain(
        self, slope: float, crowd: float, noise: FloatArray, residual: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return K·residual and the diagonal of K, by the diagonal of V."""
        wide = slope**2 * self.variances + crowd
        kept = wide / (wide + noise)
        return (kept * residual.T).T, kept

    def of(self, positions: IntArray) -> Covariance:
        """Return the covariance of some of the scores."""
        product = partial(_some, self._solve, len(self.variances), positions)
        return MatrixFreeCovariance(self.variances[positions], product)

    def within(self, component: IntArray) -> Covariance:
        """Return that about the mean of each component, where it is none between components."""
        n, solve, size = len(self.variances), self._solve, np.bincount(component)[component]
        shared, own = solve(np.full(n, 1.0 / n)), solve(1.0 / size)
        mean = own - about_means(own, component)
        # Those of the scores themselves, before they were taken about the mean of all.
        whole = self.variances + 2.0 * shared - shared.mean()
        about = np.where(size > 1, np.maximum(whole - 2.0 * own + mean, 0.0), 0.0)
        product = partial(_within, solve, component)
        return MatrixFreeCovariance(about, product)

    def times(self, factor: float) -> Covariance:
        """Return it multiplied by a factor."""
        return self.scaled(np.full(len(self.variances), factor))

    def stretched(self, covariance: Covariance, pull: float) -> Covariance:
        """Return (1 + pull·C) V (1 + pull·C), by the diagonals."""
        return self.scaled(np.square(1.0 + pull * covariance.variances))


# Products with a part of a covariance: unlike functions within others, these can be pickled.


def _scaled(
    solve: Callable[[FloatArray], FloatArray], root: FloatArray | float, vector: FloatArray
) -> FloatArray:
    return np.asarray(root * solve(root * vector))


def _some(
    solve: Callable[[FloatArray], FloatArray], n: int, positions: IntArray, vector: FloatArray
) -> FloatArray:
    whole = np.zeros(n)
    whole[positions] = vector
    return np.asarray(solve(whole)[positions])


def _within(
    solve: Callable[[FloatArray], FloatArray], component: IntArray, vector: FloatArray
) -> FloatArray:
    return about_means(solve(about_means(vector, component)), component)


def independent(sd: FloatArray) -> Covariance:
    """Return the covariance of scores of which only standard errors are known.

    Examples
    --------
    >>> independent(np.ones(4)).variances
    array([0.75, 0.75, 0.75, 0.75])
    """
    variances = np.square(sd)
    if len(sd) <= MOST_DENSE:
        return DenseCovariance(np.diag(variances))
    return MatrixFreeCovariance(variances, partial(np.multiply, variances))
