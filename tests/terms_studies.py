"""Small studies with ties, sides, topics, lengths and camps, for tests of files and pages."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from aggcal._core.tables import as_text
from aggcal.aggregation.families import Adjacent
from aggcal.aggregation.terms import Terms
from aggcal.assessment import Assessment, assess
from aggcal.data.control import Control
from aggcal.io.judgments import read_judgments

NAMES = [f"Plan {k:02d}" for k in range(14)]
WORDS = np.linspace(60.0, 400.0, len(NAMES))[np.random.default_rng(2).permutation(len(NAMES))]


@cache
def rows(*, camps: bool) -> dict[str, Any]:
    """Ties, a preference for the left, two topics, long answers that win, perhaps two camps."""
    random = np.random.default_rng(8)
    n, size = 2400, len(NAMES)
    score, apart = random.normal(size=size), random.normal(size=size)
    length = (WORDS - WORDS.mean()) / WORDS.std()
    who = np.arange(n) % 24
    left = random.integers(size, size=n)
    right = (left + random.integers(1, size, size=n)) % size
    topic = random.integers(2, size=n)
    by_topic = 0.6 * random.normal(size=(2, size))
    stance = np.where(who < 16, 1.0, -1.0) if camps else np.zeros(n)
    worth = score + 0.6 * length
    gap = worth[left] - worth[right] + by_topic[topic, left] - by_topic[topic, right]
    advantage = 1.3 * gap + 1.6 * stance * (apart[left] - apart[right]) + 0.5
    shares = Adjacent().probabilities(advantage, np.full(n, -0.4))
    answer = (random.random(n)[:, None] > np.cumsum(shares, axis=1)).sum(axis=1)
    return {
        "annotator": as_text(f"voter {k:02d}" for k in who),
        "left": as_text(NAMES[k] for k in left),
        "right": as_text(NAMES[k] for k in right),
        "outcome": as_text(("left", "right", "tie")[k] for k in answer),
        "topic": as_text(("parks", "roads")[k] for k in topic),
    }


@cache
def controlled() -> Assessment:
    held = Control(as_text(NAMES), WORDS[:, None], ("words",))
    return assess(rows(camps=False), terms=Terms(control=held), warn=False)


@cache
def bridged(*, camps: bool = True) -> Assessment:
    judgments = read_judgments(rows(camps=camps), by="topic" if camps else ())
    return assess(judgments, terms=Terms(bridge=True), warn=False)


@cache
def camped() -> Assessment:
    judgments = read_judgments(rows(camps=True), by="topic")
    return assess(judgments, terms=Terms(bridge="camps"), warn=False).with_advice()
