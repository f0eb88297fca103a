"""Parts of a check that are begun before it: beside the uncertainty of the consensus.

What a check needs of a consensus does not depend on how uncertain it is, and what it says of the
rows alone needs none. A command that is going to check a study begins both as soon as it is fitted;
see `aggcal.assessment.following`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from weakref import WeakKeyDictionary

from aggcal._core.arrays import FloatArray
from aggcal._core.kernels.threads import begun
from aggcal._core.machine import cores
from aggcal._core.records import dataclass
from aggcal.advice.check.context import FITTED, Fitted, grouping
from aggcal.advice.check.of_data import OfData, of_data
from aggcal.advice.check.sample import MANY, Sample, sample
from aggcal.aggregation.consensus import Consensus
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments

_FEW = 100_000
"""Rows up to which the fit is begun: of more, the uncertainty keeps all cores busy by itself. Of so
many that a sample is looked at, that one is small again."""


@dataclass(frozen=True, eq=False)
class Begun:
    """What a check waits for."""

    of_data: Callable[[], OfData]
    part: Callable[[], Sample | None]
    """The rows that are looked at, where these are not all."""
    fitted: Callable[[], Fitted] | None
    """The fit; None where there is no consensus to take it from."""


_waiting: WeakKeyDictionary[Judgments, tuple[FloatArray, int, Begun]]
_waiting = WeakKeyDictionary()


def begin(judgments: AnyJudgments, consensus: Consensus, seed: int = 0) -> None:
    """Begin the check of these judgments that will follow, as far as it pays.

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
    if rows is None or not usable or cores() == 1 or _FEW < len(rows.count) <= MANY:
        return
    if len(rows.count) > MANY:
        part = begun(partial(sample, rows, seed))
        fitted = begun(lambda: Fitted.within(part().judgments, consensus))
        ahead = Begun(begun(partial(of_data, rows)), part, fitted)
    else:
        ahead = _begun(rows, None, begun(partial(Fitted.by, rows, consensus)))
    _waiting[rows] = consensus.scores, seed, ahead


def check_begun(
    judgments: Judgments, consensus: Consensus | None, seed: int, *, sampled: bool
) -> Begun:
    """Return what a check of these judgments waits for, as far as that was begun before.

    ``sampled`` tells whether it looks at some of the rows only.

    Examples
    --------
    >>> import aggcal
    >>> judgments = aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "c")])
    >>> consensus = aggcal.aggregate(judgments, "btl", warn=False)
    >>> found = check_begun(judgments, consensus, 0, sampled=False)
    >>> found.part(), found.fitted().consensus.method
    (None, 'btl')
    """
    scores, drawn, ahead = _waiting.pop(judgments, (None, seed, None))
    begun_so = drawn == seed if sampled else len(judgments.count) <= _FEW
    if ahead is not None and consensus is not None and scores is consensus.scores and begun_so:
        return ahead
    part = sample(judgments, seed) if sampled else None
    if consensus is None:
        return _begun(judgments, part, None)
    chosen = judgments if part is None else part.judgments
    how = Fitted.by if part is None else Fitted.within
    return _begun(judgments, part, partial(how, chosen, consensus, grouping(chosen)))


def _begun(judgments: Judgments, part: Sample | None, fitted: Callable[[], Fitted] | None) -> Begun:
    return Begun(partial(of_data, judgments), lambda: part, fitted)
