"""Krippendorff's alpha and infit by their definitions."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

import aggcal
from aggcal.advice.check import check
from aggcal.advice.check.agreement import agreement_findings, infit, krippendorff
from aggcal.advice.check.cells import Cells
from aggcal.advice.check.replicate import fit
from aggcal.advice.verdicts import Verdicts


def test_alpha_of_a_worked_example() -> None:
    """Three pairs; a, b, c judge (1, 1, 0), (1, 1), (0, 1), a fourth pair has one judge only.

    By hand: units hold 3, 2 and 2 values. Disagreements over ordered couples: 4, 0, 2; divided
    by m - 1 they are 2, 0, 2, so D_o = 4/7. With the mirror images there are 14 values, 7 of
    each kind: D_e = 2 * 7 * 7 / (14 * 13) = 7/13. Alpha = 1 - (4/7)(13/7) = -3/49.
    """
    rows = [
        ("ann", "a", "b"), ("bob", "a", "b"), ("eve", "b", "a"),
        ("ann", "a", "c"), ("bob", "a", "c"),
        ("ann", "b", "c"), ("bob", "c", "b"),
        ("ann", "a", "d"),
    ]  # fmt: skip
    found = krippendorff(aggcal.read_judgments(rows))
    assert found is not None
    assert found.alpha == pytest.approx(-3.0 / 49.0)
    assert found.agree == pytest.approx(2.0 / 5.0)
    assert (found.pairs, found.answers) == (3, 7)


def test_alpha_is_that_of_its_definition_with_ties(random: np.random.Generator) -> None:
    items = [f"i{k}" for k in range(6)]
    rows = [
        (f"u{u}", items[i], items[j], str(random.choice(["left", "right", "tie"])))
        for u in range(4)
        for i in range(6)
        for j in range(i)
        if random.random() < 0.7
    ]
    worth = {"left": 1.0, "tie": 0.5, "right": 0.0}
    units = [
        np.array([worth[outcome] for _, *pair, outcome in rows if pair == [items[i], items[j]]])
        for i in range(6)
        for j in range(i)
    ]
    units = [unit for unit in units if len(unit) > 1]
    both = units + [1.0 - unit for unit in units]
    values = np.concatenate(both)
    within = sum(
        (a - b) ** 2 / (len(unit) - 1) for unit in both for a, b in permutations(unit, 2)
    ) / len(values)
    across = sum((a - b) ** 2 for a, b in permutations(values, 2))
    across /= len(values) * (len(values) - 1)
    found = krippendorff(aggcal.read_judgments(rows))
    assert found is not None
    assert found.alpha == pytest.approx(1.0 - within / across)


def test_alpha_is_one_in_full_agreement_and_absent_without_shared_pairs() -> None:
    agreed = [(u, a, b) for u in ("ann", "bob") for a in "abcd" for b in "abcd" if a < b]
    found = krippendorff(aggcal.read_judgments(agreed))
    assert found is not None
    assert found.alpha == 1.0
    assert krippendorff(aggcal.read_judgments([("ann", "a", "b")])) is None


def test_coin_tossers_do_not_agree(random: np.random.Generator) -> None:
    rows = [
        (f"u{u}", a, b, str(random.choice(["left", "right"])))
        for u in range(30)
        for a in "abcdefghij"
        for b in "abcdefghij"
        if a < b
    ]
    found = krippendorff(aggcal.read_judgments(rows))
    assert found is not None
    assert abs(found.alpha) < 4 * found.error
    assert [f.code for f in agreement_findings(found)[0]] == ["no-agreement"]


def repeated(random: np.random.Generator, chance: float) -> list[tuple[str, str, str]]:
    """Six annotators, fifteen pairs, one to nine answers each."""
    return [
        (f"u{u}", *((a, b) if random.random() < chance else (b, a)))
        for u in range(6)
        for a, b in combinations("abcdef", 2)
        for _ in range(int(random.integers(1, 10)))
    ]


def test_agreement_is_that_of_single_answers_of_two_annotators(
    random: np.random.Generator,
) -> None:
    rows = repeated(random, 0.7)
    said: dict[tuple[str, str], dict[str, list[bool]]] = {}
    for who, winner, loser in rows:
        low, high = sorted((winner, loser))
        said.setdefault((low, high), {}).setdefault(who, []).append(winner == low)
    each = [
        np.mean([x == y for x in answers[u] for y in answers[v]])
        for answers in said.values()
        for u, v in combinations(sorted(answers), 2)
    ]
    found = krippendorff(aggcal.read_judgments(rows))
    assert found is not None
    assert found.agree == pytest.approx(np.mean(each))
    # Six annotators judged every pair: alpha is what remains of the disagreement.
    assert found.alpha == pytest.approx(1.0 - (1.0 - found.agree) / (1.0 - found.by_chance))
    assert found.agree < 0.65


def test_asking_again_does_not_make_people_agree_more(random: np.random.Generator) -> None:
    """0.7² + 0.3² = 0.58 however often each is asked."""
    often = [row for _ in range(12) for row in repeated(random, 0.7)]
    found = krippendorff(aggcal.read_judgments(often))
    assert found is not None
    assert found.agree == pytest.approx(0.58, abs=0.01)


def test_the_same_answers_recorded_twice_agree_as_much() -> None:
    rows = [("ann", "a", "b"), ("bob", "a", "b"), ("eve", "b", "a"), ("ann", "a", "c"),
            ("bob", "a", "c"), ("ann", "b", "c"), ("bob", "c", "b")]  # fmt: skip
    once, twice = (krippendorff(aggcal.read_judgments(r)) for r in (rows, rows * 2))
    assert once is not None
    assert twice is not None
    assert (once.alpha, once.agree) == pytest.approx((twice.alpha, twice.agree))


@pytest.mark.parametrize("ties", [False, True])
def test_the_error_of_coin_tossers_is_that_of_simulation(
    random: np.random.Generator, ties: bool
) -> None:
    kinds = ["left", "right", "tie"] if ties else ["left", "right"]
    shape = [
        (f"u{u}", a, b)
        for u in range(5)
        for a, b in combinations("abcdefg", 2)
        for _ in range(int(random.integers(1, 5)))
        if (u + ord(a)) % 3
    ]
    alphas, errors = [], []
    for _ in range(100):
        rows = [(*row, str(random.choice(kinds))) for row in shape]
        found = krippendorff(aggcal.read_judgments(rows))
        assert found is not None
        alphas.append(found.alpha)
        errors.append(found.error)
    assert np.mean(errors) == pytest.approx(np.std(alphas), rel=0.15)


def test_infit_is_that_of_its_definition(study_judgments: aggcal.Judgments) -> None:
    cells, won = Cells.of(study_judgments)
    fitted = fit(cells, won)
    square = infit(cells, won, fitted)
    chance = (fitted.chance * fitted.posterior[cells.who]).sum(axis=1)
    for u in range(3):
        mine = np.flatnonzero(cells.who == u)
        p = np.repeat(chance[mine], cells.number[mine].astype(int))
        y = np.concatenate([np.arange(cells.number[k]) < won[k] for k in mine])
        expected = np.sum((y - p) ** 2) / np.sum(p * (1 - p))
        assert square[u] == pytest.approx(expected)


def test_a_side_that_cannot_be_told_from_the_scores_is_not_measured() -> None:
    """One item is always on the left: its score takes up what the side is worth."""
    random = np.random.default_rng(1)
    truth = np.append(0.0, random.normal(size=11))
    for bias in (0.0, 0.8):
        rows = []
        for k in range(600):
            j = int(random.integers(1, 12))
            left = random.random() < 1.0 / (1.0 + np.exp(truth[j] - truth[0] - bias))
            rows.append((f"u{k % 15}", "hub", f"i{j}", "left" if left else "right"))
        found = check(aggcal.read_judgments(rows), with_precision=False)
        assert "left_advantage" not in found.counts
        assert any("position bias over the whole study" in said for said in found.not_checked)


def test_guessers_among_many_are_neither_reversed_nor_reliable() -> None:
    random = np.random.default_rng(3)
    truth = random.normal(size=20)
    verdicts = []
    for _ in range(4):
        rows = []
        for u in range(40):
            for _ in range(25):
                i, j = random.choice(20, 2, replace=False)
                gap = (u >= 20) * (truth[i] - truth[j])
                side = "left" if random.random() < 1.0 / (1.0 + np.exp(-gap)) else "right"
                rows.append((f"u{u:02}", f"i{i:02}", f"i{j:02}", side))
        judgments = aggcal.read_judgments(rows)
        consensus = aggcal.aggregate(judgments, warn=False)
        accused = check(judgments, consensus=consensus).accused
        verdicts += Verdicts.of(consensus, accused).verdict[:20].tolist()
    assert verdicts.count("reversed") == 0
    assert verdicts.count("reliable") <= 4
