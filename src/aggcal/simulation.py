"""Judgments and scores whose truth is known: draw the truth, then the answers by the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import ceil, isfinite
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, TextArray
from aggcal._core.tables import Columns, as_text
from aggcal._core.text import brief
from aggcal.aggregation.families import Adjacent, Law, RaoKupper, Wins
from aggcal.aggregation.links import link as link_of
from aggcal.errors import OptionError, argument, check_choice, option
from aggcal.registry import LOGISTIC, TIES, limits
from aggcal.registry.literals import LinkName, SimulatedTies

__all__ = ["SimulatedTerms", "Simulation", "simulate"]

TIE_MODELS: tuple[SimulatedTies, ...] = get_args(SimulatedTies)
DESIGNS = ("random", "balanced")  # how pairs are chosen
_GRADES = (1.0, 0.5, 0.25)  # how common each strength is between equal items, relative to the first
_OUTCOMES = ("tie", "left", "left+", "left++", "right++", "right+", "right")  # by grade
Asked: TypeAlias = tuple[CodeArray, CodeArray, CodeArray]  # annotator, left and right item
_LENGTH, _LENGTH_SD = 100.0, 25.0  # mean and sd of the covariate that a control holds equal


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
        limits.check(
            **{f.name: getattr(self, f.name) for f in fields(self) if f.name not in others}
        )
        if not 1 <= self.grades <= len(_GRADES):
            raise OptionError(f"{argument('grades')} is {self.grades}; give 1, 2 or 3.")
        if self.grades > 1 and self.ties == TIES[2]:
            raise OptionError(f"{option('ties', TIES[2])} has one grade only; choose {TIES[1]}.")
        shares = self.category_shares
        if not all(isfinite(share) and share > 0.0 for share in shares):
            raise OptionError(
                f"{argument('category-shares')} has a share that is not above 0; give such ones."
            )
        if shares and self.categories not in (0, len(shares)):
            raise OptionError(
                f"{argument('categories')} is {self.categories}, but there are {len(shares)} "
                "shares; leave one of the two out."
            )
        object.__setattr__(self, "categories", len(shares) or self.categories)

    @property
    def plain(self) -> bool:
        """Whether judgments depend on nothing else."""
        effects = self.position, self.position_sd, self.control, self.axis_sd
        discrete = self.ties != "none", self.grades > 1, self.contexts, self.categories
        return not any((*effects, *discrete))

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the further tables that tell the truth about the terms."""
        sizes = self.axis_sd, self.categories, self.contexts, self.control
        names = "axis.csv", "categories.csv", "contexts.csv", "control.csv"
        return tuple(name for name, size in zip(names, sizes, strict=True) if size)


@dataclass(frozen=True, eq=False)
class Group:
    """Contexts, or categories: their ids, that of each row, and what each item does in each."""

    ids: TextArray
    code: CodeArray
    effects: FloatArray

    __repr__ = brief


@dataclass(frozen=True, eq=False)
class Drawn:
    """The true values of the terms of a study.

    ``groups`` are the contexts and categories; ``length`` is the covariate, contexts by items (one
    row where there are no contexts).
    """

    terms: SimulatedTerms
    position: FloatArray
    tie_readiness: FloatArray
    stance: FloatArray
    axis: FloatArray
    groups: dict[str, Group]
    tie_context: FloatArray
    length: FloatArray

    __repr__ = brief

    @classmethod
    def of(
        cls, terms: SimulatedTerms, random: np.random.Generator, size: tuple[int, int, int]
    ) -> Drawn:
        """Draw the true values of terms for a study of so many annotators, items and judgments."""
        (annotators, items, judgments), normal = size, random.standard_normal
        stance = normal(annotators)
        if terms.second_camp:
            others = random.permutation(annotators)[: round(terms.second_camp * annotators)]
            stance = np.where(np.isin(np.arange(annotators), others), -1.0, 1.0)
        contexts, categories = terms.contexts, terms.categories
        length = np.round(_LENGTH + _LENGTH_SD * normal((max(contexts, 1), items)), 1)
        position = terms.position + terms.position_sd * normal(annotators)
        readiness = terms.tie_readiness + terms.tie_readiness_sd * normal(annotators)
        axis = terms.axis_sd * normal(items)
        context = random.integers(max(contexts, 1), size=judgments, dtype=np.int32)
        shares = np.array(terms.category_shares or [1.0] * max(categories, 1))
        category = random.choice(len(shares), judgments, p=shares / shares.sum()).astype(np.int32)
        by_context = terms.context_sd * normal((contexts, items))
        tie_context = terms.tie_context_sd * normal(contexts)
        by_category = terms.category_sd * normal((categories, items))
        groups = {
            "context": Group(_numbered("context", contexts), context, by_context),
            "category": Group(_numbered("category", categories), category, by_category),
        }
        stance = stance if terms.axis_sd else np.zeros(annotators)
        return cls(terms, position, readiness, stance, axis, groups, tie_context, length)

    @property
    def scaled_length(self) -> FloatArray:
        """The covariate in standard deviations about its mean."""
        about = self.length - self.length.mean()
        return np.asarray(about / max(float(about.std()), 1e-300))

    def answers(
        self,
        asked: Asked,
        reliability: FloatArray,
        gap: FloatArray,
        link: str,
        chances: tuple[FloatArray, FloatArray],
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
        link
            Name of the link.
        chances
            Uniform random numbers, which decide about the side and the strength.
        """
        (annotator, left, right), terms, apart = asked, self.terms, np.zeros(len(gap))
        chance, other = chances
        context = self.groups["context"].code
        control = Group(_numbered("", 0), context, terms.control * self.scaled_length)
        for group in (*self.groups.values(), control):
            if len(group.effects):
                apart += group.effects[group.code, left] - group.effects[group.code, right]
        advantage = reliability[annotator] * (gap + apart) + self.position[annotator]
        advantage += self.stance[annotator] * (self.axis[left] - self.axis[right])
        ready, grades = np.full(len(gap), -np.inf), np.array(_GRADES[: terms.grades])
        if terms.ties != "none":
            ready = self.tie_readiness[annotator]
            ready = ready + self.tie_context[context] if terms.contexts else ready
        law: Law = RaoKupper() if terms.ties == TIES[2] else Adjacent(tuple(grades.tolist()))
        if link != LOGISTIC.name:
            law = Wins(link_of(link))
        ahead, _, tie = law.probabilities(advantage, ready).T
        side = np.where(chance < ahead, 1, np.where(chance < ahead + tie, 0, -1))
        steps = np.arange(1, terms.grades + 1)
        weights = np.exp(0.5 * np.outer(side * advantage, steps)) * grades
        edges = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)[:, :-1]
        return np.asarray(side * (1 + (other[:, None] >= edges).sum(axis=1)))


@dataclass(frozen=True, eq=False)
class Simulation:
    """A study with its truth.

    ``latent`` is the score on the link's scale that generated the judgments (mean 0, sd 1 unless
    another one was asked for);
    ``truth`` the same in the model's units; ``reliability`` each annotator's true γ.

    ``role`` says what each annotator does: ``honest``, ``reversed``, ``guesses``, ``left`` (chooses
    the left item always), ``copies`` (gives the judgments of the annotator in ``copied``) or
    ``camp`` (honest, by the order ``camp_latent``).

    ``grade`` says what was answered (1 and more for the left item, 0 a tie; the winner of a tie is
    the left item) and ``drawn`` what further terms truly are.
    """

    item_ids: TextArray
    latent: FloatArray
    truth: FloatArray
    model: FloatArray
    annotator_ids: TextArray
    reliability: FloatArray
    annotator: CodeArray
    winner: CodeArray
    loser: CodeArray
    left: CodeArray
    right: CodeArray
    role: TextArray
    copied: dict[int, int]
    camp_latent: FloatArray
    grade: IntArray
    drawn: Drawn

    __repr__ = brief

    @property
    def shown(self) -> Columns:
        """The judgments table, long form: what was shown on which side."""
        columns: Columns = {
            "annotator": self.annotator_ids[self.annotator],
            "left": self.item_ids[self.left],
            "right": self.item_ids[self.right],
            "outcome": np.array(_OUTCOMES, dtype=object)[self.grade],
        }
        groups = self.drawn.groups.items()
        return columns | {name: own.ids[own.code] for name, own in groups if len(own.ids)}

    @property
    def judgments(self) -> Columns:
        """The judgments table: the short form, and with further terms the long one."""
        if not self.drawn.terms.plain:
            return self.shown
        return {
            "annotator": self.annotator_ids[self.annotator],
            "winner": self.item_ids[self.winner],
            "loser": self.item_ids[self.loser],
        }

    @property
    def scores(self) -> Columns:
        """The model's scores."""
        return {"item": self.item_ids, "score": self.model}

    @property
    def truths(self) -> Columns:
        """The truth, in the model's units and on the link's scale."""
        return {"item": self.item_ids, "truth": self.truth, "latent": self.latent}

    @property
    def annotators(self) -> Columns:
        """The true reliabilities, and with further terms all that annotators differ in."""
        columns: Columns = {"annotator": self.annotator_ids, "reliability": self.reliability}
        drawn, terms = self.drawn, self.drawn.terms
        if not terms.plain:
            columns["position"] = drawn.position
        if terms.ties != "none":
            columns["tie_readiness"] = drawn.tie_readiness
        return columns | ({"stance": drawn.stance} if terms.axis_sd else {})

    @property
    def tables(self) -> dict[str, Columns]:
        """All tables by the name of their file."""
        tables = {
            "judgments.csv": self.judgments,
            "scores.csv": self.scores,
            "truth.csv": self.truths,
            "annotators.csv": self.annotators,
        }
        drawn, items = self.drawn, self.item_ids
        if drawn.terms.axis_sd:
            tables["axis.csv"] = {"item": items, "axis": drawn.axis}
        scale = float(np.ptp(self.truth) / np.ptp(self.latent))
        for name, group in reversed(drawn.groups.items()):
            ids, effects = group.ids, group.effects
            if not len(ids):
                continue
            tables["contexts.csv" if name == "context" else "categories.csv"] = {
                name: np.repeat(ids, len(items)),
                "item": np.tile(items, len(ids)),
                "truth": (self.truth + scale * effects).ravel(),
                "latent": (self.latent + effects).ravel(),
            }
        if drawn.terms.control:
            by_item: Columns = {"item": np.tile(items, len(drawn.length))}
            if drawn.terms.contexts:
                by_item["context"] = np.repeat(drawn.groups["context"].ids, len(items))
            tables["control.csv"] = by_item | {"length": drawn.length.ravel()}
        return tables


_NO_TERMS = SimulatedTerms()


def simulate(
    *,
    items: int = 100,
    annotators: int = 30,
    judgments: int = 3000,
    link: LinkName = LOGISTIC.name,
    reliability_sd: float = 0.5,
    reversed_share: float = 0.0,
    location: float = 50.0,
    scale: float = 10.0,
    model_sd: float = 10.0,
    model_bias: float = 0.0,
    model_slope: float = 1.0,
    guessing_share: float = 0.0,
    left_share: float = 0.0,
    copied_share: float = 0.0,
    camp_share: float = 0.0,
    camp_correlation: float = 0.0,
    terms: SimulatedTerms = _NO_TERMS,
    latent_sd: float = 1.0,
    design: Literal["random", "balanced"] = "random",
    seed: int = 0,
) -> Simulation:
    """Simulate a study: random pairs, log-normal reliabilities, a noisy model.

    Parameters
    ----------
    items, annotators, judgments
        How many there are of each.
    link
        The link, which turns γ_u (s_i − s_j) into a probability: ``logistic``, ``normal`` or
        ``laplace``.
    reliability_sd
        Standard deviation of log γ; the mean reliability (of its size) is 1.
    reversed_share
        Share of annotators who answer the other way round (γ < 0).
    location, scale
        truth = location + scale · latent.
    model_sd, model_bias, model_slope
        model = location + bias + slope · (truth − location) + noise of this sd.
    guessing_share, left_share, copied_share, camp_share
        Share of annotators who toss a coin, who choose the left item always, who give another
        annotator's judgments for their own, and who go by another order.
    camp_correlation
        Correlation between that order and the first: −1 is the opposite, 0 unrelated.
    terms
        What judgments depend on beside items and reliabilities: ties, sides, contexts, categories
        (see `~aggcal.simulation.SimulatedTerms`).
    latent_sd
        Standard deviation of the latent scores: how far items are apart for a typical annotator.
    design
        ``"random"`` pairs, or ``"balanced"``: random ones in which each item comes equally often.
    seed
        Seed for all random numbers.

    Examples
    --------
    >>> study = simulate(items=20, annotators=5, judgments=100, seed=1)
    >>> len(study.winner), round(float(study.latent.std()), 6), len(study.reliability)
    (100, 1.0, 5)
    """
    limits.check(items=items, annotators=annotators, number=judgments, seed=seed)
    limits.check(reliability_sd=reliability_sd, latent_sd=latent_sd, location=location, scale=scale)
    limits.check(model_sd=model_sd, model_bias=model_bias, model_slope=model_slope)
    shares = {
        "reversed": reversed_share, "guesses": guessing_share, "left": left_share,
        "copies": copied_share, "camp": camp_share,
    }  # fmt: skip
    _check(shares, camp_correlation, link, terms, design)
    random = np.random.default_rng(seed)
    latent = random.standard_normal(items)
    latent = latent_sd * ((latent - latent.mean()) / latent.std())
    reliability = np.exp(reliability_sd * random.standard_normal(annotators))
    reliability /= reliability.mean()
    role = _roles(random.permutation(annotators), shares)
    reliability[role == "reversed"] *= -1.0
    reliability[(role == "guesses") | (role == "left")] = 0.0

    annotator, left, right = asked = _asked(random, annotators, items, judgments, design)
    # Of what is rarely asked for, so that the rest stays as it was.
    more, of_terms = random.spawn(2)
    camp_latent = _related(latent, camp_correlation, more)
    by_camp, is_left = (role == "camp")[annotator], (role == "left")[annotator]
    gap = np.where(by_camp, camp_latent[left] - camp_latent[right], latent[left] - latent[right])
    drawn = Drawn.of(terms, of_terms, (annotators, items, judgments))
    chances = random.random(judgments), of_terms.random(judgments)
    grade = drawn.answers(asked, reliability, gap, link, chances)
    grade[is_left & (grade <= 0)] = 1
    codes = [group.code for group in drawn.groups.values()]
    copied = _copy(annotator, role, (left, right, grade, *codes), more)
    truth = location + scale * latent
    model = location + model_bias + model_slope * (truth - location)
    return Simulation(
        _numbered("item", items), latent, truth, model + model_sd * random.standard_normal(items),
        _numbered("annotator", annotators), reliability, annotator,
        np.where(grade >= 0, left, right), np.where(grade >= 0, right, left), left, right,
        role, copied, camp_latent, grade, drawn,
    )  # fmt: skip


def _check(
    shares: dict[str, float], correlation: float, link: str, terms: SimulatedTerms, design: str
) -> None:
    """Refuse shares of annotators, a correlation, a link and a design that cannot be."""
    for name, share in shares.items():
        if not 0.0 <= share <= 1.0:
            raise OptionError(f"the share of '{name}' is {share}; give a number from 0 to 1.")
    if sum(shares.values()) > 1.0:
        raise OptionError(f"the shares add up to {sum(shares.values()):g}; give at most 1 in all.")
    if not -1.0 <= correlation <= 1.0:
        raise OptionError(f"camp_correlation is {correlation}; give a number from -1 to 1.")
    check_choice("design", design, DESIGNS)
    if not terms.plain and link != LOGISTIC.name:
        raise OptionError(
            "ties, sides, contexts and categories are simulated with "
            f"{option('link', LOGISTIC.name)} only; "
            f"the link is {link}."
        )


def _asked(
    random: np.random.Generator, annotators: int, items: int, judgments: int, design: str
) -> Asked:
    """Draw who is asked, and about which two items."""
    if design == "balanced":
        rounds = ceil(judgments / (items // 2))
        order = random.permuted(np.tile(np.arange(items, dtype=np.int32), (rounds, 1)), axis=1)
        left, right = order[:, : 2 * (items // 2)].reshape(-1, 2)[:judgments].T.copy()
        return random.integers(annotators, size=judgments, dtype=np.int32), left, right
    annotator, left, right = (
        random.integers(n, size=judgments, dtype=np.int32) for n in (annotators, items, items - 1)
    )
    right += right >= left
    return annotator, left, right


def _roles(order: IntArray, kinds: dict[str, float]) -> TextArray:
    """Give out roles in a random order; who is left is honest."""
    role: TextArray = np.full(len(order), "honest", dtype=object)
    for name, share in kinds.items():
        number = round(share * len(role))
        role[order[:number]], order = name, order[number:]
    return role


def _related(latent: FloatArray, correlation: float, random: np.random.Generator) -> FloatArray:
    """Return scores of mean 0 and sd 1 that correlate so with others."""
    own = random.standard_normal(len(latent))
    own -= own.mean() + latent * float(np.mean(latent * own))
    sd = float(own.std())
    own = own / sd if sd > 0.0 else own
    related: FloatArray = correlation * latent + np.sqrt(1.0 - correlation**2) * own
    return related


def _copy(
    annotator: CodeArray, role: TextArray, rows: Sequence[Any], random: np.random.Generator
) -> dict[int, int]:
    """Put an honest annotator's judgments in the place of each copier's, as far as they go."""
    copiers, donors = np.flatnonzero(role == "copies"), np.flatnonzero(role == "honest")
    if not len(donors):
        return {}
    chosen = random.choice(donors, len(copiers), replace=len(copiers) > len(donors))
    for one, other in zip(copiers.tolist(), chosen.tolist(), strict=True):
        mine, theirs = np.flatnonzero(annotator == one), np.flatnonzero(annotator == other)
        size = min(len(mine), len(theirs))
        for column in rows:
            column[mine[:size]] = column[theirs[:size]]
    return dict(zip(copiers.tolist(), chosen.tolist(), strict=True))


def _numbered(noun: str, number: int) -> TextArray:
    digits = len(str(number))
    return as_text(f"{noun}-{k:0{digits}d}" for k in range(1, number + 1))
