"""The real datasets: `load` gives judgments, scores and truth, and the folder of the files.

They are part of the repository (``datasets/``); the installed package carries the tables of Dots.
Others are downloaded from their public sources and verified, if they are nowhere on the machine.
What there is stands in `aggcal.registry.datasets`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aggcal.data.judgments import Judgments
from aggcal.data.scores import Scores
from aggcal.datasets.download import HOME, cache, download_dataset
from aggcal.datasets.tables import read_tables
from aggcal.errors import FileError, check_choice
from aggcal.io import read_judgments, read_scores
from aggcal.registry.datasets import DATASETS, DatasetInfo
from aggcal.registry.literals import DatasetName

__all__ = ["HOME", "Dataset", "load"]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A real dataset: what was judged, what a model says, and what is true.

    Parameters
    ----------
    name
        Its name.
    judgments
        Who put what above what.
    scores
        The model's scores, or None.
    truth
        The truth of all items or some, or None.
    others
        Other scores of the items, by name: of ``dots`` the ``estimates``, the mean number of dots
        that people guessed; of ``llmfao`` those of ``gpt-4``.
    folder
        Where its files are; the README beside them explains every column.
    """

    name: str
    judgments: Judgments
    scores: Scores | None
    truth: Scores | None
    others: Mapping[str, Scores] = field(default_factory=dict)
    folder: Path = Path()

    def __repr__(self) -> str:
        sizes = repr(self.judgments).partition("(")[2].rstrip(")")
        known = [f"scores of {len(self.scores)}"] if self.scores is not None else []
        known += [f"truth of {len(self.truth)}"] if self.truth is not None else []
        return f"Dataset({self.name}: {'; '.join([sizes, *known])})"


def load(name: DatasetName, *, say: Callable[[str], None] | None = None) -> Dataset:
    """Load a real dataset; download it if it is nowhere on this machine and can be had.

    Looked for in the folder that ``AGGCAL_DATA`` names, in ``datasets`` of the repository, in the
    installed package and in the cache, in this order.

    Parameters
    ----------
    name
        One of those that ``aggcal list datasets`` lists.
    say
        Called with a line about what is being downloaded.

    Examples
    --------
    >>> dots = load("dots")
    >>> dots
    Dataset(dots: 30 items, 300 annotators, 8,700 judgments; scores of 30; truth of 30)
    >>> dots.truth["1"], dots.scores["1"]
    (50.0, 32.75)
    """
    folder = folder_of(name, say)
    tables = read_tables(DATASETS[name], folder)
    return Dataset(
        name,
        read_judgments(tables.judgments, format=tables.format),
        None if tables.scores is None else read_scores(tables.scores),
        None if tables.truth is None else read_scores(tables.truth, column="truth"),
        {each: read_scores(columns) for each, columns in tables.others.items()},
        folder,
    )


def located(info: DatasetInfo) -> tuple[str, Path] | None:
    """Return the first place that has what loading a dataset needs: what it is, and the folder.

    Examples
    --------
    >>> located(DATASETS["dots"])[1].name
    'dots'
    """
    stated = os.environ.get(HOME)
    if stated and not Path(stated).is_dir():
        raise FileError(f"{stated}: {HOME} names no folder; correct it or unset it.")
    for kind, place in _places():
        folder = place / info.folder
        if all((folder / file).is_file() for file in info.needs):
            return kind, folder
    return None


def folder_of(name: str, say: Callable[[str], None] | None) -> Path:
    """Return a folder that has what loading a dataset needs, downloaded if need be."""
    check_choice("dataset", name, DATASETS)
    info = DATASETS[name]
    if here := located(info):
        return here[1]
    if not info.downloads:
        raise FileError(
            f"dataset '{info.name}' is not on this machine; get the folder datasets of aggcal's "
            f"repository, and set {HOME} to it."
        )
    return download_dataset(info, say or (lambda _: None))


def _places() -> Iterator[tuple[str, Path]]:
    stated = os.environ.get(HOME)
    if stated:
        yield HOME, Path(stated)
    here = Path(__file__).resolve().parent
    source = here.parents[1]
    # Only where this file is part of a clone is there a repository around it.
    if source.name == "src":
        yield "repository", source.parent / "datasets"
    yield "installed", here
    yield "downloaded", cache()
