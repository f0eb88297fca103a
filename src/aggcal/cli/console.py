"""The standard streams: results as JSON, talk on standard error, and streams that fail."""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

from aggcal.cli.progress import LINE
from aggcal.errors import AggcalWarning, OptionError, printable

_HALVES = re.compile("[\ud800-\udfff]")
_STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
"""How a file is called that is standard output."""


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
        self._held: list[str] = []

    def say(self, *lines: str) -> None:
        """Print notes, one line each, whatever they quote; before them what was held back."""
        held, self._held = self._held, []
        if not self._quiet:
            _tell([*held, *lines])

    def hold(self, line: str) -> None:
        """Say a line before the next one: a refusal that comes first is alone."""
        self._held.append(line)

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


def print_json(what: Mapping[str, Any], written: Iterable[object] = ()) -> None:
    """Print what a command made as one JSON document, with the files that it wrote, if any.

    Examples
    --------
    >>> print_json({"n": 2}, ["out/items.csv"])
    {
      "n": 2,
      "files_written": [
        "out/items.csv"
      ]
    }
    """
    from aggcal.io.cells import to_json

    files = [str(path) for path in written]
    text = to_json({**what, "files_written": files} if files else what)
    # A file name may hold bytes that are no text; JSON can hold them escaped.
    print(_HALVES.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def show(found: Any, options: argparse.Namespace, written: Iterable[object] = ()) -> None:
    """Print a result as text, or as JSON where that is wanted."""
    if options.json:
        print_json(found.to_dict(), written)
    else:
        print(found)


def refuse_two_documents(options: argparse.Namespace) -> None:
    """Refuse ``--json`` where standard output already gets the file itself."""
    if options.json and options.output in _STANDARD_OUTPUT:
        raise OptionError(
            f"--json and -o {options.output} would both print to standard output; write to a file "
            "or omit --json."
        )


def prepare() -> None:
    """Make sure that the three streams are there, and that any text can be written to them.

    Where one is closed, the next file to be opened would get its number, and what a library
    prints would end up in it.

    Examples
    --------
    >>> prepare()
    """
    for number, (name, flags) in enumerate(
        # What is open for reading alone cannot be written to: a result that is lost is noticed.
        (("stdin", os.O_RDONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY))
    ):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, flags)
            if opened < number:
                os.close(opened)
                continue
            raw = io.FileIO(opened, "r" if name == "stdin" else "w", closefd=False)
            buffer = io.BufferedReader(raw) if name == "stdin" else io.BufferedWriter(raw)
            setattr(sys, name, io.TextIOWrapper(buffer, encoding="utf-8"))
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper) and out.encoding.lower().replace("-", "") != "utf8":
        # Data look the same as in our files; a terminal gets what it can show.
        if out.isatty():
            out.reconfigure(errors="backslashreplace")
        else:
            out.reconfigure(encoding="utf-8")


def failing(stream: TextIO) -> OSError | None:
    """Return why a stream cannot be written to, and let go of what it still holds.

    Examples
    --------
    >>> failing(sys.stdout) is None
    True
    """
    try:
        stream.flush()
    except OSError as error:
        # Or Python would try once more when it ends, and complain.
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
        except OSError:
            pass
        return error
    return None
