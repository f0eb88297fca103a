"""The calibrators against each other: mean squared errors on real sets and simulated regimes.

    python benchmarks/calibrators.py [--studies 30] [--seed 700] [--jobs 1] [--coverage 200]
                                     [--only NAME ...] [-o benchmarks/results/calibrators.md]

Each study is calibrated by every calibrator and by 'auto', with nothing known, with the sd of the
model's errors, and with ten anchors drawn at random. Errors are those of the other items, and are
told as shares of the model's own and of atc's. The seeds are none that anything was tuned on. Then
small studies (6 to 30 items: marks, populations, prices, dates, areas, shares; good, poor and few
judgments; good, fair, poor and shrunk models), a tenth as many of each kind; and the coverage of
intervals from anchors, over studies of shapes that nothing was tuned on.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from one_core import on_one_core_each

import aggcal
from aggcal import datasets
from aggcal._core.arrays import FloatArray, IntArray, TextArray
from aggcal._core.tables import aligned, as_text
from aggcal.aggregation.covariance import DenseCovariance
from aggcal.calibration.calibrators import find, recommend
from aggcal.calibration.inputs import FEWEST_ANCHORS, Given, Inputs, Order, inputs_of
from aggcal.calibration.intervals import calibrated_intervals
from aggcal.data.scores import Scores
from aggcal.registry.literals import DatasetName
from aggcal.simulation import simulate

KNOWN = ("nothing", "model sd", "10 anchors")
METHODS = ("atc", "fused", "safe")
ANCHORS = 10
NEVER_BELOW = 1e-9
FEWEST_MEASURED = 3
WORSE = 1.05
"""The ratio of mean squared errors from which scores count as worse than the model's."""


@dataclass(frozen=True)
class Study:
    """A consensus, a model's scores, the truth, and the sd of the model's errors."""

    order: Order
    ids: TextArray
    model: FloatArray
    truth: FloatArray
    sd: float


# ------------------------------------------------------------------------------- studies


def fitted(judgments: object) -> aggcal.Consensus:
    consensus = aggcal.aggregate(judgments, warn=False)
    return consensus if consensus.uncertainty is not None else consensus.quantify()


def simulated(
    seed: int,
    *,
    items: int = 60,
    judgments: int = 3000,
    sd: float = 8.0,
    crowd: float = 0.0,
    slope: float = 1.0,
    bias: float = 0.0,
    exponent: float = 0.0,
    reversed_crowd: bool = False,
    annotators: int = 20,
) -> Study:
    made = simulate(
        items=items, annotators=annotators, judgments=judgments, model_sd=1.0, seed=seed
    )
    random = np.random.default_rng([seed, 99])
    table = dict(made.judgments)
    if reversed_crowd:
        table["winner"], table["loser"] = table["loser"], table["winner"]
    consensus = fitted(table)
    latent = aligned(made.latent, made.item_ids, consensus.item_ids)
    truth = 50.0 + 10.0 * latent
    if exponent:
        truth = 10.0 * np.exp(exponent * latent)
    truth = truth + crowd * random.standard_normal(len(truth))
    centre = truth.mean()
    model = centre + slope * (truth - centre) + bias + sd * random.standard_normal(len(truth))
    error = float(np.sqrt(np.mean(np.square(model - truth))))
    return Study(Order.of(consensus), consensus.item_ids, model, truth, error)


_LOADED: dict[str, tuple[Order, TextArray, FloatArray, FloatArray]] = {}


def real(seed: int, *, name: DatasetName, sd: float | None = None) -> Study:
    """Return a real set with its own model, or with one drawn about the truth."""
    if name not in _LOADED:
        found = datasets.load(name)
        if found.truth is None or found.scores is None:
            raise ValueError(name)
        consensus, tables = fitted(found.judgments), (found.scores, found.truth)
        scores, true = (aligned(t.values, t.item_ids, consensus.item_ids) for t in tables)
        _LOADED[name] = Order.of(consensus), consensus.item_ids, scores, true
    order, ids, model, truth = _LOADED[name]
    if sd is not None:
        random = np.random.default_rng([seed, 98])
        model = truth + sd * np.nanstd(truth) * random.standard_normal(len(truth))
    error = float(np.sqrt(np.nanmean(np.square(model - truth))))
    return Study(order, ids, model, truth, error)


REGIMES: dict[str, Callable[[int], Study]] = {
    "Reading Level, model sd 5": partial(real, name="reading-level", sd=1.59),
    "Reading Level, the paper's model": partial(real, name="reading-level"),
    "Dots, OpenCV's counts": partial(real, name="dots"),
    "Dots, model drawn": partial(real, name="dots", sd=0.7),
    "Country Population, its model": partial(real, name="country-population"),
    "Country Population, model drawn": partial(real, name="country-population", sd=0.7),
    "Judgemark, model drawn": partial(real, name="judgemark", sd=0.7),
    "LLMFAO, model drawn": partial(real, name="llmfao", sd=0.7),
    "crowd exact": partial(simulated, judgments=6000),
    "crowd exact, poor model": partial(simulated, judgments=6000, sd=30.0),
    "crowd wrong together": partial(simulated, crowd=7.0, sd=5.0),
    "model shrunk": partial(simulated, slope=0.5, sd=4.0),
    "model biased": partial(simulated, bias=10.0, sd=5.0),
    "exponential truth": partial(simulated, exponent=1.0),
    "steeper exponential truth": partial(simulated, exponent=1.7),
    "reversed crowd": partial(simulated, reversed_crowd=True),
    "few judgments": partial(simulated, judgments=150, sd=5.0),
    "sixteen items": partial(simulated, items=16, judgments=200, annotators=5),
    "good model": partial(simulated, judgments=600, sd=2.0),
}


# ------------------------------------------------------------------------ small studies

KINDS = ("marks", "populations", "prices", "dates", "areas", "shares")
SIZES = (6, 10, 15, 22, 30)
CROWDS = {"good crowd": (40, 0.1), "poor crowd": (40, 0.8), "few judgments": (6, 0.2)}
"""Judgments of each item, and what annotators have wrong together, in sds of what they see."""
MODELS = {"good model": 0.2, "fair model": 0.6, "poor model": 1.5, "shrunk model": 0.4}
"""Errors in sds of the truth, or of its logarithm where the truth grows in proportions."""
SHRUNK = 0.5


def truths(kind: str, z: FloatArray, random: np.random.Generator) -> FloatArray:
    """Return the truths of a kind, which rise with z (the scale on which annotators see them)."""
    if kind == "areas":  # a Pareto tail, at the quantiles of z
        ranks = np.argsort(np.argsort(z))
        return np.asarray(5.0 * np.sort(random.random(len(z)) ** (-1.0 / 1.2))[ranks])
    return {
        "marks": 60.0 + 12.0 * z,
        "populations": 10.0 * np.exp(1.6 * z),
        "prices": 100.0 * np.exp(0.8 * z),
        "dates": 2020.0 - 60.0 * np.exp(-z),
        "shares": 100.0 / (1.0 + np.exp(-1.5 * z)),
    }[kind]


def model_of(kind: str, truth: FloatArray, slope: float, error: FloatArray) -> FloatArray:
    """Return a model's scores: its errors are even on the scale on which the truth is."""

    def off(values: FloatArray, sd: float) -> FloatArray:
        centre = float(values.mean())
        return np.asarray(centre + slope * (values - centre) + sd * error)

    if kind == "marks":
        return off(truth, 12.0)
    if kind == "dates":
        return np.asarray(2020.0 - np.exp(-off(-np.log(2020.0 - truth), 1.0)))
    if kind == "shares":
        return np.asarray(100.0 / (1.0 + np.exp(-off(np.log(truth / (100.0 - truth)), 1.5))))
    return np.asarray(np.exp(off(np.log(truth), float(np.log(truth).std()))))


def small(seed: int, *, kind: str, items: int, crowd: str, model: str) -> Study:
    """Return a small study."""
    where = (KINDS.index(kind), list(CROWDS).index(crowd), list(MODELS).index(model))
    random = np.random.default_rng([seed, items, *where])
    z = random.standard_normal(items)
    truth = truths(kind, z, random)
    each, shared = CROWDS[crowd]
    seen = z + shared * random.standard_normal(items)
    number = max(20, items * each // 2)
    annotators = max(3, min(12, number // 20))
    reliable = np.clip(1.0 + 0.4 * random.standard_normal(annotators), -0.3, 2.5)
    i, who = random.integers(items, size=number), random.integers(annotators, size=number)
    j = (i + 1 + random.integers(items - 1, size=number)) % items
    first = random.random(number) < 1.0 / (1.0 + np.exp(-1.7 * reliable[who] * (seen[i] - seen[j])))
    pairs = {"winner": np.where(first, i, j), "loser": np.where(first, j, i), "annotator": who}
    consensus = fitted({name: as_text(column) for name, column in pairs.items()})
    error = MODELS[model] * random.standard_normal(items)
    scores = model_of(kind, truth, SHRUNK if model == "shrunk model" else 1.0, error)
    at = np.array(consensus.item_ids, dtype=np.int64)
    off = float(np.sqrt(np.mean(np.square(scores - truth))))
    return Study(Order.of(consensus), consensus.item_ids, scores[at], truth[at], off)


SMALL: dict[str, Callable[[int], Study]] = {
    ", ".join((kind, f"{items} items", crowd, model)): partial(
        small, kind=kind, items=items, crowd=crowd, model=model
    )
    for kind in KINDS
    for items in SIZES
    for crowd in CROWDS
    for model in MODELS
}


# ------------------------------------------------------------------------------- errors


def inputs_from(study: Study, known: str, chosen: IntArray, seed: int) -> Inputs:
    scored = np.isfinite(study.model)
    anchors = Scores(study.ids[chosen], study.truth[chosen], None, "anchors")
    given = Given(
        Scores(study.ids[scored], study.model[scored]),
        model_sd=study.sd if known == KNOWN[1] else None,
        anchors=anchors if known == KNOWN[2] else None,
    )
    return inputs_of(find("fused"), given, study.order, 0.9, seed).inputs


def errors_of(job: tuple[str, int]) -> list[tuple[str, str, dict[str, float], str]]:
    """Return the mean squared errors of a study, for each state of knowledge."""
    name, seed = job
    study = (REGIMES | SMALL)[name](seed)
    random = np.random.default_rng([seed, 97])
    usable = np.flatnonzero(np.isfinite(study.model) & np.isfinite(study.truth))
    chosen = random.choice(usable, min(ANCHORS, len(usable) // 2 + 2), replace=False)
    rows = []
    for known in KNOWN:
        if known == KNOWN[2] and len(chosen) < FEWEST_ANCHORS:
            continue
        inputs = inputs_from(study, known, np.sort(chosen), seed)
        truth = aligned(study.truth, study.ids, inputs.item_ids)
        told = np.isin(inputs.item_ids, study.ids[chosen])
        rest = np.isfinite(truth) & ~(told & (known == KNOWN[2] or name in REGIMES))
        if rest.sum() < FEWEST_MEASURED:
            continue
        found = {"model": inputs.model}
        for method in METHODS:
            if method != "safe" or inputs.variances is not None:
                found[method] = find(method).calibrate(inputs).values
        picked = recommend(inputs).calibrator
        found["auto"] = found[picked]
        mse = {k: float(np.mean(np.square(v - truth)[rest])) for k, v in found.items()}
        rows.append((name, known, mse, picked))
    return rows


def table(rows: list[tuple[str, str, dict[str, float], str]]) -> list[str]:
    head = (
        "| study | known | model | atc / model | fused / model | safe / model | auto / model | "
        "auto / atc | auto / best | auto takes |"
    )
    lines = [
        head,
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(row[0] for row in rows):
        for known in KNOWN:
            here = [row for row in rows if row[:2] == (name, known)]
            mean = {k: float(np.mean([row[2][k] for row in here])) for k in here[0][2]}
            best = min(mean[k] for k in METHODS if k in mean)
            share = {k: mean[k] / mean["model"] for k in mean}
            safe = f"{share['safe']:.3f}" if "safe" in share else ""
            picks = [row[3] for row in here]
            taken = ", ".join(f"{k} {picks.count(k)}" for k in METHODS if k in picks)
            lines.append(
                f"| {name} | {known} | {mean['model']:.4g} | {share['atc']:.3f} | "
                f"{share['fused']:.3f} | {safe} | {share['auto']:.3f} | "
                f"{mean['auto'] / mean['atc']:.3f} | {mean['auto'] / best:.3f} | {taken} |"
            )
    return lines


def small_table(rows: list[tuple[str, str, dict[str, float], str]]) -> list[str]:
    """Tell of small studies how often scores are worse than the model's, and by how much better.

    Means of squared errors would be those of the steepest studies, so ratios are averaged, and a
    calibrator's are compared study by study.
    """
    told = ("atc", "fused", "safe", "auto")
    lines = [
        "| studies | known | number | " + " | ".join(f"{k} / model" for k in told)
        + " | auto / best | " + " | ".join(f"{k} worse" for k in told) + " |",
        "|---|---|---|" + "---|" * (2 * len(told) + 1),
    ]  # fmt: skip
    words = dict.fromkeys(word for name in SMALL for word in name.split(", "))
    for word in ("all", *words):
        for known in KNOWN:
            here = [
                row[2]
                for row in rows
                if row[1] == known and word in ("all", *row[0].split(", ")) and row[2]["model"] > 0
            ]
            if not here:
                continue
            ratios = {
                k: np.array([max(mse[k] / mse["model"], NEVER_BELOW) for mse in here])
                for k in told
                if k in here[0]
            }
            mean = {k: float(np.exp(np.log(v).mean())) for k, v in ratios.items()}
            best = min(mean[k] for k in METHODS if k in mean)
            cells = [f"{mean[k]:.3f}" if k in mean else "" for k in told]
            worse = [f"{(ratios[k] > WORSE).mean():.0%}" if k in mean else "" for k in told]
            cells += [f"{mean['auto'] / best:.3f}", *worse]
            lines.append(f"| {word} | {known} | {len(here)} | {' | '.join(cells)} |")
    return lines


# ----------------------------------------------------------------------------- coverage

SHAPES = ("plain", "shrunk", "heavy tails", "uneven", "exponential", "rounded", "two groups")
DESIGNS = ((30, 9, 0.9), (30, 20, 0.95), (60, 12, 0.8), (14, 9, 0.9), (200, 40, 0.9))


def coverage_of(job: tuple[int, int, float, str, int]) -> dict[str, tuple[float, float]]:
    """Return the share of other items whose truth is in its interval, and the median width."""
    items, number, level, shape, seed = job
    random = np.random.default_rng([seed, items, number, SHAPES.index(shape)])
    x = random.standard_normal(items)
    noise = 5.0 * random.standard_normal(items)
    truth = 50.0 + 10.0 * x + 4.0 * random.standard_normal(items)
    if shape == "heavy tails":
        noise = 4.0 * random.standard_t(2, items)
    elif shape == "uneven":
        noise = 3.0 * np.exp(x) * random.standard_normal(items)
    elif shape == "exponential":
        truth = 10.0 * np.exp(x)
    elif shape == "rounded":
        truth = 10.0 * np.round(truth / 10.0)
    elif shape == "two groups":
        truth = truth + np.where(random.random(items) < 0.1, 60.0, 0.0)
    model = (0.5 if shape == "shrunk" else 1.0) * truth + noise
    chosen = np.sort(random.choice(items, number, replace=False))
    others = np.setdiff1d(np.arange(items), chosen)
    inputs = Inputs(
        as_text(range(items)), model, x + 0.3 * random.standard_normal(items),
        DenseCovariance(0.08 * np.eye(items)), np.ones(items), np.full(items, 25.0),
        (chosen, truth[chosen]), None, level, seed,
    )  # fmt: skip
    result = {}
    for method in METHODS:
        calibrator = find(method)
        ends = calibrated_intervals(calibrator, inputs, calibrator.calibrate(inputs))
        if ends.low is None or ends.high is None:
            raise ValueError(method)
        inside = (ends.low <= truth + NEVER_BELOW) & (truth - NEVER_BELOW <= ends.high)
        result[method] = float(inside[others].mean()), float(np.median(ends.high - ends.low))
    return result


def coverage_table(
    results: dict[tuple[int, int, float, str], list[dict[str, tuple[float, float]]]],
) -> list[str]:
    lines = [
        "| items | anchors | level | shape | " + " | ".join(METHODS) + " | largest se |",
        "|---|---|---|---|" + "---|" * (len(METHODS) + 1),
    ]
    for (items, number, level, shape), rows in results.items():
        cells, errors = [], []
        for method in METHODS:
            inside = np.array([row[method][0] for row in rows])
            width = float(np.median([row[method][1] for row in rows]))
            errors.append(float(inside.std(ddof=1)) / len(rows) ** 0.5)
            cells.append(f"{inside.mean():.3f} (width {width:.3g})")
        told = " | ".join(cells)
        lines.append(f"| {items} | {number} | {level:g} | {shape} | {told} | {max(errors):.3f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=30)
    parser.add_argument("--seed", type=int, default=700)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--coverage", type=int, default=200, help="studies a cell; 0 for none")
    parser.add_argument("--only", nargs="*", help="words that the names of studies hold")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    wanted = [n for n in REGIMES if not options.only or any(w in n for w in options.only)]
    jobs = [(n, options.seed + k) for n in wanted for k in range(options.studies)]
    each = 0 if options.only else -(-options.studies // 10)
    little = [(n, options.seed + k) for n in SMALL for k in range(each)]
    cells = [(*design, shape) for design in DESIGNS for shape in SHAPES]
    covered = [(*cell, options.seed + k) for cell in cells for k in range(options.coverage)]
    with on_one_core_each(options.jobs) as pool:
        rows = [row for found in pool.map(errors_of, jobs, chunksize=5) for row in found]
        lesser = [row for found in pool.map(errors_of, little, chunksize=5) for row in found]
        inside = list(pool.map(coverage_of, covered, chunksize=20))
    what = (
        f"`benchmarks/calibrators.py --studies {options.studies} --seed {options.seed} --coverage "
        f"{options.coverage}`. Mean squared errors over {options.studies} studies a row, of the "
        "items that are no anchors. 'auto / best' compares what `--calibrator auto` took, study by "
        "study, with the best single calibrator of the row (atc, fused, and safe where the model's "
        "sd is known)."
    )
    lines = [
        "# The calibrators against each other",
        "",
        what,
        "",
        *table(rows),
    ]
    if lesser:
        lines += [
            "",
            "## Small studies",
            "",
            f"Geometric means of ratios of squared errors; worse: by {WORSE - 1.0:.0%} or more.",
            "",
            *small_table(lesser),
        ]
    if inside:
        by_cell = {
            c: [r for job, r in zip(covered, inside, strict=True) if job[:4] == c] for c in cells
        }
        lines += ["", "## Coverage of the truth, with anchors", "", *coverage_table(by_cell)]
    text = "\n".join(lines) + "\n"
    print(text)
    if options.output is not None:
        options.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
