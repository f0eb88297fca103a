"""One verdict for each annotator: every table, count and sentence about them uses this one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aggcal._core.arrays import BoolArray, TextArray
from aggcal._core.tables import Columns, as_text
from aggcal._core.text import brief
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.uncertainty import no_majority, wilson_interval
from aggcal.data.judgments import Judgments
from aggcal.errors import count
from aggcal.registry import EQUAL

_TIE = 0.5  # the outcome of a tie: half of a win

REVERSED, GUESSING, ONE_SIDED = "reversed", "guessing", "one-sided"
TOO_FEW = "too-few"
UNCLEAR, RELIABLE = "unclear", "reliable"

VERDICTS = (REVERSED, GUESSING, ONE_SIDED, TOO_FEW, UNCLEAR, RELIABLE)
"""All verdicts; of those that apply to an annotator, the first is given."""

FEW = 10
"""Fewer judgments say little about an annotator's reliability: a higher number leaves more
annotators without a verdict, a lower one trusts the prior instead of the answers.
"""

_DIFFERENT_ORDERS = "annotators prefer different orders, so there is no consensus to compare with"


@dataclass(frozen=True)
class Accused:
    """What a check found about annotators, by their ids: a verdict and its reason.

    ``against_others`` says whether annotators were compared with each other at all.
    """

    against_others: bool = False
    named: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    unproven: frozenset[str] = frozenset()
    """Those who agree with the others no more than some of so many guessers would."""
    divided: bool = False
    """Whether annotators prefer different orders, so that there is no consensus to be against."""
    looked_at: frozenset[str] | None = None
    """Where a check looked at a sample: the annotators in it."""

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Verdicts:
    """The verdict on each annotator of a consensus, and what it rests on.

    Examples
    --------
    >>> import aggcal
    >>> consensus = aggcal.aggregate([("ann", "a", "b"), ("bob", "a", "b")], warn=False)
    >>> found = Verdicts.of(consensus)
    >>> found.verdict.tolist(), found.reason[0]
    (['too-few', 'too-few'], '1 judgment')
    """

    annotator_ids: TextArray
    verdict: TextArray
    reason: TextArray

    __repr__ = brief

    def to_dict(self) -> dict[str, Any]:
        """Return who is reversed and how many there are of each verdict: plain data."""
        return {"reversed_annotators": self.named(REVERSED), "verdicts": self.counts}

    @classmethod
    def of(cls, consensus: Consensus, accused: Accused | None = None) -> Verdicts:
        """Give the verdicts: accusations come from a check alone, whatever the fit says.

        Members of another camp have negative reliabilities, too, and only a check looks for camps.

        Parameters
        ----------
        consensus
            The fit whose annotators are judged.
        accused
            What the check says.
        """
        accused = Accused() if accused is None else accused
        names = as_text(consensus.annotator_ids).tolist()
        below = _below(consensus)
        why = "does not confirm it" if accused.against_others else "was not made"
        found = _by_fit(consensus, f"the data check {why}")
        if accused.named:
            found = [accused.named.get(name) or own for name, own in zip(names, found, strict=True)]
        if (seen := accused.looked_at) is not None:
            unseen = _by_fit(consensus, "the check looked at a sample only")
            each = zip(names, found, unseen, strict=True)
            found = [own if name in seen else other for name, own, other in each]
        camps = None if consensus.effects is None else consensus.effects.camps
        if camps is not None and camps.stands_out:
            found = [
                (UNCLEAR, f"belongs to camp {camp}, whose order is another")
                if own[0] == REVERSED or against
                else own
                for camp, own, against in zip(camps.own, found, below, strict=True)
            ]
        if accused.unproven:
            doubt = (UNCLEAR, "among so many annotators, somebody who guesses could agree as often")
            found = [
                doubt if own[0] == RELIABLE and name in accused.unproven else own
                for name, own in zip(names, found, strict=True)
            ]
        if camps is None or not camps.stands_out:
            found = _without_majority(found, consensus, accused, below)
        return cls(
            consensus.annotator_ids,
            _column([verdict for verdict, _ in found]),
            _column([reason for _, reason in found]),
        )

    def named(self, verdict: str) -> list[str]:
        """Return the annotators of one verdict."""
        return [str(one) for one in self.annotator_ids[self.verdict == verdict]]

    @property
    def counts(self) -> dict[str, int]:
        """How many annotators have each verdict."""
        return {word: int(np.sum(self.verdict == word)) for word in VERDICTS}


def _without_majority(
    found: list[tuple[str, str]], consensus: Consensus, accused: Accused, below: BoolArray
) -> list[tuple[str, str]]:
    """Leave open who is reversed and who is reliable, where no majority tells.

    Which of two contradicting sides the fit follows is then as good as a coin toss.
    """
    why = no_majority(len(found), consensus.warnings) or (
        _DIFFERENT_ORDERS if accused.divided else ""
    )
    if not why:
        return found
    by_fit = [str(name) not in accused.named for name in consensus.annotator_ids]
    if not (accused.divided or (below & by_fit).any()):
        return found
    return [
        (UNCLEAR, why) if mine and each[0] in {UNCLEAR, RELIABLE} else each
        for mine, each in zip(by_fit, found, strict=True)
    ]


def _column(texts: list[str]) -> TextArray:
    found: TextArray = np.empty(len(texts), dtype=object)
    found[:] = texts
    return found


def _below(consensus: Consensus) -> BoolArray:
    """Say whose whole interval is below the reliability of random answers."""
    known = consensus.uncertainty
    if known is None or known.reliability_high is None:
        return np.zeros(len(consensus.annotator_ids), dtype=bool)
    return np.asarray(known.reliability_high < consensus.random_reliability)


def _by_fit(consensus: Consensus, unconfirmed: str) -> list[tuple[str, str]]:
    """Return what the fit says of each annotator, and why it accuses nobody.

    Where an interval lies and how few judgments there are settles it, so that annotators alike
    in these are spoken of once.
    """
    border, known = consensus.random_reliability, consensus.uncertainty
    unknown = "no reliability interval was computed"
    if consensus.method in EQUAL:
        unknown = "the method takes all annotators to be equally reliable"
    elif consensus.raters is not None:
        unknown = "reliabilities are taken to be alike, as the ratings do not say otherwise"
    low = None if known is None else known.reliability_low
    high = None if known is None else known.reliability_high
    given = np.asarray(consensus.judgments_per_annotator).astype(np.int64)
    side = np.zeros(len(given), dtype=np.int64)
    if low is not None and high is not None:
        side = np.where(high < border, 0, np.where(low <= border, 1, 2))
    _, first, which = np.unique(
        3 * np.minimum(given, FEW) + side, return_index=True, return_inverse=True
    )
    said = []
    for u in first.tolist():
        ends = None if low is None or high is None else (float(low[u]), float(high[u]))
        said.append(_by_interval(ends, int(given[u]), border, unconfirmed, unknown))
    return [said[k] for k in which.tolist()]


def _by_interval(
    ends: tuple[float, float] | None, given: int, border: float, unconfirmed: str, unknown: str
) -> tuple[str, str]:
    random = f"{border:g} (random)"
    if given < FEW:
        return TOO_FEW, count(given, "judgment")
    if ends is None:
        return UNCLEAR, unknown
    if ends[1] < border:
        # What a check allows for (that somebody is always the worst) the interval does not.
        return UNCLEAR, f"reliability interval below {random}, but {unconfirmed}"
    if ends[0] <= border:
        return UNCLEAR, f"reliability interval includes {random}"
    return RELIABLE, f"reliability interval above {random}"


def left_shares(judgments: Judgments, level: float = 0.95) -> Columns:
    """Return how often each annotator chose the left item, with Wilson's interval.

    Of the decided judgments; NaN for annotators without any. No columns where the sides are not
    known.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b", "left"), ("ann", "b", "c", "left"), ("ann", "c", "a", "right")]
    >>> found = left_shares(aggcal.read_judgments(rows))
    >>> {name: column.round(2).tolist() for name, column in found.items()}
    {'left_share': [0.67], 'left_share_low': [0.21], 'left_share_high': [0.94]}
    """
    if not judgments.sided:
        return {}
    given, lefts = (
        number.astype(np.float64) for number in (judgments.tallies.decided, judgments.tallies.lefts)
    )
    share = lefts / np.where(given > 0.0, given, np.nan)
    low, high = wilson_interval(lefts, given, level)
    return {
        "left_share": share,
        "left_share_low": np.where(given > 0.0, low, np.nan),
        "left_share_high": np.where(given > 0.0, high, np.nan),
    }
