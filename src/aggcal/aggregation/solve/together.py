"""Solve a symmetric system for several targets, one product of all of them at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, SingleArray
from aggcal._core.kernels.threads import added, each_range, even


def solve_together(
    product: Callable[[SingleArray], SingleArray],
    targets: SingleArray,
    diagonal: FloatArray,
    close: float,
) -> SingleArray:
    """Solve a positive definite system for each column of targets, by conjugate gradients.

    In single precision, which is enough for random targets. Targets on a GPU are solved there.

    Parameters
    ----------
    product
        Multiplies columns by the matrix.
    targets
        The right hand sides, a column each.
    diagonal
        That of the matrix, or of one like it.
    close
        Relative residual to reach.

    Examples
    --------
    >>> stiff = np.array([[2.0], [4.0]], dtype=np.float32)
    >>> ones = np.ones((2, 3), dtype=np.float32)
    >>> solve_together(lambda v: stiff * v, ones, np.ones(2), 1e-5).round(3)
    array([[0.5 , 0.5 , 0.5 ],
           [0.25, 0.25, 0.25]], dtype=float32)
    """
    inverse = np.asarray((1.0 / diagonal).astype(np.float32)[:, None], like=targets)
    found, residual = np.zeros_like(targets), targets.copy()
    direction = residual * inverse
    size = first = _dots(residual, direction)
    for _ in range(10 * len(targets)):
        if (size <= close**2 * first).all():
            break
        curved = product(direction)
        step = _over(size, _dots(direction, curved))
        new = _move(found, residual, direction, curved, inverse, step)
        direction *= _over(new, size).astype(np.float32)
        direction += curved
        size = new
    return found


def _move(  # noqa: PLR0917  # columns
    found: SingleArray,
    residual: SingleArray,
    direction: SingleArray,
    curved: SingleArray,
    inverse: SingleArray,
    step: FloatArray,
) -> FloatArray:
    """Go along a direction in threads; return the new size of what is left.

    ``curved`` is not needed any more: it becomes what is left, over the diagonal.
    """
    far = step.astype(np.float32)
    ranges = [0, len(found)] if _on_gpu(found) else even(len(found))

    def work(begin: int, end: int) -> FloatArray:
        part = slice(begin, end)
        found[part] += far * direction[part]
        residual[part] -= far * curved[part]
        np.multiply(residual[part], inverse[part], out=curved[part])
        return _dots(residual[part], curved[part])

    return added(each_range(work, ranges))


def _dots(one: SingleArray, other: SingleArray) -> FloatArray:
    """Return the scalar product of each column with its like."""
    if _on_gpu(one):
        there: FloatArray = (one * other).sum(axis=0, dtype=np.float64)
        return there
    return np.asarray(np.einsum("ik,ik->k", one, other, dtype=np.float64))


def _on_gpu(array: Any) -> bool:
    return not isinstance(array, np.ndarray)


def _over(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return a quotient, and 0 where a column is solved already."""
    return one / np.where(other > 0.0, other, np.inf)
