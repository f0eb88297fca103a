"""``aggcal report``: the report of a folder of results once more."""

from __future__ import annotations

import argparse
import sys

from aggcal.cli.arguments import Parser
from aggcal.cli.console import Console
from aggcal.cli.options.report import add_report_options, text_files, texts_from
from aggcal.errors import FileError


def add(command: Parser) -> None:
    """Add what it takes."""
    command.set_defaults(call=report)
    command.describe("Nothing is fitted again.")
    command.add_argument(
        "results", metavar="DIR", help="a folder that 'aggcal run' or 'aggcal aggregate' wrote"
    )
    command.add_argument(
        "--format", choices=("html", "md", "json"), default="html", help="what to write"
    )
    command.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="file to write; - for the terminal (default: report.html, .md or .json in DIR)",
    )
    add_report_options(command, check=False)


def report(options: argparse.Namespace) -> int:
    """Read the folder and render it."""
    from pathlib import Path

    from jinja2 import UndefinedError

    from aggcal.cli.results import RESULT_FILES
    from aggcal.io.results import read_results
    from aggcal.io.write import refuse_overwriting, write_files
    from aggcal.report.render import RENDERERS
    from aggcal.report.report import Report

    target = Path(options.output or Path(options.results) / f"report.{options.format}")
    if options.output != "-":
        inputs = [Path(options.results) / name for name in RESULT_FILES[:4]]
        refuse_overwriting(target.parent, [target.name], [*inputs, *text_files(options)])
    summary, items, annotators = read_results(options.results)
    texts = texts_from(options)
    summary.pop("texts", None)
    if texts is not None:
        summary["texts"] = Path(texts.source).name
    told = Report(summary, items, annotators, {} if texts is None else texts.by_item)
    try:
        page = RENDERERS[options.format](told)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, UndefinedError) as error:
        raise FileError(
            f"{options.results}: the files do not fit together ({error}); run aggcal again."
        ) from None
    if options.output == "-":
        # The terminal's encoding may lack some of our signs.
        sys.stdout.buffer.write(page.encode())
        return 0
    written = write_files(target.parent, {target.name: lambda file: file.write(page)})
    Console(quiet=options.quiet).say(f"wrote {written[0]}")
    return 0
