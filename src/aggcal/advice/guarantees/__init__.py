"""What may be claimed for this data, under which conditions, and what may not.

Every entry says what it is about (the consensus, the model, or the truth), in words and in numbers,
and lists its conditions: ``True`` was checked and holds, ``False`` was checked and does not, None
cannot be checked from the data, or was not. A claim about the consensus is withdrawn where one of
its conditions is known to fail: it says why, and its numbers are None. Statements that are false as
published are not here; see docs/explanation/theory.md for what replaced them.
"""

from __future__ import annotations

from dataclasses import replace

from aggcal.advice.guarantees.calibrated import calibration_claims
from aggcal.advice.guarantees.order import OrderClaims, efficiency_claim
from aggcal.advice.guarantees.statement import Guarantees as Guarantees
from aggcal.advice.independence import Independence
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.resampling import n_contexts
from aggcal.calibration import Calibration
from aggcal.calibration.claims import Condition as Condition
from aggcal.calibration.claims import Guarantee as Guarantee
from aggcal.registry import BOOTSTRAP, JACKKNIFE, LAPLACE, SANDWICH_CONTEXT


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
    independence = replace(independence or Independence(), contexts=_contexts(consensus))
    if consensus is not None and consensus.uncertainty is not None:
        claims = OrderClaims(consensus, consensus.uncertainty, independence)
        found += [claims.whole_order(), claims.certified(), claims.ranks()]
        efficiency = consensus.efficiency()
        if efficiency is not None:
            found.append(efficiency_claim(consensus, efficiency))
    if calibration is not None:
        found += calibration_claims(calibration, calibration.inputs, independence)
    return Guarantees(tuple(found))


def _contexts(consensus: Consensus | None) -> str:
    """Say how contexts are allowed for: see `Independence`."""
    known = None if consensus is None else consensus.uncertainty
    if consensus is None or known is None:
        return ""
    judgments = getattr(consensus.quantifier, "judgments", None)
    drawn = known.kind == BOOTSTRAP.name and judgments is not None and n_contexts(judgments) > 0
    if drawn or known.kind in (JACKKNIFE.name, SANDWICH_CONTEXT.name):
        return "clustered"
    effects = consensus.effects
    fitted = effects is not None and effects.context_fitted and known.kind == LAPLACE.name
    return "fitted" if fitted else ""
