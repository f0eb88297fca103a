r"""The calibrators: each is a pair of functions of the consensus.

    value = base(s) + kept · (model − base(s))

``atc``    base: the projection of the model onto the order;   kept: nothing
``safe``   base: the projection;                               kept: one share, James and Stein's
``fused``  base: an increasing curve of the consensus;         kept: K = V (V + N)⁻¹

V is what the truth may differ from the base by: the uncertainty of the consensus in the model's
units, which is larger where the base is steeper, and what annotators have wrong together; N is the
model's noise. The interval of a score holds what becomes of it when the consensus is drawn anew,
and anchors tune any of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.text import brief
from aggcal.aggregation.newton import definite_inverse
from aggcal.calibration.project import project

if TYPE_CHECKING:
    from aggcal.calibration.inputs import Inputs

_EXACT = 1e-12
"""Differences below this share of what they are differences of are rounding, not noise."""

_FEWEST_POOLED = 2
"""The 2 of James and Stein's n − 2: shrinking gains from the third pooled dimension on."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """A base, and the share of what the model says beyond it that is kept.

    ``kept`` is one share, one for each item, or a matrix where items tell of each other; ``log``
    says that logarithms are mixed, ``whole`` that anchors tune scale and share as well as level.
    """

    model: FloatArray
    base: Callable[[FloatArray], FloatArray]
    kept: FloatArray
    block: IntArray | None = None
    log: bool = False
    whole: bool = False

    __repr__ = brief

    def values(self, consensus: FloatArray) -> FloatArray:
        """Return the scores that a consensus leads to."""
        return self.mixed(self.base(consensus))

    def mixed(self, base: FloatArray) -> FloatArray:
        """Return the scores that a base leads to."""
        rest = self.model - base
        moved = self.kept @ rest if self.kept.ndim == 2 else self.kept * rest  # noqa: PLR2004
        return np.asarray(np.exp(base + moved) if self.log else base + moved)

    @property
    def shares(self) -> FloatArray:
        """The share of the model's own deviations that each item keeps."""
        each = np.diag(self.kept) if self.kept.ndim == 2 else self.kept  # noqa: PLR2004
        return np.asarray(np.broadcast_to(each, len(self.model)), dtype=np.float64)


def atc(inputs: Inputs) -> Mixture:
    """Project onto the order."""
    rest = inputs.model, inputs.weight, inputs.component
    block = inputs.projected[1]
    return Mixture(inputs.model, lambda drawn: project(drawn, *rest)[0], np.zeros(1), block)


def safe(inputs: Inputs) -> Mixture:
    """Shrink towards the unweighted projection, which is the one the theorem is about.

    For errors of the model that are normal, independent and of one known standard deviation σ, and
    an order found without them, its expected squared error is below nσ², that of the model itself:
    for every truth and every order, right or wrong.
    """
    model, component = inputs.model, inputs.component
    projected, block = project(inputs.consensus, model, None, component)
    kept = james_stein(model, projected, int(block.max()), inputs.model_variance)
    return Mixture(model, lambda drawn: project(drawn, model, None, component)[0], np.array([kept]))


def james_stein(model: FloatArray, projected: FloatArray, blocks: int, variance: float) -> float:
    """Return the share of (model − projected) to keep.

    Examples
    --------
    >>> round(james_stein(np.array([0.0, 2.0, 1.0, 3.0]), np.full(4, 1.5), 1, 0.1), 2)
    0.98
    """
    residual = model - projected
    pooled, size = len(model) - blocks - _FEWEST_POOLED, float(residual @ residual)
    if pooled <= 0 or size == 0.0:
        return 1.0
    return max(0.0, 1.0 - pooled * variance / size)


def fused(inputs: Inputs) -> Mixture:
    """Mix model and consensus, each as far as it can be trusted."""
    if inputs.logged is not None:
        return replace(inputs.logged.fusion, log=True)
    base, found, model = inputs.base, inputs.moments, inputs.fusible

    def at(drawn: FloatArray) -> FloatArray:
        return base.fitted(inputs.located(drawn))

    if found.residual <= _EXACT * max(float(np.square(model).max()), 1e-200):
        # The model says nothing that the base does not: there is nothing to divide.
        return Mixture(model, at, np.zeros(len(model)), whole=True)
    variances = inputs.variances if inputs.pooled is None else inputs.pooled.noise
    noise = np.full(len(model), found.noise)
    if variances is not None:
        noise = variances * (found.noise / float(variances.mean()))
    noise = np.maximum(noise, _EXACT * found.residual)
    dense = None if inputs.covariance is None else inputs.covariance.dense()
    rise = base.rise(inputs.places)
    if dense is not None:
        signal = rise[:, None] * dense.matrix * rise
        total = signal + np.diag(found.crowd + noise)
        # K = V (V + N)⁻¹ = I − N (V + N)⁻¹.
        kept = np.eye(len(model)) - noise[:, None] * definite_inverse(total, total)
        return Mixture(model, at, kept, whole=True)
    wide = np.full(len(model), found.crowd)
    if inputs.covariance is not None:
        wide = wide + np.square(rise) * inputs.covariance.variances
    return Mixture(model, at, np.asarray(wide / (wide + noise)), whole=True)
