"""Weights at the limit, and a data check that fails: the fit is written all the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import Command, table


def weighted(path: Path, low: float, high: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    lines = [f"u0,i0,i1,{10.0**low!r}", f"u1,i1,i0,{10.0**high!r}"]
    for _ in range(60):
        left, right = random.choice(6, 2, replace=False)
        weight = 10.0 ** float(random.choice([low, high]))
        lines.append(f"u{random.integers(4)},i{left},i{right},{weight!r}")
    path.write_text("annotator,winner,loser,weight\n" + "\n".join(lines) + "\n")


@pytest.mark.parametrize(("low", "high"), [(-9.0, 3.0), (-3.0, 9.0), (9.0, 9.0), (-9.0, -9.0)])
def test_the_largest_and_smallest_weights_are_fitted(
    low: float, high: float, tmp_path: Path, command: Command
) -> None:
    weighted(tmp_path / "j.csv", low, high, seed=3)
    done = command("aggregate", "j.csv", "-o", "out")
    assert done.returncode == 0, done.stderr
    scores = [float(row["consensus"]) for row in table(tmp_path / "out" / "items.csv")]
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("broken", ["check", "suggest_pairs"])
def test_a_check_that_fails_is_a_note(broken: str, tmp_path: Path, command: Command) -> None:
    weighted(tmp_path / "j.csv", 0.0, 0.0, seed=3)
    script = (
        "import sys, numpy, aggcal.advice.advising, aggcal.cli\n"
        "def fail(*_, **__):\n    raise numpy.linalg.LinAlgError('Singular matrix')\n"
        f"aggcal.advice.advising.{broken} = fail\n"
        "sys.exit(aggcal.cli.main(sys.argv[1:]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "aggregate", "j.csv", "-o", "out"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    what = "The data check failed" if broken == "check" else "No pairs could be suggested"
    assert f"note: {what} (LinAlgError: Singular matrix)." in done.stderr
    assert command("aggregate", "j.csv", "-o", "usual", "--quiet").returncode == 0
    assert table(tmp_path / "out" / "items.csv") == table(tmp_path / "usual" / "items.csv")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    notes = [f for f in summary["check"]["findings"] if f["code"] == "check-failed"]
    assert [note["severity"] for note in notes] == ["note"]
    assert what in (tmp_path / "out" / "report.html").read_text()
    assert command("report", "out").returncode == 0
