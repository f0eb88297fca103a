"""The comparison graph of a component: its pairs, and whether these join its items evenly."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, sums
from aggcal.data.judgments import Judgments
from aggcal.models.weighted_pairs import Pairs

MOST_GROUPS = 40
"""Groups looked for at most: more take longer, and few studies have so many."""
CLEAR = 1.5
"""How much wider than in a chain of items the gap in the spectrum is where there are groups. In
evenly joined designs of 12 items and more, the sparsest included, it was above this in 1 of about
900 studies (1.52), of 5 to 8 items in 6 of 640; with classes of 8 or 10 items and up to a tenth of
the judgments across them it was 1.3 to 19, and below 1.5 only where no certified pair was wrong. A
higher number misses groups, a lower one splits designs that are only sparse."""
_SURE_OF_NONE, _NEAR = 1.03, 1e-2
"""Margin for the second eigenvalue, and how near it is worked out."""
_STEPS, _FEW_STEPS, _OFTEN, _EVERY, _TINY = 200, 30, 3, 10, 1e-10
"""Steps at most, every how many are looked at up to so many and after them, and what is left of a
vector when all directions were taken: more steps look longer where other eigenvalues must be worked
out anyway."""
_ROOM = 20_000_000
"""Numbers that are kept at most: for very many items there are fewer steps."""
_MISSED = 1e-6
"""Chance, at most, that an eigenvalue is missed, by Kuczyński and Woźniakowski's bound."""
_FROM_RANDOM = 1.648  # its factor


def pairs_of_component(
    judgments: Judgments, own: IntArray, step: int = 1
) -> tuple[CodeArray, CodeArray, FloatArray, FloatArray]:
    """Return the pairs of a component, in every so manieth row, by how often they were compared.

    That is divided by the root of how often either item was compared, which comes last.
    """
    n = len(own)
    left, right = judgments.left[::step], judgments.right[::step]
    given = judgments.count[::step]
    if n < judgments.n_items:
        where = np.full(judgments.n_items, -1, dtype=np.int32)
        where[own] = np.arange(n, dtype=np.int32)
        mine = where[left] >= 0
        left, right = where[left[mine]], where[right[mine]]
        given = given[mine]
    degree = sums(left, given, n) + sums(right, given, n)
    root: FloatArray = np.sqrt(degree)
    return left, right, given / (root[left] * root[right]), degree


def evenly_joined(graph: Pairs, degree: FloatArray) -> bool:
    """Tell without the eigenvectors that there are no groups, if that can be told.

    None of the lowest eigenvalues is wider than in a chain of items (see `groups`) where the
    second is above what the k-th may be at most, over `CLEAR` (k / (k − 1))², for all k up to the
    most groups. They are below 1: with some thirty-five judgments an item at random, or more, that
    is enough.

    Lanczos' method from a random vector gives the second from above, closer with each step: it is
    left where it has settled, or where a lower one would have shown. The others are never above
    what the method gives for them.
    """
    first = np.sqrt(degree / degree.sum())
    n, most = len(first), MOST_GROUPS
    k = np.arange(2, most + 1)
    wider = CLEAR * (k / (k - 1)) ** 2 / _SURE_OF_NONE
    vector = np.random.default_rng(0).standard_normal(n)
    first, vector = (np.asarray(each, like=graph.weight) for each in (first, vector))
    vector -= (first @ vector) * first
    steps = min(_STEPS, max(_FEW_STEPS, _ROOM // n))
    basis = np.empty_like(vector, shape=(steps, n))
    diagonal, next_to = np.empty(steps), np.empty(steps)
    size = float(np.sqrt(vector @ vector))
    for step in range(steps):
        basis[step] = vector / size
        vector = graph.neighbours(basis[step])
        vector -= (first @ vector) * first
        diagonal[step] = float(basis[step] @ vector)
        vector -= (basis[: step + 1] @ vector) @ basis[: step + 1]
        size = next_to[step] = float(np.sqrt(vector @ vector))
        every = _EVERY if step > _FEW_STEPS else _OFTEN
        if step % every and step < steps - 1 and size > _TINY:
            continue
        small = np.diag(diagonal[: step + 1])
        small += np.diag(next_to[:step], 1) + np.diag(next_to[:step], -1)
        values, vectors = np.linalg.eigh(small)
        above = np.ones(most + 1)
        above[1 : step + 2] = np.minimum(1.0 - values[::-1][:most], 1.0)
        limit, second = 1.0 - float(np.max(above[2:] / wider)), float(values[-1])
        off = size * np.abs(vectors[-1, ::-1])
        if second < limit:
            room = (limit - second) / (limit - float(values[0]))
            missed = _FROM_RANDOM * sqrt(n) * exp(-sqrt(room) * (2 * step + 1))
            if missed <= _MISSED or off[0] <= _NEAR * second:
                return True
        elif _apart(above, off):
            return False
        if size <= _TINY:
            return second < limit
    return False


def _apart(values: FloatArray, off: FloatArray) -> bool:
    """Tell whether a clear gap is to be seen already between eigenvalues that have settled."""
    settled = int(np.argmin(np.append(off <= _NEAR, False)))
    k = np.arange(2, min(settled, len(values) - 1) + 1)
    return bool((values[k] > CLEAR * (k / (k - 1)) ** 2 * np.maximum(values[k - 1], 1e-12)).any())
