"""How certain the order is, and how many more judgments a more certain one takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from math import ceil, sqrt
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.special import chdtrc, ndtr

from aggcal._core.arrays import FloatArray, IntArray, sums
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.covariance import MOST_DENSE
from aggcal.aggregation.groups import apart, members, n_components, pairs_within
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.data.graph import Forest, laplacian_of_pairs, net_flow
from aggcal.data.judgments import Judgments
from aggcal.data.weights import answers
from aggcal.registry import limits

RIGHT_ORDER = 0.9
"""Unless a standard error is wanted: the probability that a random pair is ordered correctly."""

_PAIRS = 20_000
"""Pairs that stand for all, or drawn gaps of fewer pairs: an error of 0.003. More take longer."""
_LEAST_TOLD = 1e-3
"""Smallest part of the prior's precision that the judgments of a pair are taken to add."""
_FOR_A_FACTOR = 200  # items: of fewer, eigenvectors are found as soon
_LEAST_PIVOT = 1e-6  # part of the largest pivot: below it, rounding may decide what is told of
_CHANCE = 0.05
"""Share of studies of equal items for which a number of judgments is foretold nevertheless. A
lower one foretells none for items that differ little."""
_MOST = 1e6  # times the judgments: a higher number tells studies of what nobody collects


@dataclass(frozen=True)
class Precision:
    """How precise the study is, and how many judgments the wanted precision takes in total.

    ``right_order`` is the probability that two random items are in the order that unlimited
    judgments by such annotators would give; ``standard_error`` the root mean square standard error
    of the scores, on the consensus scale. ``needed`` is None where no realistic number of judgments
    is enough. Where there are several connected ``components``, both are about items of the same
    one, and ``not_compared`` is the share of all pairs that no comparisons link, or too few (see
    ``divided``).

    Examples
    --------
    >>> print(Precision(300, 0.824, 0.31, None, 812))
    A random pair of items is ordered correctly with probability 82% (target 90%: about 510 more
    judgments). The typical standard error of a consensus score is 0.31. "Correct" means according
    to these annotators' consensus, not the truth.
    """

    judgments: int
    right_order: float
    standard_error: float
    wanted_error: float | None
    needed: int | None
    components: int = 1
    not_compared: float = 0.0
    divided: str = "connected components"
    items_differ: bool = True
    """Whether the answers show that the items differ at all; if not, nothing can be foretold."""

    @property
    def more(self) -> int | None:
        """How many more judgments are needed."""
        return None if self.needed is None else max(0, self.needed - self.judgments)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self) | {"more": self.more, "says": str(self)}

    def __str__(self) -> str:
        apart, pair = "", "A random pair of items"
        if self.components > 1:
            what = "Too few comparisons link" if "weak" in self.divided else "No comparisons link"
            apart = (
                f"{what} {self.not_compared:.0%} of all pairs of items: they are in different ones "
                f"of {self.components:,} {self.divided}. "
            )
            pair = "A random pair within one of them"
        order, error = f" ({self._target(f'{RIGHT_ORDER:.0%}')})", ""
        right = self.right_order
        if right < RIGHT_ORDER:  # not rounded up to a target that is not reached
            right = min(right, RIGHT_ORDER - 0.01)
        if self.wanted_error is not None:
            order, error = "", f" ({self._target(f'{self.wanted_error:g}')})"
        return (
            f"{apart}{pair} is ordered correctly with probability {right:.0%}{order}. "
            f"The typical standard error of a consensus score is {self.standard_error:.2f}{error}. "
            '"Correct" means according to these annotators\' consensus, not the truth.'
        )

    def _target(self, wanted: str) -> str:
        """Say how far away the target is."""
        if not self.items_differ:
            return (
                f"target {wanted}: no estimate, because the answers do not show that items differ"
            )
        if self.more is None:
            return f"target {wanted}: out of reach, the items differ too little"
        if not self.more:
            return f"target {wanted}: reached"
        more = "judgment" if self.more == 1 else "judgments"
        return f"target {wanted}: about {_two_digits(self.more):,} more {more}"


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of items of the same component: their gaps, as the judgments tell them."""

    gap: FloatArray
    variance: FloatArray
    information: FloatArray
    """What the judgments alone say of each gap, without the prior."""
    right: float
    """Mean posterior probability that a pair is in the order of its scores."""
    drawn: FloatArray
    clustered: FloatArray
    """Gaps drawn under a prior of estimated shape; as many as ``drawn``, or none."""

    @classmethod
    def of(cls, known: Uncertainty, prior_precision: float) -> Pairs:
        """Take the posterior of the scores, and the precision of their normal prior."""
        random = np.random.default_rng(0)
        i, j, again = _chosen(known, random)
        gap = known.scores[i] - known.scores[j]
        variance = known.covariance.gap_variance(i, j)
        ahead = known.order_probability(i, j)
        i, j = np.tile(i, again), np.tile(j, again)
        gap, variance, ahead = (np.tile(each, again) for each in (gap, variance, ahead))
        least = max(_LEAST_TOLD * prior_precision, 1e-12)
        variance = np.maximum(variance, 1e-300)
        told = np.maximum(1.0 / variance - 0.5 * prior_precision, least)
        drawn = gap + np.sqrt(variance) * random.standard_normal(len(gap))
        clustered = np.zeros(0)
        if known.npmle is not None and len(gap):
            normal = random.standard_normal((200, len(known.scores)))
            scores = known.npmle.drawn(known.npmle.sd * normal)
            at = random.integers(len(scores), size=len(gap))
            clustered = scores[at, i] - scores[at, j]
        right = float(np.mean(np.maximum(ahead, 1.0 - ahead))) if len(gap) else 1.0
        return cls(gap, variance, told, right, drawn, clustered)

    @cached_property
    def _towards(self) -> FloatArray:
        """What the judgments so far say of each gap."""
        return np.asarray(self.gap / self.variance)

    def right_order(self, times: float) -> float:
        """Return how often pairs will be ordered correctly with so many times the judgments.

        Examples
        --------
        >>> many = np.full(1000, 0.5)
        >>> pairs = Pairs(many, 2 * many, 2 * many, 0.69, many, np.zeros(0))
        >>> [round(pairs.right_order(f), 2) for f in (1.0, 5.0, 50.0)]
        [0.69, 0.89, 1.0]
        """
        if times == 1.0 or not len(self.gap):
            return self.right
        more = (times - 1.0) * self.information

        def right(drawn: FloatArray) -> float:
            towards = np.where(drawn < 0.0, -1.0, 1.0) * (self._towards + drawn * more)
            return float(np.mean(ndtr(towards / np.sqrt(more))))

        normal = right(self.drawn)
        return 0.5 * (normal + right(self.clustered)) if len(self.clustered) else normal


def _chosen(known: Uncertainty, random: np.random.Generator) -> tuple[IntArray, IntArray, int]:
    """Return pairs of positions, at random where there are many, and how often to take each."""
    n = len(known.scores)
    if n * (n - 1) // 2 <= _PAIRS:
        i, j = np.triu_indices(n, 1)
        within = ~apart(known.component, i, j)
        i, j = i[within], j[within]
        return i, j, max(1, _PAIRS // max(1, len(i)))
    i, j = random.integers(n, size=(2, _PAIRS))
    within = (i != j) & ~apart(known.component, i, j)
    return i[within], j[within], 1


def items_differ(judgments: Judgments) -> bool:
    """Tell whether the answers show that any two items of a component differ.

    The score test of equal items, by annotators who are alike. Of very many items it is taken for
    granted.
    """
    n = judgments.n_items
    if n > MOST_DENSE:
        return True
    force = answers(judgments) * (judgments.outcome - 0.5)
    weight = force * (judgments.outcome - 0.5)
    information = _laplacian(judgments, weight)
    telling = np.flatnonzero(weight > 0.0)
    forest = Forest.of(judgments.left[telling], judgments.right[telling], n)
    force = net_flow(judgments.left, judgments.right, force, n)
    told, square = _score_test(information, force, forest.component)
    return bool(told and chdtrc(told, square) < _CHANCE)


def _laplacian(judgments: Judgments, weight: FloatArray) -> FloatArray:
    """Return the information on the scores of rows with such weights."""
    n = judgments.n_items
    pairs = sums(judgments.left.astype(np.int64) * n + judgments.right, weight, n * n)
    return np.asarray(laplacian_of_pairs(pairs.reshape(n, n)))


def _score_test(
    information: FloatArray, force: FloatArray, component: IntArray
) -> tuple[int, float]:
    """Return how many directions the information tells of, and the square of the force in them.

    Of many items by a factor of the matrix, in which a shift of all items of a component is given
    some information, that there is no force in. Where the factor leaves doubts, and of few items,
    by the eigenvectors.

    Examples
    --------
    >>> one = np.array([[2.0, -2.0], [-2.0, 2.0]])
    >>> told, square = _score_test(one, np.array([2.0, -2.0]), np.zeros(2, dtype=np.int64))
    >>> told, round(square, 6)
    (1, 2.0)
    """
    n = len(force)
    if n >= _FOR_A_FACTOR:
        sizes = np.bincount(component)
        usual = float(np.trace(information)) / n
        shifted = np.where(component[:, None] == component, usual / sizes[component], 0.0)
        factor, failed = dpotrf(information + shifted, lower=True, clean=False)
        pivots = np.square(np.diag(factor))
        if not failed and pivots.min() > _LEAST_PIVOT * pivots.max():
            return n - len(sizes), float(force @ dpotrs(factor, force, lower=True)[0])
    values, vectors = np.linalg.eigh(information)
    told = values > 1e-9 * max(float(values[-1]), 1e-300)
    squares = np.square(vectors[:, told].T @ force) / values[told]
    return int(told.sum()), float(squares.sum())


def precision(
    judgments: Judgments, consensus: Consensus, wanted_error: float | None = None
) -> Precision | None:
    """Estimate how many judgments like these the wanted precision takes.

    ``right_order`` is the mean over pairs of the posterior probability that they are in the order
    of their scores. With f times as many judgments the information about a gap is f times as large:
    the gap is drawn from its posterior, and the order that the new judgments then give together
    with the old ones is right with probability Φ(.) in closed form. A standard error is estimated
    from the eigenvalues h of the information and the prior's precision λ: the mean variance of the
    scores is proportional to the mean of 1 / (f h + λ).

    Parameters
    ----------
    judgments, consensus
        The study and its fit.
    wanted_error
        The wanted standard error of a score; without it, `RIGHT_ORDER` is aimed at.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal.simulation import simulate
    >>> study = simulate(items=20, annotators=10, judgments=300, seed=1)
    >>> judgments = aggcal.read_judgments(study.judgments)
    >>> found = precision(judgments, aggcal.aggregate(judgments))
    >>> 0.7 < found.right_order < 0.9 and found.needed > 300
    True
    """
    limits.check(precision=wanted_error)
    known = consensus.uncertainty
    if known is None:
        return None
    variance, components = _within_components(known), n_components(known.component)
    prior = consensus.prior
    by_prior = 0.0 if prior is None else prior.score_precision
    pairs = Pairs.of(known, by_prior)
    differ, number = True, judgments.n_judgments
    if consensus.raters is not None:  # what there are more of is ratings
        number = consensus.n_judgments
    if wanted_error is not None:
        levels = cache(lambda: _information_levels(judgments, consensus, components))

        def variance_with(times: float) -> float:
            def plain(factor: float) -> float:
                return float(np.mean(1.0 / (factor * levels() + (by_prior or 1.0))))

            return variance if times == 1.0 else variance * plain(times) / plain(1.0)

        needed = _least(lambda f: variance_with(f) <= wanted_error**2, number)
    else:
        differ = pairs.right_order(1.0) >= RIGHT_ORDER or items_differ(judgments)
        needed = _least(lambda f: pairs.right_order(f) >= RIGHT_ORDER, number) if differ else None
    n = len(known.scores)
    return Precision(
        number,
        pairs.right_order(1.0),
        sqrt(variance),
        wanted_error,
        needed,
        components,
        1.0 - pairs_within(known.component, n) / max(1, n * (n - 1) // 2),
        known.divided,
        items_differ=differ,
    )


def _within_components(known: Uncertainty) -> float:
    """Return the mean variance of a score within its component; each counts by its pairs.

    Where the covariance is no matrix, variances are about the mean of all items, which is never too
    small.
    """
    variances, pairs = [], []
    whole = known.component is None or known.covariance.dense() is None
    for own in members(known.component, len(known.scores)):
        about = known.covariance.variances[own] if whole else known.covariance.of(own).variances
        variances.append(float(np.mean(about)))
        pairs.append(max(1, len(own) * (len(own) - 1) // 2))
    return float(np.average(variances, weights=pairs))


def _information_levels(judgments: Judgments, consensus: Consensus, components: int) -> FloatArray:
    """Return the eigenvalues of the information, but not those of the components' locations.

    For many items its diagonal instead, whose mean inverse is near theirs.
    """
    slope = np.abs(consensus.reliabilities)[judgments.annotator]
    chance = ndtr(
        0.6 * slope * (consensus.scores[judgments.left] - consensus.scores[judgments.right])
    )
    weight = answers(judgments) * np.square(slope) * chance * (1.0 - chance)
    if judgments.n_items > MOST_DENSE:
        n = judgments.n_items
        return np.asarray(sums(judgments.left, weight, n) + sums(judgments.right, weight, n))
    laplacian = _laplacian(judgments, weight)
    return np.asarray(np.maximum(np.linalg.eigvalsh(laplacian)[components:], 0.0))


def _least(enough: Callable[[float], bool], judgments: int) -> int | None:
    """Return the least number of judgments that is enough, from as many as there are on.

    Examples
    --------
    >>> _least(lambda factor: factor >= 1.5, 1000), _least(lambda factor: factor > 0.5, 1000)
    (1500, 1000)
    """
    if enough(1.0):
        return judgments
    high = 2.0
    while not enough(high):
        high *= 2.0
        if high > _MOST:
            return None
    low = high / 2.0
    for _ in range(40):
        if ceil(low * judgments) == ceil(high * judgments):
            break
        middle = 0.5 * (low + high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return ceil(high * judgments)


def _two_digits(number: int) -> int:
    digits = -(len(str(number)) - 2)
    return int(round(number, digits)) if digits < 0 else number
