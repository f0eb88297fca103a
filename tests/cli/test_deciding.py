"""Decisions and scales on the command line and in a study file."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from aggcal.cli import main

NAMES = ["item", "=b", "c,d", "e"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with judgments of oddly named items, and a model's scores."""
    place, random = tmp_path_factory.mktemp("study"), np.random.default_rng(2)
    with (place / "j.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["annotator", "winner", "loser"])
        for _ in range(120):
            i, j = sorted(random.choice(4, 2, replace=False).tolist())
            pair = (NAMES[i], NAMES[j]) if random.random() < 0.8 else (NAMES[j], NAMES[i])
            writer.writerow([f"u{random.integers(4)}", *pair])
    with (place / "s.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("item", "score"), *zip(NAMES, (71, 64, 66, 41), strict=True)])
    return place


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_everything_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    (folder / "aggcal.toml").write_text(
        'judgments = "j.csv"\nscores = "s.csv"\noutput = "out"\ntop = 2\ncut = 60\n'
        'grades = [50, 65]\nscale = "elo:c,d=1500"\n'
    )
    assert main(["run", "--no-check"]) == 0
    said = capsys.readouterr().err
    assert "Surely in the first 2:" in said
    assert "Top 2 and above 60:" in said
    assert "Best set of 2" in said
    assert "Grades at 50, 65:" in said
    (folder / "aggcal.toml").unlink()
    items = rows(folder / "out" / "items.csv")
    assert {row["item"]: float(row["elo"]) for row in items}["c,d"] == pytest.approx(1500.0)
    assert all(row["verdict"] in ("in", "open", "out") for row in items)
    assert {row["uncertain"] for row in items} <= {"True", "False"}
    summary = json.loads((folder / "out" / "summary.json").read_text())
    assert summary["decisions"]["top"] == 2
    assert "--grades 50,65" in summary["settings"]["command"]
    assert main(["report", "out", "-o", "out/report.md", "-q"]) == 0
    assert "Best set of 2" in (folder / "out" / "report.md").read_text()


def test_numbers_below_0_need_no_equals_sign(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    out = tmp_path / "out"
    words = ["run", "j.csv", "s.csv", "-o", str(out), "--no-check", "-q"]
    assert main([*words, "--bounds", "-5,65.5", "--grades", "-.5,60"]) == 0
    items = rows(out / "items.csv")
    assert max(float(row["calibrated"]) for row in items) <= 65.5
    command = json.loads((out / "summary.json").read_text())["settings"]["command"]
    assert command.endswith("--bounds -5,65.5 --grades -.5,60")


@pytest.mark.parametrize(
    ("words", "about"),
    [
        (["--top", "4"], "only 4 items"),
        (["--scale", "elo:z=1000"], "'z' is not among the judged items"),
        (["--scale", "win", "--cut", "60"], "no probability of beating the average item"),
        (["--scale", "win:e=1000"], "write, for example, elo:ITEM=1000"),
        (["--grades", "A=x"], "write, for example, A=70,B=60"),
        (["--error", "0.2"], "is for Python only: error="),
        (["--scale", "elo", "--method", "crowd-bt"], "do not say how often an item wins"),
        (["--scale", "1:5"], "choose elo, 0-100, win"),
    ],
)
def test_wishes_are_refused_before_the_fit(
    folder: Path,
    words: list[str],
    about: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("aggcal.aggregation.methods.LikelihoodMethod.fit", None)
    try:
        code = main(["aggregate", "j.csv", "-o", "never", *words])
    except SystemExit as left:
        code = left.code  # type: ignore[assignment]
    assert code == 2
    assert about in capsys.readouterr().err
    assert not (folder / "never").exists()


def test_calibrate_cuts_and_grades(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "c.csv").write_text('item,score,sd\nitem,2,.3\n=b,1,.3\n"c,d",0.5,.3\ne,-2,.3\n')
    assert main(["calibrate", "c.csv", "s.csv", "-o", "cal", "--cut", "60", "-q"]) == 0
    verdicts = {row["item"]: row["verdict"] for row in rows(folder / "cal" / "items.csv")}
    assert verdicts["item"] == "in"
    assert verdicts["e"] == "out"
