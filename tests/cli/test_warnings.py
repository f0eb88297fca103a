"""What is wrong with the data: the warnings of ``run``, the findings of ``check``."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import Command, table

WARNED = """annotator,left,right,outcome,id
u,a,b,left,1
u,a,b,left,1
u,b,c,left,2
u,c,a,left,3
u,c,d,left,4
u,d,d,tie,5
u,a,c,skip,6
u,x,y,left,7
"""


def test_every_warning_is_named_counted_and_not_fatal(tmp_path: Path, command: Command) -> None:
    (tmp_path / "j.csv").write_text(WARNED)
    (tmp_path / "s.csv").write_text("item,score\na,1\nb,2\nc,3\nextra,4\n")
    done = command("run", "j.csv", "s.csv", "-o", "out")
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    expected = [
        "1 row compares an item with itself. It was not fitted: 'u' compared 'd' with itself",
        "1 duplicate row. A row that equals another in every column is counted",
        "1 skip",
        "only one annotator. The consensus is the opinion of 'u'",
        "form 2 connected components",
        "outside it: 'x', 'y'",
        "2 items lost every comparison. Their deficits cannot be estimated: 'd', 'y'",
        "'x' won every comparison. Its lead cannot be estimated. Compare it with other top",
        "3 items in the consensus have no model score",
        "1 scored item was never judged.",
    ]
    for said in expected:
        assert any(said in warning for warning in summary["warnings"]), said
        assert said in done.stderr
    assert done.stderr.count("warning: ") == len(summary["warnings"])
    assert summary["n_rows"] == 8
    assert summary["not_fitted"] == {"self-pair": 1, "skip": 1}
    items = {row["item"]: row for row in table(tmp_path / "out" / "items.csv")}
    assert items["extra"] == {
        "item": "extra",
        "consensus": "",
        "consensus_se": "",
        "consensus_low": "",
        "consensus_high": "",
        "component": "",
        "rank": "",
        "rank_low": "",
        "rank_high": "",
        "sure_low": "",
        "sure_high": "",
        "model": "4.0",
        "calibrated": "",
        "score_source": "",
        "calibrated_low": "",
        "calibrated_high": "",
        "block": "",
        "n_judgments": "0",
        "win_rate": "",
        "decided_by": "",
        "decided_change": "",
        "rank_without": "",
    }
    assert items["x"]["calibrated"] == ""
    assert items["x"]["rank"] == "1"


def test_reversed_annotators_are_named_on_stderr(study_folder: Path, command: Command) -> None:
    done = command("run", study_folder / "judgments.csv", study_folder / "scores.csv", "-o", "out")
    turned = [
        row["annotator"]
        for row in table(study_folder / "annotators.csv")
        if float(row["reliability"]) < 0
    ]
    alone = command(
        "run", study_folder / "judgments.csv", study_folder / "scores.csv",
        "-o", "alone", "--no-check",
    )  # fmt: skip
    for run in (done, alone):
        assert f"which is random ('{turned[0]}'" in run.stderr


def test_reading_level_warnings(reading_level: Path, command: Command) -> None:
    done = command(
        "run",
        reading_level / "judgments.csv",
        reading_level / "items.csv",
        "--score-column",
        "s_p",
        "-o",
        "out",
        "--json",
        "--quiet",
    )
    summary = json.loads(done.stdout)
    assert summary["n_rows"] == 12_728
    assert summary["n_judgments"] == 12_726
    assert summary["not_fitted"] == {"self-pair": 2}
    assert summary["n_duplicates"] + summary["n_repeated"] == 25


def test_check_tells_what_is_wrong_and_what_to_do(tmp_path: Path, command: Command) -> None:
    (tmp_path / "j.csv").write_text(WARNED)
    (tmp_path / "s.csv").write_text("item,score\na,1\nb,2\nc,3\nextra,4\n")
    done = command("check", "j.csv", "s.csv", "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    codes = {finding["code"] for finding in found["findings"]}
    assert codes == {
        "self-pairs",
        "duplicate-rows",
        "unanswered",
        "one-annotator",
        "disconnected",
        "separation",
        "few-judgments",
        "unmatched-items",
    }
    assert all(finding["remedy"] for finding in found["findings"])
    counts = found["counts"]
    assert (counts["rows"], counts["judgments"], counts["items"]) == (8, 6, 6)
    assert (counts["components"], counts["never_win"], counts["never_lose"]) == (2, 2, 1)
    shown = command("check", "j.csv")
    assert "What to do:" in shown.stdout
    assert command("check", "j.csv", "--strict", "-q").returncode == 1
    (tmp_path / "other.csv").write_text("item,score\nq,1\n")
    assert "no-common-item" in command("check", "j.csv", "other.csv", "--json").stdout


def test_check_of_sound_data_finds_nothing(study_folder: Path, command: Command) -> None:
    (study_folder.parent / "j.csv").write_text(
        "annotator,winner,loser\n"
        + "".join(f"{u},{a},{b}\n" for u in "uv" for a in "abcd" for b in "abcd" if a != b)
    )
    done = command("check", "j.csv", "--strict")
    assert done.returncode == 0
    assert "No problems were found." in done.stdout


def test_a_model_that_runs_against_the_consensus_is_called_out(
    study_folder: Path, tmp_path: Path, command: Command
) -> None:
    rows = table(study_folder / "scores.csv")
    lines = "".join(f"{row['item']},{-float(row['score'])}\n" for row in rows)
    (tmp_path / "negated.csv").write_text("item,score\n" + lines)
    done = command("run", study_folder / "judgments.csv", "negated.csv", "-o", "out")
    assert done.returncode == 0
    assert "fall where the consensus rises" in done.stderr


def test_ids_that_nearly_match_are_pointed_out(tmp_path: Path, command: Command) -> None:
    (tmp_path / "j.csv").write_text("annotator,winner,loser\nu,GPT-4,b\nv,b,GPT-4\nv,1,b\n")
    (tmp_path / "s.csv").write_text("item,score\ngpt 4,1\nb,2\n1.0,3\n")
    done = command("run", "j.csv", "s.csv", "-o", "out")
    first = next(line for line in done.stderr.splitlines() if line.startswith("warning"))
    assert first.startswith("warning: 4 item ids are probably 2 items. They differ only in")
    assert ": '1', '1.0'; 'GPT-4', 'gpt 4'." in first
    found = command("check", "j.csv", "s.csv").stdout.partition("problem: ")[2]
    assert found.startswith("4 item ids are probably 2 items")
    merged = command("run", "j.csv", "s.csv", "-o", "out", "--normalize-ids")
    assert "probably" not in merged.stderr
    assert "no model score" not in merged.stderr
