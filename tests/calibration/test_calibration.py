"""Stage 2: the projection, against brute force, its defining inequalities and scikit's old rule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal._core.tables import as_text
from aggcal.calibration.project import project
from aggcal.data.scores import Scores
from aggcal.errors import OptionError, ScoreError, TooLittleDataError, UnmatchedItemsWarning

numbers = st.floats(-100, 100, allow_nan=False).map(lambda x: round(x, 3))


def min_max(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Isotonic regression by its closed form: the max over a of the min over b of block means."""
    n = len(values)

    def mean(a: int, b: int) -> float:
        return float(np.average(values[a : b + 1], weights=weights[a : b + 1]))

    return np.array(
        [max(min(mean(a, b) for b in range(k, n)) for a in range(k + 1)) for k in range(n)]
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(numbers, st.floats(0.1, 9)), min_size=1, max_size=9))
def test_projection_equals_the_min_max_formula(points: list[tuple[float, float]]) -> None:
    values = np.array([v for v, _ in points])
    weights = np.array([w for _, w in points])
    heights = np.arange(len(points), dtype=np.float64)
    found, block = project(heights, values, weights)
    np.testing.assert_allclose(found, min_max(values, weights), atol=1e-9)
    assert (np.diff(found) >= 0).all()
    assert (np.diff(block) <= 0).all()
    for number in np.unique(block):
        mine = block == number
        assert np.ptp(found[mine]) == 0.0
        assert found[mine][0] == pytest.approx(np.average(values[mine], weights=weights[mine]))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 4), numbers), min_size=2, max_size=12))
def test_tied_items_share_one_value_and_projecting_twice_changes_nothing(
    points: list[tuple[int, float]],
) -> None:
    heights = np.array([float(h) for h, _ in points])
    values = np.array([v for _, v in points])
    ones = np.ones(len(points))
    found, block = project(heights, values, ones)
    for a in range(len(points)):
        for b in range(len(points)):
            if heights[a] == heights[b]:
                assert found[a] == found[b]
                assert block[a] == block[b]
            elif heights[a] < heights[b]:
                assert found[a] <= found[b]
    np.testing.assert_allclose(project(heights, found, ones)[0], found, atol=1e-9)
    # The residual of a projection onto a cone is orthogonal to the projection.
    assert float((values - found) @ found) == pytest.approx(0.0, abs=1e-6)
    assert found.mean() == pytest.approx(values.mean(), abs=1e-9)


def test_perfect_order_changes_nothing() -> None:
    result = aggcal.calibrate([("a", 3.0), ("b", 2.0), ("c", 1.0)], {"c": 0, "b": 5, "a": 9})
    assert result.items["item"].tolist() == ["a", "b", "c"]
    assert result.items["calibrated"].tolist() == [3.0, 2.0, 1.0]
    assert result.blocks == 3
    assert result.shift_rms == 0.0


def test_reversed_order_pools_everything() -> None:
    result = aggcal.calibrate([("a", 3.0), ("b", 2.0), ("c", 1.0)], {"a": 1, "b": 2, "c": 3})
    assert result.items["calibrated"].tolist() == [2.0, 2.0, 2.0]
    assert result.blocks == 1


def test_scores_with_sd_are_weighted_unless_told_otherwise() -> None:
    scores = aggcal.read_scores([("a", 0.0, 1.0), ("b", 3.0, 0.5)])
    order = {"a": 2, "b": 1}
    weighted = aggcal.calibrate(scores, order)
    assert weighted.weighted
    assert weighted.calibrated[0] == pytest.approx((0.0 * 1 + 3.0 * 4) / 5)
    assert aggcal.calibrate(scores, order, weights=None).calibrated[0] == 1.5
    own = aggcal.calibrate(scores, order, weights={"a": 3.0, "b": 1.0})
    assert own.calibrated[0] == pytest.approx(0.75)


def test_items_of_one_table_only_are_kept_named_and_not_calibrated() -> None:
    with pytest.warns(UnmatchedItemsWarning) as caught:
        result = aggcal.calibrate([("a", 1.0), ("b", 2.0), ("new", 7.0)], {"a": 2, "b": 1, "x": 3})
    assert any("'x'" in str(w.message) for w in caught)
    assert any("'new'" in str(w.message) for w in caught)
    items = result.items
    assert items["item"].tolist() == ["x", "a", "b", "new"]
    assert items["rank"].tolist() == [1, 2, 3, None]
    assert items["block"].tolist() == [None, 1, 1, None]
    np.testing.assert_array_equal(result.calibrated, [np.nan, 1.5, 1.5, np.nan])
    np.testing.assert_array_equal(items["calibrated"], [1.5, 1.5, 1.5, np.nan])
    assert items["score_source"].tolist() == ["interpolated", "model", "model", None]
    np.testing.assert_array_equal(items["model"], [np.nan, 1.0, 2.0, 7.0])
    assert result.n_calibrated == 2


def test_no_common_item_is_an_error() -> None:
    with pytest.raises(TooLittleDataError, match="no item is in both"):
        aggcal.calibrate([("a", 1.0)], {"x": 1.0})


def test_bad_options_are_refused() -> None:
    with pytest.raises(OptionError, match="choose atc"):
        aggcal.calibrate([("a", 1.0)], {"a": 1.0}, method="platt")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="'b'"):
        aggcal.calibrate([("a", 1.0), ("b", 1.0)], {"a": 1.0, "b": 2.0}, weights={"a": 1.0})
    with pytest.raises(OptionError, match="not positive"):
        aggcal.calibrate([("a", 1.0)], {"a": 1.0}, weights={"a": 0.0})


@pytest.mark.parametrize("power", [-500, -160, 60, 160])
def test_the_unit_of_the_model_changes_nothing(power: int) -> None:
    random = np.random.default_rng(11)
    ids = [f"i{k}" for k in range(12)]
    pairs = [random.choice(12, 2, replace=False).tolist() for _ in range(200)]
    rows = [("ann" if k % 3 else "bob", ids[max(p)], ids[min(p)]) for k, p in enumerate(pairs)]
    consensus = aggcal.aggregate(rows, warn=False)
    model = dict(zip(ids, (np.arange(12) + 3.0 * random.normal(size=12)).tolist(), strict=True))
    unit = 2.0**power  # exact: no digit is lost
    one = aggcal.calibrate(model, consensus)
    other = aggcal.calibrate({item: unit * score for item, score in model.items()}, consensus)
    for name in ("calibrated", "low", "high"):
        np.testing.assert_array_equal(getattr(other, name), unit * getattr(one, name))


def test_scores_beyond_what_can_be_squared_are_refused() -> None:
    with pytest.raises(ScoreError, match="the score of 'a' is too large; give numbers of up to"):
        aggcal.calibrate({"a": 1e60, "b": 1.0, "c": 2.0}, {"a": 1.0, "b": 2.0, "c": 3.0})


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_what_is_no_number_is_refused(bad: float) -> None:
    wrong = np.array([1.0, bad, 2.0])
    for values, sd in ((wrong, np.ones(3)), (np.ones(3), wrong)):
        with pytest.raises(ScoreError, match=r"'b' is not a .* number"):
            Scores(as_text("abc"), values, sd)


def test_ids_given_twice_are_refused() -> None:
    with pytest.raises(ScoreError, match="more than one score for 'a'"):
        Scores(as_text("aba"), np.ones(3))
