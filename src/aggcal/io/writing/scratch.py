"""Files and folders that last no longer than their process, and what dead processes left."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from aggcal._core.interrupts import shielded
from aggcal.io.writing.locks import hold, take

HIDDEN = re.compile(r"^\.aggcal-[0-9a-f]{16}\.new$")
"""What results are written to before they take their place."""
SCRATCH = re.compile(r"^aggcal-scratch-[0-9a-f]{16}$")
"""What reading needs on disk, in the system's folder for such things."""

_OLD = 86400.0
"""Seconds after which a leftover counts as dead where no lock can tell. Longer than any writing
takes; shorter, and the files of a writer that is alive could be taken away."""


def hidden_folder(parent: Path) -> tuple[Path, int | None]:
    """Make a folder to write results to; return it with the lock that says we are alive.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     path, lock = hidden_folder(Path(parent))
    ...     bool(HIDDEN.match(path.name))
    True
    """
    while True:
        path = parent / f".aggcal-{os.urandom(8).hex()}.new"
        path.mkdir()
        try:
            lock = hold(path)
        except OSError:
            return path, None
        # Whoever sweeps may have been here between the two lines.
        if lock is not None:
            return path, lock


def hidden_file(parent: Path) -> tuple[Path, int]:
    """Make a file to write a result to; return it, open and locked, with the mode of any new file.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     path, file = hidden_file(Path(parent))
    ...     bool(HIDDEN.match(path.name))
    True
    """
    while True:
        path = parent / f".aggcal-{os.urandom(8).hex()}.new"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        with suppress(OSError):
            take(descriptor)
        if os.fstat(descriptor).st_nlink:
            return path, descriptor
        os.close(descriptor)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder for what does not fit into memory, and clear it away afterwards.

    Examples
    --------
    >>> with scratch_folder() as folder:
    ...     folder.is_dir()
    True
    """
    base = Path(tempfile.gettempdir())
    _sweep_once(base)
    lock: int | None = None
    path = base / f"aggcal-scratch-{os.urandom(8).hex()}"
    try:
        with shielded():
            path.mkdir(mode=0o700)
            with suppress(OSError):
                lock = hold(path)
        yield path
    finally:
        with shielded():
            shutil.rmtree(path, ignore_errors=True)
            if lock is not None:
                os.close(lock)


def sweep(
    folder: Path,
    pattern: re.Pattern[str] = HIDDEN,
    *,
    clear: Callable[[Path], object] | None = None,
) -> None:
    """Take away what processes of this user left behind when they were killed.

    Parameters
    ----------
    folder
        Where to look.
    pattern
        The names that only we give.
    clear
        Called to take one away; by default `remove`.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     path, lock = hidden_folder(Path(parent))
    ...     sweep(Path(parent))
    ...     alive = path.exists()
    ...     os.close(lock)
    ...     sweep(Path(parent))
    ...     alive, path.exists()
    (True, False)
    """
    try:
        with os.scandir(folder) as found:
            names = [entry.name for entry in found if pattern.match(entry.name)]
    except OSError:
        return
    for name in names:
        path = folder / name
        with suppress(OSError):
            status = path.lstat()
            if not _is_ours(status):
                continue
            lock: int | None = None
            try:
                lock = hold(path)
                if lock is None:
                    continue
            except OSError:
                if time.time() - status.st_mtime < _OLD:
                    continue
            try:
                (clear or remove)(path)
            finally:
                if lock is not None:
                    os.close(lock)


def remove(path: Path) -> None:
    """Take a leftover away: a file, or a folder with all that is in it.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     path, _ = hidden_folder(Path(parent))
    ...     remove(path)
    ...     path.exists()
    False
    """
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)


@cache
def _sweep_once(folder: Path) -> None:
    sweep(folder, SCRATCH)


def _is_ours(status: os.stat_result) -> bool:
    """Whether it is a file or folder of this user, and no link to another."""
    if not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
        return False
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
