"""Items that were mostly compared with others of their own level, which somebody knew beforehand.

The prior takes the scores as independent of who was compared with whom. Where marks or a model's
scores decided that, compared items are nearly equal, the spread of the scores comes out far too
small, and the ends of the scale are drawn together: with each of 60 items compared 40 times, with
the twelve next to it by a guess that correlates .9 with the truth, scores correlated .7 with it.

Two things tell. Along the slowest directions of the comparison graph, in which neighbours hardly
differ, the scores vary more than the prior allows; and compared items differ about as much as any
two. Where earlier answers decided who is compared, as in a Swiss tournament, the first is so, too,
but compared items differ much less than any two: such studies are fitted as they should be.
"""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, picked
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
_LEAST_KNOWN = 1e-4
"""Share of a direction's variance that judgments are taken to tell at least."""
_ROWS = 1_000_000  # that are looked at; more tell the same


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


def against_the_prior(
    scores: FloatArray, slow: FloatArray, covariance: Covariance, prior_sd: float
) -> bool:
    """Tell whether scores vary along slow directions more than independent ones would.

    With x a direction, Var(x'ŝ) = σ² − x'Cx where scores do not depend on who was compared.
    """
    total = 0.0
    for direction in slow.T:
        known = 1.0 - covariance.contrast_variance(direction) / prior_sd**2
        total += float(direction @ scores) ** 2 / (prior_sd**2 * max(known, _LEAST_KNOWN))
    return total > _CONFLICT[slow.shape[1] - 1]


def differ_like_any(judgments: Judgments, own: IntArray, scores: FloatArray) -> bool:
    """Tell whether items that were compared differ about as much as any two (Geary's ratio)."""
    at = np.arange(0, len(judgments.count), -(-len(judgments.count) // _ROWS))
    left, right = picked(judgments.left, at), picked(judgments.right, at)
    inside = np.zeros(judgments.n_items, dtype=bool)
    inside[own] = True
    mine = inside[left]
    left, right = left[mine], right[mine]
    given = picked(judgments.count, at)[mine].astype(np.float64)
    of_each = np.bincount(left, given, len(scores)) + np.bincount(right, given, len(scores))
    about = scores - float(of_each @ scores) / float(of_each.sum())
    any_two = 2.0 * float(of_each @ np.square(about)) / float(of_each.sum())
    compared = float(given @ np.square(scores[left] - scores[right])) / float(given.sum())
    return compared > _ALIKE * any_two


def level_warnings(
    judgments: Judgments,
    own: IntArray,
    slow: FloatArray,
    scores: FloatArray,
    known: tuple[Covariance, float],
) -> tuple[AggcalWarning, ...]:
    """Warn where levels that somebody knew beforehand seem to have decided who was compared.

    Parameters
    ----------
    judgments
        Who was compared with whom.
    own, slow
        The items of a component, and its slow directions.
    scores
        Of all items.
    known
        Their covariance, and the spread of their prior.
    """
    if not slow.shape[1]:
        return ()
    whole = np.zeros((len(scores), slow.shape[1]))
    whole[own] = slow
    if not against_the_prior(scores, whole, *known) or not differ_like_any(judgments, own, scores):
        return ()
    title = "Items were mostly compared with others of about their own level"
    why = (
        "If that level was known from elsewhere than these answers (marks, a model's scores), the "
        "prior draws the ends of the scale together: distances are too small, and orders of items "
        "that were not compared, certified ones too, may be wrong. If pairs were chosen by earlier "
        "answers, nothing is wrong."
    )
    return (
        PairedByLevelWarning(
            f"{title}. {why}",
            "If the level was known from elsewhere, fit with --method btl --prior none, and have "
            "items of different levels compared.",
            title=title,
            why=why,
        ),
    )
