"""What `aggcal check` says of studies of many shapes, clean ones and ones with one fault.

    python benchmarks/check_shapes.py FINDINGS.jsonl --studies 40 --processes 16
    python benchmarks/check_shapes.py --compare BEFORE.jsonl AFTER.jsonl

Each line of the file is a study and what was found in it: the first command goes on where it was
broken off. Run it with two versions of the package (PYTHONPATH) to compare them, study by study.
Shapes beside pairs: fully crossed ratings, rankings, screens and panels of models that are asked
the same again. Answers are those of `γ (s_i − s_j) + β side + …` with slopes γ that differ, lapses,
tastes of one's own, habits β of choosing a side, and effects of questions.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
import zlib
from collections import Counter, defaultdict
from concurrent.futures import as_completed
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from one_core import on_one_core_each
from scipy.special import expit

import aggcal

Table = dict[str, Any]


@dataclass(frozen=True)
class Shape:
    """Items, annotators, and how the study is collected."""

    items: int
    annotators: int
    rows: int = 0
    """Judgments of random pairs; 0 for the designs below."""
    repeats: int = 1
    """How often everybody judges every pair, where there are no ``rows``."""
    score_sd: float = 1.0
    unlike: float = 0.5
    slips: float = 0.0
    ties: float = 0.0
    weights: tuple[float, ...] = ()
    popular: str = ""
    own_taste: float = 0.0
    side_sd: float = 0.0
    fixed_sides: bool = False
    components: int = 1
    design: str = ""
    """``ratings``: everybody rates every item on 1 to 5; ``rankings``, ``screens``: of five items
    at a time; ``panel``: few models answer every pair again and again, nearly the same."""


SHAPES = {
    "usual": Shape(30, 20, 1000),
    "long": Shape(20, 14, 2660),
    "wide": Shape(100, 50, 1500),
    "few": Shape(12, 5, 3000),
    "large": Shape(60, 40, 8000),
    "crowd": Shape(8, 300, 3000),
    "crowd, long": Shape(12, 200, 8000),
    "juries": Shape(12, 5, repeats=4),
    "once": Shape(10, 5),
    "ties": Shape(20, 10, 2000, ties=0.3),
    "slips": Shape(15, 30, 3000, score_sd=2.0, slips=0.1),
    "weights": Shape(30, 20, 1000, weights=(1.0, 2.0, 3.0)),
    "flat": Shape(30, 20, 1000, score_sd=0.3),
    "steep": Shape(15, 10, 2000, score_sd=3.0),
    "components": Shape(30, 20, 1500, components=3),
    "very unlike": Shape(20, 10, 2000, unlike=1.0),
    "popular items": Shape(20, 60, 1800, popular="star"),
    "popular items, Zipf": Shape(40, 80, 3200, popular="zipf"),
    "popular items and tastes": Shape(20, 60, 1800, popular="star", own_taste=0.7),
    "tastes of one's own": Shape(20, 20, 3000, own_taste=0.7),
    "wide habits": Shape(12, 20, 2000, side_sd=0.3),
    "fixed sides": Shape(12, 20, 2000, fixed_sides=True),
    "crossed ratings": Shape(15, 8, design="ratings"),
    "crossed ratings, many": Shape(40, 12, design="ratings"),
    "rankings": Shape(20, 15, 150, design="rankings"),
    "screens": Shape(20, 15, 200, design="screens"),
    "panel": Shape(10, 6, repeats=5, design="panel"),
}
FAULTS = ("clean", "reversed", "guessing", "copies", "left", "camps", "own-order", "erratic")
ONLY_CLEAN = {"flat", "popular items and tastes", "tastes of one's own", "wide habits", "panel"}
CODES = {
    "reversed-annotators": "reversed",
    "contradicting": "reversed",
    "guessing": "guessing",
    "position-bias": "left",
    "copies": "copies",
    "own-order": "own-order",
    "erratic": "erratic",
    "divided": "camps",
    "different-tastes": "camps",
    "side-preferred": "side-preferred",
    "no-agreement": "no-agreement",
}
ACCUSED = ("reversed", "guessing", "left", "copies")


def study(name: str, fault: str, seed: int) -> tuple[Table, str | None, set[int]]:
    """Return a table of judgments, its format, and who is guilty."""
    shape = SHAPES[name]
    random = np.random.default_rng([zlib.crc32(f"{name} {fault}".encode()), seed])
    n, m = shape.items, shape.annotators
    scores, other = shape.score_sd * random.normal(size=(2, n))
    slope = np.exp(shape.unlike * random.normal(size=m))
    lapse = 2.0 * shape.slips * random.random(m)
    habit = shape.side_sd * random.normal(size=m)
    few = set(range(max(1, m // 10)))
    guilty = few if fault in ("reversed", "guessing", "left") else {0}
    one = sorted(guilty)
    own = np.zeros(m, dtype=int)
    if fault == "reversed":
        slope[one] *= -1.0
    if fault == "guessing":
        slope[one] = 0.0
    if fault == "left":
        slope[one], habit[one] = 0.0, 3.0
    if fault == "erratic":
        slope[0], lapse[0] = 4.0, 0.3
    if fault == "own-order":
        own[0] = 1
    if fault == "camps":
        own = (np.arange(m) % 5 < 2).astype(int)
    taste = shape.score_sd * shape.own_taste * random.normal(size=(m, n))
    worth = slope[:, None] * (np.stack([scores, other])[own] + taste)
    if fault == "copies":
        guilty = {0, 1}
    elif fault in ("clean", "camps"):
        guilty = set()
    if shape.design in ("ratings", "rankings"):
        table = _acts(shape, worth, lapse, random, copied=fault == "copies")
        return table, shape.design, guilty
    table = _pairs(shape, worth, lapse, habit, random, copied=fault == "copies")
    return table, None, guilty


def _acts(
    shape: Shape,
    worth: np.ndarray,
    lapse: np.ndarray,
    random: np.random.Generator,
    *,
    copied: bool,
) -> Table:
    m, n = worth.shape
    if shape.design == "ratings":
        noisy = worth + random.logistic(size=(m, n))
        level = np.digitize(noisy, np.quantile(noisy, [0.1, 0.3, 0.6, 0.85])) + 1
        if copied:
            level[1] = np.where(random.random(n) < 0.08, level[1], level[0])
        who, item = (each.ravel() for each in np.indices((m, n)))
        return {
            "annotator": [f"u{u:04d}" for u in who],
            "item": [f"i{i:04d}" for i in item],
            "rating": level.ravel(),
        }
    who = np.arange(shape.rows) % m
    shown = np.argsort(random.random((shape.rows, n)), axis=1)[:, :5]
    utility = worth[who[:, None], shown] * (random.random(shape.rows) >= lapse[who])[:, None]
    order = np.argsort(-(utility + random.gumbel(size=shown.shape)), axis=1)
    placed = np.take_along_axis(shown, order, axis=1)
    if copied:
        mine, theirs = np.flatnonzero(who == 0), np.flatnonzero(who == 1)
        size = min(len(mine), len(theirs))
        placed[theirs[:size]] = placed[mine[:size]]
    columns = {f"r{k + 1}": [f"i{i:04d}" for i in placed[:, k]] for k in range(5)}
    return {"annotator": [f"u{u:04d}" for u in who], **columns}


Questions = tuple[np.ndarray, np.ndarray, np.ndarray, "np.ndarray | None"]


def _questions(shape: Shape, m: int, n: int, random: np.random.Generator) -> Questions:
    """Return who judges which two items, and the screens that these are on."""
    screen = None
    if shape.design == "screens":
        owner = np.sort(np.arange(shape.rows) % m)
        shown = np.argsort(random.random((shape.rows, n)), axis=1)[:, :5]
        pairs = np.array(list(combinations(range(5), 2)))
        screen = np.repeat(np.arange(shape.rows), len(pairs))
        who = owner[screen]
        a, b = (shown[screen, np.tile(pairs[:, k], shape.rows)] for k in range(2))
    elif shape.rows:
        who = np.sort(np.arange(shape.rows) % m)
        size = shape.rows
        a = random.integers(n, size=size)
        if shape.popular == "star":
            a = np.where(random.random(size) < 0.8, random.integers(2, size=size), a)
        elif shape.popular == "zipf":
            p = 1.0 / np.arange(1, n + 1)
            a = random.choice(n, size, p=p / p.sum())
        b = (a + random.integers(1, n, size=size)) % n
        if shape.components > 1:
            b = b + (a - b) % shape.components
            b = np.where(b >= n, a % shape.components, b)
    else:
        every = np.array(list(combinations(range(n), 2)))
        grid = np.indices((m, len(every), shape.repeats)).reshape(3, -1)
        who, (a, b) = grid[0], every[grid[1]].T
    return who, a, b, screen


def _answers(
    shape: Shape,
    worth: np.ndarray,
    lapse: np.ndarray,
    habit: np.ndarray,
    questions: Questions,
    *,
    random: np.random.Generator,
) -> np.ndarray:
    """Say who prefers the left item."""
    (who, a, b, screen), n = questions, worth.shape[1]
    gap = worth[who, a] - worth[who, b] + habit[who]
    won = random.random(len(who)) < lapse[who] / 2.0 + (1.0 - lapse[who]) * expit(gap)
    if screen is not None:
        slot = np.unique(np.concatenate([screen * n + a, screen * n + b]), return_inverse=True)[
            1
        ].ravel()
        noise = random.gumbel(size=int(slot.max()) + 1)
        first, second = np.split(slot, 2)
        won = gap + noise[first] - noise[second] > 0.0
    if shape.design == "panel":  # the same answer nine times in ten
        code = (who * n + np.minimum(a, b)) * n + np.maximum(a, b)
        _, where, again = np.unique(code, return_index=True, return_inverse=True)
        low_first = np.where(a < b, won, ~won)[where][again.ravel()]
        same = random.random(len(who)) < 0.9
        won = np.where(same, np.where(a < b, low_first, ~low_first), won)
    return np.asarray(won)


def _pairs(
    shape: Shape,
    worth: np.ndarray,
    lapse: np.ndarray,
    habit: np.ndarray,
    random: np.random.Generator,
    *,
    copied: bool,
) -> Table:
    n = worth.shape[1]
    who, a, b, screen = _questions(shape, worth.shape[0], n, random)
    turned = a > b if shape.fixed_sides else random.random(len(who)) < 0.5
    a, b = np.where(turned, b, a), np.where(turned, a, b)
    kept = a != b
    who, a, b = who[kept], a[kept], b[kept]
    screen = None if screen is None else screen[kept]
    source = np.flatnonzero(who == 0)
    if copied:  # the second gets the questions of the first
        rest = who != 1
        if screen is not None:
            last = screen[source] + int(screen.max()) + 1
            screen = np.concatenate([screen[rest], last])
        who = np.concatenate([who[rest], np.ones(len(source), dtype=int)])
        a, b = np.concatenate([a[rest], a[source]]), np.concatenate([b[rest], b[source]])
        source = np.flatnonzero(who == 0)
    won = _answers(shape, worth, lapse, habit, (who, a, b, screen), random=random)
    if copied:
        last = np.flatnonzero(who == 1)
        own = random.random(len(last)) < 0.08
        won[last] = np.where(own, won[last], won[source])
    outcome = np.where(won, "left", "right").astype(object)
    outcome[random.random(len(who)) < shape.ties] = "tie"
    table: Table = {
        "annotator": [f"u{u:04d}" for u in who],
        "left": [f"i{i:04d}" for i in a],
        "right": [f"i{i:04d}" for i in b],
        "outcome": outcome,
    }
    if shape.weights:
        table["weight"] = random.choice(shape.weights, len(who))
    if screen is not None:
        table["screen"] = [f"s{k}" for k in screen]
    return table


def said(name: str, fault: str, seed: int) -> dict[str, Any]:
    """Check a study; return what was said, and of whom."""
    warnings.simplefilter("ignore")
    table, reader, guilty = study(name, fault, seed)
    begun, found = time.process_time(), dict[str, list[int] | None]()
    try:
        judgments = aggcal.read_judgments(table, format=reader)
        begun = time.process_time()
        for finding in aggcal.check(judgments, with_precision=False).findings:
            kind = CODES.get(finding.code)
            if kind is None:
                continue
            named = list(finding.details.get("annotators", []))
            named += [u for group in finding.details.get("groups", []) for u in group]
            whole = kind in ("camps", "side-preferred") or not named
            found[kind] = None if whole else sorted(int(u[1:]) for u in named)
    except Exception as error:  # noqa: BLE001  # a fault of the package is a result, too
        found[f"error: {error!r}"] = None
    seconds = round(time.process_time() - begun, 3)
    return {
        "shape": name, "fault": fault, "seed": seed, "guilty": sorted(guilty), "said": found,
        "seconds": seconds,
    }  # fmt: skip


def run(path: Path, options: argparse.Namespace) -> None:
    """Make the studies that are missing."""
    done = set()
    if path.exists():
        for line in path.read_text().splitlines():
            row = json.loads(line)
            done.add((row["shape"], row["fault"], row["seed"]))
    jobs = [
        (name, fault, options.seed + k)
        for k in range(options.studies)
        for name in SHAPES
        for fault in FAULTS
        if (fault == "clean" or name not in ONLY_CLEAN)
        and not (fault == "left" and SHAPES[name].design in ("ratings", "rankings"))
        and fault in options.faults
        and (fault == "clean" or k < options.faulty)
    ]
    with on_one_core_each(options.processes) as pool, path.open("a") as file:
        waiting = [pool.submit(said, *job) for job in jobs if job not in done]
        for future in as_completed(waiting):
            file.write(json.dumps(future.result()) + "\n")
            file.flush()


def compare(paths: list[Path]) -> None:
    """Print what was found, and said wrongly, beside each other."""
    files = []
    for path in paths:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        files.append({(r["shape"], r["fault"], r["seed"]): r for r in rows})
    both = sorted(set(files[0]).intersection(*files[1:]))
    for fault in FAULTS:
        keys = [key for key in both if key[1] == fault]
        if not keys:
            continue
        print(f"\n{fault}: {len(keys)} studies")
        for path, file in zip(paths, files, strict=True):
            tally, shapes = Counter[str](), defaultdict[str, Counter[str]](Counter)
            for key in keys:
                row = file[key]
                guilty = set(row["guilty"])
                for kind, named in row["said"].items():
                    if named is not None and set(named) - guilty:
                        tally[f"wrong {kind}"] += 1
                    elif named is None and kind != fault:
                        tally[kind] += 1
                accused = any(set(row["said"].get(kind) or ()) - guilty for kind in ACCUSED)
                tally["accused wrongly"] += accused
                shapes[key[0]]["accused"] += accused
                shapes[key[0]]["studies"] += 1
                found = row["said"].get(fault, [])
                tally["found"] += len(guilty & set(found or ())) if guilty else found is None
                tally["of"] += len(guilty) or fault == "camps"
                tally["seconds"] += row["seconds"]
            print(f"  {path.name}: {dict(tally)}")
            worst = sorted(shapes.items(), key=lambda each: -each[1]["accused"])[:5]
            print("   ", ", ".join(f"{s} {c['accused']}/{c['studies']}" for s, c in worst if c))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("findings", type=Path, nargs="?", help="file of what is found")
    parser.add_argument("--compare", type=Path, nargs=2, help="two such files")
    parser.add_argument("--studies", type=int, default=40, help="clean ones of each shape")
    parser.add_argument("--faulty", type=int, default=10, help="of each shape and fault")
    parser.add_argument("--faults", nargs="+", default=list(FAULTS), choices=FAULTS)
    parser.add_argument("--seed", type=int, default=1_000)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    if options.compare:
        compare(options.compare)
    elif options.findings:
        run(options.findings, options)
    else:
        parser.error("name a file, or --compare two")


if __name__ == "__main__":
    main()
