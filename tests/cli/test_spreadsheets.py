"""From two workbooks to a report, and what is said on the way."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

sys.path.insert(0, str(Path(__file__).parents[1] / "io"))

from workbooks import write_ods, write_xlsx

Command = Callable[..., "CompletedProcess[str]"]
ITEMS = range(1, 7)


def _answers() -> list[list[object]]:
    rows: list[list[object]] = [["annotator", "left", "right", "outcome"]]
    for k, who in enumerate(("Müller", "ann", "bob")):
        rows += [
            [who, a, b, "right" if (a + b + k) % 7 else None] for a in ITEMS for b in ITEMS if a < b
        ]
    return rows


def test_the_way_of_a_spreadsheet_user(tmp_path: Path, command: Command) -> None:
    answers = _answers()
    notes: list[list[object]] = [["by hand"]]
    blank = sum(row[3] is None for row in answers)
    write_xlsx(tmp_path / "answers.xlsx", {"Notes": notes, "Answers": answers})
    scores: list[list[object]] = [["Item", "Score"]]
    scores += [[k, k * 1.5] for k in ITEMS]
    write_ods(tmp_path / "scores.ods", {"Sheet1": scores})
    done = command("run", "answers.xlsx", "scores.ods", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "sheet 'Answers' was read, not 'Notes'" in done.stderr
    assert f"({blank} not answered)" in done.stderr
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert summary["not_fitted"] == {"not answered": blank}
    assert summary["n_items"] == len(ITEMS)
    assert summary["judgments"] == "answers.xlsx#Answers"
    assert "not answered" in command("check", "answers.xlsx#Answers").stdout


def test_notes_on_every_table(tmp_path: Path, command: Command) -> None:
    write_xlsx(tmp_path / "answers.xlsx", {"S": _answers()})
    scores = "item;score\n" + "".join(f"{k};{k},5\n" for k in ITEMS)
    (tmp_path / "scores.csv").write_bytes(scores.encode("utf-16"))
    anchors = "item;truth\n" + "".join(f"{k};{k},25\n" for k in ITEMS) + "9;\n"
    (tmp_path / "anchors.csv").write_text(anchors, encoding="utf-8")
    (tmp_path / "texts.csv").write_bytes("item,text\n1,Café\n".encode("cp1252"))
    done = command(
        "run", "answers.xlsx", "scores.csv", "-o", "out",
        "--anchors", "anchors.csv", "--texts", "texts.csv",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for said in (
        "scores.csv: the file is not UTF-8 and was read as UTF-16",
        "scores.csv: column 'score': '1,5' is read as 1.5",
        "anchors.csv: column 'truth': '1,25' is read as 1.25",
        "anchors.csv: 1 row without a truth left out",
        "texts.csv: the file is not UTF-8 and was read as Windows-1252, as in 'Café'",
    ):
        assert said in done.stderr
    evaluated = command("evaluate", "out/items.csv", "anchors.csv")
    assert "'1,25' is read as 1.25" in evaluated.stderr


def test_a_workbook_is_not_overwritten_by_way_of_its_sheet(
    tmp_path: Path, command: Command
) -> None:
    path = write_xlsx(tmp_path / "pairs.xlsx", {"S": _answers()})
    before = path.read_bytes()
    done = command("suggest", "pairs.xlsx#S", "-n", "2", "-o", "pairs.xlsx", "--force")
    assert done.returncode == 2
    assert "is being read" in done.stderr
    assert path.read_bytes() == before


def test_a_sheet_with_titles_and_notes_is_described_as_it_is_run(
    tmp_path: Path, command: Command
) -> None:
    rows: list[list[object]] = [["Judge", "Text A", "Text B", "Winner"]]
    rows += [[who, f"E{a}", f"E{b}", "B"] for who, a, b, _ in _answers()[1:]]
    answers: list[list[object]] = [["Spring"], [], *rows, [], ["Note: typed by Ben"]]
    write_xlsx(tmp_path / "answers.xlsx", {"Answers": answers, "Legend": [["A", "left"]]})
    scores: list[list[object]] = [["Scores"], [], ["Essay", "Score"]]
    scores += [*([f"E{k}", k] for k in ITEMS), ["Mean", 3.5]]
    write_xlsx(tmp_path / "scores.xlsx", {"S": scores})
    done = command("init", "answers.xlsx", "scores.xlsx")
    assert done.returncode == 0, done.stderr
    assert "model scores of 6 items" in done.stderr
    done = command("run")
    assert done.returncode == 0, done.stderr
    assert "'Mean' adds up the other rows and is left out" in done.stderr
