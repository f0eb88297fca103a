"""What is to be decided, checked before anything is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite

from aggcal._core.records import dataclass
from aggcal.errors import OptionError, count
from aggcal.registry import limits
from aggcal.registry.limits import VERDICT_ERROR


@dataclass(frozen=True)
class Wishes:
    """What is to be decided: see `Assessment.decide`."""

    top: int | None = None
    cut: float | None = None
    grades: tuple[float, ...] = ()
    error: float = VERDICT_ERROR

    @classmethod
    def of(
        cls,
        top: int | None = None,
        cut: float | None = None,
        grades: Sequence[float] | None = None,
        error: float = VERDICT_ERROR,
    ) -> Wishes:
        """Take what was asked for, or refuse it.

        Examples
        --------
        >>> Wishes.of(top=3).any, Wishes.of().any
        (True, False)
        >>> Wishes.of(grades=[50, 40])
        Traceback (most recent call last):
        aggcal.errors.OptionError: the grades 50, 40 do not rise; give the lowest boundary first.
        """
        limits.check(top=top, cut=cut, error=error)
        ends = tuple(float(each) for each in grades or ())
        if not all(map(isfinite, ends)):
            raise OptionError("a grade boundary is not finite; give numbers.")
        if any(a >= b for a, b in pairwise(ends)):
            shown = ", ".join(f"{end:g}" for end in ends)
            raise OptionError(f"the grades {shown} do not rise; give the lowest boundary first.")
        return cls(None if top is None else int(top), cut, ends, float(error))

    @property
    def any(self) -> bool:
        """Whether anything is to be decided."""
        return not (self.top is self.cut is None) or bool(self.grades)


def check_top(top: int | None, items: int) -> None:
    """Refuse as many places as there are items, or more: nothing is to be decided then.

    Examples
    --------
    >>> check_top(3, 3)
    Traceback (most recent call last):
    aggcal.errors.OptionError: top is 3, and there are only 3 items; give fewer than that.
    """
    if top is not None and top >= items:
        raise OptionError(
            f"top is {top:,}, and there are only {count(items, 'item')}; give fewer than that."
        )
