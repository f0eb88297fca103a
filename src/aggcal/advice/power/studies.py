"""Studies that might be: new ones from assumptions or a pilot, and this one with more judgments.

Each is drawn once, with as many judgments as are ever asked for, and then grows: the study of 1,000
judgments is the first part of that of 2,000, so that differences between the two are no chance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, sqrt
from typing import Any, Literal

import numpy as np

from aggcal._core.arrays import BoolArray, CodeArray, FloatArray, IntArray, TextArray, constant
from aggcal._core.text import brief
from aggcal.advice.power.goals import HALF_WIDTH, Goal
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.links import LOGISTIC
from aggcal.data.judgments import Judgments
from aggcal.simulation import SimulatedTerms, simulate

_TIED = 0.5  # the outcome of a tie
_READINESS_SD = 0.5
"""Spread over annotators of the readiness to tie: what studies with ties had, roughly."""
_DRAWN = 40
"""Truths drawn for a guess."""
_PAIRS = 4000
"""Questions from which the information of one is averaged: its error is a few percent."""


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

    @property
    @abstractmethod
    def n_items(self) -> int:
        """How many items there are."""

    @property
    @abstractmethod
    def spread(self) -> float:
        """Standard deviation of the true scores."""

    @property
    def begun(self) -> int:
        """How many judgments there are to begin with."""
        return 0

    @abstractmethod
    def information(self) -> float:
        """Return the Fisher information of one judgment about the gap of its two items."""

    @abstractmethod
    def drawn(self, number: int, seed: int) -> Growing:
        """Draw a study with so many judgments, beyond those that there are."""

    def annotators_for(self, number: int) -> int | None:
        """Return how many annotators so many judgments take; None where that is as given."""
        del number
        return None

    def error_after(self, number: float) -> float:
        """Return the standard error of a score after so many judgments, about.

        An item is in 2N/n of them, each with the information of a typical one; the prior adds its
        own. It is only used to guess where to look.
        """
        own = 2.0 * (self.begun + number) * self.information() / self.n_items
        return 1.0 / sqrt(own + self.spread**-2)

    def expected(self, goal: Goal, number: float) -> float:
        """Return what so many judgments reach, about: only to guess where to look."""
        return goal.expected(self.error_after(number), self.spread, self.n_items)


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

    @property
    def spread(self) -> float:
        """Standard deviation of the true scores."""
        return self.score_sd

    def annotators_for(self, number: int) -> int | None:
        """Return how many annotators so many judgments take."""
        return None if self.per_annotator is None else ceil(number / self.per_annotator)

    def information(self) -> float:
        """Return the Fisher information of one judgment about the gap of its two items."""
        study = self._simulated(_PAIRS, self.annotators, 0, self.score_sd)
        slope = study.reliability[study.annotator]
        gap = study.latent[study.winner] - study.latent[study.loser]
        chance = LOGISTIC.probability(slope * gap)
        # A tie says something, too, but less.
        return float(np.mean(slope**2 * chance * (1.0 - chance))) * (1.0 - 0.5 * self.ties)

    def _simulated(self, number: int, annotators: int, seed: int, score_sd: float) -> Any:
        terms = SimulatedTerms()
        if self.ties:
            terms = SimulatedTerms(
                ties="davidson", tie_readiness=self._readiness, tie_readiness_sd=_READINESS_SD
            )
        return simulate(
            items=self.items,
            annotators=annotators,
            judgments=number,
            reliability_sd=self.reliability_sd,
            reversed_share=self.reversed_share,
            latent_sd=score_sd,
            design=self.design,
            terms=terms,
            seed=seed,
        )

    @cached_property
    def _readiness(self) -> float:
        """The readiness to tie that leads to the assumed share of ties."""
        study = replace(self, ties=0.0)._simulated(  # noqa: SLF001
            _PAIRS, self.annotators, 0, self.score_sd
        )
        lean = study.reliability[study.annotator] * (
            study.latent[study.left] - study.latent[study.right]
        )
        decided = 2.0 * np.cosh(0.5 * lean)
        own = _READINESS_SD * np.random.default_rng(0).standard_normal(len(lean))
        low, high = -12.0, 12.0
        for _ in range(50):
            middle = 0.5 * (low + high)
            tied = np.exp(middle + own)
            share = float(np.mean(tied / (tied + decided)))
            low, high = (low, middle) if share > self.ties else (middle, high)
        return 0.5 * (low + high)

    def drawn(self, number: int, seed: int) -> Growing:
        """Draw a study with so many judgments."""
        random = np.random.default_rng([seed, 1])
        score_sd = self.score_sd * float(np.exp(self.score_sd_error * random.standard_normal()))
        who = self.annotators_for(number) or self.annotators
        study = self._simulated(number, who, seed, score_sd)
        annotator, when = study.annotator, np.arange(number)
        if self.per_annotator is not None:
            # One annotator after the other; who answers what is drawn at random all the same.
            when = np.empty(number, dtype=np.int64)
            when[np.argsort(annotator, kind="stable")] = np.arange(number)
        grade = study.grade
        outcome = None if grade is None else np.where(grade == 0, _TIED, 1.0)
        ids = study.item_ids, study.annotator_ids
        rows = annotator, study.winner, study.loser, outcome
        return grown(*ids, study.latent, rows, when)


def grown(
    item_ids: TextArray,
    annotator_ids: TextArray,
    truth: FloatArray,
    rows: tuple[CodeArray, CodeArray, CodeArray, FloatArray | None],
    when: IntArray,
) -> Growing:
    """Return a study from its rows: annotator, winner, loser, outcome (None: all decided)."""
    annotator, winner, loser, outcome = rows
    order = np.argsort(annotator, kind="stable")
    n = len(order)
    judgments = Judgments(
        item_ids,
        annotator_ids,
        annotator[order],
        winner[order],
        loser[order],
        constant(1.0, n) if outcome is None else outcome[order],
        constant(1.0, n),
        np.broadcast_to(np.int64(1), (n,)),
    )
    # Whoever is never drawn has no row, and a fit wants one of everybody.
    return Growing(item_ids, truth, judgments.of_rows(np.ones(n, dtype=bool)), when[order])


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
    def n_items(self) -> int:
        """How many items there are."""
        return self.judgments.n_items

    @property
    def spread(self) -> float:
        """Standard deviation of the true scores."""
        prior = self.consensus.prior
        return float(np.std(self.consensus.scores)) if prior is None else prior.score_sd

    @property
    def begun(self) -> int:
        """How many judgments there are to begin with."""
        return self.judgments.n_judgments

    def information(self) -> float:
        """Return the Fisher information of one judgment: by how sure the scores are so far."""
        known = self.consensus.uncertainty
        if known is None:
            return 0.1
        own = max(float(np.mean(1.0 / np.square(known.se))) - self.spread**-2, 1e-6)
        return own * self.n_items / (2.0 * self.begun)

    def expected(self, goal: Goal, number: float) -> float:
        """Return what so many judgments more reach, about, from where this study stands."""
        known, random = self.consensus.uncertainty, np.random.default_rng(0)
        if known is None or goal.kind == HALF_WIDTH:
            return super().expected(goal, number)
        now = np.square(known.se)
        then = 1.0 / (1.0 / now + 2.0 * number * self.information() / self.n_items)
        found = []
        for _ in range(_DRAWN):
            scores = known.scores + np.sqrt(now - then) * random.standard_normal(len(now))
            truth = scores + np.sqrt(then) * random.standard_normal(len(now))
            found.append(goal.of_scores(scores, truth))
        return float(np.mean(found))

    @cached_property
    def _slopes(self) -> tuple[FloatArray, FloatArray]:
        """The reliabilities, and their standard errors, as slopes of a logistic curve."""
        known, gammas = self.consensus.uncertainty, np.asarray(self.consensus.reliabilities)
        if self.consensus.random_reliability:  # probabilities of an honest answer
            return 2.0 * gammas - 1.0, np.zeros(len(gammas))
        low = None if known is None else known.reliability_low
        high = None if known is None else known.reliability_high
        if low is None or high is None:
            return gammas, np.zeros(len(gammas))
        return gammas, (high - low) / 4.0

    def drawn(self, number: int, seed: int) -> Growing:
        """Draw a truth from the posterior, and so many judgments more."""
        random, known = np.random.default_rng([seed, 2]), self.consensus.uncertainty
        here, truth = self.judgments, self.consensus.scores.copy()
        if known is not None:
            truth = truth + known.covariance.draws(1, random)[0]
        slopes = self._slopes[0] + self._slopes[1] * random.standard_normal(here.n_annotators)
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
        return self._joined(truth, (who, first, second, outcome))

    def _joined(self, truth: FloatArray, more: tuple[Any, ...]) -> Growing:
        """Put new rows behind those that there are."""
        here, number = self.judgments, len(more[0])
        mine = here.annotator, here.left, here.right, here.outcome, here.weight, here.count
        theirs = *more, np.ones(number), np.ones(number, dtype=np.int64)
        when = np.r_[np.full(len(here.count), -1), np.arange(number)]
        order = np.argsort(np.r_[here.annotator, more[0]], kind="stable")
        annotator, left, right, outcome, weight, times = (
            np.concatenate([np.asarray(a), b])[order] for a, b in zip(mine, theirs, strict=True)
        )
        judgments = Judgments(
            here.item_ids, here.annotator_ids, annotator, left, right, outcome, weight, times
        )
        return Growing(here.item_ids, truth, judgments, when[order])


def _closeness(lean: FloatArray) -> FloatArray:
    """Return how much more frequent ties are than on average, by how near two items are."""
    near = 1.0 / np.cosh(0.5 * lean)
    return np.asarray(near / max(float(np.mean(near)), 1e-300))
