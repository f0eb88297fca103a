"""Dots at every level of corruption: the radar charts, and rankings against ratings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.tables import Columns
from aggcal.calibration.atc import project
from aggcal.metrics import compare, kendall
from aggcal.paper.pictures import CLEAN, CORRUPTIONS
from aggcal.paper.plots import radar
from aggcal.paper.published import NAMES
from aggcal.paper.result import Result

ModelScores = dict[tuple[str, float], FloatArray]
"""For each corruption and level, the model's score of each item."""

SERIES = {"model": "model", "consensus": "consensus", "rank": "by rank", "rate": "by rate"}
"""What a radar chart shows: the paper's s_p, s*, ŝ (Rank) and ŝ (Rate)."""

_SHOWN = ("tau_a", "tau_b", "spearman", "wasserstein", "mse")
_LOWER_IS_BETTER = ("wasserstein", "mse")


def at_every_level(
    result: Result,
    truth: FloatArray,
    orders: Mapping[str, FloatArray],
    rating: FloatArray,
    model: ModelScores,
) -> None:
    """Calibrate by each ranking and by the mean rating, at every level; draw the radar charts."""
    rows: list[dict[str, Any]] = []
    alone = {
        place: {
            "model": compare(scores, truth, centred=True),
            "rate": compare(project(rating, scores)[0], truth, centred=True),
        }
        for place, scores in model.items()
    }
    for method, consensus in orders.items():
        own = compare(consensus, truth, centred=True)
        for (corruption, level), scores in model.items():
            found = {
                "model": alone[corruption, level]["model"],
                "consensus": own,
                "rank": compare(project(consensus, scores)[0], truth, centred=True),
                "rate": alone[corruption, level]["rate"],
            }
            place = {"method": method, "corruption": corruption, "level": level}
            rows.append(place | {"found": found})
    for method in orders:
        for corruption in CORRUPTIONS:
            mine = [r for r in rows if (r["method"], r["corruption"]) == (method, corruption)]
            kind = corruption.lower().replace("_", " ")
            result.figures[f"radar-{method}-{corruption.lower()}"] = radar(
                f"{NAMES[method]}, {kind}",
                [f"{row['level']:g}" for row in mine],
                {
                    label: [row["found"][name]["tau_b"] for row in mine]
                    for name, label in SERIES.items()
                },
            )
    result.tables["levels"] = _columns(rows)
    damaged = [row for row in rows if row["corruption"] != CLEAN]
    result.facts["tallies"] = {method: _tally(damaged, method) for method in orders}
    result.facts["levels"] = _by_level(rows)


def _columns(rows: list[dict[str, Any]]) -> Columns:
    flat = [
        (row["method"], row["corruption"], row["level"], name, *(values[m] for m in _SHOWN))
        for row in rows
        for name, values in row["found"].items()
    ]
    names = ("method", "corruption", "level", "vector", *_SHOWN)
    text = ("method", "corruption", "vector")
    return {
        name: np.array(column, dtype=object if name in text else np.float64)
        for name, column in zip(names, zip(*flat, strict=True), strict=True)
    }


def _tally(rows: list[dict[str, Any]], method: str) -> dict[str, Any]:
    """Count the levels at which calibration by rank is better than something else."""
    mine = [row["found"] for row in rows if row["method"] == method]

    def better(metric: str, than: str) -> int:
        sign = -1.0 if metric in _LOWER_IS_BETTER else 1.0
        return sum(sign * (f["rank"][metric] - f[than][metric]) > 0.0 for f in mine)

    lost = [f["model"] for f in mine if f["rank"]["tau_b"] <= f["model"]["tau_b"]]
    return {
        "levels": len(mine),
        "rate": {metric: better(metric, "rate") for metric in _SHOWN},
        "model": {metric: better(metric, "model") for metric in _SHOWN},
        "consensus": mine[0]["consensus"]["tau_b"],
        "tau_b_where_worse": sorted(f["tau_b"] for f in lost),
        "lowest": min((f["model"]["tau_b"], f["rank"]["tau_b"]) for f in mine),
    }


def _by_level(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Arrange tau-b by level: the model, by rate, and by the rank of each method."""
    table: dict[tuple[str, float], dict[str, Any]] = {}
    for row in rows:
        place = (row["corruption"], row["level"])
        found = row["found"]
        line = table.setdefault(
            place,
            {
                "corruption": row["corruption"],
                "level": row["level"],
                "model": found["model"]["tau_b"],
                "rate": found["rate"]["tau_b"],
                "rank": {},
            },
        )
        line["rank"][row["method"]] = found["rank"]["tau_b"]
    return list(table.values())


def against_ratings(
    result: Result,
    truth: FloatArray,
    ranked: FloatArray,
    ratings: Mapping[str, FloatArray],
    model: ModelScores,
) -> None:
    """Compare the rankings with the ratings, averaged and as judgments, fitted alike."""
    rows = []
    damaged = [scores for (corruption, _), scores in model.items() if corruption != CLEAN]
    by_rank = [kendall(project(ranked, s)[0], truth)[1] for s in damaged]
    for name, order in ({"rankings": ranked} | dict(ratings)).items():
        own = compare(order, truth)
        by_it = [kendall(project(order, s)[0], truth)[1] for s in damaged]
        rows.append(
            {"name": name, "levels": len(damaged)}
            | {metric: own[metric] for metric in ("tau_a", "tau_b", "spearman")}
            | {"rank_wins": sum(a > b for a, b in zip(by_rank, by_it, strict=True))}
        )
    result.facts["ratings"] = rows
