"""The paper's estimator: the optimum of the likelihood, penalised by fixed priors."""

from __future__ import annotations

from aggcal._core.arrays import FloatArray, TextArray
from aggcal.aggregation import aggregate
from aggcal.aggregation.methods import Estimator
from aggcal.data.judgments import Judgments
from aggcal.models.links import link
from aggcal.models.priors import Prior, default_prior
from aggcal.registry import METHODS


def penalised_optimum(judgments: Judgments, method: str) -> tuple[FloatArray, TextArray]:
    """Return the scores at the joint optimum of scores and reliabilities, and their items.

    They are in the prior's unit, not in that of the typical annotator.

    Examples
    --------
    >>> import aggcal
    >>> rows = aggcal.read_judgments([("ann", "a", "b"), ("bob", "a", "b")])
    >>> penalised_optimum(rows, "hra-g")[0].round(3)
    array([ 0.525, -0.525])
    """
    model = METHODS[method].make()
    usual = default_prior(link(getattr(model, "link", "logistic")))
    prior = Prior(usual.score_sd * getattr(model, "width", 1.0), usual.reliability_sd)
    estimator: Estimator | None = "mode" if METHODS[method].integrates else None
    found = aggregate(judgments, method, prior=prior, estimator=estimator, warn=False)
    return found.scores / found.unit, found.item_ids
