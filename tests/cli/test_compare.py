"""``aggcal compare`` and ``--method auto`` as they are used."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import aggcal
from conftest import Command

METHODS = "tcv,hra-g:plain"


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    study = aggcal.simulate(items=5, annotators=6, judgments=150, seed=3)
    columns = {name: list(column) for name, column in study.shown.items()}
    columns["prompt"] = [f"p{k % 9}" for k in range(150)]
    with (tmp_path / "j.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(columns)
        table.writerows(zip(*columns.values(), strict=True))
    return tmp_path


def test_it_prints_a_table_and_writes_nothing_unasked(judged: Path, command: Command) -> None:
    done = command("compare", "j.csv", "--methods", METHODS, "--folds", "3")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("150 held-out judgments by 6 annotators; 3 folds of whole questions")
    assert any(line.startswith("btl (reference)") for line in lines)
    assert "was chosen" in done.stdout
    assert [path.name for path in judged.iterdir()] == ["j.csv"]


def test_whole_contexts_are_held_out(judged: Path, command: Command) -> None:
    assert judged.is_dir()
    words = ("compare", "j.csv", "--methods", METHODS, "--folds", "3", "--context", "prompt")
    found = json.loads(command(*words, "--json").stdout)
    assert (found["held_out"], found["n_held_out"]) == ("prompt", 9)
    by = json.loads(command(*words, "--json", "--hold-out", "question").stdout)
    assert by["held_out"] == "question"
    refused = command(*words, "--hold-out", "screen")
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "--hold-out question" in refused.stderr


def test_other_files_are_not_replaced(judged: Path, command: Command) -> None:
    (judged / "out").mkdir()
    (judged / "out" / "comparison.csv").write_text("mine")
    words = ("compare", "j.csv", "--methods", "tcv", "--folds", "2", "-o", "out")
    refused = command(*words)
    assert refused.returncode == 2
    assert (judged / "out" / "comparison.csv").read_text() == "mine"
    done = command(*words, "--force")
    assert done.returncode == 0, done.stderr
    assert "wrote out/comparison.csv, out/comparison.svg, out/summary.json" in done.stderr


@pytest.mark.parametrize(("words", "said"), [
    (("--methods", "btl,hra-x"), "did you mean 'hra-"),
    (("--methods", "hra-g:ties"), "no judgment is a tie"),
    (("--folds", "200"), "cannot be parted into 200 folds"),
    (("--folds", "1"), "2 or more"),
])  # fmt: skip
def test_wrong_options_are_one_sentence(
    words: tuple[str, ...], said: str, judged: Path, command: Command
) -> None:
    done = command("compare", "j.csv", *words, "-o", "out")
    assert (done.returncode, done.stdout) == (2, "")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("aggcal: error: ")
    assert said in last
    assert not (judged / "out").exists()


def test_auto_says_why_everywhere(judged: Path, command: Command) -> None:
    done = command("aggregate", "j.csv", "-o", "out", "--method", "auto", "--no-check")
    assert done.returncode == 0, done.stderr
    summary = json.loads((judged / "out" / "summary.json").read_text(encoding="utf-8"))
    why = summary["selection"]["why"]
    assert summary["settings"]["method"] == "auto"
    assert summary["selection"]["chosen"].partition(":")[0] == summary["method"]
    assert why in done.stderr
    page = (judged / "out" / "report.html").read_text(encoding="utf-8")
    assert "Choice of method" in page
    assert why.split(" (")[0] in page
    assert "was chosen" in (judged / "out" / "report.md").read_text(encoding="utf-8")


def test_auto_falls_back_where_there_is_too_little(tmp_path: Path, command: Command) -> None:
    rows = "annotator,winner,loser\n" + "ann,a,b\nbob,b,c\n" * 10
    (tmp_path / "j.csv").write_text(rows, encoding="utf-8")
    done = command("aggregate", "j.csv", "-o", "out", "--method", "auto", "--no-check")
    assert done.returncode == 0, done.stderr
    assert "hra-g was used because methods could not be compared" in done.stderr
    refused = command("compare", "j.csv")
    assert refused.returncode == 2
    assert "at least 50 are needed" in refused.stderr


@pytest.mark.parametrize(
    "words",
    [("--prior", "none"), ("--ties", "halves"), ("--context", "p:fit"), ("--engine", "dask")],
)
def test_auto_refuses_what_it_chooses(
    words: tuple[str, ...], judged: Path, command: Command
) -> None:
    done = command("aggregate", "j.csv", "-o", "out", "--method", "auto", *words)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "auto" in done.stderr
    assert not (judged / "out").exists()
