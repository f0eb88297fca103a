"""What a calibration is made from: the items of both tables, and what else is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, sqrt
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, TextArray
from aggcal._core.text import brief
from aggcal.aggregation.covariance import MOST_DENSE, Covariance
from aggcal.aggregation.groups import several
from aggcal.calibration.anchors import Anchors
from aggcal.calibration.atc import project, projected_rows
from aggcal.calibration.dependence import Agreement, agreement
from aggcal.calibration.draws import Knowledge
from aggcal.calibration.fused import Fusion, fuse, proportional
from aggcal.calibration.moments import Moments, moments
from aggcal.calibration.pooling import Pooled, pool
from aggcal.calibration.risk import Risk, projection_risk
from aggcal.calibration.shapes import MixedBase, log_likelihood, mixed_base
from aggcal.calibration.within import levelled, located, n_levels
from aggcal.errors import OptionError

_WITHOUT_ANCHORS = (
    "moments", "base", "projected", "pooled", "places", "fusible_moments", "logarithmic", "logged",
)  # fmt: skip
"""What takes time and no anchor changes: it is worked out once for all parts of the anchors."""


_CLEARLY_LOG = 2.0
"""By how much the log likelihood must rise for errors to count as proportions. With 0, scores were
worse than the model's in 29% of 240 simulated small studies instead of 26%, and no better on
average; with more, fewer proportions are seen."""

_FEWEST_FOR_LOG = 5
"""Items that tell even errors from proportional ones."""


@dataclass(frozen=True)
class Outlook:
    """What the projection does if the truth follows exactly what the annotators agree on.

    ``distance`` is how far such a truth is from the consensus order (root mean square, in the
    model's units), ``hurts`` the share of draws in which calibrated scores are further from it than
    the model's.
    """

    distance: float
    hurts: float


@dataclass(frozen=True, eq=False)
class Inputs:
    """What a calibration was made from: the items that are in both tables."""

    item_ids: TextArray
    model: FloatArray
    consensus: FloatArray
    """On the scale of ``covariance``. Where there are several components, each is where the model
    puts it: nothing else relates them."""
    covariance: Covariance | None
    weight: FloatArray
    variances: FloatArray | None
    """Of the model's scores, where they are known."""
    anchors: Anchors | None
    second: FloatArray | tuple[FloatArray, ...] | None
    """Scores of a second model, or of several; NaN where one has none."""
    level: float
    seed: int
    degrees_of_freedom: float = inf
    """Degrees of freedom of ``covariance``."""
    drawn: bool = True
    """Whether the anchors are a random sample, as far as is known."""
    component: IntArray | None = None
    """Connected component of each item, by a number from 0; None where all are in one. Nothing
    orders items of different components."""

    __repr__ = brief

    @property
    def others(self) -> tuple[FloatArray, ...]:
        """The scores of further models."""
        if self.second is None:
            return ()
        return self.second if isinstance(self.second, tuple) else (self.second,)

    @cached_property
    def pooled(self) -> Pooled | None:
        """The model and further ones as one; None where there are none, or none that tell."""
        if not self.others:
            return None
        wide = 0.0 if self.covariance is None else float(self.covariance.variances.sum())
        wide /= len(self.model) - n_levels(self.component)
        known = None if self.variances is None else self.model_variance
        models = (self.model, *self.others)
        return pool(models, self.consensus, wide, known, self.component)

    @property
    def fusible(self) -> FloatArray:
        """The scores that are fused with the consensus: of the model, or of all models pooled."""
        return self.model if self.pooled is None else self.pooled.model

    def located(self, consensus: FloatArray) -> FloatArray:
        """Return consensus scores with each component where what is fused puts it."""
        return located(consensus, self.fusible, self.component)

    @cached_property
    def places(self) -> FloatArray:
        """The consensus scores, with each component where what is fused puts it."""
        return self.located(self.consensus)

    @cached_property
    def moments(self) -> Moments:
        """How the model relates to the consensus, on the scale on which it is straightest."""
        return self._moments(self.base)

    @cached_property
    def fusible_moments(self) -> Moments:
        """How what is fused relates to the consensus."""
        if self.pooled is None:
            return self.moments
        found = moments(
            self.fusible, self.places, self.covariance, base=self.base, component=self.component
        )
        noise = float(self.pooled.noise.mean())
        return replace(
            found, crowd=self.pooled.crowd, noise=noise, known="second model", hedged=None
        )

    def _moments(self, base: MixedBase | None) -> Moments:
        known = None if self.variances is None else float(self.variances.mean())
        return moments(
            self.model,
            self.places,
            self.covariance,
            model_variance=known,
            second=self.others[0] if self.others else None,
            base=base,
            component=self.component,
        )

    @cached_property
    def projected(self) -> tuple[FloatArray, IntArray]:
        """The projection, and its blocks."""
        return project(self.consensus, self.model, self.weight, self.component)

    @cached_property
    def base(self) -> MixedBase:
        """What the model's score is expected to be at each consensus score."""
        return mixed_base(self.places, self.fusible, self.seed, self.component)

    @cached_property
    def fused(self) -> Fusion:
        """Model and consensus mixed, which predictions start from."""
        noise = None if self.pooled is None else self.pooled.noise
        if self.logarithmic:
            raw = self.with_anchors(None)
            return proportional(self.model, raw.logged.fused, self.moments, self.anchors)
        return fuse(
            self.fusible,
            self.places,
            self.covariance,
            self.fusible_moments,
            self.base,
            variances=self.variances if noise is None else noise,
            anchors=self.anchors,
            component=self.component,
        )

    @cached_property
    def logarithmic(self) -> bool:
        """Whether the model's errors are proportions: even on the scale of its logarithm.

        Asked where nothing else is known: a stated sd is one of even errors.
        """
        told = len(self.model) - n_levels(self.component)
        if self.variances is not None or self.others or told < _FEWEST_FOR_LOG:
            return False
        if not (self.model > 0.0).all() or not self.base.slope > 0.0:
            return False
        logged = self.logged
        gained = log_likelihood(logged.base, logged.places, logged.model)
        gained -= log_likelihood(self.base, self.places, self.model)
        # Densities of another scale: those of the logarithm are wider by the scores themselves.
        return gained - float(logged.model.sum()) > _CLEARLY_LOG

    @cached_property
    def logged(self) -> Inputs:
        """The same with the logarithm of the model's scores, and without anchors."""
        other = replace(self, model=np.log(self.model), anchors=None)
        vars(other)["logarithmic"] = False
        return other

    def to_dict(self) -> dict[str, Any]:
        """Say what else was known: plain data."""
        return {
            "model_sd": None if self.variances is None else self.model_variance**0.5,
            "n_anchors": 0 if self.anchors is None else len(self.anchors[0]),
            "second_model": self.second is not None,
            **({} if self.component is None else {"n_components": n_levels(self.component) + 1}),
            **({"n_further_models": len(self.others)} if len(self.others) > 1 else {}),
        }

    def with_anchors(self, anchors: Anchors | None) -> Inputs:
        """Return the same with other anchors; what they do not change is kept as worked out."""
        other = replace(self, anchors=anchors)
        kept = {name: vars(self)[name] for name in _WITHOUT_ANCHORS if name in vars(self)}
        vars(other).update(kept)
        return other

    def only(self, positions: IntArray) -> Inputs:
        """Return some components alone, which have the items at these positions, without anchors.

        What all items tell of the draws is kept; other models are left out.
        """
        other = replace(
            self,
            item_ids=self.item_ids[positions],
            model=self.model[positions],
            consensus=self.consensus[positions],
            covariance=None if self.covariance is None else self.covariance.of(positions),
            weight=self.weight[positions],
            variances=None if self.variances is None else self.variances[positions],
            anchors=None,
            second=None,
            component=None if self.component is None else several(self.component[positions]),
        )
        known = self.knowledge
        vars(other)["knowledge"] = None if known is None else known.only(positions)
        vars(other)["agreement"] = self.agreement
        return other

    @cached_property
    def knowledge(self) -> Knowledge | None:
        """What draws of the exact consensus are made from; None where it counts as exact."""
        if self.covariance is None:
            return None
        least = 0.0 if self.variances is None else float(self.variances.min())
        return Knowledge(
            self.consensus,
            self.covariance,
            self.model,
            self._moments(None),
            least,
            self.degrees_of_freedom,
            self.component,
        )

    @cached_property
    def agreement(self) -> Agreement | None:
        """How the model agrees with the estimate; None where that counts as exact."""
        return None if self.knowledge is None else agreement(self.knowledge, self.seed)

    @property
    def dependent(self) -> bool:
        """Whether the model's scores may know of the same judgments: intervals do without them."""
        return self.agreement is not None and self.agreement.suspected

    @cached_property
    def outlook(self) -> Outlook | None:
        """What calibration does if the truth follows the exact consensus; None if not known.

        None too where calibration does nothing, or the model knows of the same judgments.
        """
        if self.knowledge is None or len(self.model) > MOST_DENSE or self.dependent:
            return None
        projected, even = self.projected[0], np.ones(len(self.model))
        if not (projected != self.model).any():
            return None
        square, hurts, total, level = 0.0, 0, 0, self.model.mean()
        truths = np.array([slope * drawn for drawn, slope in self.knowledge.draws(self.seed)])
        nearest = projected_rows(self.consensus, truths, even, self.component)
        for scaled, near in zip(truths, nearest, strict=True):
            apart = scaled - near
            square += float(apart @ apart)
            # The level of the truth is that of the model, in the mean of each component.
            moved = scaled + (level - scaled.mean()) if self.component is None else scaled
            truth = levelled(moved, self.model, self.component)
            before, after = self.model - truth, projected - truth
            hurts += bool(after @ after > before @ before)
            total += 1
        return Outlook(sqrt(square / total / len(self.model)), hurts / total)

    @cached_property
    def risk(self) -> Risk:
        """The error of the projection, by the stated sd."""
        variances = self.variances
        if variances is None:
            variances = np.full(len(self.model), self.model_variance)
        return projection_risk(self.model, *self.projected, self.weight, variances)

    @property
    def model_variance(self) -> float:
        """The model's mean squared error, as it was stated."""
        if self.variances is None:
            raise OptionError("nobody stated the standard deviation of the model's scores.")
        return float(self.variances.mean())
