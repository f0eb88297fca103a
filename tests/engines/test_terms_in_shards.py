"""The general model on shards: terms, errors and refusals are those of one machine."""

import pickle
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal.aggregation.general.found import GeneralEffects
from aggcal.aggregation.general.posing import general_problem
from aggcal.aggregation.general.problem import FIRST_SDS
from aggcal.engines.gpu.engine import GpuEngine
from aggcal.engines.gpu.layout import DeviceRows
from aggcal.engines.sharded.general_shard import GeneralOfShard, GeneralPoint, ShardPlan
from aggcal.engines.sharded.local import LocalEngine
from aggcal.engines.sharded.shard import Shard
from aggcal.errors import FeatureError, OptionError, TermsLeftOutWarning
from aggcal.models.general.at import Place
from aggcal.models.general.plan import Numbers, Plan

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


def assert_same_terms(
    found: aggcal.Consensus, wanted: aggcal.Consensus, close: float = 1e-8
) -> None:
    """Compare everything that was fitted, and its errors."""
    assert (found.estimator, found.method) == (wanted.estimator, wanted.method)
    np.testing.assert_allclose(found.scores, wanted.scores, atol=close)
    np.testing.assert_allclose(found.reliabilities, wanted.reliabilities, atol=close)
    assert found.objective == pytest.approx(wanted.objective, rel=close)
    assert [str(w) for w in found.warnings] == [str(w) for w in wanted.warnings]
    mine, theirs = found.uncertainty, wanted.uncertainty
    assert mine is not None
    assert theirs is not None
    assert mine.kind == theirs.kind
    for name in ("se", "low", "high", "reliability_low", "reliability_high"):
        ours, others = getattr(mine, name), getattr(theirs, name)
        assert (ours is None) == (others is None)
        if others is not None:
            np.testing.assert_allclose(ours, others, atol=close)
    ours, others = effects_of(found), effects_of(wanted)
    assert_same_numbers(ours.to_dict(), others.to_dict())
    for one, two in zip(ours.categories, others.categories, strict=True):
        np.testing.assert_allclose(one.scores, two.scores, atol=close)
        np.testing.assert_allclose(one.se, two.se, atol=close)


def effects_of(consensus: aggcal.Consensus) -> GeneralEffects:
    assert isinstance(consensus.effects, GeneralEffects)
    return consensus.effects


def assert_same_numbers(found: Any, wanted: Any) -> None:
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys()
        for key in wanted:
            assert_same_numbers(found[key], wanted[key])
    elif isinstance(wanted, list):
        assert len(found) == len(wanted)
        for one, two in zip(found, wanted, strict=True):
            assert_same_numbers(one, two)
    elif isinstance(wanted, float):
        # Correlations of categories are where a general minimiser stops, which rounding moves.
        assert found == pytest.approx(wanted, abs=1e-5, nan_ok=True)
    else:
        assert found == wanted


Options = dict[str, Any]
_, LENGTH = answered(1)
CASES: dict[str, tuple[str, Options, Options]] = {
    "default": ("hra-g", {}, {}),
    "Rao-Kupper": ("hra-g", {}, {"ties": "rao-kupper"}),
    "halves": ("hra-g", {}, {"ties": "halves", "position": "on"}),
    "control": ("hra-g", {}, {"control": LENGTH}),
    "context": ("hra-g", {"context": "prompt"}, {}),
    "categories": ("hra-g", {"by": "topic"}, {}),
    "bridge": ("hra-g", {}, {"bridge": True}),
    "alike": ("btl", {"by": "topic"}, {"ties": "davidson", "position": "on", "control": LENGTH}),
}


@pytest.mark.parametrize("name", CASES)
def test_terms_are_those_of_one_machine(name: str) -> None:
    method, how, terms = CASES[name]
    columns, _ = answered(200 if "ties" in terms else 600)  # without kernels it takes long
    judgments = aggcal.read_judgments(columns, **how)
    asked = aggcal.Terms(**terms)
    wanted = aggcal.aggregate(judgments, method, terms=asked, warn=False)
    engine = LocalEngine(shards=4)
    found = aggcal.aggregate(judgments, method, terms=asked, engine=engine, warn=False)
    assert_same_terms(found, wanted)


def test_strengths() -> None:
    columns, _ = answered(steps=True)
    judgments = aggcal.read_judgments(columns, strength_scale="1:5")
    wanted = aggcal.aggregate(judgments, warn=False)
    found = aggcal.aggregate(judgments, engine=LocalEngine(shards=4), warn=False)
    assert len(effects_of(wanted).grades) == 2
    assert_same_terms(found, wanted)


@pytest.mark.parametrize(("method", "asked"), [("hra-g", {}), ("btl", {"ties": "davidson"})])
def test_errors_by_context_where_its_effects_are_not_fitted(method: str, asked: Options) -> None:
    columns, _ = answered(400, contexts=80)
    columns["prompt"][::19] = None
    judgments = aggcal.read_judgments(columns, context="prompt")
    terms, engine = aggcal.Terms(context="errors", **asked), LocalEngine(shards=3)
    wanted = aggcal.aggregate(judgments, method, terms=terms, warn=False)
    found = aggcal.aggregate(judgments, method, terms=terms, engine=engine, warn=False)
    assert wanted.uncertainty is not None
    assert any(factor.name == "prompt" for factor in wanted.uncertainty.factors)
    assert_same_terms(found, wanted)


def test_a_sample_of_the_annotators_tells_of_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a shard has none of the sample: there are more shards than people in it."""
    for module in ("choice", "fit"):
        monkeypatch.setattr(f"aggcal.aggregation.general.{module}._SAMPLE", 150)
    judgments = aggcal.read_judgments(answered()[0])
    wanted = aggcal.aggregate(judgments, warn=False)
    found = aggcal.aggregate(judgments, engine=LocalEngine(shards=ANNOTATORS), warn=False)
    assert effects_of(found).to_dict()["position_evidence"] == pytest.approx(
        effects_of(wanted).to_dict()["position_evidence"], rel=1e-8
    )
    assert_same_terms(found, wanted)


def test_what_is_held_equal_is_checked_where_the_rows_lie() -> None:
    columns, length = answered(200)
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
    assert_same_terms(
        aggcal.aggregate(judgments, terms=terms, engine=engine, warn=False),
        aggcal.aggregate(judgments, terms=terms, warn=False),
        # Spreads settle to 1e-4; so few answers leave them loose, and sums differ in rounding: by
        # 3e-7 to 2e-6 with two to five shards.
        close=1e-5,
    )
    blank = dict(columns) | {"prompt": np.where(np.arange(200) < 3, None, columns["prompt"])}
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


def test_a_shard_that_forgot_answers_as_before() -> None:
    judgments = aggcal.read_judgments(answered()[0])
    shard = Shard.of(judgments, 0, 0, sided=True)
    plan = ShardPlan.of(
        Plan(("reliability", "position", "readiness"), ties=True, sides=True), Numbers({})
    )
    size = ITEMS + 2
    unknowns = np.linspace(-1.0, 1.0, size)
    place = Place(
        unknowns, np.zeros(ITEMS), 2.0, np.array([FIRST_SDS[n] for n in plan.plan.names]), 0.0,
        (np.log(0.9), np.log(0.1)), np.ones(1), {}, None, 1e-10,
    )  # fmt: skip
    first = GeneralPoint(place, float(judgments.weight.sum()), None)
    found = shard.general(plan, first)
    point = GeneralPoint(place, float(judgments.weight.sum()), found.columns[2])
    shard.general(plan, point)
    vector = np.cos(np.arange(size))
    lost = pickle.loads(pickle.dumps(shard))  # noqa: S301
    np.testing.assert_array_equal(
        lost.general_product(plan, point, vector), shard.general_product(plan, point, vector)
    )


def test_what_is_sent_has_the_size_of_the_unknowns() -> None:
    """No question or answer grows with the rows."""
    seen: list[int] = []

    class Watched(GeneralOfShard):
        def evaluate(self, point: GeneralPoint) -> Any:
            found = super().evaluate(point)
            seen.append(sum(column.nbytes for column in (*found.columns, found.sums[1])))
            return found

    sizes = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("aggcal.engines.sharded.questions.GeneralOfShard", Watched)
        for rows in (400, 1600):
            judgments = aggcal.read_judgments(answered(rows)[0])
            held = LocalEngine(shards=1).distribute(judgments)
            aggcal.aggregate(held, warn=False)
            sizes.append(seen[-1])
    assert sizes[0] == sizes[1]


def test_the_layout_away_has_the_same_unknowns() -> None:
    columns, _ = answered()
    judgments = aggcal.read_judgments(columns, context="prompt", by="topic")
    here = effects_of(aggcal.aggregate(judgments, warn=False))
    there = general_problem(LocalEngine(shards=5).distribute(judgments), here.chosen)
    mine, theirs = there.layout, here.problem.layout
    assert mine.size == theirs.size
    for name, block in theirs.design.blocks.items():
        np.testing.assert_array_equal(mine.design.blocks[name].item, block.item)
        np.testing.assert_array_equal(mine.design.blocks[name].group, block.group)
    assert len(mine.rows) == len(theirs.rows)
    np.testing.assert_allclose(mine.rows.given, theirs.rows.given)


@cache
def parted() -> aggcal.Judgments:
    return aggcal.read_judgments(answered(300)[0], context="prompt", by="topic")


@cache
def here() -> aggcal.Consensus:
    return aggcal.aggregate(parted(), warn=False)


@cache
def there() -> aggcal.Consensus:
    return aggcal.aggregate(LocalEngine(shards=3).distribute(parted()), warn=False)


def later() -> aggcal.Judgments:
    new = {"annotator": ["u1", "zoe"], "left": ["new", "i2"], "right": ["i0", "new"]}
    return aggcal.read_judgments(new | {"outcome": ["left", "tie"]})


MODEL = {f"i{k}": float(k % 5) for k in range(ITEMS)}
AFTER: dict[str, Callable[[aggcal.Consensus, Any], Any]] = {
    "items": lambda c, _: c.items,
    "annotators": lambda c, _: c.annotators,
    "place": lambda c, _: [c.place(later()).values, c.place(later()).sd],
    "probabilities": lambda c, _: c.judgment_probabilities(later()),
    "outcomes": lambda c, _: c.outcome_probabilities(parted()),
    "order": lambda c, _: c.order_probability("i0", "i1"),
    "laplace": lambda c, _: c.quantify("laplace", level=0.8).items,
    "calibrate": lambda c, _: aggcal.calibrate(MODEL, c, warn=False).items,
    "predict": lambda c, _: (
        aggcal.calibrate(MODEL, c, warn=False).predict({"new": 0.3}, later()).items
    ),
    "suggest": lambda c, j: aggcal.suggest_pairs(j, MODEL, consensus=c, n=5).left.tolist(),
    "summary": lambda c, _: effects_of(c).to_dict(),
    "refit from it": lambda c, j: aggcal.aggregate(j, start=c, warn=False).scores,
}
"""What asks for more once terms were fitted."""


@pytest.mark.parametrize("name", AFTER)
def test_what_follows_knows_the_terms_wherever_rows_lie(name: str) -> None:
    ask = AFTER[name]
    wanted, found = ask(here(), parted()), ask(there(), LocalEngine(shards=3).distribute(parted()))
    assert_same_numbers(_plain(found), _plain(wanted))


def _plain(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {key: _plain(value) for key, value in answer.items()}
    if isinstance(answer, list | tuple):
        return list(map(_plain, answer))
    return answer.tolist() if isinstance(answer, np.ndarray) else answer


def test_refits_are_refused_by_name() -> None:
    with pytest.raises(OptionError, match="uncertainty 'bootstrap' needs all rows on one machine"):
        there().quantify("bootstrap", draws=10)


def test_a_device_says_which_terms_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DeviceRows, "of", lambda rows: rows)
    device = GpuEngine().distribute(parted())
    found = aggcal.aggregate(device, warn=False)
    told = [str(w) for w in found.warnings if isinstance(w, TermsLeftOutWarning)]
    assert len(told) == 1
    for what in ("ties (each counts as half", "left side", "contexts", "by category", "'gpu'"):
        assert what in told[0]
    # Elsewhere the mode leaves them out, too, and who asks for it is told nothing.
    wanted = aggcal.aggregate(parted(), estimator="mode", warn=False)
    np.testing.assert_allclose(found.scores, wanted.scores, atol=1e-8)
    for judgments in (device, parted()):
        mode = aggcal.aggregate(judgments, estimator="mode", warn=False)
        assert not any(isinstance(w, TermsLeftOutWarning) for w in mode.warnings)
    plain = aggcal.read_judgments([("u", "a", "b"), ("v", "b", "c"), ("v", "c", "a")])
    bare = aggcal.aggregate(GpuEngine().distribute(plain), warn=False)
    assert not any(isinstance(w, TermsLeftOutWarning) for w in bare.warnings)


@pytest.mark.parametrize("asked", [{"ties": "davidson"}, {"bridge": True}, {"control": LENGTH}])
def test_terms_that_were_asked_for_are_refused_by_a_device(
    asked: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DeviceRows, "of", lambda rows: rows)
    device, terms = GpuEngine().distribute(parted()), aggcal.Terms(**asked)
    with pytest.raises(OptionError, match="are not fitted on the engine 'gpu'; choose the engine"):
        aggcal.aggregate(device, terms=terms)


def test_a_device_fits_terms_of_annotators_who_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DeviceRows, "of", lambda rows: rows)
    terms = aggcal.Terms(ties="davidson", position="on", categories=False)
    found = aggcal.aggregate(GpuEngine().distribute(parted()), "btl", terms=terms, warn=False)
    wanted = aggcal.aggregate(parted(), "btl", terms=terms, warn=False)
    np.testing.assert_allclose(found.scores, wanted.scores, atol=1e-8)


def test_the_mode_with_terms_stays_refused() -> None:
    held = LocalEngine(shards=2).distribute(parted())
    with pytest.raises(OptionError, match="fitted by the estimator 'marginal'"):
        aggcal.HRA(estimator="mode", terms=aggcal.Terms(ties="davidson")).fit(held)
