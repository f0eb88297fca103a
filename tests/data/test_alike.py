"""Ids are called alike if they differ in spelling only, and never if they hold other numbers."""

from __future__ import annotations

import unicodedata
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aggcal
from aggcal.data.alike import alike_warning, groups, key, visible

SAME = [
    ["Essay 20", "essay 20", "Essay20", "ESSAY-20", "essay_20", "Essay  20 ", "Essay\u00a020"],
    ["Essay #20", "Essay 20", "(Essay 20)", '"Essay 20"', "Essay 20."],
    ["Müller", unicodedata.normalize("NFD", "Müller"), "MÜLLER", "müller\u200b"],
    ["gpt-4", "GPT 4", "gpt4", "GPT_4"],
    ["O'Brien", "O’Brien", "OBrien"],
    ["7", "7.0", "7,0"],
    ["claude-3.5-sonnet", "Claude 3.5 Sonnet", "claude 3-5 sonnet"],
    ["2024-01-05", "2024/01/05", "2024.01.05"],
    ["ｅｓｓａｙ", "essay"],
    ["Straße", "STRASSE"],
]
OTHER = [
    ("1.0", "10"), ("v1.0", "v10"), ("essay 1 2", "essay 12"), ("1-2", "12"), ("a1-2", "a12"),
    ("-1", "1"), ("1.5", "15"), ("1.5", "1-5"), ("1.50", "1.5"), ("A", "A-"), ("A", "A+"),
    ("A*", "A"), ("C", "C++"), ("C#", "C"), ("a'", "a"), ("essay 7", "essay 07"), ("x²", "x2"),
    ("10²", "102"), ("½", "12"), ("Muller", "Müller"), ("a", "b"), ("?", "!"), ("-", "--"),
    ("50%", "50"), ("item 1", "item 11"), ("1/2", "12"),
]  # fmt: skip


@pytest.mark.parametrize("spellings", SAME)
def test_spellings_of_one_id(spellings: list[str]) -> None:
    assert groups(spellings) == [spellings]


@pytest.mark.parametrize("pair", OTHER)
def test_other_ids(pair: tuple[str, str]) -> None:
    assert groups(pair) == []


@given(st.lists(st.text("aB1 2.-_é", min_size=1, max_size=6), unique=True, max_size=20))
def test_digits_are_never_joined_or_parted(ids: list[str]) -> None:
    """Alike ids hold the same runs of digits (or are the same number with a needless zero)."""

    def numbers(label: str) -> list[str]:
        return "".join(c if c.isdigit() else " " for c in label).split()

    for one, other in (pair for group in groups(ids) for pair in combinations(group, 2)):
        plain = {one, other} if all(c.isdigit() or c in ".," for c in one + other) else set()
        if not plain:
            assert numbers(one) == numbers(other)


@given(st.lists(st.text("aA1 0-.,'#+(\0\1éＡ\u200b", max_size=4), max_size=12))
def test_ids_are_alike_exactly_where_their_keys_are_equal(ids: list[str]) -> None:
    by_key: dict[str, list[str]] = {}
    for label in dict.fromkeys(ids):
        by_key.setdefault(key(label), []).append(label)
    assert groups(ids) == [labels for labels in by_key.values() if len(labels) > 1]


@given(st.text(max_size=12))
def test_a_key_is_a_form_of_its_own(label: str) -> None:
    assert key(label) or not label
    assert key(unicodedata.normalize("NFD", label)) == key(unicodedata.normalize("NFC", label))


def test_what_cannot_be_seen_is_named() -> None:
    assert visible("a\u200bb\u00a0") == "a<zero width space>b<no-break space>"


def test_a_warning_counts_and_shows() -> None:
    many = [[f"Item {k}", f"item {k}"] for k in range(10)]
    counts = {label: k for k, (one, two) in enumerate(many, 1) for label in (one, two)}
    said = str(alike_warning("item", many, counts))
    assert said.startswith(
        "20 item ids are probably 10 items. They differ only in how they are written: "
    )
    assert "'Item 1' with 2 judgments, 'item 1' with 2" in said
    assert "7 more groups" in said
    assert "normalize_ids=True" in said


def test_items_that_somebody_compared_are_two() -> None:
    """Codes may differ in case only: who compares 'a' with 'A' saw two items."""
    rows = [("ann", "a", "A"), ("ann", "b", "a"), ("bob", "B", "A")]
    said = [str(w) for w in aggcal.aggregate(rows, warn=False).warnings if w.code == "alike-ids"]
    assert len(said) == 1
    assert "'B'" in said[0]
    assert "'A'" not in said[0]
