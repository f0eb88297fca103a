"""Every kind of bad input, through the real command: one sentence, exit code 2, nothing written."""

from __future__ import annotations

import ctypes
import gzip
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Command

GOOD_JUDGMENTS = "annotator,winner,loser\nu,a,b\nv,b,c\nu,c,a\nv,a,c\n"
GOOD_SCORES = "item,score\na,1.0\nb,2.0\nc,3.0\n"
LONG = "annotator,left,right,outcome\n"

BAD_JUDGMENTS = {
    "empty file": ("", "is empty"),
    "blank lines only": ("\n\n", "is empty"),
    "header only": ("annotator,winner,loser\n", "no row"),
    "missing column": ("annotator,winner\nu,a\n", "found: annotator, winner"),
    "an endless outcome": (f"annotator,left,right,outcome\nu,a,b,{200_000 * 'x'}\n", "xxx...'"),
    "no header": ("u,a,b\nu,b,c\n", "the first line must name them"),
    "long form without outcome": ("annotator,left,right\nu,a,b\n", "cannot tell what"),
    "column twice": ("annotator,winner,loser,winner\nu,a,b,c\n", "duplicate column 'winner'"),
    "too few values": ("annotator,winner,loser\nu,a,b\nu,a\n", "line 3 has too few"),
    "too many values": ("annotator,winner,loser\nu,a,b\n\nu,a,b,c\n", "line 4 has too many"),
    "open quotation": ('annotator,winner,loser\nu,"a,b\nu,a,c\n', "line 2 has a quotation mark"),
    "missing id": ("annotator,winner,loser\nu,a,b\n\nu,,b\n", "line 4 has no value"),
    "unknown outcome": (LONG + "u,a,b,left\nu,b,c,both odd\n", "line 3 has the unknown outcome"),
    "outcome above 1": (LONG + "u,a,b,left\nu,b,c,1.5\n", "line 3 has the outcome 1.5"),
    "outcome below 0": (LONG + "u,a,b,-0.1\n", "outside 0 to 1"),
    "outcome not a number": (LONG + "u,a,b,nan\n", "unknown outcome 'nan'"),
    "missing answers": (LONG + "u,a,b,\nu,b,c,\n", "set aside: 2 not answered"),
    "negative weight": ("annotator,winner,loser,weight\nu,a,b,1\nu,b,c,-2\n", "negative weight"),
    "missing weight": ("annotator,winner,loser,weight\nu,a,b,1\nu,b,c,\n", "line 3 has no weight"),
    "weight not a number": ("annotator,winner,loser,weight\nu,a,b,heavy\n", "'heavy'"),
    "infinite weight": ("annotator,winner,loser,weight\nu,a,b,inf\n", "not finite"),
    "weight too small": ("annotator,winner,loser,weight\nu,a,b,1e-200\n", "outside 1e-09 to 1e+09"),
    "weight too large": (
        "annotator,winner,loser,weight\nu,a,b,1\nu,a,b,1e14\n",
        "line 3 has a weight outside",
    ),
    "weights too far apart": (
        "annotator,winner,loser,weight\nu,a,b,1e-7\nv,b,a,1e9\n",
        "line 2 has a weight of less than 1/1e+12 of the largest ('1e-7')",
    ),
    "fewer than two items": ("annotator,winner,loser\nu,a,a\n", "fewer than two items"),
    "nothing answered": (LONG + "u,a,b,skip\n", "fewer than two items"),
}  # fmt: skip

BAD_SCORES = {
    "empty file": ("", "is empty"),
    "header only": ("item,score\n", "no row"),
    "missing column": ("item,loss\na,1\n", "'score' missing"),
    "ragged row": ("item,score\na,1\nb\n", "line 3 has too few"),
    "score not a number": ("item,score\na,1\nb,good\n", "line 3, item 'b': the score ('good')"),
    "decimal comma or not": ('item,score\na,"1,500"\nb,2\n', "write 1.500 or 1500"),
    "infinite score": ("item,score\na,1\nb,inf\n", "line 3, item 'b'"),
    "score nan": ("item,score\na,1\nb,nan\n", "is not a number"),
    "missing scores": ("item,score\na,\nb,\n", "'score' is blank in every row"),
    "two scores": ("item,score\na,1\nb,2\na,1\n", "duplicate item 'a' (line"),
    "missing item": ("item,score\na,1\n,2\n", "line 3 has no item"),
    "negative sd": ("item,score,sd\na,1,1\nb,2,-1\n", "line 3, item 'b': the sd ('-1')"),
    "missing sd": ("item,score,sd\na,1,1\nb,2,\n", "the sd is missing"),
    "score too large": ("item,score\na,1\nb,1e308\n", "is too large"),
    "sd too small": ("item,score,sd\na,1,1\nb,2,1e-170\n", "is too small"),
    "no common item": ("item,score\nx,1\ny,2\n", "no item is in both tables"),
}  # fmt: skip


DEVICES = {
    "/dev/zero": "is a device",
    "/dev/urandom": "is a device",
    "/dev/full": "is a device",
    "/dev/null": "is empty",
    "link.csv": "is a device",
    "/proc/self/mem": "is a file of the operating system",
    "/proc/cpuinfo": "is a file of the operating system",
    "pipe": "is a pipe that no program writes into",
    "-": "is empty",
}
"""What is no table and may never end; as root, /proc/kmsg would wait for news of the kernel."""


def refused(done: subprocess.CompletedProcess[str], said: str, folder: Path) -> None:
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("aggcal: error: ")
    assert lines[0].endswith(".")
    assert said in lines[0]
    assert "Traceback" not in done.stderr
    assert not (folder / "out").exists()


def place(folder: Path, judgments: str | bytes, scores: str | bytes) -> None:
    for name, content in (("judgments.csv", judgments), ("scores.csv", scores)):
        data = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(data)


@pytest.mark.parametrize("case", list(BAD_JUDGMENTS))
def test_bad_judgments(case: str, tmp_path: Path, command: Command) -> None:
    content, said = BAD_JUDGMENTS[case]
    place(tmp_path, content, GOOD_SCORES)
    done = command("run", "judgments.csv", "scores.csv", "-o", "out")
    refused(done, said, tmp_path)
    assert "judgments.csv" in done.stderr


@pytest.mark.parametrize("case", list(BAD_SCORES))
def test_bad_scores(case: str, tmp_path: Path, command: Command) -> None:
    content, said = BAD_SCORES[case]
    place(tmp_path, GOOD_JUDGMENTS, content)
    done = command("run", "judgments.csv", "scores.csv", "-o", "out")
    refused(done, said, tmp_path)
    assert "scores.csv" in done.stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "not a text file"),
        (b"PK\x03\x04\0\0", "damaged or unfinished workbook"),
        ("annotator,winner,loser\nu,Иван,b\n".encode("cp1251"), "save the file as UTF-8"),
        (b"PAR1 but not really", "cannot be read as a table"),
        (b'{"annotator": "u", "winner": "a", "loser": "b"}\n{"annotator": \n', "not valid JSON"),
        (gzip.compress(GOOD_JUDGMENTS.encode())[:30], "cannot be read"),
    ],
    ids=["picture", "workbook", "cyrillic", "parquet", "json", "cut gzip"],
)
def test_not_a_table(content: bytes, said: str, tmp_path: Path, command: Command) -> None:
    place(tmp_path, content, GOOD_SCORES)
    refused(command("run", "judgments.csv", "scores.csv", "-o", "out"), said, tmp_path)


def test_no_such_file_and_directory(tmp_path: Path, command: Command) -> None:
    place(tmp_path, GOOD_JUDGMENTS, GOOD_SCORES)
    (tmp_path / "folder").mkdir()
    refused(command("run", "nowhere.csv", "scores.csv", "-o", "out"), "no such file", tmp_path)
    refused(command("run", "judgments.csv", "nowhere.csv", "-o", "out"), "no such file", tmp_path)
    refused(
        command("run", "folder", "scores.csv", "-o", "out"),
        "is a directory without Parquet",
        tmp_path,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="names of Linux")
@pytest.mark.parametrize("name", list(DEVICES))
def test_devices_and_pipes_without_a_writer(name: str, tmp_path: Path, command: Command) -> None:
    place(tmp_path, GOOD_JUDGMENTS, GOOD_SCORES)
    (tmp_path / "link.csv").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    how = {"stdin": subprocess.DEVNULL} if name == "-" else {}
    refused(command("check", name, **how), f"{name}: {DEVICES[name]}", tmp_path)
    if name != "pipe":
        done = command("run", "judgments.csv", name, "-o", "out", **how)
        refused(done, f"{name}: {DEVICES[name]}", tmp_path)


def test_a_pipe_is_read_whose_writer_comes_late(tmp_path: Path, command: Command) -> None:
    place(tmp_path, GOOD_JUDGMENTS, GOOD_SCORES)
    os.mkfifo(tmp_path / "pipe")
    late = "sleep 1; exec > pipe; sleep 1; cat judgments.csv"
    with subprocess.Popen(["/bin/sh", "-c", late], cwd=tmp_path):
        done = command("convert", "pipe", "-o", "out.csv", "-q")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.csv").read_text() == GOOD_JUDGMENTS


def without_override() -> None:
    """Make root obey file modes, as everyone else must (CAP_DAC_OVERRIDE, _READ_SEARCH)."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (1, 2):
        libc.prctl(24, capability, 0, 0, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="drops Linux capabilities")
def test_no_permission(tmp_path: Path, command: Command) -> None:
    place(tmp_path, GOOD_JUDGMENTS, GOOD_SCORES)
    (tmp_path / "judgments.csv").chmod(0)
    arguments = ("run", "judgments.csv", "scores.csv", "-o", "out")
    refused(command(*arguments, preexec_fn=without_override), "no permission to read", tmp_path)
    (tmp_path / "judgments.csv").chmod(0o600)
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    done = command(*arguments[:-1], "locked/out", preexec_fn=without_override)
    refused(done, "no permission to write", tmp_path)
    assert list(locked.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="drops Linux capabilities")
def test_folders_that_may_not_be_entered(tmp_path: Path, command: Command) -> None:
    place(tmp_path, GOOD_JUDGMENTS, GOOD_SCORES)
    locked = tmp_path / "locked"
    locked.mkdir()
    (locked / "judgments.csv").write_text(GOOD_JUDGMENTS)
    locked.chmod(0)
    for arguments, said in (
        (("run", "locked/judgments.csv", "scores.csv", "-o", "out"), "no permission to read"),
        (("run", "judgments.csv", "locked/s.csv", "-o", "out"), "no permission to read"),
        (("run", "judgments.csv", "scores.csv", "-o", "locked/out"), "no permission to write"),
        (("convert", "judgments.csv", "-o", "locked/out.csv"), "no permission to write"),
    ):
        refused(command(*arguments, preexec_fn=without_override), said, tmp_path)


def test_an_input_is_never_overwritten(tmp_path: Path, command: Command) -> None:
    place(tmp_path, GOOD_JUDGMENTS, GOOD_SCORES)
    (tmp_path / "scores.csv").rename(tmp_path / "items.csv")
    done = command("run", "judgments.csv", "items.csv", "-o", ".")
    refused(done, "would be overwritten", tmp_path)
    assert (tmp_path / "items.csv").read_text() == GOOD_SCORES


def test_output_that_is_a_file(tmp_path: Path, command: Command) -> None:
    place(tmp_path, GOOD_JUDGMENTS, GOOD_SCORES)
    done = command("run", "judgments.csv", "scores.csv", "-o", "scores.csv")
    refused(done, "is a file, not a folder", tmp_path)
    assert (tmp_path / "scores.csv").read_text() == GOOD_SCORES


def test_disk_full_while_writing(
    tmp_path: Path, command: Command, small_files_only: Callable[[], None]
) -> None:
    """A limit on the size of files stops the report half-way, as a full disk would."""
    place(tmp_path, GOOD_JUDGMENTS, GOOD_SCORES)
    done = command("run", "judgments.csv", "scores.csv", "-o", "out", preexec_fn=small_files_only)
    refused(done, "the disk is full", tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["judgments.csv", "scores.csv"]


@pytest.mark.skipif(
    shutil.which("mount") is None or not hasattr(os, "geteuid") or os.geteuid() != 0,
    reason="needs root to mount a small disk",
)
def test_a_really_full_disk(tmp_path: Path, command: Command) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", disk], check=False, capture_output=True
    )
    if made.returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        place(tmp_path, GOOD_JUDGMENTS, GOOD_SCORES)
        done = command("run", "judgments.csv", "scores.csv", "-o", "disk/out")
        refused(done, "the disk is full", tmp_path)
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--",), "not recognised"),
        (("fly",), "'fly'"),
        (("sugest", "judgments.csv"), "did you mean 'suggest'?"),
        (("--versoin",), "did you mean '--version'?"),
        (("run", "judgments.csv", "scores.csv", "-o", "out", "--calibrator", "Fusd"), "'fused'?"),
        (("run", "judgments.csv", "scores.csv", "-o", "out", "--method", "crowd_b"), "'crowd-bt'?"),
        (("run", "judgments.csv", "scores.csv", "-o", "out", "--format", "argila"), "'argilla'?"),
        (("run", "judgments.csv", "scores.csv", "-o", "out", "--seed", "x"), "a whole number"),
        (("run", "judgments.csv", "scores.csv", "-o", "out", "--draws", "9"), "is for Python only"),
        (("run", "judgments.csv", "scores.csv", "-o", "out", "--column", "anotator=x"),
         "did you mean 'annotator'?"),
        (("run", "judgments.csv", "scores.csv", "-o", "out", "--column", "annotator=anotator"),
         "did you mean 'annotator'?"),
        (("run", "judgments.csv", "scores.csv", "-o", "out", "--score-column", "scor"),
         "did you mean 'score'?"),
        (("run", "judgments.csv", "--model-sd", "1"), "give SCORES"),
        (("run", "judgments.csv", "scores.csv", "-o", "out", "--method", "elo"), "hra-g"),
        (("run", "judgments.csv", "scores.csv", "-o", "out", "--model-sd", "0"), "above 0"),
        (("run", "judgments.csv", "scores.csv", "-o", "out", "--model-sd", "x"), "'x'"),
        (("run", "judgments.csv", "scores.csv", "-o", "out", "--top"), "--top needs a value;"),
        (("run", "judgments.csv", "scores.csv", "--judgments", "-o", "out"),
         "--judgments needs a value;"),
        (("run", "judgments.csv", "scores.csv", "-o", "out", "--outcome", "draw"), "LABEL=MEANING"),
        (("run", "judgments.csv", "scores.csv", "-o", "out", "--criterion", "style"), "criterion"),
        (("evaluate", "scores.csv", "judgments.csv"), "two files are swapped"),
        (("run", "scores.csv", "judgments.csv", "-o", "out"), "two files are swapped"),
        (("run", "judgments.csv", "scores.csv", "-o", ""), "the output folder has no name"),
        (("run", "judgments.csv", "scores.csv", "-o", "out", "--methd", "btl"), "mean '--method'?"),
        (("run", "--metod", "btl"), "--metod is not recognised (did you mean '--method'?)"),
        (("run", "--metod=btl"), "--metod is not recognised (did you mean '--method'?)"),
        (("run", "--meth", "btl", "--"), "JUDGMENTS missing"),
        (("run", "judgments.csv", "scores.csv", "-o", "out", "--score-column", "item"), "'item'"),
        (("run", "judgments.csv", "scores.csv", "-o", "o", "--score-column", "x"), "score-column"),
        (("run", "judgments.csv", "scores.csv", "-o", "out", "--outcome", "x=tie"), "no outcome"),
        (("evaluate", "judgments.csv", "scores.csv"), "'item' missing"),
        (("calibrate", "judgments.csv", "scores.csv", "-o", "out"), "'item' missing"),
        (("simulate", "-o", "out", "--items", "1"), "items is 1"),
        (("simulate", "-o", "out", "--seed", "-1"), "--seed is -1"),
        (("simulate", "-o", "out", "--model-sd", "nan"), "--model-sd is nan"),
        (("check", "nowhere.csv"), "no such file"),
    ],
    ids=str,
)  # fmt: skip
def test_bad_usage(arguments: tuple[str, ...], said: str, tmp_path: Path, command: Command) -> None:
    place(tmp_path, GOOD_JUDGMENTS, GOOD_SCORES)
    refused(command(*arguments), said, tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of memory")
@pytest.mark.parametrize("megabytes", [100, 690])  # what is refused before anything is loaded
def test_too_little_memory_is_said(megabytes: int, tmp_path: Path) -> None:
    rows = "".join(f"u{k % 40},i{k % 97},i{k % 89 + 100},left\n" for k in range(4_000))
    (tmp_path / "j.csv").write_text("annotator,left,right,outcome\n" + rows)
    words = f"ulimit -v {1024 * megabytes}; exec {sys.executable} -m aggcal aggregate j.csv -o out"
    done = subprocess.run(
        ["/bin/sh", "-c", words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "there is too little memory" in done.stderr
