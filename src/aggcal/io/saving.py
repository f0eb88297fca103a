"""Results are written all or none, and over nothing that aggcal did not write.

A set of files is made in a hidden folder beside those that it replaces, with a list of the digests
of its files. By the list that an earlier set left, a file is known to be ours. The new set takes
its place in one of two ways:

- where a folder holds an earlier set and nothing else, the two are exchanged in one step;
- elsewhere the hidden folder is renamed to ``.aggcal-unfinished``, with a plan. From this step on
  the new set holds: its files are renamed one by one, and after a kill whoever reads or writes
  there next goes on.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import io
import json
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeAlias

from aggcal._core.interrupts import shielded
from aggcal.errors import OutputError, option
from aggcal.io.cells import to_json
from aggcal.io.files import no_room, split_sheet

Writer: TypeAlias = Callable[[IO[str]], object]

_HIDDEN, _UNFINISHED = ".aggcal-{}.new", ".aggcal-unfinished"
_LARGEST = 1 << 28  # bytes of a list that is still read: a summary takes a few megabytes at most
_FILES = (".csv", ".json", ".jsonl", ".xlsx", ".parquet", ".html", ".md", ".pdf", ".svg", ".txt")
"""Endings that no folder should have: who writes one expects a file."""
_PATIENCE, _PAUSE = 60.0, 0.02
"""Seconds to wait for a lock, which is held for moments: whoever holds it longer hangs."""
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux
_STREAMS = re.compile(r"^(/dev/(stdout|stderr|fd/\d+)|/proc/self/fd/\d+)$")
"""Names of what is open already: it may be a file, but not one to be replaced."""


class ChangedError(OutputError):
    """What was read has been replaced in the meantime."""


@dataclass(frozen=True)
class Manifest:
    """The file that lists a set of files, and what else it says.

    Parameters
    ----------
    name
        What the file is called: ``summary.json`` for results.
    data
        What it holds besides the list.
    command
        The command that may replace the set; results are replaced by any command that writes
        results.
    """

    name: str
    data: Mapping[str, Any] = field(default_factory=dict)
    command: str | None = None

    def listed(self, folder: Path) -> dict[str, str]:
        """Return the digests of the files that an earlier set of this kind listed.

        Examples
        --------
        >>> Manifest("summary.json").listed(Path("nowhere"))
        {}
        """
        summary = self.held(folder)
        ours = isinstance(summary, dict) and summary.get("command") == self.command
        return digests(summary) if ours else {}

    def held(self, folder: Path) -> Any:
        """Return what the list of a folder holds; None if there is none."""
        with suppress(OSError, ValueError, RecursionError):
            return load(folder / self.name)
        return None


def load(path: Path) -> Any:
    """Return the JSON of a file; a ValueError if it is a device, absurdly large or no JSON."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
        raise ValueError("no file, or too large")
    return json.loads(path.read_text(encoding="utf-8"))


def digests(summary: Mapping[str, Any]) -> dict[str, str]:
    """Return the files that a summary lists, without what cannot be in its folder.

    Examples
    --------
    >>> digests({"files": {"items.csv": "12ab", "../passwd": "12ab", "x": 1}})
    {'items.csv': '12ab'}
    """
    files = summary.get("files")
    if not isinstance(files, dict):
        return {}
    return {name: each for name, each in files.items() if _inside(name) and isinstance(each, str)}


def digest(path: Path) -> str:
    """Return the digest of a file's bytes; nothing where no file is.

    Examples
    --------
    >>> digest(Path("nowhere"))
    ''
    """
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fits(path: Path, wanted: str) -> bool:
    """Whether there is a file with this digest, and it can be read.

    Examples
    --------
    >>> fits(Path("nowhere"), "12ab")
    False
    """
    with suppress(OSError):
        return digest(path) == wanted
    return False


def write_files(
    directory: Path | str,
    files: Mapping[str, Writer | bytes],
    manifest: Manifest,
    *,
    outdated: Collection[str] = (),
    force: bool = False,
    onto: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Write several files into a directory; if one fails, none appears.

    Parameters
    ----------
    directory
        Made if it is not there (and taken away again if the writing fails).
    files
        For each file name, a function that writes its text, or its bytes.
    manifest
        What lists the files with their digests.
    outdated
        Files of an earlier set that this one does not have: they are taken away if we wrote them.
    force
        Replace files that aggcal did not write.
    onto
        What the list must still hold for the files to be written: its other files stay.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = write_files(folder, {"a.txt": lambda file: file.write("x")}, Manifest("l.json"))
    ...     [path.name for path in made]
    ['a.txt', 'l.json']
    """
    # A link to a folder stays, and so does the folder that it leads to.
    folder = Path(os.path.realpath(directory))
    kept = [name for name in digests(onto or {}) if name not in files and (folder / name).exists()]
    # What is made elsewhere must be movable into the folder.
    movable = os.access(folder.parent, os.W_OK | os.X_OK) and not os.path.ismount(folder)
    parent = folder if os.path.lexists(folder) and not movable else folder.parent
    with _writing(directory, folder), _hidden_folder(parent) as hidden:
        new, made = hidden / "new", dict[str, str]()
        every = {**{name: (folder / name).read_bytes() for name in kept}, **files}
        for name, content in every.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            made[name] = _write(new / name, content)
        command = {} if manifest.command is None else {"command": manifest.command}
        listed = f"{to_json({**manifest.data, **command, 'files': made})}\n"
        made[manifest.name] = _write(new / manifest.name, listed.encode())
        _sync(new)
        with shielded():
            folder.mkdir(exist_ok=True)
            with _held(folder):
                _finish(folder)
                others = _refuse_foreign(folder, [*made], manifest, outdated, force=force)
                held = json.dumps(manifest.held(folder))  # as text: NaN is not NaN
                if onto is not None and held != json.dumps(onto):
                    raise ChangedError(
                        f"{folder}: other results were written there in the meantime; try again."
                    )
                gone = dict.fromkeys(name for name in outdated if name not in others)
                _replace(hidden, folder, {**gone, **made})
    return [Path(directory) / name for name in (*files, manifest.name)]


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
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_file(Path(folder) / "a.txt", lambda file: file.write("x"))
    ...     write_file(path, lambda file: file.write("y"))
    Traceback (most recent call last):
    aggcal.errors.OutputError: ...a.txt already exists. Choose another name or use force=True.
    """
    refuse_existing(path, force=force)
    target = Path(os.path.realpath(path))
    if _is_stream(path):
        stream = Path(path)
        with _writing(path, stream), open(os.open(stream, os.O_WRONLY), "wb") as file:  # noqa: PTH123
            _fill(file, content)
        return Path(path)
    with _writing(path, target), _hidden_folder(target.parent) as hidden:
        new = hidden / "new"
        _write(new, content)
        with shielded():
            try:
                target.hardlink_to(new)
            except OSError as error:
                if isinstance(error, FileExistsError) and not force:
                    raise OutputError(_exists(path)) from None
                if target.exists():
                    new.chmod(stat.S_IMODE(target.stat().st_mode))
                new.replace(target)  # by force, or on a file system without links
            _sync(target.parent)
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
    mode = _mode(path)
    if stat.S_ISDIR(mode):
        raise OutputError(f"{path} is a folder; give the name of a file to write.")
    if mode and not stat.S_ISREG(mode):
        raise OutputError(f"{path} is a socket or a disk; give the name of a file to write.")
    if os.path.lexists(path) and not force:  # a link to nothing would make a file elsewhere
        raise OutputError(_exists(path))
    _refuse_unwritable(Path(path).parent)


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


def refuse_links(folder: Path, names: Iterable[str]) -> None:
    """Refuse files that are links out of their folder, also where force is used.

    A folder may come from anywhere: whoever made it would choose which file is overwritten.

    Examples
    --------
    >>> refuse_links(Path("nowhere"), ["items.csv"])
    """
    root = os.path.realpath(folder)
    for name in names:
        if not Path(os.path.realpath(folder / name)).is_relative_to(root):
            raise OutputError(
                f"{folder / name} leads out of its folder by a link; remove the link, or choose "
                "another folder."
            )


def check_output(
    folder: Path | str,
    names: Collection[str],
    manifest: Manifest,
    *,
    outdated: Collection[str] = (),
    force: bool = False,
) -> None:
    """Refuse a folder that cannot be written into, or holds files of others with these names.

    Parameters
    ----------
    folder
        Where the files are to go.
    names
        The files that would be replaced.
    manifest
        The list that an earlier set left.
    outdated
        The files of an earlier set that would be taken away.
    force
        Replace them anyway. What is outdated and not ours is left alone then.

    Examples
    --------
    >>> check_output(__file__, ["items.csv"], Manifest("summary.json"))
    Traceback (most recent call last):
    aggcal.errors.OutputError: ...saving.py is a file, not a folder; choose another name.
    """
    _refuse_unwritable(Path(folder))
    if not os.path.lexists(folder) and Path(folder).suffix.lower() in _FILES:
        raise OutputError(
            f"{folder}: is the name of a file, and several files are written; give a folder, as in "
            f"-o {Path(folder).stem}."
        )
    with settled(Path(folder)):
        _refuse_foreign(Path(folder), names, manifest, outdated, force=force)


@contextmanager
def settled(folder: Path) -> Iterator[None]:
    """Hold a folder as readers do: nobody writes, and what a killed process began is finished.

    Examples
    --------
    >>> with settled(Path("nowhere")):
    ...     pass
    """
    with ExitStack() as stack:
        # Where there is no folder, or it cannot be opened, the reader will see.
        with suppress(OSError):
            if (folder / _UNFINISHED).is_dir():
                with _held(folder):
                    _finish(folder)
            stack.enter_context(_held(folder, shared=True))
        yield


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder for what does not fit into memory, and clear it away afterwards.

    Examples
    --------
    >>> with scratch_folder() as folder:
    ...     folder.is_dir()
    True
    """
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(_hidden_folder(Path(tempfile.gettempdir())))
        except OSError as error:
            raise no_room(error) from None
        yield folder


def _inside(name: str) -> bool:
    """Whether a name in a list is that of a file in the folder or one level below it."""
    parts = name.split("/")
    return len(parts) <= 2 and not ({"", ".", ".."} & {*parts} or {"\0", "\\"} & {*name})  # noqa: PLR2004


def _refuse_unwritable(path: Path) -> None:
    # Unlike Path's, os.path's questions need no permission.
    there = next(p for p in (path, *path.absolute().parents) if os.path.lexists(p))
    if not os.path.isdir(there):  # noqa: PTH112
        raise OutputError(f"{there} is a file, not a folder; choose another name.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise OutputError(f"{there}: no permission to write there; choose another folder.")


def _refuse_foreign(
    folder: Path,
    names: Collection[str],
    manifest: Manifest,
    outdated: Collection[str],
    *,
    force: bool,
) -> list[str]:
    """Refuse files that aggcal did not write; return those of the outdated that are left alone."""
    refuse_links(folder, (*names, *outdated))
    ours, foreign = manifest.listed(folder), list[str]()
    for name in (*names, *outdated):
        path, mode = folder / name, _mode(folder / name)
        if stat.S_ISDIR(mode) or (mode and not stat.S_ISREG(mode) and name in names):
            what = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
            raise OutputError(f"{path} is {what}; move it away.")
        # The list itself is ours if it lists anything: it cannot hold its own digest.
        if not os.path.lexists(path) or (
            ours if name == manifest.name else fits(path, ours.get(name, ""))
        ):
            continue
        if name in outdated:
            foreign.append(name)
        elif not force:
            raise OutputError(
                f"{path} already exists, and is not from an earlier run of this command, or has "
                f"changed since. Choose another folder, or use {option('force')} to replace it."
            )
    if foreign and not force:
        raise OutputError(
            f"{folder / foreign[0]} is not part of these results but has the name of a result "
            f"file. Choose another folder, or use {option('force')} to leave it there."
        )
    return foreign


def _replace(hidden: Path, folder: Path, files: Mapping[str, str | None]) -> None:
    """Put a new set in the place of an earlier one, in a folder that is locked.

    Files without a digest are taken away.
    """
    new = hidden / "new"
    plan = {name: [_state(folder / name), made] for name, made in files.items()}
    for name, (old, made) in plan.items():
        if old is not None:
            _refuse_fixed(folder / name)
        if old is not None and made is not None:
            (new / name).chmod(stat.S_IMODE((folder / name).stat().st_mode))
    if hidden.parent != folder and _exchanged(new, folder, {*files}):
        return
    for name in files:
        (folder / name).parent.mkdir(exist_ok=True)
    _write(hidden / "plan.json", json.dumps(plan).encode())
    _sync(hidden)
    hidden.rename(folder / _UNFINISHED)
    try:
        _finish(folder)
    except OSError:
        _finish(folder)  # most errors pass; after another one the next command goes on


def _finish(folder: Path) -> None:
    """Let the files that wait in a folder take their places.

    The folder is locked. It may come from anywhere, and its plan with it, which must reach no file
    outside.
    """
    waiting = folder / _UNFINISHED
    if waiting.is_dir() and not waiting.is_symlink():
        try:
            made = load(waiting / "plan.json").items()
            plan = [(name, old, new) for name, (old, new) in made if _inside(name)]
        except (FileNotFoundError, ValueError, TypeError, AttributeError, RecursionError):
            plan = []  # all is there, and a process was killed while it cleared away
        refuse_links(folder, [name for name, *_ in plan])
        refuse_links(waiting, [f"new/{name}" for name, *_ in plan])
        for name, old, wanted in plan:
            new, target = waiting / "new" / name, folder / name
            if _state(target) != old:  # it is there already, or somebody has changed it since
                continue
            if wanted is None:
                target.unlink(missing_ok=True)
            elif new.exists():
                new.replace(target)
        _sync(folder)
        shutil.rmtree(waiting, ignore_errors=True)


def _state(path: Path) -> str | None:
    return digest(path) if os.path.lexists(path) else None


def _exchanged(new: Path, folder: Path, ours: set[str]) -> bool:
    """Exchange two folders in one step, where nobody would miss anything of the old one."""
    ours |= {name.split("/")[0] for name in ours}
    try:
        here, before, after = Path.cwd(), folder.stat(), new.stat()
        there = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
        same = (before.st_uid, before.st_gid) == (after.st_uid, after.st_gid)
        if folder in (here, *here.parents) or there - ours or not same or os.listxattr(folder):
            return False
        new.chmod(stat.S_IMODE(before.st_mode))
        call, names = ctypes.CDLL(None).renameat2, (os.fsencode(new), os.fsencode(folder))
        if call(_HERE, names[0], _HERE, names[1], _EXCHANGE):
            return False
    except (OSError, AttributeError):  # a system that cannot; a file has gone in the meantime
        return False
    _sync(folder.parent)
    with suppress(OSError):
        # In `new` there is the old folder now, and what came into it at the last moment.
        for path in new.iterdir():
            if path.name not in ours:
                path.rename(folder / path.name)
    return True


def _refuse_fixed(path: Path) -> None:
    """Refuse a file that may not be replaced, not even by its owner: an immutable one."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
    except OSError as error:
        if error.errno == errno.EPERM:
            raise


_REASONS = {
    (errno.ENOSPC, errno.EDQUOT, errno.EFBIG): "the disk is full; free some space or choose "
    "another folder",
    (errno.EACCES, errno.EPERM, errno.EROFS): "no permission to write there; choose another folder",
    (errno.EEXIST, errno.ENOTDIR): "a file is in the way of a folder; choose another name",
}


@contextmanager
def _writing(path: Path | str, target: Path) -> Iterator[None]:
    """Make the folders above a file or folder, take away those that are not needed; explain."""
    missing = [each for each in (target, *target.parents) if not os.path.lexists(each)]
    try:
        with shielded():
            target.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        reason = next((why for codes, why in _REASONS.items() if error.errno in codes), None)
        reason = reason or f"cannot be written ({error.strerror})"
        raise OutputError(f"{path}: {reason}.") from None
    finally:
        with shielded():
            for each in missing:
                with suppress(OSError):
                    each.rmdir()


@contextmanager
def _hidden_folder(parent: Path) -> Iterator[Path]:
    """Make a folder that lasts no longer than its process; its lock says that we are alive.

    What others left there when they were killed is taken away.
    """
    path = parent / _HIDDEN.format(os.urandom(8).hex())
    with ExitStack() as stack:
        try:
            with shielded(), _locked(parent, patience=1.0) as alone:
                # Nobody may sweep between the making and the locking.
                for other in parent.glob(_HIDDEN.format("[0-9a-f]" * 16)) if alone else ():
                    with suppress(OSError), _locked(other) as dead:
                        if dead and other.is_dir():
                            shutil.rmtree(other, ignore_errors=True)
                path.mkdir(0o700)
                stack.enter_context(_locked(path))
            yield path
        finally:
            with shielded():
                shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _held(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold a folder: several readers (``shared``) or one writer.

    The lock is that of the folder itself, so that no file is left behind, and ends with the
    process. Where the file system has none, the digests alone tell a mixture.
    """
    with _locked(folder, shared=shared, patience=_PATIENCE) as locked:
        if locked is False:
            raise OutputError(
                f"{folder}: another program is using this folder and does not finish; end it, or "
                "choose another folder."
            )
        yield


@contextmanager
def _locked(folder: Path, *, shared: bool = False, patience: float = 0.0) -> Iterator[bool | None]:
    """Lock a folder; False if somebody else holds it, None if there are no locks."""
    end = time.monotonic() + patience
    while True:
        descriptor = os.open(folder, os.O_RDONLY | os.O_NONBLOCK)
        try:
            locked = _lock(descriptor, shared=shared)
            # Another folder may have taken its place while we waited.
            same = os.path.samestat(os.fstat(descriptor), folder.stat())
            if same if locked is not False else time.monotonic() >= end:
                yield locked
                return
        finally:
            os.close(descriptor)
        time.sleep(_PAUSE)


def _lock(descriptor: int, *, shared: bool) -> bool | None:
    try:
        import fcntl  # which Windows does not have

        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (OSError, ImportError):
        return None
    return True


def _write(path: Path, content: Writer | bytes) -> str:
    """Write a new file, to the disk, and return its digest."""
    with path.open("xb") as file:
        _fill(file, content)
        file.flush()
        os.fsync(file.fileno())
    return digest(path)


def _fill(file: IO[bytes], content: Writer | bytes) -> None:
    if isinstance(content, bytes):
        file.write(content)
        return
    text = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="")
    content(text)
    text.detach()  # which writes out what it holds


def _sync(folder: Path) -> None:
    """Ask the system to keep a folder's names; not every file system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_NONBLOCK)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _mode(path: Path | str) -> int:
    try:
        return os.stat(path).st_mode  # noqa: PTH116
    except (OSError, ValueError):
        return 0


def _is_stream(path: Path | str) -> bool:
    """Whether a path leads to what takes bytes but cannot be replaced."""
    mode = _mode(path)
    return bool(_STREAMS.match(str(path))) or stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def _exists(path: Path | str) -> str:
    return f"{path} already exists. Choose another name or use {option('force')}."
