"""What became a parameter of the fit is reported from the fit; contexts tell questions apart."""

from __future__ import annotations

from typing import Any

import aggcal
from aggcal.advice.check import check
from aggcal.simulation import SimulatedTerms, simulate


def judged(terms: SimulatedTerms, **reading: Any) -> aggcal.Judgments:
    made = simulate(items=8, annotators=15, judgments=4000, terms=terms, seed=5)
    return aggcal.read_judgments(made.shown, **reading)


def test_a_position_that_was_fitted_is_reported_from_the_fit() -> None:
    judgments = judged(SimulatedTerms(ties="davidson", position=0.6, position_sd=0.1))
    consensus = aggcal.aggregate(judgments, warn=False)
    assert consensus.effects is not None
    position = consensus.effects.position
    assert position is not None
    found = {each.code: each for each in check(judgments, consensus=consensus).findings}
    finding = found["side-preferred"]
    assert finding.severity == "note"
    assert finding.details["left_advantage_logits"] == round(position.common, 4)
    assert "takes this out of the scores" in finding.message
    # Where it was not fitted, the scores may be biased.
    plain = aggcal.aggregate(
        judgments, terms=aggcal.Terms(ties="halves", position="off"), warn=False
    )
    found = {each.code: each for each in check(judgments, consensus=plain).findings}
    assert found["side-preferred"].severity == "problem"
    assert "taken_out" not in found["side-preferred"].details


def test_a_pair_in_two_contexts_is_two_questions() -> None:
    rows = {
        "annotator": ["u"] * 8,
        "winner": ["a", "b"] * 4,
        "loser": ["b", "a"] * 4,
        "prompt": [f"p{k}" for k in range(8)],
    }
    plain, known = aggcal.read_judgments(rows), aggcal.read_judgments(rows, context="prompt")
    counts = [check(each, quick=True).counts["repeated_pairs"] for each in (plain, known)]
    assert counts[0] == {"judged_again": 1, "both_ways": 1}
    assert counts[1] == {"judged_again": 0, "both_ways": 0}
