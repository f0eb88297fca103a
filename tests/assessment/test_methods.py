"""The files of a comparison of methods."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import aggcal
from aggcal.aggregation.selection import MEASURES
from aggcal.assessment.studies import MethodComparison
from aggcal.errors import OptionError, OutputError


@pytest.fixture(scope="module")
def found() -> MethodComparison:
    study = aggcal.simulate(items=6, annotators=8, judgments=200, seed=4)
    return aggcal.compare_methods(study.shown, ["tcv", "hra-g:plain"], folds=2)


def test_files_hold_what_the_comparison_does(found: MethodComparison, tmp_path: Path) -> None:
    paths = found.save(tmp_path / "out")
    assert [path.name for path in paths] == ["comparison.csv", "comparison.svg", "summary.json"]
    with paths[0].open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == [one.label for one in found.measured]
    for row, one in zip(rows, found.measured, strict=True):
        for name in MEASURES:
            assert float(row[name]) == one.values[name].value
            assert float(row[f"{name}_difference_se"]) == one.differences[name].se
    assert [row["method"] for row in rows if row["chosen"] == "yes"] == [found.chosen]
    summary = json.loads(paths[2].read_text(encoding="utf-8"))
    assert summary["why"] == found.why
    assert summary["methods"]["btl"]["log_loss"]["difference"]["value"] == 0.0
    assert set(summary["files"]) == {"comparison.csv", "comparison.svg"}
    found.save(tmp_path / "out")  # its own files are replaced


def test_results_of_another_command_are_not_replaced(
    found: MethodComparison, tmp_path: Path
) -> None:
    aggcal.assess([("ann", "a", "b"), ("bob", "a", "b")], warn=False).save(tmp_path, check=False)
    before = (tmp_path / "summary.json").read_bytes()
    with pytest.raises(OutputError):
        found.save(tmp_path)
    assert (tmp_path / "summary.json").read_bytes() == before
    assert not (tmp_path / "comparison.csv").exists()


def test_the_figure_shows_every_method_on_light_and_dark(
    found: MethodComparison,
) -> None:
    drawn = found.figure()
    tree = ET.fromstring(drawn)  # noqa: S314  # our own
    space = "{http://www.w3.org/2000/svg}"
    assert len(tree.findall(f".//{space}circle")) == len(found.measured)
    labels = {text.text for text in tree.iter(f"{space}text")}
    assert {one.label for one in found.measured} <= labels
    assert len(tree.findall(f".//{space}g[@class='chosen']")) == 1
    assert "prefers-color-scheme:dark" in drawn
    assert not any((text or "").startswith("-") for text in labels)


def test_the_text_marks_the_chosen_and_the_reference(
    found: MethodComparison,
) -> None:
    lines = str(found).splitlines()
    assert sum("*" in line and line.startswith(found.chosen) for line in lines) == 2
    assert sum(line.startswith("btl (reference)") for line in lines) == 2
    assert found.why.split()[0] == found.chosen
    assert "without ties" not in str(found)


def test_fits_are_reported() -> None:
    study = aggcal.simulate(items=4, annotators=4, judgments=60, seed=1)
    seen: list[tuple[str, int, int]] = []
    aggcal.compare_methods(
        study.judgments, ["btl"], folds=2, on_step=lambda *step: seen.append(step)
    )
    assert seen == [("comparing methods", 0, 2), ("comparing methods", 1, 2)]


def test_options_are_refused_before_anything_is_read() -> None:
    wrongs: list[dict[str, Any]] = [
        {"folds": 1}, {"folds": 2.5}, {"seed": -1}, {"sample": 3}, {"hold_out": "all"},
        {"methods": []}, {"methods": "btl"}, {"methods": [aggcal.methods.BTL]},
    ]  # fmt: skip
    for wrong in wrongs:
        with pytest.raises(OptionError):
            aggcal.compare_methods("missing.csv", **wrong)
