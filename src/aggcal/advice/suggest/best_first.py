"""Choose a batch among the candidates that are worth most at first, where that changes nothing.

What a judgment is worth falls with what was asked before. So none of those left out can become
better than all that were chosen, if at first none was worth more than the last of them. Where one
might be, those that were worth most when they were last valued are valued anew, and no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.machine import one_thread
from aggcal._core.progress import counted
from aggcal.advice.suggest.annotators import Turn

if TYPE_CHECKING:
    from aggcal.advice.suggest.choosing import Batch

_SHORT, _VALUED = 500, 4000
"""Candidates that are looked at for each pair, and how many are valued anew at a time when these
are not the best for certain: more take longer each time, and fewer are sooner too few."""
_PER_PAIR = 100
"""Candidates that are set aside for each pair that is asked for: of 1,000 items, 80 were at first
worth more than the last of 400 pairs. More take longer to look through, and fewer too often prove
too few; then four times as many are set aside."""
_GROWTH = 1.001
"""How much more a judgment may be worth after others than before: over 100 pairs of 1,000 items no
step made it more than 1.00002 times as much, and all of them together less."""


@one_thread()
def chosen_batch(whole: Batch, asked: Sequence[Turn]) -> Batch:
    """Choose pairs for all turns, among the best candidates or, if need be, among all.

    Parameters
    ----------
    whole
        The batch of all candidates, of which nothing was chosen.
    asked
        Who is asked.
    """
    best = _best_first(whole, asked)
    if best is not None:
        return best
    for turn in counted(asked, "choosing pairs"):
        whole.choose(turn)
    return whole


def _best_first(whole: Batch, asked: Sequence[Turn]) -> Batch | None:
    """Choose among the best; None where the result might not be the same as among all.

    That is so where pieces are to be joined, where several are asked (what a judgment is worth
    depends on who gives it) or explored, and where there are few candidates anyway.
    """
    person = asked[0].person
    few = whole.n_candidates <= 2 * _VALUED
    if few or any(t.person is not person or t.exploring for t in asked):
        return None
    worth = whole.worth(person)
    if worth is None:
        return None
    whole = whole.copy()
    pool = _Pool(whole, worth, max(2 * _VALUED, _PER_PAIR * len(asked)))
    part, floor, ahead = None, 0.0, 0
    for k, turn in enumerate(counted(asked, "choosing pairs")):
        if part is not None and not ahead:
            ahead = part.choose_clear(person, floor, len(asked) - k)
        if ahead:
            ahead -= 1
        elif part is None or part.choose(turn, floor) is None:
            best = pool.best()
            while best is None and pool.size < len(worth) - 1:
                pool = _Pool(whole, worth, 4 * pool.size)
                best = pool.best()
            if best is None or best[0].choose(turn, best[1]) is None:
                return None
            part, floor = best
    return part


def _parted(worth: FloatArray, number: int) -> tuple[IntArray, float]:
    """Return the candidates that are worth most, in order of position, and what others are at most.

    Examples
    --------
    >>> _parted(np.array([2.0, 5.0, 1.0, 4.0]), 2)
    (array([1, 3]), 2.0)
    """
    order = np.argpartition(-worth, number)
    return np.sort(order[:number]), float(worth[order[number]])


class _Pool:
    """Candidates that are set aside, with what each was worth when it was last valued.

    Parameters
    ----------
    whole
        The batch of all candidates.
    worth
        What each of them was worth at any time before.
    size
        How many to set aside.
    """

    def __init__(self, whole: Batch, worth: FloatArray, size: int) -> None:
        self.size = min(size, len(worth) - 1)
        kept, self._outside = _parted(worth, self.size)
        self._batch = whole.narrowed(kept)
        self._worth = self._batch.worth_of(np.arange(self.size))

    def best(self) -> tuple[Batch, float] | None:
        """Return the batch of the best candidates, and what the others may be worth at most.

        None where others may be worth as much as the best.
        """
        valued = np.zeros(self.size, dtype=bool)
        while True:
            top, rest = _parted(self._worth, _VALUED)
            known = bool(valued[top].all())
            if not known:
                self._worth[top], valued[top] = self._batch.worth_of(top), True
            within, others = _parted(self._worth[top], _SHORT)
            floor = _GROWTH * max(others, rest, self._outside)
            if float(self._worth[top].max()) > floor:
                return self._batch.narrowed(top[within]), floor
            if known:
                return None
