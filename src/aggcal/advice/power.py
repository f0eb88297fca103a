"""How many judgments a study needs: before it, by assumptions or a pilot; after it, how many more.

Studies are drawn once, with as many judgments as are ever asked for, and then grow: the study of
1,000 judgments is the first part of that of 2,000, so that differences between the two are no
chance. A few that double in size tell about where the goal is reached; more are simulated along a
grid of sizes there, and a straight line through what they reach says where.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import logit, ndtri

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, TextArray
from aggcal._core.progress import report
from aggcal._core.tables import Columns, aligned
from aggcal._core.text import brief, wrapped
from aggcal.aggregation import aggregate, check_method
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.families import Adjacent, typical_readiness
from aggcal.aggregation.links import LOGISTIC
from aggcal.data.judgments import Judgments
from aggcal.errors import OptionError, TooLittleDataError, count, did_you_mean, option
from aggcal.metrics import kendall
from aggcal.registry import limits
from aggcal.simulation import SimulatedTerms, simulate

GRID = (0.5, 0.71, 1.0, 1.41, 2.0)
"""Numbers of judgments that are simulated, as parts of the guess: wider ones seldom miss the goal,
narrower ones tell it better."""
MOST = 2_000_000
"""Judgments beyond which nobody wants to know."""
_FARTHER = 3  # how often the grid is doubled or halved where the goal is not within it
_GUESSING = 3  # studies that double in size: more guess better, and take longer
_STUDIES, _STUDIES_RANGE = 1500, (8, 48)
"""Simulated items in all, and how many studies there are at least and at most: more make the
answer more exact, and take longer. With 50 items a default call takes about ten seconds."""
_MOST_ITEMS, _FEWEST_ANNOTATORS = 400, 5
"""Of a simulated study, where the goal allows it: larger ones take longer and say the same."""
_LEAST_INFORMATION = 2.0
"""About the log of the spread of the scores: with less, it may be twice or half as large."""
_RESAMPLED = 400
"""Resamples of the simulated studies: the error of the answer is itself off by a few percent."""
_EDGE, _SMALL = 1e-3, 1e-4
"""How near 0 and 1 shares are told apart, and the least spread of studies: less would outweigh all
others. Step of a derivative."""
_LIKELY = 0.8  # the share of the studies that "four of five" is
_READINESS_SD = 0.5  # of annotators to tie: what studies with ties had, roughly
_TIED = 0.5  # the outcome of a tie
_SEEDS = 1_000_003  # apart, so that no two calls draw the same study


class _Kind(NamedTuple):
    """A kind of goal."""

    pattern: str
    name: str
    below: float
    """Values must be less than this."""
    straightened: Callable[[FloatArray], FloatArray]
    """Onto a scale on which values rise with the log of the judgments, on a line."""


_KINDS = {
    # A tau tells the ratio of signal to noise of normal scores, which rises with the judgments.
    "tau": _Kind(
        "tau",
        "Kendall's tau with the truth",
        1.0,
        lambda tau: logit(np.square(np.sin(0.5 * np.pi * np.clip(tau, _EDGE, 1.0 - _EDGE)))),
    ),
    # The odds of being in the top k nearly do.
    "top": _Kind(
        r"top-(\d+)",
        "share of the true top {k} found",
        1.0,
        lambda share: logit(np.clip(share, _EDGE, 1.0 - _EDGE)),
    ),
    # Half-widths fall with the root of the information.
    "half-width": _Kind(
        "half-width",
        "mean half-width of the {level:.0%} intervals",
        np.inf,
        lambda width: -np.log(np.maximum(width, _EDGE)),
    ),
}
EXAMPLES = "tau=0.8, top-10=0.9 or half-width=0.3"
"""How goals are written, for messages."""


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
        matches = {kind: re.fullmatch(row.pattern, name) for kind, row in _KINDS.items()}
        kind = next((kind for kind, match in matches.items() if match), None)
        if kind is None or not parted:
            near = did_you_mean(name, ("tau", "top-10", "half-width")) if kind is None else ""
            raise OptionError(f"goal '{text}' is unknown{near}; give such as {EXAMPLES}.")
        try:
            value = float(number)
        except ValueError:
            raise OptionError(
                f"goal '{text}': '{number}' is not a number; give such as {EXAMPLES}."
            ) from None
        below = _KINDS[kind].below
        if not 0.0 < value < below:
            between = f"between 0 and {below:g}" if below < np.inf else "above 0"
            raise OptionError(f"goal '{text}' cannot be reached; give a number {between}.")
        match = matches["top"]
        k = int(match[1]) if match else None
        if k == 0:
            raise OptionError(f"goal '{text}': the first 0 items are none; give such as top-10.")
        limits.check(level=level)
        return cls(kind, value, k, level)

    @property
    def falls(self) -> bool:
        """Whether less is better."""
        return self.kind == "half-width"

    def reached(self, values: Any) -> BoolArray:
        """Whether values are as good as the goal, or better."""
        return np.asarray(values <= self.value if self.falls else values >= self.value)

    @property
    def name(self) -> str:
        """What is measured, in words."""
        return _KINDS[self.kind].name.format(k=self.k, level=self.level)

    def __str__(self) -> str:
        return f"{self.kind if self.k is None else f'top-{self.k}'}={self.value:g}"

    def straightened(self, values: FloatArray) -> FloatArray:
        """Return values on a scale on which they rise with the log of the judgments, on a line.

        Examples
        --------
        >>> Goal.of("half-width=1").straightened(np.array([1.0, 0.5])).round(2)
        array([-0.  ,  0.69])
        """
        return np.asarray(_KINDS[self.kind].straightened(values))

    def measured(self, consensus: Consensus, ids: TextArray, truth: FloatArray) -> float:
        """Return what a fit reaches; an item that nobody judged is in the middle.

        Parameters
        ----------
        consensus
            The fit.
        ids, truth
            All items, and their true scores.
        """
        if self.falls:
            known = consensus.uncertainty
            if known is None:
                raise OptionError(
                    f"method '{consensus.method}' has no intervals; choose another goal."
                )
            # An item that nobody judged is as uncertain as the prior says.
            missing = len(truth) - len(consensus.item_ids)
            sd = 1.0 if consensus.prior is None else consensus.prior.score_sd
            mean = (float(known.se.sum()) + missing * sd) / len(truth)
            return float(ndtri(0.5 + 0.5 * self.level)) * mean
        scores = np.nan_to_num(aligned(consensus.scores, consensus.item_ids, ids))
        if self.k is None:
            return kendall(scores, truth)[0]
        best, top = (np.argsort(-x, kind="stable")[: self.k] for x in (truth, scores))
        return len(np.intersect1d(best, top)) / self.k


@dataclass(frozen=True, eq=False)
class Growing:
    """A drawn study: its truth, and its judgments in the order in which they are made."""

    item_ids: TextArray
    truth: FloatArray
    judgments: Judgments
    order: IntArray
    """When each row is made; −1: it was there from the beginning."""

    __repr__ = brief

    def first(self, number: int) -> Judgments:
        """Return the study after so many judgments."""
        kept: BoolArray = self.order < number
        return self.judgments if kept.all() else self.judgments.of_rows(kept)


class Plan(ABC):
    """How studies are drawn."""

    begun: int = 0
    """How many judgments there are to begin with."""

    @property
    @abstractmethod
    def n_items(self) -> int:
        """How many items there are."""

    @abstractmethod
    def drawn(self, number: int, seed: int) -> Growing:
        """Draw a study with so many judgments, beyond those that there are."""

    def annotators_for(self, number: int) -> int | None:
        """Return how many annotators so many judgments take; None where that is as assumed."""
        del number
        return None


@dataclass(frozen=True)
class Assumptions(Plan):
    """A new study, from what is assumed of its items and annotators.

    Parameters
    ----------
    items, annotators
        How many there are; with ``per_annotator``, there are as many annotators as it takes.
    score_sd
        Spread of the true scores: for a typical annotator, an item one unit above another wins 73
        of 100 comparisons.
    reliability_sd, reversed_share
        Spread of the annotators' reliabilities, and the share who answer the other way round.
    ties
        Share of the answers that are ties.
    design
        ``"random"`` or ``"balanced"`` (see `simulate`).
    per_annotator
        How many judgments each annotator gives.
    score_sd_error
        Standard error of the log of ``score_sd``, where it is an estimate.

    Examples
    --------
    >>> plan = Assumptions(items=20, annotators=5)
    >>> plan.drawn(200, seed=1).first(50)
    Judgments(20 items, 5 annotators, 50 judgments)
    """

    items: int = 50
    annotators: int = 20
    score_sd: float = 1.0
    reliability_sd: float = 0.5
    reversed_share: float = 0.0
    ties: float = 0.0
    design: Literal["random", "balanced"] = "random"
    per_annotator: int | None = None
    score_sd_error: float = 0.0

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return self.items

    def annotators_for(self, number: int) -> int | None:
        """Return how many annotators so many judgments take."""
        return None if self.per_annotator is None else ceil(number / self.per_annotator)

    def drawn(self, number: int, seed: int) -> Growing:
        """Draw a study with so many judgments."""
        random = np.random.default_rng([seed, 1])
        terms = SimulatedTerms()
        if self.ties:
            # The advantage is the product of a reliability and of a gap of two scores.
            advantage_sd = self.score_sd * np.sqrt(2.0 * (1.0 + self.reliability_sd**2))
            ready = typical_readiness(self.ties, Adjacent(), advantage_sd, _READINESS_SD)
            terms = SimulatedTerms("davidson", tie_readiness=ready, tie_readiness_sd=_READINESS_SD)
        study = simulate(
            items=self.items,
            annotators=self.annotators_for(number) or self.annotators,
            judgments=number,
            reliability_sd=self.reliability_sd,
            reversed_share=self.reversed_share,
            latent_sd=self.score_sd * float(np.exp(self.score_sd_error * random.standard_normal())),
            design=self.design,
            terms=terms,
            seed=seed,
        )
        when = np.arange(number)
        if self.per_annotator is not None:
            # One annotator after the other; who answers what is drawn at random all the same.
            when = np.argsort(np.argsort(study.annotator, kind="stable"))
        outcome = np.where(study.grade == 0, _TIED, 1.0)
        rows = study.annotator, study.winner, study.loser, outcome
        ones = np.ones(number), np.ones(number, dtype=np.int64)
        ids = study.item_ids, study.annotator_ids
        return _grown(ids, study.latent, (*rows, *ones), when)


@dataclass(frozen=True, eq=False)
class Continued(Plan):
    """A study that goes on: the same items, annotators and questions drawn at random.

    What is not known of items and annotators is drawn from the posterior of the fit, so that the
    answers to come are those that the judgments so far lead to expect.
    """

    judgments: Judgments
    consensus: Consensus

    __repr__ = brief

    @property
    def begun(self) -> int:  # type: ignore[override]
        """How many judgments there are to begin with."""
        return self.judgments.n_judgments

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return self.judgments.n_items

    def drawn(self, number: int, seed: int) -> Growing:
        """Draw a truth from the posterior, and so many judgments more."""
        random, known = np.random.default_rng([seed, 2]), self.consensus.uncertainty
        here, truth = self.judgments, self.consensus.scores.copy()
        if known is not None:
            truth = truth + known.covariance.draws(1, random)[0]
        slopes, error = np.asarray(self.consensus.reliabilities), np.zeros(here.n_annotators)
        if self.consensus.random_reliability:  # probabilities of an honest answer
            slopes = 2.0 * slopes - 1.0
        elif known is not None and known.reliability_low is not None:
            error = (np.asarray(known.reliability_high) - np.asarray(known.reliability_low)) / 4.0
        slopes = slopes + error * random.standard_normal(here.n_annotators)
        share = here.judgments_per_annotator / here.n_judgments
        who = random.choice(here.n_annotators, size=number, p=share).astype(np.int32)
        first, second = (
            random.integers(n, size=number, dtype=np.int32)
            for n in (here.n_items, here.n_items - 1)
        )
        second += second >= first
        lean = slopes[who] * (truth[first] - truth[second])
        outcome = (random.random(number) < LOGISTIC.probability(lean)).astype(np.float64)
        tied = np.asarray(here.outcome) == _TIED
        ties = float(np.asarray(here.weight)[tied].sum() / np.asarray(here.weight).sum())
        outcome[random.random(number) < ties * _closeness(lean)] = _TIED
        mine = here.annotator, here.left, here.right, here.outcome, here.weight, here.count
        more = who, first, second, outcome, np.ones(number), np.ones(number, dtype=np.int64)
        rows = tuple(np.concatenate([np.asarray(a), b]) for a, b in zip(mine, more, strict=True))
        when = np.r_[np.full(len(here.count), -1), np.arange(number)]
        return _grown((here.item_ids, here.annotator_ids), truth, rows, when)


def _closeness(lean: FloatArray) -> FloatArray:
    """Return how much more frequent ties are than on average, by how near two items are."""
    near = 1.0 / np.cosh(0.5 * lean)
    return np.asarray(near / max(float(np.mean(near)), 1e-300))


def _grown(
    ids: tuple[TextArray, TextArray], truth: FloatArray, rows: Sequence[Any], when: IntArray
) -> Growing:
    """Return a study of rows (annotator, left, right, outcome, weight, count) and their order."""
    order = np.argsort(rows[0], kind="stable")
    judgments = Judgments(*ids, *(column[order] for column in rows))
    # Whoever is never drawn has no row, and a fit wants one of everybody.
    return Growing(ids[0], truth, judgments.of_rows(np.ones(len(order), dtype=bool)), when[order])


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
        return np.asarray(self.goal.reached(self.values).mean(axis=0))

    def line(self, values: FloatArray, share: float | None = None) -> tuple[float, float]:
        """Return the line through what studies reach, straightened, in the log of all judgments.

        ``share`` asks for what that share of the studies reaches, instead of the mean.
        """
        mean, sd = values.mean(axis=0), np.maximum(values.std(axis=0, ddof=1), _EDGE)
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


@dataclass(frozen=True, eq=False)
class PowerCurve:
    """How many judgments reach a goal, on average over simulated studies."""

    goal: Goal
    plan: Plan
    curve: Curve
    method: str
    seed: int
    notes: tuple[str, ...] = field(default=())

    __repr__ = brief

    @property
    def more(self) -> bool:
        """Whether the judgments are further ones of a study that has some."""
        return self.plan.begun > 0

    @property
    def needed(self) -> int | None:
        """Judgments with which studies reach the goal on average; None where none simulated does.

        With judgments given, how many more; 0 where the goal is reached.
        """
        found = self.curve.needed()
        return None if found is None else _up(found)

    @property
    def needed_interval(self) -> tuple[int, int | None]:
        """Between which numbers it is, allowing for so few simulated studies (90%)."""
        low, high = self.curve.interval()
        return (MOST if np.isinf(low) else _up(low)), (None if np.isinf(high) else _up(high))

    @property
    def likely(self) -> int | None:
        """Judgments with which four of five studies reach it."""
        found = self.curve.likely()
        return None if found is None else _up(found)

    @property
    def columns(self) -> Columns:
        """A row for each number of judgments that was simulated."""
        curve, numbers = self.curve, self.curve.numbers.astype(np.int64)
        whole = numbers + self.plan.begun
        low, high = np.quantile(curve.values, [0.1, 0.9], axis=0)
        found: Columns = {"judgments": whole, "more": numbers} if self.more else {}
        found |= {} if self.more else {"judgments": numbers}
        found["per_item"] = 2.0 * whole / self.plan.n_items
        who = [self.plan.annotators_for(int(number)) for number in whole]
        if None not in who:
            found["annotators"] = np.array(who)
        return found | {
            "value": curve.mean,
            "value_low": low,
            "value_high": high,
            "monte_carlo_se": curve.error,
            "share_reaching": curve.share,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        low, high = self.needed_interval if self.needed is not None else (None, None)
        who = None if self.needed is None else self.plan.annotators_for(self.needed)
        return {
            "goal": str(self.goal),
            "measures": self.goal.name,
            "judgments_so_far": self.plan.begun,
            "needed": self.needed,
            "needed_low": low,
            "needed_high": high,
            "needed_by_four_of_five": self.likely,
            "annotators": who,
            "method": self.method,
            "studies": len(self.curve.values),
            "seed": self.seed,
            "notes": list(self.notes),
            "points": [
                dict(zip(self.columns, row, strict=True))
                for row in zip(*(c.tolist() for c in self.columns.values()), strict=True)
            ],
            "says": self.says,
        }

    @property
    def says(self) -> str:
        """Say the answer in a sentence or two."""
        goal, what = self.goal, "more judgments" if self.more else "judgments"
        now = ""
        if self.more:
            now = f"With its {count(self.plan.begun, 'judgment')} the study reaches {self._at(0)}. "
        if self.needed is None:
            most = int(self.curve.numbers[-1])
            return f"{now}{goal} is not reached with up to {most:,} {what} ({self._at(-1)})."
        if self.more and not self.needed:
            return f"{now}{goal} is reached."
        per_item = 2.0 * (self.needed + self.plan.begun) / self.plan.n_items
        low, high = self.needed_interval
        ends = f"{low:,} or more" if high is None else f"{low:,} to {high:,}"
        who = self.plan.annotators_for(self.needed)
        by = "" if who is None else f" by {count(who, 'annotator')}"
        error = f"{ends}, allowing for {len(self.curve.values)} simulated studies only"
        if low == high:
            error = f"in {len(self.curve.values)} simulated studies, which hardly differ"
        said = (
            f"{now}About {self.needed:,} {what}{by} reach {goal} on average, {_round(per_item)} "
            f"per item; {error}."
        )
        if self.likely is None:
            return f"{said} Four of five studies do not reach it with any number simulated."
        return f"{said} For four of five studies to reach it, about {self.likely:,}."

    def _at(self, k: int) -> str:
        """Say what is reached at one of the numbers."""
        mean, error = float(self.curve.mean[k]), float(self.curve.error[k])
        return f"{str(self.goal).split('=')[0]} {mean:.3f} ± {2.0 * error:.3f}"

    def __str__(self) -> str:
        lines = [*self._table(), ""]
        return "\n".join([*lines, wrapped(self.says), *(wrapped(f"note: {n}") for n in self.notes)])

    def _table(self) -> list[str]:
        columns = self.columns
        heads = {"per_item": "per item", "value": str(self.goal).split("=")[0]}
        heads |= {"value_low": "10%", "value_high": "90%", "monte_carlo_se": "MC error"}
        heads |= {"share_reaching": "reach it"}
        shown = {name: heads.get(name, name) for name in columns}
        rows = zip(*columns.values(), strict=True)
        return [
            "".join(f"{head:>12}" for head in shown.values()),
            *("".join(map(_cell, shown, row)) for row in rows),
        ]


def _cell(name: str, value: float) -> str:
    if name in ("judgments", "more", "annotators"):
        return f"{int(value):>12,}"
    if name == "share_reaching":
        return f"{value:>12.0%}"
    return f"{value:>12.1f}" if name == "per_item" else f"{value:>12.3f}"


def _round(number: float) -> str:
    return f"{number:,.0f}" if number >= 10.0 else f"{number:.1f}"  # noqa: PLR2004


def _up(number: float) -> int:
    """Round up to two digits and a half: no simulation knows more.

    Examples
    --------
    >>> _up(1234.2), _up(17.0), _up(0.0)
    (1250, 17, 0)
    """
    whole = int(np.ceil(number))
    step = 5 * 10 ** max(0, len(str(whole)) - 3) if whole >= 100 else 1  # noqa: PLR2004
    return -(-whole // step) * step


def found_power(
    plan: Plan,
    goal: Goal,
    *,
    method: str,
    repeats: int | None,
    seed: int,
    start: Consensus | None = None,
    notes: tuple[str, ...] = (),
) -> PowerCurve:
    """Simulate studies until it is known how many judgments reach a goal."""
    check_power(method, repeats, seed)
    if goal.k is not None and goal.k >= plan.n_items:
        raise TooLittleDataError(
            f"there are {plan.n_items:,} items, so the top {goal.k:,} are no choice; give a "
            f"smaller number in {option('goal')}."
        )
    small, times = plan, 1.0
    if isinstance(plan, Assumptions) and goal.k is None and plan.items > _MOST_ITEMS:
        # How near an order is, and how wide intervals are, depends on the judgments per item;
        # which are the best k depends on how many there are.
        times = plan.items / _MOST_ITEMS
        who = max(round(plan.annotators / times), min(plan.annotators, _FEWEST_ANNOTATORS))
        small = replace(plan, items=_MOST_ITEMS, annotators=who)
        said = f"simulated with {_MOST_ITEMS:,} of the {plan.items:,} items"
        notes = (*notes, f"{said}, and as many judgments per item")

    def simulated(numbers: list[int], studies: int) -> FloatArray:
        """Return what studies reach, studies by numbers of judgments."""
        values = np.empty((studies, len(numbers)))
        for r in range(studies):
            study = small.drawn(max(numbers), seed * _SEEDS + r)
            for k, number in enumerate(numbers):
                report("simulating studies", r * len(numbers) + k, values.size)
                fit = aggregate(study.first(number), method, start=start, warn=False)
                values[r, k] = goal.measured(fit, study.item_ids, study.truth)
        return values

    number = repeats or int(np.clip(_STUDIES // small.n_items, *_STUDIES_RANGE))
    curve = _searched(small, goal, simulated, number)
    curve = replace(curve, numbers=np.rint(times * curve.numbers))
    return PowerCurve(goal, plan, curve, method, seed, notes)


def _searched(
    plan: Plan, goal: Goal, simulated: Callable[[list[int], int], FloatArray], studies: int
) -> Curve:
    """Simulate around a guess, and further off until the goal is among the numbers."""
    fewest = 0 if plan.begun else max(2, plan.n_items // 2)
    sizes = [max(2 * plan.n_items, plan.begun // 8)]
    doubled = [simulated(sizes, _GUESSING)[:, 0]]
    while not goal.reached(doubled[-1].mean()) and sizes[-1] < MOST // 2:
        sizes.append(2 * sizes[-1])
        doubled.append(simulated(sizes[-1:], _GUESSING)[:, 0])
    pilot = Curve(goal, np.array(sizes, dtype=np.float64), np.array(doubled).T, plan.begun)
    guess = pilot.needed() or sizes[-1]
    values: dict[int, FloatArray] = {}
    wanted = [*([0] if plan.begun else []), *(round(guess * part) for part in GRID)]
    for _ in range(_FARTHER + 1):
        numbers = sorted({min(max(n, fewest), MOST) for n in wanted} - set(values))
        if numbers:
            values |= dict(zip(numbers, simulated(numbers, studies).T, strict=True))
        ordered = sorted(values)
        whole = np.array([values[n] for n in ordered]).T
        curve = Curve(goal, np.array(ordered, dtype=np.float64), whole, plan.begun)
        if np.isinf(curve.interval()[1]) and ordered[-1] < MOST:
            wanted = [round(1.41 * ordered[-1]), 2 * ordered[-1]]
        elif curve.needed() == ordered[0] > fewest:
            wanted = [ordered[0] // 2, round(0.71 * ordered[0])]
        else:
            break
    return curve


def check_power(method: str, repeats: int | None, seed: int) -> None:
    """Refuse options that are none, before anything is simulated."""
    check_method(method)
    limits.check(studies=repeats, seed=seed)


def assumed_from(pilot: Judgments, consensus: Consensus, **given: Any) -> Assumptions:
    """Return the assumptions that a pilot leads to; what is given comes first.

    Examples
    --------
    >>> import aggcal
    >>> study = aggcal.simulate(items=20, annotators=10, judgments=600, seed=1)
    >>> pilot = aggcal.read_judgments(study.judgments)
    >>> plan = assumed_from(pilot, aggcal.aggregate(pilot, warn=False), items=100)
    >>> plan.items, plan.annotators, 0.7 < plan.score_sd < 1.4
    (100, 10, True)
    """
    prior, known = consensus.prior, consensus.uncertainty
    if prior is None or known is None:
        raise OptionError(
            f"method '{consensus.method}' does not tell how far items are apart; choose another."
        )
    free = 1.0 - 1.0 / pilot.n_items  # standard errors are about the mean of the items
    kept = np.maximum(1.0 - np.square(known.se / prior.score_sd) / free, 0.0)
    information = 2.0 * free * float(np.square(kept).sum())
    if information < _LEAST_INFORMATION:
        raise TooLittleDataError(
            "the pilot does not tell how far items are apart: it has too few judgments. Collect "
            "more, or give assumptions instead of it."
        )
    tied = np.asarray(pilot.outcome) == 0.5  # noqa: PLR2004
    weight = np.asarray(pilot.weight)
    found = {
        "items": pilot.n_items,
        "annotators": pilot.n_annotators,
        "score_sd": prior.score_sd,
        "reliability_sd": prior.reliability_sd,
        "reversed_share": consensus.reversed_share or 0.0,
        "ties": float(weight[tied].sum() / weight.sum()),
        "score_sd_error": information**-0.5,
    }
    return Assumptions(**(found | given))
