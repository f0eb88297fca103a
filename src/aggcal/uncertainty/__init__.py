"""How far the consensus can be trusted: covariances, intervals, order probabilities."""

from aggcal.uncertainty.certified import Certified
from aggcal.uncertainty.covariance import Covariance
from aggcal.uncertainty.summary import KINDS, Uncertainty

__all__ = ["KINDS", "Certified", "Covariance", "Uncertainty"]
