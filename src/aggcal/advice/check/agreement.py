"""How far annotators agree: with each other on the same pairs, and with the fitted model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggcal._core.arrays import FloatArray, sums
from aggcal.advice.check.cells import Cells
from aggcal.advice.check.findings import Finding, Passed, Severity
from aggcal.advice.check.replicate import Fit
from aggcal.data.judgments import Judgments
from aggcal.errors import count, sentence

_BEYOND_CHANCE = 2.0  # standard errors of alpha: fewer would see agreement in noise
_ENOUGH_PAIRS = 30  # fewer leave alpha uncertain by .2 and more
_LOW = 0.2  # alpha up to which agreement is called slight, as in textbooks
_NEXT_TO_NONE = 0.1  # alpha that must be ruled out before "no agreement" is said


@dataclass(frozen=True)
class Agreement:
    """Krippendorff's alpha of the pairs that several annotators judged.

    ``agree`` is how far single answers of two annotators to one pair agree (a tie and a win: three
    quarters), ``by_chance`` how far any two answers to different pairs would, ``answers`` how
    many annotators each of these pairs had, added up, and ``error`` the standard error that alpha
    would have if everyone tossed coins.
    """

    alpha: float
    agree: float
    by_chance: float
    pairs: int
    answers: int
    error: float


def krippendorff(judgments: Judgments) -> Agreement | None:
    """Work out Krippendorff's alpha, where some pair has several annotators.

    The units are pairs, the values which item was put above (a tie is one half, and counts as
    quarter of a disagreement with either; the difference is squared). As neither item of a pair is
    "the first" by nature, each unit enters both ways round.

    Answer is held against answer, of two annotators each. Who judged a pair again and again is
    one annotator all the same, represented by any one of those answers: their mean would agree
    with others' means far better than people do, and the answers with each other because one
    person gave them.

    Examples
    --------
    Two annotators agree on two pairs and disagree on one:

    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("bob", "a", "b"), ("ann", "b", "c"), ("bob", "b", "c"),
    ...         ("ann", "a", "c"), ("bob", "c", "a")]
    >>> found = krippendorff(aggcal.read_judgments(rows))
    >>> round(found.agree, 4), round(found.alpha, 4)
    (0.6667, 0.3889)
    """
    left, right = judgments.left.astype(np.int64), judgments.right.astype(np.int64)
    key = np.minimum(left, right) * judgments.n_items + np.maximum(left, right)
    codes, pair = np.unique(key, return_inverse=True)
    owned = judgments.annotator.astype(np.int64) * len(codes) + pair
    entries, entry = np.unique(owned, return_inverse=True)
    of_pair, size = entries % len(codes), len(entries)
    raters = np.bincount(of_pair, minlength=len(codes)).astype(np.float64)
    several = raters > 1.0
    if not several.any():
        return None
    up = np.where(left < right, judgments.outcome, 1.0 - judgments.outcome)
    number = sums(entry, judgments.count, size)
    mean = sums(entry, judgments.count * up, size) / number
    square = sums(entry, judgments.count * np.square(up), size) / number
    columns = mean, square, np.square(mean), 1.0 / number, np.square(1.0 / number)
    total, squares, own, known, twice = (
        sums(of_pair, part, len(codes))[several] for part in columns
    )
    raters = raters[several]
    values = float(raters.sum())
    # E (v − v')² of two annotators' answers is E v² + E v'² − 2 Ev Ev'; over ordered couples:
    apart = 2.0 * ((raters - 1.0) * squares - (np.square(total) - own))
    observed = float(np.sum(apart / (raters - 1.0))) / values
    around = float(np.sum(squares - total)) + 0.25 * values
    # All values and their mirror images: mean one half, 2 · values of them.
    expected = 2.0 * (2.0 * around) / (2.0 * values - 1.0)
    alpha = 1.0 - observed / expected if expected > 0.0 else float("nan")
    couples = raters * (raters - 1.0) / 2.0
    agree = 1.0 - float(np.sum(apart / 2.0)) / float(couples.sum())
    # Of coins the couples of one pair are uncorrelated. Means of m and n tosses have the product
    # of deviations whose variance is that of single ones over m n, and alpha is a mean of it.
    product = (np.square(known) - twice) / 2.0
    error = float(np.sqrt(np.sum(product * np.square(2.0 / (raters - 1.0))))) / values
    return Agreement(alpha, agree, 1.0 - expected, int(several.sum()), int(values), error)


def agreement_findings(found: Agreement | None) -> tuple[list[Finding], list[Passed]]:
    """Report where annotators hardly agree, or not at all; else how far they agree.

    Examples
    --------
    >>> agreement_findings(Agreement(0.01, 0.51, 0.5, 900, 2000, 0.03))[0][0].code
    'no-agreement'
    >>> agreement_findings(Agreement(0.05, 0.52, 0.5, 100, 200, 0.1))[0][0].code
    'unclear-agreement'
    """
    if found is None or found.pairs < _ENOUGH_PAIRS or not np.isfinite(found.alpha):
        return [], []
    details = {
        "alpha": round(found.alpha, 4),
        "agree": round(found.agree, 4),
        "pairs_with_several_annotators": found.pairs,
    }
    chance = (
        f"chance gives {found.by_chance:.0%} (Krippendorff's alpha {found.alpha:.2f}"
        f"{{}} {count(found.pairs, 'pair')}{{}})."
    )
    title = f"Two annotators agree on {found.agree:.0%} of shared pairs"
    level = _level(found)
    if level is None:
        return [], [Passed("low-agreement", f"{title}; {chance.format(',', '')}")]
    severity, code, than, adds, remedy = level
    chance = chance.format(" over", "; 1 is full agreement, 0 is chance")
    seen = f"Two annotators give the same answer to a pair in {found.agree:.0%} of cases; {chance}"
    title, why = f"{title}, {than}", f"{sentence(chance)}{adds}"
    return [Finding(severity, code, f"{seen}{adds}", remedy, details, title=title, why=why)], []


def _level(found: Agreement) -> tuple[Severity, str, str, str, str] | None:
    """Return how serious the level of agreement is, and what is said of it."""
    if found.alpha < _BEYOND_CHANCE * found.error:
        if found.alpha + 2.0 * found.error >= _NEXT_TO_NONE:
            return (
                "note",
                "unclear-agreement",
                "perhaps by chance",
                " There are too few shared pairs to tell this from chance.",
                (
                    "Have more pairs judged by two people. If agreement stays low, check that "
                    "everyone was asked the same question."
                ),
            )
        return (
            "problem",
            "no-agreement",
            "no more than chance",
            "",
            (
                "Check that everyone was asked the same question, and that the pairs were not all "
                "chosen to be close."
            ),
        )
    if found.alpha >= _LOW:
        return None
    return (
        "note",
        "low-agreement",
        "little more than chance",
        " Items may be hard to tell apart, or the question ambiguous.",
        (
            "Make the question more precise, or collect more judgments: their average is more "
            "certain than each one."
        ),
    )


def infit(cells: Cells, won: FloatArray, fitted: Fit) -> FloatArray:
    """Return each annotator's infit mean-square.

    It is Σ (y − p)² / Σ p (1 − p) over decided answers: 1 if they vary as the model with the
    annotator's own reliability expects. An answer of weight below 1 counts as so much of one.
    """
    p = np.einsum("cg,cg->c", fitted.chance, fitted.posterior[cells.who])
    lost = cells.number - won
    off = cells.by_who @ (cells.evidence * (won * np.square(1.0 - p) + lost * np.square(p)))
    expected = cells.by_who @ (cells.evidence * cells.number * p * (1.0 - p))
    return np.asarray(off / np.maximum(expected, 1e-12))


def repeats(cells: Cells, won: FloatArray) -> dict[str, int]:
    """Count the questions that an annotator decided more than once, and those both ways.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("ann", "b", "a"), ("bob", "a", "b"), ("bob", "a", "b")]
    >>> repeats(*Cells.of(aggcal.read_judgments(rows)))
    {'judged_again': 2, 'both_ways': 1}
    """
    code = cells.who * len(cells.low) + cells.question
    entry = np.unique(code, return_inverse=True)[1].ravel()
    number, ups = np.bincount(entry, cells.number), np.bincount(entry, won)
    both = (ups > 0.0) & (ups < number)
    return {"judged_again": int(np.sum(number > 1.0)), "both_ways": int(both.sum())}


def repeated_questions(judgments: Judgments) -> int:
    """Count judgments of a question that the annotator judged before, duplicate rows left out."""
    n, left, right = judgments.n_items, judgments.left, judgments.right
    code = judgments.annotator.astype(np.int64) * n + np.minimum(left, right)
    code = code * n + np.maximum(left, right)
    if judgments.context is not None:
        code = np.unique(code, return_inverse=True)[1].ravel()
        code = code * (int(judgments.context.max(initial=-1)) + 2) + judgments.context + 1
    return judgments.n_judgments - len(np.unique(code)) - judgments.n_duplicates
