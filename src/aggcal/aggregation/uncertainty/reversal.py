"""Who answers against the consensus beyond doubt, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence

from aggcal._core.arrays import TextArray
from aggcal.aggregation.uncertainty.summary import Uncertainty
from aggcal.errors import AggcalWarning, ReversedWarning, count, some


def reversed_annotators(ids: TextArray, known: Uncertainty | None, border: float) -> list[str]:
    """Return those whose whole interval is below the reliability of random answers."""
    high = None if known is None else known.reliability_high
    return [] if high is None else [str(one) for one in ids[high < border]]


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
            "Ask whether they understood the question.",
            title=title,
            annotators=turned,
        ),
    )
