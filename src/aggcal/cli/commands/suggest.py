"""``aggcal suggest``: the pairs worth asking next."""

from __future__ import annotations

import argparse
import sys

from aggcal.cli.arguments import Parser
from aggcal.cli.console import Console
from aggcal.cli.options.common import add_force, add_json, add_seed, add_spreadsheet_safe
from aggcal.cli.options.formats import choices_from
from aggcal.cli.options.judgments import (
    add_judgment_options,
    add_judgments,
    judgments_from,
)
from aggcal.cli.options.scores import SCORES, add_score_columns, scores_from
from aggcal.cli.provenance import judgment_files
from aggcal.errors import OptionError
from aggcal.registry import DEFAULT_METHOD, PREDICTABLE


def add(command: Parser) -> None:
    """Add what it takes."""
    command.set_defaults(call=suggest)
    command.describe(
        "Prints a table: (annotator,) left, right, information, probability (that the left is put "
        "above; blank where nothing relates the two yet), reason. Pieces of the comparisons are "
        "joined and new items asked first."
    )
    add_judgments(command)
    command.add_argument(
        "scores",
        metavar="SCORES",
        nargs="?",
        help=f"{SCORES}; items that nobody judged yet are asked, too",
    )
    command.add_argument(
        "-n",
        "--pairs",
        type=int,
        metavar="N",
        help="how many pairs (default: 20, or as many as --per-annotator allows)",
    )
    command.add_argument("-o", "--output", metavar="FILE", help="write the table there")
    add_force(command, "FILE if it is there already")
    add_spreadsheet_safe(command)
    command.add_argument(
        "--about",
        choices=("order", "scores"),
        default="order",
        help="order: which pairs would put most items in the right order; scores: which would "
        "improve the calibrated scores most",
    )
    _add_limits(command)
    add_seed(command)
    _add_annotators(command)
    group = command.add_argument_group("the consensus so far")
    group.add_argument(
        "--method",
        choices=PREDICTABLE,
        default=DEFAULT_METHOD,
        help="aggregator; see 'aggcal methods'",
    )
    add_score_columns(group)
    add_judgment_options(command)
    add_json(command, "the pairs")


def _add_limits(command: Parser) -> None:
    command.add_argument(
        "--items", metavar="FILE", help="table with the column item: further items to consider"
    )
    command.add_argument(
        "--per-item", type=int, metavar="K", help="an item is in at most K of the pairs"
    )
    command.add_argument(
        "--repeat", action="store_true", help="let a pair be asked of more than one annotator"
    )
    command.add_argument(
        "--explore",
        type=float,
        default=0.0,
        metavar="P",
        help="share of the pairs for items that were judged least, or for learning how reliable "
        "the named annotators are",
    )


def _add_annotators(command: Parser) -> None:
    group = command.add_argument_group("whom to ask")
    group.add_argument(
        "--annotator",
        action="append",
        metavar="ID",
        help="someone who can be asked; never a pair they judged or skipped already (may be "
        "repeated)",
    )
    group.add_argument(
        "--new-annotator",
        action="append",
        default=[],
        metavar="ID",
        help="someone who can be asked and has not judged yet (may be repeated)",
    )
    group.add_argument(
        "--per-annotator",
        type=int,
        metavar="K",
        help="ask each at most K pairs; if none is named, everybody who judged before",
    )


def suggest(options: argparse.Namespace) -> int:
    """Print the pairs, or write them."""
    from aggcal.advice.suggest import suggest_pairs
    from aggcal.advice.suggest.batch import check_suggestion
    from aggcal.io.writing.write import csv_writer, json_writer, write_file

    console = Console(quiet=options.quiet)
    names = ("about", "per_annotator", "per_item", "explore", "method", "seed")
    wanted = {name: getattr(options, name) for name in names} | {"n": options.pairs}
    check_suggestion(scored=options.scores is not None, **wanted)
    choices_from(options)
    if options.json and options.spreadsheet_safe:
        raise OptionError("--spreadsheet-safe is for tables, and --json is none; leave one out.")
    _refuse_output(options)
    found = suggest_pairs(
        judgments_from(options, console),
        None if options.scores is None else scores_from(options, console),
        items=options.items,
        annotators=options.annotator,
        new_annotators=options.new_annotator,
        repeat=options.repeat,
        **wanted,
    )
    console.warn(found.warnings)
    console.say(str(found))
    console.say(f"information: {found.unit}")
    write = (
        json_writer(found.to_dict())
        if options.json
        else csv_writer(found.pair_columns(), spreadsheet_safe=options.spreadsheet_safe)
    )
    if options.output is None:
        write(sys.stdout)
    else:
        console.say(f"wrote {write_file(options.output, write, force=options.force)}")
    return 0


def _refuse_output(options: argparse.Namespace) -> None:
    """Refuse an output that cannot be written or should not be, before anything is read."""
    from pathlib import Path

    from aggcal.io.writing.writable import refuse_unwritable
    from aggcal.io.writing.write import refuse_existing, refuse_overwriting

    if options.output is None:
        return
    target = Path(options.output)
    refuse_unwritable(target.parent)
    inputs = [*judgment_files(options), options.scores, options.items]
    refuse_existing(target, force=options.force)
    refuse_overwriting(target.parent, [target.name], [f for f in inputs if f is not None])
