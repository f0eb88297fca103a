"""Weights that are numbers of answers, and weights that are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import aggcal
from aggcal.aggregation.terms import PLAIN, ChosenTerms, position_evidence
from aggcal.data.warnings import weight_warnings
from aggcal.data.weights import Tally, heavy

ROWS, ITEMS, PEOPLE = 400, 8, 6


def asked(seed: int, times: int = 1) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return questions, each so many times, with answers that depend on the items alone."""
    random = np.random.default_rng(seed)
    scores = random.normal(size=ITEMS)
    who = random.integers(PEOPLE, size=ROWS)
    left = random.integers(ITEMS, size=ROWS)
    right = (left + 1 + random.integers(ITEMS - 1, size=ROWS)) % ITEMS
    who, left, right = (np.repeat(x, times) for x in (who, left, right))
    ahead = random.random(len(who)) < 1.0 / (1.0 + np.exp(scores[right] - scores[left]))
    names = {"annotator": who, "left": left, "right": right}
    columns = {key: np.array([f"{key[0]}{k}" for k in code]) for key, code in names.items()}
    columns["left"], columns["right"] = (
        np.array([f"i{k}" for k in code]) for code in (left, right)
    )
    columns["outcome"] = np.where(ahead, "left", "right")
    return columns, random.integers(1, 4, size=len(who)) ** 2


def rise(judgments: aggcal.Judgments) -> float:
    scores = aggcal.aggregate(judgments, terms=PLAIN, warn=False).scores
    return position_evidence(judgments, ChosenTerms("halves"), scores)


def counted(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Count equal rows."""
    table = np.stack(list(columns.values()))
    found, number = np.unique(table, axis=1, return_counts=True)
    return dict(zip(columns, found, strict=True)) | {"weight": number}


def test_counts_are_told_as_the_rows_that_they_count() -> None:
    columns, _ = asked(1, times=3)
    rows, counts = aggcal.read_judgments(columns), aggcal.read_judgments(counted(columns))
    assert Tally.of(counts).counts
    assert heavy(counts) is None
    assert rise(counts) == pytest.approx(rise(rows), abs=1e-6)


def test_weights_of_single_answers_are_no_evidence_for_sides() -> None:
    heavier = 0
    for seed in range(6):
        columns, weight = asked(seed)
        weighted = aggcal.read_judgments(columns | {"weight": weight})
        assert not Tally.of(weighted).counts
        assert rise(weighted) < 2.0
        # As numbers of answers they would be.
        told = replace(weighted, count=weighted.weight.astype(np.int64))
        heavier += rise(told) > 2.0
    assert heavier >= 2


def test_a_warning_names_what_makes_intervals_right() -> None:
    columns, weight = asked(3)
    judgments = aggcal.read_judgments(columns | {"weight": weight})
    [said] = [w for w in weight_warnings(judgments) if w.code == "weights"]
    found = heavy(judgments)
    assert found is not None
    assert f"{found.divisor:.3g}" in said.remedy
    assert found.counted == weight.sum()
    divided = aggcal.read_judgments(columns | {"weight": weight / found.divisor})
    assert heavy(divided) is None
    assert not [w for w in weight_warnings(aggcal.read_judgments(columns)) if w.code == "weights"]


def test_asking_in_both_orders_is_no_repetition() -> None:
    rows = [
        ("ann", a, b, "left" if a < b else "right", 2) for a in "abcd" for b in "abcd" if a != b
    ]
    both = aggcal.read_judgments(rows)
    assert both.sided
    assert Tally.of(both) == Tally(whole=True, repeated=12, both_ways=0)
    assert heavy(both) is not None
    bare = replace(both, sided=False)
    assert Tally.of(bare) == Tally(whole=True, repeated=6, both_ways=0)


def test_parts_of_annotators_add_up() -> None:
    judgments = aggcal.read_judgments(counted(asked(5, times=2)[0]))
    parts = [judgments.annotator % 2 == k for k in (0, 1)]
    one, two = (Tally.of(judgments.of_rows(part)) for part in parts)
    assert one + two == Tally.of(judgments)


def test_weights_below_one_and_rankings_are_left_alone() -> None:
    columns, weight = asked(4)
    assert heavy(aggcal.read_judgments(columns | {"weight": weight / 9.0})) is None
    ranked = aggcal.read_judgments({"annotator": ["u"], "ranking": ["a > b > c"], "weight": [4]})
    assert heavy(ranked) is None
