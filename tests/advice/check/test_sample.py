"""Large studies: a quick check looks at a sample, says so, and accuses nobody unseen."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal.advice import advising
from aggcal.advice.check import context, sample, survey
from aggcal.advice.verdicts import REVERSED, Verdicts

ANNOTATORS = 90


@pytest.fixture(scope="module")
def study() -> aggcal.Judgments:
    """Ninety annotators, every ninth of whom answers in reverse."""
    random = np.random.default_rng(5)
    scores = random.normal(0.0, 1.5, 15)
    who = np.repeat(np.arange(ANNOTATORS), 60)
    left = random.integers(15, size=len(who))
    right = (left + random.integers(1, 15, len(who))) % 15
    gap = np.where(who % 9 == 0, -1.0, 1.0) * (scores[left] - scores[right])
    won = random.random(len(who)) < 1.0 / (1.0 + np.exp(-2.0 * gap))
    names = {
        "annotator": [f"{'r' if u % 9 == 0 else 'a'}{u}" for u in who],
        "winner": [f"i{k}" for k in np.where(won, left, right)],
        "loser": [f"i{k}" for k in np.where(won, right, left)],
    }
    return aggcal.read_judgments(names)


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a thousand rows for many, and look at half of the study."""
    monkeypatch.setattr(advising, "IN_FULL", 1_000)
    monkeypatch.setattr(survey, "MANY", 1_000)
    monkeypatch.setattr(sample, "SAMPLED", 2_700)


def test_a_sample_has_all_rows_of_those_who_are_drawn_and_no_others(
    study: aggcal.Judgments,
) -> None:
    found = sample.sample(study, 3, most=2_000).judgments
    drawn = np.isin(study.annotator_ids, found.annotator_ids)
    assert 20 <= drawn.sum() < ANNOTATORS
    wanted = study.of_rows(drawn[study.annotator])
    assert found.item_ids.tolist() == wanted.item_ids.tolist()
    for name in ("annotator", "left", "right", "outcome", "weight", "count"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))


@pytest.mark.usefixtures("many")
def test_a_quick_check_of_many_rows_looks_at_a_sample(study: aggcal.Judgments) -> None:
    found = survey.check(study, quick=True)
    assert found.not_checked[0].startswith("all annotators (to save time, ")
    assert f"of {ANNOTATORS} annotators" in found.not_checked[0]
    seen = found.accused.looked_at
    assert seen is not None
    assert 30 <= len(seen) < 60
    assert found.accused.named
    assert set(found.accused.named) <= seen
    assert all(name.startswith("r") for name in found.accused.named)
    assert found.counts["annotators"] == ANNOTATORS  # what needs no fit is counted in full
    assert survey.check(study, quick=True).accused == found.accused  # the seed decides


@pytest.mark.usefixtures("many")
def test_nobody_is_accused_unseen(study: aggcal.Judgments) -> None:
    consensus = aggcal.aggregate(study, warn=False).quantify()
    told = advising.advise(study, consensus=consensus)
    assert told is not None
    accused = told.check.accused
    verdicts = Verdicts.of(consensus, accused)
    assert accused.looked_at is not None
    assert set(verdicts.named(REVERSED)) <= accused.looked_at
    unseen = [
        reason
        for who, reason in zip(verdicts.annotator_ids, verdicts.reason, strict=True)
        if who.startswith("r") and who not in accused.looked_at
    ]
    assert unseen
    assert all("looked at a sample" in reason for reason in unseen)


@pytest.mark.usefixtures("many")
def test_a_sample_of_what_was_fitted_is_not_fitted_again(
    study: aggcal.Judgments, monkeypatch: pytest.MonkeyPatch
) -> None:
    consensus = aggcal.aggregate(study, warn=False)
    apart = survey.check(study, quick=True)
    monkeypatch.delattr(context, "aggregate")
    found = survey.check(study, consensus=consensus, quick=True)
    assert found.accused.looked_at == apart.accused.looked_at
    assert set(found.accused.named) == set(apart.accused.named)


@pytest.mark.usefixtures("many")
def test_a_full_check_looks_at_everyone(study: aggcal.Judgments) -> None:
    found = survey.check(study, quick=False, with_precision=False)
    assert found.accused.looked_at is None
    assert len(found.accused.named) == ANNOTATORS // 9


def test_the_rarest_fault_that_a_sample_has() -> None:
    drawn = aggcal.read_judgments(
        aggcal.simulate(items=9, annotators=40, judgments=400, seed=1).judgments
    )
    part = sample.Sample(drawn, 10_000, 10**6)
    random = np.random.default_rng(2)
    bad = random.random((20_000, 40)) < part.rarest
    assert bad.any(axis=1).mean() == pytest.approx(0.95, abs=0.005)
