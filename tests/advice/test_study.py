"""A check takes whatever knows a study, and says the same of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import aggcal
from aggcal.advice.check import survey
from aggcal.errors import OptionError
from aggcal.simulation import Simulation, simulate


@pytest.fixture(scope="module")
def made() -> Simulation:
    return simulate(items=8, annotators=5, judgments=150, reversed_share=0.2, seed=4)


def told(*given: Any) -> dict[str, Any]:
    """Return what is said but of dependence: an assessment has the errors that tell of it."""
    kept = aggcal.check(*given, quick=True, with_precision=False).to_dict()
    kept["passed"] = [each for each in kept["passed"] if each["code"] != "dependent-answers"]
    kept["not_checked"] = [each for each in kept["not_checked"] if "dependent" not in each]
    kept["findings"] = sorted(each["code"] for each in kept["findings"])
    return kept


def test_every_input_and_result_is_checked_alike(made: Simulation, tmp_path: Path) -> None:
    frame = pd.DataFrame(made.judgments)
    frame.to_csv(tmp_path / "judgments.csv", index=False)
    consensus = aggcal.aggregate(frame, warn=False)
    alone = {
        "path": tmp_path / "judgments.csv",
        "pandas": frame,
        "polars": pl.DataFrame(made.judgments),
        "columns": made.judgments,
        "rows": list(zip(*made.judgments.values(), strict=True)),
        "judgments": aggcal.read_judgments(frame),
        "consensus": consensus,
        "comparison": aggcal.compare_methods(frame, ["btl"], folds=2),
        "suggestions": aggcal.suggest_pairs(frame, n=2),
    }
    scored = {
        "assessment": aggcal.assess(frame, made.scores, warn=False),
        "calibration": aggcal.calibrate(made.scores, consensus, warn=False),
        "simulation": made,
    }
    wanted = told(aggcal.read_judgments(frame))
    for name, given in alone.items():
        assert told(given) == wanted, name
    both = told(aggcal.read_judgments(frame), aggcal.read_scores(made.scores))
    assert both != wanted
    for name, given in scored.items():
        assert told(given) == both, name
    for name in ("rows", "consensus"):
        assert told(alone[name], made.scores) == both, name


def test_scores_that_are_given_go_before_those_of_a_result(made: Simulation) -> None:
    result = aggcal.assess(made.judgments, made.scores, warn=False)
    fewer = {"item": made.item_ids[1:], "score": made.model[1:]}
    assert "unmatched-items" in told(result, fewer)["findings"]
    assert "unmatched-items" not in told(result)["findings"]


def test_a_result_is_not_fitted_again_unless_by_another_method(
    made: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = aggcal.assess(made.judgments, method="btl", warn=False)
    fitted: list[str] = []
    known = aggcal.aggregate

    def watched(judgments: aggcal.Judgments, method: Any, **rest: Any) -> aggcal.Consensus:
        fitted.append(method)
        return known(judgments, method, **rest)

    monkeypatch.setattr(survey, "aggregate", watched)
    told(result)
    aggcal.check(result, method="btl", quick=True)
    assert fitted == []
    aggcal.check(result, method="tcv", quick=True)
    assert fitted == ["tcv"]
    # What a check cannot use, it fits by its own default.
    by_features = aggcal.aggregate(made.judgments, "gppl", features="identity", warn=False)
    told(by_features)
    assert fitted == ["tcv", "hra-g"]


def test_what_has_no_judgments_is_refused_in_a_sentence(made: Simulation) -> None:
    calibration = aggcal.calibrate(made.scores, made.scores, warn=False)
    for given in (
        aggcal.read_scores(made.scores),
        calibration,
        calibration.predict({"new": 50.0}),
        aggcal.suggest_pairs(None, made.scores),
        aggcal.check(made.judgments, quick=True),
    ):
        what = f"{type(given).__name__} has no judgments, which this needs; give the judgments"
        with pytest.raises(OptionError, match=what):
            aggcal.check(given)
