# What `import aggcal` offers: __init__.py reads from here where each name comes from.

from aggcal import datasets as datasets
from aggcal import methods as methods
from aggcal import plot as plot
from aggcal import sklearn as sklearn
from aggcal._core.frames import options as options
from aggcal._version import __version__ as __version__
from aggcal.advice.check import check as check
from aggcal.advice.influence import influence as influence
from aggcal.advice.suggest import Suggester as Suggester
from aggcal.advice.suggest import suggest_pairs as suggest_pairs
from aggcal.advice.suggest.anchors import suggest_anchors as suggest_anchors
from aggcal.aggregation import aggregate as aggregate
from aggcal.aggregation.consensus import Aggregator as Aggregator
from aggcal.aggregation.consensus import Consensus as Consensus
from aggcal.aggregation.spreads import Prior as Prior
from aggcal.aggregation.terms import Terms as Terms
from aggcal.assessment import Assessment as Assessment
from aggcal.assessment import assess as assess
from aggcal.assessment.result import explain as explain
from aggcal.assessment.studies import compare_methods as compare_methods
from aggcal.assessment.studies import power as power
from aggcal.calibration import Calibration as Calibration
from aggcal.calibration import Calibrator as Calibrator
from aggcal.calibration import calibrate as calibrate
from aggcal.calibration import recommend_calibrator as recommend_calibrator
from aggcal.calibration.unseen import model_from_features as model_from_features
from aggcal.data.control import Control as Control
from aggcal.data.features import Features as Features
from aggcal.data.judgments import Judgments as Judgments
from aggcal.data.scores import Scores as Scores
from aggcal.errors import AggcalError as AggcalError
from aggcal.errors import AggcalWarning as AggcalWarning
from aggcal.io import add_judgments as add_judgments
from aggcal.io import read_control as read_control
from aggcal.io import read_features as read_features
from aggcal.io import read_judgments as read_judgments
from aggcal.io import read_scores as read_scores
from aggcal.metrics import compare as compare
from aggcal.simulation import simulate as simulate

__all__: list[str]  # noqa: PYI035  # made of what is above
