"""Contexts, categories and scales on the command line and in a study file."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import Command

TABLE = """annotator,left,right,outcome,Prompt,Language
ann,a,b,-2,why?,de
ann,b,c,2,"how, then",en
bob,a,c,0,why?,
bob,b,a,-1,,de
"""
WISHES = ("--context", "prompt", "--by", "language", "--strength-scale", "-2:2")


def test_init_notes_what_the_commands_then_use(tmp_path: Path, command: Command) -> None:
    (tmp_path / "j.csv").write_text(TABLE)
    (tmp_path / "s.csv").write_text("item,score\na,1\nb,2\nc,3\n")
    done = command("init", "j.csv", "s.csv", *WISHES)
    assert done.returncode == 0, done.stderr
    assert "1 judgment has no context ('prompt' is blank there)" in done.stderr
    study = (tmp_path / "aggcal.toml").read_text()
    for line in ('context = "prompt"', "language", 'strength-scale = "-2:2"'):
        assert line in study
    done = command("run")
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "results" / "summary.json").read_text())
    assert "1 judgment has no context ('prompt' is blank there)" in summary["reading"]


def test_the_command_that_is_shown_again_names_them(tmp_path: Path, command: Command) -> None:
    (tmp_path / "j.csv").write_text(TABLE)
    done = command("aggregate", "j.csv", "-o", "out", *WISHES)
    assert done.returncode == 0, done.stderr
    done = command("convert", "j.csv", "-o", "-", "--quiet", *WISHES)
    assert done.stdout.splitlines()[:2] == [
        "annotator,left,right,outcome,context,language",
        "ann,a,b,left+,why?,de",
    ]


def test_refusals_are_one_sentence(tmp_path: Path, command: Command) -> None:
    (tmp_path / "j.csv").write_text(TABLE)
    for words, said in (
        (("--context", "promt", "--strength-scale", "-2:2"), "did you mean 'Prompt'?"),
        (("--by", "topic", "--strength-scale", "-2:2"), "no column 'topic' to take as a category"),
        (("--strength-scale", "5"), "write 1:5 if 1 means that the left item is much better"),
        ((), "its ends, such as --strength-scale '-2:2'"),
        (
            ("--by", "criterion", "--strength-scale", "-2:2"),
            "no column 'criterion' to take as a category",
        ),
    ):
        done = command("check", "j.csv", *words)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert said in done.stderr
