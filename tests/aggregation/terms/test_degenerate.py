"""Studies that tell little or nothing: the fit settles, and says how unsure it is."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import aggcal
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.terms import Terms
from aggcal.errors import ConvergenceWarning
from aggcal.simulation import SimulatedTerms, simulate

Rows = list[tuple[str, ...]]
SOME = [
    tuple(map(str, row))
    for row in zip(
        *simulate(
            items=5, annotators=4, judgments=80, terms=SimulatedTerms(ties="davidson"), seed=2
        ).shown.values(),
        strict=True,
    )
]
_PAIRS = [(f"item-{a}", f"item-{b}") for a in range(1, 6) for b in range(1, 6) if a != b]
STUDIES: dict[str, Rows] = {
    "all ties": [(f"u{k % 3}", "abc"[k % 3], "abc"[(k + 1) % 3], "tie") for k in range(30)],
    "one tie": [("u", "a", "b", "tie")],
    "one judgment": [("u", "a", "b", "left")],
    "one annotator": [("u", *row[1:]) for row in SOME],
    "one pair": [(f"u{k % 4}", "a", "b", ("left", "right", "tie")[k % 3]) for k in range(40)],
    "one pair, one answer": [(f"u{k % 4}", "a", "b", "left") for k in range(40)],
    "someone always ties": [*SOME, *(("t", *pair, "tie") for pair in _PAIRS)],
    "someone always says left": [*SOME, *(("t", *pair, "left") for pair in _PAIRS)],
    "all say left": [(f"u{k % 4}", *_PAIRS[k % 20], "left") for k in range(200)],
    "one judgment each": [(f"u{k}", *row[1:]) for k, row in enumerate(SOME)],
    "one tie in many": [row for row in SOME if row[3] != "tie"]
    + [("u", "item-1", "item-2", "tie")],
    "two components": [("u", "a", "b", "left"), ("u", "c", "d", "tie"), ("v", "b", "a", "tie")],
    "no doubt": [
        (f"u{k}", a, b, "left" if a < b else "right") for k in range(3) for a, b in _PAIRS
    ],
}
TERMS = {
    "auto": Terms(),
    "position": Terms(position="on"),
    "halves and position": Terms(ties="halves", position="on"),
}


def sound(consensus: Consensus, judgments: aggcal.Judgments, *, converged: bool = True) -> None:
    """Everything is finite, probabilities add up, and it has converged or says it has not."""
    assert consensus.convergence is not None
    reached = consensus.convergence.converged
    assert reached or not converged
    assert any(isinstance(w, ConvergenceWarning) for w in consensus.warnings) != reached
    assert consensus.uncertainty is not None
    for numbers in (consensus.scores, consensus.reliabilities, consensus.uncertainty.se):
        assert np.isfinite(numbers).all()
    effects = consensus.effects
    if effects is None:
        return
    for effect in (effects.position, effects.readiness):
        if effect is not None:
            assert np.isfinite(effect.values).all()
            assert (effect.se > 0.0).all()
            assert 0.0 < effect.common_se < 4.0
    chances = effects.outcomes(judgments)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-9)
    assert (chances >= 0.0).all()


def fitted(judgments: Any, terms: Terms) -> Consensus:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return aggcal.aggregate(judgments, terms=terms, warn=False)


@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("name", STUDIES)
def test_studies_that_tell_little(name: str, terms: str) -> None:
    judgments = aggcal.read_judgments(STUDIES[name])
    # With one judgment each, wider positions, ties and scores explain each other: standard
    # deviations wander along a flat direction, and that is said unless they come to rest.
    flat = (name, terms) == ("one judgment each", "position")
    sound(fitted(judgments, TERMS[terms]), judgments, converged=not flat)


@pytest.mark.parametrize("name", ["one tie", "one annotator", "someone always ties"])
@pytest.mark.parametrize("terms", [Terms(ties="rao-kupper"), Terms(bridge=True)])
def test_little_is_told_of_other_terms_either(name: str, terms: Terms) -> None:
    judgments = aggcal.read_judgments(STUDIES[name])
    sound(fitted(judgments, terms), judgments)


def test_one_judgment_tells_next_to_nothing_of_a_position() -> None:
    # The errors of means were once those of annotators who hardly differ: 0.01.
    effects = fitted(STUDIES["one judgment"], Terms(position="on")).effects
    assert effects is not None
    assert effects.position is not None
    assert effects.position.common_se == pytest.approx(0.94, abs=0.04)


def test_davidson_without_ties_is_the_plain_model() -> None:
    rows = [row for row in SOME if row[3] != "tie"]
    found = fitted(rows, Terms(ties="davidson", position="off"))
    assert found.effects is None


def with_column(rows: Rows, name: str, values: list[str]) -> dict[str, list[str]]:
    columns = dict(
        zip(("annotator", "left", "right", "outcome"), zip(*rows, strict=True), strict=True)
    )
    return {key: list(column) for key, column in columns.items()} | {name: values}


@pytest.mark.parametrize(
    "prompts",
    [["p"] * 79 + ["q"], [f"p{k}" for k in range(80)], ["p"] * 40 + [""] * 40, ["p"] * 80],
    ids=["one row in one", "all different", "half without", "one for all"],
)
@pytest.mark.parametrize("use", ["fit", "auto"])
def test_contexts_that_tell_little(prompts: list[str], use: Any) -> None:
    judgments = aggcal.read_judgments(with_column(SOME, "prompt", prompts), context="prompt")
    if use == "fit" and len(set(prompts)) == len(prompts):
        with pytest.raises(aggcal.AggcalError, match="each prompt is of one annotator"):
            fitted(judgments, Terms(context=use))
        return
    found = fitted(judgments, Terms(context=use))
    if use == "fit":
        sound(found, judgments)
    assert np.isfinite(found.scores).all()


def test_a_category_with_one_judgment() -> None:
    topics = ["many"] * 79 + ["one"]
    judgments = aggcal.read_judgments(with_column(SOME, "topic", topics), by="topic")
    found = fitted(judgments, Terms())
    sound(found, judgments)
    assert found.effects is not None
    (category,) = found.effects.categories
    rare = category.ids.tolist().index("one")
    assert np.isfinite(category.scores[rare]).sum() == 2
    assert (category.se[rare][np.isfinite(category.se[rare])] > 0.0).all()


@pytest.mark.parametrize("weight", [0.5, 1e6])
def test_weights_far_from_1(weight: float) -> None:
    columns: dict[str, Any] = with_column(SOME, "weight", [])
    columns["weight"] = [weight] * 80
    judgments = aggcal.read_judgments(columns)
    found = fitted(judgments, Terms(position="on"))
    assert np.isfinite(found.scores).all()
    assert found.convergence is not None
    assert found.convergence.converged


@pytest.mark.parametrize("method", ["btl", "tcv", "crowd-bt", "hra-g"])
def test_ties_alone_say_that_nothing_differs(method: str) -> None:
    found = aggcal.aggregate(STUDIES["all ties"], method=method, warn=False)
    assert found.uncertainty is not None
    np.testing.assert_allclose(found.scores, 0.0, atol=1e-9)
    assert np.isfinite(found.uncertainty.se).all()


ANSWERS = st.sampled_from(["left", "right", "tie"])
ROW = st.tuples(st.sampled_from("uvw"), st.permutations("abcd"), ANSWERS, st.sampled_from("pq"))


@settings(
    max_examples=12,
    derandomize=True,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.lists(ROW, min_size=1, max_size=12), st.sampled_from(["auto", "on"]))
def test_any_small_study_is_fitted(rows: list[Any], position: Any) -> None:
    plain: Rows = [(who, pair[0], pair[1], answer) for who, pair, answer, _ in rows]
    columns = with_column(plain, "prompt", [row[3] for row in rows])
    judgments = aggcal.read_judgments(columns, context="prompt")
    sound(fitted(judgments, Terms(position=position)), judgments)
