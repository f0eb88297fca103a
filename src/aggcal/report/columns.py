"""The columns of the results: what each is called, what it means, how its numbers are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.errors import count
from aggcal.pages.document import Column
from aggcal.pages.numbers import decimals_of, number_text
from aggcal.registry import SCALES, WIN
from aggcal.registry.limits import MOST_DIGITS
from aggcal.report.run import Run

TITLES: dict[str, tuple[str, str]] = {
    "rank": ("Rank", "rank in the consensus, 1 = highest"),
    "calibrated": ("Calibrated", "calibrated score, in the model's unit"),
    "model": ("Model", "score that the model gave"),
    "change": ("Change", "calibrated minus model"),
    "consensus": ("Consensus", "consensus score; no unit, 0 = average"),
    "consensus_se": ("± error", "standard error of the consensus score"),
    "n_judgments": ("Judgments", "comparisons that the item was in"),
    "win_rate": ("Won", "share of its comparisons that the item won; a tie counts one half"),
    "sure_low": (
        "Sure rank: best",
        "best rank that is left, for all items together, whatever the true scores",
    ),
    "sure_high": (
        "Sure rank: worst",
        "worst rank that is left, for all items together, whatever the true scores",
    ),
    "component": (
        "Component",
        "connected component; nothing compares items of different components, not even indirectly",
    ),
    "rank_uncontrolled": ("Rank as judged", "rank in the order with nothing held equal"),
    "common_ground": (
        "Common ground",
        "score midway between the ends of the axis of disagreement, or the camps",
    ),
    "axis": (
        "Place on the axis",
        "place on the axis of disagreement: end A puts items below 0 higher, end B those above",
    ),
    "rank_upper_bound": (
        "Upper rank bound",
        "best rank that the intervals leave: 1 + the items whose interval is above",
    ),
    "rank_lower_bound": ("Lower rank bound", "worst rank that the intervals leave"),
    "p_top_k": ("Top k", "probability of being among the first k, for the k that was asked for"),
    "p_above": ("Above", "probability of a score above the cut"),
    "verdict": ("Verdict", "in and out at the stated error; else open"),
    "grade": (
        "Grade",
        "grade of the score; with a question mark if its interval crosses a boundary",
    ),
    **{scale.column: (scale.title, scale.means) for scale in SCALES.values()},
}
"""What columns of ``items.csv`` are called, and what they mean."""
MORE = (
    "model", "consensus", "consensus_se", "win_rate", "component", "sure_low", "sure_high",
    "rank_uncontrolled", "common_ground", "axis", "rank_upper_bound", "rank_lower_bound",
    *(scale.column for scale in SCALES.values()),
)  # fmt: skip
"""Columns that a reader has to ask for."""
_SHARES = frozenset({"win_rate", "p_top_k", "p_above", WIN.column})
"""Columns that are written in percent."""


def columns(run: Run) -> list[Column]:
    """Return the columns of the results, in the order of a page.

    Examples
    --------
    >>> items = {"item": np.array(["b", "a"], dtype=object), "consensus": np.array([0.5, -0.5]),
    ...          "rank": np.array([1, 2]), "n_judgments": np.array([4, 4])}
    >>> [column.key for column in columns(Run({"method": "own"}, items))]
    ['rank', 'item', 'chart', 'consensus', 'n_judgments']
    """
    decimals = _decimals(run)

    def number(key: str, style: str = "num x", title: str = "") -> list[Column]:
        """Return a column of numbers with its interval; nothing where no number is known."""
        if (values := run.number(key)) is None:
            return []
        times = 100.0 if key in _SHARES else 1.0
        named, means = TITLES[key]
        return [
            Column(
                key,
                title or named,
                values=times * values,
                low=_times(times, run.number(f"{key}_low")),
                high=_times(times, run.number(f"{key}_high")),
                decimals=decimals.get(key, 0),
                unit="%" if key in _SHARES else "",
                signed=key == "axis",
                hint=means,
                style=style,
                up=key == "rank",
                only="page" if style == "num x" and key != "model" else "",
            )
        ]

    score = number(run.score, "num c-score", "Score" if run.score == "consensus" else "")[0]
    model = run.number("model") if run.score == "calibrated" else None
    rank = number("rank", "c-rank")
    found = [*rank]
    if rank and rank[0].low is not None:
        found.append(
            replace(
                rank[0],
                key="ranks",
                title="Likely ranks",
                kind="interval",
                word="likely ranks",
                hint="",
                style="c-ranks",
            )
        )
    found.append(Column("item", "Item", "name", run.names, style="c-item", up=True))
    found += [_chart(run, score, model), score]
    if (block := _blocks(run)) is not None:
        found.append(Column("block", "Tied", "tied", block, word="tied block", style="c-tied"))
    if model is not None:
        title, means = TITLES["change"]
        moved = replace(score, key="change", title=title, values=score.values - model, hint=means)
        found.append(replace(moved, low=None, high=None, signed=True, style="num c-change"))
    else:
        found += number("win_rate", "num c-change")
    found += number("n_judgments", "num c-n")
    found += _asked(run, number)
    shown = {column.key for column in found}
    return [*found, *(one for key in MORE if key not in shown for one in number(key))]


def _times(times: float, values: FloatArray | None) -> FloatArray | None:
    return None if values is None else times * values


def _decimals(run: Run) -> dict[str, int | None]:
    """Return how many decimals are worth reading of scores; other numbers are whole."""
    given = run.summary.get("digits")  # of a file of anybody's
    known = isinstance(given, int) and 0 <= given <= MOST_DIGITS
    own = [column for key in ("model", "calibrated") if (column := run.number(key)) is not None]
    ends = (run.number("calibrated_low"), run.number("calibrated_high"))
    fine = decimals_of(np.concatenate(own), *ends) if own else None
    found = {"model": fine, "calibrated": given if known else fine, "p_top_k": 1, "p_above": 1}
    if (consensus := run.number("consensus")) is not None:
        ends = (run.number("consensus_low"), run.number("consensus_high"))
        of_the_fit = ("consensus", "consensus_se", "common_ground", "axis")
        found |= dict.fromkeys(of_the_fit, decimals_of(consensus, *ends))
    for scale in SCALES.values():
        if (values := run.number(scale.column)) is not None:
            times = 100.0 if scale.name == WIN.name else 1.0
            ends = (run.number(f"{scale.column}_low"), run.number(f"{scale.column}_high"))
            digits = decimals_of(times * values, *(_times(times, end) for end in ends))
            # A tenth of a point of a rating, or of a percent, says nothing.
            most = 0 if scale.name in ("elo", WIN.name) else 1
            found[scale.column] = None if digits is None else min(digits, most)
    return found


def _chart(run: Run, score: Column, model: FloatArray | None) -> Column:
    """Return the chart: the score as a dot with its interval, the model's hollow, blocks joined."""
    level = run.score_interval[0] or "95%"
    called = f"{score.key} score" if score.key in ("calibrated", "consensus") else score.title
    named = "calibrated" if score.key == "calibrated" else called
    word = "calibrated score" if score.key == "calibrated" else "consensus"
    legend = [["dot", named, word]]
    marks: dict[str, Any] = {"dot": score.key, "legend": legend}
    if model is not None:
        marks |= {"hollow": "model", "block": "block"}
        legend.insert(0, ["hollow", "model", "model score"])
    if score.low is not None:
        legend.append(["line", f"{level} interval", "interval"])
    cut, grades = run.decided.get("cut"), run.decided.get("grades") or ()
    times = 100.0 if score.unit else 1.0
    lines, said = [], []
    if isinstance(cut, int | float):
        lines.append(times * float(cut))
        said.append(f"cut {number_text(times * float(cut), None)}")
    if grades:
        drawn = [each for each in (score.values, score.low, score.high, model) if each is not None]
        low, high = np.nanmin(np.concatenate(drawn)), np.nanmax(np.concatenate(drawn))
        lines += [times * float(each) for each in grades if low <= times * float(each) <= high]
        said.append(count(len(grades), "grade boundary", "grade boundaries"))
    if said:
        legend.append(["cut", " and ".join(said), ""])
        marks["lines"] = lines
    if _blocks(run) is not None:
        legend.append(["", "vertical line: tied", "tied block"])
    return Column("chart", "", "chart", marks=marks, style="c-chart")


def _blocks(run: Run) -> FloatArray | None:
    """Return the blocks of items that share a score; None where each item has its own."""
    block = run.number("block")
    if block is None:
        return None
    known = block[np.isfinite(block)]
    return block if len(np.unique(known)) < len(known) else None


def _asked(run: Run, number: Callable[..., list[Column]]) -> list[Column]:
    """Return the columns of decisions that no other column shows."""
    top, cut = run.decided.get("top", "k"), run.decided.get("cut")
    above = f"Above {number_text(float(cut), None)}" if isinstance(cut, int | float) else ""
    # Where there is a probability for every k, a column of its own shows it.
    found = [] if run.comparisons.get("top") else number("p_top_k", "num asked", f"Top {top}")
    limits = number("p_above", "num asked", above)
    found += limits
    for key in ("verdict", "grade") if limits else ("grade",):
        words = run.words(key)
        if key == "grade":
            doubtful = run.words("uncertain") or [""] * len(words)
            both = zip(words, doubtful, strict=True)
            words = [word + (" ?" if odd == "True" else "") for word, odd in both]
        if any(words):
            title, means = TITLES[key]
            found.append(Column(key, title, "word", words, hint=means, style="asked", up=True))
    return found
