"""``aggcal demo`` and ``aggcal list datasets``: real data, and numbers that can be checked."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

import aggcal
from aggcal import datasets
from aggcal.assessment import Assessment
from aggcal.cli import main
from aggcal.metrics import kendall
from aggcal.pages.document import plain_text
from aggcal.registry.datasets import DATASETS, DEMOS, SIMULATED
from aggcal.report.head import headline
from aggcal.report.run import load_run
from conftest import ROOT, Command, table


def column(path: Path, name: str) -> dict[str, float]:
    return {row["item"]: float(row[name]) for row in table(path) if row[name]}


def error(values: dict[str, float], truth: dict[str, float]) -> float:
    """How far off, by plain arithmetic."""
    off = np.array([values[item] - truth[item] for item in values if item in truth])
    return float(np.sqrt((off**2).mean()))


def test_calibration_visibly_helps_in_the_first_example(tmp_path: Path, command: Command) -> None:
    done = command("demo")
    assert done.returncode == 0, done.stderr
    out = tmp_path / "demo"
    assert done.stdout == f"{(out / 'report.html').resolve()}\n"
    assert "124 people compared the answers of 59 language models" in done.stderr
    assert "1 (1–3)    GPT 4 " in done.stderr
    data = out / "data" / "llmfao"
    truth, calibrated = column(data / "truth.csv", "truth"), column(out / "items.csv", "calibrated")
    before, after = (
        kendall(np.array([each[item] for item in truth]), np.array(list(truth.values())))[0]
        for each in (column(data / "scores.csv", "score"), calibrated)
    )
    assert f"order (tau-a) {before:.2f} before calibration, {after:.2f} after" in done.stderr
    assert after > before + 0.15
    # The picture in README is of this report: it cannot go stale unseen.
    run = load_run(out, force=False)
    said = plain_text(headline(run))
    picture = (ROOT / "docs" / "_static" / "report.png").read_bytes()
    assert said.encode() in picture, "make picture"


def test_the_commands_that_it_names_give_its_numbers(tmp_path: Path, command: Command) -> None:
    said = command("demo", "--data", "simulated", "-o", "d").stderr
    by_hand = shlex.split(said.splitlines()[-1].split("aggcal ", 1)[1])
    again = ["e" if word == "d" else word for word in by_hand]
    assert command(*again).returncode == 0
    for name in ("items.csv", "annotators.csv"):
        assert (tmp_path / "d" / name).read_bytes() == (tmp_path / "e" / name).read_bytes()
    truth = column(tmp_path / "d" / "data" / "simulated" / "truth.csv", "truth")
    before, after = (
        error(column(tmp_path / "d" / "items.csv", name), truth) for name in ("model", "calibrated")
    )
    assert f"RMS error {before:.1f} points before, {after:.1f} after;" in said


@pytest.mark.parametrize("name", DEMOS)
def test_every_demo_runs_and_may_follow_another(
    name: str,
    tmp_path: Path,
    data_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("AGGCAL_DATA", str(data_folder))
    monkeypatch.setattr(Assessment, "with_advice", lambda self, **_: self)  # not what is tested
    monkeypatch.chdir(tmp_path)
    for data in (name, SIMULATED):
        assert main(["demo", "--data", data]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == [str((tmp_path / "demo" / "report.html").resolve())] * 2
    assert "nan" not in said.err
    about = json.loads((tmp_path / "demo" / "data" / name / "dataset.json").read_text())
    assert about["data"] == name
    assert ("licence" in about) == (name in DATASETS)


def test_demo_without_the_data_is_one_sentence_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("AGGCAL_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("AGGCAL_MIRROR", "http://127.0.0.1:9")
    monkeypatch.setattr(datasets, "__file__", str(tmp_path / "lib" / "a" / "b" / "c.py"))
    monkeypatch.chdir(tmp_path)
    for name in ("reading-level", "llmfao"):
        assert main(["demo", "--data", name, "-q"]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.count("\n") == 1
        assert "AGGCAL_DATA" in said.err
    assert not list(tmp_path.iterdir())


def test_the_datasets_are_listed(command: Command, data_folder: Path) -> None:
    done = command("list", "datasets")
    assert done.returncode == 0, done.stderr
    for info in DATASETS.values():
        assert f"{info.name} " in done.stdout
        assert f"{info.judgments:,} judgments; {info.licence};" in done.stdout
    found = json.loads(command("list", "datasets", "--json").stdout)
    assert list(found) == list(DATASETS)
    for name, each in found.items():
        if DATASETS[name].in_repository:
            assert Path(each["folder"]).resolve() == (data_folder / DATASETS[name].folder).resolve()
        assert each["judgments"] == DATASETS[name].judgments


def test_a_report_of_dots_says_how_many_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Assessment, "with_advice", lambda self, **_: self)
    assert main(["demo", "--data", "dots", "-o", str(tmp_path / "demo"), "-q"]) == 0
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert "79 dots" in page
    assert aggcal.__version__ in page
