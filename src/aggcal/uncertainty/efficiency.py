"""How the covariances of two fits compare, where both identify anything."""

from __future__ import annotations

import numpy as np

from aggcal.arrays import FloatArray


def relative_variances(
    scores: FloatArray, covariance: FloatArray, other_scores: FloatArray, other: FloatArray
) -> dict[str, float]:
    """Compare another fit's variances with this one's, direction by direction.

    The scales of the two differ, so the other is rescaled to this one, and the directions of
    location and scale, which are conventions, are left out.

    Examples
    --------
    >>> scores, eye = np.array([-1.0, 0.0, 0.3, 0.7]), np.eye(4)
    >>> round(relative_variances(scores, eye, scores, 2.0 * eye)["median_ratio"], 6)
    2.0
    """
    from scipy.linalg import eigh, null_space

    size = float(other_scores @ other_scores)
    stretch = float(scores @ other_scores) / size if size > 0.0 else 1.0
    free = null_space(np.vstack([np.ones(len(scores)), scores]))
    if free.shape[1] == 0:
        return {}
    mine, theirs = (free.T @ part @ free for part in (covariance, stretch**2 * other))
    ratios = eigh(theirs, mine, eigvals_only=True)
    return {
        "median_ratio": float(np.median(ratios)),
        "share_worse": float(np.mean(ratios > 1.0)),
    }
