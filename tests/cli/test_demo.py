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
from aggcal.registry.datasets import DATASETS, DEMOS, SIMULATED
from conftest import Command, table


def column(path: Path, name: str) -> dict[str, float]:
    return {row["item"]: float(row[name]) for row in table(path) if row[name]}


def told(lines: list[str], label: str) -> list[float]:
    """The numbers of a row of the table."""
    (line,) = [line for line in lines if line.startswith(label)]
    return [float(word) for word in line[36:].split() if word[0].isdigit()]


def error(values: dict[str, float], truth: dict[str, float]) -> tuple[float, float]:
    """How far off, and how far off without the mean error, by plain arithmetic."""
    off = np.array([values[item] - truth[item] for item in values if item in truth])
    return float(np.sqrt((off**2).mean())), float(np.sqrt((off**2).mean() - off.mean() ** 2))


def test_ten_lines_on_dots_that_anyone_can_check(
    tmp_path: Path, command: Command, data_folder: Path
) -> None:
    done = command("demo")
    assert done.returncode == 0, done.stderr
    out = tmp_path / "demo"
    assert done.stdout == f"{(out / 'report.html').resolve()}\n"
    lines = done.stderr.splitlines()
    assert len(lines) == 10
    assert "300 people" in lines[0]
    assert "8,700 judgments" in lines[0]
    data = out / "data" / "dots"
    truth = column(data / "truth.csv", "truth")
    assert truth == {str(k): 49.0 + k for k in range(1, 31)}
    guesses = column(data_folder / "dots" / "items.csv", "mean_rating")
    calibrated = column(out / "items.csv", "calibrated")
    for label, values in (
        ("people's own estimates", guesses),
        ("OpenCV's counts", column(data / "scores.csv", "score")),
        ("calibrated counts", calibrated),
    ):
        assert told(lines, label)[:2] == pytest.approx(error(values, truth), abs=0.051), label
    # The story: people compare better than they estimate, and than the program counts; calibrated
    # counts have nearly their order; a few true counts take the bias away.
    order = {name: told(lines, name)[-2] for name in ("people's own", "OpenCV's", "calibrated")}
    (tau,) = told(lines, "the comparisons")
    assert tau > order["calibrated"] > order["OpenCV's"]
    assert tau > order["people's own"]
    mended = told(lines, "with 6 true counts")
    assert mended[0] < min(told(lines, name)[0] for name in order)
    assert len(table(data / "anchors.csv")) == 6


def test_the_commands_that_it_names_give_its_numbers(tmp_path: Path, command: Command) -> None:
    lines = command("demo", "--data", "simulated", "-o", "d").stderr.splitlines()
    by_hand = shlex.split(lines[-1].split("aggcal ", 1)[1])
    again = ["e" if word == "d" else word for word in by_hand]
    assert command(*again).returncode == 0
    for name in ("items.csv", "annotators.csv"):
        assert (tmp_path / "d" / name).read_bytes() == (tmp_path / "e" / name).read_bytes()
    data = tmp_path / "d" / "data" / "simulated"
    anchors = ("--anchors", data / "anchors.csv", "--calibrator", "fused", "--no-check")
    assert command(*again[:-1], "f", *anchors).returncode == 0
    known = column(data / "anchors.csv", "truth")
    made = column(tmp_path / "f" / "items.csv", "calibrated")
    others = {item: value for item, value in made.items() if item not in known}
    wanted = error(others, column(data / "truth.csv", "truth"))
    assert told(lines, "with 12 true scores")[:2] == pytest.approx(wanted, abs=0.051)


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
    assert main(["demo", "-o", str(tmp_path / "demo"), "-q"]) == 0
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert "79 dots" in page
    assert aggcal.__version__ in page
