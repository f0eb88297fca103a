"""Where datasets are: in a folder of the user's, the repository, the package, or the cache."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from aggcal.errors import FileError, check_choice
from aggcal.registry.datasets import DATASETS, DatasetInfo

HOME = "AGGCAL_DATA"
"""The environment variable that names the folder of the datasets."""

STATED, REPOSITORY, INSTALLED, CACHE = HOME, "repository", "installed", "downloaded"


def information(name: str) -> DatasetInfo:
    """Return what is known of a dataset, or say which there are.

    Examples
    --------
    >>> information("iris")
    Traceback (most recent call last):
    aggcal.errors.OptionError: dataset 'iris' is unknown; choose dots, reading-level, llmfao,
    judgemark, country-population, sushi.
    """
    check_choice("dataset", name, DATASETS)
    return DATASETS[name]


def located(info: DatasetInfo, files: tuple[str, ...]) -> tuple[str, Path] | None:
    """Return the first place that has all of these files of a dataset: what it is, and the folder.

    Examples
    --------
    >>> located(DATASETS["dots"], ("no-such-file.csv",)) is None
    True
    """
    stated = os.environ.get(HOME)
    if stated and not Path(stated).is_dir():
        raise FileError(f"{stated}: {HOME} names no folder; correct it or unset it.")
    for kind, place in _places():
        folder = place / info.folder
        if all((folder / file).is_file() for file in files):
            return kind, folder
    return None


def cache() -> Path:
    """Return the folder for what is downloaded."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "aggcal" / "data"


def _places() -> Iterator[tuple[str, Path]]:
    stated = os.environ.get(HOME)
    if stated:
        yield STATED, Path(stated)
    here = Path(__file__).resolve().parent
    source = here.parents[1]
    # Only where this file is part of a clone is there a repository around it.
    if source.name == "src":
        yield REPOSITORY, source.parent / "datasets"
    yield INSTALLED, here
    yield CACHE, cache()
