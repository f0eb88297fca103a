"""One row is all that an option needs, and rows agree with the functions they are handed to."""

from __future__ import annotations

import inspect
import sys
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import aggcal
from aggcal.cli import main, options
from aggcal.cli.commands import COMMANDS
from aggcal.cli.manual import page, script
from aggcal.cli.study import STUDY_COMMANDS
from aggcal.cli.table import FILES, Command, Option
from aggcal.io.convert import convert_judgments
from aggcal.registry.limits import LIMITS
from conftest import ROOT

COLOUR = Option("--colour NAME", "colour of the list", "red", ("red", "green"))


def _say_colour(given: Namespace) -> int:
    print(given.colour)
    return 0


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Command:
    """A command with an option that is one row, and nothing else."""
    about = "toy", "show a list", "aggcal toy --colour green", "", "test_table:toy"
    command = Command(*about, (COLOUR, options.as_json("the list")), study=True)
    monkeypatch.setitem(COMMANDS, "toy", command)
    monkeypatch.setitem(STUDY_COMMANDS, "toy", command)
    called = type(sys)("aggcal.cli.test_table")
    vars(called)["toy"] = _say_colour
    monkeypatch.setitem(sys.modules, "aggcal.cli.test_table", called)
    return command


@pytest.mark.usefixtures("toy")
def test_a_row_is_parsed_explained_and_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["toy", "--colour", "green"]) == 0
    assert capsys.readouterr().out == "green\n"
    for words in (["--help"], ["--colour", "blue"]):
        with pytest.raises(SystemExit):
            main(["toy", *words])
    said = capsys.readouterr()
    assert "--colour NAME  colour of the list (default: red)" in said.out
    assert "--colour 'blue' is unknown; choose red, green; see 'aggcal toy --help'." in said.err
    (tmp_path / "aggcal.toml").write_text("[toy]\ncolour = 'green'\n")
    assert main(["toy"]) == 0
    assert capsys.readouterr().out == "green\n"
    (tmp_path / "aggcal.toml").write_text("[toy]\ncolour = 3\n")
    assert main(["toy"]) == 2
    assert "[toy] colour must be a text in quotes, not 3" in capsys.readouterr().err


@pytest.mark.usefixtures("toy")
def test_a_row_is_in_the_manual_the_documentation_and_completion(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "colour of the list (default: red)" in page()
    for shell in ("bash", "zsh", "fish"):
        assert "colour" in script(shell)
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    from command_line import _commands

    assert "| `--colour NAME` | colour of the list (default: red) |" in "\n".join(_commands())


FUNCTIONS: dict[str, tuple[Callable[..., Any], ...]] = {
    "run": (aggcal.assess, aggcal.read_judgments),
    "aggregate": (aggcal.aggregate, aggcal.read_judgments),
    "calibrate": (aggcal.calibrate,),
    "check": (aggcal.check, aggcal.read_judgments),
    "compare": (aggcal.compare_methods, aggcal.read_judgments),
    "suggest": (aggcal.suggest_pairs, aggcal.read_judgments),
    "power": (aggcal.power, aggcal.read_judgments),
    "simulate": (aggcal.simulate,),
    "convert": (convert_judgments,),
}
ELSEWHERE = {
    # A row of another meaning, or whose value is made into another one before Python gets it.
    *(("calibrate", "method"), ("calibrate", "features"), ("convert", "to"), ("check", "quick")),
    *(("simulate", "terms"), ("aggregate", "seed"), ("run", "seed"), ("calibrate", "level")),
}


PLANNED = {"items", "control", "grades", "position", "scale", "ties"}
"""Words for what a study has, and for how much of it `simulate` and `power` are to make up."""


def test_one_name_means_one_thing() -> None:
    """A word takes values of one kind, whichever command it is given to."""
    kinds: dict[str, set[str]] = {}
    for name, command in COMMANDS.items():
        for row in command.options:
            if row.key == "output" or (name in ("simulate", "power") and row.key in PLANNED):
                continue
            kind = "file" if row.value in FILES else "flag" if row.flag else row.value
            kinds.setdefault(row.key, set()).add(kind)
    assert not {key: each for key, each in kinds.items() if len(each) > 1}


def test_every_limit_is_that_of_an_option() -> None:
    numbers = {
        row.key.replace("-", "_")
        for command in COMMANDS.values()
        for row in command.options
        if row.limit is not None
    }
    assert numbers & LIMITS.keys() >= {"level", "seed", "top", "folds"}
    for command in COMMANDS.values():
        for row in command.options:
            if row.limit is not None and row.default is not None:
                assert not row.limit.fault(row.default), row.usage


@pytest.mark.parametrize(
    ("command", "function"),
    [(name, function) for name, functions in FUNCTIONS.items() for function in functions],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_defaults_are_those_of_the_functions(command: str, function: Callable[..., Any]) -> None:
    taken = inspect.signature(function).parameters
    compared = 0
    for option in COMMANDS[command].options:
        name = option.keyword
        if name not in taken or taken[name].default is inspect.Parameter.empty:
            continue
        if (command, name) in ELSEWHERE:
            continue
        usual = [] if option.repeated or option.several else option.default
        usual = False if option.flag else usual
        row = option if not option.repeated else replace(option, default=usual)
        given = usual if row.python is None else row.python(usual)
        assert (given or None) == (taken[name].default or None), f"{command} {option.usage}"
        compared += 1
    assert compared
