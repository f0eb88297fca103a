"""How often `aggcal check` calls independent annotators copies, and how often it finds copies.

    python benchmarks/copy_rates.py [STUDIES] [NAME ...] > benchmarks/results/copy-rates.md

Shapes on which annotators agree for other reasons than copying: few items with thousands of
judgments, few judges, the same question asked again, separate components, ties, reversed
annotators, items that are easy or hard to tell apart, careful and careless annotators, and pairs
or prompts that all annotators see alike beyond what one order explains. Each is simulated clean
and with one annotator who copies another, 8% of whose answers are their own (they agree in about
97%).
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from one_core import on_one_core_each

import aggcal
from aggcal.advice.check import check

OWN = 0.08


@dataclass(frozen=True)
class Shape:
    """A kind of study."""

    name: str
    items: int
    annotators: int
    judgments: int = 0
    """Random annotators and pairs; 0: everyone judges every pair ``repeats`` times."""
    repeats: int = 1
    spread: float = 1.0
    reliability: float = 1.0
    reliability_sd: float = 0.5
    pair_sd: float = 0.0
    """Of what everyone sees in a pair beyond the order, in logits."""
    prompt_sd: float = 0.0
    """The same of each time a pair is asked: everyone gets the same questions."""
    ties: float = 0.0
    reversed: int = 0
    components: int = 1


SHAPES = (
    Shape("12 items, 5 annotators, 6,000 judgments", 12, 5, 6000),
    Shape("9 items, 6 annotators, 11,000 judgments", 9, 6, 11_000),
    Shape("10 items, 4 annotators, 20,000 judgments", 10, 4, 20_000),
    Shape("12 items, 5 annotators, 3,000 judgments", 12, 5, 3000),
    Shape("20 items, 6 annotators, 6,000 judgments", 20, 6, 6000),
    Shape("30 items, 20 annotators, 1,000 judgments", 30, 20, 1000),
    Shape("10 items, 5 judges, every pair once", 10, 5),
    Shape("16 items, 3 judges, every pair once", 16, 3),
    Shape("12 items, 5 judges, every pair twice", 12, 5, repeats=2),
    Shape("12 items, 5 judges, every pair 4 times", 12, 5, repeats=4),
    Shape("12 items, 5 judges, every pair 10 times", 12, 5, repeats=10),
    Shape("pair effects, every pair once", 12, 5, pair_sd=0.5),
    Shape("pair effects, every pair twice", 12, 6, repeats=2, pair_sd=0.5),
    Shape("pair effects, every pair 8 times", 12, 5, repeats=8, pair_sd=0.5),
    Shape("pair effects, 12 items, 5 annotators, 6,000", 12, 5, 6000, pair_sd=0.5),
    Shape("pair effects of sd 1, every pair once", 14, 8, pair_sd=1.0),
    Shape("pair effects, 30 items, 20 annotators, 4,000", 30, 20, 4000, pair_sd=0.5),
    Shape("prompt effects, every pair 10 times", 10, 5, repeats=10, prompt_sd=1.0),
    Shape("prompt effects of sd 2, every pair 10 times", 10, 5, repeats=10, prompt_sd=2.0),
    Shape("3 components", 18, 6, 3000, components=3),
    Shape("half ties", 15, 6, 3000, ties=0.5),
    Shape("reversed", 15, 8, 3000, reversed=2),
    Shape("hard to tell apart (spread 0.3)", 15, 6, 2000, spread=0.3),
    Shape("easy to tell apart (spread 3)", 15, 6, 3000, spread=3.0),
    Shape("very careful annotators", 15, 6, 3000, reliability=4.0),
    Shape("very careless annotators", 15, 6, 3000, reliability=0.2),
    Shape("annotators who differ much", 15, 8, 4000, reliability_sd=1.0),
    Shape("sparse: 100 items, 50 annotators, 1,500", 100, 50, 1500),
)


def rows_of(
    shape: Shape, seed: int, *, copied: bool = False
) -> tuple[list[tuple[str, str, str, str]], set[str]]:
    """Simulate the rows of a study, and the two who are copies, if any."""
    random = np.random.default_rng(seed)
    n, m = shape.items, shape.annotators
    scores = shape.spread * random.standard_normal(n)
    slopes = shape.reliability * np.exp(shape.reliability_sd * random.standard_normal(m))
    slopes[: shape.reversed] *= -1.0
    of = np.arange(n) % shape.components
    pairs = np.array([(i, j) for i, j in combinations(range(n), 2) if of[i] == of[j]])
    effect = shape.pair_sd * random.standard_normal(len(pairs))
    if shape.judgments:
        who = random.integers(m, size=shape.judgments)
        which = random.integers(len(pairs), size=shape.judgments)
        time = np.zeros(shape.judgments, dtype=int)
    else:
        grid = np.indices((m, len(pairs), shape.repeats)).reshape(3, -1)
        who, which, time = grid
    prompt = shape.prompt_sd * random.standard_normal((len(pairs), max(1, time.max() + 1)))
    if copied:
        # The last annotator gets the questions and the answers of the one before.
        kept = who != m - 1
        who, which, time = who[kept], which[kept], time[kept]
    i, j = pairs[which].T
    logit = slopes[who] * (scores[i] - scores[j])
    logit += np.sign(slopes[who]) * (effect[which] + prompt[which, time])
    first = random.random(len(who)) < 1.0 / (1.0 + np.exp(-logit))
    tie = random.random(len(who)) < shape.ties
    if copied:
        source = who == m - 2
        chance = 1.0 / (1.0 + np.exp(-logit[source]))
        again = random.random(len(chance)) < chance
        own = random.random(len(chance)) < OWN
        who = np.concatenate([who, np.full(int(source.sum()), m - 1)])
        i, j = (np.concatenate([x, x[source]]) for x in (i, j))
        first = np.concatenate([first, np.where(own, again, first[source])])
        tie = np.concatenate([tie, tie[source]])
    turned = random.random(len(who)) < 0.5  # shown either way round
    names = np.where(tie, "tie", np.where(first ^ turned, "left", "right"))
    left, right = np.where(turned, j, i), np.where(turned, i, j)
    rows = [
        (f"u{u:02}", f"i{a:03}", f"i{b:03}", str(name))
        for u, a, b, name in zip(who, left, right, names, strict=True)
    ]
    return rows, {f"u{m - 2:02}", f"u{m - 1:02}"} if copied else set()


def one(job: tuple[Shape, int, bool]) -> tuple[str, bool, Counter[str]]:
    shape, seed, copied = job
    rows, guilty = rows_of(shape, seed, copied=copied)
    found = check(aggcal.read_judgments(rows), with_precision=False)
    tally: Counter[str] = Counter(studies=1)
    for finding in found.findings:
        if finding.severity == "problem":
            tally[f"code {finding.code}"] += 1
        if finding.code == "copies":
            groups = [set(group) for group in finding.details["groups"]]
            tally["found"] += any(guilty <= group for group in groups) if guilty else 0
            tally["wrong"] += bool(set().union(*groups) - guilty)
    if any(f.severity == "problem" and "annotators" in f.details for f in found.findings):
        tally["accused"] += 1
    return shape.name, copied, tally


def percent(part: int, whole: int) -> str:
    return f"{part / whole:.1%} ({part} of {whole})" if whole else "-"


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    shapes = [s for s in SHAPES if not sys.argv[2:] or any(c in s.name for c in sys.argv[2:])]
    jobs = [
        (shape, 20_000_000 + 10_000 * SHAPES.index(shape) + 1000 * copied + k, copied)
        for shape in shapes
        for copied in (False, True)
        for k in range(number)
    ]
    total: dict[tuple[str, bool], Counter[str]] = {}
    with on_one_core_each(int(os.environ.get("WORKERS", "2"))) as pool:
        for name, copied, tally in pool.map(one, jobs, chunksize=4):
            total.setdefault((name, copied), Counter()).update(tally)
    print("# Whom `aggcal check` calls copies\n")
    print(
        "Made by `benchmarks/copy_rates.py`. One annotator copies another, but for 8% of answers.\n"
    )
    print(
        "| study | clean studies with a false accusation of copying | copies found "
        "| studies with a copy in which another is accused of it | problems in clean studies |"
    )
    print("|---|---|---|---|---|")
    for shape in shapes:
        clean, guilty = total[shape.name, False], total[shape.name, True]
        other = ", ".join(
            f"{code[5:]} {n}" for code, n in sorted(clean.items()) if code.startswith("code ")
        )
        print(
            f"| {shape.name} | {percent(clean['wrong'], clean['studies'])} "
            f"| {percent(guilty['found'], guilty['studies'])} "
            f"| {percent(guilty['wrong'], guilty['studies'])} | {other} |"
        )


if __name__ == "__main__":
    for _library in ("OPENBLAS", "OMP", "MKL"):
        os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
    main()
