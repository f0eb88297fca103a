"""The words that a page cannot do without, each explained for somebody who never met it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aggcal.registry import CALIBRATORS, UNCERTAINTIES

_ALWAYS = {
    "annotator": "whoever compared items: a person, a language model, a rule.",
    "judgment": "one answer of an annotator: of these two items, this one stands higher.",
    "consensus": "the scores and the order on which the annotators' judgments agree best. It is "
    "what they agree on, not the truth.",
}
_RELIABILITY = {
    "reliability": "how much an annotator's answers tell. One who mostly says what the others say "
    "of clear pairs has a high one; one who tosses a coin has none.",
}
_CALIBRATED = {
    "calibrated score": "the model's score, corrected by what the annotators said.",
    "typical change": "the root mean square: square each change, take the average, take the square "
    "root. Large changes weigh more in it than in a plain average.",
    "mean squared error": "how far scores are off: square what each is off by, then take the "
    "average. 0 is perfect.",
}
_INTERVAL = {
    "sampling uncertainty of the consensus": "how far off numbers may be because there are only so "
    "many judgments. It does not say how far the annotators themselves are from the truth.",
}
_POOLED = {
    "calibrated score": "the model's score, moved as little as possible so that the scores follow "
    "the annotators' order. It keeps the model's units.",
    "block": "neighbours in the annotators' order whose model scores contradict that order: they "
    "are given one common score, their average.",
}
_UNCERTAIN = {
    "range": "where a number may well be. More judgments make it narrower.",
    "level": "how often such a range is meant to be right: 0.95 is 19 times of 20.",
    "standard error": "how far off a number typically is, because the judgments are no more than "
    "these.",
    "certified pair": "two items whose order can be relied on, together with that of all other "
    "certified pairs, if the model is right and answers are independent.",
}
_ANCHORS = {
    "anchors": "items, drawn by lot, whose true score is known.",
    "split conformal": "ranges that are as wide as the errors on the anchors tell them to be.",
}
_FIT = {
    "prior": "what was assumed before any judgment was read: that scores do not differ beyond all "
    "measure. It matters where there are few judgments.",
    "log-likelihood": "how well the numbers fit the judgments: 0 would be perfect, and of two runs "
    "on the same data the one nearer to 0 fits better.",
    "relative gradient": "optimiser residual; 0 means fully converged.",
}


def used(summary: Mapping[str, Any]) -> dict[str, str]:
    """Return the words that a report of these results uses, with what they mean.

    Examples
    --------
    >>> list(used({"method": "own"}))
    ['annotator', 'judgment', 'consensus', 'reliability']
    """
    found = _ALWAYS | _RELIABILITY
    if "calibrator" in summary:
        found |= _CALIBRATED
        if (known := CALIBRATORS.get(str(summary["calibrator"]))) and known.pools:
            found |= _POOLED
        if (summary.get("calibrated_interval") or {}).get("covers") in _INTERVAL:
            found |= _INTERVAL
        if summary.get("n_anchors"):
            found |= _ANCHORS
    uncertainty = summary.get("uncertainty")
    if uncertainty:
        kind = UNCERTAINTIES[uncertainty["kind"]]
        found |= _UNCERTAIN | {kind.name.split("-")[0]: kind.means}
    if summary.get("converged") is not None:
        found |= _FIT
    return found
