"""What is asked of the machine and of chance: cores, and the seed of random numbers."""

from __future__ import annotations

import os
from numbers import Integral

from aggcal.errors import OptionError

OURS = "aggcal"
"""What the names of our own threads begin with: none of them imports anything of SciPy's."""


def cores() -> int:
    """Return how many processor cores this process may use.

    Examples
    --------
    >>> cores() >= 1
    True
    """
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


def check_seed(seed: object) -> None:
    """Refuse a seed that is not a whole number from 0 on.

    Examples
    --------
    >>> check_seed(-1)
    Traceback (most recent call last):
    aggcal.errors.OptionError: the seed is -1; give a whole number from 0 on.
    """
    if not (isinstance(seed, Integral) and int(seed) >= 0):
        raise OptionError(f"the seed is {seed}; give a whole number from 0 on.")
