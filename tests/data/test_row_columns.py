"""Contexts, categories, grades and screens: they part rows, and go wherever their rows go."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal.engines.local import LocalEngine
from aggcal.errors import OptionError

LABEL = {
    (1.0, 1): "left",
    (1.0, 2): "left+",
    (0.0, -1): "right",
    (0.0, -2): "right+",
    (0.5, 0): "tie",
}
COLUMNS = ("annotator", "left", "right", "outcome", "prompt", "language")


def random_rows(seed: int, n: int = 200) -> list[dict[str, str]]:
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        i, j = random.choice(5, 2, replace=False)
        prompt, language = random.choice(["p1", "p2", "p10", ""]), random.choice(["de", "en", ""])
        outcome = random.choice([*LABEL.values()])
        cells = (f"u{random.integers(4)}", f"i{i}", f"i{j}", outcome, prompt, language)
        rows.append(dict(zip(COLUMNS, map(str, cells), strict=True)))
    return rows


def read(rows: list[dict[str, str]], **options: Any) -> aggcal.Judgments:
    return aggcal.read_judgments(rows, context="prompt", by="language", **options)


def told(judgments: aggcal.Judgments) -> Counter[tuple[str, ...]]:
    """Return the rows as they were read, each as often as it stands."""
    found: Counter[tuple[str, ...]] = Counter()
    assert judgments.context is not None
    assert judgments.context_ids is not None
    assert judgments.grade is not None
    (language,) = judgments.categories
    prompts, languages = [*judgments.context_ids, ""], [*language.ids, ""]
    for k, n in enumerate(judgments.count.tolist()):
        outcome = LABEL[float(judgments.outcome[k]), int(judgments.grade[k])]
        found[
            str(judgments.annotator_ids[judgments.annotator[k]]),
            str(judgments.item_ids[judgments.left[k]]),
            str(judgments.item_ids[judgments.right[k]]),
            outcome,
            prompts[judgments.context[k]],
            languages[language.code[k]],
        ] += n
    return found


def keys(judgments: aggcal.Judgments) -> list[tuple[float, ...]]:
    columns = [judgments.annotator, judgments.left, judgments.right, judgments.outcome]
    columns += [judgments.grade, judgments.context, judgments.categories[0].code]
    return [tuple(map(float, row)) for row in zip(*columns, strict=True)]


def test_rows_are_merged_only_where_all_of_it_agrees_and_are_sorted() -> None:
    rows = random_rows(1)
    judgments = read(rows)
    assert told(judgments) == Counter(tuple(row.values()) for row in rows)
    assert keys(judgments) == sorted(set(keys(judgments)))
    assert judgments.context_ids is not None
    assert judgments.context_ids.tolist() == ["p1", "p10", "p2"]
    assert judgments.context_name == "prompt"
    shuffled = read([rows[k] for k in np.random.default_rng(2).permutation(len(rows))])
    assert keys(shuffled) == keys(judgments)


def test_without_a_wish_nothing_is_parted() -> None:
    rows = [row | {"outcome": row["outcome"].rstrip("+")} for row in random_rows(3)]
    plain = aggcal.read_judgments([{name: row[name] for name in COLUMNS[:4]} for row in rows])
    wider = aggcal.read_judgments(rows)
    for part in fields(aggcal.Judgments):
        if part.name not in ("unfitted", "duplicates", "source", "notes"):
            np.testing.assert_array_equal(getattr(wider, part.name), getattr(plain, part.name))
    for name in ("context", "context_ids", "grade", "screen", "screen_weight"):
        assert getattr(plain, name) is None
    assert plain.categories == ()
    assert plain.n_merged > read(rows).n_merged


def test_some_rows_are_what_reading_them_alone_gives() -> None:
    rows = random_rows(4)
    whole = read(rows)
    chosen = np.random.default_rng(5).random(len(whole.count)) < 0.4
    part = whole.of_rows(chosen)
    assert told(part) == Counter({k: n for k, n in told(whole).items() if k in told(part)})
    assert part.n_judgments == int(whole.count[chosen].sum())
    assert keys(part) == sorted(keys(part))
    assert set(part.annotator) == set(range(part.n_annotators))
    assert {*part.left, *part.right} == set(range(part.n_items))
    assert part.context_ids is whole.context_ids
    by_position = whole.of_rows(np.flatnonzero(chosen)[::-1])
    assert keys(by_position) == keys(part)
    assert len(whole.of_rows(np.zeros(len(whole.count), dtype=bool)).count) == 0


@pytest.mark.parametrize(
    ("rows", "about"), [(np.array([True]), "mask of 1 entries"), (np.array([0, 999]), "0 to 999")]
)
def test_rows_that_are_not_there_are_refused(rows: np.ndarray, about: str) -> None:
    with pytest.raises(OptionError, match=about):
        read(random_rows(6)).of_rows(rows)


def test_annotators_take_their_columns_along_and_swapping_negates_grades() -> None:
    judgments = read(random_rows(7))
    assert judgments.grade is not None
    drawn = judgments.of_annotators(np.array([2, 2]))
    assert drawn.grade is not None
    assert drawn.context is not None
    mine = judgments.annotator == 2
    np.testing.assert_array_equal(drawn.grade, np.tile(judgments.grade[mine], 2))
    np.testing.assert_array_equal(
        drawn.categories[0].code, np.tile(judgments.categories[0].code[mine], 2)
    )
    turned = judgments.swapped()
    np.testing.assert_array_equal(turned.grade, -judgments.grade)
    assert judgments.__sizeof__() > aggcal.read_judgments(random_rows(7)).__sizeof__()
    shown = judgments.first_rows()
    assert {"grade", "prompt", "language"} <= shown.keys()


RANKINGS = {
    "annotator": ["ann", "ann", "ann", "bob"],
    "ranking": ["a > b > c", "a > b > c > d", "b > a", "a > b > c"],
}


def screens_of(judgments: aggcal.Judgments) -> Counter[tuple[int, ...]]:
    assert judgments.screen is not None
    row = np.repeat(np.arange(len(judgments.count)), judgments.count)
    names = [judgments.annotator_ids[judgments.annotator[row]]]
    names += [judgments.item_ids[side[row]] for side in (judgments.left, judgments.right)]
    return Counter(zip(*names, judgments.screen.tolist(), strict=True))


def test_screens_become_contexts_with_their_own_weights() -> None:
    judgments = aggcal.read_judgments(RANKINGS)
    split = judgments.with_context_of_screens()
    assert split.context_ids is not None
    assert split.context is not None
    assert len(split.context_ids) == 4
    asked = aggcal.read_judgments(RANKINGS, context="ranking")
    assert asked.context is not None
    np.testing.assert_array_equal(split.count, asked.count)
    np.testing.assert_allclose(split.weight, asked.weight)
    assert split.weight.sum() == pytest.approx(judgments.weight.sum())
    assert screens_of(split) == screens_of(judgments)
    assert len({*zip(split.context, split.annotator, strict=True)}) == 4
    assert split.with_context_of_screens() is split
    plain = aggcal.read_judgments([("ann", "a", "b")])
    assert plain.with_context_of_screens() is plain


def test_screens_stay_with_their_rows() -> None:
    judgments = aggcal.read_judgments(RANKINGS)
    chosen = np.flatnonzero(judgments.annotator == 0)[1:]
    part = judgments.of_rows(chosen)
    whole = screens_of(judgments)
    assert screens_of(part) == Counter({k: n for k, n in whole.items() if k in screens_of(part)})
    assert part.screen is not None
    assert len(part.screen) == part.n_judgments


def test_shards_keep_context_categories_and_grades() -> None:
    judgments = read(random_rows(8))
    held = LocalEngine(shards=3).distribute(judgments)
    assert held.context_ids is judgments.context_ids
    assert [*held.category_ids] == [each.name for each in judgments.categories]
    assert held.shards is not None
    parts = held.shards.each(lambda shard: shard.judgments)
    np.testing.assert_array_equal(np.concatenate([p.context for p in parts]), judgments.context)
    np.testing.assert_array_equal(np.concatenate([p.grade for p in parts]), judgments.grade)
    for k, column in enumerate(judgments.categories):
        codes = np.concatenate([part.categories[k].code for part in parts])
        np.testing.assert_array_equal(codes, column.code)
