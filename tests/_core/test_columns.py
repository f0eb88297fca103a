"""Long columns: in threads, by kernels, and without either."""

from __future__ import annotations

import numpy as np
import pytest

from aggcal._core.arrays import elementwise, starts_of


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
