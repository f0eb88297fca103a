"""Annotators whose answers run against the others', or look like tossing coins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from aggcal.arrays import FloatArray, IntArray, sums
from aggcal.check.evidence import discoveries, odds_against
from aggcal.check.findings import LISTED, Finding, Severity, listed, rounded
from aggcal.check.fitted import Fitted
from aggcal.check.population import decided, sizes_of
from aggcal.errors import count, some
from aggcal.models.links import link

_RATE = 0.03
_BEYOND_DOUBT = 0.95
_DOUBTFUL = 0.5
_HONEST, _GUESSING, _REVERSED = range(3)


@dataclass(frozen=True, eq=False)
class Strays:
    """Annotators who do not judge as the others do.

    ``reversed`` and ``guessing`` are beyond doubt; ``doubtful`` are more likely guessing than
    not, but an honest careless annotator would now and then look the same.
    """

    reversed: IntArray
    guessing: IntArray
    doubtful: IntArray
    chance: FloatArray
    """That an honest annotator errs as much (1 where nobody would ask)."""
    agreement: FloatArray
    """Share of each annotator's answers that the consensus of the others confirms."""
    expected: FloatArray
    """The same, expected of a typical annotator on the same pairs."""
    decided: IntArray
    """How many answers of each annotator were no tie."""


def strays(fitted: Fitted, *, seed: int = 0) -> Strays:
    """Find them, each judged by the consensus of all the others.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal.simulate import simulate
    >>> study = simulate(items=15, annotators=10, judgments=1000, reversed_share=0.1, seed=1)
    >>> fitted = Fitted.of(aggcal.read_judgments(study.judgments))
    >>> strays(fitted).reversed.tolist() == np.flatnonzero(study.reliability < 0).tolist()
    True
    """
    judgments, population = fitted.judgments, fitted.population
    m, gap = judgments.n_annotators, fitted.gap
    likely = population.log_likelihoods
    suspects = np.flatnonzero(likely[:, [_GUESSING, _REVERSED]].max(axis=1) > likely[:, _HONEST])
    chance: FloatArray = np.ones(m)
    random = np.random.default_rng(seed)
    for u in suspects.tolist():
        chance[u] = population.chance_if_honest(u, sizes_of(judgments, gap, u), random)
    # Of one annotator alone, or of two, there are no others who could be right.
    accused = discoveries(chance, _RATE)
    accused |= population.posterior[:, _REVERSED] > _BEYOND_DOUBT
    accused &= m > 2  # noqa: PLR2004
    turned = accused & (likely[:, _REVERSED] > likely[:, _GUESSING])
    guessing = accused & ~turned
    doubtful = ~accused & (population.posterior[:, _GUESSING] > _DOUBTFUL) & (m > 2)  # noqa: PLR2004
    agreeing = np.where(gap > 0.0, judgments.outcome, 1.0 - judgments.outcome)
    agreeing = np.where(gap == 0.0, 0.5, agreeing)
    usual = link("logistic").probability(population.typical_slope * np.abs(gap))
    number = decided(judgments)
    given = sums(judgments.annotator, number, m)
    order = np.argsort(chance, kind="stable")
    return Strays(
        order[turned[order]],
        order[guessing[order]],
        order[doubtful[order]],
        chance,
        sums(judgments.annotator, number * agreeing, m) / np.maximum(given, 1.0),
        sums(judgments.annotator, number * usual, m) / np.maximum(given, 1.0),
        given.astype(np.int64),
    )


class _Words(NamedTuple):
    """How one kind of stray is spoken of."""

    severity: Severity
    code: str
    what: str
    remedy: str


_REVERSED_WORDS = _Words(
    "problem",
    "reversed-annotators",
    "answer the opposite of what the others say",
    "they may have read the question the other way round, or swapped buttons: ask them; the "
    "default fit turns their answers round, other methods are misled",
)
_CONTRADICTING_WORDS = _Words(
    "problem",
    "contradicting",
    "answer the opposite of what the others say, too many to call them the ones who are wrong",
    "there may be no common order: ask what each understood by the question, and fit the sides on "
    "their own",
)
_GUESSING_WORDS = _Words(
    "problem",
    "guessing",
    "answer as if tossing a coin",
    "look at how they work and leave them out if they cannot explain it; the default fit gives "
    "them next to no weight, other methods do not",
)
_DOUBTFUL_WORDS = _Words(
    "note",
    "perhaps-guessing",
    "cannot be told from someone tossing a coin, though a careless honest annotator may look the "
    "same",
    "this is no proof: ask for more judgments of each before you decide",
)


def stray_findings(fitted: Fitted, found: Strays, named_already: set[int]) -> list[Finding]:
    """Put strays into words, leaving out those whom a more telling finding names."""
    split = 2 * len(found.reversed) >= fitted.judgments.n_annotators
    kinds = (
        (found.reversed, _CONTRADICTING_WORDS if split else _REVERSED_WORDS),
        (found.guessing, _GUESSING_WORDS),
        (found.doubtful, _DOUBTFUL_WORDS),
    )
    left = [(_unnamed(who, named_already), words) for who, words in kinds]
    return [_finding(fitted, found, who, words) for who, words in left if len(who)]


def _unnamed(who: IntArray, named: set[int]) -> IntArray:
    return np.array([u for u in who.tolist() if u not in named], dtype=np.int64)


def _finding(fitted: Fitted, found: Strays, who: IntArray, words: _Words) -> Finding:
    judgments = fitted.judgments
    ids, first = judgments.annotator_ids[who], int(who[0])
    given = int(found.decided[first])
    verb = words.what if len(who) > 1 else words.what.replace("answer ", "answers ", 1)
    return Finding(
        words.severity,
        words.code,
        f"{count(len(who), 'annotator')} of {judgments.n_annotators:,} {verb} ({some(ids)}; "
        f"'{ids[0]}' agrees with the others in {found.agreement[first]:.0%} of {given:,} "
        f"decided judgments, a typical annotator would in {found.expected[first]:.0%}; an honest "
        f"one does so badly {odds_against(max(float(found.chance[first]), 1e-300))})",
        words.remedy,
        {
            "annotators": listed(ids),
            "number": len(who),
            "decided_judgments": listed_numbers(found.decided[who]),
            "agreement_with_others": rounded(found.agreement[who]),
            "expected_agreement": rounded(found.expected[who]),
            "chance_if_honest": rounded(found.chance[who], 10),
        },
    )


def listed_numbers(numbers: IntArray) -> list[int]:
    """Return the first counts as plain numbers.

    Examples
    --------
    >>> listed_numbers(np.array([3, 4]))
    [3, 4]
    """
    return [int(number) for number in numbers[:LISTED]]
