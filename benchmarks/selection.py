"""How often `--method auto` chooses what a simulated study was made by.

    python benchmarks/selection.py --studies 40 --output benchmarks/results/selection.md

Each kind of study is simulated many times. The table says how often each method was chosen, and by
how much the chosen one predicts new judgments of the same study better than plain Bradley-Terry.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.aggregation.selection import all_names, compared

SLOW = ("crowd-bt", "crowd-tcv")

KINDS: dict[str, dict[str, Any]] = {
    "all alike (Bradley-Terry)": {},
    "all alike, with ties": {"ties": -0.5},
    "reliabilities": {"reliability_sd": 0.7},
    "ties by annotator": {"ties": -0.5, "tie_sd": 1.5},
    "position": {"position": 0.5, "position_sd": 0.5},
    "contexts": {"ties": -0.5, "context_sd": 1.0},
    "five judges, reliabilities": {"annotators": 5, "reliability_sd": 0.7},
    "five judges, all alike": {"annotators": 5},
    "three items, all alike": {"items": 3},
    "60 judgments, all alike": {"judgments": 60, "annotators": 6},
}

HEAD = """\
What `--method auto` chooses, {studies} simulated studies of each kind (15 items, 20 annotators and
800 judgments unless the kind says otherwise); written by `python benchmarks/selection.py --studies
{studies}{more} --output benchmarks/results/selection.md`. Compared: {compared}.

Better is by how much the chosen method predicts 2,000 new judgments of the same study better than
`btl`, in nats a judgment (three outcomes where there are ties), with the standard error over
studies; beside it the same of the default, `hra-g`."""


def study(
    seed: int,
    *,
    items: int = 15,
    annotators: int = 20,
    judgments: int = 800,
    reliability_sd: float = 0.0,
    ties: float | None = None,
    tie_sd: float = 0.0,
    position: float = 0.0,
    position_sd: float = 0.0,
    context_sd: float = 0.0,
    contexts: int = 20,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the judgments of a study, and as many as 2,000 more."""
    random = np.random.default_rng(seed)
    total = judgments + 2_000
    score = random.standard_normal(items)
    gamma = np.exp(reliability_sd * random.standard_normal(annotators) - reliability_sd**2 / 2)
    side = position + position_sd * random.standard_normal(annotators)
    readiness = tie_sd * random.standard_normal(annotators)
    own = context_sd * random.standard_normal((contexts, items))
    who = random.integers(annotators, size=total)
    left = random.integers(items, size=total)
    right = (left + random.integers(1, items, size=total)) % items
    where = random.integers(contexts, size=total)
    gap = score[left] - score[right] + own[where, left] - own[where, right]
    eta = gamma[who] * gap + side[who] * (position != 0.0)
    weights = np.stack([np.exp(eta / 2), np.exp(-eta / 2), np.zeros(total)], axis=1)
    if ties is not None:
        weights[:, 2] = np.exp(ties + readiness[who])
    edges = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    answer = (random.random(total)[:, None] > edges[:, :2]).sum(axis=1)
    table: dict[str, Any] = {
        "annotator": np.array([f"u{k}" for k in who], dtype=object),
        "left": np.array([f"i{k}" for k in left], dtype=object),
        "right": np.array([f"i{k}" for k in right], dtype=object),
        "outcome": np.array(["left", "right", "tie"], dtype=object)[answer],
    }
    if context_sd > 0.0:
        table["prompt"] = np.array([f"p{k}" for k in where], dtype=object)
    parts = slice(None, judgments), slice(judgments, None)
    first, more = ({name: column[part] for name, column in table.items()} for part in parts)
    return first, more


def read(table: Mapping[str, Any]) -> aggcal.Judgments:
    context = "prompt" if "prompt" in table else None
    return aggcal.read_judgments(table, context=context)


def loss(consensus: aggcal.Consensus, new: aggcal.Judgments) -> float:
    """Return the log-loss of new judgments."""
    chances: FloatArray = consensus.outcome_probabilities(new)
    answer = np.asarray(new.outcome)
    at = np.where(answer == 1.0, 0, np.where(answer == 0.0, 1, 2))
    if not (answer == 0.5).any():
        chances = chances[:, :2] / chances[:, :2].sum(axis=1, keepdims=True)
    told = -np.log(chances[np.arange(len(at)), at])
    return float(new.weight @ told / new.weight.sum())


def measured(kind: str, studies: int, *, slow: bool) -> str:
    """Return a line of the table."""
    chosen: Counter[str] = Counter()
    better, usual = [], []
    for seed in range(studies):
        first, more = study(seed, **KINDS[kind])
        judgments, new = read(first), read(more)
        names = None
        if not slow:
            names = [name for name in all_names(judgments) if name not in SLOW]
        found = compared(judgments, names)
        chosen[found.chosen] += 1
        reference = loss(aggcal.aggregate(judgments, "btl", warn=False), new)
        fit = aggcal.aggregate(judgments, warn=False, **found.options)
        better.append(reference - loss(fit, new))
        usual.append(reference - loss(aggcal.aggregate(judgments, warn=False), new))
    rates = ", ".join(f"{name} {number / studies:.0%}" for name, number in chosen.most_common())
    gains = [
        f"{np.mean(each):+.4f} ± {np.std(each) / max(studies - 1, 1) ** 0.5:.4f}"
        for each in (better, usual)
    ]
    return f"| {kind} | {rates} | {' | '.join(gains)} |".replace("-0.", "−0.")


def main() -> None:
    """Simulate every kind and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=40)
    parser.add_argument("--slow", action="store_true", help=f"compare {', '.join(SLOW)} too")
    parser.add_argument("--kind", choices=KINDS, action="append", help="only these kinds")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    more = " --slow" if options.slow else ""
    what = "all methods that need no features" + ("" if options.slow else f" but {', '.join(SLOW)}")
    lines = [
        HEAD.format(studies=options.studies, more=more, compared=what),
        "",
        "| study | chosen | better, chosen | better, hra-g |",
        "|---|---|---|---|",
    ]
    for kind in options.kind or KINDS:
        lines.append(measured(kind, options.studies, slow=options.slow))
        print(lines[-1], flush=True)
    if options.output is not None:
        options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
