"""Every format: the records that its tool writes become the judgments a person would write down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import aggcal
from aggcal.errors import AggcalError, OptionError, OutcomeError, TableError
from aggcal.registry import FORMATS

Judged = list[tuple[str, str, str, float]]


def judged(judgments: aggcal.Judgments) -> Judged:
    """Every row as (annotator, left, right, strength of left), as often as it was read."""
    rows: Judged = []
    for u, i, j, p, n in zip(
        judgments.annotator,
        judgments.left,
        judgments.right,
        judgments.outcome,
        judgments.count,
        strict=True,
    ):
        row = (
            judgments.annotator_ids[u],
            judgments.item_ids[i],
            judgments.item_ids[j],
            float(p),
        )
        rows += [row] * int(n)
    return sorted(rows)


def text(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def pairwise(selected: str = "right", **more: Any) -> dict[str, Any]:
    note = {
        "id": 1001,
        "completed_by": 10,
        "was_cancelled": False,
        "ground_truth": False,
        "lead_time": 15.053,
        "task": 1,
        "result": [
            {
                "id": "Dx",
                "from_name": "pw",
                "to_name": "pw",
                "type": "pairwise",
                "value": {"selected": selected},
            }
        ],
    } | more
    return {
        "id": 1,
        "project": 83,
        "data": {"text1": "In a little while…", "text2": "Death remembered…"},
        "annotations": [note],
        "predictions": [],
    }


def ranker(value: Any) -> dict[str, Any]:
    return {
        "id": 2,
        "data": {"items": [{"id": "mdn"}, {"id": "wiki"}, {"id": "blog"}]},
        "annotations": [
            {
                "id": 7,
                "completed_by": {"id": 3, "email": "ann@example.org"},
                "result": [
                    {
                        "from_name": "rank",
                        "to_name": "results",
                        "type": "ranker",
                        "value": {"ranker": value},
                    }
                ],
            }
        ],
    }


LABEL_STUDIO_MIN = {
    "text1": "…a",
    "text2": "…b",
    "id": 1,
    "pw": [{"selected": "right"}],
    "annotator": 4,
    "annotation_id": 23670,
    "created_at": "…",
    "updated_at": "…",
    "lead_time": 37.4,
}
LABEL_STUDIO_CSV = (
    "annotation_id,annotator,created_at,id,lead_time,pw,text1,text2,updated_at\n"
    '5,4,t,1,3.2,"[{""selected"": ""left""}]","a, b",c,t\n'
)
NESTED = {
    "id": "42",
    "fields": {"prompt": "…", "response-1": "…", "response-2": "…"},
    "metadata": {},
    "suggestions": {},
    "responses": {"preference": [{"value": ["response-2", "response-1"], "user_id": "3f0c…"}]},
    "vectors": {},
    "status": "completed",
    "_server_id": "…",
}
FLAT = {
    "id": "42",
    "prompt": "…",
    "preference.responses": [["response-2", "response-1"]],
    "preference.responses.users": ["3f0c…"],
    "preference.responses.status": ["submitted"],
    "preference.suggestion": ["response-1", "response-2"],
    "preference.suggestion.agent": "gpt-4",
    "preference.suggestion.score": None,
}
SERVER = {
    "values": {
        "preference": {
            "value": [{"value": "response-2", "rank": 1}, {"value": "response-1", "rank": 1}]
        }
    },
    "status": "submitted",
    "user_id": "3f0c…",
}
BATTLE = {
    "question_id": "58210e39…",
    "model_a": "chatglm-6b",
    "model_b": "koala-13b",
    "winner": "model_b",
    "judge": "arena_user_973",
    "conversation_a": [{"role": "user", "content": "…"}],
    "conversation_b": [],
    "turn": 1,
    "anony": True,
    "language": "English",
    "tstamp": 1682351591.1322,
}
VOTE = {
    "tstamp": 1682351591.1322,
    "type": "leftvote",
    "models": ["", ""],
    "states": [{"model_name": "a", "conv_id": "…"}, {"model_name": "b"}],
    "ip": "1.2.3.4",
}
NEWER = {
    "id": "x",
    "model_a": "m1",
    "model_b": "m2",
    "winner": "both_bad",
    "evaluation_session_id": "s1",
    "evaluation_order": 1,
    "conversation_a": [],
    "conv_metadata": {},
    "language": "en",
    "is_code": False,
}
KAGGLE = (
    "id,model_a,model_b,prompt,response_a,response_b,winner_model_a,winner_model_b,winner_tie\n"
    "1,m1,m2,p,x,y,1,0,0\n2,m2,m1,p,x,y,0,0,1\n3,m1,m2,p,x,y,0,1,0\n"
)
PAIR_JUDGE = {
    "question_id": 81,
    "model_1": "alpaca-13b",
    "model_2": "gpt-3.5-turbo",
    "g1_winner": "model_2",
    "g2_winner": "tie",
    "judge": ["gpt-4", "pair-v2"],
    "g1_judgment": "…",
    "g2_judgment": "…",
    "turn": 1,
    "tstamp": 1686286924.1,
}
ALPACA = {
    "dataset": "helpful_base",
    "instruction": "What are the names…",
    "output_1": "…",
    "generator_1": "gpt4_1106_preview",
    "output_2": "…",
    "generator_2": "FuseChat",
    "annotator": "weighted",
    "preference": 1.25,
}
IDEAS = (
    "Vote ID,Session ID,Wikisurvey ID,Winner ID,Winner Text,Loser ID,Loser Text,Prompt ID,"
    "Appearance ID,Left Choice ID,Right Choice ID,Created at,Updated at,Response Time (s),"
    "Missing Response Time Explanation,Session Identifier,Valid\n"
    "1,s1,9,11,eleven,12,twelve,5,a,12,11,t,t,3.5,,x,TRUE\n"
    "2,s1,9,11,eleven,13,thirteen,5,b,11,13,t,t,4.5,,x,FALSE\n"
    "3,s2,9,13,thirteen,12,twelve,5,c,13,12,t,t,1.5,,x,TRUE\n"
)
PREFLIB = """# FILE NAME: sample.toc
# DATA TYPE: toc
# NUMBER ALTERNATIVES: 4
# NUMBER VOTERS: 6
# NUMBER UNIQUE ORDERS: 3
# ALTERNATIVE NAME 1: A
# ALTERNATIVE NAME 2: B
# ALTERNATIVE NAME 3: C
# ALTERNATIVE NAME 4: D
3: {1,2},3,4
2: 3,2,1,4
1: 4,1,{2,3}
"""
OLD_PREFLIB = "3\n1,A\n2,B\n3,C\n3,3,2\n2,1,2,3\n1,{2,3},1\n"

SAMPLES: dict[str, tuple[str, str, Judged]] = {
    "label-studio": (
        "label-studio",
        json.dumps([pairwise()]),
        [("10", "In a little while…", "Death remembered…", 0.0)],
    ),
    "label-studio lines": (
        "label-studio",
        text(pairwise("left")),
        [("10", "In a little while…", "Death remembered…", 1.0)],
    ),
    "label-studio min": ("label-studio", json.dumps([LABEL_STUDIO_MIN]), [("4", "…a", "…b", 0.0)]),
    "label-studio csv": (
        "label-studio",
        LABEL_STUDIO_CSV,
        [("4", "a, b", "c", 1.0)],
    ),
    "label-studio ranker": (
        "label-studio",
        json.dumps([ranker({"rank": ["mdn", "wiki", "blog"]})]),
        [
            ("ann@example.org", "mdn", "blog", 1.0),
            ("ann@example.org", "mdn", "wiki", 1.0),
            ("ann@example.org", "wiki", "blog", 1.0),
        ],
    ),
    "label-studio ranker, older list": (
        "label-studio",
        json.dumps([ranker(["1234", "123", "12345"])]),
        [
            ("ann@example.org", "123", "12345", 1.0),
            ("ann@example.org", "1234", "123", 1.0),
            ("ann@example.org", "1234", "12345", 1.0),
        ],
    ),
    "label-studio ranker, buckets": (
        "label-studio",
        json.dumps([ranker({"best": ["mdn"], "ads": ["blog"], "_": ["wiki"]})]),
        [("ann@example.org", "mdn", "blog", 1.0)],
    ),
    "argilla nested": (
        "argilla",
        json.dumps([NESTED]),
        [("3f0c…", "response-2", "response-1", 1.0)],
    ),
    "argilla flat": ("argilla", json.dumps([FLAT]), [("3f0c…", "response-2", "response-1", 1.0)]),
    "argilla server": (
        "argilla",
        json.dumps([SERVER]),
        [("3f0c…", "response-2", "response-1", 0.5)],
    ),
    "argilla server in its record": (
        "argilla",
        json.dumps([{"id": "42", "fields": {}, "responses": [SERVER]}]),
        [("3f0c…", "response-2", "response-1", 0.5)],
    ),
    "fastchat battle": (
        "arena",
        json.dumps([BATTLE]),
        [("arena_user_973", "chatglm-6b", "koala-13b", 0.0)],
    ),
    "fastchat log": ("vote-log", text(VOTE), [("1.2.3.4", "a", "b", 1.0)]),
    "lmarena 140k": ("arena", text(NEWER), [("s1", "m1", "m2", 0.5)]),
    "arena 55k": (
        "arena",
        KAGGLE,
        [
            ("unknown", "m1", "m2", 0.0),
            ("unknown", "m1", "m2", 1.0),
            ("unknown", "m2", "m1", 0.5),
        ],
    ),
    "mt-bench human": (
        "arena",
        json.dumps([BATTLE | {"judge": "author_2"}, BATTLE | {"judge": ["gpt-4", "pair-v2"]}]),
        [
            ("author_2", "chatglm-6b", "koala-13b", 0.0),
            ("gpt-4 pair-v2", "chatglm-6b", "koala-13b", 0.0),
        ],
    ),
    "mt-bench pair": (
        "mt-bench",
        text(PAIR_JUDGE),
        [
            ("gpt-4 pair-v2", "alpaca-13b", "gpt-3.5-turbo", 0.0),
            ("gpt-4 pair-v2", "gpt-3.5-turbo", "alpaca-13b", 0.5),
        ],
    ),
    "alpaca-eval": (
        "alpaca-eval",
        json.dumps([ALPACA, ALPACA | {"preference": 0}, ALPACA | {"preference": 2.0}]),
        [
            ("weighted", "gpt4_1106_preview", "FuseChat", 0.0),
            ("weighted", "gpt4_1106_preview", "FuseChat", 0.5),
            ("weighted", "gpt4_1106_preview", "FuseChat", 0.75),
        ],
    ),
    "crowd-kit": (
        "crowd-kit",
        "worker,left,right,label\nw1,a,b,a\nw2,a,b,b\n",
        [("w1", "a", "b", 1.0), ("w2", "a", "b", 0.0)],
    ),
    "choix pairs": (
        "choix",
        "[[0, 1], [2, 0]]",
        [("unknown", "0", "1", 1.0), ("unknown", "2", "0", 1.0)],
    ),
    "choix top-1": (
        "choix",
        "[[3, [1, 2]]]",
        [("ranking 1", "3", "1", 1.0), ("ranking 1", "3", "2", 1.0)],
    ),
    "choix rankings": (
        "choix",
        "[2, 0, 1]\n[1, 0]\n",
        [
            ("ranking 1", "0", "1", 1.0),
            ("ranking 1", "2", "0", 1.0),
            ("ranking 1", "2", "1", 1.0),
            ("unknown", "1", "0", 1.0),
        ],
    ),
    "evalica": (
        "evalica",
        "left,right,winner\na,b,left\nb,c,tie\nc,a,right\n",
        [("unknown", "a", "b", 1.0), ("unknown", "b", "c", 0.5), ("unknown", "c", "a", 0.0)],
    ),
    "preference pairs": (
        "preference-pairs",
        text({"prompt": "…", "chosen": "good", "rejected": "bad"}),
        [("unknown", "good", "bad", 1.0)],
    ),
    "preference conversations": (
        "preference-pairs",
        text(
            {
                "chosen": [{"role": "user", "content": "?"}, {"role": "a", "content": "yes"}],
                "rejected": [{"role": "user", "content": "?"}, {"role": "a", "content": "no"}],
            }
        ),
        [("unknown", "yes", "no", 1.0)],
    ),
    "gavel": (
        "gavel",
        "Annotator ID,Winner ID,Loser ID,Time\n3,11,12,2024-01-01\n",
        [("3", "11", "12", 1.0)],
    ),
    "no-more-marking": (
        "no-more-marking",
        "id,timeTaken(ms),createdAt,judgeId,chosen,notChosen\n1,5000,t,j1,s1,s2\n",
        [("j1", "s1", "s2", 1.0)],
    ),
    "all-our-ideas": ("all-our-ideas", IDEAS, [("s1", "12", "11", 0.0), ("s2", "13", "12", 1.0)]),
    "synonyms": (
        "table",
        "rater,item_a,item_b,result\nann,x,y,A\nann,y,z,B\nbob,x,y,draw\n",
        [("ann", "x", "y", 1.0), ("ann", "y", "z", 0.0), ("bob", "x", "y", 0.5)],
    ),
    "the winner by name": (
        "table",
        "user_id,option_1,option_2,winner\nann,x,y,y\nbob,x,y,x\nbob,x,y,tie\n",
        [("ann", "x", "y", 0.0), ("bob", "x", "y", 0.5), ("bob", "x", "y", 1.0)],
    ),
    "rankings, wide": (
        "rankings",
        "annotator,r1,r2,r3\nann,c,a,b\n",
        [("ann", "a", "b", 1.0), ("ann", "c", "a", 1.0), ("ann", "c", "b", 1.0)],
    ),
    "rankings, in one cell": (
        "rankings",
        "annotator,ranking\nann,a > b = c\n",
        [("ann", "a", "b", 1.0), ("ann", "a", "c", 1.0), ("ann", "b", "c", 0.5)],
    ),
    "rankings, long": (
        "rankings",
        "annotator,task,item,rank\nann,1,a,2\nann,1,b,1\nann,2,a,1\nann,2,b,1\n",
        [("ann", "a", "b", 0.5), ("ann", "b", "a", 1.0)],
    ),
    "best-worst": (
        "best-worst",
        "annotator,item1,item2,item3,item4,best,worst\nann,a,b,c,d,b,d\n",
        [
            ("ann", "a", "d", 1.0),
            ("ann", "b", "a", 1.0),
            ("ann", "b", "c", 1.0),
            ("ann", "b", "d", 1.0),
            ("ann", "c", "d", 1.0),
        ],
    ),
    "openreview": (
        "openreview",
        json.dumps(
            {
                "notes": [
                    {
                        "forum": paper,
                        "signatures": [who],
                        "invitations": ["V.cc/-/Official_Review"],
                        "content": {"rating": {"value": rating}, "review": {"value": "..."}},
                    }
                    for who, paper, rating in (("~A1", "p", 3), ("~A1", "q", 6), ("~B1", "p", 5))
                ]
            }
        ),
        [("~A1", "q", "p", 1.0)],
    ),
    "mt-bench single": (
        "mt-bench-single",
        text(
            *(
                {
                    "question_id": 81,
                    "model": model,
                    "judge": ["gpt-4", "single-v1"],
                    "user_prompt": "[Instruction] ...",
                    "judgment": "Rating: [[9]]",
                    "score": score,
                    "turn": turn,
                    "tstamp": 1687222781.1,
                }
                for turn, model, score in (
                    *((1, "alpaca", 4), (1, "vicuna", 8.5), (1, "llama", -1)),
                    *((2, "alpaca", 7), (2, "vicuna", 5), (2, "llama", 5)),
                )
            )
        ),
        [
            ("gpt-4 single-v1", "alpaca", "llama", 1.0),
            ("gpt-4 single-v1", "alpaca", "vicuna", 1.0),
            ("gpt-4 single-v1", "vicuna", "alpaca", 1.0),
            ("gpt-4 single-v1", "vicuna", "llama", 0.5),
        ],
    ),
    "arena-hard": (
        "arena-hard",
        text(
            {
                "uid": "q1",
                "judge": "gpt-4.1",
                "model": "m",
                "baseline": "o3",
                "games": [{"score": "A>B", "judgment": {}}, {"score": "A=B"}],
            },
            {
                "question_id": "q2",
                "judge": "gpt-4.1",
                "model": "m",
                "games": [{"score": "B>A", "judgment": "..."}, {"score": None}],
            },
        ),
        [
            ("gpt-4.1", "baseline", "m", 0.0),
            ("gpt-4.1", "m", "o3", 0.5),
            ("gpt-4.1", "o3", "m", 1.0),
        ],
    ),
    "hotcrp narrow": (
        "hotcrp",
        (
            "pid,review,email,round,status,field,format,data\n"
            "1,1A,ann@x.org,,complete,Overall merit,,4\n1,1A,ann@x.org,,complete,Novelty,,1\n"
            '1,1A,ann@x.org,,complete,Comments,,"Fine,\nbut"\n'
            "2,2A,ann@x.org,,complete,Overall merit,,2\n2,2A,ann@x.org,,complete,Novelty,,3\n"
            "3,3A,ann@x.org,,draft,Overall merit,,5\n"
        ),
        [("ann@x.org", "1", "2", 1.0)],
    ),
    "hotcrp wide": (
        "hotcrp",
        (
            "pid,review,email,round,Overall merit,Novelty\n1,1A,ann@x.org,R1,4. Accept,1\n"
            "2,2A,ann@x.org,R1,2. Reject,3\n2,2B,bob@x.org,R1,5. Accept,3\n"
        ),
        [("ann@x.org", "1", "2", 1.0)],
    ),
    "ratings": (
        "ratings",
        "annotator,item,rating\nann,a,3\nann,b,5\nbob,a,40\nbob,b,40\n",
        [("ann", "b", "a", 1.0), ("bob", "a", "b", 0.5)],
    ),
}


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_sample_is_known_and_read_as_by_hand(sample: str, tmp_path: Path) -> None:
    name, content, expected = SAMPLES[sample]
    path = tmp_path / "export"
    path.write_text(content, encoding="utf-8")
    found = aggcal.read_judgments(path)
    assert found.format == name
    assert judged(found) == expected
    assert judged(aggcal.read_judgments(path, format=name)) == expected


def test_every_format_has_a_sample() -> None:
    read = {name for name, _, _ in SAMPLES.values()}
    assert read | {"preflib", "all-our-ideas-non-votes"} == set(FORMATS)


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


def test_the_old_header_of_preflib(tmp_path: Path) -> None:
    path = tmp_path / "x.toc"
    path.write_text(OLD_PREFLIB)
    wins = by_pair(aggcal.read_judgments(path, ranking_weight="pair"))
    assert wins["A", "B"] == 2
    assert wins["B", "A"] == 1
    assert wins["B", "C"] == 2.5


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
    path.write_text(IDEAS)
    judgments = aggcal.read_judgments(path)
    assert judgments.unfitted.counts == {"skip": 1}
    assert judgments.seconds is not None
    assert judgments.seconds.tolist() == [3.5, 1.5]


def test_predictions_of_label_studio_are_annotators(tmp_path: Path) -> None:
    task = pairwise()
    result = task["annotations"][0]["result"]
    task["predictions"] = [{"id": 5, "model_version": "judge-1", "result": result}]
    path = tmp_path / "x.json"
    path.write_text(json.dumps([task]))
    assert [row[0] for row in judged(aggcal.read_judgments(path))] == ["10", "judge-1"]


def test_label_studio_asks_which_data_are_the_items(tmp_path: Path) -> None:
    task = pairwise()
    task["data"] |= {"img1": "p", "img2": "q"}
    path = tmp_path / "x.json"
    path.write_text(json.dumps([task]))
    with pytest.raises(OptionError, match=r"x\.json: record 1.*left_key="):
        aggcal.read_judgments(path)
    assert judged(aggcal.read_judgments(path, left_key="img1", right_key="img2")) == [
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
    record = {k: v for k, v in LABEL_STUDIO_MIN.items() if k != "pw"}
    record |= {"helpful": [{"selected": "right"}], "why": "so", "honest": {"selected": "left"}}
    path.write_text(json.dumps([record]))
    judgments = aggcal.read_judgments(path)
    assert judgments.criteria == ("helpful", "honest")
    assert judged(judgments) == [("4", "…a", "…b", 0.0), ("4", "…a", "…b", 1.0)]


@pytest.mark.parametrize(
    ("left", "right"),
    [("responseA", "responseB"), ("Text_A", "Text_B"), ("leftText", "rightText"), ("A", "B")],
)
def test_sides_of_label_studio_in_capitals(left: str, right: str) -> None:
    task = pairwise() | {"data": {"prompt": "p", left: {"id": "m1", "text": "…"}, right: "m2"}}
    assert judged(aggcal.read_judgments([task])) == [("10", "m1", "m2", 0.0)]


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
    responses = [SERVER, {"values": None, "status": "discarded", "user_id": "u"}]
    judgments = aggcal.read_judgments([record | {"responses": responses}])
    assert judgments.n_judgments == 1
    assert judgments.unfitted.counts == {"skip": 1}
    assert "skip (discarded): u" in str(judgments.unfitted)


def test_a_header_of_preflib_that_says_something_else(tmp_path: Path) -> None:
    path = tmp_path / "x.toc"
    path.write_text(PREFLIB.removesuffix("1: 4,1,{2,3}\n"))
    found = aggcal.read_judgments(path)
    assert "the header gives 6 voters, the orders are those of 5" in found.notes
    path.write_text(PREFLIB.replace("2: 3,2,1,4", "2: 3,2,1,9"))
    with pytest.raises(TableError, match="line 11: ranks the alternative 9"):
        aggcal.read_judgments(path)


def test_both_bad_can_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text(NEWER, NEWER | {"winner": "model_a"}))
    assert "both bad" in aggcal.read_judgments(path).notes[1]
    found = aggcal.read_judgments(path, outcomes={"both_bad": "skip"})
    assert judged(found) == [("s1", "m1", "m2", 1.0)]
    assert found.unfitted.counts == {"skip": 1}


UNKNOWN = {
    "arena": json.dumps([BATTLE | {"winner": "unclear"}] * 2 + [BATTLE]),
    "table": "annotator,left,right,outcome\nu,a,b,unclear\nu,a,c,unclear\nu,a,b,left\n",
    "evalica": "left,right,winner\na,b,unclear\na,c,unclear\na,b,left\n",
    "vote-log": text(VOTE | {"type": "unclear"}, VOTE | {"type": "unclear"}, VOTE),
    "label-studio": json.dumps([pairwise("unclear"), pairwise("unclear"), pairwise()]),
    "crowd-kit": "worker,left,right,label\nw,a,b,unclear\nw,a,c,unclear\nw,a,b,a\n",
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_label_is_counted_and_can_be_mapped(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(UNKNOWN[name])
    with pytest.raises(OutcomeError, match=r"'unclear' \(2x\).*outcomes=\{'unclear': MEANING\}"):
        aggcal.read_judgments(path)
    found = aggcal.read_judgments(path, outcomes={"unclear": "tie"})
    assert sorted(p for *_, p in judged(found))[1:2] == [0.5]
    assert found.n_judgments == 3


@pytest.mark.parametrize(
    ("content", "strengths"),
    [
        # Items that are called like sides, but the column holds items throughout.
        ("annotator,item_a,item_b,winner\nu,b,a,a\nu,b,c,c\n", [0.0, 0.0]),
        ("annotator,item_a,item_b,winner\nu,a,b,a\nu,a,b,b\nu,a,b,tie\n", [0.0, 0.5, 1.0]),
        ("annotator,item_a,item_b,winner\nu,3,0,0\nu,4,0,4\n", [0.0, 1.0]),
        ("left,right,winner\nx,y,x\nx,y,y\n", [0.0, 1.0]),
        ("left,right,winner\ny,x,x\ny,x,right\ny,x,draw\n", [0.0, 0.5, 1.0]),
        ("model_a,model_b,winner\nm1,m2,m2\nm1,m2,m1\nm1,m2,both_bad\n", [0.0, 0.5, 1.0]),
        ("user,option1,option2,choice\nu,a,b,option1\nu,a,b,option2\n", [0.0, 1.0]),
        ("user,choice1,choice2,winner\nu,a,b,b\nu,a,b,a\n", [0.0, 1.0]),
        ("rater,left,right,outcome\nu,x,y,0.25\nu,x,y,1\n", [0.25, 1.0]),
    ],
)
def test_the_outcome_is_a_side_or_an_item_throughout(
    content: str, strengths: list[float], tmp_path: Path
) -> None:
    path = tmp_path / "x.csv"
    path.write_text(content)
    assert sorted(p for *_, p in judged(aggcal.read_judgments(path))) == strengths


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("annotator,item_a,item_b,winner\nu,b,a,a\nu,b,a,b\n", "a side or an item"),
        ("left,right,winner\ny,x,x\nx,y,y\n", "a side or an item"),
        ("rater,item_a,item_b,label\nu,0,1,1\nu,1,0,1\n", "a side or an item"),
        (
            "annotator,item_a,item_b,winner\nu,3,9,9\nu,5,7,1\n",
            "'1', which is neither of its",
        ),
        ("worker,left,right,label\nw,5,7,1\nw,5,7,5\n", "'1', which is neither of its"),
    ],
)
def test_an_outcome_that_may_be_two_things_is_refused(
    content: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.csv"
    path.write_text(content)
    with pytest.raises(AggcalError, match=message):
        aggcal.read_judgments(path)


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


@pytest.mark.parametrize("content", ["annotator,winner,loser\nu,a,b\n", json.dumps([BATTLE])])
def test_an_annotator_that_is_not_needed_is_told(content: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(content)
    found = aggcal.read_judgments(path, annotator="me")
    assert "me" not in found.annotator_ids
    assert any("annotator 'me' is not used" in note for note in found.notes)


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


def test_one_annotator_can_be_named() -> None:
    rows = [{"winner": "a", "loser": "b"}]
    nobody = aggcal.read_judgments(rows)
    assert judged(nobody) == [("unknown", "a", "b", 1.0)]
    assert "errors may be too small if few people gave many answers" in nobody.notes[0]
    assert judged(aggcal.read_judgments(rows, annotator="me")) == [("me", "a", "b", 1.0)]


def test_records_and_frames_of_other_tools_are_read_from_memory() -> None:
    frame = pd.DataFrame({"worker": ["w"], "left": ["a"], "right": ["b"], "label": ["b"]})
    assert judged(aggcal.read_judgments(frame)) == [("w", "a", "b", 0.0)]
    assert aggcal.read_judgments([pairwise()]).format == "label-studio"
    assert judged(aggcal.read_judgments([(2, 0), (0, 1)], format="choix")) == [
        ("unknown", "0", "1", 1.0),
        ("unknown", "2", "0", 1.0),
    ]
    wide = pd.DataFrame({"annotator": ["u"], "r1": ["x"], "r2": ["y"]})
    assert judged(aggcal.read_judgments(wide)) == [("u", "x", "y", 1.0)]


NESTED_TABLES: dict[str, tuple[list[dict[str, Any]], Judged]] = {
    "arena": (
        [
            BATTLE | {"judge": ["gpt-4", "pair-v2"]},
            BATTLE | {"judge": ["gpt-4", "pair-v2"], "winner": "tie"},
        ],
        [
            ("gpt-4 pair-v2", "chatglm-6b", "koala-13b", 0.0),
            ("gpt-4 pair-v2", "chatglm-6b", "koala-13b", 0.5),
        ],
    ),
    "preference-pairs": (
        [
            {
                "chosen": [{"role": "user", "content": "?"}, {"role": "a", "content": "yes"}],
                "rejected": [{"role": "user", "content": "?"}, {"role": "a", "content": "no"}],
            }
        ],
        [("unknown", "yes", "no", 1.0)],
    ),
    "rankings": (
        [{"annotator": "u", "ranking": ["b", "a"]}],
        [("u", "b", "a", 1.0)],
    ),
    "argilla": ([FLAT], [("3f0c…", "response-2", "response-1", 1.0)]),
    "mt-bench": (
        [PAIR_JUDGE],
        [
            ("gpt-4 pair-v2", "alpaca-13b", "gpt-3.5-turbo", 0.0),
            ("gpt-4 pair-v2", "gpt-3.5-turbo", "alpaca-13b", 0.5),
        ],
    ),
    "label-studio": ([pairwise()], [("10", "In a little while…", "Death remembered…", 0.0)]),
}


@pytest.mark.parametrize("name", NESTED_TABLES)
def test_lists_in_the_cells_of_parquet_and_frames(name: str, tmp_path: Path) -> None:
    records, expected = NESTED_TABLES[name]
    path = tmp_path / "x.parquet"
    pd.DataFrame(records).to_parquet(path)
    brought = [path, tmp_path, pd.DataFrame(records), pd.read_parquet(path), pl.DataFrame(records)]
    for data in brought:
        found = aggcal.read_judgments(data)
        assert found.format == name
        assert judged(found) == expected


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


@pytest.mark.parametrize(
    "content",
    [
        ",annotator,item,rating\n0,u,a,3\n1,u,b,4\n",
        "annotator,item,rating,,\nu,a,3,,\nu,b,4,,\n",
        "rowid,_blank,annotator,item,rating\n7,x,u,a,3\n9,,u,b,4\n",
    ],
)
def test_other_columns_may_have_any_name_or_none(content: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(content)
    assert judged(aggcal.read_judgments(path)) == [("u", "b", "a", 1.0)]


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


@pytest.mark.parametrize(
    "content",
    [
        '[{"id": 1, "data": 3, "annotations": []}]',
        '[{"id": 1, "data": {}, "annotations": 3}]',
        '[{"id": 1, "data": {}, "annotations": [{"result": [{"type": "pairwise"}]}]}]',
        '[{"responses": {"q": 3}, "fields": {}}]',
        "[[1, 2], 3]",
        "[[1, [2, [3]]]]",
        "[" * 100_000,
        '{"a": ',
        "# DATA TYPE: wmd\n# NUMBER ALTERNATIVES: 2\n1: 1,2\n",
        "# NUMBER ALTERNATIVES: 2\n1: 1,{2\n",
        "# NUMBER ALTERNATIVES: 2\n99999999999999999999: 1,2\n",
        "2\n1,A\n2,B\n1,1,1\nx: 1\n",
        "annotator,item,rank\nu,a,x\n",
        "annotator,item,rating\nu,a,high\n",
        "annotator,best,worst,items\nu,a,z,a b c\n",
        "annotator,ranking\nu,a > b > a\n",
    ],
)
def test_damaged_exports_are_refused_by_name(content: str, tmp_path: Path) -> None:
    path = tmp_path / "damaged"
    path.write_text(content)
    with pytest.raises(AggcalError, match="damaged"):
        aggcal.read_judgments(path)


def test_both_bad_goes_by_any_spelling_and_labels_that_never_occur_are_told(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text(NEWER | {"winner": "tie (bothbad)"}, NEWER | {"winner": "model_a"}))
    found = aggcal.read_judgments(path, outcomes={"both_bad": "skip"})
    assert found.unfitted.counts == {"skip": 1}
    assert [note[:8] for note in found.notes] == ["read as:"]
    misspelt = aggcal.read_judgments(path, outcomes={"both bed": "skip"})
    assert any("no row has the outcome 'both bed'" in note for note in misspelt.notes)


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


@pytest.mark.parametrize(
    ("content", "said"), [("[]", "holds no records"), ('[{"annotator": "u", "win', "export")]
)
def test_empty_and_cut_json(content: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(AggcalError, match=said):
        aggcal.read_judgments(path)
