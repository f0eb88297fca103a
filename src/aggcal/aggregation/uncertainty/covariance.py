"""The covariance of the scores: as a matrix or from draws (or without: `matrix_free`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import spotrf, spotrs

from aggcal._core.arrays import FloatArray, IntArray, SingleArray, frozen
from aggcal._core.kernels.threads import each_range
from aggcal.aggregation.newton import definite_inverse
from aggcal.aggregation.solve.prior_sd import about_mean, centred

ALWAYS_DENSE, MOST_DENSE = 400, 3000
"""Up to so many items a covariance is a matrix in any case, and up to so many where scores hang
together much (see `laplace`), or where somebody asks for all of it. A matrix of more takes longer
than two fits, in proportion to their cube."""

_ROOT_ROWS = 128  # of a range: what is beside a triangle need not be multiplied
_COARSE = 1e-2
"""Share of a score's variance that scores before it must leave open for draws in single precision:
rounding is then less than a thousandth of a standard error."""
_TRACE = 1e-9  # added to the diagonal, so that rounding leaves it positive definite


class Covariance(ABC):
    """What the rest of the package asks of a covariance."""

    variances: FloatArray
    """Of each score, about the mean of all scores: their location is a convention."""

    item_by_item: bool = False
    """Whether draws and gains are made for each score by itself, so that one draw after the other
    gives the same bits as all of them together."""

    @abstractmethod
    def gap_variance(self, i: IntArray, j: IntArray) -> FloatArray:
        """Variance of s_i − s_j for each pair of positions."""

    @abstractmethod
    def contrast_variance(self, contrast: FloatArray) -> float:
        """Variance of a sum of the scores with these factors, which add up to 0."""

    @abstractmethod
    def draws(self, number: int, random: np.random.Generator) -> FloatArray:
        """Draw deviations from the estimate, one row each."""

    @abstractmethod
    def gain(
        self, slope: float, crowd: float, noise: FloatArray, residual: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return K·residual and the diagonal of K = V(V + N)⁻¹.

        V = slope²·C + crowd·I is what a signal varies by, N = diag(noise) what hides it. There may
        be several residuals, a column each.
        """

    def gained(
        self, slope: float, crowd: float, noise: FloatArray, residual: FloatArray
    ) -> FloatArray:
        """Return K·residual for draws, which need fewer digits than an estimate does."""
        return self.gain(slope, crowd, noise, residual)[0]

    def dense(self) -> DenseCovariance | None:
        """Return it as a matrix, worked out where it is none yet; None where it cannot be."""
        return None

    @abstractmethod
    def of(self, positions: IntArray) -> Covariance:
        """Return the covariance of some of the scores."""

    @abstractmethod
    def within(self, component: IntArray) -> Covariance:
        """Return that about the mean of each component, and none between components."""

    @abstractmethod
    def times(self, factor: float) -> Covariance:
        """Return it multiplied by a factor."""

    @abstractmethod
    def stretched(self, covariance: Covariance, pull: float) -> Covariance:
        """Return (1 + pull·C) V (1 + pull·C), by the diagonals where either is no matrix.

        It turns V, of scores that a prior of that much more precision pulls together, into that of
        scores whose covariance C is without it.
        """


class DenseCovariance(Covariance):
    """A covariance matrix; it is centred.

    Parameters
    ----------
    matrix
        The matrix.
    overwrite
        Whether it may be centred in its place.

    Examples
    --------
    >>> covariance = DenseCovariance(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> covariance.variances, covariance.gap_variance(np.array([0]), np.array([1]))
    (array([0.5, 0.5]), array([2.]))
    """

    def __init__(self, matrix: FloatArray, *, overwrite: bool = False) -> None:
        self.matrix: FloatArray = frozen(about_mean(matrix, overwrite=overwrite))
        self.variances = frozen(np.maximum(np.diag(self.matrix), 0.0))

    def gap_variance(self, i: IntArray, j: IntArray) -> FloatArray:
        """Variance of s_i − s_j for each pair of positions."""
        gap = self._entries(i, j)
        gap *= -2.0
        gap += self.variances[i] + self.variances[j]
        return np.maximum(gap, 0.0, out=gap)

    def _entries(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return entries of the matrix: for a column of positions and a row of them in two steps.

        NumPy takes four times as long to look up each by itself.
        """
        if np.ndim(i) == 1 and np.ndim(j) > 1:
            i, j = j, i
        if np.ndim(j) == 1 and np.shape(i)[1:] == (1,):
            return np.asarray(self.matrix[i[:, 0]][:, j])
        return np.asarray(self.matrix[i, j])

    def contrast_variance(self, contrast: FloatArray) -> float:
        """Variance of a sum of the scores with these factors."""
        return float(contrast @ self.matrix @ contrast)

    def draws(self, number: int, random: np.random.Generator) -> FloatArray:
        """Draw normal deviations."""
        n = len(self.variances)
        normal = random.standard_normal((number, n))
        single = self._single_root
        if single is not None:
            found, normal[:, -1] = normal, 0.0
            _multiplied(normal[:, :-1].astype(np.float32), single, found)
            found[:, -1] = -found[:, :-1].sum(axis=1)
            return found
        root, triangular = self._root
        if not triangular:
            return np.asarray(normal @ root.T)
        found = np.empty_like(normal)
        _multiplied(normal, root, found)
        return found

    @cached_property
    def _single_root(self) -> SingleArray | None:
        """A root of it less its last score, in single precision; None where that is too coarse.

        Scores add up to 0: the last is what the others leave. Half the digits take half the time,
        and are more than draws need, unless some scores are nearly known from those before them.
        """
        if len(self.matrix) < 2:  # noqa: PLR2004
            return None
        some = self.matrix[:-1, :-1].astype(np.float32).T
        root, failed = spotrf(some, lower=True, overwrite_a=True)
        if failed or not (np.square(np.diag(root)) > _COARSE * self.variances[:-1]).all():
            return None
        return np.asarray(root)

    @cached_property
    def _root(self) -> tuple[FloatArray, bool]:
        """A root of the matrix, and whether it is a lower triangle."""
        # Centred, it is singular: a trace of noise makes it definite.
        trace = float(self.variances.mean())
        try:
            wide = self.matrix + _TRACE * trace * np.eye(len(self.matrix))
            return np.asarray(np.linalg.cholesky(wide)), True
        except np.linalg.LinAlgError:
            values, vectors = np.linalg.eigh(self.matrix)
            return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))), False

    def gain(
        self, slope: float, crowd: float, noise: FloatArray, residual: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return K·residual and the diagonal of K = V(V + N)⁻¹."""
        wide = slope**2 * self.matrix
        wide[np.diag_indices(len(wide))] += crowd + noise
        inverse = definite_inverse(wide, wide)
        # K = I − N(V + N)⁻¹.
        return residual - (noise * (inverse @ residual).T).T, 1.0 - noise * np.diag(inverse)

    def gained(
        self, slope: float, crowd: float, noise: FloatArray, residual: FloatArray
    ) -> FloatArray:
        """Return K·residual in single precision, unless that is too coarse."""
        wide = (slope**2 * self.matrix).astype(np.float32)
        own = np.diag(wide) + (crowd + noise)
        np.fill_diagonal(wide, own)
        factor, failed = spotrf(wide.T, lower=True, clean=False, overwrite_a=True)
        if failed or not (np.square(np.diag(factor)) > _COARSE * own).all():
            return super().gained(slope, crowd, noise, residual)
        solved = spotrs(factor, residual.astype(np.float32), lower=True)[0]
        return np.asarray(residual - (noise * solved.T).T)

    def dense(self) -> DenseCovariance:
        """Return itself."""
        return self

    def of(self, positions: IntArray) -> Covariance:
        """Return the covariance of some of the scores."""
        return DenseCovariance(self.matrix[np.ix_(positions, positions)])

    def within(self, component: IntArray) -> Covariance:
        """Return that about the mean of each component, and none between components."""
        number = np.unique(component, return_inverse=True)[1]
        same = number[:, None] == number[None, :]
        return DenseCovariance(np.where(same, centred(self.matrix, number), 0.0))

    def times(self, factor: float) -> Covariance:
        """Return it multiplied by a factor."""
        return DenseCovariance(factor * self.matrix)

    def stretched(self, covariance: Covariance, pull: float) -> Covariance:
        """Return (1 + pull·C) V (1 + pull·C)."""
        wide = covariance.dense()
        if wide is None:
            stretch = 1.0 + pull * covariance.variances
            return DenseCovariance(stretch[:, None] * self.matrix * stretch)
        root = np.eye(len(self.matrix)) + pull * wide.matrix
        return DenseCovariance(root @ self.matrix @ root)


class DrawnCovariance(Covariance):
    """The covariance of draws, one row each (a bootstrap's)."""

    def __init__(self, draws: FloatArray) -> None:
        about = draws - draws.mean(axis=0)
        self._draws: FloatArray = frozen(about - about.mean(axis=1, keepdims=True))
        self.variances = frozen(np.square(self._draws).sum(axis=0) / (len(draws) - 1))

    @property
    def matrix(self) -> FloatArray:
        """It as a matrix, for few scores."""
        return np.asarray(self._draws.T @ self._draws / (len(self._draws) - 1))

    def dense(self) -> DenseCovariance | None:
        """Return it as a matrix; None for too many scores."""
        return DenseCovariance(self.matrix) if len(self.variances) <= MOST_DENSE else None

    def gap_variance(self, i: IntArray, j: IntArray) -> FloatArray:
        """Variance of s_i − s_j for each pair of positions."""
        total = np.zeros(np.broadcast(i, j).shape)
        for draw in self._draws:
            total += np.square(draw[i] - draw[j])
        return np.asarray(total / (len(self._draws) - 1))

    def contrast_variance(self, contrast: FloatArray) -> float:
        """Variance of a sum of the scores with these factors."""
        return float(np.square(self._draws @ contrast).sum() / (len(self._draws) - 1))

    def draws(self, number: int, random: np.random.Generator) -> FloatArray:
        """Draw normal deviations with the covariance of the draws."""
        weights = random.standard_normal((number, len(self._draws)))
        return np.asarray(weights @ self._draws / np.sqrt(len(self._draws) - 1))

    def gain(
        self, slope: float, crowd: float, noise: FloatArray, residual: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return K·residual and the diagonal of K = V(V + N)⁻¹."""
        root = slope * self._draws.T / np.sqrt(len(self._draws) - 1)
        # (F + RR')⁻¹ by Woodbury's identity: as many equations as draws.
        flat = crowd + noise
        scaled = root / flat[:, None]
        inner = np.linalg.inv(np.eye(root.shape[1]) + root.T @ scaled)
        solved = (residual.T / flat).T - scaled @ (inner @ (scaled.T @ residual))
        diagonal = 1.0 / flat - np.einsum("ik,kl,il->i", scaled, inner, scaled, optimize=True)
        return residual - (noise * solved.T).T, 1.0 - noise * diagonal

    def of(self, positions: IntArray) -> Covariance:
        """Return the covariance of some of the scores."""
        return DrawnCovariance(self._draws[:, positions])

    def within(self, component: IntArray) -> Covariance:
        """Return that about the mean of each component; of many scores also what draws share."""
        if len(component) <= MOST_DENSE:
            return DenseCovariance(self.matrix).within(component)
        return DrawnCovariance(np.stack([about_means(draw, component) for draw in self._draws]))

    def times(self, factor: float) -> Covariance:
        """Return it multiplied by a factor."""
        return DrawnCovariance(np.sqrt(factor) * self._draws)

    def stretched(self, covariance: Covariance, pull: float) -> Covariance:
        """Return (1 + pull·C) V (1 + pull·C)."""
        wide, draws = covariance.dense(), self._draws
        more = draws * covariance.variances if wide is None else draws @ wide.matrix
        return DrawnCovariance(draws + pull * more)


def _multiplied(
    normal: FloatArray | SingleArray, root: FloatArray | SingleArray, found: FloatArray
) -> None:
    """Multiply rows of numbers by a lower triangle; what is beside it is not multiplied."""

    def work(begin: int, end: int) -> None:
        found[:, begin:end] = normal[:, :end] @ root[begin:end, :end].T

    each_range(work, [*range(0, len(root), _ROOT_ROWS), len(root)])


def about_means(values: FloatArray, component: IntArray) -> FloatArray:
    """Return values less the mean of their component."""
    size = np.maximum(np.bincount(component), 1)
    return np.asarray(values - (np.bincount(component, values) / size)[component])
