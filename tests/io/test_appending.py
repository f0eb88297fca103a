"""``convert --append``: a table grows, and nothing of it is ever lost."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from workbooks import write_xlsx

import aggcal
from aggcal.errors import OptionError, OutputError
from aggcal.io import saving
from aggcal.io.convert import convert_judgments
from conftest import Command

LONG = "annotator,left,right,outcome\nu,a,b,left\nv,b,c,tie\n"


def _place(folder: Path, **files: str) -> list[Path]:
    paths = []
    for name, text in files.items():
        path = folder / f"{name}.csv"
        path.write_text(text, encoding="utf-8", newline="")
        paths.append(path)
    return paths


@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_table_grows_as_it_is_written(tmp_path: Path, end: str, delimiter: str) -> None:
    newline = end or "\n"
    text = "\ufeff" + LONG.replace(",", delimiter).replace("\n", newline).rstrip("\r\n") + end
    target, new = _place(tmp_path, target=text, new="annotator,winner,loser\nw,c;d,é\n")
    done = convert_judgments([new], target, append=True)
    assert (done.n_rows, done.appended) == (1, True)
    item = '"c;d"' if delimiter == ";" else "c;d"
    added = delimiter.join(("w", item, "é", "left")) + newline
    kept = text if end else text + newline
    assert target.read_bytes().decode() == kept + added
    assert aggcal.read_judgments(target).n_judgments == 3
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_further_columns_stay_blank_and_weights_are_one(tmp_path: Path) -> None:
    before = "comment,annotator,outcome,left,right,weight\nok,u,left,a,b,2\n"
    target, new = _place(tmp_path, target=before, new=LONG)
    convert_judgments([new], target, append=True)
    assert target.read_text() == before + ",u,left,a,b,1\n,v,tie,b,c,1\n"


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    (new,) = _place(tmp_path, new=LONG)
    ranked = "annotator,ranking\nu,a > b > c\n"
    short, votes, rank = _place(
        tmp_path,
        short="annotator,winner,loser\nw,a,b\n",
        votes="worker,left,right,label\nw,a,b,a\n",
        rank=ranked,
    )
    book = write_xlsx(tmp_path / "book.xlsx", {"S": [["annotator", "winner", "loser"], [1, 2, 3]]})
    latin = tmp_path / "latin.csv"
    latin.write_bytes("annotator,left,right,outcome\nJosé,café,thé,left\n".encode("cp1252"))
    for inputs, target, said in (
        ([new], short, "has no columns 'left', 'right', 'outcome' for the new judgments"),
        ([rank], new, "has no columns 'weight', 'ranking' for the new judgments"),
        ([new], votes, "holds crowd-kit judgments, and those of aggcal would be added"),
        ([new], book, "is no CSV file in UTF-8"),
        ([new], latin, "is no CSV file in UTF-8"),
    ):
        held = target.read_bytes()
        with pytest.raises(OptionError, match=said):
            convert_judgments(inputs, target, append=True)
        assert target.read_bytes() == held
    with pytest.raises(OutputError, match="is being read"):
        convert_judgments([new], new, append=True)
    with pytest.raises(OptionError, match="not to a PrefLib file"):
        convert_judgments([new], tmp_path / "x.toc", append=True)
    assert not (tmp_path / "x.toc").exists()


def test_what_is_there_already_is_not_added_again(tmp_path: Path) -> None:
    target, new = _place(tmp_path, target=LONG, new=LONG + "w,c,d,left\n")
    done = convert_judgments([new], target, append=True)
    assert f"{target} holds 2 judgments of new.csv already, which count twice now" in done.notes
    held = target.read_text()
    with pytest.raises(OptionError, match=r"already contains every judgment of new\.csv"):
        convert_judgments([new], target, append=True)
    assert target.read_text() == held


def test_rankings_of_two_files_stay_apart(tmp_path: Path) -> None:
    one, two = _place(tmp_path, one="ranking\na > b > c\n", two="ranking\nc > b > a\n")
    target = tmp_path / "all.csv"
    convert_judgments([one], target, append=True)
    convert_judgments([two], target, append=True)
    found = aggcal.read_judgments(target)
    assert found.annotator_ids.tolist() == ["ranking 1", "ranking 1 (two.csv)"]
    assert found.screen is not None
    assert len(set(found.screen.tolist())) == 2
    with pytest.raises(OptionError, match="already contains every judgment of one"):
        convert_judgments([one], target, append=True)
    _place(tmp_path, two="ranking\nb > a > c\n")
    with pytest.raises(OptionError, match=r"called after a file two\.csv already; rename"):
        convert_judgments([two], target, append=True)


def test_a_failure_leaves_the_table_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, new = _place(tmp_path, target=LONG, new="annotator,winner,loser\nw,c,d\n")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="the disk is full"):
        convert_judgments([new], target, append=True)
    assert target.read_text() == LONG
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.csv", "target.csv"]


def test_a_change_meanwhile_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, new = _place(tmp_path, target=LONG, new="annotator,winner,loser\nw,c,d\n")

    made = saving._hidden_folder

    def changed(parent: Path) -> AbstractContextManager[Path]:
        target.write_text(f"{LONG}z,a,c,left\n")
        return made(parent)

    monkeypatch.setattr(saving, "_hidden_folder", changed)
    with pytest.raises(OutputError, match="was changed in the meantime; nothing was added"):
        convert_judgments([new], target, append=True)
    assert target.read_text() == f"{LONG}z,a,c,left\n"


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_kill_leaves_the_old_table_or_the_new(tmp_path: Path) -> None:
    rows = "".join(f"u{k % 50},i{k % 97},i{k % 89 + 100},left\n" for k in range(20_000))
    new = "annotator,winner,loser\n" + "".join(f"w,x{k},y{k}\n" for k in range(20_000))
    target, more = _place(tmp_path, target=LONG + rows, new=new)
    held = target.read_text()
    words = [sys.executable, "-m", "aggcal", "convert", str(more), "-o", str(target), "--append"]
    whole = held + "".join(f"w,x{k},y{k},left\n" for k in range(20_000))
    for wait in (0.5, 0.8, 1.1):
        process = subprocess.Popen([*words, "-q"], stderr=subprocess.PIPE)
        time.sleep(wait)
        process.kill()
        process.communicate()
        assert target.read_text() in (held, whole)
        target.write_text(held)


def test_the_command_says_what_it_did(command: Command, tmp_path: Path) -> None:
    _place(tmp_path, new=LONG, more="annotator,winner,loser\nw,c,d\n")
    first = command("convert", "new.csv", "-o", "all.csv", "--append")
    assert first.returncode == 0
    assert "wrote all.csv: 2 judgments as aggcal" in first.stderr
    second = command("convert", "more.csv", "-o", "all.csv", "--append")
    assert "added to all.csv: 1 judgment as aggcal" in second.stderr
    assert "winners of judgments without sides are written on the left" in second.stderr
    assert aggcal.read_judgments(tmp_path / "all.csv").n_judgments == 3
    both = command("convert", "more.csv", "-o", "all.csv", "--append", "--force")
    assert both.returncode == 2
    assert "--append adds to OUT and --force replaces it" in both.stderr


def test_options_of_several_inputs(command: Command, tmp_path: Path) -> None:
    _place(tmp_path, a=LONG, b="annotator,winner,loser\nw,c,d\n")
    for option, said in (
        (("--order", "A,B"), "a.csv, b.csv: --order does not apply"),
        (("--column", "winner=best"), "no file has a column 'best'"),
    ):
        done = command("convert", "a.csv", "b.csv", "-o", "all.csv", *option)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
        assert not (tmp_path / "all.csv").exists()
