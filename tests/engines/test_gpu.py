"""The GPU against this machine: the same optimum, the same bits; and what happens without."""

from __future__ import annotations

from threading import Event
from typing import Any

import numpy as np
import pytest
from aggcal.engines.gpu.engine import GpuEngine, _on_card_if_it_has_room, missing
from aggcal.engines.gpu.layout import _units
from aggcal.engines.gpu.pairs import DevicePairs
from aggcal.models.weighted_pairs import WeightedPairs
from test_sharded import by_mode

import aggcal
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


def fetched(array: Any) -> np.ndarray:
    """Return an array of the GPU as one of NumPy's."""
    return np.asarray(array.get())


def test_units_hold_every_row_of_every_tile_once() -> None:
    random = np.random.default_rng(0)
    sizes = random.integers(0, 40_000, 25)
    sizes[7] = 0
    tiles = np.concatenate([[0], np.cumsum(sizes)])
    units = _units(tiles, 5, 100)
    assert units["begin"][0] == 0
    assert units["end"][-1] == tiles[-1]
    np.testing.assert_array_equal(units["begin"][1:], units["end"][:-1])
    assert (units["end"] > units["begin"]).all()
    tile = np.searchsorted(tiles, units["begin"], side="right") - 1
    assert (units["end"] <= tiles[tile + 1]).all()
    np.testing.assert_array_equal(units["winners"], tile // 5 * 100)
    np.testing.assert_array_equal(units["losers"], tile % 5 * 100)


@pytest.mark.skipif(REASON is None, reason="there is a GPU here")
def test_without_a_gpu_the_processor_takes_its_place_and_says_so() -> None:
    judgments = study(10, 3, 200)
    with pytest.warns(NoGpuWarning, match="the processor took its place"):
        found = aggcal.aggregate(judgments, engine="gpu", warn=False)
    np.testing.assert_array_equal(found.scores, aggcal.aggregate(judgments, warn=False).scores)


def test_kernels_are_compiled_while_a_file_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, read = Event(), study(10, 3, 200)

    def compiled() -> None:
        begun.set()
        raise RuntimeError("no compiler")

    def reading(*_: Any, **__: Any) -> aggcal.Judgments:
        assert begun.wait(30.0)
        return read

    monkeypatch.setattr("aggcal.engines.gpu.engine.compiled", compiled)
    monkeypatch.setattr("aggcal.engines.gpu.engine.read_judgments", reading)
    with pytest.raises(RuntimeError, match="no compiler"):
        GpuEngine().read("study.csv")
    monkeypatch.setattr("aggcal.engines.gpu.engine.compiled", begun.set)
    monkeypatch.setattr(GpuEngine, "distribute", lambda _, judgments: judgments)
    found: object = GpuEngine().read("study.csv")
    assert found is read


@pytest.fixture
def always_on_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FEW", "FEW_ITEMS"):
        monkeypatch.setattr(f"aggcal.engines.gpu.engine.{name}", 0)


@on_a_gpu
@pytest.mark.usefixtures("always_on_the_card")
@pytest.mark.parametrize("method", ["hra-g", "hra-e", "hra-n", "btl", "tcv"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "shape", [(60, 40, 6_000), (9_000, 200, 120_000)], ids=["one tile", "four"]
)
def test_the_same_optimum_as_on_this_machine(
    method: str, weighted: bool, shape: tuple[int, int, int]
) -> None:
    judgments = study(*shape, weighted=weighted)
    # Stated, not estimated: an estimated spread is as exact as the rough fits that it comes from.
    prior = aggcal.Prior(0.8, 0.5)
    here = by_mode(judgments, method, prior=prior)
    there = aggcal.aggregate(judgments, method, prior=prior, engine="gpu", warn=False)
    assert there.estimator == "mode"
    assert there.convergence is not None
    assert there.convergence.converged
    np.testing.assert_allclose(there.scores, here.scores, atol=1e-8)
    np.testing.assert_allclose(there.reliabilities, here.reliabilities, atol=1e-8)
    assert there.objective == pytest.approx(here.objective, rel=1e-12)
    np.testing.assert_array_equal(there.agreement, here.agreement)
    ratio = np.asarray(there.items["consensus_se"]) / np.asarray(here.items["consensus_se"])
    if shape[0] < 1_000:
        np.testing.assert_allclose(ratio, 1.0, rtol=1e-5)
    else:
        # Errors of so many items come from random draws, and those differ.
        assert np.median(ratio) == pytest.approx(1.0, abs=0.01)
        assert np.abs(ratio - 1.0).max() < 0.5


@on_a_gpu
def test_the_same_bits_every_time() -> None:
    judgments = study(9_000, 200, 120_000)
    first = aggcal.aggregate(judgments, engine="gpu", warn=False)
    second = aggcal.aggregate(judgments, engine="gpu", warn=False)
    np.testing.assert_array_equal(first.scores, second.scores)
    np.testing.assert_array_equal(first.reliabilities, second.reliabilities)


@on_a_gpu
@pytest.mark.parametrize("method", ["hra-g", "btl"])
def test_processors_work_out_the_errors_of_few_rows(method: str) -> None:
    judgments = study(600, 50, 20_000, weighted=True)
    here = by_mode(judgments, method)
    there = aggcal.aggregate(judgments, method, engine="gpu", warn=False)
    # The same draws: what is left is how near the two optima are.
    np.testing.assert_allclose(there.items["consensus_se"], here.items["consensus_se"], rtol=1e-5)


def test_pairs_for_which_a_card_has_no_room_stay_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> DevicePairs:
        raise MemoryError

    monkeypatch.setattr(DevicePairs, "of", full)
    ends = np.array([0, 1], dtype=np.int32), np.array([1, 2], dtype=np.int32)
    found = _on_card_if_it_has_room(*ends, np.array([1.0, 2.0]), 3).neighbours(np.ones(3))
    np.testing.assert_array_equal(found, [1.0, 3.0, 2.0])


@on_a_gpu
def test_pairs_are_multiplied_as_on_this_machine() -> None:
    random = np.random.default_rng(8)
    left, right = (random.integers(0, 700, 20_000).astype(np.int32) for _ in range(2))
    weight = random.exponential(size=20_000)
    here, there = (each.of(left, right, weight, 700) for each in (WeightedPairs, DevicePairs))
    for vector in (random.normal(size=700), np.ones(700), np.zeros(700), -1e-9 * np.ones(700)):
        size, moved = np.abs(vector).max(), np.asarray(vector, like=there.weight)
        found = fetched(there.neighbours(moved))
        np.testing.assert_allclose(found, here.neighbours(vector), atol=1e-4 * size)
        np.testing.assert_array_equal(fetched(there.neighbours(moved)), found)


@on_a_gpu
@pytest.mark.usefixtures("always_on_the_card")
def test_weakly_joined_groups_are_found() -> None:
    random = np.random.default_rng(9)
    half = random.integers(0, 2, 20_000)
    left, right = (random.integers(0, 300, 20_000) for _ in range(2))
    right = np.where(left == right, (right + 1) % 300, right)
    rows = [("ann", f"{h}-{i}", f"{h}-{j}") for h, i, j in zip(half, left, right, strict=True)]
    judgments = aggcal.read_judgments([*rows, ("bob", "0-1", "1-1"), ("bob", "1-2", "0-2")])
    here, there = by_mode(judgments), aggcal.aggregate(judgments, engine="gpu", warn=False)
    for found in (here, there):
        known = found.quantify().uncertainty
        assert known is not None
        assert known.component is not None
        assert len(np.unique(known.component)) == 2


@on_a_gpu
@pytest.mark.usefixtures("always_on_the_card")
def test_what_annotators_share_is_the_same_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """One annotator makes half of the judgments, of few items: entries of very many rows."""
    from aggcal.models.information import information
    from aggcal.models.rows import rows_of
    from aggcal.models.thurstone import likelihood

    from aggcal.aggregation.links import link
    from aggcal.engines.gpu import information as module

    few, many = (
        simulate(items=items, annotators=annotators, judgments=30_000, seed=3).judgments
        for items, annotators in ((5, 1), (900, 40))
    )
    judgments = aggcal.read_judgments({name: [*few[name], *many[name]] for name in few})
    scores = np.random.default_rng(4).normal(size=judgments.n_items)
    theta = np.linspace(0.5, 2.0, judgments.n_annotators)
    found = []
    for each in (rows_of(judgments), GpuEngine().distribute(judgments).rows):
        problem = likelihood(each, link("logistic"), 1.0, 4.0)
        found.append(information(problem, scores, theta).diagonal())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)
    monkeypatch.setattr(module, "_CHUNK", 5_000)
    np.testing.assert_array_equal(information(problem, scores, theta).diagonal(), found[1])


@on_a_gpu
@pytest.mark.usefixtures("always_on_the_card")
@pytest.mark.parametrize("method", ["hra-g", "btl"])
def test_standard_errors_of_many_items(method: str) -> None:
    from aggcal.engines.gpu.information import DeviceInformation
    from aggcal.models.coins import LANES
    from aggcal.models.information import information
    from aggcal.models.rows import rows_of
    from aggcal.models.thurstone import likelihood

    from aggcal.aggregation.links import link

    judgments = study(9_000, 50, 60_000)
    precision = 4.0 if method == "hra-g" else None
    scores = np.random.default_rng(4).normal(size=judgments.n_items)
    on_card = GpuEngine().distribute(judgments).rows
    both = []
    for rows in (rows_of(judgments), on_card):
        used = rows if precision is not None else rows.pooled()
        theta = np.linspace(-0.5, 2.0, 50) if precision is not None else np.ones(1)
        both.append(information(likelihood(used, link("logistic"), 1.0, precision), scores, theta))
    here, there = both
    assert isinstance(there, DeviceInformation)
    vector = np.random.default_rng(5).normal(size=judgments.n_items)
    np.testing.assert_allclose(there.inner, here.inner, rtol=1e-9)
    np.testing.assert_allclose(there.diagonal(), here.diagonal(), rtol=1e-5)
    size = np.abs(here.product(vector)).max()
    np.testing.assert_allclose(there.product(vector), here.product(vector), atol=1e-5 * size)
    if precision is not None:
        some = np.random.default_rng(7).normal(size=(judgments.n_items, LANES)).astype(np.float32)
        moved = np.asarray(some, like=there.probes(np.random.default_rng(8)))
        for name in ("products", "borders"):
            expected, found = getattr(here, name)(some), fetched(getattr(there, name)(moved))
            size = np.abs(expected).max()
            np.testing.assert_allclose(found, expected, atol=1e-5 * size)
        ones = np.ones(len(here.inner))
        np.testing.assert_allclose(there.shared(ones), here.shared(ones), atol=1e-5)
    # Draws have the covariance S: along any vector v their variance is v'Sv.
    random = np.random.default_rng(6)
    along = np.ravel([fetched(there.probes(random)).T @ vector for _ in range(100)])
    assert np.var(along) == pytest.approx(vector @ here.product(vector), rel=0.25)


@on_a_gpu
@pytest.mark.parametrize("items", [60, 400])  # by the whole matrix, and by its diagonal
def test_a_prior_from_the_data(items: int) -> None:
    judgments = study(items, 40, 6_000)
    here = aggcal.aggregate(judgments, "btl", prior="auto", warn=False)
    there = aggcal.aggregate(judgments, "btl", prior="auto", engine="gpu", warn=False)
    assert here.prior is not None
    assert there.prior is not None
    assert there.prior.score_sd == pytest.approx(here.prior.score_sd, rel=1e-4)
    np.testing.assert_allclose(there.scores, here.scores, atol=1e-4)


@on_a_gpu
@pytest.mark.parametrize("rows", [[("ann", "a", "b")], [("ann", "a", "b"), ("bob", "b", "a")]])
def test_the_smallest_studies(rows: list[tuple[str, str, str]]) -> None:
    judgments = aggcal.read_judgments(rows)
    here = by_mode(judgments)
    there = aggcal.aggregate(judgments, engine="gpu", warn=False)
    np.testing.assert_allclose(there.scores, here.scores, atol=1e-8)
    np.testing.assert_allclose(there.reliabilities, here.reliabilities, atol=1e-8)


@on_a_gpu
def test_a_method_without_kernels_of_its_own_is_fitted_by_the_processor() -> None:
    judgments = study(60, 40, 3_000)
    here = by_mode(judgments, "crowd-bt")
    there = aggcal.aggregate(judgments, "crowd-bt", engine="gpu", warn=False)
    assert there.estimator == "mode"
    np.testing.assert_allclose(there.scores, here.scores, atol=1e-8)
    np.testing.assert_allclose(there.items["consensus_se"], here.items["consensus_se"], rtol=1e-6)


@on_a_gpu
def test_rows_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aggcal.engines.gpu.layout._BYTES", 1 << 40)
    with pytest.raises(aggcal.errors.OptionError, match="GB of the GPU's memory"):
        aggcal.aggregate(study(60, 40, 3_000), engine="gpu", warn=False)
