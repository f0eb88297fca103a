"""Scales that people know: Elo, 0 to 100, wins against the average item, rank bounds."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.links import link
from aggcal.aggregation.scales import ScoreScale, check_scale, rank_bounds, scale_of_consensus
from aggcal.errors import OptionError
from documents import document, listing

ROWS = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c"), ("bob", "c", "b")] * 4


@pytest.fixture(scope="module")
def fitted() -> dict[str, Consensus]:
    return {
        name: aggcal.aggregate(ROWS, method=name, warn=False) for name in ("hra-g", "tcv", "btl")
    }


@pytest.mark.parametrize("method", ["hra-g", "tcv", "btl"])
def test_scales_rise_with_the_score_and_turn_back(
    fitted: dict[str, Consensus], method: str
) -> None:
    consensus = fitted[method]
    for name in ("elo", "0-100", "win"):
        scale = scale_of_consensus(consensus, name)
        values = scale.of(consensus.scores)
        assert np.array_equal(np.argsort(values), np.argsort(consensus.scores))
        for score, value in zip(consensus.scores, values, strict=True):
            assert scale.score(float(value)) == pytest.approx(score, abs=1e-9)
        assert ScoreScale.from_dict(scale.to_dict()) == scale


def test_elo_is_that_of_the_win_probability(fitted: dict[str, Consensus]) -> None:
    consensus = fitted["btl"]
    elo = scale_of_consensus(consensus, "elo").of(consensus.scores)
    gap = elo[0] - elo[1]
    assert 1 / (1 + 10 ** (-gap / 400)) == pytest.approx(
        1 / (1 + np.exp(-(consensus.scores[0] - consensus.scores[1])))
    )
    assert elo.mean() == pytest.approx(1000.0)


def test_elo_of_another_link_is_right_between_equals() -> None:
    normal = aggcal.aggregate(ROWS, method="tcv", warn=False)
    scale, small = scale_of_consensus(normal, "elo"), 1e-4
    points = float(np.diff(scale.of(np.array([0.0, small])))[0])
    by_elo = 1 / (1 + 10 ** (-points / 400))
    by_link = float(link("normal").probability(np.array([small]))[0])
    assert by_elo == pytest.approx(by_link, abs=1e-9)


def test_an_anchor_has_its_rating(fitted: dict[str, Consensus]) -> None:
    consensus = fitted["hra-g"]
    scale = scale_of_consensus(consensus, "elo", ("b", 1234.0))
    at = consensus.item_ids.tolist().index("b")
    assert scale.of(consensus.scores)[at] == pytest.approx(1234.0)
    free = scale_of_consensus(consensus, "elo").of(consensus.scores)
    assert np.ptp(scale.of(consensus.scores) - free) == pytest.approx(0.0, abs=1e-9)


def test_the_lowest_has_0_and_the_highest_100(fitted: dict[str, Consensus]) -> None:
    consensus = fitted["hra-g"]
    values = scale_of_consensus(consensus, "0-100").of(consensus.scores)
    assert (values.min(), values.max()) == pytest.approx((0.0, 100.0))
    equal = aggcal.aggregate([("u", "a", "b"), ("v", "b", "a")], warn=False)
    assert scale_of_consensus(equal, "0-100").of(equal.scores) == pytest.approx([50.0, 50.0])


def test_rank_bounds_by_brute_force() -> None:
    random = np.random.default_rng(3)
    low = random.standard_normal(40).round(1)
    high = low + random.exponential(0.7, 40).round(1)
    part = random.integers(0, 2, 40)
    for component in (None, part):
        same = np.ones((40, 40), dtype=bool)
        if component is not None:
            same = component[:, None] == component
        best, worst = rank_bounds(low, high, component)
        for i in range(40):
            above = sum(low[j] > high[i] for j in range(40) if same[i, j])
            below = sum(high[j] < low[i] for j in range(40) if same[i, j])
            assert (best[i], worst[i]) == (1 + above, 40 - below)


def test_scaled_columns_stand_at_the_end_and_intervals_move_along() -> None:
    result: Any = aggcal.assess(ROWS, warn=False).with_scale("elo", anchor=("a", 1000))
    items, scale = result.items, result.scale
    assert list(items)[-5:] == [
        "elo", "elo_low", "elo_high", "rank_upper_bound", "rank_lower_bound",
    ]  # fmt: skip
    for end in ("", "_low", "_high"):
        assert items[f"elo{end}"] == pytest.approx(scale.of(items[f"consensus{end}"]))
    found = listing(document(result, check=False), "items")
    assert found["chart"]["marks"]["dot"] == "elo"
    assert found["elo"]["values"] == pytest.approx(items["elo"], abs=0.5)


def test_a_plot_is_drawn_in_the_scale(fitted: dict[str, Consensus]) -> None:
    figure = pytest.importorskip("matplotlib.figure")
    from aggcal import plot

    consensus = fitted["btl"]
    scale = scale_of_consensus(consensus, "elo")
    ax = plot.consensus(consensus, scale=scale, ax=figure.Figure().subplots())
    shown = ax.collections[-1].get_offsets()
    assert ax.get_xlabel() == "Elo"
    assert np.asarray(shown)[:, 0] == pytest.approx(scale.of(consensus.scores[consensus.order]))


def test_categories_are_on_the_same_scale() -> None:
    random = np.random.default_rng(0)
    rows = [
        {"annotator": u, "winner": a, "loser": b, "topic": t}
        for u, (a, b), t in product("uvw", [("a", "b"), ("b", "c"), ("a", "c")], ["x", "y"])
        for _ in range(3)
        if random.random() < 0.9
    ]
    judgments = aggcal.read_judgments(rows, by="topic")
    result: Any = aggcal.assess(judgments, warn=False).with_scale("elo")
    table = result.category_columns()
    assert table["elo"] == pytest.approx(result.scale.of(table["score"]))
    score = listing(document(result, check=False), "by-category")["score"]
    assert score["title"] == "Elo"
    assert sorted(score["values"]) == pytest.approx(sorted(table["elo"]), abs=0.5)


@pytest.mark.parametrize(
    ("name", "anchor", "method", "about"),
    [
        ("elos", None, None, "did you mean 'elo'"),
        (None, ("a", 1.0), None, "anchor is for scale='elo'"),
        ("win", ("a", 1.0), None, "anchor is for scale='elo'"),
        ("elo", ("a", float("nan")), None, "give a number"),
        ("elo", None, "rank-svm", "do not say how often an item wins"),
    ],
)
def test_scales_that_cannot_be(
    name: str, anchor: tuple[str, float] | None, method: str | None, about: str
) -> None:
    with pytest.raises(OptionError, match=about):
        check_scale(name, anchor, method)


def test_an_anchor_that_nobody_judged(fitted: dict[str, Consensus]) -> None:
    with pytest.raises(OptionError, match="'z' is not among the judged items"):
        scale_of_consensus(fitted["btl"], "elo", ("z", 1000.0))
