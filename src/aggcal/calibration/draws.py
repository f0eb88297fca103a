r"""Draws of the exact consensus: what the annotators may agree on, given everything that is known.

    s ~ N(ŝ, C) by the judgments,    model = a + λ s + d,    d ~ N(0, σ²)

The model's scores say something about where an item belongs, and how much they say (λ and σ) is
itself uncertain, most of all with few items: both are drawn from their posterior. Taking them as
estimated makes the draws follow the model's own order as soon as a few of its scores agree with the
consensus by chance, and intervals shrink to nothing.

A model whose scores know of the same judgments agrees with them beyond chance: then draws by the
judgments alone are the honest ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import isinf, pi

import numpy as np
from scipy.special import chdtr

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.progress import report
from aggcal._core.text import brief
from aggcal.aggregation.covariance import MOST_DENSE, Covariance, DenseCovariance, independent
from aggcal.aggregation.groups import several
from aggcal.aggregation.newton import definite_inverse
from aggcal.calibration.components import deviations, n_levels
from aggcal.calibration.moments import moments

FEW = 400
"""Up to so many items λ and σ are drawn anew for every draw, which takes the eigenvectors of C (a
tenth of a second); with more of them both are known well enough to be held."""

MANY_DRAWS, DRAWS = 400, 200
"""Draws for few and for many items: the ends of a 95% interval are then the 10th and the 5th from
outside. More make steadier ends and take longer."""

_NUMBERS = 25_000_000  # drawn at a time (200 MB)
_ANGLES, _LEVELS = 48, 48
_LOWEST, _HIGHEST = 1.0 / 30.0, 100.0
"""The grid of the posterior, and how far the model's variance may be from that of its scores: with
three items these bounds cut off less than 1% of it, with ten nothing."""

_NULL = 1e-10  # of the largest eigenvalue: below it is rounding, and no direction

_TOSSES, _FEWER = 1000, 2.0 / 3.0
"""Draws that tell whether the model knows of the same judgments, and how many fewer pairs than in
any of them it has to have the other way round. A perfect model had .8 as many or more where Stage 1
took the spread of the items for a fifth of what it was; win rates .7 at most, with 60 items."""

_BY_CHANCE, _NEAR = 1e-3, 0.5
"""Chance that a perfect model whose scale is known follows the estimate so closely, and the share
of the expected distance it must be below besides. Its scale is not known, and a perfect model was
as near in 35 of 1,200 studies: it makes intervals careful, and is no reason to say anything."""

_COMPARED = 200  # items that are compared for dependence at most, which bounds the pairs


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What draws are made from.

    Parameters
    ----------
    consensus, covariance
        The estimate and its covariance.
    model
        The model's scores.
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
    least_noise: float = 0.0
    degrees_of_freedom: float = np.inf
    component: IntArray | None = None

    __repr__ = brief

    @property
    def number(self) -> int:
        """How many draws are made."""
        return MANY_DRAWS if len(self.model) <= FEW else DRAWS

    def draws(self, seed: int) -> Iterator[FloatArray]:
        """Draw the exact consensus given judgments and model.

        Examples
        --------
        >>> x, exact = np.arange(4.0), DenseCovariance(np.eye(4))
        >>> drawn = np.array(list(Knowledge(x, exact, 2.0 * x).draws(0)))
        >>> drawn.shape, bool((drawn.std(axis=0) > 0.1).all())
        ((400, 4), True)
        """
        if len(self.model) <= FEW:
            return self._few(np.random.default_rng(seed))
        return self._drawn(*self.held, np.random.default_rng(seed), DRAWS)

    def judged(
        self, seed: int, number: int | None = None, times: float = 1.0
    ) -> Iterator[FloatArray]:
        """Draw the exact consensus given the judgments alone, errors enlarged as often."""
        random = np.random.default_rng(seed)
        number = number or self.number
        scales = times * np.sqrt(self._scales(random, number))
        return self._drawn(self.consensus, self.covariance, random, number, scales)

    @cached_property
    def held(self) -> tuple[FloatArray, Covariance]:
        """Mean and covariance of the exact consensus given the model, λ and σ as estimated."""
        found = moments(self.model, self.consensus, self.covariance, component=self.component)
        slope, n = found.slope, len(self.model)
        noise = max(found.residual, self.least_noise, 1e-300)
        if slope <= 0.0:
            return self.consensus, self.covariance
        line = slope * deviations(self.consensus, self.component)
        apart = deviations(self.model, self.component) - line
        dense = self.covariance.dense()
        if dense is None:
            total = slope**2 * self.covariance.variances + noise
            mean = self.consensus + slope * self.covariance.variances / total * apart
            return mean, independent(np.sqrt(self.covariance.variances * noise / total))
        total = slope**2 * dense.matrix + noise * np.eye(n)
        gain = slope * dense.matrix @ definite_inverse(total, total)
        left = dense.matrix - slope * gain @ dense.matrix
        return self.consensus + gain @ apart, DenseCovariance(left)

    def only(self, positions: IntArray) -> Knowledge:
        """Return what is known of some components, which have the items at these positions."""
        component = None if self.component is None else several(self.component[positions])
        return Knowledge(
            self.consensus[positions], self.covariance.of(positions), self.model[positions],
            self.least_noise, self.degrees_of_freedom, component,
        )  # fmt: skip

    def _few(self, random: np.random.Generator) -> Iterator[FloatArray]:
        """Draw with λ and σ drawn anew for every draw."""
        axes, eigenvalues = _axes(self.covariance, self.component)
        slopes, noises = self._posterior(axes, eigenvalues, random)
        along = eigenvalues > _NULL * float(eigenvalues.max(initial=0.0))
        axes, eigenvalues = axes[:, along], eigenvalues[along]
        level, position = self.model @ axes, self.consensus @ axes
        scales = self._scales(random, self.number)
        for slope, noise, wide in zip(slopes, noises, scales, strict=True):
            variance = wide * eigenvalues
            total = slope**2 * variance + noise
            mean = slope * variance / total * (level - slope * position)
            toss = np.sqrt(variance * noise / total) * random.standard_normal(len(variance))
            yield self.consensus + axes @ (mean + toss)

    def _drawn(
        self,
        mean: FloatArray,
        covariance: Covariance,
        random: np.random.Generator,
        number: int,
        scales: FloatArray | None = None,
    ) -> Iterator[FloatArray]:
        """Draw normal scores, some at a time."""
        batch = 1 if len(mean) > MOST_DENSE else max(1, min(number, _NUMBERS // len(mean)))
        for done in range(0, number, batch):
            report("drawing calibrated scores", done, number)
            apart = covariance.draws(min(batch, number - done), random)
            if scales is not None:
                apart *= scales[done : done + len(apart), None]
            yield from mean + apart

    def _scales(self, random: np.random.Generator, number: int) -> FloatArray:
        if isinf(self.degrees_of_freedom):
            return np.ones(number)
        drawn = random.chisquare(self.degrees_of_freedom, number)
        return np.asarray(self.degrees_of_freedom / drawn)

    def _posterior(
        self, axes: FloatArray, eigenvalues: FloatArray, random: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Draw λ and σ² on a grid: the correlation of model and consensus is uniform on [0, 1]."""
        level, position = self.model @ axes, self.consensus @ axes
        between = float(position @ position + eigenvalues.sum())
        whole = float(level @ level)
        if whole <= 0.0 or between <= 0.0:
            return np.zeros(self.number), np.full(self.number, 1.0)
        angle = (np.arange(_ANGLES) + 0.5) * (0.5 * pi / _ANGLES)
        total = max(whole / len(level), self.least_noise) * np.geomspace(_LOWEST, _HIGHEST, _LEVELS)
        unit = between / len(level)
        slope = np.sqrt(np.outer(np.square(np.sin(angle)), total) / unit).ravel()
        noise = np.outer(np.square(np.cos(angle)), total).ravel()
        variance = np.square(slope)[:, None] * eigenvalues + noise[:, None]
        apart = np.square(level - slope[:, None] * position) / variance
        prior = np.repeat(np.log(np.cos(angle)), _LEVELS)
        likely = prior - 0.5 * (np.log(variance) + apart).sum(axis=1)
        likely[noise < self.least_noise] = -np.inf
        weight = np.exp(likely - likely.max())
        # Evenly spread over the cells, in random order: steadier than independent draws.
        at = (np.arange(self.number) + random.random()) / self.number
        cells = np.minimum(np.searchsorted(np.cumsum(weight / weight.sum()), at), len(weight) - 1)
        cells = random.permutation(cells)
        return slope[cells], noise[cells]


def _axes(covariance: Covariance, component: IntArray | None) -> tuple[FloatArray, FloatArray]:
    """Return all directions but those of the components' means, and the variance along each."""
    dense = covariance.dense()
    matrix = np.diag(covariance.variances) if dense is None else dense.matrix
    same = np.ones(matrix.shape) if component is None else component[:, None] == component
    # The means of components are free: made to vary most of all, they are the last directions.
    push = 2.0 * float(np.trace(matrix)) or 1.0
    values, vectors = np.linalg.eigh(matrix + push * same / same.sum(axis=1))
    left = len(values) - 1 - n_levels(component)
    return vectors[:, :left], np.maximum(values[:left], 0.0)


# Whether the model knows of the same judgments ----------------------------------------------------


@dataclass(frozen=True)
class Agreement:
    """Pairs that model and consensus order differently, and draws and consensus at least."""

    pairs: int
    against: int
    least: int
    too_near: bool = False
    """Whether the model's scores follow the estimate more closely than its errors allow."""

    @property
    def plain(self) -> bool:
        """Whether the model agrees more than scores that know nothing of these judgments can.

        Of perfect, noisy and rounded models of 1,200 studies none did, by `btl` one; of win rates
        half and three in four.
        """
        return self.against < _FEWER * self.least

    @property
    def suspected(self) -> bool:
        """Whether it is so near that intervals must not rely on it; chance may have done that."""
        return self.too_near or self.plain


def agreement(known: Knowledge, seed: int) -> Agreement:
    """Compare the model's agreement with the consensus with what its uncertainty allows.

    A model that knows nothing of these judgments agrees at best with the exact consensus, from
    which the estimate differs by chance, as the draws (given the judgments alone) do.

    Examples
    --------
    >>> from aggcal.aggregation.covariance import DenseCovariance
    >>> x, wide = np.arange(12.0), DenseCovariance(9.0 * np.eye(12))
    >>> found = agreement(Knowledge(x, wide, x), 0)
    >>> found.pairs, found.against, found.plain
    (66, 0, True)
    """
    n = len(known.model)
    if n > _COMPARED:
        chosen = np.random.default_rng(seed).choice(n, _COMPARED, replace=False)
        known = known.only(np.sort(chosen))
    model, estimate, component = known.model, known.consensus, known.component
    i, j = np.triu_indices(len(model), 1)
    apart = (model[i] != model[j]) & (estimate[i] != estimate[j])
    if component is not None:
        apart &= component[i] == component[j]
    i, j = i[apart], j[apart]
    up = estimate[i] > estimate[j]
    against, least = int(np.count_nonzero((model[i] > model[j]) != up)), len(i)
    for draw in known.judged(seed, _TOSSES):
        if against >= _FEWER * least:
            break
        least = min(least, int(np.count_nonzero((draw[i] > draw[j]) != up)))
    return Agreement(len(i), against, least, _too_near(known))


def _too_near(known: Knowledge) -> bool:
    """Tell whether the model is nearer to the estimate than the exact consensus can be.

    If model = a + λ s exactly, its distances from a + λ ŝ have the covariance λ²C, and their
    weighted sum of squares is χ² with n − 2 degrees of freedom (n − 1 less the number of
    components, whose means are free); whatever errors of its own the model has make it larger.
    Scores made from the same judgments have a part of it only.
    """
    axes, eigenvalues = _axes(known.covariance, known.component)
    along = eigenvalues > _NULL * float(eigenvalues.max(initial=0.0))
    root = np.sqrt(eigenvalues[along])
    about = (deviations(x, known.component) for x in (known.model, known.consensus))
    model, estimate = (x @ axes[:, along] / root for x in about)
    degrees_of_freedom = len(root) - 1
    size, slope = float(estimate @ estimate), float(model @ estimate)
    # Of equal estimates only rounding is left, which is no direction to be near in.
    if degrees_of_freedom < 1 or size < _NULL or slope <= 0.0:
        return False
    slope /= size
    distance = float(np.square(model / slope - estimate).sum())
    by_chance = float(chdtr(degrees_of_freedom, distance))
    return distance < _NEAR * degrees_of_freedom and by_chance < _BY_CHANCE
