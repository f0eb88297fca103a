"""Small studies with one effect each, for the tests of the selection."""

from __future__ import annotations

from typing import Any

import numpy as np

import aggcal


def table(
    seed: int = 0,
    *,
    items: int = 8,
    annotators: int = 8,
    judgments: int = 400,
    position: float = 0.0,
    tie_sd: float | None = None,
    reliability_sd: float = 0.0,
    contexts: int = 0,
) -> dict[str, Any]:
    """Return judgments with these effects as a table."""
    random = np.random.default_rng(seed)
    score = random.standard_normal(items)
    gamma = np.exp(reliability_sd * random.standard_normal(annotators))
    ready = (tie_sd or 0.0) * random.standard_normal(annotators)
    who = random.integers(annotators, size=judgments)
    left = random.integers(items, size=judgments)
    right = (left + random.integers(1, items, size=judgments)) % items
    eta = gamma[who] * (score[left] - score[right]) + position
    tie = np.zeros(judgments) if tie_sd is None else np.exp(ready[who])
    weights = np.stack([np.exp(eta / 2), np.exp(-eta / 2), tie], axis=1)
    edges = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    answer = (random.random(judgments)[:, None] > edges[:, :2]).sum(axis=1)
    found = {
        "annotator": [f"u{k}" for k in who],
        "left": [f"i{k}" for k in left],
        "right": [f"i{k}" for k in right],
        "outcome": [("left", "right", "tie")[k] for k in answer],
    }
    if contexts:
        found["prompt"] = [f"p{k}" for k in random.integers(contexts, size=judgments)]
    return found


def read(columns: dict[str, Any]) -> aggcal.Judgments:
    """Read a table, with its contexts if it has some."""
    return aggcal.read_judgments(columns, context="prompt" if "prompt" in columns else None)
