"""Linear algebra in one thread: the matrices here are small, and threads of ours work beside it.

Threads of the linear algebra would wait for each other more than they work, most of all where other
programs use the cores, and the last bits would depend on their number. The command sets the
environment before NumPy is loaded; where NumPy was loaded by others, it is told here, for as long
as aggcal works. Who sets the environment decides themselves.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, wraps
from threading import Lock, get_ident
from typing import Any, ParamSpec, TypeVar

VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""What the libraries that NumPy and SciPy are built with look at when they are loaded."""
_LOADING = ("numpy.linalg._umath_linalg", "scipy.linalg._fblas", "scipy.linalg._flapack")
"""Modules with which such a library is loaded."""

Given = ParamSpec("Given")
Result = TypeVar("Result")

_entering = Lock()
_held = ExitStack()
_owner: int | None = None
"""The thread that set the limit: only it may take it away (see `threadpoolctl`)."""


@cache
def _libraries(_loaded: tuple[str, ...]) -> list[Any]:
    from threadpoolctl import ThreadpoolController

    found: list[Any] = ThreadpoolController().select(user_api="blas").lib_controllers
    return found


def _limit() -> None:
    # Each by itself: the limit of all at once asks so much that a small fit feels it.
    for library in _libraries(tuple(name for name in _LOADING if name in sys.modules)):
        usual = library.get_num_threads()
        if usual is not None and usual > 1:
            library.set_num_threads(1)
            _held.callback(library.set_num_threads, usual)


def just_loaded() -> None:
    """Limit a library, too, that was loaded meanwhile.

    Examples
    --------
    >>> just_loaded()
    """
    if _owner == get_ident():
        _limit()


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep linear algebra to one thread, which it stays in until the first who asked has done.

    Examples
    --------
    >>> with one_thread():
    ...     pass
    """
    global _owner  # noqa: PLW0603  # the libraries have one number for the whole process
    with _entering:
        mine = _owner is None and not any(name in os.environ for name in VARIABLES)
        if mine:
            _owner = get_ident()
    if not mine:
        yield
        return
    try:
        _limit()
        yield
    finally:
        _held.close()
        _owner = None


def in_one_thread(work: Callable[Given, Result]) -> Callable[Given, Result]:
    """Return a function that keeps linear algebra to one thread while it runs.

    Examples
    --------
    >>> in_one_thread(lambda x: x + 1)(2)
    3
    """

    @wraps(work)
    def kept(*args: Given.args, **options: Given.kwargs) -> Result:
        with one_thread():
            return work(*args, **options)

    return kept
