"""What rows draw: each mark where its number is, and none for what is not there."""

from __future__ import annotations

import re

import numpy as np
import pytest

from aggcal.pages.numbers import MINUS, number_text
from aggcal.report.marks import moved, whisker
from aggcal.report.scale import Axis

_NONE = {"tied": "", "model": "", "dot": "", "low": "", "high": ""}


def _classes(drawn: str) -> list[str]:
    return re.findall(r'<(?:line|circle) class="(\w+)"', drawn)


def test_a_whisker_draws_what_is_there() -> None:
    """An interval needs both its ends."""
    assert _classes(whisker(_NONE)) == []
    assert _classes(whisker(_NONE | {"dot": "5.00", "low": "3.00"})) == ["pt"]
    full = whisker(_NONE | {"dot": "5.00", "low": "3.00", "high": "9.00"})
    assert _classes(full) == ["ci", "pt"]
    assert 'x1="3.00%" x2="9.00%"' in full


@pytest.mark.parametrize(
    ("tied", "ends"),
    [("first", ("50%", "100%")), ("middle", ("0", "100%")), ("last", ("0", "50%"))],
)
def test_a_block_is_one_line_through_its_rows(tied: str, ends: tuple[str, str]) -> None:
    """It begins in the middle of its first row and ends in the middle of its last."""
    drawn = moved(_NONE | {"tied": tied, "dot": "5.00", "model": "7.00"})
    assert _classes(drawn) == ["step", "mv", "md", "pt"]
    assert f'y1="{ends[0]}" y2="{ends[1]}"' in drawn


def test_a_place_is_nothing_where_there_is_no_number() -> None:
    """Neither for a column that is not there nor for NaN; beyond the ends, it is the end."""
    axis, column = Axis(0.0, 10.0), np.array([5.0, np.nan, 99.0])
    assert [axis.place(column, k) for k in range(3)] == ["50.00", "", "97.00"]
    assert axis.place(None, 0) == ""


def test_a_minus_is_written_only_before_digits_that_differ_from_0() -> None:
    """Exponents keep their own sign."""
    shown = [number_text(x, 2) for x in (-0.0, -0.004, -0.006, 0.0, -1234.5)]
    assert shown == ["0.00", "0.00", f"{MINUS}0.01", "0.00", f"{MINUS}1,234.50"]
    assert [number_text(x, None) for x in (1e-9, -1e-9)] == ["1e-09", f"{MINUS}1e-09"]
    assert number_text(float("-inf"), 2) == f"{MINUS}∞"
