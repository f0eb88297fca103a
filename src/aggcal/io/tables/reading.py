"""Files as bytes and lines of text: opened, unpacked, or refused in words."""

from __future__ import annotations

import io
import os
import stat
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from aggcal.errors import FileError, printable
from aggcal.io.tables.charset import not_text
from aggcal.io.tables.source import no_room, unpacked

HEAD_BYTES = 1 << 16
"""Bytes that are looked at first: fewer may miss a long header, more take longer to read."""
_PIECE = 1 << 20
"""Bytes or characters at a time: fewer take longer, more take more memory."""
_PATIENCE = 5.0
"""Seconds until a pipe with a name must have a writer: a person may start it in another window."""
_PAUSE = 0.05
"""Seconds between two looks at it: nobody notices them."""
_TERMINALS = ("/dev/tty", "/dev/pts/")
_OF_THE_SYSTEM = ("/proc/", "/sys/")
"""Where files lie that are no files: some never end, and some wait for news of the system."""
_HEADER = "the first line must name the columns"
_LONGEST_TEXT = 1_000_000
"""Characters of a line of text: an order of 100,000 items has fewer, a bomb of zeros has more."""


@dataclass(frozen=True)
class File:
    """A file to load: where it is, what the user calls it, what DuckDB may call it, its head."""

    path: Path
    name: str
    plain: str
    head: bytes

    @property
    def compression(self) -> str:
        """What DuckDB must unpack, whatever the name of the file ends in."""
        with self.path.open("rb") as raw:
            return "gzip" if raw.read(2) == b"\x1f\x8b" else "uncompressed"


def regular(path: Path, scratch: Path) -> Path:
    """Return the path, or that of a copy if it is a stream (a pipe, standard input as '-').

    Devices may never end: all are refused but the terminal that somebody types at.
    """
    stream, name = Path("/dev/stdin") if str(path) == "-" else path, printable(str(path))
    try:
        mode = stream.stat().st_mode
    except (OSError, ValueError):
        return path  # told when it is opened
    real = os.path.realpath(stream)
    typed = real.startswith(_TERMINALS) or (stream != path and os.isatty(0))
    if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not typed):
        what = f"is empty; {_HEADER}" if real == os.devnull else "is a device, not a table"
        raise FileError(f"{name}: {what}.")
    if stat.S_ISREG(mode) and real.startswith(_OF_THE_SYSTEM):
        raise FileError(f"{name}: is a file of the operating system, not a table.")
    if not (typed or stat.S_ISFIFO(mode) or stream != path):
        return path
    copy = scratch / "stream"
    copy.touch()
    with said(name):
        for piece in _pieces(stream, name, waiting=Path(real).is_fifo()):
            try:
                with copy.open("ab") as target:
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


def is_json(head: bytes) -> bool:
    """Whether a file begins as JSON does."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")


def text_lines(path: Path, name: str) -> Iterator[str]:
    """Read the lines of a text file."""
    number = 0
    with said(name), unpacked(path) as file, io.TextIOWrapper(file, "utf-8-sig") as text:
        try:
            while line := text.readline(_LONGEST_TEXT + 1):
                number += 1
                if len(line) > _LONGEST_TEXT:
                    raise FileError(
                        f"{name}: line {number} is longer than {_LONGEST_TEXT:,} characters, "
                        "which no order is; check the file."
                    )
                yield line
        except UnicodeDecodeError:
            raise FileError(
                f"{name}: line {number + 1} or one soon after it is not UTF-8 text; save the file "
                "as UTF-8."
            ) from None


def text_pieces(path: Path, name: str) -> Iterator[str]:
    """Read a text file in parts, however long its lines are."""
    with said(name), unpacked(path) as file, io.TextIOWrapper(file, "utf-8-sig") as text:
        try:
            while piece := text.read(_PIECE):
                yield piece
        except UnicodeDecodeError:
            raise FileError(f"{name}: is not UTF-8 text throughout; save it as UTF-8.") from None


def decoded(head: bytes, *, cut: bool) -> str:
    """Return the head of a file as text; ``cut`` says that it may end within a character."""
    return head.decode("utf-8-sig", errors="ignore" if cut else "replace")


def peek(path: Path, name: str, size: int = HEAD_BYTES) -> bytes:
    """Return the first bytes of a file that can be read, and refuse others in words."""
    with said(name), unpacked(path) as file:
        head = file.read(size)
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        what = "export it again" if path.suffix == ".json" else _HEADER
        raise FileError(f"{name}: is empty; {what}.")
    if head.startswith(b"PAR1"):
        return head
    if b"\0" in head:
        raise not_text(name)
    return head


@contextmanager
def said(name: str) -> Iterator[None]:
    """Say in words why a file cannot be opened or read."""
    try:
        yield
    except FileError:
        raise
    except FileNotFoundError:
        raise FileError(f"{name}: no such file; check the path.") from None
    except IsADirectoryError:
        raise FileError(f"{name}: is a directory; give the file in it.") from None
    except PermissionError:
        raise FileError(f"{name}: no permission to read it; change its mode or owner.") from None
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise FileError(f"{name}: cannot be read ({reason}).") from None
