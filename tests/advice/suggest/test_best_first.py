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
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("sizes", [(500, 4000, 100), (40, 300, 1), (2, 3, 1)])
def test_it_is_the_batch_of_all_candidates(  # noqa: PLR0917
    fit: tuple[aggcal.Judgments, aggcal.Consensus, aggcal.Scores],
    options: dict[str, object],
    short: bool,
    sizes: tuple[int, int, int],
    compiled: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether few are set aside or many, and many looked at or few."""
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

    for name, size in zip(("_SHORT", "_VALUED", "_PER_PAIR"), sizes, strict=True):
        monkeypatch.setattr(best_first, name, size)
    if not compiled:
        monkeypatch.setattr("aggcal.advice.suggest.asked.library", lambda: None)
    monkeypatch.setattr(best_first, "_best_first", watched)
    quick = aggcal.suggest_pairs(judgments, scores, **given)  # type: ignore[arg-type]
    monkeypatch.setattr(best_first, "_best_first", lambda *_: None)
    assert_same(quick, aggcal.suggest_pairs(judgments, scores, **given))  # type: ignore[arg-type]
    few = sizes[0]
    assert number[0] == few if short and few == 500 else number[0] in (None, few)
    if not short:
        assert number[0] is None


def test_there_may_be_no_pair_left(
    fit: tuple[aggcal.Judgments, aggcal.Consensus, aggcal.Scores],
) -> None:
    """An item that is in one pair only leaves another without a partner at last."""
    judgments, consensus, _ = fit
    found = aggcal.suggest_pairs(judgments, consensus=consensus, n=75, per_item=1, explore=0.0)
    assert len({*found.left, *found.right}) == 150
    with pytest.raises(aggcal.errors.OptionError, match="75"):
        aggcal.suggest_pairs(judgments, consensus=consensus, n=76, per_item=1)
