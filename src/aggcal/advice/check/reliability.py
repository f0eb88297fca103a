"""Annotators whose answers run against the others', or look like tossing coins."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from aggcal._core.arrays import (
    BoolArray,
    CodeArray,
    FloatArray,
    IntArray,
    elementwise,
    starts_of,
    sums,
)
from aggcal.advice.check.annotator_mixture import decided
from aggcal.advice.check.camp_signs import FirstSign
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.own_order import (
    follow_an_order,
    may_follow_an_order,
    rather_than_opposite,
)
from aggcal.advice.check.row_sums import Seen
from aggcal.advice.check.testing import benjamini_hochberg, holm
from aggcal.aggregation.links import LOGISTIC
from aggcal.aggregation.uncertainty import wilson_interval

_RATE = 0.01
"""Chance that a study names anybody honest as reversed or guessing: a higher one finds more, and
accuses more. Where the scores are poorly known the measured chance is up to three times this one
(0.02 gave 4% in the worst shapes of `benchmarks/check_rates.py`), so it is set below the 3% wanted.
"""
_LARGEST_OPPOSITE = 0.45
"""Share of agreement up to which answers may be called the opposite of the others'."""
_NOT_A_COIN = 0.025
"""Chance, for one who tosses a coin, below which answers are told from that, on either side:
whoever is worse is called reversed and not guessing; whoever is better, if only a little, is not
said to guess.
"""
_WORTH_A_LOOK = 2.0
"""Standard errors above chance up to which an annotator is looked at more closely; all others agree
with the consensus beyond doubt.
"""
WEAKLY, _SURE_NOT_EVEN = 0.6, 0.95
"""Share of agreement with the others that is following them weakly, and the level of the interval
that must lie below it before anybody is said to guess. Beside people who hardly ever err, somebody
who does so in 4 answers of 10 looks like a coin. A higher share, or a lower level, accuses more of
those; the reverse leaves more guessers unnamed (this one 1 in 10 of those who were named)."""
_SURE_TURNED = 0.95
"""Probability of being reversed and not guessing, given how many of each kind there seem to be,
above which somebody is called reversed: a lower one calls some of many guessers reversed."""
_MAYBE_TURNED = 0.1
"""The same probability, above which nobody is said to guess: a lower one leaves more guessers
unnamed (this one 2 in 100), a higher one calls more of the reversed guessers."""
_PROVEN = 0.05
"""Share of those called reliable who may be guessing, at most: a lower one calls fewer reliable."""
_DOUBTFUL = 0.5
_CARELESS = 4.0
"""Nats by which carelessness explains the answers of all who seem to guess better than coins do,
above which none of them is said to guess: a lower one leaves more guessers unnamed (this one in 1
study of 400), a higher one accuses more of the careless."""
_FEWEST = 3
"""Annotators: of one alone, or of two, there are no others who could be right."""
_GUESSING, _REVERSED = 1, 2  # columns of the posterior; 0 is honest


@dataclass(frozen=True, eq=False)
class Strays:
    """Annotators who do not judge as the others do.

    ``reversed`` and ``guessing`` are beyond doubt; ``doubtful`` are more likely guessing than
    not, but an honest careless annotator would now and then look the same. ``perhaps_reversed`` do
    not follow the others beyond doubt; they may well be reversed, but a coin may fall as theirs
    did. ``own_order`` do not follow the others beyond doubt, but their answers agree
    with each other.
    """

    reversed: IntArray
    guessing: IntArray
    doubtful: IntArray
    perhaps_reversed: IntArray
    own_order: IntArray
    p_value: FloatArray
    """That an honest annotator agrees as little (1 where nobody would ask; a lower bound where
    nobody is told of it)."""
    p_value_if_tossed: FloatArray
    """That someone who tosses a coin agrees as little."""
    agreement: FloatArray
    """Share of each annotator's answers that the consensus of the others confirms."""
    expected: FloatArray
    """The same, expected of a typical annotator on the same pairs."""
    decided: IntArray
    """How many answers of each annotator were no tie."""
    proven: BoolArray
    """Who agrees more than those who toss coins would, so many annotators considered."""

    @property
    def named(self) -> IntArray:
        """All of them, with or without doubt."""
        return np.concatenate(
            [self.reversed, self.guessing, self.doubtful, self.perhaps_reversed, self.own_order]
        )

    def unless(self, sign: FirstSign) -> Strays:
        """Name nobody if there is a sign of camps: members of another camp look the same."""
        if not sign.shows:
            return self
        nobody = self.guessing[:0]
        kept = replace(self, reversed=nobody, perhaps_reversed=nobody, own_order=nobody)
        return replace(kept, guessing=nobody, doubtful=nobody)


def strays(fitted: Fitted, one_sided: IntArray | None = None) -> Strays:
    """Find them, each judged by the consensus of all the others.

    Both are who agrees so little that nobody honest would, with the chance `_RATE` of a single
    wrong name in the study (Holm). Reversed is who agrees with clearly less than half, and less
    than someone who tosses a coin would; guessing who does no better than a coin. Neither is
    said of those whose answers follow another order, and the latter of nobody who may do so, may be
    reversed, may follow the others weakly, or belongs to many who together are no coins. Answers to
    one pair, or on one screen, count as they hang together.

    Parameters
    ----------
    fitted
        The study and its fit.
    one_sided
        Annotators who follow a side of the screen, which is not tossing a coin.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal.simulation import simulate
    >>> study = simulate(items=15, annotators=10, judgments=1000, reversed_share=0.1, seed=1)
    >>> fitted = Fitted.of(aggcal.read_judgments(study.judgments))
    >>> strays(fitted).reversed.tolist() == np.flatnonzero(study.reliability < 0).tolist()
    True
    """
    judgments, population, gap = fitted.judgments, fitted.population, fitted.gap
    m, owner = judgments.n_annotators, judgments.annotator

    def looked_at(
        gap: FloatArray, outcome: FloatArray, number: FloatArray, probability: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        size, agrees = np.abs(gap), np.where(gap >= 0.0, outcome, 1.0 - outcome)
        agreed = number * size * (agrees - 0.5)
        return agreed, number * np.square(size), gap * (outcome - probability)

    columns = gap, judgments.outcome, fitted.number, fitted.probability
    agreed, squares, off = elementwise(looked_at, *columns, results=3)
    total, sure = sums(owner, agreed, m), sums(owner, squares, m)
    inflation = fitted.clusters.inflation(off)
    low, high = _tossed(fitted, total, sure, inflation)
    sided = np.zeros(m, dtype=bool)
    if one_sided is not None:
        sided[one_sided] = True
    # Too few screens tell neither against nor for anybody.
    judged = (m >= _FEWEST) & (low < 1.0)
    near = np.flatnonzero(judged & (2.0 * total <= _WORTH_A_LOOK * np.sqrt(sure)))
    # Of few answers, those of the reversed may pass for tossed; the other annotators tell more.
    maybe_turned = population.posterior[:, _REVERSED] > _MAYBE_TURNED
    may_guess = judged & ~sided & (high > _NOT_A_COIN) & ~maybe_turned
    may_guess &= population.posterior[:, _GUESSING] > _DOUBTFUL
    honest = _if_honest(fitted, total, near, inflation)
    agreement, expected, given = _agreement(fitted)
    stray = judged & holm(np.where(judged, honest, 1.0), _RATE)
    # Of many who guess, some agree with clearly less than half: those are not reversed.
    turned = stray & (low <= _NOT_A_COIN) & (population.posterior[:, _REVERSED] > _SURE_TURNED)
    turned &= _opposite(fitted, agreement, given)
    coin = judged & ~turned & ~sided & (high > _NOT_A_COIN)
    perhaps, guessing = coin & stray & maybe_turned, coin & stray & ~maybe_turned
    # Another order may run against that of the others by chance.
    against = np.flatnonzero(turned | perhaps)
    other = against[rather_than_opposite(fitted, against)]
    turned[other], perhaps[other] = False, False
    doubtful = may_guess & ~stray
    own = _by_another_order(fitted, guessing, doubtful)
    weakly = guessing & ~_not_even_weakly(fitted, agreement, inflation)
    guessing, doubtful = guessing & ~weakly, doubtful | weakly
    own[other] = True
    order = np.argsort(honest, kind="stable")
    return Strays(
        order[turned[order]],
        order[guessing[order]],
        order[doubtful[order]],
        order[perhaps[order]],
        order[own[order]],
        honest,
        low,
        agreement,
        expected,
        given.astype(np.int64),
        benjamini_hochberg(high, _PROVEN),
    )


def _by_another_order(fitted: Fitted, guessing: BoolArray, doubtful: BoolArray) -> BoolArray:
    """Return who goes by another order, taken out of those who seem to guess.

    Whoever may well do so is doubtful only, and so are all where carelessness explains it better.
    """
    random = np.flatnonzero(guessing | doubtful)
    ordered = np.zeros(len(guessing), dtype=bool)
    ordered[random] = follow_an_order(fitted, random)
    own = guessing & ordered
    guessing &= ~ordered
    doubtful &= ~ordered
    named = np.flatnonzero(guessing)
    if fitted.population.care <= _CARELESS:
        named = named[may_follow_an_order(fitted, named)]
    guessing[named], doubtful[named] = False, True
    return own


def _tossed(
    fitted: Fitted, total: FloatArray, square: FloatArray, inflation: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the chances that a coin agrees as little as each annotator does, and as much.

    Whatever the scores, a coin agrees with half of them, so this holds however uncertain they are.
    A coin may be loaded to one side of the screen; then only how the answers vary with the items,
    given how often each side was chosen, tells against the annotator.
    """
    judgments, gap, m = fitted.judgments, fitted.gap, fitted.judgments.n_annotators
    owner, number = judgments.annotator, fitted.number
    z = 2.0 * total / np.sqrt(np.maximum(square, 1e-300))
    if judgments.sided:
        given = np.maximum(sums(owner, number, m), 1e-300)
        share = sums(owner, number * judgments.outcome, m) / given
        middle = sums(owner, number * gap, m) / given

        def from_middle(
            who: CodeArray, gap: FloatArray, number: FloatArray, outcome: FloatArray
        ) -> tuple[FloatArray, FloatArray]:
            apart = gap - middle[who]
            return number * apart * outcome, number * np.square(apart)

        columns = owner, gap, number, judgments.outcome
        toward, around = elementwise(from_middle, *columns, results=2)
        along = sums(owner, toward, m)
        loaded = share * (1.0 - share) * sums(owner, around, m)
        tilted = along / np.sqrt(np.maximum(loaded, 1e-300))
        # Of the two tests, the one that accuses less counts.
        tilted = np.where(loaded > 1e-12 * square, tilted, 0.0)
        z = np.where(np.abs(tilted) < np.abs(z), tilted, z)
    return fitted.clusters.tail(z, inflation), fitted.clusters.tail(-z, inflation)


def _if_honest(
    fitted: Fitted,
    total: FloatArray,
    near: IntArray,
    inflation: FloatArray,
) -> FloatArray:
    """Return the chance that an honest annotator agrees as little as each of these; 1 for others.

    Sums over thousands of pairs take a while, and who agrees beyond doubt needs none.
    """
    judgments, gap, others = fitted.judgments, fitted.gap, fitted.others
    seen = Seen(
        starts_of(judgments.annotator, judgments.n_annotators),
        judgments.left,
        judgments.right,
        others.gap,
        fitted.number,
        np.abs(gap),
        np.ascontiguousarray(others.errors.T),
        others.wider,
    )
    found: FloatArray = np.ones(judgments.n_annotators)
    found[near] = fitted.population.p_values_if_honest(
        total,
        seen,
        near,
        inflation=inflation,
        degrees_of_freedom=fitted.clusters.degrees_of_freedom,
    )
    return found


def _agreement(fitted: Fitted) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return how far each annotator agrees, a typical one would, and of how many answers."""
    judgments, gap, m = fitted.judgments, fitted.gap, fitted.judgments.n_annotators
    typical = fitted.population.typical_slope

    def counted(
        gap: FloatArray, outcome: FloatArray, decided: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        agreeing = np.where(gap > 0.0, outcome, 1.0 - outcome)
        agreeing = np.where(gap == 0.0, 0.5, agreeing)
        number = decided.astype(np.float64)
        return number * agreeing, number * LOGISTIC.probability(typical * np.abs(gap))

    number = decided(judgments)
    given = sums(judgments.annotator, number, m)
    some_ = np.maximum(given, 1.0)
    agreed, usual = elementwise(counted, gap, judgments.outcome, number, results=2)
    expected = sums(judgments.annotator, usual, m) / some_
    return sums(judgments.annotator, agreed, m) / some_, expected, given


def _not_even_weakly(fitted: Fitted, agreement: FloatArray, inflation: FloatArray) -> BoolArray:
    """Say of whom it would have been seen if they followed the others weakly."""
    independent = sums(fitted.judgments.annotator, fitted.number, len(agreement)) / inflation
    _, high = wilson_interval(agreement * independent, independent, _SURE_NOT_EVEN)
    return high < WEAKLY


def _opposite(fitted: Fitted, agreement: FloatArray, given: FloatArray) -> BoolArray:
    """Say whose agreement is below one half beyond doubt, and by enough to matter."""
    independent = sums(fitted.judgments.annotator, fitted.number, len(given))
    _, high = wilson_interval(agreement * independent, independent, 0.9)
    return (agreement <= _LARGEST_OPPOSITE) & (high < 0.5)  # noqa: PLR2004
