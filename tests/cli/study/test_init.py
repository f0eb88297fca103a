"""``aggcal init``: what it takes files for, what it refuses, what it writes."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from conftest import Command

ANSWERS = (
    "Coder;Draft A;Draft B;pick;note\nann;essay 1;essay 2;the former;x\n"
    "ann;essay 2;essay 3;the latter;\nbob;essay 1;essay 3;same;\n"
)
GRADES = "essay;gpt;len\nessay 1;3.5;100\nessay 2;2.5;120\nessay 3;1.5;80\n"
COLUMNS = ("--column", "left=Draft A", "--column", "right=Draft B", "--column", "outcome=pick")
LABELS = ("--outcome", "the former=left", "--outcome", "the latter=right")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "answers.csv").write_text(ANSWERS)
    (tmp_path / "grades.csv").write_text(GRADES)
    return tmp_path


def study(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "aggcal.toml").read_text(encoding="utf-8"))


def test_what_is_certain_is_shown_and_written(study_folder: Path, command: Command) -> None:
    done = command("init", *(f"data/{name}.csv" for name in ("judgments", "scores", "truth")))
    assert done.returncode == 0, done.stderr
    assert "data/judgments.csv: read as table: 1,500 judgments of 25" in done.stderr
    assert "data/scores.csv: model scores of 25 items (higher is better)" in done.stderr
    assert study(study_folder.parent) == {
        "judgments": "data/judgments.csv",
        "scores": "data/scores.csv",
        "truth": "data/truth.csv",
        "output": "results",
    }
    before = (study_folder.parent / "aggcal.toml").read_bytes()
    again = command("init", "data/judgments.csv")
    assert again.returncode == 2
    assert "already exists" in again.stderr
    assert (study_folder.parent / "aggcal.toml").read_bytes() == before
    assert command("init", "data/judgments.csv", "--force").returncode == 0


def test_each_refusal_leads_on(folder: Path, command: Command) -> None:
    words: tuple[str, ...] = ("init", "answers.csv", "grades.csv")
    for said, answer in (
        ("--column", COLUMNS),
        ("--outcome 'the former=MEANING'", LABELS),
        ("name the column of the numbers with --score-column", ("--score-column", "gpt")),
    ):
        done = command(*words)
        assert done.returncode == 2
        assert said in done.stderr.splitlines()[-1]
        assert not (folder / "aggcal.toml").exists()
        words += answer
    done = command(*words)
    assert done.returncode == 0, done.stderr
    found = study(folder)
    assert found["column"] == {"left": "Draft A", "right": "Draft B", "outcome": "pick"}
    assert found["outcome"] == {"the former": "left", "the latter": "right"}
    assert found["score-column"] == "gpt"
    done = command("run")
    assert done.returncode == 0, done.stderr
    assert (folder / "results" / "report.html").exists()


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "no files given"),
        ({"nowhere.csv": None}, "no such file"),
        ({"a.csv": ""}, "is empty"),
        (dict.fromkeys(("a.csv", "b.csv"), "annotator,winner,loser\nann,a,b\n"),
         "b.csv holds the same as a.csv"),
        ({"a.csv": "item,score\na,1\nb,2\n", "b.csv": "item,score\na,1\nb,2\n"}, "--scores FILE"),
        ({"a.csv": "annotator,winner,loser\nann,a,b\n", "b.csv": "item,score\nx,1\ny,2\n"},
         "no item of it is judged, such as 'a'"),
        ({"a.csv": "paper,reviewer,grading\np,ann,1\nq,ann,2\n"}, "--order"),
        ({"a.csv": "name\nx\ny\n"}, "If no judgments are in it, name what is, as in --scores FILE"),
        ({"a.csv": "item,score,mark\na,x,1\nb,y,2\n"}, "'x') is not a number"),
        ({"a.csv": "item,error\na,1\nb,2\n"}, "'error' is probably best where it is lowest"),
        ({"a.csv": "annotator,item_a,item_b,label\nann,a,b,1\nann,b,c,0\n"}, "--outcome 1=left"),
    ],
)  # fmt: skip
def test_what_is_not_certain_is_refused(
    files: dict[str, str | None], said: str, tmp_path: Path, command: Command
) -> None:
    for name, text in files.items():
        if text is not None:
            (tmp_path / name).write_text(text)
    done = command("init", *files)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]
    assert not (tmp_path / "aggcal.toml").exists()


def test_several_files_of_judgments(tmp_path: Path, command: Command) -> None:
    (tmp_path / "a.csv").write_text("annotator,winner,loser\nann,a,b\nann,b,c\n")
    (tmp_path / "b.csv").write_text("judge,left,right,outcome\nbob,a,c,left\n")
    (tmp_path / "s.csv").write_text("item,score\na,3\nb,1\nc,2\n")
    done = command("init", "a.csv", "b.csv", "s.csv")
    assert done.returncode == 0, done.stderr
    assert "2 files: 3 judgments of 3 items by 2 annotators" in done.stderr
    assert study(tmp_path)["judgments"] == ["a.csv", "b.csv"]
    run = command("run", "--no-check")
    assert run.returncode == 0, run.stderr
    assert "3 judgments" in run.stderr


def test_a_study_without_judgments_is_asked_first(tmp_path: Path, command: Command) -> None:
    rows = "".join(f"e{k},Text {k}\n" for k in range(12))
    (tmp_path / "items.csv").write_text(f"item,text\n{rows}")
    done = command("init", "items.csv")
    assert "aggcal suggest" in done.stderr
    done = command("suggest")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("annotator,left,right,left_text,right_text,outcome,why\n")
    assert len(done.stdout.splitlines()) == 21


def test_what_is_read_is_not_written_over(folder: Path, command: Command) -> None:
    done = command("init", "answers.csv", "-o", "answers.csv", "--force")
    assert done.returncode == 2
    assert (folder / "answers.csv").read_text() == ANSWERS
