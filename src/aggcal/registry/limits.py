"""Which numbers options may be; the command line and Python refuse others in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite
from numbers import Real
from typing import Any

from aggcal.errors import OptionError, option

MOST_DIGITS = 12
"""Decimals of a calibrated score at most: numbers have few more, which would be rounding."""

VERDICT_ERROR = 0.05
"""The probability with which a verdict on an item may be wrong, unless another is stated: a smaller
one leaves more items on the border, a larger one decides more of them wrongly."""

FEWEST_STUDIES = 4
"""Simulated studies for each number of judgments at least: of fewer, nothing can be said of how
sure their mean is."""

FEWEST_SAMPLED = 50
"""Judgments that methods are compared on at least: fewer tell nothing of what is held out."""


@dataclass(frozen=True)
class Limit:
    """The numbers that an option may be, in words and as a test."""

    give: str
    holds: Callable[[Any], bool]
    whole: bool = False

    def fault(self, value: Any) -> str:
        """Return what is wrong with a value and what to give; blank where nothing is.

        Examples
        --------
        >>> SHARE.fault(2.0), SHARE.fault(0.5)
        ('is 2.0; give a number from 0 to 1', '')
        """
        number = isinstance(value, Real) and not isinstance(value, bool)
        right = number and self.holds(value) and (not self.whole or value == int(value))
        return "" if right else f"is {value}; give {self.give}"


def _from(least: int) -> Limit:
    return Limit(f"a whole number, {least} or more", lambda n: least <= n < inf, whole=True)


NUMBER = Limit("a finite number", isfinite)
SHARE = Limit("a number from 0 to 1", lambda p: 0.0 <= p <= 1.0)
COUNT, POSITIVE = _from(0), _from(1)
ABOVE_0 = Limit("a number above 0", lambda x: 0.0 < x < inf)
_NOT_NEGATIVE = Limit("a number, 0 or more", lambda x: 0.0 <= x < inf)
_PART = Limit("a number from 0 to below 1", lambda p: 0.0 <= p < 1.0)

LIMITS = {
    "level": Limit("a number between 0 and 1, such as 0.95", lambda p: 0.0 < p < 1.0),
    "seed": COUNT,
    # What is to be decided, and what the data are to say.
    "top": POSITIVE, "cut": NUMBER,
    "error": Limit("a number between 0 and 0.5", lambda p: 0.0 < 2.0 * p < 1.0),  # else in and out
    "precision": ABOVE_0,
    # What is to be asked next.
    "pairs": POSITIVE, "true_scores": POSITIVE, "per_item": POSITIVE, "per_annotator": POSITIVE,
    "explore": SHARE,
    "folds": _from(2), "sample": _from(FEWEST_SAMPLED), "studies": _from(FEWEST_STUDIES),
    "workers": POSITIVE,
    # What a simulated study has.
    "items": _from(2), "annotators": POSITIVE, "number": POSITIVE, "score_sd": ABOVE_0,
    "reliability_sd": _NOT_NEGATIVE, "model_sd": _NOT_NEGATIVE, "latent_sd": _NOT_NEGATIVE,
    "location": NUMBER, "scale": NUMBER, "model_bias": NUMBER, "model_slope": NUMBER,
    "reversed": SHARE, "ties": _PART,
    "tie_readiness": NUMBER, "tie_readiness_sd": _NOT_NEGATIVE,
    "position": NUMBER, "position_sd": _NOT_NEGATIVE,
    "contexts": COUNT, "context_sd": _NOT_NEGATIVE, "tie_context_sd": _NOT_NEGATIVE,
    "categories": COUNT, "category_sd": _NOT_NEGATIVE,
    "control": NUMBER, "axis_sd": _NOT_NEGATIVE, "second_camp": _PART,
}  # fmt: skip
"""Limits of numbers, by the name of the option with underscores."""


def check(**given: Any) -> None:
    """Refuse numbers that an option cannot be; None stands for one that was left out.

    Examples
    --------
    >>> check(level=0.9, seed=None)
    >>> check(level=95)
    Traceback (most recent call last):
    aggcal.errors.OptionError: level is 95; give a number between 0 and 1, such as 0.95.
    """
    for name, value in given.items():
        fault = "" if value is None else LIMITS[name].fault(value)
        if fault:
            # Not what to write, but what was written.
            raise OptionError(f"{option(name.replace('_', '-')).rstrip('=')} {fault}.")
