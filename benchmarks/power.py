"""What `aggcal power` says beforehand, against what studies of that size then reach.

Before a study: for each shape and goal, the number of judgments that `power` names, and what fresh
studies with so many judgments reach on average. Those come from a generator of their own: scores
are drawn from other shapes than the normal one, too. After a study: how many more judgments `power`
names, and what the study reaches once it has them.

    python benchmarks/power.py --studies 40 --jobs 8
    python benchmarks/power.py --studies 4 --shapes small   (a minute)
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import aggcal
from aggcal.advice.power import Goal, PowerCurve

RESULTS = Path(__file__).parent / "results" / "power.json"


@dataclass(frozen=True)
class Shape:
    """A study, and what `power` is told of it (the same, but for the shape of the scores)."""

    name: str
    items: int
    annotators: int
    score_sd: float = 1.0
    reliability_sd: float = 0.5
    reversed_share: float = 0.0
    ties: float = 0.0
    scores: str = "normal"


SHAPES = (
    Shape("small", 12, 6),
    Shape("five judges", 40, 5),
    Shape("usual", 60, 30),
    Shape("close items", 30, 40, score_sd=0.4),
    Shape("far items", 50, 12, score_sd=2.5),
    Shape("unequal annotators", 40, 25, reliability_sd=1.0),
    Shape("some reversed", 40, 20, reversed_share=0.15),
    Shape("ties", 30, 15, ties=0.25),
    Shape("uniform scores", 40, 20, scores="uniform"),
    Shape("two clusters", 40, 20, scores="clusters"),
    Shape("skewed scores", 40, 20, scores="skewed"),
    Shape("many items", 800, 100),
)
GOALS = ("tau=0.7", "tau=0.85", "top-5=0.8", "half-width=0.5")


Task = tuple[Shape, str]


def truth_of(shape: Shape, random: np.random.Generator) -> np.ndarray:
    n = shape.items
    drawn = random.standard_normal(n)
    if shape.scores == "uniform":
        drawn = random.uniform(-1.0, 1.0, n)
    elif shape.scores == "clusters":
        drawn = np.where(random.random(n) < 0.5, -1.0, 1.0) + 0.3 * drawn
    elif shape.scores == "skewed":
        drawn = random.exponential(size=n)
    return np.asarray(shape.score_sd * (drawn - drawn.mean()) / drawn.std())


def answers(
    shape: Shape, number: int, random: np.random.Generator
) -> tuple[list[tuple[str, str, str, str]], np.ndarray, np.ndarray]:
    """Make a study that owes nothing to `aggcal.simulate`: rows, truth, reliabilities."""
    truth = truth_of(shape, random)
    gamma = np.exp(shape.reliability_sd * random.standard_normal(shape.annotators))
    gamma /= gamma.mean()
    turned = random.permutation(shape.annotators)[: round(shape.reversed_share * shape.annotators)]
    gamma[turned] *= -1.0
    return asked(shape, truth, gamma, number, random), truth, gamma


def asked(
    shape: Shape,
    truth: np.ndarray,
    gamma: np.ndarray,
    number: int,
    random: np.random.Generator,
) -> list[tuple[str, str, str, str]]:
    pairs = np.array([random.choice(shape.items, 2, replace=False) for _ in range(number)])
    who = random.integers(shape.annotators, size=number)
    lean = gamma[who] * (truth[pairs[:, 0]] - truth[pairs[:, 1]])
    left = random.random(number) < 1.0 / (1.0 + np.exp(-lean))
    near = 1.0 / np.cosh(0.5 * lean)
    tied = random.random(number) < shape.ties * near / near.mean()
    word = np.where(tied, "tie", np.where(left, "left", "right"))
    columns = who, pairs[:, 0], pairs[:, 1], word
    return [(f"u{u}", f"i{a}", f"i{b}", str(w)) for u, a, b, w in zip(*columns, strict=True)]


def ids_of(shape: Shape) -> np.ndarray:
    return np.array([f"i{k}" for k in range(shape.items)], dtype=object)


def said_before(task: tuple[Shape, str], *, seed: int) -> PowerCurve:
    shape, text = task
    known = {name: v for name, v in asdict(shape).items() if name not in ("name", "scores")}
    return aggcal.power(text, **known, seed=seed)


def reached_before(study: tuple[Shape, str, int, int]) -> float:
    shape, text, number, seed = study
    rows, truth, _ = answers(shape, number, np.random.default_rng([seed, 7]))
    return Goal.of(text).measured(aggcal.aggregate(rows, warn=False), ids_of(shape), truth)


def reached_after(study: tuple[Shape, str, int, int]) -> tuple[int, float] | None:
    """Ask how many more a study needs, collect them, and measure."""
    shape, text, k, seed = study
    random = np.random.default_rng([seed, 11, k])
    rows, truth, gamma = answers(shape, 8 * shape.items, random)
    more = aggcal.power(text, rows, studies=12, seed=seed).needed
    if more is None:
        return None
    if more:
        rows = [*rows, *asked(shape, truth, gamma, more, random)]
    fit = aggcal.aggregate(rows, warn=False)
    return more, Goal.of(text).measured(fit, ids_of(shape), truth)


def before(pool: Executor, tasks: list[Task], studies: int, seed: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for (shape, text), said in zip(
        tasks, pool.map(partial(said_before, seed=seed), tasks), strict=True
    ):
        row: dict[str, Any] = {"shape": shape.name, "goal": text, "needed": said.needed}
        if said.needed is not None:
            each = [(shape, text, said.needed, seed * 1000 + k) for k in range(studies)]
            values = list(pool.map(reached_before, each))
            low, high = said.needed_interval
            goal = Goal.of(text)
            row |= {
                "low": low, "high": high, **_mean(values), "likely": said.likely,
                "share_reaching": float(np.mean([goal.reached(value) for value in values])),
            }  # fmt: skip
        _tell(row, "needed")
        found.append(row)
    return found


def after(pool: Executor, tasks: list[Task], studies: int, seed: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    each = [(shape, text, k, seed) for shape, text in tasks for k in range(studies)]
    made = list(pool.map(reached_after, each))
    for place, (shape, text) in enumerate(tasks):
        kept = [one for one in made[place * studies : (place + 1) * studies] if one is not None]
        if len(kept) < 2:
            continue
        more, values = zip(*kept, strict=True)
        row = {"shape": shape.name, "goal": text, "more": float(np.median(more))}
        row |= {"studies": len(kept), **_mean(values)}
        _tell(row, "more")
        found.append(row)
    return found


def _mean(values: Sequence[float]) -> dict[str, float]:
    return {
        "reached": float(np.mean(values)),
        "se": float(np.std(values, ddof=1) / len(values) ** 0.5),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shapes", nargs="*", help="only these")
    parser.add_argument("--goals", nargs="*", default=GOALS)
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    options = parser.parse_args()
    shapes = [s for s in SHAPES if not options.shapes or s.name in options.shapes]
    tasks = [(s, g) for s in shapes for g in options.goals]
    how = {"studies": options.studies, "seed": options.seed}
    with ProcessPoolExecutor(options.jobs) as pool:
        found = {
            "before": before(pool, tasks, **how),
            "after": after(pool, [(s, g) for s, g in tasks if s.items <= 60], **how),
        }
    if options.write:
        RESULTS.write_text(json.dumps({"options": how, **found}, indent=1) + "\n")


def _tell(row: dict[str, Any], what: str) -> None:
    if row[what] is None:
        print(f"{row['shape']:20} {row['goal']:15} not reached", flush=True)
        return
    ends = f" ({row['low']} to {row['high']})" if "low" in row else ""
    print(
        f"{row['shape']:20} {row['goal']:15} {what} {row[what]:>9,.0f}{ends:22} reached "
        f"{row['reached']:.3f} ± {2 * row['se']:.3f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
