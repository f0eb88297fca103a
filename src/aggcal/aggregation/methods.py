"""The aggregators of Stage 1, one file per family."""

from aggcal.aggregation.crowd import CrowdBT, CrowdTCV
from aggcal.aggregation.from_features import BARCW, GPPL, RankSVM
from aggcal.aggregation.homogeneous import BTL, TCV
from aggcal.aggregation.start import Progress, Start
from aggcal.aggregation.thurstone import HRA, PriorChoice
from aggcal.registry.literals import Estimator

# fmt: off
__all__ = [
    "BARCW", "BTL", "GPPL", "HRA", "TCV", "CrowdBT", "CrowdTCV", "Estimator",
    "PriorChoice", "Progress", "RankSVM", "Start",
]
# fmt: on
