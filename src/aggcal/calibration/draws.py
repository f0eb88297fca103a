r"""Draws of the exact consensus: what the annotators may agree on, given everything that is known.

    s ~ N(ŝ, C) by the judgments,    model = a + λ s + d,    d ~ N(0, σ²)

The model's scores say something about where an item belongs, and how much they say (λ and σ) is
itself uncertain, most of all with few items: both are drawn from their posterior. Taking them as
estimated makes the draws follow the model's own order as soon as a few of its scores agree with the
consensus by chance, and intervals shrink to nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import isinf, pi

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.progress import report
from aggcal._core.text import brief
from aggcal.aggregation.covariance import (
    MOST_DENSE,
    Covariance,
    DenseCovariance,
)
from aggcal.aggregation.groups import several
from aggcal.calibration.moments import Moments
from aggcal.calibration.within import deviations, n_levels

FEW = 400
"""Up to so many items λ and σ are drawn anew for every draw, which takes the eigenvectors of C (a
tenth of a second); with more of them both are known well enough to be held."""

MANY_DRAWS, DRAWS = 400, 200
"""Draws for few and for many items: the ends of a 95% interval are then the 10th and the 5th from
outside. More make steadier ends and take longer."""

_DRAWING = "drawing calibrated scores"
_BATCH = 25
_NUMBERS = 25_000_000
_PIECE = 1 << 14  # items of a draw at a time: more leave the cache, fewer take longer to call for
_ANGLES, _LEVELS = 48, 48
_LOWEST, _HIGHEST = 1.0 / 30.0, 100.0
"""The grid of the posterior, and how far the model's variance may be from that of its scores: with
three items these bounds cut off less than 1% of it, with ten nothing."""

NULL = 1e-10  # of the largest eigenvalue: below it is rounding, and no direction


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What draws are made from.

    Parameters
    ----------
    consensus, covariance
        The estimate and its covariance.
    model
        The model's scores.
    found
        How both relate, by moments; for many items.
    least_noise
        The variance that the model's errors have at least: a stated one.
    degrees_of_freedom
        Degrees of freedom of the covariance.
    component
        Connected component of each item, None where there is one. The covariance is within them.
    """

    consensus: FloatArray
    covariance: Covariance
    model: FloatArray
    found: Moments
    least_noise: float = 0.0
    degrees_of_freedom: float = np.inf
    component: IntArray | None = None

    __repr__ = brief

    @property
    def number(self) -> int:
        """How many draws are made."""
        return MANY_DRAWS if len(self.model) <= FEW else DRAWS

    def draws(self, seed: int) -> Iterator[tuple[FloatArray, float]]:
        """Draw the exact consensus given judgments and model, and λ with it.

        Examples
        --------
        >>> from aggcal.calibration.moments import moments
        >>> x, exact = np.arange(4.0), DenseCovariance(np.eye(4))
        >>> known = Knowledge(x, exact, 2.0 * x, moments(2.0 * x, x, exact))
        >>> drawn = np.array([draw for draw, _ in known.draws(0)])
        >>> drawn.shape, bool((drawn.std(axis=0) > 0.1).all())
        ((400, 4), True)
        """
        if len(self.model) > MOST_DENSE:
            return self._held(seed)
        if seed not in self._kept:
            self._kept[seed] = list(self._few(seed) if len(self.model) <= FEW else self._held(seed))
        return iter(self._kept[seed])

    @cached_property
    def _kept(self) -> dict[int, list[tuple[FloatArray, float]]]:
        """Draws by their seed: intervals and what calibration is expected to do take the same."""
        return {}

    def _few(self, seed: int) -> Iterator[tuple[FloatArray, float]]:
        """Draw with λ and σ drawn anew for every draw."""
        random = np.random.default_rng(seed)
        axes, eigenvalues = axes_of(self.covariance, self.component)
        slopes, noises = _posterior(self, axes, eigenvalues, random)
        along = eigenvalues > NULL * float(eigenvalues.max(initial=0.0))
        axes, eigenvalues = axes[:, along], eigenvalues[along]
        level, position = self.model @ axes, self.consensus @ axes
        for slope, noise, wide in zip(
            slopes, noises, self._scales(random, self.number), strict=True
        ):
            variance = wide * eigenvalues
            total = slope**2 * variance + noise
            mean = slope * variance / total * (level - slope * position)
            toss = np.sqrt(variance * noise / total) * random.standard_normal(len(variance))
            yield self.consensus + axes @ (mean + toss), float(slope)

    def judged(
        self, seed: int, number: int | None = None, times: float = 1.0, *, few: bool = False
    ) -> Iterator[FloatArray]:
        """Draw the exact consensus given the judgments alone, errors enlarged as often.

        With ``few``, some at a time, for whoever may not need them all.
        """
        random = np.random.default_rng(seed)
        n, number = len(self.model), number or self.number
        batch = number if n <= MOST_DENSE else min(_BATCH, max(1, _NUMBERS // n))
        batch = min(batch, _BATCH) if few else batch
        if self.covariance.item_by_item:
            batch = 1
        scales = times * np.sqrt(self._scales(random, number))
        for done in range(0, number, batch):
            report(_DRAWING, done, number)
            apart = self.covariance.draws(min(batch, number - done), random)
            yield from self.consensus + apart * scales[done : done + len(apart), None]

    def places(self, *, alone: bool) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of each item's place, of many items.

        Given the judgments alone, or the model too: then by each item's own variance, which is
        exact where errors are independent, and nearly so among many items.
        """
        variances = np.maximum(self.covariance.variances, 0.0)
        slope = self.found.slope
        if alone or slope <= 0.0:
            return self.consensus, np.sqrt(variances)
        noise = self._noise
        centred = self._apart(slope)
        total = slope**2 * variances + noise
        mean = self.consensus + slope * variances / total * centred
        return mean, np.sqrt(variances * noise / total)

    def _held(self, seed: int) -> Iterator[tuple[FloatArray, float]]:
        """Draw with λ and σ as estimated (a normal draw is conditioned by Matheron's rule)."""
        random = np.random.default_rng(seed)
        slope, n = self.found.slope, len(self.model)
        noise = np.full(n, self._noise)
        centred = self._apart(slope)
        single = self.covariance.item_by_item
        kept = self.covariance.gain(slope, 0.0, noise, centred)[1] if single else None
        # All at once where they are few numbers; else in batches, to save memory.
        batch = DRAWS if n <= MOST_DENSE else min(_BATCH, max(1, _NUMBERS // n))
        for done in range(0, DRAWS, batch):
            report(_DRAWING, done, DRAWS)
            apart = self.covariance.draws(min(batch, DRAWS - done), random)
            if kept is not None:
                # Each when it is asked for: of many items only a few draws are.
                for row in apart:
                    self._condition(row, centred, kept, random)
                    yield row, slope
                continue
            drawn = self.consensus + apart
            if slope > 0.0:
                error = np.sqrt(noise) * random.standard_normal(apart.shape)
                surprise = (centred - slope * apart - error).T
                drawn += self.covariance.gain(slope, 0.0, noise, surprise)[0].T / slope
            for draw in drawn:
                yield draw, slope

    def _condition(
        self,
        apart: FloatArray,
        centred: FloatArray,
        kept: FloatArray,
        random: np.random.Generator,
    ) -> None:
        """Turn deviations of one draw into the draw given the model, where items are independent.

        The same sums as for several draws, term by term, in place and in the cache.
        """
        slope, root = self.found.slope, np.sqrt(self._noise)
        if slope <= 0.0:
            apart += self.consensus
            return
        for begin in range(0, len(apart), _PIECE):
            here = slice(begin, begin + _PIECE)
            part = apart[here]
            drawn = self.consensus[here] + part
            error = random.standard_normal(len(part))
            error *= root
            part *= slope
            np.subtract(centred[here], part, out=part)
            part -= error
            part *= kept[here]
            part /= slope
            part += drawn

    @property
    def _noise(self) -> float:
        """The variance of the model's errors: as estimated, or as stated where that is more."""
        return max(self.found.residual, self.least_noise, 1e-300)

    def _apart(self, slope: float) -> FloatArray:
        """Return what the model differs from the line on the consensus by, within components."""
        line = slope * deviations(self.consensus, self.component)
        return np.asarray(deviations(self.model, self.component) - line)

    def only(self, positions: IntArray) -> Knowledge:
        """Return what is known of some components, which have the items at these positions."""
        component = None if self.component is None else several(self.component[positions])
        return Knowledge(
            self.consensus[positions],
            self.covariance.of(positions),
            self.model[positions],
            self.found,
            self.least_noise,
            self.degrees_of_freedom,
            component,
        )

    def _scales(self, random: np.random.Generator, number: int) -> FloatArray:
        if isinf(self.degrees_of_freedom):
            return np.ones(number)
        return np.asarray(
            self.degrees_of_freedom / random.chisquare(self.degrees_of_freedom, number)
        )


def axes_of(
    covariance: Covariance, component: IntArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return all directions but those of the components' means, and the variance along each."""
    values, vectors = np.linalg.eigh(means_pushed(covariance, component))
    left = len(values) - 1 - n_levels(component)
    return vectors[:, :left], np.maximum(values[:left], 0.0)


def means_pushed(covariance: Covariance, component: IntArray | None) -> FloatArray:
    """Return a covariance in which the means of components, which are free, vary most of all."""
    if isinstance(covariance, DenseCovariance):
        matrix = covariance.matrix
    else:
        matrix = DenseCovariance(np.diag(covariance.variances)).matrix
    push = 2.0 * float(np.trace(matrix)) or 1.0
    if component is None:
        return np.asarray(matrix + push / len(matrix))
    same = component[:, None] == component[None, :]
    return np.asarray(matrix + push * same / same.sum(axis=1))


def _posterior(
    known: Knowledge, axes: FloatArray, eigenvalues: FloatArray, random: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw λ and σ² on a grid: the correlation of model and consensus is uniform on [0, 1]."""
    level, position = known.model @ axes, known.consensus @ axes
    between = float(position @ position + eigenvalues.sum())
    whole = float(level @ level)
    if whole <= 0.0 or between <= 0.0:
        return np.zeros(known.number), np.full(known.number, 1.0)
    angle = (np.arange(_ANGLES) + 0.5) * (0.5 * pi / _ANGLES)
    mean_square = max(whole / len(level), known.least_noise)
    total = mean_square * np.geomspace(_LOWEST, _HIGHEST, _LEVELS)
    slope = np.sqrt(np.outer(np.square(np.sin(angle)), total) / (between / len(level))).ravel()
    noise = np.outer(np.square(np.cos(angle)), total).ravel()
    prior = np.repeat(np.log(np.cos(angle)), _LEVELS)
    variance = np.square(slope)[:, None] * eigenvalues + noise[:, None]
    apart = np.square(level - slope[:, None] * position) / variance
    likely = prior - 0.5 * (np.log(variance) + apart).sum(axis=1)
    likely[noise < known.least_noise] = -np.inf
    weight = np.exp(likely - likely.max())
    # Evenly spread over the cells, in random order: steadier than independent draws.
    at = (np.arange(known.number) + random.random()) / known.number
    cells = np.minimum(np.searchsorted(np.cumsum(weight / weight.sum()), at), len(weight) - 1)
    cells = random.permutation(cells)
    return slope[cells], noise[cells]
