"""What was decided: columns of the items' table, lines of its chart, doubtful marks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.records import dataclass
from aggcal._core.tables import Columns
from aggcal.errors import count
from aggcal.pages.numbers import cut, decimals_of, number_text
from aggcal.registry import SCALES, WIN, ScaleInfo
from aggcal.report.listing import Column, Marks, Numbers
from aggcal.report.rows import ItemRows

MOST_DOUBTFUL = 50
"""Doubtful marks that a page lists: items.csv has all."""
NAME = 80
"""Where names are cut."""

WORDS = ("verdict", "grade", "uncertain")
"""Columns of the items that hold words."""

_HINTS = {
    "p_top_k": "probability of being among the first k, for the k that was asked for",
    "p_above": "probability of a score above the cut",
    "verdict": "in and out at the stated error; else open",
    "grade": "grade of the score; with a question mark if its interval crosses a boundary",
    "rank_upper_bound": "best rank that the intervals leave: 1 + the items whose interval is above",
    "rank_lower_bound": "worst rank that the intervals leave",
}


def decided_of(summary: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a summary says of decisions; nothing where there are none.

    Examples
    --------
    >>> decided_of({"decisions": {"top": 3}}), decided_of({})
    ({'top': 3}, {})
    """
    found = summary.get("decisions")
    return found if isinstance(found, dict) else {}


def known_scale(items: Columns) -> ScaleInfo | None:
    """Return the scale of a table of items; None if it has none.

    Examples
    --------
    >>> known_scale({"item": np.zeros(1), "elo": np.zeros(1)}).title
    'Elo'
    """
    return next((scale for scale in SCALES.values() if scale.column in items), None)


def scaled_column(items: Columns) -> Numbers | None:
    """Return the consensus on the scale that was asked for; probabilities in percent."""
    scale = known_scale(items)
    if scale is None:
        return None
    times = 100.0 if scale.name == WIN.name else 1.0
    ends = (f"{scale.column}{end}" for end in ("", "_low", "_high"))
    values, low, high = (times * _numbers(items[n]) if n in items else None for n in ends)
    if values is None or not np.isfinite(values).any():
        return None
    fine = decimals_of(values, low, high)
    # A tenth of a point of a rating, or of a percent, says nothing.
    rough = None if fine is None else min(fine, 1 if scale.name not in ("elo", WIN.name) else 0)
    unit = "%" if scale.name == WIN.name else ""
    return Numbers(
        scale.column, scale.title, values, low, high, hint=scale.means, decimals=rough, unit=unit
    )


def decided_columns(items: Columns, named: Mapping[str, Any]) -> list[Column]:
    """Return the columns of decisions; ``named`` are those of the summary.

    Examples
    --------
    >>> table = {"item": np.array(["a"], dtype=object), "p_top_k": np.array([0.25])}
    >>> [(one.title, one.text(0)) for one in decided_columns(table, {"top": 3})]
    [('top 3', '25.0%')]
    """
    found: list[Column] = []
    titles = {"p_top_k": f"top {named.get('top', 'k')}", "p_above": "above"}
    if isinstance(named.get("cut"), int | float):
        titles["p_above"] = f"above {number_text(float(named['cut']), None)}"
    for key, title in titles.items():
        if key in items and np.isfinite(_numbers(items[key])).any():
            values = 100.0 * _numbers(items[key])
            column = Numbers(key, title, values, hint=_HINTS[key], decimals=1, unit="%")
            found.append(column)
    for key in ("rank_upper_bound", "rank_lower_bound"):
        if key in items:
            title = f"{key.split('_')[1]} rank bound"
            values = _numbers(items[key])
            found.append(Numbers(key, title, values, hint=_HINTS[key], decimals=0))
    doubts = _words(items, "uncertain")
    for key in ("verdict", "grade"):
        words = _words(items, key)
        if any(words):
            if key == "grade" and doubts:
                both = zip(words, doubts, strict=True)
                words = [word + (" ?" if odd == "True" else "") for word, odd in both]
            found.append(Marks(key, key, words, _HINTS[key]))
    return found


@dataclass(frozen=True, eq=False)
class Decided:
    """What a page says of decisions; nothing where none were asked for."""

    summary: Mapping[str, Any]
    items: Columns
    rows: ItemRows

    @property
    def known(self) -> Mapping[str, Any]:
        """What ``summary.json`` says."""
        return decided_of(self.summary)

    @property
    def says(self) -> list[str]:
        """The decisions, in sentences."""
        return [str(one) for one in self.known.get("says") or ()]

    @property
    def cut(self) -> float | None:
        """The cut, in the units of the chart."""
        found = self.known.get("cut")
        return None if not isinstance(found, int | float) else self._unit * float(found)

    @property
    def _unit(self) -> float:
        """What numbers of the summary are multiplied by in the chart."""
        return 100.0 if self.rows.score.key == WIN.column else 1.0

    @property
    def lines(self) -> list[tuple[str, bool]]:
        """Where the boundaries of the grades and the cut are in the chart; True for the cut."""
        ends = [self._unit * float(each) for each in self.known.get("grades") or ()]
        marks = [*([] if self.cut is None else [(self.cut, True)]), *((end, False) for end in ends)]
        axis = self.rows.axis
        return [(axis.at(mark), cut) for mark, cut in marks if axis.low <= mark <= axis.high]

    @property
    def legend(self) -> str:
        """What these lines are."""
        grades = self.known.get("grades") or ()
        said = [] if self.cut is None else [f"cut {number_text(self.cut, None)}"]
        said += [f"{count(len(grades), 'grade boundary', 'grade boundaries')}"] if grades else []
        return " and ".join(said)

    @property
    def doubtful(self) -> list[dict[str, str]]:
        """The marks whose interval crosses a boundary: item, score, interval, grade."""
        doubts, grades = _words(self.items, "uncertain"), _words(self.items, "grade")
        names, score = self.items["item"], self.rows.score
        found = [k for k, odd in enumerate(doubts) if odd == "True" and k < self.rows.n]
        return [
            {
                "item": str(names[k]),
                "short": cut(str(names[k]), NAME),
                "score": score.text(k),
                "interval": score.interval(k),
                "grade": grades[k] if grades else "",
            }
            for k in found
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return dict(self.known)


def _words(items: Columns, key: str) -> list[str]:
    """Return a column of words; nothing for what is not there."""
    return ["" if each is None else str(each) for each in items.get(key, ())]


def _numbers(column: np.ndarray) -> FloatArray:
    return np.asarray(column, dtype=np.float64)
