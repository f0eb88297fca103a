"""Render the report: plain data in, one HTML page out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aggcal.report.axes import STYLE
from aggcal.report.figures import calibration_figure, reliability_figure
from aggcal.report.templates import environment
from aggcal.tables import Columns

MOST_ROWS = 1000
"""Longer tables are cut in the page (the CSV files hold everything)."""


def render(summary: Mapping[str, Any], items: Columns, annotators: Columns) -> str:
    """Return the report as one self-contained HTML page.

    Parameters
    ----------
    summary
        As in ``summary.json``.
    items, annotators
        The columns of ``items.csv`` and ``annotators.csv``.

    Examples
    --------
    >>> items = {"item": np.array(["<a>"], dtype=object), "consensus": np.array([0.0])}
    >>> page = render({"version": "0", "method": "own", "n_items": 1, "n_annotators": 1,
    ...                "n_judgments": 1, "warnings": [], "converged": None}, items, {})
    >>> "&lt;a&gt;" in page, "<a>" in page
    (True, False)
    """
    from markupsafe import Markup

    templates = environment("aggcal.report")
    templates.filters["number"] = _number
    figures: dict[str, Markup] = {}
    if "calibrated" in items:
        done = np.isfinite(items["calibrated"])
        if done.any():
            svg = calibration_figure(
                items["item"][done],
                np.flatnonzero(done) + 1,
                items["model"][done],
                items["calibrated"][done],
                (items["calibrated_low"][done], items["calibrated_high"][done])
                if "calibrated_low" in items
                else None,
            )
            figures["calibration"] = Markup(svg)  # ids are escaped in the figure
    if annotators:
        figures["reliability"] = Markup(
            reliability_figure(annotators["reliability"], summary.get("random_reliability", 0.0))
        )
    return templates.get_template("template.html").render(
        summary=dict(summary),
        figures=figures,
        items=_rows(items),
        n_items=len(items["item"]),
        annotators=_rows(annotators),
        n_annotators=len(annotators["annotator"]) if annotators else 0,
        style=Markup(STYLE),  # our own text
        most=MOST_ROWS,
    )


def _rows(columns: Columns) -> list[dict[str, Any]]:
    names = list(columns)
    cut = [column[:MOST_ROWS].tolist() for column in columns.values()]
    return [dict(zip(names, row, strict=True)) for row in zip(*cut, strict=True)]


def _number(value: Any, digits: int = 4) -> str:
    """Write a number for people; a dash for what is not there."""
    if value is None or value != value:  # noqa: PLR0124  # NaN
        return "–"  # an en dash, for people
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.{digits}g}" if abs(value) < 1e6 else f"{value:,.0f}"  # noqa: PLR2004
    return str(value)
