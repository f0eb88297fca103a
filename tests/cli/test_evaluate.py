"""``aggcal evaluate``: metrics against a truth."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import Command


def test_evaluate_prints_the_metrics_of_the_contract(
    study_folder: Path, tmp_path: Path, command: Command
) -> None:
    command("run", study_folder / "judgments.csv", study_folder / "scores.csv", "-o", "out", "-q")
    done = command("evaluate", "out/items.csv", study_folder / "truth.csv", "--json")
    found = json.loads(done.stdout)
    assert list(found) == ["n", "consensus", "model", "calibrated"]
    assert list(found["model"]) == [
        "tau_a",
        "tau_b",
        "spearman",
        "mse",
        "rmse",
        "wasserstein",
        "ks",
        "kl",
    ]
    assert found["n"] == 25
    shown = command("evaluate", "out/items.csv", study_folder / "truth.csv")
    assert "tau_a" in shown.stdout
    (tmp_path / "some.csv").write_text("item,truth\nitem-01,3\nitem-02,\nitem-03,4\nother,1\n")
    partly = command("evaluate", "out/items.csv", "some.csv", "--json")
    assert json.loads(partly.stdout)["n"] == 2
    assert "23 items of out/items.csv left out" in partly.stderr
    assert "2 rows of some.csv left out" in partly.stderr
