"""Judgments and scores whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Literal

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, TextArray
from aggcal._core.tables import Columns, as_text
from aggcal._core.text import brief
from aggcal.errors import OptionError, check_choice
from aggcal.registry import LOGISTIC, limits
from aggcal.registry.literals import LinkName
from aggcal.simulation.terms import Drawn, SimulatedTerms, draw

__all__ = ["SimulatedTerms", "Simulation", "simulate"]
_NO_TERMS = SimulatedTerms()
DESIGNS = ("random", "balanced")
"""How pairs are chosen."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """A study with its truth.

    ``latent`` is the score on the link's scale that generated the judgments (mean 0, sd 1 unless
    another one was asked for);
    ``truth`` the same in the model's units; ``reliability`` each annotator's true γ.

    ``role`` says what each annotator does: ``honest``, ``reversed``, ``guesses``, ``left`` (chooses
    the left item always), ``copies`` (gives the judgments of the annotator in ``copied``) or
    ``camp`` (honest, by the order ``camp_latent``).

    With further terms, ``grade`` says what was answered (1 and more for the left item, 0 a tie; the
    winner of a tie is the left item) and ``drawn`` what the terms truly are.
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
    grade: IntArray | None = None
    drawn: Drawn | None = None

    __repr__ = brief

    @property
    def shown(self) -> Columns:
        """The judgments table, long form: what was shown on which side."""
        grade = self.grade
        if grade is None:
            grade = np.where(self.winner == self.left, 1, -1)
        sides = np.where(grade > 0, "left", np.where(grade < 0, "right", "tie")).astype(object)
        steps = np.array(["", "", "+", "++"], dtype=object)[np.abs(grade)]
        found: Columns = {
            "annotator": self.annotator_ids[self.annotator],
            "left": self.item_ids[self.left],
            "right": self.item_ids[self.right],
            "outcome": sides + steps,
        }
        drawn = self.drawn
        if drawn is not None and drawn.terms.contexts:
            found["context"] = self.context_ids[drawn.context]
        if drawn is not None and drawn.terms.categories:
            found["category"] = self.category_ids[drawn.category]
        return found

    @property
    def context_ids(self) -> TextArray:
        """The contexts."""
        return _numbered("context", 0 if self.drawn is None else self.drawn.terms.contexts)

    @property
    def category_ids(self) -> TextArray:
        """The categories."""
        return _numbered("category", 0 if self.drawn is None else self.drawn.terms.categories)

    @property
    def judgments(self) -> Columns:
        """The judgments table: the short form, and with further terms the long one."""
        if self.drawn is not None:
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
        found: Columns = {"annotator": self.annotator_ids, "reliability": self.reliability}
        drawn = self.drawn
        if drawn is None:
            return found
        found["position"] = drawn.position
        if drawn.terms.ties != "none":
            found["tie_readiness"] = drawn.tie_readiness
        if drawn.terms.axis_sd:
            found["stance"] = drawn.stance
        return found

    @property
    def tables(self) -> dict[str, Columns]:
        """All tables by the name of their file."""
        found = {
            "judgments.csv": self.judgments,
            "scores.csv": self.scores,
            "truth.csv": self.truths,
            "annotators.csv": self.annotators,
        }
        return found if self.drawn is None else found | self._further(self.drawn)

    def _further(self, drawn: Drawn) -> dict[str, Columns]:
        """Return the tables of what items do in contexts and categories, and of the covariate."""
        found: dict[str, Columns] = {}
        n = len(self.item_ids)
        if drawn.terms.axis_sd:
            found["axis.csv"] = {"item": self.item_ids, "axis": drawn.axis}
        groups = (
            ("category", self.category_ids, drawn.category_effects),
            ("context", self.context_ids, drawn.context_effects),
        )
        scale = float(np.ptp(self.truth) / np.ptp(self.latent))
        for name, ids, effects in groups:
            if not len(ids):
                continue
            latent = (self.latent + effects).ravel()
            plural = "categories" if name == "category" else "contexts"
            found[f"{plural}.csv"] = {
                name: np.repeat(ids, n),
                "item": np.tile(self.item_ids, len(ids)),
                "truth": np.tile(self.truth, len(ids)) + scale * effects.ravel(),
                "latent": latent,
            }
        if drawn.terms.control:
            control: Columns = {"item": np.tile(self.item_ids, len(drawn.length))}
            if drawn.terms.contexts:
                control["context"] = np.repeat(self.context_ids, n)
            found["control.csv"] = control | {"length": drawn.length.ravel()}
        return found


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
    from aggcal.models.links import link as link_of  # waits for SciPy

    limits.check(items=items, annotators=annotators, number=judgments, seed=seed)
    limits.check(reliability_sd=reliability_sd, latent_sd=latent_sd, location=location, scale=scale)
    limits.check(model_sd=model_sd, model_bias=model_bias, model_slope=model_slope)
    kinds = {
        "reversed": reversed_share, "guesses": guessing_share, "left": left_share,
        "copies": copied_share, "camp": camp_share,
    }  # fmt: skip
    _check_shares(kinds, camp_correlation)
    _check_link(link, terms, design)
    probability = link_of(link).probability
    random = np.random.default_rng(seed)
    latent = random.standard_normal(items)
    latent = latent_sd * ((latent - latent.mean()) / latent.std())
    reliability = np.exp(reliability_sd * random.standard_normal(annotators))
    reliability /= reliability.mean()
    role = _roles(random.permutation(annotators), kinds)
    reliability[role == "reversed"] *= -1.0
    reliability[(role == "guesses") | (role == "left")] = 0.0

    asked = annotator, first, second = _asked(random, annotators, items, judgments, design)
    more = random.spawn(1)[0]  # of what is rarely asked for, so that the rest stays as it was
    camp_latent = _related(latent, camp_correlation, more)
    gap = latent[first] - latent[second]
    theirs = camp_latent[first] - camp_latent[second]
    gap = np.where((role == "camp")[annotator], theirs, gap)
    chance, is_left = random.random(judgments), (role == "left")[annotator]
    drawn = grade = None
    if terms.plain:
        wins = (chance < probability(reliability[annotator] * gap)) | is_left
    else:
        sizes = {"items": items, "annotators": annotators, "judgments": judgments}
        drawn = draw(terms, random.spawn(1)[0], **sizes)
        grade = drawn.answers(asked, reliability, gap, chance)
        grade[is_left & (grade <= 0)] = 1
        wins = grade >= 0
    further = () if drawn is None else (grade, drawn.context, drawn.category)
    copied = _copy(annotator, role, (first, second, wins, *further), more)
    truth = location + scale * latent
    noise = model_sd * random.standard_normal(items)
    return Simulation(
        _numbered("item", items), latent, truth,
        location + model_bias + model_slope * (truth - location) + noise,
        _numbered("annotator", annotators), reliability, annotator,
        np.where(wins, first, second), np.where(wins, second, first), first, second,
        role, copied, camp_latent, grade, drawn,
    )  # fmt: skip


def _asked(
    random: np.random.Generator, annotators: int, items: int, judgments: int, design: str
) -> tuple[CodeArray, CodeArray, CodeArray]:
    """Draw who is asked, and about which two items."""
    if design == "balanced":
        rounds = ceil(judgments / (items // 2))
        order = random.permuted(np.tile(np.arange(items, dtype=np.int32), (rounds, 1)), axis=1)
        pairs = order[:, : 2 * (items // 2)].reshape(-1, 2)[:judgments]
        who = random.integers(annotators, size=judgments, dtype=np.int32)
        return who, pairs[:, 0].copy(), pairs[:, 1].copy()
    annotator, first, second = (
        random.integers(n, size=judgments, dtype=np.int32) for n in (annotators, items, items - 1)
    )
    second += second >= first
    return annotator, first, second


def _check_shares(kinds: dict[str, float], camp_correlation: float) -> None:
    """Refuse shares of annotators, and a correlation, that cannot be."""
    for name, share in kinds.items():
        if not 0.0 <= share <= 1.0:
            raise OptionError(f"the share of '{name}' is {share}; give a number from 0 to 1.")
    if sum(kinds.values()) > 1.0:
        raise OptionError(f"the shares add up to {sum(kinds.values()):g}; give at most 1 in all.")
    if not -1.0 <= camp_correlation <= 1.0:
        raise OptionError(f"camp_correlation is {camp_correlation}; give a number from -1 to 1.")


def _check_link(link: str, terms: SimulatedTerms, design: str) -> None:
    """Refuse further terms with another link than theirs, and a design that is none."""
    check_choice("design", design, DESIGNS)
    if not terms.plain and link != LOGISTIC.name:
        raise OptionError(
            f"ties, sides, contexts and categories are simulated with --link {LOGISTIC.name} only; "
            f"the link is {link}."
        )


def _roles(order: IntArray, kinds: dict[str, float]) -> TextArray:
    """Give out roles in a random order; who is left is honest."""
    role: TextArray = np.full(len(order), "honest", dtype=object)
    begin = 0
    for name, share in kinds.items():
        end = begin + round(share * len(order))
        role[order[begin:end]] = name
        begin = end
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
    annotator: CodeArray,
    role: TextArray,
    rows: Sequence[Any],
    random: np.random.Generator,
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
