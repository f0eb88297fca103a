"""Contexts, categories and sides: every format keeps what it knows, and says what it does not."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_formats import PREFLIB
from test_readings import EXAMPLES, ONE_OF_EACH

import aggcal
from aggcal.errors import OptionError
from aggcal.io.choices import Choices
from aggcal.io.convert import convert_judgments

TABLE = """annotator,left,right,outcome,Prompt,language,criterion
ann,a,b,left,why?,de,style
ann,b,c,right,"how, then",en,facts
bob,a,c,tie,why?,,style
bob,a,b,left,,de,facts
"""


def contexts(judgments: aggcal.Judgments) -> list[str]:
    """Return the context of each row, blank for none."""
    assert judgments.context is not None
    assert judgments.context_ids is not None
    return [[*judgments.context_ids, ""][code] for code in judgments.context]


def categories(judgments: aggcal.Judgments, name: str) -> list[str]:
    found = next(each for each in judgments.categories if each.name == name)
    return [[*found.ids, ""][code] for code in found.code]


def file(folder: Path, text: str, name: str = "judgments") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_columns_of_a_table(tmp_path: Path) -> None:
    path = file(tmp_path, TABLE)
    found = aggcal.read_judgments(path, context="prompt", by=["language", "criterion"])
    assert contexts(found) == ["why?", "how, then", "", "why?"]
    assert categories(found, "language") == ["de", "en", "de", ""]
    assert categories(found, "criterion") == ["style", "facts", "facts", "style"]
    assert found.notes == (
        "1 judgment has no context ('prompt' is blank there)",
        "1 judgment has no category ('language' is blank there)",
    )
    one = aggcal.read_judgments(path, context="PROMPT", criterion="style")
    assert contexts(one) == ["why?", "why?"]


@pytest.mark.parametrize(
    ("options", "about"),
    [
        ({"context": "promt"}, r"no column 'promt' to take as the context \(did you mean 'Prompt'"),
        ({"by": "topic"}, "no column 'topic' to take as a category .*found: annotator, left"),
        ({"by": "language,language"}, "name a column twice"),
        ({"by": ["language", ""]}, "twice or none"),
        ({"by": "criterion", "criterion": "style"}, "leave one of the two out"),
    ],
)
def test_wishes_that_cannot_be_met(tmp_path: Path, options: dict[str, Any], about: str) -> None:
    with pytest.raises(OptionError, match=about):
        aggcal.read_judgments(file(tmp_path, TABLE), **options)


CONTEXTS = {
    "label-studio": ("task", ["1"]),
    "argilla nested": ("task", ["42"]),
    "argilla flat": ("record", ["42"]),
    "arena 55k": ("prompt", ["p", "p", "p"]),
    "mt-bench human": ("prompt", ["58210e39…", "58210e39…"]),
    "mt-bench pair": ("prompt", ["81", "81"]),
    "arena-hard": ("prompt", ["q1", "q1", "q2"]),
    "mt-bench single": ("prompt", ["81"] * 4),
    "alpaca-eval": ("prompt", None),
    "preference pairs": ("prompt", ["…"]),
    "rankings, wide": ("ranking", ["ranking 1"] * 3),
    "rankings, in one cell": ("ranking", ["ranking 1"] * 3),
    "rankings, long": ("task", ["1", "2"]),
    "best-worst": ("ranking", ["choice 1"] * 5),
    "choix top-1": ("ranking", ["ranking 1"] * 2),
    "ratings": ("screen", ["ratings 1", "ratings 2"]),
    "openreview": ("ranking", ["ratings 1"]),
}


@pytest.mark.parametrize("sample", CONTEXTS)
def test_natural_contexts_of_formats(sample: str, tmp_path: Path) -> None:
    context, expected = CONTEXTS[sample]
    path = file(tmp_path, EXAMPLES[sample].content)
    found = aggcal.read_judgments(path, context=context)
    assert found.context_name == context
    assert all(contexts(found))
    if expected is not None:
        assert sorted(contexts(found)) == sorted(expected)
    plain = aggcal.read_judgments(path)
    assert (found.format, found.n_judgments) == (plain.format, plain.n_judgments)


@pytest.mark.parametrize("sample", [*CONTEXTS, "fastchat log", "choix pairs", "gavel"])
def test_what_no_record_has_is_refused(sample: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no column 'season' to take as the context"):
        aggcal.read_judgments(file(tmp_path, EXAMPLES[sample].content), context="season")


def test_orders_of_preflib_are_contexts(tmp_path: Path) -> None:
    found = aggcal.read_judgments(file(tmp_path, PREFLIB), context="ranking")
    assert {*contexts(found)} >= {"order 1", "order 2"}
    with pytest.raises(OptionError, match="found: ranking"):
        aggcal.read_judgments(file(tmp_path, PREFLIB), context="prompt")


def test_the_first_message_of_a_vote_is_its_prompt(tmp_path: Path) -> None:
    states = [
        {"model_name": name, "messages": [["USER", "Why?"], ["ASSISTANT", "So."]]} for name in "ab"
    ]
    votes = [{"type": "leftvote", "states": states, "ip": "1", "tstamp": k} for k in (1, 2)]
    path = file(tmp_path, "".join(json.dumps(vote) + "\n" for vote in votes))
    assert contexts(aggcal.read_judgments(path, context="prompt")) == ["Why?"]


def test_fields_of_a_task_are_categories(tmp_path: Path) -> None:
    tasks = json.loads(EXAMPLES["label-studio"].content)
    tasks[0]["data"]["language"] = "de"
    found = aggcal.read_judgments(file(tmp_path, json.dumps(tasks)), by="language")
    assert {*categories(found, "language")} == {"de"}


def test_ratings_are_compared_within_a_context_and_their_categories_shared() -> None:
    cells = [("a", 1, "p", "de"), ("b", 2, "p", "de"), ("c", 3, "p", "en"), ("a", 1, "q", "de")]
    rows = [
        {"annotator": "ann", "item": i, "rating": r, "screen_no": p, "language": g}
        for i, r, p, g in [*cells, ("b", 2, "q", "de")]
    ]
    found = aggcal.read_judgments(rows, context="screen_no", by="language")
    pairs = zip(found.item_ids[found.left], found.item_ids[found.right], strict=True)
    told = Counter(zip(pairs, contexts(found), categories(found, "language"), strict=True))
    assert told == {
        (("b", "a"), "p", "de"): 1,
        (("c", "a"), "p", ""): 1,
        (("c", "b"), "p", ""): 1,
        (("b", "a"), "q", "de"): 1,
    }
    assert any("differs between the two items" in note for note in found.notes)
    assert aggcal.read_judgments(rows).n_judgments == 3  # the two of one item are averaged


def test_several_files(tmp_path: Path) -> None:
    first = file(tmp_path, TABLE, "first.csv")
    second = file(tmp_path, "annotator,winner,loser\neve,a,b\n", "second.csv")
    third = file(tmp_path, "annotator,winner,loser,prompt\neve,b,c,why?\n", "third.csv")
    found = aggcal.read_judgments([first, second, third], context="prompt", by="language")
    assert sorted(contexts(found)) == ["", "", "how, then", "why?", "why?", "why?"]
    assert any("second.csv: there is no column 'prompt'" in note for note in found.notes)
    with pytest.raises(OptionError, match="no file has a column 'topic'"):
        aggcal.read_judgments([first, second], by="topic")
    rankings = [file(tmp_path, f"annotator,ranking\n{u},a > b > c\n", f"{u}.csv") for u in "xy"]
    both = aggcal.read_judgments(rankings, context="ranking")
    assert {*contexts(both)} == {"ranking 1 (x.csv)", "ranking 1 (y.csv)"}


_ROW = st.tuples(
    st.sampled_from(["u", "v"]),
    st.sampled_from(["ab", "ac", "bc"]),
    st.sampled_from(["left", "left+", "tie", "right"]),
    st.sampled_from(["p", "q", ""]),
    st.sampled_from(["de", "10", "9"]),
)
_FIRM = [("u", "ab", "left+", "p", "de")]


def _rows(rows: list[tuple[str, ...]]) -> list[dict[str, str]]:
    names = ("annotator", "left", "right", "outcome", "prompt", "language")
    return [dict(zip(names, (u, *pair, y, p, g), strict=True)) for u, pair, y, p, g in rows]


@settings(max_examples=6, deadline=None, derandomize=True)
@given(st.lists(_ROW, max_size=25), st.lists(_ROW, max_size=25))
def test_adding_is_as_if_read_from_one_table(
    first: list[tuple[str, ...]], second: list[tuple[str, ...]]
) -> None:
    how: dict[str, Any] = {"context": "prompt", "by": "language"}
    one = aggcal.read_judgments(_rows(_FIRM + first), **how)
    found = aggcal.add_judgments(one, _rows(_FIRM + second))
    whole = aggcal.read_judgments(_rows(_FIRM + first + _FIRM + second), **how)
    for name in ("annotator", "left", "right", "outcome", "count", "grade", "context"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name), name)
    np.testing.assert_array_equal(found.context_ids, whole.context_ids)
    for ours, theirs in zip(found.categories, whole.categories, strict=True):
        np.testing.assert_array_equal(ours.code, theirs.code)
        np.testing.assert_array_equal(ours.ids, theirs.ids)


def test_rankings_that_are_added_keep_their_screens() -> None:
    one = {"annotator": ["ann", "bob"], "ranking": ["a > b > c", "b > a"]}
    more = {"annotator": ["ann", "eve"], "ranking": ["a > b > c > d", "c > a"]}
    both = {name: [*one[name], *more[name]] for name in one}
    found = aggcal.add_judgments(aggcal.read_judgments(one), aggcal.read_judgments(more))
    split, whole = (part.with_context_of_screens() for part in (found, aggcal.read_judgments(both)))
    np.testing.assert_array_equal(split.left, whole.left)
    np.testing.assert_allclose(split.weight, whole.weight)
    sizes = [sorted(Counter(contexts(part)).values()) for part in (split, whole)]
    assert sizes[0] == sizes[1] == [1, 1, 3, 6]


def test_converting_writes_contexts_and_categories(tmp_path: Path) -> None:
    source, target = file(tmp_path, TABLE, "in.csv"), tmp_path / "out.csv"
    choices = Choices(context="prompt", by=("language", "criterion"))
    convert_judgments([source], target, choices=choices)
    assert target.read_text().splitlines()[:3] == [
        "annotator,left,right,outcome,criterion,context,language",
        "ann,a,b,left,style,why?,de",
        'ann,b,c,right,facts,"how, then",en',
    ]
    one = aggcal.read_judgments(source, context="prompt", by="language")
    other = aggcal.read_judgments(target, context="context", by="language")
    assert contexts(one) == contexts(other)
    assert categories(one, "language") == categories(other, "language")


SIDED = {
    "label-studio", "label-studio lines", "label-studio min", "label-studio csv", "fastchat battle",
    "fastchat log", "lmarena 140k", "arena 55k", "mt-bench human", "mt-bench pair", "crowd-kit",
    "arena-hard",
    "evalica", "all-our-ideas", "synonyms", "the winner by name",
}  # fmt: skip


@pytest.mark.parametrize("sample", ONE_OF_EACH)
def test_only_formats_that_know_their_sides_are_sided(sample: str, tmp_path: Path) -> None:
    found = aggcal.read_judgments(file(tmp_path, EXAMPLES[sample].content))
    assert found.sided == (sample in SIDED)


def test_votes_without_sides_are_not_all_on_the_left(tmp_path: Path) -> None:
    lines = [line.split(",") for line in EXAMPLES["all-our-ideas"].content.splitlines()]
    shown = [k for k, name in enumerate(lines[0]) if "Choice ID" not in name]
    text = "\n".join(",".join(line[k] for k in shown) for line in lines)
    source, target = file(tmp_path, text, "in.csv"), tmp_path / "out.csv"
    one = aggcal.read_judgments(source)
    assert not one.sided
    convert_judgments([source], target)
    assert not aggcal.read_judgments(target).sided
    table = file(tmp_path, "annotator,left,right,outcome\nann,11,12,left\n", "old.csv")
    assert not aggcal.read_judgments([source, table]).sided


def test_a_ranking_of_two_sides_is_a_pair(tmp_path: Path) -> None:
    answers = [["left", "right"], ["right", "left"]]
    records = [
        {
            "id": str(k),
            "metadata": {"left_id": "x", "right_id": "y"},
            "fields": {},
            "responses": {"which": [{"value": answer, "user_id": f"u{k}"}]},
            "status": "completed",
        }
        for k, answer in enumerate(answers)
    ]
    found = aggcal.read_judgments(file(tmp_path, json.dumps(records)))
    assert found.sided
    assert found.outcome.tolist() == [1.0, 0.0]
    assert found.item_ids[found.left].tolist() == ["x", "x"]
