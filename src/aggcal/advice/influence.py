r"""How much the result hangs on single annotators: one Newton step from the optimum, or a fit.

With H the curvature of the fit, g and A the gradient and curvature of the rows of an annotator, the
scores move by −(H − A)⁻¹ g without them: a jackknife that takes no refit. In studies too large for
that, each item moves as if the others stood still.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, ranks, sums
from aggcal._core.progress import counted
from aggcal._core.tables import Columns, aligned, as_frame
from aggcal._core.text import brief, wrapped
from aggcal.aggregation import aggregate
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.estimate import Quantify, RowScores
from aggcal.data.base import AnyJudgments
from aggcal.data.graph import laplacian_of_pairs
from aggcal.data.judgments import Judgments
from aggcal.engines import prepare
from aggcal.errors import OptionError
from aggcal.registry import DEFAULT_METHOD, LOCAL

EXACT = 10
"""Annotators who are left out by a fit rather than by one Newton step."""
MOST_ITEMS = 1000
"""Items up to which all move together: a matrix of more takes longer than most fits."""
_MOST_WORK = 2e10
"""Multiplications that leaving out each annotator in turn may take: some ten seconds."""
_MOST_ANNOTATORS = 2000
"""Annotators up to which all items move together: of so many, none moves much else."""
_FEW, _SHRUNK = 3, 0.2
"""Items from which on stretching is taken out, and the factor of it down to which it is."""
_LEAST = 1e-3
"""Share of an item's own curvature that is left at least, where one annotator gave nearly all."""

__all__ = ["Influence", "influence"]


@dataclass(frozen=True, eq=False)
class Influence:
    """How far the scores move without each annotator.

    Examples
    --------
    >>> import aggcal
    >>> study = aggcal.simulate(items=8, annotators=6, judgments=200, seed=1)
    >>> found = aggcal.influence(study.judgments)
    >>> found.annotators["annotator"][0], round(float(found.annotators["influence"][0]), 2)
    ('annotator-6', 0.73)
    """

    consensus: Consensus
    shifts: csr_array
    """Moves of the scores, annotators by items."""
    error: FloatArray
    """Standard error of each score; where there is none, the spread of the scores."""
    exact: BoolArray
    """Annotators who were left out by a fit."""
    joint: bool
    """Whether all items moved together, or each as if the others stood still."""

    @property
    def size(self) -> FloatArray:
        """Root mean square by which scores move without each annotator, in standard errors."""
        mean_square = self.shifts.power(2).sum(axis=1) / len(self.error)
        return np.asarray(np.sqrt(mean_square / np.mean(np.square(self.error))))

    def annotator_columns(self, order: IntArray | None = None) -> Columns:
        """Return the columns of ``annotators.csv``, in an order of the annotators."""
        rows, scores, names = len(self.exact), self.consensus.scores, self.consensus.item_ids
        relative = (self.shifts * (1.0 / self.error)).tocsr()
        item = np.asarray(abs(relative).argmax(axis=1)).ravel()
        top = np.argsort(-scores, kind="stable")[:50]
        leads = top[np.argmax(scores[top] + self.shifts[:, top].toarray(), axis=1)]
        columns: Columns = {
            "influence": self.size,
            "influence_item": names[item],
            "influence_change": _entries(self.shifts, np.arange(rows), item),
            "leader_without": np.where(leads == top[0], "", names[leads]).astype(object),
            "influence_exact": self.exact,
        }
        at = np.arange(rows) if order is None else order
        return {name: column[at] for name, column in columns.items()}

    def item_columns(self) -> Columns:
        """Return the columns of ``items.csv``, in the order of the consensus' ids."""
        scores = self.consensus.scores
        who = np.asarray(abs(self.shifts).argmax(axis=0)).ravel()
        change = _entries(self.shifts, who, np.arange(len(scores)))
        # Where items do not move together, the others stand still.
        above = len(scores) - np.searchsorted(np.sort(scores), scores + change, side="right")
        rank = 1 + above - (change < 0.0)
        for u in np.unique(who) if self.joint else ():
            mine = who == u
            rank[mine] = ranks(scores + self.shifts[[u]].toarray()[0])[mine]
        return {
            "decided_by": self.consensus.annotator_ids[who],
            "decided_change": change,
            "rank_without": rank,
        }

    @property
    def annotators(self) -> Any:
        """Table of the annotators, the one that the result hangs on most first."""
        order = np.argsort(-self.size, kind="stable")
        columns = {"annotator": self.consensus.annotator_ids[order]}
        return as_frame(columns | self.annotator_columns(order), self.consensus.backend)

    @property
    def items(self) -> Any:
        """Table of the items, each with the annotator without whom it moves most."""
        columns = {"item": self.consensus.item_ids} | self.item_columns()
        return as_frame(columns, self.consensus.backend)

    def to_dict(self) -> dict[str, Any]:
        """Return the facts about the whole, as in ``summary.json``."""
        most = int(np.argmax(self.size))
        return {
            "largest": {
                "annotator": str(self.consensus.annotator_ids[most]),
                "influence": float(self.size[most]),
            },
            "n_exact": int(self.exact.sum()),
            "items_together": self.joint,
        }

    def __str__(self) -> str:
        size, most = self.size, int(np.argmax(self.size))
        said = (
            f"Without '{self.consensus.annotator_ids[most]}' scores move by {size[most]:.2f} "
            "standard errors (root mean square); without anybody else by less."
        )
        return wrapped(said)

    __repr__ = brief


def influence(
    judgments: Any, consensus: Consensus | None = None, *, exact: int = EXACT
) -> Influence:
    """Say how far scores move without each annotator.

    The moves are those of one Newton step from the optimum, with the reliabilities of the others
    held; the largest are worked out again by a fit. They are measured in standard errors of the
    scores, after matching mean and spread, which are conventions.

    Parameters
    ----------
    judgments
        `Judgments`, or anything that `read_judgments` takes.
    consensus
        Their consensus; None to fit it by the default method.
    exact
        How many annotators are left out by a fit: those with the largest influence. With 0 nothing
        is fitted again.

    Examples
    --------
    >>> rows = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c"), ("cy", "b", "a")]
    >>> found = influence(rows)
    >>> found.annotators["leader_without"].tolist()
    ['b', '', 'b']
    """
    if exact < 0:
        raise OptionError(f"exact is {exact}; give 0 or more.")
    here = prepare(judgments, LOCAL).on_one_machine("leaving out annotators")
    if here.ratings is not None:  # what hangs on whom is worked out for comparisons
        here, consensus = here.as_pairs(), None
    if consensus is None:
        consensus = aggregate(here, warn=False)
    found = influence_of(here, consensus, exact=exact)
    if found is None:
        raise OptionError(
            f"method '{consensus.method}' does not tell what each judgment does to the scores; "
            f"choose {DEFAULT_METHOD}."
        )
    return found


def influence_of(judgments: AnyJudgments, consensus: Consensus, *, exact: int) -> Influence | None:
    """Return the influence in a fit; None where the fit does not tell, or rows are elsewhere."""
    known, whole = consensus.quantifier, judgments.local
    forces = known.row_scores(consensus) if isinstance(known, Quantify) else None
    if forces is None or whole is None:
        return None
    stated, scores = consensus.uncertainty, consensus.scores
    spread = max(float(np.std(scores)), 1e-300)
    error = np.full(len(scores), spread) if stated is None else np.asarray(stated.se)
    error = np.maximum(np.where(np.isfinite(error), error, spread), 1e-9 * spread)
    rows = np.bincount(forces.rows.owner, minlength=forces.rows.n_annotators)
    work = float(np.sum(np.minimum(2.0 * rows, len(scores)) ** 3))
    joint = len(scores) <= MOST_ITEMS and len(rows) <= _MOST_ANNOTATORS and work <= _MOST_WORK
    shifts = _together(forces, scores) if joint else _separately(forces)
    found = Influence(consensus, shifts, error, np.zeros(len(rows), dtype=bool), joint)
    parts, refitted = [shifts[[u]] for u in range(len(rows))] if exact else [], found.exact.copy()
    for u in counted(np.argsort(-found.size, kind="stable")[:exact].tolist(), "leaving out"):
        moved = _without(whole, consensus, u)
        if moved is not None:
            parts[u], refitted[u] = csr_array(moved[None, :]), True
    shifts = vstack(parts, format="csr") if refitted.any() else shifts
    return replace(found, shifts=shifts, exact=refitted)


def _together(forces: RowScores, scores: FloatArray) -> csr_array:
    """Move all items together, without each annotator."""
    information = np.array(forces.information())
    # Without a prior the curvature is flat along the mean, which is a convention.
    information[np.diag_indices(len(scores))] += 1e-9 * float(np.mean(np.diag(information)))
    covariance = np.asarray(np.linalg.inv(information), dtype=np.float64)
    number = forces.rows.n_annotators
    starts = np.searchsorted(forces.rows.owner, np.arange(number + 1))
    found = np.empty((number, len(scores)))
    for u in counted(range(number), "leaving out each annotator"):
        found[u] = _step(covariance, forces, slice(int(starts[u]), int(starts[u + 1])))
    return csr_array(matched(found, scores))


def _step(covariance: FloatArray, forces: RowScores, rows: slice) -> FloatArray:
    """Return −(H − A)⁻¹ g for some rows, in the space of the rows or of their items."""
    above, below = forces.rows.left[rows], forces.rows.right[rows]
    pull, curve = forces.score[rows], np.maximum(forces.curvature[rows], 0.0)
    touched, position = np.unique(np.concatenate([above, below]), return_inverse=True)
    t, half = len(touched), len(above)
    # Where nobody else judged an item only the prior is left of it, and without one nothing.
    left = 1.0 + 1e-9
    if half < t:
        across = covariance[above] - covariance[below]
        gaps = across[:, above] - across[:, below]
        inside = left * np.eye(half) - curve[:, None] * gaps
        return np.asarray(-np.linalg.solve(inside, pull) @ across)
    i, j = position[:half], position[half:]
    pulled = np.bincount(i, pull, t) - np.bincount(j, pull, t)
    own = laplacian_of_pairs(sums(i * t + j, curve, t * t).reshape(t, t))
    inside = left * np.eye(t) - own @ covariance[np.ix_(touched, touched)]
    return np.asarray(-covariance[:, touched] @ np.linalg.solve(inside, pulled))


def _separately(forces: RowScores) -> csr_array:
    """Move each item as if the others stood still, without each annotator."""
    who = np.concatenate([forces.rows.owner, forces.rows.owner])
    cells = who, np.concatenate([forces.rows.left, forces.rows.right])
    shape = forces.rows.n_annotators, forces.n_items
    pulled = csr_array((np.concatenate([forces.score, -forces.score]), cells), shape)
    curve = np.maximum(forces.curvature, 0.0)
    curved = csr_array((np.concatenate([curve, curve]), cells), shape)
    stiff = forces.stiffness()[pulled.indices]
    moved = -pulled.data / np.maximum(stiff - curved.data, _LEAST * stiff)
    return csr_array((moved, pulled.indices, pulled.indptr), shape)


def _without(judgments: Judgments, consensus: Consensus, u: int) -> FloatArray | None:
    """Return how far scores move in a fit without an annotator; None if nobody is left."""
    known, kept = consensus.quantifier, np.asarray(judgments.annotator != u)
    own = known.likelihood if isinstance(known, Quantify) else None
    if own is None or not kept.any():
        return None
    again = own.refit(judgments.of_rows(kept), consensus, consensus)
    scores = np.nan_to_num(aligned(again.scores, again.item_ids, consensus.item_ids))
    return matched(scores - consensus.scores, consensus.scores)


def matched(shift: FloatArray, scores: FloatArray) -> FloatArray:
    """Take out of moves what moves or stretches all scores alike: both are conventions.

    Two items have nothing but their distance, so that it counts; and where the order is nearly
    turned round, no stretching brings it back.

    Examples
    --------
    >>> scores = np.array([-1.0, 0.0, 1.0])
    >>> matched(0.5 + 0.1 * scores, scores).round(9) + 0.0
    array([0., 0., 0.])
    """
    about = scores - scores.mean()
    off = shift - shift.mean(axis=-1, keepdims=True)
    size = float(about @ about)
    if size == 0.0 or len(scores) < _FEW:
        return np.asarray(off)
    stretch = np.asarray(1.0 + (off @ about) / size)[..., None]
    alike = (about + off) / np.maximum(stretch, _SHRUNK) - about
    return np.asarray(np.where(stretch > _SHRUNK, alike, off))


def _entries(table: csr_array, rows: IntArray, columns: IntArray) -> FloatArray:
    """Return single entries of a sparse table."""
    return np.asarray(table[rows, columns]).ravel()
