"""Whom to ask how many pairs: the reliable first, and some of those of whom little is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, TextArray
from aggcal.advice.suggest.beliefs import Beliefs
from aggcal.advice.suggest.criterion import Answering
from aggcal.aggregation.priors import DEFAULT_RELIABILITY_SD
from aggcal.data.base import AnyJudgments
from aggcal.errors import OptionError, count, did_you_mean, option, some

_NOBODY: IntArray = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Person:
    """Someone to ask: the reliability, how uncertain that is, and the pairs judged already.

    A pair of positions i < j has the key i · n_items + j. Without an id it is anybody.
    """

    id: str | None
    reliability: float
    sd: float
    judged: IntArray = field(default_factory=lambda: _NOBODY)
    readiness: float | None = None
    """To call a tie, where ties were fitted."""

    def answering(self, beliefs: Beliefs) -> Answering:
        """Say how the person answers."""
        return Answering(beliefs.link, self.reliability, self.readiness, beliefs.thresholds)


@dataclass(frozen=True)
class Turn:
    """One question: to whom, and whether it is asked to explore."""

    person: Person
    exploring: bool


def anybody(beliefs: Beliefs) -> Person:
    """Return someone of typical reliability, who may have judged anything."""
    return Person(None, beliefs.typical_reliability, 0.0, readiness=beliefs.readiness_mean)


def refuse_people(
    judgments: AnyJudgments, annotators: Sequence[str], new_annotators: Sequence[str]
) -> None:
    """Refuse annotators who did not judge, new ones who did, and any who are named twice."""
    named = [str(who) for who in annotators]
    fresh = [str(who) for who in new_annotators]
    known = set(judgments.annotator_ids)
    unknown = [who for who in named if who not in known]
    if unknown:
        raise OptionError(
            f"{count(len(unknown), 'annotator has', 'annotators have')} no usable judgment "
            f"({some(unknown)}); check the ids{did_you_mean(unknown[0], known)}, or name those who "
            f"have not judged yet with {option('new-annotator')}."
        )
    old = [who for who in fresh if who in known]
    if old:
        raise OptionError(
            f"{count(len(old), 'new annotator already has', 'new annotators already have')} "
            f"judgments ({some(old)}); name them with {option('annotator')}."
        )
    everyone = [*named, *fresh]
    twice = [who for who in dict.fromkeys(everyone) if everyone.count(who) > 1]
    if twice:
        raise OptionError(f"duplicate annotators: {some(twice)}; name each once.")


def people(
    judgments: AnyJudgments,
    beliefs: Beliefs,
    annotators: Sequence[str],
    new_annotators: Sequence[str],
) -> list[Person]:
    """Return those who can be asked.

    Parameters
    ----------
    judgments, beliefs
        What they judged, and what is believed of them.
    annotators
        Ids of those who have judged before.
    new_annotators
        Ids of those who have not.
    """
    named = [str(who) for who in annotators]
    fresh = [str(who) for who in new_annotators]
    known = {who: u for u, who in enumerate(judgments.annotator_ids)}
    n = beliefs.n_items
    found = []
    for who in named:
        whole, u = judgments.on_one_machine("what an annotator judged"), known[who]
        rows = slice(*np.searchsorted(whole.annotator, [u, u + 1]).tolist())
        both = np.stack([whole.left[rows], whole.right[rows]]).astype(np.int64)
        keys = np.unique(both.min(axis=0) * n + both.max(axis=0))
        reliability, sd = float(beliefs.reliabilities[u]), float(beliefs.reliability_sd[u])
        ready = None if beliefs.readiness is None else float(beliefs.readiness[u])
        keys = _with_unanswered(judgments, beliefs, who, keys)
        found.append(Person(who, reliability, sd, keys, ready))
    sd = DEFAULT_RELIABILITY_SD if beliefs.reliability_sd.any() else 0.0
    ready = beliefs.readiness_mean
    return found + [Person(who, beliefs.reliability_mean, sd, readiness=ready) for who in fresh]


def _with_unanswered(
    judgments: AnyJudgments, beliefs: Beliefs, who: str, keys: IntArray
) -> IntArray:
    """Add the pairs that someone was shown and did not answer: they had their chance."""
    unfitted = judgments.unfitted
    shown = np.flatnonzero(unfitted.annotator == who)
    if not len(shown):
        return keys
    position = {item: k for k, item in enumerate(beliefs.item_ids)}
    more = []
    for k in shown:
        one, other = position.get(unfitted.left[k]), position.get(unfitted.right[k])
        if one is not None and other is not None:
            more.append(min(one, other) * beliefs.n_items + max(one, other))
    return np.unique(np.concatenate([keys, np.array(more, dtype=np.int64)]))


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
    >>> good, unknown = Person("good", 1.5, 0.1), Person("unknown", 1.0, 0.5)
    >>> [turn.person.id for turn in turns([unknown, good], 4, 3, 0.25)]
    ['good', 'good', 'good', 'unknown']
    """
    if persons[0].id is None:
        last = n - round(explore * n)
        return [Turn(persons[0], exploring=k >= last) for k in range(n)]
    limit = ceil(n / len(persons)) if per_annotator is None else per_annotator
    if n > limit * len(persons):
        raise OptionError(
            f"{n:,} pairs are more than {count(len(persons), 'annotator')} with {limit:,} each can "
            "judge; ask for fewer, or allow more per annotator."
        )
    left = dict.fromkeys(range(len(persons)), limit)
    learning: list[Turn] = []
    unsure = sorted(
        (k for k in left if persons[k].sd > 0.0), key=lambda k: (-persons[k].sd, str(persons[k].id))
    )
    for k in unsure[: round(explore * n)]:
        left[k] -= 1
        learning.append(Turn(persons[k], exploring=True))
    asked: list[Turn] = []
    strength: FloatArray = np.array([abs(person.reliability) for person in persons])
    names: TextArray = np.array([str(person.id) for person in persons], dtype=object)
    for k in np.lexsort((names.astype(str), -strength)).tolist():
        asked += [Turn(persons[k], exploring=False)] * left[k]
    return asked[: n - len(learning)] + learning
