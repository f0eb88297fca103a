"""Talk on standard error: what is being done, what was found, how far it has got."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from aggcal.cli.progress import LINE
from aggcal.errors import AggcalWarning, printable


class Terminal:
    """Standard output that is a terminal: whatever is printed there is text to be read.

    Tables and JSON keep ids as they are, except here, where an id could steer the terminal.
    """

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal

    def write(self, text: str) -> int:
        """Print a text, without what would do anything else."""
        LINE.end()
        self._terminal.write("\n".join(map(printable, text.split("\n"))))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write all of them, cleaned likewise."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> object:
        return getattr(self._terminal, name)


class Console:
    """Writes notes, warnings and progress to standard error; with ``--quiet`` only warnings."""

    def __init__(self, *, quiet: bool, progress: bool | None = None) -> None:
        self._quiet = quiet
        self._progress = not quiet if progress is None else progress
        self._percent, self._step = 0.0, 1

    def say(self, *lines: str) -> None:
        """Print notes, one line each, whatever they quote."""
        if not self._quiet:
            _tell(lines)

    def say_notes(self, table: str, notes: Iterable[str]) -> None:
        """Print notes about how a table was read."""
        self.say(*(f"{table}: {note}" for note in notes))

    def warn(self, *warnings: AggcalWarning | str) -> None:
        """Print warnings, one line each, even where notes are not wanted."""
        _tell([f"warning: {warning}" for warning in warnings])

    def on_reading(self, percent: float) -> None:
        """Report how far a step of reading a large table has got; how many there are depends."""
        if percent < self._percent:
            self._step += 1
        self._percent = percent
        self._show("Reading", percent / 100.0, f"step {self._step}")

    def on_pass(self, number: int, question: str) -> None:
        """Report a pass over the shards of an engine."""
        self._show("Fitting", None, f"pass {number:,} over the judgments ({question})")

    def on_iteration(self, iteration: int, gradient: float) -> None:
        """Report an iteration of a fit; nobody knows how many it takes."""
        self._show("Fitting", None, f"iteration {iteration}, relative gradient {gradient:.1e}")

    def on_draw(self, number: int, of: int) -> None:
        """Report how many of the draws of an uncertainty are done."""
        self._show("Standard errors", number / of, f"draw {number:,} of {of:,}")

    def on_step(self, what: str) -> None:
        """Report which part of a longer piece of work has begun."""
        self._show(f"{what[:1].upper()}{what[1:]}")

    def on_report(self, what: str, done: int, total: int) -> None:
        """Show what the library reports of its long loops."""
        self._show(f"{what[:1].upper()}{what[1:]}", done / total if total else None)

    def _show(self, what: str, share: float | None = None, detail: str = "") -> None:
        if self._progress:
            LINE.show(what, share, detail)

    def done(self) -> None:
        """Take the line of progress away."""
        LINE.end()


def _tell(lines: Iterable[str]) -> None:
    for line in lines:
        LINE.say(f"{printable(line)}\n")
