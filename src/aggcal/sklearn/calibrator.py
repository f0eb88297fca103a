"""Both stages as a regressor: scores of items that follow what annotators agree on."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from aggcal._core.arrays import FloatArray, TextArray
from aggcal._core.tables import aligned
from aggcal.aggregation.consensus import Aggregator, Consensus
from aggcal.aggregation.methods import PriorChoice
from aggcal.aggregation.terms import Terms
from aggcal.calibration import Calibration, Calibrator, calibrate
from aggcal.calibration.inputs import Inputs
from aggcal.calibration.unseen import Placed, predict
from aggcal.data.scores import Scores
from aggcal.errors import OptionError
from aggcal.registry import DEFAULT_CALIBRATOR, DEFAULT_METHOD
from aggcal.registry.literals import CalibratorName, Estimator, MethodName
from aggcal.sklearn.tables import columns_of, consensus_of, numbers, seed_of

_SHAPES = (("item", "score", "sd"), ("item", "score"))


class AggregateCalibrator(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # untyped
    """Calibrate a model's scores of items onto the order on which annotators agree.

    A sample is an item: its id and its score by a model. What is predicted is its true score, in
    the model's units. The judgments are a parameter: they are about pairs of items, so they cannot
    be split with the samples.

    Parameters
    ----------
    judgments
        `aggcal.Judgments`, anything that `aggcal.read_judgments` takes, or a fitted
        `aggcal.Consensus`.
    method, prior, estimator, features, terms
        See `aggcal.aggregate`; for a consensus that is fitted already they are not used.
    calibrator, model_sd, bounds
        See `aggcal.calibrate`.
    anchors
        Whether the true scores ``y`` are used in fitting, as anchors; if not, only in ``score``.
    warn
        Emit the warnings of both stages; ``consensus_`` and ``calibration_`` have them too.
    random_state
        Seed for all random numbers.

    Attributes
    ----------
    consensus_ : Consensus
        What the annotators agree on.
    calibration_ : Calibration
        The calibrated scores of the items that were fitted, with intervals.
    n_features_in_ : int
        The columns of ``X``; their names are in ``feature_names_in_`` if it was a data frame.

    Examples
    --------
    >>> from aggcal.sklearn import AggregateCalibrator
    >>> judgments = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c"), ("bob", "a", "b")]
    >>> found = AggregateCalibrator(judgments, warn=False)
    >>> found.fit([("a", 2.0), ("b", 3.0), ("c", 1.0)]).predict([("a", 2.0), ("c", 1.0)])
    array([2.5, 1. ])
    """

    def __init__(
        self,
        judgments: Any = None,
        *,
        method: MethodName | str | Aggregator = DEFAULT_METHOD,
        prior: PriorChoice = "default",
        estimator: Estimator | None = None,
        features: Any = None,
        terms: Terms | None = None,
        calibrator: CalibratorName | Calibrator = DEFAULT_CALIBRATOR,
        model_sd: float | None = None,
        bounds: tuple[float, float] | None = None,
        anchors: bool = True,
        warn: bool = True,
        random_state: Any = None,
    ) -> None:
        self.judgments = judgments
        self.method = method
        self.prior = prior
        self.estimator = estimator
        self.features = features
        self.terms = terms
        self.calibrator = calibrator
        self.model_sd = model_sd
        self.bounds = bounds
        self.anchors = anchors
        self.warn = warn
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> AggregateCalibrator:  # noqa: N803
        """Aggregate the judgments, and calibrate the scores of these items.

        Parameters
        ----------
        X
            Rows (item, score) or (item, score, sd), or a data frame with columns of these names,
            of which others are passed over. Ids are text; an item may be in one row only.
        y
            True scores, NaN where they are not known: anchors. None if nothing is known.
        sample_weight
            The weight of each item in the calibration; items of weight 0 are left out.
        """
        ids, model, sd = self._items(X, reset=True)
        if self.judgments is None:
            raise OptionError("there are no judgments to calibrate by; give judgments=.")
        anchors = None if y is None else _anchors(X, y, ids)
        kept, weights = np.ones(len(ids), dtype=bool), None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, model[:, None], ensure_non_negative=True)
            kept = weight > 0.0
            weights = dict(zip(ids[kept].tolist(), weight[kept].tolist(), strict=True))
        scores = Scores(ids[kept], model[kept], None if sd is None else sd[kept], "X")
        given = self.judgments
        whole = given if isinstance(given, Consensus) else consensus_of(self, given)
        self.consensus_: Consensus = whole
        self.calibration_: Calibration = calibrate(
            scores,
            self.consensus_,
            method=self.calibrator,
            weights="sd" if weights is None else weights,
            model_sd=self.model_sd,
            anchors=anchors if self.anchors else None,
            bounds=self.bounds,
            seed=seed_of(self.random_state) or 0,
            warn=self.warn,
        )
        return self

    def predict(self, X: Any) -> FloatArray:  # noqa: N803
        """Return the calibrated score of each item.

        An item that was fitted, with the same score, has its calibrated score. Another one is
        predicted from its score, and from its place in the consensus if it was judged.

        Parameters
        ----------
        X
            Rows as for ``fit``.
        """
        check_is_fitted(self)
        ids, model, _ = self._items(X, reset=False)
        done = self.calibration_
        known = aligned(done.calibrated, done.item_ids, ids)
        same = aligned(done.model, done.item_ids, ids) == model
        found = np.where(same, known, np.nan)
        new = np.flatnonzero(np.isnan(found))
        if len(new):
            placed = _placed(self.consensus_, done.inputs, ids[new])
            made = predict(done.inputs, ids[new], model[new], placed, None)
            found[new] = done.scale.scores(made.predicted)
        return found

    def _items(self, given: Any, *, reset: bool) -> tuple[TextArray, FloatArray, FloatArray | None]:
        rows = columns_of(self, given, _SHAPES, reset=reset)
        sd = numbers(rows["sd"], "sd") if "sd" in rows else None
        return rows["item"], numbers(rows["score"], "score"), sd

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.target_tags.required = False
        return tags


def _anchors(rows: Any, y: Any, ids: TextArray) -> Scores | None:
    """Return the true scores that are known."""
    truth = np.asarray(column_or_1d(y, warn=True), dtype=np.float64)
    check_consistent_length(rows, truth)
    if np.isinf(truth).any():
        raise OptionError("Input y contains infinity; give a finite number, or NaN if not known.")
    known = np.isfinite(truth)
    return Scores(ids[known], truth[known], None, "y") if known.any() else None


def _placed(consensus: Consensus, inputs: Inputs, ids: TextArray) -> Placed | None:
    """Return the places of these items in the consensus, with their standard errors."""
    known = consensus.uncertainty
    wanted = set(ids.tolist())
    there = np.array([item in wanted for item in consensus.item_ids.tolist()], dtype=bool)
    if known is None or not there.any():
        return None
    component = np.zeros(len(there), dtype=np.int64)
    home = (component if known.component is None else known.component)[there]
    places = Scores(consensus.item_ids[there], consensus.scores[there], known.se[there])
    return Placed.of(places, consensus, inputs, home)
