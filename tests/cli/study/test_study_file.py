"""The study file: what stands in it are the defaults of the commands."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from aggcal.cli.parser import parse
from aggcal.cli.study import STUDY_COMMANDS, Study, options_of
from conftest import Command

STUDY = """
judgments = "data/judgments.csv"
scores = "data/scores.csv"
truth = "data/truth.csv"
output = "results"
seed = 3

[run]
method = "btl"
level = 0.9

[suggest]
pairs = 3
"""


def write(folder: Path, text: str) -> Path:
    (folder / "aggcal.toml").write_text(text, encoding="utf-8")
    return folder


def test_commands_need_no_arguments(study_folder: Path, command: Command) -> None:
    folder = write(study_folder.parent, STUDY)
    done = command("run")
    assert done.returncode == 0, done.stderr
    first = done.stderr.splitlines()[0]
    assert first == "using aggcal.toml: judgments, scores, output, seed, run.method, run.level"
    summary = json.loads((folder / "results" / "summary.json").read_text())
    assert (summary["method"], summary["settings"]["seed"]) == ("btl", 3)
    for words in (["check"], ["suggest"], ["report"], ["evaluate"], ["aggregate"]):
        done = command(*words)
        assert done.returncode == 0, done.stderr
        assert done.stderr.startswith("using aggcal.toml: ")
    assert len(command("suggest", "-q").stdout.splitlines()) == 4
    said = command("suggest", "-q").stderr.splitlines()
    assert all(line.startswith("warning: ") for line in said)


def test_the_command_line_goes_first(study_folder: Path, command: Command) -> None:
    write(study_folder.parent, STUDY)
    done = command("run", "--method", "tcv", "-o", "other", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["method"] == "tcv"
    assert "run.method" not in done.stderr.splitlines()[0]
    assert (study_folder.parent / "other" / "items.csv").exists()
    assert not (study_folder.parent / "results").exists()
    alone = command("run", "--study", "none")
    assert alone.returncode == 2
    assert "JUDGMENTS missing" in alone.stderr
    assert "aggcal init" in alone.stderr


def test_the_results_name_the_whole_command(study_folder: Path, command: Command) -> None:
    folder = write(study_folder.parent, STUDY)
    command("run", "--level", "0.8")
    settings = json.loads((folder / "results" / "summary.json").read_text())["settings"]
    assert settings["files"] == "data/judgments.csv data/scores.csv"
    words = settings["command"].replace("DIR", "again").split()[1:]
    (folder / "aggcal.toml").unlink()
    done = command(*words)
    assert done.returncode == 0, done.stderr
    items = [(folder / name / "items.csv").read_bytes() for name in ("results", "again")]
    assert items[0] == items[1]


def test_paths_are_relative_to_the_file(study_folder: Path, command: Command) -> None:
    folder = study_folder.parent
    (folder / "elsewhere").mkdir()
    write(folder / "elsewhere", STUDY.replace('"data/', '"../data/'))
    done = command("run", "--study", "elsewhere/aggcal.toml")
    assert done.returncode == 0, done.stderr
    assert (folder / "elsewhere" / "results" / "items.csv").exists()


def parsed(folder: Path, text: str, *words: str) -> dict[str, object]:
    return vars(parse([*words, "--study", str(write(folder, text) / "aggcal.toml")]))


def test_columns_and_outcomes_are_tables_and_are_added_to(tmp_path: Path) -> None:
    text = 'judgments = "j.csv"\n[column]\nannotator = "coder"\n'
    text += '[outcome]\n"A = B" = 0.5\nno = "skip"\n'
    found = parsed(tmp_path, text, "check", "--column", "annotator=rater")
    assert found["column"] == ["annotator=coder", "annotator=rater"]  # of two the last is taken
    assert found["outcome"] == ["A = B=0.5", "no=skip"]
    listed = 'judgments = "j.csv"\ncolumn = ["annotator=coder"]\n[check]\ncolumn = {left = "A"}\n'
    assert parsed(tmp_path, listed, "check")["column"] == ["left=A"]
    assert parsed(tmp_path, listed, "suggest")["column"] == ["annotator=coder"]
    named = 'judgments = "j.csv"\n[suggest]\nannotator = ["ann", "bob"]\nquiet = true\n'
    found = parsed(tmp_path, named, "suggest")
    assert (found["annotator"], found["quiet"]) == (["ann", "bob"], True)
    assert parsed(tmp_path, named, "suggest", "--annotator", "cem")["annotator"] == ["cem"]


def test_what_is_for_all_commands_means_the_same_to_all(tmp_path: Path) -> None:
    common = 'judgments = "j.csv"\nscores = "s.csv"\nanchors = "a.csv"\n'
    assert parsed(tmp_path, common, "run", "-o", "out")["anchors"] == f"{tmp_path}/a.csv"
    assert parsed(tmp_path, common, "suggest")["true_scores"] is None


def test_every_option_of_every_command_can_stand_there(tmp_path: Path) -> None:
    for name, command in STUDY_COMMANDS.items():
        lines = [f"[{name}]"]
        for key, option in options_of(command).items():
            value: object = "x"
            if option.flag:
                value = True
            elif option.limit is not None:
                value = 60 if option.kind is int else 0.4
            elif option.choices:
                value = next(iter(option.choices))
            elif key in ("column", "outcome"):
                value = ["a=b"]
            elif key in ("bounds", "digits"):
                value = [0, 100] if key == "bounds" else 1
            elif key in ("grades", "scale", "engine"):
                value = {"grades": [40, 50], "scale": "elo:x=1000", "engine": "dask=x"}[key]
            lines.append(f"{key.replace('-', '_')} = {json.dumps(value)}")
        path = write(tmp_path, "\n".join(lines)) / "aggcal.toml"
        found = Study.read(path).settings(command)
        assert set(found) == {option.dest for option in options_of(command).values()}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("methd = 'btl'", "aggcal.toml: methd is unknown (did you mean 'method'?)"),
        ("[run]\nmethd = 'btl'", "[run] methd is unknown (did you mean 'method'?)"),
        ("[chekc]\nstrict = true", "[chekc] is unknown (did you mean '[check]'?)"),
        ("[simulate]\nitems = 3", "[simulate] is unknown"),
        ("[run]\nlevel = '0.9'", "[run] level must be a number, not the text '0.9'"),
        ("seed = 1.5", "seed must be a whole number, not 1.5"),
        ("seed = true", "seed must be a whole number, not true"),
        ("[run]\nforce = 'yes'", "[run] force must be true or false, not the text 'yes'"),
        ("[run]\nmethod = 'crowdbt'", "did you mean 'crowd-bt'?"),
        ("judgments = 3", "judgments must be a text in quotes, not 3"),
        ("scores = ['a', 'b']", "scores must be a text in quotes, not a list"),
        ("judgments = ['a', 3]", "judgments must be a text in quotes, not 3"),
        ("column = 'annotator=x'", "column must be a table"),
        ("[column]\nannotator = ['x']", "column.annotator must be a text in quotes, not a list"),
        ("run = 3", "run is a command"),
        ("seed = ", "not valid TOML"),
        ("[suggest]\nannotator = [3]", "[suggest] annotator must be a text in quotes, not 3"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(
    text: str, said: str, tmp_path: Path, command: Command
) -> None:
    write(tmp_path, text)
    for words in (["check", "j.csv"], ["report", "results"]):
        done = command(*words)
        assert done.returncode == 2
        assert said in done.stderr
        assert done.stderr.startswith("aggcal: error: aggcal.toml: ")
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("text", ["methd = 'btl'", "[chekc]\nstrict = true", "seed = "])
def test_a_wrong_file_is_in_nobodys_way(text: str, tmp_path: Path, command: Command) -> None:
    write(tmp_path, text)
    assert command("check", "--help").returncode == 0
    assert "no such file" in command("check", "j.csv", "--study", "none").stderr


def test_a_file_that_is_no_text_or_not_there_is_refused(tmp_path: Path, command: Command) -> None:
    (tmp_path / "aggcal.toml").write_bytes(b"judgments = '\xff'\n")
    assert "UTF-8" in command("check").stderr
    assert "no such file" in command("check", "--study", "other.toml").stderr


def test_nothing_asked_is_help(command: Command) -> None:
    done = command()
    assert done.returncode == 0
    assert "Usage:\n  aggcal" in done.stdout
    assert done.stderr == ""


def test_the_file_that_init_writes_is_valid(tmp_path: Path, command: Command) -> None:
    (tmp_path / 'my "own".csv').write_text("annotator,item,rating\nann,a,1\nann,b,3\nbob,a,2\n")
    done = command("init", 'my "own".csv', "--order", "lowest", "--normalize-ids")
    assert done.returncode == 0, done.stderr
    found = tomllib.loads((tmp_path / "aggcal.toml").read_text())
    assert found["judgments"] == 'my "own".csv'
    assert (found["order"], found["normalize-ids"]) == ("lowest", True)
    assert command("check").returncode == 0
