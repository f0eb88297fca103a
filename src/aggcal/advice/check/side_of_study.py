"""What the side of the screen is worth over a whole study, and what it does to the order."""

from __future__ import annotations

from math import inf

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, sums
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.row_sums import Shifted
from aggcal.aggregation.links import LOGISTIC
from aggcal.data.graph import net_flow

_LEAST_KEPT = 0.2
"""Share of the information about the side that uncertain scores leave under a prior twice as wide
(`_WEAKER` times as precise), below which it is not told from them: a lower one gives numbers that
rest on the prior of the scores, a higher one gives none where pairs were shown both ways round now
and then."""
_WEAKER = 0.25  # prior of the second fit: what it moves tells what the first one took away
_ROUNDS = 12  # of Newton's steps, at most
_SETTLED = 1e-10  # logits: after so short a step the next would be lost in rounding
_FOR_STEPS, _MOST_STEPS = 300, 25
"""Items from which a few steps take less time than a factor, and how many are tried."""
_SMALL = 1e-14  # square of the part of the residual that is left: what it could add is rounding
_ENOUGH_ANNOTATORS = 10  # fewer make the robust error itself too uncertain


def advantage_of_all(fitted: Fitted, decided: BoolArray, rows: Shifted) -> tuple[float, float]:
    """Return the common advantage, and an error that allows for annotators to differ in it.

    Where one item is shown on the left more often than on the right, its score takes up part of
    what the side is worth: only what it leaves, after a joint Newton step, tells of the side. The
    error is infinite where next to nothing is left.
    """
    if not len(rows.offset):
        return 0.0, inf
    m, whole = fitted.judgments.n_annotators, 0.0
    for _ in range(_ROUNDS):
        pulls, curves = rows.sums(np.full(m, whole))
        curve = float(curves.sum()) + 1e-9
        step = float(np.clip(pulls.sum() / curve, -1.0, 1.0))
        whole += step
        if abs(step) < _SETTLED:
            break
    robust = float(np.sqrt(np.sum(np.square(pulls)))) / curve
    plain = curve**-0.5
    error = max(robust, plain) if m >= _ENOUGH_ANNOTATORS else plain
    probability = LOGISTIC.probability(rows.offset + whole)
    doubt = rows.number * probability * (1.0 - probability)
    imbalance = _imbalance(fitted, decided, doubt)
    if fitted.others.information is None:
        moved = fitted.others.errors @ imbalance
        return whole, float(np.hypot(error, np.sqrt(np.mean(np.square(moved))) / curve))
    # By the slopes of the imbalance, not those of the fit: else a part would seem to be left.
    information = _information(fitted, decided, doubt)
    taken = _taken_by_scores(information, fitted.precision, imbalance) / curve
    kept = 1.0 - taken
    # Under a weaker prior the scores take more, but at most as many times as it is weaker.
    if 1.0 - taken / _WEAKER < _LEAST_KEPT and (
        1.0 - _taken_by_scores(information, _WEAKER * fitted.precision, imbalance) / curve
        < _LEAST_KEPT
    ):
        return 0.0, inf
    return whole / kept, max(robust / kept if m >= _ENOUGH_ANNOTATORS else 0.0, plain * kept**-0.5)


def _taken_by_scores(information: FloatArray, precision: float, imbalance: FloatArray) -> float:
    """Return how much of the information about the side the scores take, under such a prior.

    Of many items by conjugate gradients, where a few steps are enough: what is left to be taken
    falls with the square of the error.

    Examples
    --------
    >>> _taken_by_scores(np.diag([1.0, 3.0]), 1.0, np.array([2.0, 4.0]))
    6.0
    """
    whole = information.copy()
    whole.flat[:: len(whole) + 1] += precision
    if len(whole) < _FOR_STEPS:
        return float(imbalance @ np.linalg.solve(whole, imbalance))
    diagonal, residual, taken = np.diag(whole).copy(), imbalance, 0.0
    direction = residual / diagonal
    size = first = float(residual @ direction)
    for _ in range(_MOST_STEPS):
        if size <= _SMALL * first:
            return taken
        curved = whole @ direction
        bend = float(direction @ curved)
        taken += size * size / bend
        residual = residual - (size / bend) * curved
        scaled = residual / diagonal
        size, before = float(residual @ scaled), size
        direction = scaled + (size / before) * direction
    return float(imbalance @ np.linalg.solve(whole, imbalance))


def _imbalance(fitted: Fitted, decided: BoolArray, doubt: FloatArray) -> FloatArray:
    """Return how much more each item counts on the left than on the right."""
    judgments, n = fitted.judgments, fitted.judgments.n_items
    slope = fitted.population.slopes[judgments.annotator[decided]] * doubt
    return net_flow(judgments.left[decided], judgments.right[decided], slope, n)


def _information(fitted: Fitted, decided: BoolArray, doubt: FloatArray) -> FloatArray:
    """Return the information about the scores, with the reliabilities known."""
    judgments, n = fitted.judgments, fitted.judgments.n_items
    each = np.square(fitted.population.slopes[judgments.annotator[decided]]) * doubt
    at = judgments.left[decided].astype(np.int64) * n + judgments.right[decided]
    near = sums(at, each, n * n).reshape(n, n)
    near = near + near.T
    return np.asarray(np.diag(near.sum(axis=0)) - near)


def switched(fitted: Fitted, decided: BoolArray, whole: float) -> int | None:
    """Count the pairs of items that change places when the preference for a side is allowed for.

    One Newton step: what the side explains need not be explained by the scores.
    """
    covariance = fitted.others.covariance
    if covariance is None:
        return None
    probability = fitted.probability[decided]
    doubt = fitted.judgments.count[decided] * probability * (1.0 - probability)
    pull = whole * _imbalance(fitted, decided, doubt)
    scores, moved = fitted.scores, fitted.scores - covariance @ pull
    return int(np.count_nonzero((scores[:, None] > scores) & (moved[:, None] < moved)))
