r"""What rows do to the unknowns at a point: the sums that every fit, error and check is made of.

Rows are moved by unknowns through channels, and by the parameters θ_u of their annotators. However
those are disposed of (see `annotators`), with g_uk the k-th response of annotator u, a sum over the
rows of what moves the unknowns,

    gradient              = Σ_rows score · z,
    complete information  = Σ_rows curvature · z z',
    missing information   = Σ_u G_u' M_u G_u,
    observed information  = complete − missing.

Where θ_u is integrated out, responses are the scores at its nodes, of probabilities p, and
M = diag p − p p' (Louis 1982: the missing information is the variance of the score). Where θ_u is
maximised, they are cross-derivatives, and M the inverse curvature in θ_u (the Schur complement).

A tape over parts of the rows is the sum of theirs, which is all that engines need.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.text import brief
from aggcal.aggregation.rows import Channel, Rows, sparse_of

_TABLE = 1 << 23
"""Numbers in a table of annotators by unknowns that is made at once: 64 MB."""


@dataclass(eq=False)
class Mean:
    """An unknown prior mean of a parameter: annotators move it, not rows."""

    index: int
    """Which of the unknowns it is."""
    responses: FloatArray
    """Responses, annotators by nodes."""
    score: FloatArray
    """Gradient of the value, by annotator."""
    curvature: float
    """Its complete information."""


@dataclass(eq=False)
class Tape:
    """Value, gradient and curvature of minus the log-likelihood of some rows, at a point."""

    __repr__ = brief

    rows: Rows
    value: float
    """Minus the log-likelihood, or evidence, with the prior of the annotators."""
    score: dict[str, FloatArray]
    """Gradient of the value in each channel, by row."""
    curvature: dict[tuple[str, str], FloatArray]
    """Curvature of the value in each pair of channels, by row, of fixed parameters."""
    responses: dict[str, FloatArray]
    """Responses through each channel, responses by rows: minus the scores at a node, or the
    cross-derivatives with a parameter."""
    weights: FloatArray | None = None
    """Probabilities of the nodes, annotators by nodes, where responses are of nodes: of none where
    annotators are alike."""
    inverse_root: FloatArray | None = None
    """L⁻¹ of the curvature LL' in θ_u, annotators first, where responses are of parameters."""
    means: list[Mean] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return self.rows.size + len(self.means)

    @cached_property
    def _channels(self) -> dict[str, Channel]:
        return {name: self.rows.channels[name] for name in self.score}

    def _mix(self, responses: FloatArray) -> FloatArray:
        """Multiply responses, annotators by responses, by M."""
        mixed: FloatArray
        if self.weights is not None:
            mean = (self.weights * responses).sum(axis=1, keepdims=True)
            mixed = self.weights * (responses - mean)
            return mixed
        assert self.inverse_root is not None  # noqa: S101  # there are responses of either kind
        inner: FloatArray = np.einsum("ukl,ul->uk", self.inverse_root, responses)
        mixed = np.einsum("ukl,uk->ul", self.inverse_root, inner)
        return mixed

    def _roots(self) -> Iterator[FloatArray]:
        """Yield tables of coefficients, annotators by responses, whose squares add up to M."""
        if self.weights is not None:
            for k in range(self.weights.shape[1]):
                root = -self.weights.copy()
                root[:, k] += 1.0
                yield np.sqrt(self.weights[:, k, None]) * root
        elif self.inverse_root is not None:
            yield from self.inverse_root.transpose(1, 0, 2)

    def _zeros(self, shape: int | tuple[int, ...]) -> FloatArray:
        return np.zeros(shape, like=next(iter(self.score.values())))

    @cached_property
    def gradient(self) -> FloatArray:
        """Of the value."""
        total = self._zeros(self.size)
        for name, channel in self._channels.items():
            total[: channel.size] += channel.scatter(self.score[name])
        for mean in self.means:
            total[mean.index] += float(mean.score.sum())
        return total

    def _flow(self, name: str, values: FloatArray) -> FloatArray:
        """Return Σ_k values_uk responses_k of each row, through a channel."""
        flow: FloatArray = (self.rows.per_row(values).T * self.responses[name]).sum(axis=0)
        return flow

    def weighted(self, values: FloatArray) -> FloatArray:
        """Return Σ_u Σ_k values_uk g_uk."""
        total = self._zeros(self.size)
        for name, channel in self._channels.items():
            total[: channel.size] += channel.scatter(self._flow(name, values))
        for mean in self.means:
            total[mean.index] += float((values * mean.responses).sum())
        return total

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply by the observed information."""
        moved = {name: channel.gather(vector) for name, channel in self._channels.items()}
        parts = (self.responses[name] * change for name, change in moved.items())
        responses = reduce(add, (self.rows.by_annotator(part).T for part in parts))
        for mean in self.means:
            responses = responses + mean.responses * vector[mean.index]
        mixed, total = self._mix(responses), self._zeros(self.size)
        by_row = self.rows.per_row(mixed).T
        for name, channel in self._channels.items():
            curvatures = (self._curvature(name, other) * change for other, change in moved.items())
            flow = reduce(add, curvatures)
            flow = flow - (by_row * self.responses[name]).sum(axis=0)
            total[: channel.size] += channel.scatter(flow)
        for mean in self.means:
            missing = float((mixed * mean.responses).sum())
            total[mean.index] += mean.curvature * vector[mean.index] - missing
        return total

    def diagonals(self) -> tuple[FloatArray, FloatArray]:
        """Return the diagonals of the complete and of the missing information.

        The latter as if no annotator met an unknown twice: nearly right where one is a small part
        of what anyone judged, and exact for the means.
        """
        complete, missing = self._zeros(self.size), self._zeros(self.size)
        for name, channel in self._channels.items():
            part = slice(0, channel.size)
            complete[part] += channel.scatter_squares(self._curvature(name, name))
            for root in self._roots():
                missing[part] += channel.scatter_squares(np.square(self._flow(name, root)))
        for mean in self.means:
            complete[mean.index] = mean.curvature
            missing[mean.index] = sum(
                float(np.square((root * mean.responses).sum(axis=1)).sum())
                for root in self._roots()
            )
        return complete, missing

    def missing_diagonal(self) -> FloatArray:
        """Return the diagonal of the missing information, however often annotators met unknowns."""
        total = self._zeros(self.size)
        for root in self._roots():
            total += np.ravel(self.table(root).power(2).sum(axis=0))
        return total

    def dense(self) -> tuple[FloatArray, FloatArray]:
        """Return the observed and the complete information as matrices."""
        complete = self._zeros((self.size, self.size))
        for one, channel in self._channels.items():
            for two, other in self._channels.items():
                flow = self._curvature(one, two)
                part = _weighted_product(channel, flow, other)
                complete[: channel.size, : other.size] += part
        for mean in self.means:
            complete[mean.index, mean.index] = mean.curvature
        observed, annotators = complete.copy(), self.rows.n_annotators
        step = max(_TABLE // self.size, 1)
        for root in self._roots():
            responses = self.table(root)
            for first in range(0, annotators, step):
                table = responses[first : first + step].toarray()
                observed -= table.T @ table
        return observed, complete

    def table(self, values: FloatArray) -> Any:
        """Return Σ_k values_uk g_uk as a sparse table, annotators by unknowns."""
        sparse = sparse_of(values)
        rows, by_row = self.rows, self.rows.per_row(values).T
        shape, total = (rows.n_annotators, len(rows)), None
        every, starts = (
            np.asarray(each, like=values) for each in (np.arange(len(rows)), rows.starts)
        )
        for name, channel in self._channels.items():
            flow = (by_row * self.responses[name]).sum(axis=0)
            part = sparse.csr_matrix((flow, every, starts), shape=shape) @ channel.matrix
            total = part if total is None else total + part
        if self.means:
            of_means = [(values * mean.responses).sum(axis=1) for mean in self.means]
            total = sparse.hstack([total, sparse.csr_matrix(np.stack(of_means, axis=1))])
        return sparse.csr_matrix(total)

    def forms(
        self, values: FloatArray, covariance: FloatArray, along: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return b'Cb and b'x of each annotator, b = Σ_k values_uk g_uk.

        C is a matrix, or a vector: its diagonal.
        """
        responses = self.table(values)
        if covariance.ndim == 1:
            squared = responses.power(2) @ covariance
        else:
            squared = np.ravel(responses.multiply(responses @ covariance).sum(axis=1))
        return squared, responses @ along

    def _curvature(self, one: str, two: str) -> FloatArray:
        return self.curvature[(one, two) if (one, two) in self.curvature else (two, one)]


def _weighted_product(one: Channel, flow: FloatArray, two: Channel) -> FloatArray:
    """Return Z1' diag(flow) Z2 as a matrix."""
    size, total = one.size * two.size, np.zeros(one.size * two.size, like=flow)
    for a in range(one.columns.shape[1]):
        for b in range(two.columns.shape[1]):
            place = one.columns[:, a].astype(np.int64) * two.size + two.columns[:, b]
            factor = one.factors[..., a] * two.factors[..., b]
            total += np.bincount(place, factor * flow, size)
    return total.reshape(one.size, two.size)
