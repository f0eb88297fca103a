"""``aggcal suggest``: the pairs worth asking next, or the true scores worth finding out."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from aggcal._core.garbage import modules_stay
from aggcal.cli.arguments import Parser
from aggcal.cli.console import Console
from aggcal.cli.options.common import (
    add_force,
    add_json,
    add_seed,
    add_spreadsheet_safe,
    print_json,
    refuse_two_documents,
)
from aggcal.cli.options.formats import choices_from
from aggcal.cli.options.judgments import add_judgment_options, add_judgments, judgments_from
from aggcal.cli.options.report import add_texts, text_files, texts_from
from aggcal.cli.options.scores import SCORES, add_score_columns, scores_from
from aggcal.cli.provenance import judgment_files
from aggcal.errors import OptionError
from aggcal.registry import ARGILLA, DEFAULT_METHOD, LABEL_STUDIO, PREDICTABLE

if TYPE_CHECKING:
    from aggcal.advice.suggest import Suggestions
    from aggcal.data.base import AnyJudgments
    from aggcal.io.texts import Texts
    from aggcal.io.writing.write import Writer

_SHEET = "csv"
_FIRST = "annotator 1"
"""Who answers the first sheet of a study, until somebody writes another name into it."""


def add(command: Parser) -> None:
    """Add what it takes."""
    command.set_defaults(call=suggest)
    command.describe(
        "Prints a sheet with the columns annotator, left, right, outcome (to be filled in with "
        "left, right, tie or skip), information, probability (that left wins; blank where nothing "
        "relates the two items yet) and why. Once filled in, it is a table of judgments. Pairs "
        "that connect components of the comparison graph, and new items, come first. Without "
        "judgments, --items alone gives a first design: balanced, and connected with as few pairs "
        "as possible."
    )
    add_judgments(command, nobody_yet=True)
    command.add_argument(
        "scores",
        metavar="SCORES",
        nargs="?",
        help=f"{SCORES}; items without judgments are included",
    )
    command.add_argument(
        "-n",
        "--pairs",
        type=int,
        metavar="N",
        help="number of pairs (default: 20, or as many as --per-annotator allows; without "
        "judgments, at least as many as there are items)",
    )
    _add_sheet(command)
    command.add_argument(
        "--about",
        choices=("order", "scores"),
        default="order",
        help="order: the pairs that would put most items in the right order; scores: those that "
        "would improve the calibrated scores most",
    )
    _add_limits(command)
    add_seed(command)
    _add_annotators(command)
    group = command.add_argument_group("consensus so far")
    group.add_argument(
        "--method",
        choices=PREDICTABLE,
        default=DEFAULT_METHOD,
        help="aggregation method; see 'aggcal methods'",
    )
    add_score_columns(group)
    add_judgment_options(command)
    add_json(command, "the pairs")


def _add_sheet(command: Parser) -> None:
    command.add_argument(
        "--anchors",
        type=int,
        metavar="N",
        help="suggest N items whose true score would help most, not pairs: a sheet for "
        "'aggcal run --anchors', but no random sample (no intervals of the truth)",
    )
    command.add_argument(
        "-o", "--output", metavar="FILE", help="file to write, instead of standard output"
    )
    command.add_argument(
        "--to",
        choices=(_SHEET, LABEL_STUDIO.name, ARGILLA.name),
        default=_SHEET,
        help="csv: the sheet; otherwise tasks for that tool, whose exports aggcal reads",
    )
    add_texts(command)
    add_force(command, "FILE if it already exists")
    add_spreadsheet_safe(command)


def _add_limits(command: Parser) -> None:
    command.add_argument(
        "--items",
        metavar="FILE",
        help="table with the column item: further items to consider, or all items",
    )
    command.add_argument(
        "--per-item", type=int, metavar="K", help="use each item in at most K pairs"
    )
    command.add_argument(
        "--repeat", action="store_true", help="allow a pair to be given to several annotators"
    )
    command.add_argument(
        "--explore",
        type=float,
        default=0.0,
        metavar="P",
        help="share of the pairs for the least judged items, or for learning how reliable the "
        "named annotators are",
    )


def _add_annotators(command: Parser) -> None:
    group = command.add_argument_group("annotators")
    group.add_argument(
        "--annotator",
        action="append",
        metavar="ID",
        help="annotator who is available; never given a pair they already judged or skipped "
        "(repeatable)",
    )
    group.add_argument(
        "--new-annotator",
        action="append",
        default=[],
        metavar="ID",
        help="available annotator who has not judged yet (repeatable)",
    )
    group.add_argument(
        "--per-annotator",
        type=int,
        metavar="K",
        help="at most K pairs for each annotator; if none is named, for all who judged before",
    )


def suggest(options: argparse.Namespace) -> int:
    """Print the pairs, or write them."""
    if options.anchors is not None:
        return _suggest_anchors(options)
    with modules_stay():
        from aggcal.advice.suggest import suggest_pairs
        from aggcal.advice.suggest.checking import check_suggestion
        from aggcal.io.writing.write import write_file

    console = Console(quiet=options.quiet)
    names = ("about", "per_annotator", "per_item", "explore", "method", "seed")
    wanted = {name: getattr(options, name) for name in names} | {"n": options.pairs}
    check_suggestion(scored=options.scores is not None, **wanted)
    choices_from(options)
    _check_form(options)
    _refuse_output(options)
    texts = texts_from(options, console)
    judgments = judgments_from(options, console) if judgment_files(options) else None
    found = suggest_pairs(
        judgments,
        None if options.scores is None else scores_from(options, console),
        items=options.items,
        annotators=options.annotator,
        new_annotators=options.new_annotator,
        repeat=options.repeat,
        **wanted,
    )
    console.warn(*found.warnings)
    console.say(str(found))
    if judgments is not None:
        console.say(f"information: {found.unit}")
    written = []
    if options.output is not None or not options.json:
        write = _writer(found, options, console, judgments, texts)
        if options.output is None:
            write(sys.stdout)
        else:
            written = [write_file(options.output, write, force=options.force)]
            console.say(f"wrote {written[0]}")
    if options.json:
        print_json(found.to_dict(), written)
    return 0


def _suggest_anchors(options: argparse.Namespace) -> int:
    """Print the items whose true score is worth finding out, or write them."""
    from aggcal.advice.suggest.anchors import check_anchor_suggestion, suggest_anchors
    from aggcal.io.writing.write import csv_writer, write_file

    console = Console(quiet=options.quiet)
    check_anchor_suggestion(options.anchors, options.method, options.seed)
    _refuse_for_anchors(options)
    choices_from(options)
    _check_form(options)
    _refuse_output(options)
    if not judgment_files(options):
        raise OptionError("--anchors needs judgments; give their file.")
    judgments = judgments_from(options, console)
    scores = None if options.scores is None else scores_from(options, console)
    found = suggest_anchors(
        judgments, scores, n=options.anchors, method=options.method, seed=options.seed
    )
    console.warn(*found.consensus.warnings)
    console.say(
        str(found),
        "Fill in the column truth, and keep the column chosen_by: items that were chosen improve "
        "the scores, but cannot give intervals of the truth.",
    )
    written = []
    write = csv_writer(found.item_columns(), spreadsheet_safe=options.spreadsheet_safe)
    if options.output is not None:
        written = [write_file(options.output, write, force=options.force)]
        console.say(f"wrote {written[0]}")
    elif not options.json:
        write(sys.stdout)
    if options.json:
        print_json(found.to_dict(), written)
    return 0


def _refuse_for_anchors(options: argparse.Namespace) -> None:
    """Refuse what is only about pairs."""
    given = {
        "--pairs": options.pairs is not None,
        "--per-annotator": options.per_annotator is not None,
        "--per-item": options.per_item is not None,
        "--annotator": bool(options.annotator),
        "--new-annotator": bool(options.new_annotator),
        "--items": options.items is not None,
        "--repeat": options.repeat,
        "--explore": options.explore != 0.0,
        "--to": options.to != _SHEET,
        "--texts": bool(text_files(options)),
    }
    about_pairs = [name for name, there in given.items() if there]
    if about_pairs:
        raise OptionError(f"{about_pairs[0]} is about pairs, not about --anchors; omit it.")


def _check_form(options: argparse.Namespace) -> None:
    """Refuse what is asked of a form that does not have it."""
    refuse_two_documents(options)
    only_json = options.json and options.output is None
    if options.spreadsheet_safe and (only_json or options.to != _SHEET):
        form = f"--to {options.to}" if options.to != _SHEET else "--json without -o"
        raise OptionError(f"--spreadsheet-safe is for CSV, which {form} does not write; omit it.")
    if only_json and options.to != _SHEET:
        raise OptionError(
            f"--json and --to {options.to} would both print to standard output; write the tasks to "
            "a file with -o FILE, or omit one of them."
        )


def _writer(
    found: Suggestions,
    options: argparse.Namespace,
    console: Console,
    judgments: AnyJudgments | None,
    texts: Texts | None,
) -> Writer:
    """Return what writes the pairs, and say what to do with them."""
    from aggcal.io import tasks
    from aggcal.io.writing.write import csv_writer, json_writer

    said, pairs = None if texts is None else texts.by_item, found.pair_columns()
    if options.to == LABEL_STUDIO.name:
        console.say(
            "Import the tasks into a project with this labelling interface, and read its export "
            f"with 'aggcal run': {tasks.LABEL_STUDIO_CONFIG}"
        )
        return json_writer(tasks.label_studio_tasks(pairs, said))
    if options.to == ARGILLA.name:
        console.say(
            f"Log the records into a dataset with {tasks.ARGILLA_SETTINGS}, and read its export "
            "(records.to_json, or to_list(flatten=True)) with 'aggcal run'"
        )
        return json_writer(tasks.argilla_records(pairs, said))
    if judgments is None:
        pairs = {k: v for k, v in pairs.items() if k not in ("information", "probability")}
    who = _answerer(judgments)
    if "annotator" not in pairs:
        console.say(
            "Fill in the column outcome with left, right, tie or skip"
            + (f" (annotator '{who}': change it where others answer)." if who else "")
            + ("" if who else ", and the column annotator with who answered.")
        )
    table = tasks.sheet(pairs, annotator=who, texts=said)
    return csv_writer(table, spreadsheet_safe=options.spreadsheet_safe)


def _answerer(judgments: AnyJudgments | None) -> str:
    """Return who is to answer where nobody was named: the one who did so far, if there is one."""
    if judgments is None:
        return _FIRST
    return str(judgments.annotator_ids[0]) if len(judgments.annotator_ids) == 1 else ""


def _refuse_output(options: argparse.Namespace) -> None:
    """Refuse an output that cannot be written or should not be, before anything is read."""
    from pathlib import Path

    from aggcal.io.writing.writable import refuse_unwritable
    from aggcal.io.writing.write import refuse_existing, refuse_overwriting

    if options.output is None:
        return
    target = Path(options.output)
    refuse_unwritable(target.parent)
    inputs = [*judgment_files(options), options.scores, options.items, *text_files(options)]
    refuse_existing(target, force=options.force)
    refuse_overwriting(target.parent, [target.name], [f for f in inputs if f is not None])
