"""The Thurstone family with every annotator alike: BTL and TCV."""

from __future__ import annotations

from dataclasses import dataclass, field

from aggcal import registry
from aggcal.aggregation.terms import DEFAULT, Terms
from aggcal.aggregation.thurstone import ThurstoneAggregator
from aggcal.errors import OptionError
from aggcal.registry.literals import LinkName


@dataclass(frozen=True)
class BTL(ThurstoneAggregator):
    """Bradley–Terry–Luce: the logistic link, all annotators equally reliable.

    Parameters
    ----------
    prior, tolerance, seed
        As for `HRA`.
    terms
        What a judgment may depend on beside the items (see `Terms`): one readiness to tie and one
        preference for the left side for everyone. Unless asked for, a tie counts as half a win for
        each side, sides do not matter, and contexts are in the standard errors only.

    Examples
    --------
    With one pair, two wins to one and no prior, the odds are the wins:

    >>> import aggcal, math
    >>> rows = [("ann", "a", "b"), ("bob", "a", "b"), ("eve", "b", "a")]
    >>> scores = BTL(prior=None).fit(aggcal.read_judgments(rows)).scores
    >>> round(math.exp(scores[0] - scores[1]), 6)
    2.0
    """

    link: LinkName = field(default=registry.LOGISTIC.name, init=False, repr=False)
    name: str = field(default=registry.BTL.name, init=False, repr=False)
    terms: Terms = DEFAULT

    def __post_init__(self) -> None:
        if self.terms.bridge != "off":
            raise OptionError(
                f"{self.name} takes all annotators to be alike, so there is no axis along which "
                f"they differ and there are no camps; choose {registry.HRA_G.name}, or leave "
                "--bridge out."
            )


@dataclass(frozen=True)
class TCV(ThurstoneAggregator):
    """Thurstone's case V: the normal link, all annotators equally reliable.

    Examples
    --------
    >>> import aggcal
    >>> TCV().fit(aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "a")])).scores
    array([0., 0.])
    """

    link: LinkName = field(default=registry.NORMAL.name, init=False, repr=False)
    name: str = field(default=registry.TCV.name, init=False, repr=False)
