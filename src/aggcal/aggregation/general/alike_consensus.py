"""A fit of annotators who are alike, with further terms, as a consensus."""

from __future__ import annotations

import time

from aggcal._core.arrays import FloatArray
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.general.alike import AlikeFit, no_maximum, penalised
from aggcal.aggregation.general.found import GeneralEffects
from aggcal.aggregation.general.method import Named, QuantifyGeneral
from aggcal.aggregation.start import not_converged
from aggcal.errors import AggcalWarning
from aggcal.models.general.design import SCORES
from aggcal.models.links import link as link_of
from aggcal.models.priors import Prior, default_prior
from aggcal.registry import LOGISTIC


def alike_consensus(
    aggregator: Named,
    fit: AlikeFit,
    scores: FloatArray,
    warnings: list[AggcalWarning],
    began: float,
) -> Consensus:
    """Fit annotators who are alike with further terms, and return the consensus.

    Parameters
    ----------
    aggregator
        What it is fitted by.
    fit
        The judgments and what they are fitted with.
    scores
        Of a fit without further terms.
    warnings
        What is to be said of the data.
    began
        When, by the clock of `time.perf_counter`.
    """
    found, uncontrolled = fit.fit(scores)
    effects = GeneralEffects(fit.judgments, fit.chosen, found, uncontrolled)
    said = [*fit.chosen.heeded(warnings), *not_converged(aggregator.name, found.convergence)]
    prior = None
    if fit.score_sd is None:
        said += no_maximum(found)
    else:
        usual = default_prior(link_of(LOGISTIC.name)).reliability_sd
        prior = Prior(found.state.block_sds[SCORES], usual)
    return Consensus.of(
        fit.judgments,
        effects.scores,
        method=aggregator.name,
        warnings=tuple(said),
        objective=penalised(effects.problem, found),
        log_likelihood=found.known.log_evidence,
        convergence=found.convergence,
        prior=prior,
        estimator="mode",
        seconds=time.perf_counter() - began,
        quantifier=QuantifyGeneral(aggregator, fit.judgments, effects=effects),
        effects=effects,
    )
