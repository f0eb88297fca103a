"""The first sign of camps: what is left unexplained points the same way, or many are reversed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, sums
from aggcal._core.progress import counted
from aggcal.advice.check.annotator_mixture import decided
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.random_signs import (
    Leftovers,
    Taken,
    agreement,
    drawn_bits,
    sign_of,
    strengths_and_agreements,
)
from aggcal.aggregation.links import LOGISTIC

FEWEST = 2  # annotators of the smallest camp: one alone is an odd one out
FEWEST_ANNOTATORS = 4  # two camps of two
LARGE = 200_000  # rows from which time counts more than a sharp null
_DRAWS_SMALL, _DRAWS_LARGE = 60, 20  # of signs: more take longer, fewer blur the null's deviation
_SURE = 3.0  # deviations of the null: lower ones accuse more clean studies
_ROUNDING = 2e-3
"""Least deviation of the null, as part of its values: the search for eigenvalues stops at half of
that."""
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
        judgments, answers, grouped = fitted.judgments, fitted.answers, fitted.answers.grouped
        n, self.m = judgments.n_items, judgments.n_annotators
        slopes, rows = fitted.population.slopes, grouped.of_row
        self.fitted, self.n = fitted, n
        self.apart = np.maximum(0.0, 1.0 - slopes / max(fitted.population.typical_slope, 1e-9))
        self.first, self.second = answers.first[grouped.pair], answers.second[grouped.pair]
        gap = fitted.scores[self.first] - fitted.scores[self.second]
        p = LOGISTIC.probability(slopes[grouped.annotator] * gap)
        number = decided(judgments).astype(np.float64)
        off = sums(rows, number * (answers.up - p[rows]), len(gap))
        doubt = sums(rows, number, len(gap)) * p * (1.0 - p)
        functions = [gap]
        if judgments.sided:
            # A habit of choosing one side is no taste, even where items keep their sides.
            lefts = sums(rows, number * np.where(answers.first_is_left, 1.0, -1.0), len(gap))
            functions.append(lefts * p * (1.0 - p) / np.maximum(doubt, 1e-300))
        self.slope = slopes[grouped.annotator]
        self.moved = self.slope * doubt
        self.diagonal, self.whole = self._information(self.slope * self.moved)
        study = self._laid_out(kept, doubt, functions)
        self.study = study._replace(off=study.left(self._unmoved(off, self._steps([off])[0])))

    def _information(self, curve: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Return what is known of the scores: of each by itself, and of all where they are few."""
        n = self.n
        diagonal = sums(self.first, curve, n) + sums(self.second, curve, n)
        diagonal = diagonal + self.fitted.precision
        if self.fitted.others.information is None:
            return diagonal, None
        whole = np.zeros((n, n))
        np.add.at(whole, (self.first, self.second), -curve)
        whole += whole.T
        np.fill_diagonal(whole, diagonal)
        return diagonal, whole

    def _laid_out(
        self, kept: BoolArray, doubt: FloatArray, functions: list[FloatArray]
    ) -> Leftovers:
        """Lay out the table of annotators by items."""
        owner, n = self.fitted.answers.grouped.annotator, self.n
        codes, position = np.unique(
            np.concatenate([owner * n + self.first, owner * n + self.second]), return_inverse=True
        )
        by_item = sums(self.first, doubt, n) + sums(self.second, doubt, n)
        size = np.sqrt(np.maximum(sums(owner, doubt, self.m), 1e-9)[codes // n])
        size *= np.sqrt(np.maximum(by_item, 1e-9)[codes % n])
        return Leftovers(
            owner,
            np.zeros(len(owner)),
            position.ravel(),
            np.searchsorted(codes, np.arange(self.m + 1) * n),
            codes % n,
            kept[codes // n] / size,
            Taken.of(owner, doubt, functions),
            n,
        )

    def _steps(self, off: Iterable[FloatArray]) -> FloatArray:
        """Return by how much such leftovers would move the scores (one step of a fit)."""
        pulls = (self.slope * each for each in off)
        totals = [sums(self.first, x, self.n) - sums(self.second, x, self.n) for x in pulls]
        if self.whole is None:
            return np.asarray(np.stack(totals) / self.diagonal)
        return np.asarray(np.linalg.solve(self.whole, np.stack(totals, axis=1)).T)

    def _unmoved(self, off: FloatArray, step: FloatArray) -> FloatArray:
        """Take off what such a step explains."""
        return np.asarray(off - self.moved * (step[self.first] - step[self.second]))

    def test(self, seed: int) -> tuple[float, Callable[[], FloatArray]]:
        """Return how far the strongest pattern exceeds chance, and each annotator's part in it.

        Chance: the same leftovers of each annotator and pair, their signs drawn anew. Annotators
        may so have tastes of their own; only tastes that they share count. Beside the strongest
        pattern, those count who do not follow the consensus, if they agree with each other. The
        parts are worked out when they are asked for.
        """
        random, study = np.random.default_rng(seed), self.study
        data = study.table(study.off)
        draws = _DRAWS_LARGE if len(study.owner) > LARGE else _DRAWS_SMALL
        if self.m > _DENSE:
            values, agreements = strengths_and_agreements(study, self.apart, draws, random)
            (value, *drawn), (together, *by_chance) = values, agreements
        else:
            value, together = self._strongest(data)[0], agreement(study, self.apart, data)
            drawn, by_chance = [], []
            for other in self._redrawn(draws, random):
                drawn.append(self._strongest(other)[0])
                by_chance.append(agreement(study, self.apart, other))
        beyond = _deviations(value, drawn)
        # A camp that the consensus passed over looks like so many who guess; guesses do not agree.
        apart = _deviations(together, by_chance)
        if apart > beyond:
            return apart, lambda: self.apart
        return beyond, lambda: self._strongest(data)[1]

    def _redrawn(self, draws: int, random: np.random.Generator) -> Iterator[FloatArray]:
        """Give tables with other signs, less what they move the scores by: few people move them."""
        study = self.study
        bits = drawn_bits(len(study.off), draws, random)
        steps = self._steps(study.off * sign_of(bits, draw + 1) for draw in range(draws))
        for draw in counted(range(draws), "looking for camps"):
            off = study.off * sign_of(bits, draw + 1)
            yield study.redrawn(self._unmoved(off, steps[draw]))

    def _strongest(self, data: FloatArray) -> tuple[float, FloatArray]:
        """Return the largest eigenvalue of the agreements between annotators, and its vector."""
        study = self.study
        if self.m <= _DENSE and self.m * self.n <= _SMALL:
            whole = np.zeros((self.m, self.n))
            whole[np.repeat(np.arange(self.m), np.diff(study.starts)), study.item] = data
            return _first(whole @ whole.T)
        from scipy import sparse

        table = sparse.csr_array((data, study.item, study.starts), shape=(self.m, self.n))
        if self.m <= _DENSE:
            return _first((table @ table.T).toarray())
        from scipy.sparse.linalg import LinearOperator, eigsh

        own, across = study.squares(data), table.T.tocsr()
        agree = LinearOperator(
            (self.m, self.m), matvec=lambda v: table @ (across @ v) - own * v, dtype=np.float64
        )
        values, vectors = eigsh(agree, k=1, which="LA", v0=np.ones(self.m), tol=1e-3)
        return float(values[0]), vectors[:, 0]


def _first(agreements: np.ndarray) -> tuple[float, FloatArray]:
    """Return the largest eigenvalue and its vector, agreements with oneself left out."""
    np.fill_diagonal(agreements, 0.0)
    values, vectors = np.linalg.eigh(agreements)
    return float(values[-1]), vectors[:, -1]


def _deviations(value: float, drawn: Sequence[float]) -> float:
    """Return how many standard deviations of drawn values lie between their mean and this one.

    Of three items each row has one direction, whatever the signs: all values are then the same but
    for rounding.
    """
    spread = max(float(np.std(drawn)), _ROUNDING * float(np.abs(drawn).max()), 1e-12)
    return float(value - np.mean(drawn)) / spread
