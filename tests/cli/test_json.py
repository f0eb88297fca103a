"""``--json`` of every command: standard output is one JSON document, words go elsewhere."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from aggcal.cli.commands import COMMANDS
from conftest import Command, MadeOnce
from fork_server import ForkServer

TABLES = ("data/judgments.csv", "data/scores.csv")
MADE = {
    "init": TABLES,
    "run": (*TABLES, "-o", "new", "--title", "Essays"),
    "aggregate": (TABLES[0], "-o", "new"),
    "calibrate": ("out/items.csv", TABLES[1], "-o", "new"),
    "check": TABLES,
    "compare": (TABLES[0], "--methods", "tcv", "--folds", "2", "-o", "new"),
    "report": ("out", "--title", "Essays"),
    "explain": ("item-03", "out"),
    "convert": (TABLES[0], "-o", "new.csv"),
    "evaluate": ("out/items.csv", "data/truth.csv"),
    "simulate": ("-o", "new", "--items", "5", "--number", "20"),
    "power": (
        *("--goal", "half-width=1.5", "--items", "4", "--annotators", "3", "--method", "btl"),
        *("-o", "new"),
    ),
    "suggest": (TABLES[0], "-n", "2", "-o", "new.csv"),
    "list": ("datasets",),
    "demo": ("--data", "simulated", "-o", "new"),
    "completion": ("zsh",),
}
"""How each command is called; a new one needs an entry."""
WRITES_NOTHING = {
    *("check", "explain", "evaluate", "list", "completion"),
}


@pytest.fixture
def results(study_folder: Path, made_once: MadeOnce, fork_server: ForkServer) -> Path:
    """The folder where the command runs, with a study and its results."""

    def make(folder: Path) -> None:
        shutil.copytree(study_folder, folder / "data")
        done = fork_server.run(["run", *TABLES, "-o", "out", "--no-check", "-q"], folder)
        assert done.returncode == 0, done.stderr

    shutil.copytree(made_once("study-results", make) / "out", study_folder.parent / "out")
    return study_folder.parent


def test_every_command_has_json_and_quiet() -> None:
    for name, each in COMMANDS.items():
        names = {word for option in each.options for word in option.names}
        assert {"--json", "--quiet", "-q"} <= names, name


def test_every_command_is_tried() -> None:
    assert set(MADE) == set(COMMANDS)


@pytest.mark.parametrize("name", MADE)
def test_standard_output_is_one_document(name: str, results: Path, command: Command) -> None:
    done = command(name, *MADE[name], "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    written = found.get("files_written", [])
    assert all((results / path).is_file() for path in written)
    assert bool(written) == (name not in WRITES_NOTHING)
    if name in ("run", "report"):
        assert found["title"] == "Essays"
    # --quiet takes notes away, never results.
    again = command(name, *MADE[name], "--json", "--quiet", *force_of(name))
    assert again.returncode == 0, again.stderr
    assert set(json.loads(again.stdout)) == set(found)
    assert all(line.startswith("warning: ") for line in again.stderr.splitlines())


def force_of(name: str) -> list[str]:
    """Return ``--force`` for commands that would refuse to write their file again."""
    return ["--force"] if name in ("init", "convert", "suggest") else []


@pytest.mark.parametrize("words", [("run", "gone.csv", TABLES[1], "-o", "new"), ("check",)])
def test_errors_are_one_sentence_elsewhere(
    words: tuple[str, ...], results: Path, command: Command
) -> None:
    done = command(*words, "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("aggcal: error: ")
    assert done.stderr.count("\n") == 1
    assert not (results / "new").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("convert", TABLES[0], "-o", "-"),
        ("convert", TABLES[0], "-o", "/dev/stdout"),
        ("report", "out", "-o", "-"),
        ("suggest", TABLES[0], "--to", "argilla"),
    ],
)
def test_two_documents_on_standard_output_are_refused(
    words: tuple[str, ...], results: Path, command: Command
) -> None:
    assert results.is_dir()
    done = command(*words, "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "standard output" in done.stderr


def test_warnings_are_shown_even_when_quiet(tmp_path: Path, command: Command) -> None:
    rows = "annotator,winner,loser\nann,a,b\nann,c,d\n"
    (tmp_path / "j.csv").write_text(rows, encoding="utf-8")
    words = ("aggregate", "j.csv", "-o", "out", "--no-check")
    spoken, quiet = command(*words), command(*words, "-q")
    assert warnings(spoken) == quiet.stderr.splitlines() != []
    assert set(spoken.stderr.splitlines()) > set(quiet.stderr.splitlines())


def warnings(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
