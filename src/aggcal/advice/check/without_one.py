"""Ways to leave one annotator out of a fit: one Newton step, exactly or nearly so.

With C the covariance of the gaps of the annotator's rows, r their pull and W their curvature, the
rows move the gaps by (I − C W)⁻¹ C r, and without them the variances are the diagonal of
(I − C W)⁻¹ C.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, sums
from aggcal._core.kernels import at, library
from aggcal.aggregation.solve.inverse import factor_inverse
from aggcal.aggregation.solve.linear import definite_inverse

_LITTLE = 0.2
"""Part of what is known of a gap that is an annotator's own, up to which a series is summed."""

_MOST_TERMS, _SAME = 20, 1e-6
"""Terms of a series, and the part of the sum that the last of them may be: an annotator who counts
for much needs more, and is left out exactly."""

_FAINT = 1e-3
"""Part of what is known of a gap that is a row's own, below which what the row adds is not told by
a difference: rounding would leave fewer than twelve digits of it."""

_SIGNS = 64
"""Random signs that tell the second term for annotators with many rows: right to a fifth, which is
a few percent of a variance."""


class Left(NamedTuple):
    """The rows of annotators to leave out, who have equally many: annotators by rows."""

    left: CodeArray
    right: CodeArray
    pull: FloatArray
    curve: FloatArray

    def at(self, rows: IntArray) -> Left:
        """Return some of the rows."""
        return Left(self.left[rows], self.right[rows], self.pull[rows], self.curve[rows])


Found = tuple[FloatArray, FloatArray]
"""How far annotators move the gaps of their rows, and the variances of these without them."""


def by_lu(inverse: FloatArray, own: Left) -> Found:
    """Leave annotators out by the formula as it stands."""
    i, j = own.left, own.right
    across, down = (slice(None), slice(None), None), (slice(None), None, slice(None))
    shared = inverse[i[across], i[down]] + inverse[j[across], j[down]]
    shared -= inverse[i[across], j[down]] + inverse[j[across], i[down]]
    without = np.linalg.solve(np.eye(i.shape[1]) - shared * own.curve[down], shared)
    moved = (without @ own.pull[:, :, None])[:, :, 0]
    return moved, np.diagonal(without, axis1=1, axis2=2)


def by_series(inverse: FloatArray, own: Left) -> tuple[Found | None, FloatArray, FloatArray]:
    """Leave one annotator out by the series C + C W C + ...; None where they count for much.

    The variances are its first two terms, and those after them as if each fell like the second:
    what is left out is of the order of the annotator's share squared. Returned are also C, of which
    the lower triangle counts, and, where the series was not summed, C r.
    """
    [i], [j], [r], [w] = own
    kernels, n, rows = library(), len(inverse), len(i)
    if kernels is None:
        differences = inverse.take(i, axis=0) - inverse.take(j, axis=0)
        shared = differences.take(i, axis=1) - differences.take(j, axis=1)
        variance, first = np.diagonal(shared), shared @ r
        part = np.einsum("ij,ij,j->i", shared, shared, w) / np.maximum(variance, 1e-300)
        if not part.max(initial=0.0) <= _LITTLE:
            return None, shared, first
        moved = _summed(lambda step: shared @ (w * step), first)
        found = None if moved is None else (moved[None], (variance / (1.0 - part))[None])
        return found, shared, first
    room, shared, (moved, variance) = (
        np.empty(n + 3 * rows),
        np.zeros((rows, rows)),
        np.empty((2, rows)),
    )
    sides = _sides(i, j)
    given, out = at(*sides, r, w, inverse), at(room, shared, moved, variance)
    limits = _LITTLE, _MOST_TERMS, _SAME
    if kernels.aggcal_left_out_series(rows, n, *given, *limits, *out):
        return (moved[None], variance[None]), shared, moved
    return None, shared, moved


def _sides(i: CodeArray, j: CodeArray) -> tuple[CodeArray, CodeArray]:
    """Return items as the kernels read them."""
    return np.ascontiguousarray(i, dtype=np.int32), np.ascontiguousarray(j, dtype=np.int32)


def by_signs(inverse: FloatArray, own: Left) -> Found | None:
    """Do the same of one annotator with many rows: the second term is drawn by random signs."""
    [i], [j], [r], [w] = own
    n = len(inverse)

    def spread(values: FloatArray) -> FloatArray:
        """Return K B of values of the rows."""
        return np.asarray(inverse @ (sums(i, values, n) - sums(j, values, n)))

    def among(scores: FloatArray) -> FloatArray:
        return np.asarray(scores[i] - scores[j])

    moved = _summed(lambda step: spread(w * among(step)), spread(r))
    variance = inverse[i, i] + inverse[j, j] - 2.0 * inverse[i, j]
    part = _second_terms(inverse, own) / np.maximum(variance, 1e-300)
    if moved is None or part.mean() > _LITTLE:
        return None
    return among(moved)[None], (variance / (1.0 - np.minimum(part, 0.5)))[None]


def _second_terms(inverse: FloatArray, own: Left) -> FloatArray:
    """Return the diagonal of C W C, as the mean square of what random signs of the rows do."""
    [i], [j], _, [w] = own
    kernels, n, root = library(), len(inverse), np.sqrt(w)
    coins = np.random.default_rng(0).integers(2, size=(_SIGNS, len(i)))
    if kernels is None:
        signs = (2.0 * coins - 1.0) * root
        begins = n * np.arange(_SIGNS)[:, None]
        one, other = (
            np.bincount((begins + side).ravel(), signs.ravel(), _SIGNS * n) for side in (i, j)
        )
        drawn = ((one - other).reshape(_SIGNS, n) @ inverse).T
        return np.asarray(np.square(drawn[i] - drawn[j]).mean(axis=1))
    given, found, sides = np.zeros((n, _SIGNS)), np.empty(len(i)), _sides(i, j)
    kernels.aggcal_signed_rows(len(i), _SIGNS, *at(*sides, coins, root, given))
    drawn = inverse @ given
    kernels.aggcal_mean_squares(len(i), _SIGNS, *at(*sides, drawn, found))
    return found


def _summed(further: Callable[[FloatArray], FloatArray], first: FloatArray) -> FloatArray | None:
    """Return the sum of a series, each of whose terms follows from the last; None: it is long."""
    total, step = first, first
    for _ in range(_MOST_TERMS):
        step = further(step)
        total = total + step
        if np.abs(step).max(initial=0.0) <= _SAME * np.abs(total).max(initial=0.0):
            return total
    return None


def by_cholesky(shared: FloatArray, first: FloatArray, own: Left) -> Found | None:
    """Leave one annotator out exactly: half the work of the formula, where there is much.

    With S = √W and M = I − S C S, (I − C W)⁻¹ C = C + C S M⁻¹ S C, whose diagonal is that of
    (M⁻¹ − I) / W, and which moves the gaps by S⁻¹ M⁻¹ S C r. None: rounding, where next to nothing
    is known without this annotator.

    Parameters
    ----------
    shared, first
        C, of which only the lower triangle is read, and C r.
    own
        The rows of the annotator.
    """
    [w], rows = own.curve, len(first)
    root = np.sqrt(w)
    middle = shared * -root
    middle *= root[:, None]
    middle.flat[:: rows + 1] += 1.0
    try:
        triangle = factor_inverse(middle)
    except np.linalg.LinAlgError:
        return None
    solved = (triangle @ (root * first)) @ triangle
    own_variance = np.diagonal(shared)
    safe = np.maximum(w, 1e-300)
    moved = solved / np.sqrt(safe)
    variance = (np.einsum("ij,ij->j", triangle, triangle) - 1.0) / safe
    # Of rows that add next to nothing both are differences of nearly equal numbers.
    faint = np.flatnonzero(w * own_variance < _FAINT)
    known = np.where(np.arange(rows) <= faint[:, None], shared[faint], shared[:, faint].T)
    moved[faint] = first[faint] + known @ (root * solved)
    along = triangle @ (root[:, None] * known.T)
    variance[faint] = own_variance[faint] + np.square(along).sum(axis=0)
    return moved[None], variance[None]


def refitted(whole: FloatArray, own: Left) -> Found:
    """Leave one annotator out who has more rows than there are items."""
    [i], [j], [r], [w] = own
    n = len(whole)
    given = np.zeros((n, n))
    np.add.at(given, (i, j), -w)
    given += given.T
    np.fill_diagonal(given, sums(i, w, n) + sums(j, w, n))
    rest = whole - given
    covariance = definite_inverse(rest, rest)
    step = covariance @ (sums(i, r, n) - sums(j, r, n))
    variance = covariance[i, i] + covariance[j, j] - 2.0 * covariance[i, j]
    return (step[i] - step[j])[None], variance[None]


def refitted_together(whole: FloatArray, owner: IntArray, own: Left) -> Found:
    """Do the same of several annotators; ``owner`` is that of each row, from 0 on.

    Examples
    --------
    >>> rows = Left(np.array([0, 1]), np.array([1, 2]), np.array([0.5, -0.5]), np.full(2, 0.25))
    >>> moved, variance = refitted_together(4.0 * np.eye(3), np.zeros(2, dtype=np.int64), rows)
    >>> alone = refitted(4.0 * np.eye(3), Left(*(column[None] for column in rows)))
    >>> bool(np.allclose(moved, alone[0][0])), bool(np.allclose(variance, alone[1][0]))
    (True, True)
    """
    (i, j, r, w), n = own, len(whole)
    number = int(owner.max(initial=-1)) + 1
    first, second = owner * n + i, owner * n + j
    rest = sums(first * n + j, w, number * n * n).reshape(number, n, n)
    rest = rest + rest.transpose(0, 2, 1) + whole
    every = np.arange(n)
    rest[:, every, every] -= (sums(first, w, number * n) + sums(second, w, number * n)).reshape(
        number, n
    )
    covariance = np.linalg.inv(rest)
    pull = (sums(first, r, number * n) - sums(second, r, number * n)).reshape(number, n, 1)
    step = (covariance @ pull)[:, :, 0]
    variance = covariance[owner, i, i] + covariance[owner, j, j] - 2.0 * covariance[owner, i, j]
    return step[owner, i] - step[owner, j], variance
