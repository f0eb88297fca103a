"""Simulation: the promised moments, and the chances that the link says."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal.aggregation.families import Adjacent, RaoKupper
from aggcal.aggregation.links import link
from aggcal.errors import OptionError
from aggcal.registry.literals import LinkName, SimulatedTies
from aggcal.simulation import SimulatedTerms, Simulation, simulate


@pytest.mark.parametrize("name", ["logistic", "normal", "laplace"])
def test_judgments_follow_the_link(name: LinkName) -> None:
    made = simulate(items=4, annotators=2, judgments=200_000, link=name, seed=2)
    chance = link(name).probability
    for u in range(2):
        for i in range(4):
            for j in range(i):
                ahead = np.sum((made.annotator == u) & (made.winner == i) & (made.loser == j))
                behind = np.sum((made.annotator == u) & (made.winner == j) & (made.loser == i))
                gap = made.reliability[u] * (made.latent[i] - made.latent[j])
                expected = float(chance(np.array([gap]))[0])
                n = ahead + behind
                error = 4.5 * np.sqrt(expected * (1 - expected) / n)
                assert ahead / n == pytest.approx(expected, abs=error)


def test_moments_are_exact_and_seeds_repeat() -> None:
    made, again = simulate(seed=4), simulate(seed=4)
    assert made.latent.mean() == pytest.approx(0.0, abs=1e-12)
    assert made.latent.std() == pytest.approx(1.0)
    assert made.reliability.mean() == pytest.approx(1.0)
    np.testing.assert_allclose(made.truth, 50 + 10 * made.latent)
    np.testing.assert_array_equal(made.winner, again.winner)
    assert (made.winner != made.loser).all()
    assert not np.array_equal(made.winner, simulate(seed=5).winner)


def test_reversed_share_and_model_error() -> None:
    made = simulate(
        annotators=20,
        reversed_share=0.25,
        items=5000,
        model_sd=3.0,
        model_bias=2.0,
        model_slope=0.5,
    )
    assert (made.reliability < 0).sum() == 5
    error = made.model - (50 + 2 + 0.5 * (made.truth - 50))
    assert error.std() == pytest.approx(3.0, rel=0.05)


@pytest.mark.parametrize(
    "wrong", [{"items": 1}, {"judgments": 0}, {"reversed_share": 1.5}, {"model_sd": -1.0}]
)
def test_impossible_studies_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(OptionError, match="give"):
        simulate(**wrong)  # type: ignore[arg-type]  # on purpose


def test_faults_are_put_in_as_asked_and_leave_the_rest_as_it_was() -> None:
    clean = simulate(annotators=40, judgments=4000, seed=9)
    made = simulate(
        annotators=40,
        judgments=4000,
        guessing_share=0.1,
        left_share=0.1,
        copied_share=0.1,
        camp_share=0.2,
        camp_correlation=-1.0,
        seed=9,
    )
    assert [int((made.role == r).sum()) for r in ("guesses", "left", "copies", "camp")] == [
        4, 4, 4, 8,
    ]  # fmt: skip
    assert (made.winner == made.left)[(made.role == "left")[made.annotator]].all()
    np.testing.assert_allclose(made.camp_latent, -made.latent)
    honest = (made.role == "honest")[made.annotator]
    np.testing.assert_array_equal(made.winner[honest], clean.winner[honest])
    for one, other in made.copied.items():
        mine, theirs = (
            np.flatnonzero(made.annotator == one),
            np.flatnonzero(made.annotator == other),
        )
        size = min(len(mine), len(theirs))
        np.testing.assert_array_equal(made.winner[mine[:size]], made.winner[theirs[:size]])


def test_a_camp_may_have_any_correlation() -> None:
    made = simulate(items=50, camp_share=0.5, camp_correlation=0.3, seed=1)
    assert np.corrcoef(made.latent, made.camp_latent)[0, 1] == pytest.approx(0.3)
    with pytest.raises(OptionError, match="at most 1"):
        simulate(camp_share=0.6, left_share=0.6)


def digest(made: Simulation) -> str:
    tables = (made.judgments, made.shown, made.scores, made.truths, made.annotators)
    text = "".join(
        f"{name}{np.asarray(column).tolist()}" for table in tables for name, column in table.items()
    )
    return sha256(text.encode()).hexdigest()[:16]


def test_without_further_terms_studies_are_what_they_were() -> None:
    everything: dict[str, Any] = {
        "copied_share": 0.2, "camp_share": 0.3, "left_share": 0.1, "guessing_share": 0.1,
    }  # fmt: skip
    made = simulate(items=7, annotators=9, judgments=300, seed=4, **everything)
    assert made.drawn.terms.plain
    assert list(made.judgments) == ["annotator", "winner", "loser"]
    assert list(made.annotators) == ["annotator", "reliability"]
    assert list(made.tables) == ["judgments.csv", "scores.csv", "truth.csv", "annotators.csv"]
    # As they were before there were further terms.
    assert digest(made) == "c2001e86874cc6dd"
    # A term that is named but of no size changes nothing.
    again = simulate(
        items=7, annotators=9, judgments=300, seed=4, terms=SimulatedTerms(), **everything
    )
    assert digest(again) == digest(made)


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_answers_follow_the_model(ties: SimulatedTies) -> None:
    terms = SimulatedTerms(ties, position=0.5, position_sd=0.3, tie_readiness=-0.2)
    made = simulate(items=3, annotators=2, judgments=120_000, terms=terms, seed=2)
    drawn, grade = made.drawn, made.grade
    for u in range(2):
        for i in range(3):
            for j in range(3):
                mine = (made.annotator == u) & (made.left == i) & (made.right == j)
                if i == j:
                    continue
                gap = made.reliability[u] * (made.latent[i] - made.latent[j]) + drawn.position[u]
                eta, nu = np.array([gap]), drawn.tie_readiness[[u]]
                if ties == "davidson":
                    chances = Adjacent().probabilities(eta, nu)[0]
                else:
                    chances = RaoKupper().probabilities(eta, nu)[0]
                for answer, chance in zip((1, -1, 0), chances.tolist(), strict=True):
                    share = float(np.mean(grade[mine] == answer))
                    error = 4.5 * np.sqrt(chance * (1 - chance) / mine.sum())
                    assert share == pytest.approx(chance, abs=error)


def test_effects_have_the_spread_that_was_asked_for() -> None:
    terms = SimulatedTerms(
        ties="davidson",
        position=-0.3, position_sd=0.2, tie_readiness=0.4, tie_readiness_sd=0.7,
        contexts=200, context_sd=0.6, tie_context_sd=0.3,
        category_shares=(6, 3, 1), category_sd=0.8, control=0.5, axis_sd=0.4, second_camp=0.25,
    )  # fmt: skip
    made = simulate(items=500, annotators=4000, judgments=20_000, terms=terms, seed=1)
    drawn = made.drawn
    for values, mean, sd in (
        (drawn.position, -0.3, 0.2),
        (drawn.tie_readiness, 0.4, 0.7),
        (drawn.groups["context"].effects, 0.0, 0.6),
        (drawn.groups["category"].effects, 0.0, 0.8),
        (drawn.axis, 0.0, 0.4),
        (drawn.scaled_length, 0.0, 1.0),
    ):
        assert values.mean() == pytest.approx(mean, abs=4.5 * sd / np.sqrt(values.size))
        assert values.std() == pytest.approx(sd, rel=0.1)
    shares = np.bincount(drawn.groups["category"].code) / 20_000
    np.testing.assert_allclose(shares, [0.6, 0.3, 0.1], atol=0.02)
    assert (drawn.stance == -1.0).mean() == 0.25


def test_tables_are_read_back() -> None:
    terms = SimulatedTerms("davidson", contexts=5, categories=2, control=0.3, grades=3, axis_sd=0.2)
    made = simulate(items=6, annotators=5, judgments=400, terms=terms, seed=3)
    assert set(made.tables) == {
        "judgments.csv", "scores.csv", "truth.csv", "annotators.csv", *terms.tables,
    }  # fmt: skip
    read = aggcal.read_judgments(made.judgments, context="context", by="category")
    assert read.sided
    assert read.context_ids is not None
    assert read.context_ids.tolist() == made.drawn.groups["context"].ids.tolist()
    assert [column.ids.tolist() for column in read.categories] == [
        made.drawn.groups["category"].ids.tolist()
    ]
    assert read.grade is not None
    numbers = [np.bincount(np.abs(grade), minlength=4) for grade in (read.grade, made.grade)]
    weighed = np.bincount(np.abs(read.grade), read.count, minlength=4)
    np.testing.assert_array_equal(weighed, numbers[1])
    control = made.tables["control.csv"]
    assert list(control) == ["item", "context", "length"]
    assert len(control["item"]) == 30
    truth = made.tables["categories.csv"]
    np.testing.assert_allclose(truth["truth"], 50.0 + 10.0 * truth["latent"])


def test_copies_are_copies_of_everything() -> None:
    terms = SimulatedTerms("davidson", contexts=4, grades=2)
    made = simulate(annotators=6, judgments=900, copied_share=0.34, terms=terms, seed=1)
    for one, other in made.copied.items():
        mine, theirs = (np.flatnonzero(made.annotator == u) for u in (one, other))
        size = min(len(mine), len(theirs))
        for column in (made.left, made.right, made.grade, made.drawn.groups["context"].code):
            np.testing.assert_array_equal(column[mine[:size]], column[theirs[:size]])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"ties": "davidsen"}, "did you mean"),
        ({"position_sd": -1.0}, "position_sd.* is -1.0; give a number, 0 or more"),
        ({"contexts": -1}, "contexts.* is -1"),
        ({"grades": 4}, "grades.* is 4"),
        ({"second_camp": 1.0}, "second_camp.* is 1.0"),
        ({"position": float("nan")}, "position.* is nan"),
        ({"category_shares": (1.0, 0.0)}, "not above 0"),
        ({"categories": 3, "category_shares": (1.0, 2.0)}, "categories.* is 3, but there are 2"),
        ({"ties": "rao-kupper", "grades": 2}, "one grade only"),
    ],
)
def test_impossible_terms_are_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        SimulatedTerms(**wrong)


def test_further_terms_need_the_logistic_link() -> None:
    with pytest.raises(OptionError, match=r"link=.logistic. only"):
        simulate(link="normal", terms=SimulatedTerms("davidson"))
