r"""What annotators may be like, given their answers: a slope γ and a share λ of lapses for each.

    P(first above second) = λ/2 + (1 − λ) F(γ gap),   log γ ~ N(μ, σ²),   logit λ ~ N(ν, τ²)

The scores, σ, ν and τ maximise the likelihood of all answers with everybody's γ and λ integrated
out. That matters where people gave few answers each: residuals at anybody's best γ are not 0 on
average, those of a thousand people have a sign in common, and it looks as if they answered alike.
Averages over the posterior are 0, however few answers there are.

The integrals are sums over a grid, so that each pair has a few hundred probabilities that all
annotators share. Who gave many answers has a finer one about where the coarser one leaves them.
μ is fixed: the scores have no scale of their own.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, sums
from aggcal._core.compiled_scipy import expit

if TYPE_CHECKING:
    from scipy import sparse

_STEP, _LAPSE_STEP = 0.35, 0.7
"""Of the coarsest grid, in log γ and in logit λ: finer ones take longer and change no test."""
_SLOPES, _LAPSES = np.arange(-6, 7), np.arange(-9, 4)
"""Its points, in steps: slopes of an eighth to eight times the typical one, lapses of 0.2% to 89%;
more would be of nobody."""
_PER_ANSWER = 0.2
"""What an answer to a pair neither close nor clear tells of log γ: the inverse of a variance."""
_FINEST = 3  # halvings of the steps, for a thousand answers and more: each takes four times as long
_UNLIKELY = 1e-4  # posterior of a point beyond whose neighbours no finer ones are laid
_FLAT = 0.01
"""Gradient in standard errors at which the scores are good enough: a closer fit moves nothing."""
_ITERATIONS = 100  # fewer than 40 are usual; more would not end
_BEFOREHAND: FloatArray = np.array([log(0.45), -3.0, 0.0])
_HOW_SURE: FloatArray = np.array([0.5, 1.5, 0.5])
"""Prior of log σ, ν and log τ, mean and sd: people whose answers tell nothing of them lapse in 5%
of cases and differ as those of most studies do. Surer ones would decide in small studies."""
_CERTAIN = 1e-12  # a probability nearer to 0 or 1 is taken for this: its logarithm must exist
_AT_ONCE = 1 << 20  # entries by points worked on at once: more take more memory
_DENSE = 12
"""Places per entry in a table of annotators by pairs up to which it is not sparse: products with
such a table are quicker for having nothing to look up."""


class Entries(NamedTuple):
    """Answers, those of one annotator to one pair together, and the items of each pair."""

    annotator: IntArray
    pair: IntArray
    number: FloatArray
    up: FloatArray
    """How many of them put the first item above; a tie is half of one."""
    first: IntArray
    second: IntArray


class Means(NamedTuple):
    """Of each entry, means over its annotator's posterior of what an answer moves.

    An answer y pulls the gap by x y − z: x is the slope of the logit of P, z = x P. The variance of
    that is v = z (x − z), its third moment w = v (x − 2 z).
    """

    x: FloatArray
    z: FloatArray
    xx: FloatArray
    xz: FloatArray
    zz: FloatArray
    vv: FloatArray
    vvv: FloatArray
    w: FloatArray
    ww: FloatArray

    @property
    def v(self) -> FloatArray:
        """The variance."""
        return np.asarray(self.xz - self.zz)


class Posterior(NamedTuple):
    """Scores, and what annotators may be like."""

    entries: Entries
    scores: FloatArray
    crowds: tuple[_Crowd, ...]
    laws: FloatArray
    """log σ, ν and log τ."""

    @classmethod
    def of(
        cls, entries: Entries, scores: FloatArray, slopes: FloatArray, precision: float
    ) -> Posterior:
        """Estimate it.

        Parameters
        ----------
        entries
            All answers.
        scores, slopes
            Of items and annotators, to begin with; who has a negative slope is taken to answer the
            other way round.
        precision
            Of the prior of the scores.

        Examples
        --------
        One of three people errs as often on easy pairs as on close ones:

        >>> who, pair = np.divmod(np.arange(9), 3)
        >>> up = np.array([900.0, 990.0, 900.0, 900.0, 990.0, 900.0, 750.0, 750.0, 750.0])
        >>> ends = np.array([0, 0, 1]), np.array([1, 2, 2])
        >>> entries = Entries(who, pair, np.full(9, 1000.0), up, *ends)
        >>> found = Posterior.of(entries, np.array([1.0, 0.0, -1.0]), np.ones(3), 1.0)
        >>> found.lapses.round(2)
        array([0.  , 0.  , 0.48])
        """
        work = _Work(entries, scores, slopes, precision)
        given = sums(entries.annotator, entries.number, len(slopes))
        level = np.ceil(np.log2(_STEP * np.sqrt(_PER_ANSWER * np.maximum(given, 1.0))))
        level = np.clip(level, 0.0, _FINEST).astype(np.int64)
        grid = _Grid.coarsest(log(work.typical))
        whole = _Crowd.of(entries, np.arange(len(slopes)), slopes < 0.0, grid)
        scores, laws = work.best([whole], scores, _BEFOREHAND, laws_too=True)
        if not level.any():
            return cls(entries, scores, (whole,), laws)
        crowds = []
        for k in np.unique(level).tolist():
            crowd = _Crowd.of(entries, np.flatnonzero(level == k), slopes < 0.0, grid)
            for _ in range(k):
                crowd = crowd.finer(_gap(scores, entries), laws)
            crowds.append(crowd)
        scores, _ = work.best(crowds, scores, laws, laws_too=False)
        return cls(entries, scores, tuple(crowds), laws)

    @property
    def lapses(self) -> FloatArray:
        """The expected share of lapses of each annotator."""
        found = np.zeros(sum(len(crowd.who) for crowd in self.crowds))
        gap = _gap(self.scores, self.entries)
        for crowd in self.crowds:
            found[crowd.who] = crowd.posterior(gap, self.laws) @ crowd.grid.lapses
        return found

    def means(self) -> Means:
        """Return what answers move, entry by entry."""
        found = Means(*np.zeros((9, len(self.entries.pair))))
        gap = _gap(self.scores, self.entries)
        for crowd in self.crowds:
            chance = crowd.posterior(gap, self.laws)
            place = np.zeros(int(self.entries.annotator.max()) + 1, dtype=np.int64)
            place[crowd.who] = np.arange(len(crowd.who))
            if isinstance(crowd.up, np.ndarray):
                at = place[self.entries.annotator[crowd.entries]], self.entries.pair[crowd.entries]
                for column, part in zip(found, crowd.grid.moved(gap), strict=True):
                    column[crowd.entries] = (chance @ part.T)[at]
                continue
            size = max(1, _AT_ONCE // len(crowd.grid.slope))
            for begin in range(0, len(crowd.entries), size):
                mine = crowd.entries[begin : begin + size]
                weight = chance[place[self.entries.annotator[mine]]]
                each = crowd.grid.moved(gap[self.entries.pair[mine]])
                for column, part in zip(found, each, strict=True):
                    column[mine] = np.einsum("ij,ij->i", weight, part)
        return found


def _gap(scores: FloatArray, entries: Entries) -> FloatArray:
    """Of each pair."""
    return np.asarray(scores[entries.first] - scores[entries.second])


class _Grid(NamedTuple):
    """Points (log γ, logit λ), in whole steps about a typical one."""

    across: IntArray
    along: IntArray
    halved: int
    """How often the steps were."""
    location: float

    @classmethod
    def coarsest(cls, location: float) -> _Grid:
        across, along = (each.ravel() for each in np.meshgrid(_SLOPES, _LAPSES))
        return cls(across, along, 0, location)

    @property
    def log_slope(self) -> FloatArray:
        return np.asarray(self.location + _STEP / 2.0**self.halved * self.across)

    @property
    def slope(self) -> FloatArray:
        return np.exp(self.log_slope)

    @property
    def logit_lapses(self) -> FloatArray:
        return np.asarray(_LAPSE_STEP / 2.0**self.halved * self.along)

    @property
    def lapses(self) -> FloatArray:
        return expit(self.logit_lapses)

    def finer(self, near: BoolArray) -> _Grid:
        """Halve the steps, about these points and their neighbours."""
        width = int(self.along.max() - self.along.min()) * 2 + 99
        moves = np.array([(a, b) for a in range(-3, 4) for b in range(-3, 4)])
        across = (2 * self.across[near][:, None] + moves[:, 0]).ravel()
        along = (2 * self.along[near][:, None] + moves[:, 1]).ravel()
        low = int(along.min(initial=0))
        code = np.unique(across * width + (along - low))
        return _Grid(code // width, code % width + low, self.halved + 1, self.location)

    def standard(self, laws: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return by how many sds each point is off the mean of its law."""
        one = (self.log_slope - self.location) / np.exp(laws[0])
        return one, (self.logit_lapses - laws[1]) / np.exp(laws[2])

    def prior(self, laws: FloatArray) -> FloatArray:
        """Return the logarithms of what points weigh before answers are seen."""
        one, other = self.standard(laws)
        found = -0.5 * (np.square(one) + np.square(other))
        return np.asarray(found - found.max() - np.log(np.exp(found - found.max()).sum()))

    def curve(self, gap: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return P and the slope of its logit, gaps by points."""
        logistic = expit(gap[:, None] * self.slope)
        p = (1.0 - self.lapses) * logistic + 0.5 * self.lapses
        np.clip(p, _CERTAIN, 1.0 - _CERTAIN, out=p)
        steep = (1.0 - self.lapses) * self.slope * logistic * (1.0 - logistic)
        return p, steep / (p * (1.0 - p))

    def moved(self, gap: FloatArray) -> tuple[FloatArray, ...]:
        """Return what `Means` has means of, gaps by points each."""
        p, x = self.curve(gap)
        z = x * p
        v = z * (x - z)
        w = v * (x - 2.0 * z)
        return x, z, x * x, x * z, z * z, v * v, v * v * v, w, w * w


class _Crowd(NamedTuple):
    """Annotators who share a grid."""

    who: IntArray
    entries: IntArray
    grid: _Grid
    up: sparse.csr_array | FloatArray
    """Answers that put the first item above, annotators by pairs; of who answers the other way
    round, those that do not."""
    number: sparse.csr_array | FloatArray

    @classmethod
    def of(cls, entries: Entries, who: IntArray, turned: BoolArray, grid: _Grid) -> _Crowd:
        place = np.full(len(turned), -1)
        place[who] = np.arange(len(who))
        mine = np.flatnonzero(place[entries.annotator] >= 0)
        at, pair = place[entries.annotator[mine]], entries.pair[mine]
        number, up = entries.number[mine], entries.up[mine]
        up = np.where(turned[entries.annotator[mine]], number - up, up)
        from aggcal._core.compiled_scipy import sparse  # most commands do without

        shape = len(who), len(entries.first)
        tables = [sparse.csr_array((each, (at, pair)), shape=shape) for each in (up, number)]
        if shape[0] * shape[1] <= _DENSE * len(mine):
            return cls(who, mine, grid, *(each.toarray() for each in tables))
        return cls(who, mine, grid, *tables)

    def finer(self, gap: FloatArray, laws: FloatArray) -> _Crowd:
        """Halve the steps of the grid where anybody may be."""
        likely = self.posterior(gap, laws).max(axis=0)
        return self._replace(grid=self.grid.finer(likely > _UNLIKELY))

    def likely(self, p: FloatArray, laws: FloatArray) -> FloatArray:
        """Return the logarithms of likelihood times prior, annotators by points."""
        no = np.log1p(-p)
        return np.asarray(self.up @ (np.log(p) - no) + self.number @ no + self.grid.prior(laws))

    def posterior(self, gap: FloatArray, laws: FloatArray) -> FloatArray:
        """Return probabilities of points, annotators by points."""
        return _normed(self.likely(self.grid.curve(gap)[0], laws))[0]

    def sums(
        self, gap: FloatArray, laws: FloatArray
    ) -> tuple[float, FloatArray, tuple[FloatArray, FloatArray]]:
        """Return the log-likelihood, what it pulls gaps by, and what it tells of the points."""
        p, x = self.grid.curve(gap)
        chance, marginal = _normed(self.likely(p, laws))
        pull = np.einsum("ij,ij->i", x, self.up.T @ chance - p * (self.number.T @ chance))
        return float(marginal.sum()), pull, (chance.sum(axis=0), np.exp(self.grid.prior(laws)))


def _normed(likely: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return probabilities of points from their logarithms, and the logarithms of their sums."""
    most = likely.max(axis=1)
    parts = np.exp(likely - most[:, None])
    total = parts.sum(axis=1)
    return parts / total[:, None], most + np.log(total)


class _Work:
    """The search for the best scores and laws."""

    def __init__(
        self, entries: Entries, scores: FloatArray, slopes: FloatArray, precision: float
    ) -> None:
        self.entries, self.precision = entries, precision
        self.typical = max(float(np.median(np.abs(slopes))), 1e-6)
        answers = sums(entries.pair, entries.number, len(entries.first))
        chance = expit(self.typical * _gap(scores, entries))
        doubt = answers * self.typical**2 * chance * (1.0 - chance)
        self.known = precision + sum(
            sums(ends, doubt, len(scores)) for ends in (entries.first, entries.second)
        )

    def best(
        self, crowds: list[_Crowd], scores: FloatArray, laws: FloatArray, *, laws_too: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Return the likeliest scores, and laws if they are looked for."""
        from scipy.optimize import minimize

        people = sum(len(crowd.who) for crowd in crowds)
        known = [self.known]
        if laws_too:
            known.append(people * np.array([2.0, np.exp(-2.0 * laws[2]), 2.0]) + _HOW_SURE**-2)
        unit = np.concatenate(known) ** -0.5
        begin = np.concatenate([scores, laws])[: len(unit)]
        n = len(scores)

        def loss(x: FloatArray) -> tuple[float, FloatArray]:
            at = begin + unit * x
            value, slope = self.loss(crowds, at[:n], at[n:] if laws_too else laws)
            return value, unit * slope[: len(unit)]

        found = minimize(
            loss,
            np.zeros(len(begin)),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": _ITERATIONS, "gtol": _FLAT, "ftol": 1e-12, "maxcor": 20},
        )
        at = begin + unit * found.x
        return at[:n], at[n:] if laws_too else laws

    def loss(
        self, crowds: list[_Crowd], scores: FloatArray, laws: FloatArray
    ) -> tuple[float, FloatArray]:
        """Return the negative log-likelihood with its priors, and its gradient."""
        off, n = (laws - _BEFOREHAND) / _HOW_SURE, len(scores)
        value = 0.5 * (self.precision * float(scores @ scores) + float(off @ off))
        slope, law_slope = self.precision * scores, off / _HOW_SURE
        gap = _gap(scores, self.entries)
        for crowd in crowds:
            likely, pull, (seen, before) = crowd.sums(gap, laws)
            value -= likely
            slope = slope - sums(self.entries.first, pull, n) + sums(self.entries.second, pull, n)
            one, other = crowd.grid.standard(laws)
            moves = np.stack([np.square(one), other / np.exp(laws[2]), np.square(other)])
            law_slope = law_slope - moves @ (seen - seen.sum() * before)
        return value, np.concatenate([slope, law_slope])
