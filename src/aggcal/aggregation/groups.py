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
it. Two things reveal it. Along the slowest directions of the comparison graph, in which neighbours
hardly differ, the scores vary more than the prior allows; and compared items differ about as much
as any two. Where earlier answers decided who is compared the fit is right, and the first is so,
too. In a Swiss tournament compared items differ much less than any two; where items were sorted
once, in a quick sort or in leagues they do not, so that such studies are warned of as well.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, sqrt
from typing import Any, NamedTuple, TypedDict

import numpy as np

from aggcal._core.arrays import BoolArray, CodeArray, FloatArray, IntArray, frozen, ranks, sums
from aggcal._core.machine import one_thread
from aggcal.aggregation.covariance import Covariance
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.errors import (
    AggcalWarning,
    PairedByLevelWarning,
    WeaklyJoinedWarning,
    count,
    some,
)

_BIAS = 0.5
"""Share of a standard error by which the prior may move the gap of two items of groups that are one
spread of the scores apart. A lower number withdraws claims that are right, a higher one leaves
pairs certified that the prior put in order."""
_NAMED = 5
"""Pairs named at most."""
_DENSE = 400
"""Up to so many items all eigenvalues are worked out."""
MOST_GROUPS = 40
"""Groups looked for at most: more take longer, and few studies have so many."""
CLEAR = 1.5
"""How much wider than in a chain of items the gap in the spectrum is where there are groups. In
evenly joined designs of 12 items and more, the sparsest included, it was above this in 1 of about
900 studies (1.52), of 5 to 8 items in 6 of 640; with classes of 8 or 10 items and up to a tenth of
the judgments across them it was 1.3 to 19, and below 1.5 only where no certified pair was wrong. A
higher number misses groups, a lower one splits designs that are only sparse."""
_MARGIN, _NEAR = 1.03, 1e-2
"""Margin for the second eigenvalue, and how near it is worked out."""
_STEPS, _FEW_STEPS, _EVERY, _TINY = 200, 30, 5, 1e-10
"""Lanczos steps at most, of very many items at most, every how many are looked at, and what is left
of a vector when all directions were taken."""
_MOST_NUMBERS = 20_000_000
"""Numbers that are kept at most: for very many items there are fewer steps."""
_MISSED, _FROM_RANDOM = 1e-6, 1.648
"""Probability, at most, that an eigenvalue is missed, and the factor of its bound by Kuczyński and
Woźniakowski (1992)."""
SLOW, _DIRECTIONS = 0.5, 3
"""Eigenvalues of the normalised Laplacian of slow directions, and how many are looked at. Where
pairs are drawn at random the lowest is at .4 with ten judgments an item, and at .7 with forty."""
_CONFLICT = (15.1, 18.4, 21.1)
"""Quantiles of χ² with 1, 2 and 3 degrees of freedom, exceeded once in 10,000 times."""
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
    covariance: Callable[[], Covariance | None],
    prior_sd: float | None,
    *,
    scores: FloatArray,
) -> Groups:
    """Return the component of each item, split where groups are weakly joined, and warnings.

    Without a prior nothing but judgments says how far apart groups are. Rows that are on
    other machines only are not looked at.
    """
    judgments = held.local
    if component is None or prior_sd is None or judgments is None:
        return {"component": component, "warnings": (), "slow": None}
    pieces = np.flatnonzero(np.bincount(component) > 3)  # noqa: PLR2004  # two groups of two
    spectra = [spectrum(judgments, np.flatnonzero(component == piece)) for piece in pieces]
    label = weak_groups(component, spectra, covariance, prior_sd)
    warnings, slow = weak_warnings(judgments, component, label), None
    if spectra and not warnings:
        largest = max(spectra, key=lambda each: len(each.own))
        if largest.slow.shape[1] and differ_like_any(judgments, largest.own, scores):
            slow = np.zeros((len(scores), largest.slow.shape[1]))
            slow[largest.own] = largest.slow
            of_scores = covariance()
            if of_scores is not None:
                warnings = level_warnings(scores, slow, of_scores, prior_sd)
    return {"component": label, "warnings": warnings, "slow": slow}


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
        Of the comparison graphs of these.
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
    >>> aggcal.aggregate(judgments, warn=False).uncertainty.component
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """
    label = np.array(component, dtype=np.int64)
    for each in spectra:
        for groups in _partitions(each):
            of_scores = covariance()
            if of_scores is None:
                return label
            names = np.zeros(len(each.own), dtype=np.int64)
            for g in range(int(groups.max()) + 1):
                inside = groups == g
                if _weak(each.own, inside, of_scores, prior_sd):
                    names[inside] = g + 1
            label[each.own] = (len(label) + label[each.own]) * (MOST_GROUPS + 2) + names
            label = np.unique(label, return_inverse=True)[1].astype(np.int64)
    sizes, first = np.bincount(label), np.unique(label, return_index=True)[1]
    rank = np.argsort(np.lexsort((first, -sizes)))
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
    "Only 1 of 3 judgments connects 2 groups of items (outside the largest: 'c', 'd'). ..."
    """
    number = n_components(label)
    if number == n_components(component):
        return ()
    across = int(judgments.count[label[judgments.left] != label[judgments.right]].sum())
    times, ids = judgments.judgments_per_item, judgments.item_ids
    named = []
    for g in range(1, min(number, _NAMED + 1)):
        own = np.flatnonzero(label == g)
        home = np.flatnonzero((label != g) & (component == component[own[0]]))
        if len(home):
            one, other = (ids[each[np.argmax(times[each])]] for each in (own, home))
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
    """Return whether the prior decides how far a group is from the rest of its component."""
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


def _partitions(spectrum: Spectrum) -> list[IntArray]:
    """Return the clear partitions of a component's items, the coarsest first."""
    values, k = spectrum.values, np.arange(2, len(spectrum.values))
    wider = values[k] / np.maximum(values[k - 1], 1e-12)
    clear = k[wider > CLEAR * (k / (k - 1)) ** 2]
    return [_groups(spectrum.vectors[:, :number]) for number in clear.tolist()]


def _groups(vectors: FloatArray) -> IntArray:
    """Assign items to as many groups as there are eigenvectors, by a pivoted QR decomposition."""
    from scipy.linalg import qr

    number = vectors.shape[1]
    pivots = qr(vectors.T, mode="economic", pivoting=True)[2][:number]
    left, _, right = np.linalg.svd(vectors[pivots].T)
    return np.asarray(np.argmax(np.abs(vectors @ (left @ right)), axis=1), dtype=np.int64)


# The comparison graph -----------------------------------------------------------------------------


def spectrum(judgments: Judgments, own: IntArray) -> Spectrum:
    """Look at the comparison graph of a component."""
    n, none = len(own), np.zeros((len(own), 0))
    number, even = min(n // 2 + 1, MOST_GROUPS + 1), Spectrum(own, np.zeros(0), none, none)
    if n <= _DENSE:
        left, right, weight, degree = comparison_pairs(judgments, own)
        half = sums(left.astype(np.int64) * n + right, weight, n * n).reshape(n, n)
        values, vectors = np.linalg.eigh(half + half.T)
    else:
        from scipy.sparse.linalg import ArpackError, eigsh

        left, right, weight, degree = comparison_pairs(judgments, own)
        graph = adjacency(left, right, weight, n)
        if evenly_joined(graph, degree):
            return even
        start = np.sqrt(degree) + 0.01 * np.cos(np.arange(n))
        try:
            values, vectors = eigsh(graph, number, which="LA", v0=start, tol=1e-4)
        except ArpackError:
            return even
    order = np.argsort(-values)[:number]
    values, vectors = 1.0 - values[order], vectors[:, order]
    return Spectrum(own, values, vectors, slow_directions(values, vectors, degree))


def comparison_pairs(
    judgments: Judgments, own: IntArray
) -> tuple[CodeArray, CodeArray, FloatArray, FloatArray]:
    """Return the pairs of a component, by how often they were compared.

    That is divided by the root of how often either item was compared, which comes last.
    """
    n, where = len(own), np.full(judgments.n_items, -1, dtype=np.int32)
    where[own] = np.arange(n, dtype=np.int32)
    left, right = where[judgments.left], where[judgments.right]
    mine = left >= 0
    left, right, times = left[mine], right[mine], judgments.count[mine]
    degree = sums(left, times, n) + sums(right, times, n)
    root = np.sqrt(degree)
    return left, right, times / (root[left] * root[right]), degree


def adjacency(left: CodeArray, right: CodeArray, weight: FloatArray, n: int) -> Any:
    """Return the weights of pairs of n items as a sparse symmetric matrix."""
    from scipy.sparse import coo_array

    ends = np.concatenate([left, right]), np.concatenate([right, left])
    return coo_array((np.tile(weight, 2), ends), shape=(n, n)).tocsr()


def evenly_joined(graph: Any, degree: FloatArray) -> bool:
    """Return whether there are no groups, where that follows without the eigenvectors.

    None of the lowest eigenvalues is wider than in a chain of items (see `weak_groups`) where the
    second is above what the k-th may be at most, over `CLEAR` (k / (k − 1))², for all k up to the
    most groups. They are below 1: with some thirty-five judgments an item at random, or more, that
    is enough.

    Lanczos' method from a random vector gives the second from above, closer with each step: it is
    left where it has settled, or where a lower one would have shown. The others are never above
    what the method gives for them.
    """
    first = np.sqrt(degree / degree.sum())
    n, k = len(first), np.arange(2, MOST_GROUPS + 1)
    wider = CLEAR * (k / (k - 1)) ** 2 / _MARGIN
    vector = np.random.default_rng(0).standard_normal(n)
    vector -= (first @ vector) * first
    steps = min(_STEPS, max(_FEW_STEPS, _MOST_NUMBERS // n))
    basis, diagonal, off_diagonal = np.empty((steps, n)), np.empty(steps), np.empty(steps)
    size = float(np.linalg.norm(vector))
    for step in range(steps):
        basis[step] = vector / size
        vector = graph @ basis[step]
        vector -= (first @ vector) * first
        diagonal[step] = float(basis[step] @ vector)
        vector -= (basis[: step + 1] @ vector) @ basis[: step + 1]
        size = off_diagonal[step] = float(np.linalg.norm(vector))
        if step % _EVERY and step < steps - 1 and size > _TINY:
            continue
        small = np.diag(diagonal[: step + 1])
        small += np.diag(off_diagonal[:step], 1) + np.diag(off_diagonal[:step], -1)
        values, vectors = np.linalg.eigh(small)
        above = np.ones(MOST_GROUPS + 1)
        above[1 : step + 2] = np.minimum(1.0 - values[::-1][:MOST_GROUPS], 1.0)
        limit, second = 1.0 - float(np.max(above[2:] / wider)), float(values[-1])
        if second < limit:
            margin = (limit - second) / (limit - float(values[0]))
            missed = _FROM_RANDOM * sqrt(n) * exp(-sqrt(margin) * (2 * step + 1))
            residual = size * abs(float(vectors[-1, -1]))
            if missed <= _MISSED or residual <= _NEAR * second:
                return True
        if size <= _TINY:
            return second < limit
    return False


# Pairs that were chosen by a level that was known beforehand --------------------------------------


def slow_directions(values: FloatArray, vectors: FloatArray, degree: FloatArray) -> FloatArray:
    """Return the slowest directions of a comparison graph, a column each of length 1.

    Parameters
    ----------
    values, vectors
        Lowest eigenvalues of its normalised Laplacian, and eigenvectors; the first is trivial.
    degree
        How often each item was compared.

    Examples
    --------
    >>> slow = slow_directions(np.array([0.0, 0.1, 0.9]), np.eye(3), np.ones(3))
    >>> slow.round(2).ravel()
    array([-0.41,  0.82, -0.41])
    """
    chosen = 1 + np.flatnonzero(values[1 : _DIRECTIONS + 1] < SLOW)
    return _standardised(vectors[:, chosen] / np.sqrt(degree)[:, None])


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
    limit = _CONFLICT[slow.shape[1] - 1] * (1.0 + _SPREAD_UNKNOWN / (len(scores) * usual**2))
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
    return _by_level() if total > _CONFLICT[slow.shape[1] - 1] else ()


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
            f"{title}. {why}",
            "If marks or a model's scores chose them, fit with --method btl --prior none, and have "
            "items of different levels compared; if earlier answers did, do not.",
            title=title,
            why=why,
        ),
    )
