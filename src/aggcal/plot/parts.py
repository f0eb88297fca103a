"""What a figure is drawn of: the part of a result, whichever result was given."""

from __future__ import annotations

from typing import Any

from aggcal.advice.study import Study
from aggcal.aggregation.consensus import Consensus
from aggcal.assessment.methods import MethodComparison
from aggcal.calibration import Calibration
from aggcal.data.base import AnyJudgments
from aggcal.errors import OptionError


def judgments_of(result: Any) -> AnyJudgments:
    """Return the judgments of a result, or read them."""
    found: AnyJudgments = Study.of(result).needed("judgments", "give the judgments themselves")
    return found


def consensus_of(result: Any) -> Consensus:
    """Return the consensus of a result.

    Examples
    --------
    >>> import aggcal
    >>> consensus_of(aggcal.assess([("ann", "a", "b")], warn=False)).method
    'hra-g'
    >>> consensus_of([("ann", "a", "b")])
    Traceback (most recent call last):
    aggcal.errors.OptionError: judgments have no consensus, which this needs; give what aggcal....
    """
    remedy = "give what aggcal.aggregate or aggcal.assess returns"
    found: Consensus = Study.of(result).needed("consensus", remedy)
    return found


def calibration_of(result: Any) -> Calibration:
    """Return the calibration of a result."""
    study = Study.of(result)
    if study.calibration is None and study.consensus is not None:
        raise OptionError("nothing was calibrated; give aggcal.assess the model's scores too.")
    remedy = "give what aggcal.calibrate or aggcal.assess returns"
    found: Calibration = study.needed("calibration", remedy)
    return found


def comparison_of(result: Any) -> MethodComparison:
    """Return a comparison of methods; refuse what is none."""
    if not isinstance(result, MethodComparison):
        raise OptionError(
            f"{type(result).__name__} compares no methods; give what aggcal.compare_methods "
            "returns."
        )
    return result
