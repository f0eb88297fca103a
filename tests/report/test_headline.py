"""The first screen: which items could be the best, and how far to trust the study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal._core.tables import Columns
from aggcal.pages.markdown import markdown
from aggcal.report.head import ENOUGH, LITTLE, TOO_MANY_BAD
from aggcal.report.report import report
from aggcal.report.run import Run

CHECK: dict[str, Any] = {"findings": [], "precision": {"right_order": 0.95, "says": "Surely."}}
SOUND: dict[str, Any] = {
    "version": "0", "method": "own", "n_items": 2, "n_annotators": 5, "n_judgments": 9,
    "warnings": [], "converged": True, "check": CHECK,
}  # fmt: skip


def items(rank: list[int], low: list[int] | None = None) -> Columns:
    names = np.array([f"i{k}" for k in range(len(rank))], dtype=object)
    columns = {"item": names, "rank": np.array(rank), "consensus": -np.array(rank, dtype=float)}
    if low is None:
        return columns
    likely = {"rank_low": np.array(low), "rank_high": np.array(rank)}
    return columns | likely | {"sure_low": np.array(low), "sure_high": np.array(rank)}


def lines(
    summary: Mapping[str, Any],
    table: Columns | None = None,
    annotators: Columns | None = None,
    comparisons: Mapping[str, Any] | None = None,
) -> list[str]:
    """Return the first paragraphs of a report: title, verdict, trust with its reason."""
    table = items([1, 2], [1, 2]) if table is None else table
    run = Run(SOUND | dict(summary), table, annotators or {}, comparisons=comparisons or {})
    return markdown(report(run)).split("\n\n")


def verdict(*given: Any, **more: Any) -> str:
    return lines(*given, **more)[1].replace("*", "").replace("\\", "")


def state(*given: Any, **more: Any) -> str:
    return lines(*given, **more)[2].split("**")[1]


def reason(*given: Any, **more: Any) -> str:
    return lines(*given, **more)[2].split("** ")[1].replace("\\", "")


def checked(**more: Any) -> dict[str, Any]:
    return {"check": CHECK | more}


def problem(code: str, *annotators: str) -> dict[str, Any]:
    said = {"title": "It is odd", "message": "It is odd.", "why": "", "remedy": "", "topic": "odds"}
    details = {"annotators": list(annotators)}
    return {"severity": "problem", "code": code, "details": details, **said}


@pytest.mark.parametrize(
    ("rank", "low", "first", "words"),
    [
        ([1, 2], None, None, "i0 leads; certainty was not computed."),
        ([1, 2], [1, 2], None, "i0 is the best (95% confidence)."),
        ([1, 2, 3], [1, 1, 3], None, "i0 leads; i1 may be ahead (95% confidence)."),
        ([1, 2, 3, 4], [1, 1, 1, 4], None, "i0 leads; i1 and i2 may be ahead (95% c"),
        ([1, 1, 3, 4], [1, 1, 1, 4], None, "i0 and i1 share first place; i2 may be ahead (9"),
        ([1, 1, 3], [1, 1, 3], None, "The best is one of two (95% confidence); i0 and i1 share f"),
        ([1, 2, 3], [1, 1, 3], [1], "i1 is the best (95% confidence)."),
        ([1, 2], [1, 1], None, "No item stands out: the best could be any of the two."),
        ([*range(1, 7)], [1] * 4 + [2, 3], None, "The best is one of four (95% confidence); i0 l"),
        ([1, 1, 1, 1], None, None, "No leader: four items share first place."),
    ],
)
def test_the_verdict_says_which_items_could_be_the_best(
    rank: list[int], low: list[int] | None, first: list[int] | None, words: str
) -> None:
    comparisons = {} if first is None else {"first": first}
    assert verdict({}, items(rank, low), comparisons=comparisons).startswith(words)


def test_the_verdict_says_its_level() -> None:
    claim = {
        "title": "The best item", "claim": "i0.", "says": "i0.", "about": "consensus",
        "kind": "confidence", "conditions": [], "holds": True, "values": {"level": 0.9},
    }  # fmt: skip
    assert verdict({"guarantees": {"first": claim}}) == "i0 is the best (90% confidence)."


def test_a_number_alone_is_called_an_item() -> None:
    table = items([1, 2], [1, 2]) | {"item": np.array(["7", "8"], dtype=object)}
    assert verdict({}, table).startswith("Item 7 is the best")


def test_no_leader_is_named_where_there_is_no_common_order() -> None:
    assert verdict({"converged": False}) == "No result: the fit did not converge."
    said = verdict(checked(counts={"components": 2}))
    assert said.startswith("No common order: two groups of items")


def test_a_study_of_camps_is_not_ready() -> None:
    assert state(checked(findings=[problem("divided")])) == "Not ready"
    one, other = list("abcdefgh"), list("hgfedcba")
    random = np.random.default_rng(1)
    rows = []
    for u in range(20):
        order = one if u < 12 else other
        for _ in range(60):
            a, b = random.choice(8, 2, replace=False)
            won = "left" if order.index("abcdefgh"[a]) < order.index("abcdefgh"[b]) else "right"
            rows.append((f"u{u}", "abcdefgh"[a], "abcdefgh"[b], won))
    text = aggcal.assess(rows, warn=False).report("md")
    assert "**Not ready**" in text


def test_trust_needs_every_condition() -> None:
    assert state({}) == "Sound"
    assert state({}, items([1, 2])) == "Use with care"
    unchecked = {key: value for key, value in SOUND.items() if key != "check"}
    run = Run(unchecked, items([1, 2], [1, 2]))
    assert "**Use with care**" in markdown(report(run))
    assert state({"converged": False}) == "Not ready"
    assert state({"n_annotators": 1}) == "Not ready"
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
def test_trust_depends_on_how_sure_the_order_is(ordered: float, expected: str) -> None:
    assert state(checked(precision={"right_order": ordered, "says": "So."})) == expected


@pytest.mark.parametrize(
    ("share", "expected"), [(0.1, "Use with care"), (TOO_MANY_BAD + 0.01, "Not ready")]
)
def test_trust_counts_the_judgments_of_bad_annotators(share: float, expected: str) -> None:
    people = annotators(["bad", "good"], [1000 * share, 1000 * (1 - share)])
    assert state(checked(findings=[problem("guessing", "bad")]), annotators=people) == expected


def annotators(names: list[str], judgments: list[float], **more: Any) -> Columns:
    ones = np.ones(len(names))
    return {
        "annotator": np.array(names, dtype=object), "n_judgments": np.array(judgments),
        "reliability": ones, "agreement": ones, **more,
    }  # fmt: skip


def test_a_study_of_guessers_is_not_sound() -> None:
    assert state({"verdicts": {"reliable": 1, "unclear": 4}}) == "Sound"
    guessers = {"verdicts": {"reliable": 0, "unclear": 5}}
    assert state(guessers) == "Use with care"
    assert reason(guessers) == "No annotator is shown to do better than guessing."


def test_a_method_that_takes_annotators_as_equal_says_nothing_of_guessers() -> None:
    verdicts = np.array(["unclear"] * 2, dtype=object)
    people = annotators(["u", "v"], [5, 4], verdict=verdicts)
    said = lines({"method": "btl", "verdicts": {"reliable": 0, "unclear": 2}}, annotators=people)
    assert said[2].startswith("**Sound**")
    assert "## Annotators: 2 annotators, taken to be equally reliable" in said


def test_of_many_alike_items_any_could_be_the_best() -> None:
    random = np.random.default_rng(3)
    n = 300
    pairs = [random.choice(n, 2, replace=False) for _ in range(1200)]
    rows = [
        (f"u{k % 30}", f"i{a}", f"i{b}", random.choice(["left", "right"]))
        for k, (a, b) in enumerate(pairs)
    ]
    result = aggcal.assess(rows, warn=False)
    assert len(result.to_run().could_be_first) > 250
    assert "the best could be any of the 300" in result.report("md", check=False).split("\n\n")[1]


@pytest.mark.parametrize(("left", "expected"), [(0.45, "Use with care"), (0.80, "Not ready")])
def test_a_slight_lean_to_one_side_does_not_condemn_a_study(left: float, expected: str) -> None:
    """A judge who chose the right-hand item in 55% is named, and may still be the best of all."""
    verdicts = np.array(["one-sided", "reliable"], dtype=object)
    shares = {f"left_share{end}": np.array([left, 0.5]) for end in ("", "_low", "_high")}
    people = annotators(["gpt", "ann"], [500, 100], verdict=verdicts, **shares)
    found = checked(findings=[problem("position-bias", "gpt")])
    assert state(found, annotators=people) == expected


@pytest.mark.parametrize(("known", "words"), [(0.899, "89%"), (0.741, "Only 74%")])
def test_what_is_expected_is_not_rounded_up_and_no_target_is_named(
    known: float, words: str
) -> None:
    said = reason(checked(precision={"right_order": known, "says": "So."}))
    assert said == f"{words} of pairs are expected to be in the right order."


def test_trust_is_one_sentence_of_the_gravest_reasons() -> None:
    said = reason({"n_annotators": 1}, items([1, 2]))
    assert said == "There is only one annotator, so nothing shows whether others agree."
    assert reason({}, items([1, 2])) == "Certainty was not computed."
    both = reason(checked(findings=[problem("guessing")]), items([1, 2]))
    assert both == "1 problem in the data (odds); certainty was not computed."


def test_every_surface_says_the_same() -> None:
    """Python, the summary, the report and its page; before a check and after it."""
    study = aggcal.simulate(items=30, annotators=12, judgments=900, seed=2)
    result: Any = aggcal.assess(study.judgments, study.scores, warn=False)
    claims = result.consensus.claims()
    headlines = set()
    for each in (result, result.with_advice()):
        said = each.to_dict()["guarantees"]
        assert said["certified_pairs"]["values"]["certified"] == claims.count
        assert said["first"]["values"]["could_be_first"] == claims.first.sum()
        assert said["tiers"]["values"]["tiers"] == claims.n_tiers
        run = each.to_run()
        names = {run.names[k] for k in run.could_be_first}
        assert names == set(each.consensus.item_ids[claims.first])
        place = dict(zip(each.consensus.item_ids, claims.high, strict=True))
        assert [place[item] for item in each.items["item"]] == each.items["sure_high"].tolist()
        page, text = each.report("html", check=False), each.report("md", check=False)
        assert f"Pairs told apart: {claims.count:,} of 435" in text
        assert said["first"]["claim"].replace("'", "&#x27;") in page
        assert said["certified_pairs"]["claim"] in page
        headlines.add(text.split("\n\n")[1])
    assert len(headlines) == 1
