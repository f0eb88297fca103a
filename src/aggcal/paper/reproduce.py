"""Run experiments and write the page, the cells, the consensus scores and the figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from aggcal import datasets
from aggcal._version import __version__
from aggcal.errors import OptionError, did_you_mean
from aggcal.io.writing.manifest import Manifest
from aggcal.io.writing.swap import check_output
from aggcal.io.writing.write import Writer, csv_writer, write_files
from aggcal.paper import dots, reading_level, rq3
from aggcal.paper.page import render
from aggcal.paper.result import Result, cell_columns
from aggcal.report.axes import standalone

EXPERIMENTS = ("reading-level", "dots", "rq3")
"""The experiments by name."""


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
    names = EXPERIMENTS if what == "all" else (what,)
    if unknown := [name for name in names if name not in EXPERIMENTS]:
        near = did_you_mean(unknown[0], (*EXPERIMENTS, "all"))
        raise OptionError(
            f"experiment '{unknown[0]}' is unknown{near}; choose {', '.join(EXPERIMENTS)} or all."
        )
    root = Path(directory)
    manifest = Manifest("reproduction.json", {"version": __version__}, "reproduce")
    check_output(root, ("index.html", "index.md", "cells.csv"), manifest, force=force)
    results: dict[str, Result] = {}
    for name in names:
        folder = datasets.find("dots" if name == "dots" else "reading-level", say=say)
        module = {"reading-level": reading_level, "dots": dots, "rq3": rq3}[name]
        results[name] = module.run(folder, quick=quick, say=say)
    page, text = render(results, quick=quick)
    cells = [cell for result in results.values() for cell in result.cells]
    files: dict[str, Writer | bytes] = {
        "index.html": lambda file: file.write(page),
        "index.md": lambda file: file.write(text),
        "cells.csv": csv_writer(cell_columns(cells)),
    }
    for result in results.values():
        for name, columns in result.tables.items():
            files[f"{name}.csv"] = csv_writer(columns)
        for name, svg in result.figures.items():
            files[f"figures/{name}.svg"] = _text_writer(standalone(svg))
        for name, (ids, scores) in result.consensus.items():
            files[f"consensus/{name}.csv"] = csv_writer({"item": ids, "score": scores})
        for name, png in result.pictures.items():
            files[f"figures/{name}.png"] = png
    outdated = [name for name in manifest.listed(root) if name not in files]
    return write_files(root, files, manifest=manifest, outdated=outdated, force=force)


def _text_writer(text: str) -> Writer:
    return lambda file: file.write(text)
