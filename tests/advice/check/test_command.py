"""The command: what it prints, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import aggcal
from aggcal.advice.check import check
from aggcal.io.cells import csv_writer
from aggcal.io.saving import Manifest, write_files
from aggcal.simulation import simulate
from conftest import Command


def test_findings_precision_and_exit_codes(tmp_path: Path, command: Command) -> None:
    study = simulate(items=15, annotators=10, judgments=600, left_share=0.1, seed=2)
    write_files(tmp_path, {"j.csv": csv_writer(study.shown)}, Manifest("data.json"))
    done = command("check", "j.csv", "--json", "--precision", "0.1")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    biased = next(f for f in found["findings"] if f["code"] == "position-bias")
    assert biased["details"]["annotators"] == list(study.annotator_ids[study.role == "left"])
    assert found["precision"]["wanted_error"] == 0.1
    assert found["precision"]["more"] > 0
    quick = command("check", "j.csv", "--quick", "--strict", "--method", "btl")
    assert quick.returncode == 1
    assert "position-bias" not in quick.stdout
    assert "favours one side of the screen" in quick.stdout
    assert "Not checked: " in quick.stdout
    wrong = command("check", "j.csv", "--precision", "-1")
    assert wrong.returncode == 2
    assert "above 0" in wrong.stderr


def test_one_who_answers_only_with_ties_is_not_called_a_guesser() -> None:
    study = simulate(items=10, annotators=8, judgments=1600, seed=2)
    rows = list(zip(*study.shown.values(), strict=True))
    rows += [("fair", a, b, "tie") for _, a, b, _ in rows[:200]]
    codes = {f.code for f in check(aggcal.read_judgments(rows), with_precision=False).findings}
    assert not codes & {"guessing", "reversed-annotators"}
