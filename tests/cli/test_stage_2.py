"""The options of Stage 2: what is known about the model and the truth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Command, table


def test_anchors_and_model_sd_through_the_command(
    study_folder: Path, tmp_path: Path, command: Command
) -> None:
    judgments, scores = study_folder / "judgments.csv", study_folder / "scores.csv"
    truth = table(study_folder / "truth.csv")
    anchors = tmp_path / "anchors.csv"
    anchors.write_text("item,truth\n" + "".join(f"{r['item']},{r['truth']}\n" for r in truth[:20]))
    done = command(
        "run", judgments, scores, "-o", "anchored", "--calibrator", "fused",
        "--anchors", anchors, "--level", "0.9",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "The intervals have coverage of the truth." in done.stderr
    assert "the mean squared error" in done.stderr
    summary = json.loads((tmp_path / "anchored" / "summary.json").read_text())
    assert summary["calibrated_interval"] == {"covers": "coverage of the truth", "level": 0.9}
    assert summary["n_anchors"] == 20
    assert summary["guarantees"]["measured_gain"]["values"]["anchors"] > 0
    report = (tmp_path / "anchored" / "report.html").read_text()
    assert "What can be claimed" in report
    assert "coverage of the truth" in report
    done = command("run", judgments, scores, "-o", "safe", "--calibrator", "safe", "--model-sd", 9)
    assert done.returncode == 0, done.stderr
    assert "safe" in json.loads((tmp_path / "safe" / "summary.json").read_text())["guarantees"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--calibrator", "safe"], "give --model-sd"),
        (["--model-sd", "-1"], "--model-sd is -1.0; give a number above 0"),
        (["--level", "95"], "--level is 95.0; give a number between 0 and 1, such as 0.95"),
        (["--anchors", "none.csv"], "none.csv"),
        (["--second-model", "SCORES"], "is for Python only: second_model="),
        (["--uncertainty", "sandwich"], "choose robust, laplace, bootstrap, none"),
    ],
)
def test_options_of_stage_2_that_cannot_be(
    arguments: list[str], said: str, study_folder: Path, tmp_path: Path, command: Command
) -> None:
    scores = study_folder / "scores.csv"
    given = [str(scores) if a == "SCORES" else a for a in arguments]
    done = command("run", study_folder / "judgments.csv", scores, "-o", "out", *given)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
