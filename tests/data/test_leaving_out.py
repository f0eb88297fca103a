"""Annotators left out: nobody else's rows change, and what was done is said."""

import pytest

import aggcal

ROWS = [
    ("ann", "a", "b", "left"), ("bob", "b", "c", "right"), ("bob", "c", "d", "skip"),
    ("cy", "a", "c", "tie"), ("bob", "x", "y", "left"),
]  # fmt: skip


def test_the_rest_is_what_reading_the_rest_gives() -> None:
    whole = aggcal.read_judgments(ROWS)
    left = whole.without("bob")
    alone = aggcal.read_judgments([row for row in ROWS if row[0] != "bob"])
    assert left.item_ids.tolist() == alone.item_ids.tolist() == ["a", "b", "c"]
    assert left.outcome.tolist() == alone.outcome.tolist()
    assert left.unfitted.counts == {}
    assert left.n_rows == 2
    assert left.notes == (
        "without 'bob' (2 judgments): 2 items that nobody else compared left out too",
    )
    assert whole.n_annotators == 3


def test_whoever_is_not_there_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(aggcal.AggcalError, match=r"'Bobb' gave no judgment \(did you mean 'bob'"):
        aggcal.read_judgments(ROWS).without("Bobb")
    with pytest.raises(aggcal.AggcalError, match="no judgment left"):
        aggcal.read_judgments(ROWS).without("ann", "bob", "cy")


def test_nobody_left_out_changes_nothing() -> None:
    whole = aggcal.read_judgments(ROWS)
    assert whole.without() is whole
