"""The aggregators of Stage 1, one file per family; the less usual are loaded when asked for."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from aggcal.aggregation.start import Progress, Start
from aggcal.aggregation.thurstone import HRA, PriorChoice
from aggcal.registry.literals import Estimator

if TYPE_CHECKING:
    from aggcal.aggregation.crowd import CrowdBT, CrowdTCV
    from aggcal.aggregation.features import BARCW, GPPL, RankSVM
    from aggcal.aggregation.homogeneous import BTL, TCV

# fmt: off
__all__ = [
    "BARCW", "BTL", "GPPL", "HRA", "TCV", "CrowdBT", "CrowdTCV", "Estimator",
    "PriorChoice", "Progress", "RankSVM", "Start",
]
_HOMES = {
    "crowd": ("CrowdBT", "CrowdTCV"),
    "features": ("BARCW", "GPPL", "RankSVM"),
    "homogeneous": ("BTL", "TCV"),
}
# fmt: on


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"aggcal.aggregation.{home}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
