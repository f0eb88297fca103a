"""Messages name options on the command line and arguments in Python, and the nearest known name."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import aggcal
from aggcal import datasets, registry
from aggcal.cli.commands import COMMANDS
from aggcal.errors import (
    PYTHON_ONLY,
    InputError,
    SelfPairWarning,
    argument,
    command_line,
    did_you_mean,
    nearest,
    option,
)

SOURCE = Path(aggcal.__file__).parent
NAMING = ("option", "argument")
ROWS = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c"), ("bob", "c", "b")]


@pytest.mark.parametrize(
    ("given", "shell", "python"),
    [
        (("outcome", "B better=MEANING"), "--outcome 'B better=MEANING'",
         "outcomes={'B better': MEANING}"),
        (("outcome", "it's=tie"), '--outcome "it\'s=tie"', "outcomes={\"it's\": 'tie'}"),
        (("outcome", "0=left", "1=right"), "--outcome 0=left --outcome 1=right",
         "outcomes={'0': 'left', '1': 'right'}"),
        (("column", "winner=A=B"), "--column winner=A=B", "columns={'winner': 'A=B'}"),
        (("judged-by", "NAME"), "--judged-by NAME", "annotator=NAME"),
        (("prior", "none"), "--prior none", "prior=None"),
        (("force",), "--force", "force=True"),
        (("per-item",), "--per-item", "per_item="),
        (("score-sd", "X"), "prior=Prior(score_sd=X) in Python", "prior=Prior(score_sd=X)"),
    ],
)  # fmt: skip
def test_options_are_arguments_in_python(given: tuple[str, ...], shell: str, python: str) -> None:
    assert option(*given) == python
    with command_line():
        assert option(*given) == shell
        assert shell.startswith((argument(given[0]), "prior=Prior(score_sd"))
    assert str(SelfPairWarning("Pooled", "", "say x\ny")) == "Pooled. Say x y."


def test_every_option_in_a_message_exists_and_none_is_written_by_hand() -> None:
    options = {
        each.removeprefix("--")
        for command in COMMANDS.values()
        for row in command.options
        for each in row.names
    }
    named = set()
    for path in SOURCE.rglob("*.py"):
        where = path.relative_to(SOURCE)
        if where.parts[0] in ("cli", "paper", "report") or "kernels" in where.parts:
            continue  # they speak of the command line alone, or to compilers
        tree = ast.parse(path.read_text(encoding="utf-8"))
        said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in NAMING:
                named |= {a.value for a in node.args[:1] if isinstance(a, ast.Constant)}
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                by_hand = re.search(r"(?<![\w'(])--[a-z]", node.value) and id(node) not in said
                line = f"{where}:{node.lineno}"
                assert not by_hand or line.startswith("aggregation/selection.py"), line
    assert len(named) > 25
    assert named <= options | PYTHON_ONLY


def test_python_reads_of_arguments() -> None:
    for call, said in (
        (lambda: aggcal.aggregate(ROWS, method="gppl"), "features='identity'"),
        (lambda: aggcal.suggest_pairs(ROWS, n=9), "raise per_item=, or allow repeat=True"),
        (lambda: aggcal.suggest_pairs(ROWS, annotators=["anne"]), r"'ann'\?\).*new_annotators="),
        (lambda: aggcal.read_judgments([("a", "x", "y", "B!")]), r"outcomes=\{'B!': MEANING\}"),
        (lambda: aggcal.aggregate(ROWS, "crowd-bt", prior=None), r"prior=Prior\(score_sd=X\)"),
        (lambda: aggcal.calibrate({"a": 1.0}, {"a": 1.0}, method="safe"), "model_sd="),
    ):
        with pytest.raises(InputError, match=said) as caught:
            call()
        assert "--" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "near"),
    [
        (lambda: aggcal.aggregate(ROWS, method="crowd_BT "), "'crowd-bt'"),
        (lambda: aggcal.aggregate(ROWS, method="bt"), "'btl'"),
        (lambda: aggcal.calibrate({"a": 1.0}, {"a": 1.0}, method="fuse"), "'fused'"),  # type: ignore[arg-type]
        (lambda: aggcal.read_judgments(ROWS, format="rating"), "'ratings'"),
        (lambda: aggcal.read_judgments(ROWS, columns={"anotator": "x"}), "'annotator'"),
        (lambda: aggcal.read_scores([{"item": "a", "score": 1}], column="skore"), "'score'"),
        (lambda: aggcal.simulate(link="normall"), "'normal'"),  # type: ignore[arg-type]
        (lambda: datasets.load("dot"), "'dots'"),  # type: ignore[arg-type]
    ],
)
def test_a_misspelt_name_is_told_from_the_nearest(call: object, near: str) -> None:
    with pytest.raises(InputError, match=rf"did you mean {near}\?"):
        call()  # type: ignore[operator]


def test_nearest_is_none_where_nothing_is_near() -> None:
    assert nearest("", ["a"]) == nearest("zzz", ["abc"]) == nearest("abc", []) == []
    assert nearest("ABC_d", ["abc-d", "abd"]) == ["abc-d"]
    assert did_you_mean("hra-x", registry.METHODS) == " (did you mean 'hra-g', 'hra-e' or 'hra-n'?)"
