"""What standard errors cost beside the fit, whether they are right, and those of hra-g over btl's.

    python benchmarks/standard_errors.py [ITEMS JUDGMENTS ANNOTATORS] [--estimator mode]
    python benchmarks/standard_errors.py --every [--engine gpu] [--output FILE]
    python benchmarks/standard_errors.py --alike [--studies 10] [--output FILE]

The first fits a simulated study and works out the standard errors of all scores and reliabilities
in one run, rank intervals included; it prints both times, their ratio, and how many of the true
scores the 90% intervals hold. Scores are in the unit in which the typical annotator has reliability
1: the truth is the simulated scores times the annotators' mean reliability, by how much each of
them judged.

The second writes a table of such ratios at many sizes: the median of five, after one that warms up
(of three beyond a million judgments). With a graphics card, rows are cut before the clock
starts.

The third simulates annotators of exactly equal reliability, where hra-g has nothing to gain over
btl: its standard errors should be of the same size, and both should cover.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from pathlib import Path

import numpy as np

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.engines import prepare
from aggcal.registry import LOCAL
from aggcal.registry.literals import Estimator
from aggcal.simulation import Simulation, simulate

LEVEL = 0.9
MANY = 1_000_000  # judgments
ALIKE = ((20, 5, 600), (50, 20, 2000), (60, 100, 1000), (200, 50, 4000), (1000, 50, 20_000))
"""Items, annotators and judgments of the studies in which annotators are alike."""
SIZES = (
    (100, 2_000, 20), (200, 13_000, 30), (300, 10_000, 30), (400, 8_000, 50), (500, 10_000, 50),
    (1_000, 20_000, 50), (1_000, 100_000, 100), (2_000, 20_000, 50), (2_000, 100_000, 100),
    (3_000, 60_000, 100), (10_000, 100_000, 1_000), (10_000, 1_000_000, 10_000),
    (100_000, 10_000_000, 10_000),
)  # fmt: skip
"""Items, judgments and annotators of the studies whose errors are timed."""
MOST = (100_000, 100_000_000, 100_000)
"""The same on a graphics card."""
EVERY_HEAD = """\
What standard errors take beside the fit, at many sizes, in seconds and in fits; {cores} cores,
{machine}{card}. Pairs are drawn at random. Written by
`python benchmarks/standard_errors.py --every{engine}`.
"""
ON_CARD = ", a graphics card, rows on it before the clock starts"
ESTIMATED_HEAD = """\
| items | judgments | annotators | fit | errors | fits | by the mode: fit | errors | fits |
|---|---|---|---|---|---|---|---|---|"""
CARD_HEAD = """\
| items | judgments | annotators | fit | errors | fits |
|---|---|---|---|---|---|"""
HEAD = """\
Standard errors of hra-g over btl's where all annotators are exactly alike, and how often their
intervals (nominal {level:g}) hold the true score; {studies} simulated studies a row, written by
`python benchmarks/standard_errors.py --alike`.

| items × annotators × judgments | mean ratio | 10% to 90% of items | hra-g covers | btl covers |
|---|---|---|---|---|"""


def sorted_by_annotator(study: Simulation) -> Judgments:
    """Return a study's judgments without reading a table."""
    order = np.argsort(study.annotator, kind="stable")
    columns = (study.annotator, study.winner, study.loser)
    return Judgments.of_codes(*(column[order].astype(np.int32) for column in columns))


def truth(study: Simulation) -> FloatArray:
    """Return the true scores in the unit of the fit, around their mean."""
    given = np.bincount(study.annotator, minlength=len(study.reliability))
    typical = float(given @ np.abs(study.reliability) / given.sum())
    return np.asarray(typical * (study.latent - study.latent.mean()))


def one(items: int, judgments: int, annotators: int, estimator: Estimator) -> None:
    """Time one study and print how well its intervals cover."""
    study = simulate(items=items, annotators=annotators, judgments=judgments)
    rows = sorted_by_annotator(study)
    began = time.perf_counter()
    consensus = aggcal.aggregate(rows, estimator=estimator, warn=False)
    fitted = time.perf_counter()
    known = consensus.quantify(level=LEVEL).uncertainty
    done = time.perf_counter()
    if known is None:
        raise SystemExit("no uncertainty")
    exact = truth(study)
    off = np.abs(consensus.scores - exact)
    inside = (known.low <= exact) & (exact <= known.high)
    rank = items - np.argsort(np.argsort(exact))
    print(
        f"{items:,} items, {judgments:,} judgments, {annotators:,} annotators, {estimator}: fit "
        f"{fitted - began:.1f} s, standard errors {done - fitted:.1f} s "
        f"({(done - fitted) / (fitted - began):.1f} fits)"
    )
    print(
        f"90% covered: {np.mean(off <= 1.6449 * known.se):.3f} by the standard error, "
        f"{inside.mean():.3f} by the interval, "
        f"{np.mean((known.rank_low <= rank) & (rank <= known.rank_high)):.3f} of the ranks"
    )


def timed(rows: AnyJudgments, estimator: Estimator | None) -> tuple[float, float]:
    """Return the median seconds of a fit and of its errors."""
    found = []
    for _ in range(6 if rows.n_judgments <= MANY else 4):
        began = time.perf_counter()
        consensus = aggcal.aggregate(rows, estimator=estimator, warn=False)
        fitted = time.perf_counter()
        consensus.quantify(level=LEVEL)
        found.append((fitted - began, time.perf_counter() - fitted))
    fit, errors = np.median(found[1:], axis=0).tolist()
    return fit, errors


def every(engine: str | None) -> str:
    """Return the table of what errors take at many sizes."""
    said = {"card": "", "engine": ""}
    if engine is not None:
        said = {"card": ON_CARD, "engine": f" --engine {engine}"}
    lines = [EVERY_HEAD.format(cores=os.cpu_count(), machine=platform.machine(), **said)]
    lines.append(ESTIMATED_HEAD if engine is None else CARD_HEAD)
    estimators: tuple[Estimator | None, ...] = ("marginal", "mode") if engine is None else (None,)
    for items, judgments, annotators in (*SIZES, *(() if engine is None else (MOST,))):
        study = simulate(items=items, annotators=annotators, judgments=judgments)
        rows = prepare(sorted_by_annotator(study), engine or LOCAL)
        cells = [f"{items:,}", f"{judgments:,}", f"{annotators:,}"]
        for estimator in estimators:
            fit, errors = timed(rows, estimator)
            cells += [f"{fit:.3f}", f"{errors:.3f}", f"{errors / fit:.1f}"]
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def alike(studies: int) -> str:
    """Return the table of standard errors where annotators are alike."""
    lines = [HEAD.format(level=LEVEL, studies=studies)]
    for items, annotators, judgments in ALIKE:
        ratios: list[FloatArray] = []
        held: dict[str, list[float]] = {"hra-g": [], "btl": []}
        for seed in range(studies):
            study = simulate(
                items=items,
                annotators=annotators,
                judgments=judgments,
                reliability_sd=0.0,
                seed=seed,
            )
            rows, exact, errors = sorted_by_annotator(study), truth(study), {}
            for method, found in held.items():
                fit = aggcal.aggregate(rows, method=method, warn=False)
                known = fit.quantify(level=LEVEL).uncertainty
                if known is None:
                    raise SystemExit("no uncertainty")
                errors[method] = known.se
                found.append(float(np.mean((known.low <= exact) & (exact <= known.high))))
            ratios.append(errors["hra-g"] / errors["btl"])
        every = np.concatenate(ratios)
        low, high = np.quantile(every, [0.1, 0.9])
        lines.append(
            f"| {items:,} × {annotators} × {judgments:,} | {every.mean():.3f} "
            f"| {low:.3f} to {high:.3f} | {np.mean(held['hra-g']):.3f} "
            f"| {np.mean(held['btl']):.3f} |"
        )
        print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=float, default=[100_000, 10_000_000, 10_000])
    parser.add_argument("--estimator", default="marginal")
    parser.add_argument("--every", action="store_true", help="a table of many sizes")
    parser.add_argument("--engine", choices=["gpu"], help="with --every")
    parser.add_argument("--alike", action="store_true", help="hra-g beside btl, annotators alike")
    parser.add_argument("--studies", type=int, default=10)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if not options.alike and not options.every:
        items, judgments, annotators = (int(size) for size in options.sizes)
        one(items, judgments, annotators, options.estimator)
        return
    found = every(options.engine) if options.every else alike(options.studies)
    if options.output is not None:
        options.output.write_text(found + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
