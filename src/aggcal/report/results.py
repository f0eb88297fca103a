"""The answer: every item with its rank, its score, its interval, and what was decided of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from aggcal.aggregation.claims import IN, OPEN, OUT
from aggcal.errors import count
from aggcal.pages import figures
from aggcal.pages.document import (
    Block,
    Bullets,
    Chip,
    Column,
    Figure,
    Group,
    Heading,
    Line,
    Link,
    Listing,
    Section,
    Table,
    Text,
)
from aggcal.pages.numbers import SHORT_NAME, cell_text, cut
from aggcal.report import categories
from aggcal.report.columns import columns
from aggcal.report.item import Details
from aggcal.report.parts import parts_said
from aggcal.report.run import Run

USUAL_TOP = 10
"""The k that a page shows first, where there are items enough."""
STOPS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 5000, 10000)
"""The k to choose from where no probabilities are known."""
DETAILED, FIRST = 200, 100
"""Items up to which all rows open to what is known of them, and of how many of more items: the
comparisons of more would make a page heavy."""
_LINKED = 200  # characters of an id above which a link leads to the table instead
_MOST_DOUBTFUL = 50  # marks that are listed: items.csv has all
_FEWEST, _MOST = 10, 10  # items from which a list of doubts is worth its room; rows of such a list
_SHARE = 0.1  # of the items, with the widest intervals, that count as least certain
_MOST_COMPONENTS = 50  # of a list to choose from: more are a study in pieces
_TO_QUALITY = Link("What to do", "quality")


def section(run: Run) -> Section:
    """Return the section of the results."""
    table = listing(run)
    return Section(
        "results",
        "Results",
        "Results",
        [
            *_overview(run, table),
            *_apart(run),
            *_decisions(run, table),
            table,
            *_doubts(run, table),
            *_notes(run, table),
            *_matrix(run),
            *categories.blocks(run),
        ],
    )


# The table ----------------------------------------------------------------------------------------


def listing(run: Run) -> Listing:
    """Return the table of the items, with its chart.

    Examples
    --------
    >>> items = {"item": np.array(["b", "a"], dtype=object), "consensus": np.array([0.5, -0.5])}
    >>> listing(Run({"method": "own"}, items)).n
    2
    """
    shown, n = columns(run), len(run.names)
    details = Details(run, shown)
    top = _top(run)
    if top is not None and "percent" in top:
        place = next(k for k, column in enumerate(shown) if column.kind == "name")
        shown.insert(place, Column("chance", "Top", "chance", style="num c-chance"))
    parts = {str(part.label): [part.title, part.says] for part in run.parts}
    first = [k for part in run.parts for k in part.rows]
    rest = set(range(len(run.names))) - set(first)
    return Listing(
        "items",
        "item",
        "Items in consensus order",
        shown,
        "rank",
        style="res many" if sum("asked" in column.style for column in shown) > 2 else "res",  # noqa: PLR2004
        file="items.csv",
        details=[details.blocks(k) for k in range(n if n <= DETAILED else FIRST)],
        texts=[run.texts.get(name, "") for name in run.names] if run.texts else None,
        filters=_filters(run, shown),
        top=top,
        groups={"column": "component", "titles": parts} if parts else None,
        order=[*first, *sorted(rest)] if parts else None,
    )


def _top(run: Run) -> dict[str, Any] | None:
    """Return which k there are to choose from, and what is known of the items at each."""
    n, claimed = len(run.names), run.comparisons
    ends = [claimed.get(name) for name in ("best", "worst")]
    sure = "all items together"
    if None in ends:
        ends = [run.number(name) for name in ("sure_low", "sure_high")]
    elif claimed.get("sure") is not None:
        sure = f"{100.0 * claimed['sure']:g}% confidence for each"
    if n < 2 or run.parts or ends[0] is None or ends[1] is None:  # noqa: PLR2004
        return None
    wanted, exact, chances = run.decided.get("top"), run.number("p_top_k"), claimed.get("top")
    wanted = wanted if isinstance(wanted, int) else 0
    asked = wanted if exact is not None and 1 <= wanted < n else None
    stops = sorted({k for k in (*STOPS, asked) if k is not None and k < n}) or [1]
    stops = stops if chances is None else list(chances["stops"])
    wanted = wanted or (USUAL_TOP if n > 2 * USUAL_TOP else max(1, n // 3))
    wanted = max(wanted, stops[0])
    found = {
        "stops": stops,
        "first": max(k for k, stop in enumerate(stops) if stop <= wanted),
        "best": ends[0],
        "worst": ends[1],
        "states": {"in": IN, "edge": OPEN, "out": OUT},
        "note": f"Surely in, surely out, or open ({sure}).",
    }
    found |= {} if chances is None else {"percent": chances["percent"]}
    return found | ({} if asked is None else {"asked": asked, "exact": exact})


def _filters(run: Run, shown: Sequence[Column]) -> list[dict[str, Any]]:
    """Return the choices of rows."""
    keys, found = {column.key for column in shown}, list[dict[str, Any]]()
    if "change" in keys:
        found.append({"label": "Score raised", "column": "change", "above": 0})
        found.append({"label": "Score lowered", "column": "change", "below": 0})
    if len(could := run.could_be_first) > 1:
        found.append({"label": f"Could be the best ({len(could):,})", "rows": could})
    if "block" in keys:
        found.append({"label": "In a tied block", "column": "block", "tied": True})
    if len(run.names) >= _FEWEST and (widest := _widest(_score(run, shown))):
        found.append({"label": "Widest intervals (a tenth)", "rows": widest})
    if (component := run.number("component")) is not None:
        labels = np.unique(component[np.isfinite(component)])[:_MOST_COMPONENTS]
        for label in labels.astype(int).tolist():
            rows = np.flatnonzero(component == label).tolist()
            said = f"Component {label} ({count(len(rows), 'item')})"
            found.append({"label": said, "group": "Connected component", "rows": rows})
    for who, rows in run.comparisons.get("judged") or ():
        found.append({"label": cut(str(who), 60), "group": "Judged by", "rows": rows})
    return found


def _score(run: Run, shown: Sequence[Column]) -> Column:
    return next(column for column in shown if column.key == run.score)


def _widest(score: Column) -> list[int]:
    """Return the rows of the tenth with the widest intervals, the widest first."""
    if score.low is None or score.high is None:
        return []
    width = score.high - score.low
    known = np.flatnonzero(~np.isnan(width))
    number = int(np.ceil(_SHARE * len(known)))
    found: list[int] = known[np.argsort(-width[known], kind="stable")][:number].tolist()
    return found


# Beside the table ---------------------------------------------------------------------------------


def _overview(run: Run, table: Listing) -> list[Block]:
    """Return all items at a glance, where there are many."""
    if table.n <= figures.OVERVIEW:
        return []
    score = _score(run, table.columns)
    model = run.number("model") if score.key == "calibrated" else None
    called = f"{score.key} score" if score.key in ("calibrated", "consensus") else score.title
    level = run.score_interval[0] or "95%"
    said = f"{called[:1].upper()}{called[1:]} of all {table.n:,} items by rank"
    bands = [f"{level} interval (median)"] if score.low is not None else []
    bands += ["model scores: middle 50% and 80%"] if model is not None else []
    said += f"; bands: {', '.join(bands)}." if bands else "."
    drawn = figures.ribbon(score.values, score.low, score.high, model)
    return [Figure("overview", drawn, said, "overview", only="page")]


def _apart(run: Run) -> list[Block]:
    if not run.parts:
        return []
    calibrated = run.score == "calibrated" and run.number("model") is not None
    said = parts_said(calibrated=calibrated)
    return [Text((Chip("care", "Not comparable"), f" {said} ", _TO_QUALITY), "caveat")]


def _decisions(run: Run, table: Listing) -> list[Block]:
    """Return who is in and who is out, and which marks are doubtful."""
    says = [str(one) for one in run.decided.get("says") or ()]
    if not says:
        return []
    doubtful = [k for k, odd in enumerate(run.words("uncertain")) if odd == "True"]
    lines = list[Line](says)
    more = list[Block]()
    if doubtful:
        lines.append(
            "A question mark after a grade means that the interval of the score crosses a boundary "
            "or that no interval is claimed."
        )
        score, grades = _score(run, table.columns), run.words("grade")
        rows = [
            (_link(run, k), _alone(score, k), _interval(score, k), grades[k] if grades else "")
            for k in doubtful[:_MOST_DOUBTFUL]
        ]
        more.append(Table(("Item", score.title, "Interval", "Grade"), rows, numbers=frozenset({1})))
        if len(doubtful) > _MOST_DOUBTFUL:
            more.append(Text(f"The first {_MOST_DOUBTFUL}; all are in items.csv.", "note"))
        title = f"Doubtful marks ({len(doubtful):,})"
        more = [Group(more, "fold", title, "doubtful", only="page")]
    return [Group([Heading("Decisions"), Bullets(lines), *more], "decided", id="decisions")]


def _doubts(run: Run, table: Listing) -> list[Block]:
    """Return the least certain scores, and where annotators and model differ most."""
    score, change = _score(run, table.columns), table.column("change")
    widest = _widest(score)[:_MOST]
    if table.n < _FEWEST or not widest or "True" in run.words("uncertain"):
        return []
    judged, level = table.column("n_judgments"), run.score_interval[0] or "95%"
    rows = [
        (
            _link(run, k),
            _alone(score, k),
            _interval(score, k),
            cell_text(judged, k) if judged else "",
        )
        for k in widest
    ]
    heads = ("Item", score.title, f"{level} interval", "Judgments")
    lists = [Group([Heading("Least certain scores"), Table(heads, rows)])]
    moved = _most_moved(change) if change is not None else []
    if moved:
        model = next(column for column in table.columns if column.key == "model")
        rows = [
            (_link(run, k), _alone(model, k), _alone(score, k), _interval(score, k)) for k in moved
        ]
        heads = ("Item", "Model", "Calibrated", f"{level} interval")
        title = Heading("Where annotators and model differ most")
        lists.append(Group([title, Table(heads, rows)]))
    return [Group(lists, "ends doubts sec", id="doubtful")]


def _most_moved(change: Column) -> list[int]:
    """Return the rows of the scores that calibration changed most."""
    size = np.abs(np.nan_to_num(change.values))
    number = min(_MOST, int(np.ceil(_SHARE * len(size))))
    order = np.argsort(-size, kind="stable")[:number].tolist()
    return [k for k in order if any(digit in "123456789" for digit in cell_text(change, k))]


def _link(run: Run, k: int) -> Link:
    name = run.names[k]
    return Link(cut(name, SHORT_NAME), f"item={name}" if len(name) <= _LINKED else "results")


def _alone(column: Column, k: int) -> str:
    return cell_text(column, k, interval=False)


def _interval(column: Column, k: int) -> str:
    return cell_text(replace(column, kind="interval"), k)


def _notes(run: Run, table: Listing) -> list[Block]:
    """Say what the scores are and are not."""
    s, found = run.summary, list[str]()
    level, covers = run.score_interval
    if run.score == "calibrated" and covers:
        rest = "" if "truth" in covers else " They do not cover the truth."
        found.append(f"Intervals of calibrated scores ({level}): {covers}.{rest}")
    if run.calibrated and not run.calibrator.pools:
        explains = run.calibrator.explains
        found.append(f"Calibrated scores need not follow the order of the rows. {explains}")
    if run.score == "consensus":
        found.append(
            "Consensus scores have no unit; 0 is the average. They are what these annotators agree "
            "on, not the truth."
        )
    elif run.score != "calibrated":
        score = _score(run, table.columns)
        found.append(
            f"{score.title}: {score.hint}. Consensus scores on the scale of the fit are in "
            "items.csv. They are what these annotators agree on, not the truth."
        )
    if s.get("n_anchored"):
        found.append(
            f"The calibrated score has the unit of the {int(s['n_anchored']):,} items whose true "
            "score is known (anchors)."
        )
    if s.get("n_without_score") or s.get("n_without_judgment"):
        found.append(
            "Items without a model score get a calibrated score between those of their neighbours "
            "in the consensus; their interval is the gap that these leave, and no coverage is "
            "claimed for it. Items without a judgment get a prediction in predictions.csv."
        )
    return [Text(each, "note") for each in found]


def _matrix(run: Run) -> list[Block]:
    """Return who beat whom, where there are few enough items to read it."""
    if not has_matrix(run):
        return []
    pairs = run.comparisons["pairs"]
    arbitrary = ", which is arbitrary between components" if run.parts else ""
    said = (
        f"Rows and columns are in consensus order{arbitrary}. Above the diagonal, blue agrees with "
        "the order and orange contradicts it; larger squares: more judgments."
    )
    points = {"names": run.names, "pairs": pairs}
    shares, often = figures.shares(run.names, pairs), figures.counts(run.names, pairs)
    how_often = Figure("counts", often, "How often two items were compared.", "heat")
    blocks: list[Block] = [
        Figure("shares", shares, said, "heat", points=points),
        Group([how_often], "fold", "Number of judgments"),
    ]
    return [Group(blocks, "fold", "Who beat whom", "matrix", only="page")]


def has_matrix(run: Run) -> bool:
    """Whether it is known who met whom, of few enough items to draw it."""
    return len(run.names) in figures.MATRIX and bool(run.comparisons.get("pairs"))
