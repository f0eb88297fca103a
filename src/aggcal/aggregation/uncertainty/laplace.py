r"""The covariance of the optimum: the inverse of the (penalised) Fisher information.

With priors it is the Laplace approximation of the posterior. What is a convention is held fixed:
the mean of the scores and, where annotators have reliabilities, the typical one (both constraints;
the published Lemma 3.1 imposes the first only, and has no inverse without priors).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from aggcal._core.arrays import FloatArray, SingleArray
from aggcal.aggregation.newton import conjugate_gradients, inverse_of_factor, upper_factor
from aggcal.aggregation.solve.together import solve_together
from aggcal.aggregation.uncertainty.covariance import (
    ALWAYS_DENSE,
    MOST_DENSE,
    Covariance,
    DenseCovariance,
)
from aggcal.aggregation.uncertainty.matrix_free import MatrixFreeCovariance
from aggcal.models.borders import carried_variances
from aggcal.models.information import Information

_PROBES = 12  # random vectors for the diagonal: its error falls with their root, the time grows
_CLOSE, _PROBE_CLOSE = 1e-4, 1e-3
"""Relative residual to which systems are solved: what is asked for, and random probes, which tell
only the few percent of a variance that the diagonal does not: a quarter fewer products for 3e-4 of
a standard error (1M judgments of 10,000 items)."""
_MORE_PROBES = 32
"""Random vectors where a matrix could be had: they should leave little to want."""
_TANGLED = 0.1
"""Share of the variances that comes from other scores, from which a matrix is worth its time: .02
to .06 where pairs are drawn at random, .13 in blocks of 50 items, .26 where everybody meets their
neighbours only. With less, 32 probes tell standard errors to a few percent at worst."""
_STEPS, _MODES, _LONG = 12, 3, 2.2
"""Products that tell how many directions there are along which the scores, each in units of its own
standard error given all others, vary by so much or more, and how many of them are too many. Where
pairs are drawn at random the third is at 1.4 to 1.9, in blocks, chains and where items meet others
of about their level at 2.7 to 6: errors that neighbours share do not average out. The first is the
scale of all scores."""
_TINY = 1e-4
"""What is left of a vector when all directions were taken, of the largest part so far: products may
have the digits of single precision only."""
_FLAT = 1e-10  # share of the largest eigenvalue below which a direction is flat


def laplace(
    information: Information,
    *,
    unit: FloatArray | None = None,
    seed: int = 0,
    probes: int = _PROBES,
    on_draw: Callable[[int, int], None] | None = None,
) -> tuple[Covariance, FloatArray | None]:
    """Return the covariance of the scores and the variances of the annotators' parameters.

    Parameters
    ----------
    information
        At the optimum.
    unit
        Weights of the annotators' parameters in the sum that fixes the unit; None where it is not
        free.
    seed
        Seed for the random probes that take the place of a matrix for many items.
    probes
        How many of them: a multiple of `LANES`.
    on_draw
        Called after some of them with the number of the last one and how many there are.
    """
    information.fix_location()
    if unit is not None:
        information.fix_unit(unit)
    n = information.n_items
    # Without a prior nothing holds components together.
    if n <= ALWAYS_DENSE or (n <= MOST_DENSE and not information.prior.all()):
        return _dense(information, unit)
    found = matrix_free(
        information, unit=unit, seed=seed, probes=probes_for(n, probes), on_draw=on_draw
    )
    if found.tangled:
        return _dense(information, unit)
    return found.covariance, found.annotators


def probes_for(n: int, probes: int) -> int:
    """Return how many random vectors tell the variances of so many items.

    Examples
    --------
    >>> probes_for(600, 8), probes_for(60_000, 8)
    (32, 8)
    """
    return max(probes, _MORE_PROBES) if n <= MOST_DENSE else probes


def _dense(
    information: Information, unit: FloatArray | None
) -> tuple[DenseCovariance, FloatArray | None]:
    schur, carried = information.dense()
    covariance = inverse(schur, overwrite=True)
    if carried is None:
        return DenseCovariance(covariance, overwrite=True), None
    inner = information.inner
    own, carried_variance = 1.0 / inner, carried_variances(carried, covariance)
    if unit is not None:
        # Σ wγ is fixed: D⁻¹ loses its part along w, and B D⁻¹ with it.
        share = own * unit / float(np.sum(np.square(unit) * own))
        shared = carried @ unit
        toward = covariance @ shared
        carried_variance = (
            carried_variance - 2.0 * share * (carried.T @ toward) + share**2 * (shared @ toward)
        )
        own = own - own * unit * share
    found = DenseCovariance(covariance, overwrite=True)
    return found, np.maximum(own + carried_variance, 0.0)


def _exactly(information: Information, unit: FloatArray | None) -> DenseCovariance:
    return _dense(information, unit)[0]


def inverse(matrix: FloatArray, *, overwrite: bool = False) -> FloatArray:
    """Invert a symmetric matrix; where it is flat, the inverse is very large instead of wrong.

    Parameters
    ----------
    matrix
        The matrix.
    overwrite
        Whether it may be overwritten.

    Examples
    --------
    >>> inverse(np.array([[4.0, 2.0], [2.0, 2.0]]))
    array([[ 0.5, -0.5],
           [-0.5,  1. ]])
    """
    diagonal = np.diag(matrix).copy()
    factor = upper_factor(matrix, overwrite=overwrite)
    if factor is not None:
        pivots = np.square(np.diag(factor))
        if pivots.min() > _FLAT * pivots.max():
            return inverse_of_factor(factor)
    # The upper triangle is what it was.
    whole = np.triu(matrix, 1)
    whole += whole.T + np.diag(diagonal)
    if not np.isfinite(whole).all():
        raise ValueError("the information is not finite")
    values, vectors = np.linalg.eigh(whole)
    return np.asarray((vectors / np.maximum(values, _FLAT * float(values[-1]))) @ vectors.T)


def solver(information: Information, diagonal: FloatArray) -> Solve:
    """Return a function that multiplies a vector by the inverse information."""
    return Solve(information, diagonal)


class Solve:
    """Multiplies by the inverse information.

    Parameters
    ----------
    information
        What is to be inverted.
    diagonal
        Its diagonal.
    """

    def __init__(self, information: Information, diagonal: FloatArray) -> None:
        self._information, self._diagonal = information, diagonal
        self._of_ones = information.product_of_ones()
        self._stiffness = float(self._of_ones.sum())

    def __call__(self, vector: FloatArray, close: float = _CLOSE) -> FloatArray:
        """Multiply a vector by the inverse, to a relative residual."""
        # The same number for all items costs no product to find, and many to find otherwise.
        same = float(vector.sum()) / self._stiffness
        rest, diagonal = vector - same * self._of_ones, self._diagonal
        size, left = (float(np.sqrt(np.sum(v * v / diagonal))) for v in (vector, rest))
        if left <= close * size:
            return np.full(len(vector), same)
        product = self._information.product
        return same + conjugate_gradients(product, rest, diagonal, close * size / left)

    def together(self, vectors: SingleArray, close: float) -> SingleArray:
        """Multiply some random vectors by the inverse, a column each."""
        same = vectors.sum(axis=0, dtype=np.float64) / self._stiffness
        of_ones = np.asarray(self._of_ones, like=vectors)
        rest = (vectors - np.outer(of_ones, same)).astype(np.float32)
        found = solve_together(self._information.products, rest, self._diagonal, close)
        found += same.astype(np.float32)
        return found


class Probed(NamedTuple):
    """What random vectors tell of a covariance."""

    covariance: MatrixFreeCovariance
    annotators: FloatArray | None
    """Variances of the annotators' parameters, where there are any."""
    tangled: bool
    """Whether scores depend on each other so much that a matrix should be worked out, and can."""


def _far_reaching(information: Information) -> bool:
    """Tell whether errors are shared by many scores, along several directions."""
    root = np.sqrt(information.diagonal())
    found = lowest_eigenvalues(
        lambda vector: information.product(vector / root) / root, len(root), _STEPS, _MODES
    )
    return bool(found[-1] * _LONG < 1.0)


def lowest_eigenvalues(
    product: Callable[[FloatArray], FloatArray], n: int, steps: int, number: int
) -> FloatArray:
    """Return the lowest eigenvalues of a symmetric matrix, from above, by Lanczos' method.

    Parameters
    ----------
    product
        Multiplies a vector by the matrix.
    n
        Its rows.
    steps
        Products at most: more come closer.
    number
        How many eigenvalues; fewer come back where there are fewer.

    Examples
    --------
    >>> stiff = np.array([0.1, 1.0, 1.1, 1.2])
    >>> lowest_eigenvalues(lambda v: stiff * v, 4, 4, 2)
    array([0.1, 1. ])
    """
    vector = np.random.default_rng(0).standard_normal(n)
    steps = min(steps, n)
    basis, diagonal, beside = np.empty((steps, n)), np.empty(steps), np.empty(steps)
    size, taken, largest = float(np.sqrt(vector @ vector)), 0, 0.0
    while taken < steps and size > _TINY * largest:
        basis[taken] = vector / size
        vector = product(basis[taken])
        diagonal[taken] = basis[taken] @ vector
        vector = vector - (basis[: taken + 1] @ vector) @ basis[: taken + 1]
        size = beside[taken] = float(np.sqrt(vector @ vector))
        largest = max(largest, abs(float(diagonal[taken])), size)
        taken += 1
    small = np.diag(diagonal[:taken])
    small += np.diag(beside[: taken - 1], 1) + np.diag(beside[: taken - 1], -1)
    return np.asarray(np.linalg.eigvalsh(small)[:number])


def _carried(borders: FloatArray, own: FloatArray, unit: FloatArray | None) -> FloatArray:
    """Return, summed over draws of the scores, the squares of what annotators' parameters follow.

    Parameters
    ----------
    borders
        B'y of each draw y, a column each.
    own
        Their own variances, 1/D.
    unit
        As in `laplace`.
    """
    own = np.asarray(own, like=borders)
    pulled = borders * own[:, None]
    if unit is not None:
        unit = np.asarray(unit, like=borders)
        share = own * unit / float(np.square(unit) @ own)
        pulled -= np.outer(share, unit @ pulled)
    return _fetched(np.square(pulled).sum(axis=1))


def _fetched(array: Any) -> FloatArray:
    """Return an array as NumPy's; CuPy's are copied from the GPU."""
    return np.asarray(array if isinstance(array, np.ndarray) else array.get())


def matrix_free(
    information: Information,
    *,
    unit: FloatArray | None = None,
    seed: int = 0,
    probes: int = _PROBES,
    on_draw: Callable[[int, int], None] | None = None,
) -> Probed:
    """Estimate the diagonals from random vectors, with all that is known exactly taken out.

    For y of covariance S⁻¹ and r = S y, Var(s_i) = 1/S_ii + E(y_i − r_i/S_ii)²: the first part,
    nearly all of it, is exact, and only the second is estimated. The same holds for annotators.
    Conventions are held already; parameters are as those of `laplace`.
    """
    random = np.random.default_rng(seed)
    diagonal = information.diagonal()
    solve = solver(information, diagonal)
    own = 1.0 / information.inner
    rest, carried_variance = np.zeros(information.n_items), np.zeros(len(own))
    drawn = 0
    while drawn < probes:
        force = information.probes(random, probes - drawn)
        drawn += force.shape[1]
        draw = solve.together(force, _PROBE_CLOSE)
        spread = np.asarray(diagonal[:, None], like=force)
        rest += _fetched(np.square(draw - force / spread).sum(axis=1))
        if information.heterogeneous:
            carried_variance += _carried(information.borders(draw), own, unit)
        if on_draw is not None:
            on_draw(drawn, probes)
    rest /= probes
    variances = 1.0 / diagonal + rest
    exactly = None
    if information.n_items <= MOST_DENSE:
        exactly = partial(_exactly, information, unit)
    covariance = MatrixFreeCovariance(variances, solve, exactly)
    tangled = exactly is not None and (
        float(rest.sum()) > _TANGLED * float(variances.sum()) or _far_reaching(information)
    )
    if not information.heterogeneous:
        return Probed(covariance, None, tangled)
    if unit is not None:
        own = own - np.square(own * unit) / float(np.square(unit) @ own)
    return Probed(covariance, np.maximum(own + carried_variance / probes, 0.0), tangled)
