"""What a consensus knows beside scores and reliabilities: the other terms of the general model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import ndtri, stdtrit

from aggcal._core.arrays import FloatArray, TextArray
from aggcal._core.text import brief
from aggcal.aggregation.disagreement import Camps


@dataclass(frozen=True, eq=False)
class AnnotatorEffect:
    """A parameter of every annotator, and its mean over annotators."""

    values: FloatArray
    variances: FloatArray
    common: float
    common_se: float
    sd: float
    """How far annotators differ."""

    __repr__ = brief

    def to_dict(self) -> dict[str, float]:
        """Return what is common to all annotators, as in ``summary.json``."""
        return {"common": self.common, "common_se": self.common_se, "sd": self.sd}


@dataclass(frozen=True, eq=False)
class Coefficients:
    """What is held equal: the effect of a standard deviation of each covariate."""

    names: tuple[str, ...]
    values: FloatArray
    """On the logit scale, for a typical annotator."""
    se: FloatArray

    __repr__ = brief

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return the ends of each interval.

        Examples
        --------
        >>> found = Coefficients(("words",), np.array([0.5]), np.array([0.1]))
        >>> [end.round(2).tolist() for end in found.interval(0.9)]
        [[0.34], [0.66]]
        """
        reach = float(ndtri(0.5 + 0.5 * level)) * self.se
        return self.values - reach, self.values + reach

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return each coefficient with its standard error."""
        columns = zip(self.names, self.values.tolist(), self.se.tolist(), strict=True)
        return {name: {"value": value, "se": se} for name, value, se in columns}


@dataclass(frozen=True, eq=False)
class Correlations:
    """How alike the orders of the categories are: correlations of the items' scores in them."""

    ids: TextArray
    values: FloatArray
    """Categories by categories; NaN where too few items were compared in both."""
    z_se: FloatArray
    """Standard errors of their inverse hyperbolic tangents."""

    __repr__ = brief

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return the ends of each interval.

        Examples
        --------
        >>> ids, one = np.array(["content", "style"], dtype=object), np.eye(2)
        >>> found = Correlations(ids, one * 0.2 + 0.8, 0.3 - 0.3 * one)
        >>> [end[0, 1].round(2).item() for end in found.interval(0.9)]
        [0.54, 0.92]
        """
        reach = float(ndtri(0.5 + 0.5 * level)) * self.z_se
        middle = np.arctanh(np.clip(self.values, -1.0 + 1e-15, 1.0 - 1e-15))
        return np.tanh(middle - reach), np.tanh(middle + reach)

    def to_dict(self, level: float) -> list[dict[str, Any]]:
        """Return each pair of categories with its correlation and interval, as in summary.json."""
        low, high = self.interval(level)
        return [
            {
                "between": [str(self.ids[a]), str(self.ids[b])],
                "value": float(self.values[a, b]),
                "low": float(low[a, b]),
                "high": float(high[a, b]),
            }
            for a in range(len(self.ids))
            for b in range(a + 1, len(self.ids))
            if np.isfinite(self.values[a, b])
        ]


@dataclass(frozen=True, eq=False)
class CategoryScores:
    """The items' scores in each category of one column; NaN where nobody compared them there."""

    name: str
    ids: TextArray
    scores: FloatArray
    """Categories by items: the overall score and what the item does in the category."""
    se: FloatArray
    sd: float
    """How far items do otherwise in a category than overall."""
    judgments: FloatArray
    """Weight of the judgments of each category."""
    correlation: Correlations | None = None
    """Between categories; None where there are many."""
    covariances: tuple[FloatArray, ...] = ()
    """Of the scores in each category that are there; empty where unknowns are many."""

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Axis:
    """The axis along which annotators differ most."""

    items: FloatArray
    """Where each item stands: those with a high value are put higher by annotators with a high
    stance."""
    item_se: FloatArray
    stances: FloatArray
    """Where each annotator stands."""
    stance_variances: FloatArray
    common_ground: FloatArray
    """Scores at the middle of the stances: what both ends could call fair."""
    common_se: FloatArray
    share: float = 0.0
    """Share of the axis in what items explain of the answers, reliabilities explaining the rest."""

    __repr__ = brief

    @property
    def ends(self) -> tuple[float, float]:
        """Where the two ends stand: a tenth of the annotators is beyond each."""
        low, high = np.quantile(self.stances, EDGES)
        return float(low), float(high)

    @property
    def stands_out(self) -> bool:
        """Whether there is an axis at all: its items are further from 0 than their errors are.

        Where annotators do not differ along an axis, its spread is mostly estimated as nothing.
        """
        far = np.square(self.items / np.maximum(self.item_se, 1e-12))
        return bool(far.mean() > STANDS_OUT)

    def to_dict(self) -> dict[str, Any]:
        """Return what is known of the axis as a whole, as in ``summary.json``."""
        ends = self.ends
        return {
            "stands_out": self.stands_out,
            "share": self.share,
            "ends": list(ends),
            "middle": sum(ends) / 2.0,
        }


STANDS_OUT = 1.5
"""Mean square of the items' places on an axis, in standard errors, from which it is called one. A
lower value shows axes that are noise, a higher one hides small camps: of 100 studies without camps
(benchmarks/camps.py, many shapes) 4 were above 1, one above 1.5 and none above 2; of 30 with two
camps, 21, 21 and 18."""
EDGES = (0.1, 0.9)
"""Quantiles of the stances that are called the ends: the common ground is between them."""


class Effects(Protocol):
    """The other terms of a fit; each is None where it was not fitted."""

    @property
    def ties(self) -> str:
        """How ties were fitted: ``davidson``, ``rao-kupper`` or ``halves``."""
        ...

    @property
    def context_fitted(self) -> bool:
        """Whether what items do in each context is part of the fit."""
        ...

    @property
    def position(self) -> AnnotatorEffect | None:
        """Preference for the left side, on the logit scale: 0 is none."""
        ...

    @property
    def readiness(self) -> AnnotatorEffect | None:
        """Readiness to call a tie."""
        ...

    @property
    def control(self) -> Coefficients | None:
        """Coefficients of what is held equal."""
        ...

    @property
    def uncontrolled(self) -> FloatArray | None:
        """Scores of the fit in which nothing is held equal, where something is in this one."""
        ...

    @property
    def categories(self) -> tuple[CategoryScores, ...]:
        """Scores by category."""
        ...

    @property
    def axis(self) -> Axis | None:
        """The axis of disagreement."""
        ...

    @property
    def camps(self) -> Camps | None:
        """Camps of annotators; None where they were not looked for."""
        ...

    @property
    def grades(self) -> FloatArray:
        """How common each strength of an answer is between equal items, relative to the first."""
        ...

    def outcomes(self, judgments: Any) -> FloatArray:
        """Return the probabilities of left, right and tie for each row."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as in ``summary.json``."""
        ...


def in_camps(effects: Effects | None) -> bool:
    """Whether annotators form camps: a low reliability is then that of another camp."""
    return effects is not None and effects.camps is not None and effects.camps.stands_out


def mean_interval(mean: float, se: float, number: int, level: float) -> tuple[float, float]:
    """Return the interval of a mean over annotators, by Student's t.

    Examples
    --------
    >>> [round(end, 2) for end in mean_interval(0.5, 0.1, 5, 0.9)]
    [0.29, 0.71]
    """
    reach = float(stdtrit(max(number - 1, 1), 0.5 + 0.5 * level)) * se
    return mean - reach, mean + reach


def interval(
    values: FloatArray, variances: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the interval of each value, by the normal distribution.

    Examples
    --------
    >>> [end.round(2).tolist() for end in interval(np.array([0.5]), np.array([0.01]), 0.9)]
    [[0.34], [0.66]]
    """
    reach = float(ndtri(0.5 + 0.5 * level)) * np.sqrt(variances)
    return values - reach, values + reach
