"""What is claimed of the order, under which conditions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import aggcal
from aggcal.advice.guarantees import guarantees
from aggcal.simulation import simulate

ORDER = ("certified_pairs", "rank_intervals", "first", "tiers")


@pytest.fixture(scope="module")
def clean() -> aggcal.Assessment:
    study = simulate(items=10, annotators=12, judgments=900, reliability_sd=0.3, seed=3)
    return aggcal.assess(study.judgments, warn=False)


def test_independence_of_groups_is_a_condition_of_every_claim(clean: aggcal.Assessment) -> None:
    for name in ORDER:
        needs = [condition.needs for condition in clean.guarantees[name].conditions]
        assert "answers that share no annotator, question, context or act are independent" in needs
        assert clean.guarantees[name].holds is None


@pytest.fixture(scope="module")
def checked(clean: aggcal.Assessment) -> aggcal.Assessment:
    return clean.with_advice()


def test_claims_of_the_order_do_not_depend_on_a_check(
    clean: aggcal.Assessment, checked: aggcal.Assessment
) -> None:
    for name in ORDER:
        assert clean.guarantees[name] == checked.guarantees[name]
        assert clean.guarantees[name].kind == "confidence"


def test_a_resampled_consensus_is_about_annotators_of_the_same_kind(
    clean: aggcal.Assessment,
) -> None:
    assert clean.consensus is not None
    drawn = guarantees(clean.consensus.quantify("bootstrap", draws=12), None)
    for name in ORDER:
        assert "the annotators are a random sample" in [c.needs for c in drawn[name].conditions]
    assert "unlimited annotators of the same kind" in drawn["certified_pairs"].says


def test_the_sentences_of_the_order(clean: aggcal.Assessment) -> None:
    claims, consensus = clean.consensus.claims(), clean.consensus  # type: ignore[union-attr]
    assert claims is not None
    assert consensus is not None
    said = {name: clean.guarantees[name] for name in ORDER}
    assert said["certified_pairs"].claim == (
        f"{claims.count} of 45 pairs are told apart; with 95% confidence every one of them is the "
        "right way round, whatever the true scores."
    )
    top = int(consensus.order[0])
    assert said["rank_intervals"].says.startswith(f"'{consensus.item_ids[top]}' is 1st")
    assert said["first"].claim == f"With 95% confidence '{consensus.item_ids[top]}' is the best."
    assert said["tiers"].values["tiers"] == claims.n_tiers
    nothing = [("ann", "a", "b"), ("bob", "b", "a"), ("ann", "b", "c"), ("bob", "c", "a")]
    found = aggcal.assess(nothing, warn=False).guarantees
    assert found["certified_pairs"].claim == "No two items can be told apart yet at 95% confidence."
    assert found["tiers"].claim == "No clear tiers at 95% confidence."
    assert "The best is one of all 3 items (95% confidence)." in found["first"].claim


def test_a_fit_that_did_not_converge_claims_nothing(clean: aggcal.Assessment) -> None:
    assert clean.consensus is not None
    record = clean.consensus.convergence
    assert record is not None
    lost = replace(clean.consensus, convergence=replace(record, converged=False))
    assert not any(name in guarantees(lost, None) for name in ORDER)


def test_every_claim_is_one_short_sentence(clean: aggcal.Assessment) -> None:
    study = simulate(items=10, annotators=12, judgments=900, reliability_sd=0.3, seed=3)
    anchors = dict(zip(study.item_ids.tolist(), study.truth.tolist(), strict=True))
    results = [clean]
    for calibrator in ("atc", "fused", "safe"):
        model_sd = None if calibrator == "fused" else 0.5
        made = aggcal.assess(
            study.judgments, study.scores, calibrator=calibrator, model_sd=model_sd, warn=False
        )
        results.append(made)
    for level in (0.8, 0.95):
        made = aggcal.assess(
            study.judgments, study.scores, anchors=anchors, level=level, warn=False
        )
        results.append(made)
    assert {made.guarantees["interval"].about for made in results[1:]} == {"consensus", "truth"}
    for each in (claim for result in results for claim in result.guarantees):
        assert len(each.claim.split()) < 30, each.claim
        assert each.claim.count(". ") == 0
        assert each.claim.endswith(".")
        assert each.to_dict()["claim"] == each.claim


def test_no_coverage_is_claimed_for_items_without_a_model_score() -> None:
    study = simulate(items=10, annotators=12, judgments=900, reliability_sd=0.3, seed=3)
    scores = aggcal.read_scores(study.scores)
    scored = dict(zip(scores.item_ids.tolist(), scores.values.tolist(), strict=True))
    whole = aggcal.assess(study.judgments, scored, warn=False).guarantees["interval"]
    assert "no coverage" not in whole.says
    consensus = aggcal.aggregate(study.judgments, warn=False)
    del scored[consensus.item_ids[np.argsort(consensus.scores)[4]]]
    part = aggcal.assess(study.judgments, scored, warn=False).guarantees["interval"]
    assert part.claim.startswith("For scored items, each interval")
    assert "1 item has no model score: its interval is the gap" in part.says
    assert part.says.endswith("no coverage is claimed for it.")
