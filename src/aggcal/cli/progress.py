"""One line on the terminal that says what is being done, how far it has got and how long it takes.

A thread rewrites the line in place, so that it lives even while one long step runs. There is no
line where standard error is not a terminal, and none for work that is done within a second.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

from aggcal._core.machine import OURS
from aggcal.errors import printable

_PATIENCE = 1.0
"""Seconds before the line appears: sooner, fast commands would flicker; later, users wonder."""
_EVERY = 0.2
"""Seconds between two drawings: often enough to look alive, seldom enough to cost nothing."""
_FEWEST = 0.01
"""Share from which the time left is estimated: before, the estimate would jump about."""
_NARROW = 80  # columns of a terminal that does not say how many it has
_MINUTE, _HOUR = 60, 3600  # seconds


@dataclass(frozen=True)
class Step:
    """What is being done, since when, and what share of it was done at a later time."""

    what: str
    began: float
    detail: str = ""
    share: float | None = None
    updated: float = 0.0

    def text(self, now: float) -> str:
        """Write the step with its share and the time left, or else the time taken.

        Examples
        --------
        >>> Step("Fitting", 0.0, "iteration 3").text(12.4)
        'Fitting: iteration 3 (12 s)'
        >>> Step("Standard errors", 0.0, "draw 50 of 200", 0.25, 10.0).text(11.0)
        'Standard errors: draw 50 of 200 (25%, about 29 s left)'
        """
        head = f"{self.what}: {self.detail}" if self.detail else self.what
        if self.share is None:
            return f"{head} ({duration(now - self.began)})"
        taken = self.updated - self.began
        if not _FEWEST <= self.share < 1.0 or taken < _PATIENCE:
            return f"{head} ({self.share:.0%})"
        left = taken * (1.0 - self.share) / self.share - (now - self.updated)
        return f"{head} ({self.share:.0%}, about {duration(max(left, 1.0))} left)"


def duration(seconds: float) -> str:
    """Write a time in the units that people use for it.

    Examples
    --------
    >>> duration(7.6), duration(200), duration(4000)
    ('8 s', '3 min', '1 h 7 min')
    """
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    hours, rest = divmod(round(seconds / _MINUTE), _MINUTE)
    return f"{hours} h {rest} min"


class Line:
    """The line; there is one, since there is one terminal."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._step: Step | None = None
        self._since = 0.0
        self._shown = False
        self._stop: threading.Event | None = None

    def show(self, what: str, share: float | None = None, detail: str = "") -> None:
        """Say what is being done, and what share of it is done if that is known."""
        now = time.monotonic()
        with self._lock:
            if self._step is None:
                if not _is_terminal():
                    return
                self._since = now
            step, began = self._step, now
            # What starts over is timed anew.
            if step is not None and step.what == what and (share or 0.0) >= (step.share or 0.0):
                began = step.began
            self._step = Step(what, began, detail, share, now)
            if self._stop is None:
                self._stop = threading.Event()
                live = threading.Thread(target=self._live, args=(self._stop,), daemon=True)
                live.name = f"{OURS}-progress"
                live.start()

    def _live(self, stop: threading.Event) -> None:
        while not stop.wait(_EVERY):
            with self._lock:
                if not stop.is_set():
                    self._draw()

    def _draw(self) -> None:
        now = time.monotonic()
        if self._step is None or now - self._since < _PATIENCE:
            return
        # One that wraps could not be rewritten in place.
        text = printable(self._step.text(now))[: _width() - 1]
        write(f"\r\033[K{text}")
        self._shown = True

    def say(self, text: str) -> None:
        """Write whole lines to standard error, in place of the line, which comes again below."""
        with self._lock:
            self.clear()
            write(text)

    def clear(self) -> None:
        """Take the line away; the next drawing brings it back if the work goes on."""
        with self._lock:
            if self._shown:
                write("\r\033[K")
                self._shown = False

    def end(self) -> None:
        """Take the line away: the work is done."""
        with self._lock:
            self.clear()
            self._step = None
            if self._stop is not None:
                self._stop.set()
                self._stop = None


LINE = Line()
"""The line of this process."""


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    except ValueError:  # it was closed
        return False


def _width() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _NARROW
    except (OSError, ValueError):
        return _NARROW


def write(text: str) -> None:
    """Write to standard error; that nobody can hear it must not stop the work."""
    with suppress(OSError, ValueError):
        print(text, end="", file=sys.stderr, flush=True)
