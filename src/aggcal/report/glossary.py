"""The words of the report, each explained once: as a tooltip, and in a list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aggcal.registry import CALIBRATORS, UNCERTAINTIES

_ALWAYS = {
    "annotator": "Whoever compared items: a person, a language model or a rule.",
    "judgment": "One answer of one annotator about one pair of items.",
    "consensus": "The order and scores that explain the judgments best. It is what these "
    "annotators agree on, not the truth.",
    "agreement": "The share of an annotator's judgments that match the consensus order. A tie "
    "counts one half.",
}
_RELIABILITY = {
    "reliability": "How strongly an annotator's answers follow the consensus. 1 is typical, 0 is "
    "random, negative means reversed (such answers are inverted).",
}
_HONESTY = {
    "reliability": "The probability that an annotator reports what they saw. 1 is always, 0.5 is "
    "random, below it the answers are reversed.",
}
_LEFT = {
    "left share": "How often an annotator chose the left item, of the decided judgments. 50% is "
    "expected if sides are random.",
}
_SIDES = {
    "left of equal items": "How often an annotator would pick the left of two equal items, of the "
    "decided answers: an estimate, drawn towards the average where answers are few. 50% is no "
    "preference. The scores do not depend on it.",
}
_GROUND = {
    "common ground": "The order midway between the two ends of the axis along which annotators "
    "differ most: no camp counts for more because it is larger.",
}
_CALIBRATED = {
    "calibrated score": "The model's score, corrected by what the annotators said. It keeps the "
    "model's unit.",
    "model score": "The score that the model gave before calibration.",
    "RMS": "Root mean square: the square root of the mean squared change. Large changes count more "
    "than in a plain average.",
}
_POOLED = {
    "calibrated score": "The model's score, moved as little as possible so that scores follow the "
    "consensus order. It keeps the model's unit.",
    "tied block": "Neighbours in the consensus whose model scores contradict it. They share one "
    "calibrated score, their mean.",
}
_UNCERTAIN = {
    "interval": "The range that contains the consensus value with the stated probability, given "
    "the number of judgments. It does not cover errors that all annotators share.",
    "likely ranks": "The ranks that an item holds with the stated probability, each by itself, if "
    "scores are spread about as estimated.",
    "sure ranks": "The ranks that are left for an item, all items together, at the stated "
    "confidence and whatever the true scores.",
    "open": "Neither surely in the top k nor surely out of it, whatever the true scores.",
    "level": "How often such an interval is right: 0.95 is 19 times in 20.",
    "standard error": "The typical error of an estimate that is due to the limited number of "
    "judgments.",
    "certified pair": "A pair whose order is so clear that all certified pairs are right at once "
    "in the stated share of studies, whatever the true scores.",
    "tier": "Every item of a tier is better than every item of the next: all these pairs are "
    "certified.",
}
_ANCHORS = {
    "anchor": "An item, drawn at random, whose true score is known.",
    "split conformal": "A method that makes intervals as wide as the errors on the anchors.",
}
_CHECK = {
    "Krippendorff's alpha": "Agreement between annotators beyond chance: 1 is perfect, 0 is "
    "chance.",
}
_FIT = {
    "prior": "What is assumed before any judgment: that scores do not differ without limit. It "
    "matters where there are few judgments.",
    "log-likelihood": "How well the fit explains the judgments. Of two fits of the same data, the "
    "one nearer to 0 explains them better.",
    "relative gradient": "Optimiser residual; 0 means fully converged.",
}


def used(summary: Mapping[str, Any]) -> dict[str, str]:
    """Return the words that a report of these results uses, with what they mean, by the alphabet.

    Examples
    --------
    >>> list(used({"method": "own"}))
    ['agreement', 'annotator', 'consensus', 'judgment', 'reliability']
    """
    found = _ALWAYS | (_HONESTY if summary.get("random_reliability") else _RELIABILITY)
    if "calibrator" in summary:
        found |= _CALIBRATED
        if (known := CALIBRATORS.get(str(summary["calibrator"]))) and known.pools:
            found |= _POOLED
    if summary.get("n_anchors"):
        found |= _ANCHORS
    if "check" in summary:
        found |= _CHECK | _LEFT
    terms = summary.get("terms") or {}
    found |= (_SIDES if terms.get("position") else {}) | (_GROUND if terms.get("axis") else {})
    uncertainty = summary.get("uncertainty")
    if uncertainty:
        kind = UNCERTAINTIES[uncertainty["kind"]]
        found |= _UNCERTAIN | {kind.name.split("-")[0]: f"{kind.means[:1].upper()}{kind.means[1:]}"}
    if summary.get("converged") is not None:
        found |= _FIT
    return dict(sorted(found.items(), key=lambda word: word[0].lower()))
