"""Numbers with commas and percent signs mean what they say, or are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aggcal
from aggcal.errors import InputError


def _scores(tmp_path: Path, delimiter: str, values: list[str]) -> aggcal.Scores:
    path = tmp_path / "scores.csv"
    cells = [f'"{value}"' if delimiter in value else value for value in values]
    rows = [f"i{k}{delimiter}{cell}" for k, cell in enumerate(cells)]
    path.write_text("\n".join([f"item{delimiter}score", *rows, ""]), encoding="utf-8")
    return aggcal.read_scores(path)


@pytest.mark.parametrize(
    ("delimiter", "values", "expected"),
    [
        (";", ["1,5", "2", "-0,25"], [1.5, 2.0, -0.25]),
        (";", ["1,500", "2,250"], [1.5, 2.25]),
        (";", ["1.234,5", "1.234", "12"], [1234.5, 1234.0, 12.0]),
        (";", ["1.5", "2.25"], [1.5, 2.25]),
        (";", ["85%", "7,5 %", "0"], [0.85, 0.075, 0.0]),
        (";", ["1,5e3", "2"], [1500.0, 2.0]),
        ("\t", ["1,5", "2,25"], [1.5, 2.25]),
        ("\t", ["0,125", "1,500"], [0.125, 1.5]),
        (",", ["1,5", "2"], [1.5, 2.0]),
        (",", ["1,234.5", "2,000"], [1234.5, 2000.0]),
        (",", ["1,234,567", "2"], [1234567.0, 2.0]),
        (",", ["85%", "90.5%"], [0.85, 0.905]),
        (",", ["\u22121.5", "2"], [-1.5, 2.0]),
        (",", ["1\u202f234,5", "2"], [1234.5, 2.0]),
        (",", ["1'234.5", "2"], [1234.5, 2.0]),
    ],
)
def test_numbers_of_many_countries(
    tmp_path: Path, delimiter: str, values: list[str], expected: list[float]
) -> None:
    found = _scores(tmp_path, delimiter, values)
    np.testing.assert_allclose(found.values, expected, rtol=1e-15)
    changed = any(not _is_plain(value) for value in values)
    assert bool(found.notes) == changed


def _is_plain(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    ("delimiter", "values", "says"),
    [
        (";", ["1,5", "2.25"], "a decimal comma and others with a point, such as '2.25' in line 3"),
        (";", ["1,5", "1.234"], "a decimal comma and others with a point"),
        (",", ["1,234", "2"], "'1,234' in column 'score' may be a decimal number or thousands"),
        ("\t", ["1,234", "2"], "write 1.234 or 1234"),
        (",", ["85%", "0.9"], "with a percent sign"),
        (";", ["1,5", "two"], "'two'"),
        (";", ["1,5,2", "2"], "'1,5,2'"),
        (";", ["€ 1,5", "2"], "is not a number"),
    ],
)
def test_what_may_mean_two_things_is_refused(
    tmp_path: Path, delimiter: str, values: list[str], says: str
) -> None:
    with pytest.raises(InputError) as caught:
        _scores(tmp_path, delimiter, values)
    assert says in str(caught.value)


def test_strengths_weights_and_ratings(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(
        "annotator;left;right;outcome;weight\nann;a;b;0,75;1,5\nbob;a;b;25%;2\n".replace(
            "25%", "0,25"
        ),
        encoding="utf-8",
    )
    found = aggcal.read_judgments(path)
    assert found.outcome.tolist() == [0.75, 0.25]
    assert found.weight.tolist() == [1.5, 2.0]
    assert len(found.notes) == 3
    path.write_text("item;annotator;rating\na;ann;3,5\nb;ann;3\n", encoding="utf-8")
    assert aggcal.read_judgments(path).n_judgments == 1


def test_ids_that_look_like_numbers_stay(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    rows = "annotator;left;right;winner\nann;1,5;2,5;1,5\nbob;1,5;2,5;2,5\n"
    path.write_text(rows, encoding="utf-8")
    found = aggcal.read_judgments(path)
    assert found.item_ids.tolist() == ["1,5", "2,5"]
    assert found.outcome.tolist() == [1.0, 0.0]


def test_features_with_commas(tmp_path: Path) -> None:
    path = tmp_path / "features.csv"
    path.write_text("item;length;share\na;10;1,5\nb;20;2,5\n", encoding="utf-8")
    found = aggcal.read_features(path)
    assert found.matrix.tolist() == [[10.0, 1.5], [20.0, 2.5]]
    assert found.notes == ("column 'share': '1,5' is read as 1.5, and others like it",)


@pytest.mark.parametrize("value", ["1.23457E+15", "#REF!", "#N/A"])
def test_ids_that_a_spreadsheet_has_damaged(tmp_path: Path, value: str) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(f"item,score\na,1\n{value},2\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 3.*column 'item'.*spreadsheet"):
        aggcal.read_scores(path)
