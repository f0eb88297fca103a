"""Stage 2 of studies that fall into several connected components.

    python benchmarks/components.py [--studies 40] [--seed 4100] [--jobs 1] [--only NAME ...]

Mean squared errors as shares of the model's own, of each calibrator: as it is (each component by
itself, and the model alone compares them), with each component calibrated alone, and with one order
of all items, which invents an order across components. Then how often intervals at .90 hold what
the exact consensus would give, and in how many studies the model is called dependent, or the scores
are said to run against the consensus, falsely.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from one_core import on_one_core_each

import aggcal
from aggcal._core.arrays import FloatArray, IntArray
from aggcal.calibration import calibrate
from aggcal.errors import DirectionWarning

METHODS = ("atc", "fused", "safe")
LEVEL = 0.9


@dataclass(frozen=True)
class Kind:
    """A kind of study."""

    sizes: tuple[int, ...]
    per_item: int = 20
    """Judgments for each item."""
    sd: float = 8.0
    """Of the model's errors; the truth has one of 10."""
    crowd: float = 0.0
    """Of what annotators have wrong together."""
    apart: float = 0.0
    """Of what components differ by: a part of the truth's."""
    exponent: float = 0.0
    """How much more steeply the truth rises at the top."""
    slope: float = 1.0
    """Of the model on the truth."""
    joined: int = 0
    """Judgments that join components after all, too few for their order."""


KINDS = {
    "2 of 30": Kind((30, 30)),
    "10 of 6": Kind((6,) * 10),
    "10 of 6, few judgments": Kind((6,) * 10, per_item=6),
    "30 pairs": Kind((2,) * 30),
    "40, 12, 5, 3": Kind((40, 12, 5, 3)),
    "40 and 10 pairs": Kind((40, *(2,) * 10)),
    "2 of 30, far apart": Kind((30, 30), apart=1.0),
    "10 of 6, far apart": Kind((6,) * 10, apart=1.0),
    "2 of 30, crowd wrong": Kind((30, 30), crowd=8.0, sd=4.0),
    "10 of 6, poor model": Kind((6,) * 10, sd=25.0),
    "10 of 6, good model": Kind((6,) * 10, sd=2.0),
    "2 of 30, steep": Kind((30, 30), exponent=0.8),
    "10 of 6, steep and far apart": Kind((6,) * 10, exponent=0.8, apart=1.0),
    "10 of 6, model reversed": Kind((6,) * 10, slope=-1.0),
    "2 of 250": Kind((250, 250)),
    "3 of 12, weakly joined": Kind((12, 12, 12), joined=6),
    "3 of 12, weakly joined, far apart": Kind((12, 12, 12), joined=6, apart=1.0),
}


@dataclass(frozen=True, eq=False)
class Study:
    """A consensus, and what is known of its items."""

    consensus: aggcal.Consensus
    latent: FloatArray
    truth: FloatArray
    model: FloatArray
    part: IntArray


def study(kind: Kind, seed: int) -> Study:
    """Simulate a study, items in the order of its consensus."""
    random = np.random.default_rng(seed)
    part = np.repeat(np.arange(len(kind.sizes)), kind.sizes)
    n = len(part)
    latent = (
        random.standard_normal(n) + 2.0 * kind.apart * random.standard_normal(len(kind.sizes))[part]
    )
    truth = 50.0 + 10.0 * latent
    if kind.exponent:
        steep = np.exp(kind.exponent * latent)
        truth = 50.0 + 10.0 * (steep - steep.mean()) / steep.std()
    model = 50.0 + kind.slope * (truth - 50.0) + kind.sd * random.standard_normal(n)
    seen = latent + kind.crowd / 10.0 * random.standard_normal(n)
    reliability = np.exp(0.4 * random.standard_normal(12))
    rows = []
    for k in range(n * kind.per_item // 2):
        if k < kind.joined:
            i = int(random.integers(n))
            j = int(random.choice(np.flatnonzero(part != part[i])))
        else:
            i = int(random.integers(n))
            j = int(random.choice(np.setdiff1d(np.flatnonzero(part == part[i]), [i])))
        who = int(random.integers(12))
        above = random.random() < 1.0 / (1.0 + np.exp(-reliability[who] * (seen[i] - seen[j])))
        rows.append((f"u{who}", f"i{i:04}", f"i{j:04}") if above else
                    (f"u{who}", f"i{j:04}", f"i{i:04}"))  # fmt: skip
    consensus = aggcal.aggregate(rows, warn=False)
    at = np.array([int(item[1:]) for item in consensus.item_ids])
    return Study(consensus, seen[at], truth[at], model[at], part[at])


def one_order(consensus: aggcal.Consensus) -> aggcal.Consensus:
    """Return the same as if all items were in one component."""
    known = consensus.uncertainty
    assert known is not None  # noqa: S101
    return replace(consensus, component=None, stated=replace(known, component=None))


def measured(kind: Kind, seed: int) -> dict[str, float]:
    """Return the errors, and what was said, of one study."""
    made = study(kind, seed)
    ids, consensus = made.consensus.item_ids, made.consensus
    scores = dict(zip(ids, made.model, strict=True))
    errors: dict[str, float] = {"model": float(np.square(made.model - made.truth).mean())}
    for method in METHODS:
        more: dict[str, Any] = {"method": method, "level": LEVEL, "warn": False, "seed": seed}
        if method == "safe":
            more["model_sd"] = kind.sd
        found = calibrate(scores, consensus, **more)
        errors[method] = _error(found, made)
        errors[f"{method}, one order"] = _error(
            calibrate(scores, one_order(consensus), **more), made
        )
        alone = 0.0
        for own in _parts(made.part):
            few = {ids[k]: made.model[k] for k in own}
            few_found = calibrate(few, consensus, **more)
            alone += _error(few_found, made, own) * len(own) / len(ids)
        errors[f"{method}, alone"] = alone
        exact = found.calibrator.on_exact(found.inputs, found.calibrator.calibrate(found.inputs))
        held = exact(made.latent)
        order = [list(found.item_ids).index(item) for item in found.inputs.item_ids]
        if found.low is not None and found.high is not None:
            low, high = found.low[order], found.high[order]
            slack = 1e-9 * float(np.abs(held).max())
            errors[f"{method}, covered"] = float(
                ((low - slack <= held) & (held <= high + slack)).mean()
            )
        if method == "atc":
            errors["dependent"] = float(found.inputs.dependent)
            errors["direction"] = float(
                any(isinstance(each, DirectionWarning) for each in found.warnings)
            )
            errors["hurts"] = found.inputs.hurts
        if method == "fused":
            errors["kept"] = float(found.kept or 0.0)
            expected = found.calibrator.to_dict(found.inputs)["expected_mse"]["fused"]
            errors["fused, expected"] = expected
    return errors


def _error(found: aggcal.Calibration, made: Study, own: IntArray | None = None) -> float:
    truth = dict(zip(made.consensus.item_ids, made.truth, strict=True))
    kept = set(made.consensus.item_ids if own is None else made.consensus.item_ids[own])
    both = [
        (value, truth[item])
        for item, value in zip(found.item_ids, found.calibrated, strict=True)
        if item in kept
    ]
    return float(np.mean([(a - b) ** 2 for a, b in both]))


def _parts(part: IntArray) -> Iterator[IntArray]:
    for own in np.unique(part):
        yield np.flatnonzero(part == own)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=40)
    parser.add_argument("--seed", type=int, default=4100)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[""], help="words that the names hold")
    options = parser.parse_args()
    print(
        "| study | method | as it is | each alone | one order | covered | expected |\n"
        "|---|---|---|---|---|---|---|"
    )
    with on_one_core_each(options.jobs) as pool:
        for name, kind in KINDS.items():
            if not any(word in name for word in options.only):
                continue
            seeds = range(options.seed, options.seed + options.studies)
            each = list(pool.map(partial(measured, kind), seeds))
            mean = {
                key: float(np.mean([one[key] for one in each if key in one])) for key in
                sorted({key for one in each for key in one})
            }  # fmt: skip
            for method in METHODS:
                shares = [
                    f"{mean[key] / mean['model']:.3f}"
                    for key in (method, f"{method}, alone", f"{method}, one order")
                ]
                covered = f"{mean.get(f'{method}, covered', np.nan):.3f}"
                expected = (
                    f"{mean['fused, expected'] / mean['model']:.3f}" if method == "fused" else ""
                )
                print(f"| {name} | {method} |", " | ".join([*shares, covered, expected]), "|")
            print(
                f"| {name} | | dependent {mean['dependent']:.2f}, direction "
                f"{mean['direction']:.2f}, hurts {mean['hurts']:.2f}, kept "
                f"{mean['kept']:.2f} |||||",
                flush=True,
            )


if __name__ == "__main__":
    main()
