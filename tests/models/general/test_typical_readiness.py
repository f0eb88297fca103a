"""The readiness at which so many answers are ties, against answers that are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from aggcal.models.general.outcomes import (
    Outcomes,
    adjacent,
    adjacent_probabilities,
    rao_kupper,
    rao_kupper_probabilities,
    typical_readiness,
)


@pytest.mark.parametrize("share", [0.003, 0.1, 0.6])
@pytest.mark.parametrize("outcomes", [adjacent, rao_kupper])
@pytest.mark.parametrize("spread", [0.2, 2.0])
def test_so_many_are_ties(share: float, outcomes: Outcomes, spread: float) -> None:
    found = typical_readiness(share, outcomes, np.ones(1), spread, 1.0)
    rng = np.random.default_rng(1)
    advantage, readiness = rng.normal(0.0, spread, 200_000), rng.normal(found, 1.0, 200_000)
    if outcomes is rao_kupper:
        chances = rao_kupper_probabilities(advantage, readiness)
    else:
        chances = adjacent_probabilities(advantage, readiness, np.ones(1))
    assert chances[:, 2].mean() == pytest.approx(share, rel=0.03)


def test_no_ties_and_ties_only_have_an_end() -> None:
    lowest, highest = (typical_readiness(s, adjacent, np.ones(1), 1.0, 1.0) for s in (0.0, 1.0))
    assert lowest < -10.0
    assert 5.0 < highest < 10.0
