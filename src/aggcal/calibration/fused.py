r"""The fused calibrator: a base that follows the consensus, and as much of the model as is signal.

    fused = base(consensus) + K (model − base),    K = V (V + N)⁻¹

V is what the truth may differ from the base by: the uncertainty of the consensus in the model's
units, and what annotators have wrong together, where that is identified. N is the model's noise.
With anchors the share to keep is regressed on their truths instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.text import brief
from aggcal.aggregation.uncertainty import Covariance
from aggcal.calibration.anchors import blend
from aggcal.calibration.moments import Moments
from aggcal.calibration.smooth_base import Base, fit_base

_EXACT = 1e-12


@dataclass(frozen=True, eq=False)
class Fused:
    """Fused scores and what they are made of.

    ``kept`` is the share of (model − base) that each item keeps, ``shift`` what anchors moved all
    scores by, ``noise`` the N of K where K is more than its diagonal.
    """

    values: FloatArray
    base: Base
    kept: FloatArray
    shift: float
    moments: Moments
    known: str | None
    noise: FloatArray | None = None

    def through(self, covariance: Covariance) -> FloatArray:
        """Return 1 − K as a matrix: what the scores follow a change of the base by."""
        one = np.eye(len(self.kept))
        if self.noise is None:
            return one * (1.0 - self.kept)
        return one - covariance.gain(self.moments.slope, self.moments.crowd, self.noise, one)[0]

    __repr__ = brief

    def at(self, consensus: FloatArray, model: FloatArray, variance: FloatArray) -> FloatArray:
        """Fuse items that were placed in the consensus later, with these variances."""
        wide = self.moments.slope**2 * variance + self.moments.crowd
        kept = wide / (wide + max(self.moments.noise, 1e-300))
        if self.known == "anchors":
            kept = np.full(len(consensus), float(self.kept.mean()))
        base = self.base(consensus)
        return np.asarray(base + kept * (model - base) + self.shift)


def fuse(
    model: FloatArray,
    consensus: FloatArray,
    covariance: Covariance | None,
    found: Moments,
    *,
    variances: FloatArray | None = None,
    anchors: tuple[IntArray, FloatArray] | None = None,
    base: Base | None = None,
    seed: int = 0,
) -> Fused:
    """Fuse model scores with a consensus.

    Parameters
    ----------
    model, consensus
        The two scores of each item.
    covariance
        Of the consensus; None counts as exact.
    found
        How they relate.
    variances
        Of each model score, where they are known.
    anchors
        Positions of items whose truth is known, and their truths.
    base
        The base, if it has been fitted already.
    seed
        Of the folds and halves of the base.
    """
    base = base or fit_base(consensus, model, seed)
    expected = base(consensus)
    residual = model - expected
    noise = np.full(len(model), found.noise)
    if variances is not None and found.known == "model sd":
        noise = variances * (found.noise / float(variances.mean()))
    if found.residual <= _EXACT * max(float(np.square(model).max()), 1e-200):
        # The model says nothing that the base does not: there is nothing to divide.
        return Fused(expected, base, np.zeros(len(model)), 0.0, found, found.known)
    noise = np.maximum(noise, _EXACT * found.residual)
    mixes = covariance is not None and anchors is None
    if covariance is None:
        kept = found.crowd / (found.crowd + noise)
        moved = kept * residual
    else:
        moved, kept = covariance.gain(found.slope, found.crowd, noise, residual)
    shift, known = 0.0, found.known
    if anchors is not None:
        where, truth = anchors
        weight, shift = blend(residual[where], truth - expected[where], float(kept.mean()))
        kept, known = np.full(len(model), weight), "anchors"
        moved = weight * residual
    values = expected + moved + shift
    return Fused(values, base, kept, shift, found, known, noise if mixes else None)
