r"""The gradient and the curvature of the general model in its outer unknowns.

    z = (x, v, ω, μ):   gaps m = Z x,   axis a = v_i − v_j,   readiness + ω_c,   prior means μ

With g_uk what node k of annotator u pulls the outer unknowns by, the gradient of the marginal
log-likelihood is Σ_u E_k g_uk and its curvature (Louis' identity)

    Σ_rows E_k[∂²] − Σ_u Cov_k g_uk.

It is here as products and as a dense matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.models.general.annotators import (
    AXIS,
    GAP,
    POSITION,
    READINESS,
    RELIABILITY,
    STANCE,
    TIE,
    Known,
    RowSums,
)
from aggcal.models.general.crossed import MOST, Crossed
from aggcal.models.general.design import Design
from aggcal.models.general.outcomes import grade_terms
from aggcal.models.general.rows import GeneralRows
from aggcal.models.general.thinning import Thinning
from aggcal.models.rows import laplacian_of

MEANS = (POSITION, READINESS)
"""Parameters whose mean over the annotators is unknown."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the outer unknowns stand, and how rows depend on them."""

    rows: GeneralRows
    design: Design
    names: tuple[str, ...]
    """The annotators' parameters."""
    axis: bool = False
    contexts: int = 0
    """Contexts that have a readiness to tie of their own."""
    fixed_means: bool = False
    """Whether the prior means are known: those of the one pooled annotator."""

    @cached_property
    def size(self) -> int:
        """How many unknowns there are."""
        return self.at_means + len(self.means)

    @cached_property
    def means(self) -> tuple[str, ...]:
        """Parameters whose mean is unknown."""
        return () if self.fixed_means else tuple(name for name in self.names if name in MEANS)

    @property
    def where_axis(self) -> slice:
        """The axis v."""
        return slice(self.design.size, self.design.size + (self.rows.n_items if self.axis else 0))

    @property
    def where_ties(self) -> slice:
        """The readiness ω of the contexts."""
        return slice(self.where_axis.stop, self.where_axis.stop + self.contexts)

    @property
    def at_means(self) -> int:
        """Where μ begins."""
        return int(self.where_ties.stop)

    def sample(self, step: int) -> Layout:
        """Return the layout of about one of so many rows: see `Thinning`."""
        return self.thinned(Thinning.by(step, self.rows.n_annotators))

    def thinned(self, by: Thinning, first: int = 0) -> Layout:
        """Return the layout of the rows that are kept, annotators being numbered from one on."""
        kept = by.kept(self.rows.sizes, first)
        return replace(self, rows=self.rows.of(kept), design=self.design.taken(kept))

    def axis_gaps(self, unknowns: FloatArray) -> FloatArray | None:
        """Return v_i − v_j of each row, if there is an axis."""
        axis = unknowns[self.where_axis]
        return axis[self.rows.left] - axis[self.rows.right] if self.axis else None

    def readiness(self, unknowns: FloatArray) -> FloatArray | None:
        """Return what the context of each row adds to the readiness, if it does."""
        if not self.contexts:
            return None
        code = self.rows.keys["context"]
        return np.where(code >= 0, unknowns[self.where_ties][code], 0.0)

    def at_nodes(
        self, unknowns: FloatArray, known: Known
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield η and ν of each row at each node of its annotator."""
        rows, x = self.rows, unknowns
        gaps = self.design.gaps(x[: self.design.size])
        axis, offset = self.axis_gaps(x), self.readiness(x)
        for k in range(known.weights.shape[1]):
            theta = dict(zip(known.names, known.nodes[:, k].T, strict=True))
            eta = gaps if RELIABILITY not in theta else rows.per_row(theta[RELIABILITY]) * gaps
            if POSITION in theta:
                eta = eta + rows.per_row(theta[POSITION])
            if STANCE in theta and axis is not None:
                eta = eta + rows.per_row(theta[STANCE]) * axis
            nu = np.full(len(gaps), -np.inf) if offset is None else offset
            if READINESS in theta:
                nu = rows.per_row(theta[READINESS]) + (0.0 if offset is None else offset)
            yield eta, nu

    @cached_property
    def maps(self) -> dict[str, tuple[Any, Any, slice]]:
        """Of each channel: the map from unknowns to rows, its transpose, and where those are."""
        from scipy import sparse

        n, every = len(self.rows), np.arange(len(self.rows))
        found = {GAP: (self.design.matrix, self.design.transposed, slice(0, self.design.size))}
        if self.axis:
            one = np.ones(n)
            pairs = sparse.coo_array(
                (np.r_[one, -one], (np.r_[every, every], np.r_[self.rows.left, self.rows.right])),
                shape=(n, self.rows.n_items),
            ).tocsr()
            found[AXIS] = (pairs, pairs.T.tocsr(), self.where_axis)
        if self.contexts:
            code = self.rows.keys["context"].astype(np.int64)
            known = np.flatnonzero(code >= 0)
            shape = (n, self.contexts)
            marks = sparse.csr_array((np.ones(len(known)), (known, code[known])), shape=shape)
            found[TIE] = (marks, marks.T.tocsr(), self.where_ties)
        return found

    @cached_property
    def crossed(self) -> dict[tuple[str, str], Crossed] | None:
        """Of two channels: where rows couple their unknowns, but for gaps that are differences.

        None where that would take much memory.
        """
        pairs = {
            (one, two): (map_, other)
            for one, (map_, _, _) in self.maps.items()
            for two, (other, _, _) in self.maps.items()
            if not (one == two == GAP and self.design.paired)
        }
        if sum(Crossed.number(*both) for both in pairs.values()) > MOST:
            return None
        return {channels: Crossed.of(*both) for channels, both in pairs.items()}


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over the rows at a point where the annotators were integrated out."""

    layout: Layout
    known: Known
    found: Any
    """What the nodes pull rows by, and bend them by: `RowSums`."""
    mean_pulls: FloatArray
    """Annotators by nodes by means."""
    mean_held: FloatArray
    """Curvature in the means with the annotators held: see `held_means`."""
    toward: FloatArray
    """w_u p_k (ρ_k − ρ̄): how the unit moves with the nodes, annotators by nodes."""

    @property
    def weights(self) -> FloatArray:
        """Probabilities of the nodes, annotators by nodes."""
        return self.known.weights

    @cached_property
    def pulls(self) -> dict[str, FloatArray]:
        """What the nodes pull rows by through each channel, nodes by rows."""
        rows, found = self.layout.rows, self._by_node()
        pulls = {}
        for channel in self.layout.maps:
            if channel == TIE:
                assert found.tie_pulls is not None  # noqa: S101  # contexts were given
                pulls[channel] = found.tie_pulls
            else:
                pulls[channel] = rows.per_row(self.known.factor(channel)).T * found.pulls
        return pulls

    def _by_node(self) -> RowSums:
        found: RowSums = self.found
        return found

    @cached_property
    def gradient(self) -> FloatArray:
        """Of the log-likelihood."""
        return self._pulled(self.weights)

    @cached_property
    def unit_pull(self) -> FloatArray:
        """Σ_u w_u Cov_k(ρ, g_uk)."""
        return self._pulled(self.toward)

    def _pulled(self, values: FloatArray) -> FloatArray:
        """Return Σ_u Σ_k values_uk g_uk."""
        out, by_row = np.zeros(self.layout.size), self.layout.rows.per_row(values).T
        for channel, (_, back, where) in self.layout.maps.items():
            out[where] = back @ (by_row * self.pulls[channel]).sum(axis=0)
        out[self.layout.at_means :] = np.einsum("uk,ukj->j", values, self.mean_pulls)
        return out

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply by the curvature."""
        layout, rows = self.layout, self.layout.rows
        moved = {c: map_ @ vector[where] for c, (map_, _, where) in layout.maps.items()}
        pulled = self.mean_pulls @ vector[layout.at_means :]
        for channel, change in moved.items():
            pulled += np.add.reduceat(self.pulls[channel] * change, rows.starts[:-1], axis=1).T
        off = self.weights * (pulled - (self.weights * pulled).sum(axis=1, keepdims=True))
        by_row, out = rows.per_row(off).T, np.zeros(layout.size)
        for channel, (_, back, where) in layout.maps.items():
            flow = -(by_row * self.pulls[channel]).sum(axis=0)
            for other, change in moved.items():
                flow += self._curve(channel, other) * change
            out[where] = back @ flow
        tail = slice(layout.at_means, None)
        held = self.mean_held * vector[tail]
        out[tail] = held - np.einsum("uk,ukj->j", off, self.mean_pulls)
        return out

    def dense(self) -> tuple[FloatArray, FloatArray]:
        """Return the curvature as a matrix, and with the annotators held."""
        held = self._held()
        return held - self._covariance(), held

    def _held(self) -> FloatArray:
        layout, size = self.layout, self.layout.size
        held = np.zeros((size, size))
        if layout.design.paired:
            held[: layout.design.size, : layout.design.size] = self._laplacian()
        if not layout.design.paired or layout.axis or layout.contexts:
            self._further(held)
        tail = np.arange(layout.at_means, size)
        held[tail, tail] = self.mean_held
        return held

    def _further(self, held: FloatArray) -> None:
        """Fill in what is not between scores that rows subtract: it takes sparse matrices.

        Loading those takes as long as fitting a thousand rows.
        """
        maps, crossed = self.layout.maps, self.layout.crossed
        if crossed is not None:
            for (one, two), places in crossed.items():
                held[maps[one][2], maps[two][2]] = places.sums(self._curve(one, two))
            return
        from scipy import sparse

        for one, (_, back, where) in maps.items():
            for two, (map_, _, there) in maps.items():
                if one == two == GAP and self.layout.design.paired:
                    continue
                middle = sparse.diags_array(self._curve(one, two)) @ map_
                held[where, there] = (back @ middle).toarray()

    def _laplacian(self) -> FloatArray:
        """Return Z' diag(curvature) Z where every row of Z is 1 and −1."""
        left, right = self.layout.design.columns.T
        return laplacian_of(left, right, self._curve(GAP, GAP), self.layout.design.size)

    def _covariance(self) -> FloatArray:
        """Return Σ_u Cov_k g_uk."""
        total = np.zeros((self.layout.size, self.layout.size))
        nodes = self.weights.shape[1]
        for k in range(nodes):
            # Cov_k g = Σ_k p_k (g_k − ḡ)(g_k − ḡ)'.
            root = np.sqrt(self.weights[:, k])[:, None]
            part = self.borders(root * (np.eye(nodes)[k] - self.weights))
            total += (part.T @ part).toarray()
        return total

    @cached_property
    def diagonals(self) -> tuple[FloatArray, FloatArray]:
        """The diagonal of the curvature with the annotators held, and what it lacks of that.

        The latter as if nobody met an unknown twice, which is nearly right where one is a small
        part of what anyone judged; exact for the means.
        """
        held, loose = np.zeros(self.layout.size), np.zeros(self.layout.size)
        by_row = self.layout.rows.per_row(self.weights).T
        for channel, (_, back, where) in self.layout.maps.items():
            pulls, squared = self.pulls[channel], back.power(2)
            force = (by_row * pulls).sum(axis=0)
            held[where] = squared @ self._curve(channel, channel)
            loose[where] = squared @ ((by_row * pulls**2).sum(axis=0) - force**2)
        return self._with_means(held, loose)

    def _with_means(self, held: FloatArray, loose: FloatArray) -> tuple[FloatArray, FloatArray]:
        tail = slice(self.layout.at_means, None)
        mean = np.einsum("uk,ukj->uj", self.weights, self.mean_pulls)
        square = np.einsum("uk,ukj->j", self.weights, self.mean_pulls**2)
        held[tail] = self.mean_held
        loose[tail] = square - (mean**2).sum(axis=0)
        return held, loose

    def forms(
        self, values: FloatArray, covariance: FloatArray, along: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return b'Cb and b'x for each annotator, b = Σ_k values_uk g_uk.

        ``covariance`` is C, a matrix, or a vector: its diagonal.
        """
        border = self.borders(values)
        middle = border.multiply(covariance) if covariance.ndim == 1 else border @ covariance
        return np.ravel(border.multiply(middle).sum(axis=1)), border @ along

    def forms_of(
        self, values: FloatArray, covariance: FloatArray, along: FloatArray
    ) -> list[tuple[FloatArray, FloatArray]]:
        """Return the same for several tables of values."""
        return [self.forms(each, covariance, along) for each in values]

    def borders(self, values: FloatArray) -> Any:
        """Return Σ_k values_uk g_uk as a sparse table, annotators by unknowns."""
        from scipy import sparse

        rows = self.layout.rows
        by_row, shape = rows.per_row(values).T, (rows.n_annotators, len(rows))
        parts = []
        for channel, (map_, _, _) in self.layout.maps.items():
            force = (by_row * self.pulls[channel]).sum(axis=0)
            owned = sparse.csr_array((force, np.arange(len(rows)), rows.starts), shape=shape)
            parts.append(owned @ map_)
        if self.layout.means:
            parts.append(sparse.csr_array(np.einsum("uk,ukj->uj", values, self.mean_pulls)))
        return sparse.hstack(parts).tocsr()

    def expected_grades(self, unknowns: FloatArray, grades: FloatArray) -> FloatArray:
        """Return the weight of each strength of answer that is to be expected."""
        rows, expected = self.layout.rows, np.zeros(len(grades))
        for k, (eta, nu) in enumerate(self.layout.at_nodes(unknowns, self.known)):
            share = rows.per_row(self.weights[:, k]) * rows.answers.weight
            expected += [float((share * level).sum()) for level in grade_terms(eta, nu, grades)]
        return expected

    def item_pulls(self) -> Any:
        """Return what annotators pull scores by, over the root of the number of their answers."""
        rows = self.layout.rows
        pulls = self.borders(self.weights)[:, : rows.n_items]
        return pulls.multiply(1.0 / np.sqrt(rows.given)[:, None]).tocsr()

    def axis_parts(self, unknowns: FloatArray) -> FloatArray:
        """Return the squared advantages along the axis, and in the scores, added up."""
        rows, known = self.layout.rows, self.known
        gap, axis = unknowns[rows.left] - unknowns[rows.right], self.layout.axis_gaps(unknowns)
        own = rows.per_row(known.mean(known.of(STANCE))) * np.asarray(axis)
        shared = rows.per_row(known.mean(known.of(RELIABILITY))) * gap
        return np.array([float(rows.answers.weight @ np.square(each)) for each in (own, shared)])

    def _curve(self, one: str, two: str) -> FloatArray:
        curves = self.found.curves
        return np.asarray(curves[(one, two) if (one, two) in curves else (two, one)])
