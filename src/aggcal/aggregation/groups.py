"""What comparisons join: connected components, and groups that they join weakly.

Where the comparisons fall into several components, scores of different components stand side by
side by convention only (each component is centred by the prior). Nothing is claimed across them.

Items of two classes that are compared within their class, and hardly ever across, are connected, so
a score comes out for each. But a prior under which all scores are alike gives the gap between the
means of two groups of n items the standard deviation σ√(2/n): the larger the groups, the surer it
is that there is none, and a few judgments across do not change its mind. Such groups are treated as
components are. Which there are is taken from who was compared with whom, never from the outcomes.

The prior takes the scores as independent of who was compared with whom, too. Where marks or a
model's scores decided that, compared items are nearly equal, the spread of the scores comes out far
too small, and the ends of the scale are drawn together: with each of 60 items compared 40 times,
with the twelve next to it by a guess that correlates .9 with the truth, scores correlated .7 with
it. Two things reveal it. Along the last directions of the comparison graph, in which neighbours
hardly differ, the scores vary more than the prior allows; and compared items differ about as much
as any two. Where earlier answers decided who is compared the fit is right, and the first is so,
too. In a Swiss tournament compared items differ much less than any two; where items were sorted
once, in a quick sort or in leagues they do not, so that such studies are warned of as well.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple, TypedDict

import numpy as np
from scipy.special import chdtri

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, frozen, ranks, sums
from aggcal._core.machine import one_thread
from aggcal.aggregation.covariance import Covariance
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.errors import (
    AggcalWarning,
    PairedByLevelWarning,
    WeaklyJoinedWarning,
    count,
    option,
    some,
)
from aggcal.registry import BTL

_BIAS = 0.5
"""Share of a standard error by which the prior may move the gap of two items of groups that are one
spread of the scores apart. A lower number withdraws claims that are right, a higher one leaves
pairs certified that the prior put in order."""
_NAMED = 5
"""Pairs named at most."""
_DENSE, _ROUGHLY, _NEAR = 400, 1e-2, 1e-4
"""Up to so many items all eigenvalues are worked out; of more the second, roughly, and the lowest
ones where that is a slow one."""
_MOST_GROUPS = 40
"""Groups looked for at most: more take longer, and few studies have so many."""
_CLEAR = 1.5
"""How much wider than in a chain of items the gap in the spectrum is where there are groups. In
evenly joined designs of 12 items and more, the sparsest included, it was above this in 1 of about
900 studies (1.52), of 5 to 8 items in 6 of 640; with classes of 8 or 10 items and up to a tenth of
the judgments across them it was 1.3 to 19, and below 1.5 only where no certified pair was wrong. A
higher number misses groups, a lower one splits designs that are only sparse."""
_SLOW, _DIRECTIONS = 0.5, 3
"""Eigenvalues of the normalised Laplacian of slow directions, and how many are looked at. Where
pairs are drawn at random the lowest is at .4 with ten judgments an item, and at .7 with forty."""
_CONFLICT = 1e-4
"""How often chance alone may be mistaken for a level that was known beforehand."""
_ALIKE = 0.65
"""Mean squared difference of compared items over that of any two, from which they are taken for no
more alike than any two. It is .25 to .6 in Swiss tournaments of ten rounds and more, up to .7 in
shorter ones, and .6 to 1.1 where something else decided."""
_LEAST_KNOWN = 0.02
"""Share of a direction's variance that judgments are taken to determine at least: standard errors
allow for the uncertain spread, which with few judgments exceeds what they determine."""
_FEWEST, _SPREAD_UNKNOWN = 15, 20.0
"""Items that a spread is estimated from at least, and what its own error multiplies the limits by:
1 + so much over the number of items times the squared share of their variance that is known."""


# Components ---------------------------------------------------------------------------------------


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
    sizes = np.array([len(own) for own in members(component, n)])
    return int(np.sum(sizes * (sizes - 1) // 2))


def apart(component: IntArray | None, i: IntArray, j: IntArray) -> BoolArray:
    """Return, for each pair of positions, whether nothing compares the two, not even indirectly.

    Examples
    --------
    >>> apart(np.array([0, 1, 0]), np.array([0, 0]), np.array([1, 2])).tolist()
    [True, False]
    """
    if component is None:
        return np.zeros(np.broadcast(i, j).shape, dtype=bool)
    return np.asarray(component[i] != component[j])


# Weakly joined groups -----------------------------------------------------------------------------


class Groups(TypedDict):
    """What `Uncertainty.of` takes of groups."""

    component: IntArray | None
    warnings: tuple[AggcalWarning, ...]
    slow: FloatArray | None


class Spectrum(NamedTuple):
    """The lowest eigenvalues of the comparison graph of a component."""

    own: IntArray
    """Its items."""
    values: FloatArray
    vectors: FloatArray
    """Of the normalised Laplacian; none where these would show no groups."""
    slow: FloatArray
    """Its slow directions, a column each."""


@one_thread()
def claimed_groups(
    held: AnyJudgments,
    component: IntArray | None,
    covariance: Covariance | None,
    prior_sd: float | None,
    *,
    scores: FloatArray,
) -> Groups:
    """Return the component of each item, split where groups are weakly joined, and warnings.

    Without a prior nothing but judgments says how far apart groups are. Rows that are on
    other machines only are not looked at.
    """
    judgments = held.local
    if component is None or prior_sd is None or judgments is None or covariance is None:
        return {"component": component, "warnings": (), "slow": None}
    spectra = [
        spectrum(judgments, own)
        for own in members(component, len(scores))
        if len(own) > 3  # noqa: PLR2004  # two groups of two
    ]
    label = weak_groups(component, spectra, covariance, prior_sd)
    warnings, slow = weak_warnings(judgments, component, label), None
    if spectra and not warnings:
        largest = max(spectra, key=lambda each: len(each.own))
        if largest.slow.shape[1] and differ_like_any(judgments, largest.own, scores):
            slow = np.zeros((len(scores), largest.slow.shape[1]))
            slow[largest.own] = largest.slow
            warnings = level_warnings(scores, slow, covariance, prior_sd)
    return {"component": label, "warnings": warnings, "slow": slow}


def weak_groups(
    component: IntArray,
    spectra: list[Spectrum],
    covariance: Covariance,
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
        Of the comparison graphs of these.
    covariance
        Of the scores.
    prior_sd
        Spread of their prior.

    Examples
    --------
    >>> import aggcal
    >>> from itertools import combinations
    >>> within = [("ann", *pair) for c in "ab" for pair in combinations(map(c.__add__, "1234"), 2)]
    >>> judgments = aggcal.read_judgments([*within * 20, ("bob", "a1", "b1")])
    >>> aggcal.aggregate(judgments, warn=False).uncertainty.component
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """
    label = np.array(component, dtype=np.int64)
    for each in spectra:
        for groups in _partitions(each):
            weak = [
                g
                for g in range(int(groups.max()) + 1)
                if _weak(each.own[groups == g], each.own[groups != g], covariance, prior_sd)
            ]
            names = np.zeros_like(label)
            names[each.own] = np.where(np.isin(groups, weak), groups + 1, 0)
            label = np.unique(np.stack([label, names]), axis=1, return_inverse=True)[1].reshape(-1)
    # Numbered by size, the largest first.
    _, first, size = np.unique(label, return_index=True, return_counts=True)
    rank = np.argsort(np.lexsort((first, -size)))
    return np.asarray(rank[label], dtype=np.int64)


def weak_warnings(
    judgments: Judgments, component: IntArray, label: IntArray
) -> tuple[AggcalWarning, ...]:
    """Say which groups are weakly joined, by how many judgments, and what to ask.

    Examples
    --------
    >>> import aggcal
    >>> judgments = aggcal.read_judgments([("ann", "a", "b"), ("ann", "b", "c"), ("ann", "c", "d")])
    >>> [warning] = weak_warnings(judgments, np.zeros(4, dtype=int), np.array([0, 0, 1, 1]))
    >>> warning.what
    "Only 1 of 3 judgments connects 2 groups of items. The prior decides ..."
    """
    number = n_components(label)
    if number == n_components(component):
        return ()
    across = int(judgments.count[label[judgments.left] != label[judgments.right]].sum())
    times, ids = judgments.judgments_per_item, judgments.item_ids
    named = []
    for g in range(1, min(number, _NAMED + 1)):
        inside = label == g
        home = ~inside & (component == component[np.argmax(inside)])
        if home.any():
            one, other = (ids[np.argmax(np.where(each, times, -1))] for each in (inside, home))
            named.append(f"'{one}' with '{other}'")
    outside = list(ids[label > 0])
    why = (
        "The prior decides how far apart the groups are, so no order is claimed across groups; "
        "scores and intervals compare items within a group."
    )
    return (
        WeaklyJoinedWarning(
            f"Only {across:,} of {count(judgments.n_judgments, 'judgment')} "
            f"{'connects' if across == 1 else 'connect'} {number:,} groups of items",
            f"{why} Outside the largest: {some(outside)}.",
            "Have several annotators compare many pairs across the groups, such as "
            f"{', '.join(named)}.",
            items=outside,
        ),
    )


def _weak(one: IntArray, other: IntArray, covariance: Covariance, prior_sd: float) -> bool:
    """Return whether the prior decides how far a group is from the rest of its component."""
    if not len(one) or not len(other):
        return False
    contrast = np.zeros(len(covariance.variances))
    contrast[one], contrast[other] = 1.0 / len(one), -1.0 / len(other)
    by_prior = prior_sd**2 * (1.0 / len(one) + 1.0 / len(other))
    kept = covariance.contrast_variance(contrast) / by_prior
    mean = float(np.mean(covariance.variances[np.append(one, other)]))
    return prior_sd * kept > _BIAS * sqrt(2.0 * mean)


def _partitions(spectrum: Spectrum) -> list[IntArray]:
    """Return the clear partitions of a component's items, the coarsest first.

    Items go to as many groups as there are eigenvectors, by a pivoted QR decomposition.
    """
    from scipy.linalg import qr

    values, partitions = spectrum.values, []
    for k in range(2, len(values)):
        last = max(values[k - 1], 1e-12)
        if last < _SLOW and values[k] > _CLEAR * (k / (k - 1)) ** 2 * last:
            vectors = spectrum.vectors[:, :k]
            pivots = qr(vectors.T, mode="economic", pivoting=True)[2][:k]
            left, _, right = np.linalg.svd(vectors[pivots].T)
            partitions.append(np.argmax(np.abs(vectors @ (left @ right)), axis=1))
    return partitions


# The comparison graph -----------------------------------------------------------------------------


def spectrum(judgments: Judgments, own: IntArray) -> Spectrum:
    """Look at the comparison graph of a component.

    Of the normalised Laplacian only slow directions matter: along others, half of the judgments of
    a group of items, or more, are about other items, too, and the prior does not decide.
    """
    n, index = len(own), np.full(judgments.n_items, -1, dtype=np.int64)
    index[own] = np.arange(n)
    left, right = index[judgments.left], index[judgments.right]
    left, right, times = left[left >= 0], right[left >= 0], judgments.count[left >= 0]
    degree = sums(left, times, n) + sums(right, times, n)
    weight = times / np.sqrt(degree[left] * degree[right])
    number = min(n // 2 + 1, _MOST_GROUPS + 1)
    if n <= _DENSE:
        half = sums(left * n + right, weight, n * n).reshape(n, n)
        values, vectors = np.linalg.eigh(half + half.T)
    else:
        from scipy.sparse import coo_array
        from scipy.sparse.linalg import ArpackError, eigsh

        graph = coo_array((weight, (left, right)), shape=(n, n)).tocsr()
        graph = graph + graph.T
        start = np.random.default_rng(0).standard_normal(n)
        try:
            values, vectors = eigsh(graph, 2, which="LA", v0=start, tol=_ROUGHLY)
            if 1.0 - values.min() < _SLOW:
                values, vectors = eigsh(graph, number, which="LA", v0=start, tol=_NEAR)
        except ArpackError:
            values, vectors = np.zeros(0), np.zeros((n, 0))
    order = np.argsort(-values)[:number]
    values, vectors = 1.0 - values[order], vectors[:, order]
    slow = 1 + np.flatnonzero(values[1 : _DIRECTIONS + 1] < _SLOW)
    return Spectrum(
        own, values, vectors, _standardised(vectors[:, slow] / np.sqrt(degree)[:, None])
    )


# Pairs that were chosen by a level that was known beforehand --------------------------------------


def _standardised(columns: FloatArray) -> FloatArray:
    """Return columns less their means, of length 1."""
    columns = columns - columns.mean(axis=0)
    return np.asarray(columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300))


def differ_like_any(judgments: Judgments, own: IntArray, scores: FloatArray) -> bool:
    """Return whether items that were compared differ about as much as any two (Geary's ratio)."""
    mine = np.isin(judgments.left, own)
    left, right, times = judgments.left[mine], judgments.right[mine], judgments.count[mine]
    of_each = sums(left, times, len(scores)) + sums(right, times, len(scores))
    about = scores - float(of_each @ scores) / float(of_each.sum())
    any_two = 2.0 * float(of_each @ np.square(about)) / float(of_each.sum())
    compared = float(times @ np.square(scores[left] - scores[right])) / float(times.sum())
    return compared > _ALIKE * any_two


def level_warnings(
    scores: FloatArray, slow: FloatArray, covariance: Covariance, prior_sd: float
) -> tuple[AggcalWarning, ...]:
    """Warn where scores vary along slow directions more than independent ones would.

    With x a direction, Var(x'ŝ) = σ² − x'Cx where scores do not depend on who was compared.
    """
    variance, total = prior_sd**2, 0.0
    for direction in slow.T:
        share = 1.0 - covariance.contrast_variance(direction) / variance
        total += float(direction @ scores) ** 2 / (variance * max(share, _LEAST_KNOWN))
    usual = max(1.0 - float(covariance.variances.mean()) / variance, _LEAST_KNOWN)
    limit = float(chdtri(slow.shape[1], _CONFLICT)) * (
        1.0 + _SPREAD_UNKNOWN / (len(scores) * usual**2)
    )
    return _by_level() if len(scores) >= _FEWEST and total > limit else ()


def model_level_warnings(
    slow: FloatArray | None, both: BoolArray, model: FloatArray
) -> tuple[AggcalWarning, ...]:
    """Warn where a model's scores go with who was compared with whom: perhaps they decided it.

    Parameters
    ----------
    slow
        The slow directions of the largest component, a column each; None for none.
    both
        Which items have a score of the model.
    model
        Those scores.

    Examples
    --------
    >>> along = np.linspace(-1.0, 1.0, 50)[:, None]
    >>> every, random = np.ones(50, dtype=bool), np.random.default_rng(0)
    >>> [warning] = model_level_warnings(along, every, along[:, 0] + random.normal(0.0, 0.3, 50))
    >>> warning.code, model_level_warnings(along, every, random.normal(size=50))
    ('paired-by-level', ())
    """
    if slow is None or len(model) < _FEWEST:
        return ()
    rank = ranks(model).astype(np.float64)
    rank -= rank.mean()
    total = float(np.square(_standardised(slow[both]).T @ rank).sum())
    total /= max(float(rank.var(ddof=1)), 1e-300)
    return _by_level() if total > chdtri(slow.shape[1], _CONFLICT) else ()


def _by_level() -> tuple[AggcalWarning, ...]:
    title = "Pairs may have been chosen by a level that was known beforehand"
    why = (
        "Scores go with who was compared with whom more than chance explains. If marks or a "
        "model's scores chose the pairs, the prior draws the ends of the scale together: distances "
        "are too small, and orders of items that were not compared may be wrong. If earlier "
        "answers chose them (a tournament, sorting, 'aggcal suggest'), the fit is right."
    )
    return (
        PairedByLevelWarning(
            title,
            why,
            f"If marks or a model's scores chose them, fit with {option('method', BTL.name)} "
            f"{option('prior', 'none')}, and have items of different levels compared; if earlier "
            "answers did, do not.",
        ),
    )
