"""What is to be held equal when items are compared: the length of an answer, its style."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, TextArray, frozen
from aggcal._core.tables import aligned
from aggcal.errors import FeatureError, OptionError, count, some

if TYPE_CHECKING:
    from aggcal.data.judgments import Judgments


@dataclass(frozen=True, eq=False)
class Control:
    """Numbers that describe each item, or what each item gave in each context.

    Parameters
    ----------
    item_ids
        The items; several times each where there are contexts.
    matrix
        A row for each entry, a column for each covariate.
    names
        What the covariates are called.
    context_ids
        The context of each entry, where an item's values depend on it.

    Examples
    --------
    >>> ids = np.array(["a", "b"], dtype=object)
    >>> Control(ids, np.array([[120.0], [80.0]]), ("words",))
    Control(2 rows, words)
    """

    item_ids: TextArray
    matrix: FloatArray
    names: tuple[str, ...]
    context_ids: TextArray | None = None
    source: str = "control"
    notes: tuple[str, ...] = ()
    """What was made of the table in reading it, in words."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", frozen(np.asarray(self.matrix, dtype=np.float64)))

    def __repr__(self) -> str:
        return f"Control({count(len(self.item_ids), 'row')}, {', '.join(self.names)})"

    @property
    def scaled(self) -> FloatArray:
        """The covariates in units of their standard deviation; one that never varies is 0."""
        about = self.matrix - self.matrix.mean(axis=0)
        sd = np.sqrt(np.mean(np.square(about), axis=0))
        varies = sd > 1e-12 * np.maximum(np.abs(self.matrix).max(axis=0), 1e-300)
        return np.where(varies, about, 0.0) / np.where(varies, sd, 1.0)

    def differences(
        self, judgments: Judgments, left: CodeArray, right: CodeArray, context: CodeArray | None
    ) -> FloatArray:
        """Return the left item's covariates less those of the right one, rows by covariates.

        Parameters
        ----------
        judgments
            Whose ids the codes stand for.
        left, right, context
            Codes of each row.
        """
        if self.context_ids is None:
            keys = self.item_ids
            wanted = [judgments.item_ids[side] for side in (left, right)]
        else:
            if context is None or judgments.context_ids is None:
                raise OptionError(
                    f"{self.source}: its values depend on a context, but the judgments have none; "
                    "name their column with --context."
                )
            keys = _joined(self.item_ids, self.context_ids)
            names = judgments.context_ids[context]
            wanted = [_joined(judgments.item_ids[side], names) for side in (left, right)]
        place = np.arange(float(len(keys)))
        found = []
        for side in wanted:
            distinct, back = np.unique(side, return_inverse=True)
            at = aligned(place, keys, distinct.astype(object))
            lacking = distinct[np.isnan(at)]
            if len(lacking):
                shown = some([str(one).replace(_SEPARATOR, " in ") for one in lacking])
                raise FeatureError(
                    f"{self.source}: there is no row for {shown}; add what is missing "
                    f"({count(len(lacking), 'row')}), or leave their judgments out."
                )
            found.append(self.scaled[at.astype(np.int64)[back]])
        return np.asarray(found[0] - found[1])


_SEPARATOR = "\x1f"
"""Between an item and a context in a key: no id has it."""


def _joined(items: TextArray, contexts: TextArray) -> TextArray:
    return np.array(
        [f"{item}{_SEPARATOR}{context}" for item, context in zip(items, contexts, strict=True)],
        dtype=object,
    )
