"""aggcal: aggregate judgments into a consensus, then calibrate a model's scores onto it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aggcal.aggregation import aggregate
    from aggcal.aggregators import BARCW, BTL, GPPL, HRA, TCV, CrowdBT, CrowdTCV, RankSVM
    from aggcal.assessment import Assessment, assess
    from aggcal.calibration import Calibration, calibrate
    from aggcal.consensus import Aggregator, Consensus
    from aggcal.data.features import Features
    from aggcal.data.judgments import Judgments
    from aggcal.data.scores import Scores
    from aggcal.design import Suggestions, suggest_pairs
    from aggcal.errors import AggcalError, AggcalWarning
    from aggcal.io import add_judgments, read_features, read_judgments, read_scores
    from aggcal.models.features.covariance_functions import Kernel
    from aggcal.models.priors import Prior

__version__ = "0.1.0"
# fmt: off
__all__ = [
    "BARCW", "BTL", "GPPL", "HRA", "TCV", "AggcalError", "AggcalWarning", "Aggregator",
    "Assessment", "Calibration", "Consensus", "CrowdBT", "CrowdTCV", "Features", "Judgments",
    "Kernel", "Prior", "RankSVM", "Scores", "Suggestions", "add_judgments", "aggregate", "assess",
    "calibrate", "read_features", "read_judgments", "read_scores", "suggest_pairs",
]
# fmt: on

# Public names are imported when first used: ``aggcal --help`` does not wait for SciPy.
_HOMES = {
    "aggregation": ("aggregate",),
    "aggregators": ("BARCW", "BTL", "GPPL", "HRA", "TCV", "CrowdBT", "CrowdTCV", "RankSVM"),
    "assessment": ("Assessment", "assess"),
    "calibration": ("Calibration", "calibrate"),
    "consensus": ("Aggregator", "Consensus"),
    "design": ("Suggestions", "suggest_pairs"),
    "errors": ("AggcalError", "AggcalWarning"),
    "data.features": ("Features",),
    "io": ("add_judgments", "read_features", "read_judgments", "read_scores"),
    "data.judgments": ("Judgments",),
    "models.features.covariance_functions": ("Kernel",),
    "models.priors": ("Prior",),
    "data.scores": ("Scores",),
}


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


if not TYPE_CHECKING:  # type checkers see the imports above, and nothing else

    def __getattr__(name: str) -> Any:
        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(f"aggcal.{home}"), name)
        if name == "plot":
            return import_module("aggcal.plot")
        raise AttributeError(f"module 'aggcal' has no attribute '{name}'")
