"""Ratings as reviewing systems and spreadsheets hold them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aggcal
from aggcal.data.warnings import data_warnings
from aggcal.errors import OptionError, TableError, UnansweredWarning

LONG = "annotator,item,rating\nr1,p1,3\nr1,p2,4\nr1,p3,1\nr2,p1,4\nr2,p2,5\nr3,p2,2\nr3,p3,1\n"


def _read(tmp_path: Path, text: str, **options: object) -> aggcal.Judgments:
    path = tmp_path / "ratings.csv"
    path.write_text(text, encoding="utf-8")
    return aggcal.read_judgments(path, **options)  # type: ignore[arg-type]


def _rows(found: aggcal.Judgments) -> list[tuple[object, ...]]:
    ids = (found.annotator_ids[found.annotator], found.item_ids[found.left])
    return list(zip(*ids, found.item_ids[found.right], found.outcome, strict=True))


@pytest.mark.parametrize(
    "header",
    [
        "reviewer,paper,rating",
        "Reviewer Name,Submission #,Total score",
        "reviewername,paper,Overall merit",
        "member name,submission,grade",
    ],
)
def test_names_of_reviewing_systems(tmp_path: Path, header: str) -> None:
    order = "highest" if "grade" in header else ()
    found = _read(tmp_path, LONG.replace("annotator,item,rating", header), order=order)
    assert found.format == "ratings"
    assert _rows(found) == _rows(_read(tmp_path, LONG))


@pytest.mark.parametrize("header", ["paper,r1,r2,r3", "Paper;R1;R2;R3"])
def test_one_column_for_each_annotator(tmp_path: Path, header: str) -> None:
    wide = f"{header}\np1,3,4,\np2,4,5,2\np3,1,,1\n"
    text = wide.replace(",", ";") if ";" in header else wide
    with pytest.raises(OptionError, match="look like marks"):
        _read(tmp_path, text)
    found = _read(tmp_path, text, order="highest")
    spelt = LONG.replace("\nr", "\nR") if "R1" in header else LONG
    assert _rows(found) == _rows(_read(tmp_path, spelt))
    assert found.unfitted.counts == {"not answered": 2}
    assert "each of 3 columns is one annotator's" in " ".join(found.notes)


def test_numbers_with_their_meaning(tmp_path: Path) -> None:
    text = LONG.replace("4\n", "4: weak accept\n").replace("5\n", "5 (accept)\n")
    assert _rows(_read(tmp_path, text)) == _rows(_read(tmp_path, LONG))
    with pytest.raises(TableError, match="the rating 'good' is not a finite number"):
        _read(tmp_path, LONG.replace("r1,p1,3", "r1,p1,good"))


def test_confidence_weighs_pairs_about_its_mean(tmp_path: Path) -> None:
    text = "reviewer,paper,rating,confidence\na,p,3,4\na,q,2,2: low\nb,p,1,5\nb,q,2,1\n"
    plain = _read(tmp_path, text)
    assert plain.weight.tolist() == [1.0, 1.0]
    assert any("columns={'weight': 'confidence'}" in note for note in plain.notes)
    weighed = _read(tmp_path, text, columns={"weight": "confidence"})
    np.testing.assert_allclose(weighed.weight, [np.sqrt(4 * 2) / 3, np.sqrt(5 * 1) / 3])
    with pytest.raises(TableError, match="the weight 'sure' is not a number"):
        _read(tmp_path, text.replace("p,3,4", "p,3,sure"), columns={"weight": "confidence"})


def test_pairs_that_have_a_score_are_no_ratings(tmp_path: Path) -> None:
    text = "annotator,left,right,outcome,product,score\nann,a,b,left,x,3\nbob,b,a,left,y,4\n"
    found = _read(tmp_path, text)
    assert (found.format, found.n_judgments) == ("table", 2)


@pytest.mark.parametrize(
    "header", ["1st,2nd,3rd", "Rank 1,Rank 2,Rank 3", "1st choice,2nd choice,3rd choice"]
)
def test_places_in_columns(tmp_path: Path, header: str) -> None:
    found = _read(tmp_path, f"annotator,{header}\nann,a,b,c\nbob,b,a,\n")
    assert found.format == "rankings"
    assert _rows(found) == [
        ("ann", "a", "b", 1.0),
        ("ann", "a", "c", 1.0),
        ("ann", "b", "c", 1.0),
        ("bob", "b", "a", 1.0),
    ]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("order", "lowest"),
        ("drafts", True),
    ],
)
def test_options_that_do_not_apply_are_refused(tmp_path: Path, option: str, value: object) -> None:
    with pytest.raises(OptionError, match=f"{option} does not apply to table judgments"):
        _read(tmp_path, "annotator,winner,loser\nann,a,b\n", **{option: value})
    if option != "order":
        with pytest.raises(OptionError, match=f"{option} does not apply to ratings"):
            _read(tmp_path, LONG, **{option: value})
    else:
        assert _read(tmp_path, LONG, **{option: value}).format == "ratings"


def test_lone_and_missing_ratings_are_told_from_unanswered_rows(tmp_path: Path) -> None:
    text = "annotator,item,rating\nann,a,1\nann,b,2\nbob,a,3\nbob,b,\ncem,b,4\n"
    found = data_warnings(_read(tmp_path, text, order="highest"))
    assert [each.title for each in found if isinstance(each, UnansweredWarning)] == [
        "2 rankings or sets of ratings hold fewer than two items",
        "1 rating is missing",
    ]
