"""Stage 2: the closest scores to the model's that contradict no consensus order."""

from __future__ import annotations

import re
import warnings as python_warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from aggcal.arrays import FloatArray, IntArray, TextArray, frozen
from aggcal.consensus import Consensus
from aggcal.errors import (
    AggcalWarning,
    DirectionWarning,
    OptionError,
    TooLittleDataError,
    UnmatchedItemsWarning,
    count,
    some,
)
from aggcal.io import read_scores
from aggcal.scores import Scores
from aggcal.tables import Columns, aligned, as_frame, as_text

_ENOUGH_TO_TELL = 5
_BEYOND_CHANCE = 2.0

CALIBRATORS = {"atc": "isotonic projection of the model's scores onto the consensus order"}
"""The calibrators by name."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """The model's scores, moved as little as the consensus order demands.

    Items stand in the consensus order, the highest first; items that only the model scored
    come last, by their model score. ``calibrated`` is NaN where there is no calibrated score:
    an item without a model score has nothing to calibrate, an item without a judgment has no
    place in the order. ``block`` numbers the groups of items that share one value, 1 being the
    highest (0: not calibrated); ``rank`` is 0 where there is no consensus.
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

    @property
    def blocks(self) -> int:
        """How many different values the calibrated scores have room for."""
        return int(self.block.max(initial=0))

    @property
    def n_calibrated(self) -> int:
        """Items with a calibrated score."""
        return int(np.count_nonzero(self.block))

    @property
    def shift_rms(self) -> float:
        """Root mean square of what calibration changed."""
        done = self.block > 0
        return float(np.sqrt(np.mean(np.square(self.calibrated[done] - self.model[done]))))

    @property
    def unscored_ids(self) -> list[str]:
        """Items of the consensus that have no model score."""
        return list(self.item_ids[np.isnan(self.model)])

    @property
    def unjudged_ids(self) -> list[str]:
        """Items with a model score that are not in the consensus."""
        return list(self.item_ids[np.isnan(self.consensus)])

    def item_columns(self) -> Columns:
        """Return the items' table as plain columns; None marks what is not there."""
        columns: Columns = {
            "item": self.item_ids,
            "consensus": self.consensus,
            "rank": _or_none(self.rank),
            "model": self.model,
            "calibrated": self.calibrated,
            "block": _or_none(self.block),
        }
        if self.judgments_per_item is not None:
            columns["n_judgments"] = self.judgments_per_item
        return columns

    @property
    def items(self) -> Any:
        """Table of item, consensus, rank, model, calibrated and block, in consensus order."""
        return as_frame(self.item_columns(), self.backend)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return (
            f"Calibration by {self.method}: {count(self.n_calibrated, 'item')} in "
            f"{count(self.blocks, 'block')}, moved by {self.shift_rms:.4g} (root mean square)"
        )


def calibrate(
    scores: Any,
    consensus: Any,
    *,
    method: str = "atc",
    weights: Literal["sd"] | Mapping[str, float] | None = "sd",
    warn: bool = True,
) -> Calibration:
    r"""Stage 2: project the model's scores onto the consensus order.

    ``atc`` solves the isotonic regression

        minimise  Σ w_i (x_i − model_i)²   over x with x_i ≥ x_j wherever i ranks above j,

    by pool-adjacent-violators. Items tied in the consensus share one value.

    Parameters
    ----------
    scores
        `Scores`, or anything that `read_scores` takes.
    consensus
        A `Consensus`, or any order at all: `Scores`, a mapping of item to number, or anything
        else that `read_scores` takes.
    method
        ``"atc"``.
    weights
        ``"sd"``: 1/sd² where the scores carry an sd, else equal; a mapping of item to a
        positive weight; None: equal.
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
    if method not in CALIBRATORS:
        raise OptionError(f"calibrator '{method}' is unknown; choose {', '.join(CALIBRATORS)}.")
    if not isinstance(scores, Scores):
        scores = read_scores(scores)
    if not isinstance(consensus, Consensus | Scores):
        consensus = replace(read_scores(consensus), source="the consensus")
    if isinstance(consensus, Consensus):
        ids, heights = consensus.item_ids, consensus.scores
    else:
        ids, heights = consensus.item_ids, consensus.values

    model = aligned(scores.values, scores.item_ids, ids)
    both = np.isfinite(model)
    if not both.any():
        raise TooLittleDataError(
            f"no item is in both tables (the consensus has {some(ids)}, {scores.source} has "
            f"{some(scores.item_ids)}); check that both use the same ids."
        )
    weight, weighted = _weights(weights, scores, ids)
    calibrated, block = np.full(len(ids), np.nan), np.zeros(len(ids), dtype=np.int64)
    calibrated[both], block[both] = project(heights[both], model[both], weight[both])

    order = np.lexsort((np.arange(len(ids)), -heights))
    known = set(ids)
    extra = [k for k, item in enumerate(scores.item_ids) if item not in known]
    extra.sort(key=lambda k: -scores.values[k])
    blank = np.full(len(extra), np.nan)
    none = np.zeros(len(extra), dtype=np.int64)
    per_item = consensus.judgments_per_item if isinstance(consensus, Consensus) else None
    result = Calibration(
        method,
        as_text([*ids[order], *scores.item_ids[extra]]),
        frozen(np.concatenate([heights[order], blank])),
        frozen(np.concatenate([_ranks(heights)[order], none])),
        frozen(np.concatenate([model[order], scores.values[extra]])),
        frozen(np.concatenate([calibrated[order], blank])),
        frozen(np.concatenate([block[order], none])),
        weighted,
        None if per_item is None else frozen(np.concatenate([per_item[order], none])),
        (
            *unmatched_warnings(list(ids[~both]), list(scores.item_ids[extra])),
            *direction_warnings(heights[both], model[both]),
        ),
        scores.backend or (consensus.backend if isinstance(consensus, Consensus) else None),
    )
    if warn:
        for warning in result.warnings:
            python_warnings.warn(warning, stacklevel=2)
    return result


def project(
    heights: FloatArray, values: FloatArray, weights: FloatArray
) -> tuple[FloatArray, IntArray]:
    """Project values onto the order of heights; return them and their blocks, 1 the highest.

    Examples
    --------
    Equal heights share their weighted mean:

    >>> project(np.array([1.0, 1.0, 2.0]), np.array([0.0, 3.0, 5.0]), np.array([2.0, 1.0, 1.0]))
    (array([1., 1., 5.]), array([2, 2, 1]))
    """
    from scipy.optimize import isotonic_regression  # half a second

    _, level = np.unique(heights, return_inverse=True)
    total = np.bincount(level, weights)
    means = np.bincount(level, weights * values) / total
    fitted = isotonic_regression(means, weights=total)
    sizes = np.diff(fitted.blocks)
    block = np.repeat(np.arange(len(sizes), 0, -1), sizes)
    return fitted.x[level], block[level]


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
    if weights not in ("sd", None):
        raise OptionError(f"weights {weights!r} is unknown; give 'sd', a mapping, or None.")
    if weights is None or scores.sd is None:
        return np.ones(len(ids)), False
    # Only ratios count: about the median, squares neither over- nor underflow.
    relative = np.clip(scores.sd / np.median(scores.sd), 1e-100, 1e100)
    return aligned(relative**-2.0, scores.item_ids, ids), True


def _ranks(heights: FloatArray) -> IntArray:
    ordered = np.sort(heights)
    return len(ordered) + 1 - np.searchsorted(ordered, heights, side="right")


def direction_warnings(heights: FloatArray, model: FloatArray) -> list[AggcalWarning]:
    """Warn of a model whose scores fall as the consensus rises, beyond chance.

    Examples
    --------
    >>> direction_warnings(np.arange(9.0), -np.arange(9.0))[0].code
    'direction'
    """
    n = len(heights)
    if n < _ENOUGH_TO_TELL or np.ptp(heights) == 0.0 or np.ptp(model) == 0.0:
        return []
    correlation = float(np.corrcoef(_mean_ranks(heights), _mean_ranks(model))[0, 1])
    if correlation * np.sqrt(n - 1.0) > -_BEYOND_CHANCE:
        return []
    return [
        DirectionWarning(
            f"the model's scores fall where the consensus rises (rank correlation "
            f"{correlation:.2f})",
            "in both, more must mean higher: check which end of the scores is the good one, and "
            "which column is the winner",
        )
    ]


def _mean_ranks(values: FloatArray) -> FloatArray:
    """Rank values from the lowest, ties at their mean (without waiting a second for SciPy's)."""
    _, level, size = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(size) - 0.5 * (size - 1.0))[level]


def _alike(ids: list[str], others: list[str]) -> str:
    """Name ids that would match but for case, spaces, punctuation or a trailing '.0'."""

    def plain(label: str) -> str:
        return re.sub(r"[\W_]+", "", re.sub(r"\.0+$", "", label)).casefold()

    theirs = {plain(other): other for other in others}
    pairs = [(i, theirs[plain(i)]) for i in ids if plain(i) in theirs]
    if not pairs:
        return ""
    first = f"'{pairs[0][0]}' and '{pairs[0][1]}'"
    return (
        f"; {count(len(pairs), 'of them differs', 'of them differ')} from an id of the other table "
        f"only in case, spaces, punctuation or '.0', such as {first}"
    )


def unmatched_warnings(unscored: list[str], unjudged: list[str]) -> list[AggcalWarning]:
    """Name the items that are in only one of the two tables.

    Examples
    --------
    >>> print(unmatched_warnings(["Item 1"], ["item-1"])[0].what)
    1 item of the consensus has no model score ('Item 1'); 1 of them differs from ...
    """
    found: list[AggcalWarning] = []
    alike = _alike(unscored, unjudged)
    if unscored:
        found.append(
            UnmatchedItemsWarning(
                f"{count(len(unscored), 'item')} of the consensus "
                f"{'has' if len(unscored) == 1 else 'have'} no model score "
                f"({some(unscored)}){alike}",
                "they keep their rank and get no calibrated score: add them to the scores",
            )
        )
    if unjudged:
        found.append(
            UnmatchedItemsWarning(
                f"{count(len(unjudged), 'scored item')} "
                f"{'was' if len(unjudged) == 1 else 'were'} never judged ({some(unjudged)})",
                "they keep their model score and get no calibrated score: have them judged",
            )
        )
    return found


def _or_none(numbers: IntArray) -> np.ndarray:
    if (numbers > 0).all():
        return numbers
    return np.array([int(k) if k > 0 else None for k in numbers], dtype=object)
