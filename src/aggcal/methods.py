"""The methods of Stage 1 as objects, to be given options of their own."""

from aggcal.aggregation.features import BARCW, GPPL, RankSVM
from aggcal.aggregation.methods import BTL, HRA, TCV, CrowdBT, CrowdTCV

__all__ = ["BARCW", "BTL", "GPPL", "HRA", "TCV", "CrowdBT", "CrowdTCV", "RankSVM"]
