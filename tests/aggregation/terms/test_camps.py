"""Camps: found where they are, and claimed nowhere else."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import aggcal
from aggcal import Terms
from aggcal.aggregation.camps import (
    FEWEST,
    Camps,
    Mixture,
    Observed,
    Shape,
    Values,
    fit_mixture,
)
from aggcal.aggregation.families import Adjacent
from aggcal.aggregation.rows import Plan, rows_by_plan

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
    np.testing.assert_allclose(one.common_ground, one.scores.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(one.apart, one.scores[0] - one.scores[1], atol=1e-12)
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
    high, low = item[one.apart.argmax()], item[one.apart.argmin()]
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


def small() -> tuple[Observed, Shape, Values]:
    judgments, _ = study("camps", annotators=SMALL)
    rows = rows_by_plan(judgments, Plan())
    none, random = np.zeros(len(rows)), np.random.default_rng(1)
    seen = Observed(rows, 0.1 + none, none, none - np.inf, Adjacent())
    values = Values(0.5 * random.normal(size=(3, N)), np.array([0.6, 0.4]), 1.0, 0.8, 0.4, 0.1)
    return seen, Shape.camps(2), values


def test_derivatives_are_those_of_the_evidence() -> None:
    """Integrated on a fine grid of reliabilities, which knows nothing of modes and nodes."""
    seen, shape, values = small()
    rows, grid = seen.rows, np.linspace(-3.0, 4.0, 281)
    log_prior = -0.5 * ((grid - 1.0) / values.tau) ** 2 - np.log(values.tau * np.sqrt(2 * np.pi))

    def evidence(flat: np.ndarray) -> float:
        theta = shape.mixing @ flat.reshape(values.parts.shape)
        by_class = []
        for scores in theta:
            gap = scores[rows.left] - scores[rows.right] + seen.offset
            total = 0.0
            for sign, share in ((1.0, 1.0 - values.reversed_share), (-1.0, values.reversed_share)):
                eta = sign * grid[:, None] * gap
                loss = rows.answers.weight * np.logaddexp(0.5 * eta, -0.5 * eta)
                loss -= rows.answers.lean * eta
                logs = log_prior - np.add.reduceat(loss, rows.starts[:-1], axis=1).T
                total = total + share * np.exp(logs).sum(axis=1) * (grid[1] - grid[0])
            by_class.append(total)
        return float(np.log(values.shares @ np.stack(by_class)).sum())

    looked = Mixture(seen, shape).evaluate(values)
    assert looked.evidence.sum() == pytest.approx(evidence(values.parts.ravel()), abs=0.05)
    ours, whole, _ = looked.derivatives(looked.classes)
    numeric = approx_fprime(values.parts.ravel(), evidence, 1e-5)
    np.testing.assert_allclose(ours, numeric, atol=0.03 * np.abs(numeric).max())
    step = 1e-3
    for k in (0, N + 2, 2 * N + 5):
        ends = []
        for sign in (1.0, -1.0):
            moved = values.parts.ravel().copy()
            moved[k] += sign * step
            ends.append(approx_fprime(moved, evidence, 1e-5))
        second = -(ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(whole[k], second, atol=0.06 * np.abs(second).max())


def test_equal_camps_are_one_order() -> None:
    seen, shape, values = small()
    parts = np.concatenate([values.parts[:1], np.zeros((2, N))])
    two = Mixture(seen, shape).evaluate(Values(parts, values.shares, 1.0, 0.8, 0.4, 0.1))
    one = Mixture(seen, Shape.one()).evaluate(Values(parts[:1], np.ones(1), 1.0, 0.8, 0.4, 0.1))
    np.testing.assert_allclose(two.evidence, one.evidence, atol=1e-9)
    np.testing.assert_allclose(two.classes, np.tile(values.shares, (SMALL, 1)), atol=1e-9)


def test_which_camp_is_named_first_makes_no_difference() -> None:
    seen, shape, values = small()
    classes = np.random.default_rng(2).dirichlet([1.0, 1.0], SMALL)
    begin = Values(values.parts, np.full(2, 0.5), 1.0, 0.8)
    turned = Values(values.parts[[0, 2, 1]], np.full(2, 0.5), 1.0, 0.8)
    one = fit_mixture(seen, shape, begin, classes)
    other = fit_mixture(seen, shape, turned, classes[:, ::-1])
    np.testing.assert_allclose(one.scores, other.scores[::-1], atol=1e-6)
    np.testing.assert_allclose(one.classes, other.classes[:, ::-1], atol=1e-6)
