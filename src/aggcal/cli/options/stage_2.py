"""Stage 2: the calibrator, and what is known about the model and the truth."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from aggcal.cli.arguments import Parser
from aggcal.cli.console import Console
from aggcal.cli.options.scores import add_score_columns
from aggcal.errors import OptionError, count
from aggcal.registry import AUTO_CALIBRATOR, CALIBRATORS, DEFAULT_CALIBRATOR
from aggcal.registry.limits import MOST_DIGITS

if TYPE_CHECKING:
    from aggcal.data.scores import Scores


_ENDLESS = float("inf")


def add_stage_2(command: Parser) -> None:
    """Add the options, and those of the scores."""
    group = command.add_argument_group("Stage 2 (calibrated scores)")
    group.add_argument(
        "--calibrator",
        choices=(*CALIBRATORS, AUTO_CALIBRATOR.name),
        default=DEFAULT_CALIBRATOR,
        help="; ".join(
            f"{known.name}: {known.help}" for known in (*CALIBRATORS.values(), AUTO_CALIBRATOR)
        ),
    )
    group.add_argument(
        "--model-sd",
        type=float,
        metavar="X",
        help="standard deviation of the model's errors, such as its validation error. For fused, "
        "too large is better than too small; for safe, at most 1.4 times too large; for atc, it "
        "adds an estimate of the error",
    )
    group.add_argument(
        "--anchors",
        metavar="FILE",
        help="table item,truth of at least 5 items drawn at random. They correct the level, tell "
        "fused the scale and how far to trust the model, and measure the gain. With 9 anchors "
        "(level 0.9) or 19 (0.95), intervals cover the truth",
    )
    group.add_argument(
        "--second-model",
        action="append",
        metavar="FILE",
        help="table item,score of a second model with independent errors; for fused (repeatable)",
    )
    _add_scale(group)
    add_score_columns(group)
    group.add_argument(
        "--unweighted",
        action="store_true",
        help="weight all items equally, even if the scores have an sd",
    )


def add_anchored(command: Parser) -> None:
    """Add the options of scores that anchors alone give."""
    group = command.add_argument_group("scores without a model")
    group.add_argument(
        "--anchors",
        metavar="FILE",
        help="table item,truth of at least 5 judged items drawn at random. All items get a score "
        "on their scale and, with 14 anchors (level 0.9) or 24 (0.95), an interval for the truth",
    )
    _add_scale(group)


def _add_scale(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--bounds",
        type=_bounds,
        metavar="LOW,HIGH",
        help="lowest and highest possible score, such as 0,100: scores and intervals stay within. "
        "Write a negative bound as --bounds=-1,1",
    )
    group.add_argument(
        "--digits",
        type=_digits,
        metavar="N",
        help="decimals of the calibrated scores; interval ends are rounded outwards",
    )


def _bounds(text: str) -> tuple[float, float]:
    """Read two numbers, the lower one first.

    Examples
    --------
    >>> _bounds("0,100")
    (0.0, 100.0)
    """
    ends = text.split(",")
    try:
        low, high = float(ends[0]), float(ends[-1])
    except ValueError:
        low = high = 0.0
    if len(ends) != 2 or not -_ENDLESS < low < high < _ENDLESS:  # noqa: PLR2004
        raise argparse.ArgumentTypeError(
            f"'{text}' is not two numbers, the lower one first, with a comma between them; write, "
            "for example, 0,100."
        )
    return low, high


def _digits(text: str) -> int:
    """Read how many decimals.

    Examples
    --------
    >>> _digits("1")
    1
    """
    if not (text.isascii() and text.isdigit() and int(text) <= MOST_DIGITS):
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a whole number from 0 to {MOST_DIGITS}; write, for example, 1."
        )
    return int(text)


def anchored_from(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Read what gives a scale without a model."""
    if options.anchors is None and not (options.bounds is options.digits is None):
        raise OptionError(
            "--bounds and --digits are for calibrated scores; give --anchors, or use 'aggcal run' "
            "with the model's scores."
        )
    return {
        "anchors": _anchors_from(options, console),
        "bounds": options.bounds,
        "digits": options.digits,
    }


def _anchors_from(options: argparse.Namespace, console: Console) -> Scores | None:
    from aggcal.io.scores import read_truth

    if options.anchors is None:
        return None
    anchors, blank = read_truth(options.anchors, flag=None)
    console.say_notes(options.anchors, anchors.notes)
    if blank:
        console.say(f"{options.anchors}: {count(blank, 'row')} without a truth left out")
    return anchors


def knowledge_files(options: argparse.Namespace) -> list[str]:
    """Return the files of anchors and of further models, if there are any.

    Examples
    --------
    >>> knowledge_files(argparse.Namespace(anchors="anchors.csv", second_model=None))
    ['anchors.csv']
    """
    known = (options.anchors, *(getattr(options, "second_model", None) or ()))
    return [name for name in known if name is not None]


def knowledge_from(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Read what is known about the model and the truth, beside the scores."""
    from aggcal.io import read_scores

    others = []
    for file in options.second_model or ():
        others.append(read_scores(file, blank=options.blank, flag=None))
        console.say_notes(file, others[-1].notes)
    return {
        "weights": None if options.unweighted else "sd",
        "model_sd": options.model_sd,
        "anchors": _anchors_from(options, console),
        "second_model": others or None,
        "bounds": options.bounds,
        "digits": options.digits,
    }
