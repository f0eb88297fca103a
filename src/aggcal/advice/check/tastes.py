"""Whether tastes that differ form two groups, or differ by degrees.

Two orders span a plane of orders. Annotators of two groups lie in it along two rays, each as far
out as they are reliable. Where tastes differ by degrees, the rays fill the space between the two,
densest at one place. So two rays are held against every law of directions with a single peak.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, sums
from aggcal.aggregation.links import LOGISTIC
from aggcal.data.judgments import Judgments

_PRIOR = 1.0 / 9.0
"""Precision of an annotator's two coefficients, which are about 1: it keeps those of annotators
who never err finite."""
_STEPS, _SETTLED, _LONGEST = 12, 1e-4, 1.0
"""Newton's steps for the coefficients, the length after which another changes nothing that counts,
and the longest one: without a limit, steps from 0 may diverge."""
_ALIKE = 0.1
"""Spread of coefficients that members of a group, or people of one taste, may have beyond chance:
less takes small differences within groups for degrees, more blurs groups that are near."""
_STRANGERS, _ANYWHERE = 0.05, 1.5
"""Share of annotators who may lie anywhere in the plane, and how far out: without them, one who
guesses or answers the opposite would decide."""
_MOST = 200  # annotators who are asked: more take longer and hardly change the answer
_PLACES = 41  # directions: more take longer, fewer blur narrow groups
_NARROW = 1.2  # half-width of the directions at least; the two orders lie at 1 and -1
_OUTER = 0.02  # share of annotators at each end who do not widen the directions
_COMMON: FloatArray = np.array([0.0, 0.5, 1.0, 1.5])
_RELIABILITY_SDS: FloatArray = np.array([0.1, 0.35, 0.7])
_RELIABILITIES: FloatArray = np.linspace(-2.4, 2.4, 25)
_WIDTHS: IntArray = np.array([0, 1, 2, 4, 6, 9, 13, 18, 24, 31, 40])
_SPREADS = (0.0, 0.15, 0.3)
"""Spread of directions within each of two groups."""
_CLEFT = 4.0  # spreads that two groups are apart at least: at 2 there is no valley between them
_LEAST_APART = 0.4  # the two orders are 2 apart: nearer ones are no groups
_LEAST_SHARE = 0.05  # of the smaller group: one stranger is none
_ROUNDS, _STRIDE, _ROUNDS_OF_TWO = 100, 1.7, 10
"""Steps of EM, the power that lengthens each (2 may diverge, 1 takes twice as many), and steps that
find the shares of two groups: more take longer."""
_BEST = 3  # laws of reliability that degrees are tried with: more take longer, fewer favour groups
_FEWEST = 4  # annotators: of fewer there is no telling


class Plane(NamedTuple):
    """Where each annotator lies between two orders: two coefficients, and what is known of them.

    ``at`` are annotators by coefficients: of half the sum of the two orders, and of half their
    difference. ``information`` has the three entries of the matrix of each, by rows.
    """

    at: FloatArray
    information: FloatArray

    @classmethod
    def of(cls, judgments: Judgments, common: FloatArray, apart: FloatArray) -> Plane:
        """Place annotators by their answers.

        Parameters
        ----------
        judgments
            The answers.
        common, apart
            Of each row, the gap by half the sum of the two orders, and by half their difference,
            both made from other answers: one's own would draw everyone to a side.

        Examples
        --------
        >>> import aggcal
        >>> rows = [("ann", "a", "b")] * 9 + [("bob", "b", "a")] * 9
        >>> judgments = aggcal.read_judgments(rows)
        >>> gap = np.where(judgments.left == 0, 1.0, -1.0)
        >>> np.sign(Plane.of(judgments, np.zeros(len(gap)), gap).at[:, 1])
        array([ 1., -1.])
        """
        m, owner, number = judgments.n_annotators, judgments.annotator, judgments.count
        at, information = np.zeros((m, 2)), np.zeros((m, 3))
        for _ in range(_STEPS):
            gap = at[owner, 0] * common + at[owner, 1] * apart
            probability = LOGISTIC.probability(gap)
            off, curve = number * (judgments.outcome - probability), probability
            curve = number * curve * (1.0 - curve)
            pull = np.stack([sums(owner, off * side, m) for side in (common, apart)], axis=1)
            sides = common * common, common * apart, apart * apart
            information = np.stack([sums(owner, curve * side, m) for side in sides], axis=1)
            pull -= _PRIOR * at
            a, b, d = information[:, 0] + _PRIOR, information[:, 1], information[:, 2] + _PRIOR
            step = np.stack([d * pull[:, 0] - b * pull[:, 1], a * pull[:, 1] - b * pull[:, 0]], 1)
            step = np.clip(step / (a * d - b * b)[:, None], -_LONGEST, _LONGEST)
            at = at + step
            if np.abs(step).max(initial=0.0) < _SETTLED:
                break
        return cls(at, information)

    def some(self) -> Plane:
        """Return those who tell of it: enough of them, and only who was asked."""
        known = np.flatnonzero(self.information[:, 2] > 0.0)
        known = known[:: -(-max(len(known), 1) // _MOST)]
        return Plane(self.at[known], self.information[known])

    def _blurred(self, sd: float) -> tuple[FloatArray, FloatArray]:
        """Return the information once each is off by as much, and the factor of the likelihood."""
        a, b, d = self.information.T
        square = a * d - b * b
        factor = 1.0 + sd**2 * (a + d) + sd**4 * square
        blurred = np.stack([a + sd**2 * square, b, d + sd**2 * square]) / factor
        return blurred, factor**-0.5

    def likelihoods(self, places: FloatArray, common: float, sd: float) -> FloatArray:
        """Return how likely each annotator is in each direction: annotators by directions.

        Parameters
        ----------
        places
            Directions: how far out along the difference of the orders,
        common
            as against how far along their sum.
        sd
            Of the logarithm of the reliability.
        """
        (a, b, d), _ = self._blurred(_ALIKE)
        reliability = np.exp(sd * _RELIABILITIES)
        often = np.exp(-0.5 * np.square(_RELIABILITIES))
        x, y = self.at.T[:, :, None, None]
        one = reliability * common - x
        other = reliability * places[:, None] - y
        a, b, d = (each[:, None, None] for each in (a, b, d))
        square = a * np.square(one) + 2.0 * b * one * other + d * np.square(other)
        found = np.exp(-0.5 * square) @ (often / often.sum())
        (a, b, d), factor = self._blurred(_ANYWHERE)
        x, y = self.at.T
        anywhere = factor * np.exp(-0.5 * (a * x * x + 2.0 * b * x * y + d * y * y))
        likely: FloatArray = (1.0 - _STRANGERS) * found + _STRANGERS * anywhere[:, None] + 1e-300
        return likely


def for_two_groups(plane: Plane) -> float:
    """Return by how many nats two groups explain where annotators lie better than degrees do.

    How reliable annotators are, and how much all have in common, is chosen for each of the two by
    what explains their places best; for degrees, out of what does so for two groups, and for any
    laws of directions.

    Examples
    --------
    Twenty annotators at two points, and twenty between them:

    >>> known = np.tile([40.0, 0.0, 40.0], (20, 1))
    >>> def placed(along: FloatArray) -> Plane:
    ...     return Plane(np.stack([np.ones(20), along], axis=1), known)
    >>> two = for_two_groups(placed(np.where(np.arange(20) < 8, 1.0, -1.0)))
    >>> between = for_two_groups(placed(np.linspace(-1.7, 1.7, 20)))
    >>> two > 5.0, between < 0.5
    (True, True)
    """
    some = plane.some()
    if len(some.at) < _FEWEST:
        return 0.0
    low, high = np.quantile(some.at[:, 1], [_OUTER, 1.0 - _OUTER])
    reach = 1.2 * max(_NARROW, -float(low), float(high))
    places = np.linspace(-reach, reach, _PLACES)
    tables = [
        some.likelihoods(places, common, sd) for common, sd in product(_COMMON, _RELIABILITY_SDS)
    ]
    two = [_two(table, places) for table in tables]
    any_law = np.argsort([_mixed(table) for table in tables], kind="stable")
    tried = {int(np.argmax(two)), *any_law[-_BEST:].tolist()}
    peaks = (_mixed(laws) for k in sorted(tried) for laws in _single_peaks(tables[k]))
    return max(two) - max(peaks)


def _mixed(table: FloatArray) -> float:
    """Return the log-likelihood of the best mixture of some laws: annotators by laws."""
    size, laws = table.shape
    shares = np.full(laws, 1.0 / laws)
    for _ in range(_ROUNDS):
        shares = shares * ((1.0 / (table @ shares)) @ table / size) ** _STRIDE
        shares /= shares.sum()
    return float(np.log(table @ shares).sum())


def _single_peaks(likely: FloatArray) -> Iterator[FloatArray]:
    """Return, for each place of the peak, annotators by even laws between two places around it.

    Mixtures of those are all laws that fall off from there on both sides.
    """
    size, places = likely.shape
    added = np.concatenate([np.zeros((size, 1)), np.cumsum(likely, axis=1)], axis=1)
    for peak in range(0, places, 2):
        begins = np.unique(np.maximum(peak - _WIDTHS, 0))
        ends = np.unique(np.minimum(peak + _WIDTHS, places - 1)) + 1
        begin, end = (side.ravel() for side in np.meshgrid(begins, ends))
        yield (added[:, end] - added[:, begin]) / (end - begin)


def _two(likely: FloatArray, places: FloatArray) -> float:
    """Return the log-likelihood of the best two groups, each about a place."""
    best = -np.inf
    centres = places[::2]
    first, second = np.triu_indices(len(centres), 1)
    for spread in _SPREADS:
        near = centres[:, None] - places
        law = np.exp(-0.5 * np.square(near / max(spread, 1e-3)))
        table = likely @ (law / law.sum(axis=1, keepdims=True)).T
        apart = centres[second] - centres[first] >= max(_CLEFT * spread, _LEAST_APART)
        one, other = table[:, first[apart]], table[:, second[apart]]
        share = np.full(one.shape[1], 0.5)
        for _ in range(_ROUNDS_OF_TWO):
            part = one * share
            share = (part / (part + other * (1.0 - share))).mean(axis=0)
            share = np.clip(share, _LEAST_SHARE, 1.0 - _LEAST_SHARE)
        fits = np.log(one * share + other * (1.0 - share)).sum(axis=0)
        best = max(best, float(fits.max(initial=-np.inf)))
    return best
