"""Locks of files and folders that end with the process that holds them."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aggcal.errors import OutputError

try:
    import fcntl
except ImportError:  # pragma: no cover  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

_PATIENCE = 60.0
"""Seconds to wait for a lock: it is held for moments, so whoever holds it longer is stuck."""
_PAUSE = 0.02  # seconds: longer delays the next writer, shorter burns time
_BUSY = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES}


@contextmanager
def locked(folder: Path, *, shared: bool = False) -> Iterator[bool]:
    """Hold the lock of a folder: several readers (``shared``) or one writer.

    It lies on the folder itself, so that no file is left behind. Where the file system has no
    locks there is none, and the digests of the files alone tell a mixture.

    Returns
    -------
    bool
        Whether there is a lock.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked(Path(folder)) as held:
    ...     held
    True
    """
    began = time.monotonic()
    while True:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            held = _wait(descriptor, folder, began, shared=shared)
            # Another folder may have taken its place while we waited.
            if not held or _is_at(descriptor, folder):
                yield held
                return
        finally:
            os.close(descriptor)


def hold(path: Path) -> int | None:
    """Open a file or folder and lock it at once; None if somebody else holds it or it is gone.

    Raises
    ------
    OSError
        If the file system has no locks.

    Examples
    --------
    >>> hold(Path("nowhere")) is None
    True
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    try:
        if take(descriptor) and _is_at(descriptor, path):
            return descriptor
    except OSError:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def take(descriptor: int, *, shared: bool = False) -> bool:
    """Try to lock what is open; an OSError says that there are no locks here.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     take(file.fileno())
    True
    """
    if fcntl is None:
        raise OSError(errno.ENOTSUP, "no locks")
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _BUSY:
            return False
        raise
    return True


def _wait(descriptor: int, folder: Path, began: float, *, shared: bool) -> bool:
    while True:
        try:
            if take(descriptor, shared=shared):
                return True
        except OSError:
            return False
        if time.monotonic() - began > _PATIENCE:
            raise OutputError(
                f"{folder}: another program is using this folder and does not finish; end it, or "
                "choose another folder."
            )
        time.sleep(_PAUSE)


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether a path still leads to what is open."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=True))  # noqa: PTH116
    except OSError:
        return False
