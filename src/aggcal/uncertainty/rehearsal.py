r"""A rehearsal: fit simulated studies of the same design, and see how far off the answers are.

The Laplace approximation with the posterior scale (see `uncertainty.scale`) is right for many
judgments. With few per annotator, or with far more annotators than items, scores and reliabilities
are off by factors of their own, and the curvature at the optimum promises a little too much. Who
judged which pair is known, and the priors say what scores and reliabilities are like: so studies
with a known truth are drawn, fitted in the same way, and what they are off by is corrected for.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from aggcal.arrays import FloatArray
from aggcal.engines.sharded import information, likelihood, played
from aggcal.models.information import Information
from aggcal.models.links import Link
from aggcal.models.priors import Prior
from aggcal.models.rows import Rows
from aggcal.solve.fit import fit_thurstone
from aggcal.uncertainty.covariance import MOST_DENSE
from aggcal.uncertainty.laplace import laplace
from aggcal.uncertainty.scale import posterior_scale

_ENOUGH_ITEMS = 600
_MOST_STUDIES = 24
_TOLERANCE = 1e-5


@dataclass(frozen=True)
class Rehearsal:
    """What the rehearsed studies were off by.

    ``scores`` and ``slopes`` are factors on top of the posterior scale; ``score_spread`` and
    ``slope_spread`` are factors of the variances, never below 1.
    """

    scores: float = 1.0
    slopes: float = 1.0
    score_spread: float = 1.0
    slope_spread: float = 1.0


def rehearse(rows: Rows, link: Link, prior: Prior, seed: int) -> Rehearsal:
    """Simulate and fit as many studies as tell the factors well.

    Parameters
    ----------
    rows
        Who judged which pair; who won is drawn anew.
    link, prior
        Of the fit.
    seed
        Of the studies.
    """
    random = np.random.default_rng(seed)
    studies = min(_MOST_STUDIES, ceil(_ENOUGH_ITEMS / rows.n_items))
    cross = square = slope_sum = true_slopes = 0.0
    off: list[tuple[FloatArray, FloatArray, float]] = []
    slope_off: list[tuple[FloatArray, FloatArray, float]] = []
    for _ in range(studies):
        truth = prior.score_sd * random.standard_normal(rows.n_items)
        truth -= truth.mean()
        slopes = 1.0 + prior.reliability_sd * random.standard_normal(rows.n_annotators)
        drawn = played(rows, link, truth, slopes, random)
        fit = fit_thurstone(
            drawn,
            link,
            score_precision=prior.score_precision,
            reliability_precision=prior.reliability_precision,
            tolerance=_TOLERANCE,
        )
        problem = likelihood(drawn, link, prior.score_precision, prior.reliability_precision)
        at_fit = information(problem, fit.scores, fit.reliabilities)
        scale = posterior_scale(fit.scores, fit.reliabilities, at_fit, prior)
        scores, found = scale * fit.scores, fit.reliabilities / scale
        variances, slope_variances = _variances(information(problem, scores, found))
        cross += float(truth @ scores)
        square += float(scores @ scores)
        slope_sum += float(found.sum())
        true_slopes += float(slopes.sum())
        off.append((truth, scores, float(variances.mean())))
        slope_off.append((slopes, found, float(slope_variances.mean())))
    factor = cross / square if cross > 0.0 and square > 0.0 else 1.0
    slope_factor = slope_sum / true_slopes if slope_sum > 0.0 and true_slopes > 0.0 else 1.0
    return Rehearsal(
        factor,
        slope_factor,
        _spread([(t - factor * x, v) for t, x, v in off]),
        _spread([(t - g / slope_factor, v) for t, g, v in slope_off]),
    )


def _spread(off: list[tuple[FloatArray, float]]) -> float:
    actual = float(np.mean([np.mean(np.square(part)) for part, _ in off]))
    return max(1.0, actual / float(np.mean([said for _, said in off])))


def _variances(found: Information) -> tuple[FloatArray, FloatArray]:
    if found.n_items > MOST_DENSE:
        # Their exact part, nearly all of it, is enough for a ratio of means.
        return 1.0 / found.diagonal(), 1.0 / found.inner
    covariance, spread = laplace(found, constrained=False)
    return covariance.variances, spread if spread is not None else 1.0 / found.inner
