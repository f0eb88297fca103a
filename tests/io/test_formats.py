"""Every format: the records that its tool writes become the judgments a person would write down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from test_readings import EXAMPLES

import aggcal
from aggcal.errors import AggcalError, OptionError, OutcomeError, TableError

Judged = list[tuple[str, str, str, float]]


def judged(judgments: aggcal.Judgments) -> Judged:
    """Every row as (annotator, left, right, strength of left), as often as it was read."""
    rows: Judged = []
    columns = (judgments.annotator, judgments.left, judgments.right, judgments.outcome)
    for u, i, j, p, n in zip(*columns, judgments.count, strict=True):
        who, (left, right) = judgments.annotator_ids[u], judgments.item_ids[[i, j]]
        row = (who, left, right, float(p))
        rows += [row] * int(n)
    return sorted(rows)


def text(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def first_record(name: str) -> Any:
    """Return the first record of an example."""
    records = json.loads(EXAMPLES[name].content.splitlines()[0])
    return records[0] if isinstance(records, list) else records


def pairwise(selected: str = "right", **more: Any) -> dict[str, Any]:
    task: dict[str, Any] = first_record("label-studio")
    task["annotations"][0] |= more
    task["annotations"][0]["result"][0]["value"]["selected"] = selected
    return task


NESTED, FLAT, BATTLE = map(first_record, ("argilla nested", "argilla flat", "fastchat battle"))
PAIR_JUDGE, ALPACA = first_record("mt-bench pair"), first_record("alpaca-eval")
PREFLIB = EXAMPLES["orders of PrefLib"].content


def by_pair(judgments: aggcal.Judgments) -> dict[tuple[str, str], float]:
    """The weight with which each item was put above each other, ties half each way."""
    total: dict[tuple[str, str], float] = {}
    for i, j, p, w in zip(
        judgments.left, judgments.right, judgments.outcome, judgments.weight, strict=True
    ):
        a, b = judgments.item_ids[i], judgments.item_ids[j]
        total[a, b] = total.get((a, b), 0.0) + float(w * p)
        total[b, a] = total.get((b, a), 0.0) + float(w * (1.0 - p))
    return total


@pytest.mark.parametrize("kind", ["soc", "toc"])
def test_preflib_keeps_every_voter(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{kind}"
    path.write_text(PREFLIB.replace("toc", kind))
    judgments = aggcal.read_judgments(path, ranking_weight="pair")
    assert judgments.format == "preflib"
    assert judgments.n_annotators == 6
    assert judgments.n_judgments == 6 * 6
    wins = by_pair(judgments)
    assert wins["A", "B"] == 3 * 0.5 + 0 + 1
    assert wins["B", "A"] == 3 * 0.5 + 2
    assert wins["B", "C"] == 3 + 0 + 0.5
    assert wins["D", "A"] == 1
    assert wins["A", "D"] == 5


def test_many_voters_are_a_weight_not_a_flood(tmp_path: Path) -> None:
    path = tmp_path / "x.soc"
    path.write_text(PREFLIB.replace("3: {1,2},3,4", "3000000: {1,2},3,4"))
    judgments = aggcal.read_judgments(path, ranking_weight="pair")
    assert judgments.n_annotators == 3
    assert by_pair(judgments)["A", "C"] == 3_000_000 + 1


def test_skips_failures_and_times_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    tasks = [pairwise(), pairwise("left", was_cancelled=True, id=1002)]
    path.write_text(json.dumps(tasks))
    judgments = aggcal.read_judgments(path)
    assert judgments.unfitted.counts == {"skip": 1}
    assert "record 2, annotation 1002: skip (cancelled)" in str(judgments.unfitted)
    assert judgments.seconds is not None
    assert judgments.seconds.tolist() == [15.053]
    path.write_text(json.dumps([ALPACA, ALPACA | {"preference": None}]))
    assert aggcal.read_judgments(path).unfitted.counts == {"failed": 1}
    path.write_text(text(PAIR_JUDGE, PAIR_JUDGE | {"g2_winner": "error"}))
    assert aggcal.read_judgments(path).unfitted.counts == {"failed": 1}
    path.write_text(EXAMPLES["all-our-ideas"].content)
    judgments = aggcal.read_judgments(path)
    assert judgments.unfitted.counts == {"skip": 1}
    assert judgments.seconds is not None
    assert judgments.seconds.tolist() == [3.5, 1.5]


def test_label_studio_asks_which_data_are_the_items(tmp_path: Path) -> None:
    task = pairwise()
    task["data"] |= {"img1": "p", "img2": "q"}
    path = tmp_path / "x.json"
    path.write_text(json.dumps([task]))
    with pytest.raises(OptionError, match=r"x\.json: record 1.*columns="):
        aggcal.read_judgments(path)
    assert judged(aggcal.read_judgments(path, columns={"left": "img1", "right": "img2"})) == [
        ("10", "p", "q", 0.0)
    ]


def test_every_control_of_label_studio_is_a_criterion(tmp_path: Path) -> None:
    task = pairwise()
    first = task["annotations"][0]["result"][0]
    task["annotations"][0]["result"] = [
        first | {"from_name": "helpful"},
        {"type": "choices", "from_name": "topic", "value": {"choices": ["x"]}},
        {"type": "textarea", "from_name": "why", "value": {"text": ["because"]}},
        first | {"from_name": "honest", "value": {"selected": "left"}},
    ]
    path = tmp_path / "x.json"
    path.write_text(json.dumps([task]))
    judgments = aggcal.read_judgments(path)
    assert judgments.criteria == ("helpful", "honest")
    assert [row[-1] for row in judged(judgments)] == [0.0, 1.0]
    assert [p for *_, p in judged(aggcal.read_judgments(path, criterion="honest"))] == [1.0]
    record = {k: v for k, v in first_record("label-studio min").items() if k != "pw"}
    record |= {"helpful": [{"selected": "right"}], "why": "so", "honest": {"selected": "left"}}
    path.write_text(json.dumps([record]))
    judgments = aggcal.read_judgments(path)
    assert judgments.criteria == ("helpful", "honest")
    assert judged(judgments) == [("4", "…a", "…b", 0.0), ("4", "…a", "…b", 1.0)]


def test_drafts_of_label_studio_are_counted_not_taken() -> None:
    task = pairwise()
    draft = {"id": 3, "user": "bob", "result": task["annotations"][0]["result"]}
    task["drafts"] = [draft]
    judgments = aggcal.read_judgments([task])
    assert judgments.unfitted.counts == {"skip": 1}
    assert "draft 3: skip (draft): bob" in str(judgments.unfitted)
    assert aggcal.read_judgments([task], drafts=True).n_judgments == 2


def test_half_a_character_is_no_traceback(tmp_path: Path) -> None:
    task = pairwise() | {"data": {"text1": "cut \ud83d", "text2": "whole \ud83d\ude00"}}
    path = tmp_path / "x.json"
    path.write_text(json.dumps([task]))
    assert judged(aggcal.read_judgments(path)) == [("10", "cut \ufffd", "whole \U0001f600", 0.0)]


def test_drafts_of_argilla(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps([NESTED, NESTED | {"status": "pending"}]))
    with pytest.raises(OutcomeError, match=r"record 2.*drafts"):
        aggcal.read_judgments(path)
    assert aggcal.read_judgments(path, drafts=True).n_judgments == 2
    users, states = ["u1", "u2"], ["submitted", "draft"]
    both = FLAT | {
        "preference.responses": [["response-2", "response-1"]] * 2,
        "preference.responses.users": users,
        "preference.responses.status": states,
    }
    path.write_text(json.dumps([both]))
    judgments = aggcal.read_judgments(path)
    assert judgments.n_judgments == 1
    assert judgments.unfitted.counts == {"skip": 1}


def test_other_questions_of_argilla_are_told_not_ranked(tmp_path: Path) -> None:
    def answers(question: str, *values: Any) -> dict[str, Any]:
        key = f"{question}.responses"
        users = [f"u{k}" for k in range(len(values))]
        states = ["submitted"] * len(values)
        return {key: list(values), f"{key}.users": users, f"{key}.status": states}

    spans = [{"label": "x", "start": 1, "end": 3}, {"label": "x", "start": 5, "end": 6}]
    record = {
        "id": "1",
        **answers("preference", ["r1", "r2", "r3"], ["r3", "r1", "r2"]),
        **answers("tags", ["rude", "toxic"], ["rude"]),
        **answers("quality", 3, 4),
        **answers("spans", spans, []),
    }
    path = tmp_path / "x.json"
    path.write_text(json.dumps([record]))
    judgments = aggcal.read_judgments(path)
    assert judgments.n_judgments == 6
    assert judgments.criteria == ("preference",)
    told = next(note for note in judgments.notes if "no ranking" in note)
    assert "tags: 2, quality: 2, spans: 2" in told
    path.write_text(json.dumps([{"id": "1", **answers("quality", 3, 4)}]))
    with pytest.raises(AggcalError, match=r"holds no judgment.*quality: 2"):
        aggcal.read_judgments(path)


def test_a_response_of_argilla_without_answers_is_counted() -> None:
    record = {"id": "42", "fields": {}}
    responses = [
        first_record("argilla server"),
        {"values": None, "status": "discarded", "user_id": "u"},
    ]
    judgments = aggcal.read_judgments([record | {"responses": responses}])
    assert judgments.n_judgments == 1
    assert judgments.unfitted.counts == {"skip": 1}
    assert "skip (discarded): u" in str(judgments.unfitted)


def test_columns_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("coder,Left text,other,verdict\nann,a,b,left\n")
    with pytest.raises(TableError, match="columns="):
        aggcal.read_judgments(path)
    names = {
        "annotator": "coder",
        "left": "left text",
        "right": "other",
        "outcome": "verdict",
    }
    assert judged(aggcal.read_judgments(path, columns=names)) == [("ann", "a", "b", 1.0)]
    with pytest.raises(OptionError, match="no column 'nobody'"):
        aggcal.read_judgments(path, columns={**names, "annotator": "nobody"})
    with pytest.raises(OptionError, match="no column 'who'"):
        aggcal.read_judgments(path, columns={"who": "coder"})


def test_a_column_that_is_named_goes_before_what_a_format_knows(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps([BATTLE | {"judge_hash": "h1", "category": "code"}]))
    found = aggcal.read_judgments(
        path, columns={"annotator": "judge_hash", "criterion": "category"}
    )
    assert judged(found) == [("h1", "chatglm-6b", "koala-13b", 0.0)]
    assert found.criteria == ("code",)
    with pytest.raises(OptionError, match="arena has no 'rating'"):
        aggcal.read_judgments(path, columns={"rating": "turn"})
    path.write_text(json.dumps([pairwise()]))
    with pytest.raises(OptionError, match="leave columns= out"):
        aggcal.read_judgments(path, columns={"annotator": "project"})
    path.write_text("annotator,item,rating\nu,a,3\nu,b,4\n")
    with pytest.raises(OptionError, match="no column 'stars' to take as 'rating'"):
        aggcal.read_judgments(path, columns={"rating": "stars"})


def test_rankings_have_criteria_and_weights(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    for content in (
        "annotator,criterion,weight,r1,r2\nu,taste,3,a,b\nu,look,1,b,a\n",
        (
            "annotator,criterion,weight,item,rank\n"
            "u,taste,3,a,1\nu,taste,3,b,2\nu,look,1,a,2\nu,look,1,b,1\n"
        ),
    ):
        path.write_text(content)
        found = aggcal.read_judgments(path)
        assert found.criteria == ("look", "taste")
        assert by_pair(found) == {("a", "b"): 3.0, ("b", "a"): 1.0}
    path.write_text("annotator,weight,item,rank\nu,3,a,1\nu,2,b,2\n")
    with pytest.raises(TableError, match="one weight"):
        aggcal.read_judgments(path)
    path.write_text("annotator,ranking\nu,a = b\nv,b > a\n")
    assert by_pair(aggcal.read_judgments(path)) == {("a", "b"): 0.5, ("b", "a"): 1.5}


def test_records_and_frames_of_other_tools_are_read_from_memory() -> None:
    frame = pd.DataFrame({"worker": ["w"], "left": ["a"], "right": ["b"], "label": ["b"]})
    assert judged(aggcal.read_judgments(frame)) == [("w", "a", "b", 0.0)]
    assert aggcal.read_judgments([pairwise()]).format == "label-studio"
    assert judged(aggcal.read_judgments([(2, 0), (0, 1)])) == [
        ("unknown", "0", "1", 1.0),
        ("unknown", "2", "0", 1.0),
    ]
    wide = pd.DataFrame({"annotator": ["u"], "r1": ["x"], "r2": ["y"]})
    assert judged(aggcal.read_judgments(wide)) == [("u", "x", "y", 1.0)]


def test_whole_numbers_are_the_same_ids_as_floats(tmp_path: Path) -> None:
    frame = pd.DataFrame({"annotator": [1.0, 2.0], "winner": [1.0, 2.0], "loser": [2, 1]})
    expected = [("1", "1", "2", 1.0), ("2", "2", "1", 1.0)]
    assert judged(aggcal.read_judgments(frame)) == expected
    assert judged(aggcal.read_judgments(frame.to_dict("records"))) == expected
    frame.to_parquet(tmp_path / "x.parquet")
    assert judged(aggcal.read_judgments(tmp_path / "x.parquet")) == expected


def test_a_rating_that_is_missing_in_a_frame_is_not_answered() -> None:
    columns = {"annotator": ["u"] * 3, "item": ["a", "b", "c"], "rating": [3, None, 4]}
    for data in (pd.DataFrame(columns), pl.DataFrame(columns), columns):
        judgments = aggcal.read_judgments(data)
        assert judged(judgments) == [("u", "c", "a", 1.0)]
        assert judgments.unfitted.counts == {"not answered": 1}


def test_a_format_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("annotator,winner,loser\nu,a,b\n")
    with pytest.raises(TableError, match="does not look like"):
        aggcal.read_judgments(path, format="gavel")
    with pytest.raises(OptionError, match="did you mean 'gavel'"):
        aggcal.read_judgments(path, format="gravel")


def test_ranks_and_ratings_in_one_table_must_be_chosen(data_folder: Path) -> None:
    path = data_folder / "dots" / "ratings.csv"
    with pytest.raises(OptionError, match="format='rankings' or format='ratings'"):
        aggcal.read_judgments(path)
    ranked = aggcal.read_judgments(path, format="rankings")
    paired = aggcal.read_judgments(data_folder / "dots" / "judgments.csv")
    assert ranked.n_judgments == 8_700
    assert by_pair(ranked) == pytest.approx(by_pair(paired))  # which are recognised as rankings
    assert aggcal.read_judgments(path, format="ratings").n_judgments == 8_700


def test_a_thousand_rankings_of_ten(tmp_path: Path, random: np.random.Generator) -> None:
    """As SUSHI preference A has five thousand, which may not be passed on."""
    orders = [random.permutation(10) for _ in range(1_000)]
    head = ",".join(["annotator", *(f"r{k}" for k in range(1, 11))])
    lines = [f"{k},{','.join(map(str, order))}" for k, order in enumerate(orders, 1)]
    (tmp_path / "rankings.csv").write_text("\n".join([head, *lines]) + "\n")
    judgments = aggcal.read_judgments(tmp_path / "rankings.csv", format="rankings")
    assert (judgments.n_items, judgments.n_annotators) == (10, 1_000)
    assert judgments.n_judgments == 1_000 * 45
    assert any("1,000 rankings became 45,000 pairs" in note for note in judgments.notes)
    assert not judgments.sided
    above = sum(list(order).index(3) < list(order).index(7) for order in orders)
    code = {item: k for k, item in enumerate(judgments.item_ids)}
    found = (judgments.left == code["3"]) & (judgments.right == code["7"])
    assert int(judgments.count[found & (judgments.outcome == 1.0)].sum()) == above


def test_judgemark_ratings(data_folder: Path) -> None:
    judgments = aggcal.read_judgments(
        data_folder / "judgemark" / "scores.csv", columns={"rating": "mean_score"}
    )
    assert judgments.n_annotators == 14
    given = aggcal.read_judgments(data_folder / "judgemark" / "judgments.csv")
    same = {k: v for k, v in by_pair(judgments).items() if v}
    assert same.keys() >= {k for k, v in by_pair(given).items() if v}


def test_scores_in_the_place_of_judgments_are_known(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("item,score\na,1\nb,2\n")
    with pytest.raises(TableError, match="come second"):
        aggcal.read_judgments(path)
    path.write_text("judgeId,chosen,notChosen\nj,a,b\n")
    with pytest.raises(TableError, match="looks like a table of judgments"):
        aggcal.read_scores(path)
    path.write_text("model,mmlu\na,1\nb,2\n")
    assert aggcal.read_scores(path).notes == ("read as: item = 'model', score = 'mmlu'",)
    assert aggcal.read_scores(path, column="mmlu", item="model").values.tolist() == [1.0, 2.0]
