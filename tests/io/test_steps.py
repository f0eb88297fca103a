"""Outcomes that say how much better an item is: words, arrows, own labels, scales."""

from __future__ import annotations

from pathlib import Path

import pytest

import aggcal
from aggcal.errors import OptionError, OutcomeError
from aggcal.io.choices import Choices
from aggcal.io.convert import convert_judgments


def test_a_scale_of_three_steps_turns_sides_as_stated() -> None:
    rows = [("u", "x", "y", "-1"), ("v", "x", "y", "0"), ("w", "x", "y", "1")]
    assert aggcal.read_judgments(rows, strength_scale="-1:1").outcome.tolist() == [1.0, 0.5, 0.0]
    assert aggcal.read_judgments(rows, strength_scale="1:-1").outcome.tolist() == [0.0, 0.5, 1.0]


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
