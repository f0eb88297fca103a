"""Studies of a few judgments each, with rare or many ties: fits come to rest at their optimum."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal.aggregation.terms import PLAIN


def thin(
    seed: int,
    items: int,
    judgments: int,
    annotators: int,
    *,
    ties: float = 0.01,
    spread: float = 1.0,
    most_weight: int = 3,
) -> aggcal.Judgments:
    """Make up answers of people of whom few are busy; some are ties."""
    random = np.random.default_rng(seed)
    scores = spread * random.normal(size=items)
    strength = np.exp(random.normal(0.0, 0.5, annotators))
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
            "outcome": np.where(random.random(judgments) < ties, "tie", said).tolist(),
            "weight": random.integers(1, most_weight + 1, judgments).astype(float).tolist(),
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


@pytest.mark.parametrize(
    ("seed", "items", "judgments", "annotators", "spread"),
    [(0, 400, 800, 40, 3.0), (0, 400, 8000, 200, 0.2), (4, 400, 800, 600, 3.0)],
)
def test_many_ties_do_not_hide_how_far_items_differ(
    seed: int, items: int, judgments: int, annotators: int, spread: float
) -> None:
    # Half of the answers being ties, the spread crept up from a tenth of what it is, for ever.
    study = thin(seed, items, judgments, annotators, ties=0.5, spread=spread, most_weight=1)
    found = aggcal.aggregate(study, warn=False)
    assert found.convergence is not None
    assert found.convergence.converged
    assert found.prior is not None
    # Few answers leave the spread uncertain, and the prior draws it to 1.
    assert min(spread, 1.0) / 1.5 < found.prior.score_sd < max(spread, 1.0) / 0.8
    again = aggcal.aggregate(study, start=-found.scores, warn=False)
    assert again.prior is not None
    assert again.prior.score_sd == pytest.approx(found.prior.score_sd, rel=1e-2)


@pytest.mark.parametrize("seed", [1, 2])
def test_first_scores_that_fit_noise_lead_to_an_optimum_all_the_same(seed: int) -> None:
    # Two annotators, five answers an item and hardly any differences: no start near those scores
    # came to rest.
    study = thin(seed, 400, 2000, 2, ties=0.0, spread=0.2, most_weight=1)
    found = aggcal.aggregate(study, warn=False)
    assert found.convergence is not None
    assert found.convergence.converged
    assert found.prior is not None
    assert 0.1 < found.prior.score_sd < 0.4
