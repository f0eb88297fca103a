"""Sums over shards are the sums over all rows: the same optimum, errors and words."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aggcal.engines.gpu.engine import GpuEngine
from aggcal.engines.gpu.layout import DeviceRows
from aggcal.engines.sharded.local import LocalEngine
from aggcal.engines.sharded.shard import Shard

import aggcal
from aggcal.aggregation.consensus import Consensus
from aggcal.cli import main
from aggcal.engines.base import FitPoint, Model
from aggcal.engines.remote import cuts
from aggcal.errors import OptionError
from aggcal.simulation import simulate


def judged(kind: str, *, items: int = 25, judgments: int = 1500, seed: int = 1) -> aggcal.Judgments:
    """Return a study: plain, weighted with ties, or of annotators who contradict each other."""
    reversed_share = 0.47 if kind == "divided" else 0.1
    study = simulate(
        items=items, annotators=17, judgments=judgments, reversed_share=reversed_share, seed=seed
    )
    if kind == "repeated":  # of one annotator only: the other shards hold no weights
        whose = np.flatnonzero(study.annotator == 3)
        rows = np.concatenate([np.arange(judgments), whose, whose[:40]])
        columns = {name: column[rows] for name, column in study.judgments.items()}
        return aggcal.read_judgments(columns)
    if kind != "weighted":
        return aggcal.read_judgments(study.judgments)
    random = np.random.default_rng(seed)
    outcome = np.where(random.random(judgments) < 0.2, "tie", study.shown["outcome"]).astype(object)
    weight = random.choice([1.0, 2.0, 0.5], judgments)
    skewed = np.where(
        random.random(judgments) < 0.6, study.annotator_ids[3], study.shown["annotator"]
    )
    columns = study.shown | {
        "outcome": outcome,
        "weight": weight,
        "annotator": skewed.astype(object),
    }
    return aggcal.read_judgments(columns)


def by_mode(judgments: Any, method: str = "hra-g", **options: Any) -> Consensus:
    """Fit the mode: the reliabilities are not integrated out."""
    if method not in ("btl", "tcv"):
        options["estimator"] = "mode"
    return aggcal.aggregate(judgments, method, warn=False, **options)


def assert_same(found: Consensus, wanted: Consensus, close: float = 1e-8) -> None:
    assert found.estimator == wanted.estimator == "mode"
    assert found.unit == pytest.approx(wanted.unit, rel=close)
    assert list(found.item_ids) == list(wanted.item_ids)
    assert list(found.annotator_ids) == list(wanted.annotator_ids)
    np.testing.assert_allclose(found.scores, wanted.scores, atol=close)
    np.testing.assert_allclose(found.reliabilities, wanted.reliabilities, atol=close)
    np.testing.assert_allclose(found.agreement, wanted.agreement, atol=1e-12)
    np.testing.assert_array_equal(found.judgments_per_item, wanted.judgments_per_item)
    np.testing.assert_array_equal(found.judgments_per_annotator, wanted.judgments_per_annotator)
    assert found.prior is not None
    assert wanted.prior is not None
    assert found.prior.score_sd == pytest.approx(wanted.prior.score_sd, rel=close)
    # An estimated spread ends within rounding of rough fits, and the objective moves with it.
    exact = wanted.method not in ("btl", "tcv")
    assert found.objective == pytest.approx(wanted.objective, rel=1e-12 if exact else 1e-10)
    assert found.log_likelihood == pytest.approx(wanted.log_likelihood, rel=1e-8)
    assert [str(w) for w in found.warnings] == [str(w) for w in wanted.warnings]
    mine, theirs = found.uncertainty, wanted.uncertainty
    assert mine is not None
    assert theirs is not None
    np.testing.assert_allclose(mine.se, theirs.se, atol=close)
    np.testing.assert_array_equal(mine.rank_low, theirs.rank_low)
    if theirs.reliability_low is not None:
        assert mine.reliability_low is not None
        np.testing.assert_allclose(mine.reliability_low, theirs.reliability_low, atol=close)


METHODS = ("hra-g", "hra-e", "hra-n", "btl", "tcv", "crowd-bt")
CASES = [(kind, method) for kind in ("plain", "weighted") for method in METHODS]


@pytest.mark.parametrize(("kind", "method"), [*CASES, ("repeated", "hra-g")])
def test_shards_change_nothing(kind: str, method: str) -> None:
    judgments = judged(kind)
    found = by_mode(judgments, method, engine=LocalEngine(shards=4))
    assert_same(found, by_mode(judgments, method))


def test_other_optima_are_looked_for_alike() -> None:
    judgments = judged("divided", items=8, judgments=150, seed=25)
    wanted = by_mode(judgments)
    found = by_mode(judgments, engine=LocalEngine(shards=3))
    assert any(isinstance(w, aggcal.errors.DividedWarning) for w in wanted.warnings)
    assert_same(found, wanted)


@pytest.mark.parametrize(
    ("seed", "items", "annotators", "number"),
    [(422687, 5, 4, 9), (135096, 6, 5, 21), (531343, 6, 2, 9), (504418, 4, 6, 28)],
)
def test_annotators_of_small_studies_are_turned_round_on_their_shards(
    seed: int, items: int, annotators: int, number: int
) -> None:
    """Found by search: without those starts each of them ends in a worse optimum."""
    random = np.random.default_rng(seed)
    random.integers(3, 7), random.integers(2, 7), random.integers(6, 30)  # what the search drew
    rows = []
    for _ in range(number):
        winner, loser = random.choice(items, 2, replace=False)
        rows.append((f"u{random.integers(annotators)}", f"i{winner}", f"i{loser}"))
    judgments, prior = aggcal.read_judgments(rows), aggcal.Prior(3.0, 3.0)
    wanted = by_mode(judgments, prior=prior)
    found = by_mode(judgments, prior=prior, engine=LocalEngine(shards=3))
    assert found.objective == pytest.approx(wanted.objective, rel=1e-12)
    np.testing.assert_allclose(found.scores, wanted.scores, atol=1e-8)


def test_matrix_free_errors_are_the_same() -> None:
    judgments = judged("plain", items=3200, judgments=30_000)
    wanted = by_mode(judgments)
    found = by_mode(judgments, engine=LocalEngine(shards=3))
    # Conjugate gradients stop at a relative 1e-4; both take the same steps from the same coins.
    assert_same(found, wanted)


@pytest.mark.parametrize("method", ["btl", "tcv"])
@pytest.mark.parametrize("items", [25, 400])  # by the whole matrix, and by its diagonal
def test_prior_chosen_from_the_data_is_the_same(method: str, items: int) -> None:
    judgments = judged("weighted", items=items)
    wanted = aggcal.aggregate(judgments, method, prior="auto", warn=False)
    engine = LocalEngine(shards=4)
    assert_same(
        aggcal.aggregate(judgments, method, prior="auto", engine=engine, warn=False), wanted
    )


@pytest.mark.parametrize("method", ["hra-g", "hra-n", "crowd-bt"])
@pytest.mark.parametrize("prior", ["default", "auto"])
def test_shards_integrate_reliabilities_out(method: str, prior: Any) -> None:
    judgments, engine = judged("plain"), LocalEngine(shards=5)
    wanted = aggcal.aggregate(judgments, method, prior=prior, warn=False)
    found = aggcal.aggregate(judgments, method, prior=prior, engine=engine, warn=False)
    assert found.estimator == wanted.estimator == "marginal"
    np.testing.assert_allclose(found.scores, wanted.scores, atol=1e-8)
    np.testing.assert_allclose(found.reliabilities, wanted.reliabilities, atol=1e-8)
    assert found.objective == pytest.approx(wanted.objective, rel=1e-9)
    for name in ("se", "reliability_low", "reliability_high"):
        mine, theirs = (getattr(each.uncertainty, name) for each in (found, wanted))
        np.testing.assert_allclose(mine, theirs, atol=1e-7)


def test_many_items_and_a_sample_of_the_annotators(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond some items there are no matrices; from some rows on, few annotators tell the unit."""
    monkeypatch.setattr("aggcal.aggregation.solve.marginal._SAMPLE", 1000)
    judgments = judged("plain", items=320, judgments=5000)
    wanted = aggcal.aggregate(judgments, warn=False)
    found = aggcal.aggregate(judgments, engine=LocalEngine(shards=12), warn=False)
    np.testing.assert_allclose(found.scores, wanted.scores, atol=1e-8)
    np.testing.assert_allclose(found.items["consensus_se"], wanted.items["consensus_se"], atol=1e-8)


class Untouched(LocalEngine):
    """A device that must not be asked for anything."""

    integrates = False

    def distribute(self, judgments: aggcal.Judgments, /) -> Any:
        raise AssertionError(judgments)

    def read(self, path: str, /, **options: Any) -> Any:
        raise AssertionError(path, options)


@pytest.mark.parametrize("method", ["hra-g", "hra-e", "crowd-bt", "crowd-tcv"])
def test_what_a_device_does_not_estimate_is_refused_before_any_work(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DeviceRows, "of", lambda rows: rows)
    judgments, untouched = judged("plain"), Untouched(shards=2)
    held = GpuEngine().distribute(judgments)
    prior = f"{method} cannot estimate its prior on the engine 'gpu'"
    refused: list[tuple[str, dict[str, Any]]] = [
        ("estimator 'marginal' does not work on the engine 'gpu'", {"estimator": "marginal"}),
        (prior, {"prior": "auto"}),
        (prior, {"prior": "auto", "estimator": "mode"}),
    ]
    for said, options in refused:
        for engine in (untouched, "gpu"):
            with pytest.raises(OptionError, match=said):
                aggcal.aggregate("nowhere.csv", method, engine=engine, **options)
            with pytest.raises(OptionError, match=said):
                aggcal.assess("nowhere.csv", "no.csv", method=method, engine=engine, **options)
        with pytest.raises(OptionError, match=said):  # where they lie already
            aggcal.aggregate(held, method, **options)
    for own in (aggcal.HRA(prior="auto"), aggcal.CrowdBT(prior="auto")):
        for fit in (
            lambda own=own: aggcal.aggregate(judgments, own, engine=untouched),
            lambda own=own: own.fit(held),
        ):
            with pytest.raises(OptionError, match=f"{own.name} cannot estimate its prior"):
                fit()


def test_the_command_line_refuses_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["aggregate", str(tmp_path / "nowhere.csv"), "-o", str(tmp_path / "out")]
    for more, said in (
        (["--estimator", "marginal"], "estimator 'marginal' does not work on the engine 'gpu'"),
        (["--prior", "auto"], "hra-g cannot estimate its prior on the engine 'gpu'"),
    ):
        assert main([*command, "--engine", "gpu", *more]) == 2
        told = capsys.readouterr().err
        assert said in told
        assert "nowhere.csv" not in told
    assert not (tmp_path / "out").exists()


def test_errors_of_many_items_where_annotators_count_alike() -> None:
    made = simulate(items=3_100, annotators=20, judgments=12_000, seed=8)
    judgments = aggcal.read_judgments(made.judgments)
    here = aggcal.aggregate(judgments, "btl", warn=False)
    there = aggcal.aggregate(judgments, "btl", engine=LocalEngine(3), warn=False)
    # Random vectors are in single precision, and shards add up in another order.
    np.testing.assert_allclose(there.items["consensus_se"], here.items["consensus_se"], rtol=2e-7)


def test_pieces_and_edges_are_found_across_shards() -> None:
    rows = [
        ("u1", "a", "b"),
        ("u2", "b", "c"),
        ("u3", "x", "y"),
        ("u4", "c", "a"),
        ("u4", "a", "a"),
    ]
    judgments = aggcal.read_judgments(rows)
    wanted = aggcal.aggregate(judgments, warn=False)
    found = aggcal.aggregate(judgments, engine=LocalEngine(shards=4), warn=False)
    said = [str(warning) for warning in found.warnings]
    assert any("2 connected components" in text for text in said)
    assert said == [str(warning) for warning in wanted.warnings]


def test_a_shard_that_forgot_answers_as_before() -> None:
    judgments = judged("plain")
    shard = Shard.of(judgments, 0, 0)
    scores = np.linspace(-1.0, 1.0, judgments.n_items)
    place = FitPoint("fit", 1, Model("logistic", 4.0), scores, 1e-12)
    vector = np.cos(np.arange(judgments.n_items))
    shard.evaluate(place)
    wanted = shard.product(place, vector)
    lost = pickle.loads(pickle.dumps(shard))  # noqa: S301
    np.testing.assert_allclose(lost.product(place, vector), wanted, rtol=1e-6)
    np.testing.assert_allclose(lost.reliabilities(place), shard.reliabilities(place), atol=1e-9)


def test_cuts_keep_annotators_whole() -> None:
    random = np.random.default_rng(0)
    for _ in range(50):
        rows = (10 ** random.uniform(0, 4, random.integers(1, 40))).astype(np.int64)
        wanted = int(random.integers(1, 9))
        found = cuts(rows, wanted)
        assert found[0] == 0
        assert found[-1] == len(rows)
        assert (np.diff(found) > 0).all()
        sizes = np.add.reduceat(rows, found[:-1])
        # No shard is larger than its share and the annotators at its two ends.
        assert sizes.max() <= rows.sum() / wanted + 2 * rows.max()


def test_what_needs_all_rows_is_refused(tmp_path: Path) -> None:
    judgments, engine = judged("plain"), LocalEngine(shards=2)
    with pytest.raises(OptionError, match="without a prior needs all rows on one machine"):
        aggcal.aggregate(judgments, prior=None, engine=engine)
    found = aggcal.aggregate(judgments, "btl", engine=engine, warn=False)
    with pytest.raises(OptionError, match="'bootstrap' needs all rows"):
        found.quantify("bootstrap")
    with pytest.raises(OptionError, match="gppl works on one machine only"):
        aggcal.aggregate(judgments, "gppl", features="identity", engine=engine)
    with pytest.raises(OptionError, match="engine 'spark' is unknown"):
        aggcal.aggregate(judgments, engine="spark")  # type: ignore[arg-type]
    path = tmp_path / "judgments.csv"
    path.write_text("annotator,winner,loser\nann,a,b\nbob,b,a\n")
    read = aggcal.aggregate(str(path), engine=engine, warn=False)
    assert read.n_judgments == 2
