"""Columns made by hand are checked: codes, lengths, ids."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import aggcal
from aggcal.errors import AggcalError, InputError, OptionError, ScoreError, UnknownItemError

GOOD = ([0, 0, 1], [0, 1, 2], [1, 2, 0])


def of_codes(*columns: list[int], **ids: object) -> aggcal.Judgments:
    codes = (np.array(column, dtype=np.int32) for column in columns)
    texts = {name: np.array(given, dtype=object) for name, given in ids.items()}
    return aggcal.Judgments.of_codes(*codes, **texts)


@pytest.mark.parametrize(
    ("columns", "ids", "about"),
    [
        (([0, 0, 2], *GOOD[1:]), {}, "annotator code 1 does not occur"),
        (([0, 1, 0], *GOOD[1:]), {}, "sorted by annotator"),
        (([-1, 0, 1], *GOOD[1:]), {}, "annotator codes begin at -1"),
        ((GOOD[0], [0, 1, 3], [1, 0, 1]), {}, "item code 2 does not occur, though 3 does"),
        ((GOOD[0], [0, -1, 2], GOOD[2]), {}, "item codes begin at -1"),
        ((GOOD[0], [0, 1, 2], [1, 2, 2]), {}, "row 3 compares item code 2 with itself"),
        ((GOOD[0], [0, 1], GOOD[2]), {}, "3 annotators, 2 winners and 3 losers"),
        (([], [], []), {}, "no row"),
        (GOOD, {"item_ids": ["a", "b"]}, "2 ids for 3 items"),
        (GOOD, {"annotator_ids": ["a", "b", "c"]}, "3 ids for 2 annotators"),
        (GOOD, {"annotator_ids": ["a", "a"]}, "'a' .*twice"),
    ],
)
def test_codes_that_cannot_be_are_refused(
    columns: tuple[list[int], ...], ids: dict[str, object], about: str
) -> None:
    with pytest.raises(InputError, match=about):
        of_codes(*columns, **ids)


def test_every_annotator_has_an_agreement() -> None:
    judgments = of_codes([0, 0, 1, 2], [0, 1, 2, 0], [1, 2, 0, 2])
    assert np.isfinite(aggcal.aggregate(judgments, warn=False).agreement).all()


def test_ids_and_scores_and_sds_are_as_many() -> None:
    ids = np.array(["a", "b"], dtype=object)
    with pytest.raises(ScoreError, match="2 ids and 3 scores"):
        aggcal.Scores(ids, np.zeros(3))
    with pytest.raises(ScoreError, match="2 scores and 3 sds"):
        aggcal.Scores(ids, np.zeros(2), np.ones(3))
    with pytest.raises(ScoreError, match=r"shape \(2, 1\)"):
        aggcal.Scores(ids, np.zeros((2, 1)))


def test_a_consensus_has_a_number_for_each_item_and_each_annotator() -> None:
    judgments = of_codes(*GOOD)
    with pytest.raises(OptionError, match="each of the 3 items"):
        aggcal.Consensus.of(judgments, np.zeros(2), method="mine")
    for bad in (np.ones(3), np.array([1.0, np.nan]), np.ones((2, 1))):
        with pytest.raises(OptionError, match="each of the 2 annotators"):
            aggcal.Consensus.of(judgments, np.zeros(3), method="mine", reliabilities=bad)
    made = aggcal.Consensus.of(judgments, np.zeros(3), method="mine", reliabilities=[1, 2])  # type: ignore[arg-type]  # whole numbers in a list
    assert made.annotators["reliability"].tolist() == [2.0, 1.0]


def test_an_item_that_nobody_knows_is_a_key_error_that_names_it() -> None:
    consensus = aggcal.aggregate(of_codes(*GOOD), warn=False)
    scores = aggcal.Scores.of({"a": 1.0})
    looks: list[Callable[[], object]] = [
        lambda: consensus.order_probability("0", "nobody"),
        lambda: consensus.order_probability("nobody", "nobody"),
        lambda: scores["nobody"],
    ]
    for look in looks:
        with pytest.raises(UnknownItemError, match=r"^item 'nobody' is not") as caught:
            look()
        assert isinstance(caught.value, KeyError)
        assert isinstance(caught.value, AggcalError)
        assert str(caught.value).endswith(".")
