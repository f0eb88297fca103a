"""Find how many judgments reach a goal: guess, simulate around the guess, fit a line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil, log2

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray
from aggcal._core.progress import report
from aggcal._core.text import brief
from aggcal.advice.power.goals import Goal
from aggcal.advice.power.studies import Growing, Plan
from aggcal.aggregation.consensus import Consensus
from aggcal.data.judgments import Judgments

STEPS = (0.5, 0.71, 1.0, 1.41, 2.0)
"""Numbers of judgments that are simulated, as parts of the guess: wider ones seldom miss the goal,
narrower ones tell it better."""
FARTHER = 3
"""How often they are doubled or halved, twice each, where the goal is not among them."""
MOST = 2_000_000
"""Judgments beyond which nobody wants to know."""
_RESAMPLED = 400
"""Resamples of the simulated studies: the error of the answer is itself off by a few percent."""
_SEEDS = 1_000_003
_LEAST, _SMALL = 1e-3, 1e-4
"""Spread of studies at least, which keeps weights finite; step of a derivative."""
_LIKELY = 0.8
"""Share of the studies that "four of five" is."""


@dataclass(frozen=True, eq=False)
class Curve:
    """What simulated studies reach, studies by numbers of judgments.

    On the scale of `Goal.straightened` it is nearly a line in the log of all judgments; the line
    that fits best, which never falls, says where the goal is reached.
    """

    goal: Goal
    numbers: FloatArray
    values: FloatArray
    begun: int = 0
    """Judgments that there were before."""

    __repr__ = brief

    @property
    def mean(self) -> FloatArray:
        """What they reach on average."""
        return np.asarray(self.values.mean(axis=0))

    @property
    def error(self) -> FloatArray:
        """Standard error of the averages: that of simulating so few studies."""
        return np.asarray(self.values.std(axis=0, ddof=1) / np.sqrt(len(self.values)))

    @property
    def share(self) -> FloatArray:
        """Share of the studies that reach the goal."""
        good = self.values <= self.goal.value if self.goal.falls else self.values >= self.goal.value
        return np.asarray(good.mean(axis=0))

    @property
    def reached(self) -> BoolArray:
        """At which numbers the line is as good as the goal."""
        intercept, slope = self.line(self.values)
        level = intercept + slope * np.log(self.numbers + self.begun)
        return np.asarray(level >= float(self.goal.straightened(np.array(self.goal.value))))

    def line(self, values: FloatArray, share: float | None = None) -> tuple[float, float]:
        """Return the line through what studies reach, straightened, in the log of all judgments.

        ``share`` asks for what that share of the studies reaches, instead of the mean.
        """
        mean, sd = values.mean(axis=0), np.maximum(values.std(axis=0, ddof=1), _LEAST)
        if share is not None:
            mean = np.quantile(values, share if self.goal.falls else 1.0 - share, axis=0)
        height = self.goal.straightened(mean)
        steep = (self.goal.straightened(mean + _SMALL) - height) / _SMALL
        weight = 1.0 / np.square(np.maximum(np.abs(steep), _SMALL) * sd)
        return self._rising(height, weight)

    def _rising(self, height: FloatArray, weight: FloatArray) -> tuple[float, float]:
        """Return the line that fits best of those that do not fall."""
        x, weight = np.log(self.numbers + self.begun), weight / weight.sum()
        middle = float(weight @ x)
        off = x - middle
        slope = max(float(weight @ (off * height)) / max(float(weight @ off**2), 1e-300), 0.0)
        return float(weight @ height) - slope * middle, slope

    def _least(self, line: tuple[float, float], target: float) -> float | None:
        """Return the least number at which a line is as high as a target; None beyond all."""
        intercept, slope = line
        least, most = np.log(self.numbers[[0, -1]] + self.begun)
        if intercept + slope * least >= target:
            return float(self.numbers[0])
        if intercept + slope * most < target:
            return None
        return float(np.exp((target - intercept) / slope) - self.begun)

    def needed(self, values: FloatArray | None = None, share: float | None = None) -> float | None:
        """Return the least number at which the goal is reached; None where none simulated does."""
        target = float(self.goal.straightened(np.array(self.goal.value)))
        return self._least(self.line(self.values if values is None else values, share), target)

    def likely(self) -> float | None:
        """Return the least number at which four of five studies reach the goal, about."""
        if self.goal.k is None:
            return self.needed(share=_LIKELY)
        # A few items of k are right or not: how many studies reach it says more than quantiles.
        edge = 0.5 / len(self.values)
        share = np.clip(self.share, edge, 1.0 - edge)
        line = self._rising(np.log(share / (1.0 - share)), share * (1.0 - share))
        return self._least(line, float(np.log(_LIKELY / (1.0 - _LIKELY))))

    def interval(self) -> tuple[float, float]:
        """Return between which numbers the answer is, but for 1 simulation of 10."""
        random, n = np.random.default_rng(0), len(self.values)
        found = []
        for _ in range(_RESAMPLED):
            number = self.needed(self.values[random.integers(n, size=n)])
            found.append(np.inf if number is None else number)
        low, high = np.quantile(found, [0.05, 0.95], method="nearest")
        return float(low), float(high)


@dataclass
class Search:
    """Simulates studies that grow, and fits them at some numbers of judgments.

    Parameters
    ----------
    plan, goal
        How studies are drawn, and what they should reach.
    fit
        Fits one.
    repeats
        How many studies.
    seed
        Of the random numbers.
    """

    plan: Plan
    goal: Goal
    fit: Callable[[Judgments], Consensus]
    repeats: int
    seed: int
    found: dict[int, FloatArray] = field(default_factory=dict)

    def run(self) -> Curve:
        """Simulate around the guess, and further off until the goal is among the numbers."""
        guess = self.guess()
        start = [0] if self.plan.begun else []
        self._add([*start, *(round(guess * step) for step in STEPS)])
        for _ in range(FARTHER):
            curve = self.curve()
            reached = curve.reached
            least, most = int(curve.numbers[0]), int(curve.numbers[-1])
            if not reached.any() and most < MOST:
                self._add([round(1.41 * most), 2 * most])
            elif reached[0] and least > self._fewest:
                self._add([least // 2, round(0.71 * least)])
            else:
                break
        return self.curve()

    @property
    def _fewest(self) -> int:
        return 0 if self.plan.begun else self.plan.n_items // 2

    def guess(self) -> float:
        """Return the number that the information of a judgment leads to expect."""
        plan, goal = self.plan, self.goal
        low, high = float(max(self._fewest, 10)), float(MOST) / STEPS[-1]

        def enough(number: float) -> bool:
            return goal.reached(plan.expected(goal, number))

        if enough(low):
            return max(low, 0.25 * plan.begun)
        for _ in range(ceil(log2(MOST)) if enough(high) else 0):
            middle = float(np.sqrt(low * high))
            low, high = (low, middle) if enough(middle) else (middle, high)
        # It leaves out that reliabilities are not known, and is too low by about that.
        return 1.25 * high

    def _add(self, numbers: list[int]) -> None:
        """Simulate studies of further sizes; each study grows from the same beginning."""
        fewest = 0 if self.plan.begun else max(2, self._fewest)
        wanted = sorted({min(max(number, fewest), MOST) for number in numbers} - set(self.found))
        if not wanted:
            return
        values = np.empty((len(wanted), self.repeats))
        total = len(wanted) * self.repeats
        # Where the study is larger than any before, it is drawn anew, with the same truth.
        for r in range(self.repeats):
            study = self.plan.drawn(max(wanted), self.seed * _SEEDS + r)
            for k, number in enumerate(wanted):
                report("simulating studies", r * len(wanted) + k, total)
                values[k, r] = self._value(study, number)
        self.found |= dict(zip(wanted, values, strict=True))

    def _value(self, study: Growing, number: int) -> float:
        consensus = self.fit(study.first(number))
        return self.goal.measured(consensus, study.item_ids, study.truth)

    def curve(self) -> Curve:
        """Return what was found so far."""
        numbers = sorted(self.found)
        values = np.array([self.found[number] for number in numbers]).T
        return Curve(self.goal, np.array(numbers, dtype=np.float64), values, self.plan.begun)
