r"""How far scores move without an annotator or an item: one Newton step from the optimum.

With H the curvature of the fit, g and A the gradient and curvature of the rows that are left out,
the scores move by −(H − A)⁻¹ g: a jackknife that takes no refit. Up to `MOST_ITEMS` items all move
together; beyond, each as if the others stood still.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, sums
from aggcal._core.progress import counted
from aggcal._core.text import brief
from aggcal.advice.influence.shifts import Shifts
from aggcal.aggregation.estimate import RowScores
from aggcal.data.graph import laplacian_of_pairs

MOST_ITEMS = 1000
"""Items up to which all move together: a matrix of more takes longer than most fits."""
_MOST_WORK = 2e10
"""Multiplications that leaving out each annotator in turn may take: some ten seconds."""
_MOST_ANNOTATORS = 2000
"""Annotators up to which all items move together: of so many, none moves much else."""
_SWEEPS, _CLOSE = 40, 1e-3
"""Sweeps at most over all items left out, and the change (of the largest) at which they end: far
below a standard error."""
_FEW, _SHRUNK = 3, 0.2
"""Items from which on stretching is taken out, and the factor of it down to which it is."""
_LEAST = 1e-3
"""Share of an item's own stiffness that is left at least, where one annotator gave nearly all."""


@dataclass(frozen=True, eq=False)
class OneStep:
    """Leaves annotators or items out of a fit.

    Parameters
    ----------
    forces
        What each row does to the scores.
    scores
        The scores of the fit.
    """

    forces: RowScores
    scores: FloatArray

    __repr__ = brief

    @property
    def joint(self) -> bool:
        """Whether all items move together."""
        forces, n = self.forces, self.forces.n_items
        rows = np.bincount(forces.rows.owner, minlength=forces.rows.n_annotators)
        work = float(np.sum(np.minimum(2.0 * rows, n) ** 3))
        small = n <= MOST_ITEMS and forces.rows.n_annotators <= _MOST_ANNOTATORS
        return small and work <= _MOST_WORK

    def without_annotators(self) -> Shifts:
        """Return how far scores move without each annotator."""
        if not self.joint:
            return self._each_on_its_own()
        forces = self.forces
        inverse = definite_inverse(forces.information())
        starts = np.searchsorted(forces.rows.owner, np.arange(forces.rows.n_annotators + 1))
        found = np.empty((forces.rows.n_annotators, forces.n_items))
        for u in counted(range(forces.rows.n_annotators), "leaving out each annotator"):
            rows = slice(int(starts[u]), int(starts[u + 1]))
            found[u] = _moved(inverse, forces, rows)
        return Shifts.of_all(matched(found, self.scores))

    def _each_on_its_own(self) -> Shifts:
        """Move each item as if the others stood still."""
        forces, n = self.forces, self.forces.n_items
        owner = forces.rows.owner.astype(np.int64) * n
        keys = np.concatenate([owner + forces.rows.left, owner + forces.rows.right])
        where, position = np.unique(keys, return_inverse=True)
        pulled = np.bincount(position, np.concatenate([forces.score, -forces.score]))
        curve = np.maximum(forces.curvature, 0.0)
        curved = np.bincount(position, np.concatenate([curve, curve]))
        who, item = np.divmod(where, n)
        stiff = forces.stiffness()[item]
        shift = -pulled / np.maximum(stiff - curved, _LEAST * stiff)
        return Shifts(who, item, shift, forces.rows.n_annotators, n)

    def without_items(self) -> FloatArray:
        """Return the root mean square by which the others move without each item."""
        n = self.forces.n_items
        if n > MOST_ITEMS:
            return self._neighbours()
        found, shifts = np.zeros(n), self.item_shifts()
        for i in range(n if n > 1 else 0):
            rest = np.arange(n) != i
            own = matched(shifts[rest, i], self.scores[rest])
            found[i] = np.sqrt(np.mean(np.square(own)))
        return found

    def item_shifts(self) -> FloatArray:
        """Return how far each item moves without each other one: a column for what is left out."""
        forces, n = self.forces, self.forces.n_items
        pull = forces.pairs(forces.score)
        pull = pull - pull.T  # [j, i]: what rows with i pull j by
        curve = forces.pairs(np.maximum(forces.curvature, 0.0))
        curve = curve + curve.T
        inverse = definite_inverse(forces.information())
        own, shift = np.diag(inverse), np.zeros((n, n))
        for _ in range(_SWEEPS):
            # (H₋ᵢ − D)x = −g by x ← H₋ᵢ⁻¹(−g + Dx), for all items at once, a column each.
            moved = inverse @ (curve * shift - pull)
            new = moved - inverse * (np.diag(moved) / own)
            far, shift = float(np.max(np.abs(new - shift))), new
            if far <= _CLOSE * max(float(np.max(np.abs(new))), 1e-300):
                break
        np.fill_diagonal(shift, 0.0)
        return shift

    def _neighbours(self) -> FloatArray:
        """Move the items that one was compared with, each as if the others stood still."""
        forces, n = self.forces, self.forces.n_items
        one = np.concatenate([forces.rows.left, forces.rows.right]).astype(np.int64)
        other = np.concatenate([forces.rows.right, forces.rows.left])
        where, position = np.unique(one * n + other, return_inverse=True)
        pulled = np.bincount(position, np.concatenate([-forces.score, forces.score]))
        curve = np.maximum(forces.curvature, 0.0)
        curved = np.bincount(position, np.concatenate([curve, curve]))
        item, neighbour = np.divmod(where, n)
        stiff = forces.stiffness()[neighbour]
        shift = -pulled / np.maximum(stiff - curved, _LEAST * stiff)
        return np.sqrt(np.bincount(item, shift**2, n) / max(n - 1, 1))


def _moved(inverse: FloatArray, forces: RowScores, rows: slice) -> FloatArray:
    """Return −(H − A)⁻¹ g for some rows, in the space of the rows or of their items."""
    above, below = forces.rows.left[rows], forces.rows.right[rows]
    pull, curve = forces.score[rows], np.maximum(forces.curvature[rows], 0.0)
    touched, position = np.unique(np.concatenate([above, below]), return_inverse=True)
    t, half = len(touched), len(above)
    # Where nobody else judged an item only the prior is left of it, and without one nothing.
    left = 1.0 + 1e-9
    if half < t:
        across = inverse[above] - inverse[below]
        gaps = across[:, above] - across[:, below]
        inside = left * np.eye(half) - curve[:, None] * gaps
        return np.asarray(-np.linalg.solve(inside, pull) @ across)
    i, j = position[:half], position[half:]
    pulled = np.bincount(i, pull, t) - np.bincount(j, pull, t)
    own = laplacian_of_pairs(sums(i * t + j, curve, t * t).reshape(t, t))
    inside = left * np.eye(t) - own @ inverse[np.ix_(touched, touched)]
    return np.asarray(-inverse[:, touched] @ np.linalg.solve(inside, pulled))


def matched(shift: FloatArray, scores: FloatArray) -> FloatArray:
    """Take out of moves what moves or stretches all scores alike: both are conventions.

    Two items have nothing but their distance, so that it counts; and where the order is nearly
    turned round, no stretching brings it back.

    Examples
    --------
    >>> scores = np.array([-1.0, 0.0, 1.0])
    >>> matched(0.5 + 0.1 * scores, scores).round(9) + 0.0
    array([0., 0., 0.])
    """
    about = scores - scores.mean()
    off = shift - shift.mean(axis=-1, keepdims=True)
    size = float(about @ about)
    if size == 0.0 or len(scores) < _FEW:
        return np.asarray(off)
    stretch = np.asarray(1.0 + (off @ about) / size)[..., None]
    alike = (about + off) / np.maximum(stretch, _SHRUNK) - about
    return np.asarray(np.where(stretch > _SHRUNK, alike, off))


def definite_inverse(matrix: FloatArray) -> FloatArray:
    """Invert a curvature; one without a prior is flat along the mean, which is a convention.

    Examples
    --------
    >>> definite_inverse(np.array([[1.5, -1.0], [-1.0, 1.5]])).round(2)
    array([[1.2, 0.8],
           [0.8, 1.2]])
    """
    whole: Any = np.array(matrix, copy=True)
    whole[np.diag_indices(len(whole))] += 1e-9 * float(np.mean(np.diag(whole)))
    return np.asarray(np.linalg.inv(whole))
