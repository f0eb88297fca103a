"""What a result claims and warns of is the same in Python, in files, and by any check."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal.advice.check import Check
from aggcal.cli import main
from aggcal.simulation import simulate

Rows = list[tuple[str, str, str, str]]
ITEMS, ANNOTATORS = 15, 16


def simulated(seed: int, **fault: Any) -> Rows:
    shape: dict[str, Any] = {"items": ITEMS, "annotators": ANNOTATORS, "judgments": 1200}
    shown = simulate(**shape, **fault, seed=seed).shown
    names = ("annotator", "left", "right", "outcome")
    return [tuple(map(str, row)) for row in zip(*(shown[name] for name in names), strict=True)]  # type: ignore[misc]


def sets(seed: int, *, levels: int) -> Rows:
    """All pairs of six items at once, by the order that each annotator sees in them."""
    random = np.random.default_rng(seed)
    truth, rows = random.normal(size=ITEMS), []
    for u in range(ANNOTATORS):
        for _ in range(5):
            some = random.choice(ITEMS, 6, replace=False)
            seen = truth[some] + 0.8 * random.normal(size=6)
            if levels:
                seen = np.round(levels / 4 * seen)
            for a, b in combinations(range(6), 2):
                up = "tie" if seen[a] == seen[b] else "left" if seen[a] > seen[b] else "right"
                rows.append((f"u{u}", f"i{some[a]}", f"i{some[b]}", up))
    return rows


def shared(seed: int, *, question: float, taste: float) -> Rows:
    """Everybody is asked the same questions, which have effects; annotators have tastes."""
    random = np.random.default_rng(seed)
    truth, own = random.normal(size=ITEMS), taste * random.normal(size=(ANNOTATORS, ITEMS))
    rows = []
    for _ in range(60):
        i, j = random.choice(ITEMS, 2, replace=False)
        effect = question * random.normal()
        for u in range(ANNOTATORS):
            gap = truth[i] + own[u, i] - truth[j] - own[u, j] + effect
            left = random.random() < 1.0 / (1.0 + np.exp(-gap))
            rows.append((f"u{u}", f"i{i}", f"i{j}", "left" if left else "right"))
    return rows


KINDS: dict[str, Callable[[int], Rows]] = {
    "clean": simulated,
    "a tenth reversed": lambda seed: simulated(seed, reversed_share=0.1),
    "a quarter reversed": lambda seed: simulated(seed, reversed_share=0.25),
    "half reversed": lambda seed: simulated(seed, reversed_share=0.5),
    "guessing": lambda seed: simulated(seed, guessing_share=0.3),
    "one-sided": lambda seed: simulated(seed, left_share=0.2),
    "copies": lambda seed: simulated(seed, copied_share=0.2),
    "two groups": lambda seed: simulated(seed, camp_share=0.4),
    "a small group": lambda seed: simulated(seed, camp_share=0.2),
    "opposite groups": lambda seed: simulated(seed, camp_share=0.3, camp_correlation=-0.9),
    "rankings": lambda seed: sets(seed, levels=0),
    "ratings": lambda seed: sets(seed, levels=5),
    "questions with effects": lambda seed: shared(seed, question=1.0, taste=0.0),
    "tastes": lambda seed: shared(seed, question=0.0, taste=0.7),
}


def judgments(rows: Rows) -> aggcal.Judgments:
    names = ("annotator", "left", "right", "outcome")
    return aggcal.read_judgments(dict(zip(names, zip(*rows, strict=True), strict=True)))


def problems(found: Check) -> set[str]:
    return {each.code for each in found.findings if each.severity == "problem"}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_no_check_changes_a_claim_and_no_full_check_clears_what_a_quick_one_accuses(
    kind: str, seed: int
) -> None:
    read = judgments(KINDS[kind](seed))
    result = aggcal.assess(read, warn=False)
    checked = result.with_advice()
    assert checked.guarantees.to_dict() == result.guarantees.to_dict()
    assert list(map(str, checked.warnings)) == list(map(str, result.warnings))
    assert checked.advice is not None
    full = checked.advice.check
    quick = aggcal.check(read, consensus=result.consensus, quick=True)
    assert problems(quick) <= problems(full)
    assert set(quick.accused.named.items()) <= set(full.accused.named.items())
    assert problems(aggcal.check(read)) <= problems(full)


@pytest.mark.parametrize("kind", ["clean", "a tenth reversed", "copies", "two groups", "tastes"])
def test_the_command_line_states_what_python_states(kind: str, tmp_path: Path) -> None:
    rows = KINDS[kind](7)
    with (tmp_path / "judgments.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("annotator", "left", "right", "outcome"), *rows])
    table = str(tmp_path / "judgments.csv")
    result = aggcal.assess(table, warn=False).to_dict()
    for name, options in (("full", []), ("bare", ["--no-check"])):
        assert main(["aggregate", table, "-o", str(tmp_path / name), "--quiet", *options]) == 0
        summary = json.loads((tmp_path / name / "summary.json").read_text())
        plain = json.loads(json.dumps(result))
        assert summary["guarantees"] == plain["guarantees"]
        assert summary["warnings"] == plain["warnings"]


def test_dependence_is_described_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = KINDS["questions with effects"](1)
    with (tmp_path / "judgments.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("annotator", "left", "right", "outcome"), *rows])
    result = aggcal.assess(tmp_path / "judgments.csv", warn=False)
    assert "times as large as if all answers were independent" in result.dependence
    assert "because answers to the same question agree" in result.dependence
    assert result.dependence in result.report("md", check=False)
    found = aggcal.check(result).findings
    [finding] = [each for each in found if each.code == "dependent-answers"]
    assert finding.message.rstrip(".").removeprefix("A") in result.dependence
    assert main(["aggregate", str(tmp_path / "judgments.csv"), "-o", str(tmp_path / "out")]) == 0
    assert result.dependence in capsys.readouterr().err
