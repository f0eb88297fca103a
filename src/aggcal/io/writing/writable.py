"""Whether results can be written, asked before they are worked out."""

from __future__ import annotations

import os
from pathlib import Path

from aggcal.errors import OutputError


def refuse_unwritable(directory: Path | str) -> None:
    """Refuse a folder that cannot be written into, or cannot be made. Nothing is written.

    Examples
    --------
    >>> refuse_unwritable(__file__)
    Traceback (most recent call last):
    aggcal.errors.OutputError: ...writable.py is a file, not a folder; choose another name.
    """
    path = Path(directory)
    # Unlike Path's, os.path's questions need no permission.
    there = next(p for p in (path, *path.absolute().parents) if os.path.lexists(p))
    if not os.path.isdir(there):  # noqa: PTH112
        raise OutputError(f"{there} is a file, not a folder; choose another name.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise OutputError(f"{there}: no permission to write there; choose another folder.")
