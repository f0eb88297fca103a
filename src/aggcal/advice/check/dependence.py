"""Answers that depend on each other: what the errors of the fit allow for, as a finding."""

from __future__ import annotations

from math import sqrt

from aggcal.advice.check.findings import Finding, Passed
from aggcal.aggregation.robust import SERIOUS, Robust
from aggcal.aggregation.uncertainty import Uncertainty

CODE = "dependent-answers"


def dependence_findings(uncertainty: Uncertainty | None) -> list[Finding]:
    """Report by how much errors are larger because answers depend on each other.

    Examples
    --------
    >>> import aggcal
    >>> consensus = aggcal.aggregate([("ann", "a", "b"), ("bob", "a", "b")], warn=False)
    >>> dependence_findings(consensus.uncertainty)
    []
    """
    robust = Robust() if uncertainty is None else uncertainty.robust
    most, factors = robust.widest, robust.factors
    if most is None or not robust.is_clear:
        return []
    return [
        Finding(
            "problem" if most.used >= SERIOUS else "note",
            CODE,
            f"{robust.reasons[0].upper()}{robust.reasons[1:]}.",
            robust.remedy,
            {
                "factor": round(sqrt(most.used), 4),
                "widest": most.name,
                "factors": {factor.name: round(sqrt(factor.used), 4) for factor in factors},
            },
            title=robust.title,
        )
    ]


def independence_passed(uncertainty: Uncertainty | None) -> list[Passed]:
    """Say that answers look independent, where it could be estimated."""
    if uncertainty is None or not uncertainty.factors or uncertainty.robust.is_clear:
        return []
    return [Passed(CODE, str(uncertainty.robust))]


def dependence_not_checked(uncertainty: Uncertainty | None) -> tuple[str, ...]:
    """Say why it is not known whether answers depend on each other, where that is so.

    Examples
    --------
    >>> dependence_not_checked(None)
    ('dependent answers (standard errors were not computed)',)
    """
    if uncertainty is None:
        return ("dependent answers (standard errors were not computed)",)
    return () if uncertainty.factors else ("dependent answers (too few answers share anything)",)
