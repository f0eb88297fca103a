"""Items that were judged later are placed by all that was fitted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.terms import Terms
from aggcal.errors import TooLittleDataError
from aggcal.simulation import SimulatedTerms, simulate

TERMS = SimulatedTerms(ties="davidson", position=0.8, position_sd=0.4)


def parted(
    terms: SimulatedTerms, new: str = "item-05", seed: int = 1, **more: Any
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return a study, and its judgments without an item and with it."""
    made = simulate(items=12, annotators=12, judgments=3000, terms=terms, seed=seed, **more)
    columns = dict(made.shown)
    mine = (columns["left"] == new) | (columns["right"] == new)
    return (
        columns,
        {name: column[~mine] for name, column in columns.items()},
        {name: column[mine] for name, column in columns.items()},
    )


def fitted(columns: Any, terms: Terms, **reading: Any) -> Consensus:
    return aggcal.aggregate(aggcal.read_judgments(columns, **reading), terms=terms, warn=False)


@pytest.mark.parametrize(
    ("study", "terms", "reading"),
    [
        (TERMS, Terms(position="on"), {}),
        (replace(TERMS, ties="rao-kupper", tie_readiness_sd=0.3), Terms(ties="rao-kupper"), {}),
        (replace(TERMS, grades=2), Terms(position="on"), {}),
        (replace(TERMS, contexts=5), Terms(position="on"), {"context": "context"}),
        (replace(TERMS, categories=3), Terms(position="on"), {"by": "category"}),
        (replace(TERMS, axis_sd=0.5), Terms(position="on", bridge=True), {}),
    ],
    ids=["ties and sides", "rao-kupper", "strengths", "contexts", "categories", "axis"],
)
def test_a_placed_item_is_where_a_refit_puts_it(
    study: SimulatedTerms, terms: Terms, reading: dict[str, Any]
) -> None:
    columns, before, later = parted(study)
    whole, part = fitted(columns, terms, **reading), fitted(before, terms, **reading)
    placed = part.place(aggcal.read_judgments(later, **reading))
    where = whole.item_ids.tolist().index("item-05")
    others = np.delete(whole.scores, where)
    assert whole.uncertainty is not None
    assert placed.sd is not None
    se = whole.uncertainty.se[where]
    # The scores of the part are about their own mean, and their unit is that of the part.
    unit = float(part.scores @ (others - others.mean()) / (part.scores @ part.scores))
    expected = (whole.scores[where] - others.mean()) / unit
    assert placed.values[0] - part.scores.mean() == pytest.approx(expected, abs=0.4 * se)
    assert 0.7 * se < placed.sd[0] < 1.2 * se


def test_the_side_on_which_it_was_shown_is_taken_out() -> None:
    _, before, later = parted(TERMS)
    part = fitted(before, Terms(position="on"))
    plain = fitted(before, Terms(ties="halves", position="off"))
    found, biased = [], []
    for side in ("left", "right"):
        shown = later[side] == "item-05"
        judgments = aggcal.read_judgments({name: each[shown] for name, each in later.items()})
        found.append(part.place(judgments))
        biased.append(plain.place(judgments).values[0])
    assert found[0].sd is not None
    assert found[0].values[0] == pytest.approx(found[1].values[0], abs=3.0 * found[0].sd[0])
    assert biased[0] - biased[1] > 0.5 + found[0].values[0] - found[1].values[0]


def test_new_annotators_contexts_and_strengths_are_allowed() -> None:
    study = replace(TERMS, contexts=4)
    _, before, _ = parted(study)
    part = fitted(before, Terms(position="on"), context="context")
    rows = {
        "annotator": ["stranger"] * 6,
        "left": ["new"] * 6,
        "right": ["item-01", "item-02", "item-03", "item-04", "item-06", "item-07"],
        "outcome": ["left", "left+", "tie", "left", "left+", "left"],
        "context": ["another"] * 3 + ["context-1"] * 3,
    }
    placed = part.place(aggcal.read_judgments(rows, context="context"))
    assert placed.sd is not None
    assert np.isfinite(placed.values[0])
    assert 0.2 < placed.sd[0] < 2.0


def test_an_item_that_was_compared_with_none_is_refused() -> None:
    _, before, _ = parted(TERMS)
    part = fitted(before, Terms(position="on"))
    apart = aggcal.read_judgments([("u", "new", "other", "left"), ("u", "new", "item-01", "tie")])
    with pytest.raises(TooLittleDataError, match="item 'other' was compared with no item"):
        part.place(apart)


def test_sides_that_are_not_known_do_not_count() -> None:
    _, before, _ = parted(TERMS)
    part = fitted(before, Terms(position="on"))
    rows = [("annotator-01", "item-01", "item-02"), ("annotator-01", "item-02", "item-01")]
    ahead, behind = part.judgment_probabilities(aggcal.read_judgments(rows))
    assert ahead + behind == pytest.approx(1.0)
