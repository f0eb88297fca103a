"""Sums over shards are the sums over all rows: the same optimum, terms, errors and words."""

import pickle
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
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
from aggcal.errors import FeatureError, OptionError
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


ITEMS, ANNOTATORS, CONTEXTS = 8, 11, 12


def answered(
    rows: int = 600, *, contexts: int = CONTEXTS, steps: bool = False, seed: int = 4
) -> tuple[dict[str, Any], aggcal.Control]:
    """Return judgments with sides, ties, prompts and topics, and the length of each item."""
    random = np.random.default_rng(seed)
    scores, length = random.normal(size=(2, ITEMS))
    effects = 0.5 * random.normal(size=(contexts, ITEMS))
    gamma = random.lognormal(0.0, 0.4, ANNOTATORS)
    lean, ready = (m + 0.5 * random.normal(size=ANNOTATORS) for m in (0.4, -0.8))
    left = random.integers(ITEMS, size=rows)
    right = (left + 1 + random.integers(ITEMS - 1, size=rows)) % ITEMS
    who, where = random.integers(ANNOTATORS, size=rows), random.integers(contexts, size=rows)
    total = scores + 0.4 * length + effects[where[:, None], np.arange(ITEMS)]
    every = np.arange(rows)
    eta = gamma[who] * (total[every, left] - total[every, right]) + lean[who]
    grades = np.array([1.0, 0.5, 0.0, -0.5, -1.0]) if steps else np.array([0.5, 0.0, -0.5])
    odds = np.exp(eta[:, None] * grades)
    odds[:, len(grades) // 2] = np.exp(ready[who])
    chosen = (odds.cumsum(axis=1) < random.random((rows, 1)) * odds.sum(axis=1)[:, None]).sum(1)
    labels = np.arange(1, 6) if steps else np.array(["left", "tie", "right"], dtype=object)
    columns = {
        "annotator": np.array([f"u{k}" for k in who], dtype=object),
        "left": np.array([f"i{k}" for k in left], dtype=object),
        "right": np.array([f"i{k}" for k in right], dtype=object),
        "outcome": labels[chosen],
        "prompt": np.array([f"p{k}" for k in where], dtype=object),
        "topic": np.array([f"t{k % 3}" for k in where], dtype=object),
    }
    ids = np.array([f"i{k}" for k in range(ITEMS)], dtype=object)
    return columns, aggcal.Control(ids, length[:, None], ("length",))


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
    if wanted.effects is not None:
        assert found.effects is not None
        # Correlations of categories are where a general minimiser stops, which rounding moves.
        assert_same_numbers(found.effects.to_dict(0.9), wanted.effects.to_dict(0.9))


def assert_same_numbers(found: Any, wanted: Any) -> None:
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys()
        found, wanted = [*found.values()], [*wanted.values()]
    if isinstance(wanted, list):
        assert len(found) == len(wanted)
        for one, two in zip(found, wanted, strict=True):
            assert_same_numbers(one, two)
    elif isinstance(wanted, float):
        assert found == pytest.approx(wanted, abs=1e-5, nan_ok=True)
    else:
        assert found == wanted


@pytest.fixture
def on_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a device be this machine: its functions are called, and nothing is copied."""
    monkeypatch.setattr(DeviceShard, "inward", lambda _, value: value)
    monkeypatch.setattr(DeviceShard, "outward", lambda _, value: value)


def engines() -> list[Any]:
    return [LocalEngine(shards=4), GpuEngine()]


METHODS = ("hra-g", "hra-e", "hra-n", "crowd-bt", "crowd-tcv")


@pytest.mark.usefixtures("on_device")
@pytest.mark.parametrize(
    ("kind", "method", "estimator"),
    [
        *product(["plain", "divided"], ["hra-g"], ["marginal", "mode"]),
        *product(["weighted"], METHODS, ["marginal", "mode"]),
        *product(["weighted"], ["btl", "tcv"], [None]),
    ],
)
def test_engines_change_nothing(kind: str, method: str, estimator: Any) -> None:
    judgments = judged(kind, items=400 if method == "btl" else 25)  # some by a diagonal
    wanted = fitted(judgments, method, estimator=estimator)
    for engine in engines():
        assert_same(fitted(judgments, method, estimator=estimator, engine=engine), wanted)


@pytest.mark.parametrize(
    "options",
    [{"prior": aggcal.Prior(0.8, 0.4)}, {"prior": "auto"}, {"prior": "auto", "estimator": "mode"}],
)
def test_priors(options: dict[str, Any]) -> None:
    judgments = judged("repeated")
    found = fitted(judgments, engine=LocalEngine(shards=5), **options)
    assert_same(found, fitted(judgments, **options), close=1e-6)


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


def test_an_engine_is_known_by_name_or_reads_a_file(tmp_path: Path) -> None:
    judgments, engine = judged("plain"), LocalEngine(shards=2)
    with pytest.raises(OptionError, match="engine 'spark' is unknown"):
        fitted(judgments, engine="spark")
    path = tmp_path / "judgments.csv"
    path.write_text("annotator,winner,loser\nann,a,b\nbob,b,a\n")
    assert fitted(str(path), engine=engine).n_judgments == 2


Options = dict[str, Any]
_, LENGTH = answered(1)
PROMPT: Options = {"context": "prompt"}
CASES: dict[str, tuple[str, Options, Options]] = {
    "default": ("hra-g", {}, {}),
    "Rao-Kupper": ("hra-g", {}, {"ties": "rao-kupper"}),
    "halves": ("hra-g", {}, {"ties": "halves", "position": "on"}),
    "control": ("hra-g", {}, {"control": LENGTH}),
    "context": ("hra-g", PROMPT, {}),
    "errors by context": ("hra-g", PROMPT, {"context": "errors"}),
    "categories": ("hra-g", {"by": "topic"}, {}),
    "bridge": ("hra-g", {}, {"bridge": True}),
    "strengths": ("hra-g", {"strength_scale": "1:5"} | PROMPT, {}),
    "strengths left out": ("hra-g", {"strength_scale": "1:5"} | PROMPT, {"ties": "halves"}),
    "alike": ("btl", {"by": "topic"}, {"ties": "davidson", "position": "on", "control": LENGTH}),
    "alike, errors": ("btl", PROMPT, {"context": "errors", "ties": "davidson"}),
}


@pytest.mark.parametrize("name", CASES)
def test_terms_are_those_of_one_machine(name: str) -> None:
    method, how, asked = CASES[name]
    few, steps = asked.get("ties") == "rao-kupper", "strength_scale" in how
    columns, _ = answered(200 if few else 600, steps=steps)  # without kernels it takes long
    columns["prompt"][::19] = None
    judgments, terms = aggcal.read_judgments(columns, **how), aggcal.Terms(**asked)
    wanted = fitted(judgments, method, terms=terms)
    found = fitted(judgments, method, terms=terms, engine=LocalEngine(shards=4))
    assert_same(found, wanted, close=1e-5)


def test_what_is_held_equal_is_checked_where_the_rows_lie() -> None:
    columns, length = answered(600)
    judgments = aggcal.read_judgments(columns, context="prompt")
    engine = LocalEngine(shards=3)
    ids, values = length.item_ids, length.matrix
    same = aggcal.Control(np.append(ids, "x"), np.append(0 * values, [[1.0]], 0), ("length",))
    few = aggcal.Control(ids[2:], values[2:], ("length",))
    entries = [(item, f"p{k}") for item in ids for k in range(CONTEXTS)]
    by_prompt = aggcal.Control(
        np.array([item for item, _ in entries], dtype=object),
        np.random.default_rng(0).normal(size=(len(entries), 1)),
        ("length",),
        np.array([prompt for _, prompt in entries], dtype=object),
    )
    terms = aggcal.Terms(control=by_prompt)
    found = fitted(judgments, terms=terms, engine=engine)
    assert_same(found, fitted(judgments, terms=terms), close=1e-5)
    blank = dict(columns) | {"prompt": np.where(np.arange(600) < 3, None, columns["prompt"])}
    without = aggcal.read_judgments(blank, context="prompt")
    bare = aggcal.read_judgments(columns)
    for control, which in ((same, judgments), (few, judgments), (by_prompt, without),
                           (by_prompt, bare)):  # fmt: skip
        said = []
        for where in ("local", engine):
            with pytest.raises((FeatureError, OptionError)) as told:
                aggcal.aggregate(which, terms=aggcal.Terms(control=control), engine=where)
            said.append(str(told.value))
        assert said[0] == said[1]
