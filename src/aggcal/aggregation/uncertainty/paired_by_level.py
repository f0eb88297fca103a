"""Items that were mostly compared with others of their own level, which somebody knew beforehand.

The prior takes the scores as independent of who was compared with whom. Where marks or a model's
scores decided that, compared items are nearly equal, the spread of the scores comes out far too
small, and the ends of the scale are drawn together: with each of 60 items compared 40 times, with
the twelve next to it by a guess that correlates .9 with the truth, scores correlated .7 with it.

Two things tell. Along the slowest directions of the comparison graph, in which neighbours hardly
differ, the scores vary more than the prior allows; and compared items differ about as much as any
two. Where earlier answers decided who is compared the fit is right, and the first is so, too. In a
Swiss tournament compared items differ much less than any two; where items were sorted once, in a
quick sort or in leagues they do not, so that such studies are warned of as well.
"""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, ranks, sums
from aggcal.aggregation.uncertainty.covariance import Covariance
from aggcal.data.judgments import Judgments
from aggcal.errors import AggcalWarning, PairedByLevelWarning

SLOW, MODES = 0.5, 3
"""Eigenvalues of the normalised Laplacian of slow directions, and how many are looked at. Where
pairs are drawn at random the lowest is at .4 with ten judgments an item, and at .7 with forty."""
_CONFLICT = (15.1, 18.4, 21.1)
"""Squares of that many standard normal variables exceed it once in 10,000 times."""
_ALIKE = 0.65
"""Mean squared difference of compared items over that of any two, from which they are taken for no
more alike than any two. It is .25 to .6 in Swiss tournaments of ten rounds and more, up to .7 in
shorter ones, and .6 to 1.1 where something else decided."""
_LEAST_KNOWN = 0.02
"""Share of a direction's variance that judgments are taken to tell at least: standard errors allow
for what is not known of the spread, which with few judgments exceeds what is known."""
_FEWEST, _SPREAD_UNKNOWN = 15, 20.0
"""Items that a spread is estimated from at least, and what its own error multiplies the limits by:
1 + so much over the number of items times the squared share of their variance that is known."""


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
    chosen = 1 + np.flatnonzero(values[1 : MODES + 1] < SLOW)
    found = vectors[:, chosen] / np.sqrt(degree)[:, None]
    found = found - found.mean(axis=0)
    return np.asarray(found / np.maximum(np.sqrt(np.square(found).sum(axis=0)), 1e-300))


def differ_like_any(judgments: Judgments, own: IntArray, scores: FloatArray) -> bool:
    """Tell whether items that were compared differ about as much as any two (Geary's ratio)."""
    inside = np.zeros(judgments.n_items, dtype=bool)
    inside[own] = True
    mine = inside[judgments.left]
    left, right, count = judgments.left[mine], judgments.right[mine], judgments.count[mine]
    of_each = sums(left, count, len(scores)) + sums(right, count, len(scores))
    about = scores - float(of_each @ scores) / float(of_each.sum())
    any_two = 2.0 * float(of_each @ np.square(about)) / float(of_each.sum())
    compared = float(count @ np.square(scores[left] - scores[right])) / float(count.sum())
    return compared > _ALIKE * any_two


def suspect_directions(
    judgments: Judgments, own: IntArray, slow: FloatArray, scores: FloatArray
) -> FloatArray | None:
    """Return the slow directions of a component, among all items, if they may be of a level.

    None where there are none, and where compared items are so alike that their own answers tell it.
    """
    if not slow.shape[1] or not differ_like_any(judgments, own, scores):
        return None
    whole = np.zeros((len(scores), slow.shape[1]))
    whole[own] = slow
    return whole


def level_warnings(
    scores: FloatArray, slow: FloatArray, covariance: Covariance, prior_sd: float
) -> tuple[AggcalWarning, ...]:
    """Warn where scores vary along slow directions more than independent ones would.

    With x a direction, Var(x'ŝ) = σ² − x'Cx where scores do not depend on who was compared.
    """
    variance, total = prior_sd**2, 0.0
    for direction in slow.T:
        known = 1.0 - covariance.contrast_variance(direction) / variance
        total += float(direction @ scores) ** 2 / (variance * max(known, _LEAST_KNOWN))
    usual = max(1.0 - float(covariance.variances.mean()) / variance, _LEAST_KNOWN)
    limit = _CONFLICT[slow.shape[1] - 1] * (1.0 + _SPREAD_UNKNOWN / (len(scores) * usual**2))
    return _told() if len(scores) >= _FEWEST and total > limit else ()


def model_level_warnings(
    slow: FloatArray | None, both: BoolArray, model: FloatArray
) -> tuple[AggcalWarning, ...]:
    """Warn where a model's scores go with who was compared with whom: perhaps they decided it.

    Parameters
    ----------
    slow
        What `suspect_directions` returns.
    both
        Which items have a score of the model.
    model
        Those scores.

    Examples
    --------
    >>> along = np.linspace(-1.0, 1.0, 50)[:, None]
    >>> every, random = np.ones(50, dtype=bool), np.random.default_rng(0)
    >>> [found] = model_level_warnings(along, every, along[:, 0] + random.normal(0.0, 0.3, 50))
    >>> found.code, model_level_warnings(along, every, random.normal(size=50))
    ('paired-by-level', ())
    """
    if slow is None or len(model) < _FEWEST:
        return ()
    place = ranks(model).astype(np.float64)
    place -= place.mean()
    about = slow[both] - slow[both].mean(axis=0)
    about = about / np.maximum(np.sqrt(np.square(about).sum(axis=0)), 1e-300)
    total = float(np.square(about.T @ place).sum()) / max(float(place.var(ddof=1)), 1e-300)
    return _told() if total > _CONFLICT[slow.shape[1] - 1] else ()


def _told() -> tuple[AggcalWarning, ...]:
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
