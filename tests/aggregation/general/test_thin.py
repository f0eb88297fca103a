"""Studies of a few judgments each, with rare ties: the fit comes to rest at its optimum."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal.models.general.terms import PLAIN


def thin(seed: int, items: int, judgments: int, annotators: int) -> aggcal.Judgments:
    """Make up answers of people of whom few are busy; one in a hundred is a tie, and all weigh."""
    random = np.random.default_rng(seed)
    scores, strength = random.normal(size=items), np.exp(random.normal(0.0, 0.5, annotators))
    share = np.arange(1, annotators + 1.0) ** -0.8
    who = random.choice(annotators, judgments, p=share / share.sum())
    left = random.integers(items, size=judgments)
    right = (left + random.integers(1, items, judgments)) % items
    odds = np.exp(strength[who] * (scores[right] - scores[left]))
    said = np.where(random.random(judgments) < 1.0 / (1.0 + odds), "left", "right")
    return aggcal.read_judgments(
        {
            "annotator": [f"u{k}" for k in who],
            "left": [f"i{k}" for k in left],
            "right": [f"i{k}" for k in right],
            "outcome": np.where(random.random(judgments) < 0.01, "tie", said).tolist(),
            "weight": random.integers(1, 4, judgments).astype(float).tolist(),
        }
    )


@pytest.mark.parametrize(
    ("seed", "items", "judgments", "annotators"), [(2, 20, 200, 40), (5, 60, 400, 60)]
)
def test_rare_ties_do_not_keep_a_fit_going(
    seed: int, items: int, judgments: int, annotators: int
) -> None:
    # Newton's steps of the mean readiness to tie were twice as long as its way, for ever.
    study = thin(seed, items, judgments, annotators)
    found = aggcal.aggregate(study, warn=False).convergence
    assert found is not None
    assert found.converged
    assert found.iterations < 60


def test_single_items_do_not_keep_a_fit_going() -> None:
    found = aggcal.aggregate(thin(1, 1500, 15_000, 1500), terms=PLAIN, warn=False).convergence
    assert found is not None
    assert found.converged
