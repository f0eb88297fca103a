"""Where the ids of one table are in another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat

import numpy as np

from aggcal._core.arrays import IntArray, TextArray

_PIECE = 1 << 12
"""Ids that are looked at together: they stay in the cache from the first look to the last."""


def positions(ids: Sequence[str] | TextArray, among: Sequence[str] | TextArray) -> IntArray:
    """Return where each id is among others, −1 where it is not.

    Examples
    --------
    >>> positions(["b", "c"], ["a", "b"])
    array([ 1, -1])
    """
    if same(ids, among):
        return np.arange(len(ids))
    lookup = dict(zip(among, range(len(among)), strict=True))
    return np.fromiter(map(lookup.get, ids, repeat(-1)), np.int64, len(ids))


def same(ids: Sequence[str] | TextArray, others: Sequence[str] | TextArray) -> bool:
    """Tell whether two tables have the same ids in the same order.

    Examples
    --------
    >>> same(["a", "b"], np.array(["a", "b"], dtype=object)), same(["a", "b"], ["b", "a"])
    (True, False)
    """
    if ids is others:
        return True
    if len(ids) != len(others):
        return False
    pairs = zip(_pieces(ids), _pieces(others), strict=True)
    return all(one == other for one, other in pairs)


def _pieces(ids: Sequence[str] | TextArray) -> Iterator[list[str]]:
    for begin in range(0, len(ids), _PIECE):
        piece = ids[begin : begin + _PIECE]
        yield piece.tolist() if isinstance(piece, np.ndarray) else list(piece)
