"""Add judgments to others that are read already, without reading those again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, TextArray
from aggcal._core.tables import aligned, as_text
from aggcal.data.base import AnyJudgments, Unfitted
from aggcal.data.judgments import Judgments
from aggcal.errors import OptionError
from aggcal.io.adding_columns import alike, screens_of_both, sorted_screens
from aggcal.io.formats._base import SEVERAL
from aggcal.io.judgments import natural_order, read_judgments, read_more

_OTHERS = " and others"


def add_judgments(judgments: Any, more: Any) -> Judgments:
    """Return judgments with more of them added, as if both had been read from one table.

    Rows that repeat an earlier one are merged into its weight; new items and annotators get their
    numbers. With ``start=`` of `aggcal.aggregate` a study that grows is fitted again for a small
    part of what reading and fitting all of it takes.

    Parameters
    ----------
    judgments
        Those there are: `Judgments`, or anything that `read_judgments` takes.
    more
        The same; there may be no row, or none that can be fitted. What takes options to read
        (columns of other names, labels of its own) is read by `read_judgments` first.

    Returns
    -------
    Judgments
        The median time of an annotator who is in both is the mean of the two medians, by the number
        of judgments: those of all judgments together would need every row's.

    Examples
    --------
    >>> import aggcal
    >>> monday = aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "a")])
    >>> tuesday = aggcal.add_judgments(monday, [("ann", "a", "b"), ("eve", "c", "a")])
    >>> tuesday
    Judgments(3 items, 3 annotators, 4 judgments)
    >>> tuesday.weight
    array([2., 1., 1.])
    """
    first = _in_memory(judgments) or read_judgments(judgments)
    added = _in_memory(more)
    if added is None and not (isinstance(more, list | tuple) and not more):
        added = read_more(more, first)
    if added is None:
        return first
    items = _united(first.item_ids, added.item_ids)
    annotators = _united(first.annotator_ids, added.annotator_ids)
    parts = [_numbered(part, items, annotators) for part in (first, added)]
    old, new = map(_merged, alike(parts[0], parts[1], _united))
    position, same = _positions(old, new)
    fresh, at = ~same, position[~same]
    weight, count = old.weight, old.count
    if same.any():
        weight, count = weight.copy(), count.copy()
        weight[position[same]] += new.weight[same]
        count[position[same]] += new.count[same]
    return Judgments(
        items,
        annotators,
        np.insert(old.annotator, at, new.annotator[fresh]),
        np.insert(old.left, at, new.left[fresh]),
        np.insert(old.right, at, new.right[fresh]),
        _inserted(old.outcome, at, new.outcome[fresh]),
        _inserted(weight, at, new.weight[fresh]),
        _inserted(count, at, new.count[fresh]),
        **_further(old, new, at, fresh),
        **screens_of_both(old, new, position, same),
        unfitted=_all_unfitted(first.unfitted, added.unfitted, added.source),
        criteria=tuple(sorted({*first.criteria, *added.criteria})),
        source=first.source.removesuffix(_OTHERS) + _OTHERS,
        backend=first.backend,
        seconds=_seconds((first, added), annotators),
        sided=first.sided and added.sided,
        format=first.format if first.format == added.format else SEVERAL,
        spelling=first.spelling,
        notes=tuple(dict.fromkeys((*first.notes, *added.notes))),
        duplicates=None
        if first.duplicates is None and added.duplicates is None
        else first.n_duplicates + added.n_duplicates,
    )


def _in_memory(given: Any) -> Judgments | None:
    """Return what are judgments already, with their rows; None for what is to be read."""
    if not isinstance(given, AnyJudgments):
        return None
    if given.local is None:
        raise OptionError(
            "the rows of these judgments lie on an engine, where none can be added; add them to "
            "judgments that read_judgments returned."
        )
    return given.local


def _united(known: TextArray, more: TextArray) -> TextArray:
    """Return the ids of both in the order in which judgments number them."""
    there = set(known)
    fresh = [label for label in more if label not in there]
    return natural_order(np.concatenate([known, as_text(fresh)])) if fresh else known


def _numbered(part: Judgments, items: TextArray, annotators: TextArray) -> Judgments:
    """Give the rows the numbers of these ids; they stay sorted, because the ids' order does."""

    def codes(ids: TextArray, among: TextArray) -> np.ndarray:
        position = {label: k for k, label in enumerate(among)}
        return np.array([position[label] for label in ids], dtype=np.int32)

    owner, left, right = part.annotator, part.left, part.right
    if not np.array_equal(part.item_ids, items):
        code = codes(part.item_ids, items)
        left, right = code[left], code[right]
    if not np.array_equal(part.annotator_ids, annotators):
        owner = codes(part.annotator_ids, annotators)[owner]
    return replace(part, annotator=owner, left=left, right=right)


def _merged(part: Judgments) -> Judgments:
    """Sort the rows and merge equal ones, as readers do and `Judgments.of_codes` does not."""
    if _before(*_neighbours(part)).all():
        return part
    order = np.lexsort(_keys(part)[::-1])
    screens = sorted_screens(part, order)
    part = _rows(part, order)
    first = np.flatnonzero(np.append(True, _before(*_neighbours(part))))
    return replace(
        _rows(part, first),
        weight=np.add.reduceat(part.weight, first),
        count=np.add.reduceat(part.count, first),
        **screens,
    )


def _rows(part: Judgments, chosen: IntArray) -> Judgments:
    """Return the rows at these positions."""
    return replace(part, **part.take(chosen))


def _keys(part: Judgments) -> list[np.ndarray]:
    """Return the columns by which rows are sorted, the first first."""
    keys: list[np.ndarray] = [part.annotator, part.left, part.right, part.outcome]
    keys += [column for column in (part.grade, part.context) if column is not None]
    return keys + [each.code for each in part.categories]


def _further(old: Judgments, new: Judgments, at: IntArray, fresh: np.ndarray) -> dict[str, Any]:
    """Return context, categories and grades of both, the fresh rows inserted."""
    context, grade = (
        None if a is None or b is None else np.insert(a, at, b[fresh])
        for a, b in ((old.context, new.context), (old.grade, new.grade))
    )
    categories = tuple(
        replace(a, code=np.insert(a.code, at, b.code[fresh]))
        for a, b in zip(old.categories, new.categories, strict=True)
    )
    return {
        "context": context,
        "context_ids": old.context_ids,
        "context_name": old.context_name,
        "categories": categories,
        "grade": grade,
    }


def _neighbours(part: Judgments) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the keys of each row but the last, and those of the row after it."""
    keys = _keys(part)
    if part.outcome.strides == (0,):
        del keys[3]  # all the same
    return [column[:-1] for column in keys], [column[1:] for column in keys]


def _before(rows: list[np.ndarray], others: list[np.ndarray]) -> np.ndarray:
    """Whether each row comes before the other, column by column."""
    less = np.zeros(len(rows[0]), dtype=bool)
    for a, b in zip(reversed(rows), reversed(others), strict=True):
        less = (a < b) | ((a == b) & less)
    return less


def _positions(old: Judgments, new: Judgments) -> tuple[IntArray, np.ndarray]:
    """Return where each new row goes among the old, and whether the row there is the same.

    By halving, all new rows at once: nothing is worked out for the old rows.
    """
    there, here, last = _keys(old), _keys(new), len(old.count) - 1
    low: IntArray = np.zeros(len(new.count), dtype=np.int64)
    high: IntArray = np.full(len(new.count), last + 1, dtype=np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        probe = np.minimum(middle, last)
        past = (low < high) & _before([column[probe] for column in there], here)
        high = np.where(past, high, middle)
        low = np.where(past, middle + 1, low)
    same = low <= last
    probe = np.minimum(low, last)
    for column, wanted in zip(there, here, strict=True):
        same &= column[probe] == wanted
    return low, same


def _inserted(column: np.ndarray, at: IntArray, more: np.ndarray) -> np.ndarray:
    """Insert rows; a column that repeats one value goes on taking no memory if it still does."""
    if column.strides == (0,) and (more == column[0]).all():
        return np.broadcast_to(column[0], (len(column) + len(more),))
    return np.insert(column, at, more)


def _all_unfitted(old: Unfitted, new: Unfitted, source: str) -> Unfitted:
    if not len(new.count):
        return old
    found: dict[tuple[str, ...], tuple[int, str]] = {}
    for part, prefix in ((old, ""), (new, f"{source}: ")):
        rows = zip(part.reason, part.annotator, part.left, part.right, part.detail, strict=True)
        for row, number, location in zip(rows, part.count.tolist(), part.location, strict=True):
            before, first = found.get(row, (0, prefix + location))
            found[row] = before + number, first
    ordered = sorted(found)
    columns = (as_text(column) for column in zip(*ordered, strict=True))
    reason, annotator, left, right, detail = columns
    count = np.array([found[row][0] for row in ordered], dtype=np.int64)
    location = as_text(found[row][1] for row in ordered)
    return Unfitted(annotator, left, right, reason, count, location, detail)


def _seconds(parts: Iterable[Judgments], annotators: TextArray) -> FloatArray | None:
    total, given = np.zeros(len(annotators)), np.zeros(len(annotators))
    for part in parts:
        if part.seconds is not None:
            seconds = aligned(part.seconds, part.annotator_ids, annotators)
            number = part.judgments_per_annotator.astype(np.float64)
            known = np.isfinite(seconds)
            number = np.where(known, aligned(number, part.annotator_ids, annotators), 0.0)
            total += number * np.where(known, seconds, 0.0)
            given += number
    if not given.any():
        return None
    return np.where(given > 0.0, total / np.maximum(given, 1.0), np.nan)
