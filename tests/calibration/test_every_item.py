"""A number for every item: interpolated, within bounds, or by anchors alone."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aggcal
from aggcal.calibration.result import Interpolated, Scale, interpolated
from aggcal.errors import OptionError, TooLittleDataError
from aggcal.simulation import Simulation, simulate
from conftest import Command, table

NAN = np.nan


def neighbours(calibrated: list[float], **more: Any) -> Interpolated:
    """Interpolate items in falling consensus order, their calibrated scores known or not."""
    scores = np.array(calibrated)
    order = np.arange(len(scores), 0.0, -1.0)
    return interpolated(
        (order, more.get("consensus_low", order), more.get("consensus_high", order)),
        (scores, more.get("low", scores), more.get("high", scores)),
        more.get("component", np.zeros(len(scores), dtype=np.int64)),
        more.get("bounds"),
    )


def test_an_item_lies_between_its_neighbours() -> None:
    found = neighbours([9.0, NAN, NAN, 3.0])
    np.testing.assert_allclose(found.values[1:3], [7.0, 5.0])
    np.testing.assert_allclose([found.low[1], found.high[1]], [3.0, 9.0])
    assert np.isnan(found.values[[0, 3]]).all()


def test_the_first_and_the_last_have_no_interval_unless_the_scale_ends() -> None:
    known = [NAN, 9.0, 3.0, NAN]
    found = neighbours(known)
    np.testing.assert_allclose(found.values[[0, 3]], [9.0, 3.0])
    assert np.isnan([found.low[0], found.high[0], found.low[3], found.high[3]]).all()
    ended = neighbours(known, bounds=(0.0, 10.0))
    assert (ended.low[0], ended.high[0], ended.low[3], ended.high[3]) == (9.0, 10.0, 0.0, 3.0)


def test_nothing_is_taken_from_another_component() -> None:
    component = np.array([0, 0, 0, 1, 1])
    found = neighbours([9.0, NAN, 5.0, NAN, NAN], component=component)
    np.testing.assert_allclose(found.values[1], 7.0)
    assert np.isnan(found.values[3:]).all()


def test_neighbours_are_those_beyond_what_the_rank_may_be() -> None:
    order = np.arange(5.0, 0.0, -1.0)
    wide = neighbours(
        [9.0, 8.0, NAN, 4.0, 3.0], consensus_low=order - 1.5, consensus_high=order + 1.5
    )
    assert (wide.low[2], wide.high[2]) == (3.0, 9.0)


def test_an_interval_is_no_point_where_the_neighbours_share_a_block() -> None:
    known = np.array([6.0, NAN, 6.0])
    found = neighbours([6.0, NAN, 6.0], low=known - 1.0, high=known + 2.0)
    assert (found.values[1], found.low[1], found.high[1]) == (6.0, 5.0, 8.0)


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=9),
    st.integers(0, 4),
    st.sampled_from([None, (-10.0, 10.0), (0.5, 77.7)]),
)
def test_ends_stay_outside_scores_and_all_within_bounds(
    values: list[float], digits: int, bounds: tuple[float, float] | None
) -> None:
    scale, array = Scale(bounds, digits), np.array(values)
    scores, low, high = scale.scores(array), scale.low_ends(array), scale.high_ends(array)
    assert (low <= scores).all()
    assert (scores <= high).all()
    order = np.argsort(array, kind="stable")
    assert (np.diff(scores[order]) >= 0.0).all()
    if bounds is None:
        assert np.abs(scores - array).max() <= 0.5000001 * 10.0**-digits
    else:
        assert low.min() >= bounds[0]
        assert high.max() <= bounds[1]


def without(study: Simulation, hidden: set[str]) -> dict[str, float]:
    pairs = zip(study.item_ids, study.model, strict=True)
    return {item: float(score) for item, score in pairs if item not in hidden}


@pytest.mark.slow
def test_the_interval_mostly_holds_what_a_score_would_have_led_to() -> None:
    """Hide scores, and look where calibration puts the items that have them, by the true order."""
    inside, width = [], []
    for seed in range(12):
        study = simulate(items=60, annotators=12, judgments=1200, model_sd=5.0, seed=seed)
        hidden = set(study.item_ids[::6])
        consensus = aggcal.aggregate(study.judgments, warn=False)
        found = aggcal.calibrate(without(study, hidden), consensus, bounds=(0, 100), warn=False)
        exact = dict(zip(study.item_ids, study.truth, strict=True))
        ideal = aggcal.calibrate(without(study, set()), exact, warn=False)
        truth = dict(zip(ideal.item_ids, ideal.calibrated, strict=True))
        assert found.interpolated is not None
        for k, item in enumerate(found.item_ids):
            if item in hidden:
                low, high = found.interpolated.low[k], found.interpolated.high[k]
                inside.append(low <= truth[item] <= high)
                width.append(high - low)
    assert np.mean(inside) >= 0.93
    assert np.mean(width) < 60.0


@pytest.mark.slow
@pytest.mark.parametrize("curved", [False, True])
def test_anchors_alone_give_the_scale_and_cover_the_truth(curved: bool) -> None:
    inside, error, plain = [], [], []
    for seed in range(12):
        study = simulate(items=100, annotators=12, judgments=2500, seed=seed)
        truth = study.truth if not curved else np.exp(study.truth / 20.0)
        chosen = np.random.default_rng(seed).choice(100, 40, replace=False)
        anchors = {study.item_ids[k]: float(truth[k]) for k in chosen}
        found = aggcal.assess(
            study.judgments, anchors=anchors, level=0.9, seed=seed, warn=False
        ).anchored
        assert found is not None
        rest = np.setdiff1d(np.arange(100), chosen)
        consensus = aggcal.aggregate(study.judgments, warn=False)
        place = [list(consensus.item_ids).index(i) for i in study.item_ids[rest]]
        inside.append(
            np.mean((found.low[place] <= truth[rest]) & (truth[rest] <= found.high[place]))
        )
        error.append(np.mean(np.square(found.values[place] - truth[rest])))
        plain.append(np.var(truth))
        order = np.argsort(consensus.scores)
        assert (np.diff(found.values[order]) >= -1e-9).all()
    assert np.mean(inside) >= 0.87
    assert np.mean(error) < 0.4 * np.mean(plain)


def test_anchors_of_other_items_are_refused_before_anything_is_fitted() -> None:
    study = simulate(items=10, annotators=4, judgments=200, seed=1)
    with pytest.raises(TooLittleDataError, match="0 anchors of 6 are among the judged items"):
        aggcal.assess(study.judgments, anchors={f"x{k}": 1.0 for k in range(6)}, warn=False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"bounds": (5, 5)}, "the bounds are 5 and 5"),
        ({"bounds": 7}, "give two numbers"),
        ({"bounds": (0, float("inf"))}, "lowest score and then the highest"),
        ({"digits": 1.5}, "digits is 1.5"),
        ({"digits": -1}, "digits is -1"),
    ],
)
def test_a_scale_that_is_none_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        aggcal.calibrate({"a": 1.0}, {"a": 1.0}, warn=False, **options)  # type: ignore[arg-type]


def test_bounds_without_scores_or_anchors_are_refused() -> None:
    with pytest.raises(OptionError, match="bounds and digits are for calibrated scores"):
        aggcal.assess([("u", "a", "b")], bounds=(0, 1), warn=False)


def test_the_command_gives_every_judged_item_a_number(study_folder: Path, command: Command) -> None:
    scores = table(study_folder / "scores.csv")
    with (study_folder / "some.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, scores[0])
        writer.writeheader()
        writer.writerows(scores[4:])
    done = command(
        "run", "data/judgments.csv", "data/some.csv", "-o", "out", "--bounds", "40,60",
        "--digits", "1",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "A missing score is interpolated between the item's neighbours" in done.stderr
    rows = table(study_folder.parent / "out" / "items.csv")
    assert sorted({row["score_source"] for row in rows}) == ["interpolated", "model"]
    for row in rows:
        assert 40.0 <= float(row["calibrated"]) <= 60.0
        assert len(row["calibrated"].partition(".")[2]) <= 1
        if row["score_source"] == "model":
            assert float(row["calibrated_low"]) <= float(row["calibrated"])
    values = [float(row["calibrated"]) for row in rows]
    assert values == sorted(values, reverse=True)
    page = (study_folder.parent / "out" / "report.md").read_text()
    first = next(line for line in page.splitlines() if f"| {rows[0]['item']} |" in line)
    assert f"| {rows[0]['calibrated']} (" in first
    shown = command("report", "out", "-o", "again.html")
    assert shown.returncode == 0, shown.stderr


def test_the_command_takes_anchors_without_a_model(study_folder: Path, command: Command) -> None:
    done = command(
        "aggregate", "data/judgments.csv", "--anchors", "data/truth.csv", "-o", "out", "--digits",
        "0",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = table(study_folder.parent / "out" / "items.csv")
    assert {row["score_source"] for row in rows} == {"anchors"}
    bare = command("aggregate", "data/judgments.csv", "--digits", "0", "-o", "other")
    assert bare.returncode == 2
    assert "give --anchors" in bare.stderr
