"""What may be claimed of the consensus: its order, its ranks, what weighting is worth."""

from __future__ import annotations

import numpy as np

from aggcal.advice.guarantees.statement import ANNOTATORS, MODEL, independent
from aggcal.advice.independence import Independence
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.aggregation.uncertainty.components import n_components, pairs_within
from aggcal.calibration.claims import Condition, Guarantee
from aggcal.errors import count
from aggcal.registry import LAPLACE


class OrderClaims:
    """What is claimed of the order, and withdrawn where a condition is known to fail."""

    def __init__(
        self, consensus: Consensus, known: Uncertainty, independence: Independence
    ) -> None:
        self._known, self._n = known, len(known.scores)
        self._posterior = known.kind == LAPLACE.name
        self._pieces = n_components(known.component)
        self._within = pairs_within(known.component, self._n)
        conditions = [MODEL if self._posterior else ANNOTATORS, independent(independence)]
        record = consensus.convergence
        if record is not None:
            conditions.append(Condition("the fit converged", record.converged))
        self._conditions = tuple(conditions)
        failing = [c.note or f"it is not so that {c.needs}" for c in conditions if c.holds is False]
        self._withdrawn = "; ".join(failing)

    def _probability(self, value: float, more: str = "") -> str:
        if self._posterior:
            return f"posterior probability {value:g}{more}, under the model and its priors"
        return f"approximate confidence {value:g}{more}"

    def _claim(
        self, name: str, title: str, says: str, values: dict[str, float | int | None]
    ) -> Guarantee:
        kind = "posterior" if self._posterior else "estimate"
        return Guarantee(name, title, says, "consensus", kind, values, self._conditions)

    def whole_order(self) -> Guarantee:
        """Return what is claimed of the ranking as a whole."""
        wrong: float | None = self._known.wrong_order_bound()
        n = self._n
        if self._withdrawn:
            says, wrong = f"Not claimed: {self._withdrawn}.", None
        elif self._pieces > 1:
            wrong = None
            says = (
                f"Not claimed: the comparisons fall into {self._pieces:,} {self._known.divided}, "
                "and too little orders items of different ones. Their ranks beside each other are "
                "a convention."
            )
        elif wrong is not None and wrong < 1.0:
            says = (
                f"The whole ranking of {count(n, 'item')} is the annotators' consensus order with "
                f"{self._probability(round(1.0 - wrong, 2), ' at least')}."
            )
        else:
            says = (
                f"Nothing can be claimed for the ranking of all {n:,} items at once: too many "
                "neighbours are too close. Use the rank intervals and the certified pairs."
            )
        values: dict[str, float | int | None] = {"delta_1": wrong, "neighbouring_pairs": n - 1}
        return self._claim("whole_order", "The whole ranking", says, values)

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
            return self._claim("certified_pairs", "Certified pairs", says, values)
        pairs = found.count
        share = pairs / max(found.n_pairs, 1)
        values |= {"certified": pairs, "share": share}
        says = (
            f"The order of {pairs:,} of {count(found.n_pairs, 'pair')} of items ({share:.1%}) "
            f"is certified: with {self._probability(found.level)}, all of them are right at once."
        )
        covers = "the consensus of these annotators" if self._posterior else self._known.covers
        says += f' "Right" is according to {covers}, not to the truth.'
        if not pairs:
            says = (
                "The order of no pair of items can be certified yet at "
                f"{self._probability(found.level)}."
            )
        if across:
            verb = "is" if across == 1 else "are"
            says += (
                f" {count(across, 'pair')} across the {self._pieces:,} {self._known.divided} "
                f"{verb} not counted: nothing compares their items, or too little."
            )
        return self._claim("certified_pairs", "Certified pairs", says, values)

    def ranks(self) -> Guarantee:
        """Return what is claimed of each rank interval."""
        level = self._known.level
        says = (
            f"Each interval holds the item's rank in the consensus order with "
            f"{self._probability(level)}; one item at a time, not all at once."
        )
        if self._pieces > 1:
            says += (
                f" Ranks across {self._known.divided} are a convention: the interval of an item "
                "leaves open where it is among the items of others."
            )
        if self._withdrawn:
            says = f"Not claimed, the intervals are too narrow: {self._withdrawn}."
        values: dict[str, float | int | None] = {"level": None if self._withdrawn else level}
        return self._claim("rank_intervals", "Rank intervals", says, values)


def efficiency_claim(consensus: Consensus, values: dict[str, float]) -> Guarantee:
    """Return what telling annotators apart is worth."""
    typical = float(np.median(consensus.judgments_per_annotator))
    factor = values["first_order_factor"]
    says = (
        f"Annotators differ in reliability (by {values['cv']:.0%} of its average, beyond what "
        "chance explains), and the more reliable count for more. If all items were close and "
        "everybody had judged the same pairs, counting all alike would take "
        f"{factor:.2f} times as many judgments to be as precise."
    )
    if "median_ratio" in values:
        says += f" For these judgments the estimate is {values['median_ratio']:.2f} times as many."
    says += (
        " It helps where reliabilities differ and each annotator gave enough judgments (here half "
        f"gave {typical:,.0f} or more); it is never guaranteed to."
    )
    return Guarantee(
        "efficiency",
        "What weighting the annotators is worth",
        says,
        "consensus",
        "diagnostic",
        {**values, "median_judgments_per_annotator": typical},
    )
