"""Whether there is one consensus at all, or camps that see the items differently."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, sums
from aggcal._core.compiled_scipy import log_expit
from aggcal._core.progress import counted
from aggcal._core.records import dataclass
from aggcal._core.tables import aligned
from aggcal.advice.check.annotator_mixture import decided
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.random_signs import Table, strengths, weighted_agreements
from aggcal.aggregation.methods import BTL, HRA
from aggcal.aggregation.solve.linear import definite_solve
from aggcal.data.judgments import Judgments
from aggcal.data.warnings import unsaid
from aggcal.metrics import spearman
from aggcal.models.general.terms import PLAIN
from aggcal.models.links import LOGISTIC
from aggcal.models.rows import scatter

_DRAWS_SMALL, _DRAWS_LARGE = 60, 20  # of signs: more take longer, fewer blur the null's deviation
_LARGE = 200_000  # rows from which time counts more than a sharp null
_SURE = 3.0  # deviations of the null: lower ones accuse more clean studies
_GAIN = 0.3  # standard errors by which camps must predict better: a higher one misses camps
_SPLITS = 2  # of the answers: more are steadier and take longer
_HOPELESS = -3.0
"""Gain of a split after which no other is tried: the next would have to be 6.6 standard errors
better, and the two of 59 studies, simulated and real, differed by 3.0 at most."""
_NEXT_TO_NOTHING = 1e-6  # weight of held-out rows: items they alone join stay joined
_REVERSED_SHARE = 0.15  # share that counts as a camp of its own, not as a few who misread
_REVERSED_GAIN = 8.0  # nats that reversed annotators must explain: lower ones accuse more
_LEAST_SHARE, _FEWEST = 0.1, 2  # smallest camp: fewer are odd ones out, not a camp
FEWEST_ANNOTATORS = 4  # two camps of two
_ROUNDS_SMALL, _ROUNDS_LARGE = 12, 5  # of sorting into camps: few move later
_CLEAR = 2.0  # nats by which an annotator belongs to one camp rather than the other
_NAMED = 5  # items: more make a sentence that nobody reads
_DENSE = 150  # annotators up to which all eigenvectors cost less than a few
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


def camps(fitted: Fitted, dropped: set[int], *, seed: int = 0) -> tuple[Camps | None, float]:
    """Look for two camps, and return them with how far chance is exceeded.

    Two signs make one look: annotators whose leftover disagreement with the consensus points
    the same way (the largest eigenvalue of the table of such agreements, against the same
    leftovers with random signs), or a good part of annotators who run against the others. What
    decides is whether camps predict answers that they were not made from (`held_out_gain`).

    Parameters
    ----------
    fitted
        The study and its fit.
    dropped
        Annotators to leave aside: copies of others would be a camp of their own.
    seed
        Seed for the drawn studies.
    """
    m = fitted.judgments.n_annotators
    if m < FEWEST_ANNOTATORS:
        return None, 0.0
    kept = np.ones(m, dtype=bool)
    kept[list(dropped)] = False
    patterns = _Patterns(fitted, kept)
    beyond, part_of_each = patterns.test(seed)
    population = fitted.population
    against = float(population.shares[2])
    turned = (
        against >= _REVERSED_SHARE and against * m >= _FEWEST and population.gain >= _REVERSED_GAIN
    )
    if beyond < _SURE and not turned:
        return None, beyond
    loading = part_of_each()
    starts = [loading > 0.0, np.abs(loading) > _halfway(np.abs(loading)), population.slopes < 0.0]
    judgments = _without_ties(fitted.judgments)
    if not _predict(judgments, starts, seed):
        return None, beyond
    division = _division(judgments, starts)
    if division is None:
        return None, beyond
    return _described(judgments, division, beyond, seed), beyond


def _predict(judgments: Judgments, starts: list[BoolArray], seed: int) -> bool:
    """Whether camps predict held-out answers better than one consensus, over several splits."""
    gains: list[float] = []
    for k in range(_SPLITS):
        gains.append(held_out_gain(judgments, starts, seed=seed + k))
        if gains[-1] < _HOPELESS:
            return False
    return float(np.mean(gains)) >= _GAIN


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


class _Patterns:
    """What the consensus leaves unexplained, annotator by item."""

    def __init__(self, fitted: Fitted, kept: BoolArray) -> None:
        judgments = fitted.judgments
        self.fitted, self.kept = fitted, kept
        self.left, self.right = judgments.left, judgments.right
        self.owner = judgments.annotator.astype(np.int64)
        self.number = decided(judgments).astype(np.float64)
        self.slope = fitted.population.slopes[self.owner]
        self.gap = fitted.scores[self.left] - fitted.scores[self.right]
        self.p = LOGISTIC.probability(self.slope * self.gap)
        self.doubt = self.number * self.p * (1.0 - self.p)
        n, self.m = judgments.n_items, judgments.n_annotators
        self.n = n
        keys = np.concatenate([self.owner * n + self.left, self.owner * n + self.right])
        self.codes, position = np.unique(keys, return_inverse=True)
        self.position = position.ravel()
        slopes = fitted.population.slopes
        self.apart = np.maximum(0.0, 1.0 - slopes / max(fitted.population.typical_slope, 1e-9))
        self.starts = np.searchsorted(self.codes, np.arange(self.m + 1) * n)
        curve = np.square(self.slope) * self.doubt
        diagonal = sums(self.left, curve, n) + sums(self.right, curve, n) + fitted.precision
        self.whole: np.ndarray | None = None
        if fitted.others.information is not None:
            whole = np.zeros((n, n))
            np.add.at(whole, (self.left, self.right), -curve)
            whole += whole.T
            np.fill_diagonal(whole, diagonal)
            self.whole = whole
        self.diagonal = diagonal
        by_annotator = sums(judgments.annotator, self.doubt, self.m)
        by_item = sums(self.left, self.doubt, n) + sums(self.right, self.doubt, n)
        size = np.sqrt(np.maximum(by_annotator, 1e-9)[self.codes // n])
        size *= np.sqrt(np.maximum(by_item, 1e-9)[self.codes % n])
        self.scale = kept[self.codes // n] / size

    def test(self, seed: int) -> tuple[float, Callable[[], FloatArray]]:
        """Return how far the strongest pattern exceeds chance, and each annotator's part in it.

        Chance: the same leftovers of each annotator and item, their signs drawn anew. Annotators
        may so have tastes of their own; only tastes that they share count. Beside the strongest
        pattern, those count who do not follow the consensus, if they agree with each other. The
        parts are worked out when they are asked for.
        """
        random = np.random.default_rng(seed)
        judgments = self.fitted.judgments
        off = self._left_over(self.number * (judgments.outcome - self.p))
        data = self.scale * np.bincount(self.position, np.concatenate([off, -off]))
        table = Table(self.starts, self.codes % self.n, data, self.n)
        draws = _DRAWS_LARGE if len(off) > _LARGE else _DRAWS_SMALL
        if self.m > _DENSE:
            value, *drawn = strengths(table, draws, random)
        else:
            value = self._strongest(data)[0]
            turns = counted(range(draws), "looking for camps")
            drawn = [self._strongest(data * _signs(random, len(data)))[0] for _ in turns]
        beyond = _deviations(value, drawn)
        # A camp that the consensus passed over looks like so many who guess; guesses do not agree.
        together, *by_chance = weighted_agreements(table, self.apart, _DRAWS_SMALL, random)
        apart = _deviations(together, by_chance)
        if apart > beyond:
            return apart, lambda: self.apart
        return beyond, lambda: self._strongest(data)[1]

    def _strongest(self, data: FloatArray) -> tuple[float, FloatArray]:
        """Return the largest eigenvalue of the agreements between annotators, and its vector."""
        from aggcal._core.compiled_scipy import sparse

        table = sparse.csr_array((data, self.codes % self.n, self.starts), shape=(self.m, self.n))
        if self.m <= _DENSE:
            gram = (table @ table.T).toarray()
            np.fill_diagonal(gram, 0.0)
            values, vectors = np.linalg.eigh(gram)
            return float(values[-1]), vectors[:, -1]
        from scipy.sparse.linalg import LinearOperator, eigsh

        own = sums(self.codes // self.n, np.square(data), self.m)
        across = table.T.tocsr()
        agree = LinearOperator(
            (self.m, self.m), matvec=lambda v: table @ (across @ v) - own * v, dtype=np.float64
        )
        values, vectors = eigsh(agree, k=1, which="LA", v0=np.ones(self.m), tol=1e-3)
        return float(values[0]), vectors[:, 0]

    def _left_over(self, off: FloatArray) -> FloatArray:
        """Take off what a refit of scores and slopes would explain (one step of it)."""
        pull = self.slope * off
        total = scatter(self.left, self.right, pull, self.n)
        step = total / self.diagonal if self.whole is None else definite_solve(self.whole, total)
        off = off - self.doubt * self.slope * (step[self.left] - step[self.right])
        along = sums(self.owner, off * self.gap, self.m)
        curve = sums(self.owner, self.doubt * np.square(self.gap), self.m)
        moved = along / np.maximum(curve, 1e-9)
        left: FloatArray = off - self.doubt * self.gap * moved[self.owner]
        return left


def _deviations(value: float, drawn: Sequence[float]) -> float:
    """Return how many standard deviations of drawn values lie between their mean and this one."""
    return float(value - np.mean(drawn)) / max(float(np.std(drawn)), 1e-12)


def _signs(random: np.random.Generator, size: int) -> FloatArray:
    return np.where(random.random(size) < 0.5, -1.0, 1.0)  # noqa: PLR2004  # a fair coin


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


def _division(judgments: Judgments, starts: list[BoolArray]) -> _Division | None:
    """Divide the annotators so that each camp's own consensus explains it best."""
    best: tuple[float, _Division] | None = None
    rounds = _ROUNDS_LARGE if len(judgments.count) > _LARGE else _ROUNDS_SMALL
    for start in starts:
        side = start
        for _ in range(rounds):
            if not _FEWEST <= side.sum() <= len(side) - _FEWEST:
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


def held_out_gain(judgments: Judgments, starts: list[BoolArray], *, seed: int = 0) -> float:
    """Return how surely two camps predict answers that they were not made from, in standard errors.

    Half of the rows divide the annotators and give each camp its order; the other half tells
    whether an annotator's camp predicts it better than the consensus of all does, which knows
    how reliable each annotator is.
    """
    random = np.random.default_rng(seed)
    half = random.integers(2, size=len(judgments.count)).astype(bool)
    gain: FloatArray = np.zeros(judgments.n_annotators)
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
            return 0.0
        with unsaid():
            # As in the camps: scores of another model have another scale.
            whole = HRA(terms=PLAIN).fit(part)
        # Someone who answers the other way round is not explained by one consensus.
        one = _log_likelihood(rest, whole.scores, np.maximum(whole.reliabilities, 0.0))
        two = [_log_likelihood(rest, order) for order in found.orders]
        gain += np.where(found.side, two[0], two[1]) - one
    return float(gain.sum() / max(np.sqrt(np.sum(np.square(gain))), 1e-12))


def _described(judgments: Judgments, found: _Division, beyond: float, seed: int) -> Camps | None:
    side, orders = found.side, found.orders
    if side.sum() * 2 < len(side):
        side, orders = ~side, (orders[1], orders[0])
    if (~side).sum() < max(_FEWEST, _LEAST_SHARE * len(side)):
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
