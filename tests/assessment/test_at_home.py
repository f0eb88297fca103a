"""Results in Python and in a notebook: what is printed, drawn, and handed to other libraries."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import aggcal
from aggcal.errors import OptionError

ROWS = [(who, *pair) for who in ("ann", "bob", "eve") for pair in ("ab", "ac", "bc", "cb")] * 6


@pytest.fixture(scope="module")
def result() -> aggcal.Assessment:
    return aggcal.assess(ROWS, {"a": 3.0, "b": 1.0, "c": 2.0}, warn=False)


def test_a_result_shows_its_items_and_how_far_to_trust_it(result: aggcal.Assessment) -> None:
    lines = str(result).splitlines()
    assert lines[0] == "Ranked 3 items from 72 judgments by 3 annotators."
    assert lines[2].split("  ")[0] == "rank"
    assert lines[3].startswith("1 ")
    assert "95% interval" in lines[2]
    said = " ".join(" ".join(lines).split())
    assert any(words in said for words in ("Sound.", "Use with care.", "Not ready."))
    for one in (result.consensus, result.calibration):
        assert "95% interval" in str(one)
    bare = aggcal.aggregate(ROWS, "rank-svm", features="identity", warn=False)
    assert "interval" not in str(bare)


def test_a_card_has_a_bar_for_each_item_and_no_markup_of_an_id() -> None:
    rows = [("ann", "<b>", "b"), ("bob", "<b>", "b")]
    card = aggcal.assess(rows, warn=False)._repr_html_()
    assert card.count("<svg") == 2
    assert "<bdi>&lt;b&gt;</bdi>" in card


def test_draws_have_the_means_and_go_to_arviz(
    result: aggcal.Assessment, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted = result.consensus
    assert fitted is not None
    drawn, known = result.draws(200), fitted.uncertainty
    assert known is not None
    assert drawn.shape == (200, 3)
    np.testing.assert_array_equal(drawn, result.draws(200))
    assert np.all(np.abs(drawn.mean(axis=0) - fitted.scores) < known.se)
    with pytest.raises(OptionError, match="give a whole number"):
        result.draws(10**9)
    for version in ("0.21.0", "1.0.0"):
        made = SimpleNamespace(__version__=version, from_dict=lambda *a, **k: (a, k))
        monkeypatch.setitem(sys.modules, "arviz", made)
        given, named = result.to_arviz()
        posterior = named["posterior"] if version[0] == "0" else given[0]["posterior"]
        assert posterior["score"].shape == (1, *fitted.draws().shape)
        assert named["coords"] == {"item": ["a", "b", "c"]}
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(OptionError, match="pip install arviz"):
        result.to_arviz()


def test_ids_of_numpy_and_rows_without_annotators(result: aggcal.Assessment) -> None:
    fitted = result.consensus
    assert fitted is not None
    above = fitted.order_probability("a", "b")
    assert fitted.order_probability(*fitted.item_ids[[0, 1]]) == above
    assert fitted.order_probability(np.str_("a"), np.str_("b")) == above
    numbers = aggcal.aggregate([("ann", 1, 2), ("bob", 1, 2)], warn=False)
    assert numbers.order_probability(np.int64(1), np.int64(2)) > 0.5
    pairs = aggcal.read_judgments([("a", "b"), ("a", "c"), ("b", "c")])
    assert (pairs.n_judgments, pairs.annotator_ids.tolist()) == (3, ["unknown"])


def test_about_thirty_names_are_public() -> None:
    assert 30 <= len(aggcal.__all__) <= 35
    assert all(hasattr(aggcal, name) for name in aggcal.__all__)
    assert {*aggcal.__all__} <= {*dir(aggcal)}
    assert "HRA" in aggcal.methods.__all__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        aggcal.nothing  # type: ignore[attr-defined]  # noqa: B018
