"""Render the report: plain data in, one HTML page, Markdown or JSON out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from aggcal._core.tables import Columns
from aggcal.advice.verdicts import REVERSED
from aggcal.io.writing.write import to_json
from aggcal.report import claims, contents, matrix, network, rows, terms
from aggcal.report.annotators import CROWD, AnnotatorRows
from aggcal.report.axes import STYLE
from aggcal.report.control import CAVEAT
from aggcal.report.decisions import MOST_DOUBTFUL
from aggcal.report.first_screen import facts, made
from aggcal.report.histogram import reliability_figure
from aggcal.report.markdown import markdown
from aggcal.report.page import file, grid_lines, page
from aggcal.report.parts import parts_said
from aggcal.report.report import Report
from aggcal.report.ribbon import FEWEST, ribbon
from aggcal.report.script_data import script_json


def render(
    summary: Mapping[str, Any],
    items: Columns,
    annotators: Columns,
    texts: Mapping[str, str] | None = None,
    comparisons: Mapping[str, Any] | None = None,
) -> str:
    """Return the report as one self-contained HTML page.

    The page needs no network. Its first rows and figures are plain HTML; a small script, which
    gets all rows as JSON, sorts, searches and filters them.

    Parameters
    ----------
    summary
        As in ``summary.json``.
    items, annotators
        The columns of ``items.csv`` and ``annotators.csv``.
    texts
        What items say, by their ids.
    comparisons
        As in ``comparisons.json``.

    Examples
    --------
    >>> items = {"item": np.array(["<a>"], dtype=object), "consensus": np.array([0.0])}
    >>> page = render({"version": "0", "method": "own", "n_items": 1, "n_annotators": 1,
    ...                "n_judgments": 1, "warnings": [], "converged": None}, items, {})
    >>> "&lt;a&gt;" in page, "<a>" in page
    (True, False)
    """
    return html(Report(summary, items, annotators, texts or {}, comparisons or {}))


def html(report: Report) -> str:
    """Return a report as one self-contained HTML page; see `render`."""
    from markupsafe import Markup

    shown = report.rows
    annotators = None
    if report.annotator_listing is not None:
        random = float(report.summary.get("random_reliability") or 0.0)
        annotators = AnnotatorRows(report.annotator_listing, random)
    tables = report.script_tables  # which are packed while the rest is made
    settings = script_json(_page_data(report, annotators))
    return page(
        "page.html",
        style=STYLE + file("report.css") + _grid_lines(report, annotators),
        script=file("theme.js") + file("report.js"),
        report=report,
        summary=dict(report.summary),
        rows=shown,
        static_items=_static_items(report),
        parts_said=parts_said(calibrated=report.rows.model is not None),
        annotators=annotators,
        states=rows.STATES,
        facts=facts(report),
        settings=made(report),
        said=terms.annotators_said(report.summary),
        by=report.by,
        control=report.control,
        control_caveat=CAVEAT,
        ground=report.ground,
        level_all=f"{100.0 * terms.level_of(report.summary):g}%",
        words=report.words,
        kinds=[(claims.KINDS[kind].lower(), claims.MEANS[kind]) for kind in claims.KINDS],
        judged=report.comparisons.get("judged") or [],
        most_compared=max((sum(p[2:]) for p in report.comparisons.get("pairs") or ()), default=0),
        level=report.score_interval[0] or "95%",
        covers=report.score_interval[1],
        score_name=_score_name(shown),
        decided=report.decided,
        most_doubtful=MOST_DOUBTFUL,
        # Our own texts, in which ids are escaped already.
        figures={name: Markup(svg) for name, svg in _figures(report).items()},
        tables=tables,
        page_data=Markup(settings),
    )


def _static_items(report: Report) -> list[dict[str, Any]]:
    ids = report.items["item"]
    found = []
    for row in report.rows.static:
        name = str(ids[row["k"]])
        shown = {"detail": report.details.detail(row["k"], name)}
        found.append(row | shown | {"picture": report.pictures.get(name, "")})
    return found


def _page_data(report: Report, annotators: AnnotatorRows | None) -> dict[str, Any]:
    """Return what the script needs beyond the columns."""
    return {
        "items": report.rows.settings,
        "annotators": None if annotators is None else annotators.settings,
        "words": report.words,
        "states": rows.STATES,
        "judged": report.comparisons.get("judged") or [],
        "first": report.could_be_first,
        "pairs": report.comparisons.get("pairs") or [],
    }


def _score_name(shown: rows.ItemRows) -> str:
    """Return what the scores of the chart are called."""
    if shown.score.key in ("calibrated", "consensus"):
        return f"{shown.score.key} score"
    return shown.score.title


def _grid_lines(report: Report, annotators: AnnotatorRows | None) -> str:
    """Return the lines that the rows of a chart share, as their background."""
    charts = [("#by-view td.c-chart", report.by.axis)] if report.by.views else []
    charts += [("#ground td.c-chart", report.ground.axis)] if report.ground.found else []
    rules = [grid_lines(where, [at for at, _ in axis.ticks]) for where, axis in charts]
    items = [at for at, _ in report.rows.axis.ticks]
    rules.insert(0, grid_lines(".res td.c-chart", items, report.decided.lines))
    for key, (_, axis) in (annotators.charts if annotators else {}).items():
        at = [at for at, _ in axis.ticks] if key == "reliability" else ["3", "50", "97"]
        rules.append(grid_lines(f".ann td.c-chart.{key}", at))
    return "".join(rules)


def json(report: Report) -> str:
    """Return everything that a report tells as JSON.

    Examples
    --------
    >>> items = {"item": np.array(["a"], dtype=object), "consensus": np.array([0.0])}
    >>> json(Report({"method": "own", "warnings": [], "n_items": 1, "n_annotators": 1},
    ...             items)).splitlines()[1]
    '  "title": "1 item compared by 1 annotator",'
    """
    return to_json(report.to_dict()) + "\n"


RENDERERS: dict[str, Callable[[Report], str]] = {"html": html, "md": markdown, "json": json}
"""The forms of a report, by the ending of its file."""


def _figures(report: Report) -> dict[str, str]:
    found: dict[str, str] = {}
    shown, annotators = report.rows, report.annotators
    if shown.n > FEWEST:
        model = None if shown.model is None else shown.model.values
        found["ribbon"] = ribbon(shown.score.values, shown.score.low, shown.score.high, model)
    pairs = report.comparisons.get("pairs")
    names = [str(name) for name in shown.listing.names.values] if pairs else []
    if pairs and matrix.FEWEST <= shown.n <= matrix.MOST:
        found |= {"shares": matrix.shares(names, pairs), "counts": matrix.counts(names, pairs)}
    if pairs and network.FEWEST <= shown.n <= network.MOST:
        turn = {k: at for at, k in enumerate(shown.order)}
        moved = [(turn[i], turn[j], *rest) for i, j, *rest in pairs]
        found["network"] = network.network([names[k] for k in shown.order], moved)
    if report.ground.found and (drawn := report.ground.figure):
        found["stances"] = drawn
    if annotators and not report.equal and len(annotators["annotator"]) > CROWD:
        found["reliability"] = reliability_figure(
            contents.numbers(annotators["reliability"]),
            report.summary.get("random_reliability") or 0.0,
            np.array(report.marks, dtype=object) == REVERSED,
        )
    return found
