"""``aggcal calibrate``: Stage 2 alone."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from aggcal.cli import reading
from aggcal.cli.console import Console
from aggcal.cli.run import wishes_from, with_decisions

if TYPE_CHECKING:
    from aggcal.data.scores import Scores


def calibrate(options: argparse.Namespace) -> int:
    """Project the scores onto an order from a file."""
    from aggcal.assessment import Assessment
    from aggcal.assessment.result import checked_titles
    from aggcal.calibration import calibrate as project
    from aggcal.calibration import check_calibration
    from aggcal.cli.results import finish, refuse_output
    from aggcal.io.respelling import read_spelling
    from aggcal.io.results import unmixed

    began = time.perf_counter()
    console = Console(quiet=options.quiet)
    check_calibration(
        options.calibrator,
        model_sd=options.model_sd,
        level=options.level,
    )
    wishes = wishes_from(options)
    titles = checked_titles(options.title, options.question)
    spelling = read_spelling(options.alias, normalize=options.normalize_ids)
    refuse_output(options, (options.consensus, *reading.input_files(options)), fitted=False)
    with unmixed(options.consensus):
        consensus = _consensus(options)
    console.say_notes(options.consensus, consensus.notes)
    consensus = reading.respelt(consensus, spelling, options.consensus, console)
    known = reading.calibration_from(options, console)
    if known["anchors"] is not None:
        known["anchors"] = reading.respelt(known["anchors"], spelling, options.anchors, console)
    scores = reading.scores_from(options, console)
    assert scores is not None  # noqa: S101  # they must be given
    calibration = project(
        reading.respelt(scores, spelling, options.scores, console),
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
    from aggcal.io.items import read_item_columns

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
    number = len(np.unique(columns["component"][np.isfinite(columns["component"])]))
    if number > 1:
        console.say(
            f"note: the table has {number:,} components, which nothing compares, but it is treated "
            "as one order of all items. 'aggcal run' calibrates each component by itself."
        )


def _consensus(options: argparse.Namespace) -> Scores:
    import numpy as np

    from aggcal.data.scores import Scores
    from aggcal.io import read_scores
    from aggcal.io.items import read_item_columns

    ids, columns = read_item_columns(options.consensus, ("consensus", "consensus_se", "score"))
    if "consensus" not in columns:
        return read_scores(options.consensus)
    # An items.csv has a blank here for items that nobody judged.
    judged = np.isfinite(columns["consensus"])
    sd = columns["consensus_se"][judged] if "consensus_se" in columns else None
    if sd is not None and not (np.isfinite(sd) & (sd > 0.0)).all():
        sd = None
    return Scores(ids[judged], columns["consensus"][judged], sd, str(options.consensus))
