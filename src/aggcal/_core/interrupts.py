"""Signals that end a command, put off while files are being exchanged or cleared away."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = tuple(
    number
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if (number := getattr(signal, name, None)) is not None
)
"""What ends a command: Ctrl-C, a polite kill, a closed terminal."""


class Interruption(KeyboardInterrupt):
    """One of the signals has come.

    A class of its own: Python, once a plain KeyboardInterrupt has passed through ``exec`` (as it
    may while dataclasses are made), ends by SIGINT even if it was caught.
    """


_depth = 0
_received: int | None = None
_waiting = False
_imports = 0
"""Imports that were under way when the command began."""
_PAUSE = 0.01
"""Seconds until a signal that came during an import is tried again; shorter keeps a command
busy, longer keeps the user waiting."""


@contextmanager
def handled() -> Iterator[None]:
    """Let each of the signals raise `Interruption`, once, and only outside of `shielded`.

    Nor during an import: an extension module that is interrupted takes it for a broken
    installation, or aborts. Handlers can be set in the main thread alone; elsewhere this does
    nothing.

    Examples
    --------
    >>> with handled():
    ...     signal.getsignal(signal.SIGTERM) is _interrupt
    True
    """
    global _received, _waiting, _imports  # a process has one state of its signals
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _received, _waiting, _imports = None, False, _imports_under(sys._getframe())  # noqa: SLF001
    before = {}
    for number in SIGNALS:
        # nohup and shells that start a job in the background ignore some on purpose.
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            before[number] = signal.signal(number, _interrupt)
    try:
        yield
    finally:
        if _postponing is not None:
            _stop_postponing()
        for number, handler in before.items():
            signal.signal(number, handler)


def received() -> int:
    """Return the signal that interrupted the command; that of Ctrl-C if none is known.

    Examples
    --------
    >>> received() == signal.SIGINT
    True
    """
    return signal.SIGINT if _received is None else _received


@contextmanager
def shielded() -> Iterator[None]:
    """Put the signals off until the end of a few short steps that belong together.

    Examples
    --------
    >>> with shielded():
    ...     pass
    """
    global _depth, _waiting  # noqa: PLW0603
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if _waiting and not _depth:
            _waiting = False
            raise Interruption


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Interrupt the command; a second signal must not interrupt its clearing away."""
    global _received, _waiting  # noqa: PLW0603
    if _received is not None:
        return
    if _imports_under(frame) > _imports and hasattr(signal, "setitimer"):
        _postpone(number)
        return
    _received = number
    if _depth:
        _waiting = True
        return
    raise Interruption


_postponing: tuple[int, Any] | None = None
"""The signal that waits for an import, and who had the alarm before."""


def _postpone(number: int) -> None:
    """Let a signal come once more in a moment."""
    global _postponing  # noqa: PLW0603
    if _postponing is None:
        _postponing = number, signal.signal(signal.SIGALRM, _try_again)
    signal.setitimer(signal.ITIMER_REAL, _PAUSE)


def _try_again(_: int, frame: FrameType | None) -> None:
    if _postponing is not None:
        number = _postponing[0]
        if _imports_under(frame) <= _imports:
            _stop_postponing()
        _interrupt(number, frame)


def _stop_postponing() -> None:
    global _postponing  # noqa: PLW0603
    if _postponing is not None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, _postponing[1])
        _postponing = None


def _imports_under(frame: FrameType | None) -> int:
    """Count the frames of imports among the callers of a frame."""
    found = 0
    while frame is not None:
        found += frame.f_code.co_filename == "<frozen importlib._bootstrap>"
        frame = frame.f_back
    return found
