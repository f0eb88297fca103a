"""Choose a batch among the candidates that are worth most at first, where that changes nothing.

What a judgment is worth falls with what was asked before. So none of those left out can become
better than all that were chosen, if at first none was worth more than the last of them. Where one
might be, and after some pairs, all are valued anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from aggcal._core.blas import in_one_thread
from aggcal._core.progress import counted
from aggcal.advice.suggest.annotators import Turn
from aggcal.errors import OptionError

if TYPE_CHECKING:
    from aggcal.advice.suggest.batch import Batch

_SHORT, _ROUND = 4000, 150
"""Candidates that are looked at, and for how many pairs before all are valued anew: more candidates
take longer for each pair, and fewer are sooner too few; more pairs in a round take longer each,
and fewer let all be valued more often."""
_GROWTH = 1.001
"""How much more a judgment may be worth after others than before: over 100 pairs of 1,000 items no
step made it more than 1.00002 times as much, and all of them together less."""


@in_one_thread
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
    if whole.n_candidates < 2 * _SHORT or any(t.person is not person or t.exploring for t in asked):
        return None
    part, floor, since = None, 0.0, 0
    try:
        for turn in counted(asked, "choosing pairs"):
            if part is None or since == _ROUND or part.choose(turn, floor) is None:
                whole = whole if part is None else whole.after(part)
                best = _best(whole, turn)
                if best is None:
                    return None
                part, floor, since = *best, 0
                if part.choose(turn, floor) is None:
                    return None
            since += 1
    except OptionError:  # among all candidates there may be more that can be asked
        return None
    return part


def _best(whole: Batch, turn: Turn) -> tuple[Batch, float] | None:
    """Return the batch of the best candidates, and what the others may be worth at most."""
    worth = whole.worth(turn.person)
    if worth is None:
        return None
    order = np.argpartition(-worth, _SHORT)
    kept, rest = np.sort(order[:_SHORT]), order[_SHORT:]
    return whole.narrowed(kept), _GROWTH * float(worth[rest].max())
