"""What follows a fit and need not wait for its uncertainty: begun as soon as there is a fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

from aggcal.aggregation.consensus import Consensus
from aggcal.data.base import AnyJudgments

Begin: TypeAlias = Callable[[AnyJudgments, Consensus, int], None]

_begin: ContextVar[Begin | None] = ContextVar("begin", default=None)


@contextmanager
def following(begin: Begin) -> Iterator[None]:
    """Call a function with the judgments, the consensus and the seed of each fit made meanwhile.

    Examples
    --------
    >>> import aggcal
    >>> with following(lambda judgments, consensus, _: print(judgments.n_items, consensus.method)):
    ...     result = aggcal.assess([("ann", "a", "b")], method="btl", warn=False)
    2 btl
    """
    token = _begin.set(begin)
    try:
        yield
    finally:
        _begin.reset(token)


def fitted(judgments: AnyJudgments, consensus: Consensus, seed: int) -> None:
    """Tell whoever waits for it of a fit."""
    begin = _begin.get()
    if begin is not None:
        begin(judgments, consensus, seed)
