"""Where the *others* put two items: each annotator's own answers must not vouch for themselves.

With K the covariance of the scores, B an annotator's rows, r their pull and W their curvature, the
rows move the gaps by (I − C W)⁻¹ C r, where C = Bᵀ K B, and without them the variances are the
diagonal of (I − C W)⁻¹ C: one Newton step from the optimum, in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import pi

import numpy as np
from scipy.linalg.lapack import dtrtrs

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, elementwise, starts_of, sums
from aggcal._core.kernels.threads import in_turn
from aggcal._core.progress import report
from aggcal.aggregation.links import LOGISTIC
from aggcal.aggregation.newton import definite_inverse, inverse_of_factor, upper_factor
from aggcal.data.graph import laplacian
from aggcal.data.judgments import Judgments

MOST_ITEMS = 1500
"""Items up to which the inverse of the whole information matrix is worked out."""

_MOST_WORK = 2e10
"""Multiplications that leaving out each annotator in turn may take."""

_SMALL, _ENTRIES = 64, 1 << 16
"""Rows of an annotator up to which several are left out at once, and entries of their tables."""

_LEAST_ROOM = 1e-9  # information that the others are taken to have of an item, however little

_PROBIT = pi / 8.0

_DRAWS = 48
"""Sets of scores that are drawn to see what their uncertainty does: the variance that they give is
right to a fifth, and what an annotator is expected to do is averaged over them.
"""

_MOST_OF_ALL = 0.9
"""Of the information, the most that one annotator is taken to give; without them the rest is left.
"""


_Three = tuple[FloatArray, FloatArray, FloatArray]
_Rows = tuple[CodeArray, CodeArray, FloatArray, FloatArray]
"""Left and right items of rows, their pull and their curvature."""


@dataclass(frozen=True, eq=False)
class Others:
    """For each row: how far left lies above right for the others, and how sure that is.

    Items were moved together (one Newton step from the optimum) or, many, each on its own.
    """

    gap: FloatArray
    variance: FloatArray
    information: FloatArray | None
    """The information matrix of the scores, without the prior; None for many items."""
    item_information: FloatArray
    """Its diagonal."""
    errors: FloatArray
    """Errors of the scores, drawn from their uncertainty: one set a row."""
    share: FloatArray
    """Of the information that each annotator gives."""
    covariance: FloatArray | None = None
    """Of the scores: the inverse of the information with the prior; None for many items."""

    def gap_errors(self, who: int, left: CodeArray, right: CodeArray) -> FloatArray:
        """Return errors of the gaps that the others of one annotator see: one set a row.

        Scores err together, so the gaps of one annotator's answers do, too.
        """
        drawn: FloatArray = self.errors[:, left] - self.errors[:, right]
        return float(self.wider[who]) * drawn

    @cached_property
    def wider(self) -> FloatArray:
        """Factor of the errors of the scores for the others of each annotator."""
        return np.asarray((1.0 - np.minimum(self.share, _MOST_OF_ALL)) ** -0.5)

    @property
    def likely_gap(self) -> FloatArray:
        """The gap, drawn in for its uncertainty: F of it is the mean of F over that."""

        def drawn(gap: FloatArray, variance: FloatArray) -> FloatArray:
            return np.asarray(gap / np.sqrt(1.0 + _PROBIT * variance))

        return elementwise(drawn, self.gap, self.variance)[0]


def consensus_of_others(
    judgments: Judgments, scores: FloatArray, slopes: FloatArray, precision: float
) -> Others:
    """Return the gap of each row as the consensus would have it without its annotator.

    Parameters
    ----------
    judgments
        The judgments that were fitted.
    scores, slopes
        Item scores and annotators' reliabilities at the optimum, on the logistic scale.
    precision
        Precision of the prior of the scores.

    Examples
    --------
    Ann alone says that c is above a; without her, it is not:

    >>> import aggcal
    >>> rows = [("ann", "c", "a"), ("bob", "a", "b"), ("bob", "b", "c"), ("bob", "a", "c")]
    >>> judgments = aggcal.read_judgments(rows)
    >>> found = aggcal.methods.BTL().fit(judgments)
    >>> gap = consensus_of_others(judgments, found.scores, np.ones(2), 1.0).gap
    >>> bool(gap[0] < found.scores[2] - found.scores[0])
    True
    """
    n, m = judgments.n_items, judgments.n_annotators
    left, right = judgments.left, judgments.right

    def pulled(u: CodeArray, i: CodeArray, j: CodeArray, *given: FloatArray) -> _Three:
        slope, gap, (weight, outcome) = slopes[u], scores[i] - scores[j], given
        probability = LOGISTIC.probability(slope * gap)
        curve = np.square(slope) * weight * probability * (1.0 - probability)
        return gap, slope * weight * (outcome - probability), curve

    columns = judgments.annotator, left, right, judgments.weight, judgments.outcome
    gap, pull, curve = elementwise(pulled, *columns, results=3)
    diagonal = sums(left, curve, n) + sums(right, curve, n)
    share = sums(judgments.annotator, curve, m) / max(float(curve.sum()), 1e-300)
    starts = starts_of(judgments.annotator, m)
    normal = np.random.default_rng(0).standard_normal((_DRAWS, n))
    work = float(np.sum(np.minimum(np.diff(starts), n).astype(np.float64) ** 3))
    if n > MOST_ITEMS or work > _MOST_WORK:
        moved, gap_variances = _each_on_its_own(judgments, pull, curve, diagonal + precision)
        errors = normal / np.sqrt(diagonal + precision)
        return Others(gap - moved, gap_variances, None, diagonal, errors, share)
    information = laplacian(left, right, curve, n)
    whole = information + precision * np.eye(n)
    factor = upper_factor(whole)
    if factor is None:
        raise np.linalg.LinAlgError("the information is not positive definite")
    errors = dtrtrs(factor, normal.T, lower=False)[0].T
    covariance = inverse_of_factor(factor)
    moves, variance = np.empty_like(gap), np.empty_like(gap)
    parts = _batches(starts, n)

    def without(rows: IntArray) -> None:
        own = left[rows], right[rows], pull[rows], curve[rows]
        few = rows.shape[1] <= n
        moves[rows], variance[rows] = by_rows(covariance, own) if few else by_items(whole, own)

    for done, _ in enumerate(in_turn(without, parts)):
        report("comparing each annotator with the others", done, len(parts))
    gap, variance = gap - moves, np.maximum(variance, 0.0)
    return Others(gap, variance, information, diagonal, errors, share, covariance)


def _batches(starts: IntArray, n: int) -> list[IntArray]:
    """Return which rows are left out together: of annotators with equally many, some at once.

    Those with many come first, so that no thread is left with one of them at the end.
    """
    sizes, parts = np.diff(starts), []
    for size in np.unique(sizes[sizes > 0])[::-1].tolist():
        begins = starts[:-1][sizes == size]
        number = max(1, _ENTRIES // size**2) if size <= min(n, _SMALL) else 1
        parts += [
            begins[k : k + number, None] + np.arange(size) for k in range(0, len(begins), number)
        ]
    return parts


def by_rows(covariance: FloatArray, own: _Rows) -> tuple[FloatArray, FloatArray]:
    """Leave out annotators who have equally many rows, a row of these tables each.

    With S = √W and M = I − S C S, (I − C W)⁻¹ C = C + C S M⁻¹ S C.

    Examples
    --------
    >>> left, right = np.array([[0, 1]]), np.array([[1, 2]])
    >>> own = left, right, np.array([[0.5, -0.5]]), np.full((1, 2), 0.25)
    >>> moved, variance = by_rows(np.linalg.inv(4.0 * np.eye(3)), own)
    >>> same = by_items(4.0 * np.eye(3), own)
    >>> bool(np.allclose(moved, same[0])), bool(np.allclose(variance, same[1]))
    (True, True)
    """
    left, right, pull, curve = own
    across, down = (slice(None), slice(None), None), (slice(None), None, slice(None))

    def known(one: CodeArray, other: CodeArray) -> FloatArray:
        return covariance.take(one[across].astype(np.int64) * len(covariance) + other[down])

    cross = known(left, right)
    shared = known(left, left) + known(right, right) - cross - cross.swapaxes(1, 2)
    root = np.sqrt(curve)
    carried = root[across] * shared
    middle = np.eye(left.shape[1]) - carried * root[down]
    if len(middle) > 1:
        inverse = np.linalg.inv(middle)
    else:
        inverse = definite_inverse(middle[0], middle[0])[None]
    first = shared @ pull[across]
    moved = first + carried.swapaxes(1, 2) @ (inverse @ (root[across] * first))
    variance = np.diagonal(shared, axis1=1, axis2=2) + (carried * (inverse @ carried)).sum(axis=1)
    return moved[:, :, 0], variance


def by_items(whole: FloatArray, own: _Rows) -> tuple[FloatArray, FloatArray]:
    """Leave out one annotator, who has more rows than there are items, by the information."""
    (i, j, r, w), n = (column[0] for column in own), len(whole)
    rest = whole - laplacian(i, j, w, n)
    without = definite_inverse(rest, rest)
    step = without @ (sums(i, r, n) - sums(j, r, n))
    variance = without[i, i] + without[j, j] - 2.0 * without[i, j]
    return (step[i] - step[j])[None], variance[None]


def _each_on_its_own(
    judgments: Judgments, pull: FloatArray, curve: FloatArray, whole: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return how far an annotator moves the gap of each row, with the other items held fixed."""
    n, owner = judgments.n_items, judgments.annotator.astype(np.int64)
    keys = np.concatenate([owner * n + judgments.left, owner * n + judgments.right])
    codes, position = np.unique(keys, return_inverse=True)
    pulled = np.bincount(position, np.concatenate([pull, -pull]))
    curved = np.bincount(position, np.concatenate([curve, curve]))
    room = np.maximum(whole[codes % n] - curved, _LEAST_ROOM)
    step, variance = (each[position].reshape(2, -1) for each in (pulled / room, 1.0 / room))
    return step[0] - step[1], variance[0] + variance[1]
