"""Both stages as a user types them, at once and one by one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from conftest import ROOT, Command, table

HANGS = ("decided_by", "decided_change", "rank_without")
"""On whom a score hangs; where the data are checked."""


def test_run_writes_the_files_of_the_contract(
    study_folder: Path, tmp_path: Path, command: Command
) -> None:
    done = command(
        "run",
        study_folder / "judgments.csv",
        study_folder / "scores.csv",
        "-o",
        "out",
        "--seed",
        "0",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert lines[0].endswith("read as table: 1,500 judgments of 25 items by 12 annotators")
    first = lines.index("Ranked 25 items from 1,500 judgments by 12 annotators.")
    assert lines[first + 2].split() == ["rank", "item", "score", "95%", "interval"]
    assert lines[first + 13] == "… and 15 more items"
    assert "\nwrote out/report.html and 5 other files\n" in done.stderr
    assert "gradient" not in done.stderr
    out = tmp_path / "out"
    assert sorted(p.name for p in out.iterdir()) == [
        "annotators.csv",
        "comparisons.json",
        "items.csv",
        "report.html",
        "report.md",
        "summary.json",
    ]
    items = table(out / "items.csv")
    assert list(items[0]) == [
        "item",
        "consensus",
        "consensus_se",
        "consensus_low",
        "consensus_high",
        "rank",
        "rank_low",
        "rank_high",
        "sure_low",
        "sure_high",
        "model",
        "calibrated",
        "calibrated_low",
        "calibrated_high",
        "block",
        "n_judgments",
        "win_rate",
        *HANGS,
    ]
    for row in items:
        assert float(row["consensus_se"]) > 0.0
        assert int(row["rank_low"]) <= int(row["rank"]) <= int(row["rank_high"])
        ends = float(row["calibrated_low"]), float(row["calibrated_high"])
        assert ends[0] <= float(row["calibrated"]) <= ends[1]
    assert [int(row["rank"]) for row in items] == list(range(1, 26))
    values = [float(row["calibrated"]) for row in items]
    assert values == sorted(values, reverse=True)
    assert sum(int(row["n_judgments"]) for row in items) == 3000
    model = {row["item"]: row["score"] for row in table(study_folder / "scores.csv")}
    assert all(row["model"] == model[row["item"]] for row in items)
    annotators = table(out / "annotators.csv")
    assert list(annotators[0]) == [
        "annotator",
        "reliability",
        "reliability_low",
        "reliability_high",
        "n_judgments",
        "agreement",
        "verdict",
        "reason",
        "influence",
        "influence_item",
        "influence_change",
        "leader_without",
        "influence_exact",
    ]
    assert sum(float(row["reliability"]) < 0 for row in annotators) == 1
    summary = json.loads((out / "summary.json").read_text())
    assert {
        "version",
        "method",
        "calibrator",
        "n_items",
        "n_annotators",
        "n_judgments",
        "objective",
        "log_likelihood",
        "converged",
        "iterations",
        "gradient_norm",
        "seconds",
        "blocks",
        "shift_rms",
        "warnings",
        "guarantees",
    } <= set(summary)
    assert summary["converged"] is True
    assert summary["n_judgments"] == 1500
    assert summary["blocks"] == len({row["block"] for row in items})
    assert summary["reversed_annotators"] == [annotators[-1]["annotator"]]


def test_results_are_the_same_to_the_bit(
    study_folder: Path, tmp_path: Path, command: Command
) -> None:
    for name in ("one", "two"):
        command(
            "run", study_folder / "judgments.csv", study_folder / "scores.csv", "-o", name, "-q"
        )
    for file in ("items.csv", "annotators.csv", "report.html"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_stages_one_by_one_equal_run(study_folder: Path, tmp_path: Path, command: Command) -> None:
    command("run", study_folder / "judgments.csv", study_folder / "scores.csv", "-o", "whole", "-q")
    done = command("aggregate", study_folder / "judgments.csv", "-o", "first")
    assert done.returncode == 0, done.stderr
    assert list(table(tmp_path / "first" / "items.csv")[0]) == [
        "item",
        "consensus",
        "consensus_se",
        "consensus_low",
        "consensus_high",
        "rank",
        "rank_low",
        "rank_high",
        "sure_low",
        "sure_high",
        "n_judgments",
        "win_rate",
        *HANGS,
    ]
    assert (tmp_path / "first" / "report.html").exists()
    done = command("calibrate", "first/items.csv", study_folder / "scores.csv", "-o", "second")
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in (tmp_path / "second").iterdir()) == ["items.csv", "summary.json"]
    whole, second = (
        table(tmp_path / "whole" / "items.csv"),
        table(tmp_path / "second" / "items.csv"),
    )
    for a, b in zip(whole, second, strict=True):
        # From a table only standard errors are known, not the covariance: intervals differ.
        same = set(b) - {"calibrated_low", "calibrated_high"}
        assert {k: a[k] for k in same} == {k: b[k] for k in same}


def test_items_that_nobody_judged_are_predicted(
    study_folder: Path, tmp_path: Path, command: Command
) -> None:
    more = tmp_path / "more.csv"
    more.write_text((study_folder / "scores.csv").read_text() + "new,50\nfar,5000\n")
    done = command("run", study_folder / "judgments.csv", more, "-o", "out", "-q")
    assert done.returncode == 0, done.stderr
    found = {row["item"]: row for row in table(tmp_path / "out" / "predictions.csv")}
    assert set(found) == {"new", "far"}
    assert found["far"]["outside"] == "True"
    assert found["new"]["outside"] == "False"
    assert float(found["new"]["predicted"]) != 50.0
    command("run", study_folder / "judgments.csv", study_folder / "scores.csv", "-o", "out", "-q")
    assert not (tmp_path / "out" / "predictions.csv").exists(), "what an earlier run predicted"


def test_exports_of_other_tools_are_run_as_they_are(command: Command, tmp_path: Path) -> None:
    battles = [
        {"model_a": a, "model_b": b, "winner": w, "judge": f"u{k % 3}"}
        for k, (a, b, w) in enumerate(
            [("x", "y", "model_a"), ("y", "z", "model_b"), ("z", "x", "tie (bothbad)")] * 4
        )
    ]
    (tmp_path / "battles.json").write_text(json.dumps(battles))
    (tmp_path / "scores.csv").write_text("item,score\nx,3\ny,2\nz,1\n")
    done = command("run", "battles.json", "scores.csv", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "battles.json: read as arena" in done.stderr
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["format"] == "arena"
    assert "4 'both bad' are counted as ties" in " ".join(summary["reading"])
    skipped = command("check", "battles.json", "--outcome", "tie (bothbad)=skip", "--verbose")
    assert "record 3: skip: u2, z and x, 4 times" in skipped.stderr


def test_judgments_may_come_through_a_pipe(command: Command) -> None:
    text = "annotator,winner,loser\nu,a,b\nv,b,a\n"
    done = command("aggregate", "-", "-o", "out", "--json", "-q", input=text)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["n_judgments"] == 2
    bad = command("aggregate", "-", "-o", "out2", input=text + "u,a\n")
    assert bad.returncode == 2
    assert "-: line 4 has too few" in bad.stderr


def test_the_example_of_readme_runs_as_it_stands(study_folder: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    assert len([line for line in example.splitlines() if line.strip()]) <= 12
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", example],
        cwd=study_folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Ranked 25 items" in done.stdout
    assert (study_folder / "out" / "report.html").exists()
