"""aggcal: aggregate judgments into a consensus, then calibrate a model's scores onto it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from aggcal._version import __version__ as __version__

if TYPE_CHECKING:
    from aggcal._core.frames import options
    from aggcal.advice.check import Check, Finding, check
    from aggcal.advice.influence import Influence, influence
    from aggcal.advice.suggest import Suggester, Suggestions, suggest_pairs
    from aggcal.advice.suggest.anchors import AnchorSuggestions, suggest_anchors
    from aggcal.aggregation import aggregate
    from aggcal.aggregation.consensus import Aggregator, Consensus
    from aggcal.aggregation.features import BARCW, GPPL, RankSVM
    from aggcal.aggregation.methods import BTL, HRA, TCV, CrowdBT, CrowdTCV
    from aggcal.aggregation.scales import ScoreScale
    from aggcal.aggregation.spreads import Prior
    from aggcal.aggregation.terms import Terms
    from aggcal.assessment import Assessment, assess
    from aggcal.assessment.decisions import Decisions
    from aggcal.assessment.result import explain
    from aggcal.assessment.studies import MethodComparison, Power, compare_methods, power
    from aggcal.calibration import (
        Calibration,
        Calibrator,
        Recommendation,
        calibrate,
        recommend_calibrator,
    )
    from aggcal.calibration.unseen import model_from_features
    from aggcal.data.control import Control
    from aggcal.data.features import Features, Kernel
    from aggcal.data.judgments import Judgments
    from aggcal.data.scores import Scores
    from aggcal.errors import AggcalError, AggcalWarning
    from aggcal.io import (
        add_judgments,
        read_control,
        read_features,
        read_judgments,
        read_scores,
    )
    from aggcal.metrics import compare
    from aggcal.simulation import simulate

# fmt: off
__all__ = [
    "BARCW", "BTL", "GPPL", "HRA", "TCV", "AggcalError", "AggcalWarning", "Aggregator",
    "AnchorSuggestions", "Assessment", "Calibration", "Calibrator", "Check", "Consensus",
    "Control", "CrowdBT", "CrowdTCV", "Decisions", "Features", "Finding", "Influence",
    "Judgments", "Kernel", "MethodComparison", "Power", "Prior", "RankSVM", "Recommendation",
    "ScoreScale", "Scores", "Suggester", "Suggestions", "Terms",
    "add_judgments", "aggregate", "assess", "calibrate", "check", "compare", "compare_methods",
    "explain", "influence", "model_from_features", "options", "power", "read_control",
    "read_features", "read_judgments", "read_scores", "recommend_calibrator", "simulate",
    "suggest_anchors", "suggest_pairs",
]
# fmt: on

# Public names are imported when first used: ``aggcal --help`` does not wait for SciPy.
_HOMES = {
    "_core.frames": ("options",),
    "advice.check": ("Check", "Finding", "check"),
    "advice.influence": ("Influence", "influence"),
    "advice.suggest": ("Suggester", "Suggestions", "suggest_pairs"),
    "advice.suggest.anchors": ("AnchorSuggestions", "suggest_anchors"),
    "aggregation": ("aggregate",),
    "aggregation.consensus": ("Aggregator", "Consensus"),
    "aggregation.features": ("BARCW", "GPPL", "RankSVM"),
    "aggregation.methods": ("BTL", "HRA", "TCV", "CrowdBT", "CrowdTCV"),
    "aggregation.scales": ("ScoreScale",),
    "assessment": ("Assessment", "assess"),
    "assessment.decisions": ("Decisions",),
    "assessment.result": ("explain",),
    "assessment.studies": ("MethodComparison", "Power", "compare_methods", "power"),
    "calibration": (
        "Calibration",
        "Calibrator",
        "Recommendation",
        "calibrate",
        "recommend_calibrator",
    ),
    "calibration.unseen": ("model_from_features",),
    "data.control": ("Control",),
    "data.features": ("Features", "Kernel"),
    "data.judgments": ("Judgments",),
    "data.scores": ("Scores",),
    "errors": ("AggcalError", "AggcalWarning"),
    "io": ("add_judgments", "read_control", "read_features", "read_judgments", "read_scores"),
    "metrics": ("compare",),
    "aggregation.terms": ("Terms",),
    "aggregation.spreads": ("Prior",),
    "simulation": ("simulate",),
}


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


if not TYPE_CHECKING:  # type checkers see the imports above, and nothing else

    def __getattr__(name: str) -> Any:
        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(f"aggcal.{home}"), name)
        if name in ("datasets", "plot", "sklearn"):
            return import_module(f"aggcal.{name}")
        raise AttributeError(f"module 'aggcal' has no attribute '{name}'")
