"""Camps of annotators: who is in which, what each thinks of the items, and what is between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, TextArray
from aggcal._core.text import brief

LETTERS = "ABCDEFGH"
"""What camps are called, the largest first."""


@dataclass(frozen=True, eq=False)
class Camps:
    """Camps that annotators form, the largest first; none where they form none.

    Examples
    --------
    >>> none = Camps.none("one order", {})
    >>> none.stands_out, none.names
    (False, ())
    """

    kind: str
    """What predicts held-out annotators best: ``one order``, ``an axis``, ``two camps`` or
    ``three camps``; a richer one only where it does so clearly."""
    gains: dict[str, tuple[float, float]]
    """How much more probable the answers of held-out annotators are than by one order: the gain in
    log-likelihood of each alternative, and its standard error. Empty where nothing pointed to
    one."""
    over_axis: tuple[float, float] | None
    """The same of the camps over an axis."""
    shares: FloatArray
    """Share of the annotators in each camp."""
    scores: FloatArray
    """Camps by items."""
    se: FloatArray
    members: FloatArray
    """Probability that each annotator belongs to each camp, annotators by camps."""
    common_ground: FloatArray
    """Scores midway between the camps, however large each is."""
    common_se: FloatArray
    apart: FloatArray
    """How far apart the two camps are that differ most over an item: of two camps, the first less
    the second."""
    apart_se: FloatArray
    not_looked: str = ""
    """Why camps were not looked for, such as too few annotators; nothing where they were."""

    __repr__ = brief

    @classmethod
    def none(
        cls,
        kind: str,
        gains: dict[str, tuple[float, float]],
        over_axis: tuple[float, float] | None = None,
        not_looked: str = "",
    ) -> Camps:
        """Return that camps were looked for and not found, or why they were not looked for."""
        nothing, table = np.zeros(0), np.zeros((0, 0))
        tables = (nothing, table, table, table)
        none = (nothing, nothing, nothing, nothing)
        return cls(kind, gains, over_axis, *tables, *none, not_looked)

    @property
    def stands_out(self) -> bool:
        """Whether there are camps."""
        return len(self.shares) > 1

    @property
    def names(self) -> tuple[str, ...]:
        """What the camps are called: A is the largest."""
        return tuple(LETTERS[: len(self.shares)])

    @property
    def own(self) -> TextArray:
        """The most probable camp of each annotator."""
        return np.asarray(np.array(self.names, dtype=object)[self.members.argmax(axis=1)])

    def to_dict(self) -> dict[str, Any]:
        """Return what is known of the camps as a whole, as in ``summary.json``."""
        gains = {name: {"value": gain, "se": se} for name, (gain, se) in self.gains.items()}
        over = self.over_axis
        return {
            "stands_out": self.stands_out,
            "not_looked": self.not_looked or None,
            "kind": self.kind,
            "held_out_gain": gains,
            "held_out_gain_over_axis": None if over is None else {"value": over[0], "se": over[1]},
            "names": list(self.names),
            "shares": self.shares.tolist(),
        }
