"""How often camps are claimed where there are none, and found where there are some.

Studies of many shapes are drawn: clean ones, ones in which everyone has a taste of their own,
continua along one axis, and two or three camps. Each is decided by held-out annotators. Where as
many camps are found as there are, 90% intervals are held against the truth: the scores of each
camp, the common ground, how far camps are apart, the number of a camp's members; and the
probability of a camp against how often it is the right one (without guessers, who are in none).

    python benchmarks/camps.py --studies 200 --jobs 16 --seed 0
    python benchmarks/camps.py --kinds clean own --studies 50
    python benchmarks/camps.py --items 3 4 5 6
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import pairwise, permutations

import numpy as np
from one_core import on_one_core_each

import aggcal
from aggcal._core.arrays import FloatArray, IntArray
from aggcal.aggregation.camps import Camps, find_camps, fit_by_camp
from aggcal.aggregation.empirical import Problem, fit

KINDS = ("clean", "own", "axis", "two", "three", "quarter", "weak")
ITEMS = (4, 6, 10, 20, 40)
REACH = 1.6448536
COVERED = ("scores", "common ground", "apart", "members")
BINS = (0.5, 0.6, 0.8, 0.95, 1.0)
"""Probabilities of the most probable camp between which its being right is counted."""


@dataclass(frozen=True)
class Study:
    """The size of a study."""

    items: int
    annotators: int
    each: int
    spread: float
    ties: bool
    reversed: int
    guessers: int
    sided: bool


def shape(random: np.random.Generator, items: tuple[int, ...] = ITEMS) -> Study:
    """Draw a shape: few items with many judgments, five judges each, and all between."""
    m = int(random.choice([6, 8, 12, 20, 40, 80]))
    return Study(
        int(random.choice(items)),
        m,
        int(random.choice([8, 15, 30, 60, 150])) if m > 8 else int(random.choice([60, 150, 400])),
        float(random.choice([0.3, 1.0, 1.0, 2.5])),
        bool(random.random() < 0.4),
        int(random.random() < 0.4),
        int(random.integers(0, 3)),
        bool(random.random() < 0.4),
    )


@dataclass(frozen=True)
class Truth:
    """What a study was made from."""

    theirs: FloatArray
    """The scores of each annotator."""
    camp: IntArray
    rho: FloatArray


def drawn(kind: str, random: np.random.Generator, study: Study) -> tuple[aggcal.Judgments, Truth]:
    """Draw the answers of a study of some kind."""
    n, m = study.items, study.annotators
    size, who = m * study.each, np.arange(m * study.each) % m
    left = random.integers(n, size=size)
    right = (left + random.integers(1, n, size=size)) % n
    theirs = np.tile(study.spread * random.normal(size=n), (m, 1))
    apart = study.spread * random.normal(size=(3, n))
    place = random.permutation(m)
    camp = np.zeros(m, dtype=np.int64)
    if kind in ("two", "quarter", "weak"):
        share, far = {"two": (0.4, 1.0), "quarter": (0.25, 1.0), "weak": (0.4, 0.5)}[kind]
        camp = (place < share * m).astype(np.int64)
        theirs = theirs + far * np.where(camp, -1.0, 1.0)[:, None] * apart[0]
    elif kind == "three":
        camp = place % 3
        theirs = theirs + 1.4 * apart[camp]
    elif kind == "axis":
        theirs = theirs + random.normal(size=m)[:, None] * apart[0]
    elif kind == "own":
        theirs = theirs + 0.7 * study.spread * random.normal(size=(m, n))
    rho = np.exp(0.4 * random.normal(size=m))
    rho[: study.reversed] *= -1.0
    rho[study.reversed : study.reversed + study.guessers] = 0.0
    lean = (0.4 + 0.5 * random.normal(size=m)) * study.sided
    eta = rho[who] * (theirs[who, left] - theirs[who, right]) + lean[who]
    ready = np.exp(-0.5 + random.normal(size=m))[who] * study.ties
    odds = np.stack([np.exp(0.5 * eta), np.exp(-0.5 * eta), ready], axis=1)
    steps = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    answer = (random.random(size)[:, None] > steps[:, :2]).sum(axis=1)
    words = ("left", "right", "tie")
    rows = zip(who, left, right, answer, strict=True)
    named = [(f"u{u}", f"i{a}", f"i{b}", words[y]) for u, a, b, y in rows]
    return aggcal.read_judgments(named), Truth(theirs, camp, rho)


@dataclass
class Held:
    """Intervals held against the truth."""

    inside: dict[str, list[float]] = field(default_factory=dict)
    """Share of those of a study that cover, by what they are of."""
    sure: list[tuple[float, bool]] = field(default_factory=list)
    """The probability of each annotator's most probable camp, and whether it is theirs."""


def held(camps: Camps, judgments: aggcal.Judgments, truth: Truth) -> Held:
    """Hold what was found of camps against the truth; nothing where their number is another."""
    number = int(truth.camp.max()) + 1
    if len(camps.names) != number:
        return Held()
    items = [int(name[1:]) for name in judgments.item_ids]
    people = [int(name[1:]) for name in judgments.annotator_ids]
    first = [int(np.flatnonzero(truth.camp == k)[0]) for k in range(number)]
    true = truth.theirs[first][:, items] * np.abs(truth.rho[people]).mean()
    true -= true.mean(axis=1, keepdims=True)
    order = min(
        permutations(range(number)),
        key=lambda these: float(np.square(camps.scores - true[list(these)]).sum()),
    )
    true, camp = true[list(order)], np.argsort(order)[truth.camp[people]]
    found = {
        "scores": np.abs(camps.scores - true) < REACH * camps.se,
        "common ground": np.abs(camps.common_ground.values - true.mean(axis=0))
        < REACH * camps.common_ground.se,
    }
    if number == 2:
        apart = np.abs(camps.apart.values - true[0] + true[1])
        found["apart"] = apart < REACH * camps.apart.se
    unsure = np.sqrt((camps.members * (1.0 - camps.members)).sum(axis=0))
    counts = np.bincount(camp, minlength=number)
    off = np.abs(camps.members.sum(axis=0) - counts)
    found["members"] = off < REACH * unsure + 0.5
    own, knows = camps.members.argmax(axis=1), truth.rho[people] != 0.0
    sure = zip(camps.members.max(axis=1)[knows], (own == camp)[knows], strict=True)
    return Held({name: [float(x.mean())] for name, x in found.items()}, list(sure))


def decided(
    kind: str, number: int, seed: int, items: tuple[int, ...] = ITEMS
) -> tuple[Study, Camps, float, Held]:
    """Draw a study; return the decision, the mean square z of an axis, and what covers."""
    random = np.random.default_rng([seed, KINDS.index(kind), number])
    study = shape(random, items)
    judgments, truth = drawn(kind, random, study)
    terms = aggcal.Terms(ties="davidson", position="on", bridge="axis")
    effects = aggcal.aggregate(judgments, terms=terms, warn=False).effects
    if effects is None or effects.axis is None:
        raise TypeError("an axis was asked for")
    far = float(
        np.mean(np.square(effects.axis.items.values / np.maximum(effects.axis.items.se, 1e-12)))
    )
    # As `aggregate` does it with --bridge camps.
    effects = aggcal.aggregate(judgments, terms=replace(terms, bridge="off"), warn=False).effects
    if effects is None:
        raise TypeError("a position was asked for")
    camps, cover = find_camps(effects.fit.problem.model.rows, effects.fit), Held()
    if len(camps.scores) and truth.camp.any():
        by_camp = fit_by_camp(
            judgments,
            effects.chosen,
            camps,
            effects.fit,
            lambda *model: fit(Problem(model[0]), model[1]),
        )
        cover = held(by_camp.described(camps), judgments, truth)
    return study, camps, far, cover


def tell_coverage(found: list[Held]) -> None:
    """Print how many intervals cover, and how often probable camps are right."""
    rows = [one for one in found if one.inside]
    if not rows:
        return
    cells = []
    for name in COVERED:
        each = [value for one in rows for value in one.inside.get(name, [])]
        if each:
            error = np.std(each) / np.sqrt(len(each))
            cells.append(f"{name} {np.mean(each):.3f} ±{error:.3f}")
    print(f"   {len(rows)} studies, intervals of 90% cover:", "; ".join(cells), flush=True)
    sure = np.array([pair for one in rows for pair in one.sure], dtype=np.float64)
    said = []
    for low, high in pairwise(BINS):
        mine = sure[(sure[:, 0] > low) & (sure[:, 0] <= high)]
        if len(mine):
            mean, right = mine.mean(axis=0)
            said.append(f"{mean:.3f} said, {right:.3f} right ({len(mine)})")
    print("   probability of a camp:", "; ".join(said), flush=True)


def main() -> None:
    """Count decisions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=20, help="of each kind")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--items", type=int, nargs="+", default=ITEMS, help="numbers of items")
    parser.add_argument("--all", action="store_true", help="print every study")
    asked = parser.parse_args()
    with on_one_core_each(asked.jobs) as pool:
        every, n = range(asked.studies), asked.studies
        # All are begun at once: no process waits for the last study of a kind.
        same = [asked.seed] * n, [tuple(asked.items)] * n
        begun = {k: pool.map(decided, [k] * n, every, *same) for k in asked.kinds}
        for kind, results in begun.items():
            found = list(results)
            counts = Counter(decision.kind for _, decision, _, _ in found)
            far = np.array([one for _, _, one, _ in found])
            print(kind, dict(counts), "axis beyond 1, 1.5, 2, 3:",
                  [int((far > cut).sum()) for cut in (1.0, 1.5, 2.0, 3.0)], flush=True)  # fmt: skip
            tell_coverage([one for _, _, _, one in found])
            for study, decision, one, _ in found if asked.all else ():
                gains = {k: (round(a, 1), round(b, 1)) for k, (a, b) in decision.gains.items()}
                print("  ", decision.kind, study, gains, decision.over_axis, round(one, 2))


if __name__ == "__main__":
    main()
