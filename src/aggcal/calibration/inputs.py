"""What a calibration is made from: the items of both tables, and what else is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf, sqrt
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, TextArray
from aggcal._core.tables import aligned
from aggcal._core.text import brief
from aggcal.aggregation.uncertainty import Covariance
from aggcal.aggregation.uncertainty.covariance import MOST_DENSE
from aggcal.calibration.atc import project, projected_values
from aggcal.calibration.draws import Knowledge, agreement
from aggcal.calibration.fused import Fused, fuse
from aggcal.calibration.moments import Moments, moments
from aggcal.calibration.risk import Risk, projection_risk
from aggcal.calibration.safe import james_stein
from aggcal.data.scores import Scores
from aggcal.errors import (
    AggcalWarning,
    AnchorsWarning,
    OptionError,
    TooLittleDataError,
    count,
    some,
)
from aggcal.io import read_scores
from aggcal.io.scores import read_truth

FEWEST_ANCHORS = 5
_FEWEST_SHARED = 5


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
    """On the scale of ``covariance``."""
    covariance: Covariance | None
    weight: FloatArray
    variances: FloatArray | None
    """Of the model's scores, where they are known."""
    anchors: tuple[IntArray, FloatArray] | None
    second: FloatArray | None
    level: float
    seed: int
    freedom: float = inf
    """Degrees of freedom of ``covariance``."""

    __repr__ = brief

    @cached_property
    def moments(self) -> Moments:
        """How the model relates to the consensus."""
        known = None if self.variances is None else float(self.variances.mean())
        return moments(
            self.model,
            self.consensus,
            self.covariance,
            model_variance=known,
            second=self.second,
        )

    @cached_property
    def projected(self) -> tuple[FloatArray, IntArray]:
        """The projection, and its blocks."""
        return project(self.consensus, self.model, self.weight)

    @cached_property
    def fused(self) -> Fused:
        """The fused scores."""
        return self.fused_with(self.anchors)

    def fused_with(self, anchors: tuple[IntArray, FloatArray] | None) -> Fused:
        """Fuse with these anchors instead."""
        return fuse(
            self.model,
            self.consensus,
            self.covariance,
            self.moments,
            variances=self.variances,
            anchors=anchors,
            base=None if "fused" not in self.__dict__ else self.fused.base,
            seed=self.seed,
        )

    def to_dict(self) -> dict[str, Any]:
        """Say what else was known: plain data."""
        return {
            "model_sd": None if self.variances is None else self.model_variance**0.5,
            "n_anchors": 0 if self.anchors is None else len(self.anchors[0]),
            "second_model": self.second is not None,
        }

    def fused_to_dict(self) -> dict[str, Any]:
        """Say what was fused with what, and how well it is expected to do: plain data."""
        found, noise = self.fused, self.moments.noise
        return {
            "weight_of_line": found.base.straight,
            "shift": found.shift,
            "known_from": found.known,
            "expected_mse": {
                "model": noise,
                "consensus": self.moments.ranking + self.moments.crowd,
                "fused": float(found.kept.mean()) * noise,
            },
        }

    def calibrated(self, method: str) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return the calibrated scores, their blocks, and how much of the model each kept."""
        projected, block = self.projected
        none = np.zeros(len(block), dtype=np.int64)
        if method == "fused":
            return self.fused.values, none, self.fused.kept
        if method == "safe":
            # The theorem is about the unweighted projection.
            projected, block = project(self.consensus, self.model)
            blocks = int(block.max())
            values, kept = james_stein(self.model, projected, blocks, self.model_variance)
            return values, none, np.full(len(values), kept)
        return projected, block, np.zeros(len(block))

    @cached_property
    def knowledge(self) -> Knowledge | None:
        """What draws of the exact consensus are made from; None where it counts as exact."""
        if self.covariance is None:
            return None
        least = 0.0 if self.variances is None else float(self.variances.min())
        return Knowledge(
            self.consensus, self.covariance, self.model, self.moments, least, self.freedom
        )

    @cached_property
    def dependent(self) -> bool:
        """Whether the model agrees with the estimate more than any exact consensus does.

        Then its scores know of the same judgments.
        """
        return self.knowledge is not None and agreement(self.knowledge, self.seed).beyond_chance

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
        square, hurts, total = 0.0, 0, 0
        for drawn, slope in self.knowledge.draws(self.seed):
            truth = slope * drawn
            apart = truth - projected_values(self.consensus, truth, even)
            square += float(apart @ apart)
            # The level of the truth is that of the model, in the mean.
            truth += self.model.mean() - truth.mean()
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
            raise OptionError(
                "the safe calibrator needs the standard deviation of the model's scores; give "
                "--model-sd or model_sd=, or an sd column (such as its validation error)."
            )
        return float(self.variances.mean())


def stated_variances(model_sd: float | None, scores: Scores, ids: TextArray) -> FloatArray | None:
    """Return the variance of each model score, where it was stated."""
    if model_sd is not None:
        return np.full(len(ids), model_sd**2)
    if scores.sd is None:
        return None
    return np.square(aligned(scores.sd, scores.item_ids, ids))


def second_scores(second_model: Any, method: str, ids: TextArray) -> FloatArray | None:
    """Return the second model's scores of these items; NaN where it has none."""
    if second_model is None:
        return None
    if method != "fused":
        raise OptionError(f"a second model is of use to 'fused' only, not to '{method}'.")
    if not isinstance(second_model, Scores):
        second_model = read_scores(second_model)
    found = aligned(second_model.values, second_model.item_ids, ids)
    if np.count_nonzero(np.isfinite(found)) < _FEWEST_SHARED:
        raise TooLittleDataError(
            f"{second_model.source}: scores fewer than {_FEWEST_SHARED} of the items that are in "
            "the consensus and in the first model's scores; check that all use the same ids."
        )
    return found


def anchors_among(
    anchors: Any, ids: TextArray
) -> tuple[tuple[IntArray, FloatArray] | None, list[AggcalWarning]]:
    """Return the positions and truths of the anchors among these items."""
    if anchors is None:
        return None, []
    if not isinstance(anchors, Scores):
        anchors = (
            Scores.of({str(k): float(v) for k, v in anchors.items()}, source="anchors")
            if isinstance(anchors, Mapping) and "item" not in anchors
            else read_truth(anchors)[0]
        )
    truth = aligned(anchors.values, anchors.item_ids, ids)
    where = np.flatnonzero(np.isfinite(truth))
    if len(where) < FEWEST_ANCHORS:
        if len(where) == len(anchors):
            raise TooLittleDataError(
                f"{anchors.source}: has {count(len(where), 'anchor')}; give at least "
                f"{FEWEST_ANCHORS}."
            )
        raise TooLittleDataError(
            f"{anchors.source}: only {count(len(where), 'anchor')} of {len(anchors)} "
            f"{'is' if len(where) == 1 else 'are'} among the calibrated items (anchors: "
            f"{some(anchors.item_ids)}; items: {some(ids)}); give at least {FEWEST_ANCHORS}, with "
            "the same ids."
        )
    said: list[AggcalWarning] = []
    here = set(ids)
    lost = [i for i in anchors.item_ids if i not in here]
    if lost:
        said.append(
            AnchorsWarning(
                f"{count(len(lost), 'anchor')} of {len(anchors):,} "
                f"{'is' if len(lost) == 1 else 'are'} not among the calibrated items "
                f"({some(lost)})",
                "an anchor needs a judgment and a model score: the others were used",
            )
        )
    return (where, truth[where]), said
