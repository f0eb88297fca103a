"""Where the *others* put two items: each annotator's own answers must not vouch for themselves."""

from __future__ import annotations

from functools import cached_property
from math import pi

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, elementwise, starts_of, sums
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import balanced, beside, each_range, in_turn
from aggcal._core.progress import report
from aggcal._core.records import dataclass
from aggcal._core.unmasked import distinct
from aggcal.advice.check.without_one import (
    Left,
    by_cholesky,
    by_lu,
    by_series,
    by_signs,
    refitted,
    refitted_together,
)
from aggcal.aggregation.solve.inverse import inverse_and_errors
from aggcal.data.judgments import Judgments
from aggcal.models.links import LOGISTIC

MOST_ITEMS = 1500
"""Items up to which the inverse of the whole information matrix is worked out."""

_MOST_WORK = 2e10
"""Multiplications that leaving out each annotator in turn may take."""

_SMALL, _ENTRIES = 64, 1 << 16
"""Rows of an annotator up to which several are left out at once (the kernel has room for as many),
and entries of the tables of those who are where there is no kernel."""

_FEW_ITEMS = 64
"""Items up to which annotators who have more rows than that are left out by their own inverses: of
more items these take longer than random signs."""

_FOR_THREADS = 5_000
"""Rows from which annotators are left out in threads: fewer are left out before these are awake."""

_FEWEST = 2_000  # rows for a thread that leaves out annotators with few of them

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
    left, right, drawn = judgments.left, judgments.right, beside(lambda: _drawn(n))

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
        errors = drawn() / np.sqrt(diagonal + precision)
        return Others(gap - moved, gap_variances, None, diagonal, False, errors, share)  # noqa: FBT003
    information = -sums(left.astype(np.int64) * n + right, curve, n * n).reshape(n, n)
    information += information.T
    np.fill_diagonal(information, diagonal)
    whole = information + precision * np.eye(n)
    inverse, errors = inverse_and_errors(whole, drawn())
    moves, variance = np.empty_like(gap), np.empty_like(gap)
    every = Left(left, right, pull, curve)
    who = _few_left_out(starts, every, inverse, moves, variance)
    if n <= _FEW_ITEMS:
        who = _left_out_together(starts, who, every, whole, (moves, variance))
    parts = _batches(starts, n, who)

    def without(rows: IntArray) -> None:
        one = every.at(rows)
        if rows.shape[1] > n:
            found = by_signs(inverse, one) or refitted(whole, one)
        elif rows.shape[1] > _SMALL:
            series, shared, first = by_series(inverse, one)
            found = series or by_cholesky(shared, first, one) or by_lu(inverse, one)
        else:
            found = by_lu(inverse, one)
        moves[rows], variance[rows] = found

    each = in_turn if len(left) > _FOR_THREADS else map
    for done, _ in enumerate(each(without, parts)):
        report("comparing each annotator with the others", done, len(parts))
    gap -= moves
    variance = np.maximum(variance, 0.0)
    return Others(gap, variance, information, diagonal, True, errors, share, inverse)  # noqa: FBT003


def _few_left_out(
    starts: IntArray, columns: Left, inverse: FloatArray, moves: FloatArray, variance: FloatArray
) -> IntArray:
    """Leave out annotators with few rows by a kernel; return who is still to be left out."""
    kernels, sizes, n = library(), np.diff(starts), len(inverse)
    left: IntArray = np.flatnonzero(sizes)
    few = left[sizes[left] <= _SMALL]
    if kernels is None or not len(few):
        return left
    undone = np.zeros(len(few), dtype=np.int8)
    given = at(few, starts, *columns)

    def work(begin: int, end: int) -> None:
        out = at(inverse, moves, variance, undone)
        kernels.aggcal_left_out_few(begin, end, *given, n, *out)

    each_range(work, balanced(np.concatenate([[0], np.cumsum(sizes[few])]), _FEWEST))
    return np.setdiff1d(left, few[undone == 0], assume_unique=True)


def _left_out_together(
    starts: IntArray,
    who: IntArray,
    columns: Left,
    whole: FloatArray,
    out: tuple[FloatArray, FloatArray],
) -> IntArray:
    """Leave out annotators with more rows than items, many at once; return who is still to be."""
    sizes, n = np.diff(starts)[who], len(whole)
    many = who[sizes > n]
    batches = [many[k : k + _ENTRIES // n**2] for k in range(0, len(many), _ENTRIES // n**2)]

    def without(some: IntArray) -> None:
        given = np.diff(starts)[some]
        owner = np.repeat(np.arange(len(some)), given)
        rows = np.arange(len(owner)) + np.repeat(starts[some] - np.cumsum(given) + given, given)
        out[0][rows], out[1][rows] = refitted_together(whole, owner, columns.at(rows))

    for done, _ in enumerate(in_turn(without, batches)):
        report("comparing each annotator with the others", done, len(batches))
    return who[sizes <= n]


def _batches(starts: IntArray, n: int, who: IntArray) -> list[IntArray]:
    """Return which rows are left out together: of annotators with equally many, some at once.

    Those with many come first, so that no thread is left with one of them at the end.
    """
    sizes = np.diff(starts)[who]
    parts = []
    for size in distinct(sizes)[::-1].tolist():
        same = who[sizes == size]
        number = max(1, _ENTRIES // size**2) if size <= min(n, _SMALL) else 1
        parts += [
            starts[same[k : k + number], None] + np.arange(size)
            for k in range(0, len(same), number)
        ]
    return parts


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
