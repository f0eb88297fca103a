"""Acts: rankings, screens and series of ratings that were taken apart into pairs.

A ranking of k items makes k(k-1)/2 pairs, but it is one act of one person, and its pairs are not as
many independent answers. Acts are known from the format or from a column, or recognised here: rows
of one annotator, one after the other, that are all pairs of some items, each once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from aggcal._core.arrays import BoolArray, CodeArray, FloatArray, IntArray, TextArray
from aggcal._core.kernels import at, library
from aggcal.data.judgments import Judgments
from aggcal.errors import count, option

RankingWeight: TypeAlias = Literal["information", "item", "pair"]
RANKING_WEIGHTS = get_args(RankingWeight)

_FEWEST_ITEMS = 3
"""Of an act: two items make one answer."""
_COVERED = 0.8
"""The share of all rows that must lie in acts. Who sorts three items by asking for one pair after
the other asks for all three pairs in two cases of three, which is 75% of the rows; such answers
never contradict each other, though they are independent."""
_EXPECTED = 5.0
"""Cycles of three items that independent answers would hold on average: they hold none with a
chance of 1 in 150."""
_CONTRADICTED = 0.05
"""The share of those cycles that is still put down to mistakes in the file: a ranking has none."""
_PATIENCE = 8
"""How many times as many rows are looked at as an annotator has: rankings take one or two, files
of which a fifth is none up to six, and others longer than half a second a million rows."""
_FIRST = 1 << 20
"""Rows of a large file that are looked at first: if they hold few acts, the others are not."""
_FITTED, _MEMBERS = 20_000, 150
"""Rows whose cycles are counted, about, and items of one act: more take longer for nothing."""
_TIE = 0.5
_MANY = 1 << 32  # more than an act has items
_ROUNDS = 60  # of the scores: they have settled within acts, though not along a chain of them
_PRECISION, _ALIKE = 0.02, 4.0
"""Of the priors of scores and of reliabilities: clear orders are expected to hold few cycles, and
annotators to differ by 0.5, as is usual."""


class Columns(NamedTuple):
    """Rows as they stand in a file: who judged, the items, and 1 for the left one, 0 for the right.

    ``outcome`` is None where every row is for the left item.
    """

    annotator: CodeArray
    left: CodeArray
    right: CodeArray
    outcome: FloatArray | None


class Sample(NamedTuple):
    """Rows of acts: the act, the annotator, both items, and what was answered (1 for the left)."""

    act: IntArray
    annotator: IntArray | TextArray
    pair: IntArray | TextArray
    """Items by left and right, and rows."""
    for_left: FloatArray

    def depend(self, *, surely: bool = False) -> bool:
        """Whether acts hold far fewer cycles than independent answers would.

        A tie is broken by the items' numbers.
        """
        if not len(self.act):
            return surely
        pair = np.unique(self.pair, return_inverse=True)[1].reshape(2, -1)
        who = np.unique(self.annotator, return_inverse=True)[1]
        probability = _probabilities(who, pair, self.for_left)
        tie, broken = self.for_left == _TIE, pair[0] < pair[1]
        cycles, expected = (
            _cycles(self.act, pair, np.where(tie, broken, value))
            for value in (self.for_left, probability)
        )
        return (surely or expected >= _EXPECTED) and cycles <= _CONTRADICTED * expected


class Size(NamedTuple):
    """How many acts of several items there are, their pairs, and the items of each."""

    acts: int
    pairs: int
    least: int
    most: int

    def note(self, answers: float | None) -> str:
        """Say what was recognised, and as how many answers it counts."""
        number, pairs, least, most = self
        size = f"{least:,}" + (f" to {most:,}" if most > least else "")
        made = count(number, "ranking or rating series", "rankings or rating series")
        counted = (
            "weigh what the file says"
            if answers is None
            else f"count as {answers:,.0f} answers ({option('ranking-weight', 'pair')} counts each)"
        )
        return (
            f"{made} of {size} items {'was' if number == 1 else 'were'} recognised; "
            f"{'its' if number == 1 else 'their'} {pairs:,} pairs {counted}"
        )


@dataclass(frozen=True, eq=False)
class Acts:
    """The act of each row, numbered from 0 on, and how many items that act has."""

    number: IntArray
    items: CodeArray

    @classmethod
    def recognised(
        cls, number: int, columns: Callable[[int], Columns], *, surely: bool = False
    ) -> Acts | None:
        """Recognise acts in the rows of a file, in their order; None where answers stand alone.

        Nothing in one set of pairs tells a ranking from a careful annotator who was asked for every
        pair. But rankings hold no cycle at all, and independent answers hold some: acts are taken
        for such only where several cycles would be expected of independent answers.

        Parameters
        ----------
        number
            How many rows there are, at most.
        columns
            Returns the first of them, as many as it is told.
        surely
            Whether it is known that the file may hold rankings: they may be few then.

        Examples
        --------
        >>> order = np.array([3, 1, 0, 2], dtype=np.int32)
        >>> left, right = (order[k] for k in np.triu_indices(4, 1))
        >>> rows = Columns(np.zeros(6, dtype=np.int32), left, right, None)
        >>> Acts.recognised(6, lambda most: rows, surely=True).items
        array([4, 4, 4, 4, 4, 4], dtype=int32)
        >>> Acts.recognised(6, lambda most: rows) is None  # one ranking is no proof
        True
        """
        # Where the first rows of many end, some acts are cut: half of the share will do.
        if number > 2 * _FIRST and numbered(columns(_FIRST)).several.mean() < 0.5 * _COVERED:
            return None
        rows = columns(number)
        found = numbered(rows)
        covered = len(rows.left) > 0 and found.several.mean() >= _COVERED
        return found if covered and found.depend(rows, surely=surely) else None

    @classmethod
    def named(cls, judgments: Judgments) -> tuple[Acts, Columns]:
        """Take the screens that judgments name for acts; return also the rows, in their order.

        Examples
        --------
        >>> import aggcal
        >>> one = aggcal.read_judgments({"annotator": ["ann"], "ranking": ["a>b>c"]})
        >>> Acts.named(one)[0].items
        array([3, 3, 3], dtype=int32)
        """
        act = np.unique(np.asarray(judgments.screen), return_inverse=True)[1]
        names = "annotator", "left", "right", "outcome"
        every = (np.repeat(getattr(judgments, name), judgments.count) for name in names)
        rows, n = Columns(*every), np.int64(judgments.n_items)
        members = np.concatenate([act * n + rows.left, act * n + rows.right])
        items = np.bincount(np.unique(members) // n)
        return cls(act, items[act].astype(np.int32)), rows

    @property
    def several(self) -> BoolArray:
        """Whether a row is of an act of three or more items."""
        return np.asarray(self.items >= _FEWEST_ITEMS)

    def sample(self, rows: Columns) -> Sample:
        """Return rows of some acts, by which to tell whether acts depend.

        Only acts with all pairs of their items count.
        """
        items, each = self.items.astype(np.int64), np.bincount(self.number)[self.number]
        step = -(-items // _MEMBERS)  # some items of an act, all pairs of which are there, too
        some = self.several & (2 * each == items * (items - 1))
        mine = np.flatnonzero(some & (rows.left % step == 0) & (rows.right % step == 0))
        act = (np.cumsum(np.bincount(self.number[mine]) > 0) - 1)[self.number[mine]]
        chosen = act % -(-max(len(mine), 1) // _FITTED) == 0
        mine, outcome = mine[chosen], rows.outcome
        won = np.ones(len(mine)) if outcome is None else np.asarray(outcome[mine])
        who, left, right = (column[mine] for column in rows[:3])
        return Sample(act[chosen], who.astype(np.int64), np.stack([left, right]), won)

    def depend(self, rows: Columns, *, surely: bool = False) -> bool:
        """Whether acts hold far fewer cycles than independent answers would."""
        return self.sample(rows).depend(surely=surely)

    def weights(self, kind: RankingWeight = "information") -> FloatArray:
        """Return what each row weighs (see `pair_weight`)."""
        pairs = np.bincount(self.number)
        items = np.empty_like(pairs)
        items[self.number] = self.items
        sizes, size = np.unique(pairs * _MANY + items, return_inverse=True)
        weights = [pair_weight(pair // _MANY, [pair % _MANY], kind) for pair in sizes.tolist()]
        return np.asarray(np.array(weights)[size][self.number])

    def weighing(
        self,
        judgments: Judgments,
        order: IntArray,
        weight: FloatArray | None = None,
        kind: RankingWeight = "information",
    ) -> Judgments:
        """Return judgments that name their acts, whose pairs together weigh what an act tells.

        Parameters
        ----------
        judgments
            Of these rows, equal ones merged.
        order
            The rows in the order of the judgments, those of one that are equal as in the file.
        weight
            What each row weighs, where the file says so: it is left at that.
        kind
            See `pair_weight`.
        """
        each = self.weights(kind) if weight is None else weight
        answers = None if weight is not None else float(each[self.several].sum())
        screen, each = self.number[order], each[order]
        starts = np.cumsum(judgments.count) - judgments.count
        low, high = np.minimum.reduceat(each, starts), np.maximum.reduceat(each, starts)
        alike = low == high
        whole = np.where(alike, low * judgments.count, np.add.reduceat(each, starts))
        return replace(
            judgments,
            weight=whole if weight is None else judgments.weight,
            screen=screen,
            screen_weight=None if alike.all() else each,
            duplicates=min(_repeated(judgments, screen), judgments.n_duplicates),
            notes=(*judgments.notes, *([] if self.size is None else [self.size.note(answers)])),
        )

    @property
    def size(self) -> Size | None:
        """How many acts there are of several items, and how large they are; None if none is."""
        rows = self.several
        number, items = len(np.unique(self.number[rows])), self.items[rows]
        return Size(number, len(items), int(items.min()), int(items.max())) if number else None


def not_recognised(reader: str) -> str:
    """Say that nobody looked for rankings that were taken apart.

    Examples
    --------
    >>> not_recognised("Dask")[:60]
    'Dask read the rows, and does not recognise rankings or ratin'
    """
    return (
        f"{reader} read the rows, and does not recognise rankings or ratings taken apart into "
        "pairs; if there are any, a column 'ranking' can name them"
    )


def numbered(rows: Columns) -> Acts:
    """Return the number of the act of each row: the largest complete set of pairs from it on.

    All rows of an annotator may be one act in any order; else each row of an act has an item of an
    earlier one, as where a ranking is taken apart.

    Examples
    --------
    >>> left, right = np.array([[0, 0, 1, 3, 0, 0, 1], [1, 2, 2, 4, 1, 4, 4]], dtype=np.int32)
    >>> found = numbered(Columns(np.zeros(7, dtype=np.int32), left, right, None))
    >>> found.number.tolist(), found.items.tolist()
    ([0, 0, 0, 1, 2, 2, 2], [3, 3, 3, 2, 3, 3, 3])
    """
    annotator, left, right, _ = rows
    number, items = np.empty(len(left), dtype=np.int64), np.empty(len(left), dtype=np.int32)
    found = Acts(np.empty_like(number), np.empty_like(items))
    few = int(annotator.max(initial=0)) < 1 << 16  # such numbers are sorted by their digits
    order = np.argsort(annotator.astype(np.uint16) if few else annotator, kind="stable")
    who, left, right = (np.ascontiguousarray(c[order], np.int32) for c in (annotator, left, right))
    ends = np.flatnonzero(np.diff(who, append=-1)) + 1
    kernels = library()
    if kernels is None:
        _number(ends, left, right, number, items)
    else:
        n = int(max(left.max(initial=0), right.max(initial=0))) + 1
        block, place = np.zeros(n, dtype=np.int64), np.empty(n, dtype=np.int32)
        pair = np.zeros(np.diff(ends, prepend=0).max(initial=0), dtype=np.int64)
        room = at(block, place, pair, number, items)
        kernels.aggcal_acts(len(ends), *at(ends, left, right), _PATIENCE, *room)
    found.number[order], found.items[order] = number, items
    return found


def _number(
    ends: IntArray, left: CodeArray, right: CodeArray, number: IntArray, items: CodeArray
) -> None:
    """Do what the kernel ``aggcal_acts`` does, row by row."""
    pairs = [*zip(left.tolist(), right.tolist(), strict=True)]
    start = act = 0
    for end in ends.tolist():
        patience = _PATIENCE * (end - start)
        size, members, _ = _grown(pairs[start:end], linked=False)
        whole = size == end - start
        while start < end:
            if not whole:
                size, members, looked = 1, 2, 0
                if patience > 0:
                    size, members, looked = _grown(pairs[start:end], linked=True)
                patience -= looked
            number[start : start + size], items[start : start + size] = act, members
            start, act = start + size, act + 1


def _grown(pairs: list[tuple[int, int]], *, linked: bool) -> tuple[int, int, int]:
    """Return how many of the first pairs are all of some items, of how many, and what was seen."""
    items: set[int] = set()
    seen: set[frozenset[int]] = set()
    best = (1, 2)
    for pair in pairs:
        members = len(items.union(pair))
        apart = linked and seen and not items.intersection(pair)
        if apart or members * (members - 1) // 2 > len(pairs) or frozenset(pair) in seen:
            break
        items.update(pair)
        seen.add(frozenset(pair))
        if len(seen) == members * (members - 1) // 2:
            best = (len(seen), members)
    return *best, len(seen)


def _cycles(act: IntArray, pair: IntArray, for_left: FloatArray) -> float:
    """Return how many cycles of three items there are in acts, or are to be expected.

    Three items make a cycle unless one of them is above both others.

    Examples
    --------
    >>> pair = np.array([[0, 1, 0], [1, 2, 2]])
    >>> [_cycles(np.zeros(3, dtype=int), pair, np.array(up)) for up in ([1, 1, 0], [0.5] * 3)]
    [1.0, 0.25]
    """
    cell = np.unique(np.stack([act, act]) * (pair.max() + 1) + pair, return_inverse=True)[1].ravel()
    value = np.concatenate([for_left, 1.0 - for_left])
    others = np.bincount(cell)
    both_below = np.square(np.bincount(cell, value)) - np.bincount(cell, np.square(value))
    return int((others * (others - 1)).sum()) / 6 - 0.5 * float(both_below.sum())


def _probabilities(who: IntArray, pair: IntArray, for_left: FloatArray) -> FloatArray:
    """Fit Bradley and Terry's model, in which annotators differ; return what it expects.

    Scores and reliabilities have wide priors. Each moves by Newton's steps of its own.
    """
    from scipy.special import expit  # which reading other tables need not wait for

    (left, right), n, m = pair, int(pair.max()) + 1, int(who.max()) + 1
    scores, reliability = np.zeros(n), np.ones(m)
    for _ in range(_ROUNDS):
        gap, slope = scores[left] - scores[right], reliability[who]
        p = expit(slope * gap)
        pull, doubt = for_left - p, p * (1.0 - p)
        up, weight = slope * pull, slope**2 * doubt
        gradient = np.bincount(left, up, n) - np.bincount(right, up, n) - _PRECISION * scores
        curvature = np.bincount(left, weight, n) + np.bincount(right, weight, n) + _PRECISION
        # Half of each step: both items of a pair move.
        scores += np.clip(0.5 * gradient / curvature, -1.0, 1.0)
        gradient = np.bincount(who, pull * gap, m) + _ALIKE * (1.0 - reliability)
        curvature = np.bincount(who, doubt * gap**2, m) + _ALIKE
        reliability += np.clip(gradient / curvature, -0.5, 0.5)
    return np.asarray(expit(reliability[who] * (scores[left] - scores[right])))


def _repeated(judgments: Judgments, screen: IntArray) -> int:
    """Count the rows of acts that repeat an earlier act of the same annotator, answer by answer."""
    each = np.random.default_rng(0).integers(1 << 62, size=len(judgments.count))
    rows = np.bincount(screen)
    known_by = np.zeros(len(rows), dtype=np.int64)  # the sum of a number for each answer
    np.add.at(known_by, screen, np.repeat(each, judgments.count))
    first = np.unique(known_by, return_index=True)[1]
    return int(rows.sum() - rows[first].sum())


def pair_weight(pairs: int, tiers: Sequence[int], kind: RankingWeight) -> float:
    """Return what each pair of an order weighs.

    Parameters
    ----------
    pairs
        How many pairs the order was taken apart into.
    tiers
        How many items stand in each tier, the best first; one number if the order is complete.
    kind
        ``"information"``: all pairs together hold the Fisher information of the order in the
        Plackett-Luce model with equal scores, which for a complete order of k items makes
        4(k - H_k) / (k(k - 1)), where H_k = 1 + 1/2 + ... + 1/k. ``"item"``: each item counts
        once, 1/(k - 1). ``"pair"``: each pair is an opinion of its own.

    Examples
    --------
    >>> [round(pair_weight(k * (k - 1) // 2, [k], "information"), 3) for k in (2, 3, 10)]
    [1.0, 0.778, 0.314]
    >>> pair_weight(6, [4], "item")
    0.3333333333333333
    """
    n = sum(tiers)
    if kind == "pair":
        return 1.0
    if kind == "item":
        return min(1.0, n / (2.0 * pairs))
    trace, left = 0.0, n
    for size in [1] * (n - 1) if len(tiers) == 1 else tiers[:-1]:
        # Naming the few that go is naming the many that stay: count the smaller side.
        named = min(size, left - size)
        trace += sum(1.0 - 1.0 / r for r in range(left, left - named, -1))
        left -= size
    return min(1.0, 2.0 * trace / pairs)
