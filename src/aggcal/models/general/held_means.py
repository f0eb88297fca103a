"""The curvature in the prior means of the annotators' parameters, these being held."""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.kernels.threads import each_range, even

_FEWEST = 2_000
"""Annotators whom a thread takes at least: fewer are done in the time that it takes to wake it."""


def held_means(
    nodes: FloatArray, weights: FloatArray, rule: FloatArray, precision: FloatArray
) -> FloatArray:
    """Return the curvature in the prior means with the annotators' parameters held.

    It is the number of annotators times the prior precision T, but for what cubature gets wrong.
    What is left of it, T − T² V with V the posterior variance, is a small difference of large
    numbers where annotators differ little: an error of a thousandth in V would decide its sign.
    So V is that of a normal posterior, which the nodes have exactly, as far as the prior decides.

    Parameters
    ----------
    nodes
        Of the parameters with a mean, annotators by nodes by parameters.
    weights
        Probabilities of the nodes.
    rule
        Weights of the points of cubature: those of one half of the nodes.
    precision
        T of each parameter.

    Examples
    --------
    >>> nodes, rule = np.array([[[-0.3], [0.0], [0.3]]]), np.array([1, 4, 1]) / 6
    >>> float(held_means(nodes, rule[None], rule, np.array([20.0]))[0])
    20.0
    """
    total = len(nodes) * precision
    for half in range(weights.shape[1] // len(rule)):
        where = slice(half * len(rule), (half + 1) * len(rule))
        share, wrong = _by_annotator(nodes[:, where], weights[:, where], rule, precision)
        total = total + np.einsum("u,uj->j", share, wrong)
    return np.asarray(total)


def _by_annotator(
    spots: FloatArray, chances: FloatArray, rule: FloatArray, precision: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Do what `_of_half` does, in threads."""
    if len(spots) < 2 * _FEWEST:
        return _of_half(spots, chances, rule, precision)
    share, wrong = np.empty(len(spots)), np.empty((len(spots), len(precision)))

    def some(begin: int, end: int) -> None:
        found = _of_half(spots[begin:end], chances[begin:end], rule, precision)
        share[begin:end], wrong[begin:end] = found

    each_range(some, even(len(spots), _FEWEST))
    return share, wrong


def _of_half(
    spots: FloatArray, chances: FloatArray, rule: FloatArray, precision: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the probability of some nodes, and what cubature gets wrong, by annotator."""
    share = chances.sum(axis=1)
    off = spots - np.einsum("t,utj->uj", rule, spots)[:, None]
    square = off**2
    normal = np.einsum("t,utj->uj", rule, square)
    own = chances / np.where(share > 0.0, share, 1.0)[:, None]
    found = np.einsum("ut,utj->uj", own, square) - np.einsum("ut,utj->uj", own, off) ** 2
    by_prior = np.clip(precision * normal, 0.0, 1.0)
    return share, precision**2 * by_prior * (found - normal)
