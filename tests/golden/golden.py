"""Numbers that a change must keep: what aggcal returned before, and how far today's are from it.

    python tests/golden/golden.py compare [--jobs 2] [--only TEXT]
    python tests/golden/golden.py make [--jobs 2] [--again TEXT]

A case is a study, what to do with it, and options. The studies are those of ``datasets/`` and
made-up ones: few and many annotators, some reversed or guessing, ties, sides, contexts, categories
and criteria. ``compare`` lists what differs by more than `allowed`. That is either a bug, or an
improvement that coverage or held-out likelihood has shown: then the numbers are made again.

To add a case, list it in `cases`; what is done with a study is a function in `KINDS`, and what it
returns are columns of numbers or texts. ``make`` works out the cases that have no numbers yet,
and again those whose keys contain TEXT; numbers of cases that are not listed any more go.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from math import exp, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import aggcal

HERE = Path(__file__).resolve().parent
FILE = HERE / "golden.json.gz"
DATA = Path(os.environ.get("AGGCAL_DATA", HERE.parents[1] / "datasets"))
DATASETS = {
    "reading_level": "judgments.csv",
    "country_population": "judgments.csv",
    "llmfao": "battles.csv",
    "judgemark": "judgments.csv",
    "dots": "judgments.csv",
}
ACTS = ("dots", "judgemark")  # rankings that were taken apart
MODEL_SCORES = {"reading_level": "items.csv", "dots": "model_scores.csv"}
MADE, FURNISHED = 36, 4  # studies
CLAIMED = 12  # of those made up, the first ones, of which claims are kept
DIGITS = 10  # of the numbers kept

INTEGRATED = ("hra-g", "hra-n", "hra-e", "crowd-bt")
"""Methods whose reliabilities can be integrated out."""
MODES = ("hra-g", "hra-e", "hra-n", "btl", "tcv", "crowd-bt", "crowd-tcv")
ALIKE = ("btl", "tcv")
"""Methods without reliabilities: they have a mode only."""
SLOW = ("hra-e", "crowd-bt", "crowd-tcv")
"""Modes that take long on the datasets with many ties."""
QUICK = (
    *("dots", "country_population", "llmfao", "judgemark"),
    *("made-1", "made-3", "made-4", "furnished-1"),
)
"""Studies whose cases pytest looks at: half a minute, of two for all."""
TERMS: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({"context": "prompt"}, {}),
    ({"context": "prompt"}, {"context": "fit"}),
    ({"by": "kind"}, {}),
    ({"by": "criterion"}, {}),
    ({"criterion": "style"}, {"ties": "rao-kupper"}),
    ({}, {"bridge": "axis"}),
    ({}, {"bridge": "camps"}),
    ({}, {"control": True}),
    ({}, {"ties": "halves", "position": "off"}),
    ({}, {"ties": "davidson", "position": "on"}),
)
"""How judgments are read, and the terms of the fit."""

Found = dict[str, Any]
"""Columns of numbers or texts, by name; ``objective`` is one number."""


class Case(NamedTuple):
    """What is done with a study."""

    study: str
    kind: str
    options: dict[str, Any]

    @property
    def key(self) -> str:
        """Its name in the file."""
        return json.dumps(self, sort_keys=True)


def made(seed: int) -> list[tuple[str, str, str, str]]:
    """Make a small study up; every third has ties, and prefers the left."""
    dice = random.Random(seed)  # noqa: S311
    sizes = [(8, 4, 60), (12, 5, 300), (20, 30, 400), (40, 15, 900), (60, 120, 900), (30, 3, 1500)]
    items, annotators, judgments = dice.choice(sizes)
    scores = [dice.gauss(0, dice.choice([0.5, 1, 2])) for _ in range(items)]
    reliabilities = [
        exp(dice.gauss(-0.1, 0.45))
        * (-1 if dice.random() < 0.1 else 0 if dice.random() < 0.1 else 1)
        for _ in range(annotators)
    ]
    side, tie = (0.6, 0.8) if seed % 3 == 0 else (0.0, 0.0)
    rows = []
    for _ in range(judgments):
        who = min(int(dice.expovariate(1 / (annotators / 3))), annotators - 1)
        left, right = dice.sample(range(items), 2)
        gap = reliabilities[who] * (scores[left] - scores[right]) + side
        rows.append((f"u{who}", f"i{left}", f"i{right}", answered(dice, gap, tie)))
    return rows


def answered(dice: random.Random, gap: float, tie: float) -> str:
    """Draw an answer by Davidson's model."""
    left, right = exp(gap / 2), exp(-gap / 2)
    drawn = dice.random() * (left + right + tie)
    return "left" if drawn < left else "right" if drawn < left + right else "tie"


def furnished(seed: int) -> tuple[dict[str, list[str]], list[float]]:
    """Make a study up with prompts, categories, criteria, sides and ties; and lengths of items."""
    dice = random.Random(1000 + seed)  # noqa: S311
    items, annotators, prompts, judgments = 14, 10, 40, 1600
    scores = [dice.gauss(0, 1) for _ in range(items)]
    by_kind = {kind: [score + dice.gauss(0, 0.5) for score in scores] for kind in ("code", "prose")}
    by_prompt = [[dice.gauss(0, 0.6) for _ in range(prompts)] for _ in range(items)]
    lengths = [dice.gauss(0, 1) for _ in range(items)]
    reliabilities = [
        exp(dice.gauss(-0.1, 0.4)) * (-1 if who == 0 else 1) for who in range(annotators)
    ]
    rows = []
    for _ in range(judgments):
        who, prompt = dice.randrange(annotators), dice.randrange(prompts)
        kind, (left, right) = dice.choice(("code", "prose")), dice.sample(range(items), 2)
        worth = [
            by_kind[kind][item] + by_prompt[item][prompt] + 0.4 * lengths[item]
            for item in (left, right)
        ]
        gap = reliabilities[who] * (worth[0] - worth[1]) + 0.4
        answer, criterion = answered(dice, gap, 0.7), dice.choice(("style", "content"))
        rows.append((f"u{who}", f"i{left}", f"i{right}", answer, f"p{prompt}", kind, criterion))
    names = ("annotator", "left", "right", "outcome", "prompt", "kind", "criterion")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    return columns, lengths


def cases() -> list[Case]:
    """List all cases."""
    found = []
    for study in (*DATASETS, *(f"made-{seed}" for seed in range(MADE))):
        for method in MODES:
            if study in ("llmfao", "judgemark") and method in SLOW:
                continue
            stated = {} if method in ALIKE else {"estimator": "mode"}
            found.append(Case(study, "fit", {"method": method, **stated}))
        some = study in MODEL_SCORES or study.endswith(("1", "4"))
        methods = INTEGRATED if some else INTEGRATED[:1]
        found += [Case(study, "fit", {"method": method}) for method in methods]
    for study in MODEL_SCORES:
        found += [
            Case(study, "calibrate", {"calibrator": name}) for name in ("atc", "fused", "safe")
        ]
    for seed in range(FURNISHED):
        found += [
            Case(f"furnished-{seed}", "terms", {"read": read, "terms": terms})
            for read, terms in TERMS
        ]
    found += [
        Case(study, "acts", {"method": method}) for study in ACTS for method in ("hra-g", "btl")
    ]
    for study in (*DATASETS, *(f"made-{seed}" for seed in range(CLAIMED))):
        found += [Case(study, "claims", {"method": method}) for method in ("hra-g", "btl")]
    return found


def given(study: str) -> aggcal.Judgments | list[tuple[str, str, str, str]]:
    """Return the judgments of a study, each pair of a ranking an answer of its own."""
    if study in DATASETS:
        return aggcal.read_judgments(DATA / study / DATASETS[study], ranking_weight="pair")
    return made(int(study.removeprefix("made-")))


def estimates(consensus: aggcal.Consensus) -> Found:
    """Return scores, their standard errors and reliabilities, each in the order of the ids."""
    consensus = consensus.quantify("laplace")
    assert consensus.uncertainty is not None
    order = np.argsort(consensus.item_ids.astype(str))
    found: Found = {
        "scores": consensus.scores[order].tolist(),
        "se": consensus.uncertainty.order_se[order].tolist(),
    }
    if consensus.reliabilities is not None:
        order = np.argsort(consensus.annotator_ids.astype(str))
        found["reliabilities"] = np.asarray(consensus.reliabilities)[order].tolist()
    return found


def fit(study: str, options: dict[str, Any]) -> Found:
    """Fit a study by a method; of a mode the objective is kept, too."""
    consensus = aggcal.aggregate(given(study), warn=False, **options)
    found = estimates(consensus)
    if options.get("estimator") == "mode" or options["method"] in ALIKE:
        found["objective"] = consensus.objective
    return found


def calibrate(study: str, options: dict[str, Any]) -> Found:
    """Calibrate a model's scores by the default consensus."""
    consensus = aggcal.aggregate(given(study), warn=False).quantify("laplace")
    with (DATA / study / MODEL_SCORES[study]).open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    # Of Dots there are scores of pictures made worse in several ways: the first is taken.
    first = [rows[0].get(name) for name in ("corruption", "level")]
    rows = [row for row in rows if [row.get(name) for name in ("corruption", "level")] == first]
    scores = {row["item"]: float(row["s_p"]) for row in rows}
    found = aggcal.calibrate(
        scores, consensus, method=options["calibrator"], model_sd=5.0, warn=False
    )
    return {"calibrated": found.calibrated[np.argsort(found.item_ids.astype(str))].tolist()}


def terms(study: str, options: dict[str, Any]) -> Found:
    """Fit a made-up study that has more than one order."""
    columns, lengths = furnished(int(study.removeprefix("furnished-")))
    wanted = {"annotator", "left", "right", "outcome", *options["read"].values()}
    wanted |= {"criterion"} if "style" in wanted else set()
    columns = {name: column for name, column in columns.items() if name in wanted}
    fitted = dict(options["terms"])
    if fitted.get("control"):
        items = [f"i{item}" for item in range(len(lengths))]
        fitted["control"] = aggcal.read_control({"item": items, "length": lengths})
    judgments = aggcal.read_judgments(columns, **options["read"])
    return estimates(aggcal.aggregate(judgments, warn=False, terms=aggcal.Terms(**fitted)))


def acts(study: str, options: dict[str, Any]) -> Found:
    """Fit a study as its file is read, rankings that were taken apart being recognised."""
    return estimates(aggcal.aggregate(DATA / study / DATASETS[study], warn=False, **options))


def claims(study: str, options: dict[str, Any]) -> Found:
    """State what a run says by default: widened errors, and what is sure of the order."""
    source = DATA / study / DATASETS[study] if study in DATASETS else given(study)
    consensus = aggcal.aggregate(source, warn=False, **options)
    known, sure = consensus.uncertainty, consensus.claims()
    assert known is not None
    assert sure is not None
    order = np.argsort(consensus.item_ids.astype(str))
    ranks = {
        "rank_low": known.rank_low,
        "rank_high": known.rank_high,
        "sure_low": sure.low,
        "sure_high": sure.high,
        "best": sure.best,
        "worst": sure.worst,
    }
    return {
        "scores": consensus.scores[order].tolist(),
        "se": known.order_se[order].tolist(),
        **{name: values[order].tolist() for name, values in ranks.items()},
        "certified": sure.count,
    }


KINDS: dict[str, Callable[[str, dict[str, Any]], Found]] = {
    "fit": fit,
    "calibrate": calibrate,
    "terms": terms,
    "acts": acts,
    "claims": claims,
}


def found(case: Case) -> Found:
    """Work a case out by the public API."""
    return KINDS[case.kind](case.study, case.options)


def tried(case: Case) -> Found:
    """Work a case out, or return what it failed with: the others go on."""
    try:
        return found(case)
    except Exception as error:  # noqa: BLE001
        return {"error": f"{type(error).__name__}: {error}"}


def allowed(case: Case, name: str, before: Found) -> Any:
    """Return by how much each number of a column may differ.

    Modes are optima, and projections of given numbers are exact but for rounding and for where
    iterations stop. What is integrated depends on the rule of quadrature, by far less than a
    standard error. Columns with other names may differ by 2%.
    """
    values = np.asarray(before[name])
    mode = "objective" in before
    larger = np.maximum(1.0, np.abs(values))
    if name == "scores":
        spread = sqrt(float(np.mean(np.square(values))))
        return 1e-6 * spread if mode else 0.02 * np.asarray(before["se"])
    if name == "se":
        return (0.001 if mode else 0.02) * values
    if name == "reliabilities":
        return 1e-5 * larger if mode else 0.02
    if name == "objective":
        return 1e-9 * larger
    if case.kind == "claims":  # a pair at the edge of being certified may go either way
        return 1.0 + 0.02 * larger
    return (1e-6 if case.options.get("calibrator") == "atc" else 0.02) * larger


def differences(case: Case, before: Found, after: Found) -> list[str]:
    """Say which columns differ by more than they may, and where first."""
    said = [f"{name} is new: make it" for name in after if name not in before]
    for name, old in before.items():
        if name not in after:
            said.append(f"{name} is gone")
            continue
        new = after[name]
        if np.shape(new) != np.shape(old):
            said.append(f"{name} has {np.size(new)} entries instead of {np.size(old)}")
            continue
        was, now = np.atleast_1d(old), np.atleast_1d(new)
        if was.dtype.kind in "Ub":
            same = was == now
        else:
            # Not a number is like itself only.
            same = np.abs(was - now) <= allowed(case, name, before)
            same |= np.isnan(was) & np.isnan(now)
        if not same.all():
            at = int(np.argmin(same))
            said.append(f"{name}[{at}] was {was[at]}, is {now[at]} ({(~same).sum()} differ)")
    return said


@cache
def kept() -> dict[str, Found]:
    """Read the numbers of all cases."""
    read: dict[str, Found] = json.loads(gzip.decompress(FILE.read_bytes()))
    return read


def keep(numbers: dict[str, Found]) -> None:
    """Write the numbers of all cases, lists of them with ten digits."""
    rounded = {
        key: {name: shortened(column) for name, column in columns.items()}
        for key, columns in numbers.items()
    }
    FILE.write_bytes(gzip.compress(json.dumps(rounded).encode(), mtime=0))


def shortened(column: Any) -> Any:
    """Round the numbers of a column."""
    if isinstance(column, list) and column and isinstance(column[0], float):
        return [float(f"{value:.{DIGITS}g}") for value in column]
    return column


def each(
    work: Callable[[Case], Found], some: Sequence[Case], jobs: int
) -> Iterator[tuple[Case, Found]]:
    """Do some work for each case, in several processes."""
    with ProcessPoolExecutor(jobs) as pool:
        yield from zip(some, pool.map(work, some), strict=True)


def compare(only: str, jobs: int) -> int:
    """Print the cases that are not as before; return how many."""
    before, bad = kept(), 0
    chosen = [case for case in cases() if only in case.key]
    for case, after in each(tried, chosen, jobs):
        failed = [after["error"]] if "error" in after else []
        said = failed or differences(case, before.get(case.key, {}), after)
        if said:
            bad += 1
            print(case.key, *said, sep="\n    ", flush=True)
    print(f"{len(chosen) - bad} of {len(chosen)} cases as before")
    return bad


def make(again: str | None, jobs: int) -> None:
    """Work out the cases that have no numbers, or are to have new ones, and write all."""
    before = kept() if FILE.exists() else {}
    listed = cases()
    new = [
        case
        for case in listed
        if case.key not in before or (again is not None and again in case.key)
    ]
    numbers = before | {case.key: after for case, after in each(found, new, jobs)}
    keep({case.key: numbers[case.key] for case in listed})
    print(f"{len(new)} of {len(listed)} cases made")


def main() -> None:
    """Compare, or make."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("compare", "make"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", metavar="TEXT", help="compare these cases only")
    parser.add_argument("--again", metavar="TEXT", help="make these cases again")
    asked = parser.parse_args()
    if asked.what == "make":
        make(asked.again, asked.jobs)
    else:
        sys.exit(bool(compare(asked.only, asked.jobs)))


if __name__ == "__main__":
    main()
