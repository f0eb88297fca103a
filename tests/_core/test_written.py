"""Numbers are written as Python writes them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggcal._core import written as module
from aggcal._core.kernels import library
from aggcal._core.written import is_written, written

pytestmark = pytest.mark.skipif(library() is None, reason="no compiled kernels")

POWERS = 2.0 ** np.arange(-1074.0, 1024.0)


def as_python_writes(values: np.ndarray) -> str:
    return "".join(f"{'' if np.isnan(x) else repr(x)}\n" for x in values.tolist())


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(1).integers(0, 2**64, 100_000, dtype=np.uint64).view(np.float64),
        np.random.default_rng(2).integers(1, 2**52, 10_000, dtype=np.uint64).view(np.float64),
        np.random.default_rng(3).normal(size=100_000),
        np.random.default_rng(4).normal(size=100_000).round(4),
        np.random.default_rng(5).integers(-(2**62), 2**62, 100_000).astype(np.float64),
        np.concatenate([POWERS, -POWERS, np.nextafter(POWERS, 0.0), np.nextafter(POWERS, np.inf)]),
        np.array([float(f"{m}e{e}") for e in range(-325, 309) for m in (1, 5, 9.5, -123456789)]),
        np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e16, 1e15, 9999999999999998.0]),
        np.array([1e-4, 1e-5, 0.00012345, 9007199254740993.0, 1e22, 1e23, 2.0**-44]),
        np.array([0.1, np.nan, 1e30], dtype=np.float32),
    ],
    ids=str,
)
def test_floats(values: np.ndarray) -> None:
    assert written([values]) == as_python_writes(values)


@given(st.lists(st.floats()))
def test_any_floats(values: list[float]) -> None:
    assert written([np.array(values)]) == as_python_writes(np.array(values))


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_any_whole_numbers(values: list[int]) -> None:
    assert written([np.array(values, dtype=np.int64)]) == "".join(f"{x}\n" for x in values)


@given(st.lists(st.tuples(st.text(st.characters(exclude_characters="\0")), st.floats())))
def test_columns_of_texts_and_numbers(rows: list[tuple[str, float]]) -> None:
    texts, numbers = [text for text, _ in rows], np.array([x for _, x in rows])
    expected = "".join(f"{text},{'-' if np.isnan(x) else repr(x)}," for text, x in rows)
    found = written([texts, numbers], end=",", missing="-")
    assert found == expected.encode("utf-8", "replace").decode()


def test_rounded_numbers_have_no_fraction() -> None:
    values = np.array([2.0, -(2.0**52), np.nan, 0.0])
    assert written([values], missing="null", rounded=True) == "2\n-4503599627370496\nnull\n0\n"


def test_a_part_of_an_array() -> None:
    values = np.arange(10.0).reshape(5, 2)[::2, 1]
    assert written([values]) == "1.0\n5.0\n9.0\n"


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="differ in length"):
        written([np.zeros(2), np.zeros(3)])


def test_what_is_no_number_or_too_large_is_left_to_others() -> None:
    columns = [np.array([True]), np.array([2**63], dtype=np.uint64), np.array([None])]
    assert not any(map(is_written, columns))
    assert written([columns[0]]) is None


def test_nothing_without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "library", lambda: None)
    assert written([np.zeros(1)]) is None
