r"""Crowd mixtures: P(u puts i above j) = η_u F(d/c) + (1 − η_u) F(−d/c), d = s_i − s_j.

η_u in [0, 1] is the chance that annotator u reports what they see: 1 always, ½ at random, 0 always
the other way round. CrowdBT has the logistic link and c = 1, CrowdTCV the normal link and c = √2.
With a Beta(α, β) prior (α, β ≥ 1) the problem in each η is convex; that in s is not.
"""

from __future__ import annotations

from functools import singledispatch
from typing import NamedTuple

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.models.links import Link
from aggcal.models.objective import Objective, RowTerms
from aggcal.models.rows import Rows

# η stops this short of 0 and 1: no judgment is then impossible, however far the solver looks.
MARGIN = 1e-12


class Seen(NamedTuple):
    """What annotators see at some gaps: F(x), F(−x) and F's derivatives in the gap.

    Their reports depend on η, too; where many values of η are tried, this is computed once.
    """

    ahead: FloatArray
    behind: FloatArray
    density: FloatArray
    bend: FloatArray

    def inverse(self, theta: FloatArray) -> FloatArray:
        """Return 1/P."""
        return 1.0 / (theta * self.ahead + (1.0 - theta) * self.behind)

    def in_gap(
        self, theta: FloatArray, inverse: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the loss −log P and its derivatives in the gap."""
        lean = 2.0 * theta - 1.0
        slope = lean * self.density * inverse
        return np.log(inverse), -slope, slope * slope - lean * self.bend * inverse

    def in_theta(self, inverse: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of the loss in η."""
        slope = (self.ahead - self.behind) * inverse
        return -slope, slope * slope


class Crowd(Objective):
    """The objective of the crowd mixtures.

    Parameters
    ----------
    rows, link, score_precision
        See `Objective`.
    alpha, beta
        Parameters of the Beta prior of η, each at least 1; (1, 1) is none.
    width
        c, what gaps are divided by.
    virtual
        Weight of the virtual annotator, who sees every item win once and lose once against an
        item of score 0 (the regulariser of the original CrowdBT).
    """

    def __init__(
        self,
        rows: Rows,
        link: Link,
        score_precision: float,
        *,
        alpha: float,
        beta: float,
        width: float,
        virtual: float,
    ) -> None:
        bounds = (MARGIN, 1.0 - MARGIN)
        super().__init__(
            rows,
            link,
            score_precision,
            first=0.9,
            heterogeneous=True,
            annotator_precision=alpha + beta,
            bounds=bounds,
        )
        self._exponents = (alpha - 1.0, beta - 1.0)
        self._width = width
        self._virtual = virtual

    def seen(self, gap: FloatArray) -> Seen:
        """Return what annotators see at these gaps, whatever they report."""
        x = gap / self._width
        ahead, behind = self.link.probability(x), self.link.probability(-x)
        _, pull, curve = self.link.terms(x)
        density = ahead * pull / self._width
        bend = ahead * (pull * pull - curve) / self._width**2
        return Seen(ahead, behind, density, bend)

    def row_terms(self, gap: FloatArray, theta: FloatArray) -> RowTerms:
        """Loss −log P and its derivatives."""
        seen = self.seen(gap)
        inverse = seen.inverse(theta)
        loss, d, dd = seen.in_gap(theta, inverse)
        by_theta, bend = seen.in_theta(inverse)
        across = d * by_theta - 2.0 * seen.density * inverse
        return RowTerms(loss, d, dd, by_theta, bend, across)

    def row_information(self, gap: FloatArray, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of P in the gap and in η, over √(P(1 − P))."""
        x = gap / self._width
        ahead, behind = self.link.probability(x), self.link.probability(-x)
        density = ahead * self.link.terms(x)[1] / self._width
        probability = theta * ahead + (1.0 - theta) * behind
        other = theta * behind + (1.0 - theta) * ahead
        root = np.sqrt(probability * other)
        return (2.0 * theta - 1.0) * density / root, (ahead - behind) / root

    def penalty(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """−(α − 1) log η − (β − 1) log(1 − η)."""
        value, slope, bend = 0.0, np.zeros(theta.shape), np.zeros(theta.shape)
        for exponent, distance, sign in zip(
            self._exponents, (theta, 1.0 - theta), (-1.0, 1.0), strict=True
        ):
            if exponent > 0.0:
                value -= exponent * float(np.sum(np.log(distance)))
                slope += sign * exponent / distance
                bend += exponent / distance**2
        return value, slope, bend

    def item_penalty(self, scores: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Add the virtual annotator's two judgments of each item to the prior."""
        value, slope, bend = super().item_penalty(scores)
        if self._virtual > 0.0:
            up, down = self.link.terms(scores / self._width), self.link.terms(-scores / self._width)
            value += self._virtual * float(np.sum(up[0] + down[0]))
            slope = slope + self._virtual / self._width * (down[1] - up[1])
            bend = bend + self._virtual / self._width**2 * (down[2] + up[2])
        return value, slope, bend


@singledispatch
def crowd(rows: Rows, link: Link, score_precision: float, **options: float) -> Crowd:
    """Return the objective of a crowd mixture, with the options of `Crowd`."""
    return Crowd(rows, link, score_precision, **options)
