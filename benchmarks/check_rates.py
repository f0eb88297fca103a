"""How often `aggcal check` finds what is wrong, and how often it accuses the innocent.

    python benchmarks/check_rates.py [STUDIES] > benchmarks/results/check-rates.md

Studies are simulated by the heterogeneous Bradley-Terry model (scores of sd 1), clean ones and
ones with a fault put in; each is looked over by `aggcal.check.check`. The shapes are items x
annotators x judgments each.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import aggcal
from aggcal.check import Check, check
from aggcal.simulate import Simulation, simulate

SHAPES = ((30, 20, 50), (100, 50, 30), (500, 600, 20), (20, 14, 190))
FIRST_SEED = 10_000_000
"""Every row of the table has studies of its own: with the same ones, one unlucky study would
count in several rows.
"""
ACCUSATIONS = ("reversed-annotators", "guessing", "copies", "divided", "position-bias")
ENOUGH = {"reversed": 20, "guesses": 50, "left": 20, "copies": 30}
CODES = {
    "reversed": "reversed-annotators",
    "guesses": "guessing",
    "left": "position-bias",
    "copies": "copies",
}


@dataclass(frozen=True)
class Scenario:
    """A kind of study: what is wrong with it, and how many judgments each annotator gives."""

    name: str
    fault: dict[str, float] = field(default_factory=dict)
    role: str = ""
    spread: float = 0.4
    judgments: int | None = None


SCENARIOS = (
    Scenario("clean, reliability sd 0.3", spread=0.3),
    Scenario("clean, reliability sd 0.5", spread=0.5),
    Scenario("10% reversed", {"reversed_share": 0.1}, "reversed"),
    Scenario("10% guess", {"guessing_share": 0.1}, "guesses"),
    Scenario("10% guess, 60 judgments each", {"guessing_share": 0.1}, "guesses", judgments=60),
    Scenario("10% guess, 100 judgments each", {"guessing_share": 0.1}, "guesses", judgments=100),
    Scenario("10% always left", {"left_share": 0.1}, "left"),
    Scenario("10% copy", {"copied_share": 0.1}, "copies"),
    Scenario("30% opposite camp", {"camp_share": 0.3, "camp_correlation": -1.0}, "camp"),
    Scenario("50% opposite camp", {"camp_share": 0.5, "camp_correlation": -1.0}, "camp"),
    Scenario("30% camp with an unrelated order", {"camp_share": 0.3}, "camp"),
    Scenario("50% camp with an unrelated order", {"camp_share": 0.5}, "camp"),
)


def study_of(scenario: Scenario, shape: tuple[int, int, int], seed: int) -> Simulation:
    items, annotators, each = shape
    return simulate(
        items=items,
        annotators=annotators,
        judgments=annotators * (scenario.judgments or each),
        reliability_sd=scenario.spread,
        seed=seed,
        **scenario.fault,  # type: ignore[arg-type]  # shares are floats
    )


def accused(found: Check, code: str) -> set[str]:
    """Return everyone whom a finding of this kind names."""
    names: set[str] = set()
    for finding in found.findings:
        if finding.code == code:
            names |= set(finding.details.get("annotators", []))
            names |= {u for group in finding.details.get("groups", []) for u in group}
    return names


def one(scenario: Scenario, shape: tuple[int, int, int], seed: int) -> Counter[str]:
    study = study_of(scenario, shape, seed)
    judgments = aggcal.read_judgments(study.shown)
    began = time.perf_counter()
    found = check(judgments, with_precision=False)
    tally: Counter[str] = Counter(
        studies=1, milliseconds=round(1e3 * (time.perf_counter() - began))
    )
    codes = {finding.code for finding in found.findings}
    given = Counter(study.annotator_ids[study.annotator].tolist())
    if not scenario.role:
        tally["alarmed"] = bool(codes & set(ACCUSATIONS))
        tally.update(f"alarm {code}" for code in codes & set(ACCUSATIONS))
        tally["doubted"] = "perhaps-guessing" in codes
    elif scenario.role == "camp":
        tally["faults"] += 1
        tally["found"] += "divided" in codes
        for finding in found.findings:
            if finding.code == "divided":
                tally["graver"] += finding.severity == "problem"
        tally["innocent"] += bool(codes & (set(ACCUSATIONS) - {"divided"}))
    else:
        guilty = set(study.annotator_ids[study.role == scenario.role].tolist())
        # A copy shares with whom it copies no more than that one gave.
        names = study.annotator_ids
        least = {names[u]: given[names[v]] for u, v in study.copied.items()}
        enough = {
            u for u in guilty if min(given[u], least.get(u, given[u])) >= ENOUGH[scenario.role]
        }
        named = accused(found, CODES[scenario.role])
        tally["faults"] += len(enough)
        tally["found"] += len(enough & named)
        if scenario.role == "guesses":
            tally["found or doubted"] += len(enough & (named | accused(found, "perhaps-guessing")))
        donors = {str(study.annotator_ids[v]) for v in study.copied.values()}
        others = set().union(*(accused(found, code) for code in ACCUSATIONS))
        tally["innocent"] += bool((others - guilty - donors) or "divided" in codes)
    return tally


def _task(job: tuple[Scenario, tuple[int, int, int], int]) -> tuple[str, Any, Counter[str]]:
    scenario, shape, seed = job
    return scenario.name, shape, one(scenario, shape, seed)


def percent(part: int, whole: int) -> str:
    if not whole:
        return "-"
    return f"{part / whole:.1%} ({part} of {whole})"


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    chosen = sys.argv[2:]
    scenarios = [s for s in SCENARIOS if not chosen or any(c in s.name for c in chosen)]
    jobs = [
        (scenario, shape, FIRST_SEED + 100_000 * row + 1000 * column + k)
        for row, scenario in enumerate(SCENARIOS)
        for column, shape in enumerate(SHAPES)
        if scenario in scenarios
        if not scenario.judgments or shape[2] < scenario.judgments < 5 * shape[2]
        for k in range(number if shape[1] < 100 else max(1, number // 4))
    ]
    total: dict[tuple[str, Any], Counter[str]] = {}
    workers = int(os.environ.get("WORKERS", "2"))
    with ProcessPoolExecutor(workers) as pool:
        for name, shape, tally in pool.map(_task, jobs, chunksize=2):
            total.setdefault((name, shape), Counter()).update(tally)
    print("# What `aggcal check` finds, and whom it accuses wrongly\n")
    print("Made by `benchmarks/check_rates.py`. Detection counts annotators with enough judgments")
    print("(reversed and always left 20, guessing 50, copies 30), camps count studies. A false")
    print("accusation is a study in which anybody innocent is called reversed, guessing, a copy,")
    print("biased to a side, or part of a camp.\n")
    print("| study | items x annotators x judgments each | found | studies with a false accusation "
          "| remarks | seconds a check |")  # fmt: skip
    print("|---|---|---|---|---|---|")
    for (name, shape), tally in total.items():
        size = list(shape)
        scenario = next(s for s in SCENARIOS if s.name == name)
        size[2] = scenario.judgments or size[2]
        false = tally["innocent"] if scenario.role else tally["alarmed"]
        remarks = [
            f"{code[6:]} {times}" for code, times in sorted(tally.items()) if code[:6] == "alarm "
        ]
        if not scenario.role:
            remarks.append(
                f"'perhaps guessing' noted in {percent(tally['doubted'], tally['studies'])}"
            )
        if "found or doubted" in tally:
            remarks.append(f"or doubted: {percent(tally['found or doubted'], tally['faults'])}")
        if "graver" in tally:
            remarks.append(f"as a problem: {percent(tally['graver'], tally['faults'])}")
        seconds = tally["milliseconds"] / 1e3 / tally["studies"]
        print(
            f"| {name} | {' x '.join(map(str, size))} | {percent(tally['found'], tally['faults'])} "
            f"| {percent(false, tally['studies'])} | {'; '.join(remarks)} | {seconds:.2f} |"
        )


if __name__ == "__main__":
    for _library in ("OPENBLAS", "OMP", "MKL"):
        os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
    np.seterr(all="raise", under="ignore")
    main()
