"""The general model of a shard's rows: what the rows of some annotators add to its sums."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain
from uuid import uuid4

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.data.judgments import Judgments
from aggcal.engines.base import Lasting, Parts
from aggcal.models.general.at import Place, integrate
from aggcal.models.general.compiled import integration
from aggcal.models.general.plan import Numbers, Plan, laid_out
from aggcal.models.general.sums import Sums
from aggcal.models.general.thinning import ALL, Thinning


@dataclass(frozen=True, eq=False)
class ShardPlan(Lasting):
    """How every shard lays out its rows."""

    plan: Plan
    numbers: Numbers
    thinning: Thinning = ALL
    """Which rows are looked at."""
    name: str = ""

    @classmethod
    def of(cls, plan: Plan, numbers: Numbers, thinning: Thinning = ALL) -> ShardPlan:
        """Give a plan a name of its own."""
        return cls(plan, numbers, thinning, uuid4().hex)

    @property
    def nbytes(self) -> int:
        """How much room its numbers take."""
        covariates = self.plan.covariates
        cells = sum(keys.nbytes for keys in self.numbers.cells.values())
        return cells + (0 if covariates is None else covariates.nbytes)


@dataclass(frozen=True, eq=False)
class GeneralPoint(Lasting):
    """Where annotators are integrated out; columns are over all annotators."""

    place: Place
    given: float
    """Total weight of all judgments."""
    modes: FloatArray | None
    name: str = field(default_factory=lambda: uuid4().hex)

    @property
    def nbytes(self) -> int:
        """How much room its numbers take."""
        arrays = (self.place.unknowns, self.place.covariance, self.place.hopeless, self.modes)
        return sum(each.nbytes for each in arrays if each is not None)


class GeneralOfShard:
    """A plan's layout of the rows of a shard, and its sums where they were last made."""

    def __init__(self, judgments: Judgments, index: int, first: int, plan: ShardPlan) -> None:
        self.plan, thinning = plan, plan.thinning
        layout = laid_out(judgments, plan.plan, plan.numbers)
        layout = replace(layout, rows=replace(layout.rows, whole=False))
        self.layout = layout if thinning.all else layout.thinned(thinning, first)
        rows = self.layout.rows
        # Where annotators are alike, each shard is one.
        begin = index if plan.plan.alike else thinning.before(first)
        self._mine = slice(begin, begin + rows.n_annotators)
        self._where: str | None = None
        self._sums: Sums
        self._integration = integration(rows, plan.plan.names, plan.plan.outcomes)

    @property
    def _empty(self) -> bool:
        """Whether none of its annotators is among every so many."""
        return self.layout.rows.n_annotators == 0

    def about(self) -> Parts:
        """Return how many rows there are, the weight of each strength, and what each gave."""
        rows = self.layout.rows
        given = rows.given if not self._empty else np.empty(0)
        return Parts((len(rows), rows.levels.sum(axis=1)), (given,))

    def evaluate(self, point: GeneralPoint) -> Parts:
        """Integrate at a point."""
        integral, place = self._integration, point.place
        halves, k, self._where = len(integral.signs), len(integral.names), None
        if self._empty:
            columns = (0, integral.n_nodes, k), (0, integral.n_nodes), (0, halves, k)
            none = np.zeros((4, self.layout.size))
            return Parts((0.0, none), tuple(map(np.zeros, columns)))
        integral.modes = None if point.modes is None else point.modes[self._mine].copy()
        if place.hopeless is not None:
            place = replace(place, hopeless=place.hopeless[self._mine])
        shares = self.layout.rows.given / point.given
        self._sums, _ = integrate(integral, self.layout, shares, place)
        self._where = point.name
        found, known = self._sums, self._sums.known
        modes = np.zeros((len(shares), halves, k)) if integral.modes is None else integral.modes
        table = np.stack([found.gradient, found.unit_pull, *found.diagonals])
        return Parts((known.log_evidence, table), (known.nodes, known.weights, modes.copy()))

    def _at(self, point: GeneralPoint) -> Sums:
        if self._where != point.name:
            self.evaluate(point)
        return self._sums

    def product(self, point: GeneralPoint, vector: FloatArray) -> FloatArray:
        """Multiply by its part of the curvature."""
        return np.zeros(len(vector)) if self._empty else self._at(point).product(vector)

    def dense(self, point: GeneralPoint) -> Parts:
        """Return its part of the curvature as a matrix, and with the annotators held."""
        none = np.zeros((self.layout.size, self.layout.size))
        return Parts((none, none) if self._empty else self._at(point).dense(), ())

    def forms(self, point: GeneralPoint, values: FloatArray, *rest: FloatArray) -> Parts:
        """Return b'Cb and b'x for its annotators, of each of several tables of values."""
        if self._empty:
            return Parts((), (np.empty(0),) * (2 * len(values)))
        mine, here = values[:, self._mine], self._at(point)
        found = [here.forms(mine[0], *rest)] if len(mine) == 1 else here.forms_of(mine, *rest)
        return Parts((), tuple(chain.from_iterable(found)))

    def grades(self, point: GeneralPoint, unknowns: FloatArray, grades: FloatArray) -> FloatArray:
        """Return the weight of each strength that is to be expected."""
        none = np.zeros(len(grades))
        return none if self._empty else self._at(point).expected_grades(unknowns, grades)

    def item_pulls(self, point: GeneralPoint, vector: FloatArray, *, back: bool) -> Parts:
        """Multiply a vector by what its annotators pull scores by, or by the transpose."""
        rows = self.layout.rows
        if self._empty:
            return Parts((np.zeros(rows.n_items),), ()) if back else Parts((), (np.empty(0),))
        table = self._at(point).item_pulls()
        if back:
            return Parts((table.T @ vector[self._mine],), ())
        return Parts((), (table @ vector,))

    def axis_parts(self, point: GeneralPoint, unknowns: FloatArray) -> FloatArray:
        """Return the squared advantages along the axis, and in the scores."""
        return np.zeros(2) if self._empty else self._at(point).axis_parts(unknowns)
