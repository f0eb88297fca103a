"""A consensus can be pickled."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import aggcal
from aggcal.aggregation.empirical import _FEW_UNKNOWNS


def tied(items: int, judgments: int) -> aggcal.Judgments:
    random = np.random.default_rng(3)
    left = random.integers(items, size=judgments)
    right = (left + random.integers(1, items, judgments)) % items
    return aggcal.read_judgments(
        {
            "annotator": [f"u{k}" for k in random.integers(12, size=judgments)],
            "left": [f"i{k}" for k in left],
            "right": [f"i{k}" for k in right],
            "outcome": random.choice(["left", "right", "tie"], judgments).tolist(),
        }
    )


@pytest.mark.parametrize("items", [9, 2 * _FEW_UNKNOWNS])  # solved exactly, and by products
def test_a_consensus_can_be_pickled_before_and_after_its_uncertainty(items: int) -> None:
    found = aggcal.aggregate(tied(items, 4000), warn=False)
    before = pickle.loads(pickle.dumps(found))  # noqa: S301
    wanted = found.uncertainty
    assert wanted is not None
    after = pickle.loads(pickle.dumps(found))  # noqa: S301
    for each in (before, after, after.quantify()):
        np.testing.assert_allclose(each.uncertainty.se, wanted.se, rtol=1e-6)
