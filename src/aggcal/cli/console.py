"""Talk on standard error: what is being done, what was found, how far it got."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from pathlib import Path

from aggcal.errors import AggcalWarning

_PATIENCE = 1.0
_EVERY_ON_TERMINAL = 0.2
_EVERY_IN_LOG = 10.0
_BIG_FILE = 20_000_000


class Console:
    """Says things on standard error, or nothing at all."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._began = time.monotonic()
        self._last = self._began
        self._line_open = False

    def say(self, text: str) -> None:
        """Print a line."""
        if not self._quiet:
            self._close_line()
            print(text, file=sys.stderr)

    def warn(self, warnings: Iterable[AggcalWarning]) -> None:
        """Print warnings, one line each."""
        for warning in warnings:
            self.say(f"warning: {warning}")

    def reading(self, *paths: str | None) -> None:
        """Say that large files are being read: it may take a while."""
        for path in paths:
            size = Path(path).stat().st_size if path and Path(path).is_file() else 0
            if size >= _BIG_FILE:
                self.say(f"reading {path} ({size / 1e6:,.0f} MB)")

    def on_iteration(self, iteration: int, gradient: float) -> None:
        """Report the progress of a fit that takes more than a moment."""
        now = time.monotonic()
        terminal = sys.stderr.isatty()
        every = _EVERY_ON_TERMINAL if terminal else _EVERY_IN_LOG
        if self._quiet or now - self._began < _PATIENCE or now - self._last < every:
            return
        self._last = now
        text = f"fitting: iteration {iteration}, relative gradient {gradient:.1e}"
        print(
            f"\r\033[K{text}" if terminal else text,
            end="" if terminal else "\n",
            file=sys.stderr,
            flush=True,
        )
        self._line_open = terminal

    def _close_line(self) -> None:
        if self._line_open:
            print("\r\033[K", end="", file=sys.stderr)
            self._line_open = False
