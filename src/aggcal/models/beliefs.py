"""What is known of the annotators: before they are seen, and at given scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.text import brief

NODES = 6
"""Values of γ for each annotator: three of either sign."""


@dataclass(frozen=True)
class Population:
    """What items and annotators are like before they are seen.

    Parameters
    ----------
    score_sd
        σ: s_i ~ N(0, σ²).
    reliability_sd
        τ: ρ_u ~ N(1, τ²).
    reversed_share
        π: the share of annotators who answer the other way round.
    """

    score_sd: float
    reliability_sd: float
    reversed_share: float


@dataclass(frozen=True, eq=False)
class Beliefs:
    """The posterior of every annotator's reliability at given scores.

    ``nodes`` are values of γ and ``weights`` their posterior probabilities, annotators by nodes.
    """

    nodes: FloatArray
    weights: FloatArray
    log_evidence: float

    __repr__ = brief

    @cached_property
    def strengths(self) -> FloatArray:
        """Values of ρ: γ without the sign of its half."""
        return np.asarray(self.nodes * np.repeat([1.0, -1.0], NODES // 2))

    @cached_property
    def reliability(self) -> FloatArray:
        """Posterior mean of γ."""
        return np.asarray((self.weights * self.nodes).sum(axis=1))

    @cached_property
    def reliability_variance(self) -> FloatArray:
        """Posterior variance of γ, the scores held."""
        return np.asarray((self.weights * self.reliability_off**2).sum(axis=1))

    @cached_property
    def strength(self) -> FloatArray:
        """Posterior mean of ρ."""
        return np.asarray((self.weights * self.strengths).sum(axis=1))

    @cached_property
    def strength_variance(self) -> FloatArray:
        """Posterior variance of ρ, the scores held."""
        return np.asarray((self.weights * self.strength_off**2).sum(axis=1))

    @cached_property
    def covariance(self) -> FloatArray:
        """Posterior covariance of γ and ρ, the scores held."""
        return np.asarray((self.weights * self.reliability_off * self.strength_off).sum(axis=1))

    @cached_property
    def reliability_off(self) -> FloatArray:
        """γ less its mean, node by node."""
        return self.nodes - self.reliability[:, None]

    @cached_property
    def strength_off(self) -> FloatArray:
        """ρ less its mean, node by node."""
        return self.strengths - self.strength[:, None]

    @cached_property
    def logits(self) -> FloatArray:
        """Logits of the nodes, where they are probabilities."""
        return np.log(self.nodes / (1.0 - self.nodes))

    @cached_property
    def logit(self) -> FloatArray:
        """Posterior mean of the logit."""
        return np.asarray((self.weights * self.logits).sum(axis=1))

    @cached_property
    def logit_variance(self) -> FloatArray:
        """Posterior variance of the logit, the scores held."""
        off = self.logits - self.logit[:, None]
        return np.asarray((self.weights * off**2).sum(axis=1))

    @property
    def reversed(self) -> FloatArray:
        """Posterior probability that the annotator answers the other way round."""
        return np.asarray(self.weights[:, NODES // 2 :].sum(axis=1))
