"""How far annotators agree: with each other on the same pairs, and with the fitted model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggcal._core.arrays import FloatArray, elementwise, sums
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.findings import Finding, Severity
from aggcal.advice.check.pair_answers import Answers
from aggcal.errors import count, sentence

_BEYOND_CHANCE = 2.0  # standard errors of alpha: fewer would see agreement in noise
ENOUGH_PAIRS = 30  # fewer leave alpha uncertain by .2 and more
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


def krippendorff(answers: Answers) -> Agreement | None:
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
    >>> found = krippendorff(Answers.of(aggcal.read_judgments(rows)))
    >>> round(found.agree, 4), round(found.alpha, 4)
    (0.6667, 0.3889)
    """
    grouped = answers.grouped
    raters = np.bincount(grouped.pair, minlength=answers.n_pairs).astype(np.float64)
    several = raters > 1.0
    if not several.any():
        return None
    # Of single answers, each annotator's; only pairs with several annotators count.
    rows, entry = np.flatnonzero(several[answers.pair]), np.flatnonzero(several[grouped.pair])
    given, up = answers.judgments.count[rows], answers.up[rows]
    squared = sums(grouped.of_row[rows], given * np.square(up), len(grouped.pair))[entry]
    of_pair, number, mean = grouped.pair[entry], grouped.number[entry], grouped.up[entry]
    total, squares, own, known, twice = (
        sums(of_pair, part, answers.n_pairs)[several]
        for part in (
            mean,
            squared / number,
            np.square(mean),
            1.0 / number,
            np.square(1.0 / number),
        )
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


def agreement_findings(found: Agreement | None) -> list[Finding]:
    """Report where annotators hardly agree, or not at all.

    Examples
    --------
    >>> agreement_findings(Agreement(0.01, 0.51, 0.5, 900, 2000, 0.03))[0].code
    'no-agreement'
    >>> agreement_findings(Agreement(0.05, 0.52, 0.5, 100, 200, 0.1))[0].code
    'unclear-agreement'
    """
    if found is None or found.pairs < ENOUGH_PAIRS or not np.isfinite(found.alpha):
        return []
    details = {
        "alpha": round(found.alpha, 4),
        "agree": round(found.agree, 4),
        "pairs_with_several_annotators": found.pairs,
    }
    title = f"Two annotators agree on {found.agree:.0%} of shared pairs"
    chance = (
        f"chance gives {found.by_chance:.0%} (Krippendorff's alpha {found.alpha:.2f} over "
        f"{count(found.pairs, 'pair')}; 1 is full agreement, 0 is chance)."
    )
    seen = f"Two annotators give the same answer to a pair in {found.agree:.0%} of cases; {chance}"
    level = _level(found)
    if level is None:
        return []
    severity, code, than, adds, remedy = level
    title, why = f"{title}, {than}", f"{sentence(chance)}{adds}"
    return [Finding(severity, code, f"{seen}{adds}", remedy, details, title=title, why=why)]


def _level(found: Agreement) -> tuple[Severity, str, str, str, str] | None:
    """Return how serious the level of agreement is, and what is said of it."""
    if (
        found.alpha < _BEYOND_CHANCE * found.error
        and found.alpha + 2.0 * found.error >= _NEXT_TO_NONE
    ):
        return (
            "note",
            "unclear-agreement",
            "perhaps by chance",
            " There are too few shared pairs to tell this from chance.",
            (
                "Have more pairs judged by two people. If agreement stays low, check that everyone "
                "was asked the same question."
            ),
        )
    if found.alpha < _BEYOND_CHANCE * found.error:
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


def infit(fitted: Fitted) -> FloatArray:
    """Return each annotator's infit mean-square.

    It is Σ (y − p)² / Σ p (1 − p) over decided answers: 1 if they vary as the model with the
    annotator's own reliability expects. Who calls an easy pair a tie may be slow to decide, and has
    not erred. An answer of weight below 1 counts as so much of one, as it does in the reliability:
    of answers that hardly count, that is the usual one, and is not held against whoever gave them.

    Examples
    --------
    >>> import aggcal
    >>> rows = [(u, a, b) for u in ("ann", "bob") for a, b in ("ab", "bc", "ac")]
    >>> bool((infit(Fitted.of(aggcal.read_judgments(rows))) < 1.0).all())
    True
    """
    judgments, m = fitted.judgments, fitted.judgments.n_annotators

    def squares(
        p: FloatArray, outcome: FloatArray, number: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        return number * (p * (1.0 - p)), number * np.square(outcome - p)

    rows = elementwise(squares, fitted.probability, judgments.outcome, fitted.number, results=2)
    expected, off = (sums(judgments.annotator, part, m) for part in rows)
    return np.asarray(off / np.maximum(expected, 1e-12))
