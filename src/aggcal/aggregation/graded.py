r"""Families of ratings: answers of one annotator about one item.

A rating of item i by annotator u has the parameters of `families` and two more,

    γ the reliability,   a the leniency,   p the use of the scale,

in units of the annotator's own noise: y = (a + γ s_i + ε)/p, so that 1/p is the noise.

- `Ordinal`: cumulative logits with cuts c that annotators share (McCullagh, 1980),
  P(y ≤ k) = F(p c_k − a − γ s).
- `Gaussian`: the same of a continuous scale, z = p y − a − γ s ~ N(0, 1).

Strengths of answers about pairs, which are called grades elsewhere, are `Adjacent` in `families`.

The losses are convex in (γ, a, p) where scores and cuts are fixed, and in scores and cuts where
the parameters are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import combinations_with_replacement
from operator import mul
from typing import Any

import numpy as np
from scipy.special import expit

from aggcal._core.arrays import FloatArray
from aggcal._core.text import brief
from aggcal.aggregation.families import RELIABILITY, Terms
from aggcal.aggregation.rows import GAP

LENIENCY, USE = "leniency", "use"
"""Further parameters of annotators."""
ABOVE, BELOW = "above", "below"
"""Channels: the cut above a rating, and the one below it."""
_NARROWEST = 1e-4
"""Distance of two cuts, in logits, below which a rating between them is impossible: Newton's steps
that lead there are cut."""
_IMPOSSIBLE = 1e12
"""Loss of such a rating."""


@dataclass(frozen=True, eq=False)
class Marks:
    """Ratings, one a row."""

    weight: FloatArray
    value: FloatArray
    """The rating; of ordinal ones its level, from 0 on."""
    has_above: FloatArray
    """1 where there is a cut above it, else 0."""
    has_below: FloatArray
    """1 where there is a cut below it, else 0."""

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Gaussian:
    """½ z² − log q, z = q y − a − γ s, with the precision q = p × ``precision``.

    Examples
    --------
    >>> one = np.ones(1)
    >>> terms = Gaussian(()).terms({GAP: np.zeros(1)}, {}, Marks(one, 2.0 * one, one, one))
    >>> terms.loss, terms.score[GAP], terms.curvature[GAP, GAP]
    (array([2.]), array([-2.]), array([1.]))
    """

    names: tuple[str, ...] = (RELIABILITY, LENIENCY, USE)
    channels: tuple[str, ...] = (GAP,)
    precision: float = 1.0
    """That of a typical annotator."""

    def terms(self, moved: dict[str, FloatArray], theta: dict[str, Any], answers: Marks) -> Terms:
        """Return the loss of rows and its derivatives."""
        s, w, y = moved[GAP], answers.weight, self.precision * answers.value
        one = np.ones_like(s)
        use, reliability = theta.get(USE, one), theta.get(RELIABILITY, one)
        z = use * y - theta.get(LENIENCY, 0.0) - reliability * s
        inside = {GAP: -reliability, RELIABILITY: -s, LENIENCY: -one, USE: y}
        variables = (*self.channels, *self.names)
        score = {name: w * z * inside[name] for name in variables}
        curvature = {
            (a, b): w * inside[a] * inside[b]
            for a, b in combinations_with_replacement(variables, 2)
        }
        if (GAP, RELIABILITY) in curvature:
            curvature[GAP, RELIABILITY] = curvature[GAP, RELIABILITY] - w * z
        if USE in self.names:
            score[USE] = score[USE] - w / use
            curvature[USE, USE] = curvature[USE, USE] + w / use**2
        return Terms(w * (0.5 * z * z - np.log(self.precision * use)), score, curvature)


@dataclass(frozen=True, eq=False)
class Ordinal:
    """−log P = −log F(h) − log F(−l) − log(1 − e^(l−h)), h and l the logits at the cuts about it.

    A rating is two comparisons, with the cut above and the one below, and a spacing of these that
    neither score nor leniency enter. Where there is no such cut, nor are there its terms.

    Examples
    --------
    The middle one of three levels, between cuts at -1 and 1:

    >>> one = np.ones(1)
    >>> moved = {GAP: np.zeros(1), ABOVE: one, BELOW: -one}
    >>> terms = Ordinal(()).terms(moved, {}, Marks(one, one, one, one))
    >>> np.exp(-terms.loss).round(3), terms.score[GAP] + 0.0
    (array([0.462]), array([0.]))
    """

    names: tuple[str, ...] = (RELIABILITY, LENIENCY, USE)
    channels: tuple[str, ...] = (GAP, ABOVE, BELOW)

    def terms(self, moved: dict[str, FloatArray], theta: dict[str, Any], answers: Marks) -> Terms:
        """Return the loss of rows and its derivatives: the chain rule through h and l."""
        s, up, low, w = moved[GAP], moved[ABOVE], moved[BELOW], answers.weight
        one, top, bottom = np.ones_like(s), answers.has_above, answers.has_below
        use, reliability = theta.get(USE, one), theta.get(RELIABILITY, one)
        height = theta.get(LENIENCY, 0.0) + reliability * s
        h, l = use * up - height, use * low - height  # noqa: E741
        both, spacing = top * bottom, use * (up - low)
        impossible = (both > 0.0) & (spacing <= _NARROWEST)
        spacing = np.where((both > 0.0) & ~impossible, spacing, 1.0)
        odds = both / np.expm1(spacing)
        over, under = expit(-h), expit(l)
        loss = top * np.logaddexp(0.0, -h) + bottom * np.logaddexp(0.0, l)
        loss = loss - both * np.log(-np.expm1(-spacing))
        in_h, in_l = w * (-top * over - odds), w * (bottom * under + odds)
        apart = w * odds * (1.0 + odds)
        in_hh = w * top * over * (1.0 - over) + apart
        in_ll = w * bottom * under * (1.0 - under) + apart
        # What moves both cuts moves h and l alike; each cut moves one of them.
        both_cuts = {GAP: -reliability, RELIABILITY: -s, LENIENCY: -one}
        variables = (*self.channels, *self.names)
        in_both, in_both_h, in_both_l = in_h + in_l, in_hh - apart, in_ll - apart
        sides = {ABOVE: (use, None), BELOW: (None, use), USE: (up, low)}
        score = {}
        for name in variables:
            if name in both_cuts:
                score[name] = in_both * both_cuts[name]
            else:
                score[name] = _sum((in_h, sides[name][0]), (in_l, sides[name][1]))
        curvature = {}
        for a, b in combinations_with_replacement(variables, 2):
            if a in both_cuts and b in both_cuts:
                curvature[a, b] = (in_both_h + in_both_l) * both_cuts[a] * both_cuts[b]
            elif a in both_cuts or b in both_cuts:
                one_of, other = (a, b) if a in both_cuts else (b, a)
                of_h, of_l = sides[other]
                curvature[a, b] = both_cuts[one_of] * _sum((in_both_h, of_h), (in_both_l, of_l))
            else:
                (ha, la), (hb, lb) = sides[a], sides[b]
                curvature[a, b] = _sum((in_hh, ha, hb), (in_ll, la, lb),
                                       (-apart, ha, lb), (-apart, la, hb))  # fmt: skip
        bilinear = {(GAP, RELIABILITY): -in_both, (ABOVE, USE): in_h, (BELOW, USE): in_l}
        for pair, more in bilinear.items():
            if pair in curvature:
                curvature[pair] = curvature[pair] + more
        return Terms(np.where(impossible, _IMPOSSIBLE, w * loss), score, curvature)


def _sum(*products: tuple[FloatArray | None, ...]) -> FloatArray:
    """Add up products of columns, but for those in which one is nothing."""
    total: Any = 0.0
    for columns in products:
        if all(column is not None for column in columns):
            total = total + reduce(mul, columns)
    return np.asarray(total)
