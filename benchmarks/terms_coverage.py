"""How often intervals of the model with terms cover the truth, on studies with a known one.

    python benchmarks/terms_coverage.py [--studies N] [--shapes TEXT] [--processes N]

Each row is a shape of study: items, annotators, judgments each, and what is special about it.
Annotators differ in reliability (sd 0.5 about 1), in their preference for the left side (sd 0.4
about 0.2) and in their readiness to call a tie (sd 1 about -0.5) unless said. Intervals are at 90%.
Results go to benchmarks/results/terms-coverage.md.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import warnings
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from one_core import on_one_core_each

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.effects import mean_interval

FIRST_SEED = 77_000_000
LEVEL, REACH = 0.9, 1.6448536
RESULTS = Path(__file__).parent / "results" / "terms-coverage.md"
COLUMNS = (
    "scores", "ranks", "reliability", "position", "readiness", "common position",
    "common readiness", "categories", "control", "converged",
)  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """A kind of study."""

    items: int = 50
    annotators: int = 20
    each: int = 100
    spread: float = 1.0
    reversed: float = 0.0
    position: tuple[float, float] = (0.2, 0.4)
    readiness: tuple[float, float] = (-0.5, 1.0)
    contexts: int = 0
    context_sd: float = 0.5
    tie_context_sd: float = 0.5
    categories: tuple[float, ...] = ()
    category_sd: float = 0.5
    control: tuple[float, ...] = ()
    """Effects of a standard deviation of covariates: of items, of items in contexts if there are
    some."""
    repeats: int = 1
    fixed_side: bool = False


SHAPES = {
    "20 annotators, 100 judgments each": Shape(),
    "200 annotators, 5 each": Shape(items=60, annotators=200, each=5),
    "5 annotators, 60 each, 10 items": Shape(items=10, annotators=5, each=60),
    "4 annotators, 500 each, 8 items": Shape(items=8, annotators=4, each=500),
    "600 annotators, 5 each, 20 items": Shape(items=20, annotators=600, each=5),
    "scores with sd 0.3": Shape(spread=0.3),
    "scores with sd 3": Shape(spread=3.0),
    "a fifth reversed": Shape(reversed=0.2),
    "a third of 200 reversed, 20 each": Shape(annotators=200, each=20, reversed=0.33),
    "strong preference for the left": Shape(position=(1.0, 0.6)),
    "no preference at all": Shape(position=(0.0, 0.0)),
    "ties are rare": Shape(readiness=(-4.0, 0.5)),
    "ties are most answers": Shape(readiness=(1.5, 1.0)),
    "everyone ties equally": Shape(readiness=(-0.5, 0.0)),
    "each question asked three times": Shape(repeats=3, each=99),
    "an item is always on the same side": Shape(fixed_side=True),
    "12 contexts": Shape(items=20, each=150, contexts=12),
    "12 contexts, small effects": Shape(items=20, each=150, contexts=12, context_sd=0.2),
    "12 contexts, large effects": Shape(items=20, each=150, contexts=12, context_sd=1.0),
    "60 contexts": Shape(items=12, each=200, contexts=60),
    "4 contexts": Shape(items=20, each=150, contexts=4),
    "3 categories, 90:9:1": Shape(items=30, each=150, categories=(0.9, 0.09, 0.01)),
    "6 equal categories": Shape(items=20, each=150, categories=(1.0,) * 6),
    "2 categories that agree": Shape(items=20, each=150, categories=(1.0, 1.0), category_sd=0.05),
    "control: 2 covariates, 12 contexts": Shape(
        items=12, annotators=10, each=60, contexts=12, control=(0.5, -0.2)
    ),
    "control: no effect, 12 contexts": Shape(
        items=12, annotators=10, each=60, contexts=12, control=(0.0,)
    ),
    "control: 1 covariate of 20 items": Shape(items=20, control=(0.7,)),
}


@dataclass(frozen=True)
class Truth:
    """What a study was made from, in the unit of the typical reliability."""

    scores: FloatArray
    reliability: FloatArray
    position: FloatArray
    readiness: FloatArray
    categories: FloatArray
    common: tuple[float, float]
    """Mean position and mean readiness."""
    control: FloatArray
    """Effects of a standard deviation of each covariate."""


def covariates(shape: Shape, random: np.random.Generator) -> tuple[FloatArray, aggcal.Control]:
    """Make covariates; return them as contexts by items by covariates, and as a table."""
    places = max(shape.contexts, 1)
    found = random.normal(0.0, 1.0, (places, shape.items, len(shape.control)))
    found += random.normal(0.0, 0.7, (shape.items, len(shape.control)))
    flat = found.reshape(-1, len(shape.control))
    # Values are in units of their own: coefficients are those of a standard deviation.
    found = (found - flat.mean(axis=0)) / flat.std(axis=0)
    items = np.array([f"i{i:03d}" for _ in range(places) for i in range(shape.items)], object)
    contexts = np.array([f"c{c:03d}" for c in range(places) for _ in range(shape.items)], object)
    names = tuple(f"x{k}" for k in range(len(shape.control)))
    table = 250.0 + 80.0 * found.reshape(flat.shape)
    return found, aggcal.Control(items, table, names, contexts if shape.contexts else None)


def study(shape: Shape, seed: int) -> tuple[aggcal.Judgments, Truth, aggcal.Control | None]:
    """Make a study."""
    random = np.random.default_rng(seed)
    n, m, rows = shape.items, shape.annotators, shape.annotators * shape.each
    scores = random.normal(0.0, shape.spread, n)
    gamma = random.normal(1.0, 0.5, m) * np.where(random.random(m) < shape.reversed, -1.0, 1.0)
    lean, ready = random.normal(*shape.position, m), random.normal(*shape.readiness, m)
    own = ready
    who = np.repeat(np.arange(m), shape.each)
    left = random.integers(n, size=rows)
    right = (left + random.integers(1, n, rows)) % n
    if shape.repeats > 1:
        first = np.arange(rows) // shape.repeats * shape.repeats
        left, right = left[first], right[first]
    if shape.fixed_side:
        left, right = np.minimum(left, right), np.maximum(left, right)
    eta = scores[left] - scores[right]
    nu = ready[who]
    columns: dict[str, Any] = {}
    if shape.contexts:
        context = random.integers(shape.contexts, size=rows)
        cells = random.normal(0.0, shape.context_sd, (shape.contexts, n))
        eta = eta + cells[context, left] - cells[context, right]
        ties = random.normal(0.0, shape.tie_context_sd, shape.contexts)
        nu = nu + ties[context]
        # A readiness is that in the contexts of the study, on average.
        ready = ready + ties.mean()
        columns["context"] = [f"c{c:03d}" for c in context]
    effects = np.zeros((max(len(shape.categories), 1), n))
    if shape.categories:
        shares = np.array(shape.categories) / sum(shape.categories)
        group = random.choice(len(shares), rows, p=shares)
        effects = random.normal(0.0, shape.category_sd, effects.shape)
        eta = eta + effects[group, left] - effects[group, right]
        columns["group"] = [f"g{g}" for g in group]
    table_of_control = None
    if shape.control:
        x, table_of_control = covariates(shape, random)
        at = context if shape.contexts else np.zeros(rows, dtype=np.int64)
        eta = eta + (x[at, left] - x[at, right]) @ np.array(shape.control)
    eta = gamma[who] * eta + lean[who]
    weights = np.stack([np.exp(0.5 * eta), np.exp(-0.5 * eta), np.exp(nu)], axis=1)
    sums = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    answer = (random.random(rows)[:, None] > sums[:, :2]).sum(axis=1)
    table = {
        "annotator": [f"u{u:04d}" for u in who],
        "left": [f"i{i:03d}" for i in left],
        "right": [f"i{i:03d}" for i in right],
        "outcome": np.array(["left", "right", "tie"], dtype=object)[answer].tolist(),
    } | columns
    judgments = aggcal.read_judgments(
        table,
        context="context" if shape.contexts else None,
        by="group" if shape.categories else (),
    )
    unit = float(np.abs(gamma).mean())
    items = [int(name[1:]) for name in judgments.item_ids]
    scores = scores[items] - scores[items].mean()
    overall = unit * (scores + effects[:, items])
    common = shape.position[0], shape.readiness[0] + float(np.mean(ready - own))
    truth = Truth(
        unit * scores, gamma / unit, lean, ready, overall, common, unit * np.array(shape.control)
    )
    return judgments, truth, table_of_control


def covered(shape: Shape, seed: int) -> dict[str, tuple[float, int]]:
    """Fit a study; return how many intervals of each kind cover, and how many there are."""
    warnings.simplefilter("ignore")
    judgments, truth, control = study(shape, seed)
    terms = aggcal.Terms(position="on", control=control)
    consensus = aggcal.aggregate(judgments, terms=terms, warn=False)
    consensus = consensus.quantify(level=LEVEL)
    found, known = _plain(consensus, truth), consensus.effects
    assert known is not None  # noqa: S101  # there are ties
    for name, effect, true, mean in (
        ("position", known.position, truth.position, truth.common[0]),
        ("readiness", known.readiness, truth.readiness, truth.common[1]),
    ):
        assert effect is not None  # noqa: S101  # both are fitted
        inside = np.abs(effect.values - true) < REACH * effect.se
        found[name] = (float(inside.sum()), len(inside))
        low, high = mean_interval(effect.common, effect.common_se, len(effect.values), LEVEL)
        found[f"common {name}"] = (float(low < mean < high), 1)
    if known.control is not None:
        ends = known.control.interval(LEVEL)
        inside = (ends[0] < truth.control) & (truth.control < ends[1])
        found["control"] = (float(inside.sum()), len(inside))
    for column in known.categories:
        order = [int(name[1:]) for name in column.ids]
        inside = np.abs(column.scores - truth.categories[order]) < REACH * column.se
        seen = np.isfinite(column.scores)
        found["categories"] = (float(inside[seen].sum()), int(seen.sum()))
    return found


def _plain(consensus: Consensus, truth: Truth) -> dict[str, tuple[float, int]]:
    known, record = consensus.uncertainty, consensus.convergence
    assert known is not None  # noqa: S101  # it was asked for
    assert record is not None  # noqa: S101  # it was fitted
    rank = 1 + (truth.scores[:, None] < truth.scores).sum(axis=1)
    parts = {
        "scores": (known.low <= truth.scores) & (truth.scores <= known.high),
        "ranks": (known.rank_low <= rank) & (rank <= known.rank_high),
        "converged": np.array([record.converged]),
    }
    if known.reliability_low is not None and known.reliability_high is not None:
        low, high = known.reliability_low, known.reliability_high
        parts["reliability"] = (low <= truth.reliability) & (truth.reliability <= high)
    return {name: (float(inside.sum()), len(inside)) for name, inside in parts.items()}


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--studies", type=int, default=60)
    parser.add_argument("--shapes", default="", help="only those whose name has this text")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    lines = [
        f"# Coverage of 90% intervals of the model with terms: {options.studies} studies a row",
        "",
        "| study | " + " | ".join(COLUMNS) + " |",
        "|---" * (len(COLUMNS) + 1) + "|",
    ]
    with on_one_core_each(options.processes) as pool:
        for k, (name, shape) in enumerate(SHAPES.items()):
            if options.shapes not in name:
                continue
            seeds = range(FIRST_SEED + 10_000 * k, FIRST_SEED + 10_000 * k + options.studies)
            totals: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
            for found in pool.map(partial(covered, replace(shape)), seeds):
                for column, (inside, number) in found.items():
                    totals[column][0] += inside
                    totals[column][1] += number
            cells = [f"{totals[c][0] / totals[c][1]:.3f}" if totals[c][1] else "" for c in COLUMNS]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    if not options.shapes:
        RESULTS.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
