"""Read a folder that `aggcal run` or `aggcal aggregate` wrote, or one of its files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from aggcal._core.tables import Columns, as_text
from aggcal.errors import FileError, TableError, option
from aggcal.io.columns import numbers
from aggcal.io.saving import Manifest, digests, fits, load, scratch_folder, settled
from aggcal.io.tables import listed, opened

_WORDS = {
    "item": ("verdict", "grade", "uncertain", "decided_by"),
    "annotator": ("verdict", "reason", "camp", "influence_item", "leader_without"),
    "category": ("column", "category"),
}
"""Columns of words that are read; all others hold numbers."""
_SUMMARY = ("version", "method", "n_items", "n_annotators", "n_judgments", "warnings", "converged")


def read_results(
    folder: Path | str, *, force: bool = False
) -> tuple[dict[str, Any], Columns, Columns]:
    """Return the summary, and the columns of the items and of the annotators.

    Parameters
    ----------
    folder
        The folder that ``run`` or ``aggregate`` wrote them to.
    force
        Read files that are not those that the summary lists: changed since, or of another run.

    Examples
    --------
    >>> read_results("nowhere")
    Traceback (most recent call last):
    aggcal.errors.FileError: nowhere: no such folder; give a folder that 'aggcal run' wrote.
    """
    folder = Path(folder)
    if not folder.is_dir():
        what = "is a file" if folder.is_file() else "no such folder"
        raise FileError(f"{folder}: {what}; give a folder that 'aggcal run' wrote.")
    try:
        with settled(folder):
            return _read(folder, force=force)
    except PermissionError:
        raise FileError(f"{folder}: no permission to read it.") from None
    except OSError as error:
        raise FileError(f"{folder}: cannot be read ({error.strerror}).") from None


def read_comparisons(folder: Path | str, items: Columns) -> dict[str, Any]:
    """Return ``comparisons.json``, as far as it fits the items; empty where there is none.

    Results of earlier versions have none, and a report does without.

    Parameters
    ----------
    folder
        The folder of the results.
    items
        The columns of ``items.csv``.

    Examples
    --------
    >>> read_comparisons("nowhere", {})
    {}
    """
    path = Path(folder) / "comparisons.json"
    if not path.is_file():
        return {}
    try:
        with settled(Path(folder)):
            found = load(path)
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not valid JSON"
        raise FileError(f"{path}: cannot be read ({reason}); run aggcal again.") from None
    if wrong := misfit(found, len(items["item"])):
        raise FileError(f"{path}: {wrong}; run aggcal again.")
    kept: dict[str, Any] = found
    return kept


def read_categories(folder: Path | str, items: Columns) -> Columns:
    """Return the columns of ``categories.csv``; empty where there is none.

    Parameters
    ----------
    folder, items
        See `read_comparisons`.

    Examples
    --------
    >>> read_categories("nowhere", {})
    {}
    """
    path = Path(folder) / "categories.csv"
    if not path.is_file():
        return {}
    with settled(Path(folder)):
        found = _columns(path, "category", ("column", "category", "score", "rank"))
    known = {str(item) for item in items["item"]}
    if odd := [item for item in found["item"] if str(item) not in known]:
        raise FileError(f"{path}: '{odd[0]}' is not in items.csv; run aggcal again.")
    return found


@contextmanager
def unmixed(path: Path | str) -> Iterator[None]:
    """Hold the folder of a file while it is read; refuse a file that its summary does not fit.

    A file that no ``summary.json`` beside it lists is nobody's, and read as it is.

    Examples
    --------
    >>> with unmixed("nowhere.csv"):
    ...     pass
    """
    path = Path(path)
    with settled(path.parent):
        wanted = Manifest("summary.json").listed(path.parent).get(path.name)
        if wanted is not None and path.is_file() and not fits(path, wanted):
            raise FileError(
                f"{path} is not the file that summary.json lists: it was changed, or comes from "
                "another run. Run aggcal again, or copy it to another folder to read it as it is."
            )
        yield


def _read(folder: Path, *, force: bool) -> tuple[dict[str, Any], Columns, Columns]:
    for name in ("summary.json", "items.csv", "annotators.csv"):
        if not (folder / name).is_file():
            raise FileError(
                f"{folder}: holds no {name}; give a folder that 'aggcal run' or 'aggcal aggregate' "
                "wrote."
            )
    summary = _summary(folder / "summary.json")
    for name, wanted in digests(summary).items():
        if not force and (folder / name).exists() and not fits(folder / name, wanted):
            raise FileError(
                f"{folder / name} is not the file that summary.json lists: it was changed, or "
                f"comes from another run. Run aggcal again, or use {option('force')} to read it as "
                "it is."
            )
    return (
        summary,
        _columns(folder / "items.csv", "item", ("consensus",)),
        _columns(folder / "annotators.csv", "annotator", ("n_judgments", "agreement")),
    )


def _summary(path: Path) -> dict[str, Any]:
    try:
        summary = load(path)
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not valid JSON"
        raise FileError(f"{path}: cannot be read ({reason}); run aggcal again.") from None
    missing = [k for k in _SUMMARY if not isinstance(summary, dict) or k not in summary]
    if missing:
        raise FileError(f"{path}: lacks '{missing[0]}'; run aggcal again.")
    found: dict[str, Any] = summary
    return found


def _columns(path: Path, key: str, needed: tuple[str, ...]) -> Columns:
    words = _WORDS[key]
    key = "item" if key == "category" else key
    with scratch_folder() as scratch:
        table = opened(path, scratch, names={key, *needed, *words}, what=key)
        if missing := [c for c in (key, *needed) if c not in table.columns]:
            raise TableError(
                f"{path}: column '{missing[0]}' missing (found: {listed(table.header)}); run "
                "aggcal again."
            )
        table.refuse_twice({*table.columns})
        kept: Columns = {}
        for name, column in table.load([n for n in table.columns if n]).items():
            values = numbers(column)
            wrong = np.isnan(values) & column.has(lambda text: text.lower() != "nan")
            if name in (key, *words):
                kept[name] = as_text(cell or "" for cell in column.cells())
            elif not wrong.any():
                kept[name] = values
            elif name in needed or not np.isnan(values).all():  # else somebody's own words
                row = int(np.argmax(wrong))
                raise TableError(
                    f"{path}: {table.place(row)}: '{column.at(row)}' in column '{name}' is not a "
                    "number; run aggcal again."
                )
        return kept


_PER_ITEM = ("items", "certified", "opponents", "record", "upsets", "disagreed", "swaps")
"""What ``comparisons.json`` has for each of the items that it details."""


def misfit(found: Any, n_items: int) -> str:
    """Return how the contents of ``comparisons.json`` do not fit the items; nothing if they do.

    Whatever else is odd in it is said where a report trips over it.

    Examples
    --------
    >>> misfit({"items": ["a"], "opponents": [3]}, 1), misfit([], 1)
    ('', 'it holds no object')
    >>> misfit({"items": ["a"], "opponents": [3, 1]}, 1)
    "'opponents' is not as aggcal writes it"
    """
    if not isinstance(found, dict):
        return "it holds no object"
    lists = {name: found[name] for name in _PER_ITEM if name in found}
    sizes = {name: len(each) if isinstance(each, list) else -1 for name, each in lists.items()}
    number = sizes.get("items", -1)
    if not 0 <= number <= n_items:
        return "'items' is not as aggcal writes it"
    return next((f"'{n}' is not as aggcal writes it" for n in sizes if sizes[n] != number), "")
