r"""What is known of each annotator at given scores: reliability, position, readiness, stance.

    η = γ m + p + f a,   γ = ± ρ,   (ρ, p, ν, f) ~ N(μ, diag(sd²))

Each annotator's parameters are integrated out by cubature about their mode, for either sign of γ:
a central point and two on each axis, exact for the variances of a normal posterior. With one
parameter it is the Gauss–Hermite rule of `models.marginal`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Any, NamedTuple

import numpy as np

from aggcal._core.arrays import BoolArray, CodeArray, FloatArray
from aggcal._core.kernels.threads import each_range, even
from aggcal._core.text import brief
from aggcal.models.general.outcomes import Outcomes, RowTerms
from aggcal.models.general.rows import GeneralRows
from aggcal.models.quadrature import GAP_WEIGHTS, GAPS

RELIABILITY, POSITION, READINESS, STANCE = "reliability", "position", "readiness", "stance"
GAP, AXIS, TIE = "gap", "axis", "tie"
"""Channels through which unknowns move a row: m, a, and the readiness of its context."""
_STEPS = 60
"""Newton steps in search of a mode: far more than any annotator took."""
_LONGEST = 1.0
"""Largest change of a parameter in a step: logistic losses are nearly straight beyond it."""
_HALVINGS = 30
"""How often a step is halved at most: it is then next to nothing."""
_LEAST_SPREAD = 3.0
"""Squared distance of the outer points, in standard deviations: that of Gauss and Hermite. More
parameters than that need a larger one, or the central weight would be negative."""
_CLEARLY = 3.0
"""Standard deviations by which the strength of a reversed annotator must be negative to say that
they are not reversed: less would matter to the estimates, more would let two wrongs make a right
where the unit shifts the prior of an annotator who gave a large share of the judgments."""
_MANY_NODES, _FEWEST = 1 << 16, 2_000
"""Nodes of all annotators from which their means are taken in threads, and annotators of each."""
_LIKELY = 2.0
"""Largest reliability at which modes are looked for first: steps towards them are short."""


class Pairs(NamedTuple):
    """What the gaps of rows are made of, where each is a difference of two unknowns."""

    columns: CodeArray
    """Rows by two: the unknowns."""
    unknowns: FloatArray
    variances: FloatArray
    """Of the unknowns."""
    cap: float
    """Largest sd of a gap."""


@dataclass(frozen=True, eq=False)
class Point:
    """Where the annotators are integrated out."""

    gaps: FloatArray
    row_sd: FloatArray
    """Empty, as the gaps, where `pairs` says what they are made of."""
    means: FloatArray
    """Prior means, annotators by parameters."""
    sds: FloatArray
    log_shares: tuple[float, float]
    """Logarithms of the shares of those who answer as asked, and the other way round."""
    axis: FloatArray | None = None
    """v_i − v_j of each row, where annotators have a stance."""
    offset: FloatArray | None = None
    """What its context adds to each row's readiness to tie."""
    grades: FloatArray | None = None
    """exp(κ_g)."""
    hopeless: BoolArray | None = None
    """Annotators who are certainly not reversed."""
    close: float = 1e-10
    """Squared Newton step, over the variance, at which a mode is near enough."""
    pairs: Pairs | None = None


@dataclass(frozen=True, eq=False)
class Known:
    """The posterior of every annotator's parameters: nodes, and their probabilities."""

    names: tuple[str, ...]
    nodes: FloatArray
    """Annotators by nodes by parameters; a reliability has its sign."""
    strengths: FloatArray
    """Reliabilities without their sign, annotators by nodes."""
    weights: FloatArray
    log_evidence: float

    __repr__ = brief

    def of(self, name: str) -> FloatArray:
        """Return the nodes of a parameter."""
        return np.asarray(self.nodes[:, :, self.names.index(name)])

    def factor(self, channel: str) -> FloatArray:
        """Return what each node multiplies a channel by: the derivative of η in it."""
        name = {GAP: RELIABILITY, AXIS: STANCE}.get(channel)
        return self.of(name) if name in self.names and name else np.ones(self.weights.shape)

    def mean(self, values: FloatArray) -> FloatArray:
        """Return the mean over the nodes."""
        if self.weights.size < _MANY_NODES:
            return np.asarray((self.weights * values).sum(axis=1))
        found = np.empty(len(self.weights))

        def some(begin: int, end: int) -> None:
            found[begin:end] = (self.weights[begin:end] * values[begin:end]).sum(axis=1)

        each_range(some, even(len(found), _FEWEST))
        return found

    def off(self, values: FloatArray) -> FloatArray:
        """Return values less their mean."""
        return values - self.mean(values)[:, None]

    @cached_property
    def reversed(self) -> FloatArray:
        """Posterior probability that the annotator answers the other way round."""
        half = self.weights.shape[1] // 2
        return np.asarray(self.weights[:, half:].sum(axis=1))


def cubature(parameters: int) -> tuple[FloatArray, FloatArray]:
    """Return points about 0 and their weights: exact for normal means and variances.

    Examples
    --------
    >>> points, weights = cubature(2)
    >>> weights.round(3), np.round(points.T * weights @ points, 6)
    (array([0.333, 0.167, 0.167, 0.167, 0.167]), array([[1., 0.],
           [0., 1.]]))
    """
    spread = max(_LEAST_SPREAD, float(parameters))
    axes = np.sqrt(spread) * np.eye(parameters)
    outer = np.concatenate([np.stack([axis, -axis]) for axis in axes])
    weights = np.full(2 * parameters, 0.5 / spread)
    centre = 1.0 - parameters / spread
    if spread > parameters:
        outer = np.concatenate([np.zeros((1, parameters)), outer])
        weights = np.concatenate([[centre], weights])
    return outer, weights


@dataclass(frozen=True, eq=False)
class RowSums:
    """What the nodes pull rows by, and bend them by."""

    pulls: FloatArray
    """Derivative of the log-likelihood in η, nodes by rows."""
    tie_pulls: FloatArray | None
    """In ν, where contexts have a readiness of their own."""
    curves: dict[tuple[str, str], FloatArray]
    """Expected curvature of each pair of channels, by row."""


class Integration:
    """Integrates the annotators' parameters out of the likelihood of some rows."""

    roughly = False
    """Whether compiled sums look for modes by derivatives wherever rows allow it: nodes then lie
    off by some 1e-4 of their distance, which does no harm on the way to an optimum."""

    def __init__(self, rows: GeneralRows, names: tuple[str, ...], outcomes: Outcomes) -> None:
        self.rows, self.names, self.outcomes = rows, names, outcomes
        self.column = {name: k for k, name in enumerate(names)}
        self.points, self.point_weights = cubature(len(names))
        self.signs = (1.0, -1.0) if RELIABILITY in self.column else (1.0,)
        self.modes: FloatArray | None = None
        """Where to look for the modes: annotators by halves by parameters."""
        self.found: Any
        """What the nodes do to the rows: `RowSums`, or what the kernels have in its place."""

    @property
    def n_nodes(self) -> int:
        """Nodes of each annotator."""
        return len(self.signs) * len(self.point_weights)

    def takes_pairs(self, grades: FloatArray) -> bool:  # noqa: ARG002
        """Whether gaps need not be worked out where they are differences of two unknowns."""
        return False

    def restart(self) -> None:
        """Forget where the modes are."""
        self.modes = None

    def rescale(self, factor: float) -> None:
        """Look for the modes where they are when the gaps are multiplied by a factor."""
        if self.modes is not None and RELIABILITY in self.column:
            self.modes[:, :, self.column[RELIABILITY]] /= factor

    def evaluate(self, point: Point) -> Known:
        """Integrate at a point; `found` is then what the nodes do to the rows."""
        rows, m, k, each = self.rows, self.rows.n_annotators, len(self.names), len(self.points)
        modes = self.begin(point) if self.modes is None else self.modes
        nodes, logs = np.zeros((m, self.n_nodes, k)), np.full((m, self.n_nodes), -np.inf)
        looked: list[RowTerms] = []
        precision = point.sds**-2.0
        for half, sign in enumerate(self.signs):
            mode, curvature, modes[:, half] = self._mode(point, sign, modes[:, half].copy())
            root = np.linalg.inv(np.linalg.cholesky(curvature)).transpose(0, 2, 1)
            width = 0.5 * (np.log(precision).sum() - np.linalg.slogdet(curvature)[1])
            for t, (at, weight) in enumerate(zip(self.points, self.point_weights, strict=True)):
                spot = mode + root @ at
                terms = self._averaged(point, sign, spot)
                off = spot - point.means
                prior = 0.5 * (precision * off * off).sum(axis=1)
                logs[:, half * each + t] = (
                    point.log_shares[half] - rows.by_annotator(terms.loss) - prior
                    + log(weight) + 0.5 * float(at @ at) + width
                )  # fmt: skip
                nodes[:, half * each + t] = spot
                looked.append(terms)
            if half:
                logs[self._not_reversed(point, mode, curvature), each:] = -np.inf
                nodes[:, each:, self.column[RELIABILITY]] *= -1.0
        self.modes = modes
        most = logs.max(axis=1, keepdims=True)
        weights = np.where(logs > most - 700.0, np.exp(logs - most), 0.0)
        evidence = float((most[:, 0] + np.log(weights.sum(axis=1))).sum())
        weights /= weights.sum(axis=1, keepdims=True)
        known = self.known(nodes, weights, evidence)
        self.found = self._row_sums(point, known, looked)
        return known

    def known(self, nodes: FloatArray, weights: FloatArray, evidence: float) -> Known:
        """Return what follows from the nodes and their probabilities."""
        strengths = np.ones(weights.shape)
        if RELIABILITY in self.column:
            strengths = nodes[:, :, self.column[RELIABILITY]].copy()
            strengths[:, len(self.points) :] *= -1.0
        return Known(self.names, nodes, strengths, weights, evidence)

    def _row_sums(self, point: Point, known: Known, looked: list[RowTerms]) -> RowSums:
        by_row = self.rows.per_row(known.weights).T
        factor = {channel: self.rows.per_row(known.factor(channel)).T for channel in (GAP, AXIS)}
        curve = np.stack([terms.curve for terms in looked])
        tie_curve, cross = (np.stack([terms[k] for terms in looked]) for k in (4, 5))
        curves = {}
        for one, two in self.pairs(point):
            if one == two == TIE:
                value = tie_curve
            elif two == TIE:
                value = factor[one] * cross
            else:
                value = factor[one] * factor[two] * curve
            curves[one, two] = (by_row * value).sum(axis=0)
        ties = None if point.offset is None else -np.stack([terms.tie_pull for terms in looked])
        return RowSums(-np.stack([terms.pull for terms in looked]), ties, curves)

    def pairs(self, point: Point) -> list[tuple[str, str]]:
        """Return the pairs of channels that rows have a curvature in."""
        axis, ties = point.axis is not None, point.offset is not None
        channels = [GAP, *([AXIS] if axis else []), *([TIE] if ties else [])]
        return [(one, two) for k, one in enumerate(channels) for two in channels[k:]]

    def begin(self, point: Point) -> FloatArray:
        """Return where the search begins: reversed, one would know next to nothing."""
        found = np.repeat(point.means[:, None, :], len(self.signs), axis=1)
        if RELIABILITY in self.column:
            own = found[:, :, self.column[RELIABILITY]]
            # A tilt may put prior means where nobody who has judged much is.
            own[:, 0] = np.clip(own[:, 0], 0.0, _LIKELY)
            own[:, 1] = 0.0
        return found

    def _not_reversed(self, point: Point, mode: FloatArray, curvature: FloatArray) -> BoolArray:
        """Say who is not reversed: were they, their strength would clearly be negative."""
        at = self.column[RELIABILITY]
        none = np.asarray(mode[:, at] < -_CLEARLY / np.sqrt(curvature[:, at, at]))
        return none if point.hopeless is None else none | point.hopeless

    def _advantage(
        self, point: Point, sign: float, gaps: FloatArray, theta: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return η and ν of each row."""
        rows, at = self.rows, self.column
        eta = (
            gaps if RELIABILITY not in at else rows.per_row(sign * theta[:, at[RELIABILITY]]) * gaps
        )
        if POSITION in at:
            eta = eta + rows.per_row(theta[:, at[POSITION]])
        if STANCE in at and point.axis is not None:
            eta = eta + rows.per_row(theta[:, at[STANCE]]) * point.axis
        if READINESS not in at:
            return eta, np.full(len(rows), -np.inf)
        ready = rows.per_row(theta[:, at[READINESS]])
        return eta, ready if point.offset is None else ready + point.offset

    def _grades(self, point: Point) -> FloatArray:
        return np.ones(1) if point.grades is None else point.grades

    def _averaged(self, point: Point, sign: float, theta: FloatArray) -> RowTerms:
        """Return the terms of each row, averaged over its uncertain gap."""
        total: list[FloatArray] | None = None
        for at, share in self._gap_points(point):
            eta, nu = self._advantage(point, sign, point.gaps + at * point.row_sd, theta)
            found = self.outcomes(eta, nu, self.rows.answers, self._grades(point))
            parts = [share * part for part in found]
            total = parts if total is None else [a + b for a, b in zip(total, parts, strict=True)]
        assert total is not None  # noqa: S101  # there is at least one point
        return RowTerms(*total)

    @staticmethod
    def _gap_points(point: Point) -> list[tuple[float, float]]:
        if not point.row_sd.any():
            return [(0.0, 1.0)]
        return list(zip(GAPS.tolist(), GAP_WEIGHTS.tolist(), strict=True))

    def _mode(
        self, point: Point, sign: float, theta: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Find the modes by Newton's method, every annotator with a step length of their own.

        Returns them, the curvature there, and where to look for them the next time.
        """
        precision = point.sds**-2.0
        value, gradient, curvature = self._annotator_terms(point, sign, theta, precision)
        for count in range(_STEPS + 1):
            step = np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]
            fall = (gradient * step).sum(axis=1)
            longest = np.maximum(np.abs(step).max(axis=1), 1e-300)
            step *= np.minimum(1.0, _LONGEST / longest)[:, None]
            far = fall >= point.close
            if not far.any() or count == _STEPS:
                break
            ahead = np.where(far[:, None], step, 0.0)
            for _ in range(_HALVINGS):
                trial = theta - ahead
                found = self._annotator_terms(point, sign, trial, precision)
                worse = found[0] > value + 1e-9 * (1.0 + np.abs(value))
                if not worse.any():
                    break
                ahead[worse] *= 0.5
            theta = trial
            value, gradient, curvature = found
        return theta, curvature, theta - step

    def _annotator_terms(
        self, point: Point, sign: float, theta: FloatArray, precision: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return each annotator's objective, its gradient and its curvature in their parameters."""
        rows, k = self.rows, len(self.names)
        n = len(rows)
        loss, gradient = np.zeros(n), np.zeros((n, k))
        upper = [(a, b) for a in range(k) for b in range(a, k)]
        bends = np.zeros((n, len(upper)))
        for at, share in self._gap_points(point):
            gaps = point.gaps + at * point.row_sd
            eta, nu = self._advantage(point, sign, gaps, theta)
            found = self.outcomes(eta, nu, rows.answers, self._grades(point))
            loss += share * found.loss
            slopes = [self._slope(name, sign, gaps, point) for name in self.names]
            for j, slope in enumerate(slopes):
                gradient[:, j] += share * (found.tie_pull if slope is None else found.pull * slope)
            for c, (a, b) in enumerate(upper):
                bends[:, c] += share * _bend(found, slopes[a], slopes[b])
        off = theta - point.means
        value = rows.by_annotator(loss) + 0.5 * (precision * off * off).sum(axis=1)
        curvature = np.zeros((rows.n_annotators, k, k))
        summed = np.add.reduceat(bends, rows.starts[:-1], axis=0)
        for c, (a, b) in enumerate(upper):
            curvature[:, a, b] = curvature[:, b, a] = summed[:, c]
        curvature[:, np.arange(k), np.arange(k)] += precision
        slope_sums = np.add.reduceat(gradient, rows.starts[:-1], axis=0)
        return value, slope_sums + precision * off, curvature

    @staticmethod
    def _slope(name: str, sign: float, gaps: FloatArray, point: Point) -> FloatArray | float | None:
        """Return the derivative of η in a parameter; None where it is one of ν."""
        if name == RELIABILITY:
            return sign * gaps
        if name == STANCE:
            return point.axis
        return 1.0 if name == POSITION else None


def _bend(
    terms: RowTerms, one: FloatArray | float | None, two: FloatArray | float | None
) -> FloatArray:
    if one is None:
        return terms.tie_curve if two is None else terms.cross * two
    return terms.cross * one if two is None else terms.curve * one * two
