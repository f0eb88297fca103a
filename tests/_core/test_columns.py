"""Long columns: in threads, by kernels, and without either."""

from __future__ import annotations

import numpy as np
import pytest

from aggcal._core import arrays
from aggcal._core.arrays import elementwise, numbered, ordered, starts_of
from aggcal._core.kernels import library


@pytest.mark.parametrize("rows", [0, 7, 150_000])
def test_pieces_of_columns_give_what_the_whole_gives(rows: int) -> None:
    random = np.random.default_rng(1)
    x, who = random.normal(size=rows), random.integers(9, size=rows, dtype=np.int32)
    once = np.broadcast_to(np.float64(2.0), (rows,))
    pieces = []

    def work(x: np.ndarray, who: np.ndarray, once: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        pieces.append(len(x))
        return np.exp(x) * once, x + who

    found = elementwise(work, x, who, once, results=2)
    assert (len(pieces) > 1) == (rows == 150_000)
    assert sum(pieces) == rows
    np.testing.assert_array_equal(found[0], np.exp(x) * 2.0)
    np.testing.assert_array_equal(found[1], x + who)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_where_codes_begin(kind: type) -> None:
    code: np.ndarray = np.array([1, 1, 3, 3, 3, 6], dtype=kind)
    assert starts_of(code, 8).tolist() == [0, 0, 2, 2, 5, 5, 5, 6, 6]
    assert starts_of(code[:0], 2).tolist() == [0, 0, 0]


@pytest.mark.parametrize("rows", [0, 1, 500])
def test_pairs_of_codes_are_numbered_alike_compiled_and_not(
    monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    if library() is None:
        pytest.skip("there is no kernel")
    one, other = np.random.default_rng(2).integers(12, size=(2, rows), dtype=np.int32)
    order = ordered(one, 12, ordered(other, 12))
    compiled = numbered(order, one, other)
    spaced = numbered(order, np.repeat(one, 2)[::2], other)
    monkeypatch.setattr(arrays, "library", lambda: None)
    plain = numbered(order, one, other)
    for found in (compiled, spaced):
        np.testing.assert_array_equal(found[0], plain[0])
        np.testing.assert_array_equal(found[1], plain[1])
    pairs = np.unique(np.stack([one, other], axis=1), axis=0, return_inverse=True)[1].ravel()
    np.testing.assert_array_equal(plain[1], pairs)
