"""The model's scores."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aggcal.data.scores import Scores

SCORES = "table of model scores: item,score (and sd, if the model states it); higher is better"
"""What a file of scores is, for ``--help``."""


def add_score_columns(group: argparse._ActionsContainer) -> None:
    """Add which column of the file is which."""
    group.add_argument(
        "--score-column", metavar="NAME", default="score", help="column that holds the scores"
    )
    group.add_argument(
        "--item-column", metavar="NAME", default="item", help="column of SCORES that holds the ids"
    )


def scores_from(options: argparse.Namespace) -> Scores:
    """Read the file."""
    from aggcal.io import read_scores

    return read_scores(options.scores, column=options.score_column, item=options.item_column)
