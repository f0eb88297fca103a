"""Rankings, best-worst choices and ratings taken apart into pairs, and what each pair weighs.

A ranking of k items says k(k-1)/2 pairs at once, but they are not as many independent opinions:
its pairs are weighted so that together they count as much as the ranking itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal.data.acts import RankingWeight, pair_weight
from aggcal.errors import TableError
from aggcal.io.formats._base import Row

Tiers: TypeAlias = Sequence[Sequence[str]]
"""Items from the best to the worst; those of one tier are not told apart."""

_MOST_WHOLE = 201
_PARTNERS = 100
"""In an order of more items than the first, each is compared with twice this many others."""


@dataclass(frozen=True)
class Opinion:
    """Whose order it is, and where it stands."""

    annotator: str
    location: str
    ranking: str
    criterion: str | None = None
    seconds: float | None = None
    voters: float = 1.0
    context: str | None = None
    by: tuple[str | None, ...] = ()


def pairs_of_order(
    tiers: Tiers, opinion: Opinion, kind: RankingWeight, *, tied: bool = True
) -> Iterator[Row]:
    """Take an order apart into pairs.

    Parameters
    ----------
    tiers
        The items from the best to the worst; items that stand nowhere are not compared.
    opinion
        The order, and whose it is.
    kind
        What the pairs weigh: see `pair_weight`.
    tied
        Whether items of one tier were judged equal; otherwise they were not compared.

    Examples
    --------
    >>> rows = pairs_of_order([["a"], ["b", "c"]], Opinion("ann", "line 1", "1"), "pair")
    >>> [(row.left, row.right, row.outcome) for row in rows]
    [('a', 'b', 'left'), ('a', 'c', 'left'), ('b', 'c', 'tie')]
    """
    items = [item for tier in tiers for item in tier]
    double = next((item for item, times in Counter(items).items() if times > 1), None)
    if double is not None:
        raise TableError(f"{opinion.location}: ranks '{double}' twice; leave one of the two out.")
    levels = np.repeat(np.arange(len(tiers)), [len(tier) for tier in tiers])
    yield from _compared(items, -levels.astype(float), 0.0, opinion, kind, tied=tied)


def pairs_of_ratings(
    items: Sequence[str],
    ratings: FloatArray,
    tie_within: float,
    opinion: Opinion,
    kind: RankingWeight,
) -> Iterator[Row]:
    """Compare the items that one annotator rated, the scale of the ratings left aside.

    Examples
    --------
    >>> ann = Opinion("ann", "line 1", "1")
    >>> rows = pairs_of_ratings(["a", "b"], np.array([3.0, 5.0]), 0.0, ann, "pair")
    >>> [(row.left, row.right, row.outcome, row.weight) for row in rows]
    [('b', 'a', 'left', 1.0)]
    """
    yield from _compared(items, ratings, tie_within, opinion, kind, tied=True)


def _compared(
    items: Sequence[str],
    height: FloatArray,
    tie_within: float,
    opinion: Opinion,
    kind: RankingWeight,
    *,
    tied: bool,
) -> Iterator[Row]:
    first, second = _pairs(len(items))
    apart = height[first] - height[second]
    same = np.abs(apart) <= tie_within
    if not tied:
        first, second, apart = first[~same], second[~same], apart[~same]
        same = same[~same]
    if not len(first):
        yield _nothing_compared(items, opinion)
        return
    sizes = [len(items)] if tied else np.unique(-height, return_counts=True)[1].tolist()
    weight = opinion.voters * pair_weight(len(first), sizes, kind)
    swap = apart < 0.0
    first, second = np.where(swap, second, first), np.where(swap, first, second)
    for i, j, equal in zip(first.tolist(), second.tolist(), same.tolist(), strict=True):
        yield Row(
            opinion.annotator,
            items[i],
            items[j],
            "tie" if equal else "left",
            opinion.location,
            weight,
            opinion.criterion,
            opinion.seconds,
            opinion.ranking,
            context=opinion.context,
            by=opinion.by,
        )


def _nothing_compared(items: Sequence[str], opinion: Opinion) -> Row:
    # An order of one item compares nothing but is an order: PrefLib is full of them.
    return Row(
        opinion.annotator,
        items[0] if items else None,
        None,
        "skip",
        opinion.location,
        opinion.voters,
        opinion.criterion,
        opinion.seconds,
        opinion.ranking if len(items) == 1 else None,
        "compares fewer than two items",
    )


def _pairs(k: int) -> tuple[IntArray, IntArray]:
    """Return every pair of k positions, or of many a balanced and connected part of them."""
    if k <= _MOST_WHOLE:
        first, second = np.triu_indices(k, 1)
        return first.astype(np.int64), second.astype(np.int64)
    ring = np.random.default_rng(k).permutation(k)
    steps = np.arange(k)[:, None] + np.arange(1, _PARTNERS + 1)[None, :]
    return np.repeat(ring, _PARTNERS), ring[(steps % k).ravel()]


def stated(rankings: int, pairs: int, what: str, kind: RankingWeight) -> str:
    """Say what was made of the rankings.

    Examples
    --------
    >>> stated(1, 3, "ranking", "pair")
    '1 ranking became 3 pairs, each of full weight, as if they were independent opinions'
    >>> stated(2, 2, "ranking", "information")
    '2 rankings became 2 pairs'
    """
    weights = {
        "information": "weighted so that together they count as much as the {what}, not as "
        "{pairs} independent opinions",
        "item": "weighted so that each item counts once in each {what}",
        "pair": "each of full weight, as if they were independent opinions",
    }
    shown = f"{pairs:,}"
    noun = "pair" if pairs == 1 else "pairs"
    plural = what if rankings == 1 or what.endswith("s") else f"{what}s"
    became = f"{rankings:,} {plural} became {shown} {noun}"
    if pairs <= rankings:
        return became
    return f"{became}, {weights[kind].format(what=what if kind == 'item' else plural, pairs=shown)}"
