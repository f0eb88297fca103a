"""Fit a Gaussian process to preferences: the mode, and the kernel of the largest evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.aggregation.newton import Convergence, minimise
from aggcal.models.features.covariance_functions import Geometry, Kernel
from aggcal.models.features.gppl import Laplace, Preference
from aggcal.models.rows import Rows

Progress = Callable[[int, float], None]

_TOLERANCE = 1e-10
"""Relative gradient norm: smaller takes longer, larger leaves scores off their mode."""
_VARIANCES = (1e-4, 1e4)
"""Ends of the search: wider finds odd kernels, and takes longer where all are alike."""
_STRETCH = 30.0  # ends for the length, in typical distances between items
_TRIED = (0.25, 1.0, 4.0)  # lengths to start from: more miss fewer optima, and take longer
_FLAT = 1e-4  # slope of the evidence that counts as none
_NEARLY_FLAT = 1e-2  # slope up to which the kernel counts as settled: beyond it, a warning
_AT_THE_END = 1e-6  # logarithms that differ from an end by less lie on it


@dataclass(frozen=True, eq=False)
class KernelChoice:
    """The kernel of the largest evidence, and whether it is one.

    ``open_ended`` names what came to rest at the end of its range.
    """

    kernel: Kernel
    settled: bool = True
    open_ended: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class GaussianFit:
    """The mode and what surrounds it."""

    whitened: FloatArray
    laplace: Laplace
    chosen: KernelChoice
    convergence: Convergence


def fit_gaussian(
    rows: Rows,
    geometry: Geometry,
    kernel: Kernel | None = None,
    *,
    on_iteration: Progress | None = None,
) -> GaussianFit:
    """Find the mode, with the kernel that is given or else with the one of the largest evidence."""
    chosen = (
        choose_kernel(rows, geometry, on_iteration=on_iteration)
        if kernel is None
        else KernelChoice(kernel)
    )
    root = chosen.kernel.root(geometry)
    begin = np.zeros(geometry.n_items)
    whitened, record = minimise(
        Preference(rows, root), begin, tolerance=_TOLERANCE, on_iteration=on_iteration
    )
    return GaussianFit(whitened, Laplace(rows, root, whitened), chosen, record)


def choose_kernel(
    rows: Rows,
    geometry: Geometry,
    *,
    start: Kernel | None = None,
    on_iteration: Progress | None = None,
) -> KernelChoice:
    """Maximise the Laplace evidence in the logarithms of the kernel's parameters.

    It begins at a variance of 1 and the best of three length scales about the median distance:
    the evidence may have two peaks, one for items on their own and one for neighbours alike.
    """
    from scipy.optimize import Bounds, minimize

    search = _Search(rows, geometry, on_iteration)
    typical = geometry.typical
    ends = [_VARIANCES]
    if typical is not None:
        ends.append((typical / _STRETCH, typical * _STRETCH))
    low, high = np.log(ends).T
    if start is not None:
        begin = start.logarithms
    elif typical is None:
        begin = np.zeros(1)
    else:
        tried = [Kernel(1.0, factor * typical).logarithms for factor in _TRIED]
        begin = min(tried, key=lambda logarithms: search(logarithms)[0])
    found = minimize(
        search,
        begin,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(low, high),
        options={"gtol": _FLAT, "ftol": 1e-14},
    )
    best = np.clip(found.x, low, high)
    # A gradient that points out of the range is no reason to go on.
    left = np.clip(best - found.jac, low, high) - best
    near = (best - low < _AT_THE_END) | (high - best < _AT_THE_END)
    names = ("signal variance", "length scale")
    return KernelChoice(
        Kernel.of_logarithms(best),
        bool(np.max(np.abs(left)) <= _NEARLY_FLAT),
        tuple(name for name, end in zip(names, near, strict=False) if end),
    )


class _Search:
    """−log evidence and its gradient; each mode is sought from the one before."""

    def __init__(self, rows: Rows, geometry: Geometry, on_iteration: Progress | None) -> None:
        self._rows, self._geometry, self._on_iteration = rows, geometry, on_iteration
        self._whitened = np.zeros(geometry.n_items)
        self._calls = 0

    def __call__(self, logarithms: FloatArray) -> tuple[float, FloatArray]:
        kernel, rows = Kernel.of_logarithms(logarithms), self._rows
        root = kernel.root(self._geometry)
        self._whitened, _ = minimise(Preference(rows, root), self._whitened, tolerance=_TOLERANCE)
        laplace = Laplace(rows, root, self._whitened)
        slopes = np.array([laplace.slope(turned) for turned in kernel.slopes(self._geometry)])
        self._calls += 1
        if self._on_iteration is not None:
            self._on_iteration(self._calls, float(np.max(np.abs(slopes))))
        return -laplace.log_evidence, -slopes
