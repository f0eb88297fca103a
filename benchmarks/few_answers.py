"""What `aggcal check` says of honest people who gave few answers each, or who slip.

    python benchmarks/few_answers.py [--studies 100] [-o benchmarks/results/few-answers.md]

Answers of such people agree for reasons of their own. In studies of many shapes, nobody copies and
there are no groups: whatever is said of these is wrong. Studies with two fifths of the people who
have an order of their own in common show what is still found; a third as many. People slip in 0 to
twice the share of the table. The seeds are not those of any test.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from one_core import on_one_core_each
from scipy.special import expit

import aggcal
from aggcal.advice.check import check
from aggcal.data.judgments import Judgments

FIRST_SEED = 73_000_000
ACCUSED = ("reversed-annotators", "contradicting", "guessing")
GROUPS = ("divided", "different-tastes")
COLUMNS = (
    "items x people x answers of each",
    "",
    "studies",
    "accused",
    "groups",
    "groups found",
)


@dataclass(frozen=True)
class Kind:
    """The shape of a study, and what its people are like."""

    items: int
    annotators: int
    each: int
    sd: float = 1.0
    """Of the scores."""
    unlike: float = 0.4
    """Standard deviation of log reliabilities."""
    slips: float = 0.0


KINDS = (
    Kind(8, 1000, 10),
    Kind(8, 4000, 3),
    Kind(8, 1000, 10, slips=0.1),
    Kind(8, 1000, 10, sd=0.3),
    Kind(8, 1000, 10, sd=3.0),
    Kind(8, 1000, 10, unlike=1.0),
    Kind(5, 300, 20),
    Kind(12, 200, 40),
    Kind(20, 500, 60),
    Kind(40, 600, 15),
    Kind(200, 400, 15),
    Kind(8, 10, 500, sd=3.0, slips=0.05),
    Kind(8, 10, 500, sd=3.0, slips=0.15),
    Kind(6, 5, 3000, sd=2.0, slips=0.1),
    Kind(15, 30, 200, sd=2.0, unlike=1.0, slips=0.1),
    Kind(30, 20, 50, slips=0.1),
)


def study(kind: Kind, camp: float, seed: int) -> Judgments:
    """Simulate one."""
    random = np.random.default_rng(seed)
    n, m = kind.items, kind.annotators
    truth = kind.sd * random.normal(size=(2, n))
    slopes, slips = np.exp(kind.unlike * random.normal(size=m)), 2.0 * kind.slips * random.random(m)
    who = np.repeat(np.arange(m), kind.each)
    left = random.integers(n, size=len(who))
    right = (left + random.integers(1, n, size=len(who))) % n
    mine = truth[(random.random(m) < camp).astype(int)][who]
    rows = np.arange(len(who))
    gap = mine[rows, left] - mine[rows, right]
    agrees = slips[who] / 2.0 + (1.0 - slips[who]) * expit(slopes[who] * gap)
    up = random.random(len(who)) < agrees
    outcome = np.where(up, "left", "right").astype(object)
    return aggcal.read_judgments(
        {"annotator": who, "left": left, "right": right, "outcome": outcome}
    )


def looked_at(kind: Kind, camp: float, seed: int) -> set[str]:
    """Simulate a study and return the codes of what is found in it."""
    found = check(study(kind, camp, seed), with_precision=False).findings
    return {each.code for each in found}


def row(kind: Kind, clean: list[set[str]], camps: list[set[str]]) -> str:
    """Return the row of the table."""
    cells = [
        f"{kind.items} x {kind.annotators:,} x {kind.each:,}",
        f"{kind.sd:g} / {kind.unlike:g} / {kind.slips:.0%}",
        len(clean),
        sum(not codes.isdisjoint(ACCUSED) for codes in clean),
        sum(not codes.isdisjoint(GROUPS) for codes in clean),
        f"{sum(not codes.isdisjoint(GROUPS) for codes in camps)} of {len(camps)}",
    ]
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    """Count, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=100)
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()
    some = max(1, asked.studies // 3)
    lines = [
        "Written by `python benchmarks/few_answers.py`: in how many studies something is said, of",
        "honest people without groups, and where there are some. The second column has the",
        "standard deviations of scores and of log reliabilities, and the share of slips; people",
        "slip in 0 to twice as many. Groups: any finding of groups or tastes.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        "|---" * len(COLUMNS) + "|",
    ]
    with on_one_core_each(os.cpu_count()) as pool:
        for k, kind in enumerate(KINDS):
            seeds = range(FIRST_SEED + 10_000 * k, FIRST_SEED + 10_000 * k + asked.studies)
            clean, camps = (
                list(pool.map(partial(looked_at, kind, camp), seeds[:number], chunksize=4))
                for camp, number in ((0.0, asked.studies), (0.4, some))
            )
            lines.append(row(kind, clean, camps))
            print(lines[-1], flush=True)
    if asked.output is not None:
        asked.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
