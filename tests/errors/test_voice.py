"""Messages name options on the command line and arguments in Python, and the nearest known name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import aggcal
from aggcal import datasets, registry
from aggcal.cli.commands import COMMANDS
from aggcal.errors import InputError, OptionError, SelfPairWarning, did_you_mean, nearest, option
from aggcal.errors.voice import PYTHON_ONLY, speaking_options, spoken

SOURCE = Path(aggcal.__file__).parent
ROWS = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c"), ("bob", "c", "b")]
VALUES = {*registry.METHODS.own, *registry.CALIBRATORS, *registry.FORMATS.own, *registry.ENGINES}
VALUES |= {*registry.ESTIMATORS, *registry.SCALES, *registry.BRIDGES}
VALUES |= {"identity", "pair", "order", "default", "error", "text1", "text2", "all"}
VALUES |= {"lowest", "highest"}
OPTION = re.compile(r"(?<!\w)(?<!var\()--[a-z]")


def test_the_same_message_in_two_voices() -> None:
    said = "give --features FILE, --features identity or --prior none, or leave --format out."
    assert spoken(said) == (
        "give features=FILE, features='identity' or prior=None, or leave format= out."
    )
    with speaking_options():
        assert spoken(said) == said
        assert str(OptionError("raise --per-item.")) == "raise --per-item."
        assert "--criterion" in str(SelfPairWarning("pooled", "choose one with --criterion"))
    assert str(OptionError("raise --per-item.")) == "raise per_item=."
    assert "criterion=" in str(SelfPairWarning("pooled", "choose one with --criterion"))


@pytest.mark.parametrize(
    ("shell", "python"),
    [
        ("--outcome 'B better=MEANING', where", "outcomes={'B better': MEANING}, where"),
        ("--outcome both_bad=skip leaves", "outcomes={'both_bad': 'skip'} leaves"),
        ("--column winner='Better text', or", None),
        ("--judged-by NAME if", "annotator=NAME if"),
        ("use --force to", "use force=True to"),
        ("--score-sd X.", "prior=Prior(score_sd=X)."),
        ("(--score-sd, --reliability-sd)", "(prior=Prior(score_sd=...), "),
        ("--model-sd is nan", "model_sd is nan"),
        ("item '--force' of 'x --repeat y'", "item '--force' of 'x --repeat y'"),
        ("--force.csv: no such file", "--force.csv: no such file"),
        ("a--force", "a--force"),
    ],
)
def test_options_become_arguments(shell: str, python: str | None) -> None:
    assert spoken(shell).startswith(python or "columns={'winner': ")


def literals() -> Iterator[tuple[str, str]]:
    """Every text of the library that names an option; what is filled in reads VALUE."""
    for path in sorted(SOURCE.rglob("*.py")):
        where = path.relative_to(SOURCE)
        if (
            where.parts[0] in ("cli", "errors", "paper")
            or "kernels" in where.parts
            or where.name == "commands.py"
        ):
            continue
        source = path.read_text(encoding="utf-8")
        if not OPTION.search(source):
            continue  # three walks through the tree of every file take seconds
        tree = ast.parse(source)
        said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        parts = {
            id(part)
            for node in ast.walk(tree)
            if isinstance(node, ast.JoinedStr)
            for part in ast.walk(node)
            if part is not node
        }
        left_out = said | parts
        for node in ast.walk(tree):
            if id(node) in left_out:
                continue
            text = ""
            if isinstance(node, ast.JoinedStr):
                text = "".join(
                    str(v.value) if isinstance(v, ast.Constant) else "VALUE" for v in node.values
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            if OPTION.search(text):
                yield f"{where}:{getattr(node, 'lineno', 0)}", text


def test_every_message_of_the_library_can_be_said_in_python() -> None:
    found = list(literals())
    assert len(found) > 25
    options = {
        each.removeprefix("--")
        for command in COMMANDS.values()
        for row in command.options
        for each in row.names
    }
    options |= PYTHON_ONLY
    for where, text in found:
        for name, value in re.findall(r"(?<!\w)(?<!var\()--([a-z-]*[a-z])(?: ([\w'=-]+))?", text):
            assert name in options, f"{where}: there is no --{name}"
            said = spoken(f"--{name} {value}".strip())
            plain = re.fullmatch(r"\w+='(.*)'", said)
            word = f"{where}: '{value}' is read as a value of --{name}; write it otherwise"
            assert plain is None or plain[1] in VALUES, word
        assert not OPTION.search(spoken(text)), f"{where}: {spoken(text)}"
        assert "from Python" not in text, f"{where}: one voice is enough"


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


def test_an_option_is_named_where_a_message_is_written() -> None:
    assert option("column", "annotator=coder") == "columns={'annotator': 'coder'}"
    assert (option("per-item"), option("repeat")) == ("per_item=", "repeat=True")
    with speaking_options():
        assert option("column", "annotator=coder") == "--column annotator=coder"
        assert option("repeat") == "repeat=True (in Python)"
        assert spoken("raise --draws, or --level.") == "raise draws= (in Python), or --level."


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
