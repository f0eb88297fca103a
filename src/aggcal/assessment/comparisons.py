"""Who met whom and who disagreed: what a report shows of the judgments behind each item.

It is worked out once, from the judgments, and written beside the tables as ``comparisons.json``:
the report of an earlier run has no judgments any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.covariance import MOST_DENSE
from aggcal.aggregation.links import link
from aggcal.aggregation.methods import LikelihoodMethod
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments

DETAILED = 200
"""Items, the highest first, whose comparisons are kept: more make the page heavy."""
SQUARE = 60
"""Items up to which every pair is kept, for a matrix of who beat whom: more cannot be read."""
ANNOTATORS = 100
"""Annotators up to which it is kept who judged which item, to filter by: more make a long list."""
MOST_ROWS = 20_000_000
"""Rows up to which comparisons are counted: beyond, it would take longer than the fit."""

_MOST_ANSWERS = 10_000  # more answers in a row than anybody gives
_MARGIN = 1.01  # answers that bring two items level do not put one above the other
_DIGITS = 12  # of a win rate: what follows is rounding
_UPSETS, _DISAGREED = 3, 4  # a row that opens shows the plainest, not all
_EVERY_K = 200  # items up to which there is a probability for every k
_STOPS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000)
"""Beyond that, the k that people ask for."""


def win_rates(judgments: AnyJudgments) -> FloatArray:
    """Return the share of its comparisons that each item won, by weight; a tie counts one half.

    Examples
    --------
    >>> import aggcal
    >>> win_rates(aggcal.read_judgments([("ann", "a", "b"), ("bob", "a", "b"), ("cas", "b", "a")]))
    array([0.66666667, 0.33333333])
    """
    won, lost = judgments.wins_and_losses
    whole = won + lost
    # Rounded: engines add up weights in another order.
    share: FloatArray = np.round(won / np.where(whole > 0.0, whole, np.nan), _DIGITS)
    return share


def comparisons(
    judgments: AnyJudgments,
    consensus: Consensus,
    top: int | None = None,
    level: float | None = None,
) -> dict[str, Any]:
    """Return what a report shows of the judgments, as plain data.

    Parameters
    ----------
    judgments
        The judgments that were fitted; of those that an engine holds, only what the consensus says.
    consensus
        Their consensus; its items come first to last in ``items``.
    top
        A k of the top k that somebody asked for.
    level
        Level at which items are in or out of the top k; None for that of the intervals.

    Examples
    --------
    >>> import aggcal
    >>> judgments = aggcal.read_judgments(
    ...     [("ann", "a", "b"), ("bob", "a", "b"), ("cas", "b", "a")])
    >>> found = comparisons(judgments, aggcal.aggregate(judgments, warn=False))
    >>> found["items"], found["pairs"], found["disagreed"]
    (['a', 'b'], [[0, 1, 2, 1, 0]], [[['cas', 1, 1]], [['cas', 1, 1]]])
    """
    order = consensus.order
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    shown = min(len(order), DETAILED)
    found: dict[str, Any] = {
        "items": [str(item) for item in consensus.item_ids[order[:shown]]],
        "top": _top(consensus, order, top),
        **_claimed(consensus, order, place, level),
    }
    whole = judgments.local
    if whole is None or len(whole.count) > MOST_ROWS:
        return found
    rows = _Rows(whole, place, shown)
    names = consensus.item_ids[order]
    found |= rows.opponents(names, consensus.ranks[order], consensus.scores[order])
    found["disagreed"] = rows.disagreed(judgments.annotator_ids, consensus.scores[order])
    swaps = _rank_changes(consensus, order, shown)
    found |= {} if swaps is None else {"swaps": swaps}
    if len(order) <= DETAILED and judgments.n_annotators <= ANNOTATORS:
        found["judged"] = rows.judged(judgments.annotator_ids)
    if len(order) <= SQUARE:
        found["pairs"] = rows.pairs()
    return found


def judged_items(
    judgments: Judgments, names: Sequence[str], rank: IntArray, score: FloatArray
) -> dict[str, Any]:
    """Return whom every item met and who disagreed, as in `comparisons`, and all pairs that met.

    Parameters
    ----------
    judgments
        Their items must be among the names.
    names, rank, score
        All items with their ranks and consensus scores.

    Examples
    --------
    >>> import aggcal
    >>> judgments = aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "a")])
    >>> judged_items(judgments, ["b", "a"], np.array([1, 2]), np.array([1.0, -1.0]))["pairs"]
    [[0, 1, 1, 1, 0]]
    """
    where = {name: k for k, name in enumerate(names)}
    place = np.array([where[str(item)] for item in judgments.item_ids])
    rows = _Rows(judgments, place, len(names))
    found = rows.opponents(names, rank, score)
    found["disagreed"] = rows.disagreed(judgments.annotator_ids, score)
    return found | {"pairs": rows.pairs()}


class _Rows:
    """Judgments about the items that are shown, each from that item's side.

    A judgment between two items that are shown counts twice, once for each.
    """

    def __init__(self, judgments: Judgments, place: IntArray, shown: int) -> None:
        self.n, self.shown = len(place), shown
        left, right, outcome = judgments.left, judgments.right, judgments.outcome
        near, far = (np.flatnonzero((place < shown)[codes]) for codes in (left, right))
        self.item = place[np.concatenate([left[near], right[far]])]
        self.other = place[np.concatenate([right[near], left[far]])]
        self.outcome = np.concatenate([outcome[near], 1.0 - outcome[far]])
        self.count = np.concatenate([judgments.count[near], judgments.count[far]])
        self.annotator = np.concatenate([judgments.annotator[near], judgments.annotator[far]])
        self.n_annotators = judgments.n_annotators
        self.met, which = np.unique(self.item * self.n + self.other, return_inverse=True)
        decided = (self.outcome > 0.5, self.outcome < 0.5, self.outcome == 0.5)  # noqa: PLR2004
        self.won, self.lost, self.tied = (
            np.bincount(which[rows], self.count[rows], len(self.met)).astype(np.int64)
            for rows in decided
        )

    def opponents(self, names: Any, rank: IntArray, score: FloatArray) -> dict[str, Any]:
        """Return whom each item met: how many, with what record, and which results were upsets."""
        item, other = np.divmod(self.met, self.n)
        met = np.bincount(item, minlength=self.shown)
        # Margin times distance: one lost game far down and many lost to a neighbour both count.
        margin = (self.won - self.lost) * np.sign(score[other] - score[item])
        surprise = margin * np.abs(rank[other] - rank[item])
        upsets: list[list[list[Any]]] = [[] for _ in range(self.shown)]
        order = np.lexsort((other, -surprise, item))
        for k in _foremost(order[surprise[order] > 0], item, _UPSETS):
            result = [int(self.won[k]), int(self.lost[k]), int(self.tied[k])]
            upsets[item[k]].append([str(names[other[k]]), int(rank[other[k]]), *result])
        results = (self.won, self.lost, self.tied)
        record = [np.bincount(item, column, self.shown).astype(np.int64) for column in results]
        return {
            "opponents": met.tolist(),
            "record": np.column_stack(record).tolist(),
            "upsets": upsets,
        }

    def disagreed(self, ids: Any, score: FloatArray) -> list[list[list[Any]]]:
        """Return who contradicted the order most often in judgments about each item."""
        against = (self.outcome - 0.5) * (score[self.other] - score[self.item]) > 0.0
        key = self.item * self.n_annotators + self.annotator
        pair, which = np.unique(key, return_inverse=True)
        of = np.bincount(which, self.count, len(pair)).astype(np.int64)
        odd = np.bincount(which, self.count * against, len(pair)).astype(np.int64)
        item, who = np.divmod(pair, self.n_annotators)
        found: list[list[list[Any]]] = [[] for _ in range(self.shown)]
        order = np.lexsort((who, of, -odd, item))
        for k in _foremost(order[odd[order] > 0], item, _DISAGREED):
            found[item[k]].append([str(ids[who[k]]), int(odd[k]), int(of[k])])
        return found

    def judged(self, ids: Any) -> list[list[Any]]:
        """Return each annotator with the positions of the items that they judged."""
        pair = np.unique(self.annotator * self.shown + self.item)
        who, item = np.divmod(pair, self.shown)
        return [[str(ids[u]), item[who == u].tolist()] for u in np.unique(who)]

    def pairs(self) -> list[list[int]]:
        """Return every pair that met: both positions, wins of each, ties."""
        item, other = np.divmod(self.met, self.n)
        once = item < other
        columns = (item, other, self.won, self.lost, self.tied)
        found: list[list[int]] = np.column_stack([column[once] for column in columns]).tolist()
        return found


def _foremost(order: IntArray, item: IntArray, most: int) -> IntArray:
    """Return the first few rows of each item, of rows that are ordered by item."""
    own = item[order]
    return order[np.arange(len(order)) - np.searchsorted(own, own) < most]


def _rank_changes(consensus: Consensus, order: IntArray, shown: int) -> list[list[Any]] | None:
    """Return how many answers would change each rank: against whom, which way, how many.

    One answer between items at equal scores, by a typical annotator, moves their gap by its
    variance times the pull of that answer: the number is gap / variance / pull. None where the
    fit does not know its uncertainty or what a judgment does.
    """
    known, own = consensus.uncertainty, getattr(consensus.quantifier, "aggregator", None)
    if known is None or not isinstance(own, LikelihoodMethod):
        return None
    names, score = consensus.item_ids, consensus.scores[order]
    label = np.zeros(len(order)) if known.component is None else known.component[order]
    pull = link(own.link).score_at_zero

    # A tie is not passed by one answer more: the next item is that with another score.
    first = np.searchsorted(-score, -score, side="left")
    after = np.searchsorted(-score, -score, side="right")
    found: list[list[Any]] = [[] for _ in range(shown)]
    for way, neighbour in (("up", first - 1), ("down", after)):
        item = np.flatnonzero((neighbour[:shown] >= 0) & (neighbour[:shown] < len(order)))
        item = item[label[item] == label[neighbour[item]]]
        other = neighbour[item]
        variance = known.covariance.gap_variance(order[item], order[other])
        answers = np.abs(score[item] - score[other]) / np.maximum(variance, 1e-12) / pull
        for k, j, number in zip(item, order[other], answers, strict=True):
            if number < _MOST_ANSWERS:
                found[k].append([str(names[j]), way, floor(_MARGIN * number) + 1])
    return found


def _claimed(
    consensus: Consensus, order: IntArray, place: IntArray, level: float | None
) -> dict[str, Any]:
    """Return what is claimed of the order: None where nothing is.

    ``first`` are the places of the items that could be first, ``tiers`` is the number of tiers.
    ``certified[k]`` are the places certified above the k-th, as the bits of a hexadecimal number.
    ``best`` and ``worst`` are the ranks between which each item is by itself, at ``sure``: of very
    many items those of ``items.csv``.
    """
    claims, each = consensus.claims(), consensus.claims(level)
    if claims is None or each is None:
        return {"first": None, "tiers": None}
    could = np.sort(place[np.flatnonzero(claims.first)])
    found: dict[str, Any] = {"first": could.tolist(), "tiers": claims.n_tiers}
    if claims.above is not None and len(order) <= DETAILED:
        above = claims.above[np.ix_(order, order)]
        bits = (sum(1 << int(i) for i in np.flatnonzero(column)) for column in above.T)
        found["certified"] = [f"{each:x}" for each in bits]
    if len(order) <= MOST_DENSE:
        ends = {"best": each.best[order].tolist(), "worst": each.worst[order].tolist()}
        found |= {**ends, "sure": each.level}
    return found


def _top(consensus: Consensus, order: IntArray, wanted: int | None) -> dict[str, Any] | None:
    """Return with which probability items are among the first k, in whole percent.

    ``percent[i]`` begins with how many of the ``stops`` have 0%, and ends where 100% begins.
    """
    n, known = len(order), consensus.uncertainty
    asked = {*_STOPS, *(() if wanted is None else (wanted,))}
    every = range(1, n) if n <= _EVERY_K else sorted(k for k in asked if k < n)
    stops = np.array(every, dtype=np.int64)
    if known is None or not len(stops) or n > MOST_DENSE:
        return None
    share = known.top_probabilities(stops)
    if share is None:
        return None
    percent = np.rint(100.0 * share[order]).astype(np.int64)
    # It grows with k.
    ends = zip(*((percent < value).sum(axis=1).tolist() for value in (1, 100)), strict=True)
    packed = [[a, *row[a:b]] for row, (a, b) in zip(percent.tolist(), ends, strict=True)]
    return {"stops": stops.tolist(), "percent": packed}
