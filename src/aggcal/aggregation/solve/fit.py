"""Where a fit of the integrated likelihood begins: rough optima of annotators alike."""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.aggregation.newton import minimise
from aggcal.models.compiled import thurstone
from aggcal.models.links import Link
from aggcal.models.rows import Rows

_ROUGH = 1e-3
"""Relative gradient norm of a start: smaller takes longer, the fit improves on it anyway."""
_SPARE = 0.5
"""Wins and losses that each item is given for a start: without, one may be infinitely far."""
_HOLDS_THE_UNSEEN = 1e-3
"""Precision that keeps unseen items near 0 in a start, and others where they are."""


def by_wins(rows: Rows, link: Link) -> FloatArray:
    """Return scores by the share of its comparisons that each item won: an iteration is saved.

    As if all others were equal, which they are not: a start, and no more.

    Examples
    --------
    >>> from aggcal.models.links import link
    >>> two = Rows(np.array([0, 0]), np.array([1, 1]), np.ones(2), np.array([0, 2]), 2)
    >>> by_wins(two, link("logistic")).round(3)
    array([ 1.609, -1.609])
    """
    won, given = rows.won, rows.degrees
    _, pull, curve = link.at_zero
    # The pull of a share near one half, over the curvature there, is a share's logit by this much.
    return np.asarray(0.5 * pull / curve * np.log((won + _SPARE) / (given - won + _SPARE)))


def rough_start(rows: Rows, link: Link, score_precision: float) -> FloatArray:
    """Return the rough optimum of the homogeneous model, which is convex and has one only."""
    plain = thurstone(rows.pooled(), link, score_precision, None)
    begin = plain.to_device(by_wins(rows, link))
    return plain.fetch(minimise(plain, begin, tolerance=_ROUGH, shared_scale=False)[0])


def first_voice(rows: Rows, link: Link, score_precision: float) -> FloatArray:
    """Return the rough optimum for the judgments of the most active annotator alone."""
    alone = rows.alone(int(np.argmax(rows.given)))
    return rough_start(alone, link, max(score_precision, _HOLDS_THE_UNSEEN))
