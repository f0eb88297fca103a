"""What rows may say beyond who preferred what: a context, categories, how strongly it was meant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aggcal._core.arrays import CodeArray, TextArray, frozen

if TYPE_CHECKING:
    from aggcal.data.judgments import Judgments

CRITERION = "criterion"
"""The name of the categories that several criteria are, where all of them are read."""


@dataclass(frozen=True, eq=False)
class Categories:
    """One way to part the rows: row k is of the category ``ids[code[k]]``, of none where it is -1.

    Examples
    --------
    >>> import numpy as np
    >>> codes = np.array([0, 0, -1, 1], dtype=np.int32)
    >>> language = Categories("language", np.array(["de", "en"], dtype=object), codes)
    >>> language.name
    'language'
    """

    name: str
    ids: TextArray
    code: CodeArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "code", frozen(self.code))


def codes_of(judgments: Judgments) -> dict[str, CodeArray]:
    """Return the columns of codes by which rows are parted: ``context`` and ``by NAME``.

    Examples
    --------
    >>> import aggcal
    >>> rows = {"annotator": ["ann"], "winner": ["a"], "loser": ["b"], "topic": ["sport"]}
    >>> codes_of(aggcal.read_judgments(rows, by="topic"))
    {'by topic': array([0], dtype=int32)}
    """
    context = {} if judgments.context is None else {"context": judgments.context}
    return context | {f"by {each.name}": each.code for each in judgments.categories}
