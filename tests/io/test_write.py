"""Writing: all or nothing."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path
from typing import IO

import numpy as np
import pytest

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


def _killed(folder: Path, word: str, kill: int) -> int:
    """Write a set in a process of its own, which is killed before a system step; its exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    steps = itertools.count(1)

    def step(event: str, _: object) -> None:
        if event in STEPS and next(steps) == kill:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(step)
    _write(folder, word, "ab")
    os._exit(0)


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
        code = _killed(folder, "new", kill=len(seen) + 1)
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
                pool.submit(_killed, folder, word, kill)
                for word, kill in zip(("aaa", "bbb", "ccc", "ddd"), kills, strict=True)
            ]
        assert [job.result() for job in jobs][:3] == [0, 0, 0]
        word, others = _held(folder)
        assert word in {"aaa", "bbb", "ccc", "ddd"}
        assert others == own
    _write(folder, "end")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


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
