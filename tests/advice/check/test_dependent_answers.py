"""One finding says by how much errors are larger because answers depend on each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import aggcal
from aggcal.advice.check import Check, Finding
from aggcal.aggregation.robust import Factor, Robust
from aggcal.simulation import simulate


def checked(*factors: Factor, quick: bool = True) -> Check:
    """Check a study whose errors are widened by these factors."""
    judgments = aggcal.read_judgments(simulate(items=8, annotators=5, judgments=300, seed=1).shown)
    consensus = aggcal.aggregate(judgments, warn=False).quantify()
    assert consensus.stated is not None
    stated = replace(consensus.stated, robust=Robust(factors))
    return aggcal.check(judgments, consensus=replace(consensus, stated=stated), quick=quick)


def factor(name: str, squared: float) -> Factor:
    return Factor(name, squared, 0.04, 100)


def dependent(found: Check) -> Finding | None:
    return next((each for each in found.findings if each.code == "dependent-answers"), None)


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize(("squared", "severity"), [(1.5, "note"), (2.6, "problem")])
def test_the_widest_grouping_is_named(squared: float, severity: str, *, quick: bool) -> None:
    found = checked(factor("annotator", 1.0), factor("question", squared), quick=quick)
    finding = dependent(found)
    assert finding is not None
    assert finding.severity == severity
    assert (
        "Answers to the same question agree more than the fitted curve says (annotator 1.0"
        in finding.message
    )
    assert "more questions" in finding.remedy
    assert finding.details["widest"] == "question"


def test_a_context_is_called_by_its_column() -> None:
    finding = dependent(checked(factor("question", 1.2), factor("prompt", 3.0)))
    assert finding is not None
    assert "Answers about the same prompt agree" in finding.message


def test_of_all_together_those_that_widen_are_named() -> None:
    factors = factor("annotator", 1.7), factor("question", 1.5), factor("act", 1.0)
    finding = dependent(checked(*factors, factor("all", 2.5)))
    assert finding is not None
    assert (
        "(tastes, or acts that nothing names) and answers to the same question agree"
        in finding.message
    )
    assert "all together 1.6" in finding.message


def test_weights_of_independent_answers_are_no_tastes() -> None:
    shown = dict(simulate(items=30, annotators=40, judgments=3000, seed=4).shown)
    shown["weight"] = 1 + 2 * (np.arange(3000) % 2)
    judgments = aggcal.read_judgments(shown)
    consensus = aggcal.aggregate(judgments, warn=False).quantify()
    found = aggcal.check(judgments, consensus=consensus, quick=True)
    finding = dependent(found)
    assert finding is not None
    assert "Weights count one row as several answers" in finding.message


def test_an_act_is_named_before_its_annotator() -> None:
    finding = dependent(checked(factor("annotator", 2.4), factor("act", 2.38)))
    assert finding is not None
    assert "Answers given together agree" in finding.message
    finding = dependent(checked(factor("annotator", 3.4), factor("act", 2.38)))
    assert finding is not None
    assert "(tastes, or" in finding.message


def test_independent_answers_pass() -> None:
    found = checked(factor("annotator", 1.0), factor("question", 1.05))
    assert dependent(found) is None
    says = {each.code: each.says for each in found.passed}["dependent-answers"]
    assert says.startswith("Errors are as large as if all answers were independent")


def test_what_could_not_be_estimated_is_not_checked() -> None:
    found = checked()
    assert dependent(found) is None
    assert any(each.startswith("dependent answers") for each in found.not_checked)
