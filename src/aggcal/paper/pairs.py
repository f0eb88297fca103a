"""Judgments as the paper has them: pairs that stand by themselves, each of weight 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggcal.data.judgments import Judgments
from aggcal.io import read_judgments


def read_pairs(data: Any) -> Judgments:
    """Read pairs, and forget what else is known of them, such as the ranking they were taken from.

    Examples
    --------
    >>> one = {"annotator": "ann", "winner": "a", "loser": "b", "weight": 0.5}
    >>> read_pairs([one, one, one | {"annotator": "bob"}]).weight
    array([2., 1.])
    """
    found = read_judgments(data)
    return Judgments(
        found.item_ids,
        found.annotator_ids,
        found.annotator,
        found.left,
        found.right,
        found.outcome,
        found.count.astype(np.float64),
        found.count,
    )
