"""Products with B, items by annotators: sparse, or as a matrix where most annotators saw much."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import each_range, even

if TYPE_CHECKING:
    from scipy import sparse

_FULL = 1 / 6
"""Share of entries from which a matrix is multiplied in less time than what is in it."""
_FULL_COMPILED = 0.4
"""The same for the kernels, which take only the items that each annotator saw."""
_COLUMNS_EACH, _ROWS_EACH = 32, 32  # of a range: fewer wake more threads for less
_ENTRIES = 1 << 22  # of a matrix at a time: more take more memory


def squared(border: sparse.csr_array, weight: FloatArray) -> FloatArray:
    """Return B W B' for weights W of the columns.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> squared(csr_array(np.array([[1.0, 2.0], [0.0, 1.0]])), np.array([1.0, 10.0]))
    array([[41., 20.],
           [20., 10.]])
    """
    n, m = border.shape
    kernel = getattr(library(), "aggcal_border_square", None)
    if kernel is not None and border.nnz < _FULL_COMPILED * n * m:
        total, by_column = np.zeros((n, n)), _by_column(border)
        weight = np.ascontiguousarray(weight)

        def rows(begin: int, end: int) -> None:
            kernel(begin, end, m, n, *at(*by_column, weight, total))

        each_range(rows, even(n, _ROWS_EACH))
        return np.asarray(total + np.tril(total, -1).T)
    if border.nnz < _FULL * n * m:
        return np.asarray((border.multiply(weight).tocsr() @ border.T).toarray())
    columns, total = border.tocsc(), np.zeros((n, n))
    step = max(1, _ENTRIES // n)
    for begin in range(0, m, step):
        part = columns[:, begin : begin + step].toarray()
        total += (part * weight[begin : begin + step]) @ part.T
    return total


def carried_variances(carried: sparse.csr_array, covariance: FloatArray) -> FloatArray:
    """Return the diagonal of G'CG for the columns of G.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> carried_variances(csr_array(np.array([[1.0, 2.0], [0.0, 1.0]])), np.diag([1.0, 3.0]))
    array([1., 7.])
    """
    n, m = carried.shape
    kernel = getattr(library(), "aggcal_border_forms", None)
    if kernel is not None and carried.nnz < _FULL_COMPILED * n * m:
        found, by_column = np.empty(m), _by_column(carried)
        covariance = np.ascontiguousarray(covariance)

        def forms(begin: int, end: int) -> None:
            kernel(begin, end, n, *at(*by_column, covariance, found))

        each_range(forms, even(m, _COLUMNS_EACH))
        return found
    if carried.nnz < _FULL * n * m:
        return np.ravel(carried.multiply((carried.T @ covariance).T).sum(axis=0))
    columns, step = carried.tocsc(), max(1, _ENTRIES // n)
    found = np.empty(m)
    for begin in range(0, m, step):
        part = columns[:, begin : begin + step].toarray()
        found[begin : begin + step] = np.einsum("iu,iu->u", part, covariance @ part)
    return found


def _by_column(border: sparse.csr_array) -> tuple[CodeArray, CodeArray, FloatArray]:
    """Return where each column begins, and its rows, in order, and values."""
    columns = border.tocsc()
    columns.sum_duplicates()
    starts, rows = (np.asarray(each, dtype=np.int32) for each in (columns.indptr, columns.indices))
    return starts, rows, np.asarray(columns.data, dtype=np.float64)
