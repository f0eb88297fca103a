"""Items that nothing compares with each other: each connected component has ranks of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.tables import Columns
from aggcal.errors import count, cut

_APART = (
    "Each component is ranked on its own. Comparisons do not link them, so ranks and consensus "
    "scores of different components cannot be compared."
)
_NAME = 60  # characters of the leader's name in a heading
_CALIBRATED = (
    "Each component is calibrated by itself; how calibrated scores of different components compare "
    "comes from the model alone."
)

_LISTED = 5  # sizes of components that a sentence names


@dataclass(frozen=True)
class Part:
    """A connected component: its number, 1 the largest, and its rows from the best to the worst."""

    label: int
    rows: tuple[int, ...]
    says: str
    """How many items it has, and which of them leads."""

    @property
    def title(self) -> str:
        """What it is called.

        Examples
        --------
        >>> Part(2, (3,), "1 item").title
        'Component 2'
        """
        return f"Component {self.label}"


def own_ranks(items: Columns) -> Columns:
    """Return the items with the ranks that each has within its component.

    An interval of ranks allows for all items of other components above an item (see
    `uncertainty.ranks`), so that within its own it ends so many ranks higher.

    Examples
    --------
    >>> items = {"item": np.array(["a", "b", "c"], dtype=object), "rank": np.array([1, 2, 3]),
    ...          "rank_low": np.array([1, 1, 2]), "rank_high": np.array([2, 3, 3]),
    ...          "component": np.array([1, 2, 1])}
    >>> found = own_ranks(items)
    >>> found["rank"].tolist(), found["rank_high"].tolist()
    ([1.0, 1.0, 2.0], [1.0, 1.0, 2.0])
    """
    label = _labels(items)
    if label is None:
        return items
    rank = np.asarray(items["rank"], dtype=np.float64)
    judged = np.isfinite(rank)
    own, others = np.full(len(rank), np.nan), np.zeros(len(rank))
    for one in np.unique(label[judged]):
        members = np.flatnonzero(judged & (label == one))
        ordered = np.sort(rank[members])
        own[members] = 1.0 + np.searchsorted(ordered, rank[members])
        others[members] = judged.sum() - len(members)
    found = {**items, "rank": own}
    for name in ("rank_high", "sure_high"):
        if name in items:
            found[name] = np.asarray(items[name], dtype=np.float64) - others
    return found


def parts_said(*, calibrated: bool) -> str:
    """Say what components mean for ranks and scores, and for calibrated ones.

    Examples
    --------
    >>> print(parts_said(calibrated=False))
    Each component is ranked on its own. Comparisons do not link them, so ranks and consensus ...
    """
    return f"{_APART} {_CALIBRATED}" if calibrated else _APART


def parts_of(items: Columns) -> list[Part]:
    """Return the components, the largest first; none where all items are in one.

    Examples
    --------
    >>> items = {"item": np.array(["a", "b", "c"], dtype=object), "rank": np.array([1, 2, 3]),
    ...          "component": np.array([1, 2, 1])}
    >>> [(part.title, part.rows, part.says) for part in parts_of(items)]
    [('Component 1', (0, 2), '2 items; a leads'), ('Component 2', (1,), '1 item')]
    """
    label = _labels(items)
    if label is None:
        return []
    own = own_ranks(items)
    rank = np.asarray(own["rank"], dtype=np.float64)
    found = []
    for one in np.unique(label[np.isfinite(rank)]):
        members = np.flatnonzero(np.isfinite(rank) & (label == one))
        ordered = members[np.argsort(rank[members], kind="stable")]
        rows = tuple(int(k) for k in ordered)
        found.append(Part(int(one), rows, _said(own, rank, ordered)))
    return found


def sizes_said(parts: Sequence[Part]) -> str:
    """Say how many items the components have.

    Examples
    --------
    >>> sizes_said([Part(1, (0, 2), ""), Part(2, (1,), "")])
    '2 and 1 items'
    """
    sizes = [f"{len(part.rows):,}" for part in parts[:_LISTED]]
    if len(parts) > _LISTED:
        return f"{', '.join(sizes)}, ... items"
    return f"{', '.join(sizes[:-1])} and {sizes[-1]} items"


def _labels(items: Columns) -> FloatArray | None:
    if "component" not in items or "rank" not in items:
        return None
    label = np.asarray(items["component"], dtype=np.float64)
    judged = np.isfinite(np.asarray(items["rank"], dtype=np.float64)) & np.isfinite(label)
    return label if len(np.unique(label[judged])) > 1 else None


def _said(items: Columns, rank: FloatArray, ordered: Any) -> str:
    said = count(len(ordered), "item")
    first = ordered[rank[ordered] == 1.0]
    if "sure_low" in items:
        first = ordered[np.asarray(items["sure_low"], dtype=np.float64)[ordered] == 1.0]
    if len(ordered) == 1 or len(first) != 1:
        return said if len(first) < 2 else f"{said}; any of {len(first):,} could be the best"  # noqa: PLR2004
    return f"{said}; {cut(str(items['item'][first[0]]), _NAME)} leads"
