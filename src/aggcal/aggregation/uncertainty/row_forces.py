"""What each judgment does to the scores at a fit: how hard it pulls, and how it stiffens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, sums
from aggcal._core.text import brief
from aggcal.models.rows import laplacian


@dataclass(frozen=True, eq=False)
class RowForces:
    """The part of each row in the gradient and in the curvature of the scores, by its annotator.

    Annotators' parameters are held where the fit has them. Rows are sorted by annotator.
    """

    owner: IntArray
    """The annotator of each row."""
    above: CodeArray
    below: CodeArray
    """The two items of each row."""
    pull: FloatArray
    """Derivative of the log-likelihood in the gap: what moves the first item up."""
    curve: FloatArray
    """Minus its second derivative."""
    precision: FloatArray
    """Of the prior of the scores, item by item."""
    n_annotators: int

    __repr__ = brief

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self.precision)

    def stiffness(self) -> FloatArray:
        """Return the diagonal of the curvature of all rows and the prior."""
        n = self.n_items
        return self.precision + sums(self.above, self.curve, n) + sums(self.below, self.curve, n)

    def curvature(self) -> FloatArray:
        """Return the curvature of all rows and the prior, as a matrix.

        Examples
        --------
        >>> one = np.ones(1)
        >>> forces = RowForces(np.zeros(1, int), np.array([0]), np.array([1]), one, one,
        ...                    np.full(2, 0.5), 1)
        >>> forces.curvature()
        array([[ 1.5, -1. ],
               [-1. ,  1.5]])
        """
        found = laplacian(self.pairs(self.curve))
        found[np.diag_indices(len(found))] += self.precision
        return found

    def pairs(self, values: FloatArray) -> FloatArray:
        """Add up rows by their two items, items by items: the first, then the second."""
        n = self.n_items
        return sums(self.above.astype(np.int64) * n + self.below, values, n * n).reshape(n, n)
