"""One number per item: a model's scores, a truth, or anybody's consensus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, TextArray, frozen
from aggcal._core.tables import Columns, as_frame, as_text
from aggcal.errors import ScoreError, UnknownItemError, count, some

LARGEST = 1e50
"""In size; beyond it squares and sums would overflow."""


@dataclass(frozen=True, eq=False)
class Scores:
    """One finite number per item, with an optional standard deviation.

    Parameters
    ----------
    item_ids
        The ids, each once.
    values
        The score of each.
    sd
        The standard deviation of each score, where the model states one.

    Examples
    --------
    >>> scores = Scores.of({"a": 1.5, "b": -0.5})
    >>> len(scores), scores["a"]
    (2, 1.5)
    """

    item_ids: TextArray
    values: FloatArray
    sd: FloatArray | None = None
    source: str = "scores"
    backend: str | None = None
    notes: tuple[str, ...] = ()
    """What was made of the table in reading it, in words."""
    chosen: bool = False
    """Of true scores: whether the items were chosen for what they tell, not drawn at random."""
    column: str = ""
    """What the user calls the scores, where that is known."""

    def __post_init__(self) -> None:
        if self.values.ndim != 1:
            raise ScoreError(
                f"{self.source}: the scores have the shape {self.values.shape}; give one column."
            )
        if len(self.item_ids) != len(self.values):
            raise ScoreError(
                f"{self.source}: {len(self.item_ids)} ids and {len(self.values)} scores; "
                "give one score per item."
            )
        if self.sd is not None and self.sd.shape != self.values.shape:
            raise ScoreError(
                f"{self.source}: {len(self.values)} scores and {self.sd.size} sds; "
                "give one sd per item, or none."
            )
        bad = ~np.isfinite(self.values)
        if bad.any():
            raise ScoreError(
                f"{self.source}: the score of {some(self.item_ids[bad])} is not a finite number; "
                "give a number or leave the item out."
            )
        if len(large := self.item_ids[np.abs(self.values) > LARGEST]):
            raise ScoreError(
                f"{self.source}: the score of {some(large)} is too large; "
                f"give numbers of up to {LARGEST:g}, or leave the item out."
            )
        if len(set(self.item_ids)) != len(self.item_ids):
            seen: set[str] = set()
            twice = dict.fromkeys(i for i in self.item_ids if i in seen or seen.add(i))  # type: ignore[func-returns-value]  # add() returns None
            raise ScoreError(f"{self.source}: more than one score for {some(twice)}; keep one.")
        if self.sd is not None and not (np.isfinite(self.sd) & (self.sd > 0)).all():
            wrong = self.item_ids[~(np.isfinite(self.sd) & (self.sd > 0))]
            raise ScoreError(
                f"{self.source}: the sd of {some(wrong)} is not a positive number; "
                "give every item an sd or drop the column."
            )
        object.__setattr__(self, "values", frozen(self.values))

    @classmethod
    def of(cls, values: dict[str, float], *, source: str = "scores") -> Scores:
        """Make scores from a mapping of id to number."""
        return cls(as_text(values), np.array(list(values.values()), dtype=np.float64), None, source)

    def __len__(self) -> int:
        return len(self.item_ids)

    def __getitem__(self, item: str) -> float:
        found = np.flatnonzero(self.item_ids == item)
        if not len(found):
            raise UnknownItemError(item, self.source)
        return float(self.values[found[0]])

    def __repr__(self) -> str:
        return f"Scores({count(len(self), 'item')}{'' if self.sd is None else ' with sd'})"

    @property
    def items(self) -> Any:
        """The table item, score (and sd)."""
        columns: Columns = {"item": self.item_ids, "score": self.values}
        if self.sd is not None:
            columns["sd"] = self.sd
        return as_frame(columns, self.backend)
