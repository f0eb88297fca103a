"""Who decides the first place: the fewest annotators without whom another item leads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.records import dataclass
from aggcal.advice.influence.shifts import Shifts
from aggcal.errors import count, some

RIVALS = 20
"""Items after the first that are looked at: one further down takes more to lead."""
_TRIES = 6
"""Refits at most until another item leads: each leaves out one or a few more."""
_NAMED = 5  # annotators that a sentence names


@dataclass(frozen=True)
class FirstPlace:
    """The fewest annotators found without whom another item leads.

    ``checked`` says whether a fit without them confirms it; if not, they are an estimate. Where
    ``annotators`` is empty, no group of up to half of the annotators was found.
    """

    leader: str
    annotators: tuple[str, ...]
    instead: str | None
    checked: bool
    n_annotators: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "leader": self.leader,
            "annotators": list(self.annotators),
            "instead": self.instead,
            "checked": self.checked,
            "says": self.says,
        }

    @property
    def says(self) -> str:
        """Say who decides.

        Examples
        --------
        >>> FirstPlace("a", ("ann",), "b", checked=True, n_annotators=9).says
        "One annotator decides the first place: without 'ann', 'b' leads instead of 'a'."
        """
        size = len(self.annotators)
        if not size or self.instead is None:
            return (
                f"No group of up to half of the {count(self.n_annotators, 'annotator')} was found "
                f"without whom another item would lead instead of '{self.leader}'."
            )
        would = "leads" if self.checked else "probably leads"
        who = some(self.annotators, _NAMED)
        if size == 1:
            return (
                f"One annotator decides the first place: without {who}, '{self.instead}' {would} "
                f"instead of '{self.leader}'."
            )
        return (
            f"The first place depends on {size:,} of {self.n_annotators:,} annotators: without "
            f"them ({who}), '{self.instead}' {would} instead of '{self.leader}'. No smaller group "
            "was found that decides it."
        )


def first_place(
    scores: FloatArray,
    ids: tuple[Any, Any],
    shifts: Shifts,
    refit: Callable[[IntArray], FloatArray | None] | None,
) -> FirstPlace | None:
    """Look for the fewest annotators without whom another item leads.

    What single annotators move adds up nearly, so that those who hold a rival back most are left
    out first (an approximate maximum influence perturbation); fits without them tell whether it
    is so, and leave out more until it is.

    Parameters
    ----------
    scores
        The scores of the fit.
    ids
        Ids of the items and of the annotators.
    shifts
        How far scores move without each annotator.
    refit
        Returns how far they move without some, by a fit; None to do without.
    """
    items, annotators = ids
    order = np.argsort(-scores, kind="stable")[: RIVALS + 1]
    most = len(annotators) // 2
    if most < 1 or len(order) < 2 or scores[order[0]] <= scores[order[1]]:  # noqa: PLR2004
        return None  # of one annotator, or without a leader, there is nothing to tell
    moves = shifts.of_items(order)
    toward = moves[:, 1:] - moves[:, :1]  # how far each rival gains on the leader
    gaps = scores[order[0]] - scores[order[1:]]
    best: IntArray | None = None
    for k in range(len(gaps)):
        by_gain = np.argsort(-toward[:, k], kind="stable")[:most]
        reached = np.flatnonzero(np.cumsum(np.maximum(toward[by_gain, k], 0.0)) > gaps[k])
        if len(reached) and (best is None or reached[0] + 1 < len(best)):
            best, rival = by_gain[: reached[0] + 1], k
    leader, m = str(items[order[0]]), len(annotators)
    if best is None:
        return FirstPlace(leader, (), None, checked=False, n_annotators=m)
    instead, checked = order[rival + 1], False
    if refit is not None:
        ranked = np.argsort(-toward[:, rival], kind="stable")[:most]
        found = _confirmed(scores, order[0], ranked, len(best), refit)
        if found is None:
            return FirstPlace(leader, (), None, checked=False, n_annotators=m)
        best, instead, checked = *found, True
    who = tuple(str(annotators[u]) for u in best)
    return FirstPlace(leader, who, str(items[instead]), checked, m)


def _confirmed(
    scores: FloatArray,
    leader: int,
    ranked: IntArray,
    size: int,
    refit: Callable[[IntArray], FloatArray | None],
) -> tuple[IntArray, int] | None:
    """Return the first of these sizes, and larger ones, at which a fit has another leader."""
    for _ in range(_TRIES):
        left_out = ranked[:size]
        moved = refit(left_out)
        if moved is None:
            return None
        now = int(np.argmax(scores + moved))
        if now != leader:
            return left_out, now
        if size >= len(ranked):
            return None
        size = min(len(ranked), size + max(1, size // 3))
    return None
