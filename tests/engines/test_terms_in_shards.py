"""Terms on shards: terms, errors and refusals are those of one machine."""

from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal.aggregation.effects import Effects
from aggcal.engines.local import LocalEngine
from aggcal.errors import FeatureError, OptionError

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
            # A tape that is made again has slightly other nodes.
            np.testing.assert_allclose(ours, others, atol=max(close, 1e-5))
    ours, others = effects_of(found), effects_of(wanted)
    assert_same_numbers(ours.to_dict(0.9), others.to_dict(0.9))
    for one, two in zip(ours.categories, others.categories, strict=True):
        np.testing.assert_allclose(one.scores, two.scores, atol=close)
        np.testing.assert_allclose(one.se, two.se, atol=close)


def effects_of(consensus: aggcal.Consensus) -> Effects:
    assert consensus.effects is not None
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


@pytest.mark.parametrize(("ties", "number"), [("auto", 2), ("halves", 1)])
def test_strengths(ties: Any, number: int) -> None:
    """Also where they are not asked about, and contexts are."""
    columns, _ = answered(steps=True)
    judgments = aggcal.read_judgments(columns, strength_scale="1:5", context="prompt")
    terms, engine = aggcal.Terms(ties=ties), LocalEngine(shards=4)
    wanted = aggcal.aggregate(judgments, terms=terms, warn=False)
    found = aggcal.aggregate(judgments, terms=terms, engine=engine, warn=False)
    assert len(effects_of(wanted).grades) == number
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
    assert_same_terms(
        aggcal.aggregate(judgments, terms=terms, engine=engine, warn=False),
        aggcal.aggregate(judgments, terms=terms, warn=False),
        close=1e-5,
    )
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
