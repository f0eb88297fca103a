"""``aggcal aggregate``: Stage 1 alone."""

from __future__ import annotations

from aggcal.cli.arguments import Parser
from aggcal.cli.commands.run import add_stages, run
from aggcal.cli.options.judgments import add_judgments


def add(command: Parser) -> None:
    """Add what it takes."""
    command.set_defaults(call=run)
    command.describe(
        "Writes items.csv, annotators.csv, comparisons.json, summary.json, report.html and "
        "report.md into DIR, and categories.csv with --by."
    )
    add_judgments(command)
    add_stages(command, both=False)
