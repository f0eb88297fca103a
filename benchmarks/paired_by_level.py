"""What pairs chosen by level do to a fit, and whether the warning of them is given where it should.

    python benchmarks/paired_by_level.py [--studies 40] [--processes 2] [--output FILE]

Studies of normal scores and log-normal reliabilities; who is compared with whom is decided by a
guess of the level that is not in the answers (items within so many places of each other, a share of
the pairs at random), at random, along a chain that has nothing to do with the level, within blocks,
or by earlier answers (a Swiss tournament, the first rounds at random; or an order that the first
rounds gave, once for all). Shares of 90% intervals that
hold the true score, and correlations with it: of the default fit, and of btl without a prior.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from one_core import on_one_core_each

import aggcal
from aggcal._core.arrays import FloatArray, IntArray
from aggcal.aggregation.consensus import Consensus

CODE = "paired-by-level"
HEAD = """\
Studies of which each row has {studies}: how often the warning `paired-by-level` is given, by the
answers alone and where a guess of the scores (the one that chose the pairs, if one did; else with
noise 0.5) is the model that Stage 2 calibrates, and what share of 90% intervals holds the true
score (and how scores correlate with it). Written by `python benchmarks/paired_by_level.py`.

| pairs | items | judgments each | warned | with the guess as the model | default | btl, no prior |
|---|---|---|---|---|---|---|"""


@dataclass(frozen=True)
class Kind:
    """How pairs are chosen."""

    how: str
    items: int
    each: int
    within: int = 0
    """Places, by the guess, that compared items are apart at most."""
    noise: float = 0.0
    """Of the guess, in standard deviations of the scores."""
    at_random: float = 0.0
    """Share of the pairs, or rounds of a tournament."""

    @property
    def name(self) -> str:
        """What stands in the table."""
        if self.how == "level":
            mixed = f", {self.at_random:.0%} at random" if self.at_random else ""
            return f"within {self.within} places by a guess (noise {self.noise:g}){mixed}"
        if self.how in ("swiss", "sorted"):
            rounds = "round" if self.at_random == 1 else f"{self.at_random:.0f} rounds"
            if self.how == "sorted":
                return f"sorted once after {rounds} at random, then within {self.within} places"
            return f"Swiss, first {rounds} at random"
        return {"random": "at random", "chain": "along a chain", "blocks": "in tens"}[self.how]


KINDS = (
    Kind("level", 60, 40, 3, 0.3),
    Kind("level", 60, 40, 12, 0.5),
    Kind("level", 60, 40, 20, 0.5),
    Kind("level", 60, 100, 12, 0.5),
    Kind("level", 60, 40, 3, 0.3, 0.2),
    Kind("level", 20, 40, 3, 0.5),
    Kind("level", 200, 30, 40, 1.0, 0.2),
    Kind("level", 600, 30, 40, 0.5, 0.1),
    Kind("random", 60, 40),
    Kind("random", 60, 14),
    Kind("random", 20, 8),
    Kind("random", 40, 6),
    Kind("random", 12, 20),
    Kind("random", 200, 12),
    Kind("chain", 60, 40, 3),
    Kind("chain", 200, 30, 5),
    Kind("blocks", 60, 30),
    Kind("swiss", 60, 40, at_random=1),
    Kind("swiss", 60, 16, at_random=2),
    Kind("swiss", 60, 12, at_random=2),
    Kind("swiss", 60, 8, at_random=2),
    Kind("swiss", 200, 30, at_random=1),
    Kind("swiss", 20, 40, at_random=1),
    Kind("sorted", 60, 16, 3, at_random=4),
    Kind("sorted", 100, 24, 10, at_random=4),
)


def pairs_of(
    kind: Kind, scores: FloatArray, guess: FloatArray, random: np.random.Generator
) -> tuple[IntArray, ...]:
    """Choose pairs before anybody has answered."""
    n, rows = kind.items, kind.items * kind.each // 2
    left = np.concatenate([np.arange(n), random.integers(0, n, rows - n)])
    anyone = (left + random.integers(1, n, rows)) % n
    if kind.how == "random":
        return left, anyone
    if kind.how == "blocks":
        right = left // 10 * 10 + random.integers(0, 10, rows)
        mixed = (random.random(rows) < 0.1) | (right == left)
        return left, np.where(mixed, anyone, right)
    order = np.argsort(guess if kind.how == "level" else np.arange(n))
    place = np.argsort(order)[left]
    step = random.integers(1, kind.within + 1, rows) * random.choice([-1, 1], rows)
    inside = (place + step >= 0) & (place + step < n)
    right = order[np.where(inside, place + step, place - step)]
    return left, np.where(random.random(rows) < kind.at_random, anyone, right)


def study(kind: Kind, seed: int) -> tuple[aggcal.Judgments, FloatArray, FloatArray]:
    """Return judgments, the true scores in the unit of the fit, and a guess of them."""
    random = np.random.default_rng([seed, kind.items, kind.each])
    n, people = kind.items, max(kind.items // 10, 10)
    scores, slopes = random.standard_normal(n), np.exp(0.4 * random.standard_normal(people))

    guess = scores + (kind.noise or 0.5) * random.standard_normal(n)

    def first_wins(one: IntArray, other: IntArray, who: IntArray) -> np.ndarray:
        chance = 1.0 / (1.0 + np.exp(-slopes[who] * (scores[one] - scores[other])))
        return np.asarray(random.random(len(one)) < chance)

    if kind.how in ("swiss", "sorted"):
        won, rounds, order = np.zeros(n), [], np.arange(n)
        for k in range(kind.each):
            blind = k < kind.at_random
            if blind:
                order = random.permutation(n)
            elif kind.how == "swiss" or k == kind.at_random:
                order = np.argsort(won + 0.01 * random.random(n))
            one, other, who = order[0::2], order[1::2], random.integers(0, people, n // 2)
            if not blind and kind.how == "sorted":
                place = random.integers(0, n - kind.within, n // 2)
                apart = random.integers(1, kind.within + 1, n // 2)
                one, other = order[place], order[place + apart]
            up = first_wins(one, other, who)
            rounds.append((who, np.where(up, one, other), np.where(up, other, one)))
            won += np.bincount(rounds[-1][1], minlength=n)
        columns = [np.concatenate(column) for column in zip(*rounds, strict=True)]
    else:
        one, other = pairs_of(kind, scores, guess, random)
        who = random.integers(0, people, len(one))
        up = first_wins(one, other, who)
        columns = [who, np.where(up, one, other), np.where(up, other, one)]
    by_annotator = np.argsort(columns[0], kind="stable")
    codes = np.unique(columns[0][by_annotator], return_inverse=True)[1]
    rows = [codes, *(column[by_annotator] for column in columns[1:])]
    typical = float(np.bincount(columns[0], minlength=people) @ slopes) / len(columns[0])
    judgments = aggcal.Judgments.of_codes(*(column.astype(np.int32) for column in rows))
    return judgments, typical * (scores - scores.mean()), guess


def held(consensus: Consensus, truth: FloatArray) -> tuple[float, float]:
    """Return the share of intervals that hold the truth, and how scores correlate with it."""
    known = consensus.quantify(level=0.9).uncertainty
    if known is None:
        raise RuntimeError("no uncertainty")
    inside = (known.low <= truth) & (truth <= known.high)
    return float(inside.mean()), float(np.corrcoef(consensus.scores, truth)[0, 1])


def looked_at(kind: Kind, seed: int) -> list[float]:
    """Return whether it was warned of, and how both fits did."""
    judgments, truth, guess = study(kind, seed)
    usual = aggcal.aggregate(judgments, warn=False).quantify(level=0.9)
    said = () if usual.uncertainty is None else usual.uncertainty.warnings
    plain = aggcal.aggregate(judgments, "btl", prior=None, warn=False)
    model = {"item": usual.item_ids, "score": guess}
    more = aggcal.calibrate(model, usual, warn=False).warnings
    warned = [any(w.code == CODE for w in some) for some in (said, (*said, *more))]
    return [*map(float, warned), *held(usual, truth), *held(plain, truth)]


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=40)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--output", type=Path)
    asked = parser.parse_args()
    lines = [HEAD.format(studies=asked.studies)]
    with on_one_core_each(asked.processes) as pool:
        for kind in KINDS:
            found = list(pool.map(partial(looked_at, kind), range(asked.studies)))
            warned, with_model, inside, close, inside_2, close_2 = np.mean(found, axis=0)
            lines.append(
                f"| {kind.name} | {kind.items} | {kind.each} | {warned:.2f} | {with_model:.2f} "
                f"| {inside:.2f} ({close:.2f}) | {inside_2:.2f} ({close_2:.2f}) |"
            )
            print(lines[-1], flush=True)
    if asked.output is not None:
        asked.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
