r"""The Thurstone family with the reliabilities integrated out instead of maximised.

    γ_u = z_u ρ_u,   z_u = −1 with the probability π (reversed), else 1,   ρ_u ~ N(μ_u, τ²)

Given the scores, the posterior of each γ_u is that of six nodes: the mode of ρ and two points
around it (Gauss–Hermite), for either sign. A gap s_i − s_j is itself uncertain: every row is
averaged over five points of its distribution. With g_uk what node k pulls the scores by,

    gradient  = Σ_u E_k g_uk,
    curvature = Σ_rows E_k[γ² F''] aa' − Σ_u Cov_k g_uk                       (Louis' identity).

It is here as products, as a diagonal and as a dense matrix; nothing grows with items × annotators.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from typing import Any

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, sums
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import added, each_range
from aggcal.models.beliefs import NODES, Beliefs, Population
from aggcal.models.links import Link
from aggcal.models.quadrature import POINTS, Point, integrate
from aggcal.models.rows import Rows, laplacian_of, row_deviations, scatter
from aggcal.registry import LINKS

_LINK_CODES: dict[str, int] = {name: known.code for name, known in LINKS.items()}
_OPEN = 2
_FIRST_MODES = np.array([1.0, 0.0])
"""Where the search for the modes begins: one who answers as asked is typical, and would, were they
reversed, know next to nothing."""
CLOSE, EXACT = 1e-2, 1e-10
"""Squared Newton step, over the variance, at which a mode is near enough: nodes are only placed by
it."""

_MOST_RANGES = 4
"""Ranges that each fill a matrix of items by items of their own."""
_FEWEST_ROWS = 5_000
"""Rows of a range that is integrated, which takes long: so few are worth a thread."""
_CROWDED = 0.2
"""Share of the pairs of items, both judged by the same annotator, from which matrix products are
quicker than going through those pairs: they take every pair, at a fifth of the time or less."""
_FEW_ITEMS = 200
"""Items up to which going through pairs is quicker all the same: they stay in the cache, and tables
for matrix products take longer to lay out than to multiply."""
_FEW_ROWS = 10_000  # rows that are multiplied by all nodes at once; of more, it would take memory
_BLOCK = 1 << 22
"""Numbers in a table of annotators by items that is made at once: 32 MB."""


class Integrated:
    """The likelihood of judgments with the reliabilities integrated out.

    Parameters
    ----------
    rows
        The weighted wins, sorted by annotator.
    link
        The distribution function F.
    """

    def __init__(self, rows: Rows, link: Link) -> None:
        self.rows, self.link = rows, link
        self.passes = 0
        self.shares: FloatArray = rows.given / rows.given.sum()
        """w_u: the share of the judgments that each annotator gave."""
        self._modes = np.tile(_FIRST_MODES, (rows.n_annotators, 1))
        self._kinds = np.full((rows.n_annotators, 2), _OPEN, dtype=np.uint8)
        self.settled = False
        """Whether it is decided for good how each annotator's rows are averaged."""
        self.gradient: FloatArray
        """Of the log-likelihood, at the last point."""
        self.held_diagonal: FloatArray
        """Diagonal of the curvature with the reliabilities held, at the last point."""
        self.loose_diagonal: FloatArray
        """What the diagonal of the curvature lacks of that if nobody judged an item twice: nearly
        right where an item is a small part of what anyone judged."""
        self.unit_pull: FloatArray
        """Σ_u w_u Cov_k(ρ, g_uk), at the last point."""
        self.beliefs: Beliefs
        self._lay_out(rows)

    def _lay_out(self, rows: Rows) -> None:
        """Bring rows into the form that sums take, and make room for what nodes pull them by."""
        self._winner = np.ascontiguousarray(rows.winner, dtype=np.int32)
        self._loser = np.ascontiguousarray(rows.loser, dtype=np.int32)
        plain = rows.weight.strides == (0,) and len(rows) > 0 and rows.weight[0] == 1.0
        self._weight = None if plain else np.ascontiguousarray(rows.weight)
        self._starts = np.ascontiguousarray(rows.starts, dtype=np.int64)
        self._sizes = np.diff(self._starts)
        self._ranges = rows.ranges(self._starts)
        self._integrals = rows.ranges(self._starts, _FEWEST_ROWS)
        self._gap_curvature = np.empty(len(rows), dtype=np.float32)
        self._pulls = np.empty((NODES, len(rows)), dtype=np.float32)

    def every(self, step: int) -> Integrated:
        """Return the same for every so many annotators."""
        return integrated(self.rows.every(step), self.link)

    def row_sds(self, variances: FloatArray, cap: float) -> Any:
        """Return the sd of each row's gap, as `evaluate` takes it."""
        return row_deviations(self.rows, variances, cap)

    def evaluate(
        self,
        scores: FloatArray,
        row_sd: Any,
        population: Population,
        means: FloatArray,
        hopeless: BoolArray | None = None,
        *,
        close: float = EXACT,
    ) -> Beliefs:
        """Integrate the reliabilities out at these scores.

        Parameters
        ----------
        scores
            Where.
        row_sd
            Standard deviation of each row's gap (see `row_sds`).
        population
            τ and π.
        means
            μ_u.
        hopeless
            Annotators who are certainly not reversed: that half is left out.
        close
            How near the modes are looked for.
        """
        self.passes += 1
        point = Point(
            np.ascontiguousarray(scores),
            np.ascontiguousarray(row_sd, dtype=np.float32),
            np.ascontiguousarray(means),
            population.reliability_sd**-2,
            np.log([1.0 - population.reversed_share, population.reversed_share]),
            hopeless,
            close,
        )
        self.beliefs = self._plainly(point) if library() is None else self._compiled(point)
        return self.beliefs

    @property
    def searched(self) -> tuple[FloatArray, np.ndarray]:
        """Where the modes are looked for next, and how each annotator's rows are averaged."""
        return self._modes, self._kinds

    def take_up(self, modes: FloatArray, kinds: np.ndarray, *, settled: bool) -> None:
        """Go on from where another search has led."""
        self._modes, self._kinds, self.settled = modes.copy(), kinds.copy(), settled

    def restart(self) -> None:
        """Forget where the modes are."""
        self._modes[:] = _FIRST_MODES
        self._kinds[:] = _OPEN
        self.settled = False

    def begin_with(self, beliefs: Beliefs) -> None:
        """Look for the modes where they were found before: the first node of either half."""
        known = beliefs.weights > 0.0
        for half, sign in enumerate((1.0, -1.0)):
            at_ = half * len(POINTS)
            self._modes[:, half] = np.where(known[:, at_], sign * beliefs.nodes[:, at_], 1.0)

    def rescale(self, factor: float) -> None:
        """Look for the modes where they are when the scores are multiplied by a factor."""
        self._modes /= factor

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply by the curvature of the judgments at the last point."""
        kernels, weights = library(), self.beliefs.weights
        if kernels is None:
            gap = vector[self._winner] - vector[self._loser]
            pulled = np.add.reduceat(self._pulls * gap, self._starts[:-1], axis=1).T
            off = weights * (pulled - (weights * pulled).sum(axis=1, keepdims=True))
            row_pulls = self._gap_curvature * gap - (
                np.repeat(off, self._sizes, axis=0).T * self._pulls
            ).sum(0)
            return self._scattered(row_pulls)
        vector = np.ascontiguousarray(vector)

        def work(begin: int, end: int) -> FloatArray:
            out = np.zeros(self.rows.n_items)
            kernels.aggcal_integrated_product(
                begin, end, len(self.rows),
                *at(self._winner, self._loser, self._starts, self._gap_curvature, self._pulls,
                    weights, vector, out),
            )  # fmt: skip
            return out

        return added(each_range(work, self._ranges))

    def by_row(self) -> tuple[FloatArray, FloatArray]:
        """Return each row's part in the gradient and in the curvature, reliabilities held."""
        pull = np.zeros(len(self.rows))
        for k in range(NODES):
            pull += np.repeat(self.beliefs.weights[:, k], self._sizes) * self._pulls[k]
        return pull, self._gap_curvature.astype(np.float64)

    def diagonal(self) -> FloatArray:
        """Return the diagonal of the curvature."""
        return self.held_diagonal - self._covariance(dense=False)

    def dense(self) -> tuple[FloatArray, FloatArray]:
        """Return the curvature as a matrix, and with the reliabilities held."""
        held = laplacian_of(self._winner, self._loser, self._gap_curvature, self.rows.n_items)
        return held - self._covariance(dense=True), held

    def forms(
        self, values: FloatArray, covariance: FloatArray, along: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return b'Cb and b'x for each annotator, b = Σ_k values_uk g_uk.

        ``covariance`` is C, a matrix, or a vector: its diagonal.
        """
        kernels, m, n = library(), self.rows.n_annotators, self.rows.n_items
        values, covariance = np.ascontiguousarray(values), np.ascontiguousarray(covariance)
        along = np.ascontiguousarray(along)
        if kernels is None:
            border = self._by_item(values)
            middle = border.multiply(covariance) if covariance.ndim == 1 else border @ covariance
            return np.ravel(border.multiply(middle).sum(axis=1)), border @ along
        square, product = np.zeros(m), np.zeros(m)
        if covariance.ndim > 1 and self._crowded:
            for who, table in self._tables(values):
                square[who] = np.einsum("ui,ui->u", table @ covariance, table)
                product[who] = table @ along
            return square, product
        matrix, diagonal = (None, covariance) if covariance.ndim == 1 else (covariance, None)

        def work(begin: int, end: int) -> None:
            room = np.zeros(n), np.zeros(n, dtype=np.uint8), np.empty(n + 1, dtype=np.int32)
            kernels.aggcal_pull_forms(
                begin, end, len(self.rows), n,
                *at(self._winner, self._loser, self._starts, self._pulls, values, matrix, diagonal,
                    along, *room, square, product),
            )  # fmt: skip

        each_range(work, self._ranges)
        return square, product

    def _covariance(self, *, dense: bool) -> FloatArray:
        """Return Σ_u Cov_k g_uk, or its diagonal."""
        kernels, n, weights = library(), self.rows.n_items, self.beliefs.weights
        if kernels is None:
            total = np.zeros((n, n) if dense else n)
            for k in range(NODES):
                # Cov_k g = Σ_k p_k (g_k − ḡ)(g_k − ḡ)'.
                root = np.sqrt(weights[:, k])[:, None]
                part = self._by_item(root * (np.eye(NODES)[k] - weights))
                total += (part.T @ part).toarray() if dense else np.ravel(part.power(2).sum(axis=0))
            return total
        if dense and self._crowded:
            total, each = np.zeros((n, n)), np.eye(NODES)
            for k in range(NODES):
                root = np.sqrt(weights[:, k])[:, None]
                for who, table in self._tables(root * (each[k] - weights)):
                    live = table[weights[who, k] > 0.0]
                    total += live.T @ live
            return total
        ranges = self._ranges
        if dense:
            ranges = ranges[:: max(1, (len(ranges) - 1) // _MOST_RANGES)]
            ranges = (
                [*ranges, self.rows.n_annotators]
                if ranges[-1] != self.rows.n_annotators
                else ranges
            )

        def work(begin: int, end: int) -> FloatArray:
            out, room = np.zeros((n, n) if dense else n), _room(n)
            kernels.aggcal_pull_covariance(
                begin, end, len(self.rows), n,
                *at(self._winner, self._loser, self._starts, self._pulls, weights), int(dense),
                *at(*room, out),
            )  # fmt: skip
            return out

        total = added(each_range(work, ranges))
        return total + np.tril(total.T, -1) + np.triu(total.T, 1) if dense else total

    @property
    def _crowded(self) -> bool:
        """Whether annotators judged so many of the items that matrix products pay."""
        n = self.rows.n_items
        seen = -np.expm1(-2.0 * self._sizes / n)  # of items paired at random
        return n > _FEW_ITEMS and float(np.mean(seen**2)) > _CROWDED

    def _tables(self, values: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Yield b = Σ_k values_uk g_uk as tables, some annotators by items each."""
        n, m = self.rows.n_items, self.rows.n_annotators
        each = max(1, _BLOCK // n)
        for begin in range(0, m, each):
            who = slice(begin, min(m, begin + each))
            rows, sizes = slice(self._starts[begin], self._starts[who.stop]), self._sizes[who]
            if rows.stop - rows.start <= _FEW_ROWS:
                force = (np.repeat(values[who], sizes, axis=0).T * self._pulls[:, rows]).sum(axis=0)
            else:
                force = np.zeros(rows.stop - rows.start)
                for k in range(NODES):
                    force += np.repeat(values[who, k], sizes) * self._pulls[k, rows]
            place = np.repeat(np.arange(0, len(sizes) * n, n), sizes)
            table = sums(place + self._winner[rows], force, len(sizes) * n)
            table -= sums(place + self._loser[rows], force, len(sizes) * n)
            yield who, table.reshape(len(sizes), n)

    def _by_item(self, values: FloatArray) -> Any:
        """Return b = Σ_k values_uk g_uk as a sparse table, annotators by items."""
        from scipy import sparse

        force = (np.repeat(values, self._sizes, axis=0).T * self._pulls).sum(axis=0)
        owner = np.repeat(np.arange(self.rows.n_annotators), self._sizes)
        where = np.concatenate([owner, owner]), np.concatenate([self._winner, self._loser])
        shape = self.rows.n_annotators, self.rows.n_items
        return sparse.coo_array((np.concatenate([force, -force]), where), shape=shape).tocsr()

    def _scattered(self, row_pulls: FloatArray) -> FloatArray:
        n = self.rows.n_items
        return scatter(self._winner, self._loser, row_pulls, n)

    def _compiled(self, point: Point) -> Beliefs:
        kernels, rows = library(), self.rows
        assert kernels is not None  # noqa: S101  # who calls knows
        m, n = rows.n_annotators, rows.n_items
        nodes, weights = np.empty((m, NODES)), np.empty((m, NODES))
        skip = None if point.hopeless is None else point.hopeless.astype(np.uint8)

        def work(begin: int, end: int) -> tuple[float, FloatArray]:
            item = np.zeros((n, 4))
            most = int(self._sizes[begin:end].max(initial=0))
            room = np.empty((2 * NODES + 1) * most)
            value = kernels.aggcal_integrate(
                _LINK_CODES[self.link.name], begin, end, len(rows),
                *at(self._winner, self._loser, self._weight, self._starts),
                *at(point.scores, point.row_sd, point.means, self.shares),
                point.precision, point.close, int(self.settled),
                *at(point.shares, skip, self._kinds, self._modes, nodes, weights, item),
                *at(self._gap_curvature, self._pulls, room),
            )  # fmt: skip
            return value, item

        parts = each_range(work, self._integrals)
        total = added([part[1] for part in parts])
        self.gradient, self.held_diagonal, self.loose_diagonal, self.unit_pull = (
            np.ascontiguousarray(total.T)
        )
        return Beliefs(nodes, weights, sum(part[0] for part in parts))

    def _plainly(self, point: Point) -> Beliefs:
        found, pulls, curves = integrate(self.rows, self.link, point, self._modes)
        self._keep(found.weights, pulls, curves)
        toward = self.shares[:, None] * found.weights * found.strength_off
        self.unit_pull = self._scattered((np.repeat(toward, self._sizes, axis=0).T * pulls).sum(0))
        return found

    def _keep(self, weights: FloatArray, pulls: FloatArray, curves: FloatArray) -> None:
        """Remember what the nodes pull rows by, and add up what follows from it."""
        n = self.rows.n_items
        by_row = np.repeat(weights, self._sizes, axis=0).T
        force, stiff = (by_row * pulls).sum(axis=0), (by_row * curves).sum(axis=0)
        self._gap_curvature[:] = stiff
        self._pulls[:] = np.where(by_row > 0.0, pulls, 0.0)
        self.gradient = self._scattered(force)
        self.held_diagonal = sums(self._winner, stiff, n) + sums(self._loser, stiff, n)
        loose = (by_row * pulls**2).sum(axis=0) - force**2
        self.loose_diagonal = sums(self._winner, loose, n) + sums(self._loser, loose, n)


@singledispatch
def integrated(rows: Rows, link: Link) -> Integrated:
    """Return the likelihood of rows with the reliabilities integrated out; engines register theirs.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal.models.links import link
    >>> from aggcal.models.rows import rows_of
    >>> rows = rows_of(aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "a")]))
    >>> integrated(rows, link("logistic")).shares
    array([0.5, 0.5])
    """
    return Integrated(rows, link)


def _room(items: int) -> tuple[np.ndarray, np.ndarray, FloatArray]:
    """Return what the kernels that gather by item need to work in."""
    slots = np.full(items, -1, dtype=np.int32)
    return slots, np.empty(items, dtype=np.int32), np.empty(NODES * items)
