"""The pairs worth asking next, and whom to ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, TextArray
from aggcal._core.frames import Frame, check_frame, framed
from aggcal._core.machine import one_thread
from aggcal._core.progress import counted, report
from aggcal._core.tables import as_text
from aggcal.advice.suggest.beliefs import Beliefs, keys_of
from aggcal.advice.suggest.first import first_suggestions
from aggcal.advice.suggest.greedy import Worth
from aggcal.advice.suggest.people import (
    People,
    Person,
    Turn,
    check_people,
    check_possible,
    possible,
    turns,
)
from aggcal.advice.suggest.suggestions import UNITS, About, Suggestions
from aggcal.aggregation import aggregate
from aggcal.aggregation.consensus import Consensus
from aggcal.data.base import AnyJudgments
from aggcal.data.scores import Scores
from aggcal.engines import prepare
from aggcal.errors import OptionError, check_choice, count, option
from aggcal.io import read_scores
from aggcal.io.items import read_items
from aggcal.registry import DEFAULT_METHOD, PREDICTABLE, limits
from aggcal.registry.literals import PredictableName

DEFAULT_PAIRS = 20  # more save a round of asking, and are chosen with less known
EXPLORE = 0.0
"""Share of the pairs for what is known least: more learn about new items and annotators sooner,
and put fewer items into the right order meanwhile."""
_FEWEST, _PER_PAIR = 4_000, 20
"""Candidates that are looked at for anybody's pairs, at least and for each pair that is asked for:
of 1,000 items, 80 were at first worth more than the last of 400 pairs."""
_EQUAL = 1e-9  # share of the best value within which another counts as equal: rounding is no choice
_CLOSE = 1.0  # a gap of fewer standard deviations is called close: it changes the reason only


def suggest_pairs(
    judgments: Any,
    scores: Any = None,
    *,
    n: int | None = None,
    about: About = "order",
    items: Any = None,
    annotators: Sequence[str] | None = None,
    new_annotators: Sequence[str] = (),
    per_annotator: int | None = None,
    per_item: int | None = None,
    repeat: bool = False,
    explore: float = EXPLORE,
    method: PredictableName = DEFAULT_METHOD,
    consensus: Consensus | None = None,
    seed: int = 0,
    frame: Frame | None = None,
) -> Suggestions:
    """Suggest the pairs whose judgments would be most informative.

    Without judgments: a first design, in which every item is asked about equally often, on the left
    as on the right, and few pairs connect all items.

    With judgments, new items and pairs that connect components come first; then the pairs that are
    expected to put most pairs of items into the correct order, each valued as if those before it
    had been judged; last a few of the items with the fewest judgments.

    Parameters
    ----------
    judgments
        `Judgments`, or anything that `read_judgments` takes; None if nobody has judged yet.
    scores
        A model's scores: items that only they contain are new, and expected where the model puts
        them.
    n
        How many pairs to suggest; by default 20 (or all pairs if there are fewer; without
        judgments at least as many as items), or as many as ``per_annotator`` allows.
    about
        What the judgments should improve: ``"order"``, that of the items; ``"scores"``, the order
        only as far as it changes calibrated scores.
    items
        Further items to consider: ids, or a table with the column ``item``.
    annotators, new_annotators
        Who can be asked: those who judged before, and those who have not. Nobody is asked about a
        pair that they already judged or skipped.
    per_annotator
        How many pairs each can be asked about. Without ``annotators``: everybody who judged before.
    per_item
        How many of the pairs an item can be in.
    repeat
        Allow a pair to be asked more than once, but never twice of the same annotator.
    explore
        Share of the pairs for the items with the fewest judgments, or, where annotators are named,
        for estimating the reliability of those about whom least is known.
    method
        How to aggregate: a method with a link (see ``aggcal list methods``).
    consensus
        The consensus of these judgments, if it was already fitted.
    seed
        Seed for all random numbers: which item is left, ties, exploration.
    frame
        See `aggregate`.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c"), ("bob", "c", "d")]
    >>> found = aggcal.suggest_pairs(rows, n=2, items=["new"])
    >>> found.pairs["reason"].tolist()
    ['new item', 'close and uncertain']
    """
    numbers: dict[str, Any] = {"n": n, "per_annotator": per_annotator, "per_item": per_item}
    check_suggestion(
        about=about, scored=scores is not None, explore=explore, method=method, seed=seed, **numbers
    )
    check_frame(frame)
    if scores is not None and not isinstance(scores, Scores):
        scores = read_scores(scores)
    further, old = ids_of(items), [str(who) for who in annotators or ()]
    new = [str(who) for who in new_annotators]
    if judgments is None:
        ids = as_text(dict.fromkeys([*([] if scores is None else scores.item_ids), *further]))
        first = first_suggestions(
            ids, old, new, repeat=repeat, explore=explore, seed=seed, **numbers
        )
        return framed(replace(first, backend=None if scores is None else scores.backend), frame)
    judgments = prepare(judgments)
    if judgments.spelling is not None:
        scores = None if scores is None else judgments.spelling.table(scores)
        further = as_text(dict.fromkeys(judgments.spelling.ids(further)))
    if scores is not None and not set(scores.item_ids) & set(judgments.item_ids):
        raise OptionError("no item is in both tables; use the same ids in judgments and scores.")
    check_people(judgments, old, new)
    if annotators is None and per_annotator is not None and not new:
        old = [str(who) for who in judgments.annotator_ids]
    if old:
        judgments = judgments.on_one_machine("suggesting pairs to annotators by name")
    beliefs = Beliefs.of(judgments, fitted(judgments, method, consensus), scores, further)
    report("estimating what each answer would add")
    people = People(judgments, beliefs)
    persons = [people[who] for who in (*old, *new)]
    most = possible(beliefs.n_items, len(persons), per_item, repeat=repeat)
    persons = persons or [people.anybody()]
    if n is None:
        n = per_annotator * len(persons) if per_annotator else int(min(DEFAULT_PAIRS, most))
    check_possible(n, most, beliefs.n_items)
    asked = turns(persons, n, per_annotator, explore)
    random = np.random.default_rng(seed)
    with one_thread():
        worth = beliefs.worth(beliefs.candidates(n, random), about_scores=about == "scores")
        plain = per_item is None and not explore and not beliefs.component.any()
        if plain and persons[0].id is None:
            worth = _best(worth, beliefs, persons[0], max(_FEWEST, _PER_PAIR * n))
        batch = Batch(beliefs, worth, about, random, per_item=per_item, repeat=repeat)
        for turn in counted(asked, "choosing pairs"):
            batch.choose(turn)
    return framed(replace(batch.suggestions(), backend=judgments.backend), frame)


def fitted(judgments: AnyJudgments, method: str, consensus: Consensus | None) -> Consensus:
    """Return the consensus of some judgments; refuse one of others."""
    if consensus is None:
        return aggregate(judgments, method, warn=False)
    if consensus.item_ids.tolist() != judgments.item_ids.tolist():
        raise OptionError("the consensus belongs to other judgments; leave it out.")
    return consensus


def _best(worth: Worth, beliefs: Beliefs, person: Person, most: int) -> Worth:
    """Keep the candidates that are worth most: a judgment lowers what others are worth."""
    i, j = worth.pairs
    value = worth.of(person.information(beliefs.scores[i] - beliefs.scores[j]))
    if len(value) <= most:
        return worth
    return worth.narrowed(np.sort(np.argpartition(-value, most)[:most]))


class _Chosen(NamedTuple):
    """A pair of a batch."""

    i: int
    j: int
    person: Person
    worth: float
    reason: str


class Batch:
    """A batch in the making.

    Parameters
    ----------
    beliefs
        What is believed about the items.
    worth
        What the candidates are worth.
    about
        What the judgments should improve.
    random
        Decides between equals, and which item is on the left.
    per_item
        How many of the pairs an item can be in.
    repeat
        Whether a pair may be asked more than once, but never twice of one annotator.
    """

    def __init__(
        self,
        beliefs: Beliefs,
        worth: Worth,
        about: About,
        random: np.random.Generator,
        *,
        per_item: int | None = None,
        repeat: bool = False,
    ) -> None:
        self._beliefs, self._worth, self._about, self._random = beliefs, worth, about, random
        self._per_item, self._repeat = per_item, repeat
        self._i, self._j = worth.pairs
        self._gap = beliefs.scores[self._i] - beliefs.scores[self._j]
        self._seen = np.zeros(beliefs.n_items, dtype=np.int64)
        self._open: BoolArray = np.ones(len(self._i), dtype=bool)
        self._component = beliefs.component.copy()
        self._person: Person | None = None
        self._information: FloatArray = np.empty(0)
        self._fresh: BoolArray = self._open  # what the person was not asked before
        self._chosen: list[_Chosen] = []

    def choose(self, turn: Turn) -> None:
        """Choose the pair of one turn."""
        person = turn.person
        self._look_at(person)
        open_ = self._open & self._fresh
        if self._per_item is not None:
            free = self._seen < self._per_item
            open_ &= free[self._i] & free[self._j]
        if not open_.any():
            self._refuse(person)
        worth = self._worth.of(self._information)
        main = self._component == 0
        across = open_ & (main[self._i] != main[self._j]) if not main.all() else ~open_
        if not main.all() and across.any():
            k = self._best(worth, across)
            new = self._beliefs.new[[self._i[k], self._j[k]]].any()
            reason = "new item" if new else "connects components"
        elif turn.exploring and person.sd > 0.0:
            # Known gaps tell about who judges them, unknown ones about the items.
            noise = 1.0 + self._information * self._worth.variance
            k = self._best(person.reliability_information(self._gap) / noise, open_)
            reason = "to learn about the annotator"
        elif turn.exploring:
            judged = self._beliefs.judged + self._seen
            k = self._best(-np.minimum(judged[self._i], judged[self._j]), open_)
            reason = "few judgments"
        else:
            k = self._best(worth, open_)
            close = abs(self._gap[k]) < _CLOSE * self._worth.variance[k] ** 0.5
            reason = "close and uncertain" if close else "uncertain"
            reason = "affects calibrated scores" if self._about == "scores" else reason
        self._take(k, _Chosen(int(self._i[k]), int(self._j[k]), person, float(worth[k]), reason))

    def _look_at(self, person: Person) -> None:
        """Work out what depends on who is asked: most turns are of the same person as before."""
        if self._person is person:
            return
        self._person, self._information = person, person.information(self._gap)
        self._fresh = np.ones(len(self._i), dtype=bool)
        if person.id is not None:
            mine = [(one.i, one.j) for one in self._chosen if one.person is person]
            more = np.array(mine, dtype=np.int64).reshape(-1, 2).T
            n = self._beliefs.n_items
            asked = np.concatenate([person.asked, keys_of(more[0], more[1], n)])
            self._fresh = ~np.isin(keys_of(self._i, self._j, n), asked)

    def _best(self, value: FloatArray, open_: BoolArray) -> int:
        """Return the best candidate; among equals, one at random."""
        shown = np.where(open_, value, -np.inf)
        top = float(shown.max())
        equal = np.flatnonzero(shown >= top - _EQUAL * abs(top))
        return int(equal[0] if len(equal) == 1 else self._random.choice(equal))

    def _take(self, k: int, chosen: _Chosen) -> None:
        self._worth.ask(chosen.i, chosen.j, float(self._information[k]))
        self._chosen.append(chosen)
        ends = [chosen.i, chosen.j]
        self._seen[ends] += 1
        joined = self._component[ends]
        self._component[np.isin(self._component, joined)] = joined.min()
        if not self._repeat:
            self._open[k] = False
        elif chosen.person.id is not None:
            self._fresh[k] = False

    def _refuse(self, person: Person) -> None:
        done = f"only {count(len(self._chosen), 'pair')} can be chosen within these limits"
        if person.id is not None and (self._open.any() or self._repeat):
            raise OptionError(
                f"{done}: annotator '{person.id}' has judged the others, or their items are "
                f"taken; ask for fewer, leave the annotator out, or raise {option('per-item')}."
            )
        raise OptionError(
            f"{done}; ask for fewer, raise {option('per-item')}, or allow {option('repeat')}."
        )

    def suggestions(self) -> Suggestions:
        """Decide which item is shown on the left, and put everything into a table."""
        chosen, beliefs = self._chosen, self._beliefs
        i, j = np.array([one.i for one in chosen]), np.array([one.j for one in chosen])
        ahead = beliefs.scores[i] >= beliefs.scores[j]
        # The favourite is on the left in half of the pairs, at random: its side tells nothing.
        favourite = self._random.permutation(np.arange(len(chosen)) % 2 == 0)
        left = np.where(ahead == favourite, i, j)
        right = i + j - left
        slope = np.array([one.person.reliability for one in chosen])
        advantage = slope * (beliefs.scores[left] - beliefs.scores[right])
        probability = chosen[0].person.link.probability(advantage)
        named = chosen[0].person.id is not None
        return Suggestions(
            beliefs.item_ids[left],
            beliefs.item_ids[right],
            np.array([one.worth for one in chosen]),
            # Across components the prior alone puts one above the other.
            np.where(beliefs.unrelated(left, right), np.nan, probability),
            as_text(one.reason for one in chosen),
            as_text(one.person.id for one in chosen) if named else None,
            self._about,
            beliefs.consensus,
        )


def check_suggestion(
    *,
    n: int | None = None,
    about: str = "order",
    scored: bool = False,
    per_annotator: int | None = None,
    per_item: int | None = None,
    explore: float = EXPLORE,
    method: str = DEFAULT_METHOD,
    seed: int = 0,
) -> None:
    """Refuse options of `suggest_pairs` that are none, before anything is read or fitted.

    Examples
    --------
    >>> check_suggestion(n=0)
    Traceback (most recent call last):
    aggcal.errors.OptionError: n is 0; give a whole number, 1 or more.
    """
    limits.check(pairs=n, per_annotator=per_annotator, per_item=per_item)
    limits.check(explore=explore, seed=seed)
    check_choice("about", about, UNITS)
    if about == "scores" and not scored:
        raise OptionError("suggestions about scores need the model's scores; give them too.")
    if method not in PREDICTABLE:
        raise OptionError(
            f"the method '{method}' cannot suggest pairs: it cannot predict what a judgment adds; "
            f"choose {', '.join(PREDICTABLE)}."
        )


def ids_of(items: Any) -> TextArray:
    """Return the ids of further items, from a list, a path or a table.

    Examples
    --------
    >>> ids_of(["a", "b"])
    array(['a', 'b'], dtype=object)
    """
    if items is None:
        return as_text([])
    if isinstance(items, list | tuple | np.ndarray) and all(isinstance(x, str) for x in items):
        return as_text(items)
    if isinstance(items, str | Path) or not isinstance(items, Sequence):
        return read_items(items)
    raise OptionError("items are given as a list of ids, a path, or a table with a column 'item'.")
