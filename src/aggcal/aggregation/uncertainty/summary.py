"""Standard errors and intervals of a consensus, and what they cover."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, frozen
from aggcal._core.blas import in_one_thread
from aggcal._core.compiled_scipy import expit
from aggcal._core.records import dataclass
from aggcal._core.text import brief
from aggcal.aggregation.uncertainty.certified import Certified
from aggcal.aggregation.uncertainty.components import apart, several
from aggcal.aggregation.uncertainty.covariance import MOST_DENSE, Covariance
from aggcal.aggregation.uncertainty.ranks import (
    could_be_first,
    drawn_scores,
    first_shares,
    rank_intervals,
)
from aggcal.aggregation.uncertainty.scale import Scale
from aggcal.aggregation.uncertainty.shape import Shaped, top_shares
from aggcal.aggregation.uncertainty.t_distribution import probability_below, quantile
from aggcal.errors import AggcalWarning, OptionError, WeaklyJoinedWarning
from aggcal.registry import UNCERTAINTIES

_EDGE = 1e-6
"""How near to 0 and 1 the mean of a probability may be, and to 0 the parameters of its law."""


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """How far scores, ranks and reliabilities can be trusted.

    Intervals are about the consensus, not about the truth; ``covers`` says of what in words.
    """

    kind: str
    level: float
    scores: FloatArray
    covariance: Covariance
    rank_low: IntArray
    rank_high: IntArray
    reliability_low: FloatArray | None = None
    reliability_high: FloatArray | None = None
    degrees_of_freedom: float = inf
    """Degrees of freedom of the variances: few where they come from few annotators or draws."""
    warnings: tuple[AggcalWarning, ...] = ()
    component: IntArray | None = None
    """Label of each item's component or weakly joined group; None where all are in one."""
    shape: Shaped | None = field(default=None, repr=False)
    """The posterior of the scores under a prior of estimated shape, where there is one."""
    rank_draws: IntArray | None = field(default=None, repr=False)
    """Sorted ranks of each item in draws of all scores; None for many items or components."""
    seed: int = 0
    """Seed of these draws."""
    scale: Scale | None = field(default=None, repr=False)
    """What the scale of all scores adds to ``covariance``; no order depends on it."""
    slow: FloatArray | None = field(default=None, repr=False)
    """Directions along which a level that was known beforehand would show, if any."""

    __repr__ = brief

    @classmethod
    @in_one_thread
    def of(
        cls,
        kind: str,
        level: float,
        scores: FloatArray,
        covariance: Covariance,
        *,
        reliabilities: FloatArray | None = None,
        reliability_variances: FloatArray | None = None,
        logits: tuple[FloatArray, FloatArray] | None = None,
        bounds: tuple[float, float] = (-np.inf, np.inf),
        degrees_of_freedom: float = inf,
        scale: Scale | None = None,
        prior_sd: float | None = None,
        warnings: tuple[AggcalWarning, ...] = (),
        component: IntArray | None = None,
        slow: FloatArray | None = None,
        seed: int = 0,
    ) -> Uncertainty:
        """Derive intervals from a covariance.

        Parameters
        ----------
        kind, level
            Kind and level of the intervals.
        scores, covariance
            The reported scores and their covariance.
        reliabilities, reliability_variances, bounds
            The reported reliabilities, their variances, and where they end.
        logits
            Means and variances of their logits, where they are probabilities.
        degrees_of_freedom
            Degrees of freedom of the variances.
        scale
            What the scale of the scores adds to the covariance.
        prior_sd
            Spread of the scores' normal prior, where there is one: ranks and orders are then those
            under a prior whose shape is estimated, too.
        warnings
            What to say about them.
        component
            Label of each item's connected component, or of its weakly joined group: nothing is
            claimed across them.
        slow
            Directions along which a level that was known beforehand would show.
        seed
            Seed for the draws that give the rank intervals.

        Examples
        --------
        >>> from aggcal.aggregation.uncertainty.covariance import DenseCovariance
        >>> found = Uncertainty.of("laplace", 0.9, np.zeros(2), DenseCovariance(np.eye(2)))
        >>> found.high.round(3)
        array([1.163, 1.163])
        """
        check_level(level)
        component = several(component)
        shape = None
        if prior_sd is not None and len(scores) <= MOST_DENSE:
            shape = Shaped.of(scores, covariance.variances, prior_sd)
        found = rank_intervals(
            scores,
            covariance,
            level,
            seed,
            degrees_of_freedom=degrees_of_freedom,
            shape=shape,
            component=component,
        )
        ends: tuple[FloatArray | None, FloatArray | None] = (None, None)
        if reliabilities is not None and reliability_variances is not None:
            ends = _between(reliabilities, reliability_variances, level, degrees_of_freedom, bounds)
            if logits is not None:
                # Either law is a little too narrow at one level or the other: the wider ends count.
                others = _between(*logits, level, degrees_of_freedom, (-inf, inf))
                ends = (
                    frozen(np.minimum(ends[0], expit(others[0]))),
                    frozen(np.maximum(ends[1], expit(others[1]))),
                )
        return cls(
            kind,
            level,
            scores,
            covariance,
            frozen(found.low),
            frozen(found.high),
            *ends,
            degrees_of_freedom,
            warnings,
            component,
            shape,
            found.draws,
            seed,
            scale,
            slow,
        )

    @property
    def covers(self) -> str:
        """What the intervals cover."""
        known = UNCERTAINTIES.get(self.kind)
        return "the consensus" if known is None else known.covers

    def to_dict(self) -> dict[str, Any]:
        """Return what kind of uncertainty it is: plain data, as in ``summary.json``."""
        return {"kind": self.kind, "level": self.level, "covers": self.covers}

    @property
    def divided(self) -> str:
        """What the parts are called across which nothing is claimed."""
        weak = any(warning.code == WeaklyJoinedWarning.code for warning in self.warnings)
        return "weakly connected groups" if weak else "connected components"

    @cached_property
    def se(self) -> FloatArray:
        """Standard error of each score."""
        if self.scale is None:
            return frozen(self.order_se)
        return frozen(np.sqrt(self.covariance.variances + self.scale.added))

    @property
    def order_se(self) -> FloatArray:
        """Standard error of each score as far as its place among the others depends on it."""
        return np.sqrt(self.covariance.variances)

    @property
    def low(self) -> FloatArray:
        """Lower end of each score's interval."""
        return self.scores - _critical_value(self.level, self.degrees_of_freedom) * self.se

    @property
    def high(self) -> FloatArray:
        """Upper end of each score's interval."""
        return self.scores + _critical_value(self.level, self.degrees_of_freedom) * self.se

    def draws(self) -> FloatArray | None:
        """Draw all scores, a row a draw: their orders are those that the ranks come from.

        None for many items, whose correlations are not at hand.
        """
        if len(self.scores) > MOST_DENSE and self.shape is None:
            return None
        random = np.random.default_rng(self.seed)
        drawn = drawn_scores(
            self.scores, self.covariance, self.degrees_of_freedom, self.shape, random
        )
        if self.scale is None:
            return drawn
        # Its logarithm is nearly normal, and no order changes.
        log_scale = np.sqrt(np.log1p(self.scale.variance)) * random.standard_normal(len(drawn))
        return np.asarray(np.exp(log_scale)[:, None] * drawn)

    def top_probabilities(self, stops: IntArray) -> FloatArray | None:
        """Probability that each item is among the first k, for each k of ``stops``.

        From the same draws as the rank intervals; None where there are none (many items, or several
        connected components).
        """
        return None if self.rank_draws is None else top_shares(self.rank_draws, stops)

    def could_be_first(self) -> IntArray | None:
        """Positions of the items that could be first, the likeliest first.

        With probability ``level`` the first item of the consensus is among them. None where there
        are several connected components.
        """
        if self.component is not None:
            return None
        if self.rank_draws is None:
            shares = first_shares(self.scores, self.order_se, 0)
        else:
            shares = top_shares(self.rank_draws, np.array([1]))[:, 0]
        return could_be_first(shares, self.level)

    def order_probability(self, i: IntArray, j: IntArray) -> FloatArray:
        """Probability that the item at position i is above that at j, for the consensus.

        The normal posterior and, where it is less sure, that of the ranks (see
        ``uncertainty.shape``) count by how well their priors fit the scores.
        NaN where the two are in different components: nothing compares them.
        """
        i, j = np.broadcast_arrays(np.atleast_1d(i), np.atleast_1d(j))
        gap = self.scores[i] - self.scores[j]
        sd = np.sqrt(self.covariance.gap_variance(i, j))
        ratio = np.divide(gap, sd, out=np.copysign(np.inf, gap), where=sd > 0.0)
        probability = probability_below(np.where(gap == 0.0, 0.0, ratio), self.degrees_of_freedom)
        if self.shape is not None:
            other, half = self.shape.order_probability(i, j), np.full(len(gap), 0.5)
            least, most = np.minimum(half, probability), np.maximum(half, probability)
            probability = probability + self.shape.share * (
                np.clip(other, least, most) - probability
            )
        return np.where(apart(self.component, i, j), np.nan, probability)

    def certified(self, level: float | None = None) -> Certified:
        """Return the pairs whose order is certified at a family-wise level."""
        level = self.level if level is None else level
        check_level(level)
        return Certified(
            self.scores, self.covariance, level, self.degrees_of_freedom, self.component
        )

    def wrong_order_bound(self) -> float:
        """δ₁: posterior chance, at most, that some two neighbours of the ranking are the wrong way.

        An order is right if and only if its n − 1 neighbouring pairs are, so only they are added.
        It is 1 where there are several components: nothing orders their items.
        """
        if self.component is not None:
            return 1.0
        order = np.argsort(-self.scores, kind="stable")
        above, below = order[:-1], order[1:]
        gap = self.scores[above] - self.scores[below]
        sd = np.sqrt(self.covariance.gap_bound(above, below))
        with np.errstate(divide="ignore", invalid="ignore"):
            wrong = np.where(sd > 0.0, probability_below(-gap / sd, self.degrees_of_freedom), 0.0)
        if self.shape is not None:
            # A bound takes whichever posterior is less sure.
            wrong = np.maximum(wrong, 1.0 - self.shape.order_probability(above, below))
        return float(min(1.0, wrong.sum()))


def check_level(level: float) -> None:
    """Refuse a level that is none."""
    if not 0.0 < level < 1.0:
        raise OptionError(f"the level is {level}; give a number between 0 and 1, such as 0.95.")


def _between(
    middle: FloatArray,
    variances: FloatArray,
    level: float,
    degrees_of_freedom: float,
    bounds: tuple[float, float],
) -> tuple[FloatArray, FloatArray]:
    """Return intervals of numbers with these means and variances.

    Those of probabilities are by the Beta distribution, others by the normal one or Student's.
    """
    if bounds != (0.0, 1.0):
        critical_value = _critical_value(level, degrees_of_freedom) * np.sqrt(variances)
        return frozen(middle - critical_value), frozen(middle + critical_value)
    from aggcal._core.compiled_scipy import betaincinv

    middle = np.clip(middle, _EDGE, 1.0 - _EDGE)
    total = middle * (1.0 - middle) / variances - 1.0
    a, b = (np.maximum(total * part, _EDGE) for part in (middle, 1.0 - middle))
    tail = 0.5 * (1.0 - level)
    return frozen(betaincinv(a, b, tail)), frozen(betaincinv(a, b, 1.0 - tail))


def _critical_value(level: float, degrees_of_freedom: float) -> float:
    return quantile(0.5 * (1.0 + level), degrees_of_freedom)
