"""What may be claimed for this data, under which conditions, and what may not.

Every entry says what it is about (the consensus, the model, or the truth), in words and in numbers,
and lists its conditions: ``True`` was checked and holds, ``False`` was checked and does not, None
cannot be checked from the data. Where answers depend on each other, errors are wider, and nothing
is withdrawn. Statements that are false as published are not here; see docs/explanation/theory.md
for what replaced them.
"""

from __future__ import annotations

from aggcal.advice.guarantees.calibrated import calibration_claims
from aggcal.advice.guarantees.order import order_claims
from aggcal.advice.guarantees.statement import ANNOTATORS, CONTEXTS, INDEPENDENT, MODEL
from aggcal.advice.guarantees.statement import Guarantees as Guarantees
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.terms import counts_of
from aggcal.calibration import Calibration
from aggcal.calibration.says import Condition as Condition
from aggcal.calibration.says import Guarantee as Guarantee
from aggcal.registry import BOOTSTRAP


def guarantees(consensus: Consensus | None, calibration: Calibration | None) -> Guarantees:
    """Work out what may be claimed.

    Parameters
    ----------
    consensus
        The result of Stage 1, if there was one.
    calibration
        The result of Stage 2, if there was one.
    """
    found: list[Guarantee] = []
    claims = None if consensus is None else consensus.claims()
    if consensus is not None and consensus.uncertainty is not None and claims is not None:
        drawn = CONTEXTS if _drawn(consensus) else ANNOTATORS
        needs = drawn if consensus.uncertainty.kind == BOOTSTRAP.name else MODEL
        conditions = needs, INDEPENDENT, Condition("the fit converged", holds=True)
        found += order_claims(consensus, claims, conditions)
    if calibration is not None:
        found += calibration_claims(calibration, calibration.inputs)
    return Guarantees(tuple(found))


def _drawn(consensus: Consensus) -> bool:
    """Tell whether the intervals come from contexts that were drawn again."""
    known, judgments = consensus.uncertainty, getattr(consensus.quantifier, "judgments", None)
    drawn = known is not None and known.kind == BOOTSTRAP.name
    return drawn and judgments is not None and counts_of(judgments).contexts > 0
