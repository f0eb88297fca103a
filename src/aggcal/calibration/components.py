r"""Several connected components: each is calibrated by itself, and the model alone compares them.

Nothing relates items of different components: where the consensus puts one component beside another
is a convention. What the model and the consensus have in common is therefore told by the deviations
from the mean of each component alone, and where scores of all items are needed on one scale, a
component is put where the model's mean puts it:

    place_i = s_i − mean_c(s) + (mean_c(model) − mean(model)) / b,

b being the slope of the model on the consensus within components. Everywhere ``component`` is None
where all items are in one component, and then nothing is changed.
"""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray

_FLATTEST = 0.01
"""The least correlation of model and consensus by which components are placed: where the model does
not rise within components, its levels still count, and a smaller one only makes numbers larger."""


def n_levels(component: IntArray | None) -> int:
    """Return how many means of components are free beside that of all items.

    Examples
    --------
    >>> n_levels(None), n_levels(np.array([0, 0, 2, 2, 5]))
    (0, 2)
    """
    return 0 if component is None else int(np.count_nonzero(np.bincount(component))) - 1


def means(values: FloatArray, component: IntArray | None) -> FloatArray:
    """Return for each item the mean of its component.

    Examples
    --------
    >>> means(np.array([1.0, 3.0, 7.0]), np.array([0, 0, 1]))
    array([2., 2., 7.])
    """
    if component is None:
        return np.full(len(values), values.mean())
    total = np.bincount(component, values) / np.maximum(np.bincount(component), 1)
    return np.asarray(total[component])


def deviations(values: FloatArray, component: IntArray | None) -> FloatArray:
    """Return what each value differs from the mean of its component by.

    Examples
    --------
    >>> deviations(np.array([1.0, 3.0, 7.0]), np.array([0, 0, 1]))
    array([-1.,  1.,  0.])
    """
    if component is None:
        return np.asarray(values - values.mean())
    return np.asarray(np.where(_sizes(component) > 1, values - means(values, component), 0.0))


def telling(component: IntArray | None, n: int) -> tuple[BoolArray, FloatArray]:
    """Return which items tell of deviations, and what makes their squares those of single errors.

    The only item of a component tells nothing; of n items, squares about their mean are smaller by
    the factor (n − 1)/n.

    Examples
    --------
    >>> telling(np.array([0, 0, 1]), 3)
    (array([ True,  True, False]), array([2., 2., 0.]))
    """
    if component is None:
        return np.ones(n, dtype=bool), np.ones(n)
    size = _sizes(component)
    return size > 1, np.where(size > 1, size / np.maximum(size - 1, 1), 0.0)


def levelled(values: FloatArray, model: FloatArray, component: IntArray | None) -> FloatArray:
    """Return values with the mean of the model in each component; as they are where there is one.

    Examples
    --------
    >>> levelled(np.array([1.0, 3.0, 7.0]), np.array([8.0, 8.0, 4.0]), np.array([0, 0, 1]))
    array([7., 9., 4.])
    """
    if component is None:
        return values
    return deviations(values, component) + means(model, component)


def located(consensus: FloatArray, model: FloatArray, component: IntArray | None) -> FloatArray:
    """Return consensus scores on one scale, each component where the model's mean puts it.

    Examples
    --------
    A unit of the consensus is two of the model's, so components 10 apart are 5 apart:

    >>> model = np.array([2.0, 4.0, 12.0, 14.0])
    >>> located(np.array([0.5, 1.5, 0.0, 1.0]), model, np.array([0, 0, 1, 1]))
    array([-3., -2.,  2.,  3.])
    """
    if component is None:
        return consensus
    x, y = deviations(consensus, component), deviations(model, component)
    size = float(x @ x)
    least = _FLATTEST * (float(y @ y) / size) ** 0.5 if size > 0.0 else 0.0
    slope = max(float(x @ y) / size, least) if size > 0.0 else 0.0
    levels = means(model, component) - model.mean()
    return np.asarray(x + (levels / slope if slope > 0.0 else levels))


def changing_place(draws: FloatArray, component: IntArray | None) -> BoolArray:
    """Whether items have different ranks within their component in some draws, a row each.

    Examples
    --------
    >>> changing_place(np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 9.0]]), np.array([0, 0, 1]))
    array([False, False, False])
    """
    if component is None:
        order = np.argsort(draws, axis=1)
    else:
        order = np.lexsort((draws, np.broadcast_to(component, draws.shape)), axis=1)
    return np.asarray(np.ptp(np.argsort(order, axis=1), axis=0) > 0)


def _sizes(component: IntArray) -> IntArray:
    """Return for each item how many its component has."""
    return np.asarray(np.bincount(component)[component])
