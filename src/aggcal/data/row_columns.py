"""What rows may say beyond who preferred what: a context, categories, how strongly it was meant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from aggcal._core.arrays import BoolArray, CodeArray, FloatArray, IntArray, TextArray, frozen
from aggcal._core.tables import as_text
from aggcal.errors import OptionError

if TYPE_CHECKING:
    from aggcal.data.judgments import Judgments

CRITERION = "criterion"
"""The name of the categories that several criteria are, where all of them are read."""


@dataclass(frozen=True, eq=False)
class Categories:
    """One way to part the rows: row k is of the category ``ids[code[k]]``, of none where it is -1.

    Examples
    --------
    >>> codes = np.array([0, 0, -1, 1], dtype=np.int32)
    >>> language = Categories("language", np.array(["de", "en"], dtype=object), codes)
    >>> language.at(np.array([0, 3])).code
    array([0, 1], dtype=int32)
    """

    name: str
    ids: TextArray
    code: CodeArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "code", frozen(self.code))

    def at(self, rows: IntArray) -> Categories:
        """Return the categories of these rows; all ids stay, also those that no row has left."""
        return Categories(self.name, self.ids, self.code[rows])


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


def columns_at(judgments: Judgments, rows: IntArray) -> dict[str, Any]:
    """Return context, categories and grades of the rows at these positions, as arguments."""
    context, grade = judgments.context, judgments.grade
    return {
        "context": None if context is None else context[rows],
        "context_ids": judgments.context_ids,
        "context_name": judgments.context_name,
        "categories": tuple(each.at(rows) for each in judgments.categories),
        "grade": None if grade is None else grade[rows],
    }


def screens_at(judgments: Judgments, rows: IntArray) -> dict[str, Any]:
    """Return the screens of the judgments that these rows stand for, as arguments."""
    screen, weight = judgments.screen, judgments.screen_weight
    if screen is None or len(screen) != judgments.n_judgments:
        return {}  # counts were changed by hand: nobody knows whose screens these are
    number = judgments.count[rows]
    ends = np.cumsum(number)
    begins = (np.cumsum(judgments.count) - judgments.count)[rows]
    at = np.arange(int(number.sum())) + np.repeat(begins - (ends - number), number)
    return {"screen": screen[at], "screen_weight": None if weight is None else weight[at]}


def rows_between(starts: IntArray, chosen: IntArray) -> IntArray:
    """Return the rows of the annotators at these positions, where they begin being known.

    Examples
    --------
    >>> rows_between(np.array([0, 2, 3, 6]), np.array([2, 0]))
    array([3, 4, 5, 0, 1])
    """
    sizes = starts[chosen + 1] - starts[chosen]
    before = np.cumsum(sizes) - sizes
    return np.asarray(np.arange(int(sizes.sum())) + np.repeat(starts[chosen] - before, sizes))


def positions(rows: BoolArray | IntArray, length: int) -> IntArray:
    """Return positions in rising order, of a mask or of positions in any order.

    Examples
    --------
    >>> positions(np.array([True, False, True]), 3), positions(np.array([2, 0]), 3)
    (array([0, 2]), array([0, 2]))
    """
    if rows.dtype == np.bool_:
        if len(rows) != length:
            raise OptionError(
                f"a mask of {len(rows):,} entries cannot choose among {length:,} rows; give one "
                "entry for each."
            )
        return np.flatnonzero(rows)
    found = np.sort(rows).astype(np.int64)
    if len(found) and not 0 <= found[0] <= found[-1] < length:
        raise OptionError(
            f"there are {length:,} rows, so positions {found[0]:,} to {found[-1]:,} are not all "
            "among them; count them from 0."
        )
    return found


def renumbered(
    codes: tuple[CodeArray, ...], ids: TextArray
) -> tuple[BoolArray, tuple[CodeArray, ...]]:
    """Return which ids occur, and the codes counted among those alone."""
    kept = np.zeros(len(ids), dtype=bool)
    for column in codes:
        kept[column] = True
    position = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    return kept, tuple(position[column] for column in codes)


def split_by_screen(judgments: Judgments) -> dict[str, Any]:
    """Return the columns of judgments whose context is the screen; rows of several are split."""
    screen, number = judgments.screen, judgments.count
    assert screen is not None  # noqa: S101  # whoever asks has looked
    row: IntArray = np.repeat(np.arange(len(number)), number)
    numbers, context = np.unique(screen, return_inverse=True)
    context = context.ravel().astype(np.int32)
    order = np.lexsort((context, row))
    row, context, screen = row[order], context[order], screen[order]
    each: FloatArray
    if judgments.screen_weight is None:
        each = (judgments.weight / number)[row]
    else:
        each = judgments.screen_weight[order]
    starts = np.append(True, (row[1:] != row[:-1]) | (context[1:] != context[:-1]))[: len(row)]
    first = np.flatnonzero(starts)
    weight = np.add.reduceat(each, first) if len(first) else each
    shared = judgments.outcome.strides == (0,)
    rows = row[first]
    return columns_at(judgments, rows) | {
        "annotator": judgments.annotator[rows],
        "left": judgments.left[rows],
        "right": judgments.right[rows],
        "outcome": np.broadcast_to(judgments.outcome[:1], (len(rows),))
        if shared and len(rows)
        else judgments.outcome[rows],
        "weight": weight,
        "count": np.diff(np.append(first, len(row))),
        "context": context[first],
        "context_ids": as_text(range(1, len(numbers) + 1)),
        "context_name": "screen",
        "screen": screen,
        "screen_weight": None if judgments.screen_weight is None else each,
    }
