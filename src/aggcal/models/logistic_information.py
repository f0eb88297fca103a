"""What each row adds to the Fisher information of the logistic link, by a compiled kernel."""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import FloatArray, SingleArray
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import balanced, each_range
from aggcal.models.objective import Objective
from aggcal.models.thurstone import Thurstone
from aggcal.registry import LOGISTIC

_MOST_RANGES = 64
"""Of annotators: nothing is added up across them, and more of them even out what each takes."""
ROWS = 2048
"""Rows that are taken together where there are no annotators' parameters."""


def take(
    problem: Objective,
    scores: FloatArray,
    theta: FloatArray,
    into: tuple[SingleArray | FloatArray, SingleArray | FloatArray | None, FloatArray | None],
    some: slice = slice(None),
) -> bool:
    """Fill a² and ab of each row, and add b² to the sum of each annotator.

    In models without annotators' parameters it is a² alone. Returns False, with nothing done, where
    there is no kernel for it.

    Parameters
    ----------
    problem
        The model and its rows.
    scores, theta
        Scores and annotators' parameters at which it is taken.
    into
        The columns of a² and ab, in either precision, and the sums; None of what is not asked for.
    some
        The annotators whose rows are taken, or the pieces of `ROWS` rows.
    """
    kernels, rows = library(), problem.rows
    known = isinstance(problem, Thurstone) and problem.link.name == LOGISTIC.name
    if kernels is None or not known or not len(rows):
        return False
    starts, slopes, free = np.asarray(rows.starts), theta, problem.heterogeneous
    if not free:
        if (theta != theta[0]).any():
            return False
        # Who judged does not matter then: rows may be cut anywhere.
        starts = np.append(np.arange(0, len(rows), ROWS), len(rows))
        slopes = np.full(len(starts) - 1, theta[0])
    first, last, _ = some.indices(len(starts) - 1)
    mine, slopes = slice(starts[first], starts[last]), slopes[first:last]
    starts = starts[first : last + 1] - starts[first]
    plain = rows.weight.strides == (0,) and float(rows.weight[0]) == 1.0
    codes = [np.ascontiguousarray(c[mine], dtype=np.int32) for c in (rows.winner, rows.loser)]
    weight = None if plain else np.ascontiguousarray(rows.weight[mine], dtype=np.float64)
    starts = np.ascontiguousarray(starts, dtype=np.int64)
    points = [np.ascontiguousarray(column, dtype=np.float64) for column in (scores, slopes)]
    near, *others = into
    beside = others if free else [None, None]
    exact = near.dtype == np.float64
    kernel = kernels.aggcal_information_exact if exact else kernels.aggcal_information

    def work(begin: int, end: int) -> None:
        kernel(begin, end, *at(*codes, weight, starts, *points, near, *beside))

    each_range(work, balanced(starts, most=_MOST_RANGES) if rows.whole else [0, len(starts) - 1])
    return True
