"""``aggcal aggregate``: Stage 1 alone."""

from __future__ import annotations

import argparse

from aggcal.cli.arguments import Parser
from aggcal.cli.console import Console
from aggcal.cli.options.common import (
    add_json,
    add_level,
    add_output,
    add_seed,
    add_spreadsheet_safe,
)
from aggcal.cli.options.engine import engine_from
from aggcal.cli.options.formats import choices_from
from aggcal.cli.options.judgments import add_judgment_options, add_judgments, judgments_from
from aggcal.cli.options.report import add_report_options, text_files, texts_from
from aggcal.cli.options.stage_1 import (
    add_stage_1,
    check_stage_1,
    feature_files,
    features_from,
    prior_from,
    uncertainty_from,
)
from aggcal.registry import LOCAL


def add(command: Parser) -> None:
    """Add what it takes."""
    command.set_defaults(call=aggregate)
    command.describe(
        "Writes items.csv, annotators.csv, summary.json, report.html and report.md into DIR."
    )
    add_judgments(command)
    add_output(command, "the results")
    add_spreadsheet_safe(command)
    add_level(command)
    add_seed(command)
    add_stage_1(command)
    add_judgment_options(command)
    add_report_options(command)
    add_json(command, "the summary")


def aggregate(options: argparse.Namespace) -> int:
    """Fit the consensus."""
    from aggcal.assessment import assess
    from aggcal.cli.results import finish, refuse_output
    from aggcal.io.writing.writable import refuse_unwritable

    console = Console(quiet=options.quiet)
    check_stage_1(options)
    choices_from(options)
    refuse_unwritable(options.output)
    inputs = (options.judgments, *feature_files(options), *text_files(options))
    refuse_output(options, inputs)
    prior, features, texts = prior_from(options), features_from(options), texts_from(options)
    with engine_from(options, console) as engine:
        result = assess(
            judgments_from(options, console, engine),
            method=options.method,
            prior=prior,
            estimator=options.estimator,
            features=features,
            **uncertainty_from(options, console),
            seed=options.seed,
            engine=engine or LOCAL,
            warn=False,
            on_iteration=console.on_iteration,
        )
        return finish(result, options, console, texts)
