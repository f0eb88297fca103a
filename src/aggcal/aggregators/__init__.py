"""The aggregators of Stage 1, one file per family."""

from aggcal.aggregators.baselines import BARCW, GPPL, RankSVM
from aggcal.aggregators.common import Progress, Start
from aggcal.aggregators.crowd import CrowdBT, CrowdTCV
from aggcal.aggregators.thurstone import BTL, HRA, TCV, PriorChoice

# fmt: off
__all__ = [
    "BARCW", "BTL", "GPPL", "HRA", "TCV", "CrowdBT", "CrowdTCV", "PriorChoice", "Progress",
    "RankSVM", "Start",
]
# fmt: on
