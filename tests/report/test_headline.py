"""The verdict and the chip of the first screen: every state, and what each of them claims."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

import aggcal
from aggcal._core.tables import Columns
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.aggregation.uncertainty.covariance import DenseCovariance
from aggcal.aggregation.uncertainty.ranks import could_be_first, first_shares
from aggcal.report.first_screen import facts
from aggcal.report.headline import ENOUGH, LITTLE, TOO_MANY_BAD, headline, trust
from aggcal.report.report import Report

SOUND_CHECK: dict[str, Any] = {"findings": [], "precision": {"right_order": 0.95}}
SOUND: dict[str, Any] = {"converged": True, "n_annotators": 5, "check": SOUND_CHECK}


def items(rank: list[int], low: list[int] | None = None) -> Columns:
    names = np.array([f"i{k}" for k in range(len(rank))], dtype=object)
    columns = {"item": names, "rank": np.array(rank), "consensus": -np.array(rank, dtype=float)}
    if low is None:
        return columns
    return columns | {"rank_low": np.array(low), "rank_high": np.array(rank)}


def said(rank: list[int], low: list[int] | None = None, **options: Any) -> str:
    return " ".join(headline({}, items(rank, low), **options)).strip()


@pytest.mark.parametrize(
    ("rank", "low", "options", "words"),
    [
        ([1, 2], None, {}, "i0 leads; certainty was not computed."),
        ([1, 2], None, {"could": 0}, "i0 leads; certainty was not computed."),
        ([1, 2], [1, 2], {}, "i0 leads; no other rank interval reaches first place."),
        (
            [1, 2],
            [1, 2],
            {"first_probability": 0.96},
            "i0 leads: it is first with probability 96%.",
        ),
        (
            [1, 2],
            [1, 2],
            {"first_probability": 0.999},
            "i0 leads: it is first with probability above 99%.",
        ),
        ([1, 2], [1, 1], {"first_probability": 0.96}, "i0 leads, but either of two items could"),
        ([1, 2, 3], [1, 1, 1], {}, "i0 leads, but any of three items could be first."),
        (list(range(1, 15)), [1] * 12 + [2, 3], {}, "i0 leads, but any of 12 items could be first"),
        ([1, 2], [1, 2], {"could": 40}, "i0 leads, but any of 40 items could be first."),
        (
            [1, 2],
            [1, 2],
            {"first_probability": 0.04},
            "i0 leads, but is first only with probability 4%.",
        ),
        ([1, 1, 3], [1, 1, 3], {}, "i0 and i1 are tied for first place; no other rank interval"),
        ([1, 1, 3], [1, 1, 1], {}, "i0 and i1 are tied for first place, but any of three items"),
        ([1, 1, 1, 1], [1] * 4, {}, "No leader: four items are tied for first place."),
    ],
)
def test_the_verdict_says_who_leads_and_how_sure_that_is(
    rank: list[int], low: list[int] | None, options: dict[str, Any], words: str
) -> None:
    assert said(rank, low, **options).startswith(words)


def test_no_leader_is_named_where_there_is_no_common_order() -> None:
    table = items([1, 2], [1, 2])
    assert headline({"converged": False}, table) == ("", "No result: the fit did not converge.")
    counted = {"check": {"counts": {"components": 2}}}
    assert headline(counted, table)[0] == ""
    assert "two groups" in headline(counted, table)[1]


def test_no_probability_is_given_where_answers_depend_on_each_other() -> None:
    lost = {"guarantees": {"certified_pairs": {"holds": False}}}
    assert headline(lost, items([1, 2], [1, 2]), 0.99)[1].endswith(
        "leave open how certain that is."
    )
    words = headline(lost, items([1, 2, 3], [1, 1, 3]), 0.6)[1]
    assert words == "leads, but at least two items could be first."
    top = {"stops": [1, 2], "percent": [[0], [1], [2]]}
    report = Report(
        SOUND | lost | {"method": "own", "n_items": 3},
        items([1, 2, 3], [1, 2, 3]),
        comparisons={"top": top},
    )
    assert report.first_probability is None


def test_a_study_of_camps_is_not_ready() -> None:
    camps = {"severity": "problem", "code": "divided", "details": {}}
    assert state(checked(findings=[camps])) == "not-ready"
    one, other = list("abcdefgh"), list("hgfedcba")
    random = np.random.default_rng(1)
    rows = []
    for u in range(20):
        order = one if u < 12 else other
        for _ in range(60):
            a, b = random.choice(8, 2, replace=False)
            won = "left" if order.index("abcdefgh"[a]) < order.index("abcdefgh"[b]) else "right"
            rows.append((f"u{u}", "abcdefgh"[a], "abcdefgh"[b], won))
    report = aggcal.assess(rows, warn=False).with_advice().to_report()
    assert report.trust.state == "not-ready"


def state(summary: dict[str, Any], annotators: Columns | None = None, **options: Any) -> str:
    return trust(summary, annotators or {}, **{"intervals": True} | options).state


def checked(**more: Any) -> dict[str, Any]:
    return SOUND | {"check": SOUND_CHECK | more}


def test_the_chip_needs_every_condition_to_be_sound() -> None:
    assert state(SOUND) == "sound"
    assert state(SOUND, intervals=False) == "care"
    assert state({k: v for k, v in SOUND.items() if k != "check"}) == "care"
    assert state(SOUND | {"converged": False}) == "not-ready"
    assert state(SOUND | {"n_annotators": 1}) == "not-ready"
    assert state(checked(counts={"components": 3})) == "not-ready"


@pytest.mark.parametrize(
    ("ordered", "expected"),
    [
        (ENOUGH, "sound"),
        (ENOUGH - 0.001, "care"),
        (LITTLE, "care"),
        (LITTLE - 0.001, "not-ready"),
    ],
)
def test_the_chip_depends_on_how_sure_the_order_is(ordered: float, expected: str) -> None:
    assert state(checked(precision={"right_order": ordered})) == expected


@pytest.mark.parametrize(("share", "expected"), [(0.1, "care"), (TOO_MANY_BAD + 0.01, "not-ready")])
def test_the_chip_counts_the_judgments_of_bad_annotators(share: float, expected: str) -> None:
    problem = {"severity": "problem", "code": "guessing", "details": {"annotators": ["bad"]}}
    who = {
        "annotator": np.array(["bad", "good"], dtype=object),
        "n_judgments": np.array([1000 * share, 1000 * (1 - share)]),
    }
    assert state(checked(findings=[problem]), who) == expected


def two_items(wins: int, of: int) -> aggcal.Assessment:
    rows = [(f"u{k % 6}", "a", "b", "left" if k < wins else "right") for k in range(of)]
    return aggcal.assess(rows, warn=False)


@pytest.mark.parametrize("wins", [31, 36, 38, 42])
def test_of_two_items_the_probability_of_being_first_is_that_of_their_order(wins: int) -> None:
    result = two_items(wins, 60)
    assert result.consensus is not None
    known = result.consensus.uncertainty
    assert known is not None
    first = result.to_report().first_probability
    exact = float(known.order_probability(np.array([0]), np.array([1]))[0])
    assert first == pytest.approx(exact, abs=0.04)


def test_ranks_of_few_items_follow_the_covariance_of_their_scores() -> None:
    # Centred scores of two items are opposites: the gap has twice the error of either.
    covariance = DenseCovariance(np.eye(2))
    known = Uncertainty.of("laplace", 0.95, np.array([0.5, -0.5]), covariance, prior_sd=50.0)
    shares = known.top_probabilities(np.array([1]))
    assert shares is not None
    assert shares[0, 0] == pytest.approx(ndtr(1.0 / sqrt(2.0)), abs=0.04)


def test_those_that_could_be_first_hold_the_first_with_the_level() -> None:
    random = np.random.default_rng(5)
    for n in (1, 2, 7, 300):
        shares = random.dirichlet(np.full(n, 0.5))
        for level in (0.5, 0.9, 0.95):
            found = could_be_first(shares, level)
            assert shares[found].sum() >= level - 1e-6
            assert set(np.flatnonzero(shares > 0.5 * (1 - level))) <= set(found.tolist())
            assert (np.diff(shares[found]) <= 0).all()


def test_of_many_alike_items_no_interval_reaches_first_place_but_many_could_be_first() -> None:
    random = np.random.default_rng(3)
    n = 300
    pairs = [random.choice(n, 2, replace=False) for _ in range(1200)]
    rows = [
        (f"u{k % 30}", f"i{a}", f"i{b}", random.choice(["left", "right"]))
        for k, (a, b) in enumerate(pairs)
    ]
    report = aggcal.assess(rows, warn=False).to_report()
    assert len(report.could_be_first) > 50
    assert f"any of {len(report.could_be_first)} items could be first" in report.headline[1]


def test_the_first_of_very_many_items_is_drawn_among_those_that_may_be() -> None:
    shares = first_shares(np.append(np.zeros(20_000), [9.0, 9.0]), np.full(20_002, 0.5), 1)
    assert shares.sum() == pytest.approx(1.0)
    assert shares[-2:] == pytest.approx(0.5, abs=0.06)


def test_without_a_sole_leader_no_probability_of_being_first_is_given() -> None:
    top = {"stops": [1, 2], "percent": [[0, 50], [0, 50], [2]]}
    summary = SOUND | {"method": "own", "n_items": 3}
    report = Report(summary, items([1, 1, 3], [1, 1, 3]), comparisons={"top": top})
    assert not [label for label, _, _ in facts(report) if "first" in label]


@pytest.mark.parametrize(("left", "state"), [(0.45, "care"), (0.80, "not-ready")])
def test_a_slight_lean_to_one_side_does_not_condemn_a_study(left: float, state: str) -> None:
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
    assert trust(summary, annotators, intervals=True).state == state


@pytest.mark.parametrize(("known", "words"), [(0.899, "just under 90%"), (0.88, "88%")])
def test_what_rounds_to_its_target_does_not_seem_to_reach_it(known: float, words: str) -> None:
    check = {"findings": [], "precision": {"right_order": known}}
    (reason,) = trust(SOUND | {"check": check}, {}, intervals=True).reasons
    assert f"with probability {words}; the target is 90%." in reason


def test_the_first_screen_says_what_the_possible_leaders_hold_together() -> None:
    """Of many items none need have a rank interval that reaches 1, and some are first."""
    study = aggcal.simulate(items=150, annotators=20, judgments=2000, seed=2)
    report = aggcal.assess(study.judgments, study.scores, warn=False).to_report()
    could = report.could_be_first
    assert len(could) > int((report.items["rank_low"] == 1).sum())
    assert f"; one of {len(could)}: at least 95%" in facts(report)[0][2]


def test_what_the_verdict_says_is_no_fact_beside_it() -> None:
    rows = [("ann", "a", "b"), ("bob", "a", "b"), ("cas", "a", "b")] * 40
    report = aggcal.assess(rows, warn=False).to_report()
    assert "leads: it is first with probability" in report.headline[1]
    assert all(label != "Probability of being first" for label, *_ in facts(report))
