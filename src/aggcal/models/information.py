r"""The Fisher information of a fit: scores and annotators' parameters, the latter eliminated.

Row by row the information in the gap d = s_i − s_j and in θ_u is a rank-one matrix (a, b)(a, b)';
with the curvature of the priors added,

    A = Σ a² (e_i − e_j)(e_i − e_j)' + prior,   B_u = Σ a b (e_i − e_j),   D_u = Σ b² + prior,

and the scores' part of the inverse is that of the Schur complement S = A − B D⁻¹ B'. It is here as
a dense matrix, for a moderate number of items, and as products, random vectors of covariance S and
the exact diagonal, for any number: none of these needs room that grows with items × items.

Random vectors are made and multiplied `LANES` at a time, in single precision: a row that is read
once serves all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, singledispatch
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, SingleArray, dot, sums
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import added, each_range, even, in_turn
from aggcal._core.triangles import add_squares
from aggcal.models.borders import Part, border_of, eliminated
from aggcal.models.coins import LANES, coins_of, signs
from aggcal.models.logistic_information import ROWS, take
from aggcal.models.objective import Objective
from aggcal.models.rows import scatter

if TYPE_CHECKING:
    from scipy import sparse

_PIECE = 1 << 20  # rows: more take more memory, fewer more time
_SHORT = 1 << 16  # rows whose information is worked out in the cache


class Information:
    """The information at given scores and annotators' parameters.

    Parameters
    ----------
    problem
        The model and its rows.
    scores, theta
        Scores and annotators' parameters at which it is taken.
    observed
        Take the curvature at the outcomes that were seen instead of the expected one; for models
        without annotators' parameters.
    """

    def __init__(
        self,
        problem: Objective,
        scores: FloatArray,
        theta: FloatArray,
        *,
        observed: bool = False,
    ) -> None:
        self.problem = problem
        self._observed = observed
        self.heterogeneous = problem.heterogeneous
        self._scores, self._theta = scores, theta
        rows = problem.rows
        self._rows = rows
        self.prior: FloatArray = problem.item_penalty(scores)[2]
        """Diagonal of the prior's precision of the scores."""
        self._annotator_prior = (
            np.maximum(problem.penalty(theta)[2], 0.0) if self.heterogeneous else np.zeros(1)
        )
        self.inner = self._take()
        """D."""
        self.constraints: list[FloatArray] = []
        """Vectors c whose cc' is added to S."""

    def _take(self) -> FloatArray:
        """Work out what each row adds, and return D."""
        rows = self._rows
        inner = self._annotator_prior.copy()
        self._gap_curvature = np.empty(len(rows), dtype=np.float32)
        self._cross_curvature = np.empty(len(rows) if self.heterogeneous else 0, dtype=np.float32)
        self._ranges = rows.ranges(self._starts)
        filled = self._gap_curvature, self._cross_curvature, inner
        unlike = self._observed and self.heterogeneous
        if unlike or not take(self.problem, self._scores, self._theta, filled):
            self._take_in_pieces(inner)
        return inner if self.heterogeneous else np.ones(1)

    @cached_property
    def _winner(self) -> CodeArray:
        return np.ascontiguousarray(self._rows.winner, dtype=np.int32)

    @cached_property
    def _loser(self) -> CodeArray:
        return np.ascontiguousarray(self._rows.loser, dtype=np.int32)

    @cached_property
    def _starts(self) -> IntArray:
        """Where the rows of each annotator begin; pieces of rows where it does not matter whose."""
        rows = self._rows
        free = self.heterogeneous
        starts = rows.starts if free else np.append(np.arange(0, len(rows), ROWS), len(rows))
        return np.ascontiguousarray(starts, dtype=np.int64)

    def _take_in_pieces(self, inner: FloatArray) -> None:
        """Do with NumPy what `take` does, for any model."""

        def piece_of(begin: int) -> tuple[int, FloatArray]:
            piece, owner, a, b = self._piece(begin, _SHORT)
            self._gap_curvature[piece] = a * a
            if not self.heterogeneous:
                return 0, np.empty(0)
            self._cross_curvature[piece] = a * b
            first = int(owner[0])
            return first, sums(owner - first, b * b, int(owner[-1]) - first + 1)

        for first, part in in_turn(piece_of, range(0, len(self._rows), _SHORT)):
            inner[first : first + len(part)] += part

    def fix_location(self) -> None:
        """Hold the scores' mean: it is a convention, and the likelihood does not depend on it.

        1 is an eigenvector of S; adding a multiple of 11' changes its eigenvalue only, and the
        covariance of the scores about their mean not at all.
        """
        strength = max(float(self.diagonal().mean()), 1e-300)
        self.constraints.append(np.full(self.n_items, np.sqrt(strength / self.n_items)))

    def fix_unit(self, weights: FloatArray) -> None:
        """Hold Σ weights·γ: the likelihood does not change along (s, −γ), the unit is a convention.

        That adds (B D⁻¹ w)(B D⁻¹ w)'/(w'D⁻¹w) to S, exactly.
        """
        if self.heterogeneous:
            room = np.sqrt(np.sum(np.square(weights) / self.inner))
            self.constraints.append(self.shared(weights) / room)

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return self._rows.n_items

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply by S."""
        prior = self.prior * vector
        for fixed in self.constraints:
            prior += fixed * dot(fixed, vector)
        return self.curvature_product(vector) + prior

    def products(self, vectors: SingleArray) -> SingleArray:
        """Multiply `LANES` vectors by S, a column each, in single precision."""
        found = self.curvature_products(vectors)
        prior = self.prior.astype(np.float32)
        fixed = [each.astype(np.float32) for each in self.constraints]
        along = [each @ vectors for each in fixed]

        def add(begin: int, end: int) -> None:
            part = slice(begin, end)
            found[part] += prior[part, None] * vectors[part]
            for each, size in zip(fixed, along, strict=True):
                found[part] += each[part, None] * size

        each_range(add, even(len(found)))
        return found

    def product_of_ones(self) -> FloatArray:
        """Return S·1, for which no row is needed: judgments are about differences."""
        total = self.prior.copy()
        for fixed in self.constraints:
            total += fixed * fixed.sum()
        return total

    def probes(self, random: np.random.Generator, most: int = LANES) -> SingleArray:  # noqa: ARG002
        """Return `LANES` random vectors of covariance S, a column each; ``most`` elsewhere."""
        prior = np.sqrt(self.prior)[:, None] * signs(random, self.n_items)
        noise = np.sqrt(self._annotator_prior)[:, None] * signs(random, len(self.inner))
        for fixed in self.constraints:
            prior += fixed[:, None] * signs(random, 1)
        prior += self.sample_noise(int(random.integers(1 << 63)), noise)
        return prior.astype(np.float32)

    def diagonal(self) -> FloatArray:
        """Return the diagonal of S."""
        total = self._own_diagonal + self.prior
        for fixed in self.constraints:
            total += fixed * fixed
        return total

    @cached_property
    def _own_diagonal(self) -> FloatArray:
        return self.curvature_diagonal()

    def dense(self) -> tuple[FloatArray, sparse.csc_array | None]:
        """Return S as a matrix, and B D⁻¹ (None where there are no annotators' parameters)."""
        schur, carried = self.dense_curvature()
        schur[np.diag_indices(len(schur))] += self.prior
        return add_squares(schur, *self.constraints), carried

    def shared(self, weights: FloatArray) -> FloatArray:
        """Return B D⁻¹ w for weights of the annotators."""
        share, starts = weights / self.inner, self._starts

        def work(begin: int, end: int) -> FloatArray:
            some = slice(starts[begin], starts[end])
            mine = np.repeat(share[begin:end], np.diff(starts[begin : end + 1]))
            values = self._cross_curvature[some] * mine
            return scatter(self._winner[some], self._loser[some], values, self.n_items)

        return added(each_range(work, self._ranges))

    def curvature_product(self, vector: FloatArray) -> FloatArray:
        """Multiply by the judgments' part of S."""
        kernels = library()
        if kernels is None:
            gap = vector[self._winner] - vector[self._loser]
            curvature_product = self._gap_curvature * gap
            if self.heterogeneous:
                shared = (
                    np.add.reduceat(self._cross_curvature * gap, self._rows.starts[:-1])
                    / self.inner
                )
                curvature_product -= self._cross_curvature * self._per_row(shared)
            return self._scatter(curvature_product)
        vector = np.ascontiguousarray(vector)

        def work(begin: int, end: int) -> FloatArray:
            out = np.zeros(self.n_items)
            arrays = at(*self._columns(), self.inner, vector, out)
            kernels.aggcal_product(begin, end, *arrays)
            return out

        return added(each_range(work, self._ranges))

    def curvature_products(self, vectors: SingleArray) -> SingleArray:
        """Multiply `LANES` vectors by the judgments' part of S."""
        kernels = library()
        if kernels is None:
            found = [self.curvature_product(column.astype(np.float64)) for column in vectors.T]
            return np.stack(found, axis=1, dtype=np.float32, casting="same_kind")
        vectors = np.ascontiguousarray(vectors)

        def work(begin: int, end: int) -> SingleArray:
            out = np.zeros((self.n_items, LANES), dtype=np.float32)
            kernels.aggcal_products(begin, end, *at(*self._columns(), self.inner, vectors, out))
            return out

        return added(each_range(work, self._ranges))

    def sample_noise(self, key: int, noise: FloatArray) -> SingleArray:
        """Return the judgments' part of `LANES` random vectors of covariance S.

        Parameters
        ----------
        key
            Key of the coins, one for each row and vector.
        noise
            What the annotators' priors add, a row for each.
        """
        kernels, noise = library(), np.ascontiguousarray(noise)
        if kernels is None:
            coins = coins_of(key, len(self._gap_curvature))
            found = [self._noise(coins[:, lane], noise[:, lane]) for lane in range(LANES)]
            return np.stack(found, axis=1, dtype=np.float32, casting="same_kind")

        def work(begin: int, end: int) -> SingleArray:
            out = np.zeros((self.n_items, LANES), dtype=np.float32)
            arrays = at(*self._columns(), self.inner, noise)
            kernels.aggcal_probes(begin, end, *arrays, key, *at(out))
            return out

        return added(each_range(work, self._ranges))

    def _noise(self, coin: FloatArray, noise: FloatArray) -> FloatArray:
        root = np.sqrt(self._gap_curvature, dtype=np.float64)
        force = coin * root
        if self.heterogeneous:
            b = np.divide(self._cross_curvature, root, out=np.zeros_like(root), where=root > 0.0)
            pull = (noise + np.add.reduceat(coin * b, self._rows.starts[:-1])) / self.inner
            force -= self._cross_curvature * self._per_row(pull)
        return self._scatter(force)

    def borders(self, vectors: SingleArray) -> FloatArray:
        """Return B'v of `LANES` vectors: a row per annotator, a column per vector."""
        kernels, vectors = library(), np.ascontiguousarray(vectors)
        out = np.zeros((len(self.inner), LANES))
        if kernels is None:
            for lane in range(LANES):
                vector = vectors[:, lane].astype(np.float64)
                gap = vector[self._winner] - vector[self._loser]
                starts = self._rows.starts[:-1]
                out[:, lane] = np.add.reduceat(self._cross_curvature * gap, starts)
            return out

        def work(begin: int, end: int) -> None:
            columns = self._winner, self._loser, self._starts, self._cross_curvature
            kernels.aggcal_borders(begin, end, *at(*columns, vectors, out))

        each_range(work, self._ranges)
        return out

    def curvature_diagonal(self) -> FloatArray:
        """Return the diagonal of the judgments' part of S."""
        kernels = library()
        if kernels is None:
            near = self._gap_curvature.astype(np.float64)
            n = self.n_items
            total = sums(self._winner, near, n) + sums(self._loser, near, n)
            if self.heterogeneous:
                border = border_of(n, self._parts())
                total -= border.power(2) @ (1.0 / self.inner)
            return total

        def work(begin: int, end: int) -> FloatArray:
            out, room = np.zeros(self.n_items), np.zeros(self.n_items)
            kernels.aggcal_diagonal(begin, end, *at(*self._columns(), self.inner, room, out))
            return out

        return added(each_range(work, self._ranges))

    def dense_curvature(self) -> tuple[FloatArray, sparse.csc_array | None]:
        """Return the judgments' part of S as a matrix, and B D⁻¹."""
        schur, carried = eliminated(self.n_items, self._parts(), self.inner)
        if carried is not None:
            carried.data /= np.repeat(self.inner, np.diff(carried.indptr))
        return schur, carried

    def _parts(self) -> Iterator[Part]:
        """Go through the rows, some annotators at a time, with all digits of what each adds."""
        starts = self._starts
        cuts = np.searchsorted(starts, np.arange(0, len(self._rows), _PIECE))
        for first, last in pairwise(sorted({*cuts.tolist(), len(starts) - 1})):
            mine = slice(starts[first], starts[last])
            near, cross = self._exact(slice(first, last), mine)
            codes = self._winner[mine], self._loser[mine]
            yield *codes, starts[first : last + 1] - starts[first], near, cross

    def _exact(self, some: slice, mine: slice) -> tuple[FloatArray, FloatArray | None]:
        """Return a² and ab of the rows of some annotators."""
        number, both = mine.stop - mine.start, self.heterogeneous
        near, cross = np.empty(number), np.empty(number) if both else None
        into = near, cross, None
        if not (self._observed and both) and take(
            self.problem, self._scores, self._theta, into, some
        ):
            return near, cross
        _, _, a, b = self._piece(mine.start, number)
        return a * a, a * b if both else None

    def _piece(self, begin: int, size: int) -> tuple[slice, IntArray, FloatArray, FloatArray]:
        rows = self._rows
        piece = slice(begin, min(len(rows), begin + size))
        first, last = np.searchsorted(rows.starts, (piece.start, piece.stop - 1), side="right") - 1
        ends = np.clip(rows.starts[first : last + 2], piece.start, piece.stop)
        owner = np.repeat(np.arange(first, last + 1), np.diff(ends))
        gap = self._scores[rows.winner[piece]] - self._scores[rows.loser[piece]]
        a, b = self._roots(gap, self._theta[owner])
        if rows.weight.strides != (0,) or float(rows.weight[0]) != 1.0:
            root = np.sqrt(rows.weight[piece])
            a, b = a * root, b * root
        return piece, owner, a, b

    def _roots(self, gap: FloatArray, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self._observed:
            return np.sqrt(self.problem.row_terms(gap, theta).dd), np.zeros(len(gap))
        return self.problem.row_information(gap, theta)

    def _columns(self) -> tuple[np.ndarray | None, ...]:
        cross = self._cross_curvature if self.heterogeneous else None
        return self._winner, self._loser, self._starts, self._gap_curvature, cross

    def _per_row(self, values: FloatArray) -> FloatArray:
        return np.repeat(values, np.diff(self._rows.starts))

    def _scatter(self, values: FloatArray) -> FloatArray:
        return scatter(self._winner, self._loser, values, self.n_items)


@singledispatch
def information(
    problem: Objective, scores: FloatArray, theta: FloatArray, *, observed: bool = False
) -> Information:
    """Return the Fisher information of a problem at some scores and annotators' parameters."""
    return Information(problem, scores, theta, observed=observed)
