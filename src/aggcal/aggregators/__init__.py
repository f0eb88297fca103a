"""The aggregators of Stage 1, one file per family."""

from aggcal.aggregators.baselines import BARCW, GPPL, RankSVM
from aggcal.aggregators.common import Progress, Start
from aggcal.aggregators.crowd import CrowdBT, CrowdTCV
from aggcal.aggregators.thurstone import BTL, ESTIMATORS, HRA, TCV, Estimator, PriorChoice

# fmt: off
__all__ = [
    "BARCW", "BTL", "ESTIMATORS", "GPPL", "HRA", "TCV", "CrowdBT", "CrowdTCV", "Estimator",
    "PriorChoice", "Progress", "RankSVM", "Start",
]
# fmt: on
