"""Products with B, items by annotators: sparse, or as a matrix where most annotators saw much."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, joined
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import added, each_range, even
from aggcal._core.triangles import mirrored
from aggcal.models.rows import laplacian_of

if TYPE_CHECKING:
    from scipy import sparse

Part: TypeAlias = tuple[CodeArray, CodeArray, IntArray, FloatArray, FloatArray | None]
"""Rows of some annotators: winners, losers, where those of each begin, a² and ab of each row."""

_FULL = 1 / 6
"""Share of entries from which a matrix is multiplied in less time than what is in it."""
_FULL_COMPILED = 0.4
"""The same for the kernels, which take only the items that each annotator saw."""
_ROWS_EACH = 96  # of a range: fewer wake more threads for less
_ENTRIES = 1 << 22  # of a matrix at a time: more take more memory


def eliminated(
    n: int, parts: Iterable[Part], inner: FloatArray
) -> tuple[FloatArray, sparse.csc_array | None]:
    """Return A − B D⁻¹ B' of n items as a matrix, and B; A alone where rows have no ab.

    Parameters
    ----------
    n
        How many items there are.
    parts
        The rows of one annotator after the other, some at a time.
    inner
        The diagonal of D.

    Examples
    --------
    >>> rows = np.array([0, 1], np.int32), np.array([1, 2], np.int32), np.array([0, 2])
    >>> schur, border = eliminated(
    ...     3, [(*rows, np.array([1.0, 2.0]), np.array([1.0, 3.0]))], np.array([8.0])
    ... )
    >>> schur
    array([[ 0.875, -1.25 ,  0.375],
           [-1.25 ,  2.5  , -1.25 ],
           [ 0.375, -1.25 ,  0.875]])
    >>> border.toarray().T
    array([[ 1.,  2., -3.]])
    """
    kernels = library()
    if kernels is None:
        return _eliminated_by_numpy(n, parts, inner)
    schur, found = np.zeros((n, n)), []
    for winner, loser, starts, near, cross in parts:
        kernels.aggcal_border_laplacian(len(near), n, *at(winner, loser, near, schur))
        if cross is not None:
            found.append(_columns(n, winner, loser, starts, cross))
    border = None
    if found:
        from scipy import sparse

        numbers, items, values = (joined(each) for each in zip(*found, strict=True))
        starts = np.concatenate([[0], np.cumsum(numbers)]).astype(np.int32)
        border = sparse.csc_array((values, items, starts), shape=(n, len(numbers)))
        _add_squared(schur, border, -1.0 / inner)
    return mirrored(schur), border


def _columns(
    n: int, winner: CodeArray, loser: CodeArray, starts: IntArray, cross: FloatArray
) -> tuple[CodeArray, CodeArray, FloatArray]:
    """Return how many items each annotator saw, which, in order, and their entries of B."""
    annotators, kernels = len(starts) - 1, library()
    assert kernels is not None  # noqa: S101  # the caller looked
    most = min(2 * len(cross), n * annotators)
    number, items = np.empty(annotators, np.int32), np.empty(most, np.int32)
    values, scratch = np.empty(most), (np.zeros(n), np.zeros(n // 64 + 1, np.uint64))
    arrays = at(winner, loser, starts, cross, *scratch, number, items, values)
    total = kernels.aggcal_border_columns(annotators, n, *arrays)
    return number, items[:total], values[:total]


def border_of(n: int, parts: Iterable[Part]) -> sparse.csc_array:
    """Return B of n items alone, which takes no matrix of items by items.

    Examples
    --------
    >>> rows = np.array([0, 1]), np.array([1, 2]), np.array([0, 2])
    >>> border_of(3, [(*rows, np.array([1.0, 2.0]), np.array([1.0, 3.0]))]).toarray().T
    array([[ 1.,  2., -3.]])
    """
    from scipy import sparse

    found = []
    for winner, loser, starts, _, cross in parts:
        assert cross is not None  # noqa: S101  # there is no B without ab
        owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        where = np.concatenate([winner, loser]), np.concatenate([owner, owner])
        shape = (n, len(starts) - 1)
        found.append(sparse.coo_array((np.concatenate([cross, -cross]), where), shape=shape))
    return sparse.hstack(found).tocsc()


def _eliminated_by_numpy(
    n: int, parts: Iterable[Part], inner: FloatArray
) -> tuple[FloatArray, sparse.csc_array | None]:
    schur, found = np.zeros((n, n)), []
    for part in parts:
        winner, loser, _, near, cross = part
        schur += laplacian_of(winner, loser, near, n)
        found += [] if cross is None else [part]
    if not found:
        return schur, None
    border = border_of(n, found)
    schur -= squared(border, 1.0 / inner)
    return schur, border


def _add_squared(total: FloatArray, border: sparse.csc_array, weight: FloatArray) -> None:
    """Add B W B' to the lower triangle of a matrix; the rest may be anything."""
    n, m = border.shape
    kernels = library()
    if kernels is None or border.nnz >= _FULL_COMPILED * n * m:
        total += squared(border, weight)
        return
    by_column, weight = _by_column(border), np.ascontiguousarray(weight)

    def rows(begin: int, end: int) -> None:
        position = np.empty(m, np.int32)
        arrays = at(*by_column, weight, position, total)
        kernels.aggcal_border_square(begin, end, m, n, *arrays)

    each_range(rows, even(n, _ROWS_EACH))


def squared(border: sparse.csc_array, weight: FloatArray) -> FloatArray:
    """Return B W B' for weights W of the columns.

    Examples
    --------
    >>> from scipy.sparse import csc_array
    >>> squared(csc_array(np.array([[1.0, 2.0], [0.0, 1.0]])), np.array([1.0, 10.0]))
    array([[41., 20.],
           [20., 10.]])
    """
    n, m = border.shape
    kernels = library()
    if kernels is not None and border.nnz < _FULL_COMPILED * n * m:
        total = np.zeros((n, n))
        _add_squared(total, border, weight)
        return mirrored(total)
    if border.nnz < _FULL * n * m:
        return np.asarray((border.multiply(weight).tocsr() @ border.T).toarray())
    columns, total = border.tocsc(), np.zeros((n, n))
    step = max(1, _ENTRIES // n)
    for begin in range(0, m, step):
        part = columns[:, begin : begin + step].toarray()
        total += (part * weight[begin : begin + step]) @ part.T
    return total


def carried_variances(carried: sparse.csc_array, covariance: FloatArray) -> FloatArray:
    """Return the diagonal of G'CG for the columns of G.

    Examples
    --------
    >>> from scipy.sparse import csc_array
    >>> carried_variances(csc_array(np.array([[1.0, 2.0], [0.0, 1.0]])), np.diag([1.0, 3.0]))
    array([1., 7.])
    """
    n, m = carried.shape
    kernels = library()
    if kernels is not None and carried.nnz < _FULL_COMPILED * n * m:
        starts, items, values = _by_column(carried)
        return np.asarray(forms(starts, items, values[None], covariance)[0])
    if carried.nnz < _FULL * n * m:
        return np.ravel(carried.multiply((carried.T @ covariance).T).sum(axis=0))
    columns, step = carried.tocsc(), max(1, _ENTRIES // n)
    found = np.empty(m)
    for begin in range(0, m, step):
        part = columns[:, begin : begin + step].toarray()
        found[begin : begin + step] = np.einsum("iu,iu->u", part, covariance @ part)
    return found


def forms(
    starts: CodeArray, items: CodeArray, values: FloatArray, covariance: FloatArray
) -> FloatArray:
    """Return g'Cg of the columns of sparse matrices that have the same pattern, by the kernel.

    Parameters
    ----------
    starts, items
        Where each column begins, and which items it has, in order.
    values
        The entries of each matrix, a row each.
    covariance
        C, symmetric.
    """
    kernels, number, several = library(), len(starts) - 1, len(values)
    assert kernels is not None  # noqa: S101  # the caller looked
    values, covariance = np.ascontiguousarray(values), np.ascontiguousarray(covariance)

    def rows(begin: int, end: int) -> FloatArray:
        position, found = np.empty(number, np.int32), np.empty((several, number))
        numbers = number, len(covariance), several, values.shape[1]
        arrays = at(starts, items, values, covariance, position, found)
        kernels.aggcal_border_forms(begin, end, *numbers, *arrays)
        return found

    return added(each_range(rows, even(len(covariance), _ROWS_EACH)))


def _by_column(
    border: sparse.csc_array,
) -> tuple[CodeArray, CodeArray, FloatArray]:
    """Return where each column begins, and its rows, in order, and values."""
    columns = border.tocsc()
    columns.sum_duplicates()
    starts, rows = (np.asarray(each, dtype=np.int32) for each in (columns.indptr, columns.indices))
    return starts, rows, np.asarray(columns.data, dtype=np.float64)
