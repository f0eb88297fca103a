"""Writing: all or nothing."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import IO

import numpy as np
import pytest

from aggcal._core import written
from aggcal.data.features import Features
from aggcal.data.judgments import Judgments
from aggcal.data.scores import Scores
from aggcal.errors import OutputError
from aggcal.io.writing import write
from aggcal.io.writing.cells import csv_cell, spreadsheet_cell, table_rows
from aggcal.io.writing.write import csv_writer, write_files


def full(file: IO[str]) -> None:
    file.write("half")
    raise OSError(28, "No space left on device")


def test_a_failure_leaves_old_files_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(OutputError, match="disk is full"):
        write_files(tmp_path, {"a.txt": lambda file: file.write("new"), "b.txt": full})
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_failure_takes_a_new_folder_away_again(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="disk is full"):
        write_files(tmp_path / "x" / "y", {"b.txt": full})
    assert not (tmp_path / "x").exists()


def test_an_interruption_leaves_nothing(tmp_path: Path) -> None:
    def stop(_: IO[str]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_files(tmp_path / "x", {"a.txt": lambda file: file.write("new"), "b.txt": stop})
    assert not (tmp_path / "x").exists()


def test_files_get_the_usual_mode(tmp_path: Path) -> None:
    (path,) = write_files(tmp_path, {"a.txt": lambda file: file.write("new")})
    other = tmp_path / "b.txt"
    other.write_text("x")
    assert path.stat().st_mode == other.stat().st_mode


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


@pytest.mark.parametrize("kernels", [True, False])
def test_numbers_are_written_with_all_their_digits(
    monkeypatch: pytest.MonkeyPatch, kernels: bool
) -> None:
    if not kernels:
        monkeypatch.setattr(written, "library", lambda: None)
    numbers = [np.array([0.1, np.nan, -1e-9]), np.array([3, -4, 0]), np.arange(3, dtype=np.uint64)]
    words = np.array(["a", "b,", "½"], dtype=object)
    found = table_rows([*numbers, words, np.array([True, False, True])], csv_cell)
    assert found == '0.1,3,0,a,True\n,-4,1,"b,",False\n-1e-09,0,2,½,True\n'


def test_rows_follow_each_other_over_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "_AT_ONCE", 3)
    file = StringIO()
    csv_writer({"item": np.arange(10), "score": np.arange(10) / 4.0})(file)
    assert file.getvalue() == "item,score\n" + "".join(f"{k},{k / 4.0}\n" for k in range(10))
