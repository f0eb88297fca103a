"""The kinds of uncertainty of a consensus: what they cover, and how they are computed."""

from __future__ import annotations

from dataclasses import dataclass

from aggcal.registry.literals import UncertaintyName


@dataclass(frozen=True)
class UncertaintyInfo:
    """A kind of uncertainty of the consensus."""

    name: UncertaintyName
    covers: str
    """What its intervals are intervals of."""
    means: str
    """How it was computed, for the report."""


ROBUST = UncertaintyInfo(
    "robust",
    "the consensus of these annotators: what they would agree on with unlimited judgments",
    "how the intervals were computed: from the curvature of the posterior at its maximum, widened "
    "by how much more than chance answers of an annotator, to a question, in a context or in an "
    "act agree, and by what weights above 1 add.",
)
LAPLACE = UncertaintyInfo(
    "laplace",
    "the consensus of these annotators: what they would agree on with unlimited judgments, if they "
    "answer independently, as the method assumes",
    "how the intervals were computed: from the curvature of the posterior at its maximum. The more "
    "curved, the narrower.",
)
BOOTSTRAP = UncertaintyInfo(
    "bootstrap",
    "the consensus that this fit would reach with unlimited annotators of the same kind, or with "
    "unlimited contexts where the judgments have contexts",
    "how the intervals were computed: by refitting many times, each time to annotators (contexts, "
    "where there are some) resampled from these.",
)
UNCERTAINTIES: dict[str, UncertaintyInfo] = {
    info.name: info for info in (ROBUST, LAPLACE, BOOTSTRAP)
}
"""The kinds of uncertainty by name. None covers the truth."""
