"""Pairs that look like rankings taken apart: whole sets of items, without one contradiction."""

from __future__ import annotations

from itertools import combinations
from weakref import WeakKeyDictionary

import numpy as np

from aggcal._core.arrays import BoolArray, CodeArray, FloatArray, IntArray
from aggcal._core.compiled_scipy import expit
from aggcal._core.kernels import at, library
from aggcal._core.records import dataclass
from aggcal._core.unmasked import distinct
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import rows_between
from aggcal.data.tallies import readable

_FEWEST_ITEMS = 4
"""Of a set: three answers in a row agree by chance too often to tell anything."""
_LOOKED_AT = 200
"""Annotators, evenly spread, who are looked at: more tell hardly more and take longer."""
_MOST_PAIRS = 5_000
"""Of an annotator: sets are looked for with Python's own sets, some 20 thousand pairs a second."""
_FIRST = 10
"""Annotators who are looked at first of all, and twice as many each time after that."""
_ROOM = 1 << 23
"""Bytes of a table of annotators by items that is made for a quick look at most."""
_COVERED = 0.9
"""The share of an annotator's pairs that must lie in such sets; stray answers are allowed for."""
_OF_ANNOTATORS = 0.5
"""The share of annotators, by their pairs, of whom this must hold."""
_EXPECTED = 5.0
"""Circles of three items (a over b over c over a) that independent answers would hold on average:
where there is none, that has a chance of 1 in 150. Fewer accuse careful annotators of easy items;
more miss small studies."""
_TRIPLES = 400
"""Of a set, evenly spread, from which its expected circles are worked out."""
_ITEM_VARIANCE = 9.0
"""Of the scores that the chance of a circle is worked out from: wide, since easy items make few."""
_CONTRADICTED = 0.01
"""The share of sets with a contradiction that is still put down to mistakes in the file."""


@dataclass(frozen=True)
class Exploded:
    """What was found: how many sets of items, of which sizes, of how many annotators."""

    sets: int
    smallest: int
    largest: int
    annotators: IntArray
    """Those of whom it holds, among those who were looked at."""
    looked_at: int


_FOUND: WeakKeyDictionary[Judgments, Exploded | None] = WeakKeyDictionary()
"""What was found, for as long as the judgments live: the fit and the check both ask."""


def exploded(judgments: Judgments) -> Exploded | None:
    """Find out whether most answers are all pairs of sets of items, each once, in one order.

    Who ranks items and takes the rankings apart writes such pairs. So does a very careful annotator
    who is asked for all pairs of a few items: nothing in the pairs tells the two apart. None where
    it does not look so, or where the data name rankings or a context themselves.

    Examples
    --------
    >>> import aggcal
    >>> orders = [[str(i) for i in np.random.default_rng(u).permutation(6)] for u in range(9)]
    >>> rows = [(f"u{u}", *two) for u, order in enumerate(orders) for two in combinations(order, 2)]
    >>> found = exploded(aggcal.read_judgments(rows))
    >>> found.sets, found.largest
    (9, 6)
    >>> exploded(aggcal.read_judgments([("ann", "a", "b"), ("ann", "b", "c")])) is None
    True
    """
    if judgments not in _FOUND:
        _FOUND[judgments] = _looked_for(judgments)
    return _FOUND[judgments]


def _looked_for(judgments: Judgments) -> Exploded | None:
    if judgments.screen is not None or judgments.context is not None:
        return None
    pairs = judgments.judgments_per_annotator
    enough = np.flatnonzero(pairs >= _FEWEST_ITEMS * (_FEWEST_ITEMS - 1) // 2)
    if not len(enough) or 2 * pairs[enough].sum() < pairs.sum():
        return None
    number = min(len(enough), _LOOKED_AT)
    looked = enough[np.arange(number) * (len(enough) - 1) // max(number - 1, 1)]
    few = looked[pairs[looked] <= _MOST_PAIRS]
    least = _OF_ANNOTATORS * int(pairs[looked].sum())
    if pairs[few].sum() < least:
        return None
    starts = judgments.starts
    few = _left_of(judgments, few, starts, least)
    sizes: list[int] = []
    bad = weight = 0
    who: list[int] = []
    found_in: list[list[int]] = []
    for u in few.tolist():
        rows = slice(int(starts[u]), int(starts[u + 1]))
        found = _sets(judgments, rows)
        if found is None:
            continue
        who.append(u)
        weight += int(pairs[u])
        sizes += [len(members) for members, _ in found]
        found_in += [members for members, _ in found]
        bad += sum(not whole for _, whole in found)
        if bad > _CONTRADICTED * len(sizes) + 1.0:
            return None  # as soon as it is clear: most studies contradict themselves early
    if (
        not found_in
        or bad > _CONTRADICTED * len(sizes)
        or weight < least
        or _expected_circles(judgments, who, found_in) < _EXPECTED
    ):
        return None
    return Exploded(len(sizes), min(sizes), max(sizes), np.array(who), len(looked))


def _expected_circles(judgments: Judgments, who: list[int], sets: list[list[int]]) -> float:
    """Return how many circles independent answers of these annotators would hold in these sets."""
    mine = np.isin(judgments.annotator, who)
    scores = _scores(judgments.left[mine], judgments.right[mine], judgments.outcome[mine])
    total = 0.0
    for members in sets:
        triples = np.array([*combinations(members, 3)])
        step = max(1, len(triples) // _TRIPLES)
        a, b, c = scores[triples[::step]].T
        ab, bc, ca = expit(a - b), expit(b - c), expit(c - a)
        total += step * float((ab * bc * ca + (1.0 - ab) * (1.0 - bc) * (1.0 - ca)).sum())
    return total


def _scores(left: CodeArray, right: CodeArray, outcome: FloatArray) -> FloatArray:
    """Fit scores by Bradley and Terry's model with a wide prior: a rough one will do."""
    from scipy.optimize import minimize  # half a second, for what few studies come to

    n = int(max(left.max(), right.max())) + 1

    def negative(scores: FloatArray) -> tuple[float, FloatArray]:
        gap = scores[left] - scores[right]
        wrong = expit(gap) - outcome
        value = float((np.logaddexp(0.0, gap) - outcome * gap).sum())
        slope = np.bincount(left, wrong, n) - np.bincount(right, wrong, n)
        prior = scores / _ITEM_VARIANCE
        return value + 0.5 * float(scores @ prior), slope + prior

    found: FloatArray = minimize(negative, np.zeros(n), jac=True, method="L-BFGS-B").x
    return found


def _left_of(judgments: Judgments, who: IntArray, starts: IntArray, least: float) -> IntArray:
    """Return those of some annotators whose pairs can be such sets; none if they gave too few.

    Those who gave most are looked at first: nearly always they decide it.
    """
    who = who[~_met_too_many(judgments, who, starts)]
    pairs = judgments.judgments_per_annotator[who]
    order, total, kept = np.argsort(-pairs, kind="stable"), float(pairs.sum()), []
    begin, size = 0, _FIRST
    while begin < len(who) and total >= least:
        some = np.sort(order[begin : begin + size])
        may = _may_be_sets(judgments, who[some], starts)
        total -= float(pairs[some[~may]].sum())
        kept.append(some[may])
        begin, size = begin + size, 2 * size
    return who[np.sort(np.concatenate(kept))] if kept and total >= least else who[:0]


def _met_too_many(judgments: Judgments, who: IntArray, starts: IntArray) -> BoolArray:
    """Whether the pairs of these annotators hold more items than such sets can: a quick look.

    An item of a set has at least three neighbours, so that sets have at most two items for every
    three of their pairs; and a pair outside of them has at most two more.
    """
    kernels, n, met = library(), judgments.n_items, np.zeros(len(who), dtype=np.int64)
    ends = judgments.left, judgments.right
    if kernels is not None and all(map(readable, ends)):
        last = np.full(n, -1, dtype=np.int32)
        kernels.aggcal_met(len(who), *at(who, starts, *ends, last, met))
    elif len(who) * n <= _ROOM:
        owner = np.repeat(np.arange(0, len(who) * n, n), starts[who + 1] - starts[who])
        table, rows = np.zeros(len(who) * n, dtype=bool), rows_between(starts, who)
        for end in ends:
            table[owner + end[rows]] = True
        met = table.reshape(len(who), n).sum(axis=1)
    most = 2.0 / (_FEWEST_ITEMS - 1) * _COVERED + 2.0 * (1.0 - _COVERED)
    return np.asarray(met > most * (starts[who + 1] - starts[who]) + 1e-9)


def _may_be_sets(judgments: Judgments, who: IntArray, starts: IntArray) -> BoolArray:
    """Whether the pairs of these annotators can be such sets: what `_sets` asks, at once.

    They cannot where a pair was judged twice, or where too many pairs have an item with fewer than
    three neighbours, which is in no set of four.
    """
    n, sizes = judgments.n_items, starts[who + 1] - starts[who]
    rows = rows_between(starts, who)
    left, right = (ends[rows].astype(np.int64) for ends in (judgments.left, judgments.right))
    owner = np.repeat(np.arange(len(who)), sizes)
    pairs = distinct((owner * n + np.minimum(left, right)) * n + np.maximum(left, right))
    owner = pairs // (n * n)
    ends = np.stack([pairs // n, owner * n + pairs % n])
    _, place, neighbours = np.unique(ends, return_inverse=True, return_counts=True)
    stray = (neighbours[place.reshape(ends.shape)] < _FEWEST_ITEMS - 1).any(axis=0)
    number, outside = np.bincount(owner), np.bincount(owner, stray)
    once: BoolArray = judgments.judgments_per_annotator[who] <= number
    return once & (outside <= (1.0 - _COVERED) * number)


def _sets(judgments: Judgments, rows: slice) -> list[tuple[list[int], bool]] | None:
    """Return the sets of items whose pairs one annotator was asked for, and if they are in order.

    None where their pairs are not, most of them, all pairs of such sets, or where one was judged
    twice.
    """
    if _too_thin(judgments.left[rows], judgments.right[rows]):
        return None
    left, right = judgments.left[rows].tolist(), judgments.right[rows].tolist()
    edges = {(min(i, j), max(i, j)) for i, j in zip(left, right, strict=True)}
    repeated = int(judgments.count[rows].sum()) > len(edges)
    if repeated or len(edges) > _MOST_PAIRS:
        return None
    near: dict[int, set[int]] = {}
    for i, j in edges:
        near.setdefault(i, set()).add(j)
        near.setdefault(j, set()).add(i)
    above: dict[tuple[int, int], float] = {}
    found: list[tuple[list[int], bool]] = []
    left_over, outside = set(edges), 0
    while left_over:
        i, j = left_over.pop()
        members = {i, j} | (near[i] & near[j])
        inside = {(a, b) for a, b in combinations(sorted(members), 2)}
        if len(members) < _FEWEST_ITEMS or not inside <= edges:
            outside += 1
            if outside > (1.0 - _COVERED) * len(edges):
                return None
            continue
        left_over -= inside
        if not above:
            answers = zip(left, right, judgments.outcome[rows].tolist(), strict=True)
            above = {(i, j): y - 0.5 for i, j, y in answers}
            above |= {(j, i): -y for (i, j), y in above.items()}
        found.append((sorted(members), _in_order(sorted(members), above)))
    return found


def _too_thin(left: CodeArray, right: CodeArray) -> bool:
    """Whether too many pairs have an item that met fewer others than any such set has."""
    ends, index = np.unique(np.concatenate([left, right]), return_inverse=True)
    met = np.bincount(index, minlength=len(ends))[index].reshape(2, -1)
    alone = (met < _FEWEST_ITEMS - 1).any(axis=0)
    return bool(alone.sum() > (1.0 - _COVERED) * len(left))


def _in_order(members: list[int], above: dict[tuple[int, int], float]) -> bool:
    """Whether all answers among some items follow one order of them, ties being one place."""
    wins = {i: sum(above[i, j] > 0 for j in members if j != i) for i in members}
    losses = {i: sum(above[i, j] < 0 for j in members if j != i) for i in members}
    height = {i: wins[i] - losses[i] for i in members}
    return all(
        np.sign(height[i] - height[j]) == np.sign(above[i, j]) for i, j in combinations(members, 2)
    )
