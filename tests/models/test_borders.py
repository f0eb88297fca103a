"""Products with items by annotators are the same as matrices and entry by entry."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csc_array

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
    monkeypatch.setattr(borders, "_ENTRIES", entries)
    random = np.random.default_rng(5)
    full = np.where(random.random((30, 17)) < share, random.normal(size=(30, 17)), 0.0)
    weight, root = random.uniform(0.1, 2.0, 17), random.normal(size=(30, 30))
    covariance = root @ root.T
    expected = full @ np.diag(weight) @ full.T
    np.testing.assert_allclose(borders.squared(csc_array(full), weight), expected, atol=1e-12)
    found = borders.carried_variances(csc_array(full), covariance)
    np.testing.assert_allclose(found, np.diag(full.T @ covariance @ full), atol=1e-11)


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("judged", [1, 3, 40])
@pytest.mark.parametrize("items", [5, 64, 130])
def test_annotators_are_eliminated_row_by_row(
    items: int, judged: int, kernels: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not kernels:
        monkeypatch.setattr(borders, "library", lambda: None)
    monkeypatch.setattr(borders, "_ROWS_EACH", 60)
    random = np.random.default_rng(items + judged)
    annotators = 9
    winner = random.integers(0, items, annotators * judged).astype(np.int32)
    apart = random.integers(1, items, annotators * judged)
    loser = ((winner + apart) % items).astype(np.int32)
    near, cross = random.uniform(size=len(winner)), random.normal(size=len(winner))
    inner = random.uniform(1.0, 2.0, annotators)
    moved = np.zeros((len(winner), items))
    moved[np.arange(len(winner)), winner], moved[np.arange(len(winner)), loser] = 1.0, -1.0
    owner = np.repeat(np.eye(annotators), judged, axis=0)
    border = moved.T @ (cross[:, None] * owner)
    expected = moved.T @ (near[:, None] * moved) - (border / inner) @ border.T

    def part(first: int, last: int) -> borders.Part:
        mine = slice(first * judged, last * judged)
        starts = np.arange(last - first + 1) * judged
        return winner[mine], loser[mine], starts, near[mine], cross[mine]

    schur, found = borders.eliminated(items, [part(0, 4), part(4, 9)], inner)
    assert found is not None
    np.testing.assert_allclose(schur, expected, atol=1e-12)
    np.testing.assert_allclose(found.toarray(), border, atol=1e-12)
    alone = borders.border_of(items, [part(0, 4), part(4, 9)])
    np.testing.assert_allclose(alone.toarray(), border, atol=1e-12)
    plain, none = borders.eliminated(items, [(*part(0, 9)[:4], None)], inner)
    assert none is None
    np.testing.assert_allclose(plain, moved.T @ (near[:, None] * moved), atol=1e-12)
