"""What each kind of finding is called in a list."""

from __future__ import annotations

TOPICS = {
    "alike-ids": "similar ids",
    "anchors": "anchors",
    "check-failed": "failed check",
    "circular": "cycles",
    "constant-scores": "constant scores",
    "contradicting": "contradicting annotators",
    "copies": "copied answers",
    "dependent-answers": "dependent answers",
    "different-tastes": "different tastes",
    "direction": "opposite direction",
    "disconnected": "disconnected items",
    "divided": "opposing groups",
    "duplicate-rows": "duplicate rows",
    "erratic": "erratic answers",
    "few-judgments": "few judgments",
    "guessing": "guessing",
    "harmful": "risky calibration",
    "better-calibrator": "choice of calibrator",
    "impossible-times": "implausible times",
    "kernel": "undetermined kernel",
    "low-agreement": "low agreement",
    "model-from-judgments": "dependent scores",
    "no-agreement": "no agreement",
    "no-common-item": "no common items",
    "no-gpu": "no GPU",
    "no-maximum": "no maximum",
    "not-converged": "unconverged fit",
    "one-annotator": "single annotator",
    "one-way": "one-way comparisons",
    "order-decides": "order of presentation",
    "own-order": "another order",
    "perhaps-divided": "possible opposing groups",
    "perhaps-guessing": "possible guessing",
    "perhaps-reversed": "possibly reversed answers",
    "paired-by-level": "how pairs were chosen",
    "plugin": "faulty plugin",
    "pooled-criteria": "pooled criteria",
    "position-bias": "one-sided answers",
    "reversed-annotators": "reversed answers",
    "second-model": "second model",
    "self-contradiction": "self-contradiction",
    "self-pairs": "self-comparisons",
    "separation": "unbeaten or winless items",
    "side-preferred": "study-wide position bias",
    "too-fast": "fast answers",
    "unanswered": "unanswered rows",
    "unclear-agreement": "unclear agreement",
    "unmatched-items": "unmatched items",
    "weakly-joined": "weak connections",
    "weights": "weights of answers",
}
"""By the code of the finding: two or three words each."""


def topic_of(code: str) -> str:
    """Return what a kind of finding is called; of one that a package adds, the words of its code.

    Examples
    --------
    >>> topic_of("copies"), topic_of("odd-thing")
    ('copied answers', 'odd thing')
    """
    return TOPICS.get(code, code.replace("-", " "))
