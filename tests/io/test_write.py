"""Writing: all or nothing."""

from __future__ import annotations

import errno
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import StringIO
from pathlib import Path
from typing import IO, NoReturn

import numpy as np
import pytest

from aggcal.cli import main
from aggcal.data.features import Features
from aggcal.data.judgments import Judgments
from aggcal.data.scores import Scores
from aggcal.errors import OutputError
from aggcal.io import cells
from aggcal.io.cells import csv_cell, csv_writer, spreadsheet_cell, table_rows
from aggcal.io.saving import Manifest, fits, settled, write_files

LIST = Manifest("list.json")
STEPS = {"open", "ctypes.dlsym", "fcntl.flock"} | {
    f"os.{step}" for step in ("chmod", "link", "mkdir", "remove", "rename", "rmdir", "scandir")
}


def full(file: IO[str]) -> None:
    file.write("half")
    raise OSError(28, "No space left on device")


def test_a_failure_leaves_old_files_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(OutputError, match="disk is full"):
        write_files(
            tmp_path, {"a.txt": lambda file: file.write("new"), "b.txt": full}, LIST, force=True
        )
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_failure_takes_a_new_folder_away_again(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="disk is full"):
        write_files(tmp_path / "x" / "y", {"b.txt": full}, LIST)
    assert not (tmp_path / "x").exists()


def test_an_interruption_leaves_nothing(tmp_path: Path) -> None:
    def stop(_: IO[str]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_files(tmp_path / "x", {"a.txt": lambda file: file.write("new"), "b.txt": stop}, LIST)
    assert not (tmp_path / "x").exists()


def test_files_get_the_usual_mode(tmp_path: Path) -> None:
    path, _ = write_files(tmp_path, {"a.txt": lambda file: file.write("new")}, LIST)
    other = tmp_path / "b.txt"
    other.write_text("x")
    assert path.stat().st_mode == other.stat().st_mode


def _write(folder: Path, word: str, names: str = "abc") -> None:
    outdated = {*"abc"} - {*names}
    files = {name: word.encode() * 9000 for name in names}
    write_files(folder, files, LIST, outdated=outdated)


FAULTS: dict[str, Callable[[], object]] = {
    "KILL": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "TERM": lambda: os.kill(os.getpid(), signal.SIGTERM),
    "EIO": lambda: _fail(errno.EIO),
    "EACCES": lambda: _fail(errno.EACCES),
    "ENOSPC": lambda: _fail(errno.ENOSPC),
}


def _fail(number: int) -> NoReturn:
    raise OSError(number, os.strerror(number))


def _struck(work: Callable[[], object], fault: str, at: int, inside: Path) -> int:
    """Work in a process of its own, with a fault before a system step; return its exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    steps = itertools.count(1)

    def step(event: str, arguments: tuple[object, ...]) -> None:
        path = arguments[0] if event == "open" else str(inside)
        if event in STEPS and str(path).startswith(str(inside)) and next(steps) == at:
            FAULTS[fault]()

    sys.addaudithook(step)
    try:
        code = work() or 0
    except OutputError:
        code = 2
    except BaseException:  # noqa: BLE001  # as the interpreter would end
        code = 1
    os._exit(int(str(code)))


def _held(folder: Path) -> tuple[str, set[str]]:
    """Return the word of the only set that a folder holds, and its other files."""
    with settled(folder):
        listed = LIST.listed(folder)
        assert all(fits(folder / name, digest) for name, digest in listed.items())
    words = {(folder / name).read_text()[:3] for name in listed}
    assert len(words) == 1
    return words.pop(), {path.name for path in folder.iterdir()} - {*listed, LIST.name}


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
@pytest.mark.parametrize("own", [set(), {"notes.txt"}])
def test_a_kill_at_any_step_leaves_one_set(tmp_path: Path, own: set[str]) -> None:
    """Of a folder of ours, and of one with a file of the user, where they cannot be exchanged."""
    before, seen, code = tmp_path / "before", list[str](), -signal.SIGKILL
    _write(before, "old")
    for name in own:
        (before / name).write_text("mine")
    while code:
        folder = tmp_path / str(len(seen)) / "out"
        shutil.copytree(before, folder)
        work = partial(_write, folder, "new", "ab")
        code = _struck(work, "KILL", len(seen) + 1, folder.parent)
        word, others = _held(folder)
        assert others == own
        seen.append(word)
        _write(folder, "end")
        assert _held(folder) == ("end", own)
        assert [path.name for path in folder.parent.iterdir()] == ["out"]
    assert seen == sorted(seen, reverse=True), "from one step on, the new set holds"
    assert {*seen} == {"old", "new"}


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
@pytest.mark.parametrize("own", [set(), {"notes.txt"}])
def test_four_writers_one_killed_leave_one_set(tmp_path: Path, own: set[str]) -> None:
    folder, dice = tmp_path / "out", random.Random(1)  # noqa: S311  # of no secret
    _write(folder, "old")
    for name in own:
        (folder / name).write_text("mine")
    for _ in range(6):
        with ThreadPoolExecutor(4) as pool:
            kills = (0, 0, 0, dice.randint(1, 60))
            jobs = [
                pool.submit(_struck, partial(_write, folder, word, "ab"), "KILL", kill, tmp_path)
                for word, kill in zip(("aaa", "bbb", "ccc", "ddd"), kills, strict=True)
            ]
        assert [job.result() for job in jobs][:3] == [0, 0, 0]
        word, others = _held(folder)
        assert word in {"aaa", "bbb", "ccc", "ddd"}
        assert others == own
    _write(folder, "end")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


STEPS_AT_MOST = 60
QUICK = ("-q", "--no-check", "--uncertainty", "none", "--method", "btl")
COMMANDS = {
    "run": ("run", "study/judgments.csv", "study/scores.csv", "-o", "target", *QUICK),
    "report": ("report", "target", "-q"),
    "convert": ("convert", "study/judgments.csv", "-o", "target/own.csv", "-q", "--force"),
}


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
@pytest.mark.parametrize("own", [{}, {"own.csv": "mine", "mine/kept.csv": "a,b"}])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_fault_at_a_step_of_a_command_leaves_a_mixture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: dict[str, str], command: str
) -> None:
    """Of a fifth of its steps, another one for each kind of fault."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)
    size = ("--items", "5", "--annotators", "3", "--number", "20")
    assert main(["simulate", "-o", "study", *size, "-q", "--seed", "1"]) == 0
    words, before, ends = COMMANDS[command], Path("before"), dict[str, set[int]]()
    assert main([*COMMANDS["run"][:4], "before", *QUICK[:-1], "hra-n"]) == 0
    for name, text in own.items():
        (before / name).parent.mkdir(exist_ok=True)
        (before / name).write_text(text)

    def files() -> dict[str, bytes]:
        every = [path for path in Path("target").rglob("*") if path.is_file()]
        return {str(path): path.read_bytes() for path in every if ".aggcal-" not in str(path)}

    def restore() -> None:
        for path in (*Path().glob(".aggcal-*"), Path("target")):
            shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(before, "target")

    restore()
    old = files()
    assert main([*words]) == 0
    new = files()
    assert old != new
    for start, fault in enumerate(FAULTS):
        for at in range(1 + start, 500, 5):
            restore()
            code = _struck(lambda: main([*words]), fault, at, tmp_path)
            ends.setdefault(fault, set()).add(code)
            if fault == "KILL" and code:
                main(["report", "target", "-o", "-", "-q"])  # whoever reads finishes it
            assert files() in ([old, new] if code else [new]), (fault, at)
            if [*Path().rglob(".aggcal-*")]:  # what could not be cleared away
                assert main([*words]) == 0
            assert not [*Path().rglob(".aggcal-*")], (fault, at)
            if not code and at > STEPS_AT_MOST:
                break
    assert ends["KILL"] == {0, -signal.SIGKILL}
    assert ends["TERM"] <= {0, 128 + signal.SIGTERM}
    assert all(ends[fault] <= {0, 2} for fault in ("EIO", "EACCES", "ENOSPC"))


STRUCK = """
import os, signal, sys
def strike(event, arguments):
    if event == "import" and arguments[0] == sys.argv[1] and sys.argv[2] in sys.modules:
        os.kill(os.getpid(), signal.SIGTERM)
sys.addaudithook(strike)
from aggcal.cli import main
sys.exit(main(sys.argv[3:]))
"""


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize(
    ("importing", "after"),
    # The first is imported by NumPy's extension module, which takes a failure for a bad install.
    [("datetime", "numpy._core.multiarray"), ("scipy", "aggcal")],
)
def test_a_signal_during_an_import_is_put_off(importing: str, after: str, tmp_path: Path) -> None:
    # What is quoted is read by DuckDB.
    (tmp_path / "j.csv").write_text('annotator,winner,loser\nu,a,"b"\nv,b,c\n')
    done = subprocess.run(
        [sys.executable, "-c", STRUCK, importing, after, "aggregate", "j.csv", "-o", "out"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 128 + signal.SIGTERM, done.stderr
    assert done.stderr == "aggcal: interrupted.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["j.csv"]


def test_arrays_of_the_caller_stay_writable() -> None:
    codes = [np.array([0, 1], dtype=np.int32), np.array([0, 0], dtype=np.int32)]
    numbers, whole = np.ones(2), np.ones(2, dtype=np.int64)
    ids = np.array(["a", "b"], dtype=object)
    made = Judgments(
        ids, ids, codes[0], codes[1], codes[0], numbers, numbers, whole, seconds=numbers
    )
    scores, features = Scores(ids, numbers), Features(ids, np.ones((2, 1)), ("x",))
    theirs: list[np.ndarray] = [*codes, numbers, whole]
    ours: list[np.ndarray] = [made.annotator, made.count, scores.values, features.matrix]
    assert all(array.flags.writeable for array in theirs)
    assert not any(array.flags.writeable for array in ours)


@pytest.mark.parametrize("odd", ["a", 'say "a"', "a,b", "a\rb", "a\nb", "a\0b", "=1", None, 7])
def test_a_column_of_texts_is_written_as_cell_by_cell(odd: object) -> None:
    column = np.array(["x", odd, "", "é"], dtype=object)
    for cell in (csv_cell, spreadsheet_cell):
        expected = "".join(f"{cell(value)}\n" for value in column)
        assert table_rows([column], cell) == expected


def test_numbers_are_written_with_all_their_digits() -> None:
    numbers = [np.array([0.1, np.nan, -1e-9]), np.array([3, -4, 0]), np.arange(3, dtype=np.uint64)]
    words = np.array(["a", "b,", "½"], dtype=object)
    found = table_rows([*numbers, words, np.array([True, False, True])], csv_cell)
    assert found == '0.1,3,0,a,True\n,-4,1,"b,",False\n-1e-09,0,2,½,True\n'


def test_rows_follow_each_other_over_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "_AT_ONCE", 3)
    file = StringIO()
    csv_writer({"item": np.arange(10), "score": np.arange(10) / 4.0})(file)
    assert file.getvalue() == "item,score\n" + "".join(f"{k},{k / 4.0}\n" for k in range(10))
