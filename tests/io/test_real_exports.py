"""Exports as people have them: read as a person reads them, or refused with a way that works.

Each file tells of four essays of which ``e1`` is the best and ``e4`` the worst, so that it shows
if it is read the other way round, or if other columns are taken for the essays.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from workbooks import write_xlsx

import aggcal
from aggcal.errors import AggcalError

ESSAYS = ["e1", "e2", "e3", "e4"]
JUDGES = ["Ann", "Bob", "Cem"]
PAIRS = [(judge, *pair) for judge in JUDGES for pair in permutations(ESSAYS, 2)]
RATED = [(judge, essay, ESSAYS.index(essay)) for judge in JUDGES for essay in ESSAYS]


def table(head: str, rows: list[list[Any]], *, parted: str = ",") -> str:
    lines = [head.split(","), *rows]
    return "\n".join(parted.join(map(str, line)) for line in lines) + "\n"


def pairs(head: str, left: Any, right: Any, *, parted: str = ",") -> str:
    """Return a row for each pair: the judge, two essays, and a word for who won."""
    return table(head, [[j, a, b, left if a < b else right] for j, a, b in PAIRS], parted=parted)


def ratings(head: str, rate: Callable[[int], Any], *, parted: str = ",") -> str:
    """Return a row for each judge and essay, with what the essay in that place is given."""
    return table(head, [[j, e, rate(place)] for j, e, place in RATED], parted=parted)


def wide(names: str, cells: Callable[[int], Any], before: str = "Username") -> str:
    """Return a row for each judge and a column for each essay."""
    head = ",".join([before, *(names.format(essay) for essay in ESSAYS)])
    return table(head, [[judge, *map(cells, range(4))] for judge in JUDGES])


def net_wins(judgments: aggcal.Judgments) -> dict[str, float]:
    wins: dict[str, float] = defaultdict(float)
    ids = judgments.item_ids
    margins = (2 * judgments.outcome - 1) * judgments.weight
    for left, right, margin in zip(judgments.left, judgments.right, margins, strict=True):
        wins[ids[left]] += margin
        wins[ids[right]] -= margin
    return wins


def read(path: Path, **options: Any) -> aggcal.Judgments:
    """Read a file, and look whether it is read as its writer meant it."""
    judgments = aggcal.read_judgments(path, **options)
    wins = net_wins(judgments)
    assert sorted(wins, key=lambda essay: -wins[essay]) == ESSAYS
    return judgments


KAGGLE = table(
    "id,model_a,model_b,prompt,winner_model_a,winner_model_b,winner_tie",
    [
        [n, a, b, '"[""hi, there""]"', int(a < b), int(a > b), 0]
        for n, (_, a, b) in enumerate(PAIRS)
    ],
)
PSYCHOPY = table(
    "participant,session,trials.thisN,imgLeft,imgRight,key_resp.keys,key_resp.rt",
    [[j, 1, n, a, b, "left" if a < b else "right", 0.4] for n, (j, a, b) in enumerate(PAIRS)],
)
QUALTRICS = "\n".join(
    [
        "StartDate,Status,ResponseId,Q3_1,Q3_2,Q3_3,Q3_4",
        "Start Date,Response Type,Response ID,"
        + ",".join(f"Rank from best (1) to worst (4) - {essay}" for essay in ESSAYS),
        ",".join(f'"{{""ImportId"":""{name}""}}"' for name in "abcdefg"),
        *(f"2024-03-05 09:00:00,IP Address,R_{judge},1,2,3,4" for judge in JUDGES),
        "",
    ]
)
COUNTS = table(
    "winner,loser,count", [[a, b, 4 if a < b else 1] for a, b in permutations(ESSAYS, 2)]
)
MARKS = table(
    "Pupil,Ms Hall,Mr Smith,Average",
    [*([e, 80 - 9 * p, 75 - 8 * p, 77.5 - 8.5 * p] for p, e in enumerate(ESSAYS)),
     ["Average", 66, 63, 65], ["Max", 80, 75, 78]],
)  # fmt: skip

READ = {
    "Comproved": (
        pairs("Assessor,Representation A,Representation B,Selected", "A", "B", parted=";"),
        "A = left, B = right",
        3,
    ),
    "German pairs": (
        pairs("Prüfer,Linker Text,Rechter Text,Gewinner", "links", "rechts", parted=";"),
        "links = left, rechts = right",
        3,
    ),
    "French pairs": (
        pairs("Évaluateur,Copie gauche,Copie droite,Choix", "gauche", "droite", parted=";"),
        "droite = right, gauche = left",
        3,
    ),
    "the right one is preferred": (
        pairs("rater,a,b,prefers_b", "False", "True"), "False = left, True = right", 3,
    ),
    "the weaker one is asked for": (
        pairs("Judge,Essay A,Essay B,Which essay is weaker?", "B", "A"), "A = right, B = left", 3,
    ),
    "the loser is named": (
        table("judge,left,right,loser", [[j, a, b, max(a, b)] for j, a, b in PAIRS]), "lost", 3,
    ),
    "Kaggle's Arena": (KAGGLE, "names no annotators", 1),
    "PsychoPy": (PSYCHOPY, 'left = "imgLeft"', 3),
    "home and away": (
        pairs("Referee,HomeTeam,AwayTeam,FTR", "H", "A").replace("FTR", "FTR,HTR").replace(
            ",H\n", ",H,D\n").replace(",A\n", ",A,H\n") + "Ann,e1,e2,D,A\n",
        "A = right, D = tie", 1,
    ),
    "columns that the answer names": (
        pairs("rater,baseline,candidate,better", "baseline", "candidate"),
        "baseline = left, candidate = right",
        3,
    ),
    "how often each side won": (
        table("model_a,model_b,a_wins,b_wins,ties",
              [[a, b, *((5, 2) if a < b else (2, 5)), 1] for a, b in permutations(ESSAYS, 2)]),
        "'a_wins', 'b_wins', 'ties' say how often each side won",
        1,
    ),
    "which side was ticked": (
        table("WorkerId,Input.left,Input.right,Answer.left.on,Answer.right.on",
              [[j, a, b, str(a < b).lower(), str(a > b).lower()] for j, a, b in PAIRS]),
        "say how often each side won", 3,
    ),
    "the probability of a side": (
        pairs("judge,left,right,prob_b_wins".replace("left,right", "a,b"), 0.1, 0.8),
        "strength of the right", 3,
    ),
    "signs": (pairs("judge,a,b,result", ">", "<") + "Ann,e1,e2,=\n", "= = tie", 3),
    "a sentence": (
        pairs("judge,a,b,result", "La copie A est meilleure", "Text 1 ist schlechter"), "left", 3,
    ),
    "LimeSurvey": (
        table("id,submitdate,lastpage,rank[1],rank[2],rank[3],rank[4]",
              [[k, "2024-03-05", 3, *ESSAYS] for k in (7, 8, 9)]), 'annotator = "id"', 3,
    ),
    "evalica": (
        pairs("judge,left,right,winner", "left", "right"), 'outcome = "winner"', 3,
    ),
    "a table of counts": (COUNTS, 'weight = "count"', 1),
    "grades that say which is the best": (
        ratings("Judge,Wine,Quality", lambda p: ["1 - excellent", "2", "3", "4 - poor"][p]),
        "the lowest rating is taken for the best",
        3,
    ),
    "marks out of twenty": (
        ratings("Correcteur,Copie,Note sur 20", lambda p: f"{18 - 3 * p},5", parted=";"),
        "the highest rating is taken for the best",
        3,
    ),
    "out of five, with some absent": (
        ratings("userId,movieId,rating", lambda p: f"{5 - p}/5") + "Dan,e1,abs\n", "highest", 3,
    ),
    "stars": (ratings("judge,team,stars", lambda p: f"{4 - p} stars"), "highest", 3),
    "the lower, the better": (
        ratings("judge,wine,score (lower is better)", lambda p: 1 + 4 * p), "lowest rating", 3,
    ),
    "a title above marks": (
        "Year 6 writing\n\n" + MARKS, "the header was found in line 3", 2,
    ),
    "a sheet of marks with averages": (MARKS, "each of 2 columns is one annotator's", 2),
    "Google Forms, a grid of choices": (
        wide("Rank them [{}]", lambda p: ["1st", "2nd", "3rd", "4th"][p] + " choice"),
        "the lowest rating is taken for the best",
        3,
    ),
    "Qualtrics": (QUALTRICS, "the lowest rating is taken for the best", 3),
}  # fmt: skip


@pytest.mark.parametrize("kind", READ)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_what_has_one_reading_is_read_and_said(tmp_path: Path, kind: str, encoding: str) -> None:
    text, said, annotators = READ[kind]
    path = tmp_path / "export.csv"
    path.write_bytes(text.encode(encoding))
    judgments = read(path)
    assert judgments.n_annotators == annotators
    assert said in " ".join(judgments.notes)


ASKED: dict[str, tuple[str, list[str], dict[str, Any]]] = {
    "0 and 1 may be positions": (
        pairs("Teacher,Pupil 1,Pupil 2,Better", 0, 1),
        ["'1': 'left'", "'1': 'right'"],
        {"outcomes": {"0": "left", "1": "right"}},
    ),
    "numbers of 7 steps": (
        pairs("annotator,response_a,response_b,preference_1_7", 2, 6),
        ["'outcome': NAME"],
        {"columns": {"left": "response_a", "right": "response_b", "outcome": "preference_1_7"},
         "strength_scale": "1:7"},
    ),
    "left is below 0": (
        pairs("rater,a,b,result", -1, 1) + "Dan,e1,e2,0\n",
        ["'-1': MEANING", "strength_scale='-1:1'"],
        {"outcomes": {"-1": "left", "0": "tie", "1": "right"}},
    ),
    "German marks": (
        ratings("Prüfer,Arbeit,Note", lambda p: p + 1), ["lowest", "highest"], {"order": "lowest"},
    ),
    "errors": (
        ratings("rater,item,errors", lambda p: 3 * p + 2), ["lowest", "highest"],
        {"order": "lowest"},
    ),
    "ranks from 0": (
        ratings("judge,item,rank", lambda p: p), ["rank 0", "lowest"], {"order": "lowest"},
    ),
    "labels": (
        ratings("Grader,Student,Grade", lambda p: "ABCD"[p]), ["A,B,C,D", "the best first"],
        {"order": "A,B,C,D"},
    ),
    "a code for none": (
        ratings("rater,item,rating", lambda p: 4 - p)
        + ratings("Dan,e1,99", lambda _: 1).splitlines()[0] + "\n",
        ["99", "stand for no answer"],
        {},
    ),
    "a key above marks": (
        "Marks: 1 (best) to 6 (worst);;\n;;\n"
        + ratings("Examiner,Script,Mark", lambda p: p + 1, parted=";"),
        ["'Marks: 1 (best) to 6 (worst)'", "order='lowest'"],
        {"order": "lowest"},
    ),
    "places for items": (
        table("annotator,winner,loser", [["Ann", 0, 1], ["Bob", 1, 0]]), ["'0', '1'", "places"], {},
    ),
    "won and lost": (
        pairs("judge,model_a,model_b,result", "W", "L"), ["'L': MEANING"],
        {"outcomes": {"W": "left", "L": "right"}},
    ),
    "the less convincing one": (
        pairs("Judge,Essay A,Essay B,Which is less convincing?", "B", "A"),
        ["may name the better or the worse"],
        {"outcomes": {"A": "right", "B": "left"}},
    ),
    "ids or places": (
        table("judge,r1,r2,r3", [["Ann", 1, 2, 3], ["Bob", 2, 1, 3]]), ["rankings", "ratings"], {},
    ),
    "shown the other way round": (
        table("judge,a,b,swapped,choice", [[j, a, b, n % 2 == 1, "A" if a < b else "B"]
                                           for n, (j, a, b) in enumerate(PAIRS)]),
        ["'swapped': 'swapped'", "shown"],
        {"columns": {"outcome": "choice"}},
    ),
    "draws beside winner and loser": (
        table("judge,winner,loser,draw",
              [[j, a, b, n % 5 == 0] for n, (j, a, b) in enumerate(PAIRS) if a < b]),
        ["rows with 'True' are draws", "{'False': 'left', 'True': 'tie'}"],
        {"columns": {"winner": "winner", "loser": "loser"}},
    ),
    "results beside winner and loser": (
        table("judge,winner,loser,result",
              [[j, a, b, "won" if n % 5 else "tie"] for n, (j, a, b) in enumerate(PAIRS) if a < b]),
        ["rows with 'tie' are draws"],
        {"columns": {"left": "winner", "right": "loser", "outcome": "result"},
         "outcomes": {"won": "left", "tie": "tie"}},
    ),
    "where the first one was shown": (
        table("judge,a,b,shown_first,choice",
              [[j, a, b, (a, b)[n % 2], ("A" if a < b else "B") if n % 2 == 0 else "AB"[a < b]]
               for n, (j, a, b) in enumerate(PAIRS)]),
        ["'swapped': 'shown_first'"],
        {"columns": {"swapped": "shown_first"}},
    ),
    "a gradebook": (
        "Student,ID,SIS Login ID,Essay 1 (12),Essay 2 (13),Final Score\n"
        "    Points Possible,,,40,40,(read only)\n"
        + "".join(f"{e},10{p},u{p},{39 - p},{35 - p},{37 - p}\n" for p, e in enumerate(ESSAYS)),
        ["Student, ID", "columns={'item': NAME}"],
        {"format": "ratings", "columns": {"item": "Student"}},
    ),
    "best and worst in other words": (
        table("resp,set,alt1,alt2,alt3,alt4,Most,Least",
              [[j, k, *ESSAYS, "e1", "e4"] for k, j in enumerate(JUDGES)]
              + [["Ann", 4, *ESSAYS[1:], "e1", "e2", "e4"], ["Bob", 5, *ESSAYS, "e1", "e3"]] * 3
              + [["Cem", 6, *ESSAYS, "e2", "e3"]]),
        ["Most, Least"],
        {"columns": {"best": "Most", "worst": "Least"}},
    ),
    "decimals or thousands": (
        ratings("rater,item,score", lambda p: ["10.500", "987", "900", "800"][p], parted=";"),
        ["10,500 or 10500"], {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", ASKED)
def test_what_has_two_readings_is_asked_and_the_answer_works(tmp_path: Path, kind: str) -> None:
    text, said, answer = ASKED[kind]
    path = tmp_path / "export.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(AggcalError) as caught:
        aggcal.read_judgments(path)
    for words in said:
        assert words in str(caught.value)
    if answer:
        read(path, **answer)


def test_columns_of_ranks_ask_which_end_is_the_best(tmp_path: Path) -> None:
    (tmp_path / "ranks.csv").write_text(wide("{}", lambda p: p + 1, "rater"))
    with pytest.raises(AggcalError, match="say which is the best"):
        aggcal.read_judgments(tmp_path / "ranks.csv", format="ratings")
    read(tmp_path / "ranks.csv", format="ratings", order="lowest")


def test_records_and_workbooks(tmp_path: Path) -> None:
    won = {True: "model_a", False: "model_b"}
    battles = [{"model_a": a, "model_b": b, "winner": won[a < b], "judge": j, "turn": 1}
               for j, a, b in PAIRS]  # fmt: skip
    with gzip.open(tmp_path / "battles.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(battle) + "\n" for battle in battles)
    assert read(tmp_path / "battles.jsonl.gz").n_annotators == 3
    ranks = [{"annotator": j, "ranking": {e: p + 1 for p, e in enumerate(ESSAYS)}} for j in JUDGES]
    (tmp_path / "ranks.json").write_text(json.dumps(ranks), encoding="utf-8")
    assert read(tmp_path / "ranks.json").n_annotators == 3
    marks: list[list[Any]] = [[e, 80 - p, 75 - p] for p, e in enumerate(ESSAYS)]
    title: list[list[Any]] = [["Year 6 writing", "", ""], ["", "", ""]]
    sheet = [*title, ["Pupil", "Marker 1", "Marker 2"], *marks, ["Mean", 66, 63]]
    write_xlsx(tmp_path / "marks.xlsx", {"Marks": sheet})
    assert read(tmp_path / "marks.xlsx").n_annotators == 2


@pytest.mark.parametrize("orient", ["columns", "index", "split", "values"])
def test_frames_as_pandas_writes_them(tmp_path: Path, orient: Any) -> None:
    names = ["annotator", "left", "right", "outcome"]
    frame = pd.DataFrame([[*row, "left" if row[1] < row[2] else "right"] for row in PAIRS])
    if orient == "values":
        frame = pd.concat([pd.DataFrame([names]), frame])
    else:
        frame.columns = pd.Index(names)
    frame.to_json(tmp_path / "frame.json", orient=orient)
    assert read(tmp_path / "frame.json").n_annotators == 3
