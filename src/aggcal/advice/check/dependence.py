"""Answers that depend on each other: what the errors of the fit allow for, as a finding."""

from __future__ import annotations

from math import sqrt

from aggcal.advice.check.findings import Finding, Passed
from aggcal.aggregation.robust import (
    SERIOUS,
    beyond_chance,
    dependence,
    dependence_reasons,
    dependence_remedy,
    dependence_title,
    widest,
)
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
    factors = () if uncertainty is None else uncertainty.factors
    most = widest(factors)
    if most is None or not beyond_chance(most):
        return []
    said = dependence_reasons(most, factors)
    return [
        Finding(
            "problem" if most.used >= SERIOUS else "note",
            CODE,
            f"{said[0].upper()}{said[1:]}.",
            dependence_remedy(most, factors),
            {
                "factor": round(sqrt(most.used), 4),
                "widest": most.name,
                "factors": {factor.name: round(sqrt(factor.used), 4) for factor in factors},
            },
            title=dependence_title(most),
        )
    ]


def independence_passed(uncertainty: Uncertainty | None) -> list[Passed]:
    """Say that answers look independent, where it could be estimated."""
    factors = () if uncertainty is None else uncertainty.factors
    found = bool(dependence_findings(uncertainty))
    return [Passed(CODE, dependence(factors))] if factors and not found else []


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
