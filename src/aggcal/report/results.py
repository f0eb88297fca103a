"""The answer: every item with its rank, its score, its interval, and what was decided of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.aggregation.claims import IN, OPEN, OUT
from aggcal.aggregation.robust import Factor, Robust
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
    Pairs,
    Section,
    Table,
    Term,
    Text,
)
from aggcal.pages.numbers import SHORT_NAME, cell_text, cut, decimals_of, number_text, percent
from aggcal.registry import SCALES, WIN
from aggcal.registry.limits import MOST_DIGITS
from aggcal.report.ground import move_words
from aggcal.report.item import Details
from aggcal.report.run import Run, known_scale

USUAL_TOP = 10
"""The k that a page shows first, where there are items enough."""
STOPS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 5000, 10000)
"""The k to choose from where no probabilities are known."""
DETAILED, FIRST = 200, 100
"""Items up to which all rows open to what is known of them, and of how many of more items: the
comparisons of more would make a page heavy."""
MOST_ROWS, FEWEST_ROWS = 1200, 10
"""Rows of all categories together that a page holds, and of each at least: more make it heavy to
open, and ``categories.csv`` has them all."""
_LINKED = 200  # characters of an id above which a link leads to the table instead
_MOST_DOUBTFUL = 50  # marks that are listed: items.csv has all
_FEWEST, _MOST = 10, 10  # items from which a list of doubts is worth its room; rows of such a list
_SHARE = 0.1  # of the items, with the widest intervals, that count as least certain
_MOST_COMPONENTS = 50  # of a list to choose from: more are a study in pieces
_COMPONENTS = (
    "Each component is ranked on its own. Comparisons do not link them, so ranks and consensus "
    "scores of different components cannot be compared."
)
_CALIBRATED = (
    " Each component is calibrated by itself; how calibrated scores of different components "
    "compare comes from your scores alone."
)
_SAME = "same score"
"""What items share that calibration put at one level."""


def section(run: Run) -> Section:
    """Return the section of the results."""
    table = listing(run)
    blocks = [
        *_apart(run),
        table,
        *_decisions(run, table),
        *_about(run, table),
        *_doubts(run, table),
        *_matrix(run),
        *_by_category(run),
    ]
    return Section("results", "Results", "Results", blocks)


# The columns --------------------------------------------------------------------------------------

TITLES: dict[str, tuple[str, str]] = {
    "rank": ("Rank", "rank in the consensus, 1 = highest"),
    "calibrated": ("Calibrated", "calibrated score, in the unit of your score"),
    "model": ("Your score", "the score that was calibrated"),
    "change": ("Change", "calibrated minus your score"),
    "consensus": ("Consensus", "consensus score; no unit, 0 = average"),
    "consensus_se": ("± error", "standard error of the consensus score"),
    "n_judgments": ("Judgments", "comparisons that the item was in"),
    "win_rate": ("Win rate", "share of its comparisons that the item won; a tie counts one half"),
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
        "Position on the axis",
        "on the axis of disagreement: end A puts items below 0 higher, end B those above",
    ),
    "rank_upper_bound": (
        "Upper rank bound",
        "best rank that the intervals leave: 1 + the items whose interval is above",
    ),
    "rank_lower_bound": ("Lower rank bound", "worst rank that the intervals leave"),
    "p_top_k": ("P(top k)", "probability of being among the first k, for the k that was asked for"),
    "p_above": ("P(above)", "probability of a score above the cut"),
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
    number = partial(_number, run, _decimals(run))
    score = number(run.score, "num c-score", "Score" if run.score == "consensus" else "")[0]
    model = run.number("model") if run.score == "calibrated" else None
    rank = number("rank", "c-rank")
    found = [*rank, *(_likely(each) for each in rank if each.low is not None)]
    found.append(Column("item", "Item", "name", run.names, style="c-item", up=True))
    found += [_chart(run, score, model), score]
    if (block := _blocks(run)) is not None:
        title = _SAME.capitalize()
        found.append(Column("block", title, "tied", block, word=_SAME, style="c-tied"))
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


def _number(
    run: Run, decimals: dict[str, int | None], key: str, style: str = "num x", title: str = ""
) -> list[Column]:
    """Return a column of numbers with its interval; nothing where no number is known."""
    if (values := run.number(key)) is None:
        return []
    times = 100.0 if key in _SHARES else 1.0
    named, means = TITLES[key]
    if key == "model":
        named = run.scored[:1].upper() + run.scored[1:] if " " in run.scored else run.scored
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


def _likely(rank: Column) -> Column:
    """Return the intervals of a column of ranks as a column of their own."""
    word = "likely ranks"
    return replace(
        rank, key="ranks", title=word.capitalize(), kind="interval", word=word, hint="",
        style="c-ranks",
    )  # fmt: skip


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
    """Return the chart: the score as a dot with its interval, the user's hollow, blocks joined."""
    named = score.key if score.key in ("calibrated", "consensus") else score.title
    word = "calibrated score" if score.key == "calibrated" else "consensus"
    legend = [["dot", named, word]]
    marks: dict[str, Any] = {"dot": score.key, "legend": legend}
    if model is not None:
        marks |= {"hollow": "model", "block": "block"}
        legend.insert(0, ["hollow", run.scored, "your score"])
    if score.low is not None:
        legend.append(["line", f"{run.score_interval[0] or '95%'} interval", "interval"])
    cut_at, grades = run.decided.get("cut"), run.decided.get("grades") or ()
    times = 100.0 if score.unit else 1.0
    lines, said = [], []
    if isinstance(cut_at, int | float):
        lines.append(times * float(cut_at))
        said.append(f"cut {number_text(times * float(cut_at), None)}")
    if grades:
        drawn = [each for each in (score.values, score.low, score.high, model) if each is not None]
        low, high = np.nanmin(np.concatenate(drawn)), np.nanmax(np.concatenate(drawn))
        lines += [times * float(each) for each in grades if low <= times * float(each) <= high]
        said.append(count(len(grades), "grade boundary", "grade boundaries"))
    if said:
        legend.append(["cut", " and ".join(said), ""])
        marks["lines"] = lines
    if _blocks(run) is not None:
        legend.append(["join", _SAME, ""])
    return Column("chart", "", "chart", marks=marks, style="c-chart")


def _blocks(run: Run) -> FloatArray | None:
    """Return the blocks of items that share a score; None where each item has its own."""
    block = run.number("block")
    if block is None:
        return None
    known = block[np.isfinite(block)]
    return block if len(np.unique(known)) < len(known) else None


def _asked(run: Run, number: partial[list[Column]]) -> list[Column]:
    """Return the columns of decisions that no other column shows."""
    top, cut_at = run.decided.get("top", "k"), run.decided.get("cut")
    above = (
        f"P(above {number_text(float(cut_at), None)})" if isinstance(cut_at, int | float) else ""
    )
    # Where there is a probability for every k, a column of its own shows it.
    found = [] if run.comparisons.get("top") else number("p_top_k", "num asked", f"P(top {top})")
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
        shown.insert(place, Column("chance", "P(top k)", "chance", style="num c-chance"))
    parts = {str(part.label): [f"Component {part.label}", part.says] for part in run.parts}
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
        found.append({"label": "Shares its score", "column": "block", "tied": True})
    if len(run.names) >= _FEWEST and (widest_rows := _widest(_score(run, shown))):
        found.append({"label": "Widest intervals (a tenth)", "rows": widest_rows})
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


def _apart(run: Run) -> list[Block]:
    if not run.parts:
        return []
    said = _COMPONENTS
    if run.score == "calibrated" and run.number("model") is not None:
        said += _CALIBRATED
    link = Link("What to do", "quality")
    return [Text((Chip("care", "Not comparable"), f" {said} ", link), "caveat")]


def _decisions(run: Run, table: Listing) -> list[Block]:
    """Return who is in and who is out, and which marks are doubtful."""
    says = [str(one) for one in run.decided.get("says") or ()]
    if not says:
        return []
    doubtful = [k for k, odd in enumerate(run.words("uncertain")) if odd == "True"]
    more, lines = list[Block](), list[Line](says)
    if doubtful:
        lines.append(
            "A question mark after a grade means that the interval of the score crosses a boundary "
            "or that no interval is claimed."
        )
        rows = doubtful[:_MOST_DOUBTFUL]
        more.append(_short(run, table, rows, (run.score, "interval", "grade")))
        if len(doubtful) > len(rows):
            more.append(Text(f"The first {len(rows)}; all are in items.csv.", "note"))
        title = f"Doubtful marks ({len(doubtful):,})"
        more = [Group(more, "fold", title, "doubtful", only="page")]
    return [Group([Heading("Decisions"), Bullets(lines), *more], "decided", id="decisions")]


def _short(run: Run, table: Listing, rows: Sequence[int], keys: Sequence[str]) -> Table:
    """Return some rows and columns of the table; ``interval`` is that of the scores."""
    known = {each.key: each for each in table.columns}
    score = known[run.score]
    level = run.score_interval[0] or "95%"
    known["interval"] = replace(score, key="interval", title=f"{level} interval", kind="interval")
    grades = run.words("grade") or [""] * table.n
    shown = [known[key] for key in keys if key in known and key != "grade"]
    heads = ["Item", *(each.title for each in shown), *["Grade" for key in keys if key == "grade"]]

    def row(k: int) -> tuple[Line, ...]:
        name = run.names[k]
        to = f"item={name}" if len(name) <= _LINKED else "results"
        cells = [cell_text(each, k, interval=False) for each in shown]
        return (Link(cut(name, SHORT_NAME), to), *cells, *([grades[k]] if "grade" in keys else []))

    return Table(heads, [row(k) for k in rows], numbers=frozenset(range(1, len(shown) + 1)))


def _about(run: Run, table: Listing) -> list[Block]:
    """Return the main numbers, what the scores are and are not, and how sure that is."""
    facts = Pairs(list(_facts(run)), "facts")
    notes = Bullets(list(_notes(run, table)), "notes")
    return [Group([*([facts] if facts.pairs else []), *([notes] if notes.lines else [])], "about")]


def _facts(run: Run) -> Iterator[tuple[Line, Line]]:
    low, high = (run.number(key) for key in ("rank_low", "rank_high"))
    if run.parts:
        sizes = [f"{len(part.rows):,}" for part in run.parts[:5]]
        rest = ", ..." if len(run.parts) > len(sizes) else f" and {sizes.pop()}"
        yield "Components", f"{', '.join(sizes)}{rest} items"
    elif low is not None and high is not None:
        wide = (high - low + 1)[np.isfinite(high - low)]
        said = f"{int(np.median(wide)):,} of {len(wide):,} ranks (median)"
        yield Term("likely ranks", "Typical likely ranks"), said
    known = ((run.summary.get("check") or {}).get("precision") or {}).get("right_order")
    if known is not None and not run.parts:
        yield "Pairs in the right order", f"{percent(int(100.0 * float(known)) / 100.0)} expected"
    keys = ("certified", "pairs", "share")
    certified, pairs, share = (run.claimed("certified_pairs", key) for key in keys)
    if certified is not None:
        said = f"{certified:,} of {pairs:,} ({percent(float(share))})"
        yield Term("certified pair", "Pairs told apart"), said
    model, calibrated = run.number("model"), run.number("calibrated")
    if model is not None and calibrated is not None:
        shift = calibrated - model
        tiny = 1e-9 * max(1e-300, float(np.nanmax(np.abs(model))))
        up, down = int((shift > tiny).sum()), int((shift < -tiny).sum())
        said = f"by {run.summary['shift_rms']:,.3g} (RMS); {up:,} up, {down:,} down"
        yield Term("calibrated score", "Scores changed"), said


def _notes(run: Run, table: Listing) -> Iterator[Line]:
    """Say what the scores are and are not, and by how much their errors are widened."""
    s, (level, covers) = run.summary, run.score_interval
    factors = (s.get("uncertainty") or {}).get("factors") or ()
    robust = Robust(tuple(Factor(**each) for each in factors))
    if robust.widest is not None:
        yield str(robust)
    agreed = "what these annotators agree on, not the truth"
    if run.score == "calibrated" and covers:
        rest = "" if "truth" in covers else " only; they do not cover the truth"
        yield f"{level} intervals of calibrated scores: {covers}{rest}."
    elif run.score == "consensus":
        yield f"Consensus scores have no unit; 0 is the average. They are {agreed}."
    elif run.score != "calibrated":
        score = _score(run, table.columns)
        yield (
            f"{score.title}: {score.hint}. They are {agreed}. Scores on the scale of the fit are "
            "in items.csv."
        )
    if table.top is not None and "percent" in table.top:
        yield (
            "P(top k) and likely ranks are probabilities under the model. In, open and out are "
            "claims, which hold at the stated confidence whatever the true scores."
        )
    if run.calibrated and not run.calibrator.pools:
        explains = run.calibrator.explains
        yield f"Calibrated scores need not follow the order of the rows. {explains}"
    if s.get("n_anchored"):
        yield (
            f"The calibrated score has the unit of the {int(s['n_anchored']):,} items whose true "
            "score is known (anchors)."
        )
    if s.get("n_without_score") or s.get("n_without_judgment"):
        yield (
            "Items without a score get a calibrated score between those of their neighbours in the "
            "consensus; their interval is the gap that these leave, and no coverage is claimed for "
            "it. Items without a judgment get a prediction in predictions.csv."
        )


def _doubts(run: Run, table: Listing) -> list[Block]:
    """Return the least certain scores, and where annotators and the user's scores differ most."""
    score, change = _score(run, table.columns), table.column("change")
    widest_rows = _widest(score)[:_MOST]
    if table.n < _FEWEST or not widest_rows or "True" in run.words("uncertain"):
        return []
    least = _short(run, table, widest_rows, (score.key, "interval", "n_judgments"))
    lists = [Group([Heading("Least certain scores"), least])]
    if change is not None:
        size = np.abs(np.nan_to_num(change.values))
        number = min(_MOST, int(np.ceil(_SHARE * len(size))))
        order = np.argsort(-size, kind="stable")[:number].tolist()
        moved = [k for k in order if any(digit in "123456789" for digit in cell_text(change, k))]
        if moved:
            title = Heading(f"Where annotators and {run.scored} differ most")
            rows = _short(run, table, moved, ("model", score.key, "interval"))
            lists.append(Group([title, rows]))
    return [Group(lists, "ends doubts sec", id="doubtful")]


def _matrix(run: Run) -> list[Block]:
    """Return who beat whom, where there are few enough items to read it."""
    if not run.has_matrix:
        return []
    pairs = run.comparisons["pairs"]
    arbitrary = ", which is arbitrary between components" if run.parts else ""
    said = (
        f"Rows and columns are in consensus order{arbitrary}. Above the diagonal, blue agrees with "
        "the order and orange contradicts it; larger squares: more judgments."
    )
    points = {"names": run.names, "pairs": pairs}
    drawn = figures.matrix(run.names, pairs)
    figure = Figure("shares", drawn, said, "heat", points=points)
    return [Group([figure], "fold", "Who beat whom", "matrix", only="page")]


# By category --------------------------------------------------------------------------------------


def _by_category(run: Run) -> list[Block]:
    """Return the order of each category beside the overall ranks, as one table.

    Examples
    --------
    >>> table = {"column": np.array(["topic"] * 2, dtype=object),
    ...          "category": np.array(["art"] * 2, dtype=object),
    ...          "item": np.array(["a", "b"], dtype=object), "score": np.array([0.5, 0.1]),
    ...          "rank": np.array([1, 2]), "n_judgments": np.array([9, 9])}
    >>> items = {"item": np.array(["b", "a"], dtype=object), "rank": np.array([1, 2])}
    >>> order = _by_category(Run({}, items, categories=table))[0].blocks[2]
    >>> order.groups["titles"], order.column("move").values
    ({'topic: art': ['topic: art', '9 judgments']}, ['up 1', 'down 1'])
    """
    table = run.categories
    if not table:
        return []
    pairs = zip(table["column"], table["category"], strict=True)
    labels = [cut(f"{column}: {category}") for column, category in pairs]
    seen, rows = dict.fromkeys(labels, 0), list[int]()
    limit = max(FEWEST_ROWS, MOST_ROWS // len(seen))
    for k, label in enumerate(labels):
        seen[label] += 1
        rows += [k] if seen[label] <= limit else []
    scale = known_scale(table)
    key, ends = ("score", ("low", "high")) if scale is None else (
        scale.column, (f"{scale.column}_low", f"{scale.column}_high")
    )  # fmt: skip
    times = 100.0 if scale is not None and scale.name == WIN.name else 1.0

    def of(name: str, times: float = 1.0) -> Any:
        column = table.get(name)
        return None if column is None else times * np.asarray(column, dtype=np.float64)[rows]

    score, low, high = (of(name, times) for name in (key, *ends))
    overall = dict(zip(run.names, np.asarray(run.items["rank"], dtype=np.float64), strict=True))
    names = [str(table["item"][k]) for k in rows]
    was, ranks = np.array([overall.get(name, np.nan) for name in names]), of("rank")
    moved = zip(was, ranks, strict=True)
    legend = [["dot", "score in this category", ""]]
    legend += [] if low is None else [["line", f"{100.0 * run.level:g}% interval", "interval"]]
    title = "Score" if scale is None else scale.title
    rank = Column("rank", "Rank", "number", ranks, of("rank_low"), of("rank_high"), style="c-rank")
    columns = [
        Column("category", "Category", "word", [labels[k] for k in rows], style="c-category"),
        replace(rank, up=True),
        *([] if rank.low is None else [_likely(rank)]),
        Column("item", "Item", "name", names, style="c-item", up=True, to="item"),
        Column("chart", "", "chart", marks={"dot": "score", "legend": legend}, style="c-chart"),
        Column("score", title, "number", score, low, high, decimals_of(score, low, high),
               style="num c-score"),
        Column("overall", "Overall rank", values=was, style="num c-n"),
        Column("move", "Against overall", "word",
               ["" if np.isnan(a) else move_words(a - b) for a, b in moved],
               style="num c-against"),
    ]  # fmt: skip
    given = dict(zip(labels, table.get("n_judgments", np.zeros(len(labels))), strict=True))
    titles = {label: [label, f"{float(number):,.10g} judgments"] for label, number in given.items()}
    order = Listing(
        "by-category", "item", "Items by category", columns, "rank", style="res by-table",
        file="categories.csv", groups={"column": "category", "titles": titles},
    )  # fmt: skip
    said = "An item with few judgments in a category is drawn towards its overall score."
    if len(rows) < len(labels):
        said += f" Shown: the first {limit:,} items of each category; categories.csv has all."
    return [Group([Heading("By category", 2), Text(said, "lede"), order], "sec", id="by-view")]
