"""Fit BARCW: scores given who is trusted, who is trusted given the scores, and so on to the end."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from aggcal._core.arrays import FloatArray, dot
from aggcal.aggregation.newton import Convergence, minimise
from aggcal.aggregation.solve.gaussian_process import (
    KernelChoice,
    Progress,
    choose_kernel,
    fit_gaussian,
)
from aggcal.models.features.barcw import Trust
from aggcal.models.features.covariance_functions import Geometry, Kernel
from aggcal.models.features.gppl import Laplace, Preference
from aggcal.models.rows import Rows

_TOLERANCE = 1e-8  # change of the objective that counts as none: smaller takes more steps
_INNER_TOLERANCE = 1e-10  # well below the outer one, which would see its noise
_MOST_STEPS = 2000  # at most: more take longer before a fit is called not converged
_MOST_ROUNDS = 30  # choices of the kernel: each takes a fit
_SAME_KERNEL = 1e-3  # relative change of the kernel that counts as none


@dataclass(frozen=True, eq=False)
class WeightedFit:
    """Scores and weights at the optimum."""

    laplace: Laplace
    trust: Trust
    share: float
    objective: float
    chosen: KernelChoice
    convergence: Convergence


def fit_weighted(
    rows: Rows,
    geometry: Geometry,
    kernel: Kernel | None = None,
    *,
    on_iteration: Progress | None = None,
) -> WeightedFit:
    """Find the optimum from the fit that trusts everyone.

    Unless it is given, the kernel is that of the largest evidence for the weighted judgments: it
    is chosen anew when the weights have come to rest, until it stays the same.
    """
    first = fit_gaussian(rows.pooled(), geometry, kernel, on_iteration=on_iteration)
    chosen, search = first.chosen, _Alternation(rows, on_iteration)
    whitened, share = first.whitened, 0.5
    for _ in range(_MOST_ROUNDS):
        root = chosen.kernel.root(geometry)
        found = search.run(root, whitened, share)
        if kernel is not None:
            break
        now = choose_kernel(
            found.trust.weighted(rows), geometry, start=chosen.kernel, on_iteration=on_iteration
        )
        moved = np.max(np.abs(now.kernel.logarithms - chosen.kernel.logarithms))
        if moved <= _SAME_KERNEL:
            break
        chosen, whitened, share = now, found.whitened, found.share
    else:
        chosen = KernelChoice(chosen.kernel, settled=False, open_ended=chosen.open_ended)
    return WeightedFit(
        Laplace(found.trust.weighted(rows), root, found.whitened),
        found.trust,
        found.share,
        found.record.objectives[-1],
        chosen,
        found.record,
    )


@dataclass(frozen=True, eq=False)
class _Found:
    whitened: FloatArray
    trust: Trust
    share: float
    record: Convergence


class _Alternation:
    """Expectation and maximisation under a fixed kernel; counts its steps over all kernels."""

    def __init__(self, rows: Rows, on_iteration: Progress | None) -> None:
        self._rows, self._on_iteration = rows, on_iteration
        self._steps = 0

    def run(self, root: FloatArray, whitened: FloatArray, share: float) -> _Found:
        """Alternate until the gradient of the whole objective vanishes.

        With the weights of the very point, the gradient of the weighted objective is that of the
        whole (Fisher's identity); what is left in π is how far it would still move.
        """
        values: list[float] = []
        norms: list[float] = []
        for _ in range(_MOST_STEPS):
            trust = Trust.at(self._rows, root @ whitened, share)
            problem = Preference(trust.weighted(self._rows), root)
            norm = max(problem.evaluate(whitened).gradient_norm, abs(trust.share - share))
            held = log(share) + log(1.0 - share) - 0.5 * dot(whitened, whitened)
            values.append(-trust.log_likelihood - held)
            norms.append(norm)
            if norm <= _TOLERANCE:
                break
            self._steps += 1
            if self._on_iteration is not None:
                self._on_iteration(self._steps, norm)
            whitened, _ = minimise(problem, whitened, tolerance=_INNER_TOLERANCE)
            share = trust.share
        record = Convergence(
            norm <= _TOLERANCE, self._steps, norm, _TOLERANCE, tuple(values), tuple(norms)
        )
        return _Found(whitened, trust, share, record)
