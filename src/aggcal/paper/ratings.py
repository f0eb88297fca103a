"""The ratings of Dots: averaged as in the paper, and as judgments like the rankings."""

from __future__ import annotations

import csv
from itertools import combinations
from pathlib import Path

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.data.judgments import Judgments
from aggcal.paper.pairs import read_pairs

Answer = tuple[str, str, int, float]
"""Participant, question, item and estimate."""


def read_ratings(path: Path) -> list[Answer]:
    """Read every estimate that a participant gave."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            (row["annotator"], row["entry"], int(row["item"]), float(row["rating"]))
            for row in csv.DictReader(file)
        ]


def mean_and_median(answers: list[Answer], n_items: int) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the median estimate of each item.

    Examples
    --------
    >>> mean_and_median([("u", "1", 1, 40.0), ("v", "2", 1, 60.0), ("w", "3", 1, 500.0)], 1)
    (array([200.]), array([60.]))
    """
    of_item: list[list[float]] = [[] for _ in range(n_items)]
    for _, _, item, rating in answers:
        of_item[item - 1].append(rating)
    return np.array([np.mean(r) for r in of_item]), np.array([np.median(r) for r in of_item])


def judgments_from_ratings(answers: list[Answer]) -> Judgments:
    """Compare the items of each question by their estimates, equal ones as a tie.

    Only who was put above whom is kept: exactly what the rankings tell.

    Examples
    --------
    >>> rows = [("u", "1", 1, 40.0), ("u", "1", 2, 60.0), ("u", "1", 3, 60.0), ("u", "2", 1, 9.0)]
    >>> judgments_from_ratings(rows).n_judgments
    3
    """
    questions: dict[str, list[Answer]] = {}
    for answer in answers:
        questions.setdefault(answer[1], []).append(answer)
    columns: dict[str, list[str]] = {name: [] for name in ("annotator", "left", "right", "outcome")}
    for question in questions.values():
        for (who, _, left, a), (_, _, right, b) in combinations(question, 2):
            outcome = "left" if a > b else "right" if b > a else "tie"
            for name, value in zip(columns, (who, str(left), str(right), outcome), strict=True):
                columns[name].append(value)
    return read_pairs({name: np.array(v, dtype=object) for name, v in columns.items()})
