"""Whether the answer to a pair changes with the order in which its items are shown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, sums
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.findings import LISTED, Affects, Finding, listed
from aggcal.advice.check.pair_answers import TIE
from aggcal.advice.check.testing import odds_against, probability_of_at_least
from aggcal.errors import some

_LEAST_FLIPS = 0.05  # of the pairs: less changes no order to speak of
_FLIP_CHANCE = 0.001  # p-value: a higher one finds more and accuses more


@dataclass(frozen=True, eq=False)
class BothOrders:
    """Pairs that one annotator judged in both orders, and those whose answer followed the side.

    ``changed`` are the entries of the grouped answers whose verdict changed with the order;
    ``p_value`` that chance alone prefers one side so clearly among these.
    """

    fitted: Fitted
    pairs: int
    changed: IntArray
    left_twice: int
    right_twice: int
    p_value: float

    @property
    def found(self) -> bool:
        """Whether the order of presentation decides beyond chance, and often enough to matter."""
        excess = abs(self.left_twice - self.right_twice)
        return (
            len(self.changed) > 0
            and self.p_value <= _FLIP_CHANCE
            and excess >= _LEAST_FLIPS * self.pairs
        )


def both_orders(fitted: Fitted) -> BothOrders:
    """Count the pairs that one annotator saw in both orders, and where the side decided.

    By chance the left item wins both times as often as the right one does.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b", "left"), ("ann", "b", "a", "left"), ("ann", "b", "c", "left")]
    >>> found = both_orders(Fitted.of(aggcal.read_judgments(rows)))
    >>> found.pairs, found.left_twice, found.found
    (1, 1, False)
    """
    judgments, answers = fitted.judgments, fitted.answers
    grouped, size = answers.asked, len(answers.asked.pair)
    # What was judged once was not judged in both orders.
    again = np.flatnonzero((np.bincount(grouped.of_row, minlength=size) > 1)[grouped.of_row])
    of_row, first_left = grouped.of_row[again], answers.first_is_left[again]
    count, up = judgments.count[again], answers.up[again]

    def verdict(rows: BoolArray) -> FloatArray:
        number = sums(of_row[rows], count[rows], size)
        ups = sums(of_row[rows], (count * up)[rows], size)
        share: FloatArray = np.full(size, np.nan)
        np.divide(ups, number, out=share, where=number > 0.0)
        return share

    shown, mirrored = verdict(first_left), verdict(~first_left)
    both = np.isfinite(shown) & np.isfinite(mirrored) & (shown != TIE) & (mirrored != TIE)
    left = both & (shown > TIE) & (mirrored < TIE)
    right = both & (shown < TIE) & (mirrored > TIE)
    left_twice, right_twice = int(left.sum()), int(right.sum())
    more, flips = max(left_twice, right_twice), left_twice + right_twice
    p_value = min(1.0, 2.0 * probability_of_at_least(more, np.full(flips, 0.5)))
    changed = np.flatnonzero(left | right)
    return BothOrders(fitted, int(both.sum()), changed, left_twice, right_twice, p_value)


def order_findings(found: BothOrders) -> list[Finding]:
    """Report annotators whose answers follow the order of presentation."""
    if not found.found:
        return []
    judgments, grouped = found.fitted.judgments, found.fitted.answers.asked
    answers = found.fitted.answers
    side = "left" if found.left_twice > found.right_twice else "right"
    more, flips = max(found.left_twice, found.right_twice), len(found.changed)
    often = np.bincount(grouped.annotator[found.changed], minlength=judgments.n_annotators)
    who = np.argsort(-often, kind="stable")[: int(np.sum(often > 0))]
    pair = grouped.pair[found.changed]
    items = np.unique(np.concatenate([answers.first[pair], answers.second[pair]]))
    ids, labels = judgments.annotator_ids[who], judgments.item_ids
    named = zip(grouped.annotator[found.changed[:LISTED]].tolist(), pair.tolist(), strict=False)
    return [
        Finding(
            "problem",
            "order-decides",
            f"Of {found.pairs:,} pairs that an annotator judged in both orders, {flips:,} got a "
            f"different answer; in {more:,} of these the {side} item won both times. Chance alone "
            f"is so uneven {odds_against(max(found.p_value, 1e-300))}. Most often: {some(ids)}.",
            "Keep asking in both orders, and count a pair whose answer changes as a tie.",
            {
                "pairs_in_both_orders": found.pairs,
                "verdict_changed": flips,
                "left_both_times": found.left_twice,
                "right_both_times": found.right_twice,
                # Not "annotators": an answer that changed by chance is nothing against anybody.
                "changed_by": listed(ids),
                "changed_pairs": [int(n) for n in often[who][:LISTED]],
                "pairs": [
                    [
                        str(judgments.annotator_ids[u]),
                        *_two(answers.first, answers.second, labels, p),
                    ]
                    for u, p in named
                ],
            },
            title=f"The order of presentation changed {flips:,} of {found.pairs:,} answers",
            affects=Affects(_judgments(found), len(items), len(ids)),
        )
    ]


def _two(first: IntArray, second: IntArray, labels: np.ndarray, pair: int) -> list[str]:
    return [str(labels[first[pair]]), str(labels[second[pair]])]


def _judgments(found: BothOrders) -> int:
    """Count the judgments of the pairs whose answer changed."""
    asked = found.fitted.answers.asked
    changed = np.zeros(len(asked.pair), dtype=bool)
    changed[found.changed] = True
    return int(found.fitted.judgments.count[changed[asked.of_row]].sum())
