"""From the files of a dataset to judgments, scores and a truth, as plain columns.

Every dataset is told in the same way: people (or judges) compared, a model scored, and the truth
is known of all items or some.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, groupby
from pathlib import Path

import numpy as np

from aggcal._core.tables import Columns
from aggcal.errors import FileError
from aggcal.registry import RANKINGS
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
nearest to what the paper prints (`paper.dots.nearest`)."""

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
    format: str | None = None
    """The format of the judgments, where it is not plain: ids that are numbers look like ranks."""


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
    pairs: list[Row] = []
    for entry, rows in groupby(_rows(folder / "ratings.csv"), key=lambda row: row["entry"]):
        answers = list(rows)
        shown, ranks = [row["item"] for row in answers], [int(row["rank"]) for row in answers]
        said = {"annotator": answers[0]["annotator"], "screen": entry}
        pairs += [{**said, "winner": a, "loser": b} for a, b in ranked_pairs(shown, ranks)]
    items = _rows(folder / "items.csv")
    counted = [
        row
        for row in _rows(folder / "model_scores.csv")
        if (row["corruption"], row["level"]) == (DAMAGE, LEVEL)
    ]
    return Tables(
        _columns(pairs, "annotator", "winner", "loser", "screen"),
        _columns(counted, "item", score="s_p"),
        _columns(items, "item", truth="truth"),
        {"estimates": _columns(items, "item", score="mean_rating")},
    )


def _documents(folder: Path) -> Tables:
    items, judgments = _rows(folder / "items.csv"), _rows(folder / "judgments.csv")
    return Tables(
        _columns(judgments, "annotator", "winner", "loser"),
        _columns(items, "item", score="s_p"),
        _columns(items, "item", truth="truth"),
    )


def _llmfao(folder: Path) -> Tables:
    rows = _rows(folder / "battles.csv")
    people = [row for row in rows if row["annotator"] not in (_CHEAP, _GOOD)]
    rated = [row | {"item": row["name"]} for row in _rows(folder / "items.csv")]
    rated = [row for row in rated if row["arena_score"]]
    return Tables(
        _columns(people, "annotator", "left", "right", "outcome"),
        _wins(rows, _CHEAP),
        _columns(rated, "item", truth="arena_score"),
        {_GOOD: _wins(rows, _GOOD)},
    )


def _judgemark(folder: Path) -> Tables:
    rows = [row for row in _rows(folder / "judgments.csv") if row["annotator"] != _WEAKEST]
    scores = [row for row in _rows(folder / "scores.csv") if row["annotator"] == _WEAKEST]
    return Tables(
        _columns(rows, "annotator", "winner", "loser"),
        _columns(scores, "item", score="mean_score"),
        _columns(_rows(folder / "items.csv"), "item", truth="truth"),
    )


def _sushi(folder: Path) -> Tables:
    ranks = (f"r{k}" for k in range(1, 11))
    rankings = _columns(_rows(folder / "rankings.csv"), "annotator", *ranks)
    return Tables(rankings, format=RANKINGS)


_READERS: dict[str, Callable[[Path], Tables]] = {
    DOTS.name: _dots,
    READING_LEVEL.name: _documents,
    LLMFAO.name: _llmfao,
    JUDGEMARK.name: _judgemark,
    COUNTRY_POPULATION.name: _documents,
    SUSHI.name: _sushi,
}


def ranked_pairs(items: Sequence[str], ranks: Sequence[int]) -> Iterator[tuple[str, str]]:
    """Take a ranking apart into (winner, loser), rank 1 the highest; the first shown come first.

    Examples
    --------
    >>> list(ranked_pairs(["a", "b", "c"], [2, 3, 1]))
    [('a', 'b'), ('c', 'a'), ('c', 'b')]
    """
    for (one, above), (other, below) in combinations(zip(items, ranks, strict=True), 2):
        yield (one, other) if above < below else (other, one)


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


def _columns(rows: Sequence[Row], *texts: str, **numbers: str) -> Columns:
    """Return columns of texts under their own names, and of numbers under ours."""
    columns: Columns = {name: np.array([row[name] for row in rows], object) for name in texts}
    return columns | {
        ours: np.array([float(row[n]) for row in rows]) for ours, n in numbers.items()
    }
