"""Sums over packed vectors are those of matrices."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from aggcal._core.kernels import library
from aggcal.models.borders import forms
from aggcal.models.general import packed
from aggcal.models.general.packed import Packed, squares

pytestmark = pytest.mark.skipif(library() is None, reason="no C compiler when aggcal was installed")

WIDE = 11


def some(
    random: np.random.Generator, size: int, first: int, number: int
) -> tuple[Packed, np.ndarray]:
    """Return packed vectors of some annotators, and the sum of their products."""
    parts, ranks, values = [], random.integers(0, WIDE + 1, number).astype(np.int32), []
    total = np.zeros((size, size))
    for rank in ranks.tolist():
        touched = np.flatnonzero(random.random(size) < random.uniform(0.02, 0.9))
        vectors = random.normal(size=(rank, len(touched)))
        total[np.ix_(touched, touched)] += vectors.T @ vectors
        values.append(np.pad(vectors.ravel(), (0, (WIDE - rank) * len(touched))))
        parts.append(touched)
    starts = np.cumsum([0, *map(len, parts)]).astype(np.int32)
    items = np.concatenate(parts).astype(np.int32)
    return Packed(first, starts, items, np.concatenate(values), ranks), total


@pytest.mark.parametrize("size", [3, 48, 200, 600])
@pytest.mark.parametrize("each", [20, 70, 1000])
def test_squares(size: int, each: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "_UNKNOWNS_EACH", each)
    random = np.random.default_rng(size)
    pairs = [some(random, size, first, 5) for first in (0, 5)]

    def parts() -> Iterator[Packed]:
        yield from (part for part, _ in pairs)

    expected = pairs[0][1] + pairs[1][1]
    np.testing.assert_allclose(squares(parts(), size, WIDE), expected, atol=1e-11)
    assert pairs[1][0].annotators == slice(5, 10)


@pytest.mark.parametrize("several", [1, 2, 3, 4, 5, 9])
def test_several_forms(several: int) -> None:
    random = np.random.default_rng(several)
    part, _ = some(random, 200, 0, 7)
    root = random.normal(size=(200, 200))
    covariance, values = root @ root.T, random.normal(size=(several, len(part.items)))
    found = forms(part.starts, part.items, values, covariance)
    for k in range(several):
        for u, (begin, end) in enumerate(zip(part.starts[:-1], part.starts[1:], strict=True)):
            vector = np.zeros(200)
            vector[part.items[begin:end]] = values[k, begin:end]
            np.testing.assert_allclose(found[k, u], vector @ covariance @ vector, rtol=1e-11)
