"""How far annotators agree with scores, and which scores are tied."""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import FloatArray, sums
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import each_range, even
from aggcal.data.judgments import Judgments
from aggcal.engines.remote import ShardedJudgments

_TIE = 1e-9
"""Share of the range of the scores within which neighbours are tied: more ties what differs, less
leaves to rounding which of two equal items is above."""
_PIECE = 1 << 20
"""Rows at a time without the kernels: fewer take longer, more take more memory."""


def snapped(scores: FloatArray) -> FloatArray:
    """Make scores equal that differ by no more than rounding.

    Examples
    --------
    >>> snapped(np.array([1.0, 0.3, 0.1 + 0.2])).tolist()
    [1.0, 0.30000000000000004, 0.30000000000000004]
    """
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    near = _TIE * float(np.ptp(ordered))
    group = np.concatenate([[0], np.cumsum(np.diff(ordered) > near)])
    means = np.bincount(group, ordered) / np.bincount(group)
    snapped = np.empty_like(scores)
    # A lone item keeps its bits; only real ties are averaged.
    snapped[order] = np.where(np.bincount(group)[group] > 1, means[group], ordered)
    return snapped


def agreement(judgments: Judgments, scores: FloatArray) -> FloatArray:
    """Return the share of each annotator's judgments, by weight, that scores agree with."""
    if isinstance(judgments, ShardedJudgments):
        return judgments.agreement(scores)
    kernels, weight = library(), judgments.weight
    plain = weight.strides == (0,) and bool((weight[:1] == 1.0).all())
    agreed = np.zeros(judgments.n_annotators)
    if kernels is not None:
        columns = (judgments.annotator, judgments.left, judgments.right)
        codes = [np.ascontiguousarray(column, dtype=np.int32) for column in columns]
        outcome = None if judgments.decided_for_left else np.ascontiguousarray(judgments.outcome)
        weights = None if plain else np.ascontiguousarray(weight)
        heights = np.ascontiguousarray(scores)

        def work(begin: int, end: int) -> None:
            rows = slice(begin, end)
            given = [None if column is None else column[rows] for column in (outcome, weights)]
            arrays = at(*(code[rows] for code in codes), *given, heights, agreed)
            kernels.aggcal_agreement(end - begin, *arrays)

        # Cut between annotators, of whom each thread then has its own.
        cuts = np.searchsorted(codes[0], codes[0][even(len(weight))[1:-1]])
        each_range(work, [0, *np.unique(cuts).tolist(), len(weight)])
    else:
        for k in range(0, len(weight), _PIECE):
            rows = slice(k, k + _PIECE)
            side = np.sign(scores[judgments.left[rows]] - scores[judgments.right[rows]])
            agrees = weight[rows] * (0.5 + side * (judgments.outcome[rows] - 0.5))
            agreed += sums(judgments.annotator[rows], agrees, judgments.n_annotators)
    return agreed / sums(judgments.annotator, weight, judgments.n_annotators)
