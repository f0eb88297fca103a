"""``aggcal init``: what it takes files for, what it asks, what it refuses, what it writes."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
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


def at_a_terminal(folder: Path, words: list[str], answers: list[str]) -> tuple[int, str]:
    """Run the command with a terminal, and answer its questions."""
    terminal, other = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "aggcal", *words],
        cwd=folder,
        stdin=other,
        stdout=other,
        stderr=other,
    )
    os.close(other)
    said, rest = b"", list(answers)
    while select.select([terminal], [], [], 60)[0]:
        try:
            more = os.read(terminal, 4096)
        except OSError:
            break
        said += more
        if said.endswith(b") ") and rest:
            os.write(terminal, f"{rest.pop(0)}\n".encode())
    os.close(terminal)
    assert not rest, said.decode()
    return process.wait(timeout=60), said.decode()


def test_what_is_known_is_shown_and_not_asked(study_folder: Path, command: Command) -> None:
    done = command("init", *(f"data/{name}.csv" for name in ("judgments", "scores", "truth")))
    assert done.returncode == 0, done.stderr
    assert "data/judgments.csv: judgments, read as table: 1,500 judgments of 25" in done.stderr
    assert "latent  not used" in done.stderr
    assert study(study_folder.parent) == {
        "judgments": "data/judgments.csv",
        "scores": "data/scores.csv",
        "truth": "data/truth.csv",
        "output": "results",
        "run": {},
        "check": {},
        "suggest": {},
    }
    before = (study_folder.parent / "aggcal.toml").read_bytes()
    again = command("init", "data/judgments.csv")
    assert again.returncode == 2
    assert "already exists" in again.stderr
    assert (study_folder.parent / "aggcal.toml").read_bytes() == before
    assert command("init", "data/judgments.csv", "--force").returncode == 0


def test_without_a_terminal_each_refusal_leads_on(folder: Path, command: Command) -> None:
    words: tuple[str, ...] = ("init", "answers.csv", "grades.csv", "--yes")
    for said, answer in (
        ("--column", COLUMNS),
        ("--outcome 'the former=MEANING'", LABELS),
        ("(found: gpt, len); name it with --score-column", ("--score-column", "gpt")),
    ):
        done = command(*words)
        assert done.returncode == 2
        assert said in done.stderr.splitlines()[-1]
        assert not (folder / "aggcal.toml").exists()
        words += answer
    done = command(*words)
    assert done.returncode == 0, done.stderr
    assert "'same' (1) tie, 'the former' (1) left, 'the latter' (1) right" in done.stderr
    found = study(folder)
    assert found["column"] == {"left": "Draft A", "right": "Draft B", "outcome": "pick"}
    assert found["outcome"] == {"the former": "left", "the latter": "right"}
    assert (found["item-column"], found["score-column"]) == ("essay", "gpt")
    done = command("run")
    assert done.returncode == 0, done.stderr
    assert (folder / "results" / "report.html").exists()


def test_at_a_terminal_only_what_is_unknown_is_asked(folder: Path) -> None:
    answers = ["outcome", "draft a", "Draft C", "Draft B", "pick", "LEFT", "upward", "right", "gpt"]
    code, said = at_a_terminal(folder, ["init", "answers.csv", "grades.csv"], answers)
    assert code == 0, said
    assert "'Draft C' is not one of these (did you mean 'Draft A' or 'Draft B'?)" in said
    assert "who judged" not in said  # Coder is known to be the annotator
    assert study(folder)["outcome"] == {"the former": "left", "the latter": "right"}


def test_what_one_and_zero_mean_is_asked(tmp_path: Path) -> None:
    rows = "ann,e1,e2,1\nann,e2,e3,0\nbob,e1,e3,1\nbob,e3,e4,0\n"
    (tmp_path / "j.csv").write_text(f"annotator,item_a,item_b,label\n{rows}")
    code, said = at_a_terminal(tmp_path, ["init", "j.csv"], ["right", "left"])
    assert code == 0, said
    assert study(tmp_path)["outcome"] == {"0": "right", "1": "left"}


def test_a_terminal_that_is_closed_leaves_nothing(folder: Path) -> None:
    code, said = at_a_terminal(folder, ["init", "answers.csv"], ["outcome", "\x04"])
    assert code == 2, said
    assert "nothing was written" in said
    assert not (folder / "aggcal.toml").exists()


def test_one_person_judged(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("winner,loser\na,b\nb,c\n")
    code, said = at_a_terminal(tmp_path, ["init", "a.csv"], ["nobody", "ann"])
    assert code == 0, said
    assert study(tmp_path)["judged-by"] == "ann"


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
         "no column holds judged items, such as 'a'"),
        ({"a.csv": "paper,reviewer,grading\np,ann,1\nq,ann,2\n"}, "--column"),
        ({"a.csv": "name\nx\ny\n"}, "no column is called item"),
        ({"a.csv": "item,score,mark\na,x,1\nb,y,2\n"}, "'x') is not a number"),
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
    assert "in total: 3 judgments of 3 items by 2 annotators" in done.stderr
    assert study(tmp_path)["judgments"] == ["a.csv", "b.csv"]
    run = command("run", "--no-check")
    assert run.returncode == 0, run.stderr
    assert "3 judgments" in run.stderr


def test_ids_tell_the_column_of_the_items(tmp_path: Path, command: Command) -> None:
    (tmp_path / "j.csv").write_text("annotator,winner,loser\nann,e1,e2\nbob,e2,e3\n")
    (tmp_path / "s.csv").write_text("row,paper,mark\nr1,e1,1\nr2,e2,2\nr3,e3,3\n")
    done = command("init", "j.csv", "s.csv")
    assert done.returncode == 0, done.stderr
    found = study(tmp_path)
    assert (found["item-column"], found["score-column"]) == ("paper", "mark")


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
