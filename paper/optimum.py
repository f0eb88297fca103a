"""Judgments as the paper has them, and its estimator: the optimum under fixed priors."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, TextArray
from aggcal._core.tables import aligned
from aggcal.aggregation import aggregate
from aggcal.aggregation.links import link
from aggcal.aggregation.spreads import Prior, default_prior
from aggcal.data.judgments import Judgments
from aggcal.io import read_judgments
from aggcal.registry import METHODS
from aggcal.registry.literals import Estimator


def read_pairs(data: Any) -> Judgments:
    """Read pairs, each of weight 1, and forget the rankings that they may have been taken from.

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


def penalised_optimum(judgments: Judgments, method: str, ids: TextArray) -> FloatArray:
    """Return the scores of some items at the joint optimum of scores and reliabilities.

    They are in the prior's unit, not in that of the typical annotator.

    Examples
    --------
    >>> import aggcal
    >>> rows = aggcal.read_judgments([("ann", "a", "b"), ("bob", "a", "b")])
    >>> penalised_optimum(rows, "hra-g", rows.item_ids).round(3)
    array([ 0.525, -0.525])
    """
    model = METHODS[method].make()
    usual = default_prior(link(getattr(model, "link", "logistic")))
    prior = Prior(usual.score_sd * getattr(model, "width", 1.0), usual.reliability_sd)
    estimator: Estimator | None = "mode" if METHODS[method].integrates else None
    found = aggregate(judgments, method, prior=prior, estimator=estimator, warn=False)
    return aligned(found.scores / found.unit, found.item_ids, ids)
