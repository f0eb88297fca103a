"""The verdict and the chip of the first screen: every state, and what each of them claims."""

from __future__ import annotations

import re
from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

import aggcal
from aggcal._core.tables import Columns
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.aggregation.uncertainty.covariance import DenseCovariance
from aggcal.pages.document import plain_text
from aggcal.report.head import ENOUGH, LITTLE, TOO_MANY_BAD, Trust, headline, trust
from aggcal.report.run import Run
from documents import blocks, document, visible, words

SOUND_CHECK: dict[str, Any] = {"findings": [], "precision": {"right_order": 0.95}}
SOUND: dict[str, Any] = {"converged": True, "n_annotators": 5, "check": SOUND_CHECK}


def items(rank: list[int], low: list[int] | None = None) -> Columns:
    names = np.array([f"i{k}" for k in range(len(rank))], dtype=object)
    columns = {"item": names, "rank": np.array(rank), "consensus": -np.array(rank, dtype=float)}
    if low is None:
        return columns
    return columns | {"sure_low": np.array(low), "sure_high": np.array(rank)}


def said(run: Run) -> str:
    return plain_text(headline(run))


@pytest.mark.parametrize(
    ("rank", "low", "claimed", "words"),
    [
        ([1, 2], None, {}, "i0 leads; certainty was not computed."),
        ([1, 2], [1, 2], {}, "i0 is the best (95% confidence)."),
        ([1, 2, 3], [1, 1, 3], {}, "i0 and i1 could each be the best (95% confidence)."),
        ([1, 2, 3, 4], [1, 1, 1, 4], {}, "i0, i1 and i2 could each be the best (95% confidence)."),
        ([1, 2, 3], [1, 1, 3], {"first": [1]}, "i1 is the best (95% confidence)."),
        ([1, 2], [1, 1], {}, "No item stands out: any of the two could be the best."),
        (list(range(1, 15)), [1] * 12 + [2, 3], {}, "Any of 12 items could be the best (95% conf"),
        ([1, 1, 1, 1], None, {}, "No leader: four items are tied for first place."),
    ],
)
def test_the_verdict_says_which_items_could_be_the_best(
    rank: list[int], low: list[int] | None, claimed: dict[str, Any], words: str
) -> None:
    assert said(Run({}, items(rank, low), comparisons=claimed)).startswith(words)


def test_the_verdict_says_its_level() -> None:
    summary = {"guarantees": {"first": {"values": {"level": 0.9}}}}
    assert said(Run(summary, items([1, 2], [1, 2]))) == "i0 is the best (90% confidence)."


def test_no_leader_is_named_where_there_is_no_common_order() -> None:
    table = items([1, 2], [1, 2])
    assert said(Run({"converged": False}, table)) == "No result: the fit did not converge."
    counted = {"check": {"counts": {"components": 2}}}
    assert said(Run(counted, table)).startswith("No common order: two groups")


def test_a_study_of_camps_is_not_ready() -> None:
    camps = {"severity": "problem", "code": "divided", "topic": "camps", "details": {}}
    assert state(checked(findings=[camps])) == "Not ready"
    one, other = list("abcdefgh"), list("hgfedcba")
    random = np.random.default_rng(1)
    rows = []
    for u in range(20):
        order = one if u < 12 else other
        for _ in range(60):
            a, b = random.choice(8, 2, replace=False)
            won = "left" if order.index("abcdefgh"[a]) < order.index("abcdefgh"[b]) else "right"
            rows.append((f"u{u}", "abcdefgh"[a], "abcdefgh"[b], won))
    assert trust(aggcal.assess(rows, warn=False).with_advice().to_run()).words == "Not ready"


def trusted(summary: dict[str, Any], annotators: Columns | None = None) -> Trust:
    return trust(Run(summary, items([1, 2]) | {"rank_low": np.ones(2)}, annotators or {}))


def state(summary: dict[str, Any], annotators: Columns | None = None) -> str:
    return trusted(summary, annotators).words


def checked(**more: Any) -> dict[str, Any]:
    return SOUND | {"check": SOUND_CHECK | more}


def test_the_chip_needs_every_condition_to_be_sound() -> None:
    assert state(SOUND) == "Sound"
    assert trust(Run(SOUND, items([1, 2]))).words == "Use with care"
    assert state({k: v for k, v in SOUND.items() if k != "check"}) == "Use with care"
    assert state(SOUND | {"converged": False}) == "Not ready"
    assert state(SOUND | {"n_annotators": 1}) == "Not ready"
    assert state(checked(counts={"components": 3})) == "Not ready"


@pytest.mark.parametrize(
    ("ordered", "expected"),
    [
        (ENOUGH, "Sound"),
        (ENOUGH - 0.001, "Use with care"),
        (LITTLE, "Use with care"),
        (LITTLE - 0.001, "Not ready"),
    ],
)
def test_the_chip_depends_on_how_sure_the_order_is(ordered: float, expected: str) -> None:
    assert state(checked(precision={"right_order": ordered})) == expected


@pytest.mark.parametrize(
    ("share", "expected"), [(0.1, "Use with care"), (TOO_MANY_BAD + 0.01, "Not ready")]
)
def test_the_chip_counts_the_judgments_of_bad_annotators(share: float, expected: str) -> None:
    problem = {
        "severity": "problem",
        "code": "guessing",
        "topic": "guessing",
        "details": {"annotators": ["bad"]},
    }
    who = {
        "annotator": np.array(["bad", "good"], dtype=object),
        "n_judgments": np.array([1000 * share, 1000 * (1 - share)]),
    }
    assert state(checked(findings=[problem]), who) == expected


def test_a_study_of_guessers_is_not_sound() -> None:
    assert state(SOUND | {"verdicts": {"reliable": 1, "unclear": 4}}) == "Sound"
    found = trusted(SOUND | {"verdicts": {"reliable": 0, "unclear": 5}})
    assert found.words == "Use with care"
    assert found.reasons == ("No annotator can be told from one who guesses.",)


def test_ranks_of_few_items_follow_the_covariance_of_their_scores() -> None:
    # Centred scores of two items are opposites: the gap has twice the error of either.
    covariance = DenseCovariance(np.eye(2))
    known = Uncertainty.of("laplace", 0.95, np.array([0.5, -0.5]), covariance)
    shares = known.top_probabilities(np.array([1]))
    assert shares is not None
    assert shares[0, 0] == pytest.approx(ndtr(1.0 / sqrt(2.0)), abs=0.04)


def test_of_many_alike_items_any_could_be_the_best() -> None:
    random = np.random.default_rng(3)
    n = 300
    pairs = [random.choice(n, 2, replace=False) for _ in range(1200)]
    rows = [
        (f"u{k % 30}", f"i{a}", f"i{b}", random.choice(["left", "right"]))
        for k, (a, b) in enumerate(pairs)
    ]
    run = aggcal.assess(rows, warn=False).to_run()
    assert len(run.could_be_first) > 250
    assert re.fullmatch(r"(No item|Any) .*could be the best.*", said(run))


@pytest.mark.parametrize(("left", "expected"), [(0.45, "Use with care"), (0.80, "Not ready")])
def test_a_slight_lean_to_one_side_does_not_condemn_a_study(left: float, expected: str) -> None:
    """A judge who chose the right-hand item in 55% is named, and may still be the best of all."""
    finding = {
        "severity": "problem",
        "code": "position-bias",
        "topic": "one-sided answers",
        "details": {"annotators": ["gpt"]},
    }
    summary = SOUND | {"check": SOUND_CHECK | {"findings": [finding]}}
    annotators: Columns = {
        "annotator": np.array(["gpt", "ann"], dtype=object),
        "n_judgments": np.array([500, 100]),
        "verdict": np.array(["one-sided", "reliable"], dtype=object),
        "left_share": np.array([left, 0.5]),
    }
    assert state(summary, annotators) == expected


@pytest.mark.parametrize(("known", "words"), [(0.899, "just under 90%"), (0.88, "88%")])
def test_what_rounds_to_its_target_does_not_seem_to_reach_it(known: float, words: str) -> None:
    check = {"findings": [], "precision": {"right_order": known}}
    (reason,) = trusted(SOUND | {"check": check}).reasons
    assert f"with probability {words}; the target is 90%." in reason


def test_every_surface_says_the_same() -> None:
    """Python, the summary, the report and its page; before a check and after it."""
    study = aggcal.simulate(items=30, annotators=12, judgments=900, seed=2)
    result: Any = aggcal.assess(study.judgments, study.scores, warn=False)
    claims = result.consensus.claims()
    checked = result.with_advice()
    for each in (result, checked):
        claimed = each.to_dict()["guarantees"]
        assert claimed["certified_pairs"]["values"]["certified"] == claims.count
        assert claimed["first"]["values"]["could_be_first"] == claims.first.sum()
        assert claimed["tiers"]["values"]["tiers"] == claims.n_tiers
        run = each.to_run()
        names = set(run.items["item"][run.could_be_first])
        assert names == set(each.consensus.item_ids[claims.first])
        told = document(each, check=False)
        assert words(told["headline"]) == words(document(result, check=False)["headline"])
        facts = {words(name): value for name, value in next(blocks(told["lead"], "pairs"))["pairs"]}
        assert facts["Pairs told apart"].startswith(f"{claims.count:,} of 435")
        place = dict(zip(each.consensus.item_ids, claims.high, strict=True))
        assert [place[item] for item in each.items["item"]] == each.items["sure_high"].tolist()
        page = visible(each.report("html", check=False))
        assert "leads" not in said(run)
        assert claimed["first"]["claim"] in page
        assert claimed["certified_pairs"]["claim"] in page
