"""Signals that end a command, put off while files are being exchanged or cleared away."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

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


@contextmanager
def handled() -> Iterator[None]:
    """Let each of the signals raise `Interruption`, once, and only outside of `shielded`.

    Handlers can be set in the main thread alone; elsewhere this does nothing.

    Examples
    --------
    >>> with handled():
    ...     signal.getsignal(signal.SIGTERM) is _interrupt
    True
    """
    global _received, _waiting  # a process has one state of its signals
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _received, _waiting = None, False
    before = {}
    for number in SIGNALS:
        # nohup and shells that start a job in the background ignore some on purpose.
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            before[number] = signal.signal(number, _interrupt)
    try:
        yield
    finally:
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


def _interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    """Interrupt the command; a second signal must not interrupt its clearing away."""
    global _received, _waiting  # noqa: PLW0603
    if _received is not None:
        return
    _received = number
    if _depth:
        _waiting = True
        return
    raise Interruption
