"""Talk on standard error: what is being done, what was found, how far it got."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import TextIO

from aggcal.errors import AggcalWarning, printable

_PATIENCE = 1.0  # seconds before progress is shown: what is done sooner needs none
_EVERY_ON_TERMINAL = 0.2  # seconds between updates
_EVERY_IN_LOG = 10.0  # seconds between lines of a log, which would fill up


class Terminal:
    """Standard output that is a terminal: whatever is printed there is text to be read.

    Tables and JSON keep ids as they are, except here, where an id could steer the terminal.
    """

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal

    def write(self, text: str) -> int:
        """Print a text, without what would do anything else."""
        self._terminal.write("\n".join(map(printable, text.split("\n"))))
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._terminal, name)


class Console:
    """Says things on standard error, or nothing at all."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._began = time.monotonic()
        self._last = self._began
        self._line_open = False

    def say(self, *lines: str) -> None:
        """Print lines; whatever they quote, each stays one."""
        if not self._quiet:
            self._close_line()
            for line in lines:
                _tell(f"{printable(line)}\n")

    def say_notes(self, table: str, notes: Iterable[str]) -> None:
        """Print what was made of a table in reading it."""
        self.say(*(f"{table}: {note}" for note in notes))

    def warn(self, warnings: Iterable[AggcalWarning]) -> None:
        """Print warnings, one line each."""
        for warning in warnings:
            self.say(f"warning: {warning}")

    def on_reading(self, percent: float) -> None:
        """Report how far a step of reading a large table has got."""
        self._progress(f"reading: {percent:.0f}% of this step")

    def on_pass(self, number: int, question: str) -> None:
        """Report a pass over the shards of an engine."""
        self._progress(f"pass {number:,} over the judgments ({question})")

    def on_iteration(self, iteration: int, gradient: float) -> None:
        """Report the progress of a fit that takes more than a moment."""
        self._progress(f"fitting: iteration {iteration}, relative gradient {gradient:.1e}")

    def on_draw(self, number: int, of: int) -> None:
        """Report how many of the draws of an uncertainty are done."""
        self._progress(f"working out the uncertainty: {number} of {of} draws")

    def on_step(self, what: str) -> None:
        """Report which part of a longer piece of work has begun."""
        self._progress(what)

    def _progress(self, text: str) -> None:
        """Show a line that the next one replaces; in a log, a line now and then."""
        now, terminal = time.monotonic(), sys.stderr.isatty()
        every = _EVERY_ON_TERMINAL if terminal else _EVERY_IN_LOG
        if self._quiet or now - self._began < _PATIENCE or now - self._last < every:
            return
        self._last = now
        text = printable(text)
        shown, end = (f"\r\033[K{text}", "") if terminal else (text, "\n")
        _tell(f"{shown}{end}")
        self._line_open = terminal

    def done(self) -> None:
        """Take the line of progress away."""
        self._close_line()

    def _close_line(self) -> None:
        if self._line_open:
            _tell("\r\033[K")
            self._line_open = False


def _tell(text: str) -> None:
    """Write to standard error; that nobody can hear it must not stop the work."""
    with suppress(OSError, ValueError):
        print(text, end="", file=sys.stderr, flush=True)
