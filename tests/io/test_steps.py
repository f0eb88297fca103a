"""Outcomes that say how much better an item is: words, arrows, own labels, scales."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import aggcal
from aggcal.errors import OptionError, OutcomeError
from aggcal.io.choices import Choices
from aggcal.io.convert import convert_judgments


def graded(*labels: str, **options: Any) -> dict[str, int | None]:
    """Return the grade that each label gets in one table; None for all where there are none."""
    rows = [(f"u{k}", "x", "y", label) for k, label in enumerate(labels)]
    judgments = aggcal.read_judgments(rows, **options)
    order = [int(str(u)[1:]) for u in judgments.annotator_ids[judgments.annotator]]
    if judgments.grade is None:
        return dict.fromkeys(labels)
    for grade, outcome in zip(judgments.grade.tolist(), judgments.outcome.tolist(), strict=True):
        assert outcome == (grade > 0) + 0.5 * (grade == 0)
    return {labels[k]: int(g) for k, g in zip(order, judgments.grade, strict=True)}


@pytest.mark.parametrize(
    ("labels", "grades"),
    [
        (("left", "right", "tie"), None),
        (("left+", "left", "tie", "right", "right++"), (2, 1, 0, -1, -3)),
        (("A>>B", "A>B", "A=B", "B>A", "B>>A"), (2, 1, 0, -1, -2)),
        (("[[A>>B]]", "[[A=B]]", "[[B>A]]"), (2, 0, -1)),
        (("A<<B", "A<B", "a > b"), (-2, -1, 1)),
        (("A is much better", "A is better", "tie", "B is better"), (2, 1, 0, -1)),
        (("A is much better", "A is slightly better", "about the same", "B is slightly better"),
         (2, 1, 0, -1)),
        (("A is significantly better", "B is better", "A is slightly better"), (3, -2, 1)),
        (("Response 1 is much better", "Response 2 is slightly better"), (2, -1)),
        (("Strongly prefer A", "Prefer B", "no preference"), (2, -1, 0)),
        (("left much worse", "right slightly worse than left"), (-2, 1)),
        (("A is better", "B is better"), None),
        (("A is slightly better", "B is slightly better"), None),
    ],
)  # fmt: skip
def test_labels(labels: tuple[str, ...], grades: tuple[int, ...] | None) -> None:
    expected = dict.fromkeys(labels) if grades is None else dict(zip(labels, grades, strict=True))
    assert graded(*labels) == expected


@pytest.mark.parametrize("label", ["much better", "A is much better than A", "gpt is much better"])
def test_labels_without_a_side_are_asked_for(label: str) -> None:
    with pytest.raises(OutcomeError, match="unknown outcome"):
        graded("left", label)
    assert graded("left", label, outcomes={label: "right+"}) == {"left": 1, label: -2}


def test_steps_that_cannot_be_told_are_asked_for() -> None:
    with pytest.raises(OutcomeError, match=r"beside 'left\+'"):
        graded("left+", "A is slightly better")
    with pytest.raises(OutcomeError, match="four steps"):
        graded("A slightly better", "A is better", "A is much better", "B is vastly better")
    with pytest.raises(OutcomeError, match=r"0\.8.*steps such as left\+"):
        graded("left+", "0.8")
    assert graded("left+", "1", "0.5", "0") == {"left+": 2, "1": 1, "0.5": 0, "0": -1}


def test_numbers_from_0_to_1_stay_strengths() -> None:
    judgments = aggcal.read_judgments([("u", "x", "y", "0.8"), ("v", "x", "y", "1")])
    assert judgments.outcome.tolist() == [0.8, 1.0]
    assert judgments.grade is None


@pytest.mark.parametrize(
    ("scale", "grades"),
    [
        ("1:5", {"1": 2, "2.0": 1, "3": 0, "4": -1, "5": -2}),
        ("5:1", {"1": -2, "2.0": -1, "3": 0, "4": 1, "5": 2}),
        ("-3:3", {"-3": 3, "0": 0, "+1": -1, "3": -3}),
        ("7:1", {"7": 3, "6": 2, "4": 0, "1": -3}),
        ("1:4", {"1": 2, "2": 1, "3": -1, "4": -2}),
        ("-1:1", {"-1": None, "0": None, "1": None}),
    ],
)
def test_scales(scale: str, grades: dict[str, int | None]) -> None:
    assert graded(*grades, strength_scale=scale) == grades


def test_a_scale_of_three_steps_turns_sides_as_stated() -> None:
    rows = [("u", "x", "y", "-1"), ("v", "x", "y", "0"), ("w", "x", "y", "1")]
    assert aggcal.read_judgments(rows, strength_scale="-1:1").outcome.tolist() == [1.0, 0.5, 0.0]
    assert aggcal.read_judgments(rows, strength_scale="1:-1").outcome.tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("labels", "scale", "about"),
    [
        (("1", "5"), "5", "does not say which end"),
        (("1", "5"), "1:10", "10 steps"),
        (("1", "5"), "1:4", "outcome 5, which is not on the scale from 1 to 4"),
        (("1", "2.5"), "1:5", "outcome 2.5, which is not on the scale"),
        (("left", "right"), "1:5", "no outcome is a number from 1 to 5"),
        (("1", "3", "5"), None, "strength_scale='1:5'"),
    ],
)
def test_numbers_that_are_not_clear_are_refused(
    labels: tuple[str, ...], scale: str | None, about: str
) -> None:
    with pytest.raises((OptionError, OutcomeError), match=about):
        graded(*labels, strength_scale=scale)


def test_a_scale_is_for_outcomes_that_are_numbers_of_ones_own() -> None:
    rows = [{"generator_1": "a", "generator_2": "b", "preference": 2, "annotator": "u"}]
    with pytest.raises(OptionError, match="does not apply to alpaca-eval"):
        aggcal.read_judgments(rows, strength_scale="1:5")


def test_steps_survive_our_own_format(tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("annotator,left,right,outcome\nu,x,y,1\nu,y,z,3\nv,x,z,5\nv,x,y,4\n")
    convert_judgments([source], target, choices=Choices(strength_scale=(1, 5)))
    assert [line.split(",")[-1] for line in target.read_text().splitlines()[1:]] == [
        "left+", "tie", "right+", "right",
    ]  # fmt: skip
    one, other = aggcal.read_judgments(source, strength_scale="1:5"), aggcal.read_judgments(target)
    assert one.grade is not None
    assert other.grade is not None
    assert one.grade.tolist() == other.grade.tolist()
    with pytest.raises(OptionError, match="no ties or strengths"):
        convert_judgments([target], tmp_path / "c.csv", to="crowd-kit")


def test_labels_mean_the_same_in_all_files(tmp_path: Path) -> None:
    head = "annotator,left,right,outcome\n"
    two, three, plain = (tmp_path / f"{name}.csv" for name in ("two", "three", "plain"))
    two.write_text(head + "u,x,y,A is slightly better\nu,y,z,A is much better\n")
    three.write_text(head + "v,x,y,A slightly better\nv,y,z,B is better\nv,x,z,A is much better\n")
    plain.write_text(head + "w,x,y,left\nw,y,z,tie\n")
    with pytest.raises(OptionError, match=r"'a is much better' would mean left\+ in two.csv"):
        aggcal.read_judgments([two, three])
    both = aggcal.read_judgments([two, plain])
    assert both.grade is not None
    assert both.grade.tolist() == [1, 2, 1, 0]
    assert any("plain.csv: does not say how much better" in note for note in both.notes)
    soft = tmp_path / "soft.csv"
    soft.write_text(head + "w,x,y,0.7\n")
    with pytest.raises(OutcomeError, match="steps such as"):
        aggcal.read_judgments([two, soft])
