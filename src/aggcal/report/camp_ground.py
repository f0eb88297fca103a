"""The common ground of camps: who is in which, what each puts higher, and what lies between."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, ranks
from aggcal._core.text import in_words
from aggcal.errors import count
from aggcal.pages.numbers import cut
from aggcal.report.ground import NAMED, SHORT, Ground
from aggcal.report.terms import terms_of

_NAMED_MEMBERS = 12
"""Annotators of a camp that are named: ``annotators.csv`` has all."""
_SURE = 0.95
"""Probability from which an annotator is said to belong to a camp."""
NOT_LOOKED = "Camps of annotators were not looked for"
NO_CAMPS = "No camps stand out: annotators who were held out are predicted "
NO_SIGN = (
    "No camps stand out: one order explains the answers as well. The order of the results is the "
    "annotators' common ground."
)


class CampGround(Ground):
    """What is common to several camps, and what is not.

    Examples
    --------
    >>> CampGround({"terms": {"camps": {"stands_out": False, "kind": "one order"}}}, {}, {}).found
    False
    """

    who, where = "Camp", "in"

    @property
    def _camps(self) -> dict[str, Any]:
        return dict(terms_of(self.summary).get("camps") or {})

    @property
    def looked(self) -> bool:
        """Whether camps were looked for."""
        return bool(self._camps)

    @property
    def found(self) -> bool:
        """Whether there are some."""
        named = {f"camp_{name.lower()}" for name in self.letters}
        return bool(self._camps.get("stands_out")) and {"common_ground", *named} <= set(self.items)

    @property
    def letters(self) -> tuple[str, ...]:
        """What the camps are called."""
        return tuple(str(name) for name in self._camps.get("names") or ())

    @property
    def says(self) -> str:
        """Whether annotators form camps, and how that is known."""
        camps = self._camps
        if not self.found:
            if camps.get("not_looked"):
                return f"{NOT_LOOKED}: {camps['not_looked']}."
            if camps.get("kind") == "an axis":
                return (
                    f"{NO_CAMPS}as well by one axis along which people stand anywhere. Use "
                    "--bridge axis to see it."
                )
            return NO_SIGN
        gain = camps["held_out_gain"][camps["kind"]]
        over = camps["held_out_gain_over_axis"]
        return (
            f"Annotators form {in_words(len(self.letters))} camps with orders of their own. That "
            "predicts the answers of annotators who were held out better than one order does "
            f"(log-likelihood {gain['value']:+.0f}, standard error {gain['se']:.0f}), and better "
            "than an axis along which people stand anywhere "
            f"({over['value']:+.0f}, standard error {over['se']:.0f})."
        )

    @property
    def short(self) -> str:
        """What the first screen says."""
        return f"on the common ground, {cut(self.leader, SHORT)} leads"

    @property
    def order_said(self) -> str:
        """Whose order the results are."""
        return (
            f"Annotators form {in_words(len(self.letters))} camps; this is the order of all "
            "together, which larger camps decide. The common ground is fair to each."
        )

    @property
    def fair(self) -> str:
        """How the common ground is taken."""
        return (
            "The order below is midway between the camps, however many annotators each has. The "
            "camps are called by letters, the largest A; none is better."
        )

    @property
    def note(self) -> str:
        """What the scores are not."""
        return (
            "camps.csv has the scores of each camp with their intervals, annotators.csv the "
            "probability that an annotator belongs to each. Scores on the common ground have no "
            "unit; they are what people of all camps could accept, not the truth."
        )

    @property
    def follows(self) -> str:
        """Which fit the other results come from."""
        return (
            "All other results (consensus and calibrated scores, decisions, predicted scores, "
            "probabilities of an order) are of the order of all annotators together; only "
            "predicted judgments are by the camp of the annotator."
        )

    @cached_property
    def _scores(self) -> FloatArray:
        return np.stack(
            [self._column(f"camp_{name.lower()}")[self._known] for name in self.letters]
        )

    @cached_property
    def _ends(self) -> tuple[IntArray, ...]:
        return tuple(ranks(row) for row in self._scores)

    @property
    def ends(self) -> list[tuple[str, list[str]]]:
        """Which items each camp puts higher than the others do: the clearest first."""
        clear = self._column("camps_apart_se")[self._known]
        found = []
        for k, name in enumerate(self.letters):
            others = np.delete(self._scores, k, axis=0).mean(axis=0)
            ahead = (self._scores[k] - others) / np.maximum(clear, 1e-12)
            order = np.argsort(-ahead, kind="stable")[:NAMED]
            items = [str(self.items["item"][self._known[j]]) for j in order if ahead[j] > 0]
            found.append((name, items))
        return found

    def members(self, name: str) -> tuple[str, list[str], str]:
        """Return how many belong to a camp, some of their names, and who is missing or unsure."""
        if "camp" not in self.annotators or f"p_camp_{name.lower()}" not in self.annotators:
            return "", [], ""
        chance = np.asarray(self.annotators[f"p_camp_{name.lower()}"], dtype=np.float64)
        own = np.flatnonzero(np.asarray(self.annotators["camp"], dtype=object) == name)
        own = own[np.argsort(-chance[own], kind="stable")]
        unsure = int((chance[own] < _SURE).sum())
        names = [str(self.annotators["annotator"][k]) for k in own[:_NAMED_MEMBERS]]
        more = f" and {len(own) - _NAMED_MEMBERS:,} more" if len(own) > _NAMED_MEMBERS else ""
        rest = f"{more}. {unsure:,} of them could belong elsewhere." if unsure else f"{more}."
        return count(len(own), "annotator"), names, rest

    @property
    def figure(self) -> str:
        """Nothing: camps are counted in words."""
        return ""
