"""``aggcal suggest``: the pairs worth asking next, or the true scores worth finding out."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from aggcal.cli import reading
from aggcal.cli.commands import COMMANDS
from aggcal.cli.console import Console, print_json, refuse_two_documents
from aggcal.errors import OptionError, did_you_mean, some
from aggcal.registry import ARGILLA, LABEL_STUDIO

if TYPE_CHECKING:
    from aggcal.advice.suggest import Suggestions
    from aggcal.advice.suggest.anchors import AnchorSuggestions
    from aggcal.data.base import AnyJudgments
    from aggcal.io.items import Texts
    from aggcal.io.saving import Writer

_ONLY_FOR_PAIRS = (
    *("pairs", "per_annotator", "per_item", "annotator", "items", "explore", "to", "texts"),
)
_SHEET = "csv"
_FIRST = "annotator 1"
"""Who answers the first sheet of a study, until somebody writes another name into it."""


def suggest(options: argparse.Namespace) -> int:
    """Print the pairs, or write them."""
    if options.true_scores is not None:
        return _suggest_anchors(options)
    from aggcal.advice.suggest import suggest_pairs
    from aggcal.advice.suggest.pairs import check_suggestion

    console = Console(quiet=options.quiet)
    names = ("about", "per_annotator", "per_item", "explore", "method", "seed")
    wanted = {name: getattr(options, name) for name in names} | {"n": options.pairs}
    check_suggestion(scored=options.scores is not None, **wanted)
    reading.choices_from(options)
    _check_form(options)
    _refuse_output(options)
    texts = reading.texts_from(options, console)
    judgments = (
        reading.judgments_from(options, console) if reading.judgment_files(options) else None
    )
    judged = {} if judgments is None else dict.fromkeys(map(str, judgments.annotator_ids))
    new = [who for who in options.annotator if who not in judged]
    if judged and new:
        near = "".join(did_you_mean(who, judged) for who in new[:1])
        console.say(f"without judgments so far: {some(new)}{near}")
    found = suggest_pairs(
        judgments,
        reading.scores_from(options, console),
        items=options.items,
        annotators=[who for who in options.annotator if who in judged] or None,
        new_annotators=new,
        **wanted,
    )
    console.say()
    console.warn(*found.warnings)
    console.say(str(found))
    if judgments is not None:
        console.say(f"information: {found.unit}")
    only_json = options.json and options.output is None
    write = None if only_json else _writer(found, options, console, judgments, texts)
    return _finish(found, write, options, console)


def _finish(
    found: Suggestions | AnchorSuggestions,
    write: Writer | bytes | None,
    options: argparse.Namespace,
    console: Console,
) -> int:
    """Write what is suggested into a file or to standard output, or print it as JSON."""
    from aggcal.io.saving import write_file

    written = []
    if write is not None and options.output is not None:
        written = [write_file(options.output, write, force=options.force)]
        console.say(f"wrote {written[0]}")
    elif write is not None and not isinstance(write, bytes) and not options.json:
        write(sys.stdout)
    if options.json:
        print_json(found.to_dict(), written)
    return 0


def _suggest_anchors(options: argparse.Namespace) -> int:
    """Print the items whose true score is worth finding out, or write them."""
    from aggcal.advice.suggest.anchors import suggest_anchors
    from aggcal.io.table_files import table_file

    console = Console(quiet=options.quiet)
    _refuse_for_anchors(options)
    reading.choices_from(options)
    _check_form(options)
    _refuse_output(options)
    if not reading.judgment_files(options):
        raise OptionError("--true-scores needs judgments; give their file.")
    judgments = reading.judgments_from(options, console)
    scores = reading.scores_from(options, console)
    found = suggest_anchors(
        judgments, scores, n=options.true_scores, method=options.method, seed=options.seed
    )
    console.say()
    console.warn(*found.consensus.warnings)
    console.say(
        str(found),
        "Fill in the column truth, and keep the column chosen_by: items that were chosen improve "
        "the scores, but cannot give intervals of the truth.",
    )
    columns, safe = found.item_columns(), options.spreadsheet_safe
    write = table_file(options.output or "", columns, spreadsheet_safe=safe)
    return _finish(found, write, options, console)


def _refuse_for_anchors(options: argparse.Namespace) -> None:
    """Refuse what is only about pairs."""
    rows = {option.dest: option for option in COMMANDS["suggest"].options}
    for name in _ONLY_FOR_PAIRS:
        if getattr(options, name) not in (rows[name].default, False, []):
            raise OptionError(
                f"--{rows[name].key} is about pairs, not about --true-scores; omit it."
            )


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
) -> Writer | bytes:
    """Return what writes the pairs, and say what to do with them."""
    from aggcal.io import tasks
    from aggcal.io.cells import json_writer
    from aggcal.io.table_files import table_file

    said, pairs = None if texts is None else texts.by_item, found.pair_columns()
    if options.to == LABEL_STUDIO:
        console.say(
            "Import the tasks into a project with this labelling interface, and read its export "
            f"with 'aggcal run': {tasks.LABEL_STUDIO_CONFIG}"
        )
        return json_writer(tasks.label_studio_tasks(pairs, said))
    if options.to == ARGILLA:
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
    return table_file(options.output or "", table, spreadsheet_safe=options.spreadsheet_safe)


def _answerer(judgments: AnyJudgments | None) -> str:
    """Return who is to answer where nobody was named: the one who did so far, if there is one."""
    if judgments is None:
        return _FIRST
    return str(judgments.annotator_ids[0]) if len(judgments.annotator_ids) == 1 else ""


def _refuse_output(options: argparse.Namespace) -> None:
    """Refuse an output that cannot be written or should not be, before anything is read."""
    from pathlib import Path

    from aggcal.io.saving import refuse_existing, refuse_overwriting
    from aggcal.io.table_files import TABLES, TEXT, refuse_ending

    if options.output is not None:
        target = Path(options.output)
        refuse_ending(target, (*TEXT, *TABLES) if options.to == _SHEET else (".json",))
        refuse_existing(target, force=options.force)
        refuse_overwriting(target.parent, [target.name], reading.input_files(options))
