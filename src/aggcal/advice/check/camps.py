"""Whether there is one consensus at all, or camps that see the items differently."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import log_expit

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, sums
from aggcal._core.tables import aligned
from aggcal.advice.check.annotator_mixture import decided
from aggcal.advice.check.camp_signs import FEWEST, LARGE, first_sign
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.tastes import Plane, for_two_groups
from aggcal.aggregation.methods import BTL, HRA
from aggcal.aggregation.terms import PLAIN
from aggcal.data.judgments import Judgments
from aggcal.data.warnings import unsaid
from aggcal.metrics import spearman

_GAIN = 0.3  # standard errors by which camps must predict better: a higher one misses camps
_GAIN_ALIKE = 1.5
"""The same of groups whose orders are much alike, which chance and the model's own errors make more
often: a higher one misses more of them, a lower one divides annotators who agree."""
_TWO, _BY_DEGREES = 2.5, -1.0
"""Nats by which two groups must explain tastes better than degrees do before groups are claimed,
and below which it is said that there are none: between the two neither is. A lower first one calls
more degrees groups (at 2, about 3 in 100 studies), a higher second one denies more groups."""
_OPPOSITE, _TWO_IF_OPPOSITE = -0.7, 1.0
"""Correlation below which two orders are opposites, and the nats that are enough there: who lies
between opposites prefers nothing, so that degrees are little else than reliabilities. At 1, three
of four studies of opposite groups are told, and 1 in 12 of degrees up to the opposite is called
groups; at 2.5, half and 1 in 60."""
_ALIKE = 0.6  # of the usual correlation: above it the two orders are nearly one
_SPLITS = 2  # of the answers: more are steadier and take longer
_HOPELESS = -3.0
"""Gain of a split after which no other is tried: the next would have to be 6.6 standard errors
better, and the two of 59 studies, simulated and real, differed by 3.0 at most."""
_NEXT_TO_NOTHING = 1e-6  # weight of held-out rows: items they alone join stay joined
_LEAST_SHARE = 0.1  # of the smaller camp: fewer are odd ones out, not a camp
_ROUNDS_SMALL, _ROUNDS_LARGE = 12, 5  # of sorting into camps: few move later
_CLEAR = 2.0  # nats by which an annotator belongs to one camp rather than the other
_NAMED = 5  # items: more make a sentence that nobody reads
_BOTH_JUDGED = 2  # judgments of an item in each camp: of one, the difference is noise


@dataclass(frozen=True, eq=False)
class Camps:
    """Two groups of annotators, the larger first, and how they differ.

    ``beyond`` is how many standard deviations the strongest common pattern in what the consensus
    leaves unexplained lies above that of the same leftovers with random signs.
    """

    larger: IntArray
    smaller: IntArray
    unclear: int
    """Annotators whose answers fit both about as well."""
    correlation: float
    """Rank correlation between the orders of the two camps."""
    usual_correlation: float
    """The same between two groups of these sizes that are drawn by lot."""
    items: IntArray
    """Items that they differ on most."""
    differences: FloatArray
    """How much higher the larger camp puts those."""
    beyond: float
    two_groups: float
    """Nats by which two groups explain the tastes better than degrees of them do."""

    @property
    def alike(self) -> bool:
        """Whether the two orders are nearly one."""
        return self.correlation > _ALIKE * max(self.usual_correlation, _ALIKE)

    @property
    def distinct(self) -> bool:
        """Whether they are two groups beyond doubt."""
        opposite = self.correlation < _OPPOSITE
        return self.two_groups >= (_TWO_IF_OPPOSITE if opposite else _TWO)

    @property
    def between(self) -> bool:
        """Whether annotators lie between them, too: by degrees, or in further groups."""
        return self.two_groups < _BY_DEGREES


def camps(fitted: Fitted, dropped: set[int], *, seed: int = 0) -> tuple[Camps | None, float]:
    """Look for two camps, and return them with how far chance is exceeded.

    A first sign makes one look (`first_sign`). What decides is whether camps predict answers that
    they were not made from (`held_out`). Whether they are
    camps, or the halves of a continuum, is told apart after that (`for_two_groups`).

    Parameters
    ----------
    fitted
        The study and its fit.
    dropped
        Annotators to leave aside: copies of others would be a camp of their own.
    seed
        Seed for the drawn studies.
    """
    sign = first_sign(fitted, dropped, seed=seed)
    beyond = sign.beyond
    if not sign.shows:
        return None, beyond
    loading = sign.part_of_each()
    turned = fitted.population.slopes < 0.0
    starts = [loading > 0.0, np.abs(loading) > _halfway(np.abs(loading)), turned]
    judgments = _without_ties(fitted.judgments)
    gain, predicted = _predicted(judgments, starts, seed)
    if gain < _GAIN:
        return None, beyond
    division = _division(judgments, starts)
    if division is None:
        return None, beyond
    plane = Plane.of(judgments, predicted.common, predicted.apart)
    found = _described(judgments, division, beyond, for_two_groups(plane), seed)
    if found is not None and found.alike and gain < _GAIN_ALIKE:
        return None, beyond
    return found, beyond


class HeldOut(NamedTuple):
    """What two camps say of answers that they were not made from.

    ``gain`` is how surely they predict these better than one consensus, in standard errors;
    ``common`` and ``apart`` the gap of each row by half the sum of the two orders, and by half
    their difference.
    """

    gain: float
    common: FloatArray
    apart: FloatArray


def _predicted(judgments: Judgments, starts: list[BoolArray], seed: int) -> tuple[float, HeldOut]:
    """Return how much better camps predict than one consensus, by two splits, and the first."""
    found: list[HeldOut] = []
    for k in range(_SPLITS):
        found.append(held_out(judgments, starts, seed=seed + k))
        if found[-1].gain < _HOPELESS:
            break
    return float(np.mean([each.gain for each in found])), found[0]


def _without_ties(judgments: Judgments) -> Judgments:
    """Leave ties out of the sums: as halves they draw all orders to the same one.

    Where most answers are ties, any two camps then predict as well as the consensus. Their weight
    is next to nothing, so that no item and no annotator drops out.
    """
    number = decided(judgments)
    if number.all():
        return judgments
    weight = np.where(number > 0, judgments.weight, _NEXT_TO_NOTHING * judgments.weight)
    return replace(judgments, weight=weight, count=number)


def _halfway(sizes: FloatArray) -> float:
    """Return the point between the middle of the small and that of the large ones."""
    cut = float(sizes.mean())
    for _ in range(20):
        large = sizes > cut
        if not large.any() or large.all():
            break
        cut = 0.5 * float(sizes[large].mean() + sizes[~large].mean())
    return cut


@dataclass(frozen=True, eq=False)
class _Division:
    """Annotators on two sides, each side's own scores, and how clearly each annotator belongs."""

    side: BoolArray
    orders: tuple[FloatArray, FloatArray]
    margin: FloatArray

    @property
    def midway(self) -> tuple[FloatArray, FloatArray]:
        """Half the sum of the two orders, and half their difference."""
        one, other = (_centred(order) for order in self.orders)
        return 0.5 * (one + other), 0.5 * (one - other)


def _division(judgments: Judgments, starts: list[BoolArray]) -> _Division | None:
    """Divide the annotators so that each camp's own consensus explains it best."""
    best: tuple[float, _Division] | None = None
    rounds = _ROUNDS_LARGE if len(judgments.count) > LARGE else _ROUNDS_SMALL
    for start in starts:
        side = start
        for _ in range(rounds):
            if not FEWEST <= side.sum() <= len(side) - FEWEST:
                break
            orders = (_order_of(judgments, side), _order_of(judgments, ~side))
            fits = [_log_likelihood(judgments, order) for order in orders]
            new = fits[0] > fits[1]
            value = float(np.maximum(*fits).sum())
            if best is None or value > best[0]:
                best = (value, _Division(new, orders, np.abs(fits[0] - fits[1])))
            if (new == side).all():
                break
            side = new
    return None if best is None else best[1]


def held_out(judgments: Judgments, starts: list[BoolArray], *, seed: int = 0) -> HeldOut:
    """Return what two camps say of answers that they were not made from.

    Half of the rows divide the annotators and give each camp its order; the other half tells
    whether an annotator's camp predicts it better than the consensus of all does, which knows
    how reliable each annotator is.
    """
    random = np.random.default_rng(seed)
    half = random.integers(2, size=len(judgments.count)).astype(bool)
    gain: FloatArray = np.zeros(judgments.n_annotators)
    common, apart = np.zeros((2, len(half)))
    first: FloatArray | None = None
    for seen in (half, ~half):
        # A weight next to nothing, so that no item and no annotator drops out.
        part = replace(
            judgments,
            weight=np.where(seen, judgments.weight, _NEXT_TO_NOTHING * judgments.weight),
            count=np.where(seen, judgments.count, 0),
        )
        rest = replace(judgments, count=np.where(seen, 0, judgments.count))
        found = _division(part, starts)
        if found is None:
            return HeldOut(0.0, common, apart)
        with unsaid():
            # As in the camps: scores of another model have another scale.
            whole = HRA(terms=PLAIN).fit(part)
        # Someone who answers the other way round is not explained by one consensus.
        one = _log_likelihood(rest, whole.scores, np.maximum(whole.reliabilities, 0.0))
        two = [_log_likelihood(rest, order) for order in found.orders]
        gain += np.where(found.side, two[0], two[1]) - one
        middle, difference = found.midway
        # Which camp comes first is chance; both halves must have the same one there.
        first = difference if first is None else first
        turn = -1.0 if float(first @ difference) < 0.0 else 1.0
        common += np.where(seen, 0.0, middle[judgments.left] - middle[judgments.right])
        gaps = turn * (difference[judgments.left] - difference[judgments.right])
        apart += np.where(seen, 0.0, gaps)
    surely = float(gain.sum() / max(np.sqrt(np.sum(np.square(gain))), 1e-12))
    return HeldOut(surely, common, apart)


def _described(
    judgments: Judgments, found: _Division, beyond: float, two_groups: float, seed: int
) -> Camps | None:
    side, orders = found.side, found.orders
    if side.sum() * 2 < len(side):
        side, orders = ~side, (orders[1], orders[0])
    if (~side).sum() < max(FEWEST, _LEAST_SHARE * len(side)):
        return None
    ranked = np.argsort(-found.margin, kind="stable")
    difference = _centred(orders[0]) - _centred(orders[1])
    seen = [_seen(judgments, part) for part in (side, ~side)]
    common = (seen[0] >= _BOTH_JUDGED) & (seen[1] >= _BOTH_JUDGED)
    size = np.where(common, np.abs(difference), -1.0)
    items = np.argsort(-size, kind="stable")[: min(_NAMED, int(common.sum()))]
    mixed = np.random.default_rng(seed).permutation(side)
    halves = _order_of(judgments, mixed), _order_of(judgments, ~mixed)
    return Camps(
        ranked[side[ranked]],
        ranked[~side[ranked]],
        int(np.sum(found.margin < _CLEAR)),
        _correlation(*orders, common),
        _correlation(*halves, common),
        items,
        difference[items],
        beyond,
        two_groups,
    )


def _correlation(one: FloatArray, other: FloatArray, common: BoolArray) -> float:
    return spearman(one[common], other[common]) if common.sum() > 1 else float("nan")


def _order_of(judgments: Judgments, side: BoolArray) -> FloatArray:
    """Return the scores that one camp alone gives, 0 where it judged nothing."""
    with unsaid():
        part = BTL().fit(judgments.of_annotators(np.flatnonzero(side)))
    return np.nan_to_num(aligned(part.scores, part.item_ids, judgments.item_ids))


def _log_likelihood(
    judgments: Judgments, scores: FloatArray, slopes: FloatArray | None = None
) -> FloatArray:
    gap = scores[judgments.left] - scores[judgments.right]
    if slopes is not None:
        gap = slopes[judgments.annotator] * gap
    fit = judgments.outcome * log_expit(gap) + (1.0 - judgments.outcome) * log_expit(-gap)
    return sums(judgments.annotator, judgments.count * fit, judgments.n_annotators)


def _centred(scores: FloatArray) -> FloatArray:
    centred: FloatArray = scores - scores.mean()
    return centred


def _seen(judgments: Judgments, side: BoolArray) -> FloatArray:
    mine = np.where(side[judgments.annotator], judgments.count, 0)
    n = judgments.n_items
    return sums(judgments.left, mine, n) + sums(judgments.right, mine, n)
