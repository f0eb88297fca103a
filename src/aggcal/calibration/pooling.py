r"""Several models as one: each with as much weight as the consensus says that it deserves.

    model_k = a_k + b_k (λ s + c) + e_k

All models see the truth, which is what the annotators agree on (λ s) and what they have wrong
together (c). The slopes on the consensus bring the models to one unit; what the models' residuals
have in common is c; what each has alone is its own error, and its weight is one over its variance.
Errors are taken to be independent between models.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.text import brief
from aggcal.calibration.moments import LEAST_SHARE, SURE, Line, regressed, shrunk
from aggcal.calibration.within import n_levels

_FEWEST_SHARED = 5
"""Items that two models must share for their residuals to be compared: fewer tell by chance."""


@dataclass(frozen=True, eq=False)
class Pooled:
    """A mean of models in the units of the first.

    ``noise`` is the variance of its error for each item, ``crowd`` that of what annotators have
    wrong together, ``errors`` the variance of each model's own error in the units of the first (NaN
    where a model was not used, because it does not clearly rise with the consensus).
    """

    model: FloatArray
    noise: FloatArray
    crowd: float
    errors: FloatArray

    __repr__ = brief


def pool(
    models: tuple[FloatArray, ...],
    consensus: FloatArray,
    wide: float,
    first_variance: float | None = None,
    component: IntArray | None = None,
) -> Pooled | None:
    """Pool models; None where none of the further ones rises clearly with the consensus.

    Parameters
    ----------
    models
        The scores of each model, NaN where it has none; the first has all.
    consensus, wide
        The consensus, and the mean variance of its estimate.
    first_variance
        The variance of the first model's error, where it is known.
    component
        Connected component of each item; None where there is one.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> x, shared = random.standard_normal((2, 400))
    >>> first, second = (x + shared / 2 + sd * random.standard_normal(400) for sd in (2.0, 1.0))
    >>> found = pool((first, 100.0 + 10.0 * second), x, 0.0)
    >>> found.errors.round(0), float(found.noise[0]) < 1.0
    (array([4., 1.]), True)
    """
    both = [np.isfinite(model) for model in models]
    parts = [None if component is None else component[b] for b in both]
    lines = [
        regressed(m[b], consensus[b], part) for m, b, part in zip(models, both, parts, strict=True)
    ]
    used = [0, *(k for k in range(1, len(models)) if lines[k].rise > SURE)]
    if len(used) == 1 or lines[0].slope <= 0.0:
        return None
    n, slope = len(consensus), lines[0].slope
    left, values = np.full((2, len(models), n), np.nan)
    for k in used:
        left[k, both[k]] = lines[k].left * slope / lines[k].slope
        values[k, both[k]] = _in_units(models[0], models[k], both[k], lines[0], lines[k])
    ranking = slope**2 * wide
    crowd = _common(left, used, ranking, component)
    if crowd is None:
        return None
    errors = np.full(len(models), np.nan)
    for k in used:
        freedom = int(both[k].sum()) - 2 - n_levels(parts[k])
        own = float(np.nansum(np.square(left[k]))) / max(freedom, 1)
        errors[k] = max(own - ranking - crowd, LEAST_SHARE * own)
    if first_variance is not None:
        errors[0] = first_variance
    precision = np.where(np.isfinite(values), 1.0 / errors[:, None], 0.0)
    mean = (precision * np.nan_to_num(values)).sum(axis=0) / precision.sum(axis=0)
    return Pooled(mean, 1.0 / precision.sum(axis=0), crowd, errors)


def _in_units(
    first: FloatArray, model: FloatArray, both: FloatArray, mine: Line, line: Line
) -> FloatArray:
    """Bring a model to the units of the first, at the level of the items that both have."""
    centred = model[both] - model[both].mean()
    return np.asarray(first[both].mean() + centred * mine.slope / line.slope)


def _common(
    left: FloatArray, used: list[int], ranking: float, component: IntArray | None
) -> float | None:
    """Return the variance that residuals have in common beyond the ranking's, shrunk by chance."""
    found, weights = [], []
    for j, k in combinations(used, 2):
        product = left[j] * left[k]
        here = np.isfinite(product)
        part = None if component is None else component[here]
        freedom = int(here.sum()) - 2 - n_levels(part)
        if freedom + 2 < _FEWEST_SHARED:
            continue
        common = float(product[here].sum()) / freedom - ranking
        size = float(np.nanmean(np.square(left[j]))) * float(np.nanmean(np.square(left[k])))
        found.append(shrunk(common, size / freedom))
        weights.append(freedom / max(size, 1e-300))
    return float(np.average(found, weights=weights)) if found else None
