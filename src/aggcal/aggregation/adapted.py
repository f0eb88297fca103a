"""Any method, called as those are that are fitted by sums over rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.estimate import Quantify
from aggcal.aggregation.methods import LikelihoodMethod
from aggcal.aggregation.newton import Progress
from aggcal.aggregation.protocols import Aggregator
from aggcal.aggregation.start import Start, start_scores
from aggcal.data.base import AnyJudgments

FullAggregator: TypeAlias = "LikelihoodMethod | Adapted"
"""Fits judgments wherever they are, from a start, and says how far it is."""


@dataclass(frozen=True)
class Adapted:
    """Gives a method what it takes, and its consensus an uncertainty if it comes without one.

    Examples
    --------
    >>> import aggcal
    >>> rows = aggcal.read_judgments([("ann", "a", "b"), ("bob", "a", "b")])
    >>> Adapted(aggcal.BTL()).fit(rows).item_ids[0]
    'a'
    """

    aggregator: Aggregator

    def fit(
        self,
        judgments: AnyJudgments,
        /,
        *,
        start: Start = None,
        on_iteration: Progress | None = None,
    ) -> Consensus:
        """Fit where the method can; a start only shortens the way, so it may go unused."""
        start_scores(start, judgments)  # a wrong one is refused all the same
        own: Any = self.aggregator  # ours take more than every aggregator does
        here = judgments.on_one_machine(type(own).__name__)
        options = {"on_iteration": on_iteration} if _says_how_far(own) else {}
        found: Consensus = own.fit(here, **options)
        if found.quantifier is not None:
            return found
        return replace(found, quantifier=Quantify(own, here))


def adapted(aggregator: Any) -> FullAggregator:
    """Return a method that takes all that ours by rows take: itself, if it is one of those."""
    full: FullAggregator = aggregator if by_rows(aggregator) else Adapted(aggregator)
    return full


def by_rows(aggregator: Any) -> bool:
    """Whether a method is fitted by sums over rows, wherever those are."""
    return isinstance(aggregator, LikelihoodMethod)


def _says_how_far(aggregator: Any) -> bool:
    from aggcal.aggregation.features import BARCW, GPPL
    from aggcal.aggregation.selection import Auto

    return isinstance(aggregator, GPPL | BARCW | Auto)
