"""Weakly joined groups: where the prior, not the judgments, says how far apart items are.

Items of two classes that are compared within their class, and hardly ever across, are connected, so
a score comes out for each. But a prior under which all scores are alike gives the gap between the
means of two groups of n items the standard deviation σ√(2/n): the larger the groups, the surer it
is that there is none, and a few judgments across do not change its mind. Which groups there are is
taken from who was compared with whom, never from the outcomes.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple, TypedDict

import numpy as np
from scipy.linalg import qr

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, sums
from aggcal._core.machine import one_thread
from aggcal.aggregation.uncertainty.comparison_graph import (
    CLEAR,
    MOST_GROUPS,
    evenly_joined,
    pairs_of_component,
)
from aggcal.aggregation.uncertainty.covariance import Covariance
from aggcal.aggregation.uncertainty.paired_by_level import (
    level_warnings,
    slow_directions,
    suspect_directions,
)
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.errors import AggcalWarning, WeaklyJoinedWarning, count, some
from aggcal.models.weighted_pairs import MakePairs, pairs_of

_BIAS = 0.5
"""Share of a standard error by which the prior may move the gap of two items of groups that are one
spread of the scores apart. A lower number withdraws claims that are right, a higher one leaves
pairs certified that the prior put in order."""
_NAMED = 5
"""Pairs named at most."""
_ENOUGH = 30
"""Rows for each item that are looked at first: of pairs drawn at random, half of them show that
there are no groups. More take longer, fewer are more often in vain."""
_QUICKLY, _DENSE = 150, 400
"""Up to so many items all eigenvalues are worked out at once, and up to so many if there may be
groups; of more, the first ones only."""


class Groups(TypedDict):
    """What `Uncertainty.of` is told of groups."""

    component: IntArray | None
    warnings: tuple[AggcalWarning, ...]
    slow: FloatArray | None


class Spectrum(NamedTuple):
    """What is known of the comparison graph of a component."""

    own: IntArray
    """Its items."""
    values: FloatArray
    vectors: FloatArray
    """The lowest eigenvalues and eigenvectors of the normalised Laplacian; none where these would
    show no groups."""
    slow: FloatArray
    """Its slow directions, a column each."""


@one_thread()
def claimed_groups(
    held: AnyJudgments,
    component: IntArray | None,
    covariance: Callable[[], Covariance | None],
    prior_sd: float | None,
    warnings: tuple[AggcalWarning, ...],
    *,
    scores: FloatArray,
) -> Groups:
    """Return the component of each item, split where groups are weakly joined, and warnings.

    Without a prior nothing but judgments says how far apart groups are. Rows that are on
    other machines only are not looked at.
    """
    judgments = held.local
    if component is None or prior_sd is None or judgments is None:
        return {"component": component, "warnings": warnings, "slow": None}
    spectra = _spectra(judgments, component, pairs_of(held))
    label = weak_groups(component, spectra, covariance, prior_sd)
    said = weak_warnings(judgments, component, label)
    slow = None
    if spectra and not said:
        largest = max(spectra, key=lambda each: len(each.own))
        slow = suspect_directions(judgments, largest.own, largest.slow, scores)
        known = None if slow is None else covariance()
        if slow is not None and known is not None:
            said = level_warnings(scores, slow, known, prior_sd)
    return {"component": label, "warnings": (*warnings, *said), "slow": slow}


def weak_groups(
    component: IntArray,
    spectra: list[Spectrum],
    covariance: Callable[[], Covariance | None],
    prior_sd: float,
) -> IntArray:
    """Split connected components where two groups are joined so weakly that the prior decides.

    Groups are those of the normalised spectral cut: k of them where the (k + 1)-th eigenvalue of
    the comparison graph is much larger than the k-th, compared with a chain of items. A group is
    weakly joined where the posterior variance of its mean, from that of the others, is so near
    that of the prior that the shrinkage moves gaps across by more than `_BIAS` standard errors.

    Parameters
    ----------
    component
        Label of each item's connected component.
    spectra
        What is known of the comparison graphs of these.
    covariance
        Works out that of the scores; asked only where there are groups.
    prior_sd
        Spread of their prior.

    Examples
    --------
    >>> import aggcal
    >>> from itertools import combinations
    >>> within = [("ann", *pair) for c in "ab" for pair in combinations(map(c.__add__, "1234"), 2)]
    >>> judgments = aggcal.read_judgments([*within * 20, ("bob", "a1", "b1")])
    >>> known = aggcal.aggregate(judgments, warn=False).uncertainty
    >>> known.component
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """
    label, known = np.array(component, dtype=np.int64), None
    for found in spectra:
        own = found.own
        for groups in _levels(found):
            known = covariance() if known is None else known
            if known is None:
                return label
            names = np.zeros(len(own), dtype=np.int64)
            for g in range(int(groups.max()) + 1):
                inside = groups == g
                if _weak(own, inside, known, prior_sd):
                    names[inside] = g + 1
            label[own] = (len(label) + label[own]) * (MOST_GROUPS + 2) + names
            label = np.unique(label, return_inverse=True)[1].astype(np.int64)
    sizes, first = np.bincount(label), np.unique(label, return_index=True)[1]
    place = np.argsort(np.lexsort((first, -sizes)))
    return np.asarray(place[label], dtype=np.int64)


def weak_warnings(
    judgments: Judgments, component: IntArray, label: IntArray
) -> tuple[AggcalWarning, ...]:
    """Say which groups are weakly joined, by how many judgments, and what to ask.

    Examples
    --------
    >>> import aggcal
    >>> judgments = aggcal.read_judgments([("ann", "a", "b"), ("ann", "b", "c"), ("ann", "c", "d")])
    >>> [found] = weak_warnings(judgments, np.zeros(4, dtype=int), np.array([0, 0, 1, 1]))
    >>> found.what
    "Only 1 of 3 judgments connects 2 groups of items (outside the largest: 'c', 'd'). ..."
    """
    number, pieces = (len(np.unique(each)) for each in (label, component))
    if number == pieces:
        return ()
    across = int(judgments.count[label[judgments.left] != label[judgments.right]].sum())
    given, ids = judgments.judgments_per_item, judgments.item_ids
    named = []
    for g in range(1, min(number, _NAMED + 1)):
        own = np.flatnonzero(label == g)
        home = np.flatnonzero((label != g) & (component == component[own[0]]))
        if len(home):
            one, other = (ids[each[np.argmax(given[each])]] for each in (own, home))
            named.append(f"'{one}' with '{other}'")
    outside = list(ids[label > 0])
    return (
        WeaklyJoinedWarning(
            f"Only {across:,} of {count(judgments.n_judgments, 'judgment')} "
            f"{'connects' if across == 1 else 'connect'} {number:,} groups of items (outside the "
            f"largest: {some(outside)}). The prior decides how far apart the groups are, so no "
            "order is claimed across groups; scores and intervals compare items within a group.",
            "Have several annotators compare many pairs across the groups, such as "
            f"{', '.join(named)}.",
            title=f"Only {count(across, 'judgment connects', 'judgments connect')} {number:,} "
            "groups of items",
            why="The prior decides how far apart the groups are, so no order is claimed across "
            "groups; scores and intervals compare items within a group. Outside the largest: "
            f"{some(outside)}.",
            items=outside,
        ),
    )


def _weak(own: IntArray, inside: BoolArray, covariance: Covariance, prior_sd: float) -> bool:
    """Tell whether the prior decides how far a group is from the others of its component."""
    one, other = own[inside], own[~inside]
    if not len(one) or not len(other):
        return False
    contrast = np.zeros(len(covariance.variances))
    contrast[one], contrast[other] = 1.0 / len(one), -1.0 / len(other)
    kept = covariance.contrast_variance(contrast) / (
        prior_sd**2 * (1.0 / len(one) + 1.0 / len(other))
    )
    typical = sqrt(2.0 * float(np.mean(covariance.variances[own])))
    return prior_sd * kept > _BIAS * typical


def _levels(found: Spectrum) -> list[IntArray]:
    """Return the clear partitions of a component's items, the coarsest first."""
    values, vectors = found.values, found.vectors
    k = np.arange(2, len(values))
    wider = values[k] / np.maximum(values[k - 1], 1e-12)
    clear = k[wider > CLEAR * (k / (k - 1)) ** 2]
    return [_groups(vectors[:, :number]) for number in clear.tolist()]


def _spectra(judgments: Judgments, component: IntArray, make: MakePairs) -> list[Spectrum]:
    """Look at each component that may fall into two groups of two or more."""
    pieces = np.flatnonzero(np.bincount(component) > 3)  # noqa: PLR2004
    return [_spectrum(judgments, np.flatnonzero(component == piece), make) for piece in pieces]


def _spectrum(judgments: Judgments, own: IntArray, make: MakePairs) -> Spectrum:
    """Look at the comparison graph of a component."""
    n = len(own)
    step = len(judgments.count) // (_ENOUGH * judgments.n_items)
    if step > 1 and n > _DENSE:
        # Fewer comparisons join items less evenly: where some show no groups, all have none.
        left, right, given, degree = pairs_of_component(judgments, own, step)
        if degree.all() and evenly_joined(make(left, right, given, n), degree):
            return _even(own)
    left, right, given, degree = pairs_of_component(judgments, own)
    number = min(n // 2 + 1, MOST_GROUPS + 1)
    if n > _QUICKLY and evenly_joined(make(left, right, given, n), degree):
        return _even(own)
    if n <= _DENSE:
        half = sums(left.astype(np.int64) * n + right, given, n * n).reshape(n, n)
        values, vectors = np.linalg.eigh(half + half.T)
    else:
        from scipy.sparse import coo_array  # as long as most studies take to fit
        from scipy.sparse.linalg import ArpackError, eigsh

        ends = np.concatenate([left, right]), np.concatenate([right, left])
        joined = coo_array((np.concatenate([given, given]), ends), shape=(n, n)).tocsr()
        start = np.sqrt(degree) + 0.01 * np.cos(np.arange(n))
        try:
            values, vectors = eigsh(joined, number, which="LA", v0=start, tol=1e-4)
        except ArpackError:
            return _even(own)
    order = np.argsort(-values)[:number]
    values, vectors = 1.0 - values[order], vectors[:, order]
    return Spectrum(own, values, vectors, slow_directions(values, vectors, degree))


def _even(own: IntArray) -> Spectrum:
    """Return what is known of items that are evenly joined: no groups, and nothing slow."""
    none = np.zeros((len(own), 0))
    return Spectrum(own, np.zeros(0), none, none)


def _groups(vectors: FloatArray) -> IntArray:
    """Assign items to as many groups as there are eigenvectors, by a pivoted QR decomposition."""
    number = vectors.shape[1]
    pivots = qr(vectors.T, mode="economic", pivoting=True)[2][:number]
    left, _, right = np.linalg.svd(vectors[pivots].T)
    return np.asarray(np.argmax(np.abs(vectors @ (left @ right)), axis=1), dtype=np.int64)
