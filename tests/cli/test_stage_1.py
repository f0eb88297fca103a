"""The options of Stage 1: methods, priors, standard errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aggcal.registry import METHODS
from conftest import Command, table


@pytest.mark.parametrize("method", list(METHODS))
def test_every_method_runs_and_json_goes_to_stdout(
    method: str, study_folder: Path, command: Command
) -> None:
    done = command(
        "run",
        study_folder / "judgments.csv",
        study_folder / "scores.csv",
        "-o",
        "out",
        "--method",
        method,
        *(("--features", "identity") if METHODS[method].from_features else ()),
        "--json",
        "--quiet",
    )
    assert done.returncode == 0
    assert all(line.startswith("warning: ") for line in done.stderr.splitlines())
    summary = json.loads(done.stdout)
    assert summary["method"] == method
    assert summary["converged"] is True
    assert len(summary["reversed_annotators"]) == 1  # by the check, whatever the method can tell
    assert summary["verdicts"]["reversed"] == 1


@pytest.mark.parametrize(
    "prior",
    [("--prior", "auto"), ("--prior", "none")],
    ids=str,
)
def test_priors_can_be_chosen(prior: tuple[str, ...], study_folder: Path, command: Command) -> None:
    done = command("aggregate", study_folder / "judgments.csv", "-o", "out", *prior, "--json", "-q")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)["prior"]
    assert (said is None) == (prior[1] == "none")


def test_bootstrap_and_no_uncertainty(study_folder: Path, tmp_path: Path, command: Command) -> None:
    judgments, scores = study_folder / "judgments.csv", study_folder / "scores.csv"
    done = command("run", judgments, scores, "-o", "boot", "--uncertainty", "bootstrap", "-q")
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "boot" / "summary.json").read_text())
    assert summary["uncertainty"]["kind"] == "bootstrap"
    assert "consensus_se" in table(tmp_path / "boot" / "items.csv")[0]
    assert "reliability_low" not in table(tmp_path / "boot" / "annotators.csv")[0]
    done = command("run", judgments, scores, "-o", "bare", "--uncertainty", "none", "-q")
    assert done.returncode == 0, done.stderr
    assert "consensus_se" not in table(tmp_path / "bare" / "items.csv")[0]
    assert (
        "certified_pairs"
        not in json.loads((tmp_path / "bare" / "summary.json").read_text())["guarantees"]
    )
