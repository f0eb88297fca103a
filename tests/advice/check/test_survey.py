"""Whole studies: faults are found, by name; clean studies are left in peace; real ones too."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

import aggcal
from aggcal.advice.check import Check, check
from aggcal.errors import OptionError
from aggcal.registry.literals import FittedName
from aggcal.simulation import Simulation, simulate

ACCUSATIONS = {"reversed-annotators", "guessing", "copies", "divided", "position-bias"}


def looked_over(study: Simulation) -> Check:
    return check(aggcal.read_judgments(study.shown), with_precision=False)


def codes(found: Check) -> set[str]:
    return {finding.code for finding in found.findings}


def named(found: Check, code: str) -> list[str]:
    details = [finding.details for finding in found.findings if finding.code == code]
    return sorted(details[0]["annotators"]) if details else []


def those(study: Simulation, role: str) -> list[str]:
    return sorted(study.annotator_ids[study.role == role])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shape", [(30, 20, 50), (20, 14, 190)])
def test_a_clean_study_is_left_in_peace(shape: tuple[int, int, int], seed: int) -> None:
    items, annotators, each = shape
    number = annotators * each
    study = simulate(
        items=items, annotators=annotators, judgments=number, reliability_sd=0.4, seed=seed
    )
    assert not codes(looked_over(study)) & ACCUSATIONS


def test_reversed_annotators_are_named() -> None:
    study = simulate(items=30, annotators=20, judgments=1600, reversed_share=0.1, seed=1)
    assert named(looked_over(study), "reversed-annotators") == those(study, "reversed")


def test_guessing_annotators_are_named() -> None:
    study = simulate(
        items=20, annotators=15, judgments=4500, guessing_share=0.2, reliability_sd=0.3, seed=3
    )
    assert named(looked_over(study), "guessing") == those(study, "guesses")


def test_one_who_always_clicks_left_is_named_once() -> None:
    study = simulate(items=30, annotators=20, judgments=800, left_share=0.1, seed=3)
    found = looked_over(study)
    assert named(found, "position-bias") == those(study, "left")
    assert not set(named(found, "guessing")) & set(those(study, "left"))


def test_copies_are_named_with_whom_they_copy() -> None:
    study = simulate(items=30, annotators=20, judgments=1000, copied_share=0.05, seed=4)
    found = [f for f in looked_over(study).findings if f.code == "copies"]
    couple = {*study.copied, *study.copied.values()}
    assert [set(group) for group in found[0].details["groups"]] == [
        set(study.annotator_ids[sorted(couple)])
    ]


def test_those_who_see_the_exact_opposite_are_said_to_contradict_the_others() -> None:
    study = simulate(
        items=25, annotators=24, judgments=1920, camp_share=0.4, camp_correlation=-1.0, seed=5
    )
    assert named(looked_over(study), "contradicting") == those(study, "camp")


def test_two_camps_are_told_apart() -> None:
    study = simulate(
        items=25, annotators=24, judgments=1920, camp_share=0.4, camp_correlation=0.0, seed=5
    )
    found = [f for f in looked_over(study).findings if f.code == "divided"]
    assert found[0].severity == "problem"
    sides = [set(found[0].details[name]) for name in ("larger_camp", "smaller_camp")]
    camp = set(those(study, "camp"))
    right = max(
        len(sides[0] & camp) + len(sides[1] - camp), len(sides[1] & camp) + len(sides[0] - camp)
    )
    assert right >= 22


def test_without_sides_nothing_is_said_of_them() -> None:
    study = simulate(items=10, annotators=5, judgments=200, seed=1)
    found = check(aggcal.read_judgments(study.judgments))
    assert any(text.startswith("position bias") for text in found.not_checked)
    assert not codes(found) & {"position-bias", "side-preferred"}


def test_fast_annotators_and_times_that_stay_with_their_annotator() -> None:
    study = simulate(items=10, annotators=6, judgments=300, seed=1)
    seconds = np.array([5.0, 6.0, np.nan, 7.0, 0.8, 5.5])
    judgments = replace(aggcal.read_judgments(study.judgments), seconds=seconds)
    assert named(check(judgments), "too-fast") == [judgments.annotator_ids[4]]
    some = judgments.of_annotators(np.array([4, 0])).seconds
    assert some is not None
    assert some.tolist() == [0.8, 5.0]
    np.testing.assert_array_equal(judgments.swapped().seconds, seconds)


def test_a_quick_look_says_what_it_left_out() -> None:
    judgments = aggcal.read_judgments(simulate(items=10, annotators=5, judgments=200).judgments)
    found = check(judgments, quick=True)
    assert found.precision is None
    assert any(text.startswith("dependent answers") for text in found.not_checked)


def test_scores_that_run_the_other_way_are_a_problem() -> None:
    study = simulate(items=20, annotators=8, judgments=800, model_sd=1.0, seed=1)
    scores = aggcal.read_scores({"item": study.item_ids, "score": -study.model})
    assert "direction" in codes(check(aggcal.read_judgments(study.judgments), scores))


def test_scores_that_are_all_the_same_are_reported() -> None:
    """They passed for scores that already follow the consensus."""
    study = simulate(items=8, annotators=5, judgments=200, seed=2)
    judgments = aggcal.read_judgments(study.judgments)
    scores = aggcal.Scores(judgments.item_ids, np.full(8, 50.0))
    found = check(judgments, scores)
    assert "constant-scores" in codes(found)
    assert "direction" not in {each.code for each in found.passed}
    claims = aggcal.assess(judgments, scores, warn=False).guarantees
    assert "nothing to calibrate" in claims["gain"].says


@pytest.mark.parametrize("method", ["hra-e", "hra-n", "crowd-bt", "crowd-tcv", "btl", "tcv"])
def test_any_fit_names_the_reversed(method: FittedName) -> None:
    study = simulate(items=15, annotators=12, judgments=12 * 100, reversed_share=0.1, seed=6)
    found = check(aggcal.read_judgments(study.judgments), method=method, with_precision=False)
    assert named(found, "reversed-annotators") == those(study, "reversed")


def test_a_method_from_features_is_refused() -> None:
    with pytest.raises(OptionError, match="cannot fit 'gppl'"):
        check(aggcal.read_judgments([("ann", "a", "b")]), method="gppl")  # type: ignore[arg-type]


def test_the_order_of_rows_and_a_second_look_change_nothing(random: np.random.Generator) -> None:
    study = simulate(items=12, annotators=8, judgments=300, reversed_share=0.2, seed=3)
    columns = study.shown
    order = random.permutation(300)
    mixed = {name: column[order] for name, column in columns.items()}
    first, second = (check(aggcal.read_judgments(c)).to_dict() for c in (columns, mixed))
    assert first == second


def test_llmfao_shows_the_side_that_gpt_3_5_prefers(data_folder: Path) -> None:
    found = check(
        aggcal.read_judgments(data_folder / "llmfao" / "battles.csv"), with_precision=False
    )
    details = next(f.details for f in found.findings if f.code == "position-bias")
    at = details["annotators"].index("gpt-3.5-turbo-instruct")
    assert (details["chose_left"][at], details["decided"][at]) == (1352, 1945)
    # 56.6% of even pairs to the right is beyond chance, but does little harm.
    assert "gpt-4" not in details["annotators"]


def test_judgemark_is_left_in_peace(data_folder: Path) -> None:
    found = check(aggcal.read_judgments(data_folder / "judgemark" / "judgments.csv"))
    assert not codes(found) & ACCUSATIONS


def test_pairs_that_would_join_separate_pieces_are_named() -> None:
    rows = [
        (u, a, b) for u in ("ann", "bob", "cyd") for a, b in ("ab", "bc", "ca", "xy", "yz", "zx")
    ]
    found = check(aggcal.read_judgments(rows))
    apart = next(f for f in found.findings if f.code == "disconnected")
    joined = [set(pair) for pair in apart.details["joining_pairs"]]
    assert joined
    assert all(len(pair & set("abc")) == 1 and len(pair & set("xyz")) == 1 for pair in joined)


def test_items_without_a_maximum_are_named() -> None:
    rows = [(u, a, b) for u in ("ann", "bob", "cyd") for a, b in ("ab", "ba", "bc", "ac")]
    codes = {f.code: f for f in check(aggcal.read_judgments(rows)).findings}
    assert "'c'" in codes["separation"].message


def test_times_in_another_unit_accuse_nobody() -> None:
    study = simulate(items=10, annotators=6, judgments=300, seed=3)
    judgments = aggcal.read_judgments(study.judgments)
    timed = replace(judgments, seconds=np.full(judgments.n_annotators, 0.01))
    codes = {f.code for f in check(timed).findings}
    assert "impossible-times" in codes
    assert "too-fast" not in codes


def test_two_sides_of_equal_size_are_not_called_wrong() -> None:
    random = np.random.default_rng(0)
    rows = []
    for u, (j, i) in product(range(4), combinations(range(12), 2)):
        above = (random.random() < 0.9) == (u < 2)
        rows.append((f"u{u}", f"i{i if above else j}", f"i{j if above else i}"))
    codes = {finding.code for finding in check(aggcal.read_judgments(rows)).findings}
    assert "contradicting" in codes
    assert "reversed-annotators" not in codes
