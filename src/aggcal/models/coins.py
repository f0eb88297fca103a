"""Random signs, some columns at a time: as the compiled kernels toss them."""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import FloatArray

LANES = 4  # random vectors taken together: those of an item stay in the cache
_GOLDEN = 0x9E3779B97F4A7C15  # 2**64 over the golden ratio: the step of SplitMix64


def signs(random: np.random.Generator, number: int) -> FloatArray:
    """Return `LANES` columns of random signs."""
    return np.asarray(1.0 - 2.0 * random.integers(0, 2, (number, LANES), dtype=np.int8))


def coins_of(key: int, number: int) -> FloatArray:
    """Return the coins of the compiled kernel, a row each: the same key gives the same ones."""
    z = np.uint64(key) + np.arange(number, dtype=np.uint64) * np.uint64(_GOLDEN)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits = z[:, None] >> np.arange(63, 63 - LANES, -1, dtype=np.uint64)
    return np.where(bits & np.uint64(1), -1.0, 1.0)


def key_from(key: int, row: int) -> int:
    """Return the key whose first coin is that of the given row under ``key``.

    Examples
    --------
    >>> bool((coins_of(7, 40)[30:] == coins_of(key_from(7, 30), 10)).all())
    True
    """
    return (key + row * _GOLDEN) % (1 << 64)
