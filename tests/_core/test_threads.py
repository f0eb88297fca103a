"""Work in threads, in the order in which it was given."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from aggcal._core.arrays import FloatArray
from aggcal._core.kernels.threads import added, in_turn


@pytest.mark.parametrize("most", [1, 2, None])
def test_no_more_is_taken_than_may_be_done_at_a_time(most: int | None) -> None:
    taken: list[int] = []
    done: list[int] = []

    def given() -> Iterator[int]:
        for k in range(1, 50):
            taken.append(k)
            yield k

    for result in in_turn(lambda k: 10 * k, given(), most=most):
        done.append(result)
        if most is not None:
            assert len(taken) <= len(done) + most
    assert done == [10 * k for k in range(1, 50)]


@pytest.mark.parametrize("shape", [(), (3,), (50_001,), (2, 60_000), (60_001, 4)])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_large_sums_are_those_of_one_thread(shape: tuple[int, ...], kind: type) -> None:
    random = np.random.default_rng(3)
    parts: list[FloatArray] = [np.asarray(random.normal(size=shape), dtype=kind) for _ in range(9)]
    expected = parts[0].copy()
    for part in parts[1:]:
        expected = np.asarray(expected + part)
    assert np.array_equal(added(parts), expected)
