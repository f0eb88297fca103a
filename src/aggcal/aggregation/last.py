"""What was worked out last: the uncertainty and the suggestions ask for the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from aggcal._core.arrays import FloatArray
from aggcal._core.machine import one_thread

Found = TypeVar("Found")


class Last(Generic[Found]):
    """Remembers one result, of one seed and of scores that are the same array.

    It forgets it where it is pickled: kernels may hold a part of it.

    Examples
    --------
    >>> import numpy as np
    >>> last, scores = Last(), np.zeros(2)
    >>> last.of(scores, 0, lambda: "once"), last.of(scores, 0, lambda: "again")
    ('once', 'once')
    """

    def __init__(self) -> None:
        self._kept: tuple[FloatArray, int, Found] | None = None

    @one_thread()
    def of(self, scores: FloatArray, seed: int, work: Callable[[], Found]) -> Found:
        """Return the result for these scores; it is worked out if it is not the last one."""
        if self._kept is None or self._kept[0] is not scores or self._kept[1] != seed:
            self._kept = scores, seed, work()
        return self._kept[2]

    def __reduce__(self) -> tuple[type[Last[Found]], tuple[()]]:
        """Say how to make an empty one."""
        return type(self), ()
