"""Outcome labels mean the same in every format and under every column name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import aggcal
from aggcal.errors import AggcalError, OutcomeError, TableError
from aggcal.io.formats import FORMATS
from aggcal.io.words import LABELS, LEFT_RIGHT, OUTCOME

# Written by hand, not taken from the program.
# fmt: off
LEFT = (
    "left", "Left", "A", "a", "x", "model_a", "Model A", "model-a", "MODEL_1", "[[A]]", "first",
    "option_a", "option1", "response_1", "output_1", "text a", "assistant_a", "leftvote", "A>B",
    "[[A>>B]]",
)
RIGHT = (
    "right", "RIGHT", "B", "b", "y", "model_b", "Model B", "model-b", "MODEL_2", "[[B]]", "second",
    "option_b", "option2", "response_2", "output_2", "text b", "assistant_b", "rightvote", "B>A",
    "[[B>>A]]",
)
TIE = (
    "tie", "Draw", "equal", "both", "neither", "both_bad", "Both bad", "bothbad", "tie (bothbad)",
    "[[C]]", "tievote", "bothbad_vote", "same", "A=B",
)
SKIP, FAILED = ("skip", "ignore"), ("failed", "error")
# fmt: on
STRENGTH = {
    **dict.fromkeys(LEFT, 1.0),
    **dict.fromkeys(RIGHT, 0.0),
    **dict.fromkeys(TIE, 0.5),
    **dict.fromkeys(SKIP, "skip"),
    **dict.fromkeys(FAILED, "failed"),
}
HEADERS = [
    *(("annotator", *pair, said) for pair in LEFT_RIGHT for said in ("outcome", "winner")),
    *(("rater", *pair, said) for pair in LEFT_RIGHT[:2] for said in OUTCOME),
    ("worker", "left", "right", "label"),
    ("rater", "generator_1", "generator_2", "preference"),
]


def meanings(judgments: aggcal.Judgments) -> dict[str, float | str]:
    """Return what each annotator's one row was read as; every row has an annotator of its own."""
    assert set(judgments.item_ids) <= {"p", "q"}
    left = [judgments.item_ids[k] for k in judgments.left]
    strengths = [
        strength if first == "p" else 1.0 - strength
        for first, strength in zip(left, judgments.outcome.tolist(), strict=True)
    ]
    who = [judgments.annotator_ids[k] for k in judgments.annotator]
    aside = zip(judgments.unfitted.annotator, judgments.unfitted.reason, strict=True)
    return dict(zip(who, strengths, strict=True)) | dict(aside)


@pytest.mark.parametrize("header", HEADERS, ids="-".join)
def test_every_label_means_the_same_under_every_name(header: tuple[str, ...]) -> None:
    rows = [dict(zip(header, (label, "p", "q", label), strict=True)) for label in STRENGTH]
    assert meanings(aggcal.read_judgments(rows)) == STRENGTH


def records(name: str, label: str) -> dict[str, Any]:
    """Return a record of a format, in which the left item is 'p', judged by its own label."""
    pair = {"model_a": "p", "model_b": "q", "winner": label}
    every: dict[str, dict[str, Any]] = {
        "arena": pair | {"judge": label},
        "table": {"annotator": label, "left": "p", "right": "q", "outcome": label},
        "evalica": {"left": "p", "right": "q", "winner": label, "judge": label},
        "crowd-kit": {"worker": label, "left": "p", "right": "q", "label": label},
        "alpaca-eval": {"generator_1": "p", "generator_2": "q", "preference": label}
        | {"annotator": label},
        "vote-log": {"type": label, "ip": label}
        | {"states": [{"model_name": "p"}, {"model_name": "q"}]},
        "label-studio": {
            "data": {"text1": "p", "text2": "q"},
            "annotations": [
                {
                    "completed_by": label,
                    "result": [
                        {"type": "pairwise", "from_name": "pw", "value": {"selected": label}}
                    ],
                }
            ],
        },
    }
    return every[name]


BY_LABEL = ("arena", "table", "evalica", "crowd-kit", "alpaca-eval", "vote-log", "label-studio")


@pytest.mark.parametrize("name", BY_LABEL)
def test_every_label_means_the_same_in_every_format(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(records(name, label)) + "\n" for label in STRENGTH))
    found = aggcal.read_judgments(path, format=name)
    assert found.format == name
    assert meanings(found) == STRENGTH


def test_formats_that_say_it_without_labels() -> None:
    # Whoever adds a format decides whether it has labels.
    assert set(FORMATS) - set(BY_LABEL) == {
        *("preflib", "argilla", "mt-bench", "gavel", "all-our-ideas", "all-our-ideas-non-votes"),
        *("no-more-marking", "preference-pairs", "best-worst", "rankings", "ratings", "choix"),
        *("openreview", "hotcrp", "mt-bench-single", "arena-hard"),
    }


@pytest.mark.parametrize(
    ("games", "strengths"),
    [  # of m1 (model_1) in the first game, where it is on the left, and in the second
        (("model_1", "model_1"), [1.0, 1.0]),
        (("model_2", "Model 1"), [0.0, 1.0]),
        (("tie", "error"), [0.5]),
        (("left", "left"), [1.0, 0.0]),
    ],
)
def test_mt_bench_names_models_not_places(
    games: tuple[str, str], strengths: list[float], tmp_path: Path
) -> None:
    path = tmp_path / "x.jsonl"
    record = {"model_1": "m1", "model_2": "m2", "judge": "j", "g1_winner": games[0]}
    path.write_text(json.dumps(record | {"g2_winner": games[1]}))
    found = aggcal.read_judgments(path)
    m1 = found.item_ids.tolist().index("m1")
    got = [
        strength if left == m1 else 1.0 - strength
        for left, strength in zip(found.left.tolist(), found.outcome.tolist(), strict=True)
    ]
    assert sorted(got, reverse=True) == sorted(strengths, reverse=True)


@pytest.mark.parametrize("label", ["A", "[[B]]", "model_a", "first", "x"])
def test_mt_bench_refuses_what_may_be_a_place(label: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    record = {"model_1": "m1", "model_2": "m2", "g1_winner": "model_1", "g2_winner": label}
    path.write_text(json.dumps(record | {"judge": "j"}))
    with pytest.raises(OutcomeError, match="may name a model or the place"):
        aggcal.read_judgments(path)


HOW = [("annotator", "left", "right", "outcome"), ("rater", "item_a", "item_b", "vote")]


def strengths(values: list[str], names: tuple[str, ...], items: tuple[str, str]) -> list[float]:
    """Return the strengths of the left item, row by row."""
    rows = [dict(zip(names, (f"u{k}", *items, v), strict=True)) for k, v in enumerate(values)]
    found = aggcal.read_judgments(rows)
    left = found.item_ids[found.left] == items[0]
    return [s if here else 1.0 - s for s, here in zip(found.outcome.tolist(), left, strict=True)]


@pytest.mark.parametrize("names", HOW)
@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (["1", "2", "1"], [1.0, 0.0, 1.0]),
        (["1.0", "2.0", "tie"], [1.0, 0.0, 0.5]),
        (["2", "2"], [0.0, 0.0]),
        (["0.5", "tie"], [0.5, 0.5]),
        (["A", "b", "draw"], [1.0, 0.0, 0.5]),
    ],
)
def test_one_and_two_are_sides(
    names: tuple[str, ...], values: list[str], wanted: list[float]
) -> None:
    assert strengths(values, names, ("p", "q")) == wanted


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (["1", "1"], [1.0, 1.0]),
        (["0", "1", "0"], [0.0, 1.0, 0.0]),
        (["0", "0"], [0.0, 0.0]),
        (["0.25", "1", "0"], [0.25, 1.0, 0.0]),
        (["1", "0.5"], [1.0, 0.5]),
    ],
)
def test_other_numbers_are_strengths_in_our_own_columns_only(
    values: list[str], wanted: list[float]
) -> None:
    assert strengths(values, HOW[0], ("p", "q")) == wanted
    with pytest.raises(OutcomeError, match="1 may stand for 'item_a' or for 'item_b'"):
        strengths(values, HOW[1], ("p", "q"))


@pytest.mark.parametrize("names", HOW)
@pytest.mark.parametrize("values", [["0", "1", "2"], ["1", "1.5", "2"], ["1", "2", "3"], ["-1"]])
def test_numbers_that_may_mean_anything_are_refused(
    names: tuple[str, ...], values: list[str]
) -> None:
    with pytest.raises(OutcomeError, match="outside 0 to 1"):
        strengths(values, names, ("p", "q"))


@pytest.mark.parametrize("names", HOW)
@pytest.mark.parametrize(
    ("items", "values", "wanted"),
    [
        (("1", "2"), ["1", "2"], [1.0, 0.0]),  # sides and items agree
        (("A", "B"), ["A", "B"], [1.0, 0.0]),
        (("B", "A"), ["left", "right"], [1.0, 0.0]),
        (("2", "3"), ["2", "3"], [1.0, 0.0]),  # items in every row, sides not
        (("b", "c"), ["b", "c"], [1.0, 0.0]),
        (("b", "c"), ["a", "b"], [1.0, 0.0]),  # sides in every row, items not
    ],
)
def test_items_that_are_called_like_sides(
    names: tuple[str, ...], items: tuple[str, str], values: list[str], wanted: list[float]
) -> None:
    assert strengths(values, names, items) == wanted


@pytest.mark.parametrize("names", HOW)
@pytest.mark.parametrize(
    ("items", "values"),
    [(("2", "1"), ["1", "2"]), (("B", "A"), ["A", "B"]), (("b", "a"), ["a"]), (("y", "x"), ["x"])],
)
def test_a_side_that_may_be_an_item_is_refused(
    names: tuple[str, ...], items: tuple[str, str], values: list[str]
) -> None:
    with pytest.raises(TableError, match=r"may name a side or an item.*write left, right or tie"):
        strengths(values, names, items)


def test_in_our_own_column_our_own_words_come_first() -> None:
    # Whatever items are called, "left" in the column outcome is the left one, and 1 its strength.
    assert strengths(["left", "right"], HOW[0], ("right", "left")) == [1.0, 0.0]
    assert strengths(["1", "0"], HOW[0], ("0", "1")) == [1.0, 0.0]


def test_what_was_taken_is_said() -> None:
    rows = [("u", "p", "q", "A"), ("u", "q", "p", "B"), ("v", "p", "q", "neither")]
    notes = aggcal.read_judgments(rows).notes
    assert "read as: outcome (A = left, B = right, neither = tie)" in notes
    assert "1 'neither' is counted as a tie; outcomes={'neither': 'skip'} leaves them out" in notes
    numbers = aggcal.read_judgments([("u", "p", "q", 1), ("u", "q", "p", 2)]).notes
    assert numbers == ("read as: outcome (1 = left, 2 = right)",)


def test_a_known_label_can_be_mapped_to_something_else() -> None:
    rows = [("u", "p", "q", "A"), ("u", "q", "r", "neither"), ("u", "p", "r", "draw")]
    found = aggcal.read_judgments(rows, outcomes={"neither": "skip", "a": "right"})
    assert found.unfitted.counts == {"skip": 1}
    assert sorted(found.outcome.tolist()) == [0.0, 0.5]
    # And what is mapped of our own words holds for their synonyms.
    assert aggcal.read_judgments(rows, outcomes={"tie": "skip"}).unfitted.counts == {"skip": 2}


def test_annotators_are_not_lost_to_a_format_that_has_no_such_column() -> None:
    for pair in (("left", "right"), ("model_a", "model_b")):
        rows = [dict(zip((*pair, "winner", "rater"), ("p", "q", "A", "ann"), strict=True))]
        assert aggcal.read_judgments(rows).annotator_ids.tolist() == ["ann"]


@settings(max_examples=60, deadline=None)
@given(
    st.text(st.characters(codec="ascii", exclude_categories=["C"]), min_size=1, max_size=12),
    st.sampled_from(HOW),
)
@example("0'0", HOW[0])
def test_no_hint_says_which_side_a_label_means(label: str, names: tuple[str, ...]) -> None:
    rows = [dict(zip(names, ("u", "p", "q", label), strict=True))]
    try:
        found = aggcal.read_judgments(rows)
    except AggcalError as error:
        if "if it stands for 'item_a', or" in str(error):
            return  # both sides, for both readings
        message = str(error).replace(repr(label)[1:-1], "")  # as Python writes it
        for side in ("left", "right", "0", "1", "tie", "skip", "failed"):
            assert f"={side}" not in message.replace(label, "")
            assert f": '{side}'" not in message.replace(label, "")
    else:
        known = label.strip().lower().replace(" ", "_").replace("-", "_")
        number = known not in LABELS and known not in ("p", "q")
        assert not number or 0.0 <= float(label) <= 2.0 or not found.n_judgments
