"""The pairs worth asking next, and whom to ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from aggcal._core.arrays import TextArray
from aggcal._core.frames import Frame, check_frame, framed
from aggcal._core.progress import report
from aggcal._core.tables import as_text
from aggcal.advice.suggest.annotators import anybody, people, turns
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
from aggcal.advice.suggest.choosing import Batch
from aggcal.advice.suggest.criterion import criterion
from aggcal.advice.suggest.first import check_first, first_suggestions
from aggcal.advice.suggest.offered import ids_of, offered
from aggcal.advice.suggest.suggestions import About, Suggestions
from aggcal.aggregation import aggregate
from aggcal.aggregation.consensus import Consensus
from aggcal.data.scores import Scores
from aggcal.data.spelling import Spelling
from aggcal.engines import prepare
from aggcal.errors import OptionError
from aggcal.io import read_scores
from aggcal.registry import DEFAULT_METHOD
from aggcal.registry.literals import PredictableName

DEFAULT_PAIRS = 20  # more save a round of asking, and are chosen with less known


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
