"""Replace files one by one, with a journal that says how to undo it.

New files are in ``H/new``, a hidden folder H beside those they replace; the old ones are kept in
``H/old``. Whoever reads or writes here next undoes what a killed process began.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from aggcal.io.writing.manifest import digest, fits, is_inside
from aggcal.io.writing.scratch import remove, sweep

_JOURNAL = "journal.json"


def replace_one_by_one(
    hidden: Path, folder: Path, files: Mapping[str, str], outdated: Collection[str]
) -> None:
    """Replace files, and take others away, with a journal; undo it all if one fails.

    Parameters
    ----------
    hidden
        A folder inside ``folder`` with the new files in ``new/``.
    folder
        Where they go.
    files
        The digest of each, the list last.
    outdated
        What to take away.
    """
    (hidden / "old").mkdir()
    steps: list[dict[str, Any]] = []
    for number, name in enumerate((*outdated, *files)):
        target = Path(os.path.realpath(folder / name))
        old = None
        if target.exists():
            _back_up(target, hidden / "old" / str(number))
            old = digest(hidden / "old" / str(number))
        steps.append({"name": name, "old": old, "new": files.get(name)})
    for name in files:
        if "/" in name:
            (folder / name).parent.mkdir(exist_ok=True)
    draft = hidden / "draft"
    with draft.open("w", encoding="utf-8") as file:
        json.dump(steps, file)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(hidden / _JOURNAL)
    sync(hidden)
    try:
        for step in steps:
            target = Path(os.path.realpath(folder / step["name"]))
            if step["new"] is None:
                target.unlink(missing_ok=True)
            else:
                (hidden / "new" / step["name"]).replace(target)
        sync(folder)
        (hidden / _JOURNAL).unlink()
    except BaseException:
        with suppress(OSError):
            _undo(hidden, folder, steps)
        raise


def undo_interrupted(folder: Path) -> None:
    """Undo what a killed process began in a folder that is locked, and take its files away.

    Examples
    --------
    >>> undo_interrupted(Path("nowhere"))
    """

    def clear(hidden: Path) -> None:
        if (hidden / _JOURNAL).exists():
            _undo(hidden, folder, _read_journal(hidden, folder))
        remove(hidden)

    sweep(folder, clear=clear)


def is_interrupted(folder: Path) -> bool:
    """Whether a process was killed while it replaced files one by one.

    Examples
    --------
    >>> is_interrupted(Path("nowhere"))
    False
    """
    return any(folder.glob(f".aggcal-*.new/{_JOURNAL}"))


def clear_away(hidden: Path) -> None:
    """Take the hidden folder away, unless it says how to undo what could not be undone.

    Examples
    --------
    >>> clear_away(Path("nowhere"))
    """
    if not (hidden / _JOURNAL).exists():
        remove(hidden)


def sync(folder: Path) -> None:
    """Ask the system to keep a folder's names; not every file system can.

    Examples
    --------
    >>> sync(Path("nowhere"))
    """
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _undo(hidden: Path, folder: Path, steps: list[dict[str, Any]]) -> None:
    """Bring the old files back, as far as nobody has changed the new ones since."""
    for number, step in reversed(list(enumerate(steps))):
        target, old = Path(os.path.realpath(folder / step["name"])), hidden / "old" / str(number)
        replaced = fits(target, step["new"]) and step["new"] != step["old"]
        if step["old"] is None:
            if replaced and not (hidden / "new" / step["name"]).exists():
                target.unlink()
        elif old.exists() and (replaced or not os.path.lexists(target)):
            old.replace(target)
    sync(folder)
    (hidden / _JOURNAL).unlink()


def _read_journal(hidden: Path, folder: Path) -> list[dict[str, Any]]:
    """Return the steps that a killed process wrote down.

    A folder of results may come from anywhere, and its journal with it: it may name files of the
    folder alone, and no links, through which it would reach others.
    """
    try:
        steps = json.loads((hidden / _JOURNAL).read_text(encoding="utf-8"))
        digests_known = all(
            {"name", "old", "new"} == set(step)
            and is_inside(step["name"])
            and all(step[key] is None or isinstance(step[key], str) for key in ("old", "new"))
            for step in steps
        )
    except (ValueError, TypeError, RecursionError):
        digests_known = False
    inside = digests_known and not any(
        path.is_symlink()
        for step in steps
        for path in (folder / step["name"], (folder / step["name"]).parent)
        if path != folder
    )
    if not inside or any((hidden / part).is_symlink() for part in ("", "old", "new")):
        raise OSError(errno.EINVAL, "no journal of ours")
    found: list[dict[str, Any]] = steps
    return found


def _back_up(target: Path, old: Path) -> None:
    try:
        old.hardlink_to(target)
    except OSError:  # a file system without links, or a file that cannot be replaced anyway
        shutil.copy2(target, old)
