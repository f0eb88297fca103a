"""A quick check does not look for camps, and names nobody who may be in one."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal.advice.check import Check, check
from aggcal.simulation import Simulation, simulate

ACCUSING = {"reversed-annotators", "contradicting", "guessing", "erratic"}
SIGN = "opposing groups, and reversed and guessing annotators"
SHAPE: dict[str, Any] = {"items": 60, "annotators": 40, "judgments": 4000, "reliability_sd": 0.4}


def quickly(study: Simulation) -> Check:
    return check(aggcal.read_judgments(study.shown), quick=True, with_precision=False)


def codes(found: Check) -> set[str]:
    return {finding.code for finding in found.findings}


def sign(found: Check) -> bool:
    return any(each.startswith(SIGN) for each in found.not_checked)


def named(found: Check, code: str) -> set[str]:
    details = [finding.details for finding in found.findings if finding.code == code]
    return set(details[0]["annotators"]) if details else set()


def those(study: Simulation, role: str) -> set[str]:
    return set(study.annotator_ids[study.role == role])


@pytest.mark.parametrize(("share", "judgments"), [(0.5, 4000), (0.3, 4000)])
@pytest.mark.parametrize("seed", range(3))
def test_members_of_camps_are_not_said_to_guess(share: float, judgments: int, seed: int) -> None:
    found = quickly(simulate(**SHAPE | {"judgments": judgments}, camp_share=share, seed=seed))
    assert not codes(found) & ACCUSING
    assert not found.accused.named


def test_it_is_said_that_there_may_be_groups_and_what_looks_for_them() -> None:
    found = quickly(simulate(**SHAPE, camp_share=0.3, seed=1))
    assert sign(found)
    assert "a full check looks for them" in str(found)
    assert not {each.code for each in found.passed} & {"guessing", "reversed-annotators"}


@pytest.mark.parametrize("seed", range(3))
def test_guessers_are_named_the_same_by_both_checks(seed: int) -> None:
    study = simulate(
        items=20, annotators=15, judgments=4500, guessing_share=0.2, reliability_sd=0.3, seed=seed
    )
    found = quickly(study)
    full = check(aggcal.read_judgments(study.shown), with_precision=False)
    assert named(found, "guessing")
    assert named(found, "guessing") <= those(study, "guesses")
    assert found.accused.named == full.accused.named
    assert not sign(found)


def test_the_full_check_decides_by_itself() -> None:
    study = simulate(**SHAPE, camp_share=0.4, seed=1)
    found = check(aggcal.read_judgments(study.shown), with_precision=False)
    assert "divided" in codes(found)
    assert not sign(found)


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("seed", [1, 2])
def test_one_who_goes_by_an_order_of_their_own_is_not_said_to_guess(
    seed: int, *, quick: bool
) -> None:
    """No camp: nobody shares it. But guesses would not agree with each other."""
    study = simulate(
        items=30, annotators=20, judgments=6000, reliability_sd=0.3, camp_share=0.05, seed=seed
    )
    found = check(aggcal.read_judgments(study.shown), quick=quick, with_precision=False)
    assert not codes(found) & ACCUSING
    assert not found.accused.named
    assert named(found, "own-order") == those(study, "camp")


@pytest.mark.parametrize("share", [0.05, 0.1])
@pytest.mark.parametrize("seed", range(4))
def test_the_reversed_are_not_said_to_guess_however_few_their_answers(
    share: float, seed: int
) -> None:
    study = simulate(
        items=60,
        annotators=60,
        judgments=3000,
        reliability_sd=0.4,
        reversed_share=share,
        seed=40 + seed,
    )
    found, turned = quickly(study), those(study, "reversed")
    assert named(found, "reversed-annotators") <= turned
    assert named(found, "reversed-annotators")
    assert not named(found, "guessing") & turned


def test_files_and_report_accuse_nobody_of_a_camp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aggcal.advice.advising.IN_FULL", 1_000)
    study = simulate(**SHAPE, camp_share=0.3, seed=1)
    scores = dict(zip(study.item_ids.tolist(), study.model.tolist(), strict=True))
    result = aggcal.assess(study.shown, scores, warn=False)
    result.save(tmp_path / "out")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    assert any(each.startswith(SIGN) for each in summary["check"]["not_checked"])
    assert summary["check"]["accused"] == {}
    rows = (tmp_path / "out" / "annotators.csv").read_text("utf-8").splitlines()
    column = rows[0].split(",").index("verdict")
    assert {row.split(",")[column] for row in rows[1:]} <= {"reliable", "unclear", "too-few"}


@pytest.mark.parametrize(
    ("items", "annotators", "judgments"), [(8, 1000, 10_000), (8, 4000, 12_000), (20, 500, 30_000)]
)
def test_few_items_and_many_people_are_no_sign_of_groups(
    items: int, annotators: int, judgments: int
) -> None:
    for seed in range(2):
        found = quickly(
            simulate(items=items, annotators=annotators, judgments=judgments, seed=seed)
        )
        assert not sign(found)


def test_groups_among_many_people_are_a_sign() -> None:
    study = simulate(items=20, annotators=500, judgments=30_000, camp_share=0.4, seed=1)
    assert sign(quickly(study))


PAIRS: dict[str, tuple[int, list[tuple[int, int]], int, int, bool]] = {
    "a chain": (8, [(k, k + 1) for k in range(7)], 300, 10, False),
    "components": (18, [(k, j) for k in range(18) for j in range(k + 6, 18, 6)], 600, 6, False),
    "asked again": (6, list(combinations(range(6), 2)), 40, 60, True),
    "three items": (3, list(combinations(range(3), 2)), 50, 60, False),
}
"""Items, pairs that are asked, annotators, answers of each, whether questions are asked again."""


def answers(kind: str, seed: int, *, camp: float = 0.0) -> aggcal.Judgments:
    """Simulate people of whom half hardly err and half nearly guess."""
    items, pairs, annotators, each, again = PAIRS[kind]
    random = np.random.default_rng([17, seed])
    truth, slopes = random.normal(size=(2, items)), random.choice([0.2, 3.0], annotators)
    group = (random.random(annotators) < camp).astype(int)
    who = np.repeat(np.arange(annotators), each)
    asked = random.integers(len(pairs), size=len(who))
    if again:
        asked = np.where(np.arange(len(who)) % 2 == 1, np.roll(asked, 1), asked)
    first, second = np.array(pairs)[asked].T
    gap = truth[group[who], first] - truth[group[who], second]
    up = random.random(len(who)) < 1.0 / (1.0 + np.exp(-slopes[who] * gap))
    swapped = random.random(len(who)) < 0.5
    return aggcal.read_judgments(
        {
            "annotator": who,
            "left": np.where(swapped, second, first),
            "right": np.where(swapped, first, second),
            "outcome": np.where(up == swapped, "right", "left").astype(object),
        }
    )


@pytest.mark.parametrize("kind", PAIRS)
def test_few_pairs_are_no_sign_of_groups(kind: str) -> None:
    """Signs of single items found one in half of such studies, in most, or in all of them."""
    found = [check(answers(kind, seed), quick=True, with_precision=False) for seed in range(4)]
    assert sum(map(sign, found)) <= 1


@pytest.mark.parametrize("kind", sorted(PAIRS.keys() - {"three items"}))
def test_groups_are_seen_by_few_pairs(kind: str) -> None:
    found = [check(answers(kind, k, camp=0.4), quick=True, with_precision=False) for k in range(3)]
    assert sum(map(sign, found)) >= 1
