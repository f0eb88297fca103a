"""The covariances of the paper's Lemmas 3.1 and 3.2, and what Theorem 3.3 says of them.

In judgment l annotator u compares items i and j: a = e_i − e_j, d = a's, x = γ_u d. Matrices are
dense. Everything is a sum over judgments: the paper divides both its blocks and its covariances by
N, which cannot be right. The lemmas are true with a fix each, the theorem is false;
docs/explanation/theory.md says why. The paper's γ₀ is 1.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.records import dataclass
from aggcal.models.links import Link

_STEPS, _SMALL = 100, 1e-12
"""Newton's steps at most, and the one after which the next changes nothing: a few are enough."""
_NULL = 1e-10  # share of the largest eigenvalue below which one is a rounded 0


@dataclass(frozen=True, eq=False)
class Design:
    """Who compared what: one row for each judgment, whatever was answered.

    Examples
    --------
    >>> Design(np.array([0]), np.array([2]), np.array([0]), 3).differences
    array([[-1.,  0.,  1.]])
    """

    annotator: IntArray
    left: IntArray
    right: IntArray
    n_items: int

    @property
    def differences(self) -> FloatArray:
        """A row a = e_i − e_j for each judgment."""
        item = np.eye(self.n_items)
        return np.asarray(item[self.left] - item[self.right])


def information(
    design: Design, link: Link, scores: FloatArray, reliabilities: FloatArray
) -> FloatArray:
    """Return the Fisher information of (s, γ): Σ W ∇x ∇x' with W = f²/(F(1 − F)).

    Examples
    --------
    >>> from aggcal.models.links import LOGISTIC
    >>> one = Design(np.array([0]), np.array([0]), np.array([1]), 2)
    >>> information(one, LOGISTIC, np.zeros(2), np.array([2.0]))
    array([[ 1., -1.,  0.],
           [-1.,  1.,  0.],
           [ 0.,  0.,  0.]])
    """
    differences = design.differences
    gap, slope = differences @ scores, reliabilities[design.annotator]
    by_annotator = np.eye(len(reliabilities))[design.annotator]
    gradient = np.hstack([slope[:, None] * differences, gap[:, None] * by_annotator])
    weight = link.terms(slope * gap)[1] * link.terms(-slope * gap)[1]
    return np.asarray(gradient.T @ (weight[:, None] * gradient))


def published_heterogeneous(joint: FloatArray, n_items: int) -> FloatArray:
    """Return S⁺ of Lemma 3.1 as printed, S the Schur complement of γ in the information.

    S has two null directions, 1 and s, not one: S⁺ is the covariance of scores whose *length* is
    held, which is not how the paper fits them.

    Examples
    --------
    >>> published_heterogeneous(np.diag([4.0, 2.0, 1.0]), 2)
    array([[0.25, 0.  ],
           [0.  , 0.5 ]])
    """
    cross, own = joint[:n_items, n_items:], joint[n_items:, n_items:]
    schur = joint[:n_items, :n_items] - cross @ np.linalg.solve(own, cross.T)
    return _pseudo_inverse(schur)


def heterogeneous(
    joint: FloatArray, scores: FloatArray, held: Literal["reliability", "length"] = "reliability"
) -> FloatArray:
    """Return the covariance of Lemma 3.1 under both of its constraints: U (U' J U)⁻¹ U'.

    Σ s = 0, and either the mean of γ (as the paper fits) or the length of s is held; U spans what
    moves neither.

    Examples
    --------
    >>> joint = np.diag([2.0, 2.0, 1.0, 1.0])
    >>> heterogeneous(joint, np.array([1.0, -1.0])).round(3)
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """
    n, m = len(scores), len(joint) - len(scores)
    unit = {"reliability": [np.zeros(n), np.ones(m)], "length": [scores, np.zeros(m)]}[held]
    constraints = [np.r_[np.ones(n), np.zeros(m)], np.concatenate(unit)]
    free = np.linalg.svd(np.array(constraints))[2][2:].T
    covariance = free @ np.linalg.solve(free.T @ joint @ free, free.T)
    return np.asarray(covariance[:n, :n])


def limit(design: Design, link: Link, probabilities: FloatArray) -> FloatArray:
    """Return s_* of Lemma 3.2, to which the homogeneous fit converges, by Newton's method.

    Parameters
    ----------
    design, link
        The judgments and F.
    probabilities
        Of the left item in each judgment. Answers, 0 or 1, in their place give the fit itself.

    Examples
    --------
    >>> from aggcal.models.links import LOGISTIC
    >>> one = Design(np.array([0]), np.array([0]), np.array([1]), 2)
    >>> limit(one, LOGISTIC, np.array([0.75])).round(3)
    array([ 0.549, -0.549])
    """
    differences, scores = design.differences, np.zeros(design.n_items)
    for _ in range(_STEPS):
        pull, curvature, _ = _slopes(design, link, scores, probabilities)
        step = _pseudo_inverse(curvature) @ (differences.T @ pull)
        scores = scores + step
        if np.abs(step).max() < _SMALL:
            return scores
    raise RuntimeError(f"Newton's method did not end in {_STEPS} steps.")


def homogeneous(
    design: Design,
    link: Link,
    probabilities: FloatArray,
    drawn: Literal["judgments", "answers"] = "judgments",
) -> FloatArray:
    """Return the sandwich A⁺ B A⁺ of Lemma 3.2 at s_*.

    The printed B is right where whole judgments are drawn anew. Where the same pairs are asked of
    the same annotators again, only their answers vary, and by less.

    Examples
    --------
    >>> from aggcal.models.links import LOGISTIC
    >>> one = Design(np.array([0]), np.array([0]), np.array([1]), 2)
    >>> homogeneous(one, LOGISTIC, np.array([0.5]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    differences, scores = design.differences, limit(design, link, probabilities)
    _, curvature, (ahead, behind) = _slopes(design, link, scores, probabilities)
    p = probabilities
    varies = {
        "judgments": p * ahead**2 + (1.0 - p) * behind**2,
        "answers": p * (1.0 - p) * (ahead + behind) ** 2,
    }[drawn]
    bread = _pseudo_inverse(curvature)
    return np.asarray(bread @ differences.T @ (varies[:, None] * differences) @ bread)


def excess(homogeneous: FloatArray, heterogeneous: FloatArray) -> FloatArray:
    """Return by how much more the homogeneous fit varies in each direction but 1.

    Theorem 3.3 says that all of these eigenvalues are positive, which is false.

    Examples
    --------
    >>> excess(np.diag([2.0, 4.0]), np.eye(2)).round(3)
    array([2.])
    """
    inside = np.linalg.svd(np.ones((1, len(homogeneous))))[2][1:].T
    return np.linalg.eigvalsh(inside.T @ (homogeneous - heterogeneous) @ inside)


def _slopes(
    design: Design, link: Link, scores: FloatArray, probabilities: FloatArray
) -> tuple[FloatArray, FloatArray, tuple[FloatArray, FloatArray]]:
    """Return the expected gradient in each gap, A, and the pulls of either answer."""
    differences = design.differences
    gap = differences @ scores
    (_, ahead, bent), (_, behind, bent_back) = link.terms(gap), link.terms(-gap)
    curvature = probabilities * bent + (1.0 - probabilities) * bent_back
    pull = probabilities * ahead - (1.0 - probabilities) * behind
    return pull, differences.T @ (curvature[:, None] * differences), (ahead, behind)


def _pseudo_inverse(matrix: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.pinv(matrix, rcond=_NULL, hermitian=True))
