"""The fit of a check, begun before the check: beside the uncertainty of the consensus.

What a check needs of a consensus does not depend on how uncertain it is. A command that is going to
check a small study begins as soon as it is fitted; see `aggcal.assessment.following`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from weakref import WeakKeyDictionary

from aggcal._core.arrays import FloatArray
from aggcal._core.kernels.threads import begun
from aggcal._core.machine import cores
from aggcal.advice.check.context import FITTED, Fitted, grouping
from aggcal.aggregation.consensus import Consensus
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments

_FEW = 100_000
"""Rows up to which it is begun: of more, the uncertainty keeps all cores busy by itself."""

_waiting: WeakKeyDictionary[Judgments, tuple[FloatArray, Callable[[], Fitted]]]
_waiting = WeakKeyDictionary()


def begin(judgments: AnyJudgments, consensus: Consensus) -> None:
    """Begin to fit for the check of these judgments that will follow, if it pays.

    Examples
    --------
    >>> import aggcal
    >>> judgments = aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "c")])
    >>> consensus = aggcal.aggregate(judgments, "btl", warn=False)
    >>> begin(judgments, consensus)
    >>> aggcal.check(judgments, method="btl", consensus=consensus).findings[0].code
    'separation'
    """
    rows = judgments.local
    usable = consensus.prior is not None and consensus.method in FITTED
    if rows is not None and usable and len(rows.count) <= _FEW and cores() > 1:
        _waiting[rows] = consensus.scores, begun(partial(Fitted.by, rows, consensus))


def fit_by(consensus: Consensus, judgments: Judgments, *, whole: bool) -> Callable[[], Fitted]:
    """Return what waits for the fit of a check, begun here in part unless it was begun before.

    ``whole`` tells whether the consensus is of just these judgments, or of more.

    Examples
    --------
    >>> import aggcal
    >>> judgments = aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "c")])
    >>> consensus = aggcal.aggregate(judgments, "btl", warn=False)
    >>> fit_by(consensus, judgments, whole=True)().consensus.method
    'btl'
    """
    scores, wait = _waiting.pop(judgments, (None, None))
    if wait is not None and scores is consensus.scores:
        return lambda: replace(wait(), consensus=consensus)
    return partial(Fitted.by if whole else Fitted.within, judgments, consensus, grouping(judgments))
