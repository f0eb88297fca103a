"""Sums over shards are the sums over all rows: the same optimum, errors and words."""

import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal.aggregation.consensus import Consensus
from aggcal.engines.base import Shard, ThreadedShards
from aggcal.engines.gpu import DeviceShard, GpuEngine
from aggcal.engines.local import LocalEngine
from aggcal.engines.remote import RemoteJudgments
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
        return aggcal.read_judgments({name: c[rows] for name, c in study.judgments.items()})
    if kind != "weighted":
        return aggcal.read_judgments(study.judgments)
    random = np.random.default_rng(seed)
    outcome = np.where(random.random(judgments) < 0.2, "tie", study.shown["outcome"]).astype(object)
    weight = random.choice([1.0, 2.0, 0.5], judgments)
    busiest = random.random(judgments) < 0.6
    annotator = np.where(busiest, study.annotator_ids[3], study.shown["annotator"]).astype(object)
    columns = {"outcome": outcome, "weight": weight, "annotator": annotator}
    return aggcal.read_judgments(study.shown | columns)


def fitted(judgments: Any, method: str = "hra-g", **options: Any) -> Consensus:
    return aggcal.aggregate(judgments, method, warn=False, **options)


def by_mode(judgments: Any, method: str = "hra-g", **options: Any) -> Consensus:
    return fitted(judgments, method, estimator="mode", **options)


def assert_same(
    found: Consensus, wanted: Consensus, close: float = 1e-7, errors: float = 5e-5
) -> None:
    """Compare what was fitted; errors of what was integrated out are as exact as its nodes."""
    about = "estimator", "method"
    assert [getattr(found, name) for name in about] == [getattr(wanted, name) for name in about]
    for name in ("item_ids", "annotator_ids"):
        assert getattr(found, name).tolist() == getattr(wanted, name).tolist()
    for name in ("scores", "reliabilities", "agreement"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), atol=close)
    for name in ("judgments_per_item", "judgments_per_annotator"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    assert found.objective == pytest.approx(wanted.objective, rel=close)
    assert found.log_likelihood == pytest.approx(wanted.log_likelihood, rel=close)
    assert [str(w) for w in found.warnings] == [str(w) for w in wanted.warnings]
    if wanted.prior is not None:
        assert found.prior is not None
        assert found.prior.score_sd == pytest.approx(wanted.prior.score_sd, rel=10.0 * close)
    mine, theirs = found.uncertainty, wanted.uncertainty
    assert mine is not None
    assert theirs is not None
    assert mine.kind == theirs.kind
    assert [f.name for f in mine.factors] == [f.name for f in theirs.factors]
    for name in ("se", "low", "high", "reliability_low", "reliability_high"):
        ours, others = getattr(mine, name), getattr(theirs, name)
        assert (ours is None) == (others is None)
        if others is not None:
            np.testing.assert_allclose(ours, others, atol=errors * float(theirs.se.mean()) + close)


@pytest.fixture
def on_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a device be this machine: its functions are called, and nothing is copied."""
    monkeypatch.setattr(DeviceShard, "inward", lambda _, value: value)
    monkeypatch.setattr(DeviceShard, "outward", lambda _, value: value)


def engines() -> list[Any]:
    return [LocalEngine(shards=4), GpuEngine()]


METHODS = ("hra-g", "hra-e", "hra-n", "crowd-bt", "crowd-tcv")


@pytest.mark.usefixtures("on_device")
@pytest.mark.parametrize("estimator", ["marginal", "mode"])
@pytest.mark.parametrize(
    ("kind", "method"), [("plain", "hra-g"), *(("weighted", method) for method in METHODS)]
)
def test_engines_change_nothing(kind: str, method: str, estimator: Any) -> None:
    judgments = judged(kind)
    wanted = fitted(judgments, method, estimator=estimator)
    for engine in engines():
        assert_same(fitted(judgments, method, estimator=estimator, engine=engine), wanted)


@pytest.mark.usefixtures("on_device")
@pytest.mark.parametrize("method", ["btl", "tcv"])
@pytest.mark.parametrize("items", [25, 400])  # by the whole matrix, and by its diagonal
def test_annotators_who_are_alike(method: str, items: int) -> None:
    judgments = judged("weighted", items=items)
    wanted = fitted(judgments, method)
    for engine in engines():
        assert_same(fitted(judgments, method, engine=engine), wanted)


@pytest.mark.parametrize(
    "options",
    [{"prior": aggcal.Prior(0.8, 0.4)}, {"prior": "auto"}, {"prior": "auto", "estimator": "mode"}],
)
def test_priors(options: dict[str, Any]) -> None:
    judgments = judged("repeated")
    found = fitted(judgments, engine=LocalEngine(shards=5), **options)
    assert_same(found, fitted(judgments, **options), close=1e-6)


def test_other_optima_are_looked_for_alike() -> None:
    judgments = judged("divided", items=8, judgments=150, seed=25)
    wanted = by_mode(judgments)
    assert any(isinstance(w, aggcal.errors.DividedWarning) for w in wanted.warnings)
    assert_same(by_mode(judgments, engine=LocalEngine(shards=3)), wanted)


@pytest.mark.parametrize("estimator", ["marginal", "mode"])
def test_errors_of_many_items(estimator: Any) -> None:
    """Beyond some items there are no matrices: both take the same steps from the same signs."""
    study = simulate(items=3200, annotators=17, judgments=30_000, seed=1)
    judgments = aggcal.read_judgments(study.judgments)
    wanted = fitted(judgments, estimator=estimator)
    found = fitted(judgments, estimator=estimator, engine=LocalEngine(shards=3))
    assert_same(found, wanted, close=1e-5)


class Watched(ThreadedShards):
    """Shards that lose what they remember every so many calls, and count what is sent."""

    def __init__(self, shards: Sequence[Shard], lost_every: int) -> None:
        super().__init__(shards)
        self.calls, self.sent, self.lost_every = 0, list[int](), lost_every

    def each(self, function: Any, *columns: Any) -> list[Any]:
        self.calls += 1
        if self.calls % self.lost_every == 0:
            self._shards[0].memory.clear()
        answers = super().each(function, *columns)
        self.sent.append(len(pickle.dumps((columns, answers))))
        return answers


def watched(judgments: aggcal.Judgments, lost_every: int = 10**9) -> tuple[RemoteJudgments, Any]:
    held = LocalEngine(shards=3).distribute(judgments)
    assert isinstance(held.shards, ThreadedShards)
    shards = Watched(held.shards._shards, lost_every)
    return replace(held, shards=shards), shards


@pytest.mark.parametrize("estimator", ["marginal", "mode"])
def test_what_shards_have_forgotten_is_said_again(estimator: Any) -> None:
    judgments = judged("weighted")
    held, shards = watched(judgments, lost_every=17)
    found = fitted(held, estimator=estimator)
    assert_same(found, fitted(judgments, estimator=estimator), close=1e-5)
    assert shards.calls > 50


def test_nothing_that_is_sent_grows_with_the_rows() -> None:
    largest = []
    for rows in (2000, 8000):
        held, shards = watched(judged("weighted", judgments=rows))
        fitted(held).quantify("laplace")
        largest.append(max(shards.sent))
    assert largest[1] < 1.1 * largest[0]


def test_pieces_are_told_across_shards() -> None:
    rows = [("u1", "a", "b"), ("u2", "b", "c"), ("u3", "x", "y"), ("u4", "c", "a"),
            ("u4", "a", "a")]  # fmt: skip
    judgments = aggcal.read_judgments(rows)
    wanted, found = fitted(judgments), fitted(judgments, engine=LocalEngine(shards=4))
    said = [str(warning) for warning in found.warnings]
    assert any("2 connected components" in text for text in said)
    assert said == [str(warning) for warning in wanted.warnings]


def test_an_engine_is_known_by_name_or_reads_a_file(tmp_path: Path) -> None:
    judgments, engine = judged("plain"), LocalEngine(shards=2)
    with pytest.raises(OptionError, match="engine 'spark' is unknown"):
        fitted(judgments, engine="spark")
    path = tmp_path / "judgments.csv"
    path.write_text("annotator,winner,loser\nann,a,b\nbob,b,a\n")
    assert fitted(str(path), engine=engine).n_judgments == 2
