"""The general model against smaller ones, and under changes that should not matter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.aggregation import empirical
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.families import POSITION, READINESS
from aggcal.aggregation.terms import PLAIN, Terms
from aggcal.simulation import SimulatedTerms, simulate

TIES_AND_SIDES = SimulatedTerms(ties="davidson", position=0.4, position_sd=0.4)


def study(
    terms: SimulatedTerms = TIES_AND_SIDES, *, judgments: int = 600, **more: Any
) -> dict[str, Any]:
    sizes = {"items": 8, "annotators": 8, "judgments": judgments, "seed": 3} | more
    return dict(simulate(terms=terms, **sizes).shown)


def fitted(columns: Any, terms: Terms | None = None, **reading: Any) -> Consensus:
    judgments = columns
    if not isinstance(columns, aggcal.Judgments):
        judgments = aggcal.read_judgments(columns, **reading)
    return aggcal.aggregate(judgments, terms=terms, warn=False)


def by_item(consensus: Consensus) -> dict[str, float]:
    return dict(zip(consensus.item_ids.tolist(), consensus.scores.tolist(), strict=True))


def position(consensus: Consensus) -> FloatArray:
    assert consensus.effects is not None
    assert consensus.effects.position is not None
    return consensus.effects.position.values


@pytest.mark.parametrize("terms", [None, Terms(position="off"), Terms(ties="davidson")])
def test_without_ties_sides_and_contexts_it_is_the_plain_model_to_the_bit(
    terms: Terms | None,
) -> None:
    columns = dict(simulate(items=12, annotators=9, judgments=500, seed=1).judgments)
    one, two = fitted(columns, terms), fitted(columns, PLAIN)
    assert one.effects is None
    np.testing.assert_array_equal(one.scores, two.scores)
    np.testing.assert_array_equal(one.reliabilities, two.reliabilities)
    assert one.uncertainty is not None
    assert two.uncertainty is not None
    np.testing.assert_array_equal(one.uncertainty.se, two.uncertainty.se)


@pytest.mark.parametrize(
    ("name", "larger", "smaller"),
    [
        (POSITION, Terms(position="on"), Terms(position="off")),
        (READINESS, Terms(position="off"), Terms(ties="halves", position="off")),
    ],
)
def test_a_term_of_no_size_changes_nothing(
    name: str, larger: Terms, smaller: Terms, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of a tie's readiness only data without ties can be given none: then it is far below 0.
    nothing = SimulatedTerms(ties="davidson" if name == POSITION else "none")
    nothing = nothing if name == POSITION else replace(nothing, position=1e-9)
    columns = study(nothing)
    if name == READINESS:
        monkeypatch.setattr("aggcal.aggregation.terms.has_ties", lambda _: True)
    prior = (0.0, 1e-4) if name == POSITION else (-40.0, 1e-4)
    monkeypatch.setitem(empirical.FIRST_SDS, name, 1e-4)
    monkeypatch.setitem(empirical.MEAN_PRIORS, name, prior)
    monkeypatch.setattr(empirical, "_KNOWN", empirical._KNOWN | {name})
    one, two = fitted(columns, larger), fitted(columns, smaller)
    assert one.effects is not None
    np.testing.assert_allclose(one.scores, two.scores, atol=2e-3)
    np.testing.assert_allclose(one.reliabilities, two.reliabilities, atol=5e-3)


def test_one_category_is_no_category() -> None:
    columns = study()
    with_one = columns | {"topic": np.full(600, "all", dtype=object)}
    one, two = fitted(with_one, by="topic"), fitted(columns)
    assert one.effects is not None
    (category,) = one.effects.categories
    # What an item does in the only category cannot be told from its score: they share it.
    gaps = category.scores[0] - category.scores[0].mean()
    np.testing.assert_allclose(gaps, two.scores - two.scores.mean(), atol=0.05)


def test_one_context_is_no_context() -> None:
    columns = study()
    one = fitted(columns | {"prompt": np.full(600, "p", dtype=object)}, context="prompt")
    two = fitted(columns)
    assert np.corrcoef(one.scores, two.scores)[0, 1] > 0.999
    assert one.convergence is not None
    assert one.convergence.converged


@pytest.mark.parametrize(
    ("terms", "reading"),
    [
        (TIES_AND_SIDES, {}),
        (replace(TIES_AND_SIDES, contexts=4), {"context": "context"}),
        (replace(TIES_AND_SIDES, categories=3), {"by": "category"}),
        (replace(TIES_AND_SIDES, grades=2), {}),
    ],
    ids=["sides", "contexts", "categories", "strengths"],
)
def test_names_and_the_order_of_rows_do_not_matter(
    terms: SimulatedTerms, reading: dict[str, Any]
) -> None:
    columns = study(terms)
    one = fitted(columns, **reading)
    order = np.random.default_rng(0).permutation(600)
    renamed = {}
    for name, column in columns.items():
        renamed[name] = np.asarray(column, dtype=object)[order]
        if name != "outcome":
            ids = np.unique(column.astype(str))
            others = dict(
                zip(ids.tolist(), [f"{name}{k}" for k in range(len(ids))][::-1], strict=True)
            )
            if name in ("left", "right"):
                items = np.unique(np.concatenate([columns["left"], columns["right"]]).astype(str))
                others = {item: f"x{99 - k}" for k, item in enumerate(items.tolist())}
            renamed[name] = np.array([others[str(each)] for each in renamed[name]], dtype=object)
    two = fitted(renamed, **reading)
    items = np.unique(np.concatenate([columns["left"], columns["right"]]).astype(str))
    names = {item: f"x{99 - k}" for k, item in enumerate(items.tolist())}
    found = by_item(two)
    for item, score in by_item(one).items():
        assert found[names[item]] == pytest.approx(score, abs=2e-4)


def test_swapping_sides_and_outcomes_turns_positions_round() -> None:
    columns = study()
    answers = {"left": "right", "right": "left", "tie": "tie"}
    swapped = columns | {
        "left": columns["right"],
        "right": columns["left"],
        "outcome": np.array([answers[each] for each in columns["outcome"]], dtype=object),
    }
    terms = Terms(position="on")
    one, two = fitted(columns, terms), fitted(swapped, terms)
    np.testing.assert_allclose(one.scores, two.scores, atol=2e-4)
    np.testing.assert_allclose(position(one), -position(two), atol=2e-4)


def test_turning_all_outcomes_round_turns_scores_round() -> None:
    columns = study()
    answers = {"left": "right", "right": "left", "tie": "tie"}
    outcome = np.array([answers[each] for each in columns["outcome"]], dtype=object)
    terms = Terms(position="on")
    one, two = fitted(columns, terms), fitted(columns | {"outcome": outcome}, terms)
    np.testing.assert_allclose(one.scores, -two.scores, atol=2e-4)
    np.testing.assert_allclose(position(one), -position(two), atol=2e-4)


def test_duplicates_are_weights() -> None:
    columns = study(replace(TIES_AND_SIDES, contexts=3))
    weight = np.random.default_rng(1).integers(1, 4, 600)
    repeated = {name: np.repeat(column, weight) for name, column in columns.items()}
    terms = Terms(position="on", context="fit")
    one = fitted(repeated, terms, context="context")
    two = fitted(columns | {"weight": weight.astype(float)}, terms, context="context")
    np.testing.assert_allclose(one.scores, two.scores, atol=1e-10)
    np.testing.assert_allclose(position(one), position(two), atol=1e-10)
