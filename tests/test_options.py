"""Options are checked before anything is read or fitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal.advice.check import check
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.methods import HRA, CrowdBT
from aggcal.cli import main
from aggcal.cli.commands import COMMANDS
from aggcal.cli.table import Option
from aggcal.data.judgments import Judgments
from aggcal.errors import OptionError

ROWS = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c"), ("bob", "c", "b")]
SCORES = [("a", 3.0), ("b", 1.0), ("c", 2.0)]


class StartedError(AssertionError):
    """Work was begun."""


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let whatever reads judgments, lays them out or fits them fail."""

    def fail(*_: Any, **__: Any) -> None:
        raise StartedError

    places = {
        "io.naming": ["opened"],
        "io": ["read_scores"],
        "io.items": ["read_item_columns"],
        "aggregation": ["prepare"],
        "assessment": ["prepare", "read_scores"],
        "calibration": ["read_scores"],
        "advice.check.data": ["data_warnings"],
        "advice.suggest.pairs": ["prepare", "aggregate"],
        "aggregation.methods": ["mode_rows"],
    }
    # All are imported before one is changed, or they would import what was changed.
    modules = {module: import_module(f"aggcal.{module}") for module in places}
    for module, names in places.items():
        for name in names:
            monkeypatch.setattr(modules[module], name, fail)


STAGE_1: dict[str, list[Any]] = {
    "method": ["hra", "", HRA],
    "prior": ["flat", 3],
    "estimator": ["best", "Mode"],
    "features": ["identity"],  # which the default method does not use
    "seed": [-1, 1.5],
    "engine": ["cloud"],
}
WRONG: dict[str, tuple[Callable[..., Any], dict[str, list[Any]]]] = {
    "assess": (
        lambda **wrong: aggcal.assess("judgments.csv", "scores.csv", **wrong),
        STAGE_1
        | {
            "calibrator": ["atcc", ""],
            "weights": ["equal"],
            "uncertainty": ["guess", "sandwich"],
            "level": [0.0, 1.0, 95, float("nan")],
            "model_sd": [0.0, -1.0, float("nan")],
            "second_model": ["scores.csv"],  # which the default calibrator does not use
        },
    ),
    "aggregate": (lambda **wrong: aggcal.aggregate("judgments.csv", **wrong), STAGE_1),
    "calibrate": (
        lambda **wrong: aggcal.calibrate("scores.csv", "items.csv", **wrong),
        {
            "method": ["atcc"],
            "weights": ["equal"],
            "model_sd": [0.0],
            "second_model": ["scores.csv"],
            "level": [2.0],
            "seed": [-1],
        },
    ),
    "suggest_pairs": (
        lambda **wrong: aggcal.suggest_pairs("judgments.csv", **wrong),
        {
            "n": [0],
            "about": ["all", "scores"],
            "per_annotator": [0],
            "per_item": [-1],
            "explore": [2.0, float("nan")],
            "method": ["gppl", "best"],
            "seed": [-1],
        },
    ),
    "compare_methods": (
        lambda **wrong: aggcal.compare_methods("judgments.csv", **wrong),
        {
            "methods": [[], "btl", ["hra-x"], ["hra-g:tie"], ["auto"], [HRA]],
            "folds": [1, 2.5],
            "seed": [-1],
            "sample": [10],
            "hold_out": ["all"],
        },
    ),
    "power": (
        lambda **wrong: aggcal.power(**({"goal": "tau=0.8"} | wrong)),
        {
            "goal": ["tau", "top=1", "tau=2"],
            "pilot": [True],
            "items": [1],
            "ties": [1.0, float("nan")],
            "score_sd": [0.0, float("nan")],
            "design": ["odd"],
            "method": ["gppl", "best"],
            "studies": [1],
            "level": [95],
            "seed": [-1],
        },
    ),
    "read_judgments": (
        lambda **wrong: aggcal.read_judgments("judgments.csv", **wrong),
        {
            "outcomes": [{"B": "winner"}, {"B": 2}, {"B": "nan"}],
            "ranking_weight": ["all"],
            "blank": ["drop"],
            "order": ["A,,B", ["A", "a"]],
        },
    ),
}


@pytest.mark.parametrize(
    ("call", "option", "value"),
    [
        (call, option, value)
        for call, options in WRONG.values()
        for option, values in options.items()
        for value in values
    ],
)
@pytest.mark.usefixtures("no_work")
def test_a_wrong_value_is_refused_before_any_work(
    call: Callable[..., Any], option: str, value: Any
) -> None:
    with pytest.raises(OptionError):
        call(**{option: value})


@pytest.mark.usefixtures("no_work")
def test_draws_are_checked_for_a_bootstrap() -> None:
    with pytest.raises(OptionError, match="at least 10"):
        aggcal.assess("judgments.csv", uncertainty="bootstrap", draws=1)


def test_a_check_refuses_its_options_first(monkeypatch: pytest.MonkeyPatch) -> None:
    judgments = aggcal.read_judgments(ROWS)
    monkeypatch.setattr(import_module("aggcal.advice.check.data"), "data_warnings", None)
    wrongs: list[dict[str, Any]] = [{"method": "gppl"}, {"wanted_error": 0.0}, {"seed": -1}]
    for wrong in wrongs:
        with pytest.raises(OptionError):
            check(judgments, **wrong)


# For each option that is neither a number nor a choice a value that is wrong, or None where only
# reading can tell whether a name or a file is there.
WRONG_WORDS: dict[str, str | None] = {
    "engine": "cloud", "scale": "elos", "column": "annotator", "outcome": "B",
    "output": "file.txt/out",
    "features": "identity",
    "alias": "missing.csv", "bounds": "5,1", "digits": "-1", "order": "A,B,a",
    "by": "topic,topic", "control": "missing.csv",
    "strength_scale": "nan", "grades": "50,40", "study": "missing.toml",
    "title": "two\nlines", "question": "a bell\a", "methods": "hra-g:tie", "pictures": "missing",
    "goal": "tau",
    **dict.fromkeys((
        "items", "judgments", "judged_by", "criterion", "context", "score_column", "texts",
        "anchors", "annotator", "files", "scores", "consensus", "truth", "results", "inputs",
        "more_judgments", "other", "without", "item",
    )),
}  # fmt: skip
NEEDS = {
    "init": ["j.csv"],
    "run": ["j.csv", "s.csv", "-o", "out"],
    "aggregate": ["j.csv", "-o", "out"],
    "calibrate": ["c.csv", "s.csv", "-o", "out"],
    "check": ["j.csv"],
    "compare": ["j.csv"],
    "suggest": ["j.csv"],
    "convert": ["j.csv", "-o", "out.csv"],
    "simulate": ["-o", "out"],
    "demo": ["-o", "out"],
    "report": ["folder"],
    "explain": ["item", "folder"],
    "power": ["j.csv", "--goal", "tau=0.8"],
    "evaluate": ["i.csv", "t.csv"],
    "list": ["formats"],
    "completion": ["bash"],
}


def wrong_word(option: Option) -> str | None:
    """Return what this option cannot be."""
    if option.choices is not None:
        return "no such name"
    if option.limit is not None:
        return "nan" if option.kind is float else "-1"
    assert option.dest in WRONG_WORDS, "think of a wrong value for it"
    return WRONG_WORDS[option.dest]


CASES = [
    (command, option)
    for command, row in COMMANDS.items()
    for option in row.options
    if option.names and not option.flag and wrong_word(option) is not None
]


@pytest.mark.parametrize(("command", "option"), CASES, ids=[f"{c}-{o.dest}" for c, o in CASES])
@pytest.mark.usefixtures("no_work")
def test_a_wrong_word_is_refused_before_any_work(
    command: str,
    option: Option,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.txt").write_text("")
    if command == "report" and option.dest == "output":
        return  # renders what is there already
    needs = [w for w in NEEDS[command] if option.dest != "output" or w not in ("-o", "out.csv")]
    if option.dest == "output" and needs[-1:] == ["out"]:
        needs.pop()
    words = [command, *needs, option.names[-1], str(wrong_word(option))]
    try:
        code = main(words)
    except SystemExit as left:
        code = left.code  # type: ignore[assignment]
    assert code == 2
    assert capsys.readouterr().err.startswith("aggcal: error: ")
    assert [path.name for path in tmp_path.iterdir()] == ["file.txt"]


def test_tables_that_do_not_fit_are_refused_before_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    judgments = aggcal.read_judgments(ROWS)
    monkeypatch.setattr("aggcal.aggregation.methods.LikelihoodMethod.fit", None)
    for scores, known, said in (
        ([("x", 1.0), ("y", 2.0)], {}, "no item is in both"),
        (SCORES, {"calibrator": "safe"}, "needs the standard deviation"),
        (SCORES, {"anchors": {"a": 1.0}}, "at least 5"),
        (SCORES, {"calibrator": "fused", "second_model": {"a": 1.0}}, "fewer than 5"),
        (SCORES, {"anchors": "missing.csv"}, "no such file"),
        (None, {"model_sd": 1.0}, "give the model's scores"),
    ):
        with pytest.raises(aggcal.errors.InputError, match=said):
            aggcal.assess(judgments, scores, **known)


@dataclass(frozen=True)
class Coin:
    """A method with a seed and nothing else."""

    seed: int = 0

    def fit(self, judgments: Judgments) -> Consensus:
        scores = np.random.default_rng(self.seed).normal(size=judgments.n_items)
        return Consensus.of(judgments, scores, method=f"coin {self.seed}")


class Flat:
    """A method without a seed."""

    def fit(self, judgments: Judgments) -> Consensus:
        return Consensus.of(judgments, np.zeros(judgments.n_items), method="flat")


def test_a_seed_can_be_given_with_a_method_object() -> None:
    assert aggcal.aggregate(ROWS, Coin(), seed=3, warn=False).method == "coin 3"
    assert aggcal.aggregate(ROWS, Coin(5), seed=0, warn=False).method == "coin 0"
    assert aggcal.aggregate(ROWS, Coin(5), warn=False).method == "coin 5"
    assert aggcal.aggregate(ROWS, Flat(), seed=3, warn=False).method == "flat"
    for method in (HRA(link="normal"), CrowdBT()):
        consensus = aggcal.aggregate(ROWS, method, seed=3, warn=False)
        plain = aggcal.aggregate(ROWS, method, warn=False)
        np.testing.assert_allclose(consensus.scores, plain.scores, atol=1e-9)
    result = aggcal.assess(ROWS, SCORES, method=Coin(), seed=4, uncertainty=None, warn=False)
    assert result.consensus is not None
    assert result.consensus.method == "coin 4"
    assert result.to_dict()["settings"]["seed"] == 4


def test_a_prior_or_features_with_a_method_object_are_refused() -> None:
    for wrong in ({"prior": "auto"}, {"features": "identity"}):
        with pytest.raises(OptionError, match="for methods by name; give them to HRA itself"):
            aggcal.aggregate(ROWS, HRA(), **wrong)  # type: ignore[arg-type]
