"""Writing: all or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import numpy as np
import pytest

from aggcal.data.features import Features
from aggcal.data.judgments import Judgments
from aggcal.data.scores import Scores
from aggcal.errors import OutputError
from aggcal.io.writing.cells import column_cells, csv_cell, spreadsheet_cell
from aggcal.io.writing.write import write_files


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
        assert column_cells(column, cell) == [cell(value) for value in column]
