"""Where the *others* put two items: each annotator's own answers must not vouch for themselves."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import numpy as np

from aggcal.arrays import FloatArray, sums
from aggcal.judgments import Judgments
from aggcal.models.links import link

MOST_ITEMS = 1500
"""Items up to which the inverse of the whole information matrix is worked out."""

_MOST_WORK = 2e10
"""Multiplications that leaving out each annotator in turn may take."""

_PROBIT = pi / 8.0


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

    @property
    def likely_gap(self) -> FloatArray:
        """The gap, drawn in for its uncertainty: F of it is the mean of F over that."""
        drawn: FloatArray = self.gap / np.sqrt(1.0 + _PROBIT * self.variance)
        return drawn


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
        The rows.
    scores, slopes
        Item scores and annotators' reliabilities at the optimum, on the logistic scale.
    precision
        Of the prior of the scores.

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
    slope = slopes[judgments.annotator]
    gap = scores[left] - scores[right]
    chance = link("logistic").probability(slope * gap)
    pull = slope * judgments.weight * (judgments.outcome - chance)
    curve = np.square(slope) * judgments.weight * chance * (1.0 - chance)
    diagonal = sums(left, curve, n) + sums(right, curve, n)
    starts = np.searchsorted(judgments.annotator, np.arange(m + 1))
    work = float(np.sum(np.minimum(np.diff(starts), n).astype(np.float64) ** 3))
    if n > MOST_ITEMS or work > _MOST_WORK:
        moved, spread = _each_on_its_own(judgments, pull, curve, diagonal + precision)
        return Others(gap - moved, spread, None, diagonal, exact=False)
    information = np.zeros((n, n))
    np.add.at(information, (left, right), -curve)
    information += information.T
    np.fill_diagonal(information, diagonal)
    whole = information + precision * np.eye(n)
    inverse = np.linalg.inv(whole)
    gap, variance = gap.copy(), np.empty_like(gap)
    for u in range(m):
        mine = slice(int(starts[u]), int(starts[u + 1]))
        i, j, r, w = left[mine], right[mine], pull[mine], curve[mine]
        if len(i) <= n:
            shared = inverse[np.ix_(i, i)] + inverse[np.ix_(j, j)]
            shared -= inverse[np.ix_(i, j)] + inverse[np.ix_(j, i)]
            without = np.linalg.solve(np.eye(len(i)) - shared * w[None, :], shared)
            gap[mine] -= without @ r
            variance[mine] = np.diagonal(without)
            continue
        own = np.zeros((n, n))
        np.add.at(own, (i, j), -w)
        own += own.T
        np.fill_diagonal(own, sums(i, w, n) + sums(j, w, n))
        spread_out = np.linalg.inv(whole - own)
        step = spread_out @ (sums(i, r, n) - sums(j, r, n))
        gap[mine] -= step[i] - step[j]
        variance[mine] = spread_out[i, i] + spread_out[j, j] - 2.0 * spread_out[i, j]
    return Others(gap, np.maximum(variance, 0.0), information, diagonal, exact=True)


def _each_on_its_own(
    judgments: Judgments, pull: FloatArray, curve: FloatArray, whole: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return how far an annotator moves the gap of each row, with the other items held fixed."""
    n, owner = judgments.n_items, judgments.annotator.astype(np.int64)
    keys = np.concatenate([owner * n + judgments.left, owner * n + judgments.right])
    codes, place = np.unique(keys, return_inverse=True)
    place = place.ravel()
    pulled = np.bincount(place, np.concatenate([pull, -pull]))
    curved = np.bincount(place, np.concatenate([curve, curve]))
    room = np.maximum(whole[codes % n] - curved, 1e-9)
    rows = len(owner)
    step, spread = (pulled / room)[place], (1.0 / room)[place]
    return step[:rows] - step[rows:], spread[:rows] + spread[rows:]
