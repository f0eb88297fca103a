"""What suggested pairs save against random ones.

    python benchmarks/suggest.py [--jobs 2] [--only 0 1 ...] [-o benchmarks/results/suggest.md]
    python benchmarks/suggest.py --batches [--studies 8] [-o benchmarks/results/suggest-batches.md]

Every way of choosing starts from the same judgments of a simulated study (two per item), then asks
in batches. In each batch every annotator is asked the same number of pairs, whatever the way; the
answers are simulated, and the consensus is fitted again from the one before. The score is Kendall's
tau with the latent truth. Judgments needed for a tau are read off the mean curve over seeds;
standard errors come from resampling the seeds.

The second command asks in batches of one size, 20, 80 or 160 pairs: the larger the batch, the less
is known when its last pairs are chosen.

Apart from that, one table lets ``suggest`` choose whom to ask as well, and one measures what a
wrong order does to calibrated scores.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

import aggcal
from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.tables import as_text
from aggcal.advice.suggest.beliefs import Beliefs
from aggcal.aggregation.covariance import DenseCovariance
from aggcal.aggregation.links import link
from aggcal.calibration.project import project
from aggcal.simulation import Simulation, simulate

WAYS = {
    "random": "random pairs",
    "even": "random pairs, the least judged item first",
    "neighbours": "neighbours in the current ranking",
    "drawn neighbours": "neighbours in a ranking drawn from the posterior",
    "suggest, anybody": "`aggcal suggest`, not told whom it asks",
    "suggest": "`aggcal suggest --per-annotator`, told whom it asks",
}
PEOPLE = {
    "random": "random pairs, every annotator asked as often",
    "random, reliable": "random pairs, the annotators that suggest would ask",
    "suggest": "suggested pairs, every annotator asked as often",
    "suggest, reliable": "suggested pairs and annotators, each asked twice as often at most",
}
RESAMPLED = 400
FRESH = 1000
"""The criterion was chosen on studies of lower seeds."""
SIGMA = link("logistic").probability


@dataclass(frozen=True)
class Shape:
    """A study to simulate: how many judgments are asked in all, and over how many seeds."""

    items: int
    annotators: int
    judgments: int
    seeds: int
    spread: float = 1.0
    """Standard deviation of the latent scores."""
    ways: tuple[str, ...] = tuple(WAYS)
    batch: int | None = None
    """Pairs asked at once; None: half the items, later a sixteenth of what was asked."""
    targets: tuple[float, ...] = (0.7, 0.8, 0.85, 0.9)


_FEW = ("random", "neighbours", "suggest")
SHAPES = (
    Shape(30, 20, 3000, 24),
    Shape(100, 30, 9500, 8, ways=("random", "neighbours", "drawn neighbours", "suggest")),
    Shape(100, 30, 5000, 10, spread=2.0, ways=_FEW, targets=(0.8, 0.85, 0.9, 0.92)),
    Shape(300, 30, 12000, 3, spread=2.0, ways=_FEW, targets=(0.8, 0.85, 0.9)),
)
PEOPLE_SHAPE = Shape(
    100, 30, 4600, 8, spread=2.0, ways=tuple(PEOPLE), targets=(0.8, 0.85, 0.9, 0.92)
)
BATCHES = (20, 80, 160)
BATCH_SHAPES = (
    Shape(60, 20, 1900, 8, targets=(0.75, 0.8)),
    Shape(60, 20, 1300, 8, spread=2.0, targets=(0.8, 0.85)),
)
SCORES_SHAPE = Shape(100, 30, 3000, 8, ways=("random", "suggest", "suggest --about scores"))


HEAD = """# What suggested pairs save

Made by `python benchmarks/suggest.py -o benchmarks/results/suggest.md`. Judgments needed for a
mean tau with the latent truth; in brackets, those over the judgments that random pairs need, ± a
standard error by resampling the studies. Every annotator is asked as often, whatever the way,
unless a table says otherwise. Scores of sd 1 and 2 are on the scale on which an annotator of mean
reliability decides by a logistic coin."""


BATCH_HEAD = """\
Judgments that `aggcal suggest --per-annotator` needs for a mean tau with the latent truth, over
those that random pairs need, by the size of a batch: {items} items, 20 annotators, {studies}
simulated studies, ± a standard error by resampling them. Made by
`python benchmarks/suggest.py --batches`."""


class Study:
    """One simulated study, and the answers that its annotators would give."""

    def __init__(self, shape: Shape, seed: int) -> None:
        made = simulate(items=shape.items, annotators=shape.annotators, judgments=1, seed=seed)
        self.made: Simulation = made
        self.latent = shape.spread * made.latent
        self.shape, self.seed = shape, seed
        random = np.random.default_rng([seed, 1])
        ring = random.permutation(shape.items)
        first = random.integers(shape.items, size=shape.items)
        second = (first + random.integers(1, shape.items, size=shape.items)) % shape.items
        self.rows = np.empty((3, 0), dtype=np.int64)
        self.consensus: aggcal.Consensus | None = None
        one = np.concatenate([ring, first])
        everybody = np.arange(len(one)) % shape.annotators
        self.ask(one, np.concatenate([np.roll(ring, 1), second]), everybody)

    def ask(self, one: IntArray, other: IntArray, who: IntArray) -> None:
        """Simulate answers and fit again."""
        luck = np.random.default_rng([self.seed, 3, self.rows.shape[1]]).random(len(one))
        gap = self.latent[one] - self.latent[other]
        wins = luck < SIGMA(self.made.reliability[who] * gap)
        more = np.stack([who, np.where(wins, one, other), np.where(wins, other, one)])
        self.rows = np.concatenate([self.rows, more], axis=1)
        self.consensus = aggcal.aggregate(self.judgments, start=self.consensus, warn=False)

    @property
    def judgments(self) -> aggcal.Judgments:
        """What was answered so far."""
        order = np.argsort(self.rows[0], kind="stable")
        who, winner, loser = self.rows[:, order].astype(np.int32)
        return aggcal.Judgments.of_codes(who, winner, loser)

    @property
    def fitted(self) -> aggcal.Consensus:
        """The consensus of that."""
        if self.consensus is None:
            raise RuntimeError("nothing was asked yet")
        return self.consensus

    def batches(self) -> Iterator[tuple[int, np.random.Generator]]:
        """Go on until enough was asked; tell how many pairs each annotator is asked next."""
        m = self.shape.annotators
        while (asked := self.rows.shape[1]) < self.shape.judgments:
            number = self.shape.batch or max(self.shape.items / 2, asked / 16)
            yield max(1, round(number / m)), np.random.default_rng([self.seed, 4, asked])

    @property
    def tau(self) -> float:
        """How well its order agrees with the truth."""
        return float(kendalltau(self.fitted.scores, self.latent).statistic)


Pairs = tuple[IntArray, IntArray]


def at_random(n: int, number: int, random: np.random.Generator) -> Pairs:
    first = random.integers(n, size=number)
    return first, (first + random.integers(1, n, size=number)) % n


def evenly(study: Study, number: int, random: np.random.Generator) -> Pairs:
    n = study.shape.items
    seen = np.bincount(study.rows[1:].ravel(), minlength=n).astype(float)
    one, other = np.empty(number, dtype=np.int64), np.empty(number, dtype=np.int64)
    for k in range(number):
        one[k] = np.argmin(seen + random.random(n))
        other[k] = (one[k] + random.integers(1, n)) % n
        seen[one[k]] += 1
        seen[other[k]] += 1
    return one, other


def neighbours(scores: FloatArray, number: int, random: np.random.Generator) -> Pairs:
    order, at = np.argsort(-scores), random.integers(len(scores) - 1, size=number)
    return order[at], order[at + 1]


def drawn_neighbours(study: Study, number: int, random: np.random.Generator) -> Pairs:
    known = Beliefs.of(study.judgments, study.fitted, None, as_text([]))
    if known.covariance is None:
        raise RuntimeError("too many items")
    draws = DenseCovariance(known.covariance).draws(number, random)
    found = [neighbours(known.scores + draw, 1, random) for draw in draws]
    return np.concatenate([p[0] for p in found]), np.concatenate([p[1] for p in found])


def suggested(
    study: Study, each: int, most: int, seed: int, scores: aggcal.Scores | None = None
) -> tuple[Pairs, IntArray]:
    found = aggcal.suggest_pairs(
        study.judgments,
        scores,
        about="order" if scores is None else "scores",
        n=each * study.shape.annotators,
        annotators=study.judgments.annotator_ids.tolist(),
        per_annotator=most,
        consensus=study.fitted,
        seed=seed,
    )
    if found.annotator is None:
        raise RuntimeError("nobody was named")
    left, right, who = (c.astype(np.int64) for c in (found.left, found.right, found.annotator))
    return (left, right), who


def choose(
    study: Study, way: str, each: int, random: np.random.Generator
) -> tuple[Pairs, IntArray]:
    """Choose the pairs of a batch, and who judges them."""
    n, m = study.shape.items, study.shape.annotators
    number, who = each * m, np.tile(np.arange(m), each)
    if way == "even":
        pairs = evenly(study, number, random)
    elif way == "neighbours":
        pairs = neighbours(study.fitted.scores, number, random)
    elif way == "drawn neighbours":
        pairs = drawn_neighbours(study, number, random)
    elif way == "random":
        pairs = at_random(n, number, random)
    elif way == "suggest, anybody":
        seed = int(random.integers(1 << 31))
        found = aggcal.suggest_pairs(study.judgments, n=number, consensus=study.fitted, seed=seed)
        pairs = found.left.astype(np.int64), found.right.astype(np.int64)
        # Its best pairs come first: nobody shall have them because of a low number.
        who = random.permutation(who)
    else:
        seed, most = int(random.integers(1 << 31)), each
        model = None
        if way.endswith("scores"):
            model = aggcal.Scores(as_text(range(n)), study.made.model)
        elif way.endswith("reliable"):
            most = 2 * each
        pairs, who = suggested(study, each, most, seed, model)
        if way.startswith("random"):
            pairs = at_random(n, number, random)
    return pairs, who


def curve(task: tuple[Shape, str, int]) -> list[tuple[int, float]]:
    """Return judgments and tau, batch by batch."""
    shape, way, seed = task
    study = Study(shape, seed)
    found = [(study.rows.shape[1], study.tau)]
    for each, random in study.batches():
        study.ask(*_flat(choose(study, way, each, random)))
        found.append((study.rows.shape[1], study.tau))
    return found


def _flat(batch: tuple[Pairs, IntArray]) -> tuple[IntArray, IntArray, IntArray]:
    (one, other), who = batch
    return one, other, who


def distances(task: tuple[Shape, str, int]) -> list[tuple[int, float]]:
    """Return judgments and the mean square of what a wrong order does to calibrated scores."""
    shape, way, seed = task
    study = Study(shape, seed)
    right = project(study.latent, study.made.model)[0]

    def off() -> float:
        return float(np.mean((project(study.fitted.scores, study.made.model)[0] - right) ** 2))

    found = [(study.rows.shape[1], off())]
    for each, random in study.batches():
        study.ask(*_flat(choose(study, way, each, random)))
        found.append((study.rows.shape[1], off()))
    return found


def needed(curves: list[list[tuple[int, float]]], target: float) -> float:
    """Return the judgments at which the mean curve reaches a tau; infinite if it does not."""
    at = np.array([number for number, _ in curves[0]], dtype=float)
    mean = np.maximum.accumulate(np.mean([[tau for _, tau in c] for c in curves], axis=0))
    if mean[-1] < target:
        return np.inf
    return float(np.interp(target, mean, at))


def ratio(
    ours: list[list[tuple[int, float]]], random: list[list[tuple[int, float]]], target: float
) -> tuple[float, float]:
    """Return judgments over those of random pairs, and its standard error."""
    picks = np.random.default_rng(0).integers(len(ours), size=(RESAMPLED, len(ours)))
    found = []
    for pick in picks:
        mine = needed([ours[k] for k in pick], target)
        theirs = needed([random[k] for k in pick], target)
        if np.isfinite(mine) and np.isfinite(theirs):
            found.append(mine / theirs)
    error = float(np.std(found)) if len(found) > RESAMPLED // 2 else np.nan
    return needed(ours, target) / needed(random, target), error


def limit(spread: float) -> float:
    """Return the share of random pairs' judgments below which choosing pairs cannot get.

    For many judgments tau lacks what items are off by, each times how many others are near it:
    E[ρ(s) / √(k(s) w(s))], with the density ρ of the items, k judgments of an item at s and the
    information w of each. Random pairs have the same k everywhere and w(s) = E[p(1 − p)]; the best
    choice has w = 1/4, a coin's, and k in proportion to ρ^(2/3).
    """
    z = np.linspace(-6.0, 6.0, 2001)
    share = np.exp(-z * z / 2.0)
    share /= share.sum()
    chance = SIGMA(spread * (z[:, None] - z[None, :]))
    told = (chance * (1.0 - chance)) @ share
    random = float(share @ (share / np.sqrt(told)))
    best = float(share @ share ** (2.0 / 3.0)) ** 1.5 / 0.5
    return float((best / random) ** 2)


def table(
    shape: Shape, names: dict[str, str], found: dict[str, list[list[tuple[int, float]]]]
) -> str:
    lines = [
        "| pairs | " + " | ".join(f"tau {t:g}" for t in shape.targets) + " |",
        "|---" * (len(shape.targets) + 1) + "|",
    ]
    for way in shape.ways:
        cells = []
        for target in shape.targets:
            number = needed(found[way], target)
            if not np.isfinite(number):
                cells.append(f"more than {found[way][0][-1][0]:,}")
                continue
            cell = f"{number:,.0f}"
            if way != "random" and np.isfinite(needed(found["random"], target)):
                share, error = ratio(found[way], found["random"], target)
                cell += f" (**{share:.2f}** ± {error:.2f})"
            cells.append(cell)
        lines.append(f"| {names[way]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def numbers(shape: Shape, found: dict[str, list[list[tuple[int, float]]]]) -> str:
    at = [number for number, _ in found[shape.ways[0]][0]]
    shown = sorted({round(k) for k in np.linspace(0, len(at) - 1, 12)})
    lines = [
        "| judgments | " + " | ".join(shape.ways) + " |",
        "|---" * (len(shape.ways) + 1) + "|",
    ]
    for k in shown:
        means = [np.mean([c[k][1] for c in found[way]]) for way in shape.ways]
        lines.append(f"| {at[k]:,} | " + " | ".join(f"{m:.3f}" for m in means) + " |")
    return "\n".join(lines)


def by_batch(pool: ProcessPoolExecutor, studies: int) -> str:
    """Return the table of judgments needed over those of random pairs, by the size of a batch."""
    cells: dict[int, list[str]] = {batch: [] for batch in BATCHES}
    heads = []
    for shape in BATCH_SHAPES:
        seeds = range(FRESH, FRESH + studies)
        # Random pairs are the same whatever the batch.
        asked = [("random", 80), *(("suggest", batch) for batch in BATCHES)]
        tasks = [(replace(shape, batch=b), way, k) for way, b in asked for k in seeds]
        every = list(pool.map(curve, tasks))
        curves = [every[k * studies : (k + 1) * studies] for k in range(len(asked))]
        for target in shape.targets:
            number = needed(curves[0], target)
            heads.append(f"sd {shape.spread:g}, tau {target:g} (random: {number:,.0f})")
            for batch, ours in zip(BATCHES, curves[1:], strict=True):
                share, error = ratio(ours, curves[0], target)
                cells[batch].append(f"{share:.2f} ± {error:.2f}")
    lines = [
        BATCH_HEAD.format(items=BATCH_SHAPES[0].items, studies=studies),
        "",
        "| pairs asked at once | " + " | ".join(heads) + " |",
        "|---" * (len(heads) + 1) + "|",
    ]
    lines += [f"| {batch} | " + " | ".join(cells[batch]) + " |" for batch in BATCHES]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=int, nargs="*")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--batches", action="store_true", help="only by the size of a batch")
    parser.add_argument("--studies", type=int, default=8, help="of each batch size")
    options = parser.parse_args()
    if options.batches:
        with ProcessPoolExecutor(options.jobs) as pool:
            made = by_batch(pool, options.studies)
        print(made)
        if options.output is not None:
            options.output.write_text(made + "\n", encoding="utf-8")
        return
    parts = []
    jobs = [(curve, shape, WAYS) for shape in SHAPES]
    jobs.append((curve, PEOPLE_SHAPE, PEOPLE))
    jobs.append((distances, SCORES_SHAPE, {}))
    with ProcessPoolExecutor(options.jobs) as pool:
        for number, (work, shape, names) in enumerate(jobs):
            if options.only is not None and number not in options.only:
                continue
            seeds = shape.seeds
            tasks = [(shape, way, FRESH + k) for way in shape.ways for k in range(seeds)]
            every = list(pool.map(work, tasks))
            found = {w: every[k * seeds : (k + 1) * seeds] for k, w in enumerate(shape.ways)}
            title = (
                f"{shape.items} items of sd {shape.spread:g}, {shape.annotators} annotators, "
                f"{seeds} seeds"
            )
            part = [f"### {title}"]
            if names:
                bound = (
                    "In the long run no choice of pairs alone can do with less than "
                    f"{limit(shape.spread):.2f} of the judgments of random pairs."
                )
                part += [bound, table(shape, names, found), "Mean tau:"]
            else:
                part += ["Mean square of what a wrong order does to calibrated scores:"]
            parts.append("\n\n".join([*part, numbers(shape, found)]))
            print(parts[-1], flush=True)
    if options.output is not None:
        options.output.write_text("\n\n".join([HEAD, *parts]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
