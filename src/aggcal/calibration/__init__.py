"""Stage 2: scores in the model's units that follow the consensus."""

from __future__ import annotations

import warnings as python_warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Literal

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, TextArray, frozen, ranks
from aggcal._core.machine import check_seed
from aggcal._core.tables import Columns, aligned, as_frame, as_text
from aggcal._core.text import card, head, unwrapped, wrapped
from aggcal.aggregation.consensus import LEVEL, Consensus
from aggcal.aggregation.uncertainty import Covariance
from aggcal.aggregation.uncertainty.covariance import independent
from aggcal.aggregation.uncertainty.summary import check_level
from aggcal.calibration.anchors import Gain
from aggcal.calibration.inputs import Inputs, anchors_among, second_scores, stated_variances
from aggcal.calibration.intervals import calibrated_intervals
from aggcal.calibration.matching import direction_warnings, unmatched_warnings
from aggcal.calibration.prediction import Prediction, predict
from aggcal.calibration.recommendation import contradictions, recommendation
from aggcal.data.base import AnyJudgments
from aggcal.data.scores import Scores
from aggcal.errors import AggcalWarning, OptionError, TooLittleDataError, count, some
from aggcal.io import read_judgments, read_scores
from aggcal.io.scores import read_truth
from aggcal.registry import CALIBRATORS, DEFAULT_CALIBRATOR

_SMALLEST_SD = 1e-50

SHOWN = (
    "item", "consensus", "rank", "model", "calibrated", "calibrated_low", "calibrated_high",
    "block", "n_judgments",
)  # fmt: skip
"""The columns of a card: what tells most, in the width of a page."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """The model's scores, made to follow the consensus.

    Items stand in the consensus order, the highest first; items that only the model scored
    come last, by their model score. ``calibrated`` is NaN where there is no calibrated score:
    an item without a model score has nothing to calibrate, an item without a judgment has no
    place in the order. ``block`` numbers the groups of items that share one value, 1 being the
    highest (0: not calibrated, or not by projection); ``rank`` is 0 where there is no consensus.
    ``covers`` says what ``low`` to ``high`` is an interval of.
    """

    method: str
    item_ids: TextArray
    consensus: FloatArray
    rank: IntArray
    model: FloatArray
    calibrated: FloatArray
    block: IntArray
    weighted: bool = False
    judgments_per_item: IntArray | None = None
    warnings: tuple[AggcalWarning, ...] = ()
    backend: str | None = None
    consensus_se: FloatArray | None = None
    consensus_low: FloatArray | None = None
    consensus_high: FloatArray | None = None
    rank_low: IntArray | None = None
    rank_high: IntArray | None = None
    low: FloatArray | None = None
    high: FloatArray | None = None
    covers: str | None = None
    level: float = LEVEL
    kept: float | None = None
    """Share of (model − base or projection) that was kept."""
    gain: Gain | None = None
    """What calibration gained, measured on anchors that did not tune it."""
    how: str = ""
    """Which anchors tuned and which measured."""
    inputs: Inputs | None = field(default=None, repr=False)
    fit: Consensus | None = field(default=None, repr=False)

    @property
    def blocks(self) -> int:
        """How many different values the calibrated scores have room for."""
        if self.block.any():
            return int(self.block.max())
        return len(np.unique(self.calibrated[self.done]))

    @property
    def done(self) -> BoolArray:
        """Which items have a calibrated score."""
        return np.isfinite(self.calibrated)

    @property
    def n_calibrated(self) -> int:
        """Items with a calibrated score."""
        return int(np.count_nonzero(self.done))

    @property
    def shift_rms(self) -> float:
        """Root mean square of what calibration changed."""
        done = self.done
        return float(np.sqrt(np.mean(np.square(self.calibrated[done] - self.model[done]))))

    @property
    def unscored_ids(self) -> list[str]:
        """Items of the consensus that have no model score."""
        return list(self.item_ids[np.isnan(self.model)])

    @property
    def unjudged_ids(self) -> list[str]:
        """Items with a model score that are not in the consensus."""
        return list(self.item_ids[np.isnan(self.consensus)])

    def predict(self, scores: Any, judgments: Any = None) -> Prediction:
        """Predict scores of items that nobody judged, or that were judged a few times since.

        Parameters
        ----------
        scores
            The model's scores of the new items (items that are calibrated already are passed
            over): `Scores`, or anything that `read_scores` takes.
        judgments
            Judgments that compare some of them with calibrated items: these are placed in the
            consensus, with everything else held fixed, and fused.

        Notes
        -----
        An unjudged item's prediction is an increasing function of its model score, so it cannot
        change the order of unjudged items: it only puts them on the scale of the others.

        Examples
        --------
        >>> from aggcal import calibrate
        >>> seen = {f"i{k}": float(k % 7) for k in range(40)}
        >>> order = {f"i{k}": float(k % 7) + k / 100 for k in range(40)}
        >>> found = calibrate(seen, order, warn=False).predict({"new": 3.0, "far": 99.0})
        >>> found.items["outside"]
        array([False,  True])
        """
        if self.inputs is None:
            raise OptionError("this calibration does not hold what it was made from.")
        if not isinstance(scores, Scores):
            scores = read_scores(scores)
        known = set(self.inputs.item_ids)
        new = np.array([item not in known for item in scores.item_ids], dtype=bool)
        if not new.any():
            what = "every item is calibrated already" if len(new) else "there is no item"
            raise TooLittleDataError(f"{scores.source}: {what}; give scores of new items.")
        placed = None
        if judgments is not None:
            if self.fit is None:
                raise OptionError(
                    "new judgments need the consensus they belong to; calibrate with the Consensus "
                    "that aggcal.aggregate returned."
                )
            placed = self.fit.place(
                judgments if isinstance(judgments, AnyJudgments) else read_judgments(judgments)
            )
        ids, model = scores.item_ids[new], scores.values[new]
        return predict(self.inputs, ids, model, placed, scores.backend or self.backend)

    def predict_unjudged(self) -> Prediction:
        """Predict the scores of the items that the model scored and nobody judged."""
        only = np.isnan(self.consensus)
        return self.predict(Scores(self.item_ids[only], self.model[only].copy()))

    def item_columns(self) -> Columns:
        """Return the items' table as plain columns; None marks what is not there."""
        columns: Columns = {"item": self.item_ids, "consensus": self.consensus}
        if self.consensus_se is not None:
            columns["consensus_se"] = self.consensus_se
        if self.consensus_low is not None and self.consensus_high is not None:
            columns |= {
                "consensus_low": self.consensus_low,
                "consensus_high": self.consensus_high,
            }
        columns["rank"] = _or_none(self.rank)
        if self.rank_low is not None and self.rank_high is not None:
            columns["rank_low"] = _or_none(self.rank_low)
            columns["rank_high"] = _or_none(self.rank_high)
        columns |= {"model": self.model, "calibrated": self.calibrated}
        if self.low is not None and self.high is not None:
            columns |= {"calibrated_low": self.low, "calibrated_high": self.high}
        columns["block"] = _or_none(self.block)
        if self.judgments_per_item is not None:
            columns["n_judgments"] = self.judgments_per_item
        return columns

    @property
    def items(self) -> Any:
        """Table of the items in consensus order, as in ``items.csv``."""
        return as_frame(self.item_columns(), self.backend)

    def to_dict(self) -> dict[str, Any]:
        """Return what is told of the calibration as a whole: plain data, as in ``summary.json``."""
        told: dict[str, Any] = {
            "calibrator": self.method,
            "n_items": int((self.rank > 0).sum()),
            "n_calibrated": self.n_calibrated,
            "n_without_score": len(self.unscored_ids),
            "n_without_judgment": len(self.unjudged_ids),
            "weighted": self.weighted,
            "blocks": self.blocks,
            "shift_rms": self.shift_rms,
            "calibrated_interval": {"covers": self.covers, "level": self.level},
        }
        if self.inputs is None:
            return told
        fused = {"fused": self.inputs.fused_to_dict()} if self.method == "fused" else {}
        return told | self.inputs.to_dict() | {"kept": self.kept} | fused

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        blocks = f" in {count(self.blocks, 'block')}" if self.block.any() else ""
        kept = ""
        if self.kept is not None:
            kept = f", keeping {self.kept:.0%} of the model's own deviations"
        return wrapped(
            f"Calibration by {self.method}: {count(self.n_calibrated, 'item')}{blocks}, moved by "
            f"{self.shift_rms:.4g} (root mean square){kept}"
        )

    def _repr_html_(self) -> str:
        shown = head(self.item_columns(), SHOWN)
        title = unwrapped(str(self))[0]
        return card(title, shown, rows=len(self.item_ids), warnings=self.warnings)


def calibrate(
    scores: Any,
    consensus: Any,
    *,
    method: str = DEFAULT_CALIBRATOR,
    weights: Literal["sd"] | Mapping[str, float] | None = "sd",
    model_sd: float | None = None,
    anchors: Any = None,
    second_model: Any = None,
    level: float | None = None,
    seed: int = 0,
    warn: bool = True,
) -> Calibration:
    r"""Stage 2: make the model's scores follow the consensus.

    ``atc`` solves the isotonic regression

        minimise  Σ w_i (x_i − model_i)²   over x with x_i ≥ x_j wherever i ranks above j,

    by pool-adjacent-violators. Items tied in the consensus share one value. ``fused`` is closer to
    the truth on average, most of all with a model sd, anchors or a second model, but not monotone
    in the consensus. ``safe`` cannot do worse than the model on average, however wrong the ranking,
    and needs the model's sd.

    Parameters
    ----------
    scores
        `Scores`, or anything that `read_scores` takes.
    consensus
        A `Consensus`, or any order at all: `Scores` (whose sd counts as the standard error), a
        mapping of item to number, or anything else that `read_scores` takes.
    method
        ``"atc"``, ``"fused"`` or ``"safe"``.
    weights
        For the projection. ``"sd"``: 1/sd² where the scores carry an sd, else equal; a mapping of
        item to a positive weight; None: equal.
    model_sd
        Standard deviation of the model's errors, such as its validation error. For ``fused`` rather
        too large than too small; ``safe`` stays safe up to 1.4 times the true one. An sd column of
        the scores says the same, item by item.
    anchors
        True scores of some items drawn at random (item, truth). They tell how much of the model to
        keep, measure what calibration gains, and give intervals that cover the truth.
    second_model
        Scores of another model whose errors are independent of the first's; for ``fused``.
    level
        Of the intervals; that of the consensus if it has one, else 0.95.
    seed
        Of everything random.
    warn
        Emit the calibration's warnings as Python warnings too.

    Examples
    --------
    >>> from aggcal import calibrate
    >>> result = calibrate([("a", 3.0), ("b", 1.0), ("c", 2.0)], {"a": 3, "b": 2, "c": 1})
    >>> result.items["calibrated"]
    array([3. , 1.5, 1.5])
    >>> result.items["block"]
    array([1, 2, 2])
    """
    check_calibration(
        method, weights=weights, model_sd=model_sd, second_model=second_model, level=level
    )
    check_seed(seed)
    if not isinstance(scores, Scores):
        scores = read_scores(scores)
    anchors, second_model = read_known(anchors, second_model)
    if not isinstance(consensus, Consensus | Scores):
        consensus = replace(read_scores(consensus), source="the consensus")
    fitted = consensus if isinstance(consensus, Consensus) else None
    known = fitted.uncertainty if fitted is not None else None
    if level is None:
        level = known.level if known is not None else LEVEL
    ids = consensus.item_ids
    heights = consensus.scores if isinstance(consensus, Consensus) else consensus.values

    model = aligned(scores.values, scores.item_ids, ids)
    both = np.isfinite(model)
    check_tables(method, scores, ids, model_sd=model_sd, anchors=anchors, second_model=second_model)
    weight, weighted = _weights(weights, scores, ids)
    seen = set(ids)
    said = unmatched_warnings(list(ids[~both]), [i for i in scores.item_ids if i not in seen])
    said += direction_warnings(heights[both], model[both])
    truths, about_anchors = anchors_among(anchors, ids[both])
    inputs = Inputs(
        ids[both],
        model[both],
        heights[both],
        _covariance(consensus, both),
        weight[both],
        stated_variances(model_sd, scores, ids[both]),
        truths,
        second_scores(second_model, method, ids[both]),
        level,
        seed,
        known.freedom if known is not None else inf,
    )
    values, block, kept = inputs.calibrated(method)
    found = calibrated_intervals(method, inputs, values, kept)
    said += [*about_anchors, *found.warnings, *recommendation(method, inputs, found.gain)]
    said += contradictions(method, inputs)
    result = replace(
        _arranged(scores, consensus, both, (values, found.low, found.high), block),
        method=method,
        weighted=weighted,
        warnings=tuple(said),
        covers=found.covers,
        level=level,
        kept=None if method == "atc" else float(np.mean(kept)),
        gain=found.gain,
        how=found.how,
        inputs=inputs,
        fit=fitted,
    )
    if warn:
        for warning in result.warnings:
            python_warnings.warn(warning, stacklevel=2)
    return result


def read_known(anchors: Any, second_model: Any) -> tuple[Any, Scores | None]:
    """Read anchors and the scores of a second model, if they are not read already."""
    if anchors is not None and not isinstance(anchors, Scores | Mapping):
        anchors = read_truth(anchors)[0]
    if second_model is not None and not isinstance(second_model, Scores):
        second_model = read_scores(second_model)
    return anchors, second_model


def check_calibration(
    method: str,
    *,
    weights: Literal["sd"] | Mapping[str, float] | None = "sd",
    model_sd: float | None = None,
    second_model: Any = None,
    level: float | None = None,
) -> None:
    """Refuse options of a calibration that are none, before anything is read or fitted.

    Examples
    --------
    >>> check_calibration("atcc")
    Traceback (most recent call last):
    aggcal.errors.OptionError: calibrator 'atcc' is unknown; choose atc, fused, safe.
    """
    if method not in CALIBRATORS:
        raise OptionError(f"calibrator '{method}' is unknown; choose {', '.join(CALIBRATORS)}.")
    if not isinstance(weights, Mapping) and weights not in ("sd", None):
        raise OptionError(f"weights {weights!r} is unknown; give 'sd', a mapping, or None.")
    if model_sd is not None and not _SMALLEST_SD <= model_sd <= 1.0 / _SMALLEST_SD:
        raise OptionError(f"the model sd is {model_sd}; give a number above 0.")
    if second_model is not None and method != "fused":
        raise OptionError(f"a second model is of use to 'fused' only, not to '{method}'.")
    if level is not None:
        check_level(level)


def check_tables(
    method: str,
    scores: Scores,
    ids: TextArray,
    *,
    model_sd: float | None = None,
    anchors: Any = None,
    second_model: Any = None,
) -> None:
    """Refuse tables that cannot be calibrated by an order of these items, before it is known."""
    if method == "safe" and stated_variances(model_sd, scores, ids[:0]) is None:
        raise OptionError(
            "the safe calibrator needs the standard deviation of the model's scores; give "
            "--model-sd or model_sd=, or an sd column (such as its validation error)."
        )
    both = np.isfinite(aligned(scores.values, scores.item_ids, ids))
    if not both.any():
        raise TooLittleDataError(
            f"no item is in both tables (the consensus has {some(ids)}, {scores.source} has "
            f"{some(scores.item_ids)}); check that both use the same ids."
        )
    anchors_among(anchors, ids[both])
    second_scores(second_model, method, ids[both])


def _covariance(consensus: Consensus | Scores, both: BoolArray) -> Covariance | None:
    """Return what is known of the uncertainty of these items' consensus."""
    if isinstance(consensus, Scores):
        return None if consensus.sd is None else independent(consensus.sd[both])
    known = consensus.uncertainty
    if known is None:
        return None
    return known.covariance if both.all() else known.covariance.of(np.flatnonzero(both))


def _arranged(
    scores: Scores,
    consensus: Consensus | Scores,
    both: BoolArray,
    results: tuple[FloatArray, FloatArray | None, FloatArray | None],
    block: IntArray,
) -> Calibration:
    """Put items into the consensus order, those that only the model knows last."""
    fitted = consensus if isinstance(consensus, Consensus) else None
    known = fitted.uncertainty if fitted is not None else None
    heights = consensus.scores if isinstance(consensus, Consensus) else consensus.values
    ids = consensus.item_ids
    order = np.lexsort((np.arange(len(ids)), -heights))
    seen = set(ids)
    extra = [k for k, item in enumerate(scores.item_ids) if item not in seen]
    extra.sort(key=lambda k: -scores.values[k])
    blank, none = np.full(len(extra), np.nan), np.zeros(len(extra), dtype=np.int64)

    def arranged(column: FloatArray) -> FloatArray:
        return frozen(np.concatenate([column[order], blank]))

    def numbered(column: IntArray) -> IntArray:
        return frozen(np.concatenate([column[order], none]))

    def filled(column: FloatArray) -> FloatArray:
        whole = np.full(len(ids), np.nan)
        whole[both] = column
        return arranged(whole)

    blocks = np.zeros(len(ids), dtype=np.int64)
    blocks[both] = block
    given = consensus.sd if isinstance(consensus, Scores) else None
    se = known.se if known is not None else given
    model = aligned(scores.values, scores.item_ids, ids)
    return Calibration(
        "",
        as_text([*ids[order], *scores.item_ids[extra]]),
        arranged(heights),
        numbered(ranks(heights)),
        frozen(np.concatenate([model[order], scores.values[extra]])),
        filled(results[0]),
        numbered(blocks),
        judgments_per_item=None if fitted is None else numbered(fitted.judgments_per_item),
        backend=scores.backend or (fitted.backend if fitted is not None else None),
        consensus_se=None if se is None else arranged(se),
        consensus_low=None if known is None else arranged(known.low),
        consensus_high=None if known is None else arranged(known.high),
        rank_low=None if known is None else numbered(known.rank_low),
        rank_high=None if known is None else numbered(known.rank_high),
        low=None if results[1] is None else filled(results[1]),
        high=None if results[2] is None else filled(results[2]),
    )


def _weights(
    weights: Literal["sd"] | Mapping[str, float] | None, scores: Scores, ids: TextArray
) -> tuple[FloatArray, bool]:
    if isinstance(weights, Mapping):
        named = {str(k): float(v) for k, v in weights.items()}
        missing = [i for i in scores.item_ids if i not in named]
        wrong = [i for i, v in named.items() if not (np.isfinite(v) and v > 0.0)]
        if missing or wrong:
            raise OptionError(
                f"weights: {some(missing or wrong)} {'missing' if missing else 'not positive'}; "
                "give every scored item a positive weight."
            )
        return aligned(np.array(list(named.values())), list(named), ids), True
    if weights is None or scores.sd is None:
        return np.ones(len(ids)), False
    # Only ratios count: about the median, squares neither over- nor underflow.
    relative = np.clip(scores.sd / np.median(scores.sd), 1e-100, 1e100)
    return aligned(relative**-2.0, scores.item_ids, ids), True


def _or_none(numbers: IntArray) -> np.ndarray:
    if (numbers > 0).all():
        return numbers
    return np.array([int(k) if k > 0 else None for k in numbers], dtype=object)
