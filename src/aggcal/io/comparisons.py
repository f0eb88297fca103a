"""Whether ``comparisons.json`` is what we write: a report must not trip over anybody's file."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

_DETAILED = 200
"""Items whose comparisons the file may hold; see `aggcal.assessment.comparisons`."""
_SQUARE = 60  # items up to which it may hold every pair
_HEXADECIMAL = re.compile("[0-9a-f]+").fullmatch


def misfit(found: Any, n_items: int) -> str:
    """Return what is wrong with the contents of the file; nothing if they fit so many items.

    Examples
    --------
    >>> misfit({"items": ["a"], "tiers": 1}, 1), misfit([], 1)
    ('', 'it holds no object')
    >>> misfit({"items": ["a"], "opponents": ["many"]}, 1)
    "'opponents' is not as aggcal writes it"
    """
    if not isinstance(found, dict):
        return "it holds no object"
    items = found.get("items")
    if not isinstance(items, list) or len(items) > min(n_items, _DETAILED):
        return "'items' is not as aggcal writes it"
    shown = len(items)
    checks: dict[str, Callable[[Any], bool]] = {
        "items": lambda v: _list(v, shown, _text),
        "top": lambda v: v is None or _top(v, n_items),
        "tiers": lambda v: v is None or _whole(v),
        "best": lambda v: _ranks(v, n_items),
        "worst": lambda v: _ranks(v, n_items),
        "sure": lambda v: isinstance(v, float) and 0.0 < v < 1.0,
        "first": lambda v: v is None or _positions(v, n_items),
        "certified": lambda v: _list(v, shown, _bits) and _below(v),
        "opponents": lambda v: _list(v, shown, _whole),
        "record": lambda v: _list(v, shown, lambda w: _list(w, 3, _whole)),
        "upsets": lambda v: _list(v, shown, lambda w: _rows(w, (_text, *[_whole] * 4))),
        "disagreed": lambda v: _list(v, shown, lambda w: _rows(w, (_text, _whole, _whole))),
        "swaps": lambda v: _list(v, shown, lambda w: _rows(w, (_text, _way, _whole))),
        "judged": lambda v: _rows(v, (_text, lambda w: _positions(w, n_items))),
        "pairs": lambda v: n_items <= _SQUARE and _pairs(v, n_items),
    }
    for name, value in found.items():
        if name in checks and not checks[name](value):
            return f"'{name}' is not as aggcal writes it"
    return ""


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _way(value: Any) -> bool:
    return value in ("up", "down")


def _bits(value: Any) -> bool:
    return _text(value) and len(value) <= _DETAILED and bool(_HEXADECIMAL(value))


def _below(value: list[str]) -> bool:
    return all(int(bits, 16) < 1 << k for k, bits in enumerate(value))


def _list(value: Any, length: int, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and len(value) == length and all(map(fits, value))


def _rows(value: Any, kinds: tuple[Callable[[Any], bool], ...]) -> bool:
    return isinstance(value, list) and all(
        isinstance(row, list)
        and len(row) == len(kinds)
        and all(fits(cell) for fits, cell in zip(kinds, row, strict=True))
        for row in value
    )


def _positions(value: Any, n: int) -> bool:
    return isinstance(value, list) and all(_whole(one) and one < n for one in value)


def _ranks(value: Any, n: int) -> bool:
    fits = isinstance(value, list) and len(value) <= n
    return fits and all(_whole(one) and 0 < one <= n for one in value)


def _pairs(value: Any, n: int) -> bool:
    return _rows(value, (_whole,) * 5) and all(i < j < n for i, j, *_ in value)


def _top(value: Any, n: int) -> bool:
    if not isinstance(value, dict) or set(value) != {"stops", "percent"}:
        return False
    stops, percent = value["stops"], value["percent"]
    if not isinstance(stops, list) or not stops or not all(_whole(k) and 0 < k < n for k in stops):
        return False
    rising = all(a < b for a, b in pairwise(stops))
    fits = isinstance(percent, list) and len(percent) <= n
    return (
        rising
        and fits
        and all(isinstance(row, list) and bool(row) and all(map(_whole, row)) for row in percent)
    )
