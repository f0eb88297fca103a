"""Put a set of files in the place of an earlier one: all of them or none.

The new set is complete in a hidden folder ``H/new`` first. Then one of three things happens,
while the folder is locked:

- there is no folder yet: ``H/new`` is renamed;
- the folder holds nothing but an earlier set: the two folders are exchanged in one step;
- it holds files of the user too (or the system cannot exchange): the files are replaced one by
  one, with a journal that says how to undo it (`journal`).
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aggcal.errors import OutputError
from aggcal.io.writing.journal import (
    clear_away,
    is_interrupted,
    replace_one_by_one,
    sync,
    undo_interrupted,
)
from aggcal.io.writing.locks import locked
from aggcal.io.writing.manifest import (
    Manifest,
    fits,
    foreign,
    load,
    refuse_foreign,
)
from aggcal.io.writing.renaming import exchange, rename_new

_ATTEMPTS = 100
"""How often somebody else may make or remove the folder before we give up."""


class ChangedError(OutputError):
    """What was read has been replaced in the meantime."""


@dataclass(frozen=True)
class NewSet:
    """A complete set of files, and what it may replace.

    Parameters
    ----------
    hidden
        The folder with the files, in ``new/``.
    files
        The digest of each, in the order in which they are replaced; the list comes last.
    manifest
        The list that an earlier set left, if sets like this one have one.
    outdated
        Files of an earlier set that this one does not have.
    kept
        Files of the earlier set that this one has too, unchanged.
    force
        Replace files that aggcal did not write.
    expected
        What the list held when it was read; None if it does not matter.
    """

    hidden: Path
    files: Mapping[str, str]
    manifest: Manifest | None = None
    outdated: Collection[str] = ()
    kept: Mapping[str, str] = field(default_factory=dict)
    force: bool = False
    expected: Mapping[str, Any] | None = None

    def put(self, folder: Path) -> None:
        """Let the set take its place."""
        for _ in range(_ATTEMPTS):
            if not os.path.lexists(folder):
                try:
                    rename_new(self.hidden / "new", folder)
                except FileExistsError:
                    continue
                sync(folder.parent)
                return
            with ExitStack() as stack:
                try:
                    stack.enter_context(locked(folder))
                except FileNotFoundError:
                    continue
                self._replace(folder)
                return
        raise OutputError(
            f"{folder}: is repeatedly created and removed by another program; stop that first."
        )

    def _replace(self, folder: Path) -> None:
        undo_interrupted(folder)
        self._refuse(folder)
        new = self.hidden / "new"
        for name in self.files:
            _copy_mode(folder / name, new / name)
        try:
            whole = self._is_whole(folder)
        except OSError:  # something in it has gone in the meantime
            whole = False
        if whole and self._exchanged(folder):
            return
        if self.hidden.parent != folder:
            moved = folder / self.hidden.name
            self.hidden.rename(moved)
        else:
            moved = self.hidden
        try:
            replace_one_by_one(moved, folder, self.files, self._ours(folder))
        finally:
            # While the folder is locked: the next one to write looks at all that is in it.
            clear_away(moved)

    def _refuse(self, folder: Path) -> None:
        if self.manifest is None:
            return
        refuse_foreign(folder, self.files, self.manifest, outdated=self.outdated, force=self.force)
        if self.expected is not None:
            try:
                found = load(folder / self.manifest.name)
            except (OSError, ValueError, RecursionError):
                found = None
            # As text: NaN is not equal to itself.
            if json.dumps(found) != json.dumps(self.expected):
                raise ChangedError(
                    f"{folder}: other results were written there in the meantime; try again."
                )

    def _ours(self, folder: Path) -> list[str]:
        """Return what is outdated and was written by us."""
        there = [name for name in self.outdated if os.path.lexists(folder / name)]
        if self.manifest is None or not self.force:
            return there  # whatever is not ours was refused
        return [name for name in there if foreign(folder, [name], self.manifest) is None]

    def _is_whole(self, folder: Path) -> bool:
        """Whether a folder holds an earlier set and nothing else, and may be exchanged."""
        if self.manifest is None or self.hidden.parent != folder.parent:
            return False
        if not may_exchange(folder):
            return False
        listed = self.manifest.listed(folder)
        known = {*self.files, *self.outdated, *self.kept}
        allowed = {name.split("/")[0] for name in known if "/" in name}
        for path in folder.rglob("*"):
            name = path.relative_to(folder).as_posix()
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode) and name in allowed:
                continue
            ours = name == self.manifest.name and listed
            if not stat.S_ISREG(mode) or name not in known or not (ours or name in listed):
                return False
            if not ours and not fits(path, listed[name]):
                return False
        return all(fits(folder / name, wanted) for name, wanted in self.kept.items())

    def _exchanged(self, folder: Path) -> bool:
        new, probe = self.hidden / "new", self.hidden / "probe"
        try:
            for path in folder.rglob("*"):
                if path.is_file():
                    # What cannot be linked cannot be replaced either: an immutable file.
                    probe.hardlink_to(path)
                    probe.unlink()
            for name in self.kept:
                (new / name).parent.mkdir(exist_ok=True)
                (new / name).hardlink_to(folder / name)
            _copy_mode(folder, new, owner=True)
            sync(new)
        except OSError:
            done = False
        else:
            done = exchange(new, folder)
        if not done:
            for name in self.kept:
                (new / name).unlink(missing_ok=True)
            return False
        sync(folder.parent)
        with suppress(OSError):
            # In `new` there is the old folder now, and what came into it at the last moment.
            for path in new.iterdir():
                name = path.name
                if name not in {part.split("/")[0] for part in self._names}:
                    rename_new(path, folder / name)
        return True

    @property
    def _names(self) -> set[str]:
        return {*self.files, *self.outdated, *self.kept}


def may_exchange(folder: Path) -> bool:
    """Whether another folder could take the place of one without anybody missing the old one.

    Examples
    --------
    >>> may_exchange(Path.cwd())
    False
    """
    try:
        status, above = folder.stat(), folder.parent.stat()
        here = Path.cwd()
        if hasattr(os, "listxattr") and os.listxattr(folder):
            return False
    except OSError:
        return False
    return (
        status.st_dev == above.st_dev
        and status.st_uid == os.geteuid()
        and os.access(folder, os.W_OK | os.X_OK)
        and os.access(folder.parent, os.W_OK | os.X_OK)
        and folder not in (here, *here.parents)
    )


@contextmanager
def settled(folder: Path) -> Iterator[None]:
    """Hold a folder as readers do: nobody writes, and what a killed process began is undone.

    Examples
    --------
    >>> with settled(Path("nowhere")):
    ...     pass
    """
    with ExitStack() as stack:
        # Where there is no folder, or it cannot be opened, the reader will see.
        with suppress(OSError):
            if is_interrupted(folder):
                with locked(folder):
                    undo_interrupted(folder)
            stack.enter_context(locked(folder, shared=True))
        yield


def check_output(
    folder: Path | str,
    names: Iterable[str],
    manifest: Manifest | None,
    *,
    outdated: Iterable[str] = (),
    force: bool = False,
) -> None:
    """Refuse to write over files of others, as `refuse_foreign`, once nobody else is writing.

    Examples
    --------
    >>> check_output("nowhere", ["items.csv"], Manifest("summary.json"))
    """
    with settled(Path(folder)):
        refuse_foreign(folder, names, manifest, outdated=outdated, force=force)


def _copy_mode(old: Path, new: Path, *, owner: bool = False) -> None:
    """Give what is new the mode, and a folder the group, of what it replaces."""
    try:
        status = old.stat()
    except OSError:
        return
    if owner and status.st_gid != new.stat().st_gid:
        os.chown(new, -1, status.st_gid)
    mode = stat.S_IMODE(status.st_mode)
    if mode != stat.S_IMODE(new.stat().st_mode):
        new.chmod(mode)
