"""What makes Stage 2 of many items quick changes no bit of what it returns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal._core import arrays, sorting
from aggcal._core.tables import as_text
from aggcal.calibration import intervals
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
    """Do it by NumPy and a dictionary."""
    patch.setattr(sorting, "library", lambda: None)


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
