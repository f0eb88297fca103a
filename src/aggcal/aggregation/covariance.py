"""Covariances of the scores: a matrix, draws (a bootstrap's), or products with it alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property, partial

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, frozen
from aggcal.aggregation.newton import definite_inverse
from aggcal.aggregation.spreads import about_mean, centred

MOST_DENSE = 3000
"""Items whose covariance may be a matrix: one of more takes longer than two fits, in proportion to
their cube."""

_FEW_PAIRS = 32
"""Pairs for which a linear system each takes little time."""
_RIDGE = 1e-9
"""Added to a covariance of which rounding has left no root, over its mean variance."""


class Covariance(ABC):
    """What the rest of the package asks of a covariance."""

    variances: FloatArray
    """Of each score, about the mean of all scores: their location is a convention."""

    item_by_item: bool = False
    """Whether draws and gains are made for each score by itself, so that one draw after the other
    gives the same bits as all of them together."""

    @abstractmethod
    def contrast_variance(self, contrast: FloatArray) -> float:
        """Variance of a sum of the scores with these factors, which add up to 0."""

    @abstractmethod
    def gap_variance(self, i: IntArray, j: IntArray) -> FloatArray:
        """Variance of s_i − s_j for each pair of positions."""

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
    def scaled(self, factors: FloatArray | float) -> Covariance:
        """Return it with every variance multiplied by a factor; correlations stay."""

    @abstractmethod
    def stretched(self, covariance: Covariance, pull: float) -> Covariance:
        """Return (1 + pull·C) V (1 + pull·C), by the diagonals where either is no matrix.

        It turns V, of scores that a prior of that much more precision pulls together, into that of
        scores whose covariance C is without it.
        """


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

    def gap_variance(self, i: IntArray, j: IntArray) -> FloatArray:
        """Variance of s_i − s_j for each pair of positions."""
        gap = self.variances[i] + self.variances[j] - 2.0 * self.matrix[i, j]
        return np.maximum(gap, 0.0)

    def contrast_variance(self, contrast: FloatArray) -> float:
        """Variance of a sum of the scores with these factors."""
        return float(contrast @ self.matrix @ contrast)

    def draws(self, number: int, random: np.random.Generator) -> FloatArray:
        """Draw normal deviations."""
        normal = random.standard_normal((number, len(self.variances)))
        return np.asarray(normal @ self._root.T)

    @cached_property
    def _root(self) -> FloatArray:
        """A root of the matrix. Scores add up to 0: the last is what the others leave."""
        root, some = np.zeros_like(self.matrix), self.matrix[:-1, :-1]
        if not len(some):
            return root
        try:
            root[:-1, :-1] = np.linalg.cholesky(some)
        except np.linalg.LinAlgError:
            ridge = _RIDGE * float(self.variances.mean()) * np.eye(len(some))
            values, vectors = np.linalg.eigh(some + ridge)
            root[:-1, :-1] = vectors * np.sqrt(np.maximum(values, 0.0))
        root[-1] = -root[:-1].sum(axis=0)
        return root

    def gain(
        self, slope: float, crowd: float, noise: FloatArray, residual: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return K·residual and the diagonal of K = V(V + N)⁻¹."""
        wide = slope**2 * self.matrix
        wide[np.diag_indices(len(wide))] += crowd + noise
        inverse = definite_inverse(wide, wide)
        # K = I − N(V + N)⁻¹.
        return residual - (noise * (inverse @ residual).T).T, 1.0 - noise * np.diag(inverse)

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

    def scaled(self, factors: FloatArray | float) -> Covariance:
        """Return it with every variance multiplied by a factor; correlations stay."""
        root = np.sqrt(np.broadcast_to(factors, self.variances.shape))
        return DenseCovariance(root[:, None] * self.matrix * root)

    def stretched(self, covariance: Covariance, pull: float) -> Covariance:
        """Return (1 + pull·C) V (1 + pull·C)."""
        wide = covariance.dense()
        if wide is None:
            return self.scaled(np.square(1.0 + pull * covariance.variances))
        root = np.eye(len(self.matrix)) + pull * wide.matrix
        return DenseCovariance(root @ self.matrix @ root)


class DrawnCovariance(Covariance):
    """The covariance of draws, one row each (a bootstrap's)."""

    def __init__(self, draws: FloatArray) -> None:
        about = draws - draws.mean(axis=0)
        about -= about.mean(axis=1, keepdims=True)
        self._root: FloatArray = frozen(about / np.sqrt(len(draws) - 1))
        self.variances = frozen(np.square(self._root).sum(axis=0))

    @property
    def matrix(self) -> FloatArray:
        """It as a matrix, for few scores."""
        return np.asarray(self._root.T @ self._root)

    def dense(self) -> DenseCovariance | None:
        """Return it as a matrix; None for too many scores."""
        return DenseCovariance(self.matrix) if len(self.variances) <= MOST_DENSE else None

    def gap_variance(self, i: IntArray, j: IntArray) -> FloatArray:
        """Variance of s_i − s_j for each pair of positions."""
        total = np.zeros(np.broadcast(i, j).shape)
        for draw in self._root:
            total += np.square(draw[i] - draw[j])
        return total

    def contrast_variance(self, contrast: FloatArray) -> float:
        """Variance of a sum of the scores with these factors."""
        return float(np.square(self._root @ contrast).sum())

    def draws(self, number: int, random: np.random.Generator) -> FloatArray:
        """Draw normal deviations with the covariance of the draws."""
        return np.asarray(random.standard_normal((number, len(self._root))) @ self._root)

    def gain(
        self, slope: float, crowd: float, noise: FloatArray, residual: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return K·residual and the diagonal of K = V(V + N)⁻¹."""
        root, flat = slope * self._root.T, crowd + noise
        # (F + RR')⁻¹ by Woodbury's identity: as many equations as draws.
        scaled = root / flat[:, None]
        inner = np.linalg.inv(np.eye(root.shape[1]) + root.T @ scaled)
        solved = (residual.T / flat).T - scaled @ (inner @ (scaled.T @ residual))
        diagonal = 1.0 / flat - np.einsum("ik,kl,il->i", scaled, inner, scaled, optimize=True)
        return residual - (noise * solved.T).T, 1.0 - noise * diagonal

    def of(self, positions: IntArray) -> Covariance:
        """Return the covariance of some of the scores."""
        return self._with(self._root[:, positions])

    def within(self, component: IntArray) -> Covariance:
        """Return that about the mean of each component; of many scores also what draws share."""
        if len(component) <= MOST_DENSE:
            return DenseCovariance(self.matrix).within(component)
        return self._with(np.stack([about_means(draw, component) for draw in self._root]))

    def scaled(self, factors: FloatArray | float) -> Covariance:
        """Return it with every variance multiplied by a factor; correlations stay."""
        return self._with(np.sqrt(factors) * self._root)

    def stretched(self, covariance: Covariance, pull: float) -> Covariance:
        """Return (1 + pull·C) V (1 + pull·C)."""
        wide, root = covariance.dense(), self._root
        more = root * covariance.variances if wide is None else root @ wide.matrix
        return self._with(root + pull * more)

    def _with(self, root: FloatArray) -> DrawnCovariance:
        return DrawnCovariance(np.sqrt(len(root) - 1) * root)


class SolvedCovariance(Covariance):
    """The inverse of a matrix of many scores, of which only products are taken.

    Parameters
    ----------
    variances
        The diagonal of the covariance.
    solve
        Multiplies a vector by it.
    """

    item_by_item = True

    def __init__(self, variances: FloatArray, solve: Callable[[FloatArray], FloatArray]) -> None:
        n = len(variances)
        shared = solve(np.full(n, 1.0 / n))
        self.variances = frozen(np.maximum(variances - 2.0 * shared + shared.mean(), 0.0))
        self._solve = solve

    def gap_variance(self, i: IntArray, j: IntArray) -> FloatArray:
        """Variance of s_i − s_j for each pair of positions.

        A linear system each, of few pairs; else correlations, which hardly count among so many
        items, are left out.
        """
        i, j = np.broadcast_arrays(i, j)
        variances = self.variances[i] + self.variances[j]
        if i.size > _FEW_PAIRS:
            return np.asarray(variances)
        for k in np.ndindex(i.shape):
            contrast = np.zeros(len(self.variances))
            contrast[i[k]] += 1.0
            contrast[j[k]] -= 1.0
            variances[k] = self.contrast_variance(contrast)
        return np.asarray(variances)

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
        return SolvedCovariance(self.variances[positions], product)

    def within(self, component: IntArray) -> Covariance:
        """Return that about the mean of each component, where it is none between components."""
        n, size = len(self.variances), np.bincount(component)[component]
        shared, own = self._solve(np.full(n, 1.0 / n)), self._solve(1.0 / size)
        mean = own - about_means(own, component)
        # Those of the scores themselves, before they were taken about the mean of all.
        whole = self.variances + 2.0 * shared - shared.mean()
        about = np.where(size > 1, np.maximum(whole - 2.0 * own + mean, 0.0), 0.0)
        return SolvedCovariance(about, partial(_within, self._solve, component))

    def scaled(self, factors: FloatArray | float) -> SolvedCovariance:
        """Return it with every variance multiplied by a factor; correlations stay."""
        scaled = SolvedCovariance.__new__(SolvedCovariance)
        scaled.variances = frozen(np.asarray(factors * self.variances))
        scaled._solve = partial(_scaled, self._solve, np.sqrt(factors))  # noqa: SLF001
        return scaled

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
    return SolvedCovariance(variances, partial(np.multiply, variances))


def about_means(values: FloatArray, component: IntArray) -> FloatArray:
    """Return values less the mean of their component."""
    size = np.maximum(np.bincount(component), 1)
    return np.asarray(values - (np.bincount(component, values) / size)[component])
