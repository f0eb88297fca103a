"""What weights do to claims: false ones of sides and camps, true ones of sides, and coverage.

    python benchmarks/weights.py [--studies N] [--jobs N] [--seed N] [--weights NAME ...]

Every study has items, annotators who differ in reliability and answers that depend on nothing else
(or, for the power, on sides too). The weights are drawn whatever the answer: they say how much a
judgment matters, not how often it was given. `counts` repeats answers instead and gives the numbers
as weights; `rows` are the same with a row for each. `divided` are weights that were divided by
Σw²/Σw, as the finding `weights` asks for.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from dataclasses import dataclass
from typing import Literal

import numpy as np
from one_core import on_one_core_each

import aggcal
from aggcal._core.arrays import FloatArray, IntArray

SHAPES = (
    (10, 5, 60), (20, 20, 30), (8, 4, 100), (15, 60, 10), (6, 30, 20), (30, 10, 100),
    (12, 150, 5), (5, 12, 60),
)  # fmt: skip
"""Items, annotators, judgments each."""
WEIGHTS = (
    "none", "1, 2, 3", "1, 2, 3 divided", "1 to 3", "1 to 5", "0.2 to 1.8", "0.1 to 1", "all 3",
    "counts", "rows",
)  # fmt: skip


def weights_of(kind: str, size: int, random: np.random.Generator) -> FloatArray | None:
    """Draw weights that have nothing to do with the answers."""
    if kind.startswith("1, 2, 3"):
        found = random.integers(1, 4, size=size).astype(np.float64)
        return found / ((found**2).sum() / found.sum() if kind.endswith("divided") else 1.0)
    if kind == "1 to 5":
        return random.integers(1, 6, size=size).astype(np.float64)
    if kind == "all 3":
        return np.full(size, 3.0)
    if " to " in kind:
        low, high = (float(end) for end in kind.split(" to "))
        return random.uniform(low, high, size=size)
    return None


@dataclass(frozen=True)
class Task:
    """One study."""

    kind: str
    ties: bool
    position: float
    number: int
    seed: int
    bridge: Literal["camps", "off"] = "off"


def drawn(task: Task) -> tuple[aggcal.Judgments, FloatArray]:
    """Return judgments, and the scores times the typical reliability."""
    random = np.random.default_rng(
        [task.seed, task.number, int(task.ties), WEIGHTS.index(task.kind)]
    )
    n, m, each = SHAPES[task.number % len(SHAPES)]
    scores, slopes = random.normal(size=n), np.exp(0.4 * random.normal(size=m) - 0.08)
    size = m * each
    who = np.repeat(np.arange(m), each)
    left = random.integers(n, size=size)
    right = (left + 1 + random.integers(n - 1, size=size)) % n
    lean = task.position * (1.0 + random.normal(size=m))
    eta = slopes[who] * (scores[left] - scores[right]) + lean[who]
    weight = weights_of(task.kind, size, random)
    times = random.integers(1, 4, size=size) if task.kind in ("counts", "rows") else None
    if times is not None:
        who, left, right, eta = (np.repeat(x, times) for x in (who, left, right, eta))
    answer = _answers(eta, random, ties=task.ties)
    if task.kind == "counts":
        who, left, right, answer, weight = _counted(who, left, right, answer)
    words = np.array(["left", "right", "tie"])
    columns = {
        "annotator": [f"u{u}" for u in who],
        "left": [f"i{a}" for a in left],
        "right": [f"i{b}" for b in right],
        "outcome": words[answer],
    }
    if weight is not None:
        columns["weight"] = weight
    judgments = aggcal.read_judgments(columns)
    items = [int(name[1:]) for name in judgments.item_ids]
    true = scores[items] * slopes.mean()
    return judgments, true - true.mean()


def _answers(eta: FloatArray, random: np.random.Generator, *, ties: bool) -> IntArray:
    odds = np.stack([np.exp(0.5 * eta), np.exp(-0.5 * eta), np.full(len(eta), 0.6 * ties)], axis=1)
    steps = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    return np.asarray((random.random(len(eta))[:, None] > steps[:, :2]).sum(axis=1))


def _counted(*columns: IntArray) -> tuple[np.ndarray, ...]:
    """Count equal rows."""
    found, number = np.unique(np.stack(columns), axis=1, return_counts=True)
    return (*found, number.astype(np.float64))


def measured(task: Task) -> tuple[float, float, float]:
    """Return whether a preference for a side is claimed, what is covered, and the camps claimed."""
    judgments, true = drawn(task)
    consensus = aggcal.aggregate(judgments, terms=aggcal.Terms(bridge=task.bridge), warn=False)
    effects = consensus.effects
    claimed = effects is not None and effects.position is not None
    camps = getattr(effects, "camps", None)
    known = consensus.quantify(level=0.9).uncertainty
    inside = np.nan
    if known is not None:
        inside = float(np.mean((known.low <= true) & (true <= known.high)))
    return float(claimed), inside, 0.0 if camps is None else float(len(camps.names) > 1)


def main() -> None:
    """Print a row for each kind of weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=40, help="of each kind")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--weights", nargs="+", default=WEIGHTS, choices=WEIGHTS)
    parser.add_argument("--camps", action="store_true", help="look for camps, too")
    asked = parser.parse_args()
    with on_one_core_each(asked.jobs) as pool:
        print("| weights | ties | side, none there | side, there | scores covered | camps |")
        print("|---|---|---|---|---|---|")
        for kind in asked.weights:
            for ties in (False, True):
                bridge: Literal["camps", "off"] = "camps" if asked.camps else "off"
                rows = [
                    np.array(list(pool.map(measured, [
                        Task(kind, ties, position, k, asked.seed, bridge if not position else "off")
                        for k in range(asked.studies)
                    ], chunksize=4)))
                    for position in (0.0, 0.35)
                ]  # fmt: skip
                false, true = rows
                print(f"| {kind} | {'yes' if ties else 'no'} | {false[:, 0].mean():.3f} "
                      f"| {true[:, 0].mean():.3f} | {false[:, 1].mean():.3f} "
                      f"| {false[:, 2].mean():.3f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
