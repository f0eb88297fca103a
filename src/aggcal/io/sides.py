"""Tell sides on which items were shown from columns that hold the winner and the loser."""

from __future__ import annotations

from dataclasses import replace

from aggcal.data.judgments import Judgments

_FEWEST = 12
"""Decided judgments for one side to be no chance: it would choose one side alone once in 2,000
studies of so many; with more, small files of winners would keep a preference that is none."""

_EITHER = 0.5


def checked_sides(judgments: Judgments) -> Judgments:
    """Take left and right for winner and loser where one of them was chosen every time.

    A table that was written with the winner on the left would otherwise show nothing but a
    preference for the left side, which explains every answer, and no order.

    Examples
    --------
    >>> from aggcal import read_judgments
    >>> rows = [("ann", f"i{k}", f"i{k + 1}", "left") for k in range(12)]
    >>> read_judgments(rows).sided, read_judgments(rows[1:]).sided
    (False, True)
    >>> read_judgments([*rows, ("ann", "i3", "i1", "right")]).sided
    True
    """
    if not judgments.sided or not len(judgments.outcome):
        return judgments
    low, high = judgments.outcome.min(), judgments.outcome.max()
    side = "left" if low >= _EITHER < high else "right" if high <= _EITHER > low else None
    if side is None:
        return judgments
    decided = int(judgments.count[judgments.outcome != _EITHER].sum())
    if decided < _FEWEST:
        return judgments
    note = (
        f"Every decided judgment is for the {side} item, so left and right are taken for winner "
        "and loser, not for the sides on which items were shown."
    )
    if side == "right":
        note = note.replace("winner and loser", "loser and winner")
    return replace(judgments, sided=False, notes=(*judgments.notes, note))
