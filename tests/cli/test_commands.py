"""The commands, as a user types them."""

from __future__ import annotations

import csv
import json
import re
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest

from aggcal.aggregation import METHODS
from conftest import ROOT, Command


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def study_folder(tmp_path: Path, command: Command) -> Path:
    done = command(
        "simulate",
        "-o",
        "data",
        "--items",
        "25",
        "--annotators",
        "12",
        "--judgments",
        "1500",
        "--reversed",
        "0.1",
        "--seed",
        "3",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    return tmp_path / "data"


def test_run_writes_the_files_of_the_contract(
    study_folder: Path, tmp_path: Path, command: Command
) -> None:
    done = command(
        "run",
        study_folder / "judgments.csv",
        study_folder / "scores.csv",
        "-o",
        "out",
        "--seed",
        "0",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    out = tmp_path / "out"
    assert sorted(p.name for p in out.iterdir()) == [
        "annotators.csv",
        "items.csv",
        "report.html",
        "report.md",
        "summary.json",
    ]
    items = table(out / "items.csv")
    assert list(items[0]) == [
        "item",
        "consensus",
        "consensus_se",
        "rank",
        "rank_low",
        "rank_high",
        "model",
        "calibrated",
        "calibrated_low",
        "calibrated_high",
        "block",
        "n_judgments",
    ]
    for row in items:
        assert float(row["consensus_se"]) > 0.0
        assert int(row["rank_low"]) <= int(row["rank"]) <= int(row["rank_high"])
        ends = float(row["calibrated_low"]), float(row["calibrated_high"])
        assert ends[0] <= float(row["calibrated"]) <= ends[1]
    assert [int(row["rank"]) for row in items] == list(range(1, 26))
    values = [float(row["calibrated"]) for row in items]
    assert values == sorted(values, reverse=True)
    assert sum(int(row["n_judgments"]) for row in items) == 3000
    model = {row["item"]: row["score"] for row in table(study_folder / "scores.csv")}
    assert all(row["model"] == model[row["item"]] for row in items)
    annotators = table(out / "annotators.csv")
    assert list(annotators[0]) == [
        "annotator",
        "reliability",
        "reliability_low",
        "reliability_high",
        "n_judgments",
        "agreement",
    ]
    assert sum(float(row["reliability"]) < 0 for row in annotators) == 1
    summary = json.loads((out / "summary.json").read_text())
    assert {
        "version",
        "method",
        "calibrator",
        "n_items",
        "n_annotators",
        "n_judgments",
        "objective",
        "log_likelihood",
        "converged",
        "iterations",
        "gradient_norm",
        "seconds",
        "blocks",
        "shift_rms",
        "warnings",
        "guarantees",
    } <= set(summary)
    assert summary["converged"] is True
    assert summary["n_judgments"] == 1500
    assert summary["blocks"] == len({row["block"] for row in items})
    assert summary["reversed_annotators"] == [annotators[-1]["annotator"]]


def test_results_are_the_same_to_the_bit(
    study_folder: Path, tmp_path: Path, command: Command
) -> None:
    for name in ("one", "two"):
        command(
            "run", study_folder / "judgments.csv", study_folder / "scores.csv", "-o", name, "-q"
        )
    for file in ("items.csv", "annotators.csv", "report.html"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_stages_one_by_one_equal_run(study_folder: Path, tmp_path: Path, command: Command) -> None:
    command("run", study_folder / "judgments.csv", study_folder / "scores.csv", "-o", "whole", "-q")
    done = command("aggregate", study_folder / "judgments.csv", "-o", "first")
    assert done.returncode == 0, done.stderr
    assert list(table(tmp_path / "first" / "items.csv")[0]) == [
        "item",
        "consensus",
        "consensus_se",
        "rank",
        "rank_low",
        "rank_high",
        "n_judgments",
    ]
    assert (tmp_path / "first" / "report.html").exists()
    done = command("calibrate", "first/items.csv", study_folder / "scores.csv", "-o", "second")
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in (tmp_path / "second").iterdir()) == ["items.csv", "summary.json"]
    whole, second = (
        table(tmp_path / "whole" / "items.csv"),
        table(tmp_path / "second" / "items.csv"),
    )
    for a, b in zip(whole, second, strict=True):
        # From a table only standard errors are known, not the covariance: intervals differ.
        same = set(b) - {"calibrated_low", "calibrated_high"}
        assert {k: a[k] for k in same} == {k: b[k] for k in same}


@pytest.mark.parametrize("method", list(METHODS))
def test_every_method_runs_and_json_goes_to_stdout(
    method: str, study_folder: Path, command: Command
) -> None:
    done = command(
        "run",
        study_folder / "judgments.csv",
        study_folder / "scores.csv",
        "-o",
        "out",
        "--method",
        method,
        *(("--features", "identity") if METHODS[method].from_features else ()),
        "--json",
        "--quiet",
    )
    assert done.returncode == 0
    assert done.stderr == ""
    summary = json.loads(done.stdout)
    assert summary["method"] == method
    assert summary["converged"] is True
    can_tell = method.startswith(("hra", "crowd"))
    assert len(summary["reversed_annotators"]) == (1 if can_tell else 0)


@pytest.mark.parametrize(
    "prior",
    [("--prior", "auto"), ("--prior", "none"), ("--score-sd", "2", "--reliability-sd", "1")],
    ids=str,
)
def test_priors_can_be_chosen(prior: tuple[str, ...], study_folder: Path, command: Command) -> None:
    done = command("aggregate", study_folder / "judgments.csv", "-o", "out", *prior, "--json", "-q")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)["prior"]
    assert (
        said
        == {"auto": said, "none": None, "2": {"score_sd": 2.0, "reliability_sd": 1.0}}[prior[1]]
    )


def test_evaluate_prints_the_metrics_of_the_contract(
    study_folder: Path, tmp_path: Path, command: Command
) -> None:
    command("run", study_folder / "judgments.csv", study_folder / "scores.csv", "-o", "out", "-q")
    done = command("evaluate", "out/items.csv", study_folder / "truth.csv", "--json")
    found = json.loads(done.stdout)
    assert list(found) == ["n", "consensus", "model", "calibrated"]
    assert list(found["model"]) == [
        "tau_a",
        "tau_b",
        "spearman",
        "mse",
        "rmse",
        "wasserstein",
        "ks",
        "kl",
    ]
    assert found["n"] == 25
    latent = command(
        "evaluate",
        "out/items.csv",
        study_folder / "truth.csv",
        "--truth-column",
        "latent",
        "--json",
    )
    assert json.loads(latent.stdout)["consensus"]["mse"] < 0.2
    shown = command("evaluate", "out/items.csv", study_folder / "truth.csv", "--centred")
    assert "tau_a" in shown.stdout
    (tmp_path / "some.csv").write_text("item,truth\nitem-01,3\nitem-02,\nitem-03,4\nother,1\n")
    partly = command("evaluate", "out/items.csv", "some.csv", "--json")
    assert json.loads(partly.stdout)["n"] == 2
    assert "23 items of out/items.csv left out" in partly.stderr
    assert "2 rows of some.csv left out" in partly.stderr


WARNED = """annotator,left,right,outcome
u,a,b,left
u,a,b,left
u,b,c,left
u,c,a,left
u,c,d,left
u,d,d,tie
u,a,c,skip
u,x,y,left
"""


def test_every_warning_is_named_counted_and_not_fatal(tmp_path: Path, command: Command) -> None:
    (tmp_path / "j.csv").write_text(WARNED)
    (tmp_path / "s.csv").write_text("item,score\na,1\nb,2\nc,3\nextra,4\n")
    done = command("run", "j.csv", "s.csv", "-o", "out")
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    expected = [
        "1 self-pair was not fitted ('u' compared 'd' with itself)",
        "1 row repeats an earlier one",
        "1 skip",
        "one annotator only ('u')",
        "into 2 separate pieces",
        "outside it: 'x', 'y'",
        "2 items never win ('d', 'y')",
        "1 item never loses ('x')",
        "3 items of the consensus have no model score",
        "1 scored item was never judged ('extra')",
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
        "rank": "",
        "rank_low": "",
        "rank_high": "",
        "model": "4.0",
        "calibrated": "",
        "calibrated_low": "",
        "calibrated_high": "",
        "block": "",
        "n_judgments": "0",
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
    assert f"negative reliability ('{turned[0]}')" in done.stderr


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
    assert summary["n_repeated"] == 25


def test_check_tells_what_is_wrong_and_what_to_do(tmp_path: Path, command: Command) -> None:
    (tmp_path / "j.csv").write_text(WARNED)
    (tmp_path / "s.csv").write_text("item,score\na,1\nb,2\nc,3\nextra,4\n")
    done = command("check", "j.csv", "s.csv", "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    codes = {finding["code"] for finding in found["findings"]}
    assert codes == {
        "self-pairs",
        "repeated-rows",
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
    assert "what to do:" in shown.stdout
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
    assert "nothing stands out" in done.stdout


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
    assert "2 of them differ from an id of the other table only in case" in done.stderr
    assert "only in case" in command("check", "j.csv", "s.csv").stdout


def test_judgments_may_come_through_a_pipe(command: Command) -> None:
    text = "annotator,winner,loser\nu,a,b\nv,b,a\n"
    done = command("aggregate", "-", "-o", "out", "--json", "-q", input=text)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["n_judgments"] == 2
    bad = command("aggregate", "-", "-o", "out2", input=text + "u,a\n")
    assert bad.returncode == 2
    assert "-: line 4 has too few" in bad.stderr


def test_the_example_of_readme_runs_as_it_stands(study_folder: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    assert len([line for line in example.splitlines() if line.strip()]) <= 12
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", example],
        cwd=study_folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Consensus by hra-g" in done.stdout
    assert (study_folder / "out" / "report.html").exists()


def test_methods_lists_every_method(command: Command) -> None:
    done = command("methods")
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(METHODS)
    assert list(json.loads(command("methods", "--json").stdout)) == list(METHODS)


class Page(HTMLParser):
    """Collects what a browser would fetch or show."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_demo_names_a_report_that_is_self_contained_and_right(
    tmp_path: Path, command: Command
) -> None:
    done = command("demo", "-o", "demo")
    assert done.returncode == 0, done.stderr
    report = Path(done.stdout.splitlines()[-1])
    assert report == (tmp_path / "demo" / "report.html").resolve()
    page = Page()
    page.feed(report.read_text(encoding="utf-8"))
    assert all(link.startswith("#") for link in page.links)
    assert page.tags.count("script") == 4  # the theme, the two tables and what sorts them
    assert page.tags.count("svg") == 3
    items = table(tmp_path / "demo" / "items.csv")
    assert page.tags.count("circle") == len(items)
    assert f"{float(items[0]['calibrated']):.4g}" in page.text
    for row in table(tmp_path / "demo" / "annotators.csv"):
        assert row["annotator"] in page.text
    metrics = json.loads(
        command("evaluate", "demo/items.csv", "demo/data/truth.csv", "--json").stdout
    )
    assert metrics["calibrated"]["mse"] < metrics["model"]["mse"]
    assert metrics["consensus"]["tau_a"] > metrics["model"]["tau_a"]


def test_ids_that_look_like_html_stay_text(tmp_path: Path, command: Command) -> None:
    (tmp_path / "j.csv").write_text('annotator,winner,loser\n<b>u</b>,<script>a,"b & ""c"""\n')
    (tmp_path / "s.csv").write_text('item,score\n<script>a,1\n"b & ""c""",2\n')
    done = command("run", "j.csv", "s.csv", "-o", "out")
    assert done.returncode == 0, done.stderr
    page = Page()
    page.feed((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
    assert page.tags.count("script") == 4  # none of them from an id
    assert "<script>a" in page.text
    assert [row["item"] for row in table(tmp_path / "out" / "items.csv")] == [
        "<script>a",
        'b & "c"',
    ]


def test_help_and_version(command: Command) -> None:
    done = command("--help")
    assert done.returncode == 0
    for name in (
        "run",
        "aggregate",
        "calibrate",
        "check",
        "evaluate",
        "simulate",
        "methods",
        "demo",
    ):
        assert name in done.stdout
        assert command(name, "--help").returncode == 0
    assert command("--version").stdout.startswith("aggcal 0.")


def test_help_does_not_wait_for_the_numbers() -> None:
    """What makes ``--help`` fast: none of the heavy libraries is imported for it."""
    code = (
        "import sys\nfrom aggcal.cli import main\n"
        "try: main(['run', '--help'])\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'duckdb', 'narwhals', 'jinja2'} & set(sys.modules)\n"
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_reader_that_has_seen_enough_is_no_fault(tmp_path: Path) -> None:
    pipe = subprocess.Popen(
        [sys.executable, "-m", "aggcal", "methods"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert pipe.stdout is not None
    assert pipe.stderr is not None
    pipe.stdout.close()
    assert pipe.stderr.read() == ""
    assert pipe.wait(timeout=60) == 0
    pipe.stderr.close()


@pytest.mark.parametrize("seconds", [1.0, 3.0], ids=["reading", "fitting"])
def test_interruption_writes_nothing_and_exits_130(
    seconds: float, tmp_path: Path, command: Command
) -> None:
    command(
        "simulate",
        "-o",
        "data",
        "--items",
        "2000",
        "--judgments",
        "400000",
        "--annotators",
        "2000",
        "-q",
    )
    arguments = ["aggregate", "data/judgments.csv", "-o", "out", "--prior", "auto"]
    for patience in (1.0, 4.0, 10.0):
        process = subprocess.Popen(
            [sys.executable, "-m", "aggcal", *arguments],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(seconds * patience)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        if process.returncode != -signal.SIGINT:
            break  # else Python itself was still starting, on a busy machine
    assert process.returncode == 130
    assert said.strip().endswith("interrupted; nothing was written.")
    assert "Traceback" not in said
    assert not (tmp_path / "out").exists()


def test_anchors_model_sd_and_a_second_model_through_the_command(
    study_folder: Path, tmp_path: Path, command: Command
) -> None:
    judgments, scores = study_folder / "judgments.csv", study_folder / "scores.csv"
    truth = table(study_folder / "truth.csv")
    anchors = tmp_path / "anchors.csv"
    anchors.write_text("item,truth\n" + "".join(f"{r['item']},{r['truth']}\n" for r in truth[:20]))
    done = command(
        "run", judgments, scores, "-o", "anchored", "--calibrator", "fused",
        "--anchors", anchors, "--level", "0.9",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "intervals at 0.9: coverage of the truth" in done.stderr
    assert "the mean squared error" in done.stderr
    summary = json.loads((tmp_path / "anchored" / "summary.json").read_text())
    assert summary["calibrated_interval"] == {"covers": "coverage of the truth", "level": 0.9}
    assert summary["n_anchors"] == 20
    assert summary["guarantees"]["measured_gain"]["values"]["anchors"] > 0
    report = (tmp_path / "anchored" / "report.html").read_text()
    assert "What may be claimed" in report
    assert "coverage of the truth" in report
    done = command(
        "run", judgments, scores, "-o", "second", "--calibrator", "fused", "--second-model", scores
    )
    assert done.returncode == 0, done.stderr
    done = command("run", judgments, scores, "-o", "safe", "--calibrator", "safe", "--model-sd", 9)
    assert done.returncode == 0, done.stderr
    assert "safe" in json.loads((tmp_path / "safe" / "summary.json").read_text())["guarantees"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--calibrator", "safe"], "give --model-sd"),
        (["--model-sd", "-1"], "the model sd is -1.0; give a number above 0."),
        (["--level", "95"], "the level is 95.0; give a number between 0 and 1, such as 0.95."),
        (["--anchors", "none.csv"], "none.csv"),
        (["--second-model", "SCORES"], "of use to 'fused' only"),
        (["--uncertainty", "sandwich"], "choose laplace or bootstrap"),
        (["--uncertainty", "bootstrap", "--draws", "2"], "give at least 10"),
    ],
)
def test_options_of_stage_2_that_cannot_be(
    arguments: list[str], said: str, study_folder: Path, tmp_path: Path, command: Command
) -> None:
    scores = study_folder / "scores.csv"
    given = [str(scores) if a == "SCORES" else a for a in arguments]
    done = command("run", study_folder / "judgments.csv", scores, "-o", "out", *given)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_bootstrap_and_no_uncertainty(study_folder: Path, tmp_path: Path, command: Command) -> None:
    judgments, scores = study_folder / "judgments.csv", study_folder / "scores.csv"
    done = command(
        "run", judgments, scores, "-o", "boot", "--uncertainty", "bootstrap", "--draws", 20, "-q"
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "boot" / "summary.json").read_text())
    assert summary["uncertainty"]["kind"] == "bootstrap"
    assert "consensus_se" in table(tmp_path / "boot" / "items.csv")[0]
    assert "reliability_low" not in table(tmp_path / "boot" / "annotators.csv")[0]
    done = command("run", judgments, scores, "-o", "bare", "--uncertainty", "none", "-q")
    assert done.returncode == 0, done.stderr
    assert "consensus_se" not in table(tmp_path / "bare" / "items.csv")[0]
    assert (
        "certified_pairs"
        not in json.loads((tmp_path / "bare" / "summary.json").read_text())["guarantees"]
    )


def test_items_that_nobody_judged_are_predicted(
    study_folder: Path, tmp_path: Path, command: Command
) -> None:
    more = tmp_path / "more.csv"
    more.write_text((study_folder / "scores.csv").read_text() + "new,50\nfar,5000\n")
    done = command("run", study_folder / "judgments.csv", more, "-o", "out", "-q")
    assert done.returncode == 0, done.stderr
    found = {row["item"]: row for row in table(tmp_path / "out" / "predictions.csv")}
    assert set(found) == {"new", "far"}
    assert found["far"]["outside"] == "True"
    assert found["new"]["outside"] == "False"
    assert float(found["new"]["predicted"]) != 50.0
    command("run", study_folder / "judgments.csv", study_folder / "scores.csv", "-o", "out", "-q")
    assert not (tmp_path / "out" / "predictions.csv").exists(), "what an earlier run predicted"


def test_exports_of_other_tools_are_run_as_they_are(command: Command, tmp_path: Path) -> None:
    battles = [
        {"model_a": a, "model_b": b, "winner": w, "judge": f"u{k % 3}"}
        for k, (a, b, w) in enumerate(
            [("x", "y", "model_a"), ("y", "z", "model_b"), ("z", "x", "tie (bothbad)")] * 4
        )
    ]
    (tmp_path / "battles.json").write_text(json.dumps(battles))
    (tmp_path / "scores.csv").write_text("item,score\nx,3\ny,2\nz,1\n")
    done = command("run", "battles.json", "scores.csv", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "battles.json: read as arena" in done.stderr
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["format"] == "arena"
    assert "4 'both bad' are counted as ties" in summary["reading"][0]
    skipped = command(
        "aggregate", "battles.json", "-o", "o2", "--outcome", "tie (bothbad)=skip", "--verbose"
    )
    assert skipped.returncode == 0, skipped.stderr
    assert "row 3: skip: u2, z and x, 4 times" in skipped.stderr
    assert json.loads((tmp_path / "o2" / "summary.json").read_text())["not_fitted"] == {"skip": 4}


def test_convert_and_formats(command: Command, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("coder,left,right,winner\nu,a,b,left\nu,b,c,tie\n")
    done = command("convert", "x.csv", "-o", "y.csv", "--column", "annotator=coder")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "y.csv").read_text() == (
        "annotator,left,right,outcome\nu,a,b,left\nu,b,c,tie\n"
    )
    onto_itself = ("convert", "x.csv", "-o", "x.csv", "--column", "annotator=coder")
    for arguments, said in ((onto_itself, "--force"), ((*onto_itself, "--force"), "overwritten")):
        refused = command(*arguments)
        assert refused.returncode == 2
        assert said in refused.stderr
    wrong = command("convert", "x.csv", "-o", "z.csv", "--column", "coder")
    assert wrong.returncode == 2
    assert "OURS=THEIRS" in wrong.stderr
    from aggcal.cli.options import formats as options
    from aggcal.io.formats import FORMATS

    assert tuple(FORMATS) == options.FORMATS
    assert set(json.loads(command("formats", "--json").stdout)) == set(FORMATS)
