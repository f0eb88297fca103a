"""Products with items by annotators are the same as matrices and entry by entry."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from aggcal.models import borders


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("entries", [1, 100, 1 << 22])
def test_products_are_those_of_matrices(
    share: float, entries: int, kernels: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not kernels:
        monkeypatch.setattr(borders, "library", lambda: None)
    monkeypatch.setattr(borders, "_ROWS_EACH", 7)
    monkeypatch.setattr(borders, "_COLUMNS_EACH", 3)
    monkeypatch.setattr(borders, "_ENTRIES", entries)
    random = np.random.default_rng(5)
    full = np.where(random.random((30, 17)) < share, random.normal(size=(30, 17)), 0.0)
    weight, root = random.uniform(0.1, 2.0, 17), random.normal(size=(30, 30))
    covariance = root @ root.T
    expected = full @ np.diag(weight) @ full.T
    np.testing.assert_allclose(borders.squared(csr_array(full), weight), expected, atol=1e-12)
    found = borders.carried_variances(csr_array(full), covariance)
    np.testing.assert_allclose(found, np.diag(full.T @ covariance @ full), atol=1e-11)
