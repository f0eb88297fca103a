"""Inverses by triangles are inverses, whatever is in the other triangle."""

from __future__ import annotations

import numpy as np
import pytest

from aggcal._core import triangles
from aggcal.aggregation.newton import inverse_of_factor

SIZES = (1, 2, 63, 64, 65, 200, 301)


def factor(n: int) -> np.ndarray:
    """Return an upper triangle by columns, with numbers below it that mean nothing."""
    random = np.random.default_rng(n)
    found = np.asfortranarray(random.normal(size=(n, n)) / n)
    found[np.diag_indices(n)] = random.uniform(0.5, 2.0, n)
    return found


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("n", SIZES)
def test_the_inverse_of_a_product_of_triangles(
    n: int, kernels: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not kernels:
        monkeypatch.setattr(triangles, "library", lambda: None)
    upper = np.triu(factor(n))
    found = inverse_of_factor(factor(n))
    np.testing.assert_allclose(found @ (upper.T @ upper), np.eye(n), atol=1e-10)
    np.testing.assert_array_equal(found, found.T)


def test_a_part_of_a_matrix_is_mirrored_without_the_kernel() -> None:
    whole = np.arange(36.0).reshape(6, 6)
    found = triangles.mirrored(whole[1:4, 1:4])
    np.testing.assert_array_equal(found, [[7, 13, 19], [13, 14, 20], [19, 20, 21]])
    np.testing.assert_array_equal(whole, np.arange(36.0).reshape(6, 6))
