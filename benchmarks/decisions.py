"""Whether chances and verdicts are what they say, on studies with a known truth.

    python benchmarks/decisions.py [--studies N] [--jobs N] [--seed N] [--cells TEXT]

Each row is a kind of study: items × annotators × judgments each, the k of the top k, and what is
special about it. Of these chances is asked how often they come true:

* `top`: an item is among the first k of the annotators' exact consensus;
* `mean`: its consensus score is above the mean (a cut that has no unit);
* `cut`: it is half a spread above it (where the unit of the fit is that of the truth);
* `atc`, `fused`: the calibrated score that the exact consensus would give is above a cut;
* `truth`: with anchors, the true score is above that cut, while annotators share an error;
* `set`: the best set of k is right.

An item is in where the chance is .95 or more, out where it is .05 or less: of either, no more than
5% should be wrong. `grades` are marks whose interval crosses no boundary and whose grade is wrong
(level .95). Answers that depend on each other (copies, repeated questions) have to be found by the
check: `withdrawn` is the share of studies in which no chance is given then.
Results go to benchmarks/results/decisions.md and .svg.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from one_core import on_one_core_each
from scipy.special import expit

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.assessment import Assessment
from aggcal.data.judgments import Judgments

ERROR = 0.05
EDGES = np.array([0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0 + 1e-9])
KINDS = ("top", "mean", "cut", "atc", "fused", "truth", "set")
LOCATION, SCALE, MODEL_SD, CROWD_SD = 60.0, 10.0, 5.0, 3.0
GRADES = (45.0, 55.0, 65.0, 75.0)
CUT = 63.0
ANCHORS, FEWEST = 30, 40
"""Anchors, and the items of a study that has them: intervals at .95 take 19 of them."""
RESULTS = Path(__file__).parent / "results"
Pairs = tuple[FloatArray, FloatArray]
"""Chances, and what came true."""


@dataclass(frozen=True)
class Cell:
    """A kind of study."""

    items: int
    annotators: int
    each: int
    k: int = 0
    spread: float = 1.0
    shape: str = "normal"
    kind: str = "normal"
    design: str = "random"
    method: str = "hra-g"

    @property
    def top(self) -> int:
        """How many are in: a fifth, unless it is said."""
        return self.k or max(1, self.items // 5)

    @property
    def name(self) -> str:
        """What stands in the table."""
        size = f"{self.items} × {self.annotators} × {self.each}, top {self.top}"
        special = [
            f"spread {self.spread:g}" if self.spread != 1.0 else "",
            *(each for each in (self.shape, self.kind) if each != "normal"),
            self.design if self.design != "random" else "",
            self.method if self.method != "hra-g" else "",
        ]
        return ", ".join([size, *filter(None, special)])


def cells() -> Iterator[Cell]:
    """Yield every kind of study."""
    for k in (1, 10, 25):
        yield Cell(50, 20, 60, k)
    for spread in (0.2, 0.5, 2.0, 4.0):
        yield Cell(40, 15, 80, spread=spread)
    for shape in ("t3", "clusters", "uniform", "two groups", "one ahead", "skewed"):
        yield Cell(40, 15, 80, shape=shape)
    for kind in ("equal", "lognormal", "20% reversed", "20% guessing"):
        yield Cell(40, 15, 80, kind=kind)
    for size in ((8, 5, 2000), (6, 5, 40), (12, 5, 200), (20, 200, 5), (100, 30, 30)):
        yield Cell(*size)
    yield Cell(200, 40, 60, 10)
    yield Cell(30, 12, 100, design="chain")
    yield Cell(30, 12, 100, design="uneven")
    yield Cell(30, 12, 100, design="ties")
    yield Cell(30, 12, 100, kind="equal", method="btl")
    yield Cell(30, 12, 100, kind="copies")
    yield Cell(20, 8, 200, design="repeated")
    yield Cell(30, 12, 100, design="two parts")


def scores_of(cell: Cell, random: np.random.Generator) -> FloatArray:
    """Draw what the annotators agree on."""
    n = cell.items
    kinds: dict[str, Callable[[], FloatArray]] = {
        "normal": lambda: random.standard_normal(n),
        "t3": lambda: random.standard_t(3, n) / 3**0.5,
        "uniform": lambda: random.uniform(-(3**0.5), 3**0.5, n),
        "clusters": lambda: (
            np.linspace(-1.4, 1.4, 5)[random.integers(5, size=n)] + 0.05 * random.standard_normal(n)
        ),
        "two groups": lambda: (
            np.where(random.random(n) < 0.3, 1.2, -0.8) + 0.3 * random.standard_normal(n)
        ),
        "one ahead": lambda: np.append(2.5, 0.6 * random.standard_normal(n - 1)),
        "skewed": lambda: random.exponential(1.0, n),
    }
    drawn = kinds[cell.shape]()
    return np.asarray(cell.spread * (drawn - drawn.mean()))


def slopes_of(cell: Cell, random: np.random.Generator) -> FloatArray:
    """Draw how strongly each annotator follows it."""
    m, kind = cell.annotators, cell.kind
    slopes = np.maximum(1.0 + 0.4 * random.standard_normal(m), 0.05)
    if kind == "equal":
        return np.ones(m)
    if kind == "lognormal":
        return np.exp(0.6 * random.standard_normal(m) - 0.18)
    some = random.permutation(m)[: round(0.2 * m)]
    if kind.endswith("guessing"):
        slopes[some] = 0.0
    elif kind.endswith("reversed"):
        slopes[some] *= -1.0
    return slopes


def pairs_of(cell: Cell, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw who is compared with whom."""
    n, number = cell.items, cell.annotators * cell.each
    weight = np.ones(n)
    if cell.design == "uneven":
        weight = np.exp(1.5 * random.standard_normal(n))
    first = random.choice(n, number, p=weight / weight.sum())
    if cell.design == "chain":
        step = random.choice([-2, -1, 1, 2], number)
        return first, (first + step) % n
    if cell.design == "two parts":
        half = n // 2
        return first, (first % half + random.integers(1, half, number)) % half + half * (
            first // half
        )
    if cell.design == "repeated":
        asked = random.integers(n, size=(60, 2))
        asked[:n] = np.column_stack([np.arange(n), (np.arange(n) + 1) % n])[: len(asked)]
        asked = asked[asked[:, 0] != asked[:, 1]]
        chosen = asked[random.integers(len(asked), size=number)]
        return chosen[:, 0], chosen[:, 1]
    return first, (first + random.integers(1, n, number)) % n


def simulated(cell: Cell, random: np.random.Generator) -> tuple[Judgments, FloatArray, float]:
    """Return judgments, what the annotators agree on, and the typical reliability."""
    while True:
        scores, slopes = scores_of(cell, random), slopes_of(cell, random)
        owner = np.repeat(np.arange(cell.annotators), cell.each)
        first, second = pairs_of(cell, random)
        gap = scores[first] - scores[second]
        if cell.design == "repeated":
            # The same question has something of its own, which all annotators see.
            own = {}
            keys = np.minimum(first, second) * cell.items + np.maximum(first, second)
            for key in np.unique(keys).tolist():
                own[key] = 0.8 * random.standard_normal()
            turn = np.where(first < second, 1.0, -1.0)
            gap = gap + turn * np.array([own[key] for key in keys.tolist()])
        left = random.random(len(gap)) < expit(slopes[owner] * gap)
        if cell.kind == "copies":
            # Half of the annotators hand in what the first of them answered.
            for u in range(1, cell.annotators // 2):
                mine, theirs = owner == u, owner == 0
                first[mine], second[mine], left[mine] = first[theirs], second[theirs], left[theirs]
        if len(np.unique(np.concatenate([first, second]))) == cell.items:
            break
    winner, loser = np.where(left, first, second), np.where(left, second, first)
    codes = [c.astype(np.int32) for c in (owner, winner, loser)]
    if cell.design == "ties":
        names = [(str(u), str(i), str(j)) for u, i, j in np.stack(codes, axis=1)]
        level = random.random(len(gap)) < 0.35 * np.exp(-(gap**2))
        words = np.where(level, "tie", "left")
        rows = [(*row, word) for row, word in zip(names, words.tolist(), strict=True)]
        return aggcal.read_judgments(rows), scores, float(np.abs(slopes).mean())
    return Judgments.of_codes(*codes), scores, float(np.abs(slopes).mean())


def measured(task: tuple[Cell, int]) -> dict[str, Any]:
    """Assess one study and hold what it says against the truth."""
    cell, seed = task
    warnings.simplefilter("ignore")
    random = np.random.default_rng([seed, crc32(cell.name.encode())])
    judgments, scores, typical = simulated(cell, random)
    ids = judgments.item_ids.tolist()
    exact = scores[[int(item) for item in ids]]
    result = aggcal.assess(judgments, method=cell.method, warn=False, seed=seed)
    if cell.design in ("repeated", "two parts") or cell.kind == "copies":
        result = result.with_advice()
    found: dict[str, Any] = {"withdrawn": False}
    top = _by(result.decide(top=cell.top), "p_top_k", ids)
    if np.isnan(top).all():
        return {"withdrawn": True}
    order = np.argsort(-exact, kind="stable")
    among = np.isin(np.arange(len(ids)), order[: cell.top])
    found["top"] = (top, among)
    best = result.decide(top=cell.top)
    right = {ids[k] for k in order[: cell.top]} == set(best.best)
    if best.best_probability is not None:
        found["set"] = (np.array([best.best_probability]), np.array([right]))
    unit = typical * (exact - exact.mean())
    found["mean"] = (_by(result.decide(cut=0.0), "p_above", ids), unit > 0.0)
    half = 0.5 * cell.spread
    if cell.kind == "equal":
        found["cut"] = (_by(result.decide(cut=half), "p_above", ids), unit > half)
    return found | _calibrated(judgments, exact, ids, random, task)


def _calibrated(
    judgments: Judgments,
    exact: FloatArray,
    ids: list[str],
    random: np.random.Generator,
    task: tuple[Cell, int],
) -> dict[str, Any]:
    """Hold the chances of calibrated scores against what they are about."""
    n, found = len(ids), dict[str, Any]()
    cell, seed = task
    spread = exact / cell.spread
    crowd = CROWD_SD * random.standard_normal(n)
    truth = LOCATION + SCALE * spread + crowd
    model = truth + MODEL_SD * random.standard_normal(n)
    table = dict(zip(ids, model.tolist(), strict=True))
    for name in ("atc", "fused"):
        result = aggcal.assess(
            judgments, _rows(table), method=cell.method, calibrator=name, warn=False, seed=seed
        )
        said = result.decide(cut=CUT, grades=GRADES)
        goal = _exact_scores(result, exact, ids)
        found[name] = (_by(said, "p_above", ids), goal > CUT)
        if name == "atc":
            doubt = dict(zip(said.item_ids.tolist(), said.columns["uncertain"], strict=True))
            own = dict(zip(said.item_ids.tolist(), said.columns["grade"], strict=True))
            sure = np.array([doubt[item] is False for item in ids])
            names = [f"below {GRADES[0]:g}", *(f"{a:g} to" for a in GRADES[:-1])]
            grade = np.searchsorted(np.array(GRADES), goal, side="right")
            starts = [*names, f"{GRADES[-1]:g} and"]
            wrong = [not own[i].startswith(starts[g]) for i, g in zip(ids, grade, strict=True)]
            found["grades"] = (sure, np.array(wrong) & sure)
    if n >= FEWEST:
        some = random.permutation(n)[: min(ANCHORS, n // 2)]
        known = {ids[k]: float(truth[k]) for k in some}
        result = aggcal.assess(
            judgments, _rows(table), anchors=known, method=cell.method, warn=False, seed=seed
        )
        others = np.setdiff1d(np.arange(n), some)
        chance = _by(result.decide(cut=CUT), "p_above", ids)
        found["truth"] = (chance[others], truth[others] > CUT)
    return found


def _rows(table: dict[str, float]) -> list[tuple[str, float]]:
    return list(table.items())


def _exact_scores(result: Assessment, exact: FloatArray, ids: list[str]) -> FloatArray:
    """Return what calibration makes of the exact consensus."""
    calibration = result.calibration
    if calibration is None:
        raise RuntimeError("nothing was calibrated")
    inputs = calibration.inputs
    at = calibration.calibrator.on_exact(inputs, calibration.calibrator.calibrate(inputs))
    place = {item: k for k, item in enumerate(ids)}
    order = [place[item] for item in inputs.item_ids.tolist()]
    values = at(exact[order])
    back = np.empty(len(ids))
    back[order] = values
    return back


def _by(decisions: Any, column: str, ids: list[str]) -> FloatArray:
    known = dict(zip(decisions.item_ids.tolist(), decisions.columns[column], strict=True))
    return np.array([known[item] for item in ids], dtype=np.float64)


def wrong_verdicts(pairs: list[Pairs]) -> str:
    """Return the shares of wrong verdicts, in and out, with how many there are."""
    chance, hit = (np.concatenate(part) for part in zip(*pairs, strict=True))
    inside, outside = chance >= 1.0 - ERROR - 1e-12, chance <= ERROR + 1e-12
    said = []
    for which, odd in ((inside, ~hit), (outside, hit)):
        said.append(f"{odd[which].mean():.3f}" if which.any() else "–")
    return f"{said[0]} / {said[1]}"


def bins(pairs: list[Pairs]) -> list[tuple[float, float, float, int]]:
    """Return stated and observed share of each bin, its standard error by study, and how many."""
    found = []
    for low, high in pairwise(EDGES.tolist()):
        stated, came, off = 0.0, 0.0, 0.0
        number = 0
        for chance, hit in pairs:
            here = (chance >= low) & (chance < high)
            stated += float(chance[here].sum())
            came += float(hit[here].sum())
            off += float((hit[here] - chance[here]).sum()) ** 2
            number += int(here.sum())
        if number:
            found.append((stated / number, came / number, off**0.5 / number, number))
        else:
            found.append((np.nan, np.nan, np.nan, 0))
    return found


def calibration_error(pairs: list[Pairs]) -> str:
    """Return the mean distance of stated and observed shares, weighted by the bins."""
    rows = [row for row in bins(pairs) if row[3]]
    total = sum(row[3] for row in rows)
    return f"{sum(row[3] * abs(row[0] - row[1]) for row in rows) / total:.3f}"


def diagram(every: dict[str, list[Pairs]]) -> str:
    """Draw the observed shares against the stated ones."""
    colours = ("#1f6feb", "#bf8700", "#8a8f98", "#1a7f37", "#d1242f", "#8250df", "#1f2328")
    frame = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 440 360" font-family="sans-serif" '
        'font-size="11"><rect width="440" height="360" fill="#fff"/>'
        '<path d="M50 310L330 30" stroke="#8a8f98" stroke-dasharray="3 3"/>'
        '<path d="M50 30V310H330" fill="none" stroke="#1f2328"/>'
    )
    parts = [frame]
    for k in range(6):
        x, y = 50 + 56 * k, 310 - 56 * k
        parts.append(f'<text x="{x}" y="326" text-anchor="middle">{k / 5:g}</text>')
        parts.append(f'<text x="44" y="{y + 4}" text-anchor="end">{k / 5:g}</text>')
    parts.append('<text x="190" y="346" text-anchor="middle">stated</text>')
    parts.append('<text x="14" y="170" transform="rotate(-90 14 170)">came true</text>')
    for n, (kind, colour) in enumerate(zip(KINDS, colours, strict=True)):
        rows = [row for row in bins(every[kind]) if row[3]] if every[kind] else []
        at = [(50 + 280 * row[0], 310 - 280 * row[1]) for row in rows]
        line = "L".join(f"{x:.1f} {y:.1f}" for x, y in at)
        parts.append(f'<path d="M{line}" fill="none" stroke="{colour}"/>' if at else "")
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in at]
        parts.append(f'<text x="350" y="{60 + 18 * n}" fill="{colour}">{kind}</text>')
    return "".join(parts) + "</svg>\n"


def line_of(cell: Cell, rows: list[dict[str, Any]]) -> tuple[str, dict[str, list[Pairs]]]:
    """Return the line of a kind of study, and its chances."""
    pairs = {kind: [row[kind] for row in rows if kind in row] for kind in KINDS}
    parts = [f"{np.mean([row['withdrawn'] for row in rows]):.2f}"]
    for kind in KINDS[:-1]:
        told = pairs[kind]
        parts.append(f"{wrong_verdicts(told)} ({calibration_error(told)})" if told else "")
    sets = pairs["set"]
    stated, right = (np.mean([each[n] for each in sets]) if sets else np.nan for n in (0, 1))
    parts.append(f"{stated:.2f} / {right:.2f}" if sets else "")
    grades = [row["grades"] for row in rows if "grades" in row]
    sure, wrong = (sum(int(each[n].sum()) for each in grades) for n in (0, 1))
    parts.append(f"{wrong / sure:.3f}" if sure else "")
    return f"| {cell.name} | {' | '.join(parts)} |", pairs


def main() -> None:
    """Run all kinds of studies and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cells", default="", help="only those whose name has this in it")
    parser.add_argument("--output", default=str(RESULTS / "decisions.md"))
    options = parser.parse_args()
    title = (
        f"Decisions in {options.studies} simulated studies a row, seed {options.seed}. Of each "
        "kind of chance: wrong verdicts in / out at a stated error of 0.05, and in brackets the "
        "mean distance of stated and observed shares. A study is items × annotators × judgments "
        "each."
    )
    lines = [
        title,
        "",
        "| study | withdrawn | " + " | ".join(KINDS[:-1]) + " | set: stated / right | grades |",
        "|---|" + "---|" * (len(KINDS) + 2),
    ]
    print("\n".join(lines), flush=True)
    every: dict[str, list[Pairs]] = {kind: [] for kind in KINDS}
    with on_one_core_each(options.jobs) as pool:
        for cell in cells():
            if options.cells not in cell.name:
                continue
            tasks = [(cell, 1000 * options.seed + k) for k in range(options.studies)]
            line, pairs = line_of(cell, list(pool.map(measured, tasks)))
            lines.append(line)
            print(line, flush=True)
            for kind in KINDS:
                every[kind] += pairs[kind]
    lines += ["", "All studies together: stated → came true (± one standard error by study).", ""]
    heads = [f"{a:g} to {b:g}" for a, b in zip(EDGES[:-1], np.round(EDGES[1:], 3), strict=True)]
    lines += ["| chance | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    for kind in KINDS:
        if every[kind]:
            cell_texts = [
                f"{a:.3f} → {b:.3f} ± {se:.3f}" if n else "" for a, b, se, n in bins(every[kind])
            ]
            lines.append(f"| {kind} | " + " | ".join(cell_texts) + " |")
    print("\n".join(lines[-len(KINDS) - 4 :]))
    target = Path(options.output)
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    target.with_suffix(".svg").write_text(diagram(every), encoding="utf-8")


if __name__ == "__main__":
    main()
