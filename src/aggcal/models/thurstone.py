r"""The Thurstone family: P(u puts i above j) = F(γ_u (s_i − s_j)).

With a normal prior N(1, τ²) on the reliabilities γ_u the problem in each is strictly convex, and
a reversed annotator's comes out negative. With γ ≡ 1 this is Bradley–Terry (logistic link) or
Thurstone's case V (normal link), and the whole problem is convex.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from aggcal._core.arrays import FloatArray, dot
from aggcal.models.links import Link
from aggcal.models.objective import Objective, RowTerms
from aggcal.models.rows import Rows
from aggcal.registry import LOGISTIC


class Thurstone(Objective):
    """The objective of the Thurstone family.

    Parameters
    ----------
    rows, link, score_precision
        See `Objective`.
    reliability_precision
        1/τ²; None for a model without reliabilities (γ ≡ 1).
    """

    def __init__(
        self,
        rows: Rows,
        link: Link,
        score_precision: float,
        reliability_precision: float | None,
    ) -> None:
        hetero = reliability_precision is not None
        super().__init__(
            rows,
            link,
            score_precision,
            first=1.0,
            heterogeneous=hetero,
            annotator_precision=reliability_precision or 0.0,
        )
        self.reliability_precision = reliability_precision

    def row_terms(self, gap: FloatArray, theta: FloatArray) -> RowTerms:
        """Loss −log F(γ d) and its derivatives."""
        loss, pull, curve = self.link.terms(theta * gap)
        bent = curve * gap
        return RowTerms(
            loss,
            -theta * pull,
            theta * theta * curve,
            -gap * pull,
            gap * bent,
            theta * bent - pull,
        )

    def row_information(self, gap: FloatArray, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """√W (γ, d), W = f²/(F(1 − F)) at γ d."""
        x = theta * gap
        if self.link.name == LOGISTIC.name:  # its curvature is the same whatever the outcome
            root = np.sqrt(self.link.terms(x)[2])
        else:
            # f/F times f/(1 − F), each exact in its tail.
            root = np.sqrt(self.link.terms(x)[1] * self.link.terms(-x)[1])
        return theta * root, gap * root

    def penalty(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """(γ − 1)²/(2τ²)."""
        precision, excess = self.reliability_precision or 0.0, theta - 1.0
        value = 0.5 * precision * dot(excess, excess)
        return value, precision * excess, np.full(theta.shape, precision)


@singledispatch
def likelihood(
    rows: Rows, link: Link, score_precision: float, reliability_precision: float | None
) -> Thurstone:
    """Return the objective for its formulae alone, without the room that the sums of a fit take."""
    return Thurstone(rows, link, score_precision, reliability_precision)


def stiffness(
    slopes: FloatArray, slope_gradient: FloatArray, inner: FloatArray, precision: float
) -> float:
    """Return the judgments' part of s'(A − B D⁻¹ Bᵀ)s from the sums by annotator.

    Along the scores themselves a row's gap is what γ multiplies, so that s'As = Σ γ²c and
    (Bᵀs)_u = γc − p with the annotator's curvature c = D − 1/τ² and pull p = Σ d·pull.
    """
    curvature = inner - precision
    shared = slopes * curvature - (precision * (slopes - 1.0) - slope_gradient)
    return float((slopes * slopes * curvature - shared * shared / inner).sum())
