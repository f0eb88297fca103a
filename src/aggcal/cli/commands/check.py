"""``aggcal check``: what is wrong with the data."""

from __future__ import annotations

import argparse

from aggcal._core.garbage import modules_stay
from aggcal.cli.arguments import Parser
from aggcal.cli.console import Console
from aggcal.cli.options.common import add_json, add_seed, print_json
from aggcal.cli.options.formats import choices_from
from aggcal.cli.options.judgments import (
    add_judgment_options,
    add_judgments,
    add_without,
    judgments_from,
)
from aggcal.cli.options.scores import SCORES, add_score_columns, scores_from
from aggcal.registry import DEFAULT_METHOD, WITHOUT_FEATURES


def add(command: Parser) -> None:
    """Add what it takes."""
    command.set_defaults(call=check)
    command.describe("Prints counts, problems and notes, each with what to do, and the precision.")
    add_judgments(command)
    command.add_argument("scores", metavar="SCORES", nargs="?", help=SCORES)
    add_without(command)
    add_score_columns(command)
    add_judgment_options(command)
    command.add_argument(
        "--method",
        choices=WITHOUT_FEATURES,
        default=DEFAULT_METHOD,
        help="method that predicts the answers to compare with; see 'aggcal methods'",
    )
    command.add_argument(
        "--precision",
        type=float,
        metavar="X",
        help="target standard error of a score on the consensus scale, to estimate how many more "
        "judgments are needed (default: for a random pair to be ordered correctly with probability "
        "90%%)",
    )
    command.add_argument(
        "--quick",
        action="store_true",
        help="skip the slow parts: copied answers, opposing groups, cycles and precision",
    )
    add_seed(command)
    command.add_argument(
        "--strict", action="store_true", help="exit with code 1 if there is a problem"
    )
    add_json(command, "counts, findings and precision")


def check(options: argparse.Namespace) -> int:
    """Print what was found."""
    with modules_stay():
        from aggcal.advice.check import check as look_over
        from aggcal.advice.check.survey import check_aims

    console = Console(quiet=options.quiet)
    check_aims(options.method, options.precision, options.seed)
    choices_from(options)
    scores = None if options.scores is None else scores_from(options, console)
    found = look_over(
        judgments_from(options, console),
        scores,
        method=options.method,
        wanted_error=options.precision,
        quick=options.quick or None,
        seed=options.seed,
        on_step=console.on_step,
        on_iteration=console.on_iteration,
    )
    console.done()
    if options.json:
        print_json(found.to_dict())
    else:
        print(found)
    return 1 if options.strict and found.problems else 0
