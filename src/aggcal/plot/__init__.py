"""Figures of every result as matplotlib axes, to go on working with (extra ``plot``).

Each function draws into ``ax``, or into a new figure, and returns the axes. matplotlib is imported
when the first figure is drawn.
"""

from aggcal.plot.compared import methods
from aggcal.plot.pairs import comparisons, order_probabilities
from aggcal.plot.ranked import consensus, reliabilities
from aggcal.plot.scores import calibration, distributions

__all__ = [
    "calibration",
    "comparisons",
    "consensus",
    "distributions",
    "methods",
    "order_probabilities",
    "reliabilities",
]
