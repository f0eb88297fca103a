"""Acts taken apart: rankings, best-worst choices and series of ratings as weighted pairs.

An order of k items makes k(k-1)/2 pairs at once, but they are not as many independent opinions:
its pairs are weighted so that together they count as much as the order itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal.data.acts import RankingWeight, pair_weight
from aggcal.data.base import LONE
from aggcal.errors import TableError
from aggcal.io.formats.base import Row

Tiers: TypeAlias = Sequence[Sequence[str]]
"""Items from the best to the worst; those of one tier are not told apart."""
_MOST_WHOLE = 201
_PARTNERS = 100
"""In an order of more items than the first, each is compared with twice this many others."""


@dataclass
class Orders:
    """Takes orders apart, and counts what became of them.

    Parameters
    ----------
    kind
        What the pairs weigh: see `pair_weight`.
    what
        What an order is called.

    Examples
    --------
    >>> orders = Orders("pair")
    >>> like = Row("ann", None, None, "", "line 1", ranking="ranking 1")
    >>> rows = orders.apart([["a"], ["b", "c"]], like)
    >>> [(row.left, row.right, row.outcome) for row in rows]
    [('a', 'b', 'left'), ('a', 'c', 'left'), ('b', 'c', 'tie')]
    >>> orders.notes
    ['1 ranking became 3 pairs, each of full weight, as if they were independent opinions']
    """

    kind: RankingWeight
    what: str = "ranking"
    number: int = 0
    pairs: int = 0

    def apart(self, tiers: Tiers, like: Row, *, tied: bool = True) -> Iterator[Row]:
        """Compare items of different tiers, and those of one tier as ties, unless not ``tied``.

        ``like`` is what the rows have in common.
        """
        items = [item for tier in tiers for item in tier]
        double = next((item for item, times in Counter(items).items() if times > 1), None)
        if double is not None:
            raise TableError(f"{like.location}: ranks '{double}' twice; leave one of the two out.")
        levels = np.repeat(np.arange(len(tiers)), [len(tier) for tier in tiers])
        yield from self.compared(items, -levels.astype(float), like, tied=tied)

    def compared(
        self,
        items: Sequence[str],
        height: FloatArray,
        like: Row,
        *,
        tied: bool = True,
    ) -> Iterator[Row]:
        """Compare every two items, of many a balanced part of them, by their heights."""
        self.number += 1
        first, second = _pairs(len(items))
        apart = height[first] - height[second]
        same = apart == 0.0
        if not tied:
            first, second, apart, same = first[~same], second[~same], apart[~same], same[~same]
        if not len(first):
            # An order of one item compares nothing but is an order: PrefLib is full of them.
            yield like._replace(
                left=items[0] if items else None,
                outcome="skip",
                reason=LONE,
                ranking=like.ranking if len(items) == 1 else None,
            )
            return
        self.pairs += len(first)
        sizes = [len(items)] if tied else np.unique(-height, return_counts=True)[1].tolist()
        weight = like.weight * pair_weight(len(first), sizes, self.kind)
        above, below = np.where(apart < 0.0, [second, first], [first, second])
        for i, j, tie in zip(above.tolist(), below.tolist(), same.tolist(), strict=True):
            outcome = "tie" if tie else "left"
            yield like._replace(left=items[i], right=items[j], outcome=outcome, weight=weight)

    @property
    def notes(self) -> list[str]:
        """What was made of them, if there were any."""
        if not self.number:
            return []
        plural = self.what if self.number == 1 or self.what.endswith("s") else f"{self.what}s"
        pairs = f"{self.pairs:,}"
        became = f"{self.number:,} {plural} became {pairs} pair{'' if self.pairs == 1 else 's'}"
        if self.pairs <= self.number:
            return [became]
        weights = {
            "information": f"weighted so that together they count as much as the {plural}, not as "
            f"{pairs} independent opinions",
            "item": f"weighted so that each item counts once in each {self.what}",
            "pair": "each of full weight, as if they were independent opinions",
        }
        return [f"{became}, {weights[self.kind]}"]


def _pairs(k: int) -> tuple[IntArray, IntArray]:
    """Return every pair of k positions, or of many a balanced and connected part of them."""
    if k <= _MOST_WHOLE:
        first, second = np.triu_indices(k, 1)
        return first, second
    ring = np.random.default_rng(k).permutation(k)
    steps = np.arange(k)[:, None] + np.arange(1, _PARTNERS + 1)
    return np.repeat(ring, _PARTNERS), ring[(steps % k).ravel()]
