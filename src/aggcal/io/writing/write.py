"""Write results all or nothing, and over nothing that aggcal did not write."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from aggcal._core.interrupts import shielded
from aggcal._core.kernels.threads import begun, in_turn
from aggcal._core.tables import Columns
from aggcal.errors import OutputError
from aggcal.io.files import split_sheet
from aggcal.io.writing.cells import csv_cell, spreadsheet_cell, table_rows
from aggcal.io.writing.journal import clear_away, sync
from aggcal.io.writing.manifest import Manifest
from aggcal.io.writing.renaming import rename_new
from aggcal.io.writing.scratch import hidden_file, hidden_folder, remove, sweep
from aggcal.io.writing.swap import NewSet, check_output, may_exchange

Writer = Callable[[IO[str]], object]

_AT_ONCE = 1 << 13  # rows of a table whose cells are held as texts: more take more memory
_STREAMS = re.compile(r"^(/dev/(stdout|stderr|fd/\d+)|/proc/self/fd/\d+)$")
"""Names of what is open already: it may be a file, but not one to be replaced."""


def write_files(
    directory: Path | str,
    files: Mapping[str, Writer | bytes],
    *,
    manifest: Manifest | None = None,
    outdated: Iterable[str] = (),
    kept: Mapping[str, str] | None = None,
    force: bool = False,
    expected: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Write several files into a directory; if one fails, none appears.

    Parameters
    ----------
    directory
        Made if it is not there (and taken away again if the writing fails).
    files
        For each file name, a function that writes its text, or its bytes.
    manifest
        What lists the files with their digests, written last. Without one, files of these names
        are replaced whoever wrote them.
    outdated
        Files of an earlier set that this one does not have: they are taken away if we wrote them.
    kept
        Files of the earlier set, with their digests, that belong to this one as they are.
    force
        Replace files that aggcal did not write.
    expected
        What the list must still hold for the files to be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_files(folder, {"a.txt": lambda file: file.write("x")})]
    ['a.txt']
    """
    # A link to a folder stays, and so does the folder that it leads to.
    folder, outdated = Path(os.path.realpath(directory)), [*outdated]
    names = [*files] if manifest is None else [*files, manifest.name]
    if os.path.lexists(folder) and not os.path.isdir(folder):  # noqa: PTH112
        raise OutputError(f"{directory} is a file, not a folder; choose another name.")
    check_output(directory, names, manifest, outdated=outdated, force=force)
    made = _missing_parents(folder)
    hidden: tuple[Path, int | None] | None = None
    try:
        with shielded():
            folder.parent.mkdir(parents=True, exist_ok=True)
            sweep(folder.parent)
            inside = folder.is_dir() and not may_exchange(folder)
            hidden = hidden_folder(folder if inside else folder.parent)
        digests = _staged(hidden[0] / "new", files, manifest, kept or {})
        with shielded():
            NewSet(
                hidden[0], digests, manifest, outdated, kept or {}, force=force, expected=expected
            ).put(folder)
            made = []
    except OSError as error:
        raise OutputError(_reason(directory, error)) from None
    finally:
        with shielded():
            if hidden is not None:
                for place in (hidden[0], folder / hidden[0].name):
                    clear_away(place)
                if hidden[1] is not None:
                    os.close(hidden[1])
            _unmake(made)
    return [Path(directory) / name for name in names]


def write_file(path: Path | str, content: Writer | bytes, *, force: bool = False) -> Path:
    """Write one file, whole or not at all.

    A link to a file stays, and the file that it leads to is replaced. Devices and pipes are
    written into.

    Parameters
    ----------
    path
        The file; folders above it are made if they are not there.
    content
        A function that writes its text, or its bytes.
    force
        Replace a file that already exists.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_file(Path(folder) / "a.txt", lambda file: file.write("x"))
    ...     write_file(path, lambda file: file.write("y"))
    Traceback (most recent call last):
    aggcal.errors.OutputError: ...a.txt already exists. Choose another name or use force=True.
    """
    refuse_existing(path, force=force)
    if _is_stream(path):
        _write_into(path, content)
        return Path(path)
    target = Path(os.path.realpath(path))
    made = _missing_parents(target.parent)
    hidden: tuple[Path, int] | None = None
    try:
        with shielded():
            target.parent.mkdir(parents=True, exist_ok=True)
            sweep(target.parent)
            hidden = hidden_file(target.parent)
        _written(os.dup(hidden[1]), content)
        with shielded():
            if os.path.lexists(target) and force:
                os.fchmod(hidden[1], stat.S_IMODE(target.stat().st_mode))
                hidden[0].replace(target)
            else:
                rename_new(hidden[0], target)
            sync(target.parent)
            made = []
    except FileExistsError:
        raise OutputError(_exists(path)) from None
    except OSError as error:
        raise OutputError(_reason(path, error)) from None
    finally:
        with shielded():
            if hidden is not None:
                remove(hidden[0])
                os.close(hidden[1])
            _unmake(made)
    return Path(path)


def refuse_existing(path: Path | str, *, force: bool = False) -> None:
    """Refuse a file to write that already exists, or that cannot be written to.

    Examples
    --------
    >>> refuse_existing("nowhere.csv")
    """
    if not str(path):
        raise OutputError("the output file has no name; give one with -o FILE.")
    if _is_stream(path):
        return
    if os.path.isdir(path):  # noqa: PTH112  # which, unlike Path's, asks no permission
        raise OutputError(f"{path} is a folder; give the name of a file to write.")
    if _mode(path) and not stat.S_ISREG(_mode(path)):
        raise OutputError(f"{path} is a socket or a disk; give the name of a file to write.")
    if os.path.lexists(path) and not force:  # a link to nothing would make a file elsewhere
        raise OutputError(_exists(path))


def _exists(path: Path | str) -> str:
    return f"{path} already exists. Choose another name or use --force."


def _mode(path: Path | str) -> int:
    try:
        return os.stat(path).st_mode  # noqa: PTH116
    except (OSError, ValueError):
        return 0


def _is_stream(path: Path | str) -> bool:
    """Whether a path leads to what takes bytes but cannot be replaced."""
    mode = _mode(path)
    return bool(_STREAMS.match(str(path))) or stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def _write_into(path: Path | str, content: Writer | bytes) -> None:
    try:
        _write_to(os.open(path, os.O_WRONLY), content)
    except OSError as error:
        raise OutputError(_reason(path, error)) from None


def _staged(
    folder: Path,
    files: Mapping[str, Writer | bytes],
    manifest: Manifest | None,
    kept: Mapping[str, str],
) -> dict[str, str]:
    """Write the files into a new folder, the list last; return their digests."""
    folder.mkdir()
    digests: dict[str, str] = {}
    syncing = _Syncing()
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        digests[name] = _write_to(_new(folder / name), content, finish=syncing.begin)
    if manifest is not None:
        listed = json_writer(manifest.with_files({**kept, **digests}))
        digests[manifest.name] = _write_to(_new(folder / manifest.name), listed, syncing.begin)
    syncing.wait()
    sync(folder)
    return digests


class _Syncing:
    """Files on their way to the disk, in threads: what is written next need not wait for them."""

    def __init__(self) -> None:
        self._waiting: list[Callable[[], None]] = []

    def begin(self, descriptor: int) -> None:
        """Begin to bring a file to the disk, which may be closed meanwhile."""
        own = os.dup(descriptor)

        def bring() -> None:
            try:
                os.fsync(own)
            finally:
                os.close(own)

        self._waiting.append(begun(bring))

    def wait(self) -> None:
        """Wait until all are there; what went wrong is raised."""
        for each in self._waiting:
            each()


def _new(path: Path) -> int:
    """Open a new file; the system gives it the mode that the user wants for new files."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)


def _written(descriptor: int, content: Writer | bytes) -> str:
    """Write a file that is open, to the disk, and return its digest."""
    return _write_to(descriptor, content, finish=os.fsync)


def _write_to(
    descriptor: int, content: Writer | bytes, finish: Callable[[int], object] = lambda _: None
) -> str:
    """Write to what is open, close it, and return the digest of what was written."""
    with _Digesting(io.FileIO(descriptor, "wb")) as raw:
        if isinstance(content, bytes):
            raw.write(content)
        else:
            file = io.TextIOWrapper(raw, encoding="utf-8", errors="replace", newline="")
            content(file)
            file.detach()  # which writes out what it holds
        raw.flush()
        finish(raw.fileno())
        return raw.digest.hexdigest()


class _Digesting(io.BufferedWriter):
    """A file that keeps the digest of what is written to it."""

    def __init__(self, raw: io.RawIOBase) -> None:
        super().__init__(raw)
        self.digest = hashlib.sha256()

    def write(self, data: Any, /) -> int:
        """Write, and take note."""
        self.digest.update(data)
        return super().write(data)


def csv_writer(columns: Columns, *, spreadsheet_safe: bool = False) -> Writer:
    """Return a writer of columns as CSV; numbers keep all their digits, NaN and None are blank.

    Parameters
    ----------
    columns
        The table.
    spreadsheet_safe
        Write an apostrophe before texts that a spreadsheet would take for a formula.

    Examples
    --------
    >>> import sys
    >>> _ = csv_writer({"item": np.array(["a", "b"]), "score": np.array([0.1, np.nan])})(sys.stdout)
    item,score
    a,0.1
    b,
    """
    cell = spreadsheet_cell if spreadsheet_safe else csv_cell

    def rows(start: int) -> str:
        part = slice(start, start + _AT_ONCE)
        return table_rows([column[part] for column in columns.values()], cell)

    def write(file: IO[str]) -> None:
        file.write(",".join(map(cell, columns)) + "\n")
        starts = range(0, max(map(len, columns.values()), default=0), _AT_ONCE)
        file.writelines(in_turn(rows, starts))

    return write


def json_writer(data: Any) -> Writer:
    """Return a writer of plain data as JSON; what is not a finite number becomes null.

    Examples
    --------
    >>> import sys
    >>> _ = json_writer({"kl": float("nan")})(sys.stdout)
    {
      "kl": null
    }
    """
    return lambda file: file.write(to_json(data) + "\n")


def to_json(data: Any) -> str:
    """Write plain data as JSON text.

    Examples
    --------
    >>> print(to_json([1, float("inf")]))
    [
      1,
      null
    ]
    """
    return json.dumps(_finite(data), indent=2, ensure_ascii=False, allow_nan=False)


def _finite(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    if isinstance(data, float):
        return data if np.isfinite(data) else None
    return data


def refuse_overwriting(
    directory: Path | str, names: Iterable[str], inputs: Iterable[Path | str]
) -> None:
    """Refuse to write a file over one that is being read.

    Examples
    --------
    >>> refuse_overwriting("out", ["items.csv"], ["data/items.csv"])
    """
    if not str(directory):
        raise OutputError("the output folder has no name; give one with -o DIR.")
    read = {split_sheet(Path(path))[0].resolve() for path in inputs}
    for target in (Path(directory) / name for name in names):
        if target.resolve() in read:
            raise OutputError(
                f"{target} is being read and would be overwritten; choose another folder."
            )


def _missing_parents(directory: Path) -> list[Path]:
    above = (directory, *directory.parents)
    return [path for path in above if not os.path.exists(path)]  # noqa: PTH110


def _unmake(folders: list[Path]) -> None:
    for path in folders:
        with suppress(OSError):
            path.rmdir()


def _reason(directory: Path | str, error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"{directory}: the disk is full; free some space or choose another folder."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{directory}: no permission to write there; choose another folder."
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        return f"{directory}: a file is in the way of a folder; choose another name."
    return f"{directory}: cannot be written ({error.strerror})."
