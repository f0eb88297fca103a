"""What judgments add up to, against sums of columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from aggcal._core.arrays import constant, sums
from aggcal.data.judgments import Judgments
from aggcal.data.tallies import Tallies

ROWS, ITEMS, ANNOTATORS = 5_000, 40, 30


def study(*, weighted: bool, repeated: bool, outcomes: tuple[float, ...]) -> Judgments:
    random = np.random.default_rng(4)
    left = random.integers(0, ITEMS, ROWS).astype(np.int32)
    right = ((left + random.integers(1, ITEMS, ROWS)) % ITEMS).astype(np.int32)
    owner = np.sort(random.integers(0, ANNOTATORS - 1, ROWS)).astype(np.int32)
    ids = np.array([str(k) for k in range(ITEMS)], dtype=object)
    one = np.broadcast_to(np.int64(1), (ROWS,))
    return Judgments(
        ids, ids[:ANNOTATORS], owner + (owner > 9).astype(np.int32), left, right,
        random.choice(outcomes, ROWS) if outcomes else constant(1.0, ROWS),
        random.normal(size=ROWS) ** 2 if weighted else constant(1.0, ROWS),
        random.integers(1, 4, ROWS) if repeated else one,
    )  # fmt: skip


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("repeated", [True, False])
@pytest.mark.parametrize("outcomes", [(), (0.0, 0.1, 0.5, 0.7, 1.0)])
def test_tallies_are_sums_of_columns(
    *, weighted: bool, repeated: bool, outcomes: tuple[float, ...]
) -> None:
    judgments = study(weighted=weighted, repeated=repeated, outcomes=outcomes)
    left, right, count = judgments.left, judgments.right, judgments.count
    ahead, behind = (judgments.weight * y for y in (judgments.outcome, 1.0 - judgments.outcome))
    wins = sums(left, ahead, ITEMS) + sums(right, behind, ITEMS)
    losses = sums(left, behind, ITEMS) + sums(right, ahead, ITEMS)
    found = Tallies.of(judgments)
    assert found.wins.tobytes() == wins.tobytes()
    assert found.losses.tobytes() == losses.tobytes()
    assert found.judged.tolist() == sum(
        (np.bincount(side, count, ITEMS) for side in (left, right)), np.zeros(ITEMS)
    ).tolist()  # fmt: skip
    assert found.n_ties == int(count[judgments.outcome == 0.5].sum())
    for mine, those in (
        (found.given, judgments.outcome >= 0.0),
        (found.decided, judgments.outcome != 0.5),
        (found.lefts, judgments.outcome > 0.5),
    ):
        told = np.bincount(judgments.annotator[those], count[those], ANNOTATORS)
        assert mine.dtype == np.int64
        assert mine.tolist() == told.tolist()
    assert judgments.judgments_per_annotator.tolist() == found.given.tolist()
    assert judgments.judgments_per_item.tolist() == found.judged.tolist()
    assert judgments.n_judgments == int(count.sum())


def test_starts_are_where_the_rows_of_each_annotator_begin() -> None:
    judgments = study(weighted=False, repeated=False, outcomes=())
    starts = judgments.starts
    assert starts[0] == 0
    assert starts[-1] == ROWS
    for u in range(ANNOTATORS):
        assert (judgments.annotator[starts[u] : starts[u + 1]] == u).all()
    assert starts[10] == starts[11]  # of whom there is no row


def test_rows_that_are_not_sorted_are_added_up_all_the_same() -> None:
    judgments = study(weighted=False, repeated=True, outcomes=(0.0, 0.5, 1.0))
    mixed = replace(judgments, annotator=judgments.annotator[::-1].copy())
    told = np.bincount(mixed.annotator, mixed.count, ANNOTATORS)
    assert mixed.judgments_per_annotator.tolist() == told.tolist()
    assert mixed.tallies.wins.tolist() == judgments.tallies.wins.tolist()


@pytest.mark.parametrize("outcomes", [(), (0.0, 1.0)])
def test_nothing_adds_up_to_nothing(outcomes: tuple[float, ...]) -> None:
    some = study(weighted=False, repeated=False, outcomes=outcomes)
    columns = {
        name: getattr(some, name)[:0]
        for name in ("annotator", "left", "right", "outcome", "weight", "count")
    }
    none = replace(some, **columns)
    assert none.tallies.n_ties == none.n_judgments == 0
    assert none.judgments_per_item.tolist() == [0] * ITEMS
    assert none.judgments_per_annotator.tolist() == [0] * ANNOTATORS
