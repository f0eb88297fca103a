"""Every public function that takes judgments, wherever their rows lie.

The same answer as on one machine, or one sentence that refuses it: never nonsense. The device here
is this machine: nothing is copied to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache, partial
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_sharded import fitted, judged, on_device  # noqa: F401  # a fixture

import aggcal
from aggcal._core.arrays import sums
from aggcal.advice import advising
from aggcal.advice.check import survey
from aggcal.data.base import AnyJudgments
from aggcal.data.graph import ComparisonGraph
from aggcal.engines.gpu import GpuEngine
from aggcal.engines.local import LocalEngine
from aggcal.engines.remote import RemoteJudgments, gathered
from aggcal.errors import OptionError
from aggcal.registry import METHODS

REFUSED = (
    "needs all rows on one machine, but an engine has distributed them; choose the engine 'local'."
)
HELD = ("sharded", "device")
FORCES = {"influence", "influence_change", "influence_exact", "influence_item",
          "leader_without"}  # fmt: skip
SIDES = {"left_share", "left_share_low", "left_share_high"}


pytestmark = pytest.mark.usefixtures("on_device")


def held(where: str, judgments: aggcal.Judgments) -> RemoteJudgments:
    engine = LocalEngine(shards=3) if where == "sharded" else GpuEngine()
    return engine.distribute(judgments)


@cache
def study() -> aggcal.Judgments:
    """Return connected judgments with ties, weights, repeats and rows that are not fitted."""
    whole = judged("weighted", items=9, judgments=400)
    more = [("u1", "x", "x", "left"), ("u1", "x", "y", "skip")]
    rows = [dict(zip(("annotator", "left", "right", "outcome"), row, strict=True)) for row in more]
    return aggcal.add_judgments(whole, rows)


@cache
def model() -> aggcal.Scores:
    random = np.random.default_rng(3)
    return aggcal.read_scores({item: random.normal() for item in study().item_ids})


def numbers(answer: Any) -> Any:
    """Return what of an answer is compared."""
    if isinstance(answer, aggcal.Consensus):
        return [answer.scores, answer.reliabilities, answer.agreement, answer.judgments_per_item,
                answer.judgments_per_annotator, [str(w) for w in answer.warnings]]  # fmt: skip
    if isinstance(answer, aggcal.Scores):
        return [answer.item_ids.tolist(), answer.values, answer.sd]
    if isinstance(answer, aggcal.advice.suggest.Suggestions):
        return [answer.left.tolist(), answer.right.tolist(), list(answer.reason)]
    if isinstance(answer, aggcal.advice.check.Check):
        return [[f.code for f in answer.findings], [f.message for f in answer.findings]]
    if isinstance(answer, AnyJudgments):
        whole = answer.on_one_machine("a comparison")
        return [whole.item_ids.tolist(), whole.left, whole.outcome, whole.weight]
    return answer


def assert_same(found: Any, wanted: Any) -> None:
    found, wanted = numbers(found), numbers(wanted)
    if isinstance(wanted, list | tuple):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other)
    elif isinstance(wanted, dict):
        assert found.keys() == wanted.keys()
        for key in wanted:
            assert_same(found[key], wanted[key])
    elif isinstance(wanted, np.ndarray) and wanted.dtype != object:
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    elif isinstance(wanted, np.ndarray):
        assert found.tolist() == wanted.tolist()
    elif isinstance(wanted, float):
        assert found == pytest.approx(wanted, rel=1e-4, abs=1e-5, nan_ok=True)
    else:
        assert found == wanted


def errors(judgments: Any, kind: Any = "laplace", method: str = "btl", **options: Any) -> Any:
    known = fitted(judgments, method).quantify(kind, draws=12, **options).uncertainty
    assert known is not None
    return [known.se, known.rank_low, known.rank_high]


def later() -> aggcal.Judgments:
    ids = study().item_ids
    return aggcal.read_judgments([("u1", "new", ids[0]), ("zoe", ids[1], "new")])


def assessed(judgments: Any, **options: Any) -> aggcal.Assessment:
    return aggcal.assess(judgments, model(), warn=False, **options)


def told(summary: dict[str, Any]) -> dict[str, Any]:
    """Leave out of a summary what tells where and how fast."""
    settings = {k: v for k, v in summary["settings"].items() if k != "engine"}
    left_out = ("seconds", "iterations", "gradient_norm", "objective", "log_likelihood", "check",
                "suggestions", "guarantees", "settings", "prior")  # fmt: skip
    return {k: v for k, v in summary.items() if k not in left_out} | {"settings": settings}


def saved(judgments: Any, folder: Path) -> list[str]:
    assessed(judgments).save(folder / judgments.engine_name)
    return sorted(path.name for path in (folder / judgments.engine_name).iterdir())


def drawn(judgments: Any) -> list[Any]:
    figure = pytest.importorskip("matplotlib.figure")
    from aggcal import plot

    ax = plot.comparisons(judgments, ax=figure.Figure().subplots())
    return [ax.get_title(), [text.get_text() for text in ax.texts]]


def anchors(judgments: Any) -> list[Any]:
    """Suggest anchors."""
    found = aggcal.suggest_anchors(judgments, model(), n=3, method="btl")
    return [found.item_ids.tolist(), found.score, found.gain]


ANYWHERE: dict[str, Callable[[Any], Any]] = {
    **{
        f"aggregate {name}": partial(fitted, method=name)
        for name, known in METHODS.items()
        if not known.from_features
    },
    "stated prior": lambda j: fitted(j, prior=aggcal.Prior(0.8, 0.4)),
    "start": lambda j: fitted(j, start=model()),
    "laplace": partial(errors, method="hra-g", level=0.9),
    "items": lambda j: fitted(j).items,
    "annotators": lambda j: fitted(j).annotators,
    "place": lambda j: fitted(j).place(later()),
    "probabilities of others": lambda j: fitted(j).judgment_probabilities(later()),
    "order": lambda j: fitted(j).order_probability(*study().item_ids[:2]),
    "calibrate": lambda j: aggcal.calibrate(model(), fitted(j), warn=False).items,
    "predict": lambda j: aggcal.calibrate(model(), fitted(j), warn=False)
    .predict({"new": 0.3}, later())
    .items,
    "assess": lambda j: assessed(j).items,
    "summary": lambda j: told(assessed(j).to_dict()),
    "suggest": lambda j: aggcal.suggest_pairs(j, model(), consensus=fitted(j), n=5),
    "suggest to new": lambda j: aggcal.suggest_pairs(
        j, consensus=fitted(j), n=4, new_annotators=["zoe"]
    ),
    "graph": lambda j: [j.graph.component, j.graph.never_win, j.graph.never_lose],
    "a graph of one's own": lambda j: ComparisonGraph(j).never_win,
    "counts": lambda j: [
        j.n_items, j.n_annotators, j.n_judgments, j.n_rows, j.n_merged, j.n_duplicates,
        j.n_repeated, j.unjudged_ids, j.unfitted.counts, j.judgments_per_item,
        j.judgments_per_annotator, j.wins_and_losses, j.source, j.format, j.notes, j.criteria,
        j.sided, j.backend, j.agreement(np.arange(j.n_items, dtype=float)),
    ],
    "str": lambda j: str(fitted(j)).split(";")[0],
    "explain": lambda j: aggcal.explain(assessed(study()), study().item_ids[0], j).data,
    "anchors": anchors,
    "check": lambda j: aggcal.check(j, model(), consensus=fitted(j)),
    "check by itself": aggcal.check,
}  # fmt: skip
ON_ONE_MACHINE: dict[str, Callable[[Any], Any]] = {
    **{
        f"aggregate {name}": partial(fitted, method=name, features="identity")
        for name, known in METHODS.items()
        if known.from_features
    },
    "a class of features": lambda j: aggcal.methods.GPPL("identity").fit(j),
    "assess by features": lambda j: assessed(j, method="gppl", features="identity").items,
    "no prior": lambda j: fitted(j, "btl", prior=None),
    "bootstrap": partial(errors, kind="bootstrap"),
    "camps": lambda j: fitted(j, terms=aggcal.Terms(bridge="camps")),
    "own method": lambda j: aggcal.aggregate(j, Wins(), warn=False),
    "compare methods": lambda j: aggcal.compare_methods(j, ["tcv"], folds=2).to_dict(),
    "suggest by name": lambda j: aggcal.suggest_pairs(
        j, consensus=fitted(j), n=3, annotators=list(j.annotator_ids[:2])
    ),
    "suggest per annotator": lambda j: aggcal.suggest_pairs(
        j, consensus=fitted(j), n=3, per_annotator=2
    ),
    "place them": lambda j: aggcal.aggregate(
        [("u1", "x", "y"), ("u1", "y", j.item_ids[0])], warn=False
    ).place(j),
    "predict with them": lambda j: aggcal.calibrate(
        {"x": 1.0, "y": 2.0, j.item_ids[0]: 3.0},
        aggcal.aggregate([("u1", "x", "y"), ("u1", "y", j.item_ids[0])], warn=False),
        warn=False,
    ).predict({j.item_ids[1]: 0.3}, j).items,
    "probabilities": lambda j: fitted(j).judgment_probabilities(j),
    "outcomes": lambda j: fitted(j).outcome_probabilities(j),
    "strong components": lambda j: j.graph.strong,
    "resampled": lambda j: j.of_annotators(np.array([2, 2, 0])),
    "swapped": lambda j: j.swapped(),
    "swapped fit": lambda j: fitted(j.swapped()),
    "plot": drawn,
    "influence": lambda j: aggcal.influence(j, fitted(j)).annotator_columns(),
    "power": lambda j: aggcal.power("tau=0.2", j, studies=4).to_dict(),
}  # fmt: skip


class Wins:
    """A method of somebody else's."""

    def fit(self, judgments: aggcal.Judgments, /) -> aggcal.Consensus:
        won = sums(judgments.left, judgments.outcome, judgments.n_items)
        return aggcal.Consensus.of(judgments, won, method="wins")


def test_every_public_function_that_takes_judgments_is_here() -> None:
    """One that is new needs a row in a table above: the same answer, or a refusal."""
    from aggcal import plot

    public = {name: getattr(aggcal, name) for name in aggcal.__all__}
    public |= {f"plot.{name}": getattr(plot, name) for name in plot.__all__}
    for owner, known in [(o, k) for o, k in public.items() if isinstance(k, type)]:
        methods = [name for name in vars(known) if not name.startswith("_")]
        public |= {f"{owner}.{name}": getattr(known, name) for name in methods}
    taking = {
        name
        for name, known in public.items()
        if callable(known) and not isinstance(known, type)
        if "judgments" in signature(known).parameters
    }
    assert taking - {"simulate", "Finding.of_warning"} == {  # which take their number
        "Aggregator.fit", "Calibration.predict", "Consensus.judgment_probabilities",
        "Consensus.of", "Consensus.outcome_probabilities", "Consensus.place", "Control.check",
        "Control.differences", "add_judgments", "aggregate",
        "assess", "check", "compare_methods", "explain", "influence", "plot.comparisons", "power",
        "suggest_anchors", "suggest_pairs",
    }  # fmt: skip


@pytest.mark.parametrize("name", ANYWHERE)
@pytest.mark.parametrize("where", HELD)
def test_the_same_wherever_rows_lie(where: str, name: str) -> None:
    judgments, ask = study(), ANYWHERE[name]
    assert_same(ask(held(where, judgments)), ask(judgments))


@pytest.mark.parametrize("name", ON_ONE_MACHINE)
def test_a_device_leaves_the_rows_on_this_machine(name: str) -> None:
    judgments, ask = study(), ON_ONE_MACHINE[name]
    assert_same(ask(held("device", judgments)), ask(judgments))


@pytest.mark.parametrize("name", ON_ONE_MACHINE)
def test_what_shards_cannot_answer_is_refused_by_name(name: str) -> None:
    with pytest.raises(OptionError) as told_:
        ON_ONE_MACHINE[name](held("sharded", study()))
    text = str(told_.value)
    assert text.endswith(REFUSED)
    assert len(text) > len(REFUSED) + 3
    assert "\n" not in text


@pytest.mark.parametrize("where", HELD)
def test_what_is_added(where: str) -> None:
    judgments = study()
    for order in (lambda j: (j, later()), lambda j: (later(), j)):
        if where == "device":
            assert_same(
                aggcal.add_judgments(*order(held(where, judgments))),
                aggcal.add_judgments(*order(judgments)),
            )
        else:
            with pytest.raises(OptionError, match="lie on an engine"):
                aggcal.add_judgments(*order(held(where, judgments)))


@pytest.mark.parametrize(("where", "name"), [("sharded", "shards"), ("device", "gpu")])
def test_results_name_the_engine(where: str, name: str, tmp_path: Path) -> None:
    judgments = study()
    there = held(where, judgments)
    assert there.engine_name == name
    assert judgments.engine_name == "local"
    result = assessed(there)
    assert result.to_dict()["settings"]["engine"] == name
    assert saved(there, tmp_path) == saved(judgments, tmp_path)
    advice, here = result.with_advice().advice, assessed(judgments).with_advice().advice
    assert here is not None
    assert advice is not None
    assert_same(advice.check, here.check)
    assert_same(advice.suggestions, here.suggestions)
    mine, theirs = (
        each.with_advice().annotator_columns() for each in (result, assessed(judgments))
    )
    assert "verdict" in mine
    missing = theirs.keys() - mine.keys()  # what depends on each row's force, or its side
    assert missing == (set() if where == "device" else FORCES | SIDES)
    assert_same(mine, {name: column for name, column in theirs.items() if name in mine})


def test_a_check_of_shards_is_refused_where_it_would_be_another_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(survey, "MANY", 3)
    monkeypatch.setattr(advising, "MANY", 3)
    with pytest.raises(OptionError, match="a check needs all rows on one machine"):
        aggcal.check(held("sharded", study()))
    assert assess_alone(held("sharded", study())).with_advice().advice is None
    few = aggcal.read_judgments([("u1", "a", "b"), ("u2", "b", "c"), ("u3", "c", "a")])
    assert_same(aggcal.check(held("sharded", few)), aggcal.check(few))


def assess_alone(judgments: Any) -> aggcal.Assessment:
    return aggcal.assess(judgments, warn=False)


def ranked() -> aggcal.Judgments:
    """Return judgments with acts that weigh differently, contexts and categories."""
    rankings = ["a>b>c", "c>a", "b>a>c>d", "a>b"]
    columns = {"annotator": ["u", "v", "u", "u"], "ranking": rankings, "prompt": [*"pqqp"]}
    return aggcal.read_judgments(columns, context="prompt", by="annotator")


@pytest.mark.parametrize("kind", ["plain", "weighted", "ranked"])
def test_rows_come_back_as_they_were(kind: str) -> None:
    judgments = ranked() if kind == "ranked" else judged(kind)
    assert judgments.n_merged or judgments.screen_weight is not None
    back = gathered(held("sharded", judgments), len(judgments.count))
    assert back is not None
    for part in fields(judgments):
        there, here = getattr(back, part.name), getattr(judgments, part.name)
        assert type(there) is type(here)
        if part.name == "categories":
            there, here = ([(each.name, *each.ids, *each.code) for each in own]
                           for own in (there, here))  # fmt: skip
        assert np.array_equal(there, here), part.name
    assert back.decided_for_left == judgments.decided_for_left
