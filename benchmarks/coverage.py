"""How often intervals hold what they are meant to hold, on studies with a known truth.

    python benchmarks/coverage.py [--studies N] [--cells TEXT] [--processes N]

Each row is a kind of study: items, annotators, judgments each, and what is special about it. The
truth is taken in the unit of the fit: true scores times the true typical reliability (annotators
weigh by their judgments, reversed ones count with their strength). `scores`, `ranks` and
`reliabilities` are shares of intervals that hold the truth; `certified` is the share of studies in
which some certified pair is wrong. Results go to benchmarks/results/coverage.md.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from one_core import on_one_core_each
from scipy.special import expit, ndtr
from scipy.stats import kendalltau

from aggcal._core.arrays import FloatArray
from aggcal.aggregation.methods import BTL, HRA, CrowdBT, CrowdTCV
from aggcal.data.judgments import Judgments

LEVELS = (0.9, 0.95)
METHODS: dict[str, HRA | BTL | CrowdBT | CrowdTCV] = {
    "hra-g": HRA(link="logistic"),
    "hra-n": HRA(link="normal"),
    "hra-e": HRA(link="laplace"),
    "btl": BTL(),
    "crowd-bt": CrowdBT(),
    "crowd-tcv": CrowdTCV(),
}
UNITS = {"hra-n": 0.5513, "hra-e": 1.1027, "crowd-tcv": 0.7797}


@dataclass(frozen=True)
class Cell:
    """A kind of study."""

    items: int
    annotators: int
    each: int
    spread: float = 1.0
    shape: str = "normal"
    annotator_kind: str = "normal"
    method: str = "hra-g"
    components: int = 1

    @property
    def name(self) -> str:
        """What stands in the table."""
        size = f"{self.items} × {self.annotators} × {self.each}"
        special = [
            f"spread {self.spread:g}" if self.spread != 1.0 else "",
            self.shape if self.shape != "normal" else "",
            self.annotator_kind if self.annotator_kind != "normal" else "",
            f"{self.components} components" if self.components > 1 else "",
        ]
        return ", ".join([self.method, size, *filter(None, special)])


def cells() -> Iterator[Cell]:  # noqa: C901
    """Yield every kind of study."""
    usual = (50, 20, 100)
    for spread in (0.3, 1.0, 2.0, 3.0):
        yield Cell(*usual, spread=spread)
    for shape in ("t3", "clusters", "uniform", "two groups"):
        yield Cell(*usual, shape=shape)
    for kind in ("equal", "lognormal", "20% reversed", "33% reversed", "20% guessing"):
        yield Cell(*usual, annotator_kind=kind)
    sizes = (
        (5, 5, 40), (10, 5, 60), (10, 20, 30), (10, 200, 5), (12, 5, 1200), (20, 600, 5),
        (30, 20, 60), (60, 300, 5), (60, 40, 20), (100, 30, 200), (200, 10, 200), (200, 400, 5),
        (200, 50, 40), (400, 40, 100),
    )  # fmt: skip
    for size in sizes:
        yield Cell(*size)
    yield from _many_items()
    for spread in (0.3, 2.0, 3.0):
        for size in ((10, 10, 60), (60, 200, 5), (200, 50, 40), (100, 20, 50)):
            yield Cell(*size, spread=spread)
    yield Cell(60, 200, 5, annotator_kind="33% reversed")
    yield Cell(60, 200, 5, annotator_kind="equal")
    yield Cell(100, 30, 200, shape="clusters")
    yield Cell(60, 30, 60, components=2)
    yield Cell(60, 30, 60, components=10)
    for method in ("hra-n", "hra-e"):
        for spread in (0.3, 1.0, 3.0):
            yield Cell(*usual, spread=spread, method=method)
        yield Cell(60, 200, 5, method=method)
    for spread in (0.3, 1.0, 3.0):
        yield Cell(*usual, spread=spread, annotator_kind="equal", method="btl")
    for spread in (0.3, 1.0, 2.0, 3.0):
        yield Cell(*usual, spread=spread, annotator_kind="beta", method="crowd-bt")
    for size in ((60, 200, 5), (10, 5, 60), (200, 50, 40), (100, 30, 200)):
        yield Cell(*size, annotator_kind="beta", method="crowd-bt")
    yield Cell(*usual, annotator_kind="beta", method="crowd-tcv")


def _many_items() -> Iterator[Cell]:
    """Yield kinds of studies whose covariance is no matrix, unless scores depend on each other."""
    for size in (
        (600, 30, 400),
        (600, 1200, 10),
        (1000, 50, 400),
        (2000, 50, 400),
        (5000, 500, 200),
    ):
        yield Cell(*size)
    for spread in (0.3, 3.0):
        yield Cell(600, 30, 400, spread=spread)
    for shape in ("t3", "clusters", "two groups"):
        yield Cell(600, 30, 400, shape=shape)
    yield Cell(600, 30, 400, annotator_kind="33% reversed")
    yield Cell(1200, 30, 800, components=2)
    yield Cell(600, 30, 400, method="hra-e")
    yield Cell(600, 30, 400, annotator_kind="equal", method="btl")
    yield Cell(600, 30, 400, annotator_kind="beta", method="crowd-bt")


def simulated(
    cell: Cell, random: np.random.Generator
) -> tuple[Judgments, FloatArray, FloatArray, FloatArray]:
    """Return judgments, scores, reliabilities and who is reversed (−1)."""
    n, m, each = cell.items, cell.annotators, cell.each
    unit = UNITS.get(cell.method, 1.0)
    while True:
        scores = cell.spread * unit * _scores(cell, random)
        slopes, role = _annotators(cell, random)
        owner = np.repeat(np.arange(m), each)
        group = np.arange(n) % cell.components
        # Item k belongs to component k mod components; two different items of one component.
        sizes = np.bincount(group)
        first = random.integers(n, size=m * each)
        other = random.integers(sizes[group[first]] - 1)
        second = group[first] + cell.components * (other + (other >= first // cell.components))
        gap = scores[first] - scores[second]
        left = random.random(len(gap)) < _chances(cell, slopes[owner], gap)
        winner, loser = np.where(left, first, second), np.where(left, second, first)
        if len(np.unique(np.concatenate([winner, loser]))) == n and len(np.unique(owner)) == m:
            break
    codes = (c.astype(np.int32) for c in (owner, winner, loser))
    return Judgments.of_codes(*codes), scores, slopes, role


def _scores(cell: Cell, random: np.random.Generator) -> FloatArray:
    n = cell.items
    drawn = {
        "normal": lambda: random.standard_normal(n),
        "t3": lambda: random.standard_t(3, n) / 3**0.5,
        "uniform": lambda: random.uniform(-(3**0.5), 3**0.5, n),
        "clusters": lambda: (
            np.linspace(-1.4, 1.4, 5)[random.integers(5, size=n)] + 0.05 * random.standard_normal(n)
        ),
        "two groups": lambda: (
            np.where(random.random(n) < 0.5, -1.0, 1.0) + 0.2 * random.standard_normal(n)
        ),
    }[cell.shape]()
    return np.asarray(drawn - drawn.mean())


def _annotators(cell: Cell, random: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    m, kind, role = cell.annotators, cell.annotator_kind, np.ones(cell.annotators)
    if kind == "beta":
        return random.beta(4.0, 1.0, m), role
    slopes = 1.0 + 0.5 * random.standard_normal(m)
    if kind == "equal":
        slopes = np.ones(m)
    elif kind == "lognormal":
        slopes = np.exp(0.5 * random.standard_normal(m) - 0.125)
    elif kind.endswith("guessing"):
        slopes[random.permutation(m)[: round(float(kind[:2]) / 100 * m)]] = 0.0
    elif kind.endswith("reversed"):
        role[random.permutation(m)[: round(float(kind[:2]) / 100 * m)]] = -1.0
        slopes = role * np.abs(slopes)
    return slopes, role


def _chances(cell: Cell, slopes: FloatArray, gap: FloatArray) -> FloatArray:
    if cell.method.startswith("crowd"):
        honest = expit(gap) if cell.method == "crowd-bt" else ndtr(gap / 2**0.5)
        return np.asarray(slopes * honest + (1.0 - slopes) * (1.0 - honest))
    x = slopes * gap
    if cell.method == "hra-n":
        return np.asarray(ndtr(x))
    if cell.method == "hra-e":
        lack = 0.25 * (2.0 + np.abs(x)) * np.exp(-np.abs(x))
        return np.where(x < 0.0, lack, 1.0 - lack)
    return np.asarray(expit(x))


def measured(task: tuple[Cell, int]) -> list[float]:
    """Fit one study; return what its intervals hold."""
    cell, seed = task
    random = np.random.default_rng([seed, cell.items, cell.annotators, cell.each])
    judgments, scores, slopes, role = simulated(cell, random)
    warnings.simplefilter("ignore")
    consensus = METHODS[cell.method].fit(judgments)
    crowd = cell.method.startswith("crowd")
    weights = np.asarray(judgments.judgments_per_annotator, dtype=np.float64)
    typical = 1.0 if crowd else float((weights / weights.sum()) @ (role * slopes))
    group = np.arange(cell.items) % cell.components
    scores = scores - (np.bincount(group, scores) / np.bincount(group))[group]
    truth, strength = typical * scores, slopes if crowd else slopes / typical
    row: list[float] = []
    for level in LEVELS:
        known = consensus.quantify(level=level, seed=seed).uncertainty
        if known is None:
            raise RuntimeError("there is no uncertainty")
        rank = np.array([1 + np.sum(truth > t) for t in truth])
        inside = (known.low <= truth) & (truth <= known.high)
        ranked = (known.rank_low <= rank) & (rank <= known.rank_high)
        held, ends = np.nan, 0.0
        if known.reliability_low is not None and known.reliability_high is not None:
            low, high, found = (
                known.reliability_low,
                known.reliability_high,
                consensus.reliabilities,
            )
            held = float(np.mean((low <= strength) & (strength <= high)))
            near = 1e-6 * (high - low)
            ends = float(np.mean((found - low < near) | (high - found < near)))
        claims = consensus.claims(level)
        wrong = (
            claims is not None
            and claims.above is not None
            and (claims.above & (truth[:, None] <= truth)).any()
        )
        row += [float(np.mean(inside)), float(np.mean(ranked)), held, float(wrong)]
    honest = slopes > 0.0
    size = float(np.mean(consensus.reliabilities[honest]) / np.mean(strength[honest]))
    record = consensus.convergence
    done = 0.0 if record is not None and record.converged else 1.0
    return [*row, size, float(kendalltau(consensus.scores, truth).statistic), ends, done]


def main() -> None:
    """Run all cells and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=40)
    parser.add_argument("--cells", default="", help="only those whose name has this in it")
    parser.add_argument("--many", action="store_true", help="only those of more than 400 items")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", default="", help="file for the table")
    options = parser.parse_args()
    lines = [
        f"Coverage over {options.studies} simulated studies a row, seed {options.seed}, at nominal",
        "0.90 / 0.95. A study is items × annotators × judgments each.",
        "",
        "| study | scores | ranks | reliabilities | certified wrong | reliability / truth "  # noqa: ISC004
        "| Kendall | at an end | not converged |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    with on_one_core_each(options.processes) as pool:
        for cell in cells():
            if options.cells not in cell.name or (options.many and cell.items <= 400):
                continue
            tasks = [(cell, 1000 * options.seed + k) for k in range(options.studies)]
            found = np.array(list(pool.map(measured, tasks)))
            mean = found.mean(axis=0)
            parts = [f"{mean[k]:.3f} / {mean[k + 4]:.3f}" for k in range(4)]
            parts += [
                f"{mean[8]:.2f}",
                f"{mean[9]:.3f}",
                f"{mean[10]:.3f}",
                f"{found[:, 11].sum():.0f}",
            ]
            lines.append(f"| {cell.name} | " + " | ".join(parts) + " |")
            print(lines[-1], flush=True)
    if options.output:
        Path(options.output).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
