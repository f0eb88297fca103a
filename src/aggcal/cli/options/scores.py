"""The model's scores."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from aggcal.cli.console import Console

if TYPE_CHECKING:
    from aggcal.data.scores import Scores

SCORES = "model scores: a table item,score (optionally sd); higher is better"
"""What a file of scores is, for ``--help``."""


def add_score_columns(group: argparse._ActionsContainer) -> None:
    """Add which column of the file is which."""
    group.add_argument(
        "--score-column", metavar="NAME", default="score", help="column with the scores"
    )
    group.add_argument(
        "--item-column", metavar="NAME", default="item", help="column of SCORES with the item ids"
    )


def scores_from(options: argparse.Namespace, console: Console) -> Scores:
    """Read the file, and say what was made of it."""
    from aggcal.io import read_scores

    scores = read_scores(
        options.scores,
        column=options.score_column,
        item=options.item_column,
        blank=options.blank,
    )
    console.say_notes(options.scores, scores.notes)
    return scores
