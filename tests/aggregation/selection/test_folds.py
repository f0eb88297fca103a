"""What is held out together, and that nobody is lost who need not be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from studies import read, table

import aggcal
from aggcal.aggregation.selection import Folds, folds_of
from aggcal.errors import TooLittleDataError


def folds_by_unit(found: Folds) -> dict[int, set[int]]:
    by: dict[int, set[int]] = {}
    for unit, fold in zip(found.group.tolist(), found.fold.tolist(), strict=True):
        by.setdefault(unit, set()).add(fold)
    return by


def questions(judgments: aggcal.Judgments) -> list[tuple[int, frozenset[int]]]:
    columns = (judgments.annotator, judgments.left, judgments.right)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(who, frozenset((left, right))) for who, left, right in rows]


@pytest.mark.parametrize("seed", range(5))
def test_answers_to_one_question_stay_together_whichever_the_sides(seed: int) -> None:
    judgments = read(table(seed, items=4, annotators=6, judgments=200))
    found = folds_of(judgments, 5, seed)
    where: dict[Any, set[int]] = {}
    for asked, fold in zip(questions(judgments), found.fold.tolist(), strict=True):
        where.setdefault(asked, set()).add(fold)
    assert all(len(folds) == 1 for folds in where.values())
    assert found.n_groups == len(where)
    assert set(found.fold.tolist()) == set(range(5))


@pytest.mark.parametrize("seed", range(3))
def test_whole_pairs_or_single_judgments_can_be_held_out(seed: int) -> None:
    judgments = read(table(seed, items=8, annotators=3, judgments=400, contexts=6))
    pairs = folds_of(judgments, 5, seed, hold_out="pair")
    where: dict[Any, set[int]] = {}
    for (_, pair), fold in zip(questions(judgments), pairs.fold.tolist(), strict=True):
        where.setdefault(pair, set()).add(fold)
    assert all(len(folds) == 1 for folds in where.values())
    assert (pairs.held_out, pairs.n_groups) == ("pair", len(where))
    merged = replace(judgments, context=None, context_ids=None)
    twice = merged.of_rows(np.repeat(np.arange(len(merged.count)), 2))
    rows = folds_of(replace(twice, count=3 * twice.count), 5, seed, hold_out="row")
    assert rows.n_groups == len(rows.judgments.left) == 6 * merged.n_judgments
    assert (rows.judgments.count == 1).all()
    assert rows.judgments.weight.sum() == pytest.approx(2.0 * merged.weight.sum())
    held = [rows.parts(k)[1].n_judgments for k in range(5)]
    assert sum(held) == 6 * merged.n_judgments


@pytest.mark.parametrize("contexts", [0, 12])
@pytest.mark.parametrize("seed", range(5))
def test_nobody_is_in_one_fold_alone_who_can_be_in_two(seed: int, contexts: int) -> None:
    judgments = read(table(seed, items=40, annotators=30, judgments=200, contexts=contexts))
    found = folds_of(judgments, 5, seed)
    for codes in ((judgments.annotator,), (judgments.left, judgments.right)):
        for who in range(int(max(code.max() for code in codes)) + 1):
            mine = np.logical_or.reduce([code == who for code in codes])
            if len(set(found.group[mine].tolist())) > 1:
                assert len(set(found.fold[mine].tolist())) > 1


def test_folds_weigh_about_the_same() -> None:
    judgments = read(table(1, judgments=600))
    weights = np.random.default_rng(0).uniform(0.1, 3.0, len(judgments.weight))
    found = folds_of(replace(judgments, weight=weights), 5, 0)
    held = np.bincount(found.fold, weights)
    assert held.max() < 1.15 * held.min()


def test_whole_contexts_are_held_out_and_rows_without_one_by_question() -> None:
    columns = table(2, contexts=10)
    judgments = read(columns)
    found = folds_of(judgments, 5, 0)
    assert found.held_out == "prompt"
    assert found.n_groups == 10
    assert all(len(folds) == 1 for folds in folds_by_unit(found).values())
    for k in range(5):
        train, test = found.parts(k)
        assert train.context is not None
        assert test.context is not None
        assert not set(train.context.tolist()) & set(test.context.tolist())
        assert train.n_judgments + test.n_judgments == judgments.n_judgments
    columns["prompt"] = ["" if k % 2 else name for k, name in enumerate(columns["prompt"])]
    mixed = read(columns)
    assert mixed.context is not None
    assert (mixed.context < 0).any()
    found = folds_of(mixed, 5, 0)
    assert found.n_groups > 10
    assert all(len(folds) == 1 for folds in folds_by_unit(found).values())


@pytest.mark.parametrize(("contexts", "said"), [(3, "only 3 for 5 folds"), (1, "only 1")])
def test_too_few_contexts_are_said(contexts: int, said: str) -> None:
    found = folds_of(read(table(3, contexts=contexts)), 5, 0)
    assert found.held_out == "question"
    assert said in found.notes[0]


def test_a_context_that_holds_nearly_everything_is_not_held_out() -> None:
    columns = table(4, contexts=30)
    columns["prompt"] = [name if k % 20 == 0 else "p" for k, name in enumerate(columns["prompt"])]
    found = folds_of(read(columns), 5, 0)
    assert found.held_out == "question"
    assert "one has 95% of the judgments" in found.notes[0]
    with pytest.raises(TooLittleDataError, match="hold_out='question'"):
        folds_of(read(columns), 5, 0, hold_out="context")
    with pytest.raises(TooLittleDataError, match="have no screens"):
        folds_of(read(columns), 5, 0, hold_out="screen")


def test_whole_rankings_are_held_out_and_are_no_context_of_the_fit() -> None:
    random = np.random.default_rng(5)
    rankings = [">".join(random.permutation(list("abcd"))) for _ in range(40)]
    who = [f"u{k % 7}" for k in range(40)]
    judgments = aggcal.read_judgments({"annotator": who, "ranking": rankings})
    assert judgments.screen is not None
    found = folds_of(judgments, 5, 0)
    assert (found.held_out, found.n_groups) == ("screen", 40)
    assert found.judgments.context is None
    assert found.judgments.weight.sum() == pytest.approx(judgments.weight.sum())
    assert found.judgments.n_judgments == judgments.n_judgments
    for k in range(5):
        train, test = found.parts(k)
        assert train.screen is not None
        assert test.screen is not None
        assert not set(train.screen.tolist()) & set(test.screen.tolist())


def test_the_seed_alone_decides() -> None:
    judgments = read(table(6))
    first, again, other = (folds_of(judgments, 5, seed).fold for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(("annotators", "contexts", "what"), [
    (60, 0, "annotator"), (5, 0, "question"), (60, 30, "prompt"),
])  # fmt: skip
def test_a_sample_is_of_whole_units_and_said(annotators: int, contexts: int, what: str) -> None:
    judgments = read(table(7, annotators=annotators, contexts=contexts, judgments=600))
    found = folds_of(judgments, 5, 0, most=400)
    assert found.n_whole == 600
    assert 250 < found.judgments.n_judgments <= 400
    assert f"{found.judgments.n_judgments} of 600 judgments" in found.notes[-1]
    assert f"{what}s)" in found.notes[-1]
    if what == "annotator":
        whole = dict(zip(judgments.annotator_ids, judgments.judgments_per_annotator, strict=True))
        part = found.judgments
        for name, number in zip(part.annotator_ids, part.judgments_per_annotator, strict=True):
            assert number == whole[name]
    assert folds_of(judgments, 5, 0, most=600).n_whole == 600


def test_too_little_is_refused() -> None:
    with pytest.raises(TooLittleDataError, match="30 judgments cannot tell methods apart"):
        folds_of(read(table(judgments=30)), 5, 0)
    few = aggcal.read_judgments([("ann", "a", "b")] * 60)
    with pytest.raises(TooLittleDataError, match="1 question cannot be parted into 5 folds"):
        folds_of(few, 5, 0)
