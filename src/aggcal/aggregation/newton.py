"""Trust-region Newton–CG to the true optimum, and symmetric systems that should be definite.

The solver knows a function by its value, gradient, Jacobi diagonal and curvature products;
what they mean is the model's business. Steps are found by Steihaug's conjugate gradients in the
Jacobi norm, corrected along the current point itself: for models whose scale is shared between
two groups of parameters that is the direction that Jacobi scaling leaves nearly singular.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from aggcal._core.arrays import FloatArray, dot
from aggcal._core.text import brief

_FORCING = 0.3  # how well a step is solved for far away: less solves what the next step undoes
_QUADRATIC = 3.0  # and near the optimum, per unit of gradient: looser steps are cheaper, and more
_EXACT = 1e-6  # the same when a loose step has failed
_ACCEPTED = 1e-4  # gain over prediction from which a step is taken
_POOR, _GOOD = 0.25, 0.75  # below, the radius shrinks; above the second, it grows (textbook values)
_NOISE = 1e-13  # gains below this share of the value are rounding
_LARGE_NOISE = 1e-6
"""The same where the gradient falls tenfold: the value may be the difference of terms that are
larger by far, as where one judgment weighs millions."""
_FIRST_RADIUS = 10.0
"""In preconditioned units: larger risks a wasted step, smaller takes more of them."""
_SMALLEST_RADIUS = 1e-14  # smaller steps change nothing in double precision
_MOST_ITERATIONS = 500  # steps after which the record says that it did not converge
_FURTHEST = 0.5
"""How far Anderson acceleration goes beyond the last update."""

Progress = Callable[[int, float], None]
"""Called with the number of the iteration and the relative gradient norm."""
Operator = Callable[[FloatArray], FloatArray]
"""A linear map of vectors."""


class Evaluation(NamedTuple):
    """A function at a point."""

    value: float
    gradient: FloatArray
    diagonal: FloatArray
    """Of the curvature, for Jacobi's scaling."""
    gradient_norm: float
    """The largest element of the gradient, each relative to what it could be."""


class Objective(Protocol):
    """What the solver asks of a function."""

    def evaluate(self, x: FloatArray, /) -> Evaluation:
        """Return the value and derivatives at x, and remember the curvature there."""
        ...

    def product(self, vector: FloatArray, /) -> FloatArray:
        """Multiply a vector by the curvature at the last point evaluated."""
        ...


@dataclass(frozen=True)
class Convergence:
    """How the optimum was reached.

    ``gradient_norm`` is the largest element of the gradient, each over the size it would have if
    every judgment pulled the same way: it does not depend on units or on the amount of data. Of a
    fit with the annotators integrated out it is each over its curvature and the sd of the scores,
    or how far the scale constraint is missed.
    """

    converged: bool
    iterations: int
    gradient_norm: float
    tolerance: float
    objective: float
    """At the end."""

    __repr__ = brief


class _Step(NamedTuple):
    vector: FloatArray
    predicted: float
    length: float
    on_boundary: bool


def minimise(
    objective: Objective,
    start: FloatArray,
    *,
    tolerance: float,
    shared_scale: bool = True,
    on_iteration: Progress | None = None,
) -> tuple[FloatArray, Convergence]:
    """Minimise a function to a relative gradient norm of ``tolerance``.

    Parameters
    ----------
    objective
        The function to minimise.
    start
        The point to begin at.
    tolerance
        Stop when the relative gradient norm is at most this.
    shared_scale
        Whether parameters that are not in x may take over its scale; where they cannot, the
        correction along x is a product wasted at every step.
    on_iteration
        Called with the number of the iteration and the relative gradient norm.

    Returns
    -------
    tuple
        The minimiser and the `Convergence` record.
    """
    x = start.astype(np.float64, copy=True)
    point = objective.evaluate(x)
    radius = _FIRST_RADIUS * float(np.sqrt(point.diagonal.sum()))
    iteration, exact = 0, False
    while (norm := point.gradient_norm) > tolerance and iteration < _MOST_ITERATIONS:
        iteration += 1
        if on_iteration is not None:
            on_iteration(iteration, norm)
        forcing = _EXACT if exact else min(_FORCING, max(_QUADRATIC * norm, 0.5 * tolerance / norm))
        scaling = _jacobi(objective, point, x if shared_scale else np.zeros(0))
        step = _steihaug(objective.product, -point.gradient, scaling, forcing, radius)
        trial = objective.evaluate(x + step.vector)
        gain = point.value - trial.value
        # Close to the optimum the gain drowns in rounding: then the gradient decides.
        closer = trial.gradient_norm < 0.1 * norm
        noise = (_LARGE_NOISE if closer else _NOISE) * max(1.0, abs(point.value))
        drowned = max(abs(gain), step.predicted) <= noise
        ratio = gain / step.predicted if step.predicted > 0.0 else -1.0
        if drowned:
            accepted = _size(trial) < _size(point) or trial.gradient_norm < norm
        else:
            accepted = bool(np.isfinite(trial.value)) and ratio > _ACCEPTED
        if not accepted or (ratio < _POOR and not drowned):
            radius = _POOR * min(step.length, radius)
        elif ratio > _GOOD and step.on_boundary:
            radius *= 3.0
        if accepted:
            exact, x, point = False, x + step.vector, trial
            continue
        point = objective.evaluate(x)
        if (drowned and exact) or radius < _SMALLEST_RADIUS:
            break
        # Perhaps the step was only solved for too loosely: once more, exactly.
        exact = drowned
    return x, Convergence(norm <= tolerance, iteration, norm, tolerance, point.value)


def _size(point: Evaluation) -> float:
    """Norm of the gradient in the metric in which steps are measured."""
    return dot(point.gradient, point.gradient / point.diagonal)


def _jacobi(objective: Objective, point: Evaluation, scale: FloatArray) -> Operator:
    """Return what divides by the diagonal, corrected along the scale, if any is shared."""
    diagonal = np.maximum(point.diagonal, 1e-12 * float(point.diagonal.max()) + 1e-300)
    stiffness = dot(scale, objective.product(scale)) if scale.any() else 0.0
    if stiffness <= 0.0:
        return lambda vector: vector / diagonal
    return lambda vector: vector / diagonal + scale * (dot(scale, vector) / stiffness)


def _steihaug(
    product: Operator, target: FloatArray, scaling: Operator, close: float, radius: float
) -> _Step:
    """Solve a symmetric system by preconditioned conjugate gradients, within a trust region.

    Without a radius it is solved as far as it is positive definite.
    """
    step, residual = 0.0 * target, target.copy()  # a target that is not finite is no step
    direction = scaling(residual)
    size = first = dot(residual, direction)
    # Norms in the preconditioner's metric follow from recurrences.
    step_square, step_dot, direction_square, model = 0.0, 0.0, size, 0.0
    for _ in range(max(100, 20 * len(step)) if size > 0.0 else 0):
        curved = product(direction)
        curvature = dot(direction, curved)
        convex = curvature > 1e-15 * direction_square
        length = size / curvature if convex else inf
        reached = step_square + length * (2.0 * step_dot + length * direction_square)
        if not convex and radius == inf:
            return _Step(step if step.any() else direction, -model, inf, on_boundary=True)
        if not convex or reached >= radius * radius:
            room = direction_square * (radius * radius - step_square)
            length = (sqrt(max(step_dot * step_dot + room, 0.0)) - step_dot) / direction_square
            step += length * direction
            model += -length * size + 0.5 * length * length * curvature
            return _Step(step, -model, radius, on_boundary=True)
        step += length * direction
        residual = residual - length * curved
        model -= 0.5 * length * size
        step_square = reached
        scaled = scaling(residual)
        new_size = dot(residual, scaled)
        if new_size <= close * close * first:
            break
        ratio = new_size / size
        direction = scaled + ratio * direction
        step_dot = ratio * (step_dot + length * direction_square)
        direction_square = new_size + ratio * ratio * direction_square
        size = new_size
    return _Step(step, -model, sqrt(step_square), on_boundary=False)


def conjugate_gradients(
    product: Operator, target: FloatArray, diagonal: FloatArray, close: float
) -> FloatArray:
    """Solve a symmetric system by conjugate gradients, as far as it is positive definite.

    It is preconditioned by a diagonal.

    Examples
    --------
    >>> stiff = np.array([2.0, 4.0])
    >>> conjugate_gradients(lambda v: stiff * v, np.array([1.0, 1.0]), np.ones(2), 1e-9)
    array([0.5 , 0.25])
    """
    return _steihaug(product, target, lambda vector: vector / diagonal, close, inf).vector


def anderson(path: Sequence[tuple[FloatArray, FloatArray]]) -> FloatArray:
    """Return the point at which the updates of the last points cancel best, by Anderson.

    Parameters
    ----------
    path
        Points, and what an update made of each.

    Examples
    --------
    Updates that halve the distance from 1 lead there:

    >>> anderson([(np.zeros(1), np.full(1, 0.5)), (np.full(1, 0.5), np.full(1, 0.75))])
    array([1.])
    """
    points, images = (np.array(each) for each in zip(*path, strict=True))
    last = images[-1]
    if len(points) > 1 and np.isfinite(images).all():
        steps = images - points
        weights = np.linalg.lstsq(np.diff(steps, axis=0).T, steps[-1], rcond=1e-3)[0]
        last = last - np.clip(weights @ np.diff(images, axis=0), -_FURTHEST, _FURTHEST)
    return np.asarray(last)


def definite_inverse(matrix: FloatArray, instead: FloatArray) -> FloatArray:
    """Invert a symmetric matrix, or another where it is not positive definite.

    Examples
    --------
    >>> definite_inverse(np.diag([-1.0, 1.0]), np.array([[4.0, 2.0], [2.0, 2.0]]))
    array([[ 0.5, -0.5],
           [-0.5,  1. ]])
    """
    factor = upper_factor(matrix)
    if factor is None and not np.isfinite(matrix).all():
        return np.full(matrix.shape, np.nan)
    factor = upper_factor(instead) if factor is None else factor
    if factor is not None:
        return inverse_of_factor(factor)
    values, vectors = np.linalg.eigh(instead)
    return np.asarray((vectors / np.maximum(np.abs(values), 1e-8 * values[-1])) @ vectors.T)


def inverse_of_factor(factor: FloatArray) -> FloatArray:
    """Return (UᵀU)⁻¹ of an upper triangle U that is stored by columns, and overwrite it.

    Examples
    --------
    >>> inverse_of_factor(np.array([[2.0, 1.0], [0.0, 1.0]], order="F"))
    array([[ 0.5, -0.5],
           [-0.5,  1. ]])
    """
    # What LAPACK has by columns NumPy reads by rows: the upper triangle is a lower one.
    lower = np.tril(dpotri(factor, lower=False, overwrite_c=True)[0].T)
    return np.asarray(lower + np.tril(lower, -1).T)


def upper_factor(matrix: FloatArray) -> FloatArray | None:
    """Return U by columns with UᵀU = A, anything below it; None where A is not positive definite.

    Of the matrix only the lower triangle is read.

    Examples
    --------
    >>> np.triu(upper_factor(np.array([[4.0, 2.0], [2.0, 2.0]])))
    array([[2., 1.],
           [0., 1.]])
    """
    # What NumPy has by rows LAPACK reads by columns: the lower triangle as an upper one.
    factor, failed = dpotrf(matrix.T, lower=False, clean=False)
    # A number that is not finite spoils the pivot of its row.
    return None if failed or not np.isfinite(np.diag(factor)).all() else np.asarray(factor)
