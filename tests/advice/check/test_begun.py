"""A check whose fit was begun before: the same check."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal.advice.check import ahead
from aggcal.advice.check.context import Fitted
from aggcal.assessment.following import following


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "cores", lambda: 2)


def study(seed: int = 3) -> aggcal.Judgments:
    data = aggcal.simulate(items=30, annotators=12, judgments=900, seed=seed)
    return aggcal.read_judgments(data.judgments)


@pytest.mark.usefixtures("two_cores")
def test_a_check_that_was_begun_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    judgments = study()
    consensus = aggcal.aggregate(judgments, warn=False)
    plain = aggcal.check(judgments, consensus=consensus)
    ahead.begin(judgments, consensus)
    quantified = consensus.quantify(level=0.9)
    expected = Fitted.by(judgments, quantified)
    monkeypatch.setattr(Fitted, "by", None)  # nothing is fitted again
    found = ahead.fit_by(quantified, judgments, whole=True)()
    assert found.consensus is quantified
    np.testing.assert_array_equal(found.gap, expected.gap)
    np.testing.assert_array_equal(found.probability, expected.probability)
    monkeypatch.undo()
    assert aggcal.check(judgments, consensus=quantified).to_dict() == plain.to_dict()


@pytest.mark.usefixtures("two_cores")
def test_what_was_begun_for_another_consensus_is_not_taken() -> None:
    judgments = study()
    one = aggcal.aggregate(judgments, "btl", warn=False)
    other = aggcal.aggregate(judgments, warn=False)
    ahead.begin(judgments, one)
    found = ahead.fit_by(other, judgments, whole=True)()
    np.testing.assert_array_equal(found.gap, Fitted.by(judgments, other).gap)
    assert judgments not in ahead._waiting


@pytest.mark.usefixtures("two_cores")
def test_what_goes_wrong_is_a_finding_and_the_fit_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("no such luck")

    monkeypatch.setattr(Fitted, "by", broken)
    with following(ahead.begin):
        result = aggcal.assess(study(), warn=False)
    advice = result.with_advice().advice
    assert advice is not None
    assert [f.code for f in advice.check.findings][-1:] == ["check-failed"]
    assert "no such luck" in advice.check.findings[-1].message


@pytest.mark.usefixtures("two_cores")
def test_it_is_not_begun_where_it_does_not_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    judgments = study()
    consensus = aggcal.aggregate(judgments, warn=False)
    monkeypatch.setattr(ahead, "_FEW", 10)
    ahead.begin(judgments, consensus)
    assert judgments not in ahead._waiting
