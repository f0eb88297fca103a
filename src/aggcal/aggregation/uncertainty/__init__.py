"""How far the consensus can be trusted: covariances, intervals, order probabilities, claims.

`laplace` and `marginal` make a covariance (`covariance`, and `matrix_free` of many scores), and
`robust` widens it where answers depend on each other; `dependence` says so. `summary` turns it into
intervals, `ranks` and `top` into probabilities, half of them under a prior of estimated shape
(`npmle`). `claims` says what holds of the order at any true scores, within connected components
only (`components`), and `reversal` who answers the other way round; `shares` and `t_distribution`
help.
"""

from aggcal.aggregation.uncertainty.claims import Claims
from aggcal.aggregation.uncertainty.covariance import Covariance
from aggcal.aggregation.uncertainty.summary import Uncertainty

__all__ = ["Claims", "Covariance", "Uncertainty"]
