"""Columns of a consensus beside items that it may not know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aggcal._core.arrays import TextArray
from aggcal._core.tables import Columns
from aggcal.advice.influence import Influence
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.tables import term_columns


def item_terms(consensus: Consensus, items: TextArray) -> Columns:
    """Return the scores with nothing held equal and the common ground, where they were fitted."""
    ids = consensus.item_ids.tolist()
    return {
        name: aligned_or_none(dict(zip(ids, column.tolist(), strict=True)), items)
        for name, column in term_columns(consensus).items()
    }


def item_influence(known: Influence | None, items: TextArray) -> Columns:
    """Return how much hangs on each item, and on whom it hangs itself; nothing where unknown."""
    if known is None:
        return {}
    ids = known.consensus.item_ids.tolist()
    return {
        name: aligned_or_none(dict(zip(ids, column.tolist(), strict=True)), items)
        for name, column in known.item_columns().items()
    }


def aligned_or_none(known: Mapping[Any, Any], items: TextArray) -> np.ndarray:
    """Return what is known of each item; None for an item of which nothing is.

    Examples
    --------
    >>> aligned_or_none({"a": 1, "b": 2}, np.array(["b", "a"], dtype=object))
    array([2, 1])
    """
    found = [known.get(item) for item in items]
    plain = None not in found and not any(isinstance(one, str) for one in found[:1])
    return np.array(found, dtype=None if plain else object)
