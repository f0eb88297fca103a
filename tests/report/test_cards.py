"""Findings in the report: below a title stands what it does not say, not the title once more."""

from __future__ import annotations

import re
from collections.abc import Iterable

import aggcal
from aggcal.errors import AggcalWarning
from aggcal.simulation import simulate

MOST = 0.5
"""Share of the words of a title that the first sentence below it may have, too."""


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"[a-z0-9]+", text.lower()) if len(word) > 2}


def repeated(title: str, below: str) -> float:
    """Return the share of the words of a title that the first sentence below it says again."""
    first = re.split(r"(?<=[.:;]) ", below)[0]
    return len(_words(title) & _words(first)) / max(len(_words(title)), 1)


def study() -> aggcal.Assessment:
    """A study with much that is wrong: each row here is one of its faults."""
    made = simulate(items=14, annotators=8, judgments=260, reversed_share=0.2, seed=4)
    names = (made.annotator_ids[made.annotator], made.item_ids[made.winner])
    rows = list(zip(*names, made.item_ids[made.loser], strict=True))
    best, worst = str(made.item_ids[0]), str(made.item_ids[1])
    # One item wins whatever it meets.
    rows = [(u, b, a) if b == best else (u, a, b) for u, a, b in rows]
    rows += rows[:5]  # recorded twice
    rows += [("u1", best, best), ("u2", "far", "farther"), ("u3", "far", "farther")]
    rows += [("u1", "Essay 20", worst), ("u2", "essay 20", worst)]
    scores = [(str(item), float(k)) for k, item in enumerate(made.item_ids[2:])] + [("spare", 1.0)]
    columns = ("annotator", "winner", "loser", "time")
    times = [*range(260), *range(5), *range(260, len(rows) - 5)]
    table = dict(zip(columns, [*zip(*rows, strict=True), times], strict=True))
    return aggcal.assess(table, scores, warn=False).with_advice()


def test_a_card_does_not_repeat_its_title() -> None:
    result = study()
    assert result.advice is not None
    shown = {each.code: each for each in result.advice.check.findings}
    assert {"self-pairs", "duplicate-rows", "separation", "disconnected", "alike-ids"} <= set(shown)
    text = result.report("md", check=False)
    for each in shown.values():
        card = re.search(rf"{re.escape(each.title)}\n\n(.*)", text.replace("\\", ""))
        assert card is not None, each.title
        share = repeated(each.title, card[1])
        assert share <= MOST, f"{each.title} / {card[1]}"


def test_the_check_says_the_same_in_a_terminal() -> None:
    result = study()
    assert result.advice is not None
    said = str(result.advice.check)
    assert "note: 5 duplicate rows.\n  A row that equals another in every column" in said


def test_warnings_alone_are_whole_sentences() -> None:
    """Where there is no heading, a warning still says what it is about."""
    for warning in _warnings(study()):
        assert repeated(warning.title, warning.what) > 0.0
        assert warning.what.endswith(".")


def _warnings(result: aggcal.Assessment) -> Iterable[AggcalWarning]:
    found = list(result.warnings)
    assert len(found) > 3
    return found
