"""``aggcal simulate``: a study whose truth is known."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from aggcal.cli.arguments import Parser
from aggcal.cli.console import Console
from aggcal.cli.options.common import add_json, add_output, print_json
from aggcal.registry import LINKS, LOGISTIC

if TYPE_CHECKING:
    from pathlib import Path

TABLES = ("judgments.csv", "scores.csv", "truth.csv", "annotators.csv")
"""What is written, besides the list of it."""


def add(command: Parser) -> None:
    """Add what it takes."""
    command.set_defaults(call=simulate)
    command.describe(f"Writes {', '.join(TABLES)} and simulation.json (the settings) into DIR.")
    add_output(command, "the tables")
    for name, kind, default, what in (
        ("items", int, 100, "number of items"),
        ("annotators", int, 30, "number of annotators"),
        ("judgments", int, 3000, "number of judgments"),
        ("reliability-sd", float, 0.5, "sd of log reliability; the mean reliability is 1"),
        ("reversed", float, 0.0, "share of reversed annotators"),
        ("location", float, 50.0, "location in truth = location + scale * latent score"),
        ("scale", float, 10.0, "scale in truth = location + scale * latent score"),
        ("model-sd", float, 10.0, "sd of the model's error"),
        ("model-bias", float, 0.0, "mean error of the model"),
        ("model-slope", float, 1.0, "slope of the model's scores against the truth"),
        ("seed", int, 0, "seed for all random numbers"),
    ):
        letter = "N" if kind is int else "X"
        command.add_argument(f"--{name}", type=kind, default=default, metavar=letter, help=what)
    command.add_argument(
        "--link", choices=LINKS, default=LOGISTIC.name, help="distribution of the noise"
    )
    add_json(command, "the settings and the files written")


def simulate(options: argparse.Namespace) -> int:
    """Make the study that was described."""
    from aggcal.io.writing.writable import refuse_unwritable

    refuse_unwritable(options.output)
    study = {
        "items": options.items,
        "annotators": options.annotators,
        "judgments": options.judgments,
        "link": options.link,
        "reliability_sd": options.reliability_sd,
        "reversed_share": options.reversed,
        "location": options.location,
        "scale": options.scale,
        "model_sd": options.model_sd,
        "model_bias": options.model_bias,
        "model_slope": options.model_slope,
        "seed": options.seed,
    }
    paths = write_study(options.output, force=options.force, **study)
    Console(quiet=options.quiet).say(f"wrote {', '.join(str(path) for path in paths)}")
    if options.json:
        print_json({"study": study}, paths)
    return 0


def write_study(folder: str | Path, *, force: bool = False, **study: Any) -> list[Path]:
    """Simulate a study and write its tables, unless there are others of these names."""
    from aggcal._core.progress import report
    from aggcal._version import __version__
    from aggcal.io.writing.manifest import Manifest
    from aggcal.io.writing.swap import check_output
    from aggcal.io.writing.write import csv_writer, write_files
    from aggcal.simulation import simulate as make

    about = {"version": __version__, "study": study}
    manifest = Manifest("simulation.json", about, "simulate")
    check_output(folder, (*TABLES, manifest.name), manifest, force=force)
    report("simulating")
    made = make(**study)
    report("writing the tables")
    return write_files(
        folder,
        {
            "judgments.csv": csv_writer(made.judgments),
            "scores.csv": csv_writer(made.scores),
            "truth.csv": csv_writer(made.truths),
            "annotators.csv": csv_writer(made.annotators),
        },
        manifest=manifest,
        force=force,
    )
