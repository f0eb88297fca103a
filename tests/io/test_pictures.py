"""Pictures of the items: put into the page, never taken for what they are not."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path

import pytest

from aggcal.cli import main
from aggcal.errors import FileError
from aggcal.io.pictures import MOST_BYTES, read_pictures

PNG = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for name in ("a", "b"):
        (pictures / f"{name}.png").write_bytes(PNG)
    (pictures / "notes.txt").write_text("not a picture")
    (tmp_path / "j.csv").write_text("annotator,winner,loser\nu,a,b\nv,a,c\nv,b,c\n")
    return pictures


def test_pictures_are_in_the_page_itself(folder: Path, tmp_path: Path) -> None:
    words = ["aggregate", str(tmp_path / "j.csv"), "-o", str(tmp_path / "out"), "-q"]
    assert main([*words, "--pictures", str(folder)]) == 0
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert page.count('<img src="data:image/png;base64,') == 2  # c has none
    assert main(["report", str(tmp_path / "out"), "--pictures", str(folder), "-q"]) == 0
    again = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert again.count('<img src="data:image/png;base64,') == 2


def test_what_is_no_picture_is_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "c.png").write_text("<svg onload=alert(1)>")
    with pytest.raises(FileError, match=r"c\.png: is no PNG, JPEG, GIF or WebP picture"):
        read_pictures(folder)
    (folder / "c.png").write_bytes(PNG + b"\0" * MOST_BYTES)
    with pytest.raises(FileError, match="a page has room for 12; make them smaller"):
        read_pictures(folder)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(FileError, match="holds no picture; name them after the items"):
        read_pictures(empty)


def test_pictures_of_other_items_are_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in folder.glob("*.png"):
        path.rename(folder / f"other-{path.name}")
    words = ["aggregate", str(tmp_path / "j.csv"), "-o", str(tmp_path / "out"), "-q"]
    assert main([*words, "--pictures", str(folder)]) == 2
    assert "none of its items ('other-a', 'other-b')" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
