r"""What each context adds to the gradient, and how the annotators respond to it.

    h_c = Σ_u {E_k g_uck + Cov_k(ℓ_uck, g_uk)}

Without a context, annotators' parameters would be believed to be others: the second part.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal.models.general.outcomes import Outcomes
from aggcal.models.general.rows import ASKED_IN
from aggcal.models.general.sums import Sums


class ContextPulls(NamedTuple):
    """What contexts add to the gradient."""

    pulls: FloatArray
    """h_c, unknowns by contexts."""
    alone: FloatArray
    """Σ h h' over rows that have no context: each is one of its own."""
    n_alone: int


@singledispatch
def context_pulls(
    sums: Sums, unknowns: FloatArray, grades: FloatArray, outcomes: Outcomes, contexts: int
) -> ContextPulls:
    """Return what each of so many contexts adds to the gradient.

    Parameters
    ----------
    sums
        At a point, over rows that are of one context each.
    unknowns, grades, outcomes
        There, and how likely answers are.
    contexts
        How many there are.
    """
    layout = sums.layout
    keys = layout.rows.keys
    context = keys.get(ASKED_IN, keys["context"]).astype(np.int64)
    alone = context < 0
    code = np.where(alone, contexts - 1 + np.cumsum(alone), context)
    number = contexts + int(alone.sum())
    losses = [
        outcomes(eta, nu, layout.rows.answers, grades).loss
        for eta, nu in layout.at_nodes(unknowns, sums.known)
    ]
    pulls = _expected(sums, code, number) + _response(sums, losses, code, number)
    own = pulls[:, contexts:]
    return ContextPulls(pulls[:, :contexts], own @ own.T, number - contexts)


def _expected(sums: Sums, code: IntArray, number: int) -> FloatArray:
    from scipy import sparse

    layout, rows = sums.layout, sums.layout.rows
    every, shape = np.arange(len(rows)), (len(rows), number)
    marks = sparse.csr_array((np.ones(len(rows)), (every, code)), shape=shape)
    pulls, by_row = np.zeros((layout.size, number)), rows.per_row(sums.weights).T
    for channel, (_, back, where) in layout.maps.items():
        expected = (by_row * sums.pulls[channel]).sum(axis=0)
        pulls[where] = (back @ sparse.diags_array(expected) @ marks).toarray()
    return pulls


def _response(sums: Sums, losses: list[FloatArray], code: IntArray, number: int) -> FloatArray:
    """Return Σ_u Cov_k(ℓ_uck, g_uk) of each context, unknowns by contexts."""
    from scipy import sparse

    rows, weights = sums.layout.rows, sums.weights
    # Log-likelihoods of each annotator in each context, node by node.
    shape = (rows.n_annotators, number)
    parts: list[Any] = [
        sparse.coo_array((-loss, (rows.owner, code)), shape=shape).tocsr() for loss in losses
    ]
    mean: Any = sum(part.multiply(weights[:, k, None]) for k, part in enumerate(parts))
    total = np.zeros((sums.layout.size, number))
    eye = np.eye(weights.shape[1])
    for k, part in enumerate(parts):
        if not weights[:, k].any():
            continue
        # p_k (ℓ_uck − ℓ̄_uc), and what node k pulls the unknowns by.
        off = (part - mean).multiply(weights[:, k, None]).tocsr()
        total += (sums.borders(np.broadcast_to(eye[k], weights.shape)).T @ off).toarray()
    return total
