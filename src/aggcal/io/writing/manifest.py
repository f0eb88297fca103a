"""Which files of a folder aggcal wrote, by the list with their digests that it left there."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from aggcal.errors import OutputError

_AT_ONCE = 1 << 20
_LARGEST = 1 << 28
"""Bytes of a list that is still read: a summary takes a few megabytes at most."""


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

    Examples
    --------
    >>> Manifest("summary.json", {"version": "0"}).with_files({"a.csv": "12ab"})
    {'version': '0', 'files': {'a.csv': '12ab'}}
    """

    name: str
    data: Mapping[str, Any] = field(default_factory=dict)
    command: str | None = None

    def with_files(self, digests: Mapping[str, str]) -> dict[str, Any]:
        """Return what the file holds, with the list."""
        made = {} if self.command is None else {"command": self.command}
        return {**self.data, **made, "files": dict(digests)}

    def listed(self, folder: Path) -> dict[str, str]:
        """Return the digests of the files that an earlier set of this kind listed.

        Examples
        --------
        >>> Manifest("summary.json").listed(Path("nowhere"))
        {}
        """
        try:
            found = load(folder / self.name)
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(found, dict) or found.get("command") != self.command:
            return {}
        return digests(found)


def load(path: Path) -> Any:
    """Return the JSON of a file; a ValueError if it is a device, absurdly large or no JSON."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
        raise ValueError("no file, or too large")
    return json.loads(path.read_text(encoding="utf-8"))


def digests(summary: Mapping[str, Any]) -> dict[str, str]:
    """Return the files that a summary lists, leaving out what cannot be a file beside it.

    Examples
    --------
    >>> digests({"files": {"items.csv": "12ab", "../passwd": "12ab", "x": 1}})
    {'items.csv': '12ab'}
    """
    files = summary.get("files")
    if not isinstance(files, dict):
        return {}
    return {k: v for k, v in files.items() if isinstance(v, str) and is_inside(k)}


def digest(path: Path) -> str:
    """Return the digest of a file's bytes.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     digest(Path(file.name))[:8]
    'e3b0c442'
    """
    found = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(_AT_ONCE):
            found.update(part)
    return found.hexdigest()


def fits(path: Path, wanted: str | None) -> bool:
    """Whether there is a regular file with this digest.

    Examples
    --------
    >>> fits(Path("nowhere"), "12ab")
    False
    """
    try:
        return wanted is not None and path.is_file() and digest(path) == wanted
    except OSError:
        return False


def foreign(folder: Path, names: Iterable[str], manifest: Manifest) -> str | None:
    """Return the first of some files that is there and that aggcal did not write, if any.

    Examples
    --------
    >>> foreign(Path("nowhere"), ["items.csv"], Manifest("summary.json")) is None
    True
    """
    listed = manifest.listed(folder)
    for name in names:
        path = folder / name
        if not os.path.lexists(path):
            continue
        # The list itself is ours if it lists anything: it cannot hold its own digest.
        if (name == manifest.name and listed) or fits(path, listed.get(name)):
            continue
        return name
    return None


def refuse_foreign(
    folder: Path | str,
    names: Iterable[str],
    manifest: Manifest | None,
    *,
    outdated: Iterable[str] = (),
    force: bool = False,
) -> None:
    """Refuse to write where there are files of these names that aggcal did not write.

    Parameters
    ----------
    folder
        Where the files go.
    names
        The files that would be replaced.
    manifest
        The list that an earlier set left; None if whose the files are does not matter.
    outdated
        The files of an earlier set that would be taken away.
    force
        Replace them anyway. What is outdated and not ours is left alone then.

    Examples
    --------
    >>> refuse_foreign("nowhere", ["items.csv"], Manifest("summary.json"))
    """
    folder, names, outdated = Path(folder), list(names), list(outdated)
    refuse_links(folder, (*names, *outdated))
    # Unlike Path's, os.path's questions need no permission: what is forbidden is reported later.
    folders = [name for name in (*names, *outdated) if os.path.isdir(folder / name)]  # noqa: PTH112
    if folders:
        raise OutputError(f"{folder / folders[0]} is a folder; move it away.")
    for name in names:
        if _is_special(folder / name):
            raise OutputError(
                f"{folder / name} is not a regular file; move it away, or choose another folder."
            )
    if force or manifest is None:
        return
    found = foreign(folder, names, manifest)
    if found is not None:
        raise OutputError(
            f"{folder / found} already exists, and is not from an earlier run of this command, or "
            "has changed since. Choose another folder, or use --force to replace it."
        )
    found = foreign(folder, outdated, manifest)
    if found is not None:
        raise OutputError(
            f"{folder / found} is not part of these results but has the name of a result file. "
            "Choose another folder, or use --force to leave it there."
        )


def refuse_links(folder: Path, names: Iterable[str]) -> None:
    """Refuse files that are links out of their folder, also where force is used.

    A folder may come from anywhere: whoever made it would choose which file is overwritten.

    Examples
    --------
    >>> refuse_links(Path("nowhere"), ["items.csv"])
    """
    inside = os.path.realpath(folder)
    for name in names:
        if not Path(os.path.realpath(folder / name)).is_relative_to(inside):
            raise OutputError(
                f"{folder / name} leads out of its folder by a link; remove the link, or choose "
                "another folder."
            )


def is_inside(name: object) -> bool:
    """Whether a name in a list is that of a file in the folder or one level below it.

    Examples
    --------
    >>> is_inside("figures/a.svg"), is_inside("../a.svg"), is_inside("/a.svg")
    (True, False, False)
    """
    if not isinstance(name, str) or "\0" in name or "\\" in name:
        return False
    path = PurePosixPath(name)
    return 1 <= len(path.parts) <= 2 and str(path) == name and not {"..", ".", "/"} & {*path.parts}  # noqa: PLR2004


def _is_special(path: Path) -> bool:
    """Whether there is a device, a socket or a pipe."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
