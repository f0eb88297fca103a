"""Commands that write tables or list what there is: convert, simulate, formats, ..."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from aggcal.cli import reading
from aggcal.cli.commands import SIMULATED
from aggcal.cli.console import Console, print_json, refuse_two_documents
from aggcal.errors import count

if TYPE_CHECKING:
    from aggcal.registry.datasets import DatasetInfo
    from aggcal.registry.names import Names

TABLES = ("judgments.csv", "scores.csv", "truth.csv", "annotators.csv")
"""What a simulation writes, besides the list of it."""


def convert(options: argparse.Namespace) -> int:
    """Read judgments of any format and write them as one table."""
    from aggcal.io.convert import convert_judgments

    console = Console(quiet=options.quiet)
    refuse_two_documents(options)
    choices = reading.choices_from(options)
    done = convert_judgments(
        options.inputs,
        options.output,
        to=options.to,
        format_name=options.format,
        choices=choices,
        criterion=options.criterion,
        overwrite=options.force,
        spreadsheet_safe=options.spreadsheet_safe,
    )
    console.done()
    console.say(*done.notes)
    if done.n_left_out:
        console.warn(
            f"{count(done.n_left_out, 'judgment')} without an answer left out: "
            f"{done.format} has no place for them."
        )
    console.say(f"wrote {done.path}: {count(done.n_rows, 'judgment')} as {done.format}")
    if options.json:
        about = {"format": done.format, "n_judgments": done.n_rows, "n_left_out": done.n_left_out}
        print_json({**about, "notes": done.notes}, [done.path])
    return 0


def simulate(options: argparse.Namespace) -> int:
    """Write a study whose truth is known."""
    from aggcal._core.progress import report
    from aggcal._version import __version__
    from aggcal.io.cells import csv_writer
    from aggcal.io.saving import Manifest, check_output, write_files
    from aggcal.simulation import simulate as make

    study = SIMULATED.given(options)
    manifest = Manifest("simulation.json", {"version": __version__, "study": study}, "simulate")
    names = (*TABLES, manifest.name)
    check_output(options.output, names, manifest, force=options.force)
    report("simulating")
    made = make(**study)
    report("writing the tables")
    tables = {name: csv_writer(table) for name, table in made.tables.items()}
    paths = write_files(options.output, tables, manifest=manifest, force=options.force)
    Console(quiet=options.quiet).say(f"wrote {', '.join(str(path) for path in paths)}")
    if options.json:
        print_json({"study": study}, paths)
    return 0


def listed(options: argparse.Namespace) -> int:
    """Print the formats that judgments are read from, the methods of Stage 1, or the datasets."""
    from aggcal.io.formats import FORMATS
    from aggcal.registry import METHODS

    if options.what == "datasets":
        return _datasets(options)
    known: Names[Any] = FORMATS if options.what == "formats" else METHODS
    summaries = {name: each.summary for name, each in known.items()}
    if options.json:
        print_json(summaries)
        return 0
    width = max(map(len, known.own))
    for name, summary in summaries.items():
        print(f"{name:{width}} {summary}")
    return 0


def _datasets(options: argparse.Namespace) -> int:
    """Print what each dataset is, how large, under which licence, and where it is found."""
    from aggcal.registry.datasets import DATASETS

    listed = {name: _dataset(info) for name, info in DATASETS.items()}
    if options.json:
        print_json(listed)
        return 0
    for name, each in listed.items():
        sizes = (
            f"{count(each['items'], 'item')}, {count(each['annotators'], 'annotator')}, "
            f"{count(each['judgments'], 'judgment')}"
        )
        print(f"{name:20}{each['what']}")
        print(f"{'':20}{sizes}; {each['licence']}; {each['found']}")
    return 0


def _dataset(info: DatasetInfo) -> dict[str, Any]:
    from aggcal.datasets import located

    here = located(info)
    missing = "download" if info.downloads else "in the repository only"
    return {
        "what": info.summary,
        "items": info.items,
        "annotators": info.annotators,
        "judgments": info.judgments,
        "licence": info.licence,
        "source": info.source,
        "found": missing if here is None else here[0],
        "folder": None if here is None else str(here[1]),
    }
