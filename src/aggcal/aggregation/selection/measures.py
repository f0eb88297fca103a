"""How well predictions fit what was answered, with standard errors that allow for dependence.

Every measure is an estimate with the influence of each row on it. Answers of one annotator, and
those held out together, depend on each other, so influences are summed within each of them before
they are squared; of the two standard errors the larger one counts. A difference of two methods has
the difference of their influences: it is paired.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, nan, sqrt
from typing import Any

import numpy as np
from scipy.special import expit, stdtrit

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, sums
from aggcal.data.judgments import Judgments

MEASURES = ("log_loss", "decided_log_loss", "accuracy", "calibration")
"""What is measured of each method."""
LEVEL = 0.95
"""Level of the intervals."""

_TIE = 0.5
_LEAST = 1e-12
"""Probabilities below it count as it: a method that excludes an answer which then comes is charged
28 nats, not infinity."""
_EQUAL = 1e-9
"""Probabilities of left and right that differ by less are equal: rounding must not earn a hit."""
_STEPS = 50
_CLOSE = 1e-12
"""Newton's steps for the slope, at most, and the last one's size: it takes about six."""
_STEEPEST = 20.0
"""A slope beyond it means that the answers nearly all follow the predictions: no finite one."""


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error and interval."""

    value: float
    se: float
    low: float
    high: float
    clusters: int
    """Annotators or held-out units that the standard error rests on."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"value": self.value, "se": self.se, "low": self.low, "high": self.high,
                "clusters": self.clusters}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Influence:
    """An estimate by itself: its value, and how each row moved it (0 for a row it leaves out)."""

    value: float
    rows: FloatArray
    used: BoolArray

    def minus(self, other: Influence) -> Influence:
        """Return the difference from the same measure of another method."""
        return Influence(self.value - other.value, self.rows - other.rows, self.used | other.used)


def estimate(found: Influence, clusters: tuple[IntArray, ...]) -> Estimate:
    """Return an estimate with the largest of the standard errors that the ways to cluster give.

    Examples
    --------
    >>> rows = np.array([0.1, -0.1, 0.1, -0.1])
    >>> found = Influence(1.0, rows, np.ones(4, dtype=bool))
    >>> alone, pairs = np.arange(4), np.array([0, 1, 0, 1])
    >>> round(estimate(found, (alone,)).se, 3), round(estimate(found, (alone, pairs)).se, 3)
    (0.231, 0.4)
    """
    best, number = nan, 0
    for code in clusters:
        codes = np.unique(code[found.used], return_inverse=True)[1].ravel()
        n = int(codes.max(initial=-1)) + 1
        if n < 2:  # noqa: PLR2004  # of one, nothing tells how they vary
            continue
        total = sums(codes, found.rows[found.used], n)
        se = sqrt(n / (n - 1) * float(total @ total))
        if not best >= se:
            best, number = se, n
    if not isfinite(best):
        return Estimate(found.value, nan, nan, nan, number)
    reach = float(stdtrit(number - 1, 0.5 + 0.5 * LEVEL)) * best
    return Estimate(found.value, best, found.value - reach, found.value + reach, number)


def measured(judgments: Judgments, predicted: FloatArray) -> dict[str, Influence]:
    """Measure predictions of left, right and tie for each row of some judgments.

    Parameters
    ----------
    judgments
        What was answered.
    predicted
        Rows by (left, right, tie).

    Examples
    --------
    >>> import aggcal
    >>> rows = aggcal.read_judgments([("ann", "a", "b", "left"), ("bob", "a", "b", "right")])
    >>> found = measured(rows, np.array([[0.8, 0.2, 0.0], [0.8, 0.2, 0.0]]))
    >>> round(found["log_loss"].value, 3), found["accuracy"].value
    (0.916, 0.5)
    """
    weight = np.asarray(judgments.weight, dtype=np.float64)
    answer = np.asarray(judgments.outcome, dtype=np.float64)
    decided = answer != _TIE
    left, right, tie = np.clip(predicted, _LEAST, None).T
    ahead = left / (left + right)
    behind = right / (left + right)
    said = -(answer * np.log(ahead) + (1.0 - answer) * np.log(behind))
    loss = np.where(decided, said - np.log(left + right), -np.log(tie))
    if decided.all():
        # Nobody has answered with a tie: how far a method thinks it possible is not looked at.
        loss = said
    sure = np.where(ahead > behind, answer, 1.0 - answer)
    hit = np.where(np.abs(ahead - behind) < _EQUAL, 0.5, sure)
    every = np.ones(len(weight), dtype=bool)
    return {
        "log_loss": _mean(loss, weight, every),
        "decided_log_loss": _mean(said, weight, decided),
        "accuracy": _mean(hit, weight, decided),
        "calibration": _slope(np.log(ahead / behind), answer, weight, decided),
    }


def _mean(values: FloatArray, weight: FloatArray, used: BoolArray) -> Influence:
    share = np.where(used, weight, 0.0)
    total = float(share.sum())
    if total <= 0.0:
        return Influence(nan, np.zeros(len(weight)), used)
    mean = float(share @ values) / total
    return Influence(mean, share * (values - mean) / total, used)


def _slope(logit: FloatArray, answer: FloatArray, weight: FloatArray, used: BoolArray) -> Influence:
    """Return the slope of the answers in the logit that was predicted for them.

    A logistic regression without an intercept, so that it does not matter which item was called
    left. 1 is calibrated; below it, predictions are too extreme, above it, too timid.
    """
    share, x = np.where(used, weight, 0.0), logit
    none = Influence(nan, np.zeros(len(weight)), used)
    slope = 1.0
    for _ in range(_STEPS):
        p = expit(slope * x)
        bend = float(share @ (x * x * p * (1.0 - p)))
        if bend <= 0.0:
            return none
        step = float(share @ (x * (answer - p))) / bend
        slope += float(np.clip(step, -1.0, 1.0))
        if abs(slope) > _STEEPEST:
            return none
        if abs(step) < _CLOSE:
            break
    pull = share * x * (answer - expit(slope * x))
    return Influence(slope, pull / bend, used)
