"""How far the first screen of a report can be trusted, on studies with a known truth.

    python benchmarks/trust.py [--studies N] [--shapes TEXT] [--processes N]

Each row is a shape of study: how many items, annotators and judgments, and what is special about
it. Every study is assessed, checked and reported as a user would, and the report's first screen is
held against the true scores: the items that could be the best, the items in and out of the top k,
the pairs told apart, and the chip. *Clean* shapes follow the model (annotators differ in
reliability, answers are independent); *dirty* ones do not.
Results go to benchmarks/results/trust.md.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from one_core import on_one_core_each

import aggcal
from aggcal._core.arrays import FloatArray, IntArray
from aggcal.aggregation.consensus import Consensus
from aggcal.report.head import trust
from aggcal.report.results import listing
from aggcal.report.run import Run

FIRST_SEED = 31_000_000
RESULTS = Path(__file__).parent / "results" / "trust.md"
EDGES = np.array([0.0, 0.011, 0.055, 0.2, 0.5, 0.8, 0.945, 0.989, 1.001])
"""Bins of probabilities; as whole percents: up to 1, 2-5, 6-19, ..., 95-98, 99 and more."""
MEANS = (
    "20 items, 20 annotators, 100 judgments each unless said. In and out: shares of items that the "
    "report calls in or out of the top 1, 5, 10 and n/4 and that truly are."
)
CHIP_HEAD = (
    "| chip | clean studies | best among those named | in: right | out: right "
    "| dirty studies | best among those named | in: right | out: right |"
)
CHIPS = ("Sound", "Use with care", "Not ready")
BINS = ("0–1%", "2–5%", "6–19%", "20–49%", "50–79%", "80–94%", "95–98%", "99–100%")


class Tally(defaultdict[str, float]):
    """Sums by name; what was never added is 0."""

    def __init__(self, values: Mapping[str, float] | None = None) -> None:
        super().__init__(float, values or {})

    def __reduce__(self) -> tuple[type[Tally], tuple[dict[str, float]]]:
        return Tally, (dict(self),)

    def add(self, other: Mapping[str, float]) -> None:
        """Add the sums of another."""
        for key, value in other.items():
            self[key] += value


@dataclass(frozen=True)
class Shape:
    """A shape of study.

    ``spread`` is the sd of the true scores and ``scores`` their distribution; ``design`` says which
    pairs are asked. ``reversed_share``, ``guessing`` and ``one_sided`` are shares of annotators,
    ``camp`` that of annotators with true scores of their own; ``copies`` is how many others give
    each annotator's answers once more, ``again`` how often an annotator answers each question,
    ``remembered`` whether with the same answer, ``pair_sd`` the sd of an effect that all answers to
    a pair share, ``tie`` the half-width of gaps that an annotator calls a tie.
    """

    name: str
    items: int = 20
    annotators: int = 20
    each: int = 100
    spread: float = 1.0
    scores: str = "normal"
    design: str = "random"
    reversed_share: float = 0.0
    guessing: float = 0.0
    one_sided: float = 0.0
    camp: float = 0.0
    copies: int = 0
    again: int = 1
    remembered: bool = False
    pair_sd: float = 0.0
    tie: float = 0.0
    components: int = 1

    @property
    def clean(self) -> bool:
        """Whether answers follow the model and no annotator is bad."""
        bad = self.reversed_share + self.guessing + self.one_sided + self.camp + self.pair_sd
        return not (bad or self.copies or self.remembered or self.components > 1)


SHAPES = (
    Shape("20 items, 20 annotators x 100"),
    Shape("8 items, 5 annotators x 3,000", items=8, annotators=5, each=3000),
    Shape("2 items, 6 annotators x 10", items=2, annotators=6, each=10),
    Shape("3 items, 5 annotators x 12", items=3, annotators=5, each=12),
    Shape("5 items, 5 annotators x 40", items=5, annotators=5, each=40),
    Shape("30 items, 5 judges x 400", items=30, annotators=5, each=400),
    Shape("20 items, 200 annotators x 10", annotators=200, each=10),
    Shape("each question asked 3 times", each=40, again=3),
    Shape("a third are ties", tie=0.7),
    Shape("two equal leaders", scores="equal leaders"),
    Shape("two equal leaders, 8 items x 5 x 3,000", items=8, annotators=5, each=3000,
          scores="equal leaders"),
    Shape("heavy tails (t with 3 df)", scores="t3"),
    Shape("two groups of items", scores="two groups"),
    Shape("tight clusters, 50 items", items=50, scores="clusters"),
    Shape("spread 0.2", spread=0.2),
    Shape("spread 0.2, 8 items x 5 x 3,000", items=8, annotators=5, each=3000, spread=0.2),
    Shape("spread 3", spread=3.0),
    Shape("an item that never loses", scores="far ahead"),
    Shape("2 judgments an item (a ring), 60 items", items=60, annotators=6, each=10,
          design="ring"),
    Shape("only near neighbours compared, 60 items", items=60, annotators=20, each=90,
          design="neighbours"),
    Shape("200 items, 20 annotators x 100", items=200, annotators=20, each=100),
    Shape("200 items, 40 annotators x 500", items=200, annotators=40, each=500),
    Shape("1,000 items, 50 annotators x 200", items=1000, annotators=50, each=200),
    Shape("a third reversed", reversed_share=1 / 3),
    Shape("20% guess", guessing=0.2),
    Shape("35% guess", guessing=0.35),
    Shape("50% guess", guessing=0.5),
    Shape("50% guess, 200 annotators x 10", annotators=200, each=10, guessing=0.5),
    Shape("20% answer one side", one_sided=0.2),
    Shape("every answer copied 3 times", annotators=10, copies=3),
    Shape("every answer copied 3 times, 5 x 40", items=8, annotators=5, each=40, copies=3),
    Shape("two camps, 30% the other", camp=0.3),
    Shape("two camps, 45% the other", camp=0.45),
    Shape("each question answered 3 times the same", each=40, again=3, remembered=True),
    Shape("pair effects of sd 0.5", pair_sd=0.5),
    Shape("pair effects of sd 0.5, 8 items x 5 x 3,000", items=8, annotators=5, each=3000,
          pair_sd=0.5),
    Shape("two components", components=2),
)  # fmt: skip


def true_scores(shape: Shape, random: np.random.Generator) -> FloatArray:
    """Draw the true scores: their spread is that of the population, not of the sample."""
    n = shape.items
    drawn = random.standard_normal(n)
    if shape.scores == "t3":
        drawn = random.standard_t(3, n) / np.sqrt(3.0)
    elif shape.scores == "two groups":
        drawn = np.where(random.random(n) < 0.5, 1.0, -1.0) + 0.3 * drawn
    elif shape.scores == "clusters":
        drawn = drawn[random.integers(5, size=n)] + 0.05 * random.standard_normal(n)
    elif shape.scores == "equal leaders":
        first, second = np.argsort(-drawn)[:2]
        drawn[second] = np.nextafter(drawn[first], -np.inf)
    elif shape.scores == "far ahead":
        drawn[random.integers(n)] = drawn.max() + 8.0
    return np.asarray(shape.spread * drawn)


def asked_pairs(shape: Shape, truth: FloatArray, random: np.random.Generator) -> IntArray:
    """Draw the pairs that are asked, one column each."""
    n, number = shape.items, shape.annotators * shape.each
    left = random.integers(n, size=number)
    if shape.design == "ring":
        ring = random.permutation(n)
        pairs = np.stack([ring, np.roll(ring, 1)])[:, random.permutation(n)]
    elif shape.design == "neighbours":
        order = np.argsort(truth)
        at = random.integers(n - 1, size=number)
        pairs = np.stack([order[at], order[np.minimum(at + random.integers(1, 5, number), n - 1)]])
    else:
        parts = shape.components  # item k is of component k mod parts
        right = (left + parts * random.integers(1, n // parts, size=number)) % n
        pairs = np.stack([left, right])
    swap = random.random(pairs.shape[1]) < 0.5
    return np.where(swap, pairs[::-1], pairs)


def study(shape: Shape, seed: int) -> tuple[dict[str, Any], FloatArray]:
    """Simulate the judgments of a study; also return the true scores of items 0, 1, ..."""
    random = np.random.default_rng(seed)
    truth = true_scores(shape, random)
    n, m = shape.items, shape.annotators
    pairs = np.repeat(asked_pairs(shape, truth, random), shape.again, axis=1)
    who = np.arange(pairs.shape[1]) // shape.again % m
    slope = np.exp(0.4 * random.standard_normal(m))
    kind = random.permutation(m)
    ends = np.cumsum([shape.reversed_share, shape.guessing, shape.one_sided, shape.camp]) * m
    turned, guesses, sided, camp = (
        (kind >= round(low)) & (kind < round(high))
        for low, high in zip((0.0, *ends[:-1]), ends, strict=True)
    )
    slope[turned] *= -1.0
    slope[guesses] = 0.0
    effect = shape.pair_sd * random.standard_normal((n, n))
    gap = truth[pairs[0]] - truth[pairs[1]] + (effect - effect.T)[pairs[0], pairs[1]] / np.sqrt(2.0)
    other = true_scores(shape, random)
    gap = np.where(camp[who], other[pairs[0]] - other[pairs[1]], gap)
    # A latent answer: the gap as the annotator sees it, plus logistic noise.
    noise = np.asarray(random.logistic(size=pairs.shape[1]))
    if shape.remembered:
        noise = np.repeat(noise[:: shape.again], shape.again)
    latent = slope[who] * gap + noise
    latent = np.where(sided[who], random.logistic(3.0, size=len(latent)), latent)
    said = np.where(np.abs(latent) < shape.tie, "tie", np.where(latent > 0.0, "left", "right"))
    names = np.array([f"i{k:04d}" for k in range(n)], dtype=object)
    people = [f"u{u:04d}" for u in who]
    everybody = [f"{one}{c or ''}" for c in range(shape.copies + 1) for one in people]
    times = shape.copies + 1
    return {
        "annotator": everybody,
        "left": np.tile(names[pairs[0]], times),
        "right": np.tile(names[pairs[1]], times),
        "outcome": np.tile(said, times),
    }, truth


def one(shape: Shape, seed: int) -> Tally:
    """Assess one study and hold its first screen against the truth."""
    rows, truth = study(shape, seed)
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = aggcal.assess(rows, warn=False).with_advice()
        run = result.to_run()
        chip = trust(run).words
    consensus = result.consensus
    if consensus is None:
        raise RuntimeError("a study without a consensus")
    truth = truth[[int(name[1:]) for name in run.names]]  # in the order of the rows
    tally = Tally({"seconds": time.perf_counter() - begun, chip: 1, "studies": 1})
    for key, value in {**leading(run, truth), **paired(consensus, run.names, truth)}.items():
        tally[key] += value
        tally[f"{chip} {key}"] += value
    tally.add(placed(run, truth, chip))
    return tally


def leading(run: Run, truth: FloatArray) -> dict[str, float]:
    """Hold the verdict against the true best."""
    could = run.could_be_first
    if not could:
        return {"none named": 1}
    right = int(np.argmax(truth)) in could
    sole = len(could) == 1
    return {
        "named": 1.0,
        "among": right,
        "could": len(could),
        "sole": sole,
        "sole right": sole and right,
    }


def placed(run: Run, truth: FloatArray, chip: str) -> dict[str, float]:
    """Hold the probabilities and states of the top k against the true ranks."""
    top, n = listing(run).top, len(truth)
    if top is None:
        return {}
    rank = np.empty(n)
    rank[np.argsort(-truth, kind="stable")] = np.arange(1, n + 1)
    tally: Tally = Tally()
    for k in sorted({1, 5, 10, n // 4} & set(top["stops"])):
        stop, within = top["stops"].index(k), rank <= k
        for row, (best, worst) in enumerate(zip(top["best"], top["worst"], strict=True)):
            state = "in" if worst <= k else "out" if best > k else "edge"
            right = bool(within[row])
            for key in (state, f"{chip} {state}"):
                tally[key] += 1
                tally[f"{key} right"] += right if state == "in" else not right
            if "percent" in top:
                after, shares = top["percent"][row][0], [*top["percent"][row][1:], 100]
                at = min(stop - after, len(shares) - 1)
                share = 0.001 if at < 0 else min(0.999, shares[at] / 100)
                bin_of = int(np.searchsorted(EDGES, share, side="right")) - 1
                tally[f"top {bin_of} number"] += 1
                tally[f"top {bin_of} said"] += share
                tally[f"top {bin_of} right"] += right
    return tally


def paired(consensus: Consensus, names: list[str], truth: FloatArray) -> dict[str, float]:
    """Hold the pairs that are told apart against the truth."""
    claims = consensus.claims()
    if claims is None or claims.above is None:
        return {}
    place = {name: k for k, name in enumerate(names)}
    own = truth[[place[str(item)] for item in consensus.item_ids]]
    return {
        "pairs": claims.share,
        "pairs wrong": bool((claims.above & (own[:, None] < own)).any()),
        "tiers": claims.n_tiers,
    }


def share(number: float, of: float) -> str:
    return f"{number / of:.3f}" if of else "–"


def shape_rows(found: dict[str, Tally]) -> Iterator[str]:
    yield (
        "| study | sound / care / not ready | best among those named | the same where sound "
        "| named (mean) | sole one, right | in: right | out: right | pairs told apart "
        "| some pair wrong | tiers |"
    )
    yield "|---" * 11 + "|"
    for name, t in found.items():
        n = t["studies"]
        chips = " / ".join(share(t[chip], n) for chip in CHIPS)
        cells = (
            share(t["among"], t["named"]),
            share(t["Sound among"], t["Sound named"]),
            f"{t['could'] / max(t['named'], 1):.1f}",
            f"{share(t['sole right'], t['sole'])} of {t['sole']:.0f}",
            share(t["in right"], t["in"]),
            share(t["out right"], t["out"]),
            share(t["pairs"], n),
            share(t["pairs wrong"], n),
            f"{t['tiers'] / max(n, 1):.1f}",
        )
        yield f"| {name} | {chips} | {' | '.join(cells)} |"


def bin_rows(kind: str, totals: dict[str, Tally]) -> Iterator[str]:
    yield f"| said | {' | '.join(f'{name}: number | said | right' for name in totals)} |"
    yield "|---" * (1 + 3 * len(totals)) + "|"
    for k, name in enumerate(BINS):
        cells = []
        for t in totals.values():
            number = t[f"{kind} {k} number"]
            means = (share(t[f"{kind} {k} {what}"], number) for what in ("said", "right"))
            cells += [f"{number:,.0f}", *means]
        yield f"| {name} | {' | '.join(cells)} |"


def written(found: dict[str, Tally], studies: int) -> str:
    """Return the page of results."""
    clean, dirty = Tally(), Tally()
    for shape in SHAPES:
        (clean if shape.clean else dirty).add(found.get(shape.name, Tally()))
    totals = {"clean": clean, "dirty": dirty}
    lines = [
        "# How far the first screen can be trusted",
        "",
        f"{studies} studies a row, `python benchmarks/trust.py --studies {studies}`; {MEANS}",
        "",
        *shape_rows(found | {f"all {name}": t for name, t in totals.items()}),
        "",
        "Where the chip says ..., over clean and dirty studies:",
        "",
        CHIP_HEAD,
        "|---" * 9 + "|",
    ]
    for chip in CHIPS:
        cells = [chip]
        for t in totals.values():
            cells.append(share(t[chip], t["studies"]))
            cells.append(share(t[f"{chip} among"], t[f"{chip} named"]))
            cells += [share(t[f"{chip} {s} right"], t[f"{chip} {s}"]) for s in ("in", "out")]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "Probability of being in the top k:", "", *bin_rows("top", totals)]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--studies", type=int, default=100, help="studies of each shape")
    parser.add_argument("--shapes", default="", help="only shapes whose name has this text")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    found: dict[str, Tally] = {}
    with on_one_core_each(options.processes) as pool:
        for k, shape in enumerate(SHAPES):
            if options.shapes not in shape.name:
                continue
            seeds = range(FIRST_SEED + 100_000 * k, FIRST_SEED + 100_000 * k + options.studies)
            total: Tally = Tally()
            for tally in pool.map(partial(one, shape), seeds):
                total.add(tally)
            found[shape.name] = total
            each = total["seconds"] / options.studies
            print(f"{shape.name}: {each:.2f} s a study", file=sys.stderr, flush=True)
            print(list(shape_rows({shape.name: total}))[-1], file=sys.stderr, flush=True)
    options.out.write_text(written(found, options.studies), encoding="utf-8")


if __name__ == "__main__":
    main()
