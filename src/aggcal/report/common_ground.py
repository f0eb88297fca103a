"""What annotators who differ have in common: those at the ends of an axis, or those in camps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, ranks
from aggcal._core.markup import Markup
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
from aggcal.pages.numbers import SHORT_NAME, cut, decimals_of, percent
from aggcal.report.run import Run
from aggcal.report.terms import level_of, reach_of

SHORT = 40
"""Where names are cut in a line of the first screen."""

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
_FOLLOWS = (
    "All other results (consensus and calibrated scores, decisions, predicted scores, "
    "probabilities of an order) are of {of}; only predicted judgments are by {by}."
)
_AXIS = {
    "who": "End",
    "where": "at",
    "says": "Annotators differ along one axis. It makes {share} of what items explain of the "
    "answers; the rest is what they have in common.",
    "order": "Annotators differ along one axis; this is the order of the average annotator. The "
    "common ground is fair to both ends, whichever has more annotators.",
    "fair": "The order below is midway between the two ends, whichever end has more annotators. "
    "The ends are called A and B; neither is better, and the letters mean nothing.",
    "note": "A tenth of the annotators are beyond each end. Scores on the common ground have no "
    "unit; they are what people of both ends could accept, not the truth.",
    "follows": _FOLLOWS.format(of="the average annotator", by="where the annotator stands"),
}
_CAMPS = {
    "who": "Camp",
    "where": "in",
    "says": "Annotators form {number} camps with orders of their own. That predicts the answers of "
    "annotators who were held out better than one order does (log-likelihood {gain[value]:+.0f}, "
    "standard error {gain[se]:.0f}), and better than an axis along which people stand anywhere "
    "({over[value]:+.0f}, standard error {over[se]:.0f}).",
    "order": "Annotators form {number} camps; this is the order of all together, which larger "
    "camps decide. The common ground is fair to each.",
    "fair": "The order below is midway between the camps, however many annotators each has. The "
    "camps are called by letters, the largest A; none is better.",
    "note": "camps.csv has the scores of each camp with their intervals, annotators.csv the "
    "probability that an annotator belongs to each. Scores on the common ground have no unit; "
    "they are what people of all camps could accept, not the truth.",
    "follows": _FOLLOWS.format(
        of="the order of all annotators together", by="the camp of the annotator"
    ),
}
"""What those are called who differ, and where they have a rank; how strong the disagreement is;
whose order the results are; how the common ground is taken; what its scores are not; which fit the
other results come from."""


@dataclass(frozen=True, eq=False)
class CommonGround:
    """The order that is fair to all sides: to both ends of an axis, or to every camp.

    Parameters
    ----------
    words
        What is said: see `_AXIS` and `_CAMPS`.
    names, score, reach
        The items that were judged, the highest first: their common ground, and how far its
        interval reaches to each side.
    sides
        What each side would give these items, by its letter.
    apart_se
        Standard errors of how far apart the sides are.
    members
        Who is on each side; nothing of an axis, on which all stand somewhere between the ends.
    figure
        A drawing of where they stand.
    """

    words: Mapping[str, str]
    names: list[str]
    score: FloatArray
    reach: FloatArray
    sides: Mapping[str, FloatArray]
    apart_se: FloatArray
    members: Mapping[str, tuple[Part, ...]] = field(default_factory=dict)
    figure: Markup = field(default_factory=Markup)

    @property
    def short(self) -> str:
        """What the first screen says."""
        return f"on the common ground, {cut(self.names[0], SHORT)} leads"

    @property
    def ranks(self) -> dict[str, IntArray]:
        """The ranks of the items as each side would have them."""
        return {letter: ranks(scores) for letter, scores in self.sides.items()}

    def higher(self, letter: str) -> list[str]:
        """Return which items a side puts higher than the others do, the clearest first."""
        others = [scores for other, scores in self.sides.items() if other != letter]
        ahead = self.sides[letter] - np.mean(others, axis=0)
        clear = ahead / np.maximum(self.apart_se, 1e-12)
        order = np.argsort(-clear, kind="stable")[:_NAMED]
        return [self.names[k] for k in order.tolist() if ahead[k] > 0]


def section(run: Run) -> Section | None:
    """Return the section about the common ground; None where nobody asked for it."""
    ground = common_ground(run)
    if ground is None:
        return None
    title = "Common ground"
    if isinstance(ground, str):
        return Section("common", title, title, [Text(ground, "lede")])
    words, n = ground.words, len(ground.names)
    blocks: list[Block] = [
        Text(f"{words['says']} {words['fair']}", "lede"),
        Group([_side(ground, letter) for letter in ground.sides], "ends"),
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
    level = f"{100.0 * level_of(run.summary):g}%"
    table: list[Block] = [Heading("The order of the common ground", 2), _listing(ground, level)]
    if n > _MOST_ROWS:
        said = f"The first {_MOST_ROWS:,} of {n:,} items; all are in items.csv."
        table.append(Text(said, "note"))
    table.append(Text(f"{words['note']} {words['follows']}", "note"))
    return Section("common", title, title, [*blocks, Group(table, "sec")])


def _side(ground: CommonGround, letter: str) -> Group:
    """Return who belongs to a side and what it puts higher than the others."""
    who = ground.words["who"]
    others = f"{who.lower()}s" if len(ground.sides) > 2 else who.lower()  # noqa: PLR2004
    said: Line = "No item stands out."
    if items := ground.higher(letter):
        said = (f"Puts higher than the other {others}: ", *_links("item", items), ".")
    members = [Text(ground.members[letter])] if ground.members else []
    return Group([Heading(f"{who} {letter}"), *members, Text(said)])


def _dividing(ground: CommonGround) -> list[Line]:
    """Return the items that the sides rank most differently, with their ranks."""
    every, words = ground.ranks, ground.words
    apart = np.ptp(list(every.values()), axis=0)
    lines: list[Line] = []
    for k in np.argsort(-apart, kind="stable")[:_DIVIDING].tolist():
        if apart[k]:
            said = ", ".join(
                f"{place[k]:,} {words['where']} {words['who'].lower()} {letter}"
                for letter, place in every.items()
            )
            lines.append((*_links("item", [ground.names[k]]), f": rank {said}"))
    return lines


def _listing(ground: CommonGround, level: str) -> Listing:
    shown, score, reach = slice(_MOST_ROWS), ground.score, ground.reach
    legend = [["dot", "common ground", ""], ["line", f"{level} interval", "interval"]]
    ends = score - reach, score + reach
    digits = decimals_of(score, *ends)
    low, high = (end[shown] for end in ends)
    columns = [
        Column("rank", "Rank", values=ranks(score)[shown], style="c-rank", up=True),
        Column("item", "Item", "name", ground.names[shown], style="c-item", up=True, to="item"),
        Column("chart", "", "chart", marks={"dot": "score", "legend": legend}, style="c-chart"),
        Column("score", "Score", "number", score[shown], low, high, digits, style="num c-score"),
    ]
    for letter, place in ground.ranks.items():
        title = f"Rank {ground.words['where']} {letter}"
        columns.append(Column(f"rank_{letter}", title, values=place[shown], style="num c-n"))
    columns[-1] = replace(columns[-1], style="num c-move")
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


def _of_axis(run: Run, axis: Mapping[str, Any]) -> CommonGround:
    rows, shared = _judged(run)
    low, high = (float(end) for end in axis["ends"])
    slope = 0.5 * (high - low) * _numbers(run, "axis", rows)
    stances = np.asarray(run.annotators.get("stance", ()), dtype=np.float64)
    stances, figure = stances[np.isfinite(stances)], Markup()
    if len(stances):
        title = "How many annotators stand where between the ends A and B"
        below, middle = "nearer to A  ←  stance  →  nearer to B", float(axis["middle"])
        figure = histogram(stances, title, below, line=middle, bars=16, height=220.0)
    share = percent(float(axis["share"]))
    return CommonGround(
        {key: said.format(share=share) for key, said in _AXIS.items()},
        **shared,
        sides={"A": shared["score"] - slope, "B": shared["score"] + slope},
        apart_se=_numbers(run, "axis_se", rows),
        figure=figure,
    )


def _of_camps(run: Run, camps: Mapping[str, Any]) -> CommonGround:
    rows, shared = _judged(run)
    letters = [str(each) for each in camps["names"]]
    values = {
        "number": in_words(len(letters)),
        "gain": camps["held_out_gain"][camps["kind"]],
        "over": camps["held_out_gain_over_axis"],
    }
    return CommonGround(
        {key: said.format(**values) for key, said in _CAMPS.items()},
        **shared,
        sides={each: _numbers(run, f"camp_{each.lower()}", rows) for each in letters},
        apart_se=_numbers(run, "camps_apart_se", rows),
        members={each: _members(run, each) for each in letters},
    )


def _judged(run: Run) -> tuple[IntArray, dict[str, Any]]:
    """Return the rows of the items that were judged, and their common ground."""
    ground = _numbers(run, "common_ground")
    judged = np.flatnonzero(np.isfinite(ground))
    rows: IntArray = judged[np.argsort(-ground[judged], kind="stable")]
    names = [run.names[k] for k in rows.tolist()]
    reach = reach_of(level_of(run.summary)) * _numbers(run, "common_ground_se", rows)
    return rows, {"names": names, "score": ground[rows], "reach": reach}


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
    links: list[Part] = []
    for name in names:
        links += [", ", Link(cut(name, SHORT_NAME), f"{kind}={name}")]
    return links[1:]


def _numbers(run: Run, column: str, rows: IntArray | slice = slice(None)) -> FloatArray:
    return np.asarray(run.items[column], dtype=np.float64)[rows]
