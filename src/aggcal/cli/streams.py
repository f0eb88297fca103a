"""Standard streams that are closed, full, or of another encoding than ours."""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO


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
