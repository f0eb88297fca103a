"""Tastes that differ by degrees are not called two groups; two groups still are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.advice.check import Check, check
from aggcal.advice.check.tastes import Plane, for_two_groups
from aggcal.aggregation.links import LOGISTIC

GROUPS = 2.5  # nats from which on a study is said to have two groups


def placed(
    along: FloatArray, random: np.random.Generator, *, known: float = 30.0, sd: float = 0.4
) -> Plane:
    """Annotators of different reliability, seen through the errors of their answers."""
    reliability = np.exp(sd * random.normal(size=len(along)))
    at = reliability[:, None] * np.stack([np.ones(len(along)), along], axis=1)
    at = at + known**-0.5 * random.normal(size=at.shape)
    return Plane(at, np.tile([known, 0.0, known], (len(along), 1)))


@pytest.mark.parametrize("share", [0.2, 0.5])
@pytest.mark.parametrize("common", [0.5, 1.0])
def test_two_groups_are_told(share: float, common: float) -> None:
    for seed in range(5):
        random = np.random.default_rng([1, seed])
        along = np.where(np.arange(30) < share * 30, 1.0, -1.0) / common
        assert for_two_groups(placed(along, random)) > GROUPS


def test_groups_whose_members_differ_a_little_are_groups() -> None:
    for seed in range(5):
        random = np.random.default_rng([2, seed])
        along = np.where(np.arange(40) < 20, 1.0, -1.0) + 0.15 * random.normal(size=40)
        assert for_two_groups(placed(along, random)) > GROUPS


@pytest.mark.parametrize("law", ["normal", "uniform", "skewed", "heavy-tailed", "triangular"])
def test_degrees_are_no_groups_whatever_their_law(law: str) -> None:
    for seed in range(5):
        random = np.random.default_rng([3, seed])
        along = {
            "normal": random.normal(size=40),
            "uniform": random.uniform(-1.7, 1.7, 40),
            "skewed": random.exponential(size=40) - 1.0,
            "heavy-tailed": random.standard_t(3, size=40),
            "triangular": random.triangular(-2.0, 0.0, 2.0, 40),
        }[law]
        assert for_two_groups(placed(along, random)) < GROUPS


def test_a_few_who_guess_or_answer_the_opposite_decide_nothing() -> None:
    random = np.random.default_rng(4)
    plane = placed(np.where(np.arange(40) < 15, 1.0, -1.0), random)
    at = plane.at.copy()
    at[:2], at[2:4] = 0.1 * random.normal(size=(2, 2)), -at[2:4]
    assert for_two_groups(plane._replace(at=at)) > GROUPS


def test_of_three_annotators_and_of_no_answers_nothing_is_told() -> None:
    nobody = Plane(np.zeros((40, 2)), np.zeros((40, 3)))
    assert for_two_groups(nobody) == 0.0
    assert for_two_groups(Plane(np.eye(3)[:, :2], np.ones((3, 3)))) == 0.0


def answered(part: FloatArray, random: np.random.Generator, each: int = 100) -> dict[str, Any]:
    """Answers by a common order, to which annotators add parts of a second one."""
    m, n, size = len(part), 40, each * len(part)
    common, second = random.normal(size=(2, n))
    who = np.arange(size) % m
    left = random.integers(n, size=size)
    right = (left + 1 + random.integers(n - 1, size=size)) % n
    gap = common[left] - common[right] + part[who] * (second[left] - second[right])
    return {
        "annotator": np.char.add("u", who.astype(str)),
        "left": np.char.add("i", left.astype(str)),
        "right": np.char.add("i", right.astype(str)),
        "outcome": np.where(random.random(size) < LOGISTIC.probability(gap), "left", "right"),
    }


def looked_at(table: dict[str, Any]) -> Check:
    return check(aggcal.read_judgments(table), quick=False, with_precision=False)


@pytest.mark.parametrize("seed", range(3))
def test_a_study_of_degrees_is_not_said_to_be_divided(seed: int) -> None:
    random = np.random.default_rng([5, seed])
    part = random.normal(size=20) if seed else random.uniform(-1.7, 1.7, 20)
    found = looked_at(answered(part, random))
    assert "divided" not in {finding.code for finding in found.findings}
    [said] = [finding for finding in found.findings if finding.code == "different-tastes"]
    assert said.details["kind"] in ("not two groups", "unclear")
    assert said.details["one_end_size"] + said.details["other_end_size"] == 20
    assert "two opposing groups" not in said.title + said.message


def test_a_study_of_degrees_says_so() -> None:
    random = np.random.default_rng([6, 0])
    found = looked_at(answered(2.0 * random.normal(size=20), random))
    [said] = [finding for finding in found.findings if finding.code == "different-tastes"]
    assert said.title == "The annotators' tastes differ, but not in two groups"
    assert said.severity == "problem"
    assert not [each for each in found.passed if each.code == "divided"]


@pytest.mark.parametrize("seed", range(2))
def test_a_study_of_two_tastes_is_still_said_to_be_divided(seed: int) -> None:
    random = np.random.default_rng([7, seed])
    found = looked_at(answered(np.where(np.arange(20) < 8, 1.0, -1.0), random))
    [said] = [finding for finding in found.findings if finding.code == "divided"]
    assert said.title.startswith("The annotators form two opposing groups")
