"""The machine: how many cores there are, and threads of the linear algebra."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from threading import Lock
from typing import Any

OURS = "aggcal"
"""What the names of our own threads begin with."""
BLAS_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""What the libraries that NumPy and SciPy are built with look at when they are loaded."""

_lock = Lock()
_limit = ExitStack()
_callers = 0


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


@cache
def _linear_algebra() -> Any:
    import scipy.linalg  # noqa: F401  # it has a library of its own, beside NumPy's
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep linear algebra to one thread within a block, or a function that this decorates.

    Matrices here are small, and threads of ours work beside it. With two threads of its own a check
    of 13,000 judgments took half as much CPU again, and the last bits would depend on their number.
    Who sets the environment decides themselves; the command does, before NumPy is loaded.

    Examples
    --------
    >>> with one_thread():
    ...     pass
    """
    global _callers  # noqa: PLW0603  # the libraries have one number for the whole process
    if any(name in os.environ for name in BLAS_VARIABLES):
        yield
        return
    with _lock:
        if not _callers:
            _limit.enter_context(_linear_algebra().limit(limits=1))
        _callers += 1
    try:
        yield
    finally:
        with _lock:
            _callers -= 1
            if not _callers:
                _limit.close()
