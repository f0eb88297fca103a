"""The judgments: which file, which of its rows, and reading them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from aggcal.cli.arguments import Parser
from aggcal.cli.console import Console
from aggcal.cli.options.formats import (
    JUDGMENTS,
    add_format_options,
    add_memory,
    add_parting_options,
    columns_from,
    outcomes_from,
)
from aggcal.cli.provenance import judgment_files
from aggcal.registry import TABLE

if TYPE_CHECKING:
    from aggcal.data.base import AnyJudgments
    from aggcal.engines import Engine


def add_judgments(command: Parser, *, nobody_yet: bool = False) -> None:
    """Add the file, and those beside it; it may be left out where nobody need have judged yet."""
    if nobody_yet:
        none = f"{JUDGMENTS}; omit it if there are none yet"
        command.add_argument("judgments", metavar="JUDGMENTS", nargs="?", help=none)
    else:
        command.add_argument("judgments", metavar="JUDGMENTS", help=JUDGMENTS)
    command.add_argument(
        "--judgments",
        dest="more_judgments",
        metavar="FILE",
        nargs="+",
        action="extend",
        default=[],
        help="further files or folders of judgments, in any supported format, to be read together "
        "with JUDGMENTS (repeatable)",
    )


def add_judgment_options(command: Parser) -> None:
    """Add how the file is to be understood, and which of its rows to use."""
    group = add_format_options(command)
    add_parting_options(group)
    add_memory(group)
    group.add_argument(
        "--verbose", action="store_true", help="list every row that was read but not used"
    )


def add_without(command: Parser) -> None:
    """Add ``--without``."""
    command.add_argument(
        "--without",
        metavar="ANNOTATOR",
        nargs="+",
        action="extend",
        default=[],
        help="annotators to leave out, with all their judgments (repeatable)",
    )


def judgments_from(
    options: argparse.Namespace, console: Console, engine: Engine | None = None
) -> AnyJudgments:
    """Read the file, leave out whom to leave out, and say as what it was read."""
    judgments = _read(options, console, engine)
    left_out = getattr(options, "without", [])
    if left_out:
        judgments = judgments.without(*left_out)
        console.say(judgments.notes[-1])
    return judgments


def _read(options: argparse.Namespace, console: Console, engine: Engine | None) -> AnyJudgments:
    from aggcal.io import read_judgments
    from aggcal.io.formats._base import stated_order

    files = judgment_files(options)
    several = len(files) > 1
    how = {
        "format": options.format,
        "columns": columns_from(options),
        "outcomes": outcomes_from(options),
        "criterion": options.criterion,
        "criteria": options.criteria,
        "context": options.context,
        "by": options.by or (),
        "strength_scale": options.strength_scale,
        "annotator": options.judged_by,
        "ranking_weight": options.ranking_weight,
        "tie_within": options.tie_within,
        "order": stated_order(options.order or ()),
        "left_key": options.left_key,
        "right_key": options.right_key,
        "drafts": options.drafts,
        "blank": options.blank,
        "normalize_ids": options.normalize_ids,
        "aliases": options.alias,
        "memory": options.memory,
        "on_progress": console.on_reading,
    }
    judgments: AnyJudgments
    if engine is None or several:
        # An engine reads the parts of one table; files of their own are put together here.
        judgments = read_judgments(files if several else files[0], **how)
    else:
        judgments = engine.read(files[0], **how)
    console.done()
    if not several and (judgments.format != TABLE.name or judgments.notes):
        console.say(f"{files[0]}: read as {judgments.format}")
    for note in judgments.notes:
        console.say(note if several else f"  {note}")
    if options.verbose and len(judgments.unfitted.count):
        console.say(*str(judgments.unfitted).split("\n"))
    if engine is not None and several:
        return engine.distribute(judgments.on_one_machine("reading several files"))
    return judgments
