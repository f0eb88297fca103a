"""The rules for annotators, and the sums of a tape, by compiled kernels (``stage1.cpp``).

`annotators` and `tape` are the reference. Responses by rows are kept in float32, a block
for each annotator, and of the second half of the nodes only for those who may be reversed.
"""

from __future__ import annotations

import ctypes
from dataclasses import replace
from functools import cached_property
from itertools import product
from math import log
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, SingleArray
from aggcal._core.kernels import library
from aggcal._core.machine import cores
from aggcal.aggregation.annotators import Annotators, Normal, Point, Posterior, Prior
from aggcal.aggregation.families import (
    POSITION,
    READINESS,
    RELIABILITY,
    STANCE,
    Adjacent,
    Advantage,
    Family,
    Mixture,
    Wins,
)
from aggcal.aggregation.rows import AXIS, GAP, TIE, Channel, Rows
from aggcal.aggregation.tape import Mean, Tape
from aggcal.registry import LAPLACE_NOISE, LOGISTIC, NORMAL

_PARAMETERS = (RELIABILITY, POSITION, READINESS, STANCE)
_CHANNELS = (GAP, AXIS, TIE)
_PAIRS = ((GAP, GAP), (GAP, AXIS), (AXIS, AXIS), (GAP, TIE), (AXIS, TIE), (TIE, TIE))
_VALUED = ("integrate", "maximise")
"""Kernels that return a number."""
_DAVIDSON = 1
_GRADES = 3
"""Most grades of an answer that the kernels have."""
_LINKS: dict[str, int] = {LOGISTIC.name: 0, NORMAL.name: 4, LAPLACE_NOISE.name: 5}
_MIXTURES: dict[str, int] = {LOGISTIC.name: 6, NORMAL.name: 7}
_PIECE = 2048
"""Rows of annotators who are alike that are summed in one go: they stay in the cache."""
_HELD = 1e-12
"""Standard deviation of a reliability that is known: next to none."""
_MANY_ROWS, _NEAR = 10_000, 1e-9
"""From how many rows on, and up to which accuracy of the modes, float32 is worked in: it saves time
that is felt, and its rounding shows in the seventh digit."""


def _call(name: str, *arguments: Any) -> float:
    """Call a kernel with integers, numbers, arrays in one piece, lists of arrays, and None."""
    kernel = getattr(library(), f"stage1_{name}")
    kernel.restype = ctypes.c_double if name in _VALUED else None
    return kernel(*map(_converted, arguments))  # type: ignore[no-any-return]


def _converted(argument: Any) -> Any:
    if isinstance(argument, int):
        return ctypes.c_int64(argument)
    if isinstance(argument, float):
        return ctypes.c_double(argument)
    if isinstance(argument, list):
        return (ctypes.c_void_p * len(argument))(*map(_address, argument))
    return ctypes.c_void_p(_address(argument))


def _address(array: np.ndarray | None) -> int | None:
    if array is None:
        return None
    assert array.flags.c_contiguous  # noqa: S101  # kernels know no strides
    return array.ctypes.data


def _doubles(values: FloatArray) -> FloatArray:
    return np.ascontiguousarray(values, dtype=np.float64)


class _Channels:
    """Channels as the kernels see them: pointers to columns and factors, and their widths."""

    def __init__(self, channels: list[Channel | None]) -> None:
        self._kept = []
        self.table = np.zeros((len(channels), 4), dtype=np.int64)
        for row, channel in zip(self.table, channels, strict=True):
            if channel is None:
                continue
            columns = np.ascontiguousarray(channel.columns, dtype=np.int32)
            factors = None if channel.is_difference else _doubles(channel.factors)
            width = columns.shape[1]
            stride = 0 if channel.factors.ndim == 1 else width
            row[:] = columns.ctypes.data, _address(factors) or 0, width, stride
            self._kept += [columns, factors]  # the table does not keep them


class NativeTape(Tape):
    """A tape whose sums over rows are compiled.

    Parameters
    ----------
    rows, value, curvature
        As of a tape.
    blocks
        Where the responses of each annotator begin.
    responses
        Through each channel, of each annotator nodes by rows; of the second half of the nodes only
        where the block has room for it.
    weights
        Probabilities of the nodes, annotators by nodes; or, where ``scores`` are given, inverse
        curvatures in the one parameter, which was maximised.
    scores
        Gradient of the value by row; where annotators are integrated out, it follows from these.
    """

    def __init__(  # noqa: PLR0917  # as many as a tape has
        self,
        rows: Rows,
        value: float,
        curvature: dict[tuple[str, str], Any],
        blocks: IntArray,
        responses: dict[str, SingleArray],
        weights: FloatArray,
        scores: FloatArray | None = None,
    ) -> None:
        self.rows, self.value, self.curvature, self.means = rows, value, curvature, []
        self.weights = weights if scores is None else None
        self.inverse_root = None if scores is None else np.sqrt(weights)[:, :, None]
        self._blocks, self._block_responses, self._mixing = blocks, responses, weights
        self._scores = scores

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.rows)} rows)"

    @cached_property
    def responses(self) -> dict[str, Any]:  # type: ignore[override]
        """Responses through each channel, responses by rows."""
        rows, tables = self.rows, dict[str, SingleArray]()
        for name, block in self._block_responses.items():
            table = np.zeros((self._mixing.shape[1], len(rows)), dtype=np.float32)
            for u, (begin, end) in enumerate(zip(rows.starts[:-1], rows.starts[1:], strict=True)):
                part = block[self._blocks[u] : self._blocks[u + 1]].reshape(-1, end - begin)
                table[: len(part), begin:end] = part
            tables[name] = table
        return tables

    @cached_property
    def score(self) -> dict[str, FloatArray]:  # type: ignore[override]
        """Gradient of the value in each channel, by row."""
        if self._scores is not None:
            return {GAP: self._scores}
        return {name: -self._flow(name, self._mixing) for name in self._block_responses}

    @cached_property
    def _channels(self) -> dict[str, Channel]:
        return {name: self.rows.channels[name] for name in self._block_responses}

    @cached_property
    def _tables(self) -> dict[str, _Channels]:
        return {name: _Channels([channel]) for name, channel in self._channels.items()}

    @cached_property
    def _all(self) -> _Channels:
        return _Channels(list(self._channels.values()))

    def _arguments(self, name: str | None = None) -> tuple[Any, ...]:
        """Return what the kernels take first: the responses through one channel, or all."""
        channels = self._all if name is None else self._tables[name]
        responses = (
            list(self._block_responses.values()) if name is None else [self._block_responses[name]]
        )
        (m, nodes), starts = self._mixing.shape, self.rows.starts
        tables = starts, self._blocks, len(responses), channels.table, responses, self._mixing
        return cores(), m, nodes, *tables, int(self._scores is None)

    def _curvatures(self) -> list[Any]:
        return [self._curvature(one, two) for one, two in product(self._channels, repeat=2)]

    def _by_index(self) -> list[Mean]:
        """Return the unknown means in the order of the last unknowns, which they are."""
        return sorted(self.means, key=lambda mean: mean.index)

    def _flow(self, name: str, values: FloatArray) -> FloatArray:
        """Return Σ_k values_uk responses_k of each row, through a channel."""
        flow = np.zeros(len(self.rows))
        _call("flow", *self._arguments(name), _doubles(values), flow)
        return flow

    def _gathered(self, values: FloatArray | None) -> tuple[FloatArray, ...]:
        """Return the gradient, Σ_u Σ_k values_uk g_uk, and both diagonals, of one pass."""
        total = np.zeros((self.size, 4))
        toward = None if values is None else _doubles(values)
        for name in self._channels:
            curvature = self._curvature(name, name)
            rest = self._scores, curvature, toward, self.size, total
            _call("sums", *self._arguments(name), *rest)
        gradient, weighted, complete, missing = np.ascontiguousarray(total.T)
        for mean in self.means:
            gradient[mean.index] = float(mean.score.sum())
            complete[mean.index] = mean.curvature
            missing[mean.index] = float((self._mix(mean.responses) * mean.responses).sum())
            if values is not None:
                weighted[mean.index] = float((values * mean.responses).sum())
        return gradient, weighted, complete, missing

    @cached_property
    def _sums(self) -> tuple[FloatArray, ...]:
        return self._gathered(None)

    @property
    def gradient(self) -> FloatArray:
        """Of the value."""
        return self._sums[0]

    def diagonals(self) -> tuple[FloatArray, FloatArray]:
        """Return the diagonals of the complete and of the missing information."""
        return self._sums[2].copy(), self._sums[3].copy()

    def weighted(self, values: FloatArray) -> FloatArray:
        """Return Σ_u Σ_k values_uk g_uk; asked for first, it takes no pass of its own."""
        sums = self._gathered(values)
        self.__dict__.setdefault("_sums", sums)
        return sums[1]

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply by the observed information."""
        total, responses = np.zeros(self.size), np.zeros_like(self._mixing)
        for mean in self.means:
            responses += mean.responses * vector[mean.index]
        rest = self._curvatures(), _doubles(vector), responses, self.size, total
        _call("product", *self._arguments(), *rest)
        for mean in self.means:
            complete = mean.curvature * vector[mean.index]
            total[mean.index] = complete + float((responses * mean.responses).sum())
        return total

    def dense(self) -> tuple[FloatArray, FloatArray]:
        """Return the observed and the complete information as matrices."""
        both = np.zeros((2, self.size, self.size))
        means = self._by_index()
        extra = np.stack([mean.responses for mean in means], axis=2) if means else None
        rest = self._curvatures(), self.size, len(means), extra, both
        _call("dense", *self._arguments(), *rest)
        complete, missing = both
        for mean in means:
            complete[mean.index, mean.index] = mean.curvature
        missing += missing.T
        np.fill_diagonal(missing, 0.5 * missing.diagonal())
        return complete - missing, complete

    def forms(
        self, values: FloatArray, covariance: FloatArray, along: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return b'Cb and b'x of each annotator, b = Σ_k values_uk g_uk."""
        m, means = self.rows.n_annotators, self._by_index()
        extra = np.zeros((m, len(means)))
        for k, mean in enumerate(means):
            extra[:, k] = (values * mean.responses).sum(axis=1)
        square, along_each = np.zeros(m), np.zeros(m)
        matrix = 0 if covariance.ndim == 1 else self.size
        rest = _doubles(values), _doubles(covariance), matrix, _doubles(along), self.size
        _call("forms", *self._arguments(), *rest, len(means), extra, square, along_each)
        return square, along_each


class NativeAnnotators(Annotators):
    """`Annotators` who are integrated out, maximised over or alike by compiled kernels.

    What the kernels do not have (other families, and the expected information) is the reference's.
    """

    def __init__(self, rows: Rows, family: Family, bounds: tuple[float, float]) -> None:
        super().__init__(rows, family, bounds)
        self._starts: FloatArray | None = None
        """Where to look for the modes: annotators by halves by parameters."""

    def restart(self) -> None:
        """Forget the modes."""
        super().restart()
        self._starts = None

    def rescale(self, factor: float) -> None:
        """Look for the modes where they are when gaps are multiplied by a factor."""
        super().rescale(factor)
        if self._starts is not None and RELIABILITY in self.family.names:
            self._starts[:, :, self.family.names.index(RELIABILITY)] /= factor

    @cached_property
    def _table(self) -> _Channels:
        used = self.family.channels
        return _Channels([self.rows.channels[name] if name in used else None for name in _CHANNELS])

    @cached_property
    def _answers(self) -> tuple[FloatArray, ...]:
        return tuple(_doubles(part) for part in self.rows.answers)

    def maximised(self, unknowns: FloatArray, prior: Prior, close: float = 1e-20) -> Tape:
        """Each θ_u is at its mode: the profile of the likelihood in the unknowns."""
        law = _law(self.family)
        if law is None or self.family.names != (RELIABILITY,) or self.family.channels != (GAP,):
            return super().maximised(unknowns, prior, close)
        assert isinstance(prior, Normal)  # noqa: S101  # as the family says
        if 1.0 not in self._modes:
            self._modes[1.0] = prior.first(self.family.names, 1.0)
        return self._at_modes(self.rows, unknowns, prior, law[0], self._modes[1.0], close)

    def alike(
        self,
        unknowns: FloatArray,
        grades: tuple[float, ...] | None = None,
        reliabilities: FloatArray | None = None,
    ) -> Tape:
        """Everybody has γ = 1 (or a known one) and nothing of their own."""
        family, law = self.family, _law(self.family)
        wins = isinstance(family, Advantage) and isinstance(family.law, Wins) and not family.names
        if law is None or not wins:
            return super().alike(unknowns, grades, reliabilities)
        # Reliabilities whose priors hold them where they are, whatever is maximised. Where all have
        # the same, rows may be cut anywhere.
        rows = self._pieces if reliabilities is None else self.rows
        means = np.ones(rows.n_annotators) if reliabilities is None else reliabilities
        held = Normal(means[:, None], np.array([_HELD]))
        return self._at_modes(rows, unknowns, held, law[0], np.array(held.means), np.inf)

    @cached_property
    def _pieces(self) -> Rows:
        n = len(self.rows)
        return replace(self.rows, starts=np.append(np.arange(0, n, _PIECE), n))

    def _at_modes(  # noqa: PLR0917
        self,
        rows: Rows,
        unknowns: FloatArray,
        prior: Normal,
        law: int,
        modes: FloatArray,
        close: float,
    ) -> Tape:
        """Maximise over reliabilities, looked for at ``modes``, which move to the next ones."""
        m, n = rows.n_annotators, len(rows)
        theta, inverse, scores = np.empty((m, 1)), np.empty((m, 1)), np.empty(n)
        responses, curvature = np.empty(n, dtype=np.float32), np.empty(n, dtype=np.float32)
        value = _call(
            "maximise", cores(), m, rows.starts, self._table.table, _doubles(unknowns),
            *self._answers, law, _doubles(prior.means), _doubles(prior.sds), close,
            modes, theta, inverse, scores, responses, curvature,
        )  # fmt: skip
        self.theta = theta
        curvatures = {(GAP, GAP): curvature}
        return NativeTape(rows, value, curvatures, rows.starts, {GAP: responses}, inverse, scores)

    def integrated(self, point: Point) -> tuple[Tape, Posterior]:
        """Integrate θ_u out by cubature about its mode, for either sign where some are reversed."""
        self._weigh(point.grades)
        rows, names, prior, law = self.rows, self.family.names, point.prior, _law(self.family)
        if law is None:
            return super().integrated(point)
        if isinstance(prior, Normal):
            of_prior = _doubles(prior.means), _doubles(prior.sds)
        else:
            of_prior = np.array([prior.a, prior.b]), np.array(self.bounds)
        points, point_weights = self.rule
        share, m, n, p = point.reversed_share, rows.n_annotators, len(rows), len(names)
        halves, each = 1 if share is None else 2, len(points)
        if self._starts is None or self._starts.shape[1] != halves:
            signs = (1.0, -1.0)[:halves]
            self._starts = np.stack([prior.first(names, sign) for sign in signs], axis=1)
        nodes, weights = np.zeros((m, halves * each, p)), np.zeros((m, halves * each))
        upright = None if point.upright is None else np.ascontiguousarray(point.upright, np.uint8)
        looked = np.full(m, halves * each)
        if upright is not None:
            looked[point.upright] = each
        blocks = np.concatenate([[0], np.cumsum(looked * rows.sizes)])
        responses = {name: np.zeros(blocks[-1], dtype=np.float32) for name in self.family.channels}
        curvature = {
            pair: np.empty(n, dtype=np.float32) for pair in _PAIRS if {*pair} <= {*responses}
        }
        log_shares = np.array([0.0 if share is None else log(1.0 - share), log(share or 0.5)])
        floats = n >= _MANY_ROWS and point.close >= _NEAR
        evidence = _call(
            "integrate", cores(), m, rows.starts, blocks, self._table.table,
            _doubles(point.unknowns), _doubles(point.covariance),
            0 if point.covariance.ndim == 1 else len(point.covariance),
            float(point.largest_gap_sd), *self._answers, *law,
            np.array([names.index(name) if name in names else -1 for name in _PARAMETERS]),
            p, halves, _doubles(points), np.log(point_weights), each, *of_prior, log_shares,
            upright, float(point.close), int(floats), self._starts, nodes, weights,
            [responses.get(name) for name in _CHANNELS], [curvature.get(pair) for pair in _PAIRS],
        )  # fmt: skip
        posterior = Posterior(names, nodes, weights, evidence, halves)
        return NativeTape(rows, -evidence, curvature, blocks, responses, weights), posterior


def _law(family: Family) -> tuple[int, FloatArray] | None:
    """Return the number of a law, and the weights of ties and further grades; None if unknown.

    Of a mixture it is the inverse of its width.
    """
    if isinstance(family, Mixture):
        known = family.logit and family.link.name in _MIXTURES
        return (
            (_MIXTURES[family.link.name], np.array([1.0 / family.width, 0.0, 0.0]))
            if known
            else None
        )
    law = family.law
    ties, weights = READINESS in family.names or TIE in family.channels, np.zeros(_GRADES)
    if isinstance(law, Wins):
        simple = family.channels == (GAP,) and not ties
        return (_LINKS[law.link.name], weights) if simple else None
    if not isinstance(law, Adjacent) or len(law.grades) > _GRADES or law.grades[0] != 1.0:
        return None
    weights[0], weights[1 : len(law.grades)] = float(ties), law.grades[1:]
    simple = len(law.grades) == 1 and not ties
    return (_LINKS[LOGISTIC.name] if simple else _DAVIDSON + len(law.grades) - 1), weights


def annotators_of(
    rows: Rows, family: Family, bounds: tuple[float, float] = (-np.inf, np.inf)
) -> Annotators:
    """Return what disposes of the annotators of some rows, compiled where kernels know the law.

    Parameters
    ----------
    rows
        What they answered.
    family
        The likelihood.
    bounds
        Between which parameters are looked for.
    """
    here = isinstance(rows.answers.weight, np.ndarray)  # or on a GPU
    if library() is None or not here or _law(family) is None:
        return Annotators(rows, family, bounds)
    return NativeAnnotators(rows, family, bounds)
