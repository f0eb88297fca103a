"""Copies: found by name where there are any, and nobody called one who only agrees a lot."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.special import expit

import aggcal
from aggcal.advice.check import check
from aggcal.simulation import simulate

Row = tuple[str, str, str, str]


def study(
    seed: int,
    *,
    items: int = 12,
    annotators: int = 5,
    repeats: int = 1,
    pair_sd: float = 0.0,
    prompt_sd: float = 0.0,
    spread: float = 1.0,
    slope: float = 1.0,
    reversed_ones: int = 0,
    ties: float = 0.0,
    own: float | None = None,
) -> list[Row]:
    """Everyone judges every pair so often; with ``own``, the last copies all but such a share."""
    random = np.random.default_rng(seed)
    scores = spread * random.standard_normal(items)
    slopes = slope * np.exp(0.5 * random.standard_normal(annotators))
    slopes[:reversed_ones] *= -1.0
    i, j = np.array(list(combinations(range(items), 2))).T
    beyond = pair_sd * random.standard_normal((len(i), 1))
    beyond = beyond + prompt_sd * random.standard_normal((len(i), repeats))
    gap = (scores[i] - scores[j])[:, None]
    logit = slopes[:, None, None] * gap + np.sign(slopes)[:, None, None] * beyond
    first = random.random(logit.shape) < expit(logit)
    tied = random.random(logit.shape) < ties
    if own is not None:
        answers_alone = random.random(first[-1].shape) < own
        first[-1] = np.where(answers_alone, random.random(first[-1].shape) < 0.5, first[-2])
        tied[-1] = tied[-2]
    return [
        (
            f"u{u}",
            f"i{i[p]:02}",
            f"i{j[p]:02}",
            "tie" if tied[u, p, k] else "left" if first[u, p, k] else "right",
        )
        for u, p, k in np.ndindex(*first.shape)
    ]


def groups(rows: list[Row]) -> list[list[str]]:
    found = check(aggcal.read_judgments(rows), with_precision=False).findings
    return [group for each in found if each.code == "copies" for group in each.details["groups"]]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "shape", [(12, 5, 6000), (9, 6, 11_000), (10, 4, 20_000), (12, 5, 3000), (20, 6, 6000)]
)
def test_few_items_and_thousands_of_judgments_make_no_copies(
    shape: tuple[int, int, int], seed: int
) -> None:
    """The sign of many answers was held against the expectation of one: all were accused."""
    items, annotators, judgments = shape
    rows = simulate(items=items, annotators=annotators, judgments=judgments, seed=seed).judgments
    found = check(aggcal.read_judgments(rows), with_precision=False)
    assert not [f.code for f in found.findings if f.severity == "problem"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "kind",
    [
        {"pair_sd": 0.5},
        {"pair_sd": 1.0, "annotators": 8},
        {"pair_sd": 0.5, "repeats": 2},
        {"pair_sd": 0.5, "repeats": 8},
        {"prompt_sd": 2.0, "repeats": 10, "items": 9},
        {"spread": 3.0, "repeats": 3},
        {"slope": 4.0, "repeats": 5},
        {"reversed_ones": 2, "repeats": 2},
        {"ties": 0.5, "repeats": 6},
    ],
    ids=str,
)
def test_who_agrees_for_other_reasons_is_no_copy(kind: dict[str, float], seed: int) -> None:
    assert groups(study(seed, **kind)) == []  # type: ignore[arg-type]  # counts and shares


@pytest.mark.parametrize(
    "kind",
    [
        {},
        {"annotators": 3, "items": 16},
        {"repeats": 2},
        {"repeats": 3, "pair_sd": 0.5},
        {"repeats": 18},
        {"repeats": 60, "items": 9},
        {"pair_sd": 0.5},
        {"ties": 0.3, "repeats": 2},
        {"reversed_ones": 2, "annotators": 7},
    ],
    ids=str,
)
def test_copies_are_found_however_often_pairs_are_asked(kind: dict[str, float]) -> None:
    last = int(kind.get("annotators", 5)) - 1
    for seed in range(2):
        rows = study(seed, own=0.04, **kind)  # type: ignore[arg-type]  # counts and shares
        assert groups(rows) == [[f"u{last - 1}", f"u{last}"]]


def test_a_group_of_copies_is_one_group() -> None:
    rows = study(1, annotators=10)
    rows += [(name, *row[1:]) for name in ("w1", "w2") for row in rows if row[0] == "u9"]
    assert groups(rows) == [["u9", "w1", "w2"]]


def test_two_who_always_choose_the_left_are_not_called_copies() -> None:
    rows = study(2, items=10, annotators=8)
    rows += [(name, a, b, "left") for name in ("x", "y") for u, a, b, _ in rows if u == "u0"]
    found = {f.code: f.details for f in check(aggcal.read_judgments(rows)).findings}
    assert sorted(found["position-bias"]["annotators"]) == ["x", "y"]
    assert "copies" not in found


def test_of_two_annotators_none_is_called_a_copy() -> None:
    rows = [(u, a, b) for u in ("ann", "bob") for a, b in combinations("abcdefgh", 2)]
    found = check(aggcal.read_judgments(rows), with_precision=False)
    assert "copies" not in {f.code for f in found.findings}


def test_the_finding_tells_answers_that_match() -> None:
    rows = study(3, repeats=2, own=0.0)
    found = check(aggcal.read_judgments(rows), with_precision=False)
    details = next(f.details for f in found.findings if f.code == "copies")
    assert (details["agreed"], details["shared"]) == ([132.0], [132.0])
    assert details["expected"][0] < 120.0
