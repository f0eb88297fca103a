"""Covariances of the scores: a matrix, or of many scores products with it alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, frozen
from aggcal.aggregation.spreads import about_mean, centred

MOST_DENSE = 3000
"""Items whose covariance may be a matrix: one of more takes longer than two fits, in proportion to
their cube."""

_FEW_PAIRS = 32
"""Pairs for which a linear system each takes little time."""
_RIDGE = 1e-9
"""Added to a covariance of which rounding has left no root, over its mean variance."""


class Covariance:
    """The inverse of a matrix of many scores, of which only products are taken.

    Draws, gains and parts of it leave correlations out, which hardly count among so many scores.

    Parameters
    ----------
    variances
        The diagonal of the covariance.
    solve
        Multiplies a vector by it.
    """

    variances: FloatArray
    """Of each score, about the mean of all scores: their location is a convention."""

    product: Callable[[FloatArray], FloatArray]
    """Multiplies a vector by it; what adds up to 0 only, or up to a location."""

    def __init__(self, variances: FloatArray, solve: Callable[[FloatArray], FloatArray]) -> None:
        shared = solve(np.full(len(variances), 1.0 / len(variances)))
        self.variances = frozen(np.maximum(variances - 2.0 * shared + shared.mean(), 0.0))
        self._free, self.product = variances, solve  # their location as it is

    def dense(self) -> DenseCovariance | None:
        """Return it as a matrix; None where it is none."""
        return None

    def contrast_variance(self, contrast: FloatArray) -> float:
        """Variance of a sum of the scores with these factors, which add up to 0."""
        return float(contrast @ self.product(contrast))

    def gap_variance(self, i: IntArray, j: IntArray) -> FloatArray:
        """Variance of s_i − s_j for each pair of positions: of few, a linear system each."""
        i, j = np.broadcast_arrays(i, j)
        variances = np.asarray(self.variances[i] + self.variances[j])
        for k in np.ndindex(i.shape) if i.size <= _FEW_PAIRS else ():
            contrast = np.zeros(len(self.variances))
            contrast[i[k]] += 1.0
            contrast[j[k]] -= 1.0
            variances[k] = self.contrast_variance(contrast)
        return variances

    def draws(self, number: int, random: np.random.Generator) -> FloatArray:
        """Draw normal deviations from the estimate, one row each."""
        deviations = random.standard_normal((number, len(self.variances)))
        deviations *= np.sqrt(self.variances)
        return deviations

    def of(self, positions: IntArray) -> Covariance:
        """Return the covariance of some of the scores."""
        return independent(np.sqrt(self.variances[positions]))

    def within(self, component: IntArray) -> Covariance:
        """Return that about the mean of each component, and none between components."""
        size = np.bincount(component)[component]
        shared = self.product(1.0 / size)
        mean = shared - about_means(shared, component)
        about = np.maximum(self._free - 2.0 * shared + mean, 0.0)
        product = partial(_within, self.product, component)
        return Covariance(np.where(size > 1, about, 0.0), product)

    def scaled(self, factors: FloatArray | float) -> Covariance:
        """Return it with every variance multiplied by a factor; correlations stay."""
        product = partial(_scaled, self.product, np.sqrt(factors))
        return Covariance(factors * self._free, product)

    def stretched(self, covariance: Covariance, pull: float) -> Covariance:
        """Return (1 + pull·C) V (1 + pull·C), by the diagonals where either is no matrix.

        It turns V, of scores that a prior of that much more precision pulls together, into that of
        scores whose covariance C is without it.
        """
        own, wide = self.dense(), covariance.dense()
        if own is None or wide is None:
            return self.scaled(np.square(1.0 + pull * covariance.variances))
        root = np.eye(len(own.matrix)) + pull * wide.matrix
        return DenseCovariance(root @ own.matrix @ root)


class DenseCovariance(Covariance):
    """A covariance matrix; it is centred.

    Examples
    --------
    >>> covariance = DenseCovariance(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> covariance.variances, covariance.gap_variance(np.array([0]), np.array([1]))
    (array([0.5, 0.5]), array([2.]))
    """

    def __init__(self, matrix: FloatArray) -> None:
        self.matrix: FloatArray = frozen(about_mean(matrix))
        self.variances = frozen(np.maximum(np.diag(self.matrix), 0.0))
        self.product = self.matrix.__matmul__

    def gap_variance(self, i: IntArray, j: IntArray) -> FloatArray:
        """Variance of s_i − s_j for each pair of positions."""
        gap = self.variances[i] + self.variances[j] - 2.0 * self.matrix[i, j]
        return np.maximum(gap, 0.0)

    def draws(self, number: int, random: np.random.Generator) -> FloatArray:
        """Draw normal deviations."""
        normal = random.standard_normal((number, len(self.variances)))
        return np.asarray(normal @ self._root.T)

    @cached_property
    def _root(self) -> FloatArray:
        """A root of the matrix. Scores add up to 0: the last is what the others leave."""
        root, some = np.zeros_like(self.matrix), self.matrix[:-1, :-1]
        try:
            root[:-1, :-1] = np.linalg.cholesky(some)
        except np.linalg.LinAlgError:
            ridge = _RIDGE * float(self.variances.mean()) * np.eye(len(some))
            values, vectors = np.linalg.eigh(some + ridge)
            root[:-1, :-1] = vectors * np.sqrt(np.maximum(values, 0.0))
        root[-1] = -root[:-1].sum(axis=0)
        return root

    def dense(self) -> DenseCovariance:
        """Return itself."""
        return self

    def of(self, positions: IntArray) -> DenseCovariance:
        """Return the covariance of some of the scores."""
        return DenseCovariance(self.matrix[np.ix_(positions, positions)])

    def within(self, component: IntArray) -> DenseCovariance:
        """Return that about the mean of each component, and none between components."""
        number = np.unique(component, return_inverse=True)[1]
        same = number[:, None] == number[None, :]
        return DenseCovariance(np.where(same, centred(self.matrix, number), 0.0))

    def scaled(self, factors: FloatArray | float) -> DenseCovariance:
        """Return it with every variance multiplied by a factor; correlations stay."""
        root = np.sqrt(np.broadcast_to(factors, self.variances.shape))
        return DenseCovariance(root[:, None] * self.matrix * root)


# Products with a part of a covariance: unlike functions within others, these can be pickled.

_Product = Callable[[FloatArray], FloatArray]


def _scaled(product: _Product, root: FloatArray | float, vector: FloatArray) -> FloatArray:
    return np.asarray(root * product(root * vector))


def _within(product: _Product, component: IntArray, vector: FloatArray) -> FloatArray:
    return about_means(product(about_means(vector, component)), component)


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
    return Covariance(variances, partial(np.multiply, variances))


def covariance_of_draws(draws: FloatArray) -> Covariance:
    """Return the covariance of draws, one row each (a bootstrap's); of many scores, without gaps.

    Examples
    --------
    >>> covariance_of_draws(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])).variances
    array([0.25, 0.25])
    """
    if draws.shape[1] <= MOST_DENSE:
        return DenseCovariance(np.cov(draws, rowvar=False))
    about = draws - draws.mean(axis=1, keepdims=True)
    return independent(about.std(axis=0, ddof=1))


def about_means(values: FloatArray, component: IntArray) -> FloatArray:
    """Return values less the mean of their component."""
    size = np.maximum(np.bincount(component), 1)
    return np.asarray(values - (np.bincount(component, values) / size)[component])
