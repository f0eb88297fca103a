"""Files as bytes and lines of text: opened, unpacked, or refused in words."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aggcal._core.records import dataclass
from aggcal.errors import FileError, printable
from aggcal.io.tables.charset import not_text
from aggcal.io.tables.source import no_room, unpacked

HEAD_BYTES = 1 << 16
"""Bytes that are looked at first: fewer may miss a long header, more take longer to read."""
_PIECE = 1 << 20
"""Bytes or characters at a time: fewer take longer, more take more memory."""
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
    """Return the path, or that of a copy if it is a stream (a pipe, standard input as '-')."""
    stream = Path("/dev/stdin") if str(path) == "-" else path
    try:
        streams = stream.is_fifo() or stream.is_char_device() or stream != path
    except PermissionError:
        streams = False  # told when it is opened
    if not streams:
        return path
    copy = scratch / "stream"
    with said(printable(str(path))), stream.open("rb") as source:
        while piece := source.read(_PIECE):
            try:
                with copy.open("ab") as target:
                    target.write(piece)
            except OSError as error:
                raise no_room(error) from None
    return copy


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
        what = (
            "export it again" if path.suffix == ".json" else "the first line must name the columns"
        )
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
