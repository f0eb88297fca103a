"""The page where every published number stands beside ours, as HTML and as Markdown."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from aggcal import __version__
from aggcal.experiments.answers import Answer, answers
from aggcal.experiments.cells import Cell
from aggcal.experiments.result import Result

TITLES = {
    "reading-level": "Table 1: Reading Level",
    "scaled": "The scaled consensus (Reading Level)",
    "dots": "Table 3: Dots",
}
_METRICS = ("tau_a", "tau_b", "spearman", "wasserstein", "ks", "mse")
_ABSENT = (
    ("Figure 1, the framework", "a drawing, not an experiment; README has a picture of the idea"),
    (
        "the KL columns of Tables 1 and 3",
        (
            "a sum of p·log(p/q + 1e-5) over two different grids without their spacing is not a KL "
            "divergence; aggcal evaluate has a true one"
        ),
    ),
)


def render(results: Mapping[str, Result], *, quick: bool) -> tuple[str, str]:
    """Return the page as HTML and as Markdown."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    cells = [cell for result in results.values() for cell in result.cells]
    context: dict[str, Any] = {
        "version": __version__,
        "quick": quick,
        "tables": [
            table(cells, name) for name in TITLES if any(c.experiment == name for c in cells)
        ],
        "counts": summary(cells),
        "answers": answers(results),
        "reasons": reasons(cells),
        "absent": [*_ABSENT, *_missing(results)],
        "facts": {name: result.facts for name, result in results.items()},
        "pictures": {
            name: b64encode(png).decode()
            for result in results.values()
            for name, png in result.pictures.items()
        },
        "figures": {
            name: Markup(svg)  # our own, ids escaped where it is drawn
            for result in results.values()
            for name, svg in result.figures.items()
        },
    }
    environment = Environment(
        loader=PackageLoader("aggcal.experiments", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template("page.html").render(context)
    return page, _markdown(context)


def table(cells: Iterable[Cell], experiment: str) -> dict[str, Any]:
    """Arrange the cells of an experiment by method and metric: consensus / model / calibrated."""
    mine = [c for c in cells if c.experiment == experiment]
    methods = list(dict.fromkeys(c.method for c in mine))
    metrics = [m for m in _METRICS if any(c.metric == m for c in mine)]
    rows = []
    for method in methods:
        for kind in ("published", "recipe", "fitted"):
            row = [_cell(mine, method, metric, kind) for metric in metrics]
            if any(row):
                rows.append({"method": method, "kind": kind, "cells": row})
    vectors = list(dict.fromkeys(c.vector for c in mine))
    return {
        "title": TITLES[experiment],
        "experiment": experiment,
        "metrics": metrics,
        "vectors": vectors,
        "rows": rows,
    }


def _cell(cells: list[Cell], method: str, metric: str, kind: str) -> str:
    mine = [c for c in cells if (c.method, c.metric) == (method, metric)]
    if kind == "published":
        first = {c.vector: c.published for c in mine}
        if all(value is None for value in first.values()):
            return ""
        return " / ".join("–" if v is None else _short(v) for v in first.values())
    return " / ".join(_short(c.ours) for c in mine if c.kind == kind)


def _short(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10.0 else f"{value:.2f}"  # noqa: PLR2004


def summary(cells: Iterable[Cell]) -> list[dict[str, Any]]:
    """Count reproduced cells by experiment and vector, for the recipe."""
    counted: Counter[tuple[str, str, str]] = Counter()
    for cell in cells:
        if cell.published is not None and cell.kind == "recipe":
            counted[cell.experiment, cell.vector, cell.status] += 1
    return [
        {
            "experiment": experiment,
            "vector": vector,
            "reproduced": counted[experiment, vector, "reproduced"],
            "all": counted[experiment, vector, "reproduced"]
            + counted[experiment, vector, "differs"],
        }
        for experiment, vector in dict.fromkeys((e, v) for e, v, _ in counted)
    ]


def reasons(cells: Iterable[Cell]) -> list[dict[str, Any]]:
    """List the published cells that the recipe does not give, by reason."""
    grouped: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        if cell.status == "differs" and cell.kind == "recipe":
            grouped.setdefault((cell.experiment, cell.method, cell.note), []).append(cell)
    return [
        {
            "experiment": experiment,
            "method": method,
            "note": note or "no reason found",
            "cells": ", ".join(
                f"{c.metric} of {c.vector}: {_short(c.published or 0.0)} printed, "
                f"{_short(c.ours)} ours"
                for c in group
            ),
        }
        for (experiment, method, note), group in grouped.items()
    ]


def _missing(results: Mapping[str, Result]) -> list[tuple[str, str]]:
    found = []
    dots = results.get("dots")
    if dots is not None and "no_pictures" in dots.facts:
        found.append(
            ("the radar charts and the model's cells of Table 3", dots.facts["no_pictures"])
        )
    if dots is not None and not dots.facts.get("uncentred_mse"):
        found.append(("GPPL, Rank-SVM and BARCW", "their extra is not installed"))
    return found


def _markdown(context: Mapping[str, Any]) -> str:
    lines = ["# The paper, reproduced", ""]
    for part in context["tables"]:
        lines += [f"## {part['title']}", "", f"Each cell: {' / '.join(part['vectors'])}.", ""]
        lines.append("| method | | " + " | ".join(part["metrics"]) + " |")
        lines.append("|---" * (len(part["metrics"]) + 2) + "|")
        for row in part["rows"]:
            lines.append(f"| {row['method']} | {row['kind']} | " + " | ".join(row["cells"]) + " |")
        lines.append("")
    lines += ["## The questions", ""]
    every: list[Answer] = context["answers"]
    for answer in every:
        lines += [f"**{answer.question}** The paper: {answer.paper}", "", answer.text, ""]
    lines += ["## Where the published recipe gives other numbers", ""]
    for reason in context["reasons"]:
        lines.append(
            f"- {reason['experiment']}, {reason['method']}: {reason['note']} ({reason['cells']})"
        )
    lines += ["", "## Not here", ""]
    lines += [f"- {what}: {why}." for what, why in context["absent"]]
    return "\n".join(lines) + "\n"
