"""Fit the ranking SVM by scikit-learn, and check that it did."""

from __future__ import annotations

import warnings

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.aggregation.newton import Convergence
from aggcal.errors import OptionError
from aggcal.models.features.rank_svm import Differences, objective

_TOLERANCE = 1e-6  # relative gradient norm up to which the fit counts as converged
_LIBLINEAR_TOLERANCE = 1e-10  # smaller takes longer, larger misses the one above
_MOST_STEPS = 10_000  # at most: more take longer before a fit is called not converged


def fit_rank_svm(
    apart: Differences, weight: FloatArray, cost: float
) -> tuple[FloatArray, float, Convergence]:
    """Return w, the objective there, and the record, whose gradient is worked out here.

    Parameters
    ----------
    apart, weight
        x_i − x_j of each win, and how much it counts.
    cost
        C, how much a judgment counts against the size of w.
    """
    try:
        from sklearn.svm import LinearSVC
    except ImportError:
        raise OptionError(
            "rank-svm needs scikit-learn, which is not installed: pip install 'aggcal[baselines]'."
        ) from None

    from scipy import sparse

    machine = LinearSVC(
        loss="squared_hinge",
        dual=False,
        fit_intercept=False,
        C=cost,
        tol=_LIBLINEAR_TOLERANCE,
        max_iter=_MOST_STEPS,
    )
    # Each win both ways round, at half its weight: the same objective, and both classes there.
    both = sparse.vstack([apart, -apart], format="csr")
    labels = np.repeat([1.0, -1.0], len(weight))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # our own record says whether it converged
        machine.fit(both, labels, sample_weight=0.5 * np.tile(weight, 2))
    slopes = np.ravel(machine.coef_)
    start, force = objective(apart, weight, cost, np.zeros_like(slopes))
    value, gradient = objective(apart, weight, cost, slopes)
    whole = float(np.max(np.abs(force)))
    norm = float(np.max(np.abs(gradient))) / max(whole, 1e-300)
    return (
        slopes,
        value,
        Convergence(
            norm <= _TOLERANCE,
            int(machine.n_iter_),
            norm,
            _TOLERANCE,
            (start, value),
            (float(whole > 0.0), norm),
        ),
    )
