"""How far annotators agree: with each other on the same pairs, and with the fitted model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from aggcal.arrays import FloatArray, sums
from aggcal.check.answers import Answers
from aggcal.check.evidence import discoveries
from aggcal.check.findings import Finding, listed, rounded
from aggcal.check.fitted import Fitted
from aggcal.errors import count, some

_RATE = 0.01
_LEAST_MISFIT = 1.3
_BEYOND_CHANCE = 2.0
_ENOUGH_PAIRS = 30
_LOW = 0.2
_NEXT_TO_NONE = 0.1


@dataclass(frozen=True)
class Agreement:
    """Krippendorff's alpha of the pairs that several annotators judged.

    ``agree`` is how far two annotators of one pair agree (a tie and a win: three quarters),
    ``by_chance`` how far any two answers to different pairs would, and ``error`` the standard
    error that alpha would have if everyone tossed coins.
    """

    alpha: float
    agree: float
    by_chance: float
    pairs: int
    answers: int
    error: float


def krippendorff(answers: Answers) -> Agreement | None:
    """Work out Krippendorff's alpha, where some pair has several annotators.

    The units are pairs, the values which item was put above (a tie is one half, and counts as
    half a disagreement with either; the difference is squared). As neither item of a pair is
    "the first" by nature, each unit enters both ways round.

    Examples
    --------
    Two annotators agree on two pairs and disagree on one:

    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("bob", "a", "b"), ("ann", "b", "c"), ("bob", "b", "c"),
    ...         ("ann", "a", "c"), ("bob", "c", "a")]
    >>> found = krippendorff(Answers.of(aggcal.read_judgments(rows)))
    >>> round(found.agree, 4), round(found.alpha, 4)
    (0.6667, 0.3889)
    """
    grouped, pairs = answers.grouped, answers.n_pairs
    raters = np.bincount(grouped.pair, minlength=pairs).astype(np.float64)
    total = sums(grouped.pair, grouped.up, pairs)
    squares = sums(grouped.pair, np.square(grouped.up), pairs)
    several = raters > 1.0
    if not several.any():
        return None
    raters, total, squares = raters[several], total[several], squares[several]
    values = float(raters.sum())
    # Σ over ordered pairs of (v − v')² is 2 (m Σv² − (Σv)²).
    apart = 2.0 * (raters * squares - np.square(total))
    observed = float(np.sum(apart / (raters - 1.0))) / values
    around = float(np.sum(squares - total)) + 0.25 * values
    # All values and their mirror images: mean one half, 2 · values of them.
    expected = 2.0 * (2.0 * around) / (2.0 * values - 1.0)
    alpha = 1.0 - observed / expected if expected > 0.0 else float("nan")
    couples = raters * (raters - 1.0) / 2.0
    agree = 1.0 - float(np.sum(apart / 2.0)) / float(couples.sum())
    # Of fair coins the couples of one pair are uncorrelated, each with variance 1/4.
    chance = float(np.sqrt(np.sum(couples / 4.0 * np.square(2.0 / (raters - 1.0))))) / values
    error = chance / expected if expected > 0.0 else float("nan")
    return Agreement(alpha, agree, 1.0 - expected, int(several.sum()), int(values), error)


def agreement_findings(found: Agreement | None) -> list[Finding]:
    """Say where annotators agree hardly, or not at all.

    Examples
    --------
    >>> agreement_findings(Agreement(0.01, 0.51, 0.5, 900, 2000, 0.03))[0].code
    'no-agreement'
    >>> agreement_findings(Agreement(0.05, 0.52, 0.5, 100, 200, 0.1))[0].code
    'unclear-agreement'
    """
    if found is None or found.pairs < _ENOUGH_PAIRS or not np.isfinite(found.alpha):
        return []
    details = {
        "alpha": round(found.alpha, 4),
        "agree": round(found.agree, 4),
        "pairs_with_several_annotators": found.pairs,
    }
    seen = (
        f"two annotators who judged the same pair agree to {found.agree:.0%}, where chance "
        f"gives {found.by_chance:.0%} (Krippendorff's alpha {found.alpha:.2f}, over "
        f"{count(found.pairs, 'pair')}; 1 is full agreement, 0 none beyond chance)"
    )
    if (
        found.alpha < _BEYOND_CHANCE * found.error
        and found.alpha + 2.0 * found.error >= _NEXT_TO_NONE
    ):
        return [
            Finding(
                "note",
                "unclear-agreement",
                f"{seen}; too few to tell it from none",
                "have more pairs judged by two people before you speak of agreement; if it stays "
                "low, check that everyone was asked the same question",
                details,
            )
        ]
    if found.alpha < _BEYOND_CHANCE * found.error:
        return [
            Finding(
                "problem",
                "no-agreement",
                seen,
                "there is no common order to be found in such answers: check that everyone was "
                "asked the same question and that the items differ in what was asked",
                details,
            )
        ]
    if found.alpha >= _LOW:
        return []
    return [
        Finding(
            "note",
            "low-agreement",
            seen,
            "items may be hard to tell apart or the question open to readings: sharpen it, or "
            "collect more judgments, whose average is surer than each one",
            details,
        )
    ]


def infit(fitted: Fitted) -> tuple[FloatArray, FloatArray]:
    """Return each annotator's infit mean-square and how many standard errors it is above 1.

    Infit is Σ (y − p)² / Σ p (1 − p): 1 if answers vary as the model with the annotator's own
    reliability expects, more if they err on pairs that are easy for them.

    Examples
    --------
    >>> import aggcal
    >>> rows = [(u, a, b) for u in ("ann", "bob") for a, b in ("ab", "bc", "ac")]
    >>> bool((infit(Fitted.of(aggcal.read_judgments(rows)))[0] < 1.0).all())
    True
    """
    judgments, m, p = fitted.judgments, fitted.judgments.n_annotators, fitted.chance
    number = judgments.count.astype(np.float64)
    doubt = p * (1.0 - p)
    total = np.maximum(sums(judgments.annotator, number * doubt, m), 1e-12)
    off = sums(judgments.annotator, number * np.square(judgments.outcome - p), m)
    # (y − p)² of a coin has mean p(1−p) and variance p(1−p)(1−2p)².
    spread = sums(judgments.annotator, number * doubt * np.square(1.0 - 2.0 * p), m)
    square = off / total
    return square, (off - total) / np.sqrt(np.maximum(spread, 1e-12))


def misfit(fitted: Fitted, named_already: set[int]) -> list[Finding]:
    """Tell of annotators who err on easy pairs more than their own reliability explains."""
    judgments = fitted.judgments
    square, beyond = infit(fitted)
    chosen = discoveries(ndtr(-beyond), _RATE) & (square >= _LEAST_MISFIT)
    who = np.array(
        [u for u in np.flatnonzero(chosen).tolist() if u not in named_already], dtype=np.int64
    )
    if not len(who):
        return []
    who = who[np.argsort(-square[who], kind="stable")]
    ids = judgments.annotator_ids[who]
    return [
        Finding(
            "note",
            "erratic",
            f"{count(len(who), 'annotator')} of {judgments.n_annotators:,} "
            f"{'is' if len(who) == 1 else 'are'} careful on close pairs yet "
            f"{'errs' if len(who) == 1 else 'err'} on easy ones ({some(ids)}; infit up to "
            f"{square[who[0]]:.2f}, where 1 is usual)",
            "look at their answers to easy pairs: slips of attention, or another idea of what is "
            "asked",
            {"annotators": listed(ids), "number": len(who), "infit": rounded(square[who])},
        )
    ]
