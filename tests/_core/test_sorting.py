"""The kernel that sorts long columns against NumPy: the same order, ties included."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from aggcal._core import arrays, sorting
from aggcal._core.arrays import FloatArray, ranks
from aggcal._core.kernels import library
from aggcal._core.sorting import in_order, levels


def columns(n: int) -> Iterator[FloatArray]:
    """Columns that are hard to deal into boxes of equal width, or have many equal numbers."""
    random = np.random.default_rng(n)
    normal = random.standard_normal(n)
    yield normal
    yield np.sort(normal)
    yield np.sort(normal)[::-1].copy()
    yield random.standard_cauchy(n)
    yield np.exp(100.0 * normal)
    yield np.asarray(np.round(normal, 1))
    yield np.full(n, 3.5)
    yield np.where(normal > 0.0, 0.0, -0.0)
    yield np.asarray(5e-324 * random.integers(-3, 3, n))
    far = normal.copy()
    far[0], far[-1] = 1e308, -1e308
    yield far
    endless = normal.copy()
    endless[:: max(1, n // 3)], endless[-1] = np.inf, -np.inf
    yield endless
    yield np.asarray(1.0 + 2.0**-52 * random.integers(0, 9, n))


@pytest.mark.parametrize("n", [1, 2, 24, 25, 26, 300, 5_000, 60_000])
def test_the_same_order_as_numpy(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    monkeypatch.setattr(sorting, "LONG", 1)
    monkeypatch.setattr(arrays, "LONG", 1)
    for column in columns(n):
        given, expected = column.copy(), np.argsort(column, kind="stable")
        order, ordered = in_order(column)
        np.testing.assert_array_equal(order, expected)
        assert ordered.tobytes() == column[expected].tobytes()
        assert column.tobytes() == given.tobytes()
        np.testing.assert_array_equal(levels(column), np.unique(column, return_inverse=True)[1])
        best = n + 1 - np.searchsorted(np.sort(column), column, side="right")
        np.testing.assert_array_equal(ranks(column), best)


def test_columns_that_are_not_contiguous(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "LONG", 1)
    column = np.random.default_rng(2).standard_normal((50, 2))[:, 1]
    np.testing.assert_array_equal(in_order(column)[0], np.argsort(column))
    column.flags.writeable = False
    np.testing.assert_array_equal(in_order(column[::-1])[0], np.argsort(column[::-1]))


def test_what_is_no_number_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "LONG", 1)
    monkeypatch.setattr(arrays, "LONG", 1)
    column = np.array([2.0, np.nan, 1.0, np.nan, 3.0])
    assert in_order(column)[0].tolist() == [2, 0, 4, 1, 3]
    assert levels(column).tolist() == [1, 3, 0, 3, 2]
    assert ranks(column).tolist() == [4, 1, 5, 1, 3]


@pytest.mark.skipif(library() is None, reason="no C compiler when aggcal was installed")
def test_the_kernel_is_there() -> None:
    assert hasattr(library(), "aggcal_sort")
