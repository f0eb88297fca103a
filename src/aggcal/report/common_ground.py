"""What annotators who differ have in common: those at the ends of an axis, or those in camps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, ranks
from aggcal._core.records import dataclass
from aggcal._core.text import in_words
from aggcal.errors import count
from aggcal.pages.document import (
    Block,
    Bullets,
    Column,
    Figure,
    Group,
    Heading,
    Line,
    Link,
    Listing,
    Part,
    Section,
    Text,
)
from aggcal.pages.figures import histogram
from aggcal.pages.numbers import cut, decimals_of, percent
from aggcal.report.run import Run
from aggcal.report.terms import level_of, reach_of

NAME, SHORT = 80, 40
"""Where names are cut, in lists and in a line of the first screen."""

_MOST_ROWS = 200  # items of the table; items.csv has all
_NAMED, _DIVIDING, _NAMED_MEMBERS = 3, 6, 12  # items and annotators that are named
_SURE = 0.95  # probability from which an annotator is said to belong to a camp
_NO_AXIS = (
    "No axis of disagreement stands out: where annotators differ, it is within the noise of their "
    "answers. The order of the results is their common ground."
)
_NO_CAMPS = (
    "No camps stand out: one order explains the answers as well. The order of the results is the "
    "annotators' common ground."
)
_ONLY_AN_AXIS = (
    "No camps stand out: annotators who were held out are predicted as well by one axis along "
    "which people stand anywhere. Use --bridge axis to see it."
)


@dataclass(frozen=True, eq=False)
class Side:
    """An end of the axis, or a camp: its letter, its scores of the items, and who is in it."""

    letter: str
    scores: FloatArray
    members: tuple[Part, ...] = ()


@dataclass(frozen=True, eq=False)
class CommonGround:
    """The order that is fair to every side, and what each side would say.

    Parameters
    ----------
    who, where
        What a side is called, and how one speaks of its ranks.
    rows
        The items that were judged, the highest common ground first.
    sides
        Those who differ.
    apart_se
        Standard errors of how far apart they are.
    score, low, high
        The common ground of these items, and its interval.
    says, order, fair, note, follows
        How strong the disagreement is; whose order the results are; how the common ground is
        taken; what its scores are not; which fit the other results come from.
    """

    who: str
    where: str
    names: list[str]
    sides: list[Side]
    apart_se: FloatArray
    score: FloatArray
    low: FloatArray
    high: FloatArray
    level: float
    says: str
    order: str
    fair: str
    note: str
    follows: str
    figure: str = ""

    @property
    def short(self) -> str:
        """What the first screen says."""
        return f"on the common ground, {cut(self.names[0], SHORT)} leads"

    @property
    def ranks(self) -> list[IntArray]:
        """The ranks of the items as each side would have them."""
        return [ranks(side.scores) for side in self.sides]

    def higher(self, k: int) -> list[str]:
        """Return which items a side puts higher than the others do, the clearest first."""
        others = np.mean([side.scores for side in self.sides if side is not self.sides[k]], axis=0)
        ahead = (self.sides[k].scores - others) / np.maximum(self.apart_se, 1e-12)
        order = np.argsort(-ahead, kind="stable")[:_NAMED]
        return [self.names[j] for j in order if ahead[j] > 0]


def section(run: Run) -> Section | None:
    """Return the section about the common ground; None where nobody asked for it."""
    ground = common_ground(run)
    if ground is None:
        return None
    if isinstance(ground, str):
        return Section("common", "Common ground", "Common ground", [Text(ground, "lede")])
    blocks: list[Block] = [
        Text(f"{ground.says} {ground.fair}", "lede"),
        Group([_side(ground, k) for k in range(len(ground.sides))], "ends"),
    ]
    if ground.figure:
        said = (
            "Number of annotators by where they stand. Dashed line: the middle, at which the "
            "common ground is taken."
        )
        blocks.append(Figure("stances", ground.figure, said, "histogram", only="page"))
    if lines := _dividing(ground):
        divides: list[Block] = [Heading("Divides most", 2), Bullets(lines, "moved")]
        blocks.append(Group(divides, "sec", only="page"))
    table: list[Block] = [Heading("The order of the common ground", 2), _listing(ground)]
    if len(ground.names) > _MOST_ROWS:
        n = len(ground.names)
        said = f"The first {_MOST_ROWS:,} of {n:,} items; all are in items.csv."
        table.append(Text(said, "note"))
    table.append(Text(f"{ground.note} {ground.follows}", "note"))
    return Section("common", "Common ground", "Common ground", [*blocks, Group(table, "sec")])


def _side(ground: CommonGround, k: int) -> Group:
    """Return who belongs to a side and what it puts higher than the others."""
    side, others = ground.sides[k], ground.who.lower()
    others += "s" if len(ground.sides) > 2 else ""  # noqa: PLR2004
    said: Line = "No item stands out."
    if items := ground.higher(k):
        said = (f"Puts higher than the other {others}: ", *_links("item", items), ".")
    members = [Text(side.members)] if side.members else []
    return Group([Heading(f"{ground.who} {side.letter}"), *members, Text(said)])


def _dividing(ground: CommonGround) -> list[Line]:
    """Return the items that the sides rank most differently, with their ranks."""
    of_sides = ground.ranks
    apart = np.max(of_sides, axis=0) - np.min(of_sides, axis=0)
    chosen = np.argsort(-apart, kind="stable")[:_DIVIDING]
    lines: list[Line] = []
    for k in chosen[apart[chosen] > 0].tolist():
        said = ", ".join(
            f"{rank[k]:,} {ground.where} {ground.who.lower()} {side.letter}"
            for rank, side in zip(of_sides, ground.sides, strict=True)
        )
        name = ground.names[k]
        lines.append((Link(cut(name, NAME), f"item={name}"), f": rank {said}"))
    return lines


def _listing(ground: CommonGround) -> Listing:
    shown = slice(_MOST_ROWS)
    legend = [
        ["dot", "common ground", ""],
        ["line", f"{100.0 * ground.level:g}% interval", "interval"],
    ]
    columns = [
        Column("rank", "Rank", values=ranks(ground.score)[shown], style="c-rank", up=True),
        Column("item", "Item", "name", ground.names[shown], style="c-item", up=True, to="item"),
        Column("chart", "", "chart", marks={"dot": "score", "legend": legend}, style="c-chart"),
        Column(
            "score",
            "Score",
            "number",
            ground.score[shown],
            ground.low[shown],
            ground.high[shown],
            decimals=decimals_of(ground.score, ground.low, ground.high),
            style="num c-score",
        ),
    ]
    for side, rank in zip(ground.sides, ground.ranks, strict=True):
        title = f"Rank {ground.where} {side.letter}"
        style = "num c-move" if side is ground.sides[-1] else "num c-n"
        columns.append(Column(f"rank_{side.letter}", title, values=rank[shown], style=style))
    return Listing(
        "ground", "item", "Items in the order of the common ground", columns, "rank",
        style="res by-table", file="items.csv", tools=False,
    )  # fmt: skip


# Who differs --------------------------------------------------------------------------------------


def common_ground(run: Run) -> CommonGround | str | None:
    """Return what is common to camps or to the ends of an axis.

    A sentence where one was looked for and does not stand out; None where nobody looked.

    Examples
    --------
    >>> common_ground(Run({"terms": {"axis": {"stands_out": False}}}, {})) == _NO_AXIS
    True
    """
    terms = run.summary.get("terms") or {}
    axis, camps = terms.get("axis"), terms.get("camps")
    if camps and camps["stands_out"]:
        return _of_camps(run, camps)
    if axis:
        return _of_axis(run, axis) if axis["stands_out"] else _NO_AXIS
    if not camps:
        return None
    if camps.get("not_looked"):
        return f"Camps of annotators were not looked for: {camps['not_looked']}."
    return _ONLY_AN_AXIS if camps["kind"] == "an axis" else _NO_CAMPS


def _judged(run: Run) -> tuple[IntArray, dict[str, Any]]:
    """Return the items that were judged, and their common ground with its interval."""
    ground = _numbers(run, "common_ground")
    known = np.flatnonzero(np.isfinite(ground))
    rows: IntArray = known[np.argsort(-ground[known], kind="stable")]
    level = level_of(run.summary)
    score, wide = ground[rows], reach_of(level) * _numbers(run, "common_ground_se")[rows]
    return rows, {
        "names": [str(each) for each in run.items["item"][rows]],
        "score": score, "low": score - wide, "high": score + wide, "level": level,
    }  # fmt: skip


def _of_axis(run: Run, axis: Mapping[str, Any]) -> CommonGround:
    rows, known = _judged(run)
    low, high = (float(end) for end in axis["ends"])
    slope = 0.5 * (high - low) * _numbers(run, "axis")[rows]
    stances = np.asarray(run.annotators.get("stance", ()), dtype=np.float64)
    stances = stances[np.isfinite(stances)]
    return CommonGround(
        **known,
        who="End",
        where="at",
        sides=[Side("A", known["score"] - slope), Side("B", known["score"] + slope)],
        apart_se=_numbers(run, "axis_se")[rows],
        says=(
            f"Annotators differ along one axis. It makes {percent(float(axis['share']))} of what "
            "items explain of the answers; the rest is what they have in common."
        ),
        order=(
            "Annotators differ along one axis; this is the order of the average annotator. The "
            "common ground is fair to both ends, whichever has more annotators."
        ),
        fair=(
            "The order below is midway between the two ends, whichever end has more annotators. "
            "The ends are called A and B; neither is better, and the letters mean nothing."
        ),
        note=(
            "A tenth of the annotators are beyond each end. Scores on the common ground have no "
            "unit; they are what people of both ends could accept, not the truth."
        ),
        follows=(
            "All other results (consensus and calibrated scores, decisions, predicted scores, "
            "probabilities of an order) are of the average annotator; only predicted judgments "
            "are by where the annotator stands."
        ),
        figure=_stances(stances, float(axis["middle"])) if len(stances) else "",
    )


def _stances(stances: FloatArray, middle: float) -> str:
    """Draw how many annotators stand where; a line is where the common ground is taken."""
    title = "How many annotators stand where between the ends A and B"
    name = "nearer to A  ←  stance  →  nearer to B"
    return histogram(stances, title, name, line=middle, bars=16, height=220.0)


def _of_camps(run: Run, camps: Mapping[str, Any]) -> CommonGround:
    rows, known = _judged(run)
    letters = [str(each) for each in camps["names"]]
    number = in_words(len(letters))
    gain, over = camps["held_out_gain"][camps["kind"]], camps["held_out_gain_over_axis"]
    return CommonGround(
        **known,
        who="Camp",
        where="in",
        sides=[
            Side(each, _numbers(run, f"camp_{each.lower()}")[rows], _members(run, each))
            for each in letters
        ],
        apart_se=_numbers(run, "camps_apart_se")[rows],
        says=(
            f"Annotators form {number} camps with orders of their own. That predicts the answers "
            "of annotators who were held out better than one order does (log-likelihood "
            f"{gain['value']:+.0f}, standard error {gain['se']:.0f}), and better than an axis "
            f"along which people stand anywhere ({over['value']:+.0f}, standard error "
            f"{over['se']:.0f})."
        ),
        order=(
            f"Annotators form {number} camps; this is the order of all together, which larger "
            "camps decide. The common ground is fair to each."
        ),
        fair=(
            "The order below is midway between the camps, however many annotators each has. The "
            "camps are called by letters, the largest A; none is better."
        ),
        note=(
            "camps.csv has the scores of each camp with their intervals, annotators.csv the "
            "probability that an annotator belongs to each. Scores on the common ground have no "
            "unit; they are what people of all camps could accept, not the truth."
        ),
        follows=(
            "All other results (consensus and calibrated scores, decisions, predicted scores, "
            "probabilities of an order) are of the order of all annotators together; only "
            "predicted judgments are by the camp of the annotator."
        ),
    )


def _members(run: Run, letter: str) -> tuple[Part, ...]:
    """Say how many belong to a camp and name some: the surest first; annotators.csv has all."""
    chance = np.asarray(run.annotators[f"p_camp_{letter.lower()}"], dtype=np.float64)
    own = np.flatnonzero(np.asarray(run.annotators["camp"], dtype=object) == letter)
    own = own[np.argsort(-chance[own], kind="stable")]
    unsure = int((chance[own] < _SURE).sum())
    names = [str(each) for each in run.annotators["annotator"][own[:_NAMED_MEMBERS]]]
    more = f" and {len(own) - len(names):,} more." if len(own) > len(names) else "."
    rest = f"{more} {unsure:,} of them could belong elsewhere." if unsure else more
    return (f"{count(len(own), 'annotator')}: ", *_links("annotator", names), rest)


def _links(kind: str, names: Sequence[str]) -> list[Part]:
    """Return links to items or annotators, with commas between them."""
    links: list[tuple[Part, ...]] = [
        (", ", Link(cut(name, NAME), f"{kind}={name}")) for name in names
    ]
    return [part for link in links for part in link][1:]


def _numbers(run: Run, column: str) -> FloatArray:
    return np.asarray(run.items[column], dtype=np.float64)
