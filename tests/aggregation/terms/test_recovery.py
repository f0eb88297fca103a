"""What was simulated is found again, and what was not is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.effects import AnnotatorEffect, Effects
from aggcal.aggregation.terms import PLAIN, ChosenTerms, Terms, position_evidence
from aggcal.data.control import Control
from aggcal.simulation import SimulatedTerms, Simulation, simulate


def fitted(made: Simulation, terms: Terms, **reading: Any) -> tuple[Consensus, Effects]:
    found = aggcal.aggregate(aggcal.read_judgments(made.shown, **reading), terms=terms, warn=False)
    assert found.effects is not None
    assert found.convergence is not None
    assert found.convergence.converged
    return found, found.effects


def matched(ids: Any, values: Any, wanted: Any) -> Any:
    known = dict(zip(ids.tolist(), values.tolist(), strict=True))
    return np.array([known[each] for each in wanted.tolist()])


def test_ties_and_sides() -> None:
    terms = SimulatedTerms(
        ties="davidson", position=0.4, position_sd=0.5, tie_readiness=-0.3, tie_readiness_sd=0.8
    )
    made = simulate(items=15, annotators=40, judgments=4000, terms=terms, seed=6)
    found, effects = fitted(made, Terms())
    drawn = made.drawn
    for effect, truth in (
        (effects.position, drawn.position),
        (effects.readiness, drawn.tie_readiness),
    ):
        assert isinstance(effect, AnnotatorEffect)
        true = matched(made.annotator_ids, truth, found.annotator_ids)
        assert effect.common == pytest.approx(true.mean(), abs=3.0 * effect.common_se)
        assert effect.sd == pytest.approx(true.std(), rel=0.4)
        z = (effect.values - true) / effect.se
        assert 0.7 < np.sqrt(np.mean(z**2)) < 1.3
    assert found.uncertainty is not None
    z = (found.scores - matched(made.item_ids, made.latent, found.item_ids)) / found.uncertainty.se
    assert np.sqrt(np.mean(z**2)) < 1.6


def test_contexts_and_their_ties() -> None:
    terms = SimulatedTerms(ties="davidson", contexts=12, context_sd=0.6, tie_context_sd=0.5)
    made = simulate(items=8, annotators=15, judgments=5000, terms=terms, seed=2)
    _, effects = fitted(made, Terms(position="off"), context="context")
    sds = effects.fit.state.sds
    assert sds["context"] == pytest.approx(0.6, rel=0.3)
    assert sds["tie context"] == pytest.approx(0.5, rel=0.5)


def test_categories() -> None:
    terms = SimulatedTerms(category_shares=(0.6, 0.3, 0.1), category_sd=0.6)
    made = simulate(items=12, annotators=10, judgments=4000, terms=terms, seed=2)
    found, effects = fitted(made, Terms(position="off"), by="category")
    (category,) = effects.categories
    assert category.sd == pytest.approx(0.6, rel=0.35)
    own = made.drawn.groups["category"]
    for k, name in enumerate(category.ids.tolist()):
        effect = own.effects[own.ids.tolist().index(name)]
        true = matched(made.item_ids, made.latent + effect, found.item_ids)
        z = (category.scores[k] - category.scores[k].mean() - true + true.mean()) / category.se[k]
        assert np.sqrt(np.mean(z**2)) < 1.6


@pytest.mark.parametrize("contexts", [0, 10])
def test_what_is_held_equal(contexts: int) -> None:
    terms = SimulatedTerms(control=0.5, contexts=contexts, context_sd=0.1)
    made = simulate(items=30, annotators=10, judgments=4000, terms=terms, seed=3)
    table = made.tables["control.csv"]
    control = Control(table["item"], table["length"][:, None], ("length",), table.get("context"))
    reading = {"context": "context"} if contexts else {}
    chosen = Terms(position="off", context="off", control=control)
    _, effects = fitted(made, chosen, **reading)
    found = effects.control
    assert found is not None
    # Of an item's own covariate, only the prior of the scores tells its effect from theirs.
    assert found.values[0] == pytest.approx(0.5, abs=3.0 * found.se[0])
    assert found.se[0] < (0.1 if contexts else 0.4)


def test_strengths() -> None:
    made = simulate(
        items=10, annotators=8, judgments=3000, terms=SimulatedTerms("davidson", grades=3), seed=1
    )
    found, effects = fitted(made, Terms(position="off"))
    np.testing.assert_allclose(effects.grades, [1.0, 0.5, 0.25], rtol=0.25)
    weak = aggcal.aggregate(
        aggcal.read_judgments(made.shown), terms=Terms(ties="rao-kupper"), warn=False
    )
    assert found.uncertainty is not None
    assert weak.uncertainty is not None
    # Strengths tell more, and thresholds for ties have none.
    assert found.uncertainty.se.mean() < 0.9 * weak.uncertainty.se.mean()
    assert np.corrcoef(found.scores, weak.scores)[0, 1] > 0.97


def test_an_axis_of_disagreement() -> None:
    made = simulate(
        items=10, annotators=30, judgments=4000, terms=SimulatedTerms(axis_sd=0.8), seed=4
    )
    found, effects = fitted(made, Terms(position="off", bridge=True))
    assert effects.axis is not None
    axis = matched(made.item_ids, made.drawn.axis, found.item_ids)
    stance = matched(made.annotator_ids, made.drawn.stance, found.annotator_ids)
    one = np.corrcoef(effects.axis.items.values, axis)[0, 1]
    two = np.corrcoef(effects.axis.stances.values, stance)[0, 1]
    assert abs(one) > 0.9
    assert abs(two) > 0.8
    assert one * two > 0.0


def evidence(terms: SimulatedTerms, each: int, annotators: int, seed: int) -> float:
    n = each * annotators
    made = simulate(items=8, annotators=annotators, judgments=n, terms=terms, seed=seed)
    judgments = aggcal.read_judgments(made.shown)
    scores = aggcal.aggregate(judgments, terms=PLAIN, warn=False).scores
    return position_evidence(judgments, ChosenTerms("davidson"), scores)


def test_a_study_without_positions_seldom_gets_them() -> None:
    nothing = SimulatedTerms(ties="davidson")
    rises = [evidence(nothing, 5, 20, seed) for seed in range(20)]
    assert np.sum(np.array(rises) > 2.0) <= 2


@pytest.mark.parametrize(("each", "annotators"), [(1, 1500), (20, 75)])
def test_a_common_position_is_found_however_few_judgments_each_gave(
    each: int, annotators: int
) -> None:
    # With one judgment each, the spread of the positions is not told and would hide their mean.
    assert evidence(SimulatedTerms(ties="davidson", position=0.5), each, annotators, 1) > 4.0
