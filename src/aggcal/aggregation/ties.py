"""Which scores are tied."""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import FloatArray

_TIE = 1e-9
"""Share of the range of the scores within which neighbours are tied: more ties what differs, less
leaves to rounding which of two equal items is above."""


def snapped(scores: FloatArray) -> FloatArray:
    """Make scores equal that differ by no more than rounding.

    Examples
    --------
    >>> snapped(np.array([1.0, 0.3, 0.1 + 0.2])).tolist()
    [1.0, 0.30000000000000004, 0.30000000000000004]
    """
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    apart = np.diff(ordered) > _TIE * (ordered[-1] - ordered[0])
    if apart.all():
        return scores.copy()
    group = np.concatenate([[0], np.cumsum(apart)])
    means = np.bincount(group, ordered) / np.bincount(group)
    snapped = np.empty_like(scores)
    # A lone item keeps its bits; only real ties are averaged.
    snapped[order] = np.where(np.bincount(group)[group] > 1, means[group], ordered)
    return snapped
