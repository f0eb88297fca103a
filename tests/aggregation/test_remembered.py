"""What a consensus keeps of its fit: nothing is worked out twice, and it can be pickled."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal.aggregation import empirical, shards, terms
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


def test_what_follows_a_fit_does_not_lay_out_its_rows_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    laid_out, inverse = shards.lay_out, empirical.Curvature.inverse
    judgments = tied(9, 4000)
    found = aggcal.aggregate(judgments, warn=False)

    def told(what: str, called: Callable[..., Any]) -> Callable[..., Any]:
        def tell(*arguments: Any, **options: Any) -> Any:
            asked.append(what)
            return called(*arguments, **options)

        return tell

    monkeypatch.setattr(terms, "lay_out", told("rows", laid_out))
    monkeypatch.setattr(empirical.Curvature, "inverse", told("inverse", inverse))
    assert found.uncertainty is not None
    aggcal.suggest_pairs(judgments, consensus=found)
    assert set(asked) == {"inverse"}  # of the fit for claims
