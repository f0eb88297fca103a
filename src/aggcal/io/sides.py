"""Tell sides on which items were shown from columns that hold the winner and the loser."""

from __future__ import annotations

from dataclasses import replace

from aggcal.data.judgments import Judgments

_FEWEST = 12
"""Decided judgments for one side to be no chance: it would choose one side alone once in 2,000
studies of so many; with more, small files of winners would keep a preference that is none."""

_AT_ONCE = 100_000  # rows: the first of them settle it nearly always
_EITHER = 0.5  # a tie is for no side: it neither shows a preference nor hides one


def checked_sides(judgments: Judgments) -> Judgments:
    """Take left and right for winner and loser where one of them was chosen every time.

    A table that was written with the winner on the left would otherwise show nothing but a
    preference for the left side, which explains every answer, and no order. If annotators did
    choose a side blindly, and items stood on random sides, the answers are coin tosses between
    items: no order is claimed then.

    Examples
    --------
    >>> from aggcal import read_judgments
    >>> rows = [("ann", f"i{k}", f"i{k + 1}", "left") for k in range(12)]
    >>> read_judgments(rows).sided, read_judgments(rows[1:]).sided
    (False, True)
    >>> read_judgments([*rows, ("ann", "i3", "i1", "right")]).sided
    True
    """
    note = no_sides(*chosen_sides(judgments)) if judgments.sided else None
    if note is None:
        return judgments
    return replace(judgments, sided=False, notes=(*judgments.notes, note))


def chosen_sides(judgments: Judgments) -> tuple[int, int]:
    """Return how many judgments are for the left item, and how many for the right one.

    Of many rows, those after the first that settle that both were chosen are not counted.
    """
    chosen = [0, 0]
    for begin in range(0, len(judgments.outcome), _AT_ONCE):
        outcome, count = (c[begin : begin + _AT_ONCE] for c in (judgments.outcome, judgments.count))
        for k, side in enumerate((outcome > _EITHER, outcome < _EITHER)):
            chosen[k] += int(count[side].sum())
        if min(chosen) > 0:
            break
    return chosen[0], chosen[1]


def no_sides(left: int, right: int) -> str | None:
    """Say that so many judgments for either item show that they had no sides; None if they had.

    Examples
    --------
    >>> no_sides(40, 1), no_sides(0, 3)
    (None, None)
    >>> print(no_sides(0, 40))
    Every decided judgment is for the right item, so right and left are taken for winner and ...
    """
    if min(left, right) > 0 or left + right < _FEWEST:
        return None
    side, other = ("left", "right") if left else ("right", "left")
    return (
        f"Every decided judgment is for the {side} item, so {side} and {other} are taken for "
        "winner and loser. If they are the sides on which items were shown, these answers show a "
        "preference for a side and nothing else."
    )
