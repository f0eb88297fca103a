"""The GPU against this machine: the same optimum and errors; and what happens without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_sharded import answered, assert_same, fitted

import aggcal
from aggcal.engines.gpu import missing
from aggcal.errors import NoGpuWarning
from aggcal.simulation import simulate

REASON = missing()
on_a_gpu = pytest.mark.skipif(REASON is not None, reason="needs a GPU and CuPy")


def study(
    items: int, annotators: int, judgments: int, *, weighted: bool = False
) -> aggcal.Judgments:
    made = simulate(items=items, annotators=annotators, judgments=judgments, seed=3)
    columns: dict[str, Any] = dict(made.judgments)
    if weighted:
        columns["weight"] = np.random.default_rng(1).choice([0.25, 1.0, 3.0], judgments)
    return aggcal.read_judgments(columns)


@pytest.mark.skipif(REASON is None, reason="there is a GPU here")
def test_without_a_gpu_the_processor_takes_its_place_and_says_so() -> None:
    judgments = study(10, 3, 200)
    with pytest.warns(NoGpuWarning, match="the processor took its place"):
        found = fitted(judgments, engine="gpu")
    np.testing.assert_array_equal(found.scores, fitted(judgments).scores)


@on_a_gpu
@pytest.mark.parametrize("estimator", ["marginal", "mode"])
@pytest.mark.parametrize("method", ["hra-g", "hra-e", "hra-n", "crowd-bt"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_same_optimum_as_on_this_machine(method: str, estimator: Any, weighted: bool) -> None:
    judgments = study(60, 40, 6_000, weighted=weighted)
    wanted = fitted(judgments, method, estimator=estimator)
    assert_same(fitted(judgments, method, estimator=estimator, engine="gpu"), wanted, close=5e-5)


@on_a_gpu
@pytest.mark.parametrize("method", ["btl", "tcv"])
@pytest.mark.parametrize("items", [60, 400])  # by the whole matrix, and by its diagonal
def test_annotators_who_are_alike(method: str, items: int) -> None:
    judgments = study(items, 40, 6_000)
    assert_same(fitted(judgments, method, engine="gpu"), fitted(judgments, method), close=5e-5)


@on_a_gpu
@pytest.mark.parametrize("estimator", ["marginal", "mode"])
def test_many_items(estimator: Any) -> None:
    judgments = study(9_000, 200, 120_000, weighted=True)
    wanted = fitted(judgments, estimator=estimator)
    assert_same(fitted(judgments, estimator=estimator, engine="gpu"), wanted, close=5e-5)


@on_a_gpu
def test_terms() -> None:
    judgments = aggcal.read_judgments(answered()[0], context="prompt", by="topic")
    assert_same(fitted(judgments, engine="gpu"), fitted(judgments), close=1e-4)


@on_a_gpu
@pytest.mark.parametrize("rows", [[("ann", "a", "b")], [("ann", "a", "b"), ("bob", "b", "a")]])
def test_the_smallest_studies(rows: list[tuple[str, str, str]]) -> None:
    judgments = aggcal.read_judgments(rows)
    assert_same(fitted(judgments, engine="gpu"), fitted(judgments), close=5e-5)
