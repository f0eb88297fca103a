"""Which scores to look at again: one click from the first screen, with and without grades."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import aggcal
from aggcal.report.run import Run
from aggcal.simulation import SimulatedTerms, simulate


def assessed(**wishes: Any) -> aggcal.Assessment:
    terms = SimulatedTerms(categories=3, category_sd=2.0)
    study = simulate(items=40, annotators=10, judgments=2400, terms=terms, seed=5)
    judgments = aggcal.read_judgments(study.judgments, by=["category"])
    result = aggcal.assess(judgments, study.scores, warn=False)
    return result.with_decisions(**wishes) if wishes else result


def listed(text: str, heading: str) -> list[str]:
    """Return the items of a short table of the report."""
    rows = text.partition(f"### {heading}")[2].strip().partition("\n\n")[0].splitlines()[2:]
    return [row.split("|")[1].strip() for row in rows]


def numbers(run: Run, name: str) -> np.ndarray:
    found = run.number(name)
    assert found is not None
    return found


def test_the_least_certain_scores_are_those_with_the_widest_intervals() -> None:
    result = assessed()
    run = result.to_run()
    wide = numbers(run, "calibrated_high") - numbers(run, "calibrated_low")
    order = np.argsort(-wide, kind="stable")[:4]
    text, page = (result.report(form, check=False) for form in ("md", "html"))
    assert listed(text, "Least certain scores") == [run.names[k] for k in order]
    assert re.search(r'<a href="#doubtful"[^>]*>Least certain scores</a>', page)
    assert page.count('id="doubtful"') == 1


def test_the_scores_that_moved_most_are_named() -> None:
    result = assessed()
    run = result.to_run()
    change = np.abs(numbers(run, "calibrated") - numbers(run, "model"))
    order = np.argsort(-change, kind="stable")[:4]
    named = listed(result.report("md", check=False), "Where annotators and your score differ most")
    assert named == [run.names[k] for k in order]


def test_with_grades_the_first_screen_counts_the_doubtful_marks() -> None:
    result = assessed(grades=[40.0, 50.0, 60.0])
    number = result.to_run().words("uncertain").count("True")
    assert 0 < number < 41
    page = result.report(check=False)
    assert f'<a href="#decisions" dir="auto">{number} doubtful marks</a>' in page
    assert f"intervals of {number} of 40 scores cross a boundary" in page
    assert page.count('id="doubtful"') == 1


def test_few_items_need_no_list() -> None:
    study = simulate(items=6, annotators=5, judgments=100, seed=1)
    page = aggcal.assess(study.judgments, study.scores, warn=False).report(check=False)
    assert "doubtful" not in re.sub(r"(?s)<(style|script)\b.*?</\1>", "", page)
