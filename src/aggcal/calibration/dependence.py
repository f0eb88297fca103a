"""Whether a model's scores know of the same judgments: they agree with them beyond chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrs
from scipy.special import chdtr

from aggcal._core.arrays import FloatArray, IntArray
from aggcal.aggregation.covariance import MOST_DENSE, independent
from aggcal.aggregation.newton import upper_factor
from aggcal.calibration.draws import DRAWS, NULL, Knowledge, axes_of, means_pushed

_TOSSES, _FEWER = 1000, 2.0 / 3.0
"""Draws that tell whether the model knows of the same judgments, and how many fewer pairs than in
any of them it has to have the other way round. A perfect model had .8 as many or more where Stage 1
took the spread of the items for a fifth of what it was; win rates .7 at most, with 60 items."""

_BY_CHANCE, _NEAR = 1e-3, 0.5
"""Chance that a perfect model whose scale is known follows the estimate so closely, and the share
of the expected distance it must be below besides. Its scale is not known: with 2 to 20 judgments an
item a perfect model was as near in 35 of 1,200 studies, by `btl` in 241, win rates in 1,003 and
1,095. So this makes intervals careful, and is no reason to say anything of anybody."""

_COMPARED = 200
"""Items that are compared for dependence at most, which bounds the pairs."""
_FAR, _FREE = 4.0, 1e-6
"""How many times the limit a distance is plainly above it, and the share of the largest pivot that
every other one has where errors are free in all directions."""


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
    >>> from aggcal.calibration.moments import moments
    >>> x, wide = np.arange(12.0), DenseCovariance(9.0 * np.eye(12))
    >>> found = agreement(Knowledge(x, wide, x, moments(x, x, wide)), 0)
    >>> found.pairs, found.against, found.plain
    (66, 0, True)
    """
    n = len(known.model)
    chosen = np.arange(n)
    if n > _COMPARED:
        chosen = np.sort(np.random.default_rng(seed).choice(n, _COMPARED, replace=False))
    model, estimate = known.model[chosen], known.consensus[chosen]
    i, j = np.triu_indices(len(chosen), 1)
    apart = (model[i] != model[j]) & (estimate[i] != estimate[j])
    if known.component is not None:
        apart &= known.component[chosen[i]] == known.component[chosen[j]]
    i, j = i[apart], j[apart]
    up = estimate[i] > estimate[j]
    against = int(np.count_nonzero((model[i] > model[j]) != up))
    least = len(i)
    number = _TOSSES if n <= MOST_DENSE else DRAWS
    for draw in known.judged(seed, number, few=True):
        mine = draw[chosen]
        least = min(least, int(np.count_nonzero((mine[i] > mine[j]) != up)))
        if against >= _FEWER * least:
            break
    return Agreement(len(i), against, least, _too_near(known, chosen))


def _too_near(known: Knowledge, chosen: IntArray) -> bool:
    """Tell whether the model is nearer to the estimate than the exact consensus can be.

    If model = a + λ s exactly, its distances from a + λ ŝ have the covariance λ²C, and their
    weighted sum of squares is χ² with n − 2 degrees of freedom (n − 1 less the number of
    components, whose means are free); whatever errors of its own the
    model has make it larger. Scores made from the same judgments have a part of it only.
    """
    whole, both = len(chosen) == len(known.model), (known.model[chosen], known.consensus[chosen])
    covariance = known.covariance
    if not whole and covariance.item_by_item:
        # Only variances count below, and a few of very many items hardly depend on each other.
        covariance = independent(np.sqrt(covariance.variances[chosen]))
    elif not whole:
        covariance = covariance.of(chosen)
    component = None if known.component is None else known.component[chosen]
    if component is not None and not whole:
        covariance = covariance.within(component)
    if _plainly_apart(means_pushed(covariance, component), component, *both):
        return False
    axes, eigenvalues = axes_of(covariance, component)
    along = eigenvalues > NULL * float(eigenvalues.max(initial=0.0))
    root = np.sqrt(eigenvalues[along])
    model, estimate = (x @ axes[:, along] / root for x in both)
    degrees_of_freedom = len(root) - 1
    size, slope = float(estimate @ estimate), float(model @ estimate)
    # Of equal estimates only rounding is left, which is no direction to be near in.
    if degrees_of_freedom < 1 or size < NULL or slope <= 0.0:
        return False
    slope /= size
    rest = model - slope * estimate
    distance = float(np.square(rest / slope).sum())
    return (
        distance < _NEAR * degrees_of_freedom
        and float(chdtr(degrees_of_freedom, distance)) < _BY_CHANCE
    )


def _plainly_apart(
    matrix: FloatArray, component: IntArray | None, model: FloatArray, estimate: FloatArray
) -> bool:
    """Tell without eigenvectors, in a tenth of the time, that the distance is far above the limit.

    Not where errors are hardly free in some direction: there the eigenvectors say which count.
    """
    factor = upper_factor(matrix)
    if factor is None:
        return False
    pivots = np.square(np.diag(factor))
    if pivots.min() <= _FREE * pivots.max():
        return False
    label = np.zeros(len(model), dtype=np.int64) if component is None else component
    fixed = (label[:, None] == np.unique(label)).astype(np.float64)
    sizes = fixed.sum(axis=0)
    # A level that is large beside the differences would drown them in the squares below.
    model, estimate = (x - fixed @ ((x @ fixed) / sizes) for x in (model, estimate))
    model = model / max(float(np.abs(model).max()), 1e-300)
    columns = np.column_stack([model, estimate, fixed])
    products = columns.T @ dpotrs(factor, columns)[0]
    across = products[:2, 2:]
    apart = products[:2, :2] - across @ np.linalg.solve(products[2:, 2:], across.T)
    own, shared, judged = float(apart[0, 0]), float(apart[0, 1]), float(apart[1, 1])
    if judged <= _FREE * float(products[1, 1]) or shared <= 0.0:
        return False
    slope = shared / judged
    limit = _FAR * _NEAR * (len(model) - 1 - fixed.shape[1])
    return bool(own > (limit + judged) * slope * slope)
