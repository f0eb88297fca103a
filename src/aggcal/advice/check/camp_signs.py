"""The first sign of camps: what is left unexplained points the same way, or many are reversed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, sums
from aggcal._core.progress import counted
from aggcal._core.records import dataclass
from aggcal.advice.check.annotator_mixture import decided
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.random_signs import (
    Directions,
    Table,
    strengths,
    weighted_agreements,
)
from aggcal.aggregation.solve.linear import definite_solve
from aggcal.models.links import LOGISTIC
from aggcal.models.rows import scatter

FEWEST = 2  # annotators of the smallest camp: one alone is an odd one out
FEWEST_ANNOTATORS = 4  # two camps of two
LARGE = 200_000  # rows from which time counts more than a sharp null
_DRAWS_SMALL, _DRAWS_LARGE = 60, 20  # of signs: more take longer, fewer blur the null's deviation
_SURE = 3.0  # deviations of the null: lower ones accuse more clean studies
_COHERENT = 0.012
"""Part of full agreement that those who do not follow the consensus must show. Who errs by chance
looks like one of them, and thousands of those agree a little (0.003) for having erred on the same
pairs; members of camps agree by 0.3 or more, or by 0.01 if they gave ten answers each."""
_REVERSED_SHARE = 0.15  # share that counts as a camp of its own, not as a few who misread
_REVERSED_GAIN = 8.0  # nats that reversed annotators must explain: lower ones accuse more
_DENSE = 150  # annotators up to which all eigenvectors cost less than a few
_SMALL = 20_000  # numbers in a table of annotators by items that is quicker than a sparse one
_REVERSED = 2  # column of the shares of the kinds of annotators


@dataclass(frozen=True, eq=False)
class FirstSign:
    """What tells that there may be camps, before anybody is divided into them.

    ``beyond`` is how many standard deviations the strongest common pattern in what the consensus
    leaves unexplained lies above that of the same leftovers with random signs; ``against`` the
    estimated share of annotators who run against the others, ``turned`` whether it is a good part.
    """

    beyond: float
    against: float
    turned: bool
    part_of_each: Callable[[], FloatArray]
    """Works out each annotator's part in the pattern."""

    @property
    def patterned(self) -> bool:
        """Whether annotators share a pattern that is no part of the consensus."""
        return self.beyond >= _SURE

    @property
    def shows(self) -> bool:
        """Whether there is any sign."""
        return self.patterned or self.turned

    @property
    def looks_like(self) -> tuple[str, ...]:
        """What members of such camps would wrongly be called."""
        return ("reversed", "guessing") if self.patterned else ("guessing",)


def first_sign(fitted: Fitted, dropped: Iterable[int], *, seed: int = 0) -> FirstSign:
    """Look for the first sign of camps.

    There are two: annotators whose leftover disagreement with the consensus points the same way
    (the largest eigenvalue of the table of such agreements, against the same leftovers with random
    signs), or a good part of annotators who run against the others.

    Parameters
    ----------
    fitted
        The study and its fit.
    dropped
        Annotators to leave aside: copies of others would be a camp of their own.
    seed
        Seed for the drawn signs.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal.simulation import simulate
    >>> shape = {"items": 20, "annotators": 16, "judgments": 1600, "seed": 1}
    >>> def shows(**fault: float) -> bool:
    ...     judgments = aggcal.read_judgments(simulate(**shape, **fault).shown)
    ...     return first_sign(Fitted.of(judgments), []).shows
    >>> shows(camp_share=0.5), shows(guessing_share=0.25)
    (True, False)
    """
    population, m = fitted.population, fitted.judgments.n_annotators
    if m < FEWEST_ANNOTATORS:
        return FirstSign(0.0, 0.0, turned=False, part_of_each=lambda: np.zeros(m))
    kept = np.ones(m, dtype=bool)
    kept[list(dropped)] = False
    beyond, part_of_each = _Patterns(fitted, kept).test(seed)
    against = float(population.shares[_REVERSED])
    turned = (
        against >= _REVERSED_SHARE and against * m >= FEWEST and population.gain >= _REVERSED_GAIN
    )
    return FirstSign(beyond, against, turned, part_of_each)


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
        draws = _DRAWS_LARGE if len(off) > LARGE else _DRAWS_SMALL
        if self.m > _DENSE:
            value, *drawn = strengths(table, self._taken_away(), draws, random)
        else:
            value = self._strongest(data)[0]
            turns = counted(range(draws), "looking for camps")
            drawn = [self._strongest(data * _signs(random, len(data)))[0] for _ in turns]
        beyond = _deviations(value, drawn)
        # A camp that the consensus passed over looks like so many who guess; guesses do not agree.
        together, *by_chance = weighted_agreements(table, self.apart, _DRAWS_SMALL, random)
        apart = _deviations(together, by_chance)
        if apart > beyond and together >= _COHERENT * self._most_together(table):
            return apart, lambda: self.apart
        return beyond, lambda: self._strongest(data)[1]

    def _most_together(self, table: Table) -> float:
        """Return how far those would agree who do not follow the consensus, if they did fully."""
        owner = np.repeat(np.arange(self.m), np.diff(self.starts))
        size = self.apart * np.sqrt(sums(owner, np.square(table.data), self.m))
        return float(size.sum() ** 2 - np.square(size).sum())

    def _taken_away(self) -> Directions:
        """Return the directions that `_left_over` leaves nothing in."""
        size = np.where(self.scale > 0.0, 1.0 / np.where(self.scale > 0.0, self.scale, 1.0), 0.0)
        scores = self.fitted.scores - self.fitted.scores.mean()
        return Directions.of(self.starts, size, size * scores[self.codes % self.n])

    def _strongest(self, data: FloatArray) -> tuple[float, FloatArray]:
        """Return the largest eigenvalue of the agreements between annotators, and its vector."""
        if self.m <= _DENSE and self.m * self.n <= _SMALL:
            whole = np.zeros((self.m, self.n))
            whole.flat[self.codes] = data
            return _first(whole @ whole.T)
        from aggcal._core.compiled_scipy import sparse

        table = sparse.csr_array((data, self.codes % self.n, self.starts), shape=(self.m, self.n))
        if self.m <= _DENSE:
            return _first((table @ table.T).toarray())
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
        if self.fitted.judgments.sided:
            # A habit of choosing one side is no taste, even where items keep their sides.
            given = np.maximum(sums(self.owner, self.doubt, self.m), 1e-9)
            left -= self.doubt * (sums(self.owner, left, self.m) / given)[self.owner]
        return left


def _first(agreements: FloatArray) -> tuple[float, FloatArray]:
    """Return the largest eigenvalue and its vector, agreements with oneself left out."""
    np.fill_diagonal(agreements, 0.0)
    values, vectors = np.linalg.eigh(agreements)
    return float(values[-1]), vectors[:, -1]


def _deviations(value: float, drawn: Sequence[float]) -> float:
    """Return how many standard deviations of drawn values lie between their mean and this one."""
    return float(value - np.mean(drawn)) / max(float(np.std(drawn)), 1e-12)


def _signs(random: np.random.Generator, size: int) -> FloatArray:
    return np.where(random.random(size) < 0.5, -1.0, 1.0)  # noqa: PLR2004  # a fair coin
