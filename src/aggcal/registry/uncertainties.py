"""The kinds of uncertainty of a consensus: what they cover, and how they are computed."""

from __future__ import annotations

from aggcal._core.records import dataclass
from aggcal.registry.literals import UncertaintyName


@dataclass(frozen=True)
class UncertaintyInfo:
    """A kind of uncertainty of the consensus."""

    name: UncertaintyName
    covers: str
    """What its intervals are intervals of."""
    means: str
    """How it was computed, for the report."""


_FROM_SCATTER = (
    "how the intervals were computed: from the actual scatter of the judgments around the fit."
)

LAPLACE = UncertaintyInfo(
    "laplace",
    "the consensus of these annotators: what they would agree on with unlimited judgments, if they "
    "answer as the method assumes",
    "how the intervals were computed: from the curvature of the posterior at its maximum. The more "
    "curved, the narrower.",
)
SANDWICH = UncertaintyInfo(
    "sandwich",
    "the consensus that this method would reach with unlimited annotators of the same kind, "
    "whether or not they are equally reliable",
    _FROM_SCATTER,
)
SANDWICH_RANDOM = UncertaintyInfo(
    "sandwich-random",
    "the value that this method would reach with unlimited judgments, each by a random annotator "
    "of a random pair",
    _FROM_SCATTER,
)
SANDWICH_FIXED = UncertaintyInfo(
    "sandwich-fixed",
    "the value that this method would reach with unlimited judgments of the same pairs by the same "
    "annotators",
    _FROM_SCATTER,
)
BOOTSTRAP = UncertaintyInfo(
    "bootstrap",
    "the consensus that this fit would reach with unlimited annotators of the same kind, or with "
    "unlimited contexts where the judgments have contexts",
    "how the intervals were computed: by refitting many times, each time to annotators (contexts, "
    "where there are some) resampled from these.",
)
SANDWICH_CONTEXT = UncertaintyInfo(
    "sandwich-context",
    "the consensus that this fit would reach with unlimited contexts of the same kind",
    "how the intervals were computed: from how much the answers vary from context to context.",
)
JACKKNIFE = UncertaintyInfo(
    "jackknife",
    "the consensus that this fit would reach with unlimited contexts of the same kind",
    "how the intervals were computed: by refitting without each context in turn.",
)
UNCERTAINTIES: dict[str, UncertaintyInfo] = {
    info.name: info
    for info in (
        LAPLACE,
        SANDWICH,
        SANDWICH_RANDOM,
        SANDWICH_FIXED,
        BOOTSTRAP,
        JACKKNIFE,
        SANDWICH_CONTEXT,
    )
}
"""The kinds of uncertainty by name. None covers the truth."""
