"""Sheets of workbooks are read as the same table in CSV is, or refused by the name of a cell."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from workbooks import Rows, write_ods, write_xls, write_xlsx

import aggcal
from aggcal.errors import FileError, InputError, OptionError, TableError
from aggcal.io.files import split_sheet
from aggcal.io.saving import refuse_overwriting

HEADER: list[Any] = ["annotator", "left", "right", "outcome"]
ROWS: list[list[Any]] = [
    ["Jürgen", 7, 8, "left"],
    ["Jürgen", 8, 9, 0.75],
    ["bob", 7, 9, None],
    ["bob", "Café", 7, "tie"],
]
SCORES: list[list[Any]] = [["item", "score"], [7, 1.5], [8, None], [9, 3], ["Café", 0.25]]
WRITERS = {"xlsx": write_xlsx, "ods": write_ods, "xls": write_xls}
Writer = Callable[[Path, Mapping[str, Rows]], Path]


@pytest.fixture(params=WRITERS)
def book(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Path]:
    """Write a workbook of each kind."""
    writer: Writer = WRITERS[request.param]

    def write(**sheets: Rows) -> Path:
        return writer(tmp_path / f"book.{request.param}", sheets)

    return write


def test_a_sheet_is_read_as_its_csv_is(book: Callable[..., Path], tmp_path: Path) -> None:
    text = "\n".join(",".join("" if c is None else str(c) for c in row) for row in [HEADER, *ROWS])
    plain = tmp_path / "same.csv"
    plain.write_text(text, encoding="utf-8")
    expected = aggcal.read_judgments(plain)
    found = aggcal.read_judgments(book(Answers=[HEADER, *ROWS]))
    for name in ("item_ids", "annotator_ids", "left", "right", "outcome", "weight"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()
    assert found.item_ids.tolist() == ["7", "8", "9", "Café"]
    assert found.unfitted.counts == {"not answered": 1}
    assert found.notes == ()


def test_two_tables_of_one_workbook(book: Callable[..., Path]) -> None:
    path = book(Answers=[HEADER, *ROWS], Model=SCORES)
    judgments, scores = aggcal.read_judgments(path), aggcal.read_scores(path)
    assert judgments.n_judgments == 3
    assert "sheet 'Answers' was read, not 'Model'" in judgments.notes[0]
    assert scores.items["score"].tolist() == [1.5, 3.0, 0.25]
    assert "blank score" in scores.notes[1]
    assert aggcal.read_scores(f"{path}#model").notes == scores.notes[1:]


def test_a_sheet_that_is_not_there_or_not_told(book: Callable[..., Path]) -> None:
    path = book(Monday=[HEADER, *ROWS], Tuesday=[HEADER, *ROWS])
    with pytest.raises(OptionError, match=r"'Monday', 'Tuesday'.*say which, as in .*#Monday'"):
        aggcal.read_judgments(path)
    with pytest.raises(OptionError, match="no sheet 'Sunday'; there are 'Monday', 'Tuesday'"):
        aggcal.read_judgments(f"{path}#Sunday")
    assert aggcal.read_judgments(f"{path}#tuesday").n_judgments == 3


def test_titles_above_the_table_and_rows_as_the_spreadsheet_counts(
    book: Callable[..., Path],
) -> None:
    rows = [["Our survey"], [None], HEADER, *ROWS]
    assert aggcal.read_judgments(book(S=rows)).notes == (
        "the header was found in row 3 of the sheet",
    )
    with pytest.raises(InputError, match=r"book\.\w+: row 8 has the unknown outcome 'letf'"):
        aggcal.read_judgments(book(S=[*rows, ["eve", 7, 8, "letf"]]))


def test_errors_are_no_ids_and_no_scores(book: Callable[..., Path]) -> None:
    with pytest.raises(TableError, match=r"#N/A|row 6 has no value in column 'left'"):
        aggcal.read_judgments(book(S=[HEADER, *ROWS, ["eve", "#N/A", 8, "left"]]))
    damaged = book(S=[*SCORES, ["x", "#N/A"]])
    if damaged.suffix == ".ods":
        with pytest.raises(InputError, match=r"#N/A"):
            aggcal.read_scores(damaged)
    else:  # the library that reads them takes errors for blank cells
        assert "have a blank score" in aggcal.read_scores(damaged).notes[-1]
    found = aggcal.read_judgments(book(S=[[*HEADER, "remark"], [*ROWS[0], "#N/A"], *ROWS[1:]]))
    assert found.n_judgments == 3


def test_a_formula_without_a_result_is_blank_and_said(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "b.xlsx", {"S": [["item", "score"], ["a", "=1+1"], ["b", 2]]})
    assert aggcal.read_scores(path).notes[0] == (
        "1 cell of the workbook with a formula without a stored result is read as blank"
    )


@pytest.mark.parametrize("writer", [write_xlsx, write_ods])
def test_dates_are_taken_as_text_only_where_all_are(writer: Writer, tmp_path: Path) -> None:
    days = [date(2024, 1, day) for day in (1, 2)]
    all_dates: list[list[Any]] = [["item", "score"], [days[0], 1], [days[1], 2]]
    scores = aggcal.read_scores(writer(tmp_path / "all", {"S": all_dates}))
    assert scores.item_ids.tolist() == ["2024-01-01", "2024-01-02"]
    assert scores.notes == ("column 'item' holds dates, taken as text such as '2024-01-01'",)
    mixed: list[list[Any]] = [["item", "score"], ["3-1", 1], [days[1], 2]]
    with pytest.raises(TableError, match=r"cell A3 \(column 'item'\) is a date \(2024-01-02\)"):
        aggcal.read_scores(writer(tmp_path / "mixed", {"S": mixed}))


def test_numbers_that_a_spreadsheet_has_cut_are_no_ids(book: Callable[..., Path]) -> None:
    with pytest.raises(TableError, match="more than 15 digits"):
        aggcal.read_scores(book(S=[["item", "score"], [12345678901234567, 1], [2, 3]]))


def _change(path: Path, change: Callable[[Any], None]) -> Path:
    made = openpyxl.load_workbook(path)
    change(made)
    made.save(path)
    return path


def test_merged_cells_hidden_sheets_and_empty_columns(tmp_path: Path) -> None:
    rows: list[list[Any]] = [[None, *HEADER], *([None, *row] for row in ROWS)]
    path = write_xlsx(tmp_path / "b.xlsx", {"Old": rows[:3], "New": rows})

    def change(made: Any) -> None:
        made["Old"].sheet_state = "hidden"
        made["New"].merge_cells("B2:B3")

    found = aggcal.read_judgments(_change(path, change))
    assert found.annotator_ids.tolist() == ["Jürgen", "bob"]
    assert found.n_judgments == 3
    assert found.notes == ("'Old' is hidden in the workbook and not read",)
    named = aggcal.read_judgments(f"{path}#Old")
    assert named.notes == ("sheet 'Old' is hidden in the workbook; it is read like any other",)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"<html><table><tr><td>annotator", "page of HTML or XML"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"junk" * 2000, "cannot be read as a workbook"),
        (b"PK\x03\x04" + b"junk" * 200, "damaged or unfinished"),
        (b"%PDF-1.7", "a PDF"),
        (b"{\\rtf1 annotator", "RTF"),
    ],
)
def test_what_is_no_workbook_is_told_apart(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "book.xls"
    path.write_bytes(content)
    with pytest.raises(FileError, match=says):
        aggcal.read_judgments(path)


def test_other_archives_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "votes.zip"
    for part, says in (("votes.csv", "no workbook"), ("xl/workbook.bin", "xlsb")):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(part, "annotator,winner,loser\n")
        with pytest.raises(FileError, match=says):
            aggcal.read_judgments(path)


def test_bombs_are_refused_without_taking_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = write_xlsx(tmp_path / "wide.xlsx", {"S": [HEADER]})
    far = _change(wide, lambda made: made["S"].cell(1_048_576, 16_384, "x"))
    with pytest.raises(FileError, match="takes more than 2 GB of memory"):
        aggcal.read_judgments(far)
    path = write_ods(tmp_path / "big.ods", {"S": [HEADER]})
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("big.xml", bytes(1 << 22))
    monkeypatch.setattr("aggcal.io.workbooks._MOST_UNPACKED", 1 << 21)
    with pytest.raises(FileError, match="unpacks to more than"):
        aggcal.read_judgments(path)


def test_the_name_of_a_sheet_is_no_part_of_that_of_the_file(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "a#b.xlsx", {"S": [HEADER, *ROWS]})
    assert split_sheet(path) == (path, None)
    assert split_sheet(Path(f"{path}#S#1")) == (path, "S#1")
    assert split_sheet(tmp_path / "none.xlsx#S") == (tmp_path / "none.xlsx#S", None)
    with pytest.raises(aggcal.errors.OutputError, match="is being read"):
        refuse_overwriting(tmp_path, ["a#b.xlsx"], [f"{path}#S"])
