"""A batch chosen among the best candidates is the one chosen among all."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal.advice.suggest import best_first
from aggcal.simulation import simulate


@pytest.fixture(scope="module")
def fit() -> tuple[aggcal.Judgments, aggcal.Consensus, aggcal.Scores]:
    made = simulate(items=150, annotators=12, judgments=1500, seed=4)
    judgments = aggcal.read_judgments(made.judgments)
    return judgments, aggcal.aggregate(judgments, warn=False), aggcal.read_scores(made.scores)


def assert_same(found: aggcal.Suggestions, expected: aggcal.Suggestions) -> None:
    for name in ("left", "right", "reason"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()
    for name in ("information", "probability"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "short"),
    [
        ({"n": 30}, True),
        ({"n": 30, "about": "scores"}, True),
        ({"n": 20, "per_item": 1}, True),
        ({"n": 30, "repeat": True}, True),
        ({"n": 12, "explore": 0.5}, False),
        ({"n": 6, "annotators": ["annotator-01", "annotator-02"]}, False),
    ],
)
@pytest.mark.parametrize("sizes", [(4000, 150), (4000, 7), (300, 150), (2, 150)])
def test_it_is_the_batch_of_all_candidates(
    fit: tuple[aggcal.Judgments, aggcal.Consensus, aggcal.Scores],
    options: dict[str, object],
    short: bool,
    sizes: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether all are valued anew after each round, or because the best are not so any more."""
    judgments, consensus, scores = fit
    names = judgments.annotator_ids[:2].tolist()
    options = options | ({"annotators": names} if "annotators" in options else {})
    given = dict(options, consensus=consensus, seed=2)
    number = []
    chosen = best_first._best_first

    def watched(*args: object) -> object:
        found = chosen(*args)  # type: ignore[arg-type]
        number.append(None if found is None else found.n_candidates)
        return found

    few, together = sizes
    monkeypatch.setattr(best_first, "_SHORT", few)
    monkeypatch.setattr(best_first, "_ROUND", together)
    monkeypatch.setattr(best_first, "_best_first", watched)
    quick = aggcal.suggest_pairs(judgments, scores, **given)  # type: ignore[arg-type]
    monkeypatch.setattr(best_first, "_best_first", lambda *_: None)
    assert_same(quick, aggcal.suggest_pairs(judgments, scores, **given))  # type: ignore[arg-type]
    # Of very few, or with limits, none may be left that can be asked: then all are looked at.
    assert number[0] == few if short and few == 4000 else number[0] in (None, few)
    if not short:
        assert number[0] is None
