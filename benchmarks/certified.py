"""How often all certified pairs are right at once, and whether the claim is withdrawn where not.

    python benchmarks/certified.py [STUDIES] > benchmarks/results/certified.md

Studies are simulated by the heterogeneous Bradley-Terry model, clean ones and ones in which answers
depend on each other. Each is aggregated, its pairs are certified at a family-wise level of 0.95,
and the data are checked. A study is *wrong* if a certified pair contradicts the truth; the claim is
*withdrawn* if the check found dependence. What counts is *wrong and claimed*.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import dataclass
from functools import partial

import numpy as np
from one_core import on_one_core_each

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.data.judgments import Judgments
from aggcal.models.links import link

FIRST_SEED = 20_000_000
LEVEL = 0.95


@dataclass(frozen=True)
class Scenario:
    """A kind of study.

    ``spread`` is the sd of the true scores, ``clusters`` how many values they have (0: all differ),
    ``pair_sd`` the sd of an effect that all answers to a pair share, ``copies`` the number of
    groups of copying annotators of ``group`` members each, who give the first one's answer with a
    chance of ``loyalty``.
    """

    name: str
    items: int = 20
    annotators: int = 20
    each: int = 100
    spread: float = 1.0
    clusters: int = 0
    pair_sd: float = 0.0
    copies: int = 0
    group: int = 5
    loyalty: float = 1.0
    reliability_sd: float = 0.4


SCENARIOS = (
    Scenario("clean"),
    Scenario("clean, 40 annotators x 200", annotators=40, each=200),
    Scenario("clean, 200 annotators x 10", annotators=200, each=10),
    Scenario("clean, 50 items", items=50),
    Scenario("clean, spread 0.3", spread=0.3),
    Scenario("clean, spread 3", spread=3.0),
    Scenario("clean, 5 clusters", clusters=5),
    Scenario("pair effects of sd 0.3", pair_sd=0.3),
    Scenario("pair effects of sd 0.5", pair_sd=0.5),
    Scenario("pair effects of sd 0.5, 40 annotators x 200", annotators=40, each=200, pair_sd=0.5),
    Scenario("pair effects of sd 0.5, 50 items", items=50, pair_sd=0.5),
    Scenario("1 group of 5 copies, agreement 1", copies=1),
    Scenario("2 groups of 5 copies, agreement 0.97", copies=2, loyalty=0.97),
    Scenario("1 group of 12 copies, agreement 0.97", copies=1, group=12, loyalty=0.97),
)


def study(scenario: Scenario, seed: int) -> tuple[Judgments, FloatArray]:
    """Simulate one study; the truth is in the order of the items' ids."""
    random = np.random.default_rng(seed)
    n, m = scenario.items, scenario.annotators
    truth = random.standard_normal(n)
    if scenario.clusters:
        truth = truth[random.integers(scenario.clusters, size=n)] + 0.05 * random.standard_normal(n)
    truth = scenario.spread * (truth - truth.mean()) / truth.std()
    slope = np.exp(scenario.reliability_sd * random.standard_normal(m))
    slope /= slope.mean()
    first, second = np.triu_indices(n, 1)
    gap = truth[first] - truth[second] + scenario.pair_sd * random.standard_normal(len(first))
    asked = [random.integers(len(first), size=scenario.each) for _ in range(m)]
    said = [
        random.random(scenario.each) < link("logistic").probability(slope[u] * gap[asked[u]])
        for u in range(m)
    ]
    for k in range(scenario.copies):
        leader = k * scenario.group
        for u in range(leader + 1, leader + scenario.group):
            follows = random.random(scenario.each) < scenario.loyalty
            own = random.random(scenario.each) < link("logistic").probability(
                slope[u] * gap[asked[leader]]
            )
            asked[u], said[u] = asked[leader], np.where(follows, said[leader], own)
    pair, wins = np.concatenate(asked), np.concatenate(said)
    who = np.repeat(np.arange(m), scenario.each)
    names = np.array([f"i{k:03d}" for k in range(n)], dtype=object)
    return aggcal.read_judgments(
        {
            "annotator": [f"u{u:03d}" for u in who],
            "winner": names[np.where(wins, first[pair], second[pair])],
            "loser": names[np.where(wins, second[pair], first[pair])],
        }
    ), truth


def one(scenario: Scenario, seed: int) -> Counter[str]:
    judgments, truth = study(scenario, seed)
    truth = truth[[int(str(item)[1:]) for item in judgments.item_ids]]
    result = aggcal.assess(judgments, level=LEVEL, warn=False).with_advice()
    known = None if result.consensus is None else result.consensus.uncertainty
    if known is None or result.advice is None:
        raise RuntimeError("the study has no uncertainty, or was not checked")
    pairs = list(known.certified().pairs())
    wrong = any(truth[i] < truth[j] for i, j in pairs)
    withdrawn = result.guarantees["certified_pairs"].holds is False
    tally = Counter(
        certified=len(pairs), wrong=wrong, withdrawn=withdrawn, claimed=wrong and not withdrawn
    )
    tally.update({f"found {finding.code}" for finding in result.advice.check.findings})
    return tally


def main(studies: int) -> None:
    print(f"# Certified pairs at {LEVEL}\n")
    print(
        f"{studies} studies a row, `benchmarks/certified.py`; 20 items, 20 annotators, 100 "
        "judgments each unless said.\n"
    )
    print(
        "| studies | certified pairs | some pair wrong | claim withdrawn | wrong and claimed "
        "| pair effects found | copies found |"
    )
    print("|---|---|---|---|---|---|---|")
    with on_one_core_each(int(os.environ.get("WORKERS", "2"))) as pool:
        for k, scenario in enumerate(SCENARIOS):
            seeds = range(FIRST_SEED + 100_000 * k, FIRST_SEED + 100_000 * k + studies)
            total: Counter[str] = Counter()
            for tally in pool.map(partial(one, scenario), seeds):
                total.update(tally)
            shares = (total[c] / studies for c in ("wrong", "withdrawn", "claimed"))
            found = (total[f"found {c}"] / studies for c in ("pair-effects", "copies"))
            numbers = " | ".join(f"{x:.3f}" for x in (*shares, *found))
            print(
                f"| {scenario.name} | {total['certified'] / studies:.0f} | {numbers} |", flush=True
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
