"""Texts of other encodings are read with a word about it, or refused; never wrongly in silence."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import aggcal
from aggcal.errors import FileError, InputError

ROWS = [
    ("Jürgen", "“Café”", "Thé – vert"),
    ("Zoë", "Thé – vert", "L’été à Orléans"),
    ("Søren", "L’été à Orléans", "“Café”"),
]
TABLE = "\n".join(",".join(row) for row in [("annotator", "winner", "loser"), *ROWS]) + "\n"
WHO = ["Jürgen", "Søren", "Zoë"]
NAMES = {
    "cp1252": "Windows-1252",
    "mac_roman": "MacRoman",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "utf-32": "UTF-32",
}


def _read(path: Path, content: bytes) -> aggcal.Judgments:
    path.write_bytes(content)
    return aggcal.read_judgments(path)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", *NAMES])
def test_any_encoding_gives_the_same_ids(tmp_path: Path, codec: str, end: str) -> None:
    found = _read(tmp_path / "votes.csv", TABLE.replace("\n", end).encode(codec))
    assert found.annotator_ids.tolist() == WHO
    assert sorted(found.item_ids) == ["L’été à Orléans", "Thé – vert", "“Café”"]
    said = [note for note in found.notes if "not UTF-8" in note]
    assert said == [] if codec.startswith("utf-8") else NAMES[codec] in said[0]


def test_a_guess_shows_a_word_by_which_it_can_be_checked(tmp_path: Path) -> None:
    found = _read(tmp_path / "votes.csv", TABLE.encode("mac_roman"))
    assert "'Jürgen'; if that is wrong, save the file as UTF-8" in found.notes[0]


@pytest.mark.parametrize(
    ("codec", "names"),
    [
        ("cp1250", ("Łukasz", "Łódź", "Święty")),
        ("cp1251", ("Иванов", "Петров", "Анна")),
        ("cp1253", ("Γιώργος", "Αθήνα", "Πάτρα")),
        ("cp1254", ("Ayşe", "Işık", "Doğan")),
        ("shift-jis", ("田中", "東京", "大阪")),
        ("gbk", ("王伟", "北京", "上海")),
        ("euc-kr", ("김철수", "서울", "부산")),
    ],
)
def test_other_alphabets_are_refused(tmp_path: Path, codec: str, names: tuple[str, ...]) -> None:
    who, one, other = names
    table = f"annotator,winner,loser\n{who},{one},{other}\n{one},{other},{one}\n"
    with pytest.raises(FileError, match="save the file as UTF-8"):
        _read(tmp_path / "votes.csv", table.encode(codec))


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "cp1252"])
def test_every_kind_of_file_may_have_a_mark_or_another_encoding(tmp_path: Path, codec: str) -> None:
    records = [dict(zip(("annotator", "winner", "loser"), row, strict=True)) for row in ROWS]
    order = (
        "# DATA TYPE: soc\n# NUMBER ALTERNATIVES: 2\n# ALTERNATIVE NAME 1: Café\n"
        "# ALTERNATIVE NAME 2: Thé\n3: 1,2\n"
    )
    texts = {
        "a.tsv": TABLE.replace(",", "\t"),
        "a.json": json.dumps(records, ensure_ascii=False),
        "a.jsonl": "\n".join(json.dumps(r, ensure_ascii=False) for r in records),
        "a.soc": order,
    }
    for name, text in texts.items():
        found = _read(tmp_path / name, text.encode(codec))
        assert found.n_judgments == 3, name
        if name == "a.soc":
            assert found.item_ids.tolist() == ["Café", "Thé"]
        else:
            assert found.annotator_ids.tolist() == WHO
    packed = _read(tmp_path / "a.csv.gz", gzip.compress(TABLE.encode(codec)))
    assert packed.annotator_ids.tolist() == WHO
    scores = tmp_path / "scores.csv"
    scores.write_bytes("item,score\nCafé,1\nThé,2\n".encode(codec))
    assert aggcal.read_scores(scores).item_ids.tolist() == ["Café", "Thé"]


def test_lines_are_counted_as_in_the_file(tmp_path: Path) -> None:
    text = TABLE.replace("\n", "\r\n") + "\r\nJürgen,Café,\r\n"
    with pytest.raises(InputError, match="line 6 has no value in column 'loser'"):
        _read(tmp_path / "votes.csv", text.encode("utf-16"))


def test_one_wrong_byte_far_into_a_file_is_noticed(tmp_path: Path) -> None:
    text = b"annotator,winner,loser\n" + b"ann,a,b\n" * 400_000 + b"ann,caf\xe9,b\n"
    found = _read(tmp_path / "votes.csv", text)
    assert found.item_ids.tolist() == ["a", "b", "café"]
    assert "'café'" in found.notes[0]


@pytest.mark.parametrize("above", ["sep=;\n", "\n\n", "Survey 2024;;\n;;\n", "Our votes\n\n"])
def test_lines_above_the_header(tmp_path: Path, above: str) -> None:
    table = above + TABLE.replace(",", ";")
    assert _read(tmp_path / "votes.csv", table.encode()).annotator_ids.tolist() == WHO
    with pytest.raises(InputError, match=f"line {table.count(chr(10)) + 1} has no value"):
        _read(tmp_path / "votes.csv", (table + "ann;a;\n").encode())


def test_a_row_of_ids_that_are_called_like_columns_is_no_header(tmp_path: Path) -> None:
    text = "Coder,Better text,Worse text\nann,a,b\nann,left,right\nx,winner,loser\n"
    found = _read(tmp_path / "votes.csv", text.encode())
    assert found.notes == (
        'read as: annotator = "Coder", winner = "Better text", loser = "Worse text"',
    )
