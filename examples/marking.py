"""
Mark essays by comparing, with a few agreed marks
=================================================

Six teachers compared 80 essays. A colleague gave quick marks, which are rough and five
points too high. A panel agreed on the marks of 24 essays, drawn at random. Who passes,
at 50 points? The class is simulated, so we can count mistakes at the end.
"""

# %%
# The comparisons, the quick marks, and the anchors: the essays with agreed marks.

import random

import aggcal
import aggcal.plot
from aggcal import simulate

PASS = 50.0
study = simulate(
    items=80,
    annotators=6,
    judgments=2400,
    location=56.0,
    scale=12.0,
    model_sd=9.0,
    model_bias=5.0,
    seed=6,
)
truth = {
    str(item): float(mark)
    for item, mark in zip(study.truths["item"], study.truths["truth"], strict=True)
}
anchors = {essay: truth[essay] for essay in random.Random(2).sample(sorted(truth), 24)}
print(f"{len(anchors)} of {len(truth)} essays have an agreed mark")

# %%
# With the order alone the marks stay too high: comparing says nothing about the level.
# The calibrator ``fused`` learns from the anchors how far to trust the quick marks and
# how much to shift them.

result = aggcal.assess(
    study.judgments,
    study.scores,
    calibrator="fused",
    anchors=anchors,
    level=0.9,
    warn=False,
)
calibration = result.calibration
assert calibration is not None
print(result)
print("the intervals are about:", calibration.covers)

# %%
# The picture shows each essay's quick mark as a dot, and its calibrated mark with its
# interval.

aggcal.plot.calibration(result)

# %%
# How much did it help? The anchors measure it.

gain = calibration.gain
assert gain is not None
print(f"mean squared error fell by {gain.mean:.0f} (standard error {gain.se:.0f})")

# %%
# The intervals contain the true mark of 9 in 10 essays. Pass if the whole interval is
# above the line, fail if it is below, and read the others again.

decisions: dict[str, str] = {}
rows = zip(
    *(result.items[c] for c in ("item", "calibrated_low", "calibrated_high")),
    strict=True,
)
for essay, low, high in rows:
    decisions[str(essay)] = (
        "pass" if low >= PASS else "fail" if high < PASS else "read again"
    )
counts = {
    what: list(decisions.values()).count(what)
    for what in ("pass", "fail", "read again")
}
print("Decision:", ", ".join(f"{number} {what}" for what, number in counts.items()))

# %%
# Compare with the truth: how many decisions are wrong?

wrong = [
    essay
    for essay, what in decisions.items()
    if (what == "pass" and truth[essay] < PASS)
    or (what == "fail" and truth[essay] >= PASS)
]
print(f"{len(wrong)} of {counts['pass'] + counts['fail']} decisions are wrong")
