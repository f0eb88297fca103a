"""`aggcal report`: a folder of results rendered once more; and the options of the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aggcal.cli import main
from documents import blocks


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    size = ["--items", "15", "--annotators", "6", "--number", "200", "--seed", "1"]
    assert main(["simulate", "-o", str(folder), *size, "-q"]) == 0
    texts = "".join(f"item-{k:02},Text {k}\n" for k in range(1, 15))
    (folder / "texts.csv").write_text(f"item,text\n{texts}", encoding="utf-8")
    inputs = [str(folder / "judgments.csv"), str(folder / "scores.csv")]
    assert main(["run", *inputs, "-o", str(folder / "plain"), "-q"]) == 0
    texts_option = ["--texts", str(folder / "texts.csv")]
    assert main(["run", *inputs, "-o", str(folder / "told"), *texts_option, "-q"]) == 0
    return folder


@pytest.mark.parametrize("ending", ["html", "md"])
def test_a_saved_folder_renders_to_the_same_report(
    folder: Path, tmp_path: Path, ending: str
) -> None:
    target = tmp_path / f"again.{ending}"
    made = ["-o", str(target), "-q", "--force"]
    assert main(["report", str(folder / "plain"), *made]) == 0
    assert target.read_bytes() == (folder / "plain" / f"report.{ending}").read_bytes()
    texts = ["--texts", str(folder / "texts.csv")]
    assert main(["report", str(folder / "plain"), *made, *texts]) == 0
    # The command that made the folder had no texts, and is told as it was.
    told = (folder / "told" / f"report.{ending}").read_text(encoding="utf-8")
    for words in (" --texts texts.csv", " <span>--texts</span> <span>texts.csv</span>"):
        told = told.replace(words, "")
    assert target.read_text(encoding="utf-8") == told
    assert "Text 7" in target.read_text(encoding="utf-8")


def test_the_summary_says_what_the_page_says(folder: Path) -> None:
    summary = json.loads((folder / "plain" / "summary.json").read_text(encoding="utf-8"))
    assert set(summary["check"]) == {
        "accused",
        "counts",
        "findings",
        "not_checked",
        "passed",
        "precision",
    }
    assert len(summary["suggestions"]["pairs"]) == 10
    page = folder / "page.json"
    assert main(["report", str(folder / "plain"), "-o", str(page)]) == 0
    told = json.loads(page.read_text(encoding="utf-8"))
    assert told["data"]["summary"] == summary
    assert set(told["data"]["comparisons"]) >= {"record", "upsets", "disagreed"}
    # As a report is passed on, it does not say where the files were.
    commands = [each["text"] for each in blocks(told, "command")]
    assert "aggcal run judgments.csv scores.csv -o DIR" in commands
    assert [each["id"] for each in told["sections"]] == [
        "results", "annotators", "quality", "method"
    ]  # fmt: skip


def test_it_writes_into_the_folder_unless_told_where(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(folder / "plain")]) == 0
    assert "plain/report.html" in capsys.readouterr().err


def test_no_check_leaves_out_findings_and_suggestions(folder: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    assert main(["aggregate", str(folder / "judgments.csv"), "-o", out, "--no-check", "-q"]) == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert not {"check", "suggestions"} & set(summary)
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "The data were not checked" in page


def test_intervals_without_end_survive_the_files(folder: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    saved.mkdir()
    for name in ("items.csv", "annotators.csv", "summary.json"):
        text = (folder / "plain" / name).read_text(encoding="utf-8")
        if name == "items.csv":
            head, first, rest = text.split("\n", 2)
            cells = first.split(",")
            cells[head.split(",").index("calibrated_high")] = "inf"
            text = "\n".join([head, ",".join(cells), rest])
        (saved / name).write_text(text, encoding="utf-8")
    assert main(["report", str(saved), "-q", "--force"]) == 0
    assert "∞" in (saved / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (("summary.json", None), "holds no summary.json"),
        (("annotators.csv", None), "holds no annotators.csv"),
        (("summary.json", "{"), "not valid JSON"),
        (("summary.json", "{}"), "lacks 'version'"),
        (("summary.json", "[1]"), "lacks 'version'"),
        (("items.csv", "item,score\na,1\n"), "column 'consensus' missing"),
        (("items.csv", "item,consensus\na,high\n"), "'high' in column 'consensus' is not a number"),
        (("annotators.csv", "annotator,agreement,n_judgments\nu,1,2\n"), "do not fit together"),
    ],
)
def test_a_folder_that_is_not_ours_is_refused_in_words(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    spoil: tuple[str, str | None],
    message: str,
) -> None:
    saved = tmp_path / "saved"
    saved.mkdir()
    for name in ("items.csv", "annotators.csv", "summary.json"):
        (saved / name).write_bytes((folder / "plain" / name).read_bytes())
    name, content = spoil
    (saved / name).unlink()
    if content is not None:
        (saved / name).write_text(content, encoding="utf-8")
    before = sorted(path.name for path in saved.iterdir())
    assert main(["report", str(saved), "-q", "--force"]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.startswith("aggcal: error: ")
    assert said.count("\n") == 1
    assert sorted(path.name for path in saved.iterdir()) == before


def test_nothing_that_is_read_is_overwritten(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = folder / "plain"
    words = ["report", str(plain), "-q"]
    assert main([*words, "-o", str(plain / "report.md"), "--texts", str(plain / "report.md")]) == 2
    assert capsys.readouterr().err.count("would be overwritten") == 1
    assert main(["report", str(folder / "nowhere")]) == 2
    assert "no such folder" in capsys.readouterr().err


def test_bad_texts_stop_a_run_before_anything_is_fitted(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = [str(folder / "judgments.csv"), str(folder / "scores.csv")]
    out = tmp_path / "out"
    others = tmp_path / "others.csv"
    others.write_text("item,text\nnobody,Hello\n", encoding="utf-8")
    assert main(["run", *inputs, "-o", str(out), "--texts", str(others), "-q"]) == 2
    assert "others.csv: none of its items ('nobody') is in the results" in capsys.readouterr().err
    assert not out.exists()


def test_the_terminal_says_that_the_data_were_looked_over(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["aggregate", str(folder / "judgments.csv"), "-o", str(tmp_path / "out")]) == 0
    assert "Data check: " in capsys.readouterr().err


def test_a_report_names_files_without_folders_and_leaves_other_words_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = ("ann", "bob", "carl\nnewline", "/u/ann", "ann")
    rows = "".join(f'"{who}",{win},{lose}\n' for who in people for win, lose in ("ab", "bc", "ac"))
    judgments, texts, out = (tmp_path / name for name in ("j.csv", "t=1.csv", "out"))
    judgments.write_text(f"annotator,winner,loser\n{rows}", encoding="utf-8")
    texts.write_text("item,text\na,A\n", encoding="utf-8")
    words = ["aggregate", str(judgments), f"-o{out}", f"--texts={texts}", "--title", "/r/x y"]
    words += ["--without", "carl\nnewline", "/u/ann", "-q", "--no-check"]
    assert main(words) == 0
    settings = json.loads((out / "summary.json").read_text(encoding="utf-8"))["settings"]
    shared = (
        "aggcal aggregate j.csv -o DIR --texts=t=1.csv --title '/r/x y' "
        "--without $'carl\\nnewline' /u/ann --no-check"
    )
    assert settings["shared_command"] == shared
    assert settings["command"].replace(f"{tmp_path}/", "") == shared
    assert (settings["files"], settings["shared_files"]) == (str(judgments), "j.csv")
    assert main(["report", str(out), "-o", "-", "-q"]) == 0
    page = capsys.readouterr().out
    assert "aggcal aggregate j.csv" in page
    assert str(tmp_path) not in page


def test_a_study_file_is_no_obstacle_to_comparing_two_runs(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("aggcal.toml").write_text('title = "Mine"\nquestion = "Which?"\n', encoding="utf-8")
    words = ["report", str(folder / "plain"), str(folder / "told"), "-o", "c.md"]
    assert main([*words, "--title", "Typed"]) == 2
    assert "--title is for the report of one run; leave it out" in capsys.readouterr().err
    assert main(words) == 0
    assert Path("c.md").exists()
    same = ["report", str(folder / "plain"), str(folder / "told" / ".." / "plain")]
    assert main(same) == 2
    assert "both folders are the same; give two" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["r.pdf", "r.TXT", "r.svg"])
def test_an_ending_that_is_no_form_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    target = tmp_path / name
    words = ["report", str(folder / "plain"), "-o", str(target)]
    assert main(words) == 2
    said = f"{name}: a report is .html, .md or .json; choose one."
    assert said in capsys.readouterr().err
    assert not target.exists()
