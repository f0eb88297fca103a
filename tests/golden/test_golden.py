"""Numbers are what they were: a share of all cases, the rest by ``make golden``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from golden import QUICK, Case, cases, differences, found, kept

CASES = cases()


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.study in QUICK], ids=lambda case: case.key
)
def test_numbers_are_as_they_were(case: Case, data_folder: Path) -> None:
    assert data_folder.is_dir()  # which golden.py reads
    assert differences(case, kept()[case.key], found(case)) == []


def test_every_case_has_numbers() -> None:
    assert {case.key for case in CASES} == set(kept())


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"scores": [1.0, -1.0], "se": [0.5, 0.5]}, {"scores": [1.009, -1.0], "se": [0.5, 0.5]}, 0),
        ({"scores": [1.0, -1.0], "se": [0.5, 0.5]}, {"scores": [1.011, -1.0], "se": [0.5, 0.5]}, 1),
        ({"scores": [1.0], "objective": 9.0}, {"scores": [1.00001], "objective": 9.1}, 2),
        ({"calibrated": [1.0, float("nan")]}, {"calibrated": [1.0, float("nan")]}, 0),
        ({"calibrated": [1.0, 2.0]}, {"calibrated": [1.0, float("nan")]}, 1),
        ({"calibrated": [1.0, 2.0]}, {"calibrated": [1.0]}, 1),
        ({"claims": ["order"], "holds": [True]}, {"claims": ["gain"], "holds": [False]}, 2),
        ({}, {"scores": [1.0]}, 1),
        ({"objective": 1.0}, {}, 1),
    ],
)
def test_what_counts_as_different(before: dict[str, Any], after: dict[str, Any], said: int) -> None:
    assert len(differences(Case("made-1", "fit", {}), before, after)) == said
