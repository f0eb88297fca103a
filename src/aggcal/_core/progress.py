"""How far a long piece of work has got, for whoever listens; by default nobody does.

Loops deep inside the library report here, so that no function in between has to pass a callback
on. The command line listens and shows a line; Python callers see nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias, TypeVar

Listener: TypeAlias = Callable[[str, int, int], None]
"""Called with what is being done, how many parts of it are done, and how many there are."""

_T = TypeVar("_T")
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_name: ContextVar[str] = ContextVar("name", default="")


def report(what: str, done: int = 0, total: int = 0) -> None:
    """Report how far a piece of work has got; a total of 0 is one that is not known.

    Examples
    --------
    >>> with listening(lambda *seen: print(*seen)):
    ...     report("simulating", 1, 4)
    simulating 1 4
    >>> report("simulating", 2, 4)
    """
    listener = _listener.get()
    if listener is not None:
        listener(what, done, total)


def counted(parts: Sequence[_T], what: str) -> Iterator[_T]:
    """Go through the parts of a piece of work, and report before each how many are done.

    Examples
    --------
    >>> with listening(lambda *seen: print(*seen)):
    ...     list(counted("ab", "spelling"))
    spelling 0 2
    spelling 1 2
    ['a', 'b']
    """
    for done, part in enumerate(parts):
        report(what, done, len(parts))
        yield part


@contextmanager
def named(what: str) -> Iterator[None]:
    """Give a name to what general loops do meanwhile, by which `report_part` reports it.

    Examples
    --------
    >>> with listening(lambda *seen: print(*seen)), named("standard errors"):
    ...     report_part(3, 16)
    standard errors 3 16
    """
    token = _name.set(what)
    try:
        yield
    finally:
        _name.reset(token)


def report_part(done: int, total: int) -> None:
    """Report how far a general loop has got, if what it is for has a name.

    Examples
    --------
    >>> report_part(3, 16)
    """
    what = _name.get()
    if what:
        report(what, done, total)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call a function with every report that is made meanwhile, in this thread.

    Examples
    --------
    >>> seen = []
    >>> with listening(lambda *report: seen.append(report)):
    ...     report("reading")
    >>> seen
    [('reading', 0, 0)]
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
