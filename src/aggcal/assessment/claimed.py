"""Why no probability is claimed, where none is: as for the other claims of an assessment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aggcal.aggregation.uncertainty.components import n_components
from aggcal.calibration.claims import Guarantee

if TYPE_CHECKING:
    from aggcal.assessment.result import Assessment


def unclaimed_order(result: Assessment) -> str:
    """Return why nothing is claimed of ranks; nothing where it is.

    Examples
    --------
    >>> import aggcal
    >>> unclaimed_order(aggcal.assess([("ann", "a", "b"), ("bob", "c", "d")], warn=False))
    'the comparisons form 2 connected components, with too few comparisons between them, or none'
    """
    known = None if result.consensus is None else result.consensus.uncertainty
    if known is None:
        return "there are no standard errors"
    if why := _failing(result, "rank_intervals"):
        return why
    parts = n_components(known.component)
    if parts > 1:
        return (
            f"the comparisons form {parts:,} {known.divided}, with too few comparisons between "
            "them, or none"
        )
    return ""


def unclaimed_scores(result: Assessment) -> str:
    """Return why nothing is claimed of where scores lie; nothing where it is.

    Intervals that cover the truth rest on anchors, not on who was compared with whom.
    """
    calibration, anchored = result.calibration, result.anchored
    if calibration is not None:
        if calibration.covers is None:
            return "there are no intervals"
        if why := _failing(result, "interval"):
            return why
        if calibration.measured is not None or result.consensus is None:
            return ""
        return unclaimed_order(result)
    if anchored is not None:
        return "" if anchored.measured else "the anchors are too few"
    return unclaimed_order(result)


def _failing(result: Assessment, name: str) -> str:
    """Return which conditions of a claim are known to fail."""
    if name not in result.guarantees:
        return ""
    claim: Guarantee = result.guarantees[name]
    failing = (c for c in claim.conditions if c.holds is False)
    return "; ".join(c.note or f"this condition fails: {c.needs}" for c in failing)
