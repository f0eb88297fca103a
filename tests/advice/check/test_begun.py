"""A check that was begun before: the same check."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal.advice.check import ahead, sample, survey
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
    wait = ahead.check_begun(judgments, quantified, 0, sampled=False).fitted
    assert wait is not None
    found = wait()
    np.testing.assert_array_equal(found.gap, expected.gap)
    np.testing.assert_array_equal(found.probability, expected.probability)
    monkeypatch.undo()
    ahead.begin(judgments, consensus)
    assert aggcal.check(judgments, consensus=quantified).to_dict() == plain.to_dict()


@pytest.mark.usefixtures("two_cores")
@pytest.mark.parametrize("seed", [0, 1])
def test_a_check_of_a_sample_that_was_begun_finds_the_same(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    for module in (ahead, survey):
        monkeypatch.setattr(module, "MANY", 500)
    monkeypatch.setattr(sample, "SAMPLED", 600)
    monkeypatch.setattr(sample, "_FEWEST", 5)
    judgments = study()
    consensus = aggcal.aggregate(judgments, warn=False).quantify()
    plain = aggcal.check(judgments, consensus=consensus, quick=True, seed=seed)
    assert plain.accused.looked_at is not None
    assert 5 <= len(plain.accused.looked_at) < judgments.n_annotators
    ahead.begin(judgments, consensus, 1)  # of another seed, it is not taken
    again = aggcal.check(judgments, consensus=consensus, quick=True, seed=seed)
    assert again.to_dict() == plain.to_dict()
    assert again.accused.looked_at == plain.accused.looked_at


@pytest.mark.usefixtures("two_cores")
def test_what_was_begun_for_another_consensus_is_not_taken() -> None:
    judgments = study()
    one = aggcal.aggregate(judgments, "btl", warn=False)
    other = aggcal.aggregate(judgments, warn=False)
    ahead.begin(judgments, one)
    wait = ahead.check_begun(judgments, other, 0, sampled=False).fitted
    assert wait is not None
    np.testing.assert_array_equal(wait().gap, Fitted.by(judgments, other).gap)
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
