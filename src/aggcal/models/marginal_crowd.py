r"""The crowd mixtures with the annotators' probabilities of an honest report integrated out.

P = η F(d/c) + (1 − η) F(−d/c), η ~ Beta(α, β). On the logit scale t of η the posterior has one
mode; six Gauss–Hermite nodes lie around it. All else is as in `models.marginal`.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from scipy.special import expit

from aggcal._core.arrays import BoolArray, FloatArray
from aggcal.models.beliefs import NODES, Beliefs, Population
from aggcal.models.crowd import Crowd, Seen
from aggcal.models.marginal import EXACT, Integrated
from aggcal.models.quadrature import GAP_WEIGHTS, GAPS

_STEPS = 60
"""Newton steps to a mode at most: more than the halving of an interval takes to find it exactly."""
_FIRST = 1.5
"""Logit of η to begin with: four honest reports in five."""
_FURTHEST = 12.0
"""Largest logit: beyond, honest and certain are the same."""


class IntegratedCrowd(Integrated):
    """The likelihood of a crowd mixture with η integrated out.

    Parameters
    ----------
    problem
        The mixture: its rows, link and priors.
    alpha, beta
        Parameters of the Beta prior of η.
    """

    def __init__(self, problem: Crowd, alpha: float, beta: float) -> None:
        super().__init__(problem.rows, problem.link)
        self.problem, self._alpha, self._beta = problem, alpha, beta
        nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
        self._nodes, self._log_weights = nodes, np.log(weights / weights.sum())
        self.restart()

    def restart(self) -> None:
        """Forget where the modes are."""
        self._modes[:] = _FIRST

    def begin_with(self, beliefs: Beliefs) -> None:
        """Look for the modes near the middle of the nodes."""
        middle = np.sqrt(beliefs.nodes[:, 2] * beliefs.nodes[:, 3])
        self._modes[:, 0] = np.log(middle / (1.0 - middle))

    def rescale(self, factor: float) -> None:
        """Do nothing: η does not depend on the scale of the scores."""

    def evaluate(
        self,
        scores: FloatArray,
        row_sd: Any,
        population: Population,  # noqa: ARG002
        means: FloatArray,  # noqa: ARG002
        hopeless: BoolArray | None = None,  # noqa: ARG002
        *,
        close: float = EXACT,
    ) -> Beliefs:
        """Integrate η out at these scores; what is asked of reliabilities is not used."""
        self.passes += 1
        rows, m = self.rows, self.rows.n_annotators
        gaps, share = (scores[self._winner] - scores[self._loser])[None], rows.weight[None]
        if np.any(row_sd):
            gaps, share = gaps + GAPS[:, None] * row_sd, GAP_WEIGHTS[:, None] * share
        seen = self.problem.seen(gaps)
        mode, wide = self._find_modes(seen, share, close)
        logits = np.clip(mode[:, None] + self._nodes * wide[:, None], -_FURTHEST, _FURTHEST)
        nodes, logs = expit(logits), np.empty((m, NODES))
        pulls, curves = np.empty((NODES, len(rows))), np.empty((NODES, len(rows)))
        for k in range(NODES):
            eta = nodes[:, k]
            theta = np.repeat(eta, self._sizes)
            loss, d, dd = seen.in_gap(theta, seen.inverse(theta))
            pulls[k] = -(share * d).sum(axis=0)
            curves[k] = (share * dd).sum(axis=0)
            logs[:, k] = (
                self._alpha * np.log(eta)
                + self._beta * np.log1p(-eta)
                - self._by_annotator(share * loss)
                + self._log_weights[k]
                + 0.5 * self._nodes[k] ** 2
                + np.log(wide)
            )
        most = logs.max(axis=1, keepdims=True)
        weights = np.exp(logs - most)
        total = weights.sum(axis=1, keepdims=True)
        weights /= total
        self._keep(weights, pulls, curves)
        self.beliefs = Beliefs(nodes, weights, float((most + np.log(total)).sum()))
        return self.beliefs

    def _by_annotator(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(values.sum(axis=0), self._starts[:-1]))

    def _find_modes(
        self, seen: Seen, share: FloatArray, close: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return the mode of each annotator's logit and the width of the posterior there."""
        m, mode = self.rows.n_annotators, self._modes[:, 0].copy()
        low, high = np.full(m, -_FURTHEST), np.full(m, _FURTHEST)
        # Each stops on their own: whoever else judged must make no difference.
        bent, far = np.ones(m), np.ones(m, dtype=bool)
        for _ in range(_STEPS):
            eta = expit(mode)
            slope, slope_slope = seen.in_theta(seen.inverse(np.repeat(eta, self._sizes)))
            first, second = eta * (1.0 - eta), eta * (1.0 - eta) * (1.0 - 2.0 * eta)
            pull = self._by_annotator(share * slope)
            bend = self._by_annotator(share * slope_slope)
            rise = -pull * first + self._alpha * (1.0 - eta) - self._beta * eta
            prior = (self._alpha + self._beta) * first
            curvature = bend * first**2 + pull * second + prior
            curvature = np.maximum(curvature, 0.1 * prior)
            low, high = np.where(rise > 0.0, mode, low), np.where(rise < 0.0, mode, high)
            step = np.clip(rise / curvature, -1.0, 1.0)
            new = mode + step
            new = np.where((new > low) & (new < high), new, 0.5 * (low + high))
            bent = np.where(far, curvature, bent)
            still = far & ((new - mode) ** 2 * curvature >= close)
            mode, far = np.where(far, new, mode), still
            if not far.any():
                break
        self._modes[:, 0] = mode
        return mode, 1.0 / np.sqrt(bent)


@singledispatch
def integrated_crowd(problem: Crowd, alpha: float, beta: float) -> IntegratedCrowd:
    """Return the likelihood of a mixture with η integrated out; engines register theirs."""
    return IntegratedCrowd(problem, alpha, beta)
