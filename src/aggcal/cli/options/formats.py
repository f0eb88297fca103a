"""How a file of judgments is to be understood."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, TypeVar

from aggcal.cli.arguments import Parser
from aggcal.errors import OptionError
from aggcal.registry import FORMATS

if TYPE_CHECKING:
    from aggcal.cli.console import Console
    from aggcal.data.features import Features
    from aggcal.data.scores import Scores
    from aggcal.data.spelling import Spelling
    from aggcal.io.formats._base import Choices

_Table = TypeVar("_Table", "Scores", "Features")

JUDGMENTS = (
    "judgments: a table with the columns annotator,winner,loser or annotator,left,right,outcome, "
    "or another tool's export (see 'aggcal formats'), as CSV, TSV, JSON Lines, Parquet or a "
    "spreadsheet (book.xlsx#Answers names a sheet)"
)
"""What a file of judgments is, for ``--help``."""


def add_format_options(command: Parser) -> argparse._ArgumentGroup:
    """Add the options to a group, and return it for more."""
    group = command.add_argument_group("reading judgments")
    group.add_argument(
        "--format",
        metavar="NAME",
        choices=FORMATS.choices,
        help="format of the judgments, if it is not recognised automatically; see 'aggcal formats'",
    )
    group.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="OURS=THEIRS",
        help="name of a column in your file, such as annotator=coder (repeatable)",
    )
    _add_outcome_options(group)
    group.add_argument(
        "--judged-by", metavar="NAME", help="annotator of all judgments, if the table names none"
    )
    group.add_argument(
        "--ranking-weight",
        choices=("information", "item", "pair"),
        default="information",
        help="weight of the pairs of a ranking: together as much as the ranking carries "
        "(information), so that each item counts once (item), or each as a judgment of its own "
        "(pair)",
    )
    group.add_argument(
        "--tie-within",
        type=float,
        default=0.0,
        metavar="X",
        help="ratings that differ by at most X count as a tie",
    )
    group.add_argument(
        "--order",
        metavar="LABELS",
        help="labels of ratings from best to worst, such as 'A+,A,A-,B'; for numeric ratings, "
        "which end is best: lowest or highest",
    )
    _add_labelling_options(group)
    add_blank(group)
    add_id_options(group)
    return group


def _add_outcome_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--outcome",
        action="append",
        default=[],
        metavar="LABEL=MEANING",
        help="meaning of an outcome label: left, right, tie, skip, failed, left+ or right+ (much "
        "better), left++ or right++, or a number from 0 (right) to 1 (left) (repeatable)",
    )
    group.add_argument(
        "--strength-scale",
        metavar="LEFT:RIGHT",
        help="outcomes are numbers on a scale of 3 to 7 steps: the number for the strongest left, "
        "then for the strongest right, such as 1:5 or 3:-3",
    )


def _add_labelling_options(group: argparse._ArgumentGroup) -> None:
    for side in ("left", "right"):
        group.add_argument(
            f"--{side}-key",
            metavar="KEY",
            help=f"field of a Label Studio task that holds the {side} item",
        )
    group.add_argument(
        "--drafts", action="store_true", help="include drafts of Argilla and Label Studio"
    )


def add_parting_options(group: argparse._ArgumentGroup, *, write: bool = False) -> None:
    """Add ``--criterion``, ``--criteria``, ``--context`` and ``--by``."""
    what = "write" if write else "use"
    group.add_argument(
        "--criterion", metavar="NAME", help=f"{what} only judgments with this criterion"
    )
    if not write:
        group.add_argument(
            "--criteria",
            choices=("all",),
            help="keep the criterion of each judgment as a category, so that all are used at once",
        )
    group.add_argument(
        "--context",
        metavar="COLUMN",
        help="column with the context of each judgment, such as its prompt, session or screen; "
        "'ranking' for the ranking or ratings that pairs come from",
    )
    group.add_argument(
        "--by",
        metavar="COLUMN[,COLUMN]",
        help="columns with the categories of each judgment, such as language or topic",
    )


def add_id_options(group: argparse._ActionsContainer) -> None:
    """Add ``--normalize-ids`` and ``--alias``."""
    group.add_argument(
        "--normalize-ids",
        action="store_true",
        help="merge ids that differ only in case, spacing, punctuation or Unicode form",
    )
    group.add_argument(
        "--alias",
        metavar="FILE",
        help="table with the columns alias and id: other names of annotators and items",
    )


def respelt(table: _Table, spelling: Spelling | None, path: str, console: Console) -> _Table:
    """Return a table under the spelling that all tables have, and say what was changed."""
    if spelling is None:
        return table
    from aggcal.data.spelling import merged_note

    now = spelling.table(table)
    pairs = zip(table.item_ids.tolist(), now.item_ids.tolist(), strict=True)
    changed = {was: is_now for was, is_now in pairs if was != is_now}
    if changed:
        console.say_notes(path, (merged_note("item", changed),))
    return now


def add_blank(group: argparse._ActionsContainer) -> None:
    """Add ``--blank``."""
    group.add_argument(
        "--blank",
        choices=("skip", "error"),
        default="skip",
        help="blank answers and scores: skip treats them as missing, error rejects the file",
    )


def choices_from(options: argparse.Namespace) -> Choices:
    """Return how the files are to be understood, or refuse it before they are read."""
    from aggcal.io.formats._base import Choices, stated_order
    from aggcal.io.formats._parting import categories_of
    from aggcal.io.formats._steps import stated_scale
    from aggcal.io.respelling import read_spelling

    return Choices(
        outcomes_from(options),
        columns_from(options),
        options.judged_by,
        options.left_key,
        options.right_key,
        options.drafts,
        options.tie_within,
        options.ranking_weight,
        options.blank,
        read_spelling(options.alias, normalize=options.normalize_ids),
        stated_order(options.order or ()),
        context=options.context,
        by=categories_of(options.by or (), options.criterion, getattr(options, "criteria", None)),
        strength_scale=stated_scale(options.strength_scale),
    )


def add_memory(group: argparse._ArgumentGroup) -> None:
    """Add ``--memory``."""
    group.add_argument(
        "--memory",
        metavar="SIZE",
        help="memory limit for reading, before spilling to disk, such as 2GB",
    )


def outcomes_from(options: argparse.Namespace) -> dict[str, str | float]:
    """Return what each outcome label means.

    Examples
    --------
    >>> outcomes_from(argparse.Namespace(outcome=["both bad=tie", "a=b=left"]))
    {'both bad': 'tie', 'a=b': 'left'}
    """
    found: dict[str, str | float] = {}
    for text in options.outcome:
        label, equals, meaning = text.rpartition("=")
        if not equals or not label:
            raise OptionError(f"--outcome '{text}' is not LABEL=MEANING; write 'both bad=tie'.")
        found[label] = meaning
    return found


def columns_from(options: argparse.Namespace) -> dict[str, str]:
    """Return the names that our columns have in the file.

    Examples
    --------
    >>> columns_from(argparse.Namespace(column=["annotator=coder", "winner=better=best"]))
    {'annotator': 'coder', 'winner': 'better=best'}
    """
    found: dict[str, str] = {}
    for text in options.column:
        own, equals, other = text.partition("=")
        if not equals or not other:
            raise OptionError(f"--column '{text}' is not OURS=THEIRS; write 'annotator=coder'.")
        found[own] = other
    return found
