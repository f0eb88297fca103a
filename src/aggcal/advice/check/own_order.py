"""Whether answers that do not follow the consensus follow another order, or none."""

from __future__ import annotations

from math import sqrt

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, sums
from aggcal.advice.check.context import Fitted
from aggcal.aggregation.links import LOGISTIC

_AGREE = 2.0
"""Standard deviations of chance above which answers are taken to agree with each other. A lower one
leaves more guessers unnamed (this one 1 in 20), a higher one accuses more of those who go by an
order of their own."""
_CLEARLY = 3.0
"""The same, of answers that run against the consensus: of 246 reversed annotators 1 in 100 had more
in common than that, of 50 with an order of their own 3 in 4."""
_OWN_PART = 0.5
"""Part of what such answers have in common that the consensus, turned round, must leave unexplained
before they are said to follow another order."""
_MISSED = 0.05
"""Share of annotators with an order of their own whose answers agree as little with each other as
those of one who is said to guess, at most. At 0.15, three times as many of the former were accused;
this one leaves half of the guessers unnamed who gave two answers an item, and 1 in 20 who gave
ten."""
_DRAWS = 60  # of signs: more take longer, fewer blur the deviation of the null
_ORDERS = 200  # that are simulated: more take longer, fewer blur the share


def follow_an_order(fitted: Fitted, who: IntArray) -> BoolArray:
    """Tell which of these annotators give answers that agree with each other, if not with others.

    Somebody who tosses a coin prefers an item against one opponent as often as not after having
    preferred it against another one. Who goes by an order prefers the same items again. Two answers
    count if they share an item and were not given together: on one screen, or to one pair. The
    null has the signs of such groups of answers drawn anew. If that is so of these
    annotators together, and they prefer the same items, it is enough that nothing in the answers
    of one of them speaks against it.

    Parameters
    ----------
    fitted
        The study and its fit.
    who
        Annotators whose answers look random beside the consensus.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal.simulation import simulate
    >>> shape = {"items": 20, "annotators": 10, "judgments": 2000, "seed": 1}
    >>> def followed(**fault: float) -> list[bool]:
    ...     study = simulate(**shape, **fault)
    ...     odd = np.flatnonzero((study.role == "camp") | (study.role == "guesses"))
    ...     return follow_an_order(Fitted.of(aggcal.read_judgments(study.shown)), odd).tolist()
    >>> followed(camp_share=0.1), followed(guessing_share=0.2)
    ([True], [False, False])
    """
    number = len(who)
    if not number:
        return np.zeros(0, dtype=bool)
    given = _Given(fitted, who)
    alone, with_others = given.by_chance(given.said(given.outcome))
    each, common = _scores(alone), float(_scores(with_others.sum(axis=1)))
    # Both say it of all of them: each with oneself, and each with the others.
    joint = (common + float(each.sum()) / sqrt(number)) / sqrt(2.0)
    follows: BoolArray = each > _AGREE
    if number > 1 and joint > _AGREE:
        follows |= (alone + with_others)[0] > 0.0
    return follows


def may_follow_an_order(fitted: Fitted, who: IntArray) -> BoolArray:
    """Tell which of these may go by an order of their own: their answers are too few to exclude it.

    Orders as spread as the consensus, and reliabilities as those of the honest, are drawn; so are
    answers to the same questions. Who has such an order agrees with oneself as little as one of
    these annotators with a chance that is compared with `_MISSED`.

    Examples
    --------
    Of 60 answers about 40 items nobody can tell; 400 about 10 items show that there is no order:

    >>> import aggcal
    >>> from aggcal.simulation import simulate
    >>> def may(items: int, judgments: int) -> list[bool]:
    ...     shape = {"items": items, "annotators": 10, "judgments": judgments, "seed": 3}
    ...     study = simulate(**shape, guessing_share=0.1)
    ...     odd = np.flatnonzero(study.role == "guesses")
    ...     return may_follow_an_order(Fitted.of(aggcal.read_judgments(study.shown)), odd).tolist()
    >>> may(40, 600), may(10, 4000)
    ([True], [False])
    """
    if not len(who):
        return np.zeros(0, dtype=bool)
    given, random = _Given(fitted, who), np.random.default_rng(1)
    seen = given.alone(given.said(given.outcome))
    # As they are estimated: the wider spread that accuses fewer of carelessness would take those
    # for orders that nobody can tell from guesses.
    spread, honest = float(np.std(fitted.scores)), fitted.population
    less = np.zeros(len(who))
    for _ in range(_ORDERS):
        slope = np.exp(honest.location + honest.sd * random.standard_normal(len(who)))
        score = spread * random.standard_normal(len(given.whose))
        gap = slope[given.person] * (score[given.left] - score[given.right])
        outcome = random.random(len(gap)) < LOGISTIC.probability(gap)
        less += given.alone(given.said(outcome.astype(np.float64))) <= seen
    may: BoolArray = less >= _MISSED * _ORDERS
    return may


def rather_than_opposite(fitted: Fitted, who: IntArray) -> BoolArray:
    """Tell which of these follow another order, and not that of the others turned round.

    An order that is unrelated to the consensus may run against it by chance. What the answers of
    such an annotator have in common is little explained by the consensus.

    Parameters
    ----------
    fitted
        The study and its fit.
    who
        Annotators who agree with less than half of what the others say.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal.simulation import simulate
    >>> shape = {"items": 20, "annotators": 10, "judgments": 2000, "seed": 1}
    >>> def other(**fault: float) -> list[bool]:
    ...     study = simulate(**shape, **fault)
    ...     odd = np.flatnonzero((study.role == "camp") | (study.role == "reversed"))
    ...     return rather_than_opposite(Fitted.of(aggcal.read_judgments(study.shown)), odd).tolist()
    >>> other(camp_share=0.1), other(reversed_share=0.1)
    ([True], [False])
    """
    if not len(who):
        return np.zeros(0, dtype=bool)

    def agree(some: IntArray, *, beyond: bool) -> FloatArray:
        given = _Given(fitted, some)
        return _scores(given.by_chance(given.said(given.outcome, beyond=beyond))[0])

    beyond, other = agree(who, beyond=True), np.zeros(len(who), dtype=bool)
    clear = np.flatnonzero(beyond > _CLEARLY)
    if len(clear):
        other[clear] = beyond[clear] > _OWN_PART * agree(who[clear], beyond=False)
    return other


class _Given:
    """The answers of some annotators, and what groups of them say of each item."""

    def __init__(self, fitted: Fitted, who: IntArray) -> None:
        self.number, n, groups = len(who), fitted.judgments.n_items, fitted.clusters
        position: IntArray = np.full(groups.n_annotators, -1)
        position[who] = np.arange(self.number)
        mine = np.flatnonzero(position[groups.owner[groups.cluster]] >= 0)
        row, group = groups.row[mine], groups.cluster[mine]
        self.person, self.weight = position[groups.owner[group]], groups.number[mine]
        self.outcome, self.gap = fitted.judgments.outcome[row], fitted.gap[row]
        self.sided, self.groups = fitted.judgments.sided, len(groups.owner)
        # What each group of answers says of each item.
        left, right = (
            side[row].astype(np.int64) for side in (fitted.judgments.left, fitted.judgments.right)
        )
        codes = np.concatenate([group * n + left, group * n + right])
        codes, at = np.unique(codes, return_inverse=True)
        self.entry, self.group = at.ravel(), codes // n
        self.owner = position[groups.owner[self.group]]
        # What each of them says of each item: most never saw most items.
        cells, at = np.unique(self.owner * n + codes % n, return_inverse=True)
        self.cell, self.whose = at.ravel(), cells // n
        self.items, self.which = n, cells % n
        self.left, self.right = np.split(self.cell[self.entry], 2)

    def said(self, outcome: FloatArray, *, beyond: bool = True) -> FloatArray:
        """Return what each group of answers says of each item that habit does not explain.

        Who chooses one side more often prefers no item by that. ``beyond`` leaves out what the
        consensus explains, too: who follows it a little, or runs against it, has no other order.
        """
        person, weight, number = self.person, self.weight, self.number
        usual = np.full(number, 0.5)
        if self.sided:
            total = np.maximum(sums(person, weight, number), 1e-300)
            usual = sums(person, weight * outcome, number) / total
        pull = outcome - usual[person]
        if beyond:
            along = sums(person, weight * pull * self.gap, number)
            slope = along / np.maximum(sums(person, weight * np.square(self.gap), number), 1e-300)
            pull = pull - slope[person] * self.gap
        pull = weight * pull
        both = np.concatenate([pull, -pull])
        found = np.bincount(self.entry, both, minlength=len(self.group))
        return found.astype(np.float64, copy=False)

    def alone(self, said: FloatArray) -> FloatArray:
        """Return how far each annotator's answers agree with each other."""
        squares = sums(self.whose, np.square(np.bincount(self.cell, said)), self.number)
        found: FloatArray = squares - sums(self.owner, np.square(said), self.number)
        return found

    def by_chance(self, said: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how far answers agree, with one's own and the others', then with drawn signs."""
        random, number = np.random.default_rng(0), self.number
        own = sums(self.owner, np.square(said), number)
        alone, with_others = np.zeros((2, _DRAWS + 1, number))
        for draw in range(_DRAWS + 1):
            sign = np.where(random.random(self.groups) < 0.5, -1.0, 1.0)[self.group]  # noqa: PLR2004
            cell = np.bincount(self.cell, said * sign if draw else said)
            squares = sums(self.whose, np.square(cell), number)
            of_all = sums(self.which, cell, self.items)
            alone[draw] = squares - own
            with_others[draw] = sums(self.whose, cell * of_all[self.which], number) - squares
        return alone, with_others


def _scores(values: FloatArray) -> FloatArray:
    """Return the first by the deviation of the others, whose mean is 0."""
    deviation = np.sqrt(np.mean(np.square(values[1:]), axis=0))
    found: FloatArray = values[0] / np.maximum(deviation, 1e-300)
    return found
