"""The order with something held equal beside the order as it was judged."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.records import dataclass
from aggcal._core.tables import Columns
from aggcal.pages.numbers import cut
from aggcal.report.terms import coefficients

MOST_ROWS, MOST_MOVED, NAME = 200, 5, 120
"""Items of the table, items that are named as moved most, and where names are cut."""

CAVEAT = (
    "Holding something equal also removes quality that goes with it. If answers are better because "
    "they are longer, for example, holding the length equal takes that out, too. Neither order is "
    "right by itself."
)


@dataclass(frozen=True, eq=False)
class Control:
    """Both orders.

    Examples
    --------
    >>> items = {"item": np.array(["a", "b"], dtype=object), "rank": np.array([1, 2]),
    ...          "rank_uncontrolled": np.array([2, 1])}
    >>> [row["move"] for row in Control({}, items).rows]
    ['up 1', 'down 1']
    """

    summary: Mapping[str, Any]
    items: Columns

    @property
    def known(self) -> bool:
        """Whether something is held equal."""
        return "rank_uncontrolled" in self.items and "rank" in self.items

    @cached_property
    def coefficients(self) -> list[dict[str, str]]:
        """What is held equal."""
        return coefficients(self.summary)

    @property
    def names(self) -> str:
        """What is held equal, for a sentence."""
        names = [each["name"] for each in self.coefficients]
        return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)

    @cached_property
    def _move(self) -> FloatArray:
        without, held = (
            np.asarray(self.items[name], dtype=np.float64) for name in ("rank_uncontrolled", "rank")
        )
        return without - held

    def _row(self, k: int) -> dict[str, str]:
        held, without = (float(self.items[name][k]) for name in ("rank", "rank_uncontrolled"))
        name = str(self.items["item"][k])
        return {
            "item": name,
            "short": cut(name, NAME),
            "rank": f"{held:,.0f}",
            "without": f"{without:,.0f}",
            "move": move_words(self._move[k]),
        }

    @property
    def rows(self) -> list[dict[str, str]]:
        """The first items in consensus order, with both ranks."""
        known = np.flatnonzero(np.isfinite(self._move))[:MOST_ROWS]
        return [self._row(int(k)) for k in known]

    @property
    def moved(self) -> list[dict[str, str]]:
        """The items that move most."""
        far = np.nan_to_num(np.abs(self._move))
        order = np.argsort(-far, kind="stable")[:MOST_MOVED]
        return [self._row(int(k)) for k in order if far[k] > 0]

    @property
    def says(self) -> str:
        """How much holding something equal changes, in a sentence."""
        known = self._move[np.isfinite(self._move)]
        changed = int((known != 0).sum())
        if not changed:
            return f"With {self.names} held equal, the order stays the same."
        keep = "changes" if changed == 1 else "change"
        return (
            f"With {self.names} held equal, {changed:,} of {len(known):,} items {keep} rank; "
            f"the largest move is {np.abs(known).max():,.0f}."
        )

    def to_dict(self) -> dict[str, Any] | None:
        """Return plain data; None where nothing is held equal."""
        if not self.known:
            return None
        return {
            "says": self.says,
            "coefficients": self.coefficients,
            "moved": self.moved,
            "caveat": CAVEAT,
        }


def move_words(move: float) -> str:
    """Return a change of rank in words; positive is upwards.

    Examples
    --------
    >>> move_words(2), move_words(-1), move_words(0)
    ('up 2', 'down 1', 'same')
    """
    if move == 0:
        return "same"
    return f"{'up' if move > 0 else 'down'} {abs(move):,.0f}"
