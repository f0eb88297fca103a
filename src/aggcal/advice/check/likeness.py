"""How much alike two annotators' answers to the same pairs are, against independent answers.

The answers of two annotators to one pair are matched one to one, as far as they go: of m and n
answers K = min(m, n) are matched, and D of them are mismatched at the least, whichever answer is
held against which (tables do not say which answers belong to the same question). Copies have D
near 0. The evidence of a pair is g(D) − log E₀ exp g(D), where g(D) = −D² / (2 (0.05 K + 0.12))
is about what an answer copied with 5% of slips is worth, and E₀ the expectation for independent
annotators. Sums of it over pairs are logarithms of e-values: independent annotators reach c or
more with a chance of exp(−c) at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import binom, expit, gammaln

from aggcal._core.arrays import FloatArray, IntArray

SINGLE = 3
"""Answers to a pair up to which what the others say of the pair tells how likely two agree. With
more the two annotators' own answers tell it better: how often they gave each answer in all.
"""
_SLIPS, _CLEAN = 0.05, 0.12
"""Share of copied answers that may differ, and what keeps a single mismatch from being fatal: it
divides the e-value by about 20. More slips would call families of programs copies, fewer would let
one off who changes an answer here and there.
"""
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
_TAIL = 10.0
"""Standard deviations beyond which a count is left out: less than a rounding error."""


@dataclass(frozen=True, eq=False)
class Likeness:
    """Two annotators: answers that are matched, how many match, how many are expected to.

    ``evidence`` is the logarithm of the e-value for copying.
    """

    matched: float
    same: float
    expected: float
    evidence: float


@dataclass(frozen=True, eq=False)
class Counts:
    """Decided answers of one annotator to some pairs: for the first item, and all of them."""

    up: IntArray
    number: IntArray

    @cached_property
    def down(self) -> IntArray:
        """Answers for the second item."""
        return self.number - self.up


def same_answers(one: Counts, other: Counts) -> IntArray:
    """Return how many answers of two annotators match, pair by pair.

    Examples
    --------
    Ann says up, up, down of a pair and Bob up, down: both of Bob's answers have a match.

    >>> ann, bob = Counts(np.array([2]), np.array([3])), Counts(np.array([1]), np.array([2]))
    >>> same_answers(ann, bob)
    array([2])
    """
    same: IntArray = np.minimum(one.up, other.up) + np.minimum(one.down, other.down)
    return same


def closeness(mismatched: FloatArray, matched: FloatArray) -> FloatArray:
    """Return g(D), the logarithm of what so few mismatches are worth.

    Examples
    --------
    >>> closeness(np.array([0.0, 1.0]), np.array([1.0, 1.0])).round(2)
    array([-0.  , -2.94])
    """
    worth: FloatArray = -np.square(mismatched) / (2.0 * (_SLIPS * matched + _CLEAN))
    return worth


def likeness(
    one: Counts,
    other: Counts,
    logits: tuple[FloatArray, FloatArray],
    turns: tuple[float, float],
    shared: tuple[FloatArray, FloatArray],
    *,
    usual: float = 0.0,
) -> Likeness:
    """Compare two annotators on the pairs that both judged.

    Parameters
    ----------
    one, other
        Their decided answers to each of these pairs.
    logits
        Logits of putting the first item above, for each of them.
    turns
        1, or −1 for one who answers the other way round.
    shared
        Mean and variance of what all annotators see in a pair beyond the model, in logits.
    usual
        Share by which answers to the same pair are usually more alike than independent ones.

    Examples
    --------
    Twenty even pairs with one answer each, all the same:

    >>> said = Counts(np.ones(20, dtype=np.int64), np.ones(20, dtype=np.int64))
    >>> even = np.zeros(20)
    >>> found = likeness(said, said, (even, even), (1.0, 1.0), (even, even))
    >>> found.same, round(found.expected, 6), round(found.evidence, 2)
    (20.0, 10.0, 12.83)
    """
    matched = np.minimum(one.number, other.number)
    same = same_answers(one, other)
    seen = closeness((matched - same).astype(np.float64), matched.astype(np.float64))
    few = np.maximum(one.number, other.number) <= SINGLE
    worth, expected = np.empty(len(matched)), np.empty(len(matched))
    worth[few], expected[few] = _by_the_others(
        one.number[few],
        other.number[few],
        *(
            logit[few, None] + turn * (shared[0][few, None] + _node_offsets(shared[1][few]))
            for logit, turn in zip(logits, turns, strict=True)
        ),
    )
    many = ~few
    worth[many], expected[many] = _by_their_totals(
        one.number[many], other.number[many], (one.up + other.up)[many], usual
    )
    return Likeness(
        float(matched.sum()),
        float(same.sum()),
        float(expected.sum()),
        float(np.sum(seen - worth)),
    )


def _node_offsets(variance: FloatArray) -> FloatArray:
    offsets: FloatArray = np.sqrt(variance)[:, None] * _NODES
    return offsets


def _tables() -> tuple[FloatArray, FloatArray]:
    """Return exp g(D) and the number of matches for all counts up to `SINGLE`."""
    m, n, a, b = np.indices((SINGLE + 1,) * 4)
    first, second = Counts(np.minimum(a, m), m), Counts(np.minimum(b, n), n)
    matched, same = np.minimum(m, n), same_answers(first, second)
    worth = np.exp(closeness((matched - same).astype(np.float64), matched.astype(np.float64)))
    return worth, same.astype(np.float64)


_WORTH, _SAME = _tables()
_CHOICES: FloatArray = np.tril(binom(np.arange(SINGLE + 1.0)[:, None], np.arange(SINGLE + 1.0)))


def _by_the_others(
    m: IntArray, n: IntArray, one: FloatArray, other: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return log E₀ exp g(D) and the expected matches of a few answers each.

    ``one`` and ``other`` are logits, a row for each pair and a column for each node of the
    effect that the two share.
    """
    together = np.einsum(
        "k,pka,pkb->pab",
        _WEIGHTS / _WEIGHTS.sum(),
        _binomial(m, expit(one)),
        _binomial(n, expit(other)),
    )
    worth = np.log(np.sum(together * _WORTH[m, n], axis=(1, 2)))
    return worth, np.sum(together * _SAME[m, n], axis=(1, 2))


def _binomial(number: IntArray, probability: FloatArray) -> FloatArray:
    """Return the chance of each count up to `SINGLE`, beyond the number 0."""
    counts = np.arange(SINGLE + 1)
    others = np.maximum(number[:, None, None] - counts, 0)
    found: FloatArray = (
        _CHOICES[number][:, None, :]
        * probability[..., None] ** counts
        * (1.0 - probability[..., None]) ** others
    )
    return found


def _by_their_totals(
    m: IntArray, n: IntArray, total: IntArray, usual: float
) -> tuple[FloatArray, FloatArray]:
    """Return the same of many answers each, given how often the two gave each answer in all.

    Whatever makes both lean the same way on a pair is in that total; independent answers are then
    shared out between the two as if drawn from one urn (the hypergeometric distribution).
    """
    kinds, position = np.unique(np.stack([m, n, total], axis=1), axis=0, return_inverse=True)
    found = np.array([_urn(m, n, t, usual) for m, n, t in kinds.tolist()]).reshape(-1, 2)
    return found[position.ravel(), 0], found[position.ravel(), 1]


def _urn(m: int, n: int, total: int, usual: float) -> tuple[float, float]:
    mean = m * total / (m + n)
    reach = _TAIL * np.sqrt(max(urn_variance(m, n, total), 0.25))
    low = max(0, total - n, int(mean - reach))
    high = min(m, total, int(mean + reach) + 1)
    up = np.arange(low, high + 1)
    # Of the hypergeometric distribution, but for a constant.
    log = -np.sum(gammaln(np.stack([up, m - up, total - up, n - total + up]) + 1.0), axis=0)
    # Raised to a power, a distribution is as much narrower as answers are usually more alike.
    probability = np.exp((log - log.max()) / (1.0 - usual))
    probability /= probability.sum()
    matched = min(m, n)
    same = same_answers(
        Counts(up, np.full_like(up, m)), Counts(total - up, np.full_like(up, n))
    ).astype(np.float64)
    worth = np.exp(closeness(matched - same, np.full(len(up), float(matched))))
    return float(np.log(probability @ worth)), float(probability @ same)


def urn_variance(m: IntArray | int, n: IntArray | int, total: IntArray | int) -> FloatArray | float:
    """Return the variance of one annotator's ups, given those of both together.

    Examples
    --------
    Of two answers each, two up in all, one has 0, 1 or 2 of them in 1, 4 and 1 of 6 cases:

    >>> round(float(urn_variance(2, 2, 2)), 6)
    0.333333
    """
    whole = np.add(m, n, dtype=np.float64)
    share = total / whole
    variance: FloatArray = m * share * (1.0 - share) * n / np.maximum(whole - 1.0, 1.0)
    return variance
