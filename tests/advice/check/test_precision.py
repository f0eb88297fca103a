"""The number of judgments that is foretold, against studies of that size."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal.advice.check.precision import Precision, precision
from aggcal.errors import OptionError
from aggcal.metrics import kendall
from aggcal.simulation import simulate

Fitted = tuple[aggcal.Judgments, aggcal.Consensus]


def fit(judgments: aggcal.Judgments) -> Fitted:
    return judgments, aggcal.aggregate(judgments, warn=False)


def fitted_study(judgments: int, seed: int) -> tuple[Fitted, np.ndarray]:
    study = simulate(items=40, annotators=20, judgments=judgments, reliability_sd=0.3, seed=seed)
    return fit(aggcal.read_judgments(study.judgments)), study.latent


def test_the_chance_of_a_right_order_is_that_of_the_truth() -> None:
    """With enough items the limit of the scores is the truth that made the judgments."""
    claimed, true = [], []
    for seed in range(4):
        fitted, latent = fitted_study(1000, seed)
        found = precision(*fitted)
        assert found is not None
        claimed.append(found.right_order)
        true.append(0.5 + 0.5 * kendall(fitted[1].scores, latent)[0])
    assert np.mean(claimed) == pytest.approx(np.mean(true), abs=0.02)


def test_as_many_judgments_as_foretold_reach_the_aim() -> None:
    needed = []
    for seed in range(3):
        found = precision(*fitted_study(1000, seed)[0])
        assert found is not None
        assert found.needed is not None
        needed.append(found.needed)
    reached = []
    for seed in range(10, 13):
        fitted, latent = fitted_study(round(float(np.mean(needed))), seed)
        reached.append(0.5 + 0.5 * kendall(fitted[1].scores, latent)[0])
    # Where scores may be in clusters, rather too many judgments are foretold than too few.
    assert 0.885 <= np.mean(reached) <= 0.935


def test_a_wanted_standard_error_is_reached_when_foretold() -> None:
    found = precision(*fitted_study(1000, 1)[0], 0.15)
    assert found is not None
    assert found.needed is not None
    later = precision(*fitted_study(found.needed, 2)[0], 0.15)
    assert later is not None
    assert later.standard_error == pytest.approx(0.15, rel=0.12)
    assert "more judgments" in str(found)


def test_impossible_aims_are_refused() -> None:
    fitted = fitted_study(200, 1)[0]
    with pytest.raises(OptionError, match="above 0"):
        precision(*fitted, 0.0)


def simple(scores: list[float], annotators: int, number: int, seed: int) -> aggcal.Judgments:
    """Annotators who are alike judge random pairs of items with these scores."""
    random = np.random.default_rng(seed)
    rows = []
    for k in range(number):
        a, b = random.choice(len(scores), 2, replace=False)
        left = random.random() < 1.0 / (1.0 + np.exp(scores[b] - scores[a]))
        rows.append((f"u{k % annotators}", f"i{a}", f"i{b}", "left" if left else "right"))
    return aggcal.read_judgments(rows)


def test_no_number_is_foretold_where_nothing_shows_that_items_differ() -> None:
    """A study of equal items was told to collect 20,000 more judgments."""
    told = 0
    for seed in range(8):
        found = precision(*fit(simple([0.0] * 12, 8, 300, seed)))
        assert found is not None
        told += found.needed is not None
        if found.needed is None:
            assert "do not show that items differ" in str(found)
    assert told <= 2


def test_items_that_differ_a_little_are_told_a_number() -> None:
    found = precision(*fit(simple(list(np.linspace(-0.5, 0.5, 12)), 8, 600, 1)))
    assert found is not None
    assert found.items_differ
    assert found.needed is not None


def test_of_two_items_the_right_order_is_that_of_the_one_pair() -> None:
    """It said 91% on the page that called the leader first with more than 99%."""
    fitted = fit(simple([0.8, -0.8], 10, 60, 3))
    found, known = precision(*fitted), fitted[1].uncertainty
    assert found is not None
    assert known is not None
    ahead = known.order_probability(np.array([0]), np.array([1]))[0]
    assert found.right_order == pytest.approx(max(ahead, 1.0 - ahead))


def test_the_right_order_of_wide_scores_is_that_of_the_truth() -> None:
    """Where items are far apart, it is the few close pairs that count, and how well they are known.

    It was .92 on average for .96.
    """
    claimed, true = [], []
    for seed in range(6):
        scores = list(np.random.default_rng(seed).normal(0.0, 3.0, 15))
        fitted = fit(simple(scores, 6, 600, seed))
        found = precision(*fitted)
        assert found is not None
        claimed.append(found.right_order)
        where = [int(item[1:]) for item in fitted[1].item_ids]
        true.append(0.5 + 0.5 * kendall(fitted[1].scores, np.array(scores)[where])[0])
    assert np.mean(claimed) == pytest.approx(np.mean(true), abs=0.02)


def test_nothing_is_rounded_up_to_a_target_that_is_missed() -> None:
    said = str(Precision(300, 0.8973, 0.31, None, 350))
    assert "probability 89%" in said
