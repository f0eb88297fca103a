"""Ties, strengths, contexts and categories of judgments in shards, counted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal.data.control import (
    Control,
    Covariates,
    coded,
    lacking,
    refuse_unable,
    refuse_without,
)
from aggcal.data.judgments import Judgments
from aggcal.data.weights import Tally
from aggcal.engines.base import Shard
from aggcal.engines.remote import RemoteJudgments
from aggcal.models.general.facts import Facts, facts_of


@dataclass(frozen=True, eq=False)
class ShardFacts:
    """What a shard, or several together, count."""

    n_ties: int
    top_grade: int
    in_contexts: int
    annotators_in_contexts: int
    cells: dict[str, IntArray]
    category_weights: dict[str, FloatArray]
    tally: Tally

    @classmethod
    def of(cls, judgments: Judgments) -> ShardFacts:
        """Count the rows of one shard."""
        facts = Facts(judgments)
        within = 0 if judgments.context is None else facts.in_contexts
        counts = facts.n_ties, facts.top_grade, within, facts.annotators_in_contexts
        return cls(*counts, facts.cells, facts.category_weights, facts.tally)

    def __add__(self, other: ShardFacts) -> ShardFacts:
        return ShardFacts(
            self.n_ties + other.n_ties,
            max(self.top_grade, other.top_grade),
            self.in_contexts + other.in_contexts,
            self.annotators_in_contexts + other.annotators_in_contexts,
            {name: np.union1d(self.cells[name], other.cells[name]) for name in self.cells},
            {
                name: _added(weights, other.category_weights[name])
                for name, weights in self.category_weights.items()
            },
            self.tally + other.tally,
        )


def _added(one: FloatArray, two: FloatArray) -> FloatArray:
    """Add up weights; a shard counts up to the last category that it has."""
    found = np.zeros(max(len(one), len(two)))
    found[: len(one)] += one
    found[: len(two)] += two
    return found


@dataclass(frozen=True, eq=False)
class Explained:
    """What covariates say of rows: which have none, and the largest difference of each."""

    without_context: int
    lacking: IntArray
    largest: FloatArray

    @classmethod
    def of(cls, judgments: Judgments, covariates: Covariates) -> Explained:
        """Look at the rows of one shard."""
        context, none = judgments.context, np.zeros(covariates.values.shape[1])
        without = int((np.asarray(context) < 0).sum()) if covariates.by_context else 0
        if without:
            return cls(without, np.empty(0, dtype=np.int64), none)
        rows = judgments.left, judgments.right, context
        lacking = covariates.lacking(*rows)
        if len(lacking):
            return cls(0, lacking, none)
        return cls(0, lacking, np.abs(covariates.differences(*rows)).max(axis=0, initial=0.0))

    def __add__(self, other: Explained) -> Explained:
        return Explained(
            self.without_context + other.without_context,
            np.union1d(self.lacking, other.lacking),
            np.maximum(self.largest, other.largest),
        )


def _counted(shard: Shard) -> ShardFacts:
    return ShardFacts.of(shard.judgments)


def _explained(shard: Shard, covariates: Covariates) -> Explained:
    return Explained.of(shard.judgments, covariates)


class FactsAway(Facts):
    """Counts of judgments in shards, made once."""

    def __init__(self, judgments: RemoteJudgments) -> None:
        self._remote, self.n_annotators = judgments, judgments.n_annotators
        assert judgments.shards is not None  # noqa: S101  # others count their own rows
        self._shards = judgments.shards
        found = reduce(add, self._shards.each(_counted))
        self.n_ties, self.top_grade = found.n_ties, found.top_grade
        self.in_contexts, self.cells, self.tally = found.in_contexts, found.cells, found.tally
        self.annotators_in_contexts = found.annotators_in_contexts
        ids = judgments.category_ids
        self.category_weights = {
            name: _added(np.zeros(len(ids[name])), weights)
            for name, weights in found.category_weights.items()
        }
        groups = found.cells.get("context", np.empty(0, dtype=np.int64)) // judgments.n_items
        self.n_contexts = len(np.unique(groups))

    def check_control(self, control: Control) -> None:
        """Refuse judgments for which values are missing, or of which they cannot explain any."""
        judgments = self._remote
        if control.context_ids is not None and judgments.context_ids is None:
            refuse_without(control, judgments, None)
        covariates = [coded(control, judgments)] * len(self._shards)
        found = reduce(add, self._shards.each(_explained, covariates))
        if control.context_ids is not None:
            refuse_without(control, judgments, found.without_context)
        if len(found.lacking):
            raise lacking(control, judgments, found.lacking)
        refuse_unable(control, found.largest)


@facts_of.register
def facts_of_engine(judgments: RemoteJudgments) -> Facts:
    """Return the counts of judgments that an engine holds."""
    if judgments.host is not None:
        return Facts(judgments.host)
    known = vars(judgments).get("_facts")
    if known is None:
        known = FactsAway(judgments)
        object.__setattr__(judgments, "_facts", known)
    return known
