"""The common ground: one axis along which people differ, its two ends, and what lies between."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import ceil, floor
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, ranks
from aggcal._core.records import dataclass
from aggcal._core.tables import Columns
from aggcal.pages.numbers import cut, decimals_of, number_text, percent, span
from aggcal.report.axes import Frame, round_step
from aggcal.report.scale import Axis
from aggcal.report.terms import level_of, terms_of

MOST_ROWS, NAMED, NAME, SHORT = 200, 3, 120, 40
"""Items of the table, items that describe an end, and where names are cut, there and in a line."""
NOTHING = (
    "No axis of disagreement stands out: where annotators differ, it is within the noise of their "
    "answers. The order of the results is their common ground."
)
_FRAME = Frame(760.0, 220.0)


@dataclass(frozen=True, eq=False)
class Ground:
    """What is common to both ends of an axis, and what is not.

    Examples
    --------
    >>> Ground({"terms": {"axis": {"stands_out": False}}}, {}, {}).says == NOTHING
    True
    """

    summary: Mapping[str, Any]
    items: Columns
    annotators: Columns

    who, where = "End", "at"
    """What those are called who differ, and how one speaks of their ranks."""

    @property
    def letters(self) -> tuple[str, ...]:
        """What the ends are called."""
        return ("A", "B")

    @property
    def looked(self) -> bool:
        """Whether an axis was looked for."""
        return bool(terms_of(self.summary).get("axis"))

    @property
    def found(self) -> bool:
        """Whether one stands out."""
        known = terms_of(self.summary).get("axis") or {}
        return bool(known.get("stands_out")) and {"common_ground", "axis"} <= set(self.items)

    @property
    def says(self) -> str:
        """How strong the disagreement is, in two sentences."""
        if not self.found:
            return NOTHING
        share = percent(float(terms_of(self.summary)["axis"]["share"]))
        return (
            f"Annotators differ along one axis. It makes {share} of what items explain of the "
            "answers; the rest is what they have in common."
        )

    @property
    def short(self) -> str:
        """What the first screen says."""
        return f"on the common ground, {cut(self.leader, SHORT)} leads"

    @property
    def order_said(self) -> str:
        """Whose order the results are, where people differ."""
        return (
            "Annotators differ along one axis; this is the order of the average annotator. The "
            "common ground is fair to both ends, whichever has more annotators."
        )

    @property
    def fair(self) -> str:
        """How the common ground is taken."""
        return (
            "The order below is midway between the two ends, whichever end has more annotators. "
            "The ends are called A and B; neither is better, and the letters mean nothing."
        )

    @property
    def note(self) -> str:
        """What the scores are not."""
        return (
            "A tenth of the annotators are beyond each end. Scores on the common ground have no "
            "unit; they are what people of both ends could accept, not the truth."
        )

    @property
    def follows(self) -> str:
        """Which fit the other results come from."""
        return (
            "All other results (consensus and calibrated scores, decisions, predicted scores, "
            "probabilities of an order) are of the average annotator; only predicted judgments "
            "are by where the annotator stands."
        )

    def members(self, name: str) -> tuple[str, list[str], str]:  # noqa: ARG002  # an end has none
        """Return who belongs to an end: nobody, as all stand somewhere between."""
        return "", [], ""

    @property
    def leader(self) -> str:
        """The first item of the common ground."""
        return str(self.items["item"][self._known[0]]) if self.n else ""

    def _column(self, name: str) -> FloatArray:
        return np.asarray(self.items[name], dtype=np.float64)

    @cached_property
    def _known(self) -> IntArray:
        """The rows of the items that were judged, the highest common ground first."""
        ground = self._column("common_ground")
        known = np.flatnonzero(np.isfinite(ground))
        return known[np.argsort(-ground[known], kind="stable")]

    @cached_property
    def _ends(self) -> tuple[IntArray, ...]:
        """Ranks of these items as each end would have them."""
        low, high = (float(x) for x in terms_of(self.summary)["axis"]["ends"])
        half, known = 0.5 * (high - low), self._known
        ground, axis = self._column("common_ground")[known], self._column("axis")[known]
        return ranks(ground - half * axis), ranks(ground + half * axis)

    @cached_property
    def reach(self) -> float:
        """Standard errors on each side of an interval."""
        from aggcal._core.compiled_scipy import ndtri

        return float(ndtri(0.5 + 0.5 * level_of(self.summary)))

    @property
    def ends(self) -> list[tuple[str, list[str]]]:
        """Which items each end puts higher than the other does: the clearest first."""
        axis, se = self._column("axis")[self._known], self._column("axis_se")[self._known]
        clear = axis / np.maximum(se, 1e-12)
        found = []
        for end, sign in (("A", -1.0), ("B", 1.0)):
            order = np.argsort(-sign * clear, kind="stable")[:NAMED]
            names = [str(self.items["item"][self._known[k]]) for k in order if sign * clear[k] > 0]
            found.append((end, names))
        return found

    @cached_property
    def _interval(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        ground, se = self._column("common_ground"), self._column("common_ground_se")
        return ground, ground - self.reach * se, ground + self.reach * se

    @cached_property
    def axis(self) -> Axis:
        """The axis of the chart."""
        return Axis.of(*self._interval)

    @cached_property
    def digits(self) -> int | None:
        """Decimals of the scores."""
        return decimals_of(*self._interval)

    @property
    def divides(self) -> list[dict[str, str]]:
        """The items that the ends rank most differently."""
        far = np.max(self._ends, axis=0) - np.min(self._ends, axis=0)
        order = np.argsort(-far, kind="stable")[: 2 * NAMED]
        return [self._row(int(k)) for k in order if far[k] > 0]

    @property
    def rows(self) -> list[dict[str, str]]:
        """The first items by common ground."""
        return [self._row(k) for k in range(min(len(self._known), MOST_ROWS))]

    @cached_property
    def _place(self) -> IntArray:
        return ranks(self._column("common_ground")[self._known])

    def _row(self, k: int) -> dict[str, str]:
        at = int(self._known[k])
        score, low, high = (float(column[at]) for column in self._interval)
        name = str(self.items["item"][at])
        return {
            "item": name,
            "short": cut(name, NAME),
            "rank": f"{self._place[k]:,}",
            "score": number_text(score, self.digits),
            "interval": span(low, high, self.digits),
            "dot": self.axis.at(score, self.digits),
            "low": self.axis.at(low, self.digits),
            "high": self.axis.at(high, self.digits),
            **{
                letter.lower(): f"{places[k]:,}"
                for letter, places in zip(self.letters, self._ends, strict=True)
            },
        }

    @property
    def n(self) -> int:
        """How many items there are."""
        return len(self._known)

    @property
    def figure(self) -> str:
        """How many annotators stand where between the ends; nothing where it is not known."""
        stances = np.asarray(self.annotators.get("stance", ()), dtype=np.float64)
        stances = stances[np.isfinite(stances)]
        return (
            stance_figure(stances, float(terms_of(self.summary)["axis"]["middle"]))
            if len(stances)
            else ""
        )

    def to_dict(self) -> dict[str, Any] | None:
        """Return plain data; None where no axis was looked for."""
        if not self.looked:
            return None
        found: dict[str, Any] = {"says": self.says, "stands_out": self.found}
        if self.found:
            found |= {
                "ends": dict(self.ends),
                "order": [row["item"] for row in self.rows],
                "divides": self.divides,
            }
        return found


def stance_figure(stances: FloatArray, middle: float) -> str:
    """Draw how many annotators stand where on the axis; a line is where the common ground is taken.

    Examples
    --------
    >>> stance_figure(np.array([-1.0, 1.0, 1.1]), 0.0).count("<rect")
    2
    """
    low, high = float(stances.min()), float(stances.max())
    width = round_step(max(high - low, 1e-9) / 16.0)
    edges = np.array([k * width for k in range(floor(low / width), ceil(high / width + 1e-9) + 1)])
    counts, _ = np.histogram(stances, edges)
    x = _FRAME.x(edges[[0, -1]])
    y = _FRAME.y(np.array([0.0, float(counts.max())]), pad=0.0)
    bars = []
    for number, begin, end in zip(counts, edges[:-1], edges[1:], strict=True):
        if number:
            top = y.at(float(number))
            bars.append(
                f'<rect class="bar" x="{x.at(begin) + 0.5:.1f}" y="{top:.1f}" '
                f'width="{x.at(end) - x.at(begin) - 1:.1f}" height="{y.at(0.0) - top:.1f}">'
                f"<title>{number} annotators from {begin:.3g} to {end:.3g}</title></rect>"
            )
    zero = f'<path class="zero" d="M{x.at(middle):.1f} {_FRAME.top}V{_FRAME.foot}"/>'
    return _FRAME.svg(
        "How many annotators stand where between the ends A and B",
        _FRAME.y_axis(y, "annotators", whole=True)
        + _FRAME.x_axis(x, "nearer to A  ←  stance  →  nearer to B")
        + "".join(bars)
        + zero,
    )
