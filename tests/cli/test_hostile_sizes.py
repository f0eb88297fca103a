"""Files and options out of all proportion, through the real command: one sentence, in bounds."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Command, table

GOOD = "annotator,winner,loser\nu,a,b\nv,b,c\nu,c,a\n"


def refused(done: subprocess.CompletedProcess[str], said: str) -> None:
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def peak(folder: Path, *words: object) -> tuple[int, str]:
    """Run the command; return the most memory that it took, in MB, and what it said."""
    script = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run([sys.executable, '-m', 'aggcal', *sys.argv[1:]], check=False, "
        "capture_output=True, text=True)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)\n"
        "print(done.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, words)],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    number, said = done.stdout.split("\n", 1)
    return int(number), said.strip()


@pytest.mark.parametrize("start", ["1: ", "# ALTERNATIVE NAME 1: ", ""])
def test_one_endless_line_of_preflib(start: str, tmp_path: Path) -> None:
    with gzip.open(tmp_path / "bomb.soc", "wb", 1) as file:
        file.write(f"# DATA TYPE: soc\n# NUMBER ALTERNATIVES: 3\n{start}".encode())
        for _ in range(200):
            file.write((b"1," if start else b"  ") * 500_000)
    most, said = peak(tmp_path, "aggregate", "bomb.soc", "-o", "out")
    assert "line 3 is longer than 1,000,000 characters" in said
    assert most < 200, "less than the line itself"


def test_an_endless_record_of_json(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "bomb.json", "wb", 1) as file:
        file.write(b'[{"id": 1, "data": {"a": "x", "b": "y"}, "annotations": []}, {"id": "')
        for _ in range(400):
            file.write(b"x" * 1_000_000)
    most, said = peak(tmp_path, "aggregate", "bomb.json", "-o", "out", "--format", "label-studio")
    assert "begins a value of more than" in said
    assert most < 1000


def test_a_header_of_many_columns(tmp_path: Path, command: Command) -> None:
    extra = [f"column number {k}" for k in range(8_000)]
    lines = [
        ["annotator", "winner", *extra, "loser"],
        *([who, one, *("1" * 8_000), other] for who, one, other in ("uab", "vbc", "uca")),
    ]
    (tmp_path / "j.csv").write_text("".join(",".join(line) + "\n" for line in lines))
    assert (tmp_path / "j.csv").read_text().index("\n") > 1 << 16
    done = command("convert", "j.csv", "-o", "out.csv")
    assert done.returncode == 0, done.stderr
    assert [row["loser"] for row in table(tmp_path / "out.csv")] == ["b", "c", "a"]


@pytest.mark.parametrize("command_name", ["convert", "evaluate"])
def test_a_header_of_too_many_columns(command_name: str, tmp_path: Path, command: Command) -> None:
    names = ",".join(f"c{k}" for k in range(200_000))
    (tmp_path / "j.csv").write_text(f"annotator,winner,loser,{names}\nu,a,b{',1' * 200_000}\n")
    words = ("convert", "j.csv", "-o", "out.csv") if command_name == "convert" else (
        "evaluate", "j.csv", "j.csv"
    )  # fmt: skip
    refused(command(*words), "has 200,003 columns, and at most 10,000 are read")


def test_a_first_line_without_end(tmp_path: Path, command: Command) -> None:
    (tmp_path / "j.csv").write_text("annotator,winner,loser" * 400_000)
    refused(command("convert", "j.csv", "-o", "out.csv"), "the first line is longer than")


def test_a_column_with_an_endless_name(tmp_path: Path, command: Command) -> None:
    name = "x" * 300_000
    (tmp_path / "j.csv").write_text(f"annotator,winner,{name},loser\nu,a,1,b\nu,b,1,a\n")
    done = command("convert", "j.csv", "-o", "out.csv")
    assert done.returncode == 0, done.stderr
    done = command("convert", "j.csv", "-o", "no.csv", "--column", "annotator=nobody")
    refused(done, "there is no column 'nobody'")
    assert len(done.stderr) < 1000


def test_an_endless_line_is_not_passed_over(tmp_path: Path, command: Command) -> None:
    """DuckDB leaves out a line that is longer than its buffer, and says nothing."""
    with (tmp_path / "j.csv").open("w") as file:
        file.write(GOOD + "u,")
        file.write("x" * 40_000_000)
        file.write("\nv,a,c\n")
    refused(command("convert", "j.csv", "-o", "out.csv"), "row 4 is longer than 10 million bytes")


@pytest.mark.parametrize("piece", [b"x" * 100, b"x" * 99 + b"\n"], ids=["one line", "many"])
@pytest.mark.parametrize("size", [12, 42])
def test_a_cell_without_end(size: int, piece: bytes, tmp_path: Path) -> None:
    with (tmp_path / "j.csv").open("wb") as file:
        file.write(GOOD.encode() + b'u,"')
        for _ in range(size):
            file.write(piece * 10_000)
        file.write(b'",b\nu,c,a\n')
    most, said = peak(tmp_path, "convert", "j.csv", "-o", "out.csv", "-q")
    assert said == (
        "aggcal: error: j.csv: row 4 is longer than 10 million bytes; close its quotation marks "
        "or name items by ids instead of texts."
    )
    assert most < 1000


def test_convert_keeps_within_its_memory(tmp_path: Path) -> None:
    (tmp_path / "small.csv").write_text(GOOD)
    with (tmp_path / "large.csv").open("w") as file:
        file.write("annotator,winner,loser\n")
        for k in range(250_000):
            file.write(f"annotator {k % 1000},item {k % 3001},item {k % 2999}a\n")
    options = ("-o", "out.csv", "--force")
    least, _ = peak(tmp_path, "convert", "small.csv", *options)
    most, said = peak(tmp_path, "convert", "large.csv", *options)
    assert "250,000 judgments" in said
    assert most - least < 110, "rows as Python objects would take more"


def test_no_room_for_what_comes_through_a_pipe(
    tmp_path: Path, command: Command, small_files_only: Callable[[], None]
) -> None:
    """A limit on the size of files stops the copy of standard input, as a full disk would."""
    text = GOOD + "u,a,b\n" * 1000
    done = command("aggregate", "-", "-o", "out", input=text, preexec_fn=small_files_only)
    refused(done, "a temporary file cannot be written")
    assert "TMPDIR" in done.stderr
    assert not (tmp_path / "out").exists()
