"""
Choose a model by LLM judges
============================

Eight language models judged the answers of twelve others, two at a time, and there is a
benchmark. Which model should we use? The log is simulated, so the truth is known.
"""

# %%
# The log records sides and ties. One of the eight judges always prefers the answer that
# is shown first.

import random
from typing import Any

import aggcal
import aggcal.plot
from aggcal import check, simulate

study = simulate(
    items=12,
    annotators=8,
    judgments=1600,
    left_share=0.125,
    location=70.0,
    scale=6.0,
    model_sd=5.0,
    seed=11,
)
chance = random.Random(0)
log: list[dict[str, Any]] = [
    {
        "annotator": who.replace("annotator", "judge"),
        "left": left.replace("item", "model"),
        "right": right.replace("item", "model"),
        "outcome": "tie" if chance.random() < 0.1 else outcome,
    }
    for who, left, right, outcome in zip(*study.shown.values(), strict=True)
]
benchmark = {
    item.replace("item", "model"): float(score)
    for item, score in zip(*study.scores.values(), strict=True)
}
print(log[0])

# %%
# Is a judge biased? The check finds the one that follows the side. Its verdicts say
# nothing about the answers, so we leave it out.

findings = check(aggcal.read_judgments(log), aggcal.read_scores(benchmark)).findings
biased = [
    who
    for finding in findings
    if finding.code == "position-bias"
    for who in finding.details["annotators"]
]
print("left out:", biased)
kept = [row for row in log if row["annotator"] not in biased]

# %%
# Both stages: the judges' order, in the benchmark's units.

result = aggcal.assess(kept, benchmark, warn=False)
print(result)
for row in list(
    zip(*(result.items[c] for c in ("item", "rank_low", "rank_high")), strict=True)
)[:4]:
    print("{}: place {} to {}".format(*row))

# %%
# The picture shows the benchmark's scores as dots in the judges' order, and the
# calibrated scores as a line with intervals.

aggcal.plot.calibration(result)

# %%
# Which models could be the best, for these judges? With 95% confidence one of these.

consensus = result.consensus
assert consensus is not None
claims = consensus.claims()
assert claims is not None
contenders = [str(model) for model in consensus.item_ids[claims.first]]
print("could be the best:", contenders)

# %%
# If only one is left, take it. Otherwise buy the judgments that separate them, or take
# the cheapest.

best = str(consensus.items["item"][0])
if contenders == [best]:
    print(f"Decision: use {best}.")
else:
    pairs = aggcal.suggest_pairs(
        [r for r in kept if {r["left"], r["right"]} <= set(contenders)], n=3
    ).pairs
    wanted = [
        f"{left} or {right}?"
        for left, right in zip(pairs["left"], pairs["right"], strict=True)
    ]
    print(f"Decision: use {best} for now, and ask:", *wanted)
