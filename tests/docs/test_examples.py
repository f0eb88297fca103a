"""The examples run as they stand, and decide what the truth of their studies confirms."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aggcal.metrics import kendall

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
Run = tuple[dict[str, Any], str]


@pytest.fixture
def example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    """Run a script by its name; return its names and what it printed."""
    matplotlib = pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)

    def run(name: str) -> Run:
        with matplotlib.rc_context({"backend": "agg"}):
            names = runpy.run_path(str(EXAMPLES / f"{name}.py"))
            import matplotlib.pyplot as plt

            assert plt.get_fignums(), "the picture was not drawn"
            plt.close("all")
        assert not list(tmp_path.iterdir()), "an example leaves files behind"
        return names, capsys.readouterr().out

    return run


def test_all_examples_are_tested() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {"llm_judges", "marking", "own_method"}


def test_llm_judges(example: Any) -> None:
    names, said = example("llm_judges")
    study = names["study"]
    lefts = np.array([row["outcome"] == "right" for row in names["log"]])
    who = np.array([row["annotator"] for row in names["log"]])
    assert names["biased"] == [judge for judge in np.unique(who) if not lefts[who == judge].any()]
    best = str(study.truths["item"][np.argmax(study.truths["truth"])]).replace("item", "model")
    assert best in names["contenders"]
    assert f"Decision: use {names['best']}" in said


def test_marking(example: Any) -> None:
    names, said = example("marking")
    decided = [what for what in names["decisions"].values() if what != "read again"]
    assert len(decided) > len(names["truth"]) / 2
    assert len(names["wrong"]) <= 0.1 * len(decided)
    model = np.array([float(score) for score in names["study"].scores["score"]])
    truth = np.array(list(names["truth"].values()))
    calibration = names["calibration"]
    found = dict(zip(calibration.item_ids.tolist(), calibration.calibrated, strict=True))
    calibrated = np.array([found[essay] for essay in names["truth"]])
    assert np.mean((calibrated - truth) ** 2) < 0.3 * np.mean((model - truth) ** 2)
    assert "coverage of the truth" in said


def test_own_method(example: Any) -> None:
    names, said = example("own_method")
    study = names["study"]
    latent = dict(zip(study.truths["item"].tolist(), study.truths["latent"], strict=True))
    tau = {
        name: kendall(found.scores, np.array([latent[i] for i in found.item_ids.tolist()]))[0]
        for name, found in names["consensus"].items()
    }
    assert names["better"] == max(tau, key=lambda name: tau[name]) == "hra-g"
    assert "Decision: use hra-g." in said
