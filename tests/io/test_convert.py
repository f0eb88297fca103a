"""Conversions: what is written reads back as the same judgments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_formats import PREFLIB, by_pair, judged
from test_readings import EXAMPLES, ONE_OF_EACH

import aggcal
from aggcal.errors import OptionError, OutputError
from aggcal.io.choices import Choices
from aggcal.io.convert import convert_judgments

WHOLE_PAIRS = Choices(ranking_weight="pair")


@pytest.mark.parametrize("sample", ONE_OF_EACH)
def test_our_own_format_loses_nothing(sample: str, tmp_path: Path) -> None:
    source, target = tmp_path / "export", tmp_path / "out.csv"
    source.write_text(EXAMPLES[sample].content, encoding="utf-8")
    done = convert_judgments([source], target)
    one, other = aggcal.read_judgments(source), aggcal.read_judgments(target)
    assert done.n_rows == one.n_rows == other.n_rows
    assert judged(one) == judged(other)
    assert one.weight.tolist() == other.weight.tolist()
    assert one.unfitted.counts == other.unfitted.counts
    assert list(one.unfitted.detail) == list(other.unfitted.detail)
    assert one.sided == other.sided
    assert one.criteria == other.criteria
    if one.seconds is not None:
        assert other.seconds is not None
        assert one.seconds.tolist() == other.seconds.tolist()
    again = tmp_path / "again.csv"
    convert_judgments([target], again)
    assert again.read_bytes() == target.read_bytes()


@pytest.mark.parametrize("text", [PREFLIB, EXAMPLES["the old header of PrefLib"].content])
def test_preflib_comes_back_as_it_was(text: str, tmp_path: Path) -> None:
    source, table, target = tmp_path / "in.toc", tmp_path / "table.csv", tmp_path / "out.toc"
    source.write_text(text)
    convert_judgments([source], table)
    convert_judgments([table], target)
    one, other = (aggcal.read_judgments(p, ranking_weight="pair") for p in (source, target))
    assert by_pair(one) == by_pair(other)
    assert one.n_annotators == other.n_annotators
    orders = [line for line in target.read_text().splitlines() if line[0].isdigit()]
    given = [line for line in text.splitlines() if line[0].isdigit()][-len(orders) :]
    assert sorted(o.partition(":")[2].strip() for o in orders) == sorted(
        line.partition(":" if ":" in line else ",")[2].strip() for line in given
    )


def test_orders_of_one_item_are_not_lost(tmp_path: Path) -> None:
    source, table, target = tmp_path / "in.soi", tmp_path / "table.csv", tmp_path / "out.soi"
    head = "# DATA TYPE: soi\n# NUMBER ALTERNATIVES: 2\n"
    source.write_text(head + "5: 1,2\n3: 2\n")
    convert_judgments([source], table)
    assert convert_judgments([table], target).n_left_out == 0
    orders = [line for line in target.read_text().splitlines() if line[0].isdigit()]
    assert orders == ["5: 1,2", "3: 2"]


@pytest.mark.parametrize(
    "odd",
    [
        'a "quoted" text', "line\nbreak", "crlf\r\nbreak", "a\rb", "tab\there", "comma, semi;",
        "漢字 😀", "# hash", "null", "nan", "1.0", "a\\b", '"', "a\u2028b", "[1]", "x" * 100_000,
    ],
)  # fmt: skip
def test_texts_of_any_kind_come_back(odd: str, tmp_path: Path) -> None:
    source, target = tmp_path / "in.json", tmp_path / "out.csv"
    source.write_text(json.dumps([{"annotator": odd, "ranking": [odd, "b"]}]), encoding="utf-8")
    convert_judgments([source], target)
    assert judged(aggcal.read_judgments(source)) == [(odd, odd, "b", 1.0)]
    assert judged(aggcal.read_judgments(target)) == [(odd, odd, "b", 1.0)]


def test_crowd_kit_and_back(tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("annotator,winner,loser\nu,a,b\nu,b,c\nv,c,a\n")
    done = convert_judgments([source], target, to="crowd-kit")
    assert done.n_left_out == 0
    assert target.read_text() == "worker,left,right,label\nu,a,b,a\nu,b,c,b\nv,c,a,c\n"
    assert judged(aggcal.read_judgments(source)) == judged(aggcal.read_judgments(target))


def test_what_a_format_cannot_say_is_refused_not_bent(tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("annotator,left,right,outcome\nu,a,b,tie\nu,b,c,left\nu,b,c,skip\n")
    with pytest.raises(OptionError, match=r"outcomes={'tie': 'skip'}"):
        convert_judgments([source], target, to="crowd-kit")
    assert not target.exists()
    done = convert_judgments(
        [source], target, to="crowd-kit", choices=Choices(outcomes={"tie": "skip"})
    )
    assert (done.n_rows, done.n_left_out) == (1, 2)
    source.write_text("annotator,left,right,outcome\nu,a,b,0.8\nu,b,c,left\n")
    with pytest.raises(OptionError, match="no strengths"):
        convert_judgments([source], target, to="preflib")
    source.write_text("annotator,r1,r2,r3\nu,a,b,c\n")
    with pytest.raises(OptionError, match="ranking_weight='pair'"):
        convert_judgments([source], target, to="crowd-kit")
    convert_judgments([source], target, to="crowd-kit", choices=WHOLE_PAIRS)
    source.write_text("annotator,winner,loser\nu,a,b\n")
    with pytest.raises(OptionError, match="no outcome to map"):
        convert_judgments([source], target, choices=Choices(outcomes={"a": "tie"}))
    with pytest.raises(OutputError, match="is a folder"):
        convert_judgments([source], tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        "annotator,item1,item2,item3,item4,best,worst\nu,a,b,c,d,a,d\n",
        "annotator,ranking\nu," + " > ".join(f"i{k}" for k in range(250)) + "\n",
        "[[3, [1, 2]]]",
    ],
)
def test_what_is_no_whole_order_is_not_written_as_one(content: str, tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out.toi"
    source.write_text(content)
    with pytest.raises(OptionError, match="only has complete orders"):
        convert_judgments([source], target)
    assert not target.exists()


@pytest.mark.parametrize("to", ["crowd-kit", "preflib"])
def test_criteria_are_not_thrown_together(to: str, tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out"
    source.write_text("annotator,criterion,winner,loser\nu,taste,a,b\nu,look,b,a\n")
    with pytest.raises(OptionError, match="criterion="):
        convert_judgments([source], target, to=to)
    assert convert_judgments([source], target, to=to, criterion="look").n_rows == 1
    with pytest.raises(OptionError, match="no judgment has the criterion 'smell'"):
        convert_judgments([source], target, to=to, criterion="smell")


def test_votes_and_non_votes_become_one_table(tmp_path: Path) -> None:
    votes, others, target = tmp_path / "votes.csv", tmp_path / "non.csv", tmp_path / "out.csv"
    votes.write_text(EXAMPLES["all-our-ideas"].content)
    others.write_text(
        "Record Type,Skip ID,Appearance ID,Session ID,Left Choice ID,Right Choice ID,Reason,Valid\n"
        "Skip,1,a,s1,11,12,too hard,TRUE\nBounce,,b,s9,12,13,,TRUE\n"
    )
    convert_judgments([votes, others], target)
    judgments = aggcal.read_judgments(target)
    assert judgments.n_judgments == 2
    assert judgments.unfitted.counts == {"skip": 3}
    assert "skip (Skip: too hard): s1, 11 and 12" in str(judgments.unfitted)


def test_a_file_is_not_replaced_unasked(tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("annotator,winner,loser\nu,a,b\n")
    target.write_text("precious")
    with pytest.raises(OutputError, match="force=True"):
        convert_judgments([source], target, overwrite=False)
    assert target.read_text() == "precious"


def test_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.csv"
    source.write_text("annotator,winner,loser\nu,a,b\n")
    convert_judgments([source], "-")
    assert capsys.readouterr().out == "annotator,winner,loser\nu,a,b\n"


@pytest.mark.parametrize("ending", ["json", "jsonl", "parquet", "xlsx"])
def test_a_file_is_what_its_ending_says(ending: str, tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / f"out.{ending}"
    source.write_text(
        "annotator,left,right,outcome,weight\nu,007,=1+1,left,2\nv,b<&,007,tie,1\n"
        f"v,{'long ' * 20},b<&,skip,1\n"
    )
    convert_judgments([source], target)
    head = {"json": b"[", "jsonl": b'{"annotator', "parquet": b"PAR1", "xlsx": b"PK"}[ending]
    assert target.read_bytes().startswith(head)
    one, other = aggcal.read_judgments(source), aggcal.read_judgments(target)
    assert judged(one) == judged(other)
    assert one.weight.tolist() == other.weight.tolist()
    assert one.unfitted.counts == other.unfitted.counts


def test_a_workbook_has_headings_and_widths(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    source, target = tmp_path / "in.csv", tmp_path / "out.xlsx"
    source.write_text(f"annotator,winner,loser\nu,{'a long name ' * 3},b\n")
    convert_judgments([source], target)
    sheet = openpyxl.load_workbook(target).active
    assert [cell.value for cell in sheet[1]] == ["annotator", "winner", "loser"]
    assert all(cell.font.b for cell in sheet[1])
    assert sheet.freeze_panes == "A2"
    assert sheet.column_dimensions["B"].width > 2 * sheet.column_dimensions["A"].width


@pytest.mark.parametrize(
    ("name", "to", "said"),
    [("x.docx", None, "cannot be written"), ("x.xls", None, r"did you mean '\.xlsx'"),
     ("x.parquet", "preflib", "choose .soc"), ("x.csv.gz", None, "cannot be written")],
)  # fmt: skip
def test_an_ending_that_cannot_be_written_is_refused(
    name: str, to: str | None, said: str, tmp_path: Path
) -> None:
    source = tmp_path / "in.csv"
    source.write_text("annotator,winner,loser\nu,a,b\n")
    with pytest.raises(OptionError, match=said):
        convert_judgments([source], tmp_path / name, to=to)
    assert not (tmp_path / name).exists()
