"""Render the report: plain data in, one HTML page, Markdown or JSON out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from aggcal._core.tables import Columns
from aggcal.advice.verdicts import REVERSED
from aggcal.io.writing.write import to_json
from aggcal.report import contents
from aggcal.report.axes import STYLE
from aggcal.report.figures import calibration_figure, rank_figure, reliability_figure
from aggcal.report.markdown import markdown
from aggcal.report.report import Report
from aggcal.report.templates import environment, number


def render(
    summary: Mapping[str, Any],
    items: Columns,
    annotators: Columns,
    texts: Mapping[str, str] | None = None,
) -> str:
    """Return the report as one self-contained HTML page.

    The page needs no network. Its first rows and figures are plain HTML; a small script, which
    gets all rows as JSON, sorts and searches them.

    Parameters
    ----------
    summary
        As in ``summary.json``.
    items, annotators
        The columns of ``items.csv`` and ``annotators.csv``.
    texts
        What items say, by their ids.

    Examples
    --------
    >>> items = {"item": np.array(["<a>"], dtype=object), "consensus": np.array([0.0])}
    >>> page = render({"version": "0", "method": "own", "n_items": 1, "n_annotators": 1,
    ...                "n_judgments": 1, "warnings": [], "converged": None}, items, {})
    >>> "&lt;a&gt;" in page, "<a>" in page
    (True, False)
    """
    return html(Report(summary, items, annotators, texts or {}))


def html(report: Report) -> str:
    """Return a report as one self-contained HTML page; see `render`."""
    from markupsafe import Markup

    templates = environment("aggcal.report")
    templates.filters["number"] = number
    listings = [report.item_listing]
    if report.annotator_listing is not None:
        listings.append(report.annotator_listing)
    return templates.get_template("template.html").render(
        report=report,
        summary=dict(report.summary),
        # Our own texts, in which ids are escaped already.
        figures={name: Markup(svg) for name, svg in _figures(report).items()},
        style=Markup(STYLE),
        data={each.name: Markup(each.json) for each in listings},
        tables={each.name: each for each in listings},
    )


def json(report: Report) -> str:
    """Return everything that a report tells as JSON.

    Examples
    --------
    >>> items = {"item": np.array(["a"], dtype=object), "consensus": np.array([0.0])}
    >>> json(Report({"method": "own", "warnings": []}, items)).splitlines()[1]
    '  "summary": {'
    """
    return to_json(report.to_dict()) + "\n"


RENDERERS: dict[str, Callable[[Report], str]] = {"html": html, "md": markdown, "json": json}
"""The forms of a report, by the ending of its file."""


def _figures(report: Report) -> dict[str, str]:
    items, annotators = report.items, report.annotators
    figures: dict[str, str] = {}
    if "calibrated" in items and "model" in items:
        done = np.isfinite(items["calibrated"]) & np.isfinite(items["model"])
        if done.any():
            figures["calibration"] = calibration_figure(
                items["item"][done],
                np.flatnonzero(done) + 1,
                items["model"][done],
                items["calibrated"][done],
                (items["calibrated_low"][done], items["calibrated_high"][done])
                if "calibrated_low" in items
                else None,
            )
    if report.certainty is not None:
        columns = (contents.numbers(items[name]) for name in ("rank", "rank_low", "rank_high"))
        figures["ranks"] = rank_figure(*columns)
    if annotators and not report.equal:
        figures["reliability"] = reliability_figure(
            annotators["reliability"],
            report.summary.get("random_reliability", 0.0),
            np.array([mark == REVERSED for mark in contents.marks(report.summary, annotators)]),
        )
    return figures
