"""Joint modes of rows that lie on an engine: its objectives, as `modes` sees profiles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.aggregation.annotators import Beta, Normal, Prior
from aggcal.aggregation.families import Family, Mixture
from aggcal.aggregation.modes import Evaluation, Profile, link_of_family
from aggcal.aggregation.newton import Convergence, Progress, minimise
from aggcal.models import rows as models_rows
from aggcal.models.compiled import thurstone
from aggcal.models.crowd import crowd


@dataclass(frozen=True, eq=False)
class EngineRows:
    """What `modes` asks of rows, wherever they lie."""

    rows: models_rows.Rows

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return self.rows.n_items

    @property
    def n_annotators(self) -> int:
        """How many annotators."""
        return self.rows.n_annotators

    @property
    def item_weights(self) -> FloatArray:
        """Total weight of the answers about each item."""
        return self.rows.degrees

    @property
    def item_wins(self) -> FloatArray:
        """The same of those that it won."""
        return self.rows.won

    @property
    def annotator_weights(self) -> FloatArray:
        """Total weight of the answers of each annotator."""
        return self.rows.given

    @cached_property
    def pooled(self) -> models_rows.Rows:
        """The rows without their annotators."""
        return self.rows.pooled()


class EngineProfile(Profile):
    """A profile whose sums an engine makes."""

    def __init__(
        self,
        rows: EngineRows,
        family: Family,
        prior: Prior | None,
        precision: float,
        *,
        virtual: float = 0.0,
        reliabilities: FloatArray | None = None,
    ) -> None:
        self._on_engine, self.family, self.prior = rows, family, prior
        self.precision, self.virtual, self.reliabilities = precision, virtual, reliabilities
        self._objective: Any
        self._value = 0.0

    @cached_property
    def _its_rows(self) -> models_rows.Rows:
        """The rows, those of one annotator turned round, or of one alone."""
        known = self.reliabilities
        if known is None:
            return self._on_engine.pooled if self.prior is None else self._on_engine.rows
        if (known == 0.0).any():
            return self._on_engine.rows.alone(int(np.argmax(known))).pooled()
        return self._on_engine.rows.turned(int(np.argmin(known))).pooled()

    def _make(self) -> Any:
        rows, link, prior = self._its_rows, link_of_family(self.family), self.prior
        if isinstance(self.family, Mixture):
            assert isinstance(prior, Beta)  # noqa: S101  # mixtures have one
            beta = {"alpha": prior.a + 1.0, "beta": prior.b + 1.0}
            options = {"width": self.family.width, "virtual": self.virtual}
            return crowd(rows, link, self.precision, **beta, **options)
        reliable = float(prior.sds[0]) ** -2 if isinstance(prior, Normal) else None
        return thurstone(rows, link, self.precision, reliable)

    def minimise(
        self, start: FloatArray, tolerance: float, on_iteration: Progress | None = None
    ) -> tuple[FloatArray, Convergence]:
        """Return the scores that an optimum has, from a start, and how it was reached."""
        self._objective = objective = self._make()
        scores, record = minimise(
            objective,
            objective.to_device(start),
            tolerance=tolerance,
            shared_scale=objective.heterogeneous,
            on_iteration=on_iteration,
        )
        scores, self._value = objective.fetch(scores), record.objectives[-1]
        self.diagonal = objective.fetch(objective.diagonal)
        self._penalties = objective.penalties(scores)
        return scores, record

    def evaluate(self, scores: FloatArray) -> Evaluation:
        """Bring the annotators' parameters to their modes, and return value and derivatives."""
        self._objective = objective = self._make()
        point = objective.evaluate(objective.to_device(scores))
        self.diagonal, gradient = map(objective.fetch, (point.diagonal, point.gradient))
        self._value, self._penalties = point.value, objective.penalties(scores)
        return Evaluation(point.value, gradient, self.diagonal, point.gradient_norm)

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply by the curvature at the last scores."""
        product = self._objective.product(self._objective.to_device(vector))
        return np.asarray(self._objective.fetch(product))

    def theta(self) -> FloatArray | None:
        """Return the annotators' parameters at the last scores; None where there are none."""
        return None if self.prior is None else self._objective.reliabilities

    def log_likelihood(self) -> float:
        """Return that of the last scores, without any prior."""
        return float(self._penalties - self._value)

    def dense(self) -> FloatArray:
        """Return the curvature at the last scores as a matrix."""
        return np.asarray(self._objective.curvature()[0])
