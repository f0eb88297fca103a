"""Shapes that are fitted together to a draw: as each is by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from aggcal._core.arrays import FloatArray, IntArray
from aggcal.calibration.refits import Refits
from aggcal.calibration.shapes import mixed_base
from aggcal.calibration.within import levelled

PARTS = np.repeat([0, 1, 4], [9, 10, 1])


def drawn(kind: str, seed: int) -> tuple[FloatArray, FloatArray]:
    random = np.random.default_rng(seed)
    x = random.normal(size=20)
    y = {
        "line": 3.0 * x,
        "steep": np.exp(1.5 * x),
        "bent down": -np.exp(-1.5 * x),
        "groups": np.where(x > 0.3, 5.0, 1.0),
        "falls": -x,
        "constant": np.zeros(20),
    }[kind]
    return x, y + 0.4 * random.normal(size=20) * (kind != "constant")


@pytest.mark.parametrize("part", [None, PARTS], ids=["one component", "several components"])
@pytest.mark.parametrize("kind", ["line", "steep", "bent down", "groups", "falls", "constant"])
def test_all_shapes_at_once_are_each_by_itself(kind: str, part: IntArray | None) -> None:
    x, y = drawn(kind, 1)
    base = mixed_base(x, y, 3, part)
    # Every shape has a part in it, whatever these values tell for it.
    even = replace(base, weights=np.full(len(base.weights), 1.0 / len(base.weights)))
    for each in (base, even):
        again = Refits(each, y, 3)
        for seed in range(5):
            new = x + 0.5 * np.random.default_rng(seed).normal(size=20)
            alone = levelled(again.one_by_one(new), y, part)
            np.testing.assert_allclose(again(new), alone, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("place", [0.0, 0.7])
def test_items_at_one_place_share_their_value(place: float) -> None:
    x, y = drawn("line", 2)
    again = Refits(mixed_base(x, y), y)
    new = np.where(np.arange(20) < 4, place, x)
    assert np.ptp(again(new)[:4]) == pytest.approx(0.0, abs=1e-12)
    assert np.ptp(again(np.full(20, place))) == pytest.approx(0.0, abs=1e-12)


def test_few_items_have_a_line() -> None:
    x, y = np.arange(5.0), np.array([1.0, 2.0, 4.0, 3.0, 5.0])
    found = Refits(mixed_base(x, y), y)(x)
    np.testing.assert_allclose(found, np.polyval(np.polyfit(x, y, 1), x))
