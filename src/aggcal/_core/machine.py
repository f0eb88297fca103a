"""What is asked of the machine: how many cores there are."""

from __future__ import annotations

import os

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
