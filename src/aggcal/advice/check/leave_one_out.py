"""Where the *others* put two items: each annotator's own answers must not vouch for themselves."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import pi
from typing import NamedTuple

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, elementwise, starts_of, sums
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import balanced, each_range, in_turn
from aggcal._core.progress import report
from aggcal._core.records import dataclass
from aggcal.aggregation.solve.inverse import inverse_and_errors, inverse_root
from aggcal.aggregation.solve.linear import definite_inverse
from aggcal.data.judgments import Judgments
from aggcal.models.links import LOGISTIC

MOST_ITEMS = 1500
"""Items up to which the inverse of the whole information matrix is worked out."""

_MOST_WORK = 2e10
"""Multiplications that leaving out each annotator in turn may take."""

_SMALL, _ENTRIES = 48, 1 << 16
"""Rows of an annotator up to which several are left out at once (the kernel has room for as many),
and entries of the tables of those who are where there is no kernel."""

_FOR_THREADS = 5_000
"""Rows from which annotators are left out in threads: fewer are left out before these are awake."""

_FEWEST = 2_000  # rows for a thread that leaves out annotators with few of them

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


@dataclass(frozen=True, eq=False)
class Others:
    """For each row: how far left lies above right for the others, and how sure that is.

    ``exact`` tells whether items were moved together (one Newton step from the optimum) or, for
    many items, each on its own.
    """

    gap: FloatArray
    variance: FloatArray
    information: FloatArray | None
    """The information matrix of the scores, without the prior; None for many items."""
    item_information: FloatArray
    """Its diagonal."""
    exact: bool
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

    One Newton step from the optimum, in closed form: with K the inverse information, B the
    annotator's rows, r their pull and W their curvature, the gaps become
    d − (I − C W)⁻¹ C r, where C = Bᵀ K B.

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
    >>> found = aggcal.BTL().fit(judgments)
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
    work = float(np.sum(np.minimum(np.diff(starts), n).astype(np.float64) ** 3))
    if n > MOST_ITEMS or work > _MOST_WORK:
        moved, gap_variances = _each_on_its_own(judgments, pull, curve, diagonal + precision)
        errors = _drawn(n) / np.sqrt(diagonal + precision)
        return Others(gap - moved, gap_variances, None, diagonal, False, errors, share)  # noqa: FBT003
    information = -sums(left.astype(np.int64) * n + right, curve, n * n).reshape(n, n)
    information += information.T
    np.fill_diagonal(information, diagonal)
    whole = information + precision * np.eye(n)
    inverse, errors = inverse_and_errors(whole, _drawn(n))
    moves, variance = np.empty_like(gap), np.empty_like(gap)
    every = _Left(left, right, pull, curve)
    parts = _batches(starts, n, _few_left_out(starts, every, inverse, moves, variance))

    def without(rows: IntArray) -> None:
        one = every.at(rows)
        if rows.shape[1] > n:
            found = _by_signs(inverse, one) or _refitted(whole, one)
        elif rows.shape[1] > _SMALL:
            series, shared = _by_series(inverse, one)
            found = series or _by_cholesky(shared, one) or _by_lu(inverse, one)
        else:
            found = _by_lu(inverse, one)
        moves[rows], variance[rows] = found

    each = in_turn if len(left) > _FOR_THREADS else map
    for done, _ in enumerate(each(without, parts)):
        report("comparing each annotator with the others", done, len(parts))
    gap -= moves
    variance = np.maximum(variance, 0.0)
    return Others(gap, variance, information, diagonal, True, errors, share, inverse)  # noqa: FBT003


class _Left(NamedTuple):
    """The rows of annotators to leave out, who have equally many: annotators by rows."""

    left: CodeArray
    right: CodeArray
    pull: FloatArray
    curve: FloatArray

    def at(self, rows: IntArray) -> _Left:
        """Return some of the rows."""
        return _Left(self.left[rows], self.right[rows], self.pull[rows], self.curve[rows])


def _few_left_out(
    starts: IntArray, columns: _Left, inverse: FloatArray, moves: FloatArray, variance: FloatArray
) -> IntArray:
    """Leave out annotators with few rows by a kernel; return who is still to be left out."""
    kernels, sizes, n = library(), np.diff(starts), len(inverse)
    left: IntArray = np.flatnonzero(sizes)
    few = left[sizes[left] <= min(n, _SMALL)]
    if kernels is None or not len(few):
        return left
    undone = np.zeros(len(few), dtype=np.int8)
    given = at(few, starts, *columns)

    def work(begin: int, end: int) -> None:
        out = at(inverse, moves, variance, undone)
        kernels.aggcal_left_out_few(begin, end, *given, n, *out)

    each_range(work, balanced(np.concatenate([[0], np.cumsum(sizes[few])]), _FEWEST))
    return np.setdiff1d(left, few[undone == 0])


def _batches(starts: IntArray, n: int, who: IntArray) -> list[IntArray]:
    """Return which rows are left out together: of annotators with equally many, some at once.

    Those with many come first, so that no thread is left with one of them at the end.
    """
    sizes = np.diff(starts)[who]
    parts = []
    for size in np.unique(sizes)[::-1].tolist():
        same = who[sizes == size]
        number = max(1, _ENTRIES // size**2) if size <= min(n, _SMALL) else 1
        parts += [
            starts[same[k : k + number], None] + np.arange(size)
            for k in range(0, len(same), number)
        ]
    return parts


_Found = tuple[FloatArray, FloatArray]
"""How far annotators move the gaps of their rows, and the variances of these without them."""


def _by_lu(inverse: FloatArray, own: _Left) -> _Found:
    """Leave annotators out by the formula as it stands."""
    i, j = own.left, own.right
    across, down = (slice(None), slice(None), None), (slice(None), None, slice(None))
    shared = inverse[i[across], i[down]] + inverse[j[across], j[down]]
    shared -= inverse[i[across], j[down]] + inverse[j[across], i[down]]
    without = np.linalg.solve(np.eye(i.shape[1]) - shared * own.curve[down], shared)
    moved = (without @ own.pull[:, :, None])[:, :, 0]
    return moved, np.diagonal(without, axis1=1, axis2=2)


def _by_series(inverse: FloatArray, own: _Left) -> tuple[_Found | None, FloatArray]:
    """Leave one annotator out by the series C + C W C + ...; None where they count for much.

    The variances are its first two terms, and those after them as if each fell like the second:
    what is left out is of the order of the annotator's share squared. C is returned, too.
    """
    [i], [j], [r], [w] = own
    kernels, n, rows = library(), len(inverse), len(i)
    if kernels is None:
        differences = inverse.take(i, axis=0) - inverse.take(j, axis=0)
        shared = differences.take(i, axis=1) - differences.take(j, axis=1)
        variance = np.diagonal(shared)
        part = np.einsum("ij,ij,j->i", shared, shared, w) / np.maximum(variance, 1e-300)
        if not part.max(initial=0.0) <= _LITTLE:
            return None, shared
        moved = _summed(lambda step: shared @ (w * step), shared @ r)
        return None if moved is None else (moved[None], (variance / (1.0 - part))[None]), shared
    room, shared, moved, variance = (
        np.empty(shape) for shape in (n + 3 * rows, (rows, rows), rows, rows)
    )
    left, right = (np.ascontiguousarray(side, dtype=np.int32) for side in (i, j))
    given, out = at(left, right, r, w, inverse), at(room, shared, moved, variance)
    limits = _LITTLE, _MOST_TERMS, _SAME
    if kernels.aggcal_left_out_series(rows, n, *given, *limits, *out):
        return (moved[None], variance[None]), shared
    lower = np.tril(shared)
    whole = lower + lower.T
    whole.flat[:: rows + 1] *= 0.5
    return None, whole


def _by_signs(inverse: FloatArray, own: _Left) -> _Found | None:
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
    signs = (2.0 * np.random.default_rng(0).integers(2, size=(_SIGNS, len(i))) - 1.0) * np.sqrt(w)
    begins = n * np.arange(_SIGNS)[:, None]
    one, other = (
        np.bincount((begins + side).ravel(), signs.ravel(), _SIGNS * n) for side in (i, j)
    )
    given = (one - other).reshape(_SIGNS, n)
    drawn = (given @ inverse).T
    part = np.square(drawn[i] - drawn[j]).mean(axis=1) / np.maximum(variance, 1e-300)
    if moved is None or part.mean() > _LITTLE:
        return None
    return among(moved)[None], (variance / (1.0 - np.minimum(part, 0.5)))[None]


def _summed(further: Callable[[FloatArray], FloatArray], first: FloatArray) -> FloatArray | None:
    """Return the sum of a series, each of whose terms follows from the last; None: it is long."""
    total, step = first, first
    for _ in range(_MOST_TERMS):
        step = further(step)
        total = total + step
        if np.abs(step).max(initial=0.0) <= _SAME * np.abs(total).max(initial=0.0):
            return total
    return None


def _by_cholesky(shared: FloatArray, own: _Left) -> _Found | None:
    """Leave one annotator out exactly: half the work of the formula, where there is much.

    With S = √W and M = I − S C S, (I − C W)⁻¹ C = C + C S M⁻¹ S C, whose diagonal is that of
    (M⁻¹ − I) / W. None: rounding, where next to nothing is known without this annotator.
    """
    [r], [w] = own.pull, own.curve
    root = np.sqrt(w)
    middle = -root[:, None] * shared * root
    middle.flat[:: len(r) + 1] += 1.0
    try:
        triangle = inverse_root(middle)
    except np.linalg.LinAlgError:
        return None
    first, own_variance = shared @ r, np.diagonal(shared)
    moved = first + shared @ (root * (triangle.T @ (triangle @ (root * first))))
    faint = np.flatnonzero(w * own_variance < _FAINT)
    variance = (np.square(triangle).sum(axis=0) - 1.0) / np.maximum(w, 1e-300)
    along = triangle @ (root[:, None] * shared[:, faint])
    variance[faint] = own_variance[faint] + np.square(along).sum(axis=0)
    return moved[None], variance[None]


def _refitted(whole: FloatArray, own: _Left) -> _Found:
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


def _drawn(n: int) -> FloatArray:
    return np.random.default_rng(0).standard_normal((_DRAWS, n))


def _each_on_its_own(
    judgments: Judgments, pull: FloatArray, curve: FloatArray, whole: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return how far an annotator moves the gap of each row, with the other items held fixed."""
    n, owner = judgments.n_items, judgments.annotator.astype(np.int64)
    kernels = library()
    if kernels is not None:
        starts = starts_of(judgments.annotator, judgments.n_annotators)
        moved, variance = np.empty((2, len(owner)))
        columns = starts, judgments.left, judgments.right, pull, curve, whole

        def work(begin: int, end: int) -> None:
            room = np.zeros((2, n))
            out = at(*room, moved, variance)
            kernels.aggcal_left_out(begin, end, *at(*columns), _LEAST_ROOM, *out)

        each_range(work, balanced(starts))
        return moved, variance
    keys = np.concatenate([owner * n + judgments.left, owner * n + judgments.right])
    codes, position = np.unique(keys, return_inverse=True)
    position = position.ravel()
    pulled = np.bincount(position, np.concatenate([pull, -pull]))
    curved = np.bincount(position, np.concatenate([curve, curve]))
    room = np.maximum(whole[codes % n] - curved, _LEAST_ROOM)
    rows = len(owner)
    step, gap_variances = (pulled / room)[position], (1.0 / room)[position]
    return step[:rows] - step[rows:], gap_variances[:rows] + gap_variances[rows:]
