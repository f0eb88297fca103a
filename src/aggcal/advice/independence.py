"""Whether answers are independent given the model: what every claim of Stage 1 assumes.

A check can find evidence against it, but never proves it. Where there is such evidence,
probabilities that assume independence are not claimed.
"""

from __future__ import annotations

from collections.abc import Iterable

from aggcal._core.records import dataclass
from aggcal.errors import PairedByLevelWarning

PAIRED = PairedByLevelWarning.code
SIGNS = {
    "copies": "some annotators' answers match far more often than independent ones would",
    "divided": "groups of annotators prefer different orders",
    "different-tastes": "annotators' tastes differ",
    "pair-effects": "answers to the same pair agree more than the scores explain",
    "repeated-answers": "annotators repeat their own answers more than the scores explain",
    "circular": "more triples of items are cycles than chance explains",
    PAIRED: "pairs may have been chosen by a level that was known beforehand",
}
"""Codes of the findings that contradict independent answers, or pairs that were chosen without
knowledge of the scores, and what they say."""

_LOOKED_FOR = ("copied answers", "opposing groups", "independent answers")
"""How those entries of a check's ``not_checked`` begin that concern independence."""


@dataclass(frozen=True)
class Independence:
    """What is known about it.

    ``checked`` says whether the data were checked; ``signs`` what was found against it;
    ``not_looked_for`` what was left out.

    Examples
    --------
    >>> Independence().note, Independence().holds
    ('not checked', None)
    >>> found = Independence.of(["copies", "few-judgments"])
    >>> found.holds, found.note
    (False, "some annotators' answers match far more often than independent ones would")
    >>> Independence.of([]).note
    'the data check found nothing against it'
    """

    checked: bool = False
    signs: tuple[str, ...] = ()
    not_looked_for: tuple[str, ...] = ()
    contexts: str = ""
    """``fitted`` where what items do in each context is part of the fit, ``clustered`` where only
    the standard errors allow for contexts: what need not be independent."""

    @classmethod
    def of(cls, codes: Iterable[str], not_checked: Iterable[str] = ()) -> Independence:
        """Take what a check found.

        Parameters
        ----------
        codes
            Codes of the findings.
        not_checked
            What the check left out.
        """
        found = set(codes)
        left_out = tuple(each for each in not_checked if each.startswith(_LOOKED_FOR))
        signs = tuple(SIGNS[code] for code in SIGNS if code in found)
        return cls(checked=True, signs=signs, not_looked_for=left_out)

    @property
    def holds(self) -> bool | None:
        """False where there is a sign against it; else None, for it cannot be proved."""
        return False if self.signs else None

    @property
    def note(self) -> str:
        """What is known, in words."""
        if self.signs:
            return "; ".join(self.signs)
        if not self.checked:
            return "not checked"
        if self.not_looked_for:
            return f"partly checked; not checked: {'; '.join(self.not_looked_for)}"
        return "the data check found nothing against it"
