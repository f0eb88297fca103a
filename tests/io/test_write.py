"""Writing: all or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import pytest

from aggcal.errors import OutputError
from aggcal.io.write import write_files


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
