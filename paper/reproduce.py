"""Run experiments and write the page, the cells, the consensus scores and the figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from aggcal import datasets
from aggcal._version import __version__
from aggcal.errors import OptionError, did_you_mean
from aggcal.io.cells import csv_writer
from aggcal.io.saving import Manifest, Writer, check_output, write_files
from aggcal.pages.figures import standalone
from aggcal.pages.html import page
from aggcal.pages.markdown import markdown
from aggcal.registry.literals import DatasetName
from paper import dots, reading_level, rq3
from paper.page import document
from paper.result import Result, cell_columns

EXPERIMENTS: dict[str, tuple[DatasetName, Callable[..., Result]]] = {
    "reading-level": ("reading-level", reading_level.run),
    "dots": ("dots", dots.run),
    "rq3": ("reading-level", rq3.run),
}
"""The experiments by name: the dataset that each takes, and what runs it."""


def reproduce(
    what: str,
    directory: str | Path,
    *,
    quick: bool = False,
    force: bool = False,
    say: Callable[[str], None] = print,
) -> list[Path]:
    """Reproduce an experiment, or ``all``, into a folder.

    Parameters
    ----------
    what
        One of `EXPERIMENTS`, or ``all``.
    directory
        Where ``index.html``, ``index.md``, ``cells.csv``, ``levels.csv``, ``consensus/`` and
        ``figures/`` go.
    quick
        Fewer repetitions and levels.
    force
        Replace files of these names whoever wrote them.
    say
        Called with a line about what is being done.

    Returns
    -------
    list of Path
        The files.
    """
    if what not in (*EXPERIMENTS, "all"):
        near = did_you_mean(what, (*EXPERIMENTS, "all"))
        choices = f"{', '.join(EXPERIMENTS)} or all"
        raise OptionError(f"experiment '{what}' is unknown{near}; choose {choices}.")
    root = Path(directory)
    manifest = Manifest("reproduction.json", {"version": __version__}, "reproduce")
    check_output(root, ("index.html", "index.md", "cells.csv"), manifest, force=force)
    results = []
    for name in EXPERIMENTS if what == "all" else [what]:
        dataset, run = EXPERIMENTS[name]
        results.append(run(datasets.folder_of(dataset, say), quick=quick, say=say))
    whole = document(results, quick=quick)
    files: dict[str, Writer | bytes] = {
        "index.html": page(whole).encode(),
        "index.md": markdown(whole).encode(),
        "cells.csv": csv_writer(cell_columns(cell for each in results for cell in each.cells)),
    }
    for result in results:
        files |= {f"{name}.csv": csv_writer(table) for name, table in result.tables.items()}
        files |= {f"figures/{k}.svg": standalone(svg).encode() for k, svg in result.figures.items()}
        files |= {f"figures/{name}.png": png for name, png in result.pictures.items()}
    outdated = [name for name in manifest.listed(root) if name not in files]
    return write_files(root, files, manifest=manifest, outdated=outdated, force=force)
