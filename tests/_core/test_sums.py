"""Sums by code: in pieces and threads, and the same to the bit as in one loop."""

from __future__ import annotations

import numpy as np
import pytest

from aggcal._core import arrays
from aggcal._core.arrays import sums


@pytest.mark.parametrize("piece", [7, 100, 10_000])
@pytest.mark.parametrize("kernels", [True, False])
def test_sums_of_pieces_are_added_in_their_order(
    monkeypatch: pytest.MonkeyPatch, piece: int, kernels: bool
) -> None:
    random = np.random.default_rng(3)
    index = random.integers(0, 50, 1_000, dtype=np.int32)
    values = random.normal(size=1_000) * 10.0 ** random.integers(-9, 9, 1_000)
    monkeypatch.setattr(arrays, "_PIECE", piece)
    if not kernels:
        monkeypatch.setattr(arrays, "library", lambda: None)
    expected = np.zeros(50)
    for begin in range(0, 1_000, piece):
        part = [0.0] * 50
        for k in range(begin, min(begin + piece, 1_000)):
            part[index[k]] += values[k]
        expected += part
    assert sums(index, values, 50).tobytes() == expected.tobytes()
    whole = random.integers(0, 9, 1_000)
    assert sums(index, whole, 50).tolist() == np.bincount(index, whole, 50).tolist()


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("disorder", [0, 1, 1_000])
def test_sums_by_a_sorted_index_are_those_of_one_loop(
    monkeypatch: pytest.MonkeyPatch, disorder: int, kernels: bool
) -> None:
    random = np.random.default_rng(5)
    index = np.sort(random.integers(0, 9_000, 120_000, dtype=np.int32))
    index[:disorder] = random.integers(0, 9_000, disorder)
    values = random.normal(size=len(index)) * 10.0 ** random.integers(-9, 9, len(index))
    if not kernels:
        monkeypatch.setattr(arrays, "library", lambda: None)
    expected = np.bincount(index, values, 9_100)
    assert sums(index, values, 9_100).tobytes() == expected.tobytes()
    assert (
        sums(index, values[::-1], 9_100).tolist()
        == np.bincount(index, values[::-1], 9_100).tolist()
    )
