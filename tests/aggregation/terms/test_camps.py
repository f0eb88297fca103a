"""Camps: found where they are, and claimed nowhere else."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal import Terms
from aggcal.aggregation.camps import (
    FEWEST,
    Camps,
)

N, M, EACH = 8, 18, 50
SMALL = 6


@cache
def study(kind: str, seed: int = 0, annotators: int = M) -> tuple[aggcal.Judgments, np.ndarray]:
    """Draw answers; return them with the camp of each annotator (by number)."""
    random = np.random.default_rng(seed)
    size = annotators * EACH
    who, left = np.arange(size) % annotators, random.integers(N, size=size)
    right = (left + random.integers(1, N, size=size)) % N
    theirs = np.tile(1.2 * random.normal(size=N), (annotators, 1))
    apart, camp = 1.2 * random.normal(size=N), np.arange(annotators) % 3 == 0
    stance = {
        "clean": np.zeros(annotators),
        "camps": np.where(camp, -1.0, 1.0),
        "axis": random.normal(size=annotators),
    }[kind]
    theirs += stance[:, None] * apart
    rho = np.exp(0.3 * random.normal(size=annotators))
    eta = rho[who] * (theirs[who, left] - theirs[who, right])
    won = random.random(size) < 1.0 / (1.0 + np.exp(-eta))
    rows = [
        (f"u{u:02d}", f"i{a}", f"i{b}", "left" if y else "right")
        for u, a, b, y in zip(who, left, right, won, strict=True)
    ]
    return aggcal.read_judgments(rows), camp


@cache
def found(kind: str, bridge: str = "camps", seed: int = 0) -> aggcal.Consensus:
    terms = Terms(position="off", bridge=bridge)  # type: ignore[arg-type]
    return aggcal.aggregate(study(kind, seed)[0], terms=terms, warn=False)


def camps(kind: str, bridge: str = "camps", seed: int = 0) -> Camps:
    effects = found(kind, bridge, seed).effects
    assert effects is not None
    assert effects.camps is not None
    return effects.camps


def test_camps_are_found_with_who_is_in_them_and_what_they_think() -> None:
    one = camps("camps")
    assert one.kind == "two camps"
    assert one.names == ("A", "B")
    judgments, smaller = study("camps")
    number = [int(name[1:]) for name in judgments.annotator_ids]
    assert ((one.own == "B") == smaller[number]).all()
    np.testing.assert_allclose(one.shares, [2 / 3, 1 / 3], atol=0.02)
    np.testing.assert_allclose(one.members.sum(axis=1), 1.0)
    # Neither camp counts for more: the smaller one has as much of the common ground.
    np.testing.assert_allclose(one.common_ground.values, one.scores.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(one.apart.values, one.scores[0] - one.scores[1], atol=1e-12)
    random = np.random.default_rng(0)
    size = M * EACH
    random.integers(N, size=size), random.integers(1, N, size=size)
    score, apart = 1.2 * random.normal(size=N), 1.2 * random.normal(size=N)
    order = [int(name[1:]) for name in judgments.item_ids]
    truth = np.stack([score + apart, score - apart])[:, order]
    for mine, se, true in zip(one.scores, one.se, truth, strict=True):
        assert np.corrcoef(mine, true)[0, 1] > 0.95
        z = (mine - (true - true.mean()) * mine.std() / true.std()) / se
        assert np.sqrt(np.mean(z**2)) < 2.0


@pytest.mark.parametrize(("kind", "seed"), [("clean", 1), ("axis", 3)])
def test_nothing_is_claimed_without_camps(kind: str, seed: int) -> None:
    one = camps(kind, seed=seed)
    assert not one.stands_out
    assert one.kind in ("one order", "an axis")
    effects = found(kind, seed=seed).effects
    assert effects is not None
    assert effects.axis is None


def test_auto_takes_camps_or_else_the_axis() -> None:
    both = found("axis", "auto", 1).effects
    assert both is not None
    assert both.axis is not None
    assert both.camps is not None
    assert not both.camps.stands_out
    split = found("camps", "auto").effects
    assert split is not None
    assert split.axis is None
    assert split.camps is not None
    assert split.camps.scores.tobytes() == camps("camps").scores.tobytes()


def test_a_few_annotators_are_no_camps() -> None:
    judgments, _ = study("camps", annotators=FEWEST - 1)
    terms = Terms(position="off", bridge="camps")
    effects = aggcal.aggregate(judgments, terms=terms, warn=False).effects
    assert effects is not None
    assert effects.camps is not None
    assert not effects.camps.stands_out
    assert effects.camps.not_looked == "there are only 5 annotators; it takes 6"
    assert camps("clean", seed=1).not_looked == ""


def test_many_items_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aggcal.aggregation.camps.MOST_ITEMS", N - 1)
    terms = Terms(position="off", bridge="camps")
    effects = aggcal.aggregate(study("clean", 1)[0], terms=terms, warn=False).effects
    assert effects is not None
    assert effects.camps is not None
    assert effects.camps.not_looked == "there are 8 items; at most 7 can be searched"
    assert effects.camps.to_dict()["not_looked"] == effects.camps.not_looked


def test_a_judgment_is_predicted_by_the_camp_of_its_annotator() -> None:
    """New answers are more probable by camps; somebody unknown is of either, as others are."""
    consensus, (judgments, smaller) = found("camps"), study("camps")
    one, item = camps("camps"), judgments.item_ids
    high, low = item[one.apart.values.argmax()], item[one.apart.values.argmin()]
    known = [judgments.annotator_ids[one.own == name][0] for name in one.names]
    asked = aggcal.read_judgments([(who, high, low) for who in (*known, "somebody")])
    row = {str(who): k for k, who in enumerate(asked.annotator_ids)}
    chances = consensus.judgment_probabilities(asked)
    a, b, new = (
        float(chances[asked.annotator == row[str(who)]][0]) for who in (*known, "somebody")
    )
    assert a > 0.7
    assert b < 0.3
    assert new == pytest.approx(one.shares @ [a, b], abs=0.1)
    outcomes = consensus.outcome_probabilities(asked)
    np.testing.assert_allclose(outcomes.sum(axis=1), 1.0)
    plain = aggcal.aggregate(judgments, terms=Terms(position="off"), warn=False)
    later, answer = drawn_again(judgments, smaller)
    gain = 0.0
    for fit, sign in ((consensus, 1.0), (plain, -1.0)):
        chance = fit.judgment_probabilities(later)
        gain += sign * float(np.log(np.where(answer, chance, 1.0 - chance)).mean())
    assert gain > 0.01


def drawn_again(judgments: aggcal.Judgments, smaller: np.ndarray) -> tuple[aggcal.Judgments, Any]:
    """Draw more answers of the same annotators."""
    random = np.random.default_rng(0)
    size = M * EACH
    random.integers(N, size=size), random.integers(1, N, size=size)
    score, apart = 1.2 * random.normal(size=N), 1.2 * random.normal(size=N)
    random = np.random.default_rng(1)
    who, left = random.integers(M, size=1000), random.integers(N, size=1000)
    right = (left + random.integers(1, N, size=1000)) % N
    side = np.where(smaller, -1.0, 1.0)[who]
    gap = score[left] - score[right] + side * (apart[left] - apart[right])
    won = random.random(1000) < 1.0 / (1.0 + np.exp(-gap))
    rows = [
        (f"u{u:02d}", f"i{a}", f"i{b}", "left" if y else "right")
        for u, a, b, y in zip(who, left, right, won, strict=True)
    ]
    later = aggcal.read_judgments(rows)
    assert set(later.item_ids) <= set(judgments.item_ids)
    return later, np.asarray(later.outcome == 1.0)


def test_scores_of_camps_are_those_of_fits_to_their_members() -> None:
    """The scale of a camp is that of its typical member, up to what they have in common."""
    judgments, smaller = study("camps")
    number = np.array([int(name[1:]) for name in judgments.annotator_ids])
    for camp, mine in ((0, ~smaller), (1, smaller)):
        alone = judgments.of_rows(mine[number][judgments.annotator])
        fit = aggcal.aggregate(alone, terms=Terms(position="off"), warn=False)
        assert fit.item_ids.tolist() == judgments.item_ids.tolist()
        ours = camps("camps").scores[camp]
        assert np.corrcoef(ours, fit.scores)[0, 1] > 0.99
        slope = (ours @ fit.scores) / (fit.scores @ fit.scores)
        assert slope == pytest.approx(1.0, abs=0.25)


def test_words_for_it_are_checked() -> None:
    assert Terms(bridge=True) == Terms(bridge="axis")
    assert Terms(bridge=False) == Terms()
    with pytest.raises(aggcal.AggcalError, match="did you mean 'camps'"):
        Terms(bridge="camp")  # type: ignore[arg-type]
