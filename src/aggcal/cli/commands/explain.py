"""``aggcal explain``: why one item is where it is."""

from __future__ import annotations

import argparse
from contextlib import redirect_stderr
from io import StringIO
from typing import TYPE_CHECKING, Any

from aggcal.cli.arguments import Parser
from aggcal.cli.console import Console
from aggcal.cli.options.common import add_json, print_json
from aggcal.cli.options.formats import choices_from
from aggcal.cli.options.judgments import add_judgment_options, add_without, judgments_from
from aggcal.errors import AggcalError, printable

if TYPE_CHECKING:
    from aggcal.data.base import AnyJudgments
    from aggcal.report.report import Report


def add(command: Parser) -> None:
    """Add what it takes."""
    command.set_defaults(call=explain)
    command.describe(
        "Prints the item's record, the results that contradict the order, who disagreed, why its "
        "score moved from the model's, what would change its rank, and its comparisons. The report "
        "shows the same in the row of the item. Single comparisons are in DIR for up to 60 items; "
        "for more, the judgments are read again from where the run read them, if they are still "
        "the same, or from --judgments."
    )
    command.add_argument("item", metavar="ITEM", help="id of the item")
    command.add_argument(
        "results", metavar="DIR", help="folder written by 'aggcal run' or 'aggcal aggregate'"
    )
    command.add_argument(
        "--judgments",
        metavar="FILE",
        nargs="+",
        action="extend",
        default=[],
        help="the judgments that DIR was made from, with the options they were read with",
    )
    command.add_argument(
        "--force", action="store_true", help="read the files in DIR even if they have changed"
    )
    add_without(command)
    add_judgment_options(command)
    add_json(command, "the explanation")


def explain(options: argparse.Namespace) -> int:
    """Explain, and print."""
    from aggcal.assessment.explaining import with_rows
    from aggcal.report.explained import explained
    from aggcal.report.loading import fitting, load_report

    console = Console(quiet=options.quiet)
    choices_from(options)
    report, notes = load_report(options.results, force=options.force), list[str]()
    if options.judgments:
        report = with_rows(report, judgments_from(options, console))
    elif "pairs" not in report.comparisons:
        report, note = _read_again(report, options)
        notes += [note] if note else []
    with fitting(options.results):
        found = explained(report, options.item, tuple(notes))
    console.done()
    if options.json:
        print_json(found.to_dict())
    else:
        print(found)
    return 0


def _read_again(report: Report, options: argparse.Namespace) -> tuple[Report, str]:
    """Return the report with the judgments it was made from, or why they are not at hand."""
    from aggcal.assessment.explaining import with_rows

    hint = "give the judgments with --judgments for its comparisons"
    try:
        rows = _stated(report.summary, options)
        if rows is None:
            return report, f"DIR does not say where the judgments are; {hint}"
        return with_rows(report, rows), ""
    except AggcalError as error:
        return report, f"the judgments could not be read again ({printable(str(error))}); {hint}"


def _stated(summary: Any, options: argparse.Namespace) -> AnyJudgments | None:
    """Read the judgments with the command that made the results; None if there is none."""
    import shlex

    settings = summary.get("settings")
    command = settings.get("command") if isinstance(settings, dict) else None
    if not isinstance(command, str) or "$'" in command:
        return None
    try:
        words = shlex.split(command)[1:]
        with redirect_stderr(StringIO()):  # a command of another version may not be one of ours
            typed = options.whole(["run", "aggregate"]).parse_args(words)
    except (ValueError, SystemExit):
        return None
    if getattr(typed, "judgments", None) is None:
        return None
    return judgments_from(typed, Console(quiet=True))
