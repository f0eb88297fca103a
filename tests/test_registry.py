"""Everything that is chosen by name stands in one place, and other packages may add to it."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import aggcal
import aggcal.datasets
from aggcal import registry
from aggcal.advice.suggest.suggestions import UNITS
from aggcal.aggregation.selection import HOLD_OUT
from aggcal.data.acts import RANKING_WEIGHTS
from aggcal.errors import OptionError
from aggcal.io.choices import BLANKS
from aggcal.io.formats import FORMATS, formats
from aggcal.registry import literals as literals_of
from aggcal.registry.datasets import DATASETS
from aggcal.report.report import RENDERERS
from aggcal.simulation import TIE_MODELS, SimulatedTerms

SOURCE = Path(aggcal.__file__).parent
EXAMPLE = Path(__file__).parent / "example_package"

NAMES = {*registry.METHODS.own, *registry.CALIBRATORS, *registry.LINKS}
NAMES |= set(registry.UNCERTAINTIES)
ANOTHER_MEANING = {
    ("advice/guarantees.py", "safe"),  # the claim of that name, in summary.json
}


def test_types_name_what_is_registered() -> None:
    named = {
        literals_of.MethodName: (*registry.METHODS.own, *registry.METHODS.also),
        literals_of.FittedName: registry.WITHOUT_FEATURES,
        literals_of.PredictableName: tuple(registry.PREDICTABLE),
        literals_of.CalibratorName: (*registry.CALIBRATORS, registry.AUTO_CALIBRATOR.name),
        literals_of.LinkName: tuple(registry.LINKS),
        literals_of.UncertaintyName: tuple(registry.UNCERTAINTIES),
        literals_of.FormatName: tuple(FORMATS.own),
        literals_of.DatasetName: tuple(DATASETS),
        literals_of.EngineName: (registry.LOCAL, registry.DASK, registry.GPU),
        literals_of.Estimator: (registry.MARGINAL, registry.MODE),
    }
    for types, names in named.items():
        assert get_args(types) == names
    assert set(get_args(literals_of.SimulatedTies)) == {"none", *registry.TIES[1:3]}
    assert (
        registry.HRA_G.name,
        registry.ATC.name,
    ) == (registry.DEFAULT_METHOD, registry.DEFAULT_CALIBRATOR)


# An argument of the public functions that takes a name, and what may be written there.
ARGUMENTS: dict[tuple[Any, str], tuple[str, ...]] = {
    (aggcal.aggregate, "method"): get_args(literals_of.MethodName),
    (aggcal.aggregate, "estimator"): registry.ESTIMATORS,
    (aggcal.aggregate, "engine"): registry.ENGINES,
    (aggcal.aggregate, "prior"): ("default", "auto"),
    (aggcal.assess, "method"): get_args(literals_of.MethodName),
    (aggcal.assess, "calibrator"): get_args(literals_of.CalibratorName),
    (aggcal.assess, "uncertainty"): tuple(registry.UNCERTAINTIES),
    (aggcal.assess, "engine"): registry.ENGINES,
    (aggcal.assess, "weights"): ("sd",),
    (aggcal.calibrate, "method"): get_args(literals_of.CalibratorName),
    (aggcal.calibrate, "weights"): ("sd",),
    (aggcal.Consensus.quantify, "kind"): tuple(registry.UNCERTAINTIES),
    (aggcal.check, "method"): registry.WITHOUT_FEATURES,
    (aggcal.suggest_pairs, "method"): tuple(registry.PREDICTABLE),
    (aggcal.suggest_pairs, "about"): tuple(UNITS),
    (aggcal.compare_methods, "hold_out"): HOLD_OUT,
    (aggcal.simulate, "link"): tuple(registry.LINKS),
    (aggcal.methods.HRA, "link"): tuple(registry.LINKS),
    (aggcal.Terms, "ties"): registry.TIES,
    (aggcal.Terms, "position"): registry.SWITCHES,
    (aggcal.Terms, "context"): registry.CONTEXT_USES,
    (SimulatedTerms, "ties"): TIE_MODELS,
    (aggcal.read_judgments, "format"): tuple(FORMATS.own),
    (aggcal.read_judgments, "ranking_weight"): RANKING_WEIGHTS,
    (aggcal.read_judgments, "blank"): BLANKS,
    (aggcal.read_scores, "blank"): BLANKS,
    (aggcal.Assessment.report, "format"): tuple(RENDERERS),
    (aggcal.datasets.load, "name"): tuple(DATASETS),
}


def offered(type_: Any) -> Iterator[str]:
    """Go through the texts that a type names."""
    for part in get_args(type_):
        if isinstance(part, str):
            yield part
        else:
            yield from offered(part)


@pytest.mark.parametrize(
    ("place", "names"),
    ARGUMENTS.items(),
    ids=[f"{place.__qualname__} {name}" for place, name in ARGUMENTS],
)
def test_arguments_are_of_the_names_that_they_take(
    place: tuple[Any, str], names: tuple[str, ...]
) -> None:
    function, argument = place
    hints = get_type_hints(function)
    assert tuple(offered(hints[argument])) == names


def literals(path: Path) -> Iterator[str]:
    """Go through the texts of a file that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value


def test_no_name_stands_outside_the_registry() -> None:
    found = {
        (str(path.relative_to(SOURCE)), text)
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] not in ("registry", "paper")
        and path.parent.name != "formats"  # where they are declared
        for text in literals(path)
        if text in NAMES
    }
    assert found <= ANOTHER_MEANING, sorted(found - ANOTHER_MEANING)


def test_what_is_registered_is_there() -> None:
    for method in registry.METHODS.own.values():
        options = {"features": "identity"} if method.from_features else {}
        assert isinstance(method.make(**options), aggcal.Aggregator), method.name
    assert {form.name for form in formats()} >= FORMATS.own.keys()


def with_example(*arguments: str, folder: Path, also: Path | None = None) -> tuple[int, str, str]:
    """Run the command where the example package is installed, and perhaps another one."""
    path = os.pathsep.join(str(each) for each in (EXAMPLE, also) if each is not None)
    done = subprocess.run(
        [sys.executable, "-m", "aggcal", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_another_package_registers_a_method_and_a_format(tmp_path: Path) -> None:
    votes = (
        "#votes\nann prefers a to b\nbob prefers a to b\nann prefers b to c\nbob prefers c to b\n"
    )
    (tmp_path / "votes.txt").write_text(votes)
    assert "win-share" in with_example("list", "methods", folder=tmp_path)[1]
    assert "sentences" in json.loads(with_example("list", "formats", "--json", folder=tmp_path)[1])
    arguments = ("aggregate", "votes.txt", "-o", "out", "--method", "win-share")
    code, _, said = with_example(*arguments, "--uncertainty", "none", folder=tmp_path)
    assert code == 0, said
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["method"] == "win-share"
    items = (tmp_path / "out" / "items.csv").read_text().splitlines()
    assert [line.split(",")[:2] for line in items[1:]] == [
        ["a", "1.0"],
        ["c", "0.5"],
        ["b", "0.25"],
    ]
    named = with_example(
        "convert", "votes.txt", "-o", "j.csv", "--format", "sentences", folder=tmp_path
    )
    assert named[0] == 0, named[2]


def test_a_faulty_package_is_named_and_left_out(tmp_path: Path) -> None:
    information = tmp_path / "faulty-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 1\n")
    points = "[aggcal.methods]\ngone = no_such_module:METHOD\nbtl = aggcal.registry:BTL\n"
    (information / "entry_points.txt").write_text(points)
    code, said, warned = with_example("list", "methods", folder=tmp_path, also=tmp_path)
    assert code == 0
    assert "win-share" in said
    assert "faulty" in warned
    assert "no_such_module" in warned
    assert "'btl', which is taken" in warned
    assert "Traceback" not in warned
    code, _, refused = with_example(
        "aggregate", "j.csv", "-o", "out", "--method", "gone", folder=tmp_path, also=tmp_path
    )
    assert code == 2
    assert "gone" in refused


def test_unknown_names_are_refused_in_a_sentence() -> None:
    with pytest.raises(OptionError, match=r"method 'hra-x' is unknown .*; choose hra-g"):
        aggcal.aggregate([("ann", "a", "b")], method="hra-x")
    with pytest.raises(KeyError):
        registry.METHODS["hra-x"]
