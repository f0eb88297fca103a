"""Whether answers that do not follow the consensus follow another order, or none."""

from __future__ import annotations

from math import sqrt

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, sums
from aggcal.advice.check.context import Fitted

_AGREE = 2.0
"""Standard deviations of chance above which answers are taken to agree with each other. A lower one
leaves more guessers unnamed (this one 1 in 20), a higher one accuses more of those who go by an
order of their own."""
_DRAWS = 60  # of signs: more take longer, fewer blur the deviation of the null


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
    number, n, groups = len(who), fitted.judgments.n_items, fitted.clusters
    if not number:
        return np.zeros(0, dtype=bool)
    position: IntArray = np.full(groups.n_annotators, -1)
    position[who] = np.arange(number)
    mine = np.flatnonzero(position[groups.owner[groups.cluster]] >= 0)
    row, group = groups.row[mine], groups.cluster[mine]
    person = position[groups.owner[group]]
    pull = _pulls(fitted, row, person, groups.number[mine], number)
    # What each group of answers says of each item.
    left, right = (
        side[row].astype(np.int64) for side in (fitted.judgments.left, fitted.judgments.right)
    )
    codes = np.concatenate([group * n + left, group * n + right])
    codes, at = np.unique(codes, return_inverse=True)
    said = np.bincount(at.ravel(), np.concatenate([pull, -pull]), minlength=len(codes))
    group, item = codes // n, codes % n
    person = position[groups.owner[group]]
    own = sums(person, np.square(said), number)
    random = np.random.default_rng(0)
    alone, with_others = np.zeros((2, _DRAWS + 1, number))
    # What each of them says of each item: most never saw most items.
    cells, at = np.unique(person * n + item, return_inverse=True)
    whose, which = cells // n, cells % n
    for draw in range(_DRAWS + 1):
        sign = np.where(random.random(len(groups.owner)) < 0.5, -1.0, 1.0)[group]  # noqa: PLR2004
        cell = np.bincount(at, said * sign if draw else said)
        squares, of_all = sums(whose, np.square(cell), number), sums(which, cell, n)
        alone[draw] = squares - own
        with_others[draw] = sums(whose, cell * of_all[which], number) - squares
    each, common = _scores(alone), float(_scores(with_others.sum(axis=1)))
    # Both say it of all of them: each with oneself, and each with the others.
    joint = (common + float(each.sum()) / sqrt(number)) / sqrt(2.0)
    follows: BoolArray = each > _AGREE
    if number > 1 and joint > _AGREE:
        follows |= (alone + with_others)[0] > 0.0
    return follows


def _pulls(
    fitted: Fitted, row: IntArray, person: IntArray, given: FloatArray, number: int
) -> FloatArray:
    """Return what each answer says for the left item that neither habit nor the consensus explains.

    Who chooses one side more often prefers no item by that. Who follows the consensus a little, or
    runs against it, has no other order.
    """
    outcome, gap = fitted.judgments.outcome[row], fitted.gap[row]
    usual = np.full(number, 0.5)
    if fitted.judgments.sided:
        total = np.maximum(sums(person, given, number), 1e-300)
        usual = sums(person, given * outcome, number) / total
    off = outcome - usual[person]
    along = sums(person, given * off * gap, number)
    slope = along / np.maximum(sums(person, given * np.square(gap), number), 1e-300)
    pulls: FloatArray = given * (off - slope[person] * gap)
    return pulls


def _scores(values: FloatArray) -> FloatArray:
    """Return the first by the deviation of the others, whose mean is 0."""
    deviation = np.sqrt(np.mean(np.square(values[1:]), axis=0))
    found: FloatArray = values[0] / np.maximum(deviation, 1e-300)
    return found
