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


def told(found: aggcal.Suggestions) -> list[list[object]]:
    columns = (found.left, found.right, found.information, found.probability, found.reason)
    return [np.asarray(column).tolist() for column in columns]


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
@pytest.mark.parametrize("each", [100, 2])
def test_it_is_the_batch_of_all_candidates(
    fit: tuple[aggcal.Judgments, aggcal.Consensus, aggcal.Scores],
    options: dict[str, object],
    short: bool,
    each: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With two candidates for each pair they are too few, and all are looked at after all."""
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

    monkeypatch.setattr(best_first, "_SHORT", each)
    monkeypatch.setattr(best_first, "_best_first", watched)
    quick = aggcal.suggest_pairs(judgments, scores, **given)  # type: ignore[arg-type]
    monkeypatch.setattr(best_first, "_best_first", lambda *_: None)
    assert told(quick) == told(aggcal.suggest_pairs(judgments, scores, **given))  # type: ignore[arg-type]
    assert number[0] == 4000 if short and each == 100 else number[0] in (None, 80)
