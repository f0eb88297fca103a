r"""The sandwich of the homogeneous models: A⁻¹ B A⁻¹, right even where annotators differ.

A is the curvature of the fit; B is what its gradient varies by, and that depends on what would be
drawn anew: annotators with all their judgments (``annotator``), single judgments of random pairs
by random annotators (``random``), or only the answers to the same questions (``fixed``). The
published Lemma 3.2 has the second; for a fixed design it is too large.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.aggregation.uncertainty.covariance import (
    MOST_DENSE,
    Covariance,
    DenseCovariance,
    DrawnCovariance,
)
from aggcal.aggregation.uncertainty.laplace import inverse, solver
from aggcal.errors import AggcalWarning, FewJudgmentsWarning, count
from aggcal.models.information import Information
from aggcal.models.links import Link
from aggcal.models.rows import Rows
from aggcal.registry import LAPLACE

_ENOUGH_ANNOTATORS = 20
"""From so many on, errors by how annotators differ are not called rough."""

Design = Literal["annotator", "random", "fixed"]
_PROBES = 200  # random vectors for the diagonal: its error falls with their root, the time grows


def sandwich(
    rows: Rows,
    link: Link,
    scores: FloatArray,
    information: Information,
    design: Design,
    *,
    probabilities: FloatArray | None = None,
    unit: float = 1.0,
    seed: int = 0,
) -> Covariance:
    """Return the sandwich covariance of the scores of a homogeneous model.

    Parameters
    ----------
    rows, link, scores
        Who judged what, and the fit.
    information
        A, at the fit.
    design
        What would be drawn anew.
    chances
        For ``fixed``: the chance of each row's outcome by a model that tells annotators apart.
    unit
        Mean weight of one judgment: a row's weight divided by it is how many judgments it is.
    seed
        Seed for the random vectors that take the place of a matrix for many items.
    """
    force = _forces(rows, link, scores, design, probabilities=probabilities, unit=unit)
    n = rows.n_items
    if n > MOST_DENSE:
        random = np.random.default_rng(seed)
        solve = solver(information, information.diagonal())
        drawn = np.empty((_PROBES, n))
        for k in range(_PROBES):
            signs = random.choice(
                [-1.0, 1.0], rows.n_annotators if design == "annotator" else len(rows)
            )
            if design == "annotator":
                signs = np.repeat(signs, np.diff(rows.starts))
            signed = signs * force
            pulled = np.sqrt(information.prior) * random.standard_normal(n)
            drawn[k] = solve(rows.scatter(signed) + pulled)
        return DrawnCovariance(drawn)
    schur, _ = information.dense()
    bread = inverse(schur)
    # What the prior pulls the scores by is an error too: as large as the prior says scores are.
    shrunk = (bread * information.prior) @ bread.T
    if design == "annotator":
        from scipy import sparse

        owner = np.repeat(np.arange(rows.n_annotators), np.diff(rows.starts))
        at = np.concatenate([rows.winner, rows.loser])
        both = (np.concatenate([force, -force]), (at, np.concatenate([owner, owner])))
        pulls = sparse.coo_array(both, shape=(n, rows.n_annotators)).tocsr()
        half = bread @ pulls
        return DenseCovariance(half @ half.T + shrunk)
    return DenseCovariance(bread @ rows.laplacian(force * force) @ bread + shrunk)


def _forces(
    rows: Rows,
    link: Link,
    scores: FloatArray,
    design: Design,
    *,
    probabilities: FloatArray | None,
    unit: float,
) -> FloatArray:
    """Return a number per row whose square is the row's part of B."""
    gap = scores[rows.winner] - scores[rows.loser]
    pull = link.terms(gap)[1]
    if design == "annotator":
        m = rows.n_annotators
        return np.asarray(rows.weight * pull * np.sqrt(m / max(m - 1, 1)))
    if design == "random":
        return np.sqrt(unit * rows.weight) * pull
    if probabilities is None:
        raise ValueError("a fixed design needs the chances of its outcomes")
    both = pull + link.terms(-gap)[1]
    return np.sqrt(unit * rows.weight * probabilities * (1.0 - probabilities)) * both


def few_annotators(number: int) -> tuple[AggcalWarning, ...]:
    """Warn where errors that come from how annotators differ rest on few of them.

    Examples
    --------
    >>> few_annotators(100)
    ()
    """
    if number >= _ENOUGH_ANNOTATORS:
        return ()
    return (
        FewJudgmentsWarning(
            f"Standard errors from resampling {number} annotators are rough: that takes "
            f"{_ENOUGH_ANNOTATORS} or more.",
            f"Use --uncertainty {LAPLACE.name}.",
            title=f"Standard errors rest on {count(number, 'annotator')}",
            why=f"Resampling is rough with fewer than {_ENOUGH_ANNOTATORS}.",
        ),
    )
