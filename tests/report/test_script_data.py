"""What a page's script gets is plain JSON, and ends no element."""

from __future__ import annotations

import json

import numpy as np
import pytest

from aggcal._core import written
from aggcal.report.listing import Listing, Marks, Names, Numbers
from aggcal.report.script_data import array_json, object_json, script_json


@pytest.mark.parametrize("decimals", [1, 3, 17])
def test_numbers_are_written_as_json_writes_them(decimals: int) -> None:
    """Whether they repeat or not, in any order and stride, and with the sign of 0."""
    random = np.random.default_rng(8)
    values = np.round(random.normal(size=(300, 2)), decimals)[:, 1]
    values[:4] = (0.0, -0.0, 1e-7, -1e22)
    for column in (values, values[:0]):
        assert array_json(column) == json.dumps(column.tolist(), separators=(",", ":"))


@pytest.mark.parametrize("kernels", [True, False])
def test_blanks_and_whole_numbers(monkeypatch: pytest.MonkeyPatch, kernels: bool) -> None:
    if not kernels:
        monkeypatch.setattr(written, "library", lambda: None)
    values = np.array([2.0, np.nan, -0.0, -7.0])
    assert array_json(values) == "[2.0,null,-0.0,-7.0]"
    assert array_json(values, rounded=True) == "[2,null,0,-7]"
    assert array_json(np.array([3, -1])) == "[3,-1]"


def test_an_object_is_what_json_makes_of_it() -> None:
    data = {"a": [1, 2.5], "<b>": None, "c": "</script>"}
    assert object_json({name: script_json(value) for name, value in data.items()}) == (
        script_json(data)
    )


def test_a_table_is_read_back() -> None:
    """Words, whole numbers, blanks, the infinite, and texts that would end the element."""
    hostile = "</script>&\u2028"
    score = np.array([0.125, np.nan])
    table = Listing(
        "items",
        "items.csv",
        [
            Names("item", "item", [hostile, "b"], ["says", hostile]),
            Numbers("rank", "rank", np.array([1.0, 2.0]), decimals=0),
            Numbers("score", "score", score, -score, np.array([np.inf, -1.0]), decimals=2),
            Numbers("change", "change", np.array([1.0, -1e300]), signed=True, unit="%"),
            Marks("verdict", "verdict", ["reliable", "guessing"]),
        ],
    )
    assert not set("<>&\u2028") & set(table.json)
    item, rank, scores, change, verdict = json.loads(table.json)["columns"]
    assert (item["values"], item["texts"]) == ([hostile, "b"], ["says", hostile])
    assert rank == {
        "kind": "number", "key": "rank", "title": "rank", "decimals": 0, "values": [1, 2],
    }  # fmt: skip
    assert (scores["values"], scores["low"]) == ([0.12, None], [-0.12, None])
    assert scores["high"] == ["∞", -1.0]
    assert (change["signed"], change["unit"], change["values"]) == (True, "%", [1.0, -1e300])
    assert [verdict["words"][code] for code in verdict["values"]] == ["reliable", "guessing"]
