"""The page where every published number stands beside ours, as HTML and as Markdown."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from typing import Any

from aggcal._version import __version__
from aggcal.pages.figures import STYLE
from aggcal.paper.answers import answers, number
from aggcal.paper.cells import METRICS, Cell
from aggcal.paper.dots import UNCENTRED
from aggcal.paper.published import DOTS_BASELINES, NAMES
from aggcal.paper.result import Result
from aggcal.paper.words import absent, concordance, done_otherwise
from aggcal.report.templates import environment

TITLES = {
    "reading-level": "Table 1: Reading Level",
    "scaled": "Table 3: the scaled consensus (Reading Level)",
    "dots": "Tables 2 and 4: Dots, all centred",
    "dots" + UNCENTRED: "Tables 2 and 4: Dots, nothing centred",
}
"""The tables by experiment, with the paper's numbers for them."""

SYMBOLS = {"scaled": "s*scaled", "consensus": "s*", "model": "s_p", "calibrated": "ŝ"}
"""What the paper calls each vector."""

FIGURES = {
    "violin": "Violins of Reading Level (Figures 2 and 8)",
    "rq3": "Errors of the ranking (Figure 3, and against the truth)",
    "radar": "Radar charts of Dots (Figures 5 to 7 and 9 to 12)",
}
"""The figures by the beginning of their names."""

MARKS = {"differs": "≠", "not comparable": "°"}
"""What stands behind a number that is not reproduced."""

_MANY = 6  # cells: of more only the places are named


def render(results: Sequence[Result], *, quick: bool) -> tuple[str, str]:
    """Return the page as HTML and as Markdown."""
    from markupsafe import Markup

    cells = [cell for result in results for cell in result.cells]
    figures = {name: svg for result in results for name, svg in result.figures.items()}
    context: dict[str, Any] = {
        "version": __version__,
        "quick": quick,
        "tables": tables(cells),
        "counts": summary(cells),
        "words": _named(words()),
        "reasons": reasons(cells),
        "blocks": _named(block for result in results for block in result.blocks),
        "pictures": {
            name: b64encode(png).decode()
            for result in results
            for name, png in result.pictures.items()
        },
        "figures": {
            title: {
                # Our own, what is written in it escaped where it is drawn.
                name: Markup(svg)
                for name, svg in figures.items()
                if name.startswith(kind)
            }
            for kind, title in FIGURES.items()
        },
        "style": Markup(STYLE),
    }
    templates = environment("aggcal.paper")
    page = templates.get_template("page.html").render(context)
    # Markdown is text: nothing is escaped in it.
    plain = templates.overlay(autoescape=False)
    return page, plain.get_template("page.md").render(context)


def _named(blocks: Iterable[Block]) -> list[tuple[str, Block]]:
    return [(type(block).__name__, block) for block in blocks]


def tables(cells: Iterable[Cell]) -> list[dict[str, Any]]:
    """Arrange the cells of each table by method and metric."""
    found = []
    every = list(cells)
    for name, title in TITLES.items():
        experiment, shifted, _ = name.partition(UNCENTRED)
        metrics = [m + shifted for m in METRICS]
        mine = [c for c in every if c.experiment == experiment and c.metric in metrics]
        if mine:
            found.append(_table(name, title, mine, metrics))
    return found


def _table(name: str, title: str, cells: list[Cell], metrics: list[str]) -> dict[str, Any]:
    shown = [m for m in metrics if any(c.metric == m for c in cells)]
    rows = []
    for method in dict.fromkeys(c.method for c in cells):
        for kind in ("published", "recipe", "fitted"):
            row = [
                _entries([c for c in cells if (c.method, c.metric) == (method, metric)], kind)
                for metric in shown
            ]
            if any(row):
                rows.append({"method": NAMES[method], "kind": kind, "cells": row})
    vectors = list(dict.fromkeys(c.vector for c in cells))
    return {
        "name": name,
        "title": title,
        "metrics": [m.removesuffix(UNCENTRED).replace("_", "-") for m in shown],
        "vectors": [f"{vector} ({SYMBOLS[vector]})" for vector in vectors],
        "rows": rows,
    }


def _entries(cells: list[Cell], kind: str) -> list[dict[str, str]]:
    """Return the numbers of one place of a table, each with its mark and its reason."""
    if kind == "published":
        # Both kinds have the printed number: the first cell of each vector is enough.
        first = {c.vector: c for c in reversed(cells)}
        ordered = [first[v] for v in dict.fromkeys(c.vector for c in cells)]
        if all(c.published is None for c in ordered):
            return []
        return [{"text": _printed(c), "mark": "", "note": ""} for c in ordered]
    return [
        {
            "text": number(c.ours),
            "mark": MARKS.get(c.status, "") if _judged(c) else "",
            "note": c.note if _judged(c) and c.status in MARKS else "",
        }
        for c in cells
        if c.kind == kind
    ]


def _printed(cell: Cell) -> str:
    return cell.printed or "–"  # as in the paper


def _judged(cell: Cell) -> bool:
    """Tell whether a cell is meant to give the printed number: the paper has no other recipe."""
    return cell.kind == "recipe" or cell.method in BASELINES


def summary(cells: Iterable[Cell]) -> list[dict[str, Any]]:
    """Count what became of the printed cells, by table and vector."""
    counted: dict[tuple[str, str], dict[str, int]] = {}
    for cell in cells:
        if cell.published is None or not _judged(cell):
            continue
        place = cell.experiment + (UNCENTRED if cell.metric.endswith(UNCENTRED) else "")
        group = "baselines" if cell.method in BASELINES else cell.vector
        row = counted.setdefault((place, group), {})
        row[cell.status] = row.get(cell.status, 0) + 1
    return [
        {"table": TITLES[place], "vector": group, "all": sum(row.values())}
        | {status: row.get(status, 0) for status in ("reproduced", *MARKS)}
        for (place, group), row in counted.items()
    ]


def reasons(cells: Iterable[Cell]) -> list[dict[str, Any]]:
    """List the printed cells that are not reproduced, by reason."""
    grouped: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        if cell.status in MARKS and _judged(cell):
            grouped.setdefault((cell.experiment, cell.status, cell.note), []).append(cell)
    return [
        {
            "experiment": experiment,
            "status": status,
            "methods": ", ".join(dict.fromkeys(NAMES[c.method] for c in group)),
            "note": note or "no reason found",
            "number": len(group),
            "cells": _listed(group),
        }
        for (experiment, status, note), group in grouped.items()
    ]


def _listed(group: list[Cell]) -> str:
    """Name cells: with both numbers, or many of them only by their place."""
    if len(group) > _MANY:
        return ", ".join(dict.fromkeys(_place(c) for c in group))
    several = len({c.method for c in group}) > 1
    return "; ".join(
        (f"{NAMES[c.method]}, " if several else "")
        + f"{_place(c)}: {_printed(c)} printed, {number(c.ours)} ours"
        for c in group
    )


def _place(cell: Cell) -> str:
    metric = cell.metric.removesuffix(UNCENTRED).replace("_", "-")
    return f"{metric} of {cell.vector}" + (", uncentred" if cell.metric.endswith(UNCENTRED) else "")
