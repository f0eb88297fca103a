"""What findings carry for a page: a title, whom they affect, what passed; each must be true."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import combinations, product

import numpy as np
import pytest

import aggcal
from aggcal.advice.advising import advise
from aggcal.advice.check import Check, Finding, check
from aggcal.advice.check.findings import TOPICS
from aggcal.errors import AggcalWarning
from aggcal.simulation import simulate

Row = tuple[str, ...]
_LONGEST_TITLE, _LONGEST_TOPIC = 90, 4  # characters, words


def every_subclass(kind: type[AggcalWarning]) -> Iterable[type[AggcalWarning]]:
    for each in kind.__subclasses__():
        yield each
        yield from every_subclass(each)


def a_spoilt_study() -> list[Row]:
    """Two components, duplicates, one unbeaten item, self-pairs, skips, one reversed annotator."""
    random = np.random.default_rng(4)
    rows: list[Row] = []
    for u, (i, j) in product(range(8), combinations(range(8), 2)):
        left = random.random() < 1.0 / (1.0 + np.exp(j - i))
        up = left if u else not left
        rows.append((f"u{u}", f"i{i}", f"i{j}", "left" if up else "right"))
    rows += [("u1", "x", "y", "left"), ("u2", "x", "y", "left"), ("u3", "i0", "i0", "left")]
    rows += [("u4", "i0", "i1", "skip"), rows[5], rows[5]]
    return rows


def of(found: Check, code: str) -> Finding:
    return next(each for each in found.findings if each.code == code)


@pytest.fixture(scope="module")
def spoilt() -> Check:
    rows = a_spoilt_study()
    names = ("annotator", "left", "right", "outcome", "id")
    table = [dict(zip(names, (*row, rows.index(row)), strict=True)) for row in rows]
    return check(aggcal.read_judgments(table), with_precision=False)


def test_every_finding_has_a_title_a_message_and_a_remedy(spoilt: Check) -> None:
    assert len(spoilt.findings) >= 6
    for each in spoilt.findings:
        assert each.title[0].isupper() or not each.title[0].isalpha()
        assert not each.title.endswith(".")
        assert len(each.title) <= _LONGEST_TITLE
        assert each.message.endswith(".")
        assert each.remedy.endswith(".")
        assert each.remedy[0].isupper()
        assert each.code in TOPICS


def test_every_kind_of_warning_has_a_topic() -> None:
    assert {each.code for each in every_subclass(AggcalWarning)} <= set(TOPICS)
    assert all(len(words.split()) <= _LONGEST_TOPIC for words in TOPICS.values())


def test_what_a_finding_affects_is_counted(spoilt: Check) -> None:
    rows = [row for row in a_spoilt_study() if row[1] != row[2] and row[3] != "skip"]
    duplicates = of(spoilt, "duplicate-rows")
    assert duplicates.title == "2 duplicate rows"
    assert (duplicates.affects.judgments, duplicates.affects.annotators) == (2, 1)
    assert duplicates.details["rows"] == [list(rows[5][:3])]
    assert duplicates.details["extra"] == [2]
    apart = of(spoilt, "disconnected").affects
    assert (apart.items, apart.judgments) == (2, sum(row[1] in "xy" for row in rows))
    unbeaten = [each for each in spoilt.findings if each.code == "separation"]
    assert {tuple(each.details["items"]) for each in unbeaten} == {("x",), ("y",)}
    assert {each.title for each in unbeaten} == {
        "'x' won every comparison",
        "'y' lost every comparison",
    }
    turned = of(spoilt, "reversed-annotators")
    assert turned.title == "1 annotator of 8 answers the opposite of the others"
    assert turned.affects.judgments == sum(row[0] == "u0" for row in rows)
    assert of(spoilt, "self-pairs").affects.judgments == 1
    assert of(spoilt, "unanswered").affects.judgments == 1


def test_plain_data_holds_them(spoilt: Check) -> None:
    plain = json.loads(json.dumps(spoilt.to_dict()))
    for each in plain["findings"]:
        assert {"severity", "code", "title", "topic", "message", "remedy", "details"} < set(each)
        assert set(each["affects"]) == {"judgments", "items", "annotators"}
    assert all(set(each) == {"code", "says", "topic"} for each in plain["passed"])


def test_what_was_found_has_not_passed(spoilt: Check) -> None:
    passed = {each.code for each in spoilt.passed}
    assert not passed & {each.code for each in spoilt.findings}
    assert "one-way" not in passed
    assert "alike-ids" in passed


def test_what_could_not_be_looked_for_has_not_passed() -> None:
    """One answer a pair, no sides, no times, three annotators who share nothing."""
    rows = [(f"u{k % 3}", *pair) for k, pair in enumerate(combinations("abcdefgh", 2))]
    found = check(aggcal.read_judgments(rows), with_precision=False)
    passed = {each.code for each in found.passed}
    unseen = {"position-bias", "side-preferred", "too-fast", "copies", "divided"}
    unseen |= {"dependent-answers", "low-agreement"}
    assert not passed & (unseen | {"unmatched-items", "direction"})
    assert any(text.startswith("copied answers (no two") for text in found.not_checked)


def test_a_clean_study_passes_with_its_numbers() -> None:
    study = simulate(items=12, annotators=8, judgments=800, seed=2)
    found = check(
        aggcal.read_judgments(study.shown), aggcal.read_scores(study.scores), with_precision=False
    )
    says = {each.code: each.says for each in found.passed}
    assert says["disconnected"] == "All 12 items are connected by comparisons."
    assert says["not-converged"] == "The fit (hra-g) converged."
    assert says["unmatched-items"] == "All 12 items are both judged and scored."
    fewest = int(aggcal.read_judgments(study.shown).judgments_per_annotator.min())
    assert says["few-judgments"] == f"Every annotator gave {fewest} or more judgments."
    assert {"copies", "divided", "position-bias", "reversed-annotators"} <= set(says)
    assert "Checked, nothing found: " in str(found)


def test_warnings_of_the_fit_take_back_what_passed() -> None:
    study = simulate(items=12, annotators=8, judgments=800, seed=2)
    judgments = aggcal.read_judgments(study.judgments)
    warning = AggcalWarning("The kernel is odd", "", "choose another")
    warning.code = "disconnected"
    found = advise(judgments, warnings=[warning])
    assert found is not None
    assert of(found.check, "disconnected").message == "The kernel is odd."
    assert "disconnected" not in {each.code for each in found.check.passed}


def test_a_warning_says_what_and_what_to_do_in_sentences() -> None:
    assert str(AggcalWarning("2 rows are odd", "", "remove them")) == "2 rows are odd. Remove them."
    assert AggcalWarning("2 rows are odd.", "", "Remove them.").title == "2 rows are odd"


def test_no_number_is_shown_by_powers_of_ten() -> None:
    """Half of the items have 2,000 answers each, and the others one more."""
    up, rows = np.random.default_rng(1).random(4001) < 0.7, []
    for k in range(4001):
        one, other = "ab" if k < 2000 else "cd"
        rows.append((f"u{k % 40}", *((one, other) if up[k] else (other, one))))
    text = str(check(rows, quick=True))
    assert "median 2,000" in text
    assert "e+0" not in text
