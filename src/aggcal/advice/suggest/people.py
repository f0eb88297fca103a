"""Whom to ask how many pairs: the reliable first, and some of those of whom little is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil, inf

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal.advice.suggest.beliefs import Beliefs, keys_of
from aggcal.aggregation.families import Adjacent, RaoKupper
from aggcal.aggregation.links import Link, link
from aggcal.aggregation.rows import Answers
from aggcal.aggregation.spreads import DEFAULT_RELIABILITY_SD
from aggcal.data.base import AnyJudgments
from aggcal.errors import OptionError, count, did_you_mean, option, some
from aggcal.registry import PREDICTABLE, TIES

_NEW_RELIABILITY = 1.0  # of who has not judged yet: the mean of the prior


@dataclass(frozen=True, eq=False)
class Person:
    """Someone to ask: how they answer, how sure that is, and which pairs they were asked before.

    Without an id it is anybody.

    Examples
    --------
    Between equals, someone who calls a tie in a third of the cases tells a third less:

    >>> plain = Person(None, 1.0, 0.0, link("logistic"))
    >>> tying = Person(None, 1.0, 0.0, link("logistic"), readiness=0.0)
    >>> [round(float(who.information(np.zeros(1))[0]), 4) for who in (plain, tying)]
    [0.25, 0.1667]

    Someone who hardly doubts is hardly moved by what they expected:

    >>> round(plain.slope(3.0, 1.0), 3), round(plain.slope(3.0, 0.0), 3)
    (0.047, -0.953)
    """

    id: str | None
    reliability: float
    sd: float
    """Standard error of the reliability; 0 where annotators are alike."""
    link: Link
    readiness: float | None = None
    """To call a tie, where ties were fitted."""
    ties: Adjacent | RaoKupper = field(default_factory=Adjacent)
    asked: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Keys of pairs, see `keys_of`."""

    def information(self, gap: FloatArray) -> FloatArray:
        """Return the Fisher information of an answer in the gap of its two items."""
        return np.asarray(self.reliability**2 * self._information(self.reliability * gap))

    def reliability_information(self, gap: FloatArray) -> FloatArray:
        """Return the Fisher information of an answer in the reliability.

        A pair of equals tells nothing about an annotator.
        """
        return np.asarray(gap**2 * self._information(self.reliability * gap))

    def _information(self, advantage: FloatArray) -> FloatArray:
        if self.readiness is None:
            # f/F times f/(1 − F), each exact in its tail.
            return np.asarray(self.link.terms(advantage)[1] * self.link.terms(-advantage)[1])
        left, right, tie = self.ties.probabilities(advantage, self._ready(advantage)).T
        if isinstance(self.ties, RaoKupper):
            decided = left * (1.0 - left) ** 2 + right * (1.0 - right) ** 2
            return np.asarray(decided + tie * (right - left) ** 2)
        return np.asarray(0.25 * (left + right - (left - right) ** 2))

    def slope(self, gap: float, outcome: float) -> float:
        """Return the slope of the log-likelihood of an answer in the gap.

        A tie counts as half an answer each way where ties were not fitted.
        """
        advantage = np.array([self.reliability * gap])
        if self.readiness is None:
            won, lost = (float(self.link.terms(x)[1][0]) for x in (advantage, -advantage))
            return self.reliability * (outcome * won - (1.0 - outcome) * lost)
        tied = np.array([float(outcome == 0.5)])  # noqa: PLR2004  # a tie
        answer = Answers(np.ones(1), np.array([outcome - 0.5]), tied)
        terms = self.ties.terms(advantage, self._ready(advantage), answer)
        return -self.reliability * float(terms.score[0])

    def _ready(self, advantage: FloatArray) -> FloatArray:
        return np.full(len(advantage), self.readiness)


class People:
    """Those who can be asked.

    Parameters
    ----------
    judgments, beliefs
        What they judged, and what is believed of them.
    """

    def __init__(self, judgments: AnyJudgments, beliefs: Beliefs) -> None:
        self._judgments, self._beliefs = judgments, beliefs
        consensus = beliefs.consensus
        self._number = {str(who): u for u, who in enumerate(consensus.annotator_ids)}
        self._position = {str(item): k for k, item in enumerate(beliefs.item_ids)}
        self._link = link(PREDICTABLE[consensus.method].name)
        effects = consensus.effects
        self._readiness = None if effects is None else effects.readiness
        thresholds = effects is not None and effects.ties == TIES[2]
        self._ties = RaoKupper() if thresholds else Adjacent()

    def anybody(self) -> Person:
        """Return someone of typical reliability, who may have judged anything.

        It is the root mean square: what a judgment tells grows with the square.
        """
        reliabilities = self._beliefs.consensus.reliabilities
        return self._person(None, float(np.sqrt(np.mean(np.square(reliabilities)))), 0.0)

    def __getitem__(self, name: str) -> Person:
        """Return an annotator; a name without judgments is somebody new."""
        u, beliefs = self._number.get(name), self._beliefs
        if u is None:
            sd = DEFAULT_RELIABILITY_SD if beliefs.reliability_sd.any() else 0.0
            return self._person(name, _NEW_RELIABILITY, sd)
        reliability = float(beliefs.consensus.reliabilities[u])
        person = self._person(name, reliability, float(beliefs.reliability_sd[u]))
        ready = self._readiness
        readiness = None if ready is None else float(ready.values[u])
        return replace(person, readiness=readiness, asked=self._asked(name, u))

    def _person(self, name: str | None, reliability: float, sd: float) -> Person:
        readiness = None if self._readiness is None else self._readiness.common
        return Person(name, reliability, sd, self._link, readiness, self._ties)

    def _asked(self, name: str, u: int) -> IntArray:
        """Return the pairs that someone judged, or was shown and did not answer."""
        whole = self._judgments.on_one_machine("what an annotator judged")
        rows = slice(*np.searchsorted(whole.annotator, [u, u + 1]).tolist())
        skipped, n = self._judgments.unfitted, self._beliefs.n_items
        mine = skipped.annotator == name
        ends = [
            np.array([self._position.get(item, -1) for item in side[mine]], dtype=np.int64)
            for side in (skipped.left, skipped.right)
        ]
        both = (ends[0] >= 0) & (ends[1] >= 0)
        left = np.concatenate([whole.left[rows], ends[0][both]])
        return np.unique(keys_of(left, np.concatenate([whole.right[rows], ends[1][both]]), n))


@dataclass(frozen=True)
class Turn:
    """One question: to whom, and whether it is asked to explore."""

    person: Person
    exploring: bool


def turns(
    persons: Sequence[Person], n: int, per_annotator: int | None, explore: float
) -> list[Turn]:
    """Say who is asked, question by question.

    The most reliable choose first and up to their limit (what they say tells most); a share of the
    questions goes to those whose reliability is least certain, to learn it.

    Parameters
    ----------
    persons
        Who can be asked; anybody alone explores at the end.
    n
        How many questions there are.
    per_annotator
        How many of them one person can be asked; evenly shared if None.
    explore
        The share for learning.

    Examples
    --------
    >>> logistic = link("logistic")
    >>> good, unknown = Person("good", 1.5, 0.1, logistic), Person("unknown", 1.0, 0.5, logistic)
    >>> [turn.person.id for turn in turns([unknown, good], 4, 3, 0.25)]
    ['good', 'good', 'good', 'unknown']
    """
    exploring = round(explore * n)
    if persons[0].id is None:
        return [Turn(persons[0], exploring=k >= n - exploring) for k in range(n)]
    limit = ceil(n / len(persons)) if per_annotator is None else per_annotator
    if n > limit * len(persons):
        raise OptionError(
            f"{n:,} pairs are more than {count(len(persons), 'annotator')} with {limit:,} each can "
            "judge; ask for fewer, or allow more per annotator."
        )
    by_name = sorted(persons, key=lambda person: str(person.id))
    unsure = sorted((p for p in by_name if p.sd > 0.0), key=lambda person: -person.sd)[:exploring]
    asked = []
    for person in sorted(by_name, key=lambda person: -abs(person.reliability)):
        asked += [Turn(person, exploring=False)] * (limit - (person in unsure))
    return asked[: n - len(unsure)] + [Turn(person, exploring=True) for person in unsure]


def check_people(
    judgments: AnyJudgments, annotators: Sequence[str], new_annotators: Sequence[str]
) -> None:
    """Refuse annotators who did not judge, new ones who did, and any who are named twice."""
    known = set(map(str, judgments.annotator_ids))
    if unknown := [who for who in annotators if who not in known]:
        raise OptionError(
            f"{count(len(unknown), 'annotator has', 'annotators have')} no usable judgment "
            f"({some(unknown)}); check the ids{did_you_mean(unknown[0], known)}, or name those who "
            f"have not judged yet with {option('new-annotator')}."
        )
    if old := [who for who in new_annotators if who in known]:
        raise OptionError(
            f"{count(len(old), 'new annotator already has', 'new annotators already have')} "
            f"judgments ({some(old)}); name them with {option('annotator')}."
        )
    refuse_duplicates([*annotators, *new_annotators])


def refuse_duplicates(people: Sequence[str]) -> None:
    """Refuse annotators who are named twice."""
    if len(set(people)) < len(people):
        twice = [who for who in dict.fromkeys(people) if list(people).count(who) > 1]
        raise OptionError(f"duplicate annotators: {some(twice)}; name each once.")


def possible(n_items: int, n_annotators: int, per_item: int | None, *, repeat: bool) -> float:
    """Return how many pairs there are at most within the limits."""
    most: float = n_items * (n_items - 1) // 2
    if repeat:
        most *= n_annotators or inf
    return most if per_item is None else min(most, n_items * per_item // 2)


def check_possible(n: int, most: float, n_items: int) -> None:
    """Refuse more pairs than there are."""
    if n > most:
        raise OptionError(
            f"{n:,} pairs were asked for, but {count(n_items, 'item')} allow only {most:,} within "
            f"these limits; ask for fewer, raise {option('per-item')}, or allow {option('repeat')}."
        )
