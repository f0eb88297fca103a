"""What each term of the model is worth: held-out log-likelihood on real judgments.

    python benchmarks/terms_held_out.py [--processes N] [--studies N] [--lacking]

llmfao in five folds: of rows, of whole pairs of items, and of whole prompts. The log-likelihood is
of left, right and tie, for each judgment; in brackets that of decided answers alone. The reference
counts a tie as half a win for each side and gives every question one probability of a tie.

What a term costs where there is nothing for it: studies without ties, with sides, contexts,
categories, covariates and annotators that make no difference (--lacking: these alone). The loss is
that of held-out log-likelihood for each judgment with the term over that without it.
Results go to benchmarks/results/terms-held-out.md.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import warnings
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from one_core import on_one_core_each

import aggcal
from aggcal import datasets
from aggcal._core.arrays import FloatArray, IntArray
from aggcal.simulation import SimulatedTerms

RESULTS = Path(__file__).parent / "results" / "terms-held-out.md"
FOLDS, SEED = 5, 0
PLAIN: dict[str, Any] = {"ties": "halves", "position": "off", "context": "off", "categories": False}
FITS = {
    "btl, halves": ("btl", None),
    "hra-g, halves": ("hra-g", PLAIN),
    "+ ties": ("hra-g", PLAIN | {"ties": "davidson"}),
    "+ position": ("hra-g", PLAIN | {"ties": "davidson", "position": "on"}),
    "the same, Rao–Kupper": ("hra-g", PLAIN | {"ties": "rao-kupper", "position": "on"}),
    "+ context": ("hra-g", {"ties": "davidson", "position": "on", "context": "fit"}),
}
UNITS = ("rows", "pairs", "prompts")
LACKING: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ties": ({"ties": "davidson"}, {}),
    "position, as it is by default": ({"position": "auto"}, {}),
    "position, switched on": ({"position": "on"}, {}),
    "context, as it is by default": ({"context": "auto"}, {"contexts": 12}),
    "context, fitted": ({"context": "fit"}, {"contexts": 12}),
    "categories": ({"categories": True}, {"category_shares": (0.5, 0.3, 0.2), "category_sd": 0.0}),
    "control": ({"control": True}, {"control": 1e-9}),
    "bridge: an axis": ({"bridge": "axis"}, {}),
    "bridge: camps": ({"bridge": "camps"}, {}),
}
"""The term, and what a study needs in which it makes no difference."""
SIZES = ((20, 20, 2000), (12, 100, 1500), (60, 10, 1200))
"""Items, annotators and judgments of these studies, in turn."""


def folds(judgments: aggcal.Judgments, unit: str) -> IntArray:
    """Return the fold of each row."""
    random, rows = np.random.default_rng(SEED), len(judgments.left)
    if unit == "rows":
        return np.asarray(random.permutation(rows) % FOLDS)
    low, high = (
        np.minimum(judgments.left, judgments.right),
        np.maximum(judgments.left, judgments.right),
    )
    key = judgments.context if unit == "prompts" else low.astype(np.int64) * 10_000 + high
    number = np.unique(np.asarray(key), return_inverse=True)[1]
    return np.asarray((random.permutation(number.max() + 1) % FOLDS)[number])


def held_out(task: tuple[str, str, int]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the log-likelihood of the rows of a fold, of decided ones, and their weights."""
    warnings.simplefilter("ignore")
    name, unit, fold = task
    path = datasets.folder_of("llmfao", None) / "battles.csv"
    judgments = aggcal.read_judgments(path, context="prompt")
    of = folds(judgments, unit)
    train, test = judgments.of_rows(of != fold), judgments.of_rows(of == fold)
    method, terms = FITS[name]
    chosen = None if terms is None else aggcal.Terms(**terms)
    chances = aggcal.aggregate(train, method, terms=chosen, warn=False).outcome_probabilities(test)
    answer = np.select([test.outcome == 1.0, test.outcome == 0.0], [0, 1], 2)
    every = np.log(chances[np.arange(len(answer)), answer])
    sides = np.log(chances[:, :2] / chances[:, :2].sum(axis=1, keepdims=True))
    decided = np.where(answer < 2, sides[np.arange(len(answer)), np.minimum(answer, 1)], np.nan)
    return every, decided, np.asarray(test.weight)


def lost(task: tuple[str, int]) -> float:
    """Return what a term costs a judgment in a study in which it makes no difference."""
    warnings.simplefilter("ignore")
    name, number = task
    term, special = LACKING[name]
    items, annotators, rows = SIZES[number % len(SIZES)]
    contexts = int(special.get("contexts", 0))
    made = aggcal.simulate(
        items=items, annotators=annotators, judgments=rows, seed=55_000_000 + number,
        terms=SimulatedTerms(**({"context_sd": 0.0, "tie_context_sd": 0.0} | special)),
    )  # fmt: skip
    by = "category" if "category_shares" in special else ()
    judgments = aggcal.read_judgments(made.shown, context="context" if contexts else None, by=by)
    further = dict(term)
    if "control" in further:
        table = made.tables["control.csv"]
        further["control"] = aggcal.Control(table["item"], table["length"][:, None], ("length",))
    of, total = folds(judgments, "rows"), np.zeros(2)
    for fold in range(FOLDS):
        train, test = judgments.of_rows(of != fold), judgments.of_rows(of == fold)
        for k, terms in enumerate((PLAIN, PLAIN | further)):
            fit = aggcal.aggregate(train, "hra-g", terms=aggcal.Terms(**terms), warn=False)
            chance = fit.judgment_probabilities(test)
            right = np.where(test.outcome == 1.0, chance, 1.0 - chance)
            total[k] += float(np.asarray(test.weight) @ np.log(right))
    return float((total[0] - total[1]) / judgments.weight.sum())


def lacking(pool: ProcessPoolExecutor, studies: int) -> list[str]:
    """Measure what terms cost where they make no difference; return the table."""
    lines = [
        "",
        f"# Loss of a judgment with a term that makes no difference: {studies} studies a row",
        "",
        "| term | mean loss | standard error | largest |",
        "|---|---|---|---|",
    ]
    for name in LACKING:
        found = np.array(list(pool.map(lost, [(name, k) for k in range(studies)])))
        error = found.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
        lines.append(f"| {name} | {found.mean():+.5f} | {error:.5f} | {found.max():+.5f} |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--studies", type=int, default=24, help="without an effect, a row")
    parser.add_argument("--lacking", action="store_true", help="these alone; nothing is written")
    options = parser.parse_args()
    if options.lacking:
        with on_one_core_each(options.processes) as pool:
            lacking(pool, options.studies)
        return
    tasks = list(product(FITS, UNITS, range(FOLDS)))
    with on_one_core_each(options.processes) as pool:
        found = dict(zip(tasks, pool.map(held_out, tasks), strict=True))
    lines = [
        "# Held-out log-likelihood of a judgment on llmfao (decided answers alone)",
        "",
        "| fit | rows | whole pairs | whole prompts |",
        "|---|---|---|---|",
    ]
    for name in FITS:
        cells = []
        for unit in UNITS:
            parts = [found[name, unit, fold] for fold in range(FOLDS)]
            every, decided, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
            clear = np.isfinite(decided)
            alone = np.average(decided[clear], weights=weight[clear])
            cells.append(f"{np.average(every, weights=weight):.4f} ({alone:.4f})")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    with on_one_core_each(options.processes) as pool:
        lines += lacking(pool, options.studies)
    RESULTS.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
