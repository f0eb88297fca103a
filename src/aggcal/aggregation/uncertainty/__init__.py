"""How far the consensus can be trusted: covariances, intervals, order probabilities."""

from aggcal.aggregation.uncertainty.certified import Certified
from aggcal.aggregation.uncertainty.covariance import Covariance
from aggcal.aggregation.uncertainty.summary import Uncertainty

__all__ = ["Certified", "Covariance", "Uncertainty"]
