"""``aggcal run``: both stages."""

from __future__ import annotations

import argparse

from aggcal._core.garbage import modules_stay
from aggcal.cli.ahead import begin_database, check_begun, loaded_ahead, process_is_ours
from aggcal.cli.arguments import Parser
from aggcal.cli.console import Console
from aggcal.cli.options.common import (
    add_json,
    add_level,
    add_output,
    add_seed,
    add_spreadsheet_safe,
)
from aggcal.cli.options.decisions import (
    add_decisions,
    check_decisions,
    wishes_from,
    with_decisions,
)
from aggcal.cli.options.engine import engine_from
from aggcal.cli.options.formats import choices_from
from aggcal.cli.options.judgments import (
    add_judgment_options,
    add_judgments,
    add_without,
    judgments_from,
)
from aggcal.cli.options.report import add_report_options, text_files, texts_from, titles_from
from aggcal.cli.options.scores import SCORES, scores_from
from aggcal.cli.options.stage_1 import (
    add_stage_1,
    check_stage_1,
    feature_files,
    features_from,
    prior_from,
    uncertainty_from,
)
from aggcal.cli.options.stage_2 import (
    add_anchored,
    add_stage_2,
    anchored_from,
    knowledge_files,
    knowledge_from,
)
from aggcal.cli.options.terms import control_files, control_from, terms_from
from aggcal.cli.provenance import judgment_files
from aggcal.registry import LOCAL

_LATER = ("numpy.random", "aggcal.assessment.result", "aggcal.report.ready")
"""What reading and a fit do not need, in the order in which the rest of a run does."""


def add(command: Parser) -> None:
    """Add what it takes."""
    command.set_defaults(call=run)
    command.describe(
        "Writes items.csv, annotators.csv, comparisons.json, summary.json, report.html and "
        "report.md into DIR; categories.csv with --by, and predictions.csv if some scored items "
        "were never judged."
    )
    add_judgments(command)
    command.add_argument("scores", metavar="SCORES", help=SCORES)
    add_stages(command, both=True)


def add_stages(command: Parser, *, both: bool) -> None:
    """Add the options of Stage 1, or of both, and those of the results."""
    add_output(command, "the results")
    add_spreadsheet_safe(command)
    add_without(command)
    add_level(command)
    add_seed(command)
    add_stage_1(command)
    add_judgment_options(command)
    if both:
        add_stage_2(command)
    else:
        add_anchored(command)
    add_decisions(command)
    add_report_options(command)
    add_json(command, "the summary and the files written")


def run(options: argparse.Namespace) -> int:
    """Fit the consensus, and project the scores onto it, if there are any."""
    if options.engine == LOCAL:
        begin_database()
    with modules_stay(for_good=process_is_ours()):
        from aggcal.assessment import assess
        from aggcal.cli.results import finish, refuse_output
        from aggcal.io.writing.writable import refuse_unwritable

    console = Console(quiet=options.quiet)
    both = "scores" in options
    names = ("calibrator", "model_sd", "second_model") if both else ()
    check_stage_1(options, **{name: getattr(options, name) for name in names})
    choices_from(options)
    wishes = wishes_from(options)
    titles = titles_from(options)
    refuse_unwritable(options.output)
    inputs = (*judgment_files(options), *feature_files(options), *text_files(options))
    inputs = (*inputs, *knowledge_files(options), *control_files(options))
    refuse_output(options, (*inputs, options.scores) if both else inputs)
    prior, features = prior_from(options), features_from(options, console)
    texts, control = texts_from(options, console), control_from(options, console)
    known = {"calibrator": options.calibrator} if both else {}
    known |= knowledge_from(options, console) if both else anchored_from(options, console)
    scores = scores_from(options, console) if both else None
    with (
        loaded_ahead(*_LATER),
        check_begun(wanted=not options.no_check),
        engine_from(options, console) as engine,
    ):
        judgments = judgments_from(options, console, engine)
        check_decisions(options, judgments)
        result = assess(
            judgments,
            scores,
            method=options.method,
            prior=prior,
            estimator=options.estimator,
            features=features,
            terms=terms_from(options, control),
            **uncertainty_from(options, console),
            **known,
            seed=options.seed,
            engine=engine or LOCAL,
            **titles,
            warn=False,
            on_iteration=console.on_iteration,
        )
        result = with_decisions(result, options, wishes)
        return finish(result, options, console, texts)
