"""Reviews as OpenReview, EasyChair and HotCRP export them, sheets of named raters, and grades."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal.errors import OptionError, TableError
from conftest import Command

RATED = {("Ada", "1"): 4, ("Ada", "2"): 2, ("Ada", "3"): 2, ("Bob", "1"): 1, ("Bob", "3"): 3}
WHOLE = [("Ada", "1", "2"), ("Ada", "1", "3"), ("Ada", "2", "3", "tie"), ("Bob", "3", "1")]


def _read(tmp_path: Path, text: str, name: str = "reviews.csv", **options: Any) -> aggcal.Judgments:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return aggcal.read_judgments(path, **options)


def _pairs(found: aggcal.Judgments) -> set[tuple[str, ...]]:
    """Who put what above what; a tie in the order of the ids."""
    said = set()
    for u, i, j, outcome in zip(
        found.annotator_ids[found.annotator],
        found.item_ids[found.left],
        found.item_ids[found.right],
        found.outcome.tolist(),
        strict=True,
    ):
        pair = (i, j) if outcome > 0.5 else (j, i)
        said.add((u, *sorted(pair), "tie") if outcome == 0.5 else (u, *pair))
    return said


def _note(who: str, paper: str, rating: Any, *, wrapped: bool, **more: Any) -> dict[str, Any]:
    content = {"rating": rating, "confidence": 3, "review": "..."} | more
    fields = {k: {"value": v} for k, v in content.items()} if wrapped else content
    kind = f"V.cc/2024/Conference/Submission{paper}/-/Official_Review"
    invited = {"invitations": [kind]} if wrapped else {"invitation": kind}
    return {
        "id": f"{who}{paper}",
        "forum": paper,
        "signatures": [who],
        "content": fields,
        **invited,
    }


def _notes(*, wrapped: bool) -> list[dict[str, Any]]:
    found = [
        _note(who, paper, rating if wrapped else f"{rating}: fair", wrapped=wrapped)
        for (who, paper), rating in RATED.items()
    ]
    paper = {"forum": "1", "signatures": ["~X"], "content": {"title": "T"}, "id": "1"}
    meta = _note("~AC", "1", None, wrapped=wrapped, recommendation="Accept (Oral)")
    meta["invitations"] = ["V.cc/2024/Conference/Submission1/-/Meta_Review"]
    return [*found, paper, meta]


@pytest.mark.parametrize("wrapped", [True, False], ids=["v2", "v1"])
@pytest.mark.parametrize("form", ["answer", "list", "lines", "replies"])
def test_openreview(tmp_path: Path, wrapped: bool, form: str) -> None:
    notes = _notes(wrapped=wrapped)
    text = {
        "answer": json.dumps({"notes": notes, "count": len(notes)}),
        "list": json.dumps(notes),
        "lines": "\n".join(map(json.dumps, notes)),
        "replies": json.dumps(
            [
                {"id": p, "forum": p, "content": {}, "details": {"replies": replies}}
                for p in "123"
                for replies in [[note for note in notes if note["forum"] == p]]
            ]
        ),
    }[form]
    found = _read(tmp_path, text, "notes.json")
    assert found.format == "openreview"
    assert _pairs(found) == set(WHOLE)
    assert any("without a rating left out" in note for note in found.notes)


def test_openreview_confidence_weighs_where_asked(tmp_path: Path) -> None:
    rows = [("~A", "p", 3, 4), ("~A", "q", 2, 1), ("~B", "p", 1, 5), ("~B", "q", 2, 2)]
    notes = [_note(who, p, r, wrapped=True, confidence=c) for who, p, r, c in rows]
    found = _read(tmp_path, json.dumps({"notes": notes}), "n.json")
    assert found.weight.tolist() == [1.0, 1.0]
    asked = _read(
        tmp_path, json.dumps({"notes": notes}), "n.json", columns={"weight": "confidence"}
    )
    np.testing.assert_allclose(asked.weight, [2 / 3, np.sqrt(10) / 3])


def test_anonymous_reviewers_cannot_be_compared(tmp_path: Path) -> None:
    notes = [
        _note(f"V.cc/2024/Conference/Submission{p}/Reviewer_x{k}", p, k, wrapped=True)
        for p in "123"
        for k in (1, 5)
    ]
    with pytest.raises(OptionError, match="reviewers have a name for each paper"):
        _read(tmp_path, json.dumps(notes), "n.json")
    who = {note["signatures"][0]: f"person {note['signatures'][0][-1]}" for note in notes}
    found = _read(tmp_path, json.dumps(notes), "n.json", aliases=who)
    assert found.annotator_ids.tolist() == ["person 1", "person 5"]


EASYCHAIR = (
    "#,submission #,member #,member name,number,version,text,scores,total score,"
    "reviewer first name,reviewer last name,reviewer email,reviewer person #,date,time,attachment?"
)


def _easychair(*, total: bool, scores: str) -> str:
    header = EASYCHAIR if total else EASYCHAIR.replace("total score,", "")
    lines = [header]
    for k, ((who, paper), rating) in enumerate(RATED.items()):
        for version, value in ((1, 9 - rating), (2, rating)):
            cells = [k, paper, 7, who, 1, version, '"Fine, ""but"""', scores.format(value)]
            cells += [value] * total + ["", "", "", "", "2024-05-01", "12:30", "no"]
            lines.append(",".join(map(str, cells)))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("total", [True, False])
def test_easychair_and_the_last_version_of_a_review(tmp_path: Path, total: bool) -> None:
    cell = '"Overall evaluation: {}\nReviewer\'s confidence: 4"'
    found = _read(tmp_path, _easychair(total=total, scores=cell))
    assert _pairs(found) == set(WHOLE)
    assert "5 earlier versions of reviews left out" in found.notes
    if not total:
        with pytest.raises(TableError, match=r"'1\|2\|-1' holds several scores"):
            _read(tmp_path, _easychair(total=False, scores="1|2|-1"))


def test_hotcrp(tmp_path: Path) -> None:
    head = "paper,title,review,reviewername,email,Overall merit,Reviewer expertise,Paper summary\n"
    rows = "".join(
        f'{p},"T, {p}",{p}A,{who},{who}@x.org,{r}. Fair,2. Some,"a\nb"\n'
        for (who, p), r in RATED.items()
    )
    assert _pairs(_read(tmp_path, head + rows)) == set(WHOLE)
    records = [
        {"object": "review", "pid": int(p), "reviewer_email": who, "OveMer": r}
        for (who, p), r in RATED.items()
    ]
    assert _pairs(_read(tmp_path, json.dumps(records), "r.json")) == set(WHOLE)


WIDE = "Paper,Ada,Bob\n1,4,1\n2,2,\n3,2,3\n"


def test_named_raters_are_asked_for_and_keep_their_spelling(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="one annotator's ratings, format='ratings' columns="):
        _read(tmp_path, WIDE)
    found = _read(tmp_path, WIDE, format="ratings", order="highest")
    assert _pairs(found) == set(WHOLE)
    titled = "Paper,Title,Ada,Bob\n1,On x,4,1\n2,On y,2,\n3,On z,2,3\n"
    with pytest.raises(TableError, match="format='ratings'"):
        _read(tmp_path, titled)
    found = _read(tmp_path, titled, format="ratings", order="highest")
    assert _pairs(found) == set(WHOLE)
    assert "columns without ratings are not used: 'Title'" in found.notes
    with pytest.raises(TableError, match="the rating 'good' is not a finite number"):
        _read(
            tmp_path, WIDE.replace("3,2,3", "3,2,good").replace("2,2,", "2,2,2"), format="ratings"
        )
    mails = WIDE.replace("Ada", "Ada@x.org").replace("Bob", "bob@x.org")
    assert _read(tmp_path, mails, order="highest").annotator_ids.tolist() == [
        "Ada@x.org",
        "bob@x.org",
    ]


def test_letters_need_an_order(tmp_path: Path) -> None:
    letters = {1: "C", 2: "b-", 3: "B", 4: "A+"}
    text = "teacher,essay,grade\n" + "".join(
        f"{w},{p},{letters[r]}\n" for (w, p), r in RATED.items()
    )
    with pytest.raises(TableError, match=r"are no numbers .found: .*A\+.*; .*order="):
        _read(tmp_path, text)
    for order in ("A+,A,B,B-,C", ["A+", "B", "b-", "c"]):
        assert _pairs(_read(tmp_path, text, order=order)) == set(WHOLE)
    with pytest.raises(TableError, match="the rating 'C' is not in the order"):
        _read(tmp_path, text, order="A+,B,B-")
    with pytest.raises(OptionError, match="order does not apply to table"):
        _read(tmp_path, "annotator,winner,loser\nu,a,b\n", order="A,B")


def test_marks_in_thirds_may_run_either_way(tmp_path: Path) -> None:
    marks = {1: "3.3", 2: "2.0", 3: "1.7", 4: "1.0"}
    text = "teacher,essay,grade\n" + "".join(f"{w},{p},{marks[r]}\n" for (w, p), r in RATED.items())
    with pytest.raises(OptionError, match="order='lowest' or order='highest'"):
        _read(tmp_path, text)
    assert _pairs(_read(tmp_path, text, order="lowest")) == set(WHOLE)
    assert _pairs(_read(tmp_path, text, order="1,1.3,1.7,2.0,3.3")) == set(WHOLE)
    turned = {(w, b, a, *tie) if not tie else (w, a, b, *tie) for w, a, b, *tie in WHOLE}
    assert _pairs(_read(tmp_path, text, order="highest")) == turned


def test_only_the_order_within_a_rater_counts(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 6, (4, 7))
    scales = (lambda x: x, lambda x: 10 * x - 100, lambda x: x**3, np.exp)

    def text(*, own: bool) -> str:
        rows = [
            f"r{u},p{i},{scales[u](float(x)) if own else x}\n"
            for u, row in enumerate(ratings)
            for i, x in enumerate(row)
        ]
        return "annotator,item,rating\n" + "".join(rows)

    plain, own = (_read(tmp_path, text(own=each)) for each in (False, True))
    assert _pairs(plain) == _pairs(own)
    assert plain.weight.tolist() == own.weight.tolist()


def test_ids_are_merged_by_all_commands(command: Command, tmp_path: Path) -> None:
    for name, text in (
        ("items.csv", "item,score\nEssay 1,2\nessay 2,1\nE3,0\n"),
        ("truth.csv", "item,truth\nessay 1,5\nEssay-2,4\nNo 3,1\n"),
        ("model.csv", "item,score\nESSAY 1,5\nEssay_2,4\nNo 3,4.5\n"),
        ("alias.csv", "alias,id\nNo 3,E3\n"),
        ("double.csv", "item,truth\nessay 1,5\nEssay-1,4\n"),
    ):
        (tmp_path / name).write_text(text)
    merged = ("--normalize-ids", "--alias", "alias.csv")
    assert command("evaluate", "items.csv", "truth.csv").returncode == 2
    done = command("evaluate", "items.csv", "truth.csv", *merged, "--json")
    assert json.loads(done.stdout)["n"] == 3
    assert "truth.csv: 3 spellings of items were changed" in done.stderr
    twice = command("evaluate", "items.csv", "double.csv", "--normalize-ids")
    assert (twice.returncode, "are one item, 'Essay 1'" in twice.stderr) == (2, True)
    done = command("calibrate", "items.csv", "model.csv", "-o", "out", *merged)
    assert done.returncode == 0, done.stderr
    items = (tmp_path / "out" / "items.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in items[1:]] == ["Essay 1", "essay 2", "E3"]
