"""What is to be held equal, read from tables: what is accepted, and what is refused and how."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aggcal
from aggcal.errors import FeatureError, InputError
from conftest import Command

PAIRS = [
    ("ann", "a", "b", "left", "p"),
    ("bob", "b", "a", "left", "q"),
    ("ann", "b", "c", "left", "p"),
    ("bob", "c", "a", "right", "q"),
]
NAMES = ("annotator", "left", "right", "outcome", "prompt")
GOOD = "item,prompt,words\na,p,10\na,q,30\nb,p,20\nb,q,10\nc,p,15\nc,q,90\n"


def judged(context: str | None = "prompt") -> aggcal.Judgments:
    columns = dict(zip(NAMES, zip(*PAIRS, strict=True), strict=True))
    return aggcal.read_judgments(columns, context=context)


def test_tables_by_item_and_by_context(tmp_path: Path) -> None:
    path = tmp_path / "control.csv"
    path.write_text(GOOD)
    by_context = aggcal.read_control(path, context="Prompt")
    assert by_context.context_ids is not None
    assert by_context.names == ("words",)
    as_rows = aggcal.read_control(
        [(i, c, v) for i, c, v in zip("aabbcc", "pqpqpq", (10, 30, 20, 10, 15, 90), strict=True)],
        context="prompt",
    )
    assert np.array_equal(as_rows.matrix, by_context.matrix)
    by_item = aggcal.read_control({"item": ["b", "a"], "Wörter": [1.0, 3.0]}, context="prompt")
    assert by_item.context_ids is None
    assert by_item.names == ("Wörter",)


def test_differences_are_left_less_right_in_standard_deviations() -> None:
    judgments = judged()
    control = aggcal.read_control(
        {"item": list("aabbcc"), "context": list("pqpqpq"), "words": [10, 30, 20, 10, 15, 90]},
        context="prompt",
    )
    found = control.differences(judgments, judgments.left, judgments.right, judgments.context)
    sd = np.std([10, 30, 20, 10, 15, 90])
    values = dict(zip(("ap", "aq", "bp", "bq", "cp", "cq"), (10, 30, 20, 10, 15, 90), strict=True))
    assert judgments.context_ids is not None
    assert judgments.context is not None
    for k, difference in enumerate(found[:, 0]):
        where = judgments.context_ids[judgments.context[k]]
        left, right = (judgments.item_ids[s[k]] for s in (judgments.left, judgments.right))
        assert difference == pytest.approx((values[left + where] - values[right + where]) / sd)


def test_merged_spellings_reach_the_control() -> None:
    rows = [("ann", "Essay 1", "b", "left"), ("ann", "essay 1", "b", "right")]
    judgments = aggcal.read_judgments(rows, normalize_ids=True)
    control = aggcal.read_control({"item": ["ESSAY 1", "b"], "words": [1, 2]})
    control.check(judgments)
    twice = aggcal.read_control({"item": ["ESSAY 1", "essay-1", "b"], "words": [1, 2, 3]})
    with pytest.raises(FeatureError, match="'ESSAY 1' and 'essay-1' are one item"):
        twice.check(judgments)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("item,prompt\na,p\n", "no column besides 'item' and 'prompt'; add columns of numbers"),
        ("prompt,words\np,1\n", "item"),
        (GOOD + "b,q,7\n", "duplicate item 'b' in prompt 'q' (line 8; 1 duplicate row in total)"),
        (GOOD.replace("30", "many"), "item 'a': the covariate 'words' ('many') is not a number"),
        (GOOD.replace("30", ""), "line 3, item 'a': the covariate 'words' is missing"),
        (GOOD.replace("a,q", "a,"), "line 3 has no prompt; fill it in or remove the row"),
        (GOOD.replace("b,p", ",p"), "line 4 has no item"),
        (GOOD.replace("c,q,90\n", ""), "no row for 'c in prompt q'; add what is missing (1 row)"),
        ("item,words\na,1\nb,2\n", "there is no row for 'c'; add what is missing (1 row)"),
        ("item,prompt,words\na,p,1\na,q,1\n", "'words' is the same in every row"),
        ("item,prompt,n\na,p,1\nb,p,1\nc,p,1\na,q,2\nb,q,2\nc,q,2\n", "'n' is the same for both"),
        ("item,x,y\na,1,2\nb,2,4\nc,5,10\n", "'y' follows exactly from 'x'"),
        ("item,words\na,1\na,2\n", "if values depend on the prompt, add the column 'prompt'"),
        ("item,prompt,words\n", "has a header but no row"),
    ],
)  # fmt: skip
def test_refusals_are_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "control.csv"
    path.write_text(text)
    with pytest.raises(InputError) as found:
        aggcal.read_control(path, context="prompt").check(judged())
    assert said in str(found.value)
    assert str(found.value).count(". ") == 0


def test_a_refusal_leaves_nothing_behind(tmp_path: Path, command: Command) -> None:
    control, pairs = tmp_path / "control.csv", tmp_path / "judgments.csv"
    control.write_text(GOOD.replace("c,q,90\n", ""))
    pairs.write_text("\n".join([",".join(NAMES), *(",".join(row) for row in PAIRS)]))
    out = tmp_path / "out"
    done = command("aggregate", pairs, "--context", "prompt", "--control", control, "-o", out)
    assert done.returncode == 2
    assert not out.exists()
    assert "there is no row for 'c in prompt q'" in done.stderr
    assert "Traceback" not in done.stderr


def test_values_by_context_need_a_context() -> None:
    table = {"item": ["a", "b"], "context": ["p", "p"], "words": [1, 2]}
    with pytest.raises(InputError, match="name it with context="):
        aggcal.read_control(table)
    control = aggcal.read_control(table, context="prompt")
    with pytest.raises(InputError, match="the judgments have none"):
        control.check(judged(None))
    with pytest.raises(FeatureError, match="name the judgments' column with context="):
        aggcal.read_control({"item": ["a", "a"], "words": [1, 2]})


def test_rows_without_a_context_are_refused() -> None:
    columns = dict(zip(NAMES, zip(*PAIRS, strict=True), strict=True))
    columns["prompt"] = ("p", "", "p", "q")
    judgments = aggcal.read_judgments(columns, context="prompt")
    control = aggcal.read_control(
        {"item": list("aabbcc"), "prompt": list("pqpqpq"), "n": [1, 2, 4, 3, 5, 7]},
        context="prompt",
    )
    with pytest.raises(FeatureError, match="1 row of the judgments lacks"):
        control.check(judgments)


def test_both_orders_are_written(tmp_path: Path, command: Command) -> None:
    control, pairs = tmp_path / "control.csv", tmp_path / "judgments.csv"
    control.write_text(GOOD)
    pairs.write_text("\n".join([",".join(NAMES), *(",".join(row) for row in PAIRS * 5)]))
    options = ("--context", "prompt", "--control", control, "-o", tmp_path / "out", "--no-check")
    done = command("aggregate", pairs, *options)
    assert done.returncode == 0
    assert "held equal: words" in done.stderr
    header = (tmp_path / "out" / "items.csv").read_text().splitlines()[0].split(",")
    assert {"consensus_uncontrolled", "rank_uncontrolled"} <= set(header)
