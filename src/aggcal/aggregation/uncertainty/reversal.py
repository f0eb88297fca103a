"""Who answers against the consensus beyond doubt, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scipy.special import ndtri

from aggcal._core.arrays import TextArray
from aggcal.aggregation.uncertainty.summary import Uncertainty
from aggcal.errors import AggcalWarning, DividedWarning, ReversedWarning, count, some

FEWEST_TO_JUDGE_BY = 3
"""Annotators: of two who contradict each other, either may be the reversed one."""
_LEAST_LEVEL = 0.95
"""Level of the interval that somebody is named by: in 1,160 studies of 12 to 300 honest people and
close items somebody was named in 4; by intervals of level .5, in 7 of 385."""


def not_to_tell(annotators: int, warnings: Iterable[AggcalWarning] = ()) -> str:
    """Say why nobody can be called reversed, where that is so: there is no majority.

    Parameters
    ----------
    annotators
        How many there are.
    warnings
        What the fit warned of.

    Examples
    --------
    >>> not_to_tell(2)
    'of two annotators who contradict each other, either may be the reversed one'
    >>> not_to_tell(3)
    ''
    """
    if annotators < FEWEST_TO_JUDGE_BY:
        return "of two annotators who contradict each other, either may be the reversed one"
    if any(isinstance(each, DividedWarning) for each in warnings):
        return "opposing groups leave no single consensus to compare with"
    return ""


def reversed_annotators(ids: TextArray, known: Uncertainty | None, border: float) -> list[str]:
    """Return those whose whole interval is below the reliability of random answers.

    Intervals of a lower level are taken as wide as those of 95%: who is named does not depend on
    the level that somebody wants to see.
    """
    if known is None or known.reliability_low is None or known.reliability_high is None:
        return []
    wider = max(1.0, float(ndtri(0.5 + 0.5 * _LEAST_LEVEL) / ndtri(0.5 + 0.5 * known.level)))
    middle = 0.5 * (known.reliability_low + known.reliability_high)
    highest = middle + wider * (known.reliability_high - middle)
    return [str(one) for one in ids[highest < border]]


def reversed_warnings(
    turned: Sequence[str], annotators: int, border: float
) -> tuple[AggcalWarning, ...]:
    """Name the annotators who answer against the consensus, if there are any.

    Examples
    --------
    >>> print(reversed_warnings(["eve"], 12, 0.0)[0].what)
    1 annotator of 12 answers against the consensus ('eve'): the whole interval of the
    reliability is below 0, which is random. The fit inverts such answers.
    """
    if not turned:
        return ()
    verb = "answers" if len(turned) == 1 else "answer"
    title = f"{count(len(turned), 'annotator')} of {annotators:,} {verb} against the consensus"
    return (
        ReversedWarning(
            f"{title} ({some(turned)}): the whole interval of the reliability is below "
            f"{border:g}, which is random. The fit inverts such answers.",
            "Check the data: they may have read the question the other way round, or belong to a "
            "group with an order of its own.",
            title=title,
            why=f"The whole interval of the reliability is below {border:g}, which is random "
            f"({some(turned)}). The fit inverts such answers.",
            annotators=turned,
        ),
    )
