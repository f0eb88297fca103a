"""Rows laid out by the kernels: those of NumPy, and what adding up by hand says."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from weakref import ref

import numpy as np
import pytest

from aggcal._core.arrays import constant
from aggcal._core.kernels import library
from aggcal.data.judgments import Judgments
from aggcal.models.general.rows import general_rows
from aggcal.models.rows import Rows, rows_of

pytestmark = pytest.mark.skipif(library() is None, reason="no C compiler when aggcal was installed")


def study(rows: int, items: int, annotators: int, *, weighted: bool = True) -> Judgments:
    """Judgments in which pairs come back, either way round, with ties and parts of wins."""
    random = np.random.default_rng(rows)
    annotator = np.sort(random.integers(0, annotators, rows)).astype(np.int32)
    annotator = np.unique(annotator, return_inverse=True)[1].astype(np.int32)
    left = random.integers(0, items, rows).astype(np.int32)
    right = ((left + random.integers(1, items, rows)) % items).astype(np.int32)
    outcome = random.choice([0.0, 0.25, 0.5, 1.0], rows)
    weight = random.choice([0.5, 1.0, 3.0], rows) if weighted else constant(1.0, rows)
    ids = np.array([str(k) for k in range(max(items, annotators))])
    return Judgments(
        annotator=annotator, left=left, right=right, outcome=outcome, weight=weight,
        count=np.ones(rows, dtype=np.int64), item_ids=ids[:items],
        annotator_ids=ids[: int(annotator.max(initial=-1)) + 1],
    )  # fmt: skip


STUDIES = ((1, 2, 1), (40, 3, 2), (5_000, 12, 7), (60_000, 90, 400), (60_000, 5_000, 3))


def test_rows_are_laid_out_once_while_somebody_has_them() -> None:
    judgments = study(40, 3, 2)
    rows = rows_of(judgments)
    assert rows_of(judgments) is rows
    assert rows_of(replace(judgments, outcome=1.0 - judgments.outcome)) is not rows
    gone = ref(rows)
    del rows
    assert gone() is None  # nothing keeps them
    assert len(rows_of(judgments)) > 0


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("shape", STUDIES)
def test_wins_are_those_of_numpy(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int, int], *, weighted: bool
) -> None:
    judgments = study(*shape, weighted=weighted)
    found = rows_of(judgments)
    monkeypatch.setattr("aggcal.models.laid_out.library", lambda: None)
    expected = rows_of(replace(judgments))  # others, or the same rows would be returned
    for name in ("winner", "loser", "weight", "starts"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
    assert found.winner.dtype == expected.winner.dtype


@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("sides", [True, False])
@pytest.mark.parametrize("shape", STUDIES)
def test_questions_are_those_of_numpy(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int, int], *, sides: bool, ties: bool
) -> None:
    judgments = study(*shape)
    found = general_rows(judgments, ties=ties, sides=sides, keys=True)
    monkeypatch.setattr("aggcal.models.laid_out.library", lambda: None)
    expected = general_rows(judgments, ties=ties, sides=sides, keys=True)
    for name in ("left", "right", "levels", "starts"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
    for mine, theirs in zip(found.answers, expected.answers, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_questions_add_up() -> None:
    judgments = study(3_000, 6, 4)
    total: dict[tuple[int, int, int], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    columns = (judgments.annotator, judgments.left, judgments.right)
    for k, (who, left, right) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        weight, outcome = float(judgments.weight[k]), float(judgments.outcome[k])
        here = total[who, min(left, right), max(left, right)]
        here[0] += weight
        here[1] += weight * (outcome - 0.5) * (1.0 if left < right else -1.0)
        here[2] += weight * (outcome == 0.5)
    rows = general_rows(judgments, ties=True, sides=False, keys=False)
    asked = zip(rows.owner.tolist(), rows.left.tolist(), rows.right.tolist(), strict=True)
    assert list(asked) == sorted(total)
    np.testing.assert_array_equal(np.stack(rows.answers).T, [total[key] for key in sorted(total)])


def test_an_annotator_between_others_may_have_no_rows() -> None:
    judgments = study(3_000, 6, 4)
    some = judgments.annotator != 1
    names = ("annotator", "left", "right", "outcome", "weight", "count")
    part = replace(judgments, **{name: getattr(judgments, name)[some] for name in names})
    sizes = general_rows(part, ties=True, sides=False, keys=False).sizes
    assert sizes[1] == 0
    assert (sizes[[0, 2, 3]] > 0).all()


@pytest.mark.parametrize("weighted", [True, False])
def test_weights_of_annotators_are_those_of_one_sweep(*, weighted: bool) -> None:
    random = np.random.default_rng(2)
    starts = np.concatenate([[0], np.cumsum(random.integers(1, 400, 700))])
    size = int(starts[-1])
    weight = random.random(size) if weighted else constant(1.0, size)
    codes = np.zeros(size, dtype=np.int32)
    found = Rows(codes, codes, weight, starts, 1).given
    assert found.tobytes() == np.add.reduceat(weight, starts[:-1]).tobytes()
