"""Choose a batch among the candidates that are worth most at first, where that changes nothing.

What a judgment is worth falls with what was asked before. So none of those left out can become
better than all that were chosen, if at first none was worth more than the last of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from aggcal._core.progress import counted
from aggcal.advice.suggest.annotators import Turn
from aggcal.errors import OptionError

if TYPE_CHECKING:
    from aggcal.advice.suggest.batch import Batch

_SHORT, _FEWEST = 100, 40
"""Candidates for each pair that are looked at, and for how many pairs at least: more take longer,
and fewer are sooner too few, so that all must be looked at."""
_GROWTH = 1.001
"""How much more a judgment may be worth after others than before: over 100 pairs of 1,000 items no
step made it more than 1.00002 times as much, and all of them together less."""


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
    number, person = _SHORT * max(_FEWEST, len(asked)), asked[0].person
    if 2 * number > whole.n_candidates or any(t.person is not person or t.exploring for t in asked):
        return None
    worth = whole.worth(person)
    if worth is None:
        return None
    order = np.argpartition(-worth, number)
    batch, floor = whole.narrowed(np.sort(order[:number])), float(worth[order[number:]].max())
    try:
        for turn in counted(asked, "choosing pairs"):
            if batch.choose(turn) <= _GROWTH * floor:
                return None
    except OptionError:  # among all candidates there may be more that can be asked
        return None
    return batch
