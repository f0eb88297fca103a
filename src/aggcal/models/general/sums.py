r"""The gradient and the curvature of the general model in its outer unknowns.

    z = (x, v, ω, μ):   gaps m = Z x,   axis a = v_i − v_j,   readiness + ω_c,   prior means μ

With g_uk what node k of annotator u pulls the outer unknowns by, the gradient of the marginal
log-likelihood is Σ_u E_k g_uk and its curvature (Louis' identity)

    Σ_rows E_k[∂²] − Σ_u Cov_k g_uk.

It is here as products and as a dense matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.models.general.annotators import (
    POSITION,
    READINESS,
    RELIABILITY,
    STANCE,
    Integration,
    Known,
)
from aggcal.models.general.design import Design
from aggcal.models.general.rows import GeneralRows

GAP, AXIS, TIE = "gap", "axis", "tie"
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


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over the rows at a point where the annotators were integrated out."""

    layout: Layout
    weights: FloatArray
    """Probabilities of the nodes, annotators by nodes."""
    pulls: dict[str, FloatArray]
    """Of each channel, nodes by rows."""
    curves: dict[tuple[str, str], FloatArray]
    """Expected curvature of each pair of channels, by row."""
    mean_pulls: FloatArray
    """Annotators by nodes by means."""
    mean_precision: FloatArray

    @cached_property
    def gradient(self) -> FloatArray:
        """Of the log-likelihood."""
        out, by_row = np.zeros(self.layout.size), self.layout.rows.per_row(self.weights).T
        for channel, (_, back, where) in self.layout.maps.items():
            out[where] = back @ (by_row * self.pulls[channel]).sum(axis=0)
        out[self.layout.at_means :] = np.einsum("uk,ukj->j", self.weights, self.mean_pulls)
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
        held = rows.n_annotators * self.mean_precision * vector[tail]
        out[tail] = held - np.einsum("uk,ukj->j", off, self.mean_pulls)
        return out

    def dense(self) -> tuple[FloatArray, FloatArray]:
        """Return the curvature as a matrix, and with the annotators held."""
        from scipy import sparse

        layout, size = self.layout, self.layout.size
        held = np.zeros((size, size))
        for one, (_, back, where) in layout.maps.items():
            for two, (map_, _, there) in layout.maps.items():
                middle = sparse.diags_array(self._curve(one, two)) @ map_
                held[where, there] = (back @ middle).toarray()
        tail = np.arange(layout.at_means, size)
        held[tail, tail] = layout.rows.n_annotators * self.mean_precision
        whole = held.copy()
        nodes = self.weights.shape[1]
        for k in range(nodes):
            root = np.sqrt(self.weights[:, k])[:, None]
            part = self.borders(root * (np.eye(nodes)[k] - self.weights))
            whole -= (part.T @ part).toarray()
        return whole, held

    def diagonal(self) -> FloatArray:
        """Return the diagonal of the curvature with the annotators held."""
        out = np.zeros(self.layout.size)
        for channel, (_, back, where) in self.layout.maps.items():
            out[where] = back.power(2) @ self._curve(channel, channel)
        out[self.layout.at_means :] = self.layout.rows.n_annotators * self.mean_precision
        return out

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

    def _curve(self, one: str, two: str) -> FloatArray:
        return self.curves[(one, two) if (one, two) in self.curves else (two, one)]


def sums_of(
    layout: Layout, integration: Integration, known: Known, sds: FloatArray, means: FloatArray
) -> Sums:
    """Return the sums where the annotators were integrated out last.

    Parameters
    ----------
    layout, integration, known
        What was integrated.
    sds, means
        Of the annotators' prior; the means annotators by parameters.
    """
    rows, weights = layout.rows, known.weights
    by_row = rows.per_row(weights).T
    one = np.ones_like(weights)
    factor = {
        GAP: known.of(RELIABILITY) if RELIABILITY in known.names else one,
        AXIS: known.of(STANCE) if STANCE in known.names else one,
    }
    spread = {channel: rows.per_row(values).T for channel, values in factor.items()}
    channels = list(layout.maps)
    pulls = {
        c: integration.tie_pulls if c == TIE else spread[c] * integration.pulls for c in channels
    }
    curve, tie_curve, cross = integration.curves
    curves = {}
    for one_, two in _pairs(channels):
        if one_ == two == TIE:
            value = tie_curve
        elif TIE in (one_, two):
            value = spread[one_ if two == TIE else two] * cross
        else:
            value = spread[one_] * spread[two] * curve
        curves[one_, two] = (by_row * value).sum(axis=0)
    columns = [known.names.index(name) for name in layout.means]
    precision = sds[columns] ** -2.0
    mean_pulls = precision * (known.nodes[:, :, columns] - means[:, None, columns])
    return Sums(layout, weights, pulls, curves, mean_pulls, precision)


def _pairs(channels: list[str]) -> Iterator[tuple[str, str]]:
    for k, one in enumerate(channels):
        for two in channels[k:]:
            yield one, two
