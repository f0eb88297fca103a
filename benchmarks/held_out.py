"""How well Stage 1 predicts judgments that it has not seen, on real data.

    python benchmarks/held_out.py FILE... [--folds 5] [--output FILE]

Each file is read as `aggcal` reads it and cut into random folds of judgments. Every fold is
predicted from the others, by the default estimator and by the joint mode under the fixed default
prior, with the probabilities averaged over what is uncertain (`judgment_probabilities`), and by the
mode's own plug-in F(γ d), which was the default before. The table has log-likelihoods a judgment.

A file of rankings is read twice, with the weights that allow for the dependence of a ranking's
pairs (the default) and with every pair as a judgment of its own; with weights also in folds of
whole annotators, who are new to the fit. Held-out pairs of a ranking share
its accidents with those that were fitted, so that trusting a ranking more predicts them better: on
sushi the log-likelihood of weighted pairs rises with the spread of the reliabilities all the way
from the estimated 0.38 (-0.595) to 1 (-0.583; one fold), and at equal spreads the default is ahead
of the mode (-0.595 against -0.599).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy.special import expit

import aggcal
from aggcal._core.arrays import FloatArray

WAYS = ("marginal", "mode", "mode, plugged in")

HEAD = """\
Log-likelihood a held-out judgment, {folds} random folds of the judgments of each data set;
written by `python benchmarks/held_out.py FILE... --output benchmarks/results/held-out.md`.

`marginal` is the default; `mode` is the joint mode under the fixed default prior, its probabilities
averaged over what is uncertain; plugged in, they are F(γ d) at the mode, as they were before.
Rankings are read twice: weighted pairs give each ranking less trust, and what is held out of a
ranking shares its accidents, so that an estimate of the reliabilities' spread from them predicts
worse than the wider one that the mode assumes. With whole annotators held out nothing is shared."""


def readings(path: Path) -> list[tuple[str, aggcal.Judgments, bool]]:
    """Return the judgments of a file; of rankings, in three ways (the last: annotators apart)."""
    name, whole = path.parent.name, aggcal.read_judgments(path)
    if np.array_equal(whole.weight, whole.count):
        return [(name, whole, False)]
    pairs = aggcal.read_judgments(path, ranking_weight="pair")
    return [
        (f"{name}, pairs", pairs, False),
        (f"{name}, pairs weighted as rankings", whole, False),
        (f"{name}, weighted, whole annotators held out", whole, True),
    ]


def measured(whole: aggcal.Judgments, folds: int, *, apart: bool) -> list[float]:
    """Return the mean log-likelihood of each way."""
    row = np.repeat(np.arange(len(whole.count)), whole.count)
    random = np.random.default_rng(0)
    fold = random.integers(folds, size=whole.n_annotators if apart else len(row))
    if apart:
        fold = fold[whole.annotator[row]]
    totals, number = dict.fromkeys(WAYS, 0.0), 0.0
    for k in range(folds):
        train, test = part(whole, row[fold != k]), part(whole, row[fold == k])
        items = {*train["left"], *train["right"]}
        kept = among(test["left"], items) & among(test["right"], items)
        kept &= apart | among(test["annotator"], {*train["annotator"]})
        rows = aggcal.read_judgments({name: column[kept] for name, column in test.items()})
        judgments = aggcal.read_judgments(train)
        marginal = aggcal.aggregate(judgments, warn=False)
        mode = aggcal.aggregate(judgments, estimator="mode", warn=False)
        gap = height(mode, rows.item_ids)
        slope = dict(zip(mode.annotator_ids, mode.reliabilities, strict=True))
        slopes = np.array([slope.get(u, 1.0) for u in rows.annotator_ids])
        plugged = expit(slopes[rows.annotator] * (gap[rows.left] - gap[rows.right]))
        chances = (
            marginal.judgment_probabilities(rows),
            mode.judgment_probabilities(rows),
            plugged,
        )
        for way, chance in zip(WAYS, chances, strict=True):
            p = np.clip(chance, 1e-12, 1.0 - 1e-12)
            told = rows.outcome * np.log(p) + (1.0 - rows.outcome) * np.log1p(-p)
            totals[way] += float(rows.weight @ told)
        number += float(rows.weight.sum())
    return [totals[way] / number for way in WAYS]


def part(judgments: aggcal.Judgments, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Return single rows as a table."""
    each = judgments.weight[rows] / judgments.count[rows]
    return {
        "annotator": judgments.annotator_ids[judgments.annotator[rows]],
        "left": judgments.item_ids[judgments.left[rows]],
        "right": judgments.item_ids[judgments.right[rows]],
        "outcome": judgments.outcome[rows],
        "weight": each,
    }


def among(ids: np.ndarray, known: set[str]) -> np.ndarray:
    """Return which ids are known (`numpy.isin` compares objects one by one)."""
    return np.fromiter((one in known for one in ids), dtype=bool, count=len(ids))


def height(consensus: aggcal.Consensus, items: np.ndarray) -> FloatArray:
    """Return the scores of some items."""
    scores = dict(zip(consensus.item_ids, consensus.scores, strict=True))
    return np.array([scores[item] for item in items])


def main() -> None:
    """Measure every file and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    lines = [
        HEAD.format(folds=options.folds),
        "",
        "| data | judgments | " + " | ".join(WAYS) + " |",
        "|---|---|" + "---|" * len(WAYS),
    ]
    for path in options.files:
        for name, whole, apart in readings(path):
            found = measured(whole, options.folds, apart=apart)
            numbers = " | ".join(f"{value:.4f}" for value in found)
            lines.append(f"| {name} | {whole.n_judgments:,} | {numbers} |")
            print(lines[-1], flush=True)
    if options.output is not None:
        options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
