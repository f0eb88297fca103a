"""Scales that people know: Elo ratings, 0 to 100, the probability of beating the average item.

Each is an increasing function of the consensus score, so ranks and intervals stay what they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite, log
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, TextArray
from aggcal._core.tables import Columns
from aggcal.aggregation.groups import members
from aggcal.aggregation.links import link as link_of
from aggcal.errors import OptionError, check_choice, did_you_mean, option
from aggcal.registry import ELO, METHODS, SCALES, WIN, ScaleInfo

if TYPE_CHECKING:
    from aggcal.aggregation.consensus import Consensus

ELO_MEAN = 1000.0
"""The rating of the average item where no item has a given one."""
_PER_LOGIT = 400.0 / log(10.0)
"""Elo points of a logit: an item 400 points ahead wins ten times as often as it loses."""
_EQUAL = 1e-9  # scores that differ by less are equal but for rounding
_FARTHEST = 1e3  # beyond so many logits a probability is 0 or 1


@dataclass(frozen=True)
class ScoreScale:
    """A scale of the consensus: scores become ``offset + slope * score``, or F of that.

    Examples
    --------
    >>> scale = ScoreScale("elo", offset=1000.0, slope=173.7)
    >>> scale.of(np.array([0.0, 1.0])), round(scale.score(1173.7), 9)
    (array([1000. , 1173.7]), 1.0)
    """

    name: str
    offset: float = 0.0
    slope: float = 1.0
    link: str | None = None
    """F, where values are probabilities."""
    anchor: str | None = None
    """The item whose rating was given."""
    rating: float | None = None
    """That rating."""

    @property
    def info(self) -> ScaleInfo:
        """What the scale is called."""
        return SCALES[self.name]

    def of(self, scores: FloatArray) -> FloatArray:
        """Return scores on this scale."""
        moved = np.asarray(self.offset + self.slope * np.asarray(scores, dtype=np.float64))
        return moved if self.link is None else link_of(self.link).probability(moved)

    def score(self, value: float) -> float:
        """Return the consensus score that has this value: the inverse of `of`."""
        if self.link is None:
            return (value - self.offset) / self.slope
        from scipy.optimize import brentq

        check_values(self.name, (value,))
        own = link_of(self.link).probability
        moved = brentq(lambda x: float(own(np.array([x]))[0]) - value, -_FARTHEST, _FARTHEST)
        return (float(moved) - self.offset) / self.slope

    def columns(self, consensus: Consensus, order: IntArray) -> Columns:
        """Return the scores on this scale, their intervals, and the bounds of the ranks.

        ``order`` are the positions of the items, in the order of the table.
        """
        name, spread = self.info.column, consensus.uncertainty
        columns: Columns = {name: self.of(consensus.scores)}
        if spread is not None:
            upper, lower = rank_bounds(spread.low, spread.high, spread.component)
            columns |= {f"{name}_low": self.of(spread.low), f"{name}_high": self.of(spread.high)}
            columns |= {"rank_upper_bound": upper, "rank_lower_bound": lower}
        return {key: column[order] for key, column in columns.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as in ``summary.json``."""
        stated = {key: value for key, value in vars(self).items() if value is not None}
        return {"name": self.name, "column": self.info.column} | stated

    @classmethod
    def from_dict(cls, summary: Mapping[str, Any]) -> ScoreScale:
        """Return the scale that a ``summary.json`` has."""
        return cls(**{key: value for key, value in summary.items() if key != "column"})


def check_scale(
    name: str | None, anchor: tuple[str, float] | None = None, method: Any = None
) -> None:
    """Refuse a scale that there is not, or that a method's scores do not have.

    Examples
    --------
    >>> check_scale("elos")
    Traceback (most recent call last):
    aggcal.errors.OptionError: scale 'elos' is unknown (did you mean 'elo'?); choose elo, ...
    """
    if name is not None:
        check_choice("scale", name, SCALES)
    if name != ELO.name and anchor is not None:
        other = "give both, or leave it out" if name is None else "leave it out, or choose that"
        raise OptionError(f"an anchor is for {option('scale', ELO.name)}; {other}.")
    if anchor is not None and not isfinite(anchor[1]):
        raise OptionError(f"the rating of '{anchor[0]}' is {anchor[1]}; give a number.")
    info = METHODS.get(method) if isinstance(method, str) else None
    needs_link = name is not None and SCALES[name].linked
    if needs_link and info is not None and info.name in METHODS.own and info.link is None:
        _refuse(str(name), info.name)


def check_values(name: str | None, values: Iterable[float]) -> None:
    """Refuse cuts and boundaries that are not on a scale.

    Examples
    --------
    >>> check_values("win", [0.4, 60])
    Traceback (most recent call last):
    aggcal.errors.OptionError: 60 is no probability of beating the average item; give a number ...
    """
    for value in values if name == WIN.name else ():
        if not 0.0 < value < 1.0:
            raise OptionError(
                f"{value:g} is no probability of beating the average item; give a number between "
                "0 and 1."
            )


def check_anchor(anchor: tuple[str, float] | None, item_ids: TextArray) -> None:
    """Refuse the rating of an item that nobody judged.

    Examples
    --------
    >>> check_anchor(("gpt-5", 1000.0), np.array(["gpt-4"], dtype=object))
    Traceback (most recent call last):
    aggcal.errors.OptionError: 'gpt-5' is not among the judged items (did you mean 'gpt-4'?); ...
    """
    if anchor is not None and str(anchor[0]) not in set(item_ids.tolist()):
        near = did_you_mean(str(anchor[0]), item_ids.tolist())
        raise OptionError(
            f"'{anchor[0]}' is not among the judged items{near}; correct the id of the anchor."
        )


def scale_of_consensus(
    consensus: Consensus, name: str, anchor: tuple[str, float] | None = None
) -> ScoreScale:
    """Return a scale for a consensus.

    Parameters
    ----------
    consensus
        What was fitted.
    name
        ``elo``, ``0-100`` or ``win``.
    anchor
        For ``elo``, an item and its rating; without it the average item has 1000.

    Examples
    --------
    >>> import aggcal
    >>> found = aggcal.aggregate([("ann", "a", "b"), ("bob", "a", "b")], warn=False)
    >>> scale_of_consensus(found, "elo", ("b", 1200.0)).of(found.scores).round()
    array([1438., 1200.])
    >>> scale_of_consensus(found, "0-100").of(found.scores)
    array([100.,   0.])
    """
    check_scale(name, anchor, consensus.method)
    scores, info = consensus.scores, METHODS.get(consensus.method)
    lowest, highest, mean = float(scores.min()), float(scores.max()), float(scores.mean())
    if not SCALES[name].linked:
        if highest - lowest < _EQUAL:
            return ScoreScale(name, offset=50.0)  # all are equal: the middle
        slope = 100.0 / (highest - lowest)
        return ScoreScale(name, offset=-slope * lowest, slope=slope)
    if info is None or info.link is None:
        _refuse(name, consensus.method)
    if name == WIN.name:
        return ScoreScale(name, offset=-mean, link=info.link.name)
    # Links other than the logistic one are matched to it where it is steepest, between equals.
    slope = _PER_LOGIT * 2.0 * link_of(info.link.name).score_at_zero
    if anchor is None:
        return ScoreScale(name, offset=ELO_MEAN - slope * mean, slope=slope)
    check_anchor(anchor, consensus.item_ids)
    item, rating = str(anchor[0]), float(anchor[1])
    offset = rating - slope * float(scores[consensus.item_ids == item][0])
    return ScoreScale(name, offset=offset, slope=slope, anchor=item, rating=rating)


def rank_bounds(
    low: FloatArray, high: FloatArray, component: IntArray | None = None
) -> tuple[IntArray, IntArray]:
    """Return the best and the worst rank that intervals leave to each item, as arenas print them.

    The best is 1 + the number of items whose whole interval is above the item's own, the worst
    that of all items less those whose whole interval is below. Nothing compares items of different
    components.

    Examples
    --------
    >>> rank_bounds(np.array([5.0, 1.0, 0.0]), np.array([9.0, 3.0, 2.0]))
    (array([1, 2, 2]), array([1, 3, 3]))
    """
    n = len(low)
    best, worst = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for own in members(component, n):
        lows, highs = np.sort(low[own]), np.sort(high[own])
        best[own] = 1 + len(own) - np.searchsorted(lows, high[own], side="right")
        worst[own] = n - np.searchsorted(highs, low[own], side="left")
    return best, worst


def _refuse(name: str, method: str) -> NoReturn:
    those = ", ".join(info.name for info in METHODS.own.values() if info.link is not None)
    raise OptionError(
        f"the scores of {method} do not say how often an item wins, which scale '{name}' needs; "
        f"choose one of {those}, or scale '0-100'."
    )
