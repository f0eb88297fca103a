"""The sums of the general model by compiled kernels, in threads."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import added, balanced, each_range
from aggcal.models.borders import forms
from aggcal.models.general.annotators import (
    RELIABILITY,
    STANCE,
    Integration,
    Known,
    RowSums,
)
from aggcal.models.general.compiled import PAIRS, CompiledRowSums
from aggcal.models.general.held_means import held_means
from aggcal.models.general.packed import Pack, Room, packed, squares
from aggcal.models.general.sums import Layout, Sums

_SOME_RANGES, _MANY_RANGES, _SMALL_SUMS = 16, 48, 200_000
"""Ranges that are summed apart: more where sums are of so few unknowns that they cost little, as a
range with a busy annotator takes longer than the others."""
_CROWDED = 0.2
"""Share of the pairs of unknowns, both touched by the same annotator, from which matrix products
are quicker than going through those pairs."""
_BLOCK = 1 << 22
"""Numbers in a table of annotators by unknowns that is made at once: 32 MB."""
_COUNT, _ARRAY = ctypes.c_int64, ctypes.c_void_p
# fmt: off
_COUNTS = (
    "n_rows", "n_second", "parameters", "each", "halves", "reliability", "stance", "entries",
    "axis", "ties", "at_means", "means",
)
_TABLES = ("starts", "second", "pull", "second_pull", "tie_pull", "second_tie_pull")
_MORE = ("node", "chance", "mean_pull", "column", "value", "context")
# fmt: on


class _Pulls(ctypes.Structure):
    """`Pulls` of ``general_sums.c``."""

    _fields_ = (
        *((name, _COUNT) for name in _COUNTS),
        *((name, _ARRAY) for name in _TABLES),
        ("curve", _ARRAY * len(PAIRS)),
        *((name, _ARRAY) for name in _MORE),
    )


@dataclass(frozen=True, eq=False)
class CompiledSums(Sums):
    """`Sums` by compiled kernels; the numbers are the same up to rounding to float32."""

    @cached_property
    def _arrays(self) -> tuple[np.ndarray | None, ...]:
        layout, known, found = self.layout, self.known, self.found
        design = layout.design
        return (
            np.ascontiguousarray(layout.rows.starts, dtype=np.int64), found.second, found.pulls,
            found.second_pulls, found.tie_pulls, found.second_tie_pulls,
            np.ascontiguousarray(known.nodes), np.ascontiguousarray(known.weights),
            np.ascontiguousarray(self.mean_pulls), design.columns,
            None if design.paired else np.ascontiguousarray(design.values),
            _context(layout),
        )  # fmt: skip

    @cached_property
    def _job(self) -> _Pulls:
        layout, names = self.layout, self.known.names
        each, n = self.found.pulls.shape
        arrays = at(*self._arrays)
        curves = at(*(self.found.curves.get(pair) for pair in PAIRS))
        return _Pulls(
            n, self.found.second_pulls.shape[1], len(names), each, self.weights.shape[1] // each,
            *(names.index(name) if name in names else -1 for name in (RELIABILITY, STANCE)),
            layout.design.columns.shape[1],
            layout.where_axis.start if layout.axis else -1,
            layout.where_ties.start if layout.contexts else -1,
            layout.at_means, len(layout.means),
            *arrays[: len(_TABLES)], (_ARRAY * len(PAIRS))(*curves), *arrays[len(_TABLES) :],
        )  # fmt: skip

    def _run(self, name: str, begin: int, end: int, *rest: int | np.ndarray) -> int | None:
        kernel = getattr(library(), f"aggcal_general_{name}")
        addresses = [each if isinstance(each, int) else at(each)[0] for each in rest]
        found: int | None = kernel(ctypes.byref(self._job), begin, end, *addresses)
        return found

    @cached_property
    def _ranges(self) -> list[int]:
        rows, small = self.layout.rows, self.layout.size <= _SMALL_SUMS
        if not rows.whole:
            return [0, rows.n_annotators]
        return balanced(rows.starts, most=_MANY_RANGES if small else _SOME_RANGES)

    def _by_node(self) -> RowSums:
        found: CompiledRowSums = self.found
        return found.full(self.layout.rows.sizes)

    @cached_property
    def _gathered(self) -> tuple[FloatArray, ...]:
        """What one sweep gathers: the gradient, both diagonals, and what pulls the unit."""
        toward = np.ascontiguousarray(self.toward)

        def work(begin: int, end: int) -> FloatArray:
            out = np.zeros((self.layout.size, 4))
            self._run("gather", begin, end, toward, out)
            return out

        return tuple(np.ascontiguousarray(added(each_range(work, self._ranges)).T))

    @cached_property
    def gradient(self) -> FloatArray:
        """Of the log-likelihood."""
        return self._means_pulled(self._gathered[0], self.weights)

    @cached_property
    def unit_pull(self) -> FloatArray:
        """Σ_u w_u Cov_k(ρ, g_uk)."""
        return self._means_pulled(self._gathered[3], self.toward)

    def _means_pulled(self, out: FloatArray, values: FloatArray) -> FloatArray:
        out[self.layout.at_means :] = np.einsum("uk,ukj->j", values, self.mean_pulls)
        return out

    @cached_property
    def diagonals(self) -> tuple[FloatArray, FloatArray]:
        """The diagonal with the annotators held, and what it lacks of that: see `Sums`."""
        return self._with_means(self._gathered[1], self._gathered[2])

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply by the curvature."""
        layout = self.layout
        # As exact as what it is multiplied by, and half as much to look up.
        single = np.ascontiguousarray(vector, dtype=np.float32)

        def work(begin: int, end: int) -> FloatArray:
            out = np.zeros(layout.size)
            self._run("product", begin, end, single, out)
            return out

        out = added(each_range(work, self._ranges))
        tail = slice(layout.at_means, None)
        out[tail] += self.mean_held * vector[tail]
        return out

    def forms(
        self, values: FloatArray, covariance: FloatArray, along: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return b'Cb and b'x for each annotator, b = Σ_k values_uk g_uk."""
        return self.forms_of(values[None], covariance, along)[0]

    def forms_of(
        self, values: FloatArray, covariance: FloatArray, along: FloatArray
    ) -> list[tuple[FloatArray, FloatArray]]:
        """Return the same for several tables of values, in one sweep."""
        size, m, several = self.layout.size, self.layout.rows.n_annotators, len(values)
        values, along = np.ascontiguousarray(values), np.ascontiguousarray(along)
        square, product = np.zeros((several, m)), np.zeros((several, m))
        covariance = np.ascontiguousarray(covariance)
        if covariance.ndim > 1 and self._crowded:
            for k, each in enumerate(values):
                for who, table in self._tables(each):
                    square[k, who] = np.einsum("ui,ui->u", table @ covariance, table)
                    product[k, who] = table @ along
        elif covariance.ndim > 1:
            for part in packed(self.layout, self._pack(values, along, product)):
                columns = part.starts, part.items, part.values
                square[:, part.annotators] = forms(*columns, covariance)
        else:

            def work(begin: int, end: int) -> None:
                rest = values, covariance, along, *_room(size, several + 2), square, product
                self._run("forms", begin, end, m, several, size, *rest)

            each_range(work, self._ranges)
        return list(zip(square, product, strict=True))

    def _pack(self, values: FloatArray, along: FloatArray, product: FloatArray) -> Pack:
        """Return what packs b = Σ_k values_uk g_uk of several tables, and fills in b'x."""
        several, m = len(values), self.layout.rows.n_annotators

        def pack(begin: int, end: int, room: Room) -> tuple[int, FloatArray]:
            most = len(room.items)
            found = np.empty((several, most))
            arrays = values, along, *room.zeros, room.numbers, room.items, found, product
            numbers = m, several, self.layout.size, most
            total = self._run("packed", begin, end, *numbers, *arrays) or 0
            return total, found[:, :total]

        return pack

    def _covariance(self) -> FloatArray:
        size, weights = self.layout.size, self.weights
        wide = weights.shape[1] - 1
        if self._crowded:
            total, nodes = np.zeros((size, size)), weights.shape[1]
            each = np.eye(nodes)
            root = np.sqrt(weights)
            for k in np.flatnonzero(weights.any(axis=0)).tolist():
                for _, table in self._tables(root[:, k, None] * (each[k] - weights)):
                    total += table.T @ table
            return total
        spare = np.empty_like(weights)

        def pack(begin: int, end: int, room: Room) -> tuple[int, FloatArray]:
            # There is one vector more before they are reduced to as many as it takes.
            found = np.empty(wide * len(room.items) + size)
            arrays = *room.zeros, spare, room.numbers, room.ranks, room.items, found
            total = self._run("roots", begin, end, size, wide, *arrays) or 0
            return total, found[: wide * total]

        return squares(packed(self.layout, pack), size, wide)

    @cached_property
    def _crowded(self) -> bool:
        """Whether annotators touch so many of the unknowns that matrix products pay."""
        entries = self.layout.design.columns.shape[1]
        seen = -np.expm1(-entries * self.layout.rows.sizes / self.layout.size)
        return float(np.mean(seen**2)) > _CROWDED

    def _tables(self, values: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Yield b = Σ_k values_uk g_uk as tables, some annotators by unknowns each."""
        size, m = self.layout.size, self.layout.rows.n_annotators
        values, each = np.ascontiguousarray(values), max(1, _BLOCK // size)
        for begin in range(0, m, each):
            who = slice(begin, min(m, begin + each))
            table = np.zeros((who.stop - begin, size))
            self._run("borders", begin, who.stop, size, values, table)
            yield who, table


def _room(size: int, each: int = 1) -> tuple[np.ndarray, ...]:
    """Return what the kernels that gather by unknown need to work in."""
    return np.zeros(each * size), np.zeros(size, dtype=np.uint8), np.empty(size, dtype=np.int32)


def _context(layout: Layout) -> CodeArray | None:
    if not layout.contexts:
        return None
    return np.ascontiguousarray(layout.rows.keys["context"], dtype=np.int32)


class Prior(NamedTuple):
    """The prior of the annotators' parameters."""

    sds: FloatArray
    means: FloatArray
    """Annotators by parameters."""


def mean_terms(
    layout: Layout, integration: Integration, known: Known, prior: Prior
) -> tuple[FloatArray, FloatArray]:
    """Return what nodes pull the prior means by, and the curvature in these (see `Sums`)."""
    columns = [known.names.index(name) for name in layout.means]
    precision = prior.sds[columns] ** -2.0
    mean_pulls = precision * (known.nodes[:, :, columns] - prior.means[:, None, columns])
    nodes, rule = known.nodes[:, :, columns], integration.point_weights
    return mean_pulls, held_means(nodes, known.weights, rule, precision)


def sums_of(
    layout: Layout,
    integration: Integration,
    known: Known,
    prior: Prior,
    toward: FloatArray,
) -> Sums:
    """Return the sums where the annotators were integrated out last.

    Parameters
    ----------
    layout, integration, known
        What was integrated.
    prior
        Of the annotators' parameters.
    toward
        w_u p_k (ρ_k − ρ̄), annotators by nodes.
    """
    mean_pulls, held = mean_terms(layout, integration, known, prior)
    found = integration.found
    if isinstance(found, CompiledRowSums):
        return CompiledSums(layout, known, found, mean_pulls, held, toward)
    return Sums(layout, known, found, mean_pulls, held, toward)
