"""The calibration: what Stage 2 returns, and the scale that it is told in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, TextArray, frozen
from aggcal._core.ranking import Ranking
from aggcal._core.tables import Columns, as_frame, as_text
from aggcal._core.text import card, wrapped
from aggcal.aggregation.consensus import LEVEL, SAMPLING, Consensus
from aggcal.aggregation.ranks import stated
from aggcal.calibration.anchors import Gain, Measured
from aggcal.calibration.calibrators import FullCalibrator, Recommendation
from aggcal.calibration.inputs import Alignment, Inputs, Order, align
from aggcal.calibration.unseen import Placed, Prediction, homes, predict
from aggcal.data.base import AnyJudgments
from aggcal.data.scores import Scores
from aggcal.errors import AggcalWarning, OptionError, TooLittleDataError, count
from aggcal.io import read_judgments, read_scores
from aggcal.registry.limits import MOST_DIGITS

_ROUNDING = 1e-9
"""What a number may lie beyond a step and still count as on it: sums of decimals do."""


@dataclass(frozen=True)
class Scale:
    """The lowest and the highest score there is, and the decimals of a score; None for any.

    Examples
    --------
    >>> marks = Scale((0.0, 100.0), 1)
    >>> marks.scores(np.array([-3.0, 66.66, 104.0]))
    array([  0. ,  66.7, 100. ])
    >>> marks.low_ends(np.array([66.66])), marks.high_ends(np.array([66.61]))
    (array([66.6]), array([66.7]))
    """

    bounds: tuple[float, float] | None = None
    digits: int | None = None

    def scores(self, values: FloatArray) -> FloatArray:
        """Put scores on the scale."""
        return self._within(values if self.digits is None else np.round(values, self.digits))

    def low_ends(self, values: FloatArray) -> FloatArray:
        """Put the lower ends of intervals on the scale, rounded outwards."""
        return self._within(self._steps(values, np.floor, _ROUNDING))

    def high_ends(self, values: FloatArray) -> FloatArray:
        """Put the upper ends of intervals on the scale, rounded outwards."""
        return self._within(self._steps(values, np.ceil, -_ROUNDING))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as in ``summary.json``; nothing where any number will do."""
        told = {"bounds": None if self.bounds is None else list(self.bounds), "digits": self.digits}
        return {name: value for name, value in told.items() if value is not None}

    def _within(self, values: FloatArray) -> FloatArray:
        return values if self.bounds is None else np.clip(values, *self.bounds)

    def _steps(self, values: FloatArray, rounded: np.ufunc, slack: float) -> FloatArray:
        if self.digits is None:
            return values
        steps = 10.0**self.digits
        return np.asarray(np.round(rounded(values * steps + slack) / steps, self.digits))


def scale_of(bounds: Any, digits: Any) -> Scale:
    """Check the ends and the digits of a scale.

    Examples
    --------
    >>> scale_of((0, 100), 1)
    Scale(bounds=(0.0, 100.0), digits=1)
    >>> scale_of((100, 0), None)
    Traceback (most recent call last):
    aggcal.errors.OptionError: the bounds are 100 and 0; give the lowest score and then the ...
    """
    if digits is not None and (
        isinstance(digits, bool)
        or not isinstance(digits, int | np.integer)
        or not 0 <= digits <= MOST_DIGITS
    ):
        raise OptionError(f"digits is {digits!r}; give a whole number from 0 to {MOST_DIGITS}.")
    if bounds is None:
        return Scale(None, None if digits is None else int(digits))
    try:
        low, high = (float(end) for end in bounds)
    except (TypeError, ValueError):
        raise OptionError(
            f"the bounds are {bounds!r}; give two numbers, the lowest and the highest score, such "
            "as (0, 100)."
        ) from None
    if not (isfinite(low) and isfinite(high) and low < high):
        raise OptionError(
            f"the bounds are {low:g} and {high:g}; give the lowest score and then the highest, "
            "such as (0, 100)."
        )
    return Scale((low, high), None if digits is None else int(digits))


# Items without a model score ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Interpolated:
    """Scores of items without a model score, NaN for all others, and where they may lie.

    The interval is NaN where nothing bounds it: nobody scored is above, or below, and the scale has
    no end.
    """

    values: FloatArray
    low: FloatArray
    high: FloatArray


def interpolated(
    consensus: tuple[FloatArray, FloatArray, FloatArray],
    calibrated: tuple[FloatArray, FloatArray, FloatArray],
    component: IntArray,
    bounds: tuple[float, float] | None = None,
) -> Interpolated:
    """Give items without a calibrated score the value between those of their neighbours.

    Parameters
    ----------
    consensus, calibrated
        Scores and the ends of their intervals; NaN where an item was not judged, or not scored.
        Neighbours are looked for beyond the interval: an item whose rank is uncertain may have
        others.
    component
        Connected component of each item: what nothing compares is no neighbour.
    bounds
        The ends of the scale, which bound the first and the last.

    Examples
    --------
    >>> order, scores = np.array([3.0, 2.0, 1.0]), np.array([9.0, np.nan, 5.0])
    >>> found = interpolated((order,) * 3, (scores,) * 3, np.zeros(3, dtype=np.int64))
    >>> found.values, found.low, found.high
    (array([nan,  7., nan]), array([nan,  5., nan]), array([nan,  9., nan]))
    """
    places, below, above = consensus
    values, low, high = calibrated
    found = Interpolated(*np.full((3, len(places)), np.nan))
    judged, scored = np.isfinite(places), np.isfinite(values)
    least, most = (np.nan, np.nan) if bounds is None else bounds
    for own in np.unique(component[judged & ~scored]).tolist():
        here = judged & (component == own)
        known, items = np.flatnonzero(here & scored), np.flatnonzero(here & ~scored)
        if not len(known):
            continue
        known = known[np.argsort(places[known], kind="stable")]
        at, place = places[known], places[items]
        under = np.searchsorted(at, np.minimum(below[items], place), side="right") - 1
        over = np.searchsorted(at, np.maximum(above[items], place), side="left")
        ends = (
            np.where(under < 0, least, low[known[np.maximum(under, 0)]]),
            np.where(over == len(at), most, high[known[np.minimum(over, len(at) - 1)]]),
        )
        between = found.values[items] = np.interp(place, at, values[known])
        # Scores that do not follow the order strictly may have the higher neighbour's end below.
        # What has one end only has no interval: NaN stays NaN.
        found.low[items] = np.minimum(np.minimum(*ends), between)
        found.high[items] = np.maximum(np.maximum(*ends), between)
    return found


# The calibration ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Calibration:
    """The model's scores, made to follow the consensus.

    Items are in the consensus order, the highest first; items that only the model scored
    come last, by their model score. ``calibrated`` is NaN where there is no calibrated score:
    an item without a model score has nothing to calibrate (the gap that its neighbours leave is in
    ``interpolated``), an item without a judgment has no rank. ``block`` numbers the groups of items
    that share one value, 1 being the highest (0: not calibrated, or not by projection); ``rank`` is
    0 where there is no consensus. ``covers`` says what ``low`` to ``high`` is an interval of.
    """

    method: str
    item_ids: TextArray
    consensus: FloatArray
    rank: IntArray
    model: FloatArray
    calibrated: FloatArray
    block: IntArray
    inputs: Inputs = field(repr=False)
    """What it was made from."""
    calibrator: FullCalibrator = field(repr=False)
    """What ``method`` names."""
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
    measured: Measured | None = field(default=None, repr=False)
    """The errors on anchors that the intervals come from, where they cover the truth."""
    fit: Consensus | None = field(default=None, repr=False)
    scale: Scale = field(default_factory=Scale)
    """The ends of the scale, and its digits."""
    recommendation: Recommendation | None = None
    """Why this calibrator was taken, where it was chosen by ``auto``."""
    interpolated: Interpolated | None = field(default=None, repr=False)
    """Scores and gaps between the neighbours, for judged items without a model score."""

    @property
    def blocks(self) -> int:
        """How many different values the calibrated scores can have."""
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
            consensus, with everything else held fixed, and fused. Items that are compared with
            several connected components are not placed: nothing relates these.

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
        >>> found.items["outside"].tolist()
        [False, True]
        """
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
            if not isinstance(judgments, AnyJudgments):
                judgments = read_judgments(judgments)
            later = self.fit.place(judgments)
            home = homes(self.fit, judgments, later.item_ids)
            placed = Placed.of(later, self.fit, self.inputs, home)
        ids, model = scores.item_ids[new], scores.values[new]
        found = predict(self.inputs, ids, model, placed, scores.backend or self.backend)
        return replace(
            found,
            predicted=self.scale.scores(found.predicted),
            low=self.scale.low_ends(found.low),
            high=self.scale.high_ends(found.high),
        )

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
        claims = None if self.fit is None else self.fit.claims()
        if self.fit is not None and claims is not None:
            ids = self.fit.item_ids.tolist()
            for name, end in (("sure_low", claims.low), ("sure_high", claims.high)):
                place = dict(zip(ids, end.tolist(), strict=True))
                found = [place.get(item, 0) for item in self.item_ids.tolist()]
                columns[name] = _or_none(np.array(found, dtype=np.int64))
        columns |= {"model": self.model} | self._calibrated_columns()
        columns["block"] = _or_none(self.block)
        if self.judgments_per_item is not None:
            columns["n_judgments"] = self.judgments_per_item
        return columns

    def _calibrated_columns(self) -> Columns:
        """Return the calibrated scores, with those that are interpolated where there are any."""
        low, high, between = self.low, self.high, self.interpolated
        if between is None:
            columns: Columns = {"calibrated": self.calibrated}
            ends = {} if low is None or high is None else {"low": low, "high": high}
        else:
            open_ = np.isfinite(between.values)
            columns = {"calibrated": np.where(open_, between.values, self.calibrated)}
            blank = np.full(len(open_), np.nan)
            ends = {
                "low": np.where(open_, between.low, blank if low is None else low),
                "high": np.where(open_, between.high, blank if high is None else high),
            }
            source = np.full(len(open_), None, dtype=object)
            source[self.done], source[open_] = "model", "interpolated"
            columns["score_source"] = source
        columns |= {f"calibrated_{name}": end for name, end in ends.items()}
        return columns

    @property
    def items(self) -> Any:
        """Table of the items in consensus order, as in ``items.csv``."""
        return as_frame(self.item_columns(), self.backend)

    def to_dict(self) -> dict[str, Any]:
        """Return the facts about the whole calibration: plain data, as in ``summary.json``."""
        does, made = self.calibrator.does, self.calibrator.to_dict(self.inputs)
        whole = {
            "calibrator": self.method,
            **({"calibrator_does": does} if does else {}),
            "n_items": int((self.rank > 0).sum()),
            "n_calibrated": self.n_calibrated,
            "n_without_score": len(self.unscored_ids),
            **({"n_interpolated": self.n_interpolated} if self.n_interpolated else {}),
            "n_without_judgment": len(self.unjudged_ids),
            "weighted": self.weighted,
            "blocks": self.blocks,
            "shift_rms": self.shift_rms,
            "calibrated_interval": {"covers": self.covers, "level": self.level},
            **self.inputs.to_dict(),
            "kept": self.kept,
            **self.scale.to_dict(),
        }
        if self.recommendation is not None:
            whole["recommendation"] = self.recommendation.to_dict()
        # Whatever a calibrator of the user's is called, it changes nothing else.
        return ({self.method: made} if made else {}) | whole

    @property
    def n_interpolated(self) -> int:
        """How many items have no model score, and one between those of their neighbours."""
        between = self.interpolated
        return 0 if between is None else int(np.isfinite(between.values).sum())

    def __repr__(self) -> str:
        return wrapped(self.says)

    def __str__(self) -> str:
        lines = wrapped(self.says), "", str(self._ranking()), "", wrapped(*self._notes())
        return "\n".join(lines).rstrip()

    @property
    def says(self) -> str:
        """What was done, in a sentence."""
        kept = ""
        if self.kept is not None:
            kept = f", keeping {self.kept:.0%} of the model's own deviations"
        return (
            f"Calibration by {self.method}: {count(self.n_calibrated, 'item')}, scores changed by "
            f"{self.shift_rms:.4g} (RMS){kept}."
        )

    def _notes(self) -> list[str]:
        if self.covers is None:
            return []
        return [f"The intervals have {self.covers}." if "truth" in self.covers else SAMPLING]

    def _ranking(self) -> Ranking:
        return Ranking.of(self.item_columns(), "calibrated", self.level)

    def _repr_html_(self) -> str:
        ranking = self._ranking()
        return card(
            self.says, ranking.html(), rows=ranking.total, notes=[*self._notes(), ranking.more],
            warnings=self.warnings,
        )  # fmt: skip


def chance_above(calibration: Calibration, cut: float) -> FloatArray:
    """Return with which probability each item of a calibration is above a cut.

    With anchors it is the truth of which that is said: by the errors that the scores of anchors had
    (a conformal predictive distribution). Without, it is the calibrated score that the annotators'
    exact consensus would give, by the draws that its interval comes from. NaN where no interval is
    claimed: for items without a score of their own, and where there are no intervals at all.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("bob", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c")]
    >>> order = aggcal.aggregate(rows, warn=False)
    >>> found = aggcal.calibrate({"a": 3.0, "b": 1.0, "c": 2.0}, order, warn=False)
    >>> chance_above(found, 1.8).round(1)
    array([1. , 0.1, 0.5])
    """
    inputs, known = calibration.inputs, calibration.inputs.knowledge
    found = np.full(len(inputs.model), np.nan)
    if calibration.covers is not None and calibration.measured is not None:
        found = calibration.measured.above(cut)
    elif calibration.covers is not None and known is not None:
        calibrator = calibration.calibrator
        at = calibrator.on_exact(inputs, calibrator.calibrate(inputs))
        draws = known.judged(inputs.seed) if inputs.dependent else known.draws(inputs.seed)
        above, number = np.zeros(len(found)), 0
        for draw in draws:
            above += at(draw) > cut
            number += 1
        found = stated(above / number)
    return align(calibration.item_ids, {"above": (inputs.item_ids, found)})["above"]


def arranged(
    scores: Scores,
    order: Order,
    found: Alignment,
    results: tuple[FloatArray, FloatArray | None, FloatArray | None],
    block: IntArray | None,
    *,
    scale: Scale,
    **facts: Any,
) -> Calibration:
    """Put items into the consensus order, those that only the model knows last.

    Parameters
    ----------
    scores, order, found
        The model's scores, what they were calibrated onto, and the items that both have.
    results, block
        The calibrated scores of these items, the ends of their intervals, and their blocks.
    scale
        Where scores may lie, and their digits.
    facts
        The other fields of the calibration.
    """
    ids, known, fitted = order.item_ids, order.uncertainty, order.fit
    ranked = np.argsort(-order.heights, kind="stable")
    falling = -order.heights[ranked]
    extra = found.unjudged[np.argsort(-scores.values[found.unjudged], kind="stable")]
    blank, none = np.full(len(extra), np.nan), np.zeros(len(extra), dtype=np.int64)

    def sort(column: np.ndarray | None, last: np.ndarray = blank) -> Any:
        return None if column is None else frozen(_followed(column[ranked], last))

    def fill(column: np.ndarray | None, last: np.ndarray = blank) -> Any:
        if column is None:
            return None
        whole = np.full(len(ids), np.nan) if last.dtype.kind == "f" else np.zeros_like(ids, int)
        whole[found.both] = column
        return sort(whole, last)

    values, low, high = fill(results[0]), fill(results[1]), fill(results[2])
    between = _between(order, scale, sort, (values, low, high))
    return Calibration(
        item_ids=_followed(as_text(ids)[ranked], as_text(scores.item_ids[extra])),
        consensus=sort(order.heights),
        rank=frozen(_followed(_ranks(falling), none)),
        model=fill(found.inputs.model, scores.values[extra]),
        calibrated=values,
        block=fill(np.zeros(len(results[0])) if block is None else block, none),
        judgments_per_item=None if fitted is None else sort(fitted.judgments_per_item, none),
        backend=scores.backend or (None if fitted is None else fitted.backend),
        consensus_se=sort(order.sd),
        consensus_low=None if known is None else sort(known.low),
        consensus_high=None if known is None else sort(known.high),
        rank_low=None if known is None else sort(known.rank_low, none),
        rank_high=None if known is None else sort(known.rank_high, none),
        low=low,
        high=high,
        scale=scale,
        interpolated=between,
        inputs=found.inputs,
        fit=fitted,
        **facts,
    )


def _ranks(ordered: FloatArray) -> IntArray:
    """Rank scores that are in order, from 1 on: tied ones share the best."""
    begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    return np.repeat(begins + 1, np.diff(np.append(begins, len(ordered))))


def _followed(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Join two columns, the second of which is often empty."""
    return np.concatenate([first, last]) if len(last) else first


def _between(
    order: Order, scale: Scale, sort: Callable[..., Any], made: tuple[FloatArray, Any, Any]
) -> Interpolated | None:
    """Interpolate where the model scored nothing; None where it scored all."""
    known, consensus = order.uncertainty, sort(order.heights)
    component = order.component
    if component is None:
        component = np.zeros(len(order.heights), dtype=np.int64)
    low, high = (consensus, consensus) if known is None else (sort(known.low), sort(known.high))
    values, *ends = made
    below, above = (values if end is None else end for end in ends)
    found = interpolated(
        (consensus, low, high),
        (values, below, above),
        np.nan_to_num(sort(component), nan=-1.0).astype(np.int64),
        scale.bounds,
    )
    if not np.isfinite(found.values).any():
        return None
    return Interpolated(
        scale.scores(found.values), scale.low_ends(found.low), scale.high_ends(found.high)
    )


def _or_none(numbers: IntArray) -> np.ndarray:
    if (numbers > 0).all():
        return numbers
    return np.array([int(k) if k > 0 else None for k in numbers], dtype=object)
