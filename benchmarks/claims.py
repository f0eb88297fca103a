"""How often what is claimed of an order is wrong, on shapes of true scores that are hard for it.

    python benchmarks/claims.py [--studies N] [--cells TEXT] [--method NAME] [--processes N]

Studies follow the heterogeneous Bradley-Terry model; in the last ones answers depend on each other.
Each kind of claim is held against the true scores: whether some certified pair is wrong, whether
some item is outside its sure ranks, whether the best is missing among those that could be the best,
and which of the verdicts in and out of the top k are wrong. Results go to
benchmarks/results/claims.md.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from one_core import on_one_core_each

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.data.judgments import Judgments

FIRST_SEED = 41_000_000
RESULTS = Path(__file__).parent / "results" / "claims.md"
SHAPES = ("normal", "t3", "plateau", "clusters", "two groups", "outliers", "chain", "equal")


@dataclass(frozen=True)
class Cell:
    """A kind of study.

    ``shape`` is that of the true scores and ``spread`` multiplies them; ``uneven`` has some items
    judged far more often than others. ``pair_sd`` is the sd of an effect that all answers to a
    pair share, ``copies`` how many others give each annotator's answers once more.
    """

    shape: str
    items: int
    annotators: int
    judgments: int
    spread: float = 1.0
    uneven: bool = False
    pair_sd: float = 0.0
    copies: int = 0

    @property
    def name(self) -> str:
        """What it is called."""
        more = [f"spread {self.spread:g}"] if self.spread != 1.0 else []
        more += ["uneven"] if self.uneven else []
        more += [f"pair effects of sd {self.pair_sd:g}"] if self.pair_sd else []
        more += [f"{self.copies} copies of each"] if self.copies else []
        sizes = f"{self.items} x {self.annotators} x {self.judgments:,}"
        return ", ".join([f"{self.shape}, {sizes}", *more])


DESIGNS = ((5, 3, 60), (12, 6, 400), (20, 10, 1000), (40, 30, 1200), (10, 20, 2000))
CELLS = (
    *(Cell(shape, *design) for design in DESIGNS for shape in SHAPES),
    *(Cell(shape, 12, 6, 400, spread=3.0) for shape in ("normal", "plateau", "clusters")),
    *(Cell(shape, 20, 10, 1000, uneven=True) for shape in ("normal", "outliers", "plateau")),
    Cell("normal", 20, 10, 1000, pair_sd=0.5),
    Cell("normal", 20, 10, 1000, copies=3),
)


def scores_of(shape: str, n: int, random: np.random.Generator) -> FloatArray:
    """Return true scores; those that are tied differ by nothing that can be measured."""
    found = random.standard_normal(n)
    if shape == "t3":
        found = 0.7 * random.standard_t(3, n)
    elif shape == "plateau":
        top = np.argsort(-found)[: max(2, n // 4)]
        found[top] = found[top[-1]] + 0.3
    elif shape == "clusters":
        found = random.choice([-1.2, -0.4, 0.4, 1.2], n)
    elif shape == "two groups":
        found = np.where(np.arange(n) < n // 2, -0.8, 0.8) + 0.05 * found
    elif shape == "outliers":
        found = np.where(np.arange(n) < 3, 3.0, 0.4 * found)
    elif shape == "chain":
        found = np.linspace(1.8, -1.8, n)
    elif shape == "equal":
        found = np.zeros(n)
    return found + 1e-9 * random.standard_normal(n)


def study(cell: Cell, seed: int) -> tuple[Judgments, FloatArray]:
    """Simulate one study; the truth is in the order of its items."""
    random, n, rows = np.random.default_rng(seed), cell.items, cell.judgments
    truth = cell.spread * scores_of(cell.shape, n, random)
    slopes = np.clip(1.0 + 0.35 * random.standard_normal(cell.annotators), -1.5, 2.5)
    often = 1.0 / np.arange(1, n + 1) if cell.uneven else np.ones(n)
    often = 0.7 * random.permutation(often / often.sum()) + 0.3 / n
    who, left = random.integers(cell.annotators, size=rows), random.choice(n, rows, p=often)
    right = (left + random.integers(1, n, rows)) % n
    if cell.shape == "chain":  # neighbours are compared only
        near = left + random.choice([-2, -1, 1, 2], rows)
        right = np.where((near < 0) | (near >= n), 2 * left - near, near).clip(0, n - 1)
        right = np.where(right == left, (left + 1) % n, right)
    effect = cell.pair_sd * np.triu(random.standard_normal((n, n)), 1)
    gap = truth[left] - truth[right] + (effect - effect.T)[left, right]
    up = random.random(rows) < 1.0 / (1.0 + np.exp(-slopes[who] * gap))
    names = np.array([f"i{k:03d}" for k in range(n)], dtype=object)
    columns = {
        "winner": np.tile(names[np.where(up, left, right)], 1 + cell.copies),
        "loser": np.tile(names[np.where(up, right, left)], 1 + cell.copies),
        "annotator": np.concatenate(
            [[f"u{u}-{copy}" for u in who] for copy in range(1 + cell.copies)]
        ),
    }
    judgments = aggcal.read_judgments(columns)
    return judgments, truth[[int(str(item)[1:]) for item in judgments.item_ids]]


def one(cell: Cell, method: str, seed: int) -> Counter[str]:
    """Hold the claims of one study against the truth."""
    judgments, truth = study(cell, seed)
    claims = aggcal.aggregate(judgments, method, warn=False).claims()
    if claims is None or claims.above is None:
        return Counter()
    n = len(truth)
    rank = 1 + (truth > truth[:, None]).sum(axis=1)
    shares: dict[str, Any] = {
        "studies": 1,
        "certified": claims.share,
        "pairs": bool((claims.above & (truth[:, None] <= truth)).any()),
        "ranks": bool(((claims.low > rank) | (claims.high < rank)).any()),
        "first": not claims.first[np.argmax(truth)],
        "could": int(claims.first.sum()),
        "tiers": claims.n_tiers,
    }
    tally: Counter[str] = Counter(shares)
    for k in range(1, n):
        inside, outside = claims.inside(k), claims.outside(k)
        tally.update(
            {
                "in": int(inside.sum()),
                "out": int(outside.sum()),
                "in wrong": int((inside & (rank > k)).sum()),
                "out wrong": int((outside & (rank <= k)).sum()),
            }
        )
    return tally


def row(name: str, t: Counter[str]) -> str:
    """Return a row of the table."""
    n = max(t["studies"], 1)
    cells = [
        f"{t['studies']:.0f}",
        f"{t['certified'] / n:.3f}",
        *(f"{t[kind] / n:.3f}" for kind in ("pairs", "ranks", "first")),
        f"{t['could'] / n:.1f}",
        *(f"{t[f'{side} wrong']:,.0f} of {t[side]:,.0f}" for side in ("in", "out")),
        f"{t['tiers'] / n:.1f}",
    ]
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Run all cells and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--studies", type=int, default=60, help="studies of each kind")
    parser.add_argument("--cells", default="", help="only those whose name has this in it")
    parser.add_argument("--method", default="hra-g")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    said = (
        f"`python benchmarks/claims.py --studies {options.studies}`, `{options.method}`, at a "
        "level of 0.95: items x annotators x judgments. Shares of studies with a wrong certified "
        "pair, with an item outside its sure ranks, and without the best among those that could "
        "be it."
    )
    head = (
        "| study | studies | pairs certified | some pair wrong | some rank wrong | best not there "
        "| could be the best | in the top k: wrong | out: wrong | tiers |"
    )
    lines = ["# How often claims are wrong", "", said, "", head, "|---" * 10 + "|"]
    whole: Counter[str] = Counter()
    with on_one_core_each(options.processes) as pool:
        for k, cell in enumerate(CELLS):
            if options.cells not in cell.name:
                continue
            seeds = range(FIRST_SEED + 100_000 * k, FIRST_SEED + 100_000 * k + options.studies)
            total: Counter[str] = Counter()
            for tally in pool.map(partial(one, cell, options.method), seeds):
                total.update(tally)
            if not (cell.pair_sd or cell.copies):
                whole.update(total)
            lines.append(row(cell.name, total))
            print(lines[-1], file=sys.stderr, flush=True)
    lines.append(row("all whose answers are independent", whole))
    options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
