"""Which scores to look at again: one click from the first screen, with and without grades."""

from __future__ import annotations

import re

import numpy as np

import aggcal
from aggcal.report.doubtful import moved, widest
from aggcal.report.html import html
from aggcal.report.report import Report
from aggcal.simulation import SimulatedTerms, simulate


def assessed(**wishes: object) -> Report:
    terms = SimulatedTerms(categories=3, category_sd=2.0)
    study = simulate(items=40, annotators=10, judgments=2400, terms=terms, seed=5)
    judgments = aggcal.read_judgments(study.judgments, by=["category"])
    result = aggcal.assess(judgments, study.scores, warn=False)
    return (result.with_decisions(**wishes) if wishes else result).to_report()


def test_the_least_certain_scores_are_those_with_the_widest_intervals() -> None:
    report = assessed()
    low, high = (report.items[f"calibrated_{end}"].astype(float) for end in ("low", "high"))
    order = np.argsort(-(high - low), kind="stable")[:4]
    assert [each["item"] for each in widest(report.rows)] == list(report.items["item"][order])
    assert ("least certain scores", "#doubtful") in report.asides
    page = html(report)
    assert 'id="doubtful"' in page
    assert "Least certain scores" in page


def test_the_scores_that_moved_most_are_named() -> None:
    report = assessed()
    change = np.abs(report.items["calibrated"].astype(float) - report.items["model"].astype(float))
    named = [each["item"] for each in moved(report.rows)]
    assert named == list(report.items["item"][np.argsort(-change, kind="stable")[:4]])


def test_with_grades_the_first_screen_counts_the_doubtful_marks() -> None:
    report = assessed(grades=[40.0, 50.0, 60.0])
    number = len(report.decided.doubtful)
    assert 0 < number < 41
    assert (f"{number} of 40 marks are doubtful", "#doubtful") in report.asides
    assert html(report).count('id="doubtful"') == 1


def test_few_items_need_no_list() -> None:
    study = simulate(items=6, annotators=5, judgments=100, seed=1)
    report = aggcal.assess(study.judgments, study.scores, warn=False).to_report()
    assert report.widest == []
    assert 'id="doubtful"' not in html(report)


def test_all_categories_are_beside_each_other() -> None:
    report = assessed()
    rows = report.by.overview
    assert [each["item"] for each in rows] == list(report.items["item"])
    table = report.categories
    known = {
        (str(c), str(i)): (int(r), float(low), float(high))
        for c, i, r, low, high in zip(
            *(table[key] for key in ("category", "item", "rank", "rank_low", "rank_high")),
            strict=True,
        )
    }
    kinds = set()
    for row in rows:
        for view, cell in zip(report.by.views, row["cells"], strict=True):
            rank, low, high = known[view["label"], row["item"]]
            overall = int(row["overall"])
            kind = "better" if high < overall else "worse" if low > overall else ""
            assert (cell["rank"], cell["kind"]) == (str(rank), kind)
            kinds.add(kind)
    assert kinds == {"better", "worse", ""}
    assert re.search(r"<option value=\"all\">All categories", html(report))
