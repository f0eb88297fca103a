"""Pairs to ask while answers come in: an answer moves what is believed, without a new fit.

An answer y of someone with reliability γ about i and j, a = e_i − e_j, moves the scores by one
step of Newton's method from where they stand and takes its information from their covariance C:

    s ← s + C a γ r / (1 + I a'Ca),    C ← C − I C a a'C / (1 + I a'Ca),

r the slope of the log-likelihood at the advantage γ (s_i − s_j), I its expected curvature. It
costs one sweep over the pairs instead of a fit and the covariance. Reliabilities stay what they
were. What it leaves out is small, and adds up: fit all answers anew from time to time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.advice.suggest.beliefs import Beliefs, keys_of
from aggcal.advice.suggest.greedy import Joint
from aggcal.advice.suggest.pairs import Batch, fitted, ids_of
from aggcal.advice.suggest.people import People, Person, Turn, possible
from aggcal.advice.suggest.suggestions import Suggestions
from aggcal.aggregation.consensus import Consensus
from aggcal.engines import prepare
from aggcal.errors import OptionError, count, did_you_mean
from aggcal.registry import DEFAULT_METHOD, limits

_ANEW = 50
"""Answers after which it is worked out anew what is at stake in each pair: more keep to gaps that
have changed since, fewer take longer."""
_WORDS = {"left": 1.0, "right": 0.0, "tie": 0.5}
_OUTCOMES = {value: word for word, value in _WORDS.items()}


class Suggester:
    """Suggests pairs for a study that goes on, and takes each answer into account at once.

    Parameters
    ----------
    judgments
        What has been judged: `Judgments`, or anything that `read_judgments` takes.
    items
        Further items to consider: ids, or a table with the column ``item``.
    method
        How to aggregate: a method with a link (see ``aggcal list methods``).
    consensus
        The consensus of these judgments, if it was already fitted.
    seed
        Seed for all random numbers.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c"), ("bob", "c", "d")]
    >>> asking = aggcal.Suggester(rows)
    >>> next_pair = asking.suggest(1, annotator="ann")
    >>> asking.record("ann", next_pair.left[0], next_pair.right[0], "left")
    >>> len(asking.answers), asking.suggest(2).pairs["left"].shape
    (1, (2,))
    """

    def __init__(
        self,
        judgments: Any,
        *,
        items: Any = None,
        method: str = DEFAULT_METHOD,
        consensus: Consensus | None = None,
        seed: int = 0,
    ) -> None:
        limits.check(seed=seed)
        judgments = prepare(judgments).on_one_machine("asking pair by pair")
        self.consensus = consensus = fitted(judgments, method, consensus)
        """The fit that everything started from."""
        self.answers: list[tuple[str, str, str, str]] = []
        """What was recorded, as rows for `add_judgments`: annotator, left, right, outcome."""
        self._random = np.random.default_rng(seed)
        self._beliefs = Beliefs.of(judgments, consensus, None, ids_of(items))
        if self._beliefs.covariance is None:
            raise OptionError(
                f"{count(self._beliefs.n_items, 'item')} are too many to ask pair by pair; choose "
                "them in batches with suggest_pairs."
            )
        self._position = {str(item): k for k, item in enumerate(self._beliefs.item_ids)}
        self._people = People(judgments, self._beliefs)
        self._persons: dict[str | None, Person] = {None: self._people.anybody()}
        self._worth = self._valued(self._beliefs.covariance)

    @property
    def scores(self) -> FloatArray:
        """Where the items stand now, in the order of ``item_ids``."""
        return self._beliefs.scores

    @property
    def item_ids(self) -> list[str]:
        """The items, new ones last."""
        return list(self._position)

    def suggest(self, n: int = 1, annotator: str | None = None) -> Suggestions:
        """Suggest the pairs to ask next, of one annotator or of anybody.

        Parameters
        ----------
        n
            How many.
        annotator
            Who will be asked: never about a pair that they judged before. A name that is not known
            is somebody new.
        """
        most = possible(self._beliefs.n_items, 1, None, repeat=False)
        if not 1 <= n <= most:
            raise OptionError(f"n is {n}; give a number from 1 to {most:,.0f}.")
        turn = Turn(self._person(annotator), exploring=False)
        batch = Batch(self._beliefs, self._worth.copy(), "order", self._random)
        for _ in range(n):
            batch.choose(turn)
        return batch.suggestions()

    def record(self, annotator: str, left: str, right: str, outcome: str | float) -> None:
        """Take an answer into account.

        Parameters
        ----------
        annotator
            Who answered.
        left, right
            The two items.
        outcome
            ``"left"`` (or 1), ``"right"`` (or 0), ``"tie"`` (or 0.5).
        """
        value = _WORDS.get(outcome) if isinstance(outcome, str) else float(outcome)
        if value not in _OUTCOMES:
            raise OptionError(f"the outcome is {outcome!r}; give 'left', 'right' or 'tie'.")
        i, j = self._at(left), self._at(right)
        if i == j:
            raise OptionError(f"item '{left}' is compared with itself; give two items.")
        person = self._person(annotator)
        self._move(person, i, j, value)
        key = keys_of(np.array([i]), np.array([j]), self._beliefs.n_items)
        asked = np.append(person.asked, key)
        self._persons[str(annotator)] = replace(person, asked=asked)
        self.answers.append((str(annotator), str(left), str(right), _OUTCOMES[value]))
        if len(self.answers) % _ANEW == 0:
            self._worth = self._valued(self._worth.covariance)

    def _move(self, person: Person, i: int, j: int, value: float) -> None:
        """Move the scores by an answer, and take what it tells from what is left to learn."""
        beliefs, toward = self._beliefs, self._worth.toward(i, j)
        gap = float(beliefs.scores[i] - beliefs.scores[j])
        information = float(person.information(np.array([gap]))[0])
        step = person.slope(gap, value) / (1.0 + information * max(float(toward[i] - toward[j]), 0))
        self._worth.ask(i, j, information)
        judged, component = beliefs.judged.copy(), beliefs.component.copy()
        judged[[i, j]] += 1
        joined = component[[i, j]]
        component[np.isin(component, joined)] = joined.min()
        scores = beliefs.scores + step * toward
        self._beliefs = replace(beliefs, scores=scores, judged=judged, component=component)

    def _valued(self, covariance: FloatArray) -> Joint:
        """Work out what is at stake in each pair, where the items stand now."""
        self._beliefs = replace(
            self._beliefs, covariance=covariance, variances=np.diag(covariance).copy()
        )
        pairs = self._beliefs.candidates(1, self._random)
        return Joint(self._beliefs.scores, covariance, None, pairs)

    def _person(self, annotator: str | None) -> Person:
        name = None if annotator is None else str(annotator)
        if name is not None and name not in self._persons:
            self._persons[name] = self._people[name]
        return self._persons[name]

    def _at(self, item: str) -> int:
        try:
            return self._position[str(item)]
        except KeyError:
            near = did_you_mean(str(item), self._position)
            raise OptionError(
                f"there is no item '{item}'; check the id{near}, or name it in items."
            ) from None
