"""``aggcal reproduce``: the paper's numbers beside ours."""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from typing import TYPE_CHECKING

from aggcal.cli.arguments import Parser
from aggcal.cli.console import Console
from aggcal.cli.options.common import add_json, add_output, print_json

if TYPE_CHECKING:
    from pathlib import Path


def add(command: Parser) -> None:
    """Add what it takes."""
    command.set_defaults(call=reproduce)
    command.describe(
        "Writes index.html, index.md, cells.csv, levels.csv, consensus/, figures/ and "
        "reproduction.json into DIR. The data come from the folder that AGGCAL_DATA names or the "
        "repository, or are downloaded and verified."
    )
    command.add_argument(
        "what",
        metavar="WHAT",
        nargs="?",
        default="all",
        choices=("reading-level", "dots", "rq3", "all"),
        help="experiment: reading-level, dots, rq3 or all",
    )
    add_output(command, "the page")
    command.add_argument(
        "--quick", action="store_true", help="fewer repetitions and levels; takes about a minute"
    )
    add_json(command, "the files written")


def reproduce(options: argparse.Namespace) -> int:
    """Make the page."""
    from pathlib import Path

    from aggcal.io.writing.writable import refuse_unwritable
    from aggcal.paper.reproduce import reproduce as make

    console = Console(quiet=options.quiet)
    refuse_unwritable(options.output)
    paths = make(
        options.what, options.output, quick=options.quick, force=options.force, say=console.on_step
    )
    console.done()
    if options.json:
        counts = _statuses(Path(options.output) / "cells.csv")
        print_json({"what": options.what, "quick": options.quick, "cells": counts}, paths)
        return 0
    print((Path(options.output) / "index.html").resolve())
    return 0


def _statuses(cells: Path) -> dict[str, int]:
    """Count the compared numbers by what came of the comparison."""
    with cells.open(encoding="utf-8", newline="") as file:
        return dict(Counter(row["status"] for row in csv.DictReader(file)))
