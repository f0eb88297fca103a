"""``aggcal calibrate``: Stage 2 alone."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from aggcal._core.garbage import modules_stay
from aggcal._core.unmasked import distinct
from aggcal.cli.arguments import Parser
from aggcal.cli.console import Console
from aggcal.cli.options.common import (
    add_json,
    add_level,
    add_output,
    add_seed,
    add_spreadsheet_safe,
)
from aggcal.cli.options.decisions import add_decisions, wishes_from, with_decisions
from aggcal.cli.options.formats import add_blank, add_id_options, respelt
from aggcal.cli.options.report import add_titles, titles_from
from aggcal.cli.options.scores import SCORES, scores_from
from aggcal.cli.options.stage_2 import add_stage_2, knowledge_files, knowledge_from
from aggcal.errors import OptionError, count

if TYPE_CHECKING:
    from aggcal.data.scores import Scores
    from aggcal.data.spelling import Spelling


def add(command: Parser) -> None:
    """Add what it takes."""
    command.set_defaults(call=calibrate)
    command.describe("Writes items.csv and summary.json into DIR.")
    command.add_argument(
        "consensus",
        metavar="CONSENSUS",
        help="an items.csv written by aggcal, or any table item,score; higher is better. A column "
        "consensus_se or sd gives its standard errors",
    )
    command.add_argument("scores", metavar="SCORES", nargs="?", help=SCORES)
    add_output(command, "the results")
    add_spreadsheet_safe(command)
    add_level(command)
    add_seed(command)
    command.add_argument(
        "--consensus-column",
        metavar="NAME",
        help="column of CONSENSUS with the order (default: consensus, or else score)",
    )
    command.add_argument(
        "--features",
        metavar="FILE",
        help="table of item features (item and numeric columns) to predict the consensus from, "
        "instead of SCORES",
    )
    add_stage_2(command)
    add_decisions(command, fitted=False)
    add_blank(command)
    add_id_options(command)
    add_titles(command)
    add_json(command, "the summary and the files written")


def calibrate(options: argparse.Namespace) -> int:
    """Project the scores onto an order from a file."""
    with modules_stay():
        from aggcal._core.machine import check_seed
        from aggcal.assessment import Assessment
        from aggcal.calibration import calibrate as project
        from aggcal.calibration import check_calibration
        from aggcal.cli.results import finish, refuse_output
        from aggcal.io.respelling import read_spelling
        from aggcal.io.results import unmixed
        from aggcal.io.writing.writable import refuse_unwritable

    began = time.perf_counter()
    console = Console(quiet=options.quiet)
    check_calibration(
        options.calibrator,
        model_sd=options.model_sd,
        second_model=options.second_model,
        level=options.level,
    )
    check_seed(options.seed)
    _check_model(options)
    wishes = wishes_from(options)
    titles = titles_from(options)
    spelling = read_spelling(options.alias, normalize=options.normalize_ids)
    refuse_unwritable(options.output)
    inputs = (options.consensus, options.scores or options.features, *knowledge_files(options))
    refuse_output(options, inputs, fitted=False)
    with unmixed(options.consensus):
        consensus = _consensus(options)
    console.say_notes(options.consensus, consensus.notes)
    consensus = respelt(consensus, spelling, options.consensus, console)
    known = knowledge_from(options, console)
    if known["anchors"] is not None:
        known["anchors"] = respelt(known["anchors"], spelling, options.anchors, console)
    if known["second_model"] is not None:
        files = zip(known["second_model"], options.second_model, strict=True)
        known["second_model"] = [respelt(each, spelling, file, console) for each, file in files]
    calibration = project(
        _model(options, consensus, spelling, console),
        consensus,
        method=options.calibrator,
        **known,
        level=options.level,
        seed=options.seed,
        warn=False,
    )
    result = Assessment(None, calibration, seconds=time.perf_counter() - began, titles=titles)
    _say_of_table(options, consensus, console)
    return finish(with_decisions(result, options, wishes), options, console)


def _say_of_table(options: argparse.Namespace, consensus: Scores, console: Console) -> None:
    """Say what a table does not have: correlations, and what components would change."""
    from pathlib import Path

    import numpy as np

    from aggcal.errors import AggcalError
    from aggcal.io.scores import read_item_columns

    if consensus.sd is not None:
        console.say(
            "note: the table has standard errors but not their correlations. They are treated as "
            "independent, so intervals and 'fused' differ from those of 'aggcal run'."
        )
    if not Path(options.consensus).is_file():  # a pipe is read once
        return
    try:
        _, columns = read_item_columns(options.consensus, ("component",))
    except AggcalError:  # no such column, or one of the user's that has words
        return
    number = len(distinct(columns["component"][np.isfinite(columns["component"])]))
    if number > 1:
        console.say(
            f"note: the table has {number:,} components, which nothing compares, but it is treated "
            "as one order of all items. 'aggcal run' calibrates each component by itself."
        )


def _check_model(options: argparse.Namespace) -> None:
    """Refuse two models in one place, and none."""
    if (options.scores is None) == (options.features is None):
        what = "are missing" if options.scores is None else "and --features are both given"
        raise OptionError(
            f"the model's scores {what}; give either SCORES, or --features FILE where no model "
            "scores the items."
        )


def _model(
    options: argparse.Namespace, consensus: Scores, spelling: Spelling | None, console: Console
) -> Scores:
    """Read the model's scores, or predict them from the items' features."""
    if options.features is None:
        return respelt(scores_from(options, console), spelling, options.scores, console)
    from aggcal.calibration.from_features import model_from_features
    from aggcal.io import read_features

    features = read_features(options.features)
    console.say_notes(options.features, features.notes)
    features = respelt(features, spelling, options.features, console)
    model = model_from_features(features, consensus, seed=options.seed)
    console.say(
        f"The model is predicted from the features of {count(len(model), 'item')}, each by what "
        "the others show; its unit is that of the consensus."
    )
    return model


def _consensus(options: argparse.Namespace) -> Scores:
    import numpy as np

    from aggcal.data.scores import Scores
    from aggcal.io import read_scores
    from aggcal.io.scores import read_item_columns

    if options.consensus_column is not None:
        return read_scores(options.consensus, column=options.consensus_column)
    ids, columns = read_item_columns(options.consensus, ("consensus", "consensus_se", "score"))
    if "consensus" not in columns:
        return read_scores(options.consensus)
    # An items.csv has a blank here for items that nobody judged.
    judged = np.isfinite(columns["consensus"])
    sd = columns["consensus_se"][judged] if "consensus_se" in columns else None
    if sd is not None and not (np.isfinite(sd) & (sd > 0.0)).all():
        sd = None
    return Scores(ids[judged], columns["consensus"][judged], sd, str(options.consensus))
