"""What takes longest of draws of all scores, compiled where that can be, and by NumPy elsewhere."""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, SingleArray
from aggcal._core.compiled_scipy import ndtr
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import each_range, even

_ROWS, _POINTS = 4, 8  # rows and points that the kernel takes at a time
_DRAWS_EACH, _ITEMS_EACH = 64, 64  # of a range: fewer wake more threads for less
_SMALL = np.float32(1e-30)
_LONG = 1 << 15
"""Items from which ranks are not short integers, which sort in a third of the time."""


def shape_steps(
    likelihood: FloatArray, base: FloatArray, counts_as: float, steps: int
) -> SingleArray:
    """Return the likeliest distribution of items on a grid after some steps from another one.

    Single precision is enough for a shape, and takes half the time.

    Parameters
    ----------
    likelihood
        Of each item, a row, at each point of the grid.
    base, counts_as
        The distribution that the first step begins with, and how many items it counts as.
    steps
        Of expectation and maximisation.

    Examples
    --------
    >>> shape_steps(np.eye(2)[[0, 0, 1]], np.array([0.5, 0.5]), 1.0, 9)
    array([0.625, 0.375], dtype=float32)
    """
    kernel = getattr(library(), "aggcal_shape_steps", None)
    items, points = likelihood.shape
    total = np.float32(items + counts_as)
    if kernel is None:
        rough, prior = likelihood.astype(np.float32), base.astype(np.float32)
        pull = (counts_as * base).astype(np.float32)
        for _ in range(steps):
            weight = prior * (rough.T @ (1.0 / np.maximum(rough @ prior, _SMALL)))
            prior = (weight + pull) / total
        return np.asarray(prior)
    rows, wide = -(-items // _ROWS) * _ROWS, -(-points // _POINTS) * _POINTS
    rough, small = np.zeros((rows, wide), dtype=np.float32), np.zeros((3, wide), dtype=np.float32)
    rough[:items, :points], small[0, :points], small[1, :points] = likelihood, base, base
    small[1] *= np.float32(counts_as)
    prior, pull, weight = small[0], small[1], small[2]
    kernel(rows, wide, steps, *at(rough, pull), total, *at(prior, weight))
    return np.asarray(prior[:points])


def shaped(
    apart: FloatArray,
    scores: FloatArray,
    sd: FloatArray,
    sharp: BoolArray,
    *,
    below: FloatArray,
    edges: FloatArray,
) -> FloatArray:
    """Turn normal deviations into scores, each item's from its own distribution.

    Parameters
    ----------
    apart
        Deviations, a row a draw.
    scores, sd, sharp
        Of each item; the deviations of sharp ones are added to their scores.
    below, edges
        Probability of each item to be below each edge; these are evenly spaced.

    Examples
    --------
    >>> below, edges = np.array([[0.0, 0.5, 1.0]]), np.array([-1.0, 0.0, 1.0])
    >>> shaped(np.zeros((1, 1)), np.ones(1), np.ones(1), np.array([False]), below=below,
    ...        edges=edges).round(6) + 0.0
    array([[0.]])
    """
    kernel = getattr(library(), "aggcal_shaped", None)
    if kernel is None:
        normal, drawn = apart / np.where(sd > 0.0, sd, 1.0), scores + apart
        loose = np.flatnonzero(~sharp)
        chances = ndtr(normal.T[loose])
        for k, chance in zip(loose.tolist(), chances, strict=True):
            drawn[:, k] = np.interp(chance, below[k], edges)
        return np.asarray(drawn)
    apart, below = np.ascontiguousarray(apart), np.ascontiguousarray(below)
    drawn, (draws, n) = np.empty_like(apart), apart.shape
    known = [np.ascontiguousarray(each) for each in (scores, sd, sharp)]
    given = at(apart, *known, below)
    first, step, points = float(edges[0]), float(edges[1] - edges[0]), len(edges) - 1

    def work(begin: int, end: int) -> None:
        kernel(begin, end, n, draws, points, *given, first, step, *at(drawn))

    # Ranges of whole cache lines: no two threads write into one.
    each_range(work, sorted({*(cut // _POINTS * _POINTS for cut in even(n, _ITEMS_EACH)), 0, n}))
    return drawn


def drawn_apart(number: int, sd: FloatArray, random: np.random.Generator) -> FloatArray:
    """Draw normal deviations, a row a draw and every item by itself, in threads.

    Examples
    --------
    >>> drawn_apart(1000, np.array([1.0, 2.0]), np.random.default_rng(0)).std(axis=0).round(1)
    array([1., 2.])
    """
    drawn, cuts = np.empty((number, len(sd))), even(number, _DRAWS_EACH)
    own = dict(zip(cuts, random.spawn(len(cuts) - 1), strict=False))

    def work(begin: int, end: int) -> None:
        mine = drawn[begin:end]
        own[begin].standard_normal(out=mine)
        mine *= sd

    each_range(work, cuts)
    return drawn


def ranks_in_draws(drawn: FloatArray) -> IntArray:
    """Return the rank of each item in each draw, a row each.

    Examples
    --------
    >>> ranks_in_draws(np.array([[2.0, 1.0, 3.0], [1.0, 2.0, 0.0]])).tolist()
    [[2, 3, 1], [2, 1, 3]]
    """
    draws, n = drawn.shape
    ranks = np.empty((draws, n), dtype=np.int16 if n < _LONG else np.int64)
    kernel = getattr(library(), "aggcal_draw_ranks", None)
    if kernel is not None and n < _LONG and np.isfinite(drawn).all():
        drawn = np.ascontiguousarray(drawn)

        def work(begin: int, end: int) -> int:
            return int(kernel(end - begin, n, *at(drawn[begin:end], ranks[begin:end])))

        if all(each_range(work, even(draws, _DRAWS_EACH))):
            return ranks
    order = np.argsort(-drawn, axis=1) + n * np.arange(draws)[:, None]
    ranks.ravel()[order.ravel()] = np.tile(np.arange(1, n + 1, dtype=ranks.dtype), draws)
    return ranks
