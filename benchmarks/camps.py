"""How often camps are claimed where there are none, and found where there are some.

Studies of many shapes are drawn: clean ones, ones in which everyone has a taste of their own,
continua along one axis, and two or three camps. Each is decided by held-out annotators.

    python benchmarks/camps.py --studies 200 --jobs 16 --seed 0
    python benchmarks/camps.py --kinds clean own --studies 50
"""

from __future__ import annotations

import argparse
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

import aggcal
from aggcal.aggregation.general.camps import Decision, decide, seen_by
from aggcal.aggregation.general.found import GeneralEffects

KINDS = ("clean", "own", "axis", "two", "three", "quarter", "weak")


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


def shape(random: np.random.Generator) -> Study:
    """Draw a shape: few items with many judgments, five judges each, and all between."""
    m = int(random.choice([6, 8, 12, 20, 40, 80]))
    return Study(
        int(random.choice([4, 6, 10, 20, 40])),
        m,
        int(random.choice([8, 15, 30, 60, 150])) if m > 8 else int(random.choice([60, 150, 400])),
        float(random.choice([0.3, 1.0, 1.0, 2.5])),
        bool(random.random() < 0.4),
        int(random.random() < 0.4),
        int(random.integers(0, 3)),
        bool(random.random() < 0.4),
    )


def drawn(kind: str, random: np.random.Generator, study: Study) -> aggcal.Judgments:
    """Draw the answers of a study of some kind."""
    n, m = study.items, study.annotators
    size, who = m * study.each, np.arange(m * study.each) % m
    left = random.integers(n, size=size)
    right = (left + random.integers(1, n, size=size)) % n
    theirs = np.tile(study.spread * random.normal(size=n), (m, 1))
    apart = study.spread * random.normal(size=(3, n))
    place = random.permutation(m)
    if kind in ("two", "quarter", "weak"):
        share, far = {"two": (0.4, 1.0), "quarter": (0.25, 1.0), "weak": (0.4, 0.5)}[kind]
        theirs = theirs + far * np.where(place < share * m, -1.0, 1.0)[:, None] * apart[0]
    elif kind == "three":
        theirs = theirs + 1.4 * apart[place % 3]
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
    return aggcal.read_judgments([(f"u{u}", f"i{a}", f"i{b}", words[y]) for u, a, b, y in rows])


def decided(kind: str, number: int, seed: int) -> tuple[Study, Decision, float]:
    """Draw a study; return the decision, and the mean square of an axis in standard errors."""
    random = np.random.default_rng([seed, KINDS.index(kind), number])
    study = shape(random)
    judgments = drawn(kind, random, study)
    terms = aggcal.Terms(ties="davidson", position="on", bridge="axis")
    found = aggcal.aggregate(judgments, terms=terms, warn=False)
    effects = found.effects
    if not isinstance(effects, GeneralEffects) or effects.axis is None:
        raise TypeError("an axis was asked for")
    far = float(np.mean(np.square(effects.axis.items / np.maximum(effects.axis.item_se, 1e-12))))
    seen = seen_by(effects.problem, effects.fit)
    sd = effects.fit.state.block_sds["scores"]
    return study, decide(seen, effects.scores, sd), far


def main() -> None:
    """Count decisions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=20, help="of each kind")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--all", action="store_true", help="print every study")
    asked = parser.parse_args()
    with ProcessPoolExecutor(asked.jobs) as pool:
        for kind in asked.kinds:
            every = range(asked.studies)
            n = len(every)
            found = list(pool.map(decided, [kind] * n, every, [asked.seed] * n))
            counts = Counter(decision.kind for _, decision, _ in found)
            far = np.array([one for _, _, one in found])
            print(kind, dict(counts), "axis beyond 1, 1.5, 2, 3:",
                  [int((far > cut).sum()) for cut in (1.0, 1.5, 2.0, 3.0)], flush=True)  # fmt: skip
            for study, decision, one in found if asked.all else ():
                gains = {k: (round(a, 1), round(b, 1)) for k, (a, b) in decision.gains.items()}
                print("  ", decision.kind, study, gains, decision.over_axis, round(one, 2))


if __name__ == "__main__":
    main()
