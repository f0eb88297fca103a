"""Rows, objectives and information whose sums are computed by shards, wherever those are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, SingleArray
from aggcal.engines.base import FitPoint, InformationPoint, Model, Parts, Shards
from aggcal.models.compiled import thurstone
from aggcal.models.crowd import Crowd, crowd
from aggcal.models.information import Information, information
from aggcal.models.links import Link
from aggcal.models.objective import Objective, Sums
from aggcal.models.rows import Rows
from aggcal.models.thurstone import Thurstone, likelihood

if TYPE_CHECKING:
    from scipy import sparse

_NONE = np.empty(0, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class ShardedRows(Rows):
    """Rows that lie on an engine: here are only the sums over them that everybody asks for."""

    shards: Shards = field(kw_only=True)
    weights: FloatArray = field(kw_only=True)
    """Total weight of each annotator."""
    wins: FloatArray = field(kw_only=True)
    """Total weight of the comparisons that each item won."""
    bounds: IntArray = field(kw_only=True)
    """The first annotator of each shard, and the number of annotators."""
    offsets: IntArray = field(kw_only=True)
    """How many rows lie before each shard."""

    @classmethod
    def over(cls, shards: Shards, n_items: int, held: Parts | None = None) -> ShardedRows:
        """Ask shards what they hold, unless that is known."""
        held = shards.total("held") if held is None else held
        degrees, wins = held.sums
        sizes, weights, annotators = held.columns
        starts = np.concatenate([[0], np.cumsum(sizes)])
        bounds = np.concatenate([[0], np.cumsum(annotators)])
        return cls(
            _NONE,
            _NONE,
            np.empty(0),
            starts,
            n_items,
            shards=shards,
            weights=weights,
            wins=wins,
            item_weights=degrees,
            bounds=bounds,
            offsets=starts[bounds[:-1]],
        )

    @cached_property
    def won(self) -> FloatArray:
        """Total weight of the comparisons that each item won."""
        return self.wins

    def __len__(self) -> int:
        return int(self.starts[-1])

    @cached_property
    def given(self) -> FloatArray:
        """Total weight of the comparisons of each annotator."""
        return self.weights

    def pooled(self) -> Rows:
        """Forget who judged; each shard merges the equal pairs of its own."""
        return ShardedRows(
            _NONE,
            _NONE,
            np.empty(0),
            np.array([0, len(self)]),
            self.n_items,
            shards=self.shards,
            weights=np.array([self.weights.sum()]),
            wins=self.wins,
            item_weights=self.item_weights,
            bounds=self.bounds,
            offsets=self.offsets,
        )

    def alone(self, annotator: int) -> Rows:
        """Return the rows of one annotator, where they lie."""
        k = int(np.searchsorted(self.bounds, annotator, side="right")) - 1
        within = annotator - int(self.bounds[k])
        return ShardedRows.over(self.shards.derived("alone", within, only=k), self.n_items)

    def every(self, step: int) -> Rows:
        """Return the rows of every so many annotators, where they lie."""
        return ShardedRows.over(self.shards.derived("every", step), self.n_items)

    def turned(self, annotator: int) -> Rows:
        """Return the rows with one annotator's answers turned round, where they lie."""
        return replace(self, shards=self.shards.derived("turned", annotator))


class _Sharded(Objective):
    """An objective that asks shards for its sums."""

    rows: ShardedRows
    _model: Model
    _point: FitPoint | None = None
    _known: dict[str, FloatArray]

    def sums(self, scores: FloatArray, tolerance: float) -> Sums:
        """Have every shard eliminate θ at these scores."""
        self.data_passes += 1
        if self._point is None:
            self._fit = uuid4().hex
        self._point = FitPoint(self._fit, self.data_passes, self._model, scores.copy(), tolerance)
        self._known = {}
        found: Sums = self.rows.shards.total("evaluate", self._point)
        return found

    def curvature_product(self, vector: FloatArray) -> FloatArray:
        """Multiply by the judgments' part of the curvature at the last point."""
        return np.asarray(self.rows.shards.total("product", self._point, vector))

    def carry(self, vector: FloatArray) -> FloatArray:
        """Multiply a vector over annotators by B D⁻¹."""
        return np.asarray(self.rows.shards.total("carry", self._point, vector))

    def dense_curvature(self) -> tuple[FloatArray, sparse.csc_array | None]:
        """Return the judgments' part of the Schur complement as a dense matrix, and B."""
        return _beside(self.rows.shards.listed("dense", self._point))

    @property
    def reliabilities(self) -> FloatArray:
        """θ of each annotator at the last point."""
        return self._per_annotator("reliabilities", super().reliabilities)

    @property
    def inner(self) -> FloatArray:
        """D: the curvature in each θ_u at the last point."""
        return self._per_annotator("inner", super().inner)

    def _per_annotator(self, question: str, before: FloatArray) -> FloatArray:
        if self._point is None or not self.heterogeneous:
            return before
        if question not in self._known:
            answers = self.rows.shards.listed(question, self._point)
            self._known[question] = np.concatenate(answers)
        return self._known[question]


class ShardedThurstone(_Sharded, Thurstone):
    """The Thurstone family on an engine."""

    def __init__(
        self, rows: ShardedRows, link: Link, score_precision: float, precision: float | None
    ) -> None:
        super().__init__(rows, link, score_precision, precision)
        self._model = Model(link.name, precision)


class ShardedCrowd(_Sharded, Crowd):
    """A crowd mixture on an engine."""

    def __init__(
        self, rows: ShardedRows, link: Link, score_precision: float, **options: float
    ) -> None:
        super().__init__(rows, link, score_precision, **options)
        self._model = Model(link.name, crowd=options)

    @property
    def model(self) -> Model:
        """Which likelihood it is."""
        return self._model


class ShardedInformation(Information):
    """The Fisher information on an engine."""

    _rows: ShardedRows
    problem: _Sharded

    def _take(self) -> FloatArray:
        self._point = InformationPoint(self.problem._model, self._scores, self._theta)  # noqa: SLF001
        if not self.heterogeneous:
            return np.ones(1)
        return np.concatenate(self._rows.shards.listed("inner_at", self._point))

    def shared(self, weights: FloatArray) -> FloatArray:
        """Return B D⁻¹ w for weights of the annotators."""
        return np.asarray(self._rows.shards.total("shared_at", self._point, weights))

    def curvature_product(self, vector: FloatArray) -> FloatArray:
        """Multiply by the judgments' part of S."""
        return np.asarray(self._rows.shards.total("curvature_product_at", self._point, vector))

    def curvature_products(self, vectors: SingleArray) -> SingleArray:
        """Multiply some vectors by the judgments' part of S."""
        return np.asarray(self._rows.shards.total("curvature_products_at", self._point, vectors))

    def sample_noise(self, key: int, noise: FloatArray) -> SingleArray:
        """Return the judgments' part of random vectors of covariance S."""
        offsets = self._rows.offsets
        return np.asarray(self._rows.shards.total("toss_at", self._point, key, noise, offsets))

    def borders(self, vectors: SingleArray) -> FloatArray:
        """Return B'v of some vectors, a row per annotator."""
        return np.concatenate(self._rows.shards.listed("borders_at", self._point, vectors))

    def curvature_diagonal(self) -> FloatArray:
        """Return the diagonal of the judgments' part of S."""
        return np.array(self._rows.shards.total("diagonal_at", self._point))

    def dense_curvature(self) -> tuple[FloatArray, sparse.csc_array | None]:
        """Return the judgments' part of S as a matrix, and B D⁻¹."""
        return _beside(self._rows.shards.listed("dense_at", self._point))


def _beside(parts: Sequence[tuple[FloatArray, Any]]) -> tuple[FloatArray, sparse.csc_array | None]:
    """Add the shards' matrices over items up, and put those over annotators side by side."""
    from scipy import sparse

    total = np.sum([part[0] for part in parts], axis=0)
    if parts[0][1] is None:
        return total, None
    return total, sparse.hstack([part[1] for part in parts]).tocsc()


thurstone.register(ShardedRows, ShardedThurstone)
likelihood.register(ShardedRows, ShardedThurstone)
crowd.register(ShardedRows, ShardedCrowd)
information.register(_Sharded, ShardedInformation)
