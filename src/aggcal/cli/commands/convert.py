"""``aggcal convert``: judgments of any format as one table."""

from __future__ import annotations

import argparse

from aggcal.cli.arguments import Parser
from aggcal.cli.console import Console
from aggcal.cli.options.common import (
    add_json,
    add_spreadsheet_safe,
    print_json,
    refuse_two_documents,
)
from aggcal.cli.options.formats import (
    JUDGMENTS,
    add_format_options,
    add_memory,
    add_parting_options,
    choices_from,
)
from aggcal.errors import OptionError, count
from aggcal.registry import CROWD_KIT, PREFLIB


def add(command: Parser) -> None:
    """Add what it takes."""
    command.set_defaults(call=convert)
    command.describe("Several files, or folders of files, are written as one table.")
    command.add_argument("inputs", metavar="IN", nargs="+", help=JUDGMENTS)
    command.add_argument(
        "-o", "--output", metavar="OUT", required=True, help="file to write; - for standard output"
    )
    command.add_argument("--force", action="store_true", help="replace OUT if it already exists")
    command.add_argument(
        "--append",
        action="store_true",
        help="add the judgments to the table OUT, whose columns must match (it is created if it "
        "does not exist); OUT is replaced in one step, so a failure loses nothing",
    )
    command.add_argument(
        "--to",
        choices=("aggcal", CROWD_KIT.name, PREFLIB.name),
        help="output format; aggcal, a lossless CSV, unless OUT ends in .soc, .soi, .toc or .toi",
    )
    add_spreadsheet_safe(command)
    group = add_format_options(command)
    add_parting_options(group, write=True)
    add_memory(group)
    add_json(command, "what was written")


def convert(options: argparse.Namespace) -> int:
    """Read the files and write the table."""
    from pathlib import Path

    from aggcal.io.convert import convert_judgments
    from aggcal.io.writing.writable import refuse_unwritable

    console = Console(quiet=options.quiet)
    if options.append and options.force:
        raise OptionError("--append adds to OUT and --force replaces it; omit one of them.")
    refuse_two_documents(options)
    choices = choices_from(options)
    if options.output != "-":
        refuse_unwritable(Path(options.output).parent)
    done = convert_judgments(
        options.inputs,
        options.output,
        to=options.to,
        format_name=options.format,
        choices=choices,
        criterion=options.criterion,
        overwrite=options.force,
        append=options.append,
        memory=options.memory,
        spreadsheet_safe=options.spreadsheet_safe,
        on_progress=console.on_reading,
    )
    console.done()
    for note in done.notes:
        console.say(note)
    if done.n_left_out:
        console.warn(
            f"{count(done.n_left_out, 'judgment')} without an answer left out: "
            f"{done.format} has no place for them."
        )
    did = "added to" if done.appended else "wrote"
    console.say(f"{did} {done.path}: {count(done.n_rows, 'judgment')} as {done.format}")
    if options.json:
        print_json(
            {
                "format": done.format,
                "n_judgments": done.n_rows,
                "n_left_out": done.n_left_out,
                "appended": done.appended,
                "notes": done.notes,
            },
            [done.path],
        )
    return 0
