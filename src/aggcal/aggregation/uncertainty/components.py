"""Connected components: what may be said of two items depends on whether anything compares them.

Where the comparisons fall into several components, scores of different components stand side by
side by convention only (each component is centred by the prior). Nothing is claimed across them.
Groups that too few judgments join (see `groups`) are treated as components are.
"""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import BoolArray, IntArray, frozen


def several(component: IntArray | None) -> IntArray | None:
    """Return the labels, or None where all items are in one component.

    Examples
    --------
    >>> several(np.zeros(3, dtype=np.int64)), several(np.array([0, 1, 0]))
    (None, array([0, 1, 0]))
    """
    if component is None or not len(component) or not (component != component[0]).any():
        return None
    return frozen(np.asarray(component, dtype=np.int64))


def members(component: IntArray | None, n: int) -> list[IntArray]:
    """Return the positions of the items of each component.

    Examples
    --------
    >>> members(np.array([0, 1, 0]), 3), members(None, 2)
    ([array([0, 2]), array([1])], [array([0, 1])])
    """
    if component is None:
        return [np.arange(n)]
    order = np.argsort(component, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(component[order])) + 1)


def n_components(component: IntArray | None) -> int:
    """Return how many components there are.

    Examples
    --------
    >>> n_components(None), n_components(np.array([0, 1, 0]))
    (1, 2)
    """
    return 1 if component is None else len(np.unique(component))


def pairs_within(component: IntArray | None, n: int) -> int:
    """Return the number of pairs whose items are in the same component.

    Examples
    --------
    >>> pairs_within(np.array([0, 1, 0, 0]), 4), pairs_within(None, 4)
    (3, 6)
    """
    sizes = np.array([n]) if component is None else np.unique(component, return_counts=True)[1]
    return int(np.sum(sizes * (sizes - 1) // 2))


def apart(component: IntArray | None, i: IntArray, j: IntArray) -> BoolArray:
    """Tell of each pair of positions whether nothing compares the two, not even through others.

    Examples
    --------
    >>> apart(np.array([0, 1, 0]), np.array([0, 0]), np.array([1, 2])).tolist()
    [True, False]
    """
    if component is None:
        return np.zeros(np.broadcast(i, j).shape, dtype=bool)
    return np.asarray(component[i] != component[j])
