"""The aggregators of Stage 1, one file per family."""

from aggcal.aggregators.common import Progress, Start
from aggcal.aggregators.crowd import CrowdBT, CrowdTCV
from aggcal.aggregators.thurstone import BTL, HRA, TCV, PriorChoice

__all__ = ["BTL", "HRA", "TCV", "CrowdBT", "CrowdTCV", "PriorChoice", "Progress", "Start"]
