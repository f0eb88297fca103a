"""Answer by answer: as good as fitting anew, and with the same words for what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal.aggregation.covariance import DenseCovariance
from aggcal.errors import InputError

Study = tuple[aggcal.Judgments, np.ndarray]


def started(seed: int, items: int, annotators: int, rows: int) -> Study:
    """Simulate a study, with the true scores of its items in their order."""
    random = np.random.default_rng(seed)
    true = random.normal(0.0, 1.5, items)
    left = random.integers(items, size=rows)
    right = (left + random.integers(1, items, rows)) % items
    won = random.random(rows) < 1.0 / (1.0 + np.exp(true[right] - true[left]))
    table = {
        "annotator": [f"u{u}" for u in random.integers(annotators, size=rows)],
        "winner": [f"i{k:02d}" for k in np.where(won, left, right)],
        "loser": [f"i{k:02d}" for k in np.where(won, right, left)],
    }
    return aggcal.read_judgments(table), true


def test_answers_are_the_steps_that_linear_algebra_gives() -> None:
    judgments, _ = started(1, 8, 4, 120)
    asking = aggcal.Suggester(judgments)
    assert asking.consensus.quantifier is not None
    fit = asking.consensus.quantifier.covariance(asking.consensus)
    assert fit is not None
    assert isinstance(fit.covariance, DenseCovariance)
    matrix, who = fit.covariance.matrix, str(judgments.annotator_ids[1])
    slope = float(asking.consensus.reliabilities[1])
    for i, j, outcome in ((2, 5, "left"), (0, 2, "right")):
        a = np.eye(8)[i] - np.eye(8)[j]
        chance = 1.0 / (1.0 + np.exp(-slope * a @ asking.scores))
        information = slope**2 * chance * (1.0 - chance)
        precision = np.linalg.pinv(matrix, hermitian=True) + information * np.outer(a, a)
        matrix = np.linalg.pinv(precision, hermitian=True)
        moved = asking.scores + matrix @ a * slope * ((outcome == "left") - chance)
        asking.record(who, asking.item_ids[i], asking.item_ids[j], outcome)
        assert asking.scores == pytest.approx(moved, abs=1e-9)


def test_many_answers_end_near_the_fit_of_all_of_them() -> None:
    judgments, true = started(3, 30, 6, 600)
    asking = aggcal.Suggester(judgments, seed=1)
    random = np.random.default_rng(9)
    names = judgments.annotator_ids.tolist()
    place = {item: k for k, item in enumerate(asking.item_ids)}
    for k in range(150):
        who = names[k % len(names)]
        pair = asking.suggest(1, annotator=who)
        left, right = str(pair.left[0]), str(pair.right[0])
        chance = 1.0 / (1.0 + np.exp(true[place[right]] - true[place[left]]))
        asking.record(who, left, right, "left" if random.random() < chance else "right")
    whole = aggcal.aggregate(aggcal.add_judgments(judgments, asking.answers), warn=False)
    again = np.array([whole.scores[whole.item_ids.tolist().index(i)] for i in asking.item_ids])
    moved = np.std(again - asking.consensus.scores)
    unit = float(again @ asking.scores) / float(again @ again)
    assert np.std(asking.scores - unit * again) < 0.3 * moved
    asked = {(who, *sorted((left, right))) for who, left, right, _ in asking.answers}
    assert len(asked) == 150  # nobody was asked twice


def test_suggesting_changes_nothing() -> None:
    judgments, _ = started(4, 12, 5, 200)
    one, other = aggcal.Suggester(judgments, seed=3), aggcal.Suggester(judgments, seed=3)
    one.suggest(5)
    assert one.suggest(3).information == pytest.approx(other.suggest(3).information)
    batch = aggcal.suggest_pairs(judgments, n=3)
    assert one.suggest(3).information == pytest.approx(batch.information)


def test_a_new_item_joins_and_a_new_annotator_counts_as_typical() -> None:
    asking = aggcal.Suggester(
        [("ann", "a", "b"), ("bob", "b", "c"), ("ann", "a", "c")], items=["n"]
    )
    assert asking.suggest(1).reason[0] == "new item"
    asking.record("new one", "n", "a", 1)
    asking.record("new one", "n", "b", "tie")
    assert asking.suggest(1).reason[0] != "new item"
    place = dict(zip(asking.item_ids, asking.scores, strict=True))
    assert place["n"] > place["b"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (("ann", "a", "b", "A"), "the outcome is 'A'; give 'left', 'right' or 'tie'"),
        (("ann", "a", "x", "left"), "no item 'x'"),
        (("ann", "a", "a", "left"), "compared with itself"),
    ],
)
def test_wrong_answers_are_refused_and_change_nothing(row: tuple[str, ...], said: str) -> None:
    asking = aggcal.Suggester([("ann", "a", "b"), ("bob", "b", "c")])
    before = asking.scores.copy()
    with pytest.raises(InputError, match=said):
        asking.record(*row)
    assert (asking.scores == before).all()
    assert not asking.answers
    with pytest.raises(InputError, match="n is 99"):
        asking.suggest(99)
