"""Where the ids of one table are in another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, repeat

import numpy as np

from aggcal._core.arrays import CodeArray, IntArray, TextArray
from aggcal._core.kernels import at, library

_LONG = 100_000
"""Ids among which others are looked up by their hashes: in fewer, Python finds them as soon."""
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
    if _LONG <= len(among) < np.iinfo(np.int32).max:
        found = _by_hash(ids, among)
        if found is not None:
            return found.astype(np.int64)
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


def _by_hash(ids: Sequence[str] | TextArray, among: Sequence[str] | TextArray) -> CodeArray | None:
    """Look ids up by Python's hashes; None where two ids have one, or there is no kernel."""
    kernels = library()
    if kernels is None:
        return None
    known, wanted = _hashes(among), _hashes(ids)
    bits = (len(known) + len(known) // 2).bit_length()
    table = np.zeros((1 << bits, 2), dtype=np.uint64)
    code = np.arange(len(known), dtype=np.int32)
    if kernels.aggcal_hash_table(len(known), *at(known, code), bits, *at(table)):
        return None
    found = np.empty(len(wanted), dtype=np.int32)
    kernels.aggcal_look_up(len(wanted), *at(wanted), bits, *at(table, found))
    # An id that is not there may have the hash of one that is.
    return found if _agree(ids, among, found) else None


def _hashes(ids: Sequence[str] | TextArray) -> IntArray:
    every = chain.from_iterable(map(hash, piece) for piece in _pieces(ids))
    return np.fromiter(every, np.int64, len(ids))


def _agree(
    ids: Sequence[str] | TextArray, among: Sequence[str] | TextArray, found: CodeArray
) -> bool:
    """Tell whether the ids that were found are those that were looked for."""
    there = np.asarray(among, dtype=object)
    for k, piece in enumerate(_pieces(ids)):
        where = found[k * _PIECE : (k + 1) * _PIECE]
        got = there[where].tolist()
        if got != piece:
            here = (where >= 0).tolist()
            if any(h and g != p for h, g, p in zip(here, got, piece, strict=True)):
                return False
    return True
