"""What a study should reach: an order, a set of the best, or narrow intervals."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from aggcal._core.arrays import FloatArray, TextArray
from aggcal._core.tables import aligned
from aggcal.aggregation.consensus import Consensus
from aggcal.errors import OptionError, TooLittleDataError, did_you_mean, option
from aggcal.metrics import kendall
from aggcal.registry import limits

TAU, TOP, HALF_WIDTH = "tau", "top", "half-width"
_TOP = re.compile(r"top-(\d+)")
EXAMPLES = f"{TAU}=0.8, {TOP}-10=0.9 or {HALF_WIDTH}=0.3"
"""How goals are written, for messages."""
_EDGE = 1e-3
"""How near 0 and 1 shares are told apart: nearer ones would outweigh all others."""
_DRAWS = 60
"""Drawn studies from which it is guessed where to look: their mean is off by a few hundredths."""


@dataclass(frozen=True)
class Goal:
    """What should be reached on average.

    ``tau`` is Kendall's, with the truth; ``top`` the share of the true ``k`` best among the ``k``
    best of the study; ``half-width`` the mean half-width of the intervals of the scores, on the
    consensus scale.

    Examples
    --------
    >>> Goal.of("tau=.8"), Goal.of("top-10 = 0.9").k, Goal.of("half-width=0.3").falls
    (Goal(kind='tau', value=0.8, k=None, level=0.95), 10, True)
    """

    kind: str
    value: float
    k: int | None = None
    level: float = 0.95

    @classmethod
    def of(cls, text: str, level: float = 0.95) -> Goal:
        """Read a goal as it is written."""
        name, parted, number = text.replace(" ", "").partition("=")
        top = _TOP.fullmatch(name)
        kind = TOP if top else name
        if kind not in (TAU, TOP, HALF_WIDTH) or not parted or (kind == TOP and top is None):
            known = name in (TAU, TOP, HALF_WIDTH) or top
            near = "" if known else did_you_mean(name, (TAU, f"{TOP}-10", HALF_WIDTH))
            raise OptionError(f"goal '{text}' is unknown{near}; give such as {EXAMPLES}.")
        try:
            value = float(number)
        except ValueError:
            raise OptionError(
                f"goal '{text}': '{number}' is not a number; give such as {EXAMPLES}."
            ) from None
        most = np.inf if kind == HALF_WIDTH else 1.0
        if not 0.0 < value < most:
            between = "above 0" if kind == HALF_WIDTH else "between 0 and 1"
            raise OptionError(f"goal '{text}' cannot be reached; give a number {between}.")
        k = int(top[1]) if top else None
        if k == 0:
            raise OptionError(f"goal '{text}': the first 0 items are none; give such as {TOP}-10.")
        limits.check(level=level)
        return cls(kind, value, k, level)

    @property
    def falls(self) -> bool:
        """Whether less is better."""
        return self.kind == HALF_WIDTH

    @property
    def name(self) -> str:
        """What is measured, in words."""
        if self.kind == TAU:
            return "Kendall's tau with the truth"
        if self.kind == TOP:
            return f"share of the true top {self.k} found"
        return f"mean half-width of the {self.level:.0%} intervals"

    def __str__(self) -> str:
        shown = f"{TOP}-{self.k}" if self.kind == TOP else self.kind
        return f"{shown}={self.value:g}"

    def check_items(self, items: int) -> None:
        """Refuse a top k of as many items as there are, or more."""
        if self.k is not None and self.k >= items:
            raise TooLittleDataError(
                f"there are {items:,} items, so the top {self.k:,} are no choice; give a smaller "
                f"number in {option('goal')}."
            )

    def reached(self, value: float) -> bool:
        """Whether a value is as good as the goal, or better."""
        return value <= self.value if self.falls else value >= self.value

    def straightened(self, values: FloatArray) -> FloatArray:
        """Return values on a scale on which they rise with the log of the judgments, on a line.

        Half-widths fall with the root of the information; a tau tells the ratio of signal to noise
        of normal scores, which rises with it; the odds of being in the top k nearly do.

        Examples
        --------
        >>> Goal.of("half-width=1").straightened(np.array([1.0, 0.5])).round(2)
        array([-0.  ,  0.69])
        """
        if self.falls:
            return np.asarray(-np.log(np.maximum(values, _EDGE)))
        inside = np.clip(values, _EDGE, 1.0 - _EDGE)
        if self.kind == TAU:
            inside = np.square(np.sin(0.5 * np.pi * inside))
        return np.asarray(np.log(inside / (1.0 - inside)))

    def measured(self, consensus: Consensus, ids: TextArray, truth: FloatArray) -> float:
        """Return what a fit reaches; an item that nobody judged is in the middle.

        Parameters
        ----------
        consensus
            The fit.
        ids, truth
            All items, and their true scores.
        """
        if self.kind == HALF_WIDTH:
            known = consensus.uncertainty
            if known is None:
                raise OptionError(
                    f"method '{consensus.method}' has no intervals; choose another goal."
                )
            # An item that nobody judged is as uncertain as the prior says.
            missing = len(truth) - len(consensus.item_ids)
            wide = float(ndtri(0.5 + 0.5 * self.level))
            sd = 1.0 if consensus.prior is None else consensus.prior.score_sd
            total = float(known.se.sum()) + missing * sd
            return wide * total / len(truth)
        scores = aligned(consensus.scores, consensus.item_ids, ids)
        return self.of_scores(np.where(np.isnan(scores), 0.0, scores), truth)

    def of_scores(self, scores: FloatArray, truth: FloatArray) -> float:
        """Return how near the order of some scores is to the truth."""
        if self.k is None:
            return kendall(scores, truth)[0]
        best = np.argsort(-truth, kind="stable")[: self.k]
        found = np.argsort(-scores, kind="stable")[: self.k]
        return len(np.intersect1d(best, found)) / self.k

    def expected(self, error: float, spread: float, items: int) -> float:
        """Return what scores with a standard error reach, of a normal population of items.

        Examples
        --------
        >>> round(Goal.of("tau=.8").expected(0.5, 1.0, 50), 1)
        0.7
        """
        if self.kind == HALF_WIDTH:
            return float(ndtri(0.5 + 0.5 * self.level)) * error
        kept = max(0.0, 1.0 - (error / spread) ** 2)
        if self.kind == TAU:
            return float(2.0 / np.pi * np.arcsin(np.sqrt(kept)))
        random = np.random.default_rng(0)
        scores = np.sqrt(kept) * random.standard_normal((_DRAWS, items))
        truth = scores + np.sqrt(1.0 - kept) * random.standard_normal((_DRAWS, items))
        return float(np.mean([self.of_scores(*both) for both in zip(scores, truth, strict=True)]))
