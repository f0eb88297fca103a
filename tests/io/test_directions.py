"""A direction is never guessed: what could be read in two ways is refused, with both."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import aggcal
from aggcal.errors import OptionError, OutcomeError
from aggcal.io.choices import Blank
from conftest import Command, table

PAIRS = [("e1", "e2"), ("e2", "e3"), ("e1", "e3"), ("e4", "e1")]
BLANKS: tuple[Blank, ...] = ("skip", "error")
BOTH = ("1", "0", "0", "1")
STRENGTHS = "numbers that say who won are taken as the strength of the left: 1 means that"


def rows(head: str, values: Any) -> list[dict[str, Any]]:
    """Return a judgment of each pair, under these names."""
    names = head.split(",")
    return [dict(zip(names, ("u", *pair, v), strict=True)) for pair, v in zip(PAIRS, values)]  # noqa: B905


def csv(head: str, values: Any) -> str:
    lines = (",".join(map(str, row.values())) for row in rows(head, values))
    return "\n".join([head, *lines, ""])


def left_won(judgments: aggcal.Judgments) -> dict[tuple[str, str], float]:
    """Return the strength of the first item of each pair."""
    ids = judgments.item_ids
    read = zip(ids[judgments.left], ids[judgments.right], judgments.outcome.tolist(), strict=True)
    found = {pair: s for one, two, s in read for pair, s in (((one, two), s), ((two, one), 1 - s))}
    return {pair: found[pair] for pair in PAIRS if pair in found}


def readings(message: str) -> list[dict[str, str]]:
    """Return what a message says to give as outcomes, for each of its two readings."""
    return [ast.literal_eval(each) for each in re.findall(r"outcomes=(\{.*?\})", message)]


def as_it_comes(records: list[dict[str, Any]], tmp_path: Path) -> list[Any]:
    frame = pd.DataFrame(records)
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_parquet(tmp_path / "x.parquet")
    columns = {name: [record[name] for record in records] for name in records[0]}
    return [records, columns, frame, pl.DataFrame(records), tmp_path / "x.csv",
            tmp_path / "x.parquet"]  # fmt: skip


def test_one_is_left_in_our_own_columns_and_that_is_said(tmp_path: Path) -> None:
    for values in ([1, 0, 0, 1], [1.0, 0.0, 0.0, 1.0], ["1", "0", "0", "1"]):
        given = as_it_comes(rows("annotator,left,right,outcome", values), tmp_path)
        given.append([tuple(row.values()) for row in given[0]])
        for data in given:
            # The second way is that of tables with other columns, of any size.
            for blank in BLANKS:
                found = aggcal.read_judgments(data, blank=blank)
                assert list(left_won(found).values()) == [1.0, 0.0, 0.0, 1.0]
                assert len(found.notes) == 1
                assert found.notes[0].startswith(STRENGTHS)


@pytest.mark.parametrize("how", [{}, {"blank": "error"}])
def test_a_side_in_the_same_column_tells_what_numbers_mean(how: dict[str, Any]) -> None:
    given = rows("annotator,left,right,outcome", ["left", 0.75, "tie", 0])
    assert aggcal.read_judgments(given, **how).notes == ()
    used = pd.DataFrame(rows("annotator,left,right,outcome", ["left", "right", "tie", "left"]))
    used = used.astype("category")
    used["outcome"] = used["outcome"].cat.add_categories(["0.75"])
    assert aggcal.read_judgments(used, **how).notes == ()


@pytest.mark.parametrize(
    "head",
    [
        "annotator,left,right,winner",
        "annotator,left,right,label",
        "annotator,item_a,item_b,outcome",
        "rater,item_a,item_b,label",
        "worker,left,right,label",  # crowd-kit
        "judge,model_a,model_b,winner",  # arena
        "annotator,generator_1,generator_2,preference",  # AlpacaEval
        "annotator,option1,option2,choice",
    ],
)
def test_zero_and_one_elsewhere_are_refused_with_both_readings(head: str, tmp_path: Path) -> None:
    _, left, right, said = head.split(",")
    several: list[list[Any]] = [[1, 0, 0, 1], [1.0, 0.0, 0.0, 1.0], [1, 0, "tie", 1], [1, 1, 1, 1]]
    for values in several:
        mixed = "tie" in values
        given = [rows(head, values)] if mixed else as_it_comes(rows(head, values), tmp_path)
        strengths = [0.5 if v == "tie" else float(v) for v in values]
        for data in given:
            with pytest.raises(OutcomeError, match=f"'{said}'.* '{left}' or for '{right}'") as told:
                aggcal.read_judgments(data)
            for outcomes, wanted in zip(
                readings(str(told.value)), (strengths, [1 - s for s in strengths]), strict=True
            ):
                found = aggcal.read_judgments(data, outcomes=outcomes)
                assert list(left_won(found).values()) == wanted


def test_strengths_follow_what_the_ends_mean() -> None:
    data = rows("annotator,item_a,item_b,label", [0.75, 0, 0.5, 0.25])
    with pytest.raises(OutcomeError, match="may stand for"):
        aggcal.read_judgments(data)
    with pytest.raises(OutcomeError, match="may stand for") as told:
        aggcal.read_judgments(data[:1])
    straight, turned = readings(str(told.value))
    found = aggcal.read_judgments(data, outcomes=straight)
    assert list(left_won(found).values()) == [0.75, 0.0, 0.5, 0.25]
    found = aggcal.read_judgments(data, outcomes=turned)
    assert list(left_won(found).values()) == [0.25, 1.0, 0.5, 0.75]
    assert any("strength of the right" in note for note in found.notes)
    own = rows("annotator,left,right,outcome", [0.75, 0, 0.5, 0.25])
    found = aggcal.read_judgments(own, outcomes=turned)
    assert list(left_won(found).values()) == [0.25, 1.0, 0.5, 0.75]


def test_a_column_that_is_named_says_nothing_of_its_direction(tmp_path: Path) -> None:
    data = rows("annotator,first_one,second_one,verdict", BOTH)
    columns = {"left": "first_one", "right": "second_one", "outcome": "verdict"}
    for given in as_it_comes(data, tmp_path):
        with pytest.raises(OutcomeError, match=r"'verdict' .* 'first_one' or for 'second_one'"):
            aggcal.read_judgments(given, columns=columns)


def test_both_readings_on_the_command_line(tmp_path: Path, command: Command) -> None:
    (tmp_path / "j.csv").write_text(csv("annotator,item_a,item_b,label", BOTH))
    done = command("check", "j.csv")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    found = re.findall(r"((?:--outcome \S+ )+)if", done.stderr)
    assert len(found) == 2
    for k, (options, outcomes) in enumerate(
        zip(found, (["left", "right"], ["right", "left"]), strict=True)
    ):
        done = command("convert", "j.csv", "-o", f"{k}.csv", *shlex.split(options))
        assert done.returncode == 0, done.stderr
        said = [row["outcome"] for row in table(tmp_path / f"{k}.csv")]
        assert said == [outcomes[value == "0"] for value in BOTH]


LABELS = {
    "dash": "{n} - {word}", "colon": "{n}: {word}", "bracket": "{n} ({word})", "dot": "{n}. {word}",
}  # fmt: skip
WORDS = (
    ("excellent", "good", "fair", "weak", "poor"),
    ("strong accept", "accept", "borderline", "reject", "strong reject"),
    ("sehr gut", "gut", "befriedigend", "ausreichend", "mangelhaft"),
    ("best", "", "", "", "worst"),
)
GIVEN = (("ann", "p1", 1), ("ann", "p2", 5), ("bob", "p1", 2), ("bob", "p2", 4))


def rated(how: str, words: tuple[str, ...]) -> list[dict[str, str]]:
    return [
        {"annotator": who, "item": item, "rating": how.format(n=n, word=words[n - 1])}
        if words[n - 1]
        else {"annotator": who, "item": item, "rating": str(n)}
        for who, item, n in GIVEN
    ]


def first(judgments: aggcal.Judgments) -> str:
    """Return the item that everybody puts above the other."""
    winners = judgments.item_ids[judgments.left[judgments.outcome > 0.5]]
    assert len({*winners}) == 1
    return str(winners[0])


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("how", LABELS)
def test_ratings_whose_labels_call_the_lowest_the_best(how: str, words: tuple[str, ...]) -> None:
    data = rated(LABELS[how], words)
    found = aggcal.read_judgments(data)
    assert first(found) == first(aggcal.read_judgments(data, order="lowest")) == "p1"
    assert "the lowest rating is taken for the best" in found.notes
    assert first(aggcal.read_judgments(data, order="highest")) == "p2"
    assert first(aggcal.read_judgments(rated(LABELS[how], words[::-1]))) == "p2"


@pytest.mark.parametrize(
    "header",
    [
        "rating (1 = best)", "score (1 best, 5 worst)", "quality [1=excellent; 5=poor]",
        "overall (1-5, 1 is best)", "place", "rating (lower is better)", "rating (5 = worst)",
        "Note", "Schulnote", "mark", "grade",
    ],
)  # fmt: skip
def test_a_header_that_calls_the_lowest_the_best(header: str) -> None:
    data = [{"annotator": who, "item": item, header: n} for who, item, n in GIVEN]
    how: dict[str, Any] = {"columns": {"rating": header}, "format": "ratings"}
    if header in ("Note", "Schulnote", "mark", "grade"):  # in some countries
        with pytest.raises(OptionError, match="order='lowest' or order='highest'"):
            aggcal.read_judgments(data, **how)
    else:
        assert first(aggcal.read_judgments(data, **how)) == "p1"
    assert first(aggcal.read_judgments(data, **how, order="lowest")) == "p1"
    assert first(aggcal.read_judgments(data, **how, order="highest")) == "p2"


def test_headers_of_a_sheet_and_labels_that_agree() -> None:
    sheet = [{"paper": f"p{k}", "Ann (1 = best)": k, "Bob (1 = best)": k} for k in (1, 5)]
    assert first(aggcal.read_judgments(sheet, format="ratings")) == "p1"
    for header in ("rating", "rating (5 = best)", "rating (1 = poor, 5 = excellent)"):
        data = [{"annotator": who, "item": item, header: n} for who, item, n in GIVEN]
        found = aggcal.read_judgments(data, columns={"rating": header})
        assert first(found) == "p2"
        assert "the highest rating is taken for the best" in found.notes


@pytest.mark.parametrize("pair", ["item_a,item_b", "model_a,model_b", "left,right"])
def test_a_letter_or_one_and_two_are_read_as_the_side(pair: str) -> None:
    for values in ("ABBA", "1221"):
        found = aggcal.read_judgments(rows(f"annotator,{pair},winner", values))
        assert list(left_won(found).values()) == [1.0, 0.0, 0.0, 1.0]
        assert found.notes[0].endswith(f"({values[0]} = left, {values[1]} = right)")


@pytest.mark.parametrize("names", [("winner", "loser"), ("chosen", "rejected")])
@pytest.mark.parametrize("pair", [("item_a", "item_b"), ("response_a", "response_b")])
def test_winners_that_are_places_are_no_items(
    names: tuple[str, str], pair: tuple[str, str], tmp_path: Path
) -> None:
    for places in ("AB", "12", "01"):
        data = [
            {"annotator": "u", pair[0]: one, pair[1]: two, names[0]: a, names[1]: b}
            for (one, two), (a, b) in zip(PAIRS, (places, places[::-1]) * 2, strict=True)
        ]
        path = tmp_path / f"{places}.csv"
        pd.DataFrame(data).to_csv(path, index=False)
        for given in (data, path):
            with pytest.raises(OptionError, match="say where an item was shown") as said:
                aggcal.read_judgments(given)
            columns = re.search(r"format='table' columns=(\{.*?\})", str(said.value))
            assert columns is not None
            how: dict[str, Any] = {"columns": ast.literal_eval(columns[1]), "format": "table"}
            if places == "01":
                with pytest.raises(OutcomeError, match="may stand for") as told:
                    aggcal.read_judgments(given, **how)
                how["outcomes"] = readings(str(told.value))[1]
            found = aggcal.read_judgments(given, **how)
            assert list(left_won(found).values()) == [1.0, 0.0] * 2
    ids = [dict(zip((*pair, *names), (a, b, a, b), strict=True)) for a, b in PAIRS]
    assert aggcal.read_judgments(ids, annotator="u").n_items == 4


@pytest.mark.parametrize("ids", [("A", "B"), ("0", "1"), ("1", "2"), ("left", "right")])
def test_items_that_are_called_like_places_are_told(ids: tuple[str, str]) -> None:
    data = [("u", *ids), ("v", *ids), ("u", *ids[::-1])]
    (note,) = aggcal.read_judgments(data).notes
    assert note.startswith(f"the items are called '{ids[0]}', '{ids[1]}'; if these are places")
    assert aggcal.read_judgments([*data, ("u", "C3", ids[0])]).notes == ()
