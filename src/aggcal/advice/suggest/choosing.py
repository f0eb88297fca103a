"""A batch of pairs in the making: which is chosen next, and why."""

from __future__ import annotations

from copy import copy, deepcopy
from math import inf
from typing import NamedTuple

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray
from aggcal._core.tables import as_text
from aggcal.advice.suggest.annotators import Person, Turn
from aggcal.advice.suggest.beliefs import Beliefs
from aggcal.advice.suggest.criterion import information, reliability_information
from aggcal.advice.suggest.suggestions import About, Suggestions
from aggcal.advice.suggest.worth import Criterion
from aggcal.aggregation.consensus import Consensus
from aggcal.errors import OptionError, count, option

_EQUAL = 1e-9
"""Share of the best value within which another counts as equal: rounding must not choose. The
compiled kernel has the same."""
_CLOSE = 1.0  # a gap of fewer standard deviations is called close: it changes the reason only


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
        self._above: tuple[Batch, IntArray] | None = None  # what this is a part of, and which

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

    def worth_of(self, kept: IntArray) -> FloatArray:
        """Return the same of some of the candidates, after all that was chosen."""
        worth = self._criterion.worth_of(kept, self._information[kept])
        return np.where(self._allowed()[kept], worth, 0.0)

    def copy(self) -> Batch:
        """Return one that goes its own way."""
        found = copy(self)
        for name in ("_criterion", "_seen", "_open", "_piece", "_fresh", "_chosen"):
            setattr(found, name, getattr(self, name).copy())
        vars(found).update(_own=deepcopy(self._own), _random=deepcopy(self._random), _above=None)
        return found

    def narrowed(self, kept: IntArray) -> Batch:
        """Return the same of some of the candidates: what it chooses is chosen here, too."""
        found = copy(self)
        for name in ("_i", "_j", "_keys", "_gap", "_open"):
            setattr(found, name, getattr(self, name)[kept])
        if self._person is not None:
            known = {"_information": self._information[kept], "_fresh": self._fresh[kept]}
            vars(found).update(known)
        vars(found).update(_criterion=self._criterion.narrowed(kept), _above=(self, kept))
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
        if not open_.any() and self._above is None:
            self._refuse(person)
        if float(worth.max(where=open_, initial=-inf)) <= more_than:
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
            reason = self._why(k, float(self._criterion.variance[k]))
        pair = int(self._i[k]), int(self._j[k])
        self._chosen.append(_Chosen(*pair, int(self._keys[k]), person, float(worth[k]), reason))
        self._take(k, person, float(gained[k]))
        return float(worth[k])

    def choose_clear(self, person: Person, more_than: float, most: int) -> int:
        """Choose pairs while it is clear which is best; return how many: 0 says nothing of others.

        Parameters
        ----------
        person
            Who is asked.
        more_than
            What they must be worth more than.
        most
            How many to choose at most.
        """
        if self._limit is not None or self._piece.any():
            return 0
        self._look_at(person)
        again = self._repeat and person.id is None
        best, known = self._criterion.ask_best(
            self._information, self._allowed(), more_than, most, again=again
        )
        for k, (worth, variance) in zip(best.tolist(), known.tolist(), strict=True):
            pair = int(self._i[k]), int(self._j[k]), int(self._keys[k])
            self._chosen.append(_Chosen(*pair, person, worth, self._why(k, variance)))
            self._note(k, person)
        return len(best)

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

    def _why(self, k: int, variance: float) -> str:
        if self._about == "scores":
            return "affects calibrated scores"
        close = abs(float(self._gap[k])) < _CLOSE * variance**0.5
        return "close and uncertain" if close else "uncertain"

    def _take(self, k: int, person: Person, gained: float) -> None:
        self._criterion.ask(k, gained)
        self._note(k, person)

    def _note(self, k: int, person: Person) -> None:
        """Note that a candidate is asked."""
        i, j = self._i[k], self._j[k]
        self._seen[[i, j]] += 1
        joined = {int(self._piece[i]), int(self._piece[j])}
        if len(joined) > 1:
            self._piece[np.isin(self._piece, list(joined))] = min(joined)
        if self._repeat and person.id is not None:
            self._own.setdefault(person.id, []).append(int(self._keys[k]))
        self._close(k, person)

    def _close(self, k: int, person: Person) -> None:
        """Do not let a candidate be chosen again."""
        if not self._repeat:
            self._open[k] = False
        elif person.id is not None:
            self._fresh[k] = False
        if self._above is not None:
            whole, kept = self._above
            whole._close(int(kept[k]), person)  # noqa: SLF001

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
