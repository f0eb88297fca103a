"""Orders beside the consensus: what annotators who differ share, and with something held equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit, ndtri

from aggcal._core.arrays import FloatArray, IntArray, ranks
from aggcal.errors import count
from aggcal.pages.document import (
    Block,
    Bullets,
    Column,
    Group,
    Heading,
    Line,
    Link,
    Listing,
    Part,
    Section,
    Table,
    Text,
)
from aggcal.pages.numbers import SHORT_NAME, cut, decimals_of, number_text, percent, signed, span
from aggcal.report.run import Run, joined

_MOST_ROWS = 200  # items of the table; items.csv has all
_NAMED, _DIVIDING, _MEMBERS = 3, 6, 12  # items and annotators that are named
_LEADER = 40  # characters of the leader's name in a line of the first screen
_NUMBERS = {2: "Two", 3: "Three"}
_SURE = 0.95  # probability from which an annotator is said to belong to a camp
_CAVEAT = (
    "Holding something equal also removes quality that goes with it: if answers are better because "
    "they are longer, holding the length equal takes that out, too. Neither order is right by "
    "itself."
)

# What annotators who differ share -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ground:
    """The order that is fair to all sides: to both ends of an axis, or to every camp.

    Parameters
    ----------
    says
        How strong the disagreement is, or that none was found; empty where nobody looked.
    who, of, by
        What a side is called; whose order the other results are; by what judgments are predicted.
    names, score, reach
        The items that were judged, the highest first: their common ground, and how far its
        interval reaches to each side.
    sides
        What each side would give these items, by its letter; none where nobody differs.
    apart_se
        Standard errors of how far apart the sides are.
    members
        Who is on each side; nothing of an axis, on which all stand somewhere between the ends.
    """

    says: str = ""
    who: str = ""
    of: str = ""
    by: str = ""
    names: Sequence[str] = ()
    score: FloatArray = field(default_factory=lambda: np.zeros(0))
    reach: FloatArray = field(default_factory=lambda: np.zeros(0))
    sides: Mapping[str, FloatArray] = field(default_factory=dict)
    apart_se: FloatArray = field(default_factory=lambda: np.zeros(0))
    members: Mapping[str, tuple[Part, ...]] = field(default_factory=dict)

    @property
    def order(self) -> str:
        """What the order of the results is, where sides differ."""
        if not self.sides:
            return ""
        said = f"annotators differ, and this is the order of {self.of}"
        return f"{said} (the common ground is fair to every {self.who})"

    @property
    def short(self) -> str:
        """What the first screen says, where sides differ."""
        return f"on the common ground, {cut(self.names[0], _LEADER)} leads" if self.sides else ""

    @property
    def ranks(self) -> dict[str, IntArray]:
        """The ranks of the items as each side would have them."""
        return {letter: ranks(scores) for letter, scores in self.sides.items()}

    def higher(self, letter: str) -> list[str]:
        """Return which items a side puts higher than the others do, the clearest first."""
        others = [scores for other, scores in self.sides.items() if other != letter]
        ahead = self.sides[letter] - np.mean(others, axis=0)
        order = np.argsort(-ahead / np.maximum(self.apart_se, 1e-12), kind="stable")[:_NAMED]
        return [self.names[k] for k in order.tolist() if ahead[k] > 0]


def common_ground(run: Run) -> Ground:
    """Return what is common to camps or to the ends of an axis, or that nobody differs.

    Examples
    --------
    >>> common_ground(Run({"terms": {"axis": {"stands_out": False}}}, {})).says[:42]
    'No axis of disagreement stands out: where '
    """
    says, axis, camps = disagreement(run.terms), run.terms.get("axis"), run.terms.get("camps")
    camps = camps if camps and camps["stands_out"] else None
    axis = axis if axis and axis["stands_out"] else None
    if not (camps or axis):
        return Ground(says)
    ground = _numbers(run, "common_ground")
    judged = np.flatnonzero(np.isfinite(ground))
    rows: IntArray = judged[np.argsort(-ground[judged], kind="stable")]
    score, reach = ground[rows], reach_of(run.level) * _numbers(run, "common_ground_se", rows)
    names = [run.names[k] for k in rows.tolist()]
    if camps:
        letters = [str(each) for each in camps["names"]]
        return Ground(
            says, "camp", "all annotators together", "the camp of the annotator",
            names, score, reach,
            sides={each: _numbers(run, f"camp_{each.lower()}", rows) for each in letters},
            apart_se=_numbers(run, "camps_apart_se", rows),
            members={each: _members(run, each) for each in letters},
        )  # fmt: skip
    low, high = (float(end) for end in (axis or {})["ends"])
    slope = 0.5 * (high - low) * _numbers(run, "axis", rows)
    return Ground(
        says, "end", "the average annotator", "where the annotator stands",
        names, score, reach,
        sides={"A": score - slope, "B": score + slope}, apart_se=_numbers(run, "axis_se", rows),
    )  # fmt: skip


def disagreement(terms: Mapping[str, Any]) -> str:
    """Say whether annotators differ along an axis or in camps, where that was asked.

    Examples
    --------
    >>> why = "there are only 5 annotators; it takes 6"
    >>> disagreement({"camps": {"stands_out": False, "not_looked": why}})
    'Camps of annotators were not looked for: there are only 5 annotators; it takes 6.'
    """
    axis, camps = terms.get("axis"), terms.get("camps")
    if camps and camps["stands_out"]:
        return _camps_said(camps)
    if axis and axis["stands_out"]:
        return (
            f"Annotators differ along one axis, which makes {percent(float(axis['share']))} of "
            "what items explain of the answers."
        )
    said = ""
    if axis:
        said = (
            "No axis of disagreement stands out: where annotators differ, it is within the noise "
            "of their answers."
        )
    elif camps and camps.get("not_looked"):
        said = f"Camps of annotators were not looked for: {camps['not_looked']}."
    elif camps and camps["kind"] == "an axis":
        said = (
            "No camps stand out: annotators who were held out are predicted as well by one axis "
            "along which people stand anywhere (--bridge axis)."
        )
    elif camps:
        said = "No camps stand out: one order explains the answers as well."
    return said


def _camps_said(camps: Mapping[str, Any]) -> str:
    gain, over = camps["held_out_gain"][camps["kind"]], camps["held_out_gain_over_axis"]
    gains = "; ".join(
        f"{each['value']:+.0f} over one {what}, standard error {each['se']:.0f}"
        for what, each in (("order", gain), ("axis", over))
    )
    number = len(camps["names"])
    sizes = ", ".join(percent(float(share)) for share in camps["shares"])
    return (
        f"{_NUMBERS.get(number, str(number))} camps of annotators ({sizes}) have orders of "
        f"their own, which predict annotators who were held out better (log-likelihood {gains})."
    )


def section(run: Run) -> Section | None:
    """Return the section about the common ground; None where nobody asked for it."""
    ground, title = common_ground(run), "Common ground"
    if not ground.says:
        return None
    if not ground.sides:
        said = f"{ground.says} The order of the results is the annotators' common ground."
        return Section("common", title, title, [Text(said, "lede")])
    who, n = ground.who, len(ground.names)
    said = (
        f"{ground.says} The order below is midway between the {who}s, however many annotators each "
        "has; the letters mean nothing."
    )
    blocks: list[Block] = [
        Text(said, "lede"),
        Group([_side(ground, letter) for letter in ground.sides], "ends"),
    ]
    if lines := _dividing(ground):
        divides: list[Block] = [Heading("Divides most", 2), Bullets(lines, "moved")]
        blocks.append(Group(divides, "sec", only="page"))
    table: list[Block] = [Heading("The order of the common ground", 2), _listing(ground, run.level)]
    more = f"The first {_MOST_ROWS:,} of {n:,} items; all are in items.csv. " * (n > _MOST_ROWS)
    files = "camps.csv has the scores of each camp. " * bool(ground.members)
    note = (
        f"{more}Scores on the common ground have no unit; they are what people of all {who}s could "
        f"accept, not the truth. {files}All other results are of {ground.of}; only predicted "
        f"judgments are by {ground.by}."
    )
    return Section("common", title, title, [*blocks, Group([*table, Text(note, "note")], "sec")])


def _side(ground: Ground, letter: str) -> Group:
    """Return who belongs to a side and what it puts higher than the others."""
    others = f"{ground.who}s" if len(ground.sides) > 2 else ground.who  # noqa: PLR2004
    said: Line = "No item stands out."
    if items := ground.higher(letter):
        said = (f"Puts higher than the other {others}: ", *_links("item", items), ".")
    members = [Text(ground.members[letter])] if ground.members else []
    return Group([Heading(f"{ground.who.capitalize()} {letter}"), *members, Text(said)])


def _dividing(ground: Ground) -> list[Line]:
    """Return the items that the sides rank most differently, with their ranks."""
    every = ground.ranks
    apart = np.ptp(list(every.values()), axis=0)
    lines: list[Line] = []
    for k in np.argsort(-apart, kind="stable")[:_DIVIDING].tolist():
        if apart[k]:
            said = ", ".join(f"{place[k]:,} in {letter}" for letter, place in every.items())
            lines.append((*_links("item", [ground.names[k]]), f": rank {said}"))
    return lines


def _listing(ground: Ground, level: float) -> Listing:
    shown, score, reach = slice(_MOST_ROWS), ground.score, ground.reach
    legend = [["dot", "common ground", ""], ["line", f"{100 * level:g}% interval", "interval"]]
    digits = decimals_of(score, score - reach, score + reach)
    low, high = ((score + way * reach)[shown] for way in (-1.0, 1.0))
    columns = [
        Column("rank", "Rank", values=ranks(score)[shown], style="c-rank", up=True),
        Column("item", "Item", "name", ground.names[shown], style="c-item", up=True, to="item"),
        Column("chart", "", "chart", marks={"dot": "score", "legend": legend}, style="c-chart"),
        Column("score", "Score", "number", score[shown], low, high, digits, style="num c-score"),
        *(
            Column(f"rank_{letter}", f"Rank in {letter}", values=place[shown], style="num c-n")
            for letter, place in ground.ranks.items()
        ),
    ]
    return Listing(
        "ground", "item", "Items in the order of the common ground", columns, "rank",
        style="res by-table", file="items.csv", tools=False,
    )  # fmt: skip


def _members(run: Run, letter: str) -> tuple[Part, ...]:
    """Say how many belong to a camp and name some: the surest first; annotators.csv has all."""
    chance = np.asarray(run.annotators[f"p_camp_{letter.lower()}"], dtype=np.float64)
    own = np.flatnonzero(np.asarray(run.annotators["camp"], dtype=object) == letter)
    own = own[np.argsort(-chance[own], kind="stable")]
    unsure = int((chance[own] < _SURE).sum())
    names = [str(each) for each in run.annotators["annotator"][own[:_MEMBERS]]]
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


# With something held equal ------------------------------------------------------------------------


def held_names(run: Run) -> str:
    """Return what is held equal, for a sentence; nothing where nothing is."""
    known = {"rank", "rank_uncontrolled"} <= set(run.items)
    return joined([cut(str(name), SHORT_NAME) for name in run.terms.get("control") or ()] * known)


def held_section(run: Run) -> Section | None:
    """Return what holding something equal does; None where nothing is."""
    held = held_names(run)
    if not held:
        return None
    rank, without = (_numbers(run, key) for key in ("rank", "rank_uncontrolled"))
    judged = np.flatnonzero(np.isfinite(without - rank))
    move = (without - rank)[judged]
    changed = int((move != 0).sum())
    heading = f"With {held} held equal, the order stays the same."
    if changed:
        verb = "changes" if changed == 1 else "change"
        heading = (
            f"With {held} held equal, {changed:,} of {len(move):,} items {verb} rank; the largest "
            f"move is {np.abs(move).max():,.0f}."
        )
    farthest = judged[np.argsort(-np.abs(move), kind="stable")]
    rows = [
        (*_links("item", [run.names[k]]), *(f"{of[k]:,.0f}" for of in (without, rank)),
         move_words(without[k] - rank[k]))
        for k in farthest[:_MOST_ROWS].tolist()
    ]  # fmt: skip
    heads = ("Item", "Rank as judged", "Rank, held equal", "Move")
    columns = ("Held equal", "What one standard deviation more does", "Coefficient")
    effects = Table(columns, _effects(run), "flow held")
    moved = Table(heads, rows, "flow orders", frozenset({1, 2, 3}))
    moves = Group([Heading("Moves, the largest first", 2), moved], "sec")
    return Section("held", "Held equal", heading, [Text(_CAVEAT, "lede"), effects, moves])


def _effects(run: Run) -> list[tuple[str, str, str]]:
    """Return what is held equal: its name, what it does in words, and its coefficient."""
    found = []
    for key, known in (run.terms.get("control") or {}).items():
        value, reach = float(known["value"]), reach_of(run.level) * float(known["se"])
        low, high = value - reach, value + reach
        wins, begin, end = (100.0 * float(expit(each)) for each in (value, low, high))
        says = (
            f"Wins {wins:.0f} of 100 decided answers against an otherwise equal item "
            f"({100.0 * run.level:g}% interval {span(begin, end)})."
        )
        if low <= 0.0 <= high:
            says += " It may have no effect: 50 is within the interval."
        name = cut(str(key), SHORT_NAME)
        found.append((name, says, f"{signed(value, 2)} ({span(low, high, 2)})"))
    return found


def reach_of(level: float) -> float:
    """Return how many standard errors an interval of this level reaches to each side.

    Examples
    --------
    >>> round(reach_of(0.95), 2)
    1.96
    """
    return float(ndtri(0.5 + 0.5 * level))


def move_words(move: float) -> str:
    """Return a change of rank in words; positive is upwards.

    Examples
    --------
    >>> move_words(2), move_words(-1), move_words(0)
    ('up 2', 'down 1', 'same')
    """
    shown = number_text(abs(move), 0)
    return "same" if move == 0 else f"{'up' if move > 0 else 'down'} {shown}"
