"""What ratings mean: numbers, which may have words after them, or labels in a stated order."""

from __future__ import annotations

import re
from dataclasses import field
from typing import Any

from aggcal._core.records import dataclass
from aggcal.errors import OptionError, TableError
from aggcal.io.formats._base import number_of

_LABELLED = re.compile(
    r"\s*([+-]?\d+(?:\.\d+)?)(?:\s*(?::(?!\d)|\()|\s+[\u2013\u2014-]\s|\.\s+[^\W\d])"
)
"""A rating with its meaning after it: '6: marginally above', '5 (accept)', '4. Accept'."""
_STEPS = {k + step for k in range(1, 7) for step in (0.0, 0.3, 0.7)}
"""Marks in thirds: the best is 1.0 in some countries and 4.0 in others."""
LOWEST, HIGHEST = "lowest", "highest"
"""Which number is the best, instead of an order of labels."""


def rating_of(value: Any) -> float | None:
    """Return a rating as a number, which may be followed by what it means.

    Examples
    --------
    >>> rating_of("6: marginally above"), rating_of("4. Accept"), rating_of(3.5), rating_of("good")
    (6.0, 4.0, 3.5, None)
    >>> rating_of("3-4"), rating_of("6:30"), rating_of("2024-01-05")
    (None, None, None)
    """
    labelled = _LABELLED.match(value) if isinstance(value, str) else None
    return number_of(labelled[1] if labelled is not None else value)


@dataclass
class Scale:
    """What ratings mean: numbers, or labels in a stated order."""

    order: tuple[str, ...]
    seen: set[float] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.sign = -1.0 if self.order == (LOWEST,) else 1.0
        stated = () if self.order in ((LOWEST,), (HIGHEST,)) else self.order
        self.heights = {_label(one): -float(k) for k, one in enumerate(stated)}

    def knows(self, value: Any) -> bool:
        """Whether a cell is a rating."""
        return _label(value) in self.heights if self.heights else rating_of(value) is not None

    def height(self, value: Any, location: str) -> float:
        """Return how high a rating is, or refuse it."""
        if self.heights:
            found = self.heights.get(_label(value))
            if found is None:
                raise TableError(
                    f"{location}: the rating '{value}' is not in the order that was given; add it "
                    "to --order."
                )
            return found
        rating = rating_of(value)
        if rating is None:
            raise TableError(
                f"{location}: the rating '{value}' is not a finite number; correct the row, or if "
                "ratings are labels, name all of them, the best first, as in --order 'A,B,C'."
            )
        self.seen.add(rating)
        return self.sign * rating

    def refuse_unclear(self) -> None:
        """Refuse marks in thirds, of which nobody knows which end is the best."""
        thirds = {round(10.0 * one) % 10 for one in self.seen} & {3, 7}
        steps = {round(one, 9) for one in _STEPS}
        if len(thirds) == 2 and self.seen <= steps and not self.order:  # noqa: PLR2004
            shown = ", ".join(f"{one:g}" for one in sorted(self.seen)[:4])
            raise OptionError(
                f"the ratings look like marks ({shown}), whose best is 1.0 in some countries and "
                f"4.0 in others; say which is the best with --order {LOWEST} or --order {HIGHEST}."
            )


def _label(value: Any) -> str:
    """Return a label for comparison: 1, 1.0 and '1.0' are the same, and so are a and A.

    Examples
    --------
    >>> _label("1.0") == _label(1), _label(" a- ")
    (True, 'a-')
    """
    number = number_of(value)
    return str(value).strip().lower() if number is None else repr(number)
