"""What simulated judgments depend on beside items and reliabilities."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import isfinite
from typing import get_args

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray
from aggcal._core.text import brief
from aggcal.aggregation.families import Adjacent, RaoKupper
from aggcal.errors import OptionError, check_choice
from aggcal.registry import TIES, limits
from aggcal.registry.literals import SimulatedTies

TIE_MODELS: tuple[SimulatedTies, ...] = get_args(SimulatedTies)
"""How ties come about; none: there are no ties."""
_GRADES = (1.0, 0.5, 0.25)
"""How common each strength is between equal items, relative to the first."""
_LENGTH, _LENGTH_SD = 100.0, 25.0
"""Mean and sd of the covariate that a control holds equal."""


@dataclass(frozen=True)
class SimulatedTerms:
    """What judgments depend on beside items and reliabilities; by default, nothing.

    Parameters
    ----------
    ties
        ``none``, ``davidson`` or ``rao-kupper``.
    tie_readiness, tie_readiness_sd
        Mean and sd over annotators of the readiness to call a tie.
    position, position_sd
        Mean and sd over annotators of the preference for the left item, on the logit scale.
    contexts, context_sd, tie_context_sd
        How many contexts there are (prompts, say), the sd of what an item does in one, and that of
        the readiness to tie in one.
    categories, category_shares, category_sd
        How many categories, the share of the judgments that each has (by default equal ones), and
        the sd of what an item does in one.
    control
        Effect of a standard deviation of a covariate, "length", on a judgment.
    axis_sd, second_camp
        Sd of the items along an axis of disagreement, and the share of annotators who stand at its
        other end; 0: stances are normal.
    grades
        Strengths of an answer, 1 to 3: with 2, "left+" is much better.

    Examples
    --------
    >>> SimulatedTerms().plain, SimulatedTerms(position=0.3).plain
    (True, False)
    """

    ties: SimulatedTies = "none"
    tie_readiness: float = -0.5
    tie_readiness_sd: float = 1.0
    position: float = 0.0
    position_sd: float = 0.0
    contexts: int = 0
    context_sd: float = 0.5
    tie_context_sd: float = 0.5
    categories: int = 0
    category_shares: tuple[float, ...] = ()
    category_sd: float = 0.5
    control: float = 0.0
    axis_sd: float = 0.0
    second_camp: float = 0.0
    grades: int = 1

    def __post_init__(self) -> None:
        check_choice("ties", self.ties, TIE_MODELS)
        others = {"ties", "category_shares", "grades"}
        numbers = [each.name for each in fields(self) if each.name not in others]
        limits.check(**{name: getattr(self, name) for name in numbers})
        if not 1 <= self.grades <= len(_GRADES):
            raise OptionError(f"--grades is {self.grades}; give 1, 2 or 3.")
        if self.grades > 1 and self.ties == TIES[2]:
            raise OptionError(f"--ties {TIES[2]} has one grade only; choose {TIES[1]}.")
        self._check_categories()

    def _check_categories(self) -> None:
        shares = self.category_shares
        if not shares:
            return
        if not all(isfinite(share) and share > 0.0 for share in shares):
            raise OptionError("--category-shares has a share that is not above 0; give such ones.")
        if self.categories not in (0, len(shares)):
            raise OptionError(
                f"--categories is {self.categories}, but there are {len(shares)} shares; leave one "
                "of the two out."
            )
        object.__setattr__(self, "categories", len(shares))

    @property
    def plain(self) -> bool:
        """Whether judgments depend on nothing else."""
        return (
            self.ties == "none"
            and not self.contexts
            and not self.categories
            and self.grades == 1
            and not any((self.position, self.position_sd, self.control, self.axis_sd))
        )

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the further tables that tell the truth about the terms."""
        asked = {
            "axis.csv": self.axis_sd,
            "categories.csv": self.categories,
            "contexts.csv": self.contexts,
            "control.csv": self.control,
        }
        return tuple(name for name, size in asked.items() if size)


@dataclass(frozen=True, eq=False)
class Drawn:
    """The true values of the terms of a study; effects are groups by items."""

    terms: SimulatedTerms
    position: FloatArray
    tie_readiness: FloatArray
    stance: FloatArray
    axis: FloatArray
    context: CodeArray
    category: CodeArray
    context_effects: FloatArray
    tie_context: FloatArray
    category_effects: FloatArray
    length: FloatArray
    """The covariate: contexts by items; one row where there are no contexts."""
    other: FloatArray
    """Uniform random numbers, row by row, which decide about the strength of an answer."""

    __repr__ = brief

    @property
    def scaled_length(self) -> FloatArray:
        """The covariate in standard deviations about its mean."""
        about = self.length - self.length.mean()
        return np.asarray(about / max(float(about.std()), 1e-300))

    def gap(self, left: CodeArray, right: CodeArray) -> FloatArray:
        """Return what contexts, categories and the covariate add to the gap of each row."""
        found = np.zeros(len(left))
        rows = self.context if self.terms.contexts else np.zeros(len(left), dtype=np.int32)
        effects = (
            (self.context_effects, self.context),
            (self.category_effects, self.category),
            (self.terms.control * self.scaled_length, rows),
        )
        for table, group in effects:
            if len(table):
                found += table[group, left] - table[group, right]
        return found

    def lean(self, annotator: CodeArray, left: CodeArray, right: CodeArray) -> FloatArray:
        """Return what the annotator's position and stance add to the advantage of each row."""
        return np.asarray(
            self.position[annotator] + self.stance[annotator] * (self.axis[left] - self.axis[right])
        )

    def answers(
        self,
        asked: tuple[CodeArray, CodeArray, CodeArray],
        reliability: FloatArray,
        gap: FloatArray,
        chance: FloatArray,
    ) -> IntArray:
        """Return the grade of each answer: positive for the left item, 0 for a tie.

        Parameters
        ----------
        asked
            Annotator, left and right item of each row.
        reliability
            Of each annotator.
        gap
            Of the two items' scores, row by row.
        chance
            Uniform random numbers, which decide about the side.
        """
        annotator, first, second = asked
        advantage = reliability[annotator] * (gap + self.gap(first, second))
        advantage += self.lean(annotator, first, second)
        terms, ready = self.terms, self.tie_readiness[annotator]
        if terms.contexts and terms.ties != "none":
            ready = ready + self.tie_context[self.context]
        ready = ready if terms.ties != "none" else np.full(len(advantage), -np.inf)
        grades = np.array(_GRADES[: terms.grades])
        law = RaoKupper() if terms.ties == TIES[2] else Adjacent(tuple(grades.tolist()))
        left, _, tie = law.probabilities(advantage, ready).T
        side = np.where(chance < left, 1, np.where(chance < left + tie, 0, -1))
        if terms.grades == 1:
            return side
        steps = np.arange(1, terms.grades + 1)
        weights = np.exp(0.5 * np.outer(side * advantage, steps)) * grades
        edges = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)[:, :-1]
        return np.asarray(side * (1 + (self.other[:, None] >= edges).sum(axis=1)))


def draw(
    terms: SimulatedTerms,
    random: np.random.Generator,
    *,
    items: int,
    annotators: int,
    judgments: int,
) -> Drawn:
    """Draw the true values of terms for a study of a size."""
    normal = random.standard_normal
    stance = normal(annotators)
    if terms.second_camp:
        far = np.zeros(annotators, dtype=bool)
        far[random.permutation(annotators)[: round(terms.second_camp * annotators)]] = True
        stance = np.where(far, -1.0, 1.0)
    stance = stance if terms.axis_sd else np.zeros(annotators)
    contexts, categories = terms.contexts, terms.categories
    shares = np.array(terms.category_shares or [1.0] * max(categories, 1))
    length = _LENGTH + _LENGTH_SD * normal((max(contexts, 1), items))
    return Drawn(
        terms,
        terms.position + terms.position_sd * normal(annotators),
        terms.tie_readiness + terms.tie_readiness_sd * normal(annotators),
        stance,
        terms.axis_sd * normal(items),
        random.integers(max(contexts, 1), size=judgments, dtype=np.int32),
        random.choice(len(shares), size=judgments, p=shares / shares.sum()).astype(np.int32),
        terms.context_sd * normal((contexts, items)),
        terms.tie_context_sd * normal(contexts),
        terms.category_sd * normal((categories, items)),
        np.round(length, 1),
        random.random(judgments),
    )
