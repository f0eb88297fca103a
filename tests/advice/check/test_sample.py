"""Large studies: some annotators are drawn, the others judged by their scores; all is said."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal.advice import advising
from aggcal.advice.check import look, survey
from aggcal.advice.verdicts import REVERSED, Verdicts

ANNOTATORS = 90


@pytest.fixture(scope="module")
def study() -> aggcal.Judgments:
    """Ninety annotators; every ninth answers in reverse, another ninth always chooses the left."""
    random = np.random.default_rng(5)
    scores = random.normal(0.0, 1.5, 15)
    who = np.repeat(np.arange(ANNOTATORS), 60)
    left = random.integers(15, size=len(who))
    right = (left + random.integers(1, 15, len(who))) % 15
    gap = np.where(who % 9 == 0, -1.0, 1.0) * (scores[left] - scores[right])
    won = (random.random(len(who)) < 1.0 / (1.0 + np.exp(-2.0 * gap))) | (who % 9 == 1)
    kinds = {0: "r", 1: "s"}
    names = {
        "annotator": [f"{kinds.get(int(u) % 9, 'a')}{u}" for u in who],
        "left": [f"i{k}" for k in left],
        "right": [f"i{k}" for k in right],
        "outcome": np.where(won, "left", "right").astype(object),
    }
    return aggcal.read_judgments(names)


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold the answers of half of the study against draws."""
    monkeypatch.setattr(look, "LOOKED", 2_700)
    monkeypatch.setattr(look, "LOOKED_QUICKLY", 2_700)


@pytest.mark.usefixtures("many")
def test_everybody_is_judged_though_not_everybody_gives_scores(study: aggcal.Judgments) -> None:
    found = survey.check(study, with_precision=False)
    assert found.not_checked[0].startswith("copied answers and opposing groups among all")
    assert f"of {ANNOTATORS} annotators" in found.not_checked[0]
    kinds = {"r": "reversed", "s": "one-sided"}
    assert all(kinds[name[0]] == verdict for name, (verdict, _) in found.accused.named.items())
    assert len(found.accused.named) >= 0.9 * 2 * ANNOTATORS // 9
    assert survey.check(study, with_precision=False).accused == found.accused


@pytest.mark.usefixtures("many")
def test_nobody_is_accused_unseen(study: aggcal.Judgments, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look, "_MOST", 1_000)
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
    assert any("annotators against the others (to save time)" in s for s in told.check.not_checked)
