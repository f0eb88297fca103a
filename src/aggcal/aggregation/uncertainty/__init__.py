"""How far the consensus can be trusted: covariances, intervals, order probabilities.

`laplace`, `marginal` and `sandwich` make a covariance (`covariance`, and `matrix_free` of many
scores, with `gap_bounds`); `summary` turns it into intervals and probabilities, `ranks` and
`certified` into statements about the order, within connected components only (`components`).
`shape` estimates how the scores are distributed, `efficiency` what telling annotators apart is
worth, and `reversal` says who answers the other way round; `shares`, `t_distribution` and
`draw_sums` help.
"""

from aggcal.aggregation.uncertainty.certified import Certified
from aggcal.aggregation.uncertainty.covariance import Covariance
from aggcal.aggregation.uncertainty.summary import Uncertainty

__all__ = ["Certified", "Covariance", "Uncertainty"]
