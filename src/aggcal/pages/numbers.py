"""Numbers and ids as people read them: a true minus, thousands, spans, percentages, cut names."""

from __future__ import annotations

from math import floor, isfinite, isinf, isnan, log10

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.errors import cut as shortened
from aggcal.pages.document import Column

MINUS, DASH = "\N{MINUS SIGN}", "\N{EN DASH}"
LONGEST_NAME, SHORT_NAME = 120, 80
"""Where ids and names are cut: those of a table, and those in sentences, lists and headings."""

_FINEST, _LARGEST = 9, 1e12  # beyond these, digits say nothing: scientific notation


def number_text(value: float, decimals: int | None) -> str:
    """Write a number for people; a dash for what is not there.

    Examples
    --------
    >>> number_text(1234.5, 1), number_text(float("nan"), 1), number_text(1e20, None)
    ('1,234.5', '–', '1e+20')
    >>> number_text(-0.04, 1), number_text(-2.0, 1), number_text(2.675, 2)
    ('0.0', '−2.0', '2.68')
    """
    if isnan(value):
        return DASH
    if isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    # Rounded as `fitting` does for the script: a number is written in one way.
    text = f"{value:.4g}" if decimals is None else f"{np.round(value, decimals):,.{decimals}f}"
    if text[0] != "-":
        return text
    return text[1:] if float(text.replace(",", "")) == 0.0 else f"{MINUS}{text[1:]}"


def signed(value: float, decimals: int | None) -> str:
    """Write a change: with a plus if it is above 0.

    Examples
    --------
    >>> signed(1.25, 1), signed(-1.25, 1), signed(0.01, 1)
    ('+1.2', '−1.2', '0.0')
    """
    text = number_text(value, decimals)
    shown = value > 0 and any(digit in text for digit in "123456789∞")
    return f"+{text}" if shown else text


def span(low: float, high: float, decimals: int | None = 0) -> str:
    """Write an interval; with a word where an end is negative.

    Examples
    --------
    >>> span(1, 6), span(4, 4), span(-1.0, 2.5, 1)
    ('1–6', '4', '−1.0 to 2.5')
    """
    first, last = number_text(low, decimals), number_text(high, decimals)
    if first == last:
        return first
    return f"{first} to {last}" if low < 0 or high < 0 else f"{first}{DASH}{last}"


def percent(share: float) -> str:
    """Write a probability or share; nothing is 0% or 100% that may be otherwise.

    Examples
    --------
    >>> percent(0.634), percent(0.005), percent(0.995), percent(1.0)
    ('63%', '<1%', '>99%', '100%')
    """
    if not isfinite(share):
        return DASH
    whole = 100.0 * share
    if 0.0 < whole <= 0.5:  # noqa: PLR2004  # what rounding would call none
        return "<1%"
    if 99.5 <= whole < 100.0:  # noqa: PLR2004  # what rounding would call all
        return ">99%"
    return f"{whole:.0f}%"


def decimals_for(values: FloatArray) -> int | None:
    """Return how many decimals tell values apart; None where only an exponent does.

    Examples
    --------
    >>> decimals_for(np.array([12.0, 71.5])), decimals_for(np.array([1e300, 2.0]))
    (2, None)
    """
    known = values[np.isfinite(values)]
    if not known.size:
        return 0
    size = float(np.abs(known).max())
    if size >= _LARGEST:
        return None
    range_of = float(known.max() - known.min()) or size or 1.0
    decimals = max(0, 3 - floor(log10(range_of)))
    return decimals if decimals <= _FINEST else None


def decimals_of(values: FloatArray, low: FloatArray | None, high: FloatArray | None) -> int | None:
    """Return how many decimals are worth reading: two digits of the typical interval's width.

    Without intervals, as many as tell the values apart.

    Examples
    --------
    >>> decimals_of(np.array([57.93, 12.2]), np.array([50.0, 6.0]), np.array([66.0, 20.0]))
    1
    """
    fine = decimals_for(values)
    if fine is None or low is None or high is None:
        return fine
    width = (high - low)[np.isfinite(high - low)]
    typical = float(np.median(width)) if width.size else 0.0
    if typical <= 0.0:
        return fine
    return min(fine, max(1 if typical < 100.0 else 0, 1 - floor(log10(typical))))  # noqa: PLR2004


def cut(text: str, longest: int = LONGEST_NAME) -> str:
    """Return a text, cut with an ellipsis if it is too long; half a character becomes a sign.

    Examples
    --------
    >>> cut("abcdef", 3)
    'abc…'
    """
    short = shortened(text, longest)
    return short if short.isascii() else short.encode("utf-8", "replace").decode("utf-8")


def cell_text(column: Column, k: int, *, interval: bool = True) -> str:
    """Write a cell of a long table, its interval in brackets.

    Examples
    --------
    >>> ends = np.array([1.0, np.nan]), np.array([6.0, np.nan])
    >>> column = Column("rank", "Rank", "number", np.array([3.0, 1e4]), *ends)
    >>> cell_text(column, 0), cell_text(column, 1)
    ('3 (1–6)', '10,000')
    """
    if column.kind in ("name", "word"):
        return cut(str(column.values[k]))
    ends = _interval(column, k)
    if column.kind == "interval":
        return ends
    value = float(column.values[k])
    text = (signed if column.signed else number_text)(value, column.decimals)
    text = text if isnan(value) else text + column.unit
    return f"{text} ({ends})" if ends and interval else text


def _interval(column: Column, k: int) -> str:
    if column.low is None:
        return ""
    low, high = float(column.low[k]), float(column.high[k])
    return "" if isnan(low) or isnan(high) else span(low, high, column.decimals)
