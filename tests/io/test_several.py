"""Several files of judgments: together they are what one table of all their rows would be."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from workbooks import write_xlsx

import aggcal
from aggcal.errors import FileError, OptionError, OutcomeError, TooLittleDataError
from conftest import Command

HEADER = "annotator,left,right,outcome"
ROWS = [
    f"u{k % 3},i{k % 4},i{(k + 1 + k % 2) % 4},{['left', 'right', 'tie', '0.7', 'skip'][k % 5]}"
    for k in range(60)
]


def _columns(found: aggcal.Judgments) -> list[object]:
    return [
        found.item_ids.tolist(),
        found.annotator_ids.tolist(),
        *(
            np.asarray(getattr(found, name)).tolist()
            for name in ("annotator", "left", "right", "outcome", "weight", "count")
        ),
        found.unfitted.counts,
        found.sided,
        found.n_duplicates,
        None if found.seconds is None else found.seconds.tolist(),
    ]


def _write(path: Path, rows: list[str], header: str = HEADER) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def _as(kind: str, folder: Path, name: str, rows: list[str]) -> Path:
    """Write rows as a file of some kind."""
    cells = [row.split(",") for row in rows]
    names = HEADER.split(",")
    path = folder / f"{name}.{kind}"
    if kind == "xlsx":
        return write_xlsx(path, {"Answers": [names, *cells]})
    if kind == "jsonl":
        lines = [json.dumps(dict(zip(names, row, strict=True))) for row in cells]
        path.write_text("\n".join(lines))
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress("\n".join([HEADER, *rows]).encode()))
    elif kind == "tsv":
        path.write_text("\n".join([HEADER, *rows]).replace(",", "\t"), encoding="utf-16")
    else:
        _write(path, rows)
    return path


@pytest.mark.parametrize("kinds", [("csv", "csv"), ("xlsx", "jsonl"), ("tsv", "csv.gz", "csv")])
def test_parts_are_the_whole(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    whole = aggcal.read_judgments(_write(tmp_path / "whole.csv", ROWS))
    cut = np.array_split(np.array(ROWS), len(kinds))
    files = [
        _as(kind, tmp_path, f"part-{k}", part.tolist())
        for k, (kind, part) in enumerate(zip(kinds, cut, strict=True))
    ]
    found = aggcal.read_judgments(files)
    assert _columns(found) == _columns(whole)
    assert found.source == ", ".join(file.name for file in files)
    for file in files:
        assert any(note.startswith(f"{file.name}: read as table, ") for note in found.notes)
    assert _columns(aggcal.read_judgments(files[::-1])) == _columns(whole)


def test_a_folder_stands_for_its_tables(tmp_path: Path) -> None:
    folder = tmp_path / "exports"
    (folder / "old").mkdir(parents=True)
    _write(folder / "b.csv", ROWS[30:])
    write_xlsx(folder / "a.xlsx", {"S": [HEADER.split(","), *(r.split(",") for r in ROWS[:30])]})
    for name in (".DS_Store", "~$a.xlsx"):
        (folder / name).write_bytes(b"\0\1")
    (folder / "notes.docx").write_bytes(b"PK")
    whole = _columns(aggcal.read_judgments(_write(tmp_path / "whole.csv", ROWS)))
    found = aggcal.read_judgments(folder)
    assert _columns(found) == whole
    assert found.notes[0] == "exports: left out, as they are no tables: 'notes.docx', 'old'"
    assert _columns(aggcal.read_judgments([folder / "b.csv", folder / "a.xlsx"])) == whole
    with pytest.raises(OptionError, match=r"b\.csv is given twice, and"):
        aggcal.read_judgments([str(folder), str(folder / "b.csv")])


def test_parquet_beside_other_files(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    folder = tmp_path / "parts"
    folder.mkdir()
    frame = pandas.DataFrame([r.split(",") for r in ROWS], columns=HEADER.split(","))
    frame[:20].to_parquet(folder / "0.parquet")
    frame[20:40].to_parquet(folder / "1.parquet")
    rest = _write(tmp_path / "rest.csv", ROWS[40:])
    whole = aggcal.read_judgments(_write(tmp_path / "whole.csv", ROWS))
    assert _columns(aggcal.read_judgments([folder, rest])) == _columns(whole)
    with pytest.raises(OptionError, match=r"0\.parquet is in .*parts, which is also given"):
        aggcal.read_judgments([folder, folder / "0.parquet"])
    _write(folder / "more.csv", ROWS[:2])
    with pytest.raises(FileError, match=r"read as one table, and others \('more\.csv'\)"):
        aggcal.read_judgments(folder)


def test_no_file_counts_twice(tmp_path: Path) -> None:
    first = _write(tmp_path / "a.csv", ROWS)
    copy = Path(shutil.copy(first, tmp_path / "b.csv"))
    (tmp_path / "link.csv").symlink_to(first)
    book = write_xlsx(tmp_path / "c.xlsx", {"S": [HEADER.split(","), ["u", "a", "b", "left"]]})
    for files, said in (
        ([first, first], "a.csv is given twice, and"),
        ([str(first), tmp_path / "link.csv"], "link.csv is given twice, as "),
        ([first, copy], "b.csv holds the same as a.csv"),
        ([book, f"{book}#S"], "holds the same as c.xlsx"),
    ):
        with pytest.raises(OptionError, match=said):
            aggcal.read_judgments(files)


def test_rows_that_two_exports_share_are_duplicates(tmp_path: Path) -> None:
    timed = [f"{row},2024-01-01T{k:02}:00" for k, row in enumerate(ROWS[:20])]
    header = f"{HEADER},created_at"
    monday = _write(tmp_path / "monday.csv", timed[:15], header)
    tuesday = _write(tmp_path / "tuesday.csv", timed[10:], header)
    both = aggcal.read_judgments([monday, tuesday])
    shared = [row for row in timed[10:15] if ",skip," not in row]
    assert both.n_duplicates == len(shared) == 4
    later = _write(tmp_path / "later.csv", [f"{r}9" for r in timed[10:]], header)
    assert aggcal.read_judgments([monday, later]).n_duplicates == 0
    records = [dict(zip(header.split(","), row.split(","), strict=True)) for row in timed]
    for name, part in (("m.json", records[:15]), ("t.json", records[10:])):
        (tmp_path / name).write_text(json.dumps(part))
    assert aggcal.read_judgments([tmp_path / "m.json", tmp_path / "t.json"]).n_duplicates == 4


def test_what_no_file_names_is_of_that_file(tmp_path: Path) -> None:
    for name, text in (("a.csv", "a > b > c"), ("b.csv", "b > a > c")):
        _write(tmp_path / name, [text, "c > a > b"], "ranking")
    _write(tmp_path / "c.csv", ["a,b,a", "b,c,tie"], "left,right,winner")
    found = aggcal.read_judgments([tmp_path / name for name in ("a.csv", "b.csv", "c.csv")])
    assert found.annotator_ids.tolist() == [
        "ranking 1 (a.csv)",
        "ranking 1 (b.csv)",
        "ranking 2 (a.csv)",
        "ranking 2 (b.csv)",
        "unknown (c.csv)",
    ]
    assert found.format == "several formats"
    assert found.screen is not None
    assert len(set(found.screen.tolist())) == 4 + 2  # four rankings and two judgments by themselves
    assert not found.sided


def test_screens_of_two_files_are_not_one(tmp_path: Path) -> None:
    header = f"{HEADER},screen"
    _write(tmp_path / "a.csv", ["u,a,b,left,1", "u,b,c,left,1"], header)
    _write(tmp_path / "b.csv", ["u,a,c,left,1", "u,c,b,left,1"], header)
    found = aggcal.read_judgments([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert found.screen is not None
    assert sorted(found.screen.tolist()) == [0, 0, 1, 1]
    assert found.sided


def test_winners_beside_outcomes_have_no_sides(tmp_path: Path) -> None:
    short = _write(tmp_path / "s.csv", ["u,a,b", "v,,"], "annotator,winner,loser")
    long = _write(tmp_path / "l.csv", ["u,a,b,right", "u,b,c,"])
    found = aggcal.read_judgments([short, long])
    assert found.outcome.tolist() == [0.0, 1.0]
    assert not found.sided
    assert found.unfitted.counts == {"not answered": 2}
    assert "l.csv: row 2: not answered" in str(found.unfitted)


def test_options_are_meant_for_files_that_take_them(tmp_path: Path) -> None:
    pairs = _write(tmp_path / "pairs.csv", ["u,a,b,A"], "coder,left,right,outcome")
    rated = _write(tmp_path / "rated.csv", ["v,a,3", "v,b,3", "v,c,9"], "annotator,item,rating")
    found = aggcal.read_judgments(
        [pairs, rated], columns={"annotator": "coder"}, outcomes={"A": "left"}, order="highest"
    )
    assert found.outcome[found.annotator == 1].tolist() == [0.5, 1.0, 1.0]
    assert "pairs.csv: order has no effect on table judgments" in found.notes
    assert "rated.csv: there is no column 'coder' to take as 'annotator'" in found.notes
    assert not any("no row has the outcome" in note for note in found.notes)
    winners = _write(tmp_path / "w.csv", ["u,a,b"], "annotator,winner,loser")
    more = _write(tmp_path / "x.csv", ["u,b,c"], "annotator,winner,loser")
    for options, said in (
        ({"order": "lowest"}, "w.csv, x.csv: order does not apply to"),
        ({"columns": {"winner": "best"}}, "no file has a column 'best' to take as 'winner'"),
        ({"outcomes": {"A": "left"}}, "no outcome to map"),
        ({"columns": {"winer": "best"}}, "there is no column 'winer' to name"),
    ):
        with pytest.raises(OptionError, match=said):
            aggcal.read_judgments([winners, more], **options)


def test_criteria_spellings_and_weights(tmp_path: Path) -> None:
    a = _write(
        tmp_path / "a.csv",
        ["u,Essay 1,e2,style", "u,e2,e3,content"],
        "annotator,winner,loser,criterion",
    )
    b = _write(tmp_path / "b.csv", ["U,essay 1,e3,2"], "annotator,winner,loser,weight")
    found = aggcal.read_judgments([a, b], normalize_ids=True)
    assert found.item_ids.tolist() == ["Essay 1", "e2", "e3"]
    assert found.annotator_ids.tolist() == ["u"]
    assert sorted(found.weight.tolist()) == [1.0, 1.0, 2.0]
    assert found.criteria == ("content", "style")
    chosen = aggcal.read_judgments([a, b], criterion="style")
    assert chosen.unfitted.counts == {"other criterion": 2}
    with pytest.raises(OptionError, match="there are content, style"):
        aggcal.read_judgments([a, b], criterion="taste")


def test_errors_name_the_file(tmp_path: Path) -> None:
    good = _write(tmp_path / "good.csv", ROWS)
    bad = _write(tmp_path / "bad.csv", ["u,a,b,left", "", "u,a,b,perhaps"])
    with pytest.raises(OutcomeError, match=r"bad\.csv: line 4 has the unknown outcome 'perhaps'"):
        aggcal.read_judgments([good, bad])
    with pytest.raises(FileError, match=r"no\.csv: no such file"):
        aggcal.read_judgments([good, tmp_path / "no.csv"])
    empty = _write(tmp_path / "empty.csv", [])
    assert "empty.csv: there is no judgment in it" in aggcal.read_judgments([good, empty]).notes
    other = _write(tmp_path / "other.csv", [], "annotator,winner,loser")
    with pytest.raises(TooLittleDataError, match=r"empty\.csv, other\.csv: hold no judgment"):
        aggcal.read_judgments([empty, other])


def test_lists_of_rows_are_still_rows() -> None:
    assert aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "c")]).n_judgments == 2
    assert aggcal.read_judgments([["ann", "a", "b"]]).n_judgments == 1
    assert aggcal.read_judgments([{"annotator": "u", "winner": "a", "loser": "b"}]).n_items == 2


@pytest.mark.parametrize("verb", ["run", "aggregate", "check", "suggest"])
def test_commands_take_further_files(command: Command, tmp_path: Path, verb: str) -> None:
    _write(tmp_path / "a.csv", ROWS[:30])
    write_xlsx(tmp_path / "b.xlsx", {"S": [HEADER.split(","), *(r.split(",") for r in ROWS[30:])]})
    _write(tmp_path / "scores.csv", ["i0,3", "i1,2", "i2,2", "i3,1"], "item,score")
    words = [verb, "a.csv", *(["scores.csv"] if verb == "run" else []), "--judgments", "b.xlsx"]
    words += ["-o", "out"] if verb in ("run", "aggregate") else []
    words += ["--no-check"] if verb in ("run", "aggregate") else []
    done = command(*words)
    assert done.returncode == 0, done.stderr
    assert "b.xlsx: read as table, 30 rows" in done.stderr
    if "-o" in words:
        summary = json.loads((tmp_path / "out" / "summary.json").read_text())
        assert summary["n_judgments"] == 48
        assert summary["settings"]["files"].endswith("--judgments b.xlsx")
    twice = command(*words, "--judgments", "a.csv")
    assert twice.returncode == 2
    assert "a.csv is given twice" in twice.stderr


def test_a_file_too_many_is_told_where_to_go(command: Command, tmp_path: Path) -> None:
    _write(tmp_path / "a.csv", ROWS[:30])
    _write(tmp_path / "b.csv", ROWS[30:])
    done = command("aggregate", "a.csv", "b.csv", "-o", "out")
    assert "(further judgments: --judgments b.csv)" in done.stderr
    done = command("check", "a.csv", "b.csv")
    assert "further judgments come after --judgments" in done.stderr


def test_several_files_are_added_to_others(tmp_path: Path) -> None:
    first = aggcal.read_judgments(_write(tmp_path / "a.csv", ROWS[:20]))
    rest = [_write(tmp_path / "b.csv", ROWS[20:40]), _write(tmp_path / "c.csv", ROWS[40:])]
    whole = aggcal.read_judgments(_write(tmp_path / "whole.csv", ROWS))
    added = aggcal.add_judgments(first, rest)
    assert added.n_judgments == whole.n_judgments
    assert added.weight.tolist() == whole.weight.tolist()
    for path in rest:
        _write(path, [], HEADER + f",{path.stem}")
    assert aggcal.add_judgments(first, rest) is first
