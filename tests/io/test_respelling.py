"""Ids are merged by rule or by a table of aliases, in judgments and in whatever comes to them."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import numpy as np
import pytest

import aggcal
from aggcal.errors import InputError, OptionError, ScoreError, TableError
from aggcal.io.choices import Choices
from aggcal.io.convert import convert_judgments
from aggcal.io.respelling import read_spelling

ROWS = [
    ("Müller", "Essay 1", "Essay 2"),
    (unicodedata.normalize("NFD", "Müller"), "essay 1", "Essay 3"),
    ("ann", "ESSAY-2", "Essay3"),
    ("ann", "Essay 2", "Essay 3"),
    ("bob", "Essay 1", "essay_1"),
]
PLAIN = [
    ("Müller", "Essay 1", "Essay 2"),
    ("Müller", "Essay 1", "Essay 3"),
    ("ann", "Essay 2", "Essay 3"),
    ("ann", "Essay 2", "Essay 3"),
    ("bob", "Essay 1", "Essay 1"),
]


def _same(found: aggcal.Judgments, expected: aggcal.Judgments) -> None:
    for name in ("item_ids", "annotator_ids", "annotator", "left", "right", "outcome", "weight"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist(), name
    assert found.unfitted.counts == expected.unfitted.counts


def test_merged_ids_are_as_if_they_had_been_typed_alike() -> None:
    found = aggcal.read_judgments(ROWS, normalize_ids=True)
    _same(found, aggcal.read_judgments(PLAIN))
    assert any("spellings of items were changed" in note for note in found.notes)


def test_the_commonest_spelling_is_kept() -> None:
    rows = [("u", "a b", "c"), ("u", "A B", "c"), ("v", "A B", "c")]
    assert aggcal.read_judgments(rows, normalize_ids=True).item_ids.tolist() == ["A B", "c"]


def test_nothing_is_merged_unasked_but_it_is_the_first_thing_said() -> None:
    found = aggcal.read_judgments(ROWS)
    assert found.n_items == 7
    said = aggcal.aggregate(found, warn=False).warnings
    assert [w.code for w in said[:2]] == ["alike-ids", "alike-ids"]
    findings = aggcal.check(found).findings
    assert [f.code for f in findings[:2]] == ["alike-ids", "alike-ids"]
    merged = aggcal.read_judgments(ROWS, normalize_ids=True)
    assert "alike-ids" not in {f.code for f in aggcal.check(merged).findings}


def test_scores_anchors_and_texts_follow_the_judgments() -> None:
    study = aggcal.simulate(items=12, annotators=6, judgments=400, seed=4)
    judgments = [(u, f"Item {a}", f"Item {b}") for u, a, b in _short(study)]
    rng = np.random.default_rng(1)
    known = aggcal.read_judgments(judgments).item_ids.tolist()
    values = {item: float(k) for k, item in enumerate(rng.permutation(known))}
    other = {item.lower().replace(" ", "-"): value for item, value in values.items()}
    expected = aggcal.assess(judgments, values, warn=False)
    read = aggcal.read_judgments(judgments, normalize_ids=True)
    found = aggcal.assess(read, other, warn=False)
    assert found.item_columns()["item"].tolist() == expected.item_columns()["item"].tolist()
    np.testing.assert_array_equal(
        found.item_columns()["calibrated"], expected.item_columns()["calibrated"]
    )
    assert aggcal.check(read, aggcal.read_scores(other)).counts["items_in_both"] == len(known)
    told = found.to_run({known[0].upper(): "A text"})
    assert told.texts == {known[0]: "A text"}
    with pytest.raises(InputError, match="normalize_ids=True"):
        aggcal.assess(judgments, other, warn=False)


def _short(study: aggcal.simulation.Simulation) -> list[tuple[str, str, str]]:
    rows = study.judgments
    return list(zip(rows["annotator"], rows["winner"], rows["loser"], strict=True))


def test_two_scores_for_one_item_are_refused() -> None:
    read = aggcal.read_judgments(ROWS, normalize_ids=True)
    with pytest.raises(ScoreError, match="'essay 1' and 'Essay-1' are one item"):
        aggcal.assess(read, {"essay 1": 1.0, "Essay-1": 2.0, "Essay 2": 3.0}, warn=False)


def test_an_outcome_may_name_the_item_in_another_spelling() -> None:
    rows = [
        {"annotator": "u", "left": "Essay 1", "right": "Essay 2", "winner": "ESSAY 1"},
        {"annotator": "v", "left": "essay 2", "right": "Essay 1", "winner": "Essay 1"},
    ]
    with pytest.raises(InputError, match=r"the item 'Essay 1' but for its spelling.*normalize"):
        aggcal.read_judgments(rows)
    found = aggcal.read_judgments(rows, normalize_ids=True)
    assert found.item_ids.tolist() == ["Essay 1", "Essay 2"]
    assert found.outcome.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    "text",
    [
        "alias,id\nBob,Robert\nRob,Bob\nE1,Essay 1\n",
        "id,alias\nRobert,Bob\nBob,Rob\nEssay 1,E1\n",
        "old\tnew\nBob\tRobert\nRob\tRobert\nE1\tEssay 1\n",
    ],
)
def test_aliases_from_a_table(tmp_path: Path, text: str) -> None:
    path = tmp_path / "alias.csv"
    path.write_text(text, encoding="utf-8")
    rows = [("Bob", "E1", "b"), ("Rob", "Essay 1", "b"), ("Robert", "b", "E1")]
    found = aggcal.read_judgments(rows, aliases=path)
    assert found.annotator_ids.tolist() == ["Robert"]
    assert found.item_ids.tolist() == ["Essay 1", "b"]
    assert found.weight.tolist() == [2.0, 1.0]
    scores = aggcal.assess(found, {"E1": 1.0, "b": 2.0}, warn=False).scores
    assert scores is not None
    assert scores.item_ids.tolist() == ["Essay 1", "b"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("alias,id\na,b\nb,a\n", "'a', 'b' are aliases of each other"),
        ("alias,id\nx,a\na,b\nb,c\nc,a\n", "'a', 'b', 'c' are aliases of each other"),
        ("alias,id\n", "has a header but no row"),
        ("Bob;Robert\nRob;Robert\n", "must name two columns, alias and id"),
        ("alias,id\na,b\na,c\n", "'a' is an alias of both 'b' and 'c'"),
        ("alias,id\na,\n", "'a' is alone in its row"),
        ("alias,id,note\na,b,c\n", "must name two columns"),
        ("alias,id,kind\na,b,person\n", "write item or annotator"),
    ],
)
def test_tables_that_do_not_say_who_is_who(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "alias.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TableError, match=says):
        read_spelling(path)


def test_an_alias_of_an_item_and_of_an_annotator_needs_its_kind(tmp_path: Path) -> None:
    rows = [("1", "1", "2"), ("one", "one", "2")]
    with pytest.raises(OptionError, match="add a column 'kind'"):
        aggcal.read_judgments(rows, aliases={"1": "one"})
    path = tmp_path / "alias.csv"
    path.write_text("alias,id,kind\n1,one,item\n", encoding="utf-8")
    found = aggcal.read_judgments(rows, aliases=path)
    assert (found.n_annotators, found.n_items) == (2, 2)


VOTES = [("Bob", "a", "b"), ("rob", "b", "c"), ("ann", "a", "c")]


@pytest.mark.parametrize(
    ("aliases", "items", "said"),
    [
        ({"zzz": "a", "q": "b"}, "abc", "2 aliases are no ids of the judgments ('zzz', 'q')"),
        ({"BOB": "rob"}, "abc", "('BOB'); 'BOB' is 'Bob' but for its spelling: normalize_ids=True"),
        ({"a": "x", "x": "z"}, "bcz", "aliases of aliases were followed ('a' is 'x' is 'z')"),
        ({"a": "b"}, "bc", "1 judgment compares two spellings of one item and is set aside"),
        ({"a": " x "}, "bcx", "1 spelling of items was changed ('a' to 'x')"),
    ],
)
def test_what_becomes_of_aliases_is_said(aliases: dict[str, str], items: str, said: str) -> None:
    found = aggcal.read_judgments(VOTES, aliases=aliases)
    assert "".join(found.item_ids) == items
    assert any(said in note for note in found.notes)


def test_nothing_is_said_of_aliases_that_ids_have(tmp_path: Path) -> None:
    path = tmp_path / "alias.csv"
    path.write_text("alias,id\nBob,rob\na,x\n", encoding="utf-8")
    assert len(aggcal.read_judgments(VOTES, aliases=path).notes) == 2
    with pytest.raises(TableError, match="'a' is alone"):
        read_spelling({"a": None})


def test_aliases_and_the_rule_together() -> None:
    rows = [("BOB", "a", "b"), ("rob ert", "b", "a"), ("Robert", "a", "c")]
    found = aggcal.read_judgments(rows, aliases={"bob": "Robert"}, normalize_ids=True)
    assert found.annotator_ids.tolist() == ["Robert"]


def test_several_files_are_converted_under_one_spelling(tmp_path: Path) -> None:
    first, second, target = (tmp_path / name for name in ("a.csv", "b.csv", "all.csv"))
    first.write_text("annotator,winner,loser\nu,Essay 1,Essay 2\n", encoding="utf-8")
    second.write_text("annotator,winner,loser\nU,essay-2,essay-1\n", encoding="utf-8")
    choices = Choices(spelling=read_spelling(normalize=True))
    convert_judgments([first, second], target, choices=choices)
    expected = "annotator,winner,loser\nu,Essay 1,Essay 2\nu,Essay 2,Essay 1\n"
    assert target.read_text(encoding="utf-8") == expected


def test_rows_that_are_added_are_spelt_as_those_before() -> None:
    before = aggcal.read_judgments([("u", "Essay 1", "b")], normalize_ids=True)
    after = aggcal.add_judgments(before, [("U", "b", "essay-1")])
    assert (after.n_items, after.n_annotators) == (2, 1)


def test_duplicates_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("annotator,winner,loser\nu,A,b\nu,a,b\nu,a,b\n", encoding="utf-8")
    found = aggcal.read_judgments(path, normalize_ids=True)
    assert (found.n_duplicates, found.n_repeated) == (1, 1)
