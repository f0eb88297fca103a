"""What makes Stage 2 of many items quick changes no bit of what it returns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

import aggcal
from aggcal._core import arrays, sorting
from aggcal._core.arrays import FloatArray
from aggcal._core.tables import as_text
from aggcal.aggregation.covariance import Covariance, independent
from aggcal.calibration import atc, intervals
from aggcal.calibration.averaged import averaged_ends
from aggcal.calibration.draws import Knowledge
from aggcal.calibration.moments import moments
from aggcal.data.scores import Scores
from aggcal.errors import AggcalError, ScoreError


def study(n: int, case: str) -> tuple[Scores, Scores]:
    """The scores of a model and a consensus, odd in one way or another."""
    random = np.random.default_rng([n, len(case)])
    truth = random.standard_normal(n)
    heights, model = truth + 0.3 * random.standard_normal(n), truth + random.standard_normal(n)
    ids = as_text(f"Item {k}" for k in range(n))
    mixed, sd = random.permutation(n), None
    if case == "ties":
        heights, model = np.round(heights), np.round(model)
    if case == "all equal":
        heights, model = np.zeros(n), np.ones(n)
    if case == "zeros":
        heights = np.where(heights > 0.0, 0.0, -0.0)
    if case == "far apart":
        heights[0] = 1e9
    if case == "weights":
        sd = random.uniform(0.5, 2.0, n)
    scored = ids.copy()
    if case == "other spellings":
        scored[: n // 4] = as_text(label.upper() for label in ids[: n // 4])
    if case == "same order":
        mixed = np.arange(n)
    model_table = Scores(scored[mixed], model[mixed], None if sd is None else sd[mixed], "model")
    kept = np.arange(n)
    if case == "missing":
        kept = np.sort(random.permutation(n)[: max(1, 3 * n // 4)])
        half = np.union1d(random.permutation(n)[: n // 2], np.flatnonzero(mixed == kept[0]))
        model_table = Scores(scored[mixed][half], model[mixed][half], None, "model")
    return model_table, Scores(ids[kept], heights[kept], np.full(len(kept), 0.3), "consensus")


CASES = (
    "plain", "same order", "ties", "all equal", "zeros", "far apart", "weights", "missing",
    "other spellings",
)  # fmt: skip


def outcome(model: Scores, order: Scores, method: Any) -> tuple[Any, ...]:
    """Everything that a calibration says, or its refusal."""
    try:
        found = aggcal.calibrate(model, order, method=method, model_sd=1.0, warn=False)
    except AggcalError as error:
        return (str(error),)
    columns = {
        name: column.tobytes() if column.dtype.kind in "fi" else column.tolist()
        for name, column in found.item_columns().items()
    }
    return columns, [str(warning) for warning in found.warnings], str(found)


def quick(patch: pytest.MonkeyPatch) -> None:
    """Do what is done for many items for few."""
    patch.setattr(sorting, "LONG", 1)
    patch.setattr(arrays, "LONG", 1)


def plain(patch: pytest.MonkeyPatch) -> None:
    """Do it by NumPy and a dictionary, and sort each draw twice."""
    patch.setattr(sorting, "library", lambda: None)
    patch.delattr(atc._Projection, "curve")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    ("n", "method"), [(1, "atc"), (2, "atc"), (7, "atc"), (60, "atc"), (60, "fused"), (60, "safe")]
)
def test_few_items_as_many_are_calibrated_as_plainly(case: str, n: int, method: str) -> None:
    tables = study(n, case)
    found = []
    for way in (quick, plain):
        with pytest.MonkeyPatch.context() as patch:
            way(patch)
            patch.setattr(intervals, "FROM", 1)
            found.append(outcome(*tables, method))
    assert found[0] == found[1]


@pytest.mark.parametrize("case", ["plain", "ties", "weights", "missing"])
def test_many_items_are_calibrated_as_plainly(case: str) -> None:
    tables = study(12_000, case)
    found = outcome(*tables, "atc")
    with pytest.MonkeyPatch.context() as patch:
        plain(patch)
        assert found == outcome(*tables, "atc")


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_what_is_no_number_is_refused(bad: float) -> None:
    wrong = np.array([1.0, bad, 2.0])
    for values, sd in ((wrong, np.ones(3)), (np.ones(3), wrong)):
        with pytest.raises(ScoreError, match=r"'b' is not a .* number"):
            Scores(as_text("abc"), values, sd)


def test_ids_given_twice_are_refused() -> None:
    with pytest.raises(ScoreError, match="more than one score for 'a'"):
        Scores(as_text("aba"), np.ones(3))


class Together(Covariance):
    """The same covariance, whose draws are made many at a time."""

    item_by_item = False


@pytest.mark.parametrize("follows", [True, False])
def test_draws_one_by_one_are_those_of_a_batch(follows: bool) -> None:
    random = np.random.default_rng(12)
    consensus, sd = random.standard_normal(4_000), random.uniform(0.1, 0.5, 4_000)
    model = (2.0 if follows else -2.0) * consensus + random.standard_normal(4_000)
    together = Together(np.square(sd), lambda vector: np.square(sd) * vector)

    def known(covariance: Any) -> Knowledge:
        found = moments(model, consensus, covariance)
        assert (found.slope > 0.0) == follows
        return Knowledge(consensus, covariance, model, found, degrees_of_freedom=9.0)

    one, other = known(independent(sd)), known(together)
    for mine, theirs in zip(one.draws(3), other.draws(3), strict=True):
        assert mine[0].tobytes() == theirs[0].tobytes()
        assert mine[1] == theirs[1]
    for apart, batch in zip(one.judged(3, 30), other.judged(3, 30), strict=True):
        assert apart.tobytes() == batch.tobytes()


def test_ends_are_those_of_one_draw_after_the_other() -> None:
    random = np.random.default_rng(13)
    mean, sd = random.standard_normal(11_000), random.uniform(0.1, 0.3, 11_000)
    values = mean + random.standard_normal(11_000)
    draws = [mean + sd * random.standard_normal(11_000) for _ in range(7)]

    def at(drawn: FloatArray) -> FloatArray:
        return atc.projected_values(drawn, values, np.ones(11_000))

    low, high = averaged_ends(iter(draws), at, mean, sd, 0.9)
    reach = float(ndtri(0.5 + 0.5 * 0.9)) * sd
    for end, place in ((low, mean - reach), (high, mean + reach)):
        total = np.zeros(11_000)
        for drawn in draws:
            order = np.argsort(drawn)
            total += np.interp(place, drawn[order], at(drawn)[order])
        assert end.tobytes() == (total / 7).tobytes()
