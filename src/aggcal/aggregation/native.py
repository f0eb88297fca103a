"""The rules for annotators, and the sums of a tape, by compiled kernels.

`annotators` and `tape` are the reference. The kernels (``stage1.h``) run where the rows lie: on
processors they are part of the library (``stage1.cpp``), for a GPU CuPy compiles them when they are
needed (``stage1.cu``). Responses by rows are kept in float32, a block for each annotator, and of
the second half of the nodes only for those who may be reversed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import pairwise, product
from math import log
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, SingleArray, on_gpu
from aggcal._core.kernels import library
from aggcal._core.kernels.stage1 import launch, lying
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
from aggcal.aggregation.tape import Tape
from aggcal.registry import LAPLACE_NOISE, LOGISTIC, NORMAL

_PARAMETERS = (RELIABILITY, POSITION, READINESS, STANCE)
_CHANNELS = (GAP, AXIS, TIE)
_PAIRS = ((GAP, GAP), (GAP, AXIS), (AXIS, AXIS), (GAP, TIE), (AXIS, TIE), (TIE, TIE))
_DAVIDSON, _THREE_GRADES = 1, 3
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
_SCRATCH = 1 << 28
"""Numbers that a GPU works on at once: 2 GB."""


def _members(channel: Channel | None) -> list[Any]:
    """Return a channel as the kernels see it: columns, factors, and their widths."""
    if channel is None:
        return [0] * 4
    factors = None if channel.is_difference else channel.factors
    width = channel.columns.shape[1]
    return [channel.columns, factors, width, 0 if channel.factors.ndim == 1 else width]


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
        rows, each = self.rows, np.arange(self._mixing.shape[1])[:, None]
        blocks: Any = self._blocks
        starts, sizes = self._starts, lying(rows.sizes, self._mixing)
        row = lying(np.arange(len(rows)), starts) - rows.per_row(starts[:-1])
        of_node = lying(each, starts) * rows.per_row(sizes)
        where = rows.per_row(blocks[:-1]) + row + of_node
        stored = where < rows.per_row(blocks[1:])
        return {
            name: np.where(stored, block[np.where(stored, where, 0)], np.float32(0))
            for name, block in self._block_responses.items()
        }

    @cached_property
    def score(self) -> dict[str, FloatArray]:  # type: ignore[override]
        """Gradient of the value in each channel, by row."""
        if self._scores is not None:
            return {GAP: self._scores}
        return {name: -self._flow(name, self._mixing) for name in self._block_responses}

    @cached_property
    def _starts(self) -> Any:
        return lying(self.rows.starts, self._mixing)

    def _run(self, kernel: str, channel: str | None = None, **values: Any) -> None:
        """Run a kernel with responses through one channel, or all."""
        names = list(self._block_responses) if channel is None else [channel]
        channels, (m, nodes) = self.rows.channels, self._mixing.shape
        of_tape = {
            "m": m, "nodes": nodes, "starts": self._starts, "blocks": self._blocks,
            "channels": len(names), "weights": self._mixing, "centred": int(self._scores is None),
            "channel": [member for name in names for member in _members(channels[name])],
            "pulls": [self._block_responses[name] for name in names], "size": self.size,
            "curves": [self._curvature(*pair) for pair in product(names, repeat=2)],
            "means": len(self.means),
        }  # fmt: skip
        launch(kernel, "sums", self._mixing, **of_tape | values)

    def _kernel(self, name: str) -> str:
        return f"sums<{name}_of<Block>>" if on_gpu(self._mixing) else name

    def _empty(self, *shape: int) -> Any:
        return np.zeros(shape, like=self._mixing)

    def _flow(self, name: str, values: FloatArray) -> FloatArray:
        """Return Σ_k values_uk responses_k of each row, through a channel."""
        flow: FloatArray = self._empty(len(self.rows))
        self._run(self._kernel("flow"), name, values=values, out=flow)
        return flow

    def _gathered(self, values: FloatArray | None) -> tuple[FloatArray, ...]:
        """Return the gradient, Σ_u Σ_k values_uk g_uk, and both diagonals, of one pass."""
        total = self._empty(self.size, 4)
        for name in self._block_responses:
            self._run(self._kernel("sums"), name, values=values, force=self._scores, out=total)
        gradient, weighted, complete, missing = total.T.copy()
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
        total: FloatArray = self._empty(self.size)
        responses = np.zeros_like(self._mixing)
        for mean in self.means:
            responses += mean.responses * vector[mean.index]
        self._run(self._kernel("product"), vector=vector, more=responses, out=total)
        for mean in self.means:
            complete = mean.curvature * vector[mean.index]
            total[mean.index] = complete + float((responses * mean.responses).sum())
        return total

    def dense(self) -> tuple[FloatArray, FloatArray]:
        """Return the observed and the complete information as matrices."""
        both, means = self._empty(2, self.size, self.size), self.means
        complete, missing = both
        if on_gpu(both):
            self._run(self._kernel("complete"), out=complete)
            self._add_missing(missing)
        else:
            extra = np.stack([mean.responses for mean in means], axis=2) if means else None
            self._run("dense", extra=extra, out=both)
            missing += missing.T
            np.fill_diagonal(missing, 0.5 * missing.diagonal())
        for mean in means:
            complete[mean.index, mean.index] = mean.curvature
        return complete - missing, complete

    def _add_missing(self, missing: FloatArray) -> None:
        """Add the missing information, by tables of annotators by nodes by unknowns."""
        m, nodes = self._mixing.shape
        step = max(_SCRATCH // (nodes * self.size), 1)
        for first, end in pairwise([*range(0, m, step), m]):
            table, weights = self._empty(end - first, nodes, self.size), self._mixing[first:end]
            lies = {"starts": self._starts[first:], "blocks": self._blocks[first:]}
            self._run("responses", m=end - first, out=table, **lies)
            for mean in self.means:
                table[:, :, mean.index] = mean.responses[first:end]
            if self._scores is None:
                table -= (weights[:, :, None] * table).sum(axis=1, keepdims=True)
            flat = (np.sqrt(weights)[:, :, None] * table).reshape(-1, self.size)
            missing += flat.T @ flat

    def forms(
        self, values: FloatArray, covariance: FloatArray, along: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return b'Cb and b'x of each annotator, b = Σ_k values_uk g_uk."""
        m, means = self.rows.n_annotators, self.means
        square, along_each, extra = self._empty(m), self._empty(m), self._empty(m, len(means))
        for k, mean in enumerate(means):
            extra[:, k] = (values * mean.responses).sum(axis=1)
        matrix = covariance.ndim > 1
        room = self.size * (3 if matrix else 1)  # of a team
        teams = min(m, max(_SCRATCH // room, 1)) if on_gpu(square) else 0
        self._run(
            "forms", teams=teams, values=values, covariance=covariance,
            covariance_size=self.size if matrix else 0, vector=along, extra=extra,
            scratch=self._empty(teams * room), out=square, more=along_each,
        )  # fmt: skip
        return square, along_each


class NativeAnnotators(Annotators):
    """`Annotators` who are integrated out, maximised over or alike by compiled kernels.

    What the kernels do not have (other families, and the expected information) is the reference's.
    """

    _looked_at: Any = None
    """The modes, annotators by halves by parameters, which kernels move."""
    _values: Any
    """Of each annotator, that of the last tape: minus the log evidence, or the loss at the mode."""

    @cached_property
    def _like(self) -> Any:
        return self.rows.answers.weight

    def _starting(self, prior: Prior, signs: tuple[float, ...]) -> Any:
        """Return where to look for the modes."""
        if self._looked_at is None or self._looked_at.shape[1] != len(signs):
            first = [prior.first(self.family.names, sign) for sign in signs]
            self._looked_at = np.stack([lying(each, self._like) for each in first], axis=1)
        return self._looked_at

    def restart(self) -> None:
        """Forget the modes."""
        self._looked_at = None

    def _solve(
        self,
        rows: Rows,
        law: int,
        blocks: Any,
        *of_tape: Any,
        floats: bool = False,
        **values: Any,
    ) -> NativeTape:
        """Run the kernel; return a tape of the sum of the annotators' values."""
        like, family, m, n = self._like, self.family, rows.n_annotators, len(rows)
        channels = [rows.channels[name] if name in family.channels else None for name in _CHANNELS]
        of_each, size = np.empty(m, like=like), int(blocks[-1])
        responses = {name: np.zeros(size, np.float32, like=like) for name in family.channels}
        pairs = [pair for pair in _PAIRS if {*pair} <= {*responses}]
        curvature = {pair: np.empty(n, np.float32, like=like) for pair in pairs}
        rich = AXIS in responses or TIE in responses or _DAVIDSON < law <= _THREE_GRADES
        kernel, room, floats = "annotators", None, floats and law <= _DAVIDSON
        if on_gpu(like):
            kernel += f"<{law}, {str(rich).lower()}, {'float' if floats else 'double'}>"
            room = np.empty((3 if rich else 1) * size, np.float32, like=like)
        launch(
            kernel, "annotators", like, law, rich, floats, m=m, starts=rows.starts, blocks=blocks,
            channels=[member for channel in channels for member in _members(channel)],
            pulls=[responses.get(name) for name in _CHANNELS], values=of_each, curvatures=room,
            curves=[curvature.get(pair) for pair in _PAIRS], **rows.answers._asdict(), **values,
        )  # fmt: skip
        self._values = of_each if "theta" in values else -of_each
        return NativeTape(rows, float(self._values.sum()), curvature, blocks, responses, *of_tape)

    def maximised(self, unknowns: FloatArray, prior: Prior, close: float = 1e-20) -> Tape:
        """Each θ_u is at its mode: the profile of the likelihood in the unknowns."""
        law = _law(self.family)
        if law is None or self.family.names != (RELIABILITY,) or self.family.channels != (GAP,):
            return super().maximised(unknowns, prior, close)
        assert isinstance(prior, Normal)  # noqa: S101  # as the family says
        modes = self._starting(prior, (1.0,))
        return self._at_modes(self.rows, unknowns, prior, law[0], modes, close)

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
        same = np.zeros(rows.n_annotators, like=self._like) + 1.0
        means = (same if reliabilities is None else reliabilities)[:, None]
        held = Normal(means, np.array([_HELD]))
        return self._at_modes(rows, unknowns, held, law[0], means.copy(), np.inf)

    @cached_property
    def _pieces(self) -> Rows:
        n = len(self.rows)
        return replace(self.rows, starts=np.append(np.arange(0, n, _PIECE), n))

    def _at_modes(  # noqa: PLR0917
        self, rows: Rows, unknowns: FloatArray, prior: Normal, law: int, modes: Any, close: float
    ) -> Tape:
        """Maximise over reliabilities, looked for at ``modes``, which move to the next ones."""
        like, m = self._like, rows.n_annotators
        self.theta, inverse = np.empty((m, 1), like=like), np.empty((m, 1), like=like)
        scores = np.empty(len(rows), like=like)
        return self._solve(
            rows, law, lying(rows.starts, like), inverse, scores, unknowns=unknowns,
            largest_sd=np.inf, grades=np.zeros(_GRADES), role=np.array([0, -1, -1, -1]),
            parameters=1, halves=1, means=prior.means, sds=prior.sds, close=close, modes=modes,
            theta=self.theta, inverse=inverse, force=scores,
        )  # fmt: skip

    def integrated(self, point: Point) -> tuple[Tape, Posterior]:
        """Integrate θ_u out by cubature about its mode, for either sign where some are reversed."""
        self._weigh(point.grades)
        rows, names, prior, law = self.rows, self.family.names, point.prior, _law(self.family)
        if law is None:
            return super().integrated(point)
        if isinstance(prior, Normal):
            of_prior = prior.means, prior.sds
        else:
            of_prior = np.array([prior.a, prior.b]), np.array(self.bounds)
        (points, point_weights), like, m = self.rule, self._like, rows.n_annotators
        share, each, upright = point.reversed_share, len(points), point.upright
        signs = (1.0,) if share is None else (1.0, -1.0)
        halves, p = len(signs), len(names)
        nodes = np.zeros((m, halves * each, p), like=like)
        weights = np.zeros((m, halves * each), like=like)
        looked = np.zeros(m, np.int64, like=like) + halves * each
        if upright is not None:
            looked[upright] = each
        blocks = np.zeros(m + 1, dtype=np.int64, like=like)
        blocks[1:] = np.cumsum(looked * lying(rows.sizes, like))
        tape = self._solve(
            rows, law[0], blocks, weights, unknowns=point.unknowns, covariance=point.covariance,
            floats=len(rows) >= _MANY_ROWS and point.close >= _NEAR,
            covariance_size=0 if point.covariance.ndim == 1 else len(point.covariance),
            largest_sd=float(point.largest_gap_sd), grades=law[1],
            role=np.array([names.index(name) if name in names else -1 for name in _PARAMETERS]),
            parameters=p, halves=halves, points=points, log_weights=np.log(point_weights),
            each=each, means=of_prior[0], sds=of_prior[1],
            log_shares=np.array([0.0 if share is None else log(1.0 - share), log(share or 0.5)]),
            upright=None if upright is None else upright.astype(np.uint8),
            close=float(point.close), modes=self._starting(prior, signs), nodes=nodes,
            weights=weights,
        )  # fmt: skip
        return tape, Posterior(names, nodes, weights, -self._values, halves)


def _law(family: Family) -> tuple[int, FloatArray] | None:
    """Return the number of a law, and the weights of ties and further grades; None if unknown.

    Of a mixture it is the inverse of its width.
    """
    if isinstance(family, Mixture):
        inverse = np.array([1.0 / family.width, 0.0, 0.0])
        number = _MIXTURES.get(family.link.name) if family.logit else None
        return None if number is None else (number, inverse)
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
    compiled = _law(family) is not None and (on_gpu(rows.answers.weight) or library() is not None)
    return (NativeAnnotators if compiled else Annotators)(rows, family, bounds)
