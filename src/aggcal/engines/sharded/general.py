"""The general model on shards: rows, annotators and sums that ask the shards for theirs.

The calling machine has the unknowns, and what is known of each annotator; where the modes of the
annotators were found last is sent with each question, as in `integrals`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import Categories
from aggcal.engines.base import Parts, Shards
from aggcal.engines.remote import RemoteJudgments, RowColumns, nameless
from aggcal.engines.sharded.facts import facts_of_engine
from aggcal.engines.sharded.general_shard import GeneralPoint, ShardPlan
from aggcal.models.general.alike import NoParameters
from aggcal.models.general.annotators import Integration
from aggcal.models.general.at import Place, integrate, prior_means, toward_unit
from aggcal.models.general.compiled import integration
from aggcal.models.general.compiled_sums import Prior, mean_terms
from aggcal.models.general.outcomes import Outcomes
from aggcal.models.general.plan import Numbers, Plan, laid_out, layout_of
from aggcal.models.general.rows import GeneralRows
from aggcal.models.general.sums import Layout, Sums
from aggcal.models.general.thinning import Thinning


@dataclass(frozen=True, eq=False)
class RowsAway(GeneralRows):
    """Rows that lie in shards: here are only their number and what each annotator gave."""

    shards: Shards = field(kw_only=True)
    plan: ShardPlan = field(kw_only=True)
    number: int = field(kw_only=True)
    weights: FloatArray = field(kw_only=True)

    def __len__(self) -> int:
        return self.number

    @cached_property
    def given(self) -> FloatArray:
        """Total weight of the judgments of each annotator."""
        return self.weights


@dataclass(frozen=True, eq=False)
class LayoutAway(Layout):
    """Where the unknowns stand; the rows are in shards."""

    rows: RowsAway

    def thinned(self, by: Thinning, first: int = 0) -> Layout:  # noqa: ARG002
        """Return the layout of the rows that are kept."""
        plan = self.rows.plan
        fewer = ShardPlan.of(plan.plan, plan.numbers, by)
        return replace(self, rows=_rows(self.rows, self.rows.shards, fewer))


@layout_of.register
def _layout(judgments: RemoteJudgments, plan: Plan) -> Layout:
    if judgments.shards is None:
        return laid_out(judgments.on_one_machine("laying out rows"), plan)
    facts = facts_of_engine(judgments)
    cells = {name: facts.cells[name] for name in plan.cells}
    numbers = Numbers(cells, max(facts.top_grade, 1) if plan.grades else 1)
    bare = laid_out(_none(judgments), plan, numbers)
    rows = _rows(bare.rows, judgments.shards, ShardPlan.of(plan, numbers))
    return LayoutAway(rows, bare.design, bare.names, bare.axis, bare.contexts)


def _none(judgments: RemoteJudgments) -> Judgments:
    """Return no judgments, parted by what these are parted by."""
    codes, numbers = np.empty(0, dtype=np.int32), np.empty(0)
    columns = RowColumns(codes, codes, codes, numbers, numbers, np.empty(0, dtype=np.int64))
    by = tuple(Categories(name, ids, codes) for name, ids in judgments.category_ids.items())
    context = None if judgments.context_ids is None else codes
    return replace(nameless(columns, judgments.n_items, 0), context=context, categories=by)


def _rows(like: GeneralRows, shards: Shards, plan: ShardPlan) -> RowsAway:
    found: Parts = shards.total("general_about", plan)
    number, levels = found.sums
    (given,) = found.columns
    return RowsAway(
        like.left,
        like.right,
        like.answers,
        levels[:, None],
        np.zeros(len(given) + 1, dtype=np.int64),
        like.n_items,
        like.keys,
        shards=shards,
        plan=plan,
        number=int(number),
        weights=given,
    )


class _Away(Integration):
    """Annotators whose parameters shards integrate out."""

    rows: RowsAway

    def at(self, place: Place) -> tuple[GeneralPoint, Parts]:
        """Ask all shards to integrate at a place."""
        point = GeneralPoint(place, float(self.rows.given.sum()), self.modes)
        found: Parts = self.rows.shards.total("general", self.rows.plan, point)
        self.modes = found.columns[2]
        return point, found


class IntegrationAway(_Away):
    """Annotators with parameters of their own."""


class AlikeAway(_Away, NoParameters):
    """Annotators who are alike."""


@integration.register
def _integration(rows: RowsAway, names: tuple[str, ...], outcomes: Outcomes) -> Integration:
    return IntegrationAway(rows, names, outcomes) if names else AlikeAway(rows, outcomes)


@dataclass(frozen=True, eq=False)
class SumsAway(Sums):
    """Sums over rows that lie in shards."""

    point: GeneralPoint = field(kw_only=True)
    table: FloatArray = field(kw_only=True)
    """The gradient, what pulls the unit, and both diagonals."""

    def asked(self, question: str, *parameters: Any) -> Any:
        """Ask all shards something about this point."""
        rows = self.layout.rows
        assert isinstance(rows, RowsAway)  # noqa: S101  # others have sums of their own
        return rows.shards.total(f"general_{question}", rows.plan, self.point, *parameters)

    @cached_property
    def gradient(self) -> FloatArray:
        """Of the log-likelihood."""
        return np.asarray(self.table[0])

    @cached_property
    def unit_pull(self) -> FloatArray:
        """Σ_u w_u Cov_k(ρ, g_uk)."""
        return np.asarray(self.table[1])

    @cached_property
    def diagonals(self) -> tuple[FloatArray, FloatArray]:
        """The diagonal with the annotators held, and what it lacks of that: see `Sums`."""
        return self.table[2], self.table[3]

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply by the curvature."""
        return np.asarray(self.asked("product", vector))

    def dense(self) -> tuple[FloatArray, FloatArray]:
        """Return the curvature as a matrix, and with the annotators held."""
        whole, held = self.asked("dense").sums
        return whole, held

    def forms(
        self, values: FloatArray, covariance: FloatArray, along: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return b'Cb and b'x for each annotator, b = Σ_k values_uk g_uk."""
        return self.forms_of(values[None], covariance, along)[0]

    def forms_of(
        self, values: FloatArray, covariance: FloatArray, along: FloatArray
    ) -> list[tuple[FloatArray, FloatArray]]:
        """Return the same for several tables of values, in one pass."""
        found = self.asked("forms", values, covariance, along).columns
        return list(zip(found[::2], found[1::2], strict=True))

    def expected_grades(self, unknowns: FloatArray, grades: FloatArray) -> FloatArray:
        """Return the weight of each strength of answer that is to be expected."""
        return np.asarray(self.asked("grades", unknowns, grades))

    def item_pulls(self) -> Any:
        """Return what annotators pull scores by: products with it."""
        from scipy.sparse.linalg import LinearOperator

        def ahead(vector: FloatArray) -> FloatArray:
            return np.asarray(self.asked("item_pulls", np.ravel(vector), False).columns[0])  # noqa: FBT003

        def back(vector: FloatArray) -> FloatArray:
            return np.asarray(self.asked("item_pulls", np.ravel(vector), True).sums[0])  # noqa: FBT003

        shape = self.layout.rows.n_annotators, self.layout.rows.n_items
        return LinearOperator(shape, ahead, back, dtype=np.float64)

    def axis_parts(self, unknowns: FloatArray) -> FloatArray:
        """Return the squared advantages along the axis, and in the scores, added up."""
        return np.asarray(self.asked("axis", unknowns))


@integrate.register
def _integrate(
    integration: _Away, layout: LayoutAway, shares: FloatArray, place: Place
) -> tuple[Sums, FloatArray]:
    point, found = integration.at(place)
    (evidence, table), (nodes, weights, _) = found.sums, found.columns
    means, known = (
        prior_means(layout, shares, place),
        integration.known(nodes, weights, float(evidence)),
    )
    pulls, held = mean_terms(layout, integration, known, Prior(place.sds, means))
    toward = toward_unit(known, shares)
    return SumsAway(layout, known, None, pulls, held, toward, point=point, table=table), means
