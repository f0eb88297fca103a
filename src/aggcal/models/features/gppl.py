r"""Preference learning with a Gaussian process (Chu & Ghahramani 2005).

    f ~ N(0, K),   P(i above j) = Φ((f_i − f_j)/√2)

Each item appears with normal noise of sd 1: that fixes the unit of f, of which the judgments know
nothing. With K = LL' and f = Lz the posterior is sought in z, whose prior is N(0, I): the curvature
I + L'WL is then never near singular, whatever the kernel. W is the curvature of the log-likelihood
in f. The Laplace approximation puts a normal distribution of covariance (K⁻¹ + W)⁻¹ on the mode.

W. Chu, Z. Ghahramani, *Preference learning with Gaussian processes*, ICML 2005.
"""

from __future__ import annotations

from functools import cached_property
from math import sqrt

import numpy as np
from scipy.linalg import solve_triangular

from aggcal._core.arrays import FloatArray, dot, sums
from aggcal.models.links import link
from aggcal.models.objective import Point
from aggcal.models.rows import Rows
from aggcal.registry import NORMAL

WIDTH = sqrt(2.0)
"""Two items appear with noise of sd 1 each."""

_NORMAL = link(NORMAL.name)


def row_losses(rows: Rows, scores: FloatArray) -> FloatArray:
    """Return −log Φ((f_i − f_j)/√2) of each row, its weight left aside."""
    return _NORMAL.terms((scores[rows.winner] - scores[rows.loser]) / WIDTH)[0]


class Preference:
    """−log posterior of z, as the solver sees it.

    Parameters
    ----------
    rows
        The weighted wins.
    root
        L.
    """

    def __init__(self, rows: Rows, root: FloatArray) -> None:
        self._rows, self._root, self._squares = rows, root, np.square(root)
        pulled = _NORMAL.pull_at_zero * rows.degrees / WIDTH
        # What a gradient would be if every judgment pulled the same way: convergence is relative.
        self._size = np.abs(root).T @ pulled + 1.0
        self._near = np.zeros(len(rows))

    def evaluate(self, whitened: FloatArray) -> Point:
        """Return the value and derivatives at z, and remember the curvature there."""
        rows, n = self._rows, self._rows.n_items
        scores = self._root @ whitened
        gap = (scores[rows.winner] - scores[rows.loser]) / WIDTH
        loss, pull, curve = _NORMAL.terms(gap)
        self._near = rows.weight * curve / WIDTH**2
        gradient = whitened - self._root.T @ rows.scatter(rows.weight * pull / WIDTH)
        stiff = sums(rows.winner, self._near, n) + sums(rows.loser, self._near, n)
        return Point(
            dot(rows.weight, loss) + 0.5 * dot(whitened, whitened),
            gradient,
            # Without its cross terms, which would cost as much as the whole matrix: it only scales.
            1.0 + self._squares.T @ stiff,
            float(np.max(np.abs(gradient) / self._size)),
        )

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply by I + L'WL at the last point."""
        rows = self._rows
        moved = self._root @ vector
        pulls = self._near * (moved[rows.winner] - moved[rows.loser])
        return np.asarray(vector + self._root.T @ rows.scatter(pulls))


class Laplace:
    """The Laplace approximation at the mode.

    Parameters
    ----------
    rows, root
        See `Preference`.
    whitened
        The mode, in z.
    """

    def __init__(self, rows: Rows, root: FloatArray, whitened: FloatArray) -> None:
        self._rows, self._root = rows, root
        self.scores: FloatArray = root @ whitened
        self._gap = (self.scores[rows.winner] - self.scores[rows.loser]) / WIDTH
        loss, self._pull, self._curve = _NORMAL.terms(self._gap)
        self.log_likelihood = -dot(rows.weight, loss)
        self.curvature: FloatArray = rows.laplacian(rows.weight * self._curve / WIDTH**2)
        """W."""
        bent = root.T @ self.curvature @ root
        bent[np.diag_indices(len(bent))] += 1.0
        self._inner = np.linalg.cholesky(bent)
        self.log_evidence = (
            self.log_likelihood
            - 0.5 * dot(whitened, whitened)
            - float(np.sum(np.log(np.diag(self._inner))))
        )
        """Of the kernel: the logarithm of the judgments' chance with f integrated out."""

    @cached_property
    def covariance(self) -> FloatArray:
        """(K⁻¹ + W)⁻¹, without the inverse of K."""
        half = solve_triangular(self._inner, self._root.T, lower=True)
        return np.asarray(half.T @ half)

    def slope(self, turned: FloatArray) -> float:
        """Return the derivative of the log-evidence in a direction in which K changes by this.

        K enters through the prior and the determinant, and by moving the mode.
        """
        rows = self._rows
        force = rows.scatter(rows.weight * self._pull / WIDTH)
        along = turned @ force
        explicit = 0.5 * (dot(force, along) - float(np.sum(self._tight * turned)))
        shift = along - self.covariance @ (self.curvature @ along)
        return explicit + dot(self._pull_of_mode, shift)

    @cached_property
    def _tight(self) -> FloatArray:
        """(K + W⁻¹)⁻¹, without the inverse of W, which has none."""
        return np.asarray(self.curvature - self.curvature @ self.covariance @ self.curvature)

    @cached_property
    def _pull_of_mode(self) -> FloatArray:
        """How the determinant changes with f."""
        rows, variances = self._rows, np.diag(self.covariance)
        together = self.covariance[rows.winner, rows.loser]
        variance = variances[rows.winner] + variances[rows.loser] - 2.0 * together
        bend = self._pull - self._curve * (2.0 * self._pull + self._gap)
        return rows.scatter(-0.5 * rows.weight * bend * variance / WIDTH**3)
