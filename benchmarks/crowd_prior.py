"""How well CrowdBT predicts held-out judgments under different Beta priors of η.

    python benchmarks/crowd_prior.py

Mean held-out log-likelihood over three fifths of each real dataset, each held out in turn. This is
what the default prior, Beta(4, 1), was chosen by.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import aggcal

PRIORS = ((1.0, 1.0), (2.0, 1.0), (4.0, 1.0), (10.0, 1.0), (2.0, 2.0), (4.0, 2.0), (8.0, 2.0))
DATASETS = ("reading_level", "country_population", "dots", "judgemark", "llmfao")


def held_out(judgments: aggcal.Judgments, alpha: float, beta: float) -> float:
    u, i, j = (np.repeat(c, judgments.count)
               for c in (judgments.annotator, judgments.left, judgments.right))  # fmt: skip
    fold = np.random.default_rng(1).integers(0, 5, len(u))
    total = 0.0
    for k in range(3):
        seen, unseen = fold != k, fold == k
        names = {"annotator": judgments.annotator_ids[u[seen]],
                 "winner": judgments.item_ids[i[seen]],
                 "loser": judgments.item_ids[j[seen]]}  # fmt: skip
        method = aggcal.methods.CrowdBT(alpha=alpha, beta=beta)
        found = aggcal.aggregate(aggcal.read_judgments(names), method, warn=False)
        score = dict(zip(found.item_ids, found.scores, strict=True))
        eta = dict(zip(found.annotator_ids, found.reliabilities, strict=True))
        s = np.array([score.get(item, 0.0) for item in judgments.item_ids])
        usual = float(found.reliabilities.mean())
        e = np.array([eta.get(who, usual) for who in judgments.annotator_ids]).clip(0.001, 0.999)
        ahead = 1.0 / (1.0 + np.exp(s[j[unseen]] - s[i[unseen]]))
        chance = e[u[unseen]] * ahead + (1.0 - e[u[unseen]]) * (1.0 - ahead)
        total += float(np.log(chance).mean()) / 3.0
    return total


def main() -> None:
    folder = Path(__file__).resolve().parents[1] / "datasets"
    print(f"{'':20}" + "".join(f"  Beta({a:g},{b:g})" for a, b in PRIORS))
    for name in DATASETS:
        judgments = aggcal.read_judgments(folder / name / "judgments.csv")
        row = "".join(f"{held_out(judgments, a, b):11.4f}" for a, b in PRIORS)
        print(f"{name:20}{row}")


if __name__ == "__main__":
    main()
