"""The pairs worth asking next, and whom to ask."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, TextArray
from aggcal._core.frames import Frame, check_frame, framed
from aggcal._core.progress import report
from aggcal._core.tables import as_text
from aggcal.advice.suggest.annotators import Person, Turn, anybody, people, turns
from aggcal.advice.suggest.beliefs import Beliefs
from aggcal.advice.suggest.best_first import chosen_batch
from aggcal.advice.suggest.candidates import candidates
from aggcal.advice.suggest.checking import (
    EXPLORE,
    check_number,
    check_scored,
    check_suggestion,
    check_tables,
)
from aggcal.advice.suggest.criterion import criterion, information, reliability_information
from aggcal.advice.suggest.first import check_first, first_suggestions
from aggcal.advice.suggest.offered import ids_of, offered
from aggcal.advice.suggest.suggestions import About, Suggestions
from aggcal.advice.suggest.worth import Criterion
from aggcal.aggregation import aggregate
from aggcal.aggregation.consensus import Consensus
from aggcal.data.scores import Scores
from aggcal.data.spelling import Spelling
from aggcal.engines import prepare
from aggcal.errors import OptionError, count
from aggcal.io import read_scores
from aggcal.registry import DEFAULT_METHOD
from aggcal.registry.literals import PredictableName

DEFAULT_PAIRS = 20  # more save a round of asking, and are chosen with less known

_EQUAL = 1e-9
"""Share of the best value within which another counts as equal: rounding must not choose."""
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
    as on the right, few pairs connect all items, and no two items are far apart.

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
        How to aggregate: a method with a link (see ``aggcal methods``).
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
    limits: dict[str, Any] = {"n": n, "per_annotator": per_annotator, "per_item": per_item}
    fit: dict[str, Any] = {"explore": explore, "method": method, "seed": seed}
    check_suggestion(about=about, scored=scores is not None, **limits, **fit)
    check_frame(frame)
    if scores is not None and not isinstance(scores, Scores):
        scores = read_scores(scores)
    further = ids_of(items)
    if judgments is None:
        check_first(annotators or (), explore)
        first = first_suggestions(
            offered(scores, further), new_annotators, repeat=repeat, seed=seed, **limits
        )
        return framed(replace(first, backend=None if scores is None else scores.backend), frame)
    judgments = prepare(judgments)
    scores, further = _respelt(judgments.spelling, scores, further)
    check_tables(judgments, scores, annotators or [], new_annotators)
    if annotators is None and per_annotator is not None:
        annotators = [] if new_annotators else judgments.annotator_ids.tolist()
    if annotators:
        judgments = judgments.on_one_machine("suggesting pairs to annotators by name")
    if consensus is None:
        consensus = aggregate(judgments, method, warn=False)
    elif consensus.item_ids.tolist() != judgments.item_ids.tolist():
        raise OptionError("the consensus belongs to other judgments; leave it out.")
    report("estimating what each answer would add")
    beliefs = Beliefs.of(judgments, consensus, scores, further)
    if about == "scores":
        check_scored(beliefs)
    named = people(judgments, beliefs, annotators or [], new_annotators)
    most = possible(beliefs.n_items, len(named), per_item, repeat=repeat)
    persons = named or [anybody(beliefs)]
    if n is None:
        n = per_annotator * len(persons) if per_annotator else int(min(DEFAULT_PAIRS, most))
    check_number(n, most, beliefs.n_items)
    asked = turns(persons, n, per_annotator, explore)
    pairs = candidates(beliefs, n, random := np.random.default_rng(seed))
    worth = criterion(beliefs, *pairs, about_scores=about == "scores")
    batch = Batch(beliefs, pairs, worth, about, per_item, repeat=repeat, random=random)
    found = chosen_batch(batch, asked).suggestions(consensus, judgments.backend)
    return framed(found, frame)


class _Chosen(NamedTuple):
    """A pair of a batch, by its items and by its number among all pairs."""

    i: int
    j: int
    key: int
    person: Person
    worth: float
    reason: str


class Batch:
    """A batch in the making."""

    def __init__(
        self,
        beliefs: Beliefs,
        pairs: tuple[IntArray, IntArray],
        worth: Criterion,
        about: About,
        per_item: int | None,
        *,
        repeat: bool,
        random: np.random.Generator,
    ) -> None:
        self._beliefs, self._criterion, self._about = beliefs, worth, about
        self._i, self._j = pairs
        self._keys = self._i * beliefs.n_items + self._j
        self._gap = beliefs.scores[self._i] - beliefs.scores[self._j]
        self._limit, self._repeat, self._random = per_item, repeat, random
        self._seen = np.zeros(beliefs.n_items, dtype=np.int64)
        self._open: BoolArray = np.ones(len(self._i), dtype=bool)
        self._piece = beliefs.piece.copy()
        self._own: dict[str | None, list[int]] = {}  # keys of what each was asked in this batch
        self._person: Person | None = None
        self._information: FloatArray = np.empty(0)
        self._fresh: BoolArray = np.empty(0, dtype=bool)
        self._chosen: list[_Chosen] = []

    @property
    def n_candidates(self) -> int:
        """How many pairs there are to choose from."""
        return len(self._keys)

    def worth(self, person: Person) -> FloatArray | None:
        """Return what a judgment of each candidate is worth; None while pieces are to be joined."""
        if self._piece.any():
            return None
        self._look_at(person)
        return np.where(self._allowed(), self._criterion.worth(self._information), 0.0)

    def narrowed(self, kept: IntArray) -> Batch:
        """Return the same of some of the candidates, which goes its own way."""
        found = self._like((self._i[kept], self._j[kept]), self._criterion.narrowed(kept), self)
        vars(found).update(_open=self._open[kept])
        if self._person is not None:
            known = {"_information": self._information[kept], "_fresh": self._fresh[kept]}
            vars(found).update(_person=self._person, **known)
        return found

    def after(self, part: Batch) -> Batch:
        """Return this one after all that one of some of its candidates has chosen."""
        worth = self._criterion.after(part._criterion)
        found = self._like((self._i, self._j), worth, part)
        taken = [one.key for one in part._chosen[len(self._chosen) :]]
        left = ~np.isin(self._keys, taken)
        open_ = self._open if self._repeat else self._open & left
        vars(found).update(_open=open_.copy(), _person=self._person, _fresh=self._fresh)
        vars(found).update(_information=self._information)
        if self._repeat and self._person is not None and self._person.id is not None:
            vars(found).update(_fresh=self._fresh & left)
        return found

    def _like(self, pairs: tuple[IntArray, IntArray], worth: Criterion, before: Batch) -> Batch:
        """Return a batch of these candidates that goes on where another has come to."""
        found = Batch(
            self._beliefs, pairs, worth, self._about, self._limit,
            repeat=self._repeat, random=deepcopy(before._random),
        )  # fmt: skip
        found._seen, found._piece = before._seen.copy(), before._piece.copy()
        found._own, found._chosen = deepcopy(before._own), before._chosen.copy()
        return found

    def choose(self, turn: Turn, more_than: float = -inf) -> float | None:
        """Choose the pair of one turn; return what it is worth.

        None, and nothing is chosen, where no pair is worth ``more_than`` this.
        """
        person = turn.person
        self._look_at(person)
        gained = self._information
        worth = self._criterion.worth(gained)
        open_ = self._allowed()
        if not open_.any():
            self._refuse(person)
        if float(worth[open_].max()) <= more_than:
            return None
        k, reason = self._join(worth, open_), ""
        if k is not None:
            both = self._beliefs.new[[self._i[k], self._j[k]]]
            reason = "new item" if both.any() else "connects components"
        elif turn.exploring and person.sd > 0.0:
            # Known gaps tell about who judges them, unknown ones about the items.
            mixed = 1.0 + gained * self._criterion.variance
            tells = reliability_information(person.answering(self._beliefs), self._gap)
            k, reason = self._best(tells / mixed, open_), "to learn about the annotator"
        elif turn.exploring:
            k, reason = self._least_judged(open_), "few judgments"
        else:
            k = self._best(worth, open_)
            reason = self._why(k)
        pair = int(self._i[k]), int(self._j[k])
        self._chosen.append(_Chosen(*pair, int(self._keys[k]), person, float(worth[k]), reason))
        self._take(k, person, float(gained[k]))
        return float(worth[k])

    def _look_at(self, person: Person) -> None:
        """Work out what depends on who is asked: most turns are of the same person as before."""
        if self._person is not person:
            self._person = person
            self._information = information(person.answering(self._beliefs), self._gap)
            self._fresh = ~np.isin(self._keys, person.judged)
            if person.id in self._own:
                self._fresh &= ~np.isin(self._keys, self._own[person.id])

    def _allowed(self) -> BoolArray:
        open_ = self._open & self._fresh
        if self._limit is not None:
            free = self._seen < self._limit
            open_ &= free[self._i] & free[self._j]
        return open_

    def _best(self, value: FloatArray, open_: BoolArray) -> int:
        """Return the best candidate; among equals, one at random."""
        shown = np.where(open_, value, -np.inf)
        top = float(shown.max())
        equal = np.flatnonzero(shown >= top - _EQUAL * abs(top))
        return int(equal[0] if len(equal) == 1 else self._random.choice(equal))

    def _join(self, worth: FloatArray, open_: BoolArray) -> int | None:
        """Return the best pair of the largest piece and another, while there are several."""
        if not self._piece.any():
            return None
        one, other = self._piece[self._i] == 0, self._piece[self._j] == 0
        across = open_ & (one != other)
        return self._best(worth, across) if across.any() else None

    def _least_judged(self, open_: BoolArray) -> int:
        shown = self._beliefs.judged + self._seen
        fewer = np.minimum(shown[self._i], shown[self._j])
        least = np.flatnonzero(open_ & (fewer == fewer[open_].min()))
        return int(self._random.choice(least))

    def _why(self, k: int) -> str:
        if self._about == "scores":
            return "affects calibrated scores"
        sd = float(np.sqrt(self._criterion.variance[k]))
        return "close and uncertain" if abs(float(self._gap[k])) < _CLOSE * sd else "uncertain"

    def _take(self, k: int, person: Person, gained: float) -> None:
        self._criterion.ask(k, gained)
        i, j = self._i[k], self._j[k]
        self._seen[[i, j]] += 1
        joined = {int(self._piece[i]), int(self._piece[j])}
        if len(joined) > 1:
            self._piece[np.isin(self._piece, list(joined))] = min(joined)
        if not self._repeat:
            self._open[k] = False
        elif person.id is not None:
            self._own.setdefault(person.id, []).append(int(self._keys[k]))
            self._fresh[k] = False

    def _refuse(self, person: Person) -> None:
        done = f"only {count(len(self._chosen), 'pair')} can be chosen within these limits"
        if person.id is not None and (self._open.any() or self._repeat):
            raise OptionError(
                f"{done}: annotator '{person.id}' has judged the others, or their items are "
                "taken; ask for fewer, leave the annotator out, or raise --per-item."
            )
        raise OptionError(f"{done}; ask for fewer, raise --per-item, or allow --repeat.")

    def suggestions(self, consensus: Consensus, backend: str | None) -> Suggestions:
        """Decide which item is shown on the left, and put everything into a table."""
        chosen = self._chosen
        i, j = np.array([one.i for one in chosen]), np.array([one.j for one in chosen])
        gap = self._beliefs.scores[i] - self._beliefs.scores[j]
        # The favourite is on the left in half of the pairs, at random: where it is tells nothing.
        flips = self._random.permutation(np.arange(len(chosen)) % 2 == 0)
        first = np.where((gap >= 0.0) == flips, i, j)
        second = np.where(first == i, j, i)
        slope = np.array([one.person.reliability for one in chosen])
        ids, scores = self._beliefs.item_ids, self._beliefs.scores
        probability = self._beliefs.link.probability(slope * (scores[first] - scores[second]))
        # Across components the prior alone puts one above the other.
        probability = np.where(self._beliefs.unrelated(first, second), np.nan, probability)
        who = None
        if chosen[0].person.id is not None:
            who = as_text(one.person.id for one in chosen)
        return Suggestions(
            ids[first],
            ids[second],
            np.array([one.worth for one in chosen]),
            probability,
            as_text(one.reason for one in chosen),
            who,
            self._about,
            consensus,
            backend,
        )


def _respelt(
    spelling: Spelling | None, scores: Scores | None, further: TextArray
) -> tuple[Scores | None, TextArray]:
    """Spell the ids of scores and of further items as those of the judgments."""
    if spelling is None:
        return scores, further
    respelt = None if scores is None else spelling.table(scores)
    return respelt, as_text(dict.fromkeys(spelling.ids(further)))


def possible(n_items: int, n_annotators: int, per_item: int | None, *, repeat: bool) -> float:
    """Return how many pairs there are at most within the limits."""
    most: float = n_items * (n_items - 1) // 2
    if repeat:
        most *= n_annotators or inf
    return most if per_item is None else min(most, n_items * per_item // 2)
