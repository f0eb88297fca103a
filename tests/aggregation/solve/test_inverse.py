"""Inverses by blocks against those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from aggcal.aggregation.solve import inverse


def definite(n: int) -> np.ndarray:
    """A matrix like the information of a study: most of it is small, and it is well determined."""
    root = np.random.default_rng(n).normal(size=(n, n))
    return np.asarray(root @ root.T / n + 0.05 * np.eye(n))


@pytest.mark.parametrize("n", [1, 2, 77, 256, 257, 700])
def test_blocks_give_the_inverse(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    """Less than a block, one, a little more, and blocks of blocks."""
    monkeypatch.setattr(inverse, "_LARGE", 1)
    matrix, normal = definite(n), np.random.default_rng(1).normal(size=(3, n))
    wanted = np.linalg.inv(matrix)
    found, errors = inverse.inverse_and_errors(matrix, normal)
    size = np.abs(wanted).max()
    np.testing.assert_allclose(found, wanted, atol=1e-12 * size)
    np.testing.assert_array_equal(found, found.T)
    # Errors are W'z for K = W'W: the same as by LAPACK, whose triangle is the same.
    monkeypatch.setattr(inverse, "_LARGE", 10**9)
    plain, wanted_errors = inverse.inverse_and_errors(matrix, normal)
    np.testing.assert_allclose(plain, wanted, atol=1e-12 * size)
    np.testing.assert_allclose(errors, wanted_errors, atol=1e-10)


@pytest.mark.parametrize("n", [5, 700])
def test_only_the_lower_triangle_is_read(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    monkeypatch.setattr(inverse, "_LARGE", 1)
    matrix = definite(n)
    wanted = inverse.inverse_root(matrix)
    matrix[np.triu_indices(n, 1)] = np.nan
    np.testing.assert_array_equal(inverse.inverse_root(matrix), wanted)


@pytest.mark.parametrize("n", [4, 700])
def test_a_matrix_that_is_not_definite(n: int) -> None:
    matrix = definite(n)
    matrix[n // 2, n // 2] = -1.0
    with pytest.raises(np.linalg.LinAlgError):
        inverse.inverse_and_errors(matrix, np.ones((1, n)))
