"""What may be claimed for this data, under which conditions, and what may not.

Every entry says what it is about (the consensus, the model, or the truth), in words and in numbers,
and lists its conditions: ``True`` was checked and holds, ``False`` was checked and does not, None
cannot be checked from the data, or was not. A claim about the consensus is withdrawn where one of
its conditions is known to fail: it says why, and its numbers are None. Statements that are false as
published are not here; see docs/explanation/theory.md for what replaced them.
"""

from __future__ import annotations

from aggcal.advice.guarantees.calibrated import calibration_claims
from aggcal.advice.guarantees.order import OrderClaims, efficiency_claim
from aggcal.advice.guarantees.statement import Guarantees as Guarantees
from aggcal.advice.independence import Independence
from aggcal.aggregation.consensus import Consensus
from aggcal.calibration import Calibration
from aggcal.calibration.claims import Condition as Condition
from aggcal.calibration.claims import Guarantee as Guarantee


def guarantees(
    consensus: Consensus | None,
    calibration: Calibration | None,
    independence: Independence | None = None,
) -> Guarantees:
    """Work out what may be claimed.

    Parameters
    ----------
    consensus
        The result of Stage 1, if there was one.
    calibration
        The result of Stage 2, if there was one.
    independence
        What a check of the data found about it; by default it was not checked.
    """
    found: list[Guarantee] = []
    independence = independence or Independence()
    if consensus is not None and consensus.uncertainty is not None:
        claims = OrderClaims(consensus, consensus.uncertainty, independence)
        found += [claims.whole_order(), claims.certified(), claims.ranks()]
        efficiency = consensus.efficiency()
        if efficiency is not None:
            found.append(efficiency_claim(consensus, efficiency))
    if calibration is not None:
        found += calibration_claims(calibration, calibration.inputs, independence)
    return Guarantees(tuple(found))
