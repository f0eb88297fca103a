"""How sure the general model is: of the scores, of the annotators, of every other unknown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggcal._core.arrays import FloatArray, dot, sums
from aggcal._core.text import brief
from aggcal._core.triangles import add_squares
from aggcal.aggregation.general.fit import GeneralFit
from aggcal.aggregation.general.problem import FIRST_SDS, MEAN_PRIORS, Curvature, Problem
from aggcal.aggregation.general.spreads import PARAMETER_PRIOR
from aggcal.aggregation.solve.prior_sd import LOG_SD, centred
from aggcal.aggregation.uncertainty.covariance import MOST_DENSE, Covariance, DenseCovariance
from aggcal.aggregation.uncertainty.laplace import laplace
from aggcal.aggregation.uncertainty.matrix_free import MatrixFreeCovariance
from aggcal.models.general.annotators import Known
from aggcal.models.general.design import SCORES
from aggcal.models.information import information as information_of
from aggcal.models.objective import Objective

_WIDER = 1.05
"""What standard errors of the annotators' parameters are multiplied by: they take the spreads as
known (see `aggregation.uncertainty.marginal`)."""
_FEW_EACH = 1.1
"""The same for that part of the error of a mean over annotators that comes of few judgments each:
it takes the spreads of the other parameters as known. Without it a nominal 90% covers 86% with five
judgments each; of 20 annotators with a hundred each it changes nothing."""
_PROBES = 8
"""Random vectors that tell how far variances exceed those of the diagonal, a few percent."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """Variances of what was fitted."""

    covariance: FloatArray
    """Of the outer unknowns: a matrix, or its diagonal where there are many."""
    scores: FloatArray | None
    """Covariance of the scores about the mean of their component; None where unknowns are many."""
    score_precision: FloatArray
    """Diagonal of the inverse covariance of the scores, the effects of the items given up."""
    unit: FloatArray
    """What the unit holds of the scores (see `Curvature`)."""
    annotators: dict[str, FloatArray]
    """Variances of each annotator's parameters, by name."""
    common: dict[str, float]
    """Variances of the means of these parameters over annotators, where they are estimated."""

    __repr__ = brief


def posterior(fit: GeneralFit, problem: Problem) -> Posterior:
    """Return the covariance of the unknowns and the variances of the annotators' parameters.

    Parameters
    ----------
    fit, problem
        What was fitted, and to what.
    """
    added = problem.integrated(fit.state, fit.known)
    curvature = problem.curvature(fit.state, added)
    dense = problem.layout.size <= MOST_DENSE
    covariance = curvature.inverse() if dense else 1.0 / curvature.diagonal()
    block = problem.layout.design.blocks[SCORES].where
    scores = None
    if dense:
        scores = centred(covariance[block, block], problem.component)
        if SCORES in fit.free:
            scores = _with_unsure_spread(scores, fit, problem)
    own = _score_precision(problem, curvature)
    found = _annotators(problem, curvature, covariance)
    common = {name: _common(fit, problem, covariance, name) for name in problem.layout.means}
    return Posterior(covariance, scores, own, curvature.unit[block], found, common)


def many_scores(
    found: Posterior,
    likelihood: Objective,
    scores: FloatArray,
    reliabilities: FloatArray,
    seed: int,
) -> Covariance:
    """Return the covariance of scores among many unknowns.

    How scores go together is taken from the likelihood with ties as halves; how sure each is, from
    the general model.

    Parameters
    ----------
    found
        The posterior, whose covariance is a diagonal.
    likelihood, scores, reliabilities
        The model without the other terms, and where.
    seed
        Seed for random vectors that replace a matrix.
    """
    information = information_of(likelihood, scores, reliabilities)
    information.constraints.append(found.unit)
    covariance, _ = laplace(information, seed=seed, probes=_PROBES)
    factors = information.diagonal() / found.score_precision
    if isinstance(covariance, MatrixFreeCovariance):
        return covariance.scaled(factors)
    root = np.sqrt(factors)
    matrix = covariance.matrix if isinstance(covariance, DenseCovariance) else np.diag(root)
    return DenseCovariance(root[:, None] * matrix * root)


def _score_precision(problem: Problem, curvature: Curvature) -> FloatArray:
    """Return H_ii of each score, less what the item's effects take of it: an arrow each."""
    diagonal, blocks = curvature.diagonal(), problem.layout.design.blocks
    own = diagonal[blocks[SCORES].where].copy()
    for name, block in blocks.items():
        if name == SCORES or (block.item < 0).any():  # coefficients are of no item
            continue
        stiff = np.maximum(diagonal[block.where] - curvature.precision[block.where], 0.0)
        own -= sums(block.item, stiff**2 / diagonal[block.where], len(own))
    return np.maximum(own, curvature.precision[blocks[SCORES].where])


def _with_unsure_spread(matrix: FloatArray, fit: GeneralFit, problem: Problem) -> FloatArray:
    """Add to it what the uncertain spread of the scores adds (see `uncertainty.marginal`)."""
    precision, pieces = fit.state.block_sds[SCORES] ** -2.0, int(problem.component.max()) + 1
    told = precision * float(np.trace(matrix)), precision**2 * dot(matrix.ravel(), matrix.ravel())
    room = len(matrix) - pieces - 2.0 * told[0] + told[1]
    push = 2.0 * precision * (matrix @ fit.state.unknowns[: len(matrix)])
    return add_squares(matrix, push / np.sqrt(2.0 * max(room, 0.0) + LOG_SD**-2))


def _common(fit: GeneralFit, problem: Problem, covariance: FloatArray, name: str) -> float:
    """Return the variance of the mean of a parameter over annotators.

    Its spread σ is uncertain, too, and with few judgments each the mean moves with it: those who
    never tied may be far below one mean or not so far below a lower one. With d the distance of an
    annotator from the mean in σ, the information on the mean and log σ together is by Louis's
    formula Σ_u (2 E d − Cov(d, d²)) / σ, that on log σ alone Σ_u 2 E d² − Var d².
    """
    layout, known = problem.layout, problem.known
    at, k = layout.at_means + layout.means.index(name), layout.names.index(name)
    own = float(covariance[at] if covariance.ndim == 1 else covariance[at, at])
    if name not in fit.free:
        return own
    sd = float(fit.state.sds[k])
    far = (known.nodes[:, :, k] - problem.means[:, k, None]) / sd
    mean, square, skew = known.mean(far), known.mean(far**2), _unseen_skew(known, far)
    both = float((2.0 * mean - known.mean(far**3) + mean * square - skew).sum()) / sd
    alone = float((2.0 * square - known.mean(far**4) + square**2 - 4.0 * mean * skew).sum())
    alone += 2.0 * PARAMETER_PRIOR * (FIRST_SDS[name] / sd) ** 2
    # Where the data hardly tell the two apart, the prior of the spread still does.
    room = max(alone - own * both**2, PARAMETER_PRIOR)
    # What the mean's own prior leaves open is as wide as it says.
    told = max(1.0 - own / MEAN_PRIORS[name][1] ** 2, 0.0)
    few_each = max(own - sd**2 / len(far), 0.0) * told
    return own + (own * both) ** 2 / room + (_FEW_EACH**2 - 1.0) * few_each


def _unseen_skew(known: Known, values: FloatArray) -> FloatArray:
    """Return the third cumulant of each annotator's values that their nodes do not show.

    For a density φ(x)(1 + c x³) about its mode, three points give the mean 3c, and 9c for the mean
    of x³ where it is 15c: the cumulant 6c comes out as 0. It is twice the variance times the
    distance of the mean from the mode, about which the nodes of either half are symmetric.
    """
    total, half = np.zeros(len(values)), known.weights.shape[1] // 2
    for nodes in (slice(0, half), slice(half, None)) if half else ():
        share = known.weights[:, nodes].sum(axis=1)
        weights = known.weights[:, nodes] / np.maximum(share, 1e-300)[:, None]
        mean = (weights * values[:, nodes]).sum(axis=1)
        variance = (weights * (values[:, nodes] - mean[:, None]) ** 2).sum(axis=1)
        total += share * 2.0 * variance * (mean - values[:, nodes].mean(axis=1))
    return total


def _annotators(
    problem: Problem, curvature: Curvature, covariance: FloatArray
) -> dict[str, FloatArray]:
    known = problem.known
    if not known.names:
        return {}
    found: dict[str, FloatArray] = {}
    strength_off = known.off(known.strengths)
    offs = [known.off(known.of(name)) for name in known.names]
    values, carried = known.weights * np.stack(offs), curvature.carried(covariance)
    forms = curvature.sums.forms_of(values, covariance, carried)
    for name, off, value, form in zip(known.names, offs, values, forms, strict=True):
        own = known.mean(off**2)
        with_unit = np.zeros(len(own))
        if problem.has_unit:
            with_unit = problem.shares * known.mean(off * strength_off)
        unsure = curvature.variances_of(value, own, with_unit, covariance, form)
        found[name] = _WIDER**2 * unsure
    return found
