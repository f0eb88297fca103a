"""How close one vector is to another: in order, in value, and in distribution."""

from __future__ import annotations

from math import log, nan, pi, sqrt

import numpy as np

from aggcal._core.arrays import FloatArray

_GRID = 2049  # points at which densities are compared: fewer blur, more take longer
_REACH = 8.0  # widths of the kernel beyond the data: further out a density is 0
_AT_ONCE = 1 << 16  # numbers at a time: fewer take longer, more leave the cache
_MANY = 5000  # points, beyond which near ones are put together
_FINE = 0.02  # in widths of the kernel: coarser is faster, and blurs

METRICS = ("tau_a", "tau_b", "spearman", "mse", "rmse", "wasserstein", "ks", "kl")
"""The metrics, in the order in which they are shown."""


def compare(estimate: FloatArray, truth: FloatArray, *, centred: bool = False) -> dict[str, float]:
    """Compare an estimate with the truth, item by item and as distributions.

    Parameters
    ----------
    estimate, truth
        One number per item, in the same order.
    centred
        Subtract each vector's mean first, as the paper does: a constant offset is then
        invisible.

    Returns
    -------
    dict
        ``tau_a`` and ``tau_b`` (Kendall: the first counts a tie as no success, the second
        leaves ties out, so pooling alone can raise it), ``spearman``, ``mse``, ``rmse``,
        ``wasserstein`` (order 1), ``ks`` (two-sample statistic) and ``kl`` (see
        ``kl_divergence``). NaN where a metric is not defined.

    Examples
    --------
    >>> found = compare(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0]))
    >>> found["tau_b"], round(found["mse"], 4)
    (1.0, 0.3333)
    """
    x, y = np.asarray(estimate, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    if centred:
        x, y = x - x.mean(), y - y.mean()
    tau_a, tau_b = kendall(x, y)
    mse = float(np.mean(np.square(x - y)))
    return {
        "tau_a": tau_a,
        "tau_b": tau_b,
        "spearman": spearman(x, y),
        "mse": mse,
        "rmse": sqrt(mse),
        "wasserstein": wasserstein(x, y),
        "ks": kolmogorov_smirnov(x, y),
        "kl": kl_divergence(y, x),
    }


def kendall(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Kendall's tau-a and tau-b.

    Examples
    --------
    >>> tau_a, tau_b = kendall(np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 2.0]))
    >>> round(tau_a, 4), round(tau_b, 4)
    (0.6667, 0.8165)
    """
    from scipy.stats import kendalltau  # a second

    pairs = len(x) * (len(x) - 1) / 2.0
    free = (pairs - _tied_pairs(x)) * (pairs - _tied_pairs(y))
    if pairs == 0.0:
        return nan, nan
    if free == 0.0:
        return 0.0, nan
    if pairs == 1.0:  # SciPy's p-value, which we do not use, would divide by zero
        tau_b = float(np.sign((x[1] - x[0]) * (y[1] - y[0])))
    else:
        tau_b = float(kendalltau(x, y, method="asymptotic").statistic)
    return tau_b * sqrt(free) / pairs, tau_b


def _tied_pairs(x: FloatArray) -> float:
    sizes = np.unique(x, return_counts=True)[1].astype(np.float64)
    return float(np.sum(sizes * (sizes - 1.0) / 2.0))


def spearman(x: FloatArray, y: FloatArray) -> float:
    """Spearman's rank correlation, ties at their mean rank.

    Examples
    --------
    >>> round(spearman(np.array([1.0, 2.0, 3.0]), np.array([10.0, 5.0, 1.0])), 6)
    -1.0
    """
    a, b = mean_ranks(x), mean_ranks(y)
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0.0 else nan


def mean_ranks(x: FloatArray) -> FloatArray:
    """Rank values from the lowest, equal ones at their mean: SciPy's own takes a second to load.

    Examples
    --------
    >>> mean_ranks(np.array([3.0, 1.0, 3.0]))
    array([2.5, 1. , 2.5])
    """
    if np.isnan(x).any():
        return np.full(len(x), nan)
    level = np.unique(x, return_inverse=True)[1]
    size = np.bincount(level)
    return np.asarray((np.cumsum(size) - 0.5 * (size - 1.0))[level])


def wasserstein(x: FloatArray, y: FloatArray) -> float:
    """Wasserstein-1 distance between two samples.

    Examples
    --------
    >>> wasserstein(np.array([0.0, 1.0]), np.array([2.0, 3.0]))
    2.0
    """
    from scipy.stats import wasserstein_distance

    return float(wasserstein_distance(x, y))


def kolmogorov_smirnov(x: FloatArray, y: FloatArray) -> float:
    """Largest difference between two empirical distribution functions.

    Examples
    --------
    >>> kolmogorov_smirnov(np.array([1.0, 2.0]), np.array([1.5, 2.5]))
    0.5
    """
    x, y = np.sort(x), np.sort(y)
    every = np.concatenate([x, y])
    below_x = np.searchsorted(x, every, side="right") / len(x)
    below_y = np.searchsorted(y, every, side="right") / len(y)
    return float(np.max(np.abs(below_x - below_y)))


def kl_divergence(p: FloatArray, q: FloatArray) -> float:
    """Kullback–Leibler divergence of q from p, in nats, between smoothed samples.

    Both densities are Gaussian kernel estimates (Scott's bandwidth) on one common grid that
    covers p; the integral of p·log(p/q) is taken by Simpson's rule. NaN for a sample without
    spread.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 50)
    >>> round(kl_divergence(x, x), 12)
    0.0
    """
    from scipy.integrate import simpson

    widths = [_bandwidth(p), _bandwidth(q)]
    if not min(widths) > 0.0:
        return nan
    grid = np.linspace(p.min() - _REACH * widths[0], p.max() + _REACH * widths[0], _GRID)
    log_p, log_q = _log_density(p, widths[0], grid), _log_density(q, widths[1], grid)
    return float(simpson(np.exp(log_p) * (log_p - log_q), x=grid))


def _bandwidth(x: FloatArray) -> float:
    return float(np.std(x, ddof=1) * len(x) ** -0.2) if len(x) > 1 else 0.0


def _log_density(x: FloatArray, width: float, grid: FloatArray) -> FloatArray:
    """Log of the kernel density, finite however far the grid is from the sample."""
    number, times = len(x), None
    if number > _MANY:
        # Many points: those within a small part of the kernel's width count as one.
        x, times = np.unique(np.round(x / (width * _FINE)), return_counts=True)
        x = x * (width * _FINE)
    density = np.empty_like(grid)
    chunk = max(1, _AT_ONCE // len(x))
    for k in range(0, len(grid), chunk):
        power = (grid[k : k + chunk, None] - x[None, :]) / width
        power *= -0.5 * power
        # In place: SciPy's logsumexp, which also takes signs and infinities, is twice as slow.
        most = power.max(axis=1)
        power -= most[:, None]
        near = np.exp(power, out=power)
        density[k : k + chunk] = most + np.log(near.sum(axis=1) if times is None else near @ times)
    return density - log(number * width * sqrt(2.0 * pi))
