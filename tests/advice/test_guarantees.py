"""What is claimed of the order, and when it is withdrawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import aggcal
from aggcal.advice.check import Finding, check
from aggcal.advice.guarantees import guarantees
from aggcal.advice.independence import SIGNS, Independence
from aggcal.simulation import simulate

ORDER = ("whole_order", "certified_pairs", "rank_intervals")


@pytest.fixture(scope="module")
def clean() -> aggcal.Assessment:
    study = simulate(items=10, annotators=12, judgments=900, reliability_sd=0.3, seed=3)
    return aggcal.assess(study.judgments, warn=False)


@pytest.fixture(scope="module")
def checked(clean: aggcal.Assessment) -> aggcal.Assessment:
    return clean.with_advice()


def note(result: aggcal.Assessment, name: str) -> str:
    found = result.guarantees[name].conditions
    return next(c.note for c in found if "independent" in c.needs)


def test_independence_is_a_condition_and_says_whether_it_was_checked(
    clean: aggcal.Assessment, checked: aggcal.Assessment
) -> None:
    for name in ORDER:
        assert note(clean, name) == "not checked"
        assert clean.guarantees[name].holds is None
    for name in ORDER:
        assert note(checked, name) == "the data check found nothing against it"
        assert checked.guarantees[name].holds is None


def test_claims_are_called_posterior_probabilities(clean: aggcal.Assessment) -> None:
    for name in ORDER:
        assert clean.guarantees[name].kind == "posterior"
    says = clean.guarantees["certified_pairs"].says
    assert "posterior probability 0.95, under the model and its priors" in says
    assert clean.consensus is not None
    drawn = guarantees(clean.consensus.quantify("bootstrap", draws=12), None)
    assert {drawn[name].kind for name in ORDER} == {"estimate"}
    assert "posterior" not in str(drawn["certified_pairs"].says)


@pytest.mark.parametrize("code", SIGNS)
def test_a_sign_of_dependence_withdraws_the_claims(checked: aggcal.Assessment, code: str) -> None:
    assert checked.advice is not None
    looked = checked.advice.check
    more = (*looked.findings, Finding("note", code, "found", "mend it"))
    told = replace(checked, advice=replace(checked.advice, check=replace(looked, findings=more)))
    for name in ORDER:
        assert told.guarantees[name].holds is False
        assert SIGNS[code] in told.guarantees[name].says
    assert told.guarantees["certified_pairs"].values["certified"] is None
    assert told.guarantees["certified_pairs"].values["share"] is None
    assert told.guarantees["whole_order"].values["delta_1"] is None
    assert "<html" in told.report("html", check=False)
    assert "No pair of items is certified" in told.report("md", check=False)
    words = told.to_report().trust
    assert words.words != "Sound"
    assert any(SIGNS[code] in reason for reason in words.reasons)


def test_dependence_withdraws_the_intervals_of_calibrated_scores_too() -> None:
    """With copied answers in half of a study, those at .95 covered .79."""
    study = simulate(items=8, annotators=6, judgments=200, seed=1)
    calibration = aggcal.assess(study.judgments, study.scores, warn=False).calibration
    assert guarantees(None, calibration)["interval"].values["level"] == 0.95
    found = guarantees(None, calibration, Independence.of(["copies"]))["interval"]
    assert found.holds is False
    assert found.values["level"] is None
    assert SIGNS["copies"] in found.says
    assert "No probability is claimed" in str(found.claim)


def test_a_fit_that_did_not_converge_claims_nothing(clean: aggcal.Assessment) -> None:
    assert clean.consensus is not None
    record = clean.consensus.convergence
    assert record is not None
    lost = replace(clean.consensus, convergence=replace(record, converged=False))
    found = guarantees(lost, None)
    for name in ORDER:
        assert found[name].holds is False
        assert "the fit did not converge" in found[name].says


def test_what_was_not_looked_for_is_said() -> None:
    study = simulate(items=8, annotators=6, judgments=200, seed=1)
    looked = check(aggcal.read_judgments(study.judgments), quick=True)
    known = Independence.of((f.code for f in looked.findings), looked.not_checked)
    assert known.holds is None
    assert known.note.startswith("partly checked; not checked:")
    assert "copied answers" in known.note
    assert "opposing groups" in known.note
    assert "speed" not in known.note


def test_copying_annotators_cost_the_claim() -> None:
    """Five give the same answers: their opinion would count five times."""
    random = np.random.default_rng(4)
    rows = simulate(items=12, annotators=8, judgments=800, reliability_sd=0.3, seed=4).judgments
    mine = rows["annotator"] == rows["annotator"][0]
    copied = {name: column[mine] for name, column in rows.items()}
    table = {name: column.tolist() for name, column in rows.items()}
    for k in range(4):
        same = random.random(int(mine.sum())) < 0.98
        table["annotator"] += [f"copy-{k}"] * int(mine.sum())
        table["winner"] += np.where(same, copied["winner"], copied["loser"]).tolist()
        table["loser"] += np.where(same, copied["loser"], copied["winner"]).tolist()
    result = aggcal.assess(table, warn=False).with_advice()
    assert result.guarantees["certified_pairs"].holds is False
    assert result.to_dict()["guarantees"]["certified_pairs"]["values"]["certified"] is None


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


@pytest.mark.parametrize(
    ("use", "needs"),
    [
        ("errors", "answers in different contexts are independent"),
        ("fit", "answers are independent given what the items do in each context"),
        ("off", "answers are independent"),
    ],
)
def test_what_need_not_be_independent_is_said(use: str, needs: str) -> None:
    random = np.random.default_rng(0)
    left = random.integers(5, size=240)
    right = (left + random.integers(1, 5, 240)) % 5
    rows = {
        "annotator": [f"u{k % 6}" for k in range(240)],
        "left": [f"i{k}" for k in left],
        "right": [f"i{k}" for k in right],
        "outcome": np.where(random.random(240) < 0.5 + 0.1 * (left - right), "left", "right"),
        "prompt": [f"p{k % 8}" for k in range(240)],
    }
    judgments = aggcal.read_judgments(rows, context="prompt")
    terms = aggcal.Terms(context=use, position="off")  # type: ignore[arg-type]
    found = aggcal.assess(judgments, terms=terms, warn=False).guarantees
    said = [c.needs for c in found["rank_intervals"].conditions]
    assert needs in said
    assert ("the contexts (such as prompts) are a random sample" in said) == (use == "errors")
