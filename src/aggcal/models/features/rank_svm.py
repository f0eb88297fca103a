r"""The linear ranking SVM: ½|w|² + C Σ c·max(0, 1 − w'(x_i − x_j))², i above j with weight c."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.models.rows import Rows

if TYPE_CHECKING:
    from scipy import sparse

Differences: TypeAlias = "sparse.csr_array[np.float64, tuple[int, int]]"
"""Sparse, for the sake of features that are a column per item."""


def differences(rows: Rows, features: FloatArray | None) -> Differences:
    """Return x_i − x_j of each row; without features every item has a column of its own.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal.models.rows import rows_of
    >>> rows = rows_of(aggcal.read_judgments([("ann", "b", "a")]))
    >>> differences(rows, np.array([[1.0], [4.0]])).toarray()
    array([[3.]])
    >>> differences(rows, None).toarray()
    array([[-1.,  1.]])
    """
    from scipy import sparse

    if features is not None:
        return sparse.csr_array(features[rows.winner] - features[rows.loser])
    size = len(rows)
    columns = np.column_stack([rows.winner, rows.loser]).ravel()
    signs = np.tile([1.0, -1.0], size)
    edges = np.arange(0, 2 * size + 1, 2, dtype=np.int32)  # liblinear knows no wider ones
    return sparse.csr_array((signs, columns, edges), shape=(size, rows.n_items))


def objective(
    apart: Differences, weight: FloatArray, cost: float, slopes: FloatArray
) -> tuple[float, FloatArray]:
    """Return the value and the gradient at w."""
    short = np.maximum(0.0, 1.0 - np.asarray(apart @ slopes))
    value = 0.5 * slopes @ slopes + cost * weight @ np.square(short)
    pull = apart.T @ (weight * short)
    return float(value), np.asarray(slopes - 2.0 * cost * pull)
