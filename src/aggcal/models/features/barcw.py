r"""Bayesian ranking with comparison weights (BARCW): annotators who may answer at random.

There is no public code of BARCW, and no more than a description to go by: a Gaussian-process prior
on the scores, and comparisons weighted by the reliability of who made them. This is our reading of
it. Annotator u either judges by the probit model of `gppl`, always, or answers at random, always;
the share π of the first kind has a Beta(2, 2) prior:

    Σ_u log( π Π_r Φ(d_r/√2) + (1 − π) Π_r ½ )  −  ½ f'K⁻¹f  +  log π(1 − π)

Its optimum is found by expectation and maximisation: given f and π, the weight w_u of an annotator
is the posterior probability of the first kind; given the weights, f is the mode of the preference
model in which u's judgments count w_u each, and π = (1 + Σ w_u)/(2 + m). An annotator who answers
the other way round fits neither kind, and the second better: the weight is then near 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from scipy.special import expit

from aggcal._core.arrays import FloatArray
from aggcal.models.features.gppl import row_losses
from aggcal.models.rows import Rows


@dataclass(frozen=True, eq=False)
class Trust:
    """Who judges and who guesses, at some scores.

    Parameters
    ----------
    weights
        w_u, between 0 and 1.
    log_likelihood
        Log-likelihood of all judgments, with the kinds of the annotators summed out.
    """

    weights: FloatArray
    log_likelihood: float

    @classmethod
    def at(cls, rows: Rows, scores: FloatArray, share: float) -> Trust:
        """Find the weights for given scores and a given share of annotators who judge.

        Examples
        --------
        >>> import aggcal
        >>> from aggcal.models.rows import rows_of
        >>> rows = rows_of(aggcal.read_judgments([("ann", "a", "b"), ("eve", "b", "a")]))
        >>> Trust.at(rows, np.array([2.0, 0.0]), 0.5).weights.round(2)
        array([0.65, 0.14])
        """
        begins = rows.starts[:-1]
        judged = log(share) - np.add.reduceat(rows.weight * row_losses(rows, scores), begins)
        guessed = log(1.0 - share) - log(2.0) * np.add.reduceat(rows.weight, begins)
        return cls(expit(judged - guessed), float(np.sum(np.logaddexp(judged, guessed))))

    @property
    def share(self) -> float:
        """The share of annotators who judge that fits the weights best, with its prior."""
        return (1.0 + float(self.weights.sum())) / (2.0 + len(self.weights))

    def weighted(self, rows: Rows) -> Rows:
        """Return the rows, each with its annotator's weight, and forget who judged."""
        own = np.repeat(self.weights, np.diff(rows.starts))
        return Rows(rows.winner, rows.loser, rows.weight * own, rows.starts, rows.n_items).pooled()
