"""``--title`` and ``--question``: kept in the summary, given once, cut where they are long."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import aggcal
from conftest import Command

ROWS = [("ann", "a", "b"), ("bob", "b", "c"), ("ann", "a", "c")]


def summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    lines = [",".join(row) for row in [("annotator", "winner", "loser"), *ROWS]]
    (tmp_path / "j.csv").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "s.csv").write_text("item,score\na,1\nb,2\nc,0\n", encoding="utf-8")
    return tmp_path


def test_they_are_kept_and_change_nothing_else(tables: Path, command: Command) -> None:
    words = ("run", "j.csv", "s.csv", "--no-check", "-q")
    assert command(*words, "-o", "plain").returncode == 0
    given = ("--title", " Éssays <b>2024</b> ", "--question", "Which is better?")
    assert command(*words, "-o", "titled", *given).returncode == 0
    plain, titled = summary(tables / "plain"), summary(tables / "titled")
    assert (titled["title"], titled["question"]) == ("Éssays <b>2024</b>", "Which is better?")
    assert set(titled) - set(plain) == {"title", "question"}
    for name in ("items.csv", "annotators.csv"):
        assert titled["files"][name] == plain["files"][name]
    assert "--title" in titled["settings"]["command"]


def test_stage_2_alone_and_a_report_have_them_too(tables: Path, command: Command) -> None:
    assert command("aggregate", "j.csv", "-o", "out", "--no-check").returncode == 0
    calibrate = ("calibrate", "out/items.csv", "s.csv", "-o", "two", "--title", "Two")
    assert command(*calibrate).returncode == 0
    assert summary(tables / "two")["title"] == "Two"
    assert "title" not in summary(tables / "out")
    assert command("report", "out", "--title", "Later").returncode == 0
    assert command("report", "out").returncode == 0
    assert summary(tables / "out")["title"] == "Later"
    # A report elsewhere leaves the results alone.
    assert command("report", "out", "-o", "page.html", "--title", "Elsewhere").returncode == 0
    assert summary(tables / "out")["title"] == "Later"


def test_a_study_file_gives_them(tables: Path, command: Command) -> None:
    (tables / "aggcal.toml").write_text(
        'title = "From the file"\nquestion = "Which?"\njudgments = "j.csv"\nscores = "s.csv"\n'
        'output = "out"\n[check]\nquick = true\n',
        encoding="utf-8",
    )
    assert command("run", "--question", "Why?").returncode == 0
    found = summary(tables / "out")
    assert (found["title"], found["question"]) == ("From the file", "Why?")
    assert command("check").returncode == 0
    (tables / "aggcal.toml").write_text('title = "two\\nlines"\njudgments = "j.csv"\n')
    done = command("aggregate", "-o", "new")
    assert (done.returncode, done.stderr.count("aggcal: error")) == (2, 1)
    assert not (tables / "new").exists()


@pytest.mark.parametrize("wrong", ["a\nb", "a\x1b[2J", "\u202eabc", "a\u2028b", "\x00"])
def test_control_characters_are_refused(wrong: str) -> None:
    for name in ("title", "question"):
        with pytest.raises(aggcal.errors.OptionError, match=f"{name} is not one line"):
            aggcal.assess(ROWS, warn=False, **{name: wrong})  # type: ignore[arg-type]


def test_a_long_title_is_cut_and_a_blank_one_is_none() -> None:
    result = aggcal.assess(ROWS, title="x" * 1000, question="  ", warn=False)
    found = result.to_dict()
    assert found["title"] == "x" * 199 + "…"
    assert "question" not in found
