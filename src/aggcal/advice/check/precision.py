"""How certain the order is, and how many more judgments a more certain one takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache, partial
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.advice.check.foretold import Pairs, items_differ
from aggcal.aggregation.groups import members, n_components, pairs_within
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.registry import limits

if TYPE_CHECKING:
    from aggcal.advice.check.context import Fitted

RIGHT_ORDER = 0.9
"""Unless a standard error is wanted: the probability that a random pair is ordered correctly."""

_MOST = 1e6  # times the judgments: a higher number tells studies of what nobody collects


@dataclass(frozen=True)
class Precision:
    """How precise the study is, and how many judgments the wanted precision takes in total.

    ``right_order`` is the probability that two random items are in the order that unlimited
    judgments by such annotators would give; ``standard_error`` the root mean square standard error
    of the scores, on the consensus scale. ``needed`` is None where no realistic number of judgments
    is enough. Where there are several connected ``components``, both are about items of the same
    one, and ``not_compared`` is the share of all pairs that no comparisons link, or too few (see
    ``divided``).

    Examples
    --------
    >>> print(Precision(300, 0.824, 0.31, None, 812))
    A random pair of items is ordered correctly with probability 82% (target 90%: about 510 more
    judgments). The typical standard error of a consensus score is 0.31. "Correct" means according
    to these annotators' consensus, not the truth.
    """

    judgments: int
    right_order: float
    standard_error: float
    wanted_error: float | None
    needed: int | None
    components: int = 1
    not_compared: float = 0.0
    divided: str = "connected components"
    items_differ: bool = True
    """Whether the answers show that the items differ at all; if not, nothing can be foretold."""

    @property
    def more(self) -> int | None:
        """How many more judgments are needed."""
        return None if self.needed is None else max(0, self.needed - self.judgments)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self) | {"more": self.more, "says": str(self)}

    def __str__(self) -> str:
        apart, pair = "", "A random pair of items"
        if self.components > 1:
            what = "Too few comparisons link" if "weak" in self.divided else "No comparisons link"
            apart = (
                f"{what} {self.not_compared:.0%} of all pairs of items: they are in different ones "
                f"of {self.components:,} {self.divided}. "
            )
            pair = "A random pair within one of them"
        order, error = f" ({self._target(f'{RIGHT_ORDER:.0%}')})", ""
        right = self.right_order
        if right < RIGHT_ORDER:  # not rounded up to a target that is not reached
            right = min(right, RIGHT_ORDER - 0.01)
        if self.wanted_error is not None:
            order, error = "", f" ({self._target(f'{self.wanted_error:g}')})"
        return (
            f"{apart}{pair} is ordered correctly with probability {right:.0%}{order}. "
            f"The typical standard error of a consensus score is {self.standard_error:.2f}{error}. "
            '"Correct" means according to these annotators\' consensus, not the truth.'
        )

    def _target(self, wanted: str) -> str:
        """Say how far away the target is."""
        if not self.items_differ:
            return (
                f"target {wanted}: no estimate, because the answers do not show that items differ"
            )
        if self.more is None:
            return f"target {wanted}: out of reach, the items differ too little"
        if not self.more:
            return f"target {wanted}: reached"
        more = "judgment" if self.more == 1 else "judgments"
        return f"target {wanted}: about {_two_digits(self.more):,} more {more}"


def precision(fitted: Fitted, wanted_error: float | None = None) -> Precision | None:
    """Estimate how many judgments like these the wanted precision takes.

    ``right_order`` is the mean over pairs of the posterior probability that they are in the order
    of their scores. With f times as many judgments the information about a gap is f times as large:
    the gap is drawn from its posterior, and the order that the new judgments then give together
    with the old ones is right with probability Φ(.) in closed form. A standard error is foretold
    from the eigenvalues h of the information and the prior's precision λ: the mean variance of the
    scores is proportional to the mean of 1 / (f h + λ).

    Parameters
    ----------
    fitted
        The study and its fit.
    wanted_error
        The wanted standard error of a score; without it, `RIGHT_ORDER` is aimed at.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal.advice.check.context import Fitted
    >>> from aggcal.simulation import simulate
    >>> study = simulate(items=20, annotators=10, judgments=300, seed=1)
    >>> found = precision(Fitted.of(aggcal.read_judgments(study.judgments)))
    >>> 0.7 < found.right_order < 0.9 and found.needed > 300
    True
    """
    limits.check(precision=wanted_error)
    known = fitted.consensus.uncertainty
    if known is None:
        return None
    variance, components = _within_components(known), n_components(known.component)
    prior = fitted.consensus.prior
    pairs = Pairs.of(known, 0.0 if prior is None else prior.score_precision)
    differ, judgments = True, fitted.judgments.n_judgments
    if fitted.consensus.raters is not None:  # what there are more of is ratings
        judgments = fitted.consensus.n_judgments
    if wanted_error is not None:
        levels = cache(partial(_information_levels, fitted, components))

        def variance_with(times: float) -> float:
            def plain(factor: float) -> float:
                return float(np.mean(1.0 / (factor * levels() + fitted.precision)))

            return variance if times == 1.0 else variance * plain(times) / plain(1.0)

        needed = _least(lambda f: variance_with(f) <= wanted_error**2, judgments)
    else:
        differ = pairs.right_order(1.0) >= RIGHT_ORDER or items_differ(fitted)
        needed = (
            _least(lambda f: pairs.right_order(f) >= RIGHT_ORDER, judgments) if differ else None
        )
    n = len(known.scores)
    return Precision(
        judgments,
        pairs.right_order(1.0),
        sqrt(variance),
        wanted_error,
        needed,
        components,
        1.0 - pairs_within(known.component, n) / max(1, n * (n - 1) // 2),
        known.divided,
        items_differ=differ,
    )


def _within_components(known: Uncertainty) -> float:
    """Return the mean variance of a score within its component; each counts by its pairs.

    Where the covariance is no matrix, variances are about the mean of all items, which is never too
    small.
    """
    variances, pairs = [], []
    whole = known.component is None or known.covariance.dense() is None
    for own in members(known.component, len(known.scores)):
        about = known.covariance.variances[own] if whole else known.covariance.of(own).variances
        variances.append(float(np.mean(about)))
        pairs.append(max(1, len(own) * (len(own) - 1) // 2))
    return float(np.average(variances, weights=pairs))


def _information_levels(fitted: Fitted, components: int) -> FloatArray:
    """Return the eigenvalues of the information, but not those of the components' locations.

    For many items its diagonal instead, whose mean inverse is near theirs.
    """
    others = fitted.others
    if others.information is None:
        return others.item_information
    levels: FloatArray = np.maximum(np.linalg.eigvalsh(others.information)[components:], 0.0)
    return levels


def _least(enough: Callable[[float], bool], judgments: int) -> int | None:
    """Return the least number of judgments that is enough, from as many as there are on.

    Examples
    --------
    >>> _least(lambda factor: factor >= 1.5, 1000), _least(lambda factor: factor > 0.5, 1000)
    (1500, 1000)
    """
    if enough(1.0):
        return judgments
    high = 2.0
    while not enough(high):
        high *= 2.0
        if high > _MOST:
            return None
    low = high / 2.0
    for _ in range(40):
        if ceil(low * judgments) == ceil(high * judgments):
            break
        middle = 0.5 * (low + high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return ceil(high * judgments)


def _two_digits(number: int) -> int:
    digits = -(len(str(number)) - 2)
    return int(round(number, digits)) if digits < 0 else number
