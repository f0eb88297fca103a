"""Rows on their way to a shard: columns of one part of a table, cut and put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, constant
from aggcal.engines.remote import Piece, RowColumns, is_one

_WIDEST_KEY = 2**62  # largest key that int64 adds up safely
_PIECE = 1 << 16  # rows that are worked on at a time: they fit the cache


def cut_out(part: Piece | None, first: int, last: int) -> Piece | None:
    """Return the rows of some annotators, who are then counted from 0 (5)."""
    if part is None:
        return None
    begin, end = np.searchsorted(part[0], np.array([first, last], dtype=np.int32))
    if begin == end:
        return None
    rest = (None if column is None else column[begin:end] for column in part[1:6])
    further = {name: column[begin:end] for name, column in part[6].items()}
    return Piece((part[0][begin:end] - np.int32(first), *rest, further))


def joined(parts: list[RowColumns], n_items: int) -> RowColumns:
    """Put columns one after the other, sort them, and merge equal rows."""
    if len(parts) == 1:
        return parts[0]
    names = list(parts[0].further)
    plain = not names and all(
        is_one(p.outcome) and is_one(p.weight) and is_one(p.times) for p in parts
    )
    last = max(int(part.annotator[-1]) for part in parts)
    fits = (last + 1) * n_items * n_items < _WIDEST_KEY
    if plain and fits:
        # Three numbers as one: values are sorted several times faster than positions.
        keys = np.concatenate(
            [(p.annotator.astype(np.int64) * n_items + p.left) * n_items + p.right for p in parts]
        )
        keys.sort()
        times: IntArray | None = None
        new = keys[1:] != keys[:-1]
        if not new.all():
            first = np.flatnonzero(np.append(True, new))
            times = np.diff(np.append(first, len(keys)))
            keys = keys[first]
        one = constant(1.0, len(keys))
        weight = one if times is None else times.astype(np.float64)
        once = np.broadcast_to(np.int64(1), (len(keys),))
        return RowColumns(*_parts(keys, n_items), one, weight, once if times is None else times)
    whole: list[Any] = [
        np.concatenate(column) for column in zip(*(p[:6] for p in parts), strict=True)
    ]
    who, left, right, outcome, weight, _ = whole
    further = [np.concatenate([part.further[name] for part in parts]) for name in names]
    order = _order((who, left, right), (weight, *further[::-1], outcome), n_items, fits=fits)
    whole, further = [c[order] for c in whole], [c[order] for c in further]
    same = np.ones(len(order), dtype=bool)
    same[0] = False
    for column in (*whole[:4], *further):
        same[1:] &= column[1:] == column[:-1]
    new = np.flatnonzero(~same)
    rows: list[Any] = [column[new] for column in whole[:4]]
    rows += [np.add.reduceat(column, new) for column in whole[4:]]
    rows[3:5] = map(_constant_if_one, rows[3:5])
    kept = {name: column[new] for name, column in zip(names, further, strict=True)}
    return RowColumns(*rows)._replace(further=kept)


def _parts(keys: IntArray, n_items: int) -> tuple[CodeArray, CodeArray, CodeArray]:
    """Return annotator, left and right of numbers that are all three.

    Examples
    --------
    >>> _parts(np.array([14]), 3)
    (array([1], dtype=int32), array([1], dtype=int32), array([2], dtype=int32))
    """
    annotator, left, right = (np.empty(len(keys), dtype=np.int32) for _ in range(3))
    for k in range(0, len(keys), _PIECE):  # all at once would take five times the room
        rows = slice(k, k + _PIECE)
        pair, right[rows] = np.divmod(keys[rows], n_items)
        annotator[rows], left[rows] = np.divmod(pair, n_items)
    return annotator, left, right


def _order(
    codes: tuple[CodeArray, CodeArray, CodeArray],
    rest: Sequence[np.ndarray],
    n_items: int,
    *,
    fits: bool,
) -> IntArray:
    """Return the order by annotator, left and right, and then by the rest, the last column first.

    ``fits`` tells whether the three are one number: that is sorted in a third of the time, and the
    rest matters only where they are equal.

    Examples
    --------
    >>> codes = tuple(np.array(c) for c in ([0, 0, 0, 0], [1, 0, 1, 0], [2, 1, 2, 2]))
    >>> _order(codes, [np.array([1.0, 0.5, 0.5, 0.0])], 3, fits=True)
    array([1, 3, 2, 0])
    """
    who, left, right = codes
    if not fits:
        return np.lexsort((*rest, right, left, who))
    keys = (who.astype(np.int64) * n_items + left) * n_items + right
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    same = keys[1:] == keys[:-1]
    equal = np.flatnonzero(np.append(same, False) | np.append(False, same))
    rows = order[equal]
    order[equal] = rows[np.lexsort((*(column[rows] for column in rest), keys[equal]))]
    return order


def _constant_if_one(column: FloatArray) -> FloatArray:
    return constant(1.0, len(column)) if bool((column == 1.0).all()) else column
