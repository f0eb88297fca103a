"""How much the result hangs on single annotators and items.

- `one_step`: how far scores move without each, by one Newton step; `Refits`: by a fit.
- `shifts`: these moves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, ranks
from aggcal._core.progress import counted
from aggcal._core.tables import Columns, aligned, as_frame
from aggcal._core.text import brief, wrapped
from aggcal.advice.influence.one_step import OneStep, matched
from aggcal.advice.influence.shifts import Shifts
from aggcal.aggregation import aggregate
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.estimate import Quantify
from aggcal.aggregation.protocols import Likelihood
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.engines import prepare
from aggcal.errors import OptionError
from aggcal.registry import DEFAULT_METHOD, LOCAL

EXACT = 10
"""Annotators, and items, that are left out by a fit rather than by one Newton step."""

__all__ = ["Influence", "influence"]


@dataclass(frozen=True, eq=False)
class Influence:
    """How far the scores move without each annotator, and without each item.

    Examples
    --------
    >>> import aggcal
    >>> study = aggcal.simulate(items=8, annotators=6, judgments=200, seed=1)
    >>> found = aggcal.influence(study.judgments)
    >>> found.annotators["annotator"][0], round(float(found.annotators["influence"][0]), 2)
    ('annotator-6', 0.73)
    """

    consensus: Consensus
    shifts: Shifts
    error: FloatArray
    """Standard error of each score; where there is none, the spread of the scores."""
    exact: BoolArray
    """Annotators who were left out by a fit."""
    item_size: FloatArray
    """Root mean square by which the others move without each item, in standard errors."""
    item_exact: BoolArray
    joint: bool
    """Whether all items moved together, or each as if the others stood still."""

    @property
    def size(self) -> FloatArray:
        """Root mean square by which scores move without each annotator, in standard errors."""
        return self.shifts.sizes() / _typical(self.error)

    def annotator_columns(self, order: IntArray | None = None) -> Columns:
        """Return the columns of ``annotators.csv``, in an order of the annotators."""
        item, change = self.shifts.largest(self.error)
        top = np.argsort(-self.consensus.scores, kind="stable")[:50]
        leads = top[np.argmax(self.consensus.scores[top] + self.shifts.of_items(top), axis=1)]
        names = self.consensus.item_ids
        instead = np.where(leads == top[0], "", names[leads])
        columns: Columns = {
            "influence": self.size,
            "influence_item": names[item],
            "influence_change": change,
            "leader_without": instead.astype(object),
            "influence_exact": self.exact,
        }
        at = np.arange(len(self.exact)) if order is None else order
        return {name: column[at] for name, column in columns.items()}

    def item_columns(self) -> Columns:
        """Return the columns of ``items.csv``, in the order of the consensus' ids."""
        who, change = self.shifts.deciders()
        return {
            "influence": self.item_size,
            "decided_by": self.consensus.annotator_ids[who],
            "decided_change": change,
            "rank_without": self._ranks_without(who, change),
        }

    def _ranks_without(self, who: IntArray, change: FloatArray) -> IntArray:
        """Return the rank of each item without the annotator who decides it."""
        found, scores = np.zeros(len(who), dtype=np.int64), self.consensus.scores
        if not self.joint:  # the others stand still
            above = len(scores) - np.searchsorted(np.sort(scores), scores + change, side="right")
            return np.asarray(1 + above - (change < 0.0))
        for u in np.unique(who):
            mine = np.flatnonzero(who == u)
            found[mine] = ranks(scores + self.shifts.without(int(u)))[mine]
        return found

    @property
    def annotators(self) -> Any:
        """Table of the annotators, the one that the result hangs on most first."""
        order = np.argsort(-self.size, kind="stable")
        columns = {"annotator": self.consensus.annotator_ids[order]}
        return as_frame(columns | self.annotator_columns(order), self.consensus.backend)

    @property
    def items(self) -> Any:
        """Table of the items, the one that the others' scores hang on most first."""
        order = np.argsort(-self.item_size, kind="stable")
        columns = {"item": self.consensus.item_ids} | self.item_columns()
        ordered = {name: column[order] for name, column in columns.items()}
        return as_frame(ordered, self.consensus.backend)

    def to_dict(self) -> dict[str, Any]:
        """Return the facts about the whole, as in ``summary.json``."""
        most = int(np.argmax(self.size))
        return {
            "largest": {
                "annotator": str(self.consensus.annotator_ids[most]),
                "influence": float(self.size[most]),
            },
            "n_exact": int(self.exact.sum()),
            "items_together": self.joint,
        }

    def __str__(self) -> str:
        size, most = self.size, int(np.argmax(self.size))
        said = (
            f"Without '{self.consensus.annotator_ids[most]}' scores move by {size[most]:.2f} "
            "standard errors (root mean square); without anybody else by less."
        )
        return wrapped(said)

    __repr__ = brief


def influence(
    judgments: Any, consensus: Consensus | None = None, *, exact: int = EXACT
) -> Influence:
    """Say how far scores move without each annotator and each item.

    The moves are those of one Newton step from the optimum, with the reliabilities of the others
    held; the largest are worked out again by a fit. They are measured in standard errors of the
    scores, after matching mean and spread, which are conventions.

    Parameters
    ----------
    judgments
        `Judgments`, or anything that `read_judgments` takes.
    consensus
        Their consensus; None to fit it by the default method.
    exact
        How many annotators, and how many items, are left out by a fit: those with the largest
        influence. With 0 nothing is fitted again.

    Examples
    --------
    >>> rows = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c"), ("cy", "b", "a")]
    >>> found = influence(rows)
    >>> found.annotators["leader_without"].tolist()
    ['b', '', 'b']
    """
    if exact < 0:
        raise OptionError(f"exact is {exact}; give 0 or more.")
    here = prepare(judgments, LOCAL).on_one_machine("leaving out annotators")
    if consensus is None:
        consensus = aggregate(here, warn=False)
    found = influence_of(here, consensus, exact=exact)
    if found is None:
        raise OptionError(
            f"method '{consensus.method}' does not tell what each judgment does to the scores; "
            f"choose {DEFAULT_METHOD}."
        )
    return found


def influence_of(judgments: AnyJudgments, consensus: Consensus, *, exact: int) -> Influence | None:
    """Return the influence in a fit; None where the fit does not tell, or rows are elsewhere."""
    known, whole = consensus.quantifier, judgments.local
    forces = known.row_scores(consensus) if isinstance(known, Quantify) else None
    if forces is None or whole is None:
        return None
    step = OneStep(forces, consensus.scores)
    stated, scores = consensus.uncertainty, consensus.scores
    spread = max(float(np.std(scores)), 1e-300)
    error = np.full(len(scores), spread) if stated is None else np.asarray(stated.se)
    error = np.maximum(np.where(np.isfinite(error), error, spread), 1e-9 * spread)
    typical = _typical(error)
    shifts, item_size = step.without_annotators(), step.without_items() / typical
    none = np.zeros(forces.rows.n_annotators, dtype=bool), np.zeros(forces.n_items, dtype=bool)
    found = Influence(consensus, shifts, error, none[0], item_size, none[1], step.joint)
    return _refitted(found, Refits(whole, consensus), exact) if exact else found


@dataclass(frozen=True, eq=False)
class Refits:
    """Fits what is left of some judgments in the same way, the spreads held."""

    judgments: Judgments
    consensus: Consensus

    __repr__ = brief

    def without_annotators(self, left_out: IntArray) -> FloatArray | None:
        """Return how far scores move without some annotators; None if nobody is left."""
        kept = ~np.isin(self.judgments.annotator, left_out)
        return self._moved(kept, np.ones(len(self.consensus.scores), dtype=bool))

    def without_item(self, item: int) -> float | None:
        """Return the root mean square by which the others move without an item."""
        kept = (self.judgments.left != item) & (self.judgments.right != item)
        rest = np.arange(len(self.consensus.scores)) != item
        moved = self._moved(kept, rest)
        return None if moved is None else float(np.sqrt(np.mean(np.square(moved[rest]))))

    def _moved(self, kept: BoolArray, counted: BoolArray) -> FloatArray | None:
        """Return how far the items that count move; one that nobody compares is in the middle."""
        if not kept.any():
            return None
        scores, known = self.consensus.scores, self.consensus.quantifier
        own: object = known.aggregator if isinstance(known, Quantify) else None
        part = self.judgments.of_rows(kept)
        assert isinstance(own, Likelihood)  # noqa: S101  # who calls knows
        again = own.refit(part, self.consensus, self.consensus)
        there = aligned(again.scores, again.item_ids, self.consensus.item_ids)
        there = np.where(np.isnan(there), 0.0, there)
        found = np.zeros(len(scores))
        found[counted] = matched(there[counted] - scores[counted], scores[counted])
        return found


def _refitted(found: Influence, refits: Refits, exact: int) -> Influence:
    """Leave out those with the largest influence by fits."""
    known: dict[int, FloatArray] = {}
    for u in counted(np.argsort(-found.size, kind="stable")[:exact].tolist(), "leaving out"):
        moved = refits.without_annotators(np.array([u]))
        if moved is not None:
            known[u] = moved
    item_size, item_exact = found.item_size.copy(), found.item_exact.copy()
    largest = np.argsort(-found.item_size, kind="stable")[:exact].tolist()
    for i in counted(largest, "leaving out items"):
        size = refits.without_item(i)
        if size is not None:
            item_size[i], item_exact[i] = size / _typical(found.error), True
    who = np.isin(np.arange(len(found.exact)), list(known))
    shifts = found.shifts.replaced(known)
    return replace(found, shifts=shifts, exact=who, item_size=item_size, item_exact=item_exact)


def _typical(error: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.square(error))))
