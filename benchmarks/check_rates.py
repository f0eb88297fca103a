"""How often `aggcal check` finds what is wrong, and how often it accuses the innocent.

    python benchmarks/check_rates.py --quick --results DONE > benchmarks/results/check-rates.md

Studies are simulated by the heterogeneous Bradley-Terry model, clean ones and ones with a fault put
in; each is looked over by `aggcal.check`. Studies that stand in the file of results already are not
made again, so a run can be broken off and taken up. `--quick` leaves out copies and camps, which
take most of the time and do not bear on the verdicts on single annotators; kinds of tastes are
looked at in full all the same. To renew some kinds, take them out of the file of results, and name
them with `--only`.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from concurrent.futures import as_completed
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from one_core import on_one_core_each
from scipy.special import expit

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.advice.check import Check, check
from aggcal.simulation import SimulatedTerms, Simulation, simulate

FIRST_SEED = 50_000_000
"""Every row of the table has studies of its own: with the same ones, one unlucky study would
count in several rows. The thresholds of the check were chosen on studies from 20,000,000 on; change
this number whenever they are chosen anew, or the rates are those of studies they were fitted to.
"""
VERDICTS = ("reversed-annotators", "contradicting", "guessing", "position-bias", "side-preferred")
OTHERS = ("divided", "different-tastes", "own-order")
COPIES = ("copies",)
NOTED = "erratic"
"""A note about an annotator that is counted apart."""
KINDS = ("two groups", "not two groups", "unclear")
CODES = {
    "reversed": "reversed-annotators",
    "guesses": "guessing",
    "left": "position-bias",
    "lapses": "erratic",
}


@dataclass(frozen=True)
class Scenario:
    """A kind of study: its shape (items, annotators, judgments), and what is wrong with it."""

    name: str
    shape: tuple[int, int, int]
    fault: dict[str, float] = field(default_factory=dict)
    role: str = ""
    reliability_sd: float = 0.5
    score_sd: float = 1.0
    ties: bool = False
    consistent: bool = False
    components: int = 1
    terms: SimulatedTerms | None = None
    weights: tuple[float, ...] = ()
    """What the weight of a judgment is, each as often as the others; two numbers: between them."""
    ranked: int = 0
    """Items in a ranking; the judgments are its pairs."""
    careless_share: float = 0.0
    """Annotators with a twelfth of the reliability of all others, who have that of three."""
    noisy: float = 0.0
    """Reliability of one annotator among others who hardly ever err."""
    lapsing: float = 0.0
    """Share of the answers of one annotator, who otherwise hardly errs, that are coins."""
    tastes: str = ""
    """How much of a second order annotators add to the common one: ``normal`` and ``uniform``
    numbers are degrees, ``two`` are groups. Such studies are looked at in full."""
    opposite: bool = False
    """Whether they have nothing in common, so that tastes are opposites."""
    full: bool = False
    """Whether a quick run looks at these in full, too."""


REVERSED, GUESSING = {"reversed_share": 0.1}, {"guessing_share": 0.1}
LEFT, COPYING = {"left_share": 0.1}, {"copied_share": 0.1}
INNOCENT = "in a camp"
"""Role of nobody: members of camps have an order of their own, and are to be accused of nothing."""
EXTREME = (1.0, 300.0, 1.0, 300.0)
SMALL = ((12, 5, 6000), (9, 6, 11000), (10, 4, 20000), (12, 5, 3000), (20, 6, 6000))
USUAL, LONG, WIDE = (30, 20, 1000), (20, 14, 2660), (100, 50, 1500)
TIED, FEW, CAMPS = (20, 5, 3000), (12, 5, 3000), (60, 40, 8000)


def _ties(readiness: float, grades: int = 1) -> SimulatedTerms:
    return SimulatedTerms(
        ties="davidson", tie_readiness=readiness, tie_readiness_sd=0.5, grades=grades
    )


SCENARIOS = (
    *(Scenario("clean", shape) for shape in (*SMALL, USUAL, LONG, WIDE)),
    Scenario("clean, all alike", USUAL, reliability_sd=0.2),
    Scenario("clean, very unlike", USUAL, reliability_sd=0.8),
    Scenario("clean, few items", (5, 8, 4000)),
    Scenario("clean, 5 judgments each", (60, 200, 1000)),
    Scenario("clean, same answer when asked again", (8, 10, 2000), consistent=True),
    Scenario("clean, ties", USUAL, ties=True),
    Scenario("clean, 3 components", USUAL, components=3),
    Scenario("clean, scores of sd 0.3", USUAL, score_sd=0.3),
    Scenario("clean, scores of sd 3", USUAL, score_sd=3.0),
    Scenario("clean", (500, 600, 12000)),
    *(Scenario("10% copy", shape, COPYING, "copies") for shape in (USUAL, LONG)),
    *(Scenario("10% reversed", s, REVERSED, "reversed", 0.4) for s in (USUAL, LONG, WIDE)),
    Scenario("10% reversed", (100, 50, 5000), REVERSED, "reversed", 0.4),
    Scenario("60 of 600 reversed", (500, 600, 12000), REVERSED, "reversed", 0.4),
    Scenario("1 of 5 reversed", (12, 5, 3000), {"reversed_share": 0.2}, "reversed", 0.4),
    *(Scenario("10% guess", s, GUESSING, "guesses", 0.4) for s in (USUAL, LONG, (100, 50, 5000))),
    Scenario("1 of 5 guesses", (12, 5, 3000), {"guessing_share": 0.2}, "guesses", 0.4),
    *(Scenario("10% always left", s, LEFT, "left", 0.4) for s in (USUAL, LONG, WIDE)),
    # New kinds come last: the seeds of a kind go by its place.
    *(Scenario("clean, 75% ties", s, terms=_ties(2.6)) for s in (TIED, USUAL)),
    *(Scenario("clean, 90% ties", s, terms=_ties(3.9)) for s in (TIED, USUAL)),
    *(Scenario("clean, weights 1, 2, 3", s, weights=(1.0, 2.0, 3.0)) for s in (FEW, USUAL)),
    *(Scenario("clean, weights 0.2 to 1.8", s, weights=(0.2, 1.8)) for s in (FEW, USUAL)),
    *(Scenario("clean, strengths", s, terms=SimulatedTerms(grades=2)) for s in (FEW, USUAL)),
    *(Scenario("clean, strengths and ties", s, terms=_ties(-0.5, 3)) for s in (FEW, USUAL)),
    *(Scenario("clean, rankings of 4", s, ranked=4) for s in ((12, 5, 1800), (30, 20, 2400))),
    Scenario("clean, rankings of 8", (20, 14, 5600), ranked=8),
    *(
        Scenario(f"{share:.0%} have an unrelated order", s, {"camp_share": share}, INNOCENT, 0.4)
        for share in (0.5, 0.3, 0.1)
        for s in (CAMPS, (50, 30, 30000), (100, 500, 15000))
    ),
    *(
        Scenario(name, CAMPS, {"camp_share": share, "camp_correlation": rho}, INNOCENT, 0.4)
        for name, share, rho in (
            ("30% have a similar order", 0.3, 0.5),
            ("1 of 40 has an unrelated order", 0.025, 0.0),
        )
    ),
    Scenario("30%, unrelated, ties", CAMPS, {"camp_share": 0.3}, INNOCENT, 0.4, terms=_ties(0.0)),
    Scenario("30%, unrelated, very unlike", CAMPS, {"camp_share": 0.3}, INNOCENT, 0.8),
    Scenario("25% reversed", (60, 60, 3000), {"reversed_share": 0.25}, "reversed", 0.4),
    *(
        Scenario(f"10% guess, {name}", CAMPS, GUESSING | fault, "guesses", 0.4)
        for name, fault in (
            ("30% have an unrelated order", {"camp_share": 0.3}),
            ("10% copy", COPYING),
        )
    ),
    *(
        Scenario(
            f"1 of {m} has an unrelated order", (n, m, size), {"camp_share": 1 / m}, INNOCENT, 0.4
        )
        for n, m, size in ((40, 40, 2000), (40, 40, 4000), (25, 8, 1600))
    ),
    Scenario("clean, half are careless", (25, 20, 2000), careless_share=0.5),
    *(
        Scenario(f"clean, 1 of {m} is noisy ({noisy})", (25, m, 50 * m), noisy=noisy)
        for m, noisy in ((10, 0.5), (20, 0.5), (40, 0.5), (20, 0.75), (20, 1.0))
    ),
    *(
        Scenario(name, s, role=INNOCENT, reliability_sd=0.4, tastes=tastes, full=True)
        for name, tastes in (
            ("tastes by degrees, normal", "normal"),
            ("tastes by degrees, uniform", "uniform"),
            ("two tastes", "two"),
        )
        for s in ((40, 10, 2000), (40, 20, 2000), (40, 40, 4000), (60, 100, 5000))
    ),
    *(
        Scenario(
            f"{share:.0%} have an unrelated order, in full",
            CAMPS,
            {"camp_share": share},
            INNOCENT,
            0.4,
            full=True,
        )
        for share in (0.5, 0.3)
    ),
    *(
        Scenario(name, s, role=INNOCENT, reliability_sd=0.4, tastes=kind, opposite=True, full=True)
        for name, kind in (
            ("two opposite tastes", "two"),
            ("tastes by degrees, uniform, up to the opposite", "uniform"),
        )
        for s in ((30, 20, 1200), (30, 60, 6000))
    ),
    *(Scenario("clean, of log sd 1", s, reliability_sd=1.0) for s in (FEW, (20, 5, 1000))),
    *(Scenario("clean, weights 1 or 300", s, weights=EXTREME) for s in (FEW, USUAL)),
    Scenario("clean, many items", (2000, 300, 30000)),
    *(Scenario("clean, in full", s, full=True) for s in (FEW, USUAL, (100, 50, 5000))),
    *(
        Scenario(f"1 lapses{name}", s, role="lapses", lapsing=0.2, weights=weights)
        for name, weights in (("", ()), (", weights 0.02 to 0.98", (0.02, 0.98)))
        for s in (USUAL, LONG, (20, 10, 4000))
    ),
)


def study_of(scenario: Scenario, seed: int) -> tuple[Simulation, dict[str, Any]]:
    """Return a study and its table of judgments."""
    items, annotators, judgments = scenario.shape
    study = simulate(
        items=items,
        annotators=annotators,
        judgments=judgments,
        reliability_sd=scenario.reliability_sd,
        seed=seed,
        terms=scenario.terms or SimulatedTerms(),
        **scenario.fault,  # type: ignore[arg-type]  # shares are floats
    )
    table, random = dict(study.shown), np.random.default_rng(seed)
    if scenario.ranked:
        return study, _rankings(study, judgments, scenario.ranked, random)
    table |= _columns(scenario, study, random)
    odd = scenario.ties or scenario.consistent or scenario.components > 1 or scenario.careless_share
    if not (odd or scenario.noisy or scenario.tastes) and scenario.score_sd == 1.0:
        return study, table
    left, right = study.left.astype(np.int64), study.right.astype(np.int64)
    if scenario.components > 1:
        right += (left - right) % scenario.components
        right = np.where(right == left, right + scenario.components, right)
        right = np.where(right >= items, left % scenario.components, right)
    gap = scenario.score_sd * (study.latent[left] - study.latent[right])
    reliability = study.reliability
    if scenario.careless_share:
        careless = np.arange(annotators) < scenario.careless_share * annotators
        reliability = np.where(careless, 0.25, 3.0)
    if scenario.noisy:
        reliability = np.where(np.arange(annotators) == 0, scenario.noisy, 20.0)
    if scenario.tastes:
        # By other numbers than the common order, which is drawn from the same seed.
        other = np.random.default_rng([seed, 1])
        second, part = other.normal(size=items), _parts(scenario.tastes, annotators, other)
        gap *= not scenario.opposite
        gap += part[study.annotator] * (second[left] - second[right])
    gap *= reliability[study.annotator]
    wins = random.random(judgments) < expit(gap)
    if scenario.consistent:
        low, high = np.minimum(left, right), np.maximum(left, right)
        key = (study.annotator.astype(np.int64) * items + low) * items + high
        _, first, again = np.unique(key, return_index=True, return_inverse=True)
        above = np.where(left < right, wins, ~wins)[first][again.ravel()]
        wins = np.where(left < right, above, ~above)
    outcome = np.where(wins, "left", "right").astype(object)
    if scenario.ties:
        outcome[(np.abs(gap) < 0.5) & (random.random(judgments) < 0.5)] = "tie"
    kept = left != right
    ids = study.item_ids
    table = {
        "annotator": table["annotator"][kept],
        "left": ids[left[kept]],
        "right": ids[right[kept]],
        "outcome": outcome[kept],
    }
    return study, table


def _columns(scenario: Scenario, study: Simulation, random: np.random.Generator) -> dict[str, Any]:
    """Return weights, and the outcomes where someone lapses."""
    found: dict[str, Any] = {}
    if scenario.weights:
        found["weight"] = _weights(scenario.weights, len(study.left), random)
    if scenario.lapsing:
        found["outcome"] = _lapsing(study, scenario.lapsing, random)
    return found


def _lapsing(study: Simulation, share: float, random: np.random.Generator) -> NDArray[np.object_]:
    """Let the first annotator, of reliability 4, toss a coin for a share of their answers."""
    slopes = study.reliability.copy()
    slopes[0] = 4.0
    gap = study.latent[study.left] - study.latent[study.right]
    wins = random.random(len(gap)) < expit(slopes[study.annotator] * gap)
    tossed = (study.annotator == 0) & (random.random(len(gap)) < share)
    wins = np.where(tossed, random.random(len(gap)) < 0.5, wins)
    return np.where(wins, "left", "right").astype(object)


def _parts(tastes: str, size: int, random: np.random.Generator) -> FloatArray:
    """Return how much of a second order annotators add, with a variance of 1."""
    if tastes == "normal":
        return random.normal(size=size)
    if tastes == "uniform":
        return random.uniform(-sqrt(3.0), sqrt(3.0), size)
    return np.where(random.permutation(size) < size // 2, 1.0, -1.0)


def _weights(values: tuple[float, ...], size: int, random: np.random.Generator) -> FloatArray:
    if len(values) == 2:
        return random.uniform(*values, size)
    return random.choice(values, size)


def _rankings(
    study: Simulation, judgments: int, ranked: int, random: np.random.Generator
) -> dict[str, Any]:
    """Rank items by Plackett and Luce's model: its pairs are those of Bradley and Terry's."""
    size = judgments // (ranked * (ranked - 1) // 2)
    who = random.permutation(np.arange(size) % len(study.annotator_ids))
    items = len(study.item_ids)
    shown = np.argsort(random.random((size, items)), axis=1)[:, :ranked]
    worth = study.reliability[who][:, None] * study.latent[shown]
    order = np.argsort(-(worth + random.gumbel(size=shown.shape)), axis=1)
    placed = study.item_ids[np.take_along_axis(shown, order, axis=1)]
    return {
        "annotator": study.annotator_ids[who],
        **{f"r{k + 1}": placed[:, k] for k in range(ranked)},
    }


def accused(found: Check, codes: tuple[str, ...]) -> set[str]:
    """Return everyone whom a finding of these kinds names; the kind where it names nobody."""
    names: set[str] = set()
    for finding in found.findings:
        if finding.code in codes:
            named = set(finding.details.get("annotators", []))
            named |= {u for group in finding.details.get("groups", []) for u in group}
            names |= named or {finding.code}
    return names


def one(scenario: Scenario, seed: int, *, quick: bool) -> dict[str, int]:
    """Look one study over and count."""
    study, table = study_of(scenario, seed)
    judgments = aggcal.read_judgments(table, format="rankings" if scenario.ranked else None)
    began = time.perf_counter()
    found = check(judgments, with_precision=False, quick=quick and not scenario.full)
    spent = round(1e3 * (time.perf_counter() - began))
    guilty = set(study.annotator_ids[study.role == scenario.role].tolist())
    if scenario.lapsing:
        guilty = {str(study.annotator_ids[0])}
    copied = {str(study.annotator_ids[v]) for v in study.copied.values()}
    if scenario.role == "left":
        guilty |= {"side-preferred"}  # which such annotators really cause
    tally = {"studies": 1, "milliseconds": spent}
    for name, codes in (("verdicts", VERDICTS), ("others", OTHERS), ("copies", COPIES)):
        tally[name] = int(bool(accused(found, codes) - guilty - copied))
    for code in (*VERDICTS, NOTED):
        tally[code] = int(bool(accused(found, (code,)) - guilty - copied))
    if scenario.full:
        tally |= _tastes(found)
    if scenario.role in CODES:
        guilty -= {"side-preferred"}
        named = accused(found, (CODES[scenario.role],))
        tally["guilty"], tally["found"] = len(guilty), len(guilty & named)
    return tally


def _tastes(found: Check) -> dict[str, int]:
    """Count what is said of differing tastes."""
    said = [f for f in found.findings if f.code in ("divided", "different-tastes")]
    kinds = [f.details.get("kind", "two groups") for f in said]
    return {kind: int(kind in kinds) for kind in KINDS}


def upper(part: int, whole: int) -> float:
    """Return the upper end of Wilson's interval of a share, one-sided at 95%."""
    z = 1.645
    share = part / whole
    half = z * sqrt(share * (1.0 - share) / whole + z * z / (4.0 * whole * whole))
    return (share + z * z / (2.0 * whole) + half) / (1.0 + z * z / whole)


def percent(part: int, whole: int) -> str:
    return f"{part / whole:.0%} ({part} of {whole})" if whole else "-"


def key_of(scenario: Scenario) -> str:
    return f"{scenario.name} | {' x '.join(f'{n:,}' for n in scenario.shape)}"


def run(options: argparse.Namespace, done: dict[tuple[str, int], dict[str, int]]) -> None:
    """Make the studies that are missing, one of each kind in turn, until the time is over."""
    until = time.monotonic() + options.minutes * 60.0
    jobs = [
        ((key_of(scenario), k), row, FIRST_SEED + 100_000 * row + k)
        for k in range(options.studies)
        for row, scenario in enumerate(SCENARIOS)
        if any(text in key_of(scenario) for text in options.only)
        and (key_of(scenario), k) not in done
        and (scenario.shape[1] < 600 or k % 4 == 0)
    ]
    with on_one_core_each(options.processes) as pool:
        waiting = {
            pool.submit(_numbered, row, seed, quick=options.quick): key for key, row, seed in jobs
        }
        for future in as_completed(waiting):
            if time.monotonic() > until:
                pool.shutdown(wait=False, cancel_futures=True)
                return
            key = waiting[future]
            done[key] = future.result()
            if options.results is not None:
                with options.results.open("a") as file:
                    file.write(json.dumps([*key, done[key]]) + "\n")


def _numbered(row: int, seed: int, *, quick: bool) -> dict[str, int]:
    return one(SCENARIOS[row], seed, quick=quick)


def table(done: dict[tuple[str, int], dict[str, int]], *, quick: bool) -> None:
    """Print what was counted."""
    total: dict[str, Counter[str]] = {}
    for (key, _), counted in done.items():
        total.setdefault(key, Counter()).update(counted)
    print("# What `aggcal check` finds, and whom it accuses wrongly\n")
    print("Made by `benchmarks/check_rates.py`" + (" with `--quick`" if quick else "") + ".")
    print("A false accusation is a study in which an innocent annotator is called reversed,")
    print("guessing or following a side, or the study as a whole to prefer one. Findings of other")
    print("checks (camps, copies) are counted apart, and so are erratic people.")
    print("Studies of tastes are looked at in full; the third column says what was said of these,")
    print("in how many studies.")
    print("Among tastes up to the opposite, whoever is called reversed does answer the opposite of")
    print("most others, and counts as accused wrongly because nobody put a fault in.\n")
    print("| study | items x annotators x judgments | guilty found | false accusation ", end="")
    print("| of which | other checks / copies ", end="")
    print("| erratic | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    clean: Counter[str] = Counter()
    for scenario in SCENARIOS:
        tally = total.get(key_of(scenario))
        if tally is None:
            continue
        n = tally["studies"]
        which = ", ".join(f"{code} {tally[code]}" for code in VERDICTS if tally[code])
        found = percent(tally["found"], tally["guilty"])
        if scenario.full:
            found = ", ".join(f"{k} {tally[k]}" for k in KINDS)
        print(
            f"| {key_of(scenario)} | {found} | {percent(tally['verdicts'], n)} | {which or '-'} "
            f"| {tally['others']} / {tally['copies']} "
            f"| {tally[NOTED]} | {tally['milliseconds'] / 1e3 / n:.1f} |"
        )
        clean.update(tally if not scenario.role else {})
        clean.update({"all": n, "all false": tally["verdicts"]})
    if clean["studies"]:
        n, wrong = clean["studies"], clean["verdicts"]
        print(f"\nClean studies together: {wrong} of {n:,} with a false accusation "
              f"({wrong / n:.1%}, at most {upper(wrong, n):.1%} with 95% confidence); "
              f"all studies: {clean['all false']} of {clean['all']:,}.")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=40, help="of each kind (600: a quarter)")
    parser.add_argument("--only", nargs="+", default=[""], help="kinds with one of these in it")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so long")
    parser.add_argument("--results", type=Path, help="file of what is done already (JSON lines)")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="leave out copies and camps")
    options = parser.parse_args()
    done: dict[tuple[str, int], dict[str, int]] = {}
    if options.results is not None and options.results.exists():
        for line in options.results.read_text().splitlines():
            key, k, tally = json.loads(line)
            done[key, k] = tally
    run(options, done)
    table(done, quick=options.quick)


if __name__ == "__main__":
    for _library in ("OPENBLAS", "OMP", "MKL"):
        os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
    np.seterr(all="raise", under="ignore")
    main()
