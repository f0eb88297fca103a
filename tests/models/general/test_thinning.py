"""Samples of annotators and of their rows: spread over all, and the same wherever rows lie."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import aggcal
from aggcal.models.general.plan import Plan, laid_out
from aggcal.models.general.thinning import FEWEST, Thinning


@pytest.mark.parametrize("step", [2, 7, 50])
def test_one_annotator_of_each_block_is_drawn_and_shards_draw_the_same(step: int) -> None:
    thinning, m = Thinning(annotators=step), 40 * step
    whole = thinning.drawn(0, m)
    assert (whole.reshape(-1, step).sum(axis=1) == 1).all()
    cuts = np.sort(np.random.default_rng(step).choice(m, 6, replace=False))
    edges = [0, *cuts.tolist(), m]
    parts = [thinning.drawn(a, b - a) for a, b in pairwise(edges)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert [thinning.before(a) for a in edges] == [int(whole[:a].sum()) for a in edges]


def test_a_sample_follows_no_period_and_need_not_have_the_first() -> None:
    # Every k-th annotator of a file that repeats itself would be of one kind.
    step = 10
    kind = np.arange(4000) % step
    drawn = np.bincount(kind[Thinning(annotators=step).drawn(0, 4000)], minlength=step)
    assert drawn.min() > 20
    assert drawn.max() < 65
    firsts = [Thinning(annotators=k).drawn(0, 1000)[0] for k in range(2, 60)]
    assert 0 < sum(firsts) < 20


def test_few_annotators_are_all_kept_with_some_of_their_rows() -> None:
    sizes = np.array([1, 3, 10_000, 4_321])
    thinning = Thinning.by(100, len(sizes))
    assert thinning == (1, 100)
    owner = np.repeat(np.arange(4), sizes)
    kept = thinning.kept(sizes)
    np.testing.assert_array_equal(np.bincount(owner[kept]), [1, 1, 100, 44])
    # Neither every hundredth nor the same of each annotator.
    at = np.flatnonzero(kept[4:10_004])
    assert len(np.unique(at % 100)) > 50
    apart = thinning.kept(sizes[2:], first=2)
    np.testing.assert_array_equal(apart, kept[4:])


def test_a_sample_has_enough_annotators_where_there_are_some() -> None:
    for m, step in ((25, 50), (100, 50), (5_000, 50), (3, 2)):
        thinning = Thinning.by(step, m)
        assert thinning.drawn(0, m).sum() >= min(m, FEWEST)
        assert step / 2 < thinning.annotators * thinning.rows <= step


def test_a_layout_of_a_sample_has_the_rows_of_whom_it_draws() -> None:
    random = np.random.default_rng(1)
    rows = [
        (f"u{u:03d}", f"i{a}", f"i{b}", y)
        for u in range(90)
        for a, b, y in zip(*random.integers(0, 2, (3, 6)), strict=True)
        if a != b
    ]
    judgments = aggcal.read_judgments([(u, a, b, ("left", "right")[y]) for u, a, b, y in rows])
    layout = laid_out(judgments, Plan(("reliability",), ties=False, sides=True))
    some = layout.sample(3)
    mine = Thinning.by(3, layout.rows.n_annotators).drawn(0, layout.rows.n_annotators)
    assert some.rows.n_annotators == mine.sum()
    np.testing.assert_array_equal(some.rows.given, layout.rows.given[mine])
    np.testing.assert_array_equal(
        some.rows.left, layout.rows.left[np.repeat(mine, layout.rows.sizes)]
    )
