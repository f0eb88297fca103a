"""Place items that were judged after a fit of the general model, all that was fitted held fixed.

What is unknown of a new item is its score, what it does in each context and category, and where it
stands on the axis. Annotators keep their posterior: a few nodes each, whose probabilities follow
the new answers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray
from aggcal.aggregation.general.choice import Chosen
from aggcal.aggregation.general.prediction import Predictor
from aggcal.aggregation.general.problem import AXIS_SD
from aggcal.data.judgments import Judgments
from aggcal.models.general.annotators import POSITION, READINESS, RELIABILITY, STANCE
from aggcal.models.general.design import CONTROL, SCORES
from aggcal.models.general.outcomes import Answers
from aggcal.models.general.rows import answers_of

_STEPS, _CLOSE = 50, 1e-10
"""Newton steps at most, and the squared step, over the variance, at which they end."""
_ROUNDING, _SHORTEST = 1e-12, 1e-9
"""What the density may fall by in a step, and the step that is not halved any more."""


@dataclass(frozen=True, eq=False)
class Placing:
    """Judgments of new items, seen from a fit."""

    predictor: Predictor
    judgments: Judgments
    gap: FloatArray
    """Of each row, a new item's score being 0."""
    answers: Answers

    @classmethod
    def of(
        cls, predictor: Predictor, judgments: Judgments, chosen: Chosen, control: FloatArray | None
    ) -> Placing:
        """Lay out judgments; ``control`` are the covariates' differences."""
        ties, grades = chosen.ties != "halves", chosen.graded
        weight, lean, tied = answers_of(judgments, ties=ties, grades=grades)[0]
        # A strength that nobody used when the model was fitted counts as the strongest that was.
        most = 0.5 * len(predictor.fit.state.grades) * weight
        answers = Answers(weight, np.clip(lean, -most, most), tied)
        return cls(predictor, judgments, predictor.known_gaps(judgments, control), answers)

    def place(self, mine: BoolArray, item: int) -> tuple[float, float]:
        """Return the score of an item by some of the rows, and its standard deviation."""
        signs = np.where(self.judgments.left == item, 1.0, -1.0)
        own = _Own(self, np.flatnonzero(mine), signs[mine])
        x = np.zeros(own.size)
        value, gradient, curvature = own.terms(x)
        for _ in range(_STEPS):
            step = np.linalg.solve(curvature, gradient)
            if gradient @ step < _CLOSE:
                break
            step *= min(1.0, own.longest / float(np.abs(step).max()))
            while True:
                trial = own.terms(x + step)
                if trial[0] >= value - _ROUNDING or np.abs(step).max() <= _SHORTEST:
                    break
                step *= 0.5
            x = x + step
            value, gradient, curvature = trial
        return float(x[0]), float(np.sqrt(np.linalg.inv(curvature)[0, 0]))


class _Own:
    """What the rows of one item say of its unknowns: score, effects in groups, axis."""

    def __init__(self, placing: Placing, at: IntArray, signs: FloatArray) -> None:
        fit, judgments = placing.predictor.fit, placing.judgments
        predictor = placing.predictor
        columns, precision = [signs], [fit.state.block_sds[SCORES] ** -2.0]
        for name in predictor.layout.design.blocks:
            if name in (SCORES, CONTROL):
                continue
            group = predictor.group(name, judgments, of_fit=False)[at]
            for each in np.unique(group[group >= 0]):
                columns.append(np.where(group == each, signs, 0.0))
                precision.append(fit.state.block_sds[name] ** -2.0)
        self.by_gap = np.stack(columns, axis=1)
        if predictor.layout.axis:
            precision.append(fit.state.block_sds[AXIS_SD] ** -2.0)
        self.signs, self.size, self.precision = signs, len(precision), np.array(precision)
        self.longest = 2.0 * fit.state.block_sds[SCORES]
        nodes, weights = predictor.nodes(judgments)
        who, self.owner = np.unique(judgments.annotator[at], return_inverse=True)
        self.nodes, self.weights = nodes[who], weights[who]
        self.gap = placing.gap[at]
        self.answers = Answers(*(part[at] for part in placing.answers))
        ready, _ = predictor.readiness(judgments)
        axis = predictor.axis(judgments)
        self.ready, self.axis = ready[at], None if axis is None else axis[at]
        self.predictor = predictor

    def terms(self, x: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return the log posterior density at some values, its gradient and minus its curvature."""
        m, n_nodes = self.weights.shape
        k = self.by_gap.shape[1]
        logs = np.log(np.maximum(self.weights, 1e-300))
        pulls = np.zeros((m, n_nodes, self.size))
        bends = np.zeros((m, n_nodes, self.size, self.size))
        gap = self.gap + self.by_gap @ x[:k]
        for node in range(n_nodes):
            slopes, eta, nu = self._at(node, gap, x[k:])
            grades, outcomes = self.predictor.fit.state.grades, self.predictor.chosen.outcomes
            found = outcomes(eta, nu, self.answers, grades)
            np.subtract.at(logs[:, node], self.owner, found.loss)
            np.subtract.at(pulls[:, node], self.owner, found.pull[:, None] * slopes)
            square = found.curve[:, None, None] * slopes[:, :, None] * slopes[:, None, :]
            np.add.at(bends[:, node], self.owner, square)
        most = logs.max(axis=1, keepdims=True)
        chances = np.exp(logs - most)
        total = chances.sum(axis=1, keepdims=True)
        chances = chances / total
        value = float((most + np.log(total)).sum() - 0.5 * (self.precision * x) @ x)
        mean = np.einsum("uk,ukj->uj", chances, pulls)
        gradient = mean.sum(axis=0) - self.precision * x
        held = np.einsum("uk,ukij->ij", chances, bends) + np.diag(self.precision)
        off = pulls - mean[:, None]
        loose = np.einsum("uk,uki,ukj->ij", chances, off, off)
        whole = held - loose
        # Far from the optimum the nodes' mixture is not concave.
        return value, gradient, whole if np.linalg.eigvalsh(whole).min() > 0.0 else held

    def _at(
        self, node: int, gap: FloatArray, axis: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the derivatives of η in the unknowns, η and ν at a node, row by row."""
        names = self.predictor.chosen.names
        theta = dict(zip(names, self.nodes[self.owner, node].T, strict=True))
        eta = theta[RELIABILITY] * gap + theta.get(POSITION, 0.0)
        slopes = theta[RELIABILITY][:, None] * self.by_gap
        if self.axis is not None:
            eta = eta + theta[STANCE] * (self.axis + self.signs * axis[0])
            slopes = np.concatenate([slopes, (theta[STANCE] * self.signs)[:, None]], axis=1)
        nu = np.full(len(gap), -np.inf)
        if READINESS in theta:
            nu = theta[READINESS] + self.ready
        return slopes, np.asarray(eta), nu
