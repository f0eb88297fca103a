"""
Plug in your own method, and test whether it is better
======================================================

Stage 1 can be any object with a method ``fit(judgments)``. Here the simplest method,
the share of comparisons won, competes with the default. The test data are the judgments
of three trusted people, which neither method has seen.
"""

# %%
# Some annotators are careless, and some have the question the wrong way round. We trust
# three of them (in the simulation, the most reliable) and hold out their judgments.

import numpy as np

import aggcal
import aggcal.plot
from aggcal import simulate

study = simulate(
    items=40,
    annotators=25,
    judgments=4000,
    reversed_share=0.2,
    reliability_sd=0.8,
    seed=3,
)
trusted = set(study.annotators["annotator"][np.argsort(-study.reliability)[:3]])
rows = list(zip(*study.judgments.values(), strict=True))
held_out = [row for row in rows if row[0] in trusted]
rest = [row for row in rows if row[0] not in trusted]
print(f"{len(rest)} judgments to learn from, {len(held_out)} to test on")

# %%
# The method counts wins. Every item gets one extra win and loss, so that no share is 0
# or 1.


class WinShare:
    """How often an item wins."""

    def fit(self, judgments: aggcal.Judgments) -> aggcal.Consensus:
        """Return the consensus: one number for each item."""
        n, weight, for_left = judgments.n_items, judgments.weight, judgments.outcome
        won = np.bincount(judgments.left, weight * for_left, n)
        won += np.bincount(judgments.right, weight * (1.0 - for_left), n)
        shown = np.bincount(judgments.left, weight, n) + np.bincount(
            judgments.right, weight, n
        )
        return aggcal.Consensus.of(
            judgments, (won + 1.0) / (shown + 2.0), method="win-share"
        )


# %%
# How often does each put the winner of an unseen judgment above the loser? No method
# reaches 100%: trusted people make mistakes, too.


def hits(consensus: aggcal.Consensus) -> np.ndarray:
    """Return for each unseen judgment whether the consensus agrees."""
    score = dict(zip(consensus.item_ids.tolist(), consensus.scores, strict=True))
    return np.array([score[winner] > score[loser] for _, winner, loser in held_out])


consensus = {
    "win-share": aggcal.aggregate(rest, WinShare(), warn=False),
    "hra-g": aggcal.aggregate(rest, warn=False),
}
right = {name: hits(found) for name, found in consensus.items()}
for name, found in right.items():
    print(f"{name:10} {found.mean():.1%} of the unseen judgments")

# %%
# Is the difference more than chance? Compare them on the judgments where they differ.

apart = right["hra-g"].astype(float) - right["win-share"].astype(float)
difference, error = apart.mean(), apart.std() / np.sqrt(len(apart))
print(f"difference {difference:+.1%}, standard error {error:.1%}")
better = "hra-g" if difference > 2 * error else "win-share, the simpler one"
print(f"Decision: use {better}.")

# %%
# The rest works as before: calibrate, and use the bootstrap for uncertainty.

result = aggcal.assess(
    rows, study.scores, method=WinShare(), uncertainty="bootstrap", draws=40, warn=False
)
print(result)

# %%
# How certain is it where an item is? The lines are the intervals of the bootstrap.

assert result.consensus is not None
aggcal.plot.consensus(result.consensus)
