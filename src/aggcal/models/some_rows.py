"""Some of many rows, from which a fit of all of them can begin."""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import picked
from aggcal.data.base import AnyJudgments
from aggcal.models.rows import Rows, wins_of

_EACH, _ALL = 100, 200_000
"""Judgments of an item, and of all together, that a start is worked out from: with fewer, the fit
takes more iterations than the start saves time."""
_WORTH = 4
"""Judgments for each one that is taken, from which it pays."""


def some_rows(judgments: AnyJudgments) -> tuple[Rows, float] | None:
    """Draw rows of many judgments, of every annotator some, and say how many there are for each.

    Returns None where all are to be used: where there are few, and where they are not in memory.

    Examples
    --------
    >>> import aggcal
    >>> some_rows(aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "a")]))
    """
    n, whole = judgments.n_judgments, judgments.local
    step = int(min(2 * n / (_EACH * judgments.n_items), n / _ALL))
    if step < _WORTH or whole is None:
        return None
    annotator = np.asarray(whole.annotator)
    begins = np.arange(0, len(annotator), step)
    # One of each range at random: every so many rows might all be of one kind.
    at = begins + np.random.default_rng(0).integers(0, step, len(begins))
    # Two sorted lists: a stable sort merges them.
    at = np.sort(np.concatenate([at[at < len(annotator)], whole.starts[:-1]]), kind="stable")
    at = at[np.diff(at, prepend=-1) > 0]
    owner, left, right = (picked(column, at) for column in (annotator, whole.left, whole.right))
    outcome, weight = picked(whole.outcome, at), picked(whole.weight, at)
    rows = wins_of(owner, left, right, outcome, weight, whole.n_items)
    return rows, len(annotator) / len(at)
