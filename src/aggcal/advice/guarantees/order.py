"""What may be claimed of the consensus: its order, its ranks, what weighting is worth."""

from __future__ import annotations

from math import floor

from aggcal._core.unmasked import median
from aggcal.advice.guarantees.statement import ANNOTATORS, CONTEXTS, MODEL, independent
from aggcal.advice.independence import Independence
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.aggregation.uncertainty.components import n_components, pairs_within
from aggcal.calibration.claims import Condition, Guarantee
from aggcal.errors import count
from aggcal.registry import LAPLACE

_TOO_WRONG = 0.99
"""Above it nothing is claimed of the whole order: it would be right with probability 0.00."""


class OrderClaims:
    """What is claimed of the order, and withdrawn where a condition is known to fail."""

    def __init__(
        self, consensus: Consensus, known: Uncertainty, independence: Independence
    ) -> None:
        self._known, self._n = known, len(known.scores)
        self._posterior = known.kind == LAPLACE.name
        self._pieces = n_components(known.component)
        self._within = pairs_within(known.component, self._n)
        sampled = CONTEXTS if independence.contexts == "clustered" else ANNOTATORS
        conditions = [MODEL if self._posterior else sampled, independent(independence)]
        record = consensus.convergence
        if record is not None:
            note = "" if record.converged else "the fit did not converge"
            conditions.append(Condition("the fit converged", record.converged, note))
        self._conditions = tuple(conditions)
        failing = [
            c.note or f"this condition fails: {c.needs}" for c in conditions if c.holds is False
        ]
        self._withdrawn = "; ".join(failing)

    def _probability(self, value: float, more: str = "") -> str:
        if self._posterior:
            return f"{more}posterior probability {value:g}, under the model and its priors"
        return f"{more}approximate confidence {value:g}"

    def _short(self, value: float, more: str = "") -> str:
        kind = "probability" if self._posterior else "approximate confidence"
        return f"{more}{kind} {value:.4g}"

    def _claim(
        self, name: str, title: str, says: str, values: dict[str, float | int | None], claim: str
    ) -> Guarantee:
        kind = "posterior" if self._posterior else "estimate"
        about = self._conditions
        return Guarantee(name, title, says, "consensus", kind, values, about, claim)

    def whole_order(self) -> Guarantee:
        """Return what is claimed of the ranking as a whole."""
        wrong: float | None = self._known.wrong_order_bound()
        n = self._n
        claim = "Nothing is claimed for the ranking as a whole."
        if self._withdrawn:
            says, wrong = f"Not claimed: {self._withdrawn}.", None
        elif self._pieces > 1:
            wrong = None
            says = (
                f"Not claimed: the comparisons form {self._pieces:,} {self._known.divided}, with "
                "too few comparisons between them, or none. Ranks across them are arbitrary."
            )
        elif wrong is not None and wrong <= _TOO_WRONG:
            # "At least": never rounded up, and a posterior is never certain.
            right = min(floor(100.0 * (1.0 - wrong)) / 100.0, 0.99)
            ranking = f"The whole ranking of {count(n, 'item')}"
            correct = f"{ranking} is the annotators' consensus order with"
            says = f"{correct} {self._probability(right, 'at least ')}."
            claim = f"{correct} {self._short(right, 'at least ')}."
        else:
            says = (
                f"Nothing can be claimed for the ranking of all {n:,} items at once: too many "
                "neighbours are too close. Use the rank intervals and the certified pairs."
            )
        values: dict[str, float | int | None] = {"delta_1": wrong, "neighbouring_pairs": n - 1}
        return self._claim("whole_order", "The whole ranking", says, values, claim)

    def certified(self) -> Guarantee:
        """Return what is claimed of all certified pairs at once."""
        found = self._known.certified()
        across = self._n * (self._n - 1) // 2 - self._within
        values: dict[str, float | int | None] = {
            "certified": None,
            "pairs": found.n_pairs,
            "share": None,
            "level": found.level,
            "standard_errors": found.critical_value,
            "components": self._pieces,
            "pairs_across_components": across,
        }
        if self._withdrawn:
            says = f"No pair of items is certified: {self._withdrawn}."
            claim = "No pair of items is certified."
            return self._claim("certified_pairs", "Certified pairs", says, values, claim)
        pairs = found.count
        share = pairs / max(found.n_pairs, 1)
        values |= {"certified": pairs, "share": share}
        of = f"{pairs:,} of {count(found.n_pairs, 'pair')} of items"
        says = (
            f"The order of {of} ({share:.1%}) is certified: with "
            f"{self._probability(found.level)}, all of them are correct at once."
        )
        claim = f"{of} are certified: all are in the correct order with {self._short(found.level)}."
        covers = "these annotators' consensus" if self._posterior else self._known.covers
        says += f' "Correct" means according to {covers}, not the truth.'
        if not pairs:
            says = f"No pair of items can be certified yet at {self._probability(found.level)}."
            claim = f"No pair of items can be certified yet at {self._short(found.level)}."
        elif pairs == 1:
            claim = f"1 {of[2:]} is in the correct order with {self._short(found.level)}."
        if across:
            verb = "is" if across == 1 else "are"
            says += (
                f" {count(across, 'pair')} across the {self._pieces:,} {self._known.divided} "
                f"{verb} not counted: too few comparisons link their items, or none."
            )
        return self._claim("certified_pairs", "Certified pairs", says, values, claim)

    def ranks(self) -> Guarantee:
        """Return what is claimed of each rank interval."""
        level = self._known.level
        contains = "Each interval contains the item's rank in the consensus order with"
        says = (
            f"{contains} {self._probability(level)}: for each item by itself, not for all at once."
        )
        claim = f"{contains} {self._short(level)}, for each item by itself."
        if self._pieces > 1:
            says += (
                f" Ranks across {self._known.divided} are arbitrary: the interval of an item "
                "allows every position among the items of the others."
            )
        if self._withdrawn:
            says = f"Not claimed, because the intervals may be too narrow: {self._withdrawn}."
            claim = "No probability is claimed for the rank intervals."
        values: dict[str, float | int | None] = {"level": None if self._withdrawn else level}
        return self._claim("rank_intervals", "Rank intervals", says, values, claim)


def efficiency_claim(consensus: Consensus, values: dict[str, float]) -> Guarantee:
    """Return what telling annotators apart is worth."""
    typical = median(consensus.judgments_per_annotator)
    factor = values["first_order_factor"]
    says = (
        f"Annotators differ in reliability (coefficient of variation {values['cv']:.0%}, chance "
        "removed), and more reliable ones get more weight. If all items were close and everybody "
        "had judged the same pairs, equal weights would need "
        f"{factor:.2f} times as many judgments for the same precision."
    )
    ratio = values.get("median_ratio", factor)
    if "median_ratio" in values:
        says += f" For these judgments the estimate is {ratio:.2f} times as many."
    says += (
        " Weighting helps where reliabilities differ and each annotator gave enough judgments "
        f"(here half gave {typical:,.0f} or more); it is not guaranteed to help."
    )
    claim = (
        f"Without weighting annotators by reliability, about {ratio:.2f} times as many judgments "
        "would be needed for the same precision."
    )
    return Guarantee(
        "efficiency",
        "Gain from weighting annotators",
        says,
        "consensus",
        "diagnostic",
        {**values, "median_judgments_per_annotator": typical},
        claim=claim,
    )
