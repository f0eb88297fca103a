"""Renames that replace nothing, or exchange two folders in one step."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

_HERE = -100  # AT_FDCWD
_NOREPLACE, _EXCHANGE = 1, 2  # flags of renameat2 in Linux
_UNKNOWN = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}


def rename_new(source: Path, target: Path) -> None:
    """Rename a file or folder to a name that nothing has; a FileExistsError if something does.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a").write_text("x"), Path(folder, "b").write_text("y")
    ...     rename_new(Path(folder, "a"), Path(folder, "b"))
    Traceback (most recent call last):
    FileExistsError: ...
    """
    try:
        _renameat2(source, target, _NOREPLACE)
    except OSError as error:
        if error.errno not in _UNKNOWN:
            raise
    else:
        return
    if source.is_dir():
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        source.rename(target)  # fails by itself on a folder that holds something by now
        return
    try:
        target.hardlink_to(source)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        source.rename(target)
    else:
        source.unlink()


def exchange(first: Path, second: Path) -> bool:
    """Exchange two folders in one step; False where the system or the file system cannot.

    Examples
    --------
    >>> exchange(Path("nowhere"), Path("nowhere else"))
    False
    """
    try:
        _renameat2(first, second, _EXCHANGE)
    except OSError:
        return False
    return True


def _renameat2(source: Path, target: Path, flags: int) -> None:
    call = _system_call()
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if call(_HERE, os.fsencode(source), _HERE, os.fsencode(target), flags):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(source), None, str(target))


@cache
def _system_call() -> Any:
    """Return the C library's renameat2; None where it has none."""
    if sys.platform != "linux":
        return None
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    call.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    return call
