"""Fit annotators of several kinds: scores by Newton's steps, the rest by EM."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log

import numpy as np

from aggcal._core.arrays import FloatArray, dot
from aggcal._core.text import brief
from aggcal.aggregation.general.mixture import TAU, Looked, Mixture, Seen, Shape, Values
from aggcal.aggregation.general.spreads import REVERSED_PRIOR, effect_sd
from aggcal.aggregation.newton import definite_inverse
from aggcal.aggregation.solve.prior_sd import next_sd

_TAU_PRIOR = 10.0
"""Annotators that the spread of the reliabilities beforehand counts as."""
_MOST_TURNED = 0.15
"""Largest share of annotators who answer the other way round: more of them are a camp."""
_MOST_TAU = 1.0
"""Largest spread of the reliabilities: beyond, half of the annotators would know nothing."""
_ITERATIONS, _SETTLED = 60, 5e-3
"""Iterations at most, and the change of scores and spreads at which a fit has settled: a tenth of
the standard errors of most studies."""
_HELD = 4
"""Iterations in which the classes of a start are kept."""


@dataclass(frozen=True, eq=False)
class MixtureFit:
    """A mixture fitted to some answers."""

    shape: Shape
    values: Values
    classes: FloatArray
    """Probability that each annotator is of each class."""
    evidence: float
    """Logarithm of the probability of the answers, the parts integrated out."""

    __repr__ = brief

    @property
    def scores(self) -> FloatArray:
        """θ_k, classes by items."""
        return self.shape.mixing @ self.values.parts


def fit_mixture(
    seen: Seen, shape: Shape, start: Values, classes: FloatArray | None = None
) -> MixtureFit:
    """Fit a mixture from a start.

    Parameters
    ----------
    seen, shape
        The answers, and the classes.
    start
        Where to begin.
    classes
        Probabilities of the classes that are kept at first, annotators by classes.
    """
    mixture, values = Mixture(seen, shape), start
    for count in range(_ITERATIONS):
        looked = mixture.evaluate(values)
        kept = classes if classes is not None and count < _HELD else None
        new, evidence = _stepped(looked, looked.classes if kept is None else kept)
        far = float(np.abs(new.parts - values.parts).max()) / values.common_sd
        far = max(far, 0.1 * abs(log(new.apart_sd / values.apart_sd)), abs(new.tau - values.tau))
        values = new
        if kept is None and far < _SETTLED:
            break
    return MixtureFit(shape, values, looked.classes, evidence)


def _stepped(looked: Looked, classes: FloatArray) -> tuple[Values, float]:
    """Take a step; return where it leads, and the evidence before it."""
    mixture, values = looked.mixture, looked.values
    mixing, n = mixture.shape.mixing, mixture.n
    chances = looked.chances(classes)
    pulls, curve = looked.gradient(chances)
    precision = np.full(mixing.shape[1], values.apart_sd**-2.0)
    precision[0] = values.common_sd**-2.0
    whole, held = looked.curvature(curve, chances)
    at = np.diag_indices(len(whole))
    stiff = np.repeat(precision, n)
    whole[at] += stiff
    if whole is not held:
        held[at] += stiff
    covariance = definite_inverse(whole, held)
    x = values.parts.ravel()
    force = (mixing.T @ pulls).ravel() - stiff * x
    step = covariance @ force
    far = float(np.abs(step).max()) / values.common_sd
    parts = (x + step * min(1.0, 1.0 / max(far, 1e-300))).reshape(values.parts.shape)
    evidence = float(looked.evidence.sum()) - 0.5 * dot(stiff, x * x)
    evidence += 0.5 * float(np.log(stiff).sum() + np.linalg.slogdet(covariance)[1])
    new = _spreads(looked, replace(values, parts=parts), covariance, classes, chances)
    return new, evidence


def _spreads(
    looked: Looked,
    values: Values,
    covariance: FloatArray,
    classes: FloatArray,
    chances: FloatArray,
) -> Values:
    """Estimate the shares and the spreads again."""
    mixture, n = looked.mixture, looked.mixture.n
    own = np.diag(covariance)
    common = next_sd(values.common_sd, values.parts[0], own[:n], n - 1, 1.0)
    apart = values.apart_sd
    if len(values.parts) > 1:
        apart = effect_sd(apart, values.parts[1:].ravel(), own[n:], widest=1.0, careful=False)
    shares = mixture.shape.shares
    if shares is None:
        shares = (classes.sum(axis=0) + 1.0) / (mixture.m + mixture.k)
    half = len(looked.nodes) // 2
    strengths = np.concatenate([looked.nodes[:half], -looked.nodes[half:]])
    # The unit is that of the typical annotator; without it, scores and reliabilities drift apart.
    unit = float(np.clip((chances * strengths).sum() / mixture.m, 0.5, 2.0))
    square = float((chances * (strengths / unit - 1.0) ** 2).sum())
    tau = float(np.sqrt((_TAU_PRIOR * TAU**2 + square) / (_TAU_PRIOR + mixture.m)))
    mixture.modes /= unit
    a, b = REVERSED_PRIOR
    turned = (float(chances[half:].sum()) + a - 1.0) / (mixture.m + a + b - 2.0)
    sds = unit * common, unit * apart, min(tau, _MOST_TAU)
    parts = unit * values.parts
    if mixture.shape.shares is None:
        parts = _upright(parts, chances, mixture)
    return Values(parts, shares, *sds, min(turned, _MOST_TURNED))


def _upright(parts: FloatArray, chances: FloatArray, mixture: Mixture) -> FloatArray:
    """Turn a camp round whose members are mostly reversed: its scores have the wrong sign."""
    by_class = chances.reshape(len(chances), mixture.k, mixture.m).sum(axis=2)
    half, parts = len(chances) // 2, parts.copy()
    for k in np.flatnonzero(by_class[half:].sum(axis=0) > by_class[:half].sum(axis=0)):
        parts[1 + k] = -parts[1 + k] - 2.0 * parts[0]
        mixture.modes[:, k * mixture.m : (k + 1) * mixture.m] = [[1.0], [0.0]]
        mixture.fresh = True
    return parts
