"""Leaving an annotator out in closed form, against fitting without them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import sums
from aggcal._core.kernels import library
from aggcal.advice.check import leave_one_out, without_one
from aggcal.simulation import simulate


def left_out(judgments: aggcal.Judgments, u: int) -> np.ndarray:
    """The gaps of an annotator's rows, in a fit in which they weigh nothing."""
    mine = judgments.annotator == u
    weight = np.where(mine, 1e-9 * judgments.weight, judgments.weight)
    scores = aggcal.BTL(prior=aggcal.Prior(1.0, 0.5)).fit(replace(judgments, weight=weight)).scores
    return np.asarray(scores[judgments.left[mine]] - scores[judgments.right[mine]])


@pytest.mark.parametrize("shape", [(12, 8, 400), (40, 10, 300)])
def test_it_is_what_a_fit_without_the_annotator_gives(shape: tuple[int, int, int]) -> None:
    """Both ways of solving are used: more rows than items, and fewer."""
    items, annotators, number = shape
    study = simulate(items=items, annotators=annotators, judgments=number, seed=3)
    judgments = aggcal.read_judgments(study.judgments)
    scores = aggcal.BTL(prior=aggcal.Prior(1.0, 0.5)).fit(judgments).scores
    found = leave_one_out.consensus_of_others(judgments, scores, np.ones(annotators), 1.0)
    gap = scores[judgments.left] - scores[judgments.right]
    for u in range(annotators):
        mine = judgments.annotator == u
        wanted = left_out(judgments, u)
        before, after = np.abs(gap[mine] - wanted), np.abs(found.gap[mine] - wanted)
        assert after.mean() < 0.15 * before.mean()


def test_for_many_items_the_shortcut_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    study = simulate(items=40, annotators=10, judgments=3000, seed=3)
    judgments = aggcal.read_judgments(study.judgments)
    scores = aggcal.BTL(prior=aggcal.Prior(1.0, 0.5)).fit(judgments).scores
    whole = leave_one_out.consensus_of_others(judgments, scores, np.ones(10), 1.0)
    monkeypatch.setattr(leave_one_out, "MOST_ITEMS", 10)
    short = leave_one_out.consensus_of_others(judgments, scores, np.ones(10), 1.0)
    gap = scores[judgments.left] - scores[judgments.right]
    assert not short.exact
    assert np.corrcoef(whole.gap - gap, short.gap - gap)[0, 1] > 0.9
    assert np.median(short.variance / whole.variance) == pytest.approx(1.0, abs=0.2)


def test_the_shortcut_is_the_same_to_the_bit_compiled_and_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows enough for several threads, annotators who answer again, and one who knows all."""
    study = simulate(items=30, annotators=9, judgments=50_000, seed=5)
    judgments = aggcal.read_judgments(study.judgments)
    if library() is None:
        pytest.skip("there is no kernel")
    random, rows = np.random.default_rng(5), len(judgments.count)
    pull, curve = random.normal(size=rows), random.random(rows)
    whole = sums(judgments.left, curve, 30) + sums(judgments.right, curve, 30)
    whole[0] = 0.0  # so that next to nothing is left of it
    given = judgments, pull, curve, whole
    compiled = leave_one_out._each_on_its_own(*given)
    monkeypatch.setattr(leave_one_out, "library", lambda: None)
    plain = leave_one_out._each_on_its_own(*given)
    for one, other in zip(compiled, plain, strict=True):
        assert one.tobytes() == other.tobytes()


def some_left_out(
    number: int, rows: int, seed: int, others: float = 1.0
) -> tuple[without_one.Left, np.ndarray]:
    """Annotators who judged among 30 items, and the information with what others know of these."""
    random, n = np.random.default_rng(seed), 30
    left: Any = random.integers(n, size=(number, rows), dtype=np.int32)
    right: Any = (left + random.integers(1, n, left.shape, dtype=np.int32)) % n
    pull, curve = random.normal(size=left.shape), random.random(left.shape)
    curve[:, :3] = 0.0, 1e-12, 1e-5  # answers that tell nothing, and next to nothing
    whole = others * np.eye(n)
    for i, j, w in zip(left.ravel(), right.ravel(), curve.ravel(), strict=True):
        whole[[i, j, i, j], [i, j, j, i]] += w * np.array([1.0, 1.0, -1.0, -1.0])
    return without_one.Left(left, right, pull, curve), whole


@pytest.mark.parametrize("others", [1.0, 40.0])
def test_the_series_is_the_same_compiled_and_not(
    monkeypatch: pytest.MonkeyPatch, others: float
) -> None:
    """One who counts for much, and one who does not; fewer and more rows than half of the items."""
    if library() is None:
        pytest.skip("there is no kernel")
    own, whole = some_left_out(1, 29, 6, others)
    inverse = np.linalg.inv(whole)
    compiled, known, first = without_one.by_series(inverse, own)
    monkeypatch.setattr(without_one, "library", lambda: None)
    plain, shared, wanted = without_one.by_series(inverse, own)
    assert (compiled is None) == (plain is None) == (others == 1.0)
    if compiled is None or plain is None:
        np.testing.assert_allclose(np.tril(known), np.tril(shared), rtol=0.0, atol=1e-14)
        np.testing.assert_allclose(first, wanted, rtol=1e-12, atol=1e-14)
        return
    for one, other in zip(compiled, plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def test_those_with_few_rows_are_left_out_by_a_kernel() -> None:
    """Of one of them nothing is left to tell: the factor is lost, and somebody else must do it."""
    if library() is None:
        pytest.skip("there is no kernel")
    own, whole = some_left_out(50, 17, 7)
    inverse = np.linalg.inv(whole)
    starts = 17 * np.arange(51)
    columns = without_one.Left(
        own.left.ravel(), own.right.ravel(), own.pull.ravel(), own.curve.ravel().copy()
    )
    columns.curve[: 3 * 17] *= 1e6
    moves, variance = np.full((2, 50 * 17), np.nan)
    rest = leave_one_out._few_left_out(starts, columns, inverse, moves, variance)
    assert rest.tolist() == [0, 1, 2]
    wanted = without_one.by_lu(inverse, own)
    np.testing.assert_allclose(moves[3 * 17 :], wanted[0][3:].ravel(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(variance[3 * 17 :], wanted[1][3:].ravel(), rtol=1e-9)


def test_a_study_is_the_same_with_and_without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Annotators of all sizes: few rows, more, and more than there are items."""
    if library() is None:
        pytest.skip("there is no kernel")
    random = np.random.default_rng(8)
    study = simulate(items=100, annotators=40, judgments=4000, seed=8)
    judgments = aggcal.read_judgments(study.judgments)
    kept = random.random(len(judgments.count)) < 1.0 / (1.0 + judgments.annotator)
    kept |= judgments.annotator < 3
    judgments = judgments.of_rows(kept)
    sizes = np.bincount(judgments.annotator)
    assert sizes.min() < 48 < sizes.max()
    assert judgments.n_items < sizes.max()
    scores = np.linspace(-1.0, 1.0, judgments.n_items)
    given = judgments, scores, np.ones(judgments.n_annotators), 1.0
    compiled = leave_one_out.consensus_of_others(*given)
    monkeypatch.setattr(leave_one_out, "library", lambda: None)
    monkeypatch.setattr(without_one, "library", lambda: None)
    plain = leave_one_out.consensus_of_others(*given)
    np.testing.assert_allclose(compiled.gap, plain.gap, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(compiled.variance, plain.variance, rtol=1e-10)


@pytest.mark.parametrize("fewest", [0, 10**9])
def test_annotators_are_left_out_in_threads_as_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, fewest: int
) -> None:
    study = simulate(items=12, annotators=20, judgments=900, seed=3)
    judgments = aggcal.read_judgments(study.judgments)
    given = judgments, np.linspace(-1.0, 1.0, 12), np.ones(20), 1.0
    usual = leave_one_out.consensus_of_others(*given)
    monkeypatch.setattr(leave_one_out, "_FOR_THREADS", fewest)
    found = leave_one_out.consensus_of_others(*given)
    assert found.gap.tobytes() == usual.gap.tobytes()
    assert found.variance.tobytes() == usual.variance.tobytes()


def test_all_ways_of_solving_agree() -> None:
    """By LU of several at once, by Cholesky of one, and by the inverse without the annotator."""
    own, whole = some_left_out(3, 20, 2)
    inverse = np.asarray(np.linalg.inv(whole), dtype=np.float64)
    found = without_one.by_lu(inverse, own)
    for k in range(3):
        one = own.at(np.array([k]))
        none, shared, first = without_one.by_series(inverse, one)
        assert none is None
        for way in (
            without_one.by_cholesky(shared, first, one),
            without_one.refitted(whole, one),
        ):
            assert way is not None
            moved, variance = way
            np.testing.assert_allclose(moved[0], found[0][k], rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(variance[0], found[1][k], rtol=1e-9)


@pytest.mark.parametrize(("rows", "right_to"), [(60, 0.03), (300, 0.1)])
def test_those_who_count_for_little_are_left_out_by_a_series(rows: int, right_to: float) -> None:
    """Fewer rows than items, and more; the variances of both are approximate."""
    random, n, others = np.random.default_rng(5), 80, 6000
    left: Any = random.integers(n, size=others)
    right: Any = (left + random.integers(1, n, others)) % n
    curve, pull = random.random(others), random.normal(size=others)
    whole = np.eye(n)
    np.add.at(whole, (left, left), curve)
    np.add.at(whole, (right, right), curve)
    np.add.at(whole, (left, right), -curve)
    np.add.at(whole, (right, left), -curve)
    inverse = np.asarray(np.linalg.inv(whole), dtype=np.float64)
    mine = slice(rows)
    one = without_one.Left(left[None, mine], right[None, mine], pull[None, mine], curve[None, mine])
    exact = without_one.refitted(whole, one)
    series, *_ = without_one.by_series(inverse, one)
    signs = without_one.by_signs(inverse, one)
    for found, close in ((series, 0.01), (signs, right_to)):
        assert found is not None
        np.testing.assert_allclose(found[0], exact[0], atol=1e-5 * np.abs(exact[0]).max())
        np.testing.assert_allclose(found[1], exact[1], rtol=close)


def test_those_who_count_for_much_are_not() -> None:
    random, n = np.random.default_rng(5), 20
    left: Any = random.integers(n, size=(1, 50))
    right: Any = (left + random.integers(1, n, left.shape)) % n
    curve = np.ones(left.shape)
    whole = 0.1 * np.eye(n)
    for i, j in zip(left[0], right[0], strict=True):
        whole[[i, j, i, j], [i, j, j, i]] += np.array([1.0, 1.0, -1.0, -1.0])
    inverse = np.asarray(np.linalg.inv(whole), dtype=np.float64)
    one = without_one.Left(left, right, curve, curve)
    assert without_one.by_series(inverse, one)[0] is None
    assert without_one.by_signs(inverse, one) is None


def test_everybody_is_in_one_batch() -> None:
    sizes = np.array([3, 0, 3, 90, 1, 3, 500])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    parts = leave_one_out._batches(starts, 100, np.flatnonzero(sizes))
    assert [part.shape[1] for part in parts] == [500, 90, 3, 1]
    assert sorted(np.concatenate([part.ravel() for part in parts])) == list(range(sizes.sum()))
    assert max(len(part) for part in parts) == 3
