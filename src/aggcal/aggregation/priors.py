"""Priors on scores and reliabilities: what makes the optimum exist and be unique in scale."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt

from aggcal.aggregation.links import Link
from aggcal.errors import OptionError

_SMALLEST, _LARGEST = 1e-6, 1e6  # spreads outside lose the digits of a double


@dataclass(frozen=True)
class Prior:
    """s_i ~ N(0, score_sd²) and γ_u ~ N(1, reliability_sd²).

    The first fixes the location of the scores. At a joint mode the second fixes their scale, and, a
    normal prior and not a log-normal one, it lets the reliability of a reversed annotator be
    negative. Where reliabilities are integrated out, the scale constraint does the former
    (``empirical``), and a mixture of both signs the latter (``annotators``).

    Examples
    --------
    >>> Prior(score_sd=1.0, reliability_sd=0.5).reliability_precision
    4.0
    """

    score_sd: float
    reliability_sd: float

    def __post_init__(self) -> None:
        for name, value in (("scores", self.score_sd), ("reliabilities", self.reliability_sd)):
            if not _SMALLEST <= value <= _LARGEST:
                raise OptionError(
                    f"the prior sd of the {name} is {value}; give a number above 0 "
                    f"(from {_SMALLEST:g} to {_LARGEST:g})."
                )

    @property
    def score_precision(self) -> float:
        """1 / score_sd²."""
        return self.score_sd**-2

    @property
    def reliability_precision(self) -> float:
        """1 / reliability_sd²."""
        return self.reliability_sd**-2


DEFAULT_RELIABILITY_SD = 0.5  # about a mean of 1; where annotators say much, theirs is estimated


def default_prior(link: Link) -> Prior:
    """Return the default prior of a link.

    Scores have sd 1 on the logistic scale; on other links the sd that bears the same ratio to
    the spread of F, so that the same chances are likely beforehand.

    Examples
    --------
    >>> from aggcal.aggregation.links import link
    >>> default_prior(link("logistic"))
    Prior(score_sd=1.0, reliability_sd=0.5)
    >>> round(default_prior(link("normal")).score_sd, 4)
    0.5513
    """
    return Prior(round(link.sd * sqrt(3.0) / pi, 12), DEFAULT_RELIABILITY_SD)
