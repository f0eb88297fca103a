"""Rankings and ratings that were taken apart count as what they are; independent answers stay."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cmp_to_key
from itertools import combinations, zip_longest
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import aggcal
from aggcal.io.choices import Choices
from aggcal.io.convert import convert_judgments

Rows = list[tuple[str, ...]]


def orders(seed: int, annotators: int, size: int, items: int, each: int = 1) -> list[list[str]]:
    """Return an annotator and items, the best first: people differ, but none from themselves."""
    random = np.random.default_rng(seed)
    scores, found = random.normal(size=items), []
    for u in range(annotators):
        for _ in range(each):
            chosen = random.choice(items, size, replace=False)
            order = chosen[np.argsort(-(scores[chosen] + random.gumbel(size=size)))]
            found.append([f"u{u}", *(f"i{a}" for a in order)])
    return found


def taken_apart(found: Iterable[list[str]]) -> Rows:
    return [(u, a, b) for u, *order in found for a, b in combinations(order, 2)]


def rankings(seed: int, annotators: int, size: int, items: int, each: int = 1) -> Rows:
    return taken_apart(orders(seed, annotators, size, items, each))


def ratings(seed: int, annotators: int, items: int, levels: int) -> Rows:
    """Return who rated which item how: rough, and each in their own way."""
    random = np.random.default_rng(seed)
    quality = random.normal(size=items)
    rows: Rows = []
    for u in range(annotators):
        height = quality + random.normal(size=items) + random.normal()
        level = np.clip(np.round((levels - 1) / 2 + levels / 5 * height), 0, levels - 1)
        rows += [(f"u{u}", f"i{k}", f"{x:.0f}") for k, x in enumerate(level)]
    return rows


def table_of(rated: Rows) -> list[dict[str, str]]:
    return [{"rater": who, "item": item, "rating": rating} for who, item, rating in rated]


def compared(rated: Rows) -> Rows:
    """Take ratings apart into pairs."""
    rows: Rows = []
    for who in dict.fromkeys(u for u, *_ in rated):
        mine = [(item, float(rating)) for u, item, rating in rated if u == who]
        for (a, x), (b, y) in combinations(mine, 2):
            rows.append((who, a, b, "left" if x > y else "right" if x < y else "tie"))
    return rows


def round_robin(seed: int, annotators: int, size: int, clarity: float) -> Rows:
    """Ask everybody for every pair, each by itself."""
    random = np.random.default_rng(seed)
    scores = clarity * random.normal(size=size)
    rows: Rows = []
    for u in range(annotators):
        for a, b in combinations(range(size), 2):
            first = random.random() < 1.0 / (1.0 + np.exp(scores[b] - scores[a]))
            rows.append((f"u{u}", f"i{a if first else b}", f"i{b if first else a}"))
    return rows


def sorted_by_asking(seed: int, annotators: int, size: int) -> Rows:
    """Ask an adaptive design: whatever a sorting algorithm wants to know next."""
    random = np.random.default_rng(seed)
    scores = random.normal(size=size)
    rows: Rows = []
    for u in range(annotators):

        def compare(a: int, b: int, who: str = f"u{u}") -> int:
            first = random.random() < 1.0 / (1.0 + np.exp(scores[b] - scores[a]))
            rows.append((who, f"i{a if first else b}", f"i{b if first else a}"))
            return -1 if first else 1

        sorted(random.permutation(size).tolist(), key=cmp_to_key(compare))
    return rows


def columns(rows: Rows, **more: list[str]) -> dict[str, list[str]]:
    return (
        dict(zip(("annotator", "winner", "loser"), map(list, zip(*rows, strict=True)), strict=True))
        | more
    )


def acts(judgments: aggcal.Judgments) -> int:
    """Count the acts that are known."""
    assert judgments.screen is not None
    return len(np.unique(judgments.screen))


def same(one: aggcal.Judgments, other: aggcal.Judgments) -> bool:
    names = ("annotator", "left", "right", "outcome", "weight", "count", "screen")
    return one.n_duplicates == other.n_duplicates and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in names
    )


@pytest.mark.parametrize(
    ("size", "items", "each"), [(3, 20, 10), (4, 40, 3), (5, 30, 1), (6, 60, 3), (12, 12, 1)]
)
def test_pairs_of_rankings_weigh_what_rankings_do(size: int, items: int, each: int) -> None:
    """They are fitted as the rankings themselves are."""
    found = orders(1, 20, size, items, each)
    apart = aggcal.read_judgments(taken_apart(found))
    whole = aggcal.read_judgments(
        {"annotator": [u for u, *_ in found], "ranking": [">".join(order) for _, *order in found]}
    )
    assert acts(apart) == len(found)
    assert np.allclose(apart.weight, whole.weight)
    scores = [aggcal.aggregate(one, warn=False).scores for one in (apart, whole)]
    assert np.allclose(scores[0], scores[1])
    assert apart.notes[-1].startswith(f"{len(found):,} rankings or rating series of {size} items")
    assert f"count as {whole.weight.sum():,.0f} answers" in apart.notes[-1]


@pytest.mark.parametrize(("annotators", "items", "levels"), [(8, 15, 11), (6, 12, 5), (4, 20, 7)])
def test_pairs_of_ratings_weigh_what_ratings_do(annotators: int, items: int, levels: int) -> None:
    """Rows of one series may be in any order, and those of several annotators in turn."""
    rated = ratings(levels, annotators, items, levels)
    whole = aggcal.read_judgments(
        [dict(zip(("rater", "item", "rating"), r, strict=True)) for r in rated]
    )
    rows = compared(rated)
    turns = zip_longest(*([r for r in rows if r[0] == f"u{u}"] for u in range(annotators)))
    shuffled = [rows[k] for k in np.random.default_rng(0).permutation(len(rows))]
    for given in (rows, [r for turn in turns for r in turn], shuffled):
        judgments = aggcal.read_judgments(given)
        assert judgments.weight.sum() == pytest.approx(whole.weight.sum())
        assert acts(judgments) == annotators


def test_readers_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows, columns, frames and files, read quickly or not, with compiled kernels or without."""
    rows = rankings(2, 15, 5, 20, 4)
    rows += [("v", f"i{k}", f"j{k}") for k in range(5)]  # answers of their own
    table = columns(rows)
    frame = pd.DataFrame(table)
    frame.to_csv(tmp_path / "quick.csv", index=False)
    frame.assign(note=range(len(rows))).to_csv(tmp_path / "general.csv", index=False)
    frame.to_parquet(tmp_path / "quick.parquet")
    expected = aggcal.read_judgments(rows)
    assert acts(expected) == 15 * 4 + 5
    given = [table, frame, pl.DataFrame(table), *sorted(tmp_path.iterdir())]
    assert all(same(aggcal.read_judgments(each), expected) for each in given)
    monkeypatch.setattr("aggcal.data.acts.library", lambda: None)
    assert same(aggcal.read_judgments(rows), expected)


@pytest.mark.parametrize("clarity", [0.5, 1.0, 2.0, 4.0, 8.0])
@pytest.mark.parametrize(("annotators", "size"), [(20, 4), (5, 6), (20, 6), (5, 8), (3, 10)])
def test_every_pair_asked_by_itself_counts(annotators: int, size: int, clarity: float) -> None:
    for seed in range(4):
        judgments = aggcal.read_judgments(round_robin(seed, annotators, size, clarity))
        assert judgments.screen is None
        assert judgments.weight.sum() == judgments.n_judgments


@pytest.mark.parametrize("size", [3, 4, 6, 12])
def test_adaptive_designs_count(size: int) -> None:
    """They hold no cycle, whatever the answers are, but whole sets of pairs are the exception."""
    assert aggcal.read_judgments(sorted_by_asking(size, 60, size)).screen is None


def test_shuffled_rankings_are_not_found() -> None:
    rows = rankings(3, 20, 5, 20, 5)
    judgments = aggcal.read_judgments(
        [rows[k] for k in np.random.default_rng(1).permutation(len(rows))]
    )
    assert judgments.screen is None
    assert judgments.n_judgments == len(rows)


def test_repeated_rankings_are_duplicates_and_repeated_pairs_are_not() -> None:
    found = orders(4, 20, 5, 12, 5)
    once = aggcal.read_judgments(taken_apart(found))
    assert once.n_merged > 0
    assert once.n_duplicates == 0
    assert aggcal.read_judgments(taken_apart([*found, found[-1]])).n_duplicates == 10


def test_how_pairs_weigh_can_be_chosen() -> None:
    rows = rankings(5, 20, 5, 20, 5)
    each = aggcal.read_judgments(rows, ranking_weight="item")
    assert each.weight.sum() == pytest.approx(0.25 * len(rows))
    alone = aggcal.read_judgments(rows, ranking_weight="pair")
    assert alone.screen is None
    assert alone.weight.sum() == len(rows)
    assert not alone.notes


def test_weights_of_the_file_are_left_alone() -> None:
    rows = rankings(6, 20, 5, 20, 5)
    for weight in ("0.25", "2"):
        weighed = aggcal.read_judgments(columns(rows, weight=[weight] * len(rows)))
        assert weighed.weight.sum() == float(weight) * len(rows)
        assert acts(weighed) == 100
        more = columns(rows, weight=[weight] * len(rows), note=[f"{k}" for k in range(len(rows))])
        assert same(aggcal.read_judgments(more), weighed)


def test_screens_that_are_named_weigh_if_they_never_contradict_themselves() -> None:
    ranked, asked = rankings(7, 20, 5, 20, 5), round_robin(7, 40, 5, 1.0)
    shuffle = np.random.default_rng(2).permutation(len(ranked))
    screen = [f"{k // 10}" for k in range(len(ranked))]
    mixed = columns([ranked[k] for k in shuffle], screen=[screen[k] for k in shuffle])
    assert same(aggcal.read_judgments(mixed), aggcal.read_judgments(columns(ranked, screen=screen)))
    assert aggcal.read_judgments(mixed).weight.sum() == pytest.approx(543.33, abs=0.01)
    one = aggcal.read_judgments(columns(asked, screen=[u for u, *_ in asked]))
    assert one.weight.sum() == len(asked)
    assert one.screen is not None


def test_a_ranking_that_is_named_weighs_whatever_it_says() -> None:
    rows = rankings(8, 2, 4, 6)
    assert aggcal.read_judgments(rows).screen is None  # two are no proof
    named = aggcal.read_judgments(columns(rows, ranking=[u for u, *_ in rows]))
    assert named.weight.sum() == pytest.approx(2 * 6 * 0.6389, abs=1e-3)


def test_what_is_of_two_contexts_is_not_one_ranking() -> None:
    rows = rankings(9, 20, 5, 20, 5)
    prompt = [f"p{k // 10 % 7}" for k in range(len(rows))]
    found = aggcal.read_judgments(columns(rows, prompt=prompt), context="prompt")
    assert acts(found) == 100
    turns = [f"p{k % 2}" for k in range(len(rows))]
    assert aggcal.read_judgments(columns(rows, prompt=turns), context="prompt").screen is None


def test_acts_stay_with_their_judgments() -> None:
    judgments = aggcal.read_judgments(rankings(10, 10, 5, 12, 5))
    half = judgments.of_rows(judgments.annotator < 5)
    assert acts(half) == 25
    assert half.weight.sum() == pytest.approx(0.5 * judgments.weight.sum())
    assert acts(judgments.without("u0")) == 45
    twice = judgments.of_annotators(np.array([3, 3, 7]))
    assert acts(twice) == 15
    split = judgments.with_context_of_screens()
    assert split.context_ids is not None
    assert len(split.context_ids) == 50
    assert split.weight.sum() == pytest.approx(judgments.weight.sum())


def test_rankings_that_are_added_count_as_those_that_are_there() -> None:
    found = orders(11, 20, 5, 20, 5)
    whole = aggcal.read_judgments(taken_apart(found))
    grown = aggcal.read_judgments(taken_apart(found[:-2]))
    for order in found[-2:]:
        grown = aggcal.add_judgments(grown, taken_apart([order]))
    assert np.allclose(grown.weight, whole.weight)
    assert acts(grown) == acts(whole)


def test_written_rankings_are_recognised_again(tmp_path: Path) -> None:
    rows = rankings(12, 20, 5, 20, 5)
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    pd.DataFrame(columns(rows)).to_csv(source, index=False)
    convert_judgments([source], target, choices=Choices())
    assert same(aggcal.read_judgments(target), aggcal.read_judgments(source))


def test_only_the_first_rows_of_a_large_table_without_rankings_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = rankings(13, 20, 5, 20, 5)
    other = [(f"v{k}", f"i{k % 20}", f"i{(k + 1) % 20}") for k in range(200)]
    monkeypatch.setattr("aggcal.data.acts._FIRST", 200)
    assert aggcal.read_judgments(rows + other).screen is not None
    assert aggcal.read_judgments(other + rows).screen is None


@pytest.mark.parametrize(("annotators", "items", "levels"), [(8, 15, 11), (6, 12, 5)])
def test_nobody_who_rates_is_accused_of_copying(annotators: int, items: int, levels: int) -> None:
    for seed in range(3):
        rated = ratings(seed, annotators, items, levels)
        for data in (table_of(rated), compared(rated)):
            found = aggcal.check(data)
            assert "copies" not in [finding.code for finding in found.findings]
