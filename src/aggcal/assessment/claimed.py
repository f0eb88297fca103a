"""Why no probability is claimed, where none is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aggcal.aggregation.uncertainty.components import n_components

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
    record = None if result.consensus is None else result.consensus.convergence
    if record is not None and not record.converged:
        return "the fit did not converge"
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
        if calibration.measured is not None or result.consensus is None:
            return ""
        return unclaimed_order(result)
    if anchored is not None:
        return "" if anchored.measured else "the anchors are too few"
    return unclaimed_order(result)
