"""Files as bytes: opened, unpacked, copied where they are streams, or refused in words."""

from __future__ import annotations

import gzip
import os
import re
import stat
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import IO, cast

from aggcal.errors import FileError, InputError, printable

HEAD = 1 << 16
"""Bytes that are looked at first: fewer may miss a long header, more take longer to read."""
_PIECE = 1 << 20
"""Bytes at a time: fewer take longer, more take more memory."""
_LONGEST_LINE = 1_000_000
"""Characters of a line of a text that is no table."""
_PATIENCE, _PAUSE = 1.0, 0.05
"""Seconds until a pipe with a name must have a writer, and between two looks at it."""
_TERMINALS = ("/dev/tty", "/dev/pts/")
_OF_THE_SYSTEM = ("/proc/", "/sys/")
"""Where files lie that are no files: some never end, and some wait for news of the system."""
NO_HEADER = "is empty; the first line must name the columns"


@contextmanager
def in_words(name: str) -> Iterator[None]:
    """Say in words why a file cannot be opened or read."""
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError:
        raise FileError(f"{name}: no such file; check the path.") from None
    except IsADirectoryError:
        raise FileError(f"{name}: is a directory; give the file in it.") from None
    except PermissionError:
        raise FileError(f"{name}: no permission to read it; change its mode or owner.") from None
    except (OSError, EOFError, zlib.error, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise FileError(f"{name}: cannot be read ({reason}).") from None


def no_room(error: OSError) -> FileError:
    """Say that a temporary file could not be written.

    Examples
    --------
    >>> print(str(no_room(OSError(28, "No space left on device")))[-76:])
    (No space left on device); free some space or set TMPDIR to another folder.
    """
    folder = "the folder for temporary files"
    with suppress(OSError):
        folder = tempfile.gettempdir()
    return FileError(
        f"{folder}: a temporary file cannot be written ({error.strerror or error}); "
        "free some space or set TMPDIR to another folder."
    )


def is_packed(path: Path) -> bool:
    """Whether a file is gzipped, whatever its name says."""
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def unpacked_size(path: Path) -> int:
    """Return the bytes of a file when it is unpacked, as its end says: it may say too little."""
    with path.open("rb") as file:
        packed = file.seek(0, os.SEEK_END)
        if not is_packed(path) or packed < 4:  # noqa: PLR2004
            return packed
        file.seek(-4, os.SEEK_END)
        return max(packed, int.from_bytes(file.read(4), "little"))


@contextmanager
def unpacked(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, unpacking it if it is gzipped."""
    with path.open("rb") as file:
        if is_packed(path):
            with gzip.open(file) as plain:
                yield cast("IO[bytes]", plain)
        else:
            yield file


def split_sheet(path: Path) -> tuple[Path, str | None]:
    """Take the name of a sheet off the name of a workbook: ``book.xlsx#Answers``.

    A file that is really called so is meant itself.

    Examples
    --------
    >>> split_sheet(Path("answers.csv"))
    (PosixPath('answers.csv'), None)
    """
    text = str(path)
    with suppress(OSError, ValueError):
        if "#" in text and not path.exists():
            for at in (k for k, letter in enumerate(text) if letter == "#" and k):
                if Path(text[:at]).is_file() and text[at + 1 :]:
                    return Path(text[:at]), text[at + 1 :]
    return path, None


def regular(path: Path, scratch: Path) -> Path:
    """Return the path, or that of a copy if it is a stream (a pipe, standard input as '-').

    Devices may never end: all are refused but the terminal that somebody types at.
    """
    stream, name = Path("/dev/stdin") if str(path) == "-" else path, printable(str(path))
    try:
        mode = stream.stat().st_mode
    except (OSError, ValueError):
        return path  # said when it is opened
    real = os.path.realpath(stream)
    typed = real.startswith(_TERMINALS) or (stream != path and os.isatty(0))
    if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not typed):
        what = NO_HEADER if real == os.devnull else "is a device, not a table"
        raise FileError(f"{name}: {what}.")
    if stat.S_ISREG(mode) and real.startswith(_OF_THE_SYSTEM):
        raise FileError(f"{name}: is a file of the operating system, not a table.")
    if not (typed or stat.S_ISFIFO(mode) or stream != path):
        return path
    copy = scratch / "stream"
    with in_words(name), copy.open("wb") as target:
        for piece in _pieces(stream, name, waiting=stat.S_ISFIFO(mode) and stream == path):
            try:
                target.write(piece)
            except OSError as error:
                raise no_room(error) from None
    return copy


def _pieces(stream: Path, name: str, *, waiting: bool) -> Iterator[bytes]:
    """Read a stream; ``waiting`` says that it is a pipe which may have no writer yet."""
    flags = os.O_RDONLY | (os.O_NONBLOCK if waiting else 0)
    with os.fdopen(os.open(stream, flags), "rb", buffering=0) as source:
        until = time.monotonic() + _PATIENCE
        piece = source.read(_PIECE)
        while waiting and piece == b"":  # None if a writer is there and silent
            if time.monotonic() > until:
                raise FileError(
                    f"{name}: is a pipe that no program writes into; start that program first."
                )
            time.sleep(_PAUSE)
            piece = source.read(_PIECE)
        if waiting:
            os.set_blocking(source.fileno(), True)
        while piece is None or piece:
            yield piece or b""
            piece = source.read(_PIECE)


_AGAIN = "open it in a spreadsheet program and save it as .xlsx or CSV"
_DOCUMENTS = {
    b"<": f"a page of HTML or XML, whatever its name says; {_AGAIN}",
    b"{\\rtf": "a formatted text (RTF); save it as plain text",
    b"%PDF": "a PDF, which is not read; export the table as CSV or .xlsx",
    b"PK\x03\x04": "a packed file within another; unpack it",
}
"""How documents begin that people take for tables."""


def text_lines(path: Path, name: str) -> list[str]:
    """Return the lines of a text that is no table."""
    lines: list[str] = []
    with unpacked(path) as file, TextIOWrapper(file, "utf-8-sig") as text:
        try:
            while line := text.readline(_LONGEST_LINE + 1):
                lines.append(line)
                if len(line) > _LONGEST_LINE:
                    raise FileError(
                        f"{name}: line {len(lines)} is longer than {_LONGEST_LINE:,} characters, "
                        "which no order is; check the file."
                    )
        except UnicodeDecodeError:
            raise FileError(
                f"{name}: line {len(lines) + 1} or one soon after it is not UTF-8 text; save the "
                "file as UTF-8."
            ) from None
    return lines


def text_start(head: bytes) -> bytes:
    """Return the first bytes of a text after its mark and blank lines."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n")


def refuse_documents(head: bytes, name: str) -> None:
    """Refuse what is neither a table nor JSON, whatever its name says, and what is empty."""
    start = text_start(head)
    for beginning, what in _DOCUMENTS.items():
        if start.startswith(beginning):
            raise FileError(f"{name}: is {what}.")
    if re.match(rb"\|.*\r?\n\|[ :|-]+\r?\n", start):
        raise FileError(f"{name}: is a table in Markdown; {_AGAIN}.")
    if not start:
        what = "is empty; export it again" if name.endswith(".json") else NO_HEADER
        raise FileError(f"{name}: {what}.")
