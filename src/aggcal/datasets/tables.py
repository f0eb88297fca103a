"""From the files of a dataset to judgments, scores and a truth, as plain columns.

Every dataset is told in the same way: people (or judges) compared, a model scored, and the truth
is known of all items or some.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import numpy as np

from aggcal._core.tables import Columns
from aggcal.datasets.answers import ranked_pairs
from aggcal.errors import FileError
from aggcal.registry.datasets import (
    COUNTRY_POPULATION,
    DOTS,
    JUDGEMARK,
    LLMFAO,
    READING_LEVEL,
    SUSHI,
    DatasetInfo,
)

DAMAGE, LEVEL = "WHITEOUT", "0.55"
"""How the pictures of Dots were damaged before OpenCV counted: of all that were tried, this is
nearest to what the paper prints (`aggcal.paper.dots.nearest`)."""

_CHEAP, _GOOD = "gpt-3.5-turbo-instruct", "gpt-4"
"""LLMFAO's judges that are no people: the model to be calibrated, and one to compare with."""

_WEAKEST = "ministral/Ministral-3b-instruct"
"""The judge of Judgemark who agrees least with the truth."""

Row = dict[str, str]


@dataclass(frozen=True)
class Tables:
    """The columns of a dataset, as they would stand in files."""

    judgments: Columns
    scores: Columns | None = None
    truth: Columns | None = None
    others: Mapping[str, Columns] = field(default_factory=dict)


def read_tables(info: DatasetInfo, folder: Path) -> Tables:
    """Read the tables of a dataset from its folder."""
    try:
        return _READERS[info.name](folder)
    except (KeyError, ValueError, csv.Error, OSError) as error:
        raise FileError(
            f"{folder}: is not the dataset {info.name} as it was published ({error}); copy or "
            "download it again."
        ) from None


def _dots(folder: Path) -> Tables:
    columns: dict[str, list[str]] = {n: [] for n in ("annotator", "winner", "loser", "screen")}
    for entry, rows in groupby(_rows(folder / "ratings.csv"), key=lambda row: row["entry"]):
        answers = list(rows)
        shown, ranks = [row["item"] for row in answers], [int(row["rank"]) for row in answers]
        for winner, loser in ranked_pairs(shown, ranks):
            values = (answers[0]["annotator"], winner, loser, entry)
            for column, value in zip(columns.values(), values, strict=True):
                column.append(value)
    items = _rows(folder / "items.csv")
    counted = [
        row
        for row in _rows(folder / "model_scores.csv")
        if (row["corruption"], row["level"]) == (DAMAGE, LEVEL)
    ]
    return Tables(
        {name: np.array(values, dtype=object) for name, values in columns.items()},
        _numbers(counted, "s_p", "score"),
        _numbers(items, "truth"),
        {"estimates": _numbers(items, "mean_rating", "score")},
    )


def _documents(folder: Path) -> Tables:
    items = _rows(folder / "items.csv")
    judgments = _texts(_rows(folder / "judgments.csv"), ("annotator", "winner", "loser"))
    return Tables(judgments, _numbers(items, "s_p", "score"), _numbers(items, "truth"))


def _llmfao(folder: Path) -> Tables:
    rows = _rows(folder / "battles.csv")
    people = [row for row in rows if row["annotator"] not in (_CHEAP, _GOOD)]
    judgments = _texts(people, ("annotator", "left", "right", "outcome"))
    known = [row for row in _rows(folder / "items.csv") if row["arena_score"]]
    truth = _numbers(known, "arena_score", "truth", item="name")
    return Tables(judgments, _wins(rows, _CHEAP), truth, {_GOOD: _wins(rows, _GOOD)})


def _judgemark(folder: Path) -> Tables:
    rows = [row for row in _rows(folder / "judgments.csv") if row["annotator"] != _WEAKEST]
    scores = [row for row in _rows(folder / "scores.csv") if row["annotator"] == _WEAKEST]
    return Tables(
        _texts(rows, ("annotator", "winner", "loser")),
        _numbers(scores, "mean_score", "score"),
        _numbers(_rows(folder / "items.csv"), "truth"),
    )


def _sushi(folder: Path) -> Tables:
    rows = _rows(folder / "rankings.csv")
    return Tables(_texts(rows, ("annotator", *(f"r{k}" for k in range(1, 11)))))


_READERS: dict[str, Callable[[Path], Tables]] = {
    DOTS.name: _dots,
    READING_LEVEL.name: _documents,
    LLMFAO.name: _llmfao,
    JUDGEMARK.name: _judgemark,
    COUNTRY_POPULATION.name: _documents,
    SUSHI.name: _sushi,
}


def _wins(rows: Iterable[Row], judge: str) -> Columns:
    """Return the percentage of its comparisons that each item wins with a judge; a tie is half."""
    won: dict[str, list[float]] = {}
    for row in rows:
        if row["annotator"] == judge:
            left = {"left": 1.0, "right": 0.0, "tie": 0.5}[row["outcome"]]
            won.setdefault(row["left"], []).append(left)
            won.setdefault(row["right"], []).append(1.0 - left)
    share = [round(100.0 * float(np.mean(values)), 2) for values in won.values()]
    return {"item": np.array(list(won), dtype=object), "score": np.array(share)}


def _rows(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _texts(rows: Iterable[Row], names: tuple[str, ...]) -> Columns:
    rows = list(rows)
    return {name: np.array([row[name] for row in rows], dtype=object) for name in names}


def _numbers(
    rows: Iterable[Row], column: str, called: str | None = None, *, item: str = "item"
) -> Columns:
    rows = list(rows)
    return {
        "item": np.array([row[item] for row in rows], dtype=object),
        called or column: np.array([float(row[column]) for row in rows]),
    }
