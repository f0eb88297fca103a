"""Whether standard errors allow for contexts: halves of the prompts of a real study, fitted apart.

    python benchmarks/context_errors.py [--splits N] [--processes N]

The prompts of llmfao are split into two halves at random, each half is fitted, and the difference
of an item's two scores is divided by its standard error. Were the errors right, the root mean
square of that would be 1. Results go to benchmarks/results/context-errors.md.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import warnings
from functools import partial
from pathlib import Path

import numpy as np
from one_core import on_one_core_each

import aggcal
from aggcal import datasets
from aggcal._core.tables import aligned

RESULTS = Path(__file__).parent / "results" / "context-errors.md"
FIRST_SEED = 5_000
KINDS = {
    "ties as halves, no context": {"ties": "halves", "position": "off", "context": "off"},
    "ties and position, no context": {"context": "off"},
    "context in the errors": {"context": "errors"},
    "context in the fit": {"context": "fit"},
}


def split(seed: int, *, kind: str) -> tuple[float, int]:
    """Return the sum of squared z of one split, and how many there are."""
    warnings.simplefilter("ignore")
    path = datasets.folder_of("llmfao", None) / "battles.csv"
    judgments = aggcal.read_judgments(path, context="prompt")
    assert judgments.context is not None  # noqa: S101  # it was asked for
    number = int(judgments.context.max()) + 1
    order = np.random.default_rng(seed).permutation(number)
    halves = []
    for half in (order[: number // 2], order[number // 2 :]):
        part = judgments.of_rows(np.isin(judgments.context, half))
        terms = aggcal.Terms(**KINDS[kind])  # type: ignore[arg-type]
        found = aggcal.aggregate(part, terms=terms, warn=False).quantify()
        assert found.uncertainty is not None  # noqa: S101  # it was asked for
        ids, scores, se = found.item_ids, found.scores, found.uncertainty.se
        values = (aligned(column, ids, judgments.item_ids) for column in (scores, se))
        halves.append(tuple(values))
    (one, se_one), (two, se_two) = halves
    both = np.isfinite(one) & np.isfinite(two)
    z = (one - two)[both] / np.hypot(se_one, se_two)[both]
    return float(z @ z), len(z)


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--kinds", default="")
    options = parser.parse_args()
    lines = [
        f"# Differences of halves of the prompts of llmfao, {options.splits} splits",
        "",
        "| fit | root mean square of z |",
        "|---|---|",
    ]
    seeds = range(FIRST_SEED, FIRST_SEED + options.splits)
    with on_one_core_each(options.processes) as pool:
        for kind in KINDS:
            if options.kinds not in kind:
                continue
            total, number = np.sum(list(pool.map(partial(split, kind=kind), seeds)), axis=0)
            lines.append(f"| {kind} | {np.sqrt(total / number):.2f} |")
            print(lines[-1], flush=True)
    if not options.kinds:
        RESULTS.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
