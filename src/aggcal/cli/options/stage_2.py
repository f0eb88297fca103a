"""Stage 2: the calibrator, and what is known about the model and the truth."""

from __future__ import annotations

import argparse
from typing import Any

from aggcal.cli.arguments import Parser
from aggcal.cli.console import Console
from aggcal.cli.options.scores import add_score_columns
from aggcal.errors import count
from aggcal.registry import CALIBRATORS, DEFAULT_CALIBRATOR


def add_stage_2(command: Parser) -> None:
    """Add the options, and those of the scores."""
    group = command.add_argument_group("Stage 2: the calibrated scores")
    group.add_argument(
        "--calibrator",
        choices=CALIBRATORS,
        default=DEFAULT_CALIBRATOR,
        help="; ".join(f"{known.name}: {known.help}" for known in CALIBRATORS.values()),
    )
    group.add_argument(
        "--model-sd",
        type=float,
        metavar="X",
        help="standard deviation of the model's errors, such as its validation error: for fused "
        "rather too large than too small, for safe at most 1.4 times too large; with atc it adds "
        "an estimate of the error",
    )
    group.add_argument(
        "--anchors",
        metavar="FILE",
        help="table item,truth of 5 or more items drawn at random: the gain is measured, fused "
        "learns how far to trust the model, and with 9 anchors (level 0.9) or 19 (0.95) intervals "
        "cover the truth",
    )
    group.add_argument(
        "--second-model",
        metavar="FILE",
        help="table item,score of another model with independent errors; for fused",
    )
    add_score_columns(group)
    group.add_argument(
        "--unweighted",
        action="store_true",
        help="weigh all items alike even if the scores carry an sd",
    )


def knowledge_files(options: argparse.Namespace) -> list[str]:
    """Return the files of anchors and of a second model, if there are any.

    Examples
    --------
    >>> knowledge_files(argparse.Namespace(anchors="anchors.csv", second_model=None))
    ['anchors.csv']
    """
    return [name for name in (options.anchors, options.second_model) if name is not None]


def knowledge_from(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Read what is known about the model and the truth, beside the scores."""
    from aggcal.io import read_scores
    from aggcal.io.scores import read_truth

    anchors = second = None
    if options.anchors is not None:
        anchors, blank = read_truth(options.anchors, flag=None)
        console.say_notes(options.anchors, anchors.notes)
        if blank:
            console.say(f"{options.anchors}: {count(blank, 'row')} without a truth left out")
    if options.second_model is not None:
        second = read_scores(options.second_model, blank=options.blank, flag=None)
        console.say_notes(options.second_model, second.notes)
    return {
        "weights": None if options.unweighted else "sd",
        "model_sd": options.model_sd,
        "anchors": anchors,
        "second_model": second,
    }
