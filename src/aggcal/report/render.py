"""Render the report: plain data in, one HTML page out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aggcal.report import commands, contents
from aggcal.report.axes import STYLE
from aggcal.report.figures import calibration_figure, rank_figure, reliability_figure
from aggcal.report.templates import environment
from aggcal.tables import Columns


def render(summary: Mapping[str, Any], items: Columns, annotators: Columns) -> str:
    """Return the report as one self-contained HTML page.

    The page needs no network. Its first rows and figures are plain HTML; a small script, which
    gets all rows as JSON, sorts and searches them.

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
    listings = [contents.item_listing(items)]
    if annotators:
        listings.append(contents.annotator_listing(summary, annotators))
    return templates.get_template("template.html").render(
        summary=dict(summary),
        # Our own texts, in which ids are escaped already.
        figures={name: Markup(svg) for name, svg in _figures(summary, items, annotators).items()},
        style=Markup(STYLE),
        data={each.name: Markup(each.json) for each in listings},
        tables={each.name: each for each in listings},
        changes=contents.changes(items),
        certainty=contents.certainty(items),
        coverage=contents.coverage(items),
        verdicts=contents.marks(summary, annotators) if annotators else [],
        files=commands.files(summary),
        again=commands.again(summary),
        equal=summary["method"] in contents.EQUAL_ANNOTATORS,
    )


def _figures(summary: Mapping[str, Any], items: Columns, annotators: Columns) -> dict[str, str]:
    figures: dict[str, str] = {}
    if "calibrated" in items:
        done = np.isfinite(items["calibrated"])
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
    if contents.certainty(items) is not None:
        columns = (contents.numbers(items[name]) for name in ("rank", "rank_low", "rank_high"))
        figures["ranks"] = rank_figure(*columns)
    if annotators and summary["method"] not in contents.EQUAL_ANNOTATORS:
        figures["reliability"] = reliability_figure(
            annotators["reliability"], summary.get("random_reliability", 0.0)
        )
    return figures


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
