"""One verdict for each annotator: every table, count and sentence about them uses this one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from aggcal._core.arrays import TextArray
from aggcal._core.records import dataclass
from aggcal._core.tables import Columns, as_text
from aggcal._core.text import brief
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.uncertainty.reversal import not_to_tell
from aggcal.aggregation.uncertainty.shares import share_interval
from aggcal.data.judgments import Judgments
from aggcal.errors import count

_TIE = 0.5  # the outcome of a tie: half of a win

REVERSED, GUESSING, ONE_SIDED = "reversed", "guessing", "one-sided"
PERHAPS_GUESSING, TOO_FEW = "perhaps-guessing", "too-few"
UNCLEAR, RELIABLE = "unclear", "reliable"

VERDICTS = (REVERSED, GUESSING, ONE_SIDED, PERHAPS_GUESSING, TOO_FEW, UNCLEAR, RELIABLE)
"""All verdicts; of those that apply to an annotator, the first is given."""

FEW = 10
"""Fewer judgments say little about an annotator's reliability: a higher number leaves more
annotators without a verdict, a lower one trusts the prior instead of the answers.
"""

_DIFFERENT_ORDERS = "annotators prefer different orders, so there is no consensus to compare with"


@dataclass(frozen=True)
class Accused:
    """What a check found about annotators, by their ids: a verdict and its reason.

    ``against_others`` says whether annotators were compared with each other at all; if not, only
    the intervals of the fit can show that somebody is reversed.
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
        """Give the verdicts: by the check where it was made, else by the fit's intervals alone.

        Nobody is called reversed for a negative reliability alone: without a check it takes an
        interval that lies below that of random answers as a whole.

        Parameters
        ----------
        consensus
            The fit whose annotators are judged.
        accused
            What the check says.
        """
        accused = Accused() if accused is None else accused
        names = as_text(consensus.annotator_ids).tolist()
        found, unseen = _by_fit(consensus, tested=accused.against_others)
        if accused.named:
            found = [accused.named.get(name) or own for name, own in zip(names, found, strict=True)]
        if (seen := accused.looked_at) is not None:
            each = zip(names, found, unseen, strict=True)
            found = [own if name in seen else other for name, own, other in each]
        camps = None if consensus.effects is None else consensus.effects.camps
        if camps is not None and camps.stands_out:
            found = [
                (UNCLEAR, f"belongs to camp {camp}, whose order is another")
                if own[0] == REVERSED
                else own
                for camp, own in zip(camps.own, found, strict=True)
            ]
        if accused.unproven:
            doubt = (UNCLEAR, "among so many annotators, somebody who guesses could agree as often")
            found = [
                doubt if own[0] == RELIABLE and name in accused.unproven else own
                for name, own in zip(names, found, strict=True)
            ]
        if camps is None or not camps.stands_out:
            found = _without_majority(found, consensus, accused)
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
    found: list[tuple[str, str]], consensus: Consensus, accused: Accused
) -> list[tuple[str, str]]:
    """Leave open who is reversed and who is reliable, where no majority tells.

    Which of two contradicting sides the fit follows is then as good as a coin toss.
    """
    why = not_to_tell(len(found), consensus.warnings) or (
        _DIFFERENT_ORDERS if accused.divided else ""
    )
    if not why:
        return found
    by_fit = [str(name) not in accused.named for name in consensus.annotator_ids]
    turned = any(mine and each[0] == REVERSED for mine, each in zip(by_fit, found, strict=True))
    if not (turned or accused.divided):
        return found
    return [
        (UNCLEAR, why) if mine and each[0] in {REVERSED, UNCLEAR, RELIABLE} else each
        for mine, each in zip(by_fit, found, strict=True)
    ]


def _column(texts: list[str]) -> TextArray:
    found: TextArray = np.empty(len(texts), dtype=object)
    found[:] = texts
    return found


def _by_fit(
    consensus: Consensus, *, tested: bool
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return what the fit says of each annotator, in a check's sample and outside it.

    Where an interval lies and how few judgments there are settles it, so that annotators alike
    in these are spoken of once.
    """
    border, known = consensus.random_reliability, consensus.uncertainty
    low = None if known is None else known.reliability_low
    high = None if known is None else known.reliability_high
    given = np.asarray(consensus.judgments_per_annotator).astype(np.int64)
    side = np.zeros(len(given), dtype=np.int64)
    if low is not None and high is not None:
        side = np.where(high < border, 0, np.where(low <= border, 1, 2))
    _, first, which = np.unique(
        3 * np.minimum(given, FEW) + side, return_index=True, return_inverse=True
    )
    inside, outside = [], []
    for u in first.tolist():
        ends = None if low is None or high is None else (float(low[u]), float(high[u]))
        inside.append(_by_interval(ends, int(given[u]), border, tested=tested))
        outside.append(_not_looked_at(ends, int(given[u]), border))
    codes = which.tolist()
    return [inside[k] for k in codes], [outside[k] for k in codes]


def _by_interval(
    ends: tuple[float, float] | None, given: int, border: float, *, tested: bool
) -> tuple[str, str]:
    random = f"{border:g} (random)"
    if ends is not None and ends[1] < border and not tested:
        return REVERSED, f"reliability interval below {random}"
    if given < FEW:
        return TOO_FEW, count(given, "judgment")
    if ends is None:
        return UNCLEAR, "no reliability interval was computed"
    if ends[1] < border:
        # What the check allows for (that somebody is always the worst) the interval does not.
        return UNCLEAR, f"the reliability is below {random}, but the data check does not confirm it"
    if ends[0] <= border:
        return UNCLEAR, f"reliability interval includes {random}"
    return RELIABLE, f"reliability interval above {random}"


def _not_looked_at(ends: tuple[float, float] | None, given: int, border: float) -> tuple[str, str]:
    """Give the verdict on somebody outside the sample of a check: nobody is accused unseen."""
    verdict = _by_interval(ends, given, border, tested=True)
    if ends is not None and ends[1] < border and verdict[0] == UNCLEAR:
        why = f"the reliability is below {border:g} (random), but the check looked at a sample only"
        return UNCLEAR, why
    return verdict


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
    low, high = share_interval(lefts, given, level)
    return {
        "left_share": share,
        "left_share_low": np.where(given > 0.0, low, np.nan),
        "left_share_high": np.where(given > 0.0, high, np.nan),
    }
