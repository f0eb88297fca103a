"""Pairs that look like rankings taken apart are noticed; honest pairs are not accused."""

from __future__ import annotations

from functools import cmp_to_key
from itertools import combinations

import numpy as np
import pytest

import aggcal
from aggcal.data.exploded import _met_too_many, _sets, exploded
from aggcal.data.warnings import data_warnings

Rows = list[tuple[str, str, str]]


def rankings(seed: int, annotators: int, size: int, items: int, each: int = 1) -> Rows:
    """Take rankings of random sets of items apart: people differ, but none from themselves."""
    random = np.random.default_rng(seed)
    scores = random.normal(size=items)
    rows = []
    for u in range(annotators):
        for _ in range(each):
            chosen = random.choice(items, size, replace=False)
            order = chosen[np.argsort(-(scores[chosen] + random.gumbel(size=size)))]
            rows += [(f"u{u}", f"i{a}", f"i{b}") for a, b in combinations(order, 2)]
    return rows


def round_robin(seed: int, annotators: int, size: int, clarity: float) -> Rows:
    """Ask everybody for every pair, each by itself."""
    random = np.random.default_rng(seed)
    scores = clarity * random.normal(size=size)
    rows = []
    for u in range(annotators):
        for a, b in combinations(range(size), 2):
            first = random.random() < 1.0 / (1.0 + np.exp(scores[b] - scores[a]))
            rows.append((f"u{u}", f"i{a if first else b}", f"i{b if first else a}"))
    return rows


def merge_sorted(seed: int, annotators: int, size: int) -> Rows:
    """Ask an adaptive design: whatever a sorting algorithm wants to know next."""
    random = np.random.default_rng(seed)
    scores = 3.0 * random.normal(size=size)
    rows = []
    for u in range(annotators):

        def compare(a: int, b: int, who: str = f"u{u}") -> int:
            first = random.random() < 1.0 / (1.0 + np.exp(scores[b] - scores[a]))
            rows.append((who, f"i{a if first else b}", f"i{b if first else a}"))
            return -1 if first else 1

        sorted(random.permutation(size).tolist(), key=cmp_to_key(compare))
    return rows


@pytest.mark.parametrize(
    ("size", "items", "each"), [(4, 40, 1), (5, 30, 1), (4, 100, 5), (6, 60, 3), (10, 100, 1)]
)
def test_rankings_taken_apart_are_noticed(size: int, items: int, each: int) -> None:
    judgments = aggcal.read_judgments(rankings(1, 30, size, items, each))
    found = exploded(judgments)
    assert found is not None
    assert found.largest == size
    assert len(found.annotators) > 0.5 * found.looked_at
    warning = next(w for w in data_warnings(judgments) if w.code == "exploded-rankings")
    assert f"of {size} items" in warning.what or f"to {size} items" in warning.what


def test_a_few_stray_answers_do_not_hide_them() -> None:
    rows = rankings(2, 30, 8, 40)
    stray = [(u, "i0", f"new {k}") for k, (u, _, _) in enumerate(rows[::30])]
    assert exploded(aggcal.read_judgments(rows + stray)) is not None


@pytest.mark.parametrize("clarity", [1.0, 2.0, 4.0, 8.0])
@pytest.mark.parametrize(("annotators", "size"), [(20, 4), (5, 6), (20, 6), (5, 8)])
def test_every_pair_asked_by_itself_is_left_in_peace(
    annotators: int, size: int, clarity: float
) -> None:
    alarms = sum(
        exploded(aggcal.read_judgments(round_robin(seed, annotators, size, clarity))) is not None
        for seed in range(4)
    )
    assert alarms == 0


@pytest.mark.parametrize("size", [4, 6, 12])
def test_adaptive_designs_are_left_in_peace(size: int) -> None:
    assert exploded(aggcal.read_judgments(merge_sorted(size, 30, size))) is None


def test_rankings_that_are_known_as_such_need_no_word() -> None:
    rows = rankings(3, 30, 6, 40)
    table = [dict(zip(("annotator", "winner", "loser"), row, strict=True)) for row in rows]
    named = [row | {"ranking": row["annotator"]} for row in table]
    assert exploded(aggcal.read_judgments(named)) is None
    assert exploded(aggcal.read_judgments(named, context="ranking")) is None
    assert exploded(aggcal.read_judgments(table)) is not None


def test_ties_are_places_of_a_ranking() -> None:
    random = np.random.default_rng(4)
    rows = []
    for u in range(30):
        chosen, height = random.choice(30, 6, replace=False), random.integers(0, 4, 6)
        for a, b in combinations(range(6), 2):
            outcome = ("right", "tie", "left")[int(np.sign(height[a] - height[b])) + 1]
            rows.append((f"u{u}", f"i{chosen[a]}", f"i{chosen[b]}", outcome))
    assert exploded(aggcal.read_judgments(rows)) is not None


@pytest.mark.parametrize("size", [4, 5, 7])
def test_the_quick_look_leaves_out_nobody_whose_pairs_are_sets(size: int) -> None:
    """The bound is reached by sets of four that share no item, and pairs between others."""
    random = np.random.default_rng(size)
    rows = []
    for u in range(60):
        sets = random.integers(1, 12)
        chosen = random.permutation(900)
        mine = [
            pair
            for k in range(sets)
            for pair in combinations(chosen[k * size : (k + 1) * size].tolist(), 2)
        ]
        stray = chosen[sets * size :]
        mine += [
            (int(stray[2 * k]), int(stray[2 * k + 1])) for k in range(random.integers(len(mine)))
        ]
        rows += [(f"u{u:02}", f"i{a:03}", f"i{b:03}") for a, b in mine]
    judgments = aggcal.read_judgments(rows)
    who = np.arange(judgments.n_annotators)
    out = _met_too_many(judgments, who, judgments.starts)
    sets_of = [
        _sets(judgments, slice(int(judgments.starts[u]), int(judgments.starts[u + 1]))) for u in who
    ]
    whole = np.array([found is not None for found in sets_of])
    assert 0 < whole.sum() < len(who)
    assert out.any()
    assert not (out & whole).any()


def test_counting_who_met_how_many_items_needs_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel and NumPy rule out the same annotators, whoever is asked for, in any order."""
    random = np.random.default_rng(5)
    rows = rankings(4, 12, 5, 40) + [
        (f"v{u}", f"i{a}", f"i{b}")
        for u in range(12)
        for a, b in random.choice(40, (10, 2))
        if a != b
    ]
    judgments = aggcal.read_judgments(rows)
    who = random.permutation(judgments.n_annotators)[:20]
    found = _met_too_many(judgments, who, judgments.starts)
    monkeypatch.setattr("aggcal.data.exploded.library", lambda: None)
    assert 0 < found.sum() < len(who)
    assert found.tolist() == _met_too_many(judgments, who, judgments.starts).tolist()
