"""Which pairs are suggested, and to whom."""

from __future__ import annotations

import csv
import io
import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.advice.suggest import Suggestions
from aggcal.advice.suggest.people import Person
from aggcal.advice.suggest.suggestions import About
from aggcal.aggregation.covariance import MOST_DENSE, DenseCovariance
from aggcal.aggregation.families import Adjacent, RaoKupper
from aggcal.aggregation.links import link
from aggcal.errors import OptionError
from aggcal.io.cells import csv_writer
from aggcal.io.saving import Manifest, write_files
from aggcal.registry.literals import PredictableName
from aggcal.simulation import simulate
from conftest import Command

Pair = frozenset[str]


def study(items: int = 12, judgments: int = 80, seed: int = 5) -> aggcal.Judgments:
    made = simulate(items=items, annotators=6, judgments=judgments, seed=seed)
    return aggcal.read_judgments(made.judgments)


def pairs(found: Suggestions) -> list[Pair]:
    return [frozenset(both) for both in zip(found.left, found.right, strict=True)]


def wrong(covariance: FloatArray, weights: FloatArray) -> float:
    """Σ w Var(s_k − s_l), the slow way."""
    return sum(
        float(weights[k, j] * (covariance[k, k] + covariance[j, j] - 2.0 * covariance[k, j]))
        for k, j in combinations(range(len(covariance)), 2)
    )


@pytest.mark.parametrize("about", ["order", "scores"])
def test_the_chosen_pairs_are_the_best_by_brute_force(about: About) -> None:
    judgments = study()
    n, ids = judgments.n_items, judgments.item_ids
    model = np.random.default_rng(3).normal(size=n)
    consensus = aggcal.aggregate(judgments, warn=False)
    assert consensus.quantifier is not None
    fit = consensus.quantifier.covariance(consensus)
    assert fit is not None
    assert isinstance(fit.covariance, DenseCovariance)
    covariance, scores = fit.covariance.matrix, consensus.scores
    spread = np.diag(covariance)
    gap = scores[:, None] - scores
    variance = spread[:, None] + spread - 2.0 * covariance + np.eye(n)
    weights = np.exp(-0.5 * gap**2 / variance) / (2.0 * np.pi * variance)
    if about == "scores":
        weights = weights * (model[:, None] - model) ** 2 / 2.0
    gamma = float(np.sqrt(np.mean(consensus.reliabilities**2)))

    best: list[tuple[Pair, float]] = []
    for _ in range(60):  # more than are valued from one matrix
        options: dict[Pair, tuple[float, FloatArray]] = {}
        for k, j in combinations(range(n), 2):
            both = frozenset({str(ids[k]), str(ids[j])})
            if both in [pair for pair, _ in best]:
                continue
            chance = 1.0 / (1.0 + np.exp(-gamma * gap[k, j]))
            information = gamma**2 * chance * (1.0 - chance)
            toward = covariance[k] - covariance[j]
            share = information / (1.0 + information * (toward[k] - toward[j]))
            after = covariance - share * np.outer(toward, toward)
            options[both] = wrong(covariance, weights) - wrong(after, weights), after
        chosen = max(options, key=lambda pair: options[pair][0])
        best.append((chosen, options[chosen][0]))
        covariance = options[chosen][1]

    suggested = aggcal.suggest_pairs(
        judgments, aggcal.Scores(ids, model), n=60, about=about, consensus=consensus
    )
    assert pairs(suggested) == [pair for pair, _ in best]
    assert suggested.information == pytest.approx([worth for _, worth in best], rel=1e-6)


def test_variances_alone_choose_nearly_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    judgments = study(200, 2500)
    exact = aggcal.suggest_pairs(judgments, n=10)
    monkeypatch.setattr("aggcal.advice.suggest.beliefs.MOST_JOINT", 1)
    rough = aggcal.suggest_pairs(judgments, n=10)
    assert rough.information == pytest.approx(exact.information, rel=0.2)
    assert len(set(pairs(exact)) & set(pairs(rough))) >= 5


@pytest.mark.parametrize("ties", [Adjacent(), RaoKupper()])
@pytest.mark.parametrize("readiness", [-6.0, -1.0, 0.5])
def test_the_information_is_that_of_three_answers(
    ties: Adjacent | RaoKupper, readiness: float
) -> None:
    x = np.linspace(-4.0, 4.0, 17)
    someone = Person(None, 1.0, 0.0, link("logistic"), readiness, ties)

    def chances(x: FloatArray) -> FloatArray:
        return ties.probabilities(x, np.full(len(x), readiness))

    slope = (np.log(chances(x + 1e-5)) - np.log(chances(x - 1e-5))) / 2e-5
    expected = (chances(x) * slope**2).sum(axis=1)
    np.testing.assert_allclose(someone.information(x), expected, rtol=1e-6)
    for k, outcome in enumerate((1.0, 0.0, 0.5)):
        found = [someone.slope(gap, outcome) for gap in x]
        np.testing.assert_allclose(found, slope[:, k], rtol=1e-5, atol=1e-9)
    # Next to nobody calls a tie: it is the plain one.
    if readiness < -5.0:
        plain = Person(None, 1.0, 0.0, link("logistic")).information(x)
        np.testing.assert_allclose(someone.information(x), plain, rtol=0.05)


@pytest.mark.parametrize("per_item", [1, 2, 3])
def test_limits_are_kept_and_no_pair_comes_twice(per_item: int) -> None:
    found = aggcal.suggest_pairs(study(), n=6, per_item=per_item)
    _, numbers = np.unique(np.concatenate([found.left, found.right]), return_counts=True)
    assert numbers.max() <= per_item
    assert len(set(pairs(found))) == len(found) == 6


def test_many_candidates_change_no_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Candidates that are worth little at first stay worth little."""
    judgments = study(120, 1500)
    some = aggcal.suggest_pairs(judgments, n=30)
    monkeypatch.setattr("aggcal.advice.suggest.pairs._FEWEST", 10_000)
    assert some.to_dict() == aggcal.suggest_pairs(judgments, n=30).to_dict()


def test_a_seed_decides_and_another_one_differs() -> None:
    judgments = study()
    one, same, other = (
        aggcal.suggest_pairs(judgments, n=20, explore=0.3, seed=seed) for seed in (4, 4, 5)
    )
    assert one.to_dict() == same.to_dict()
    assert one.to_dict() != other.to_dict()


def test_new_names_of_the_items_change_nothing_else() -> None:
    judgments = study()
    names = dict(zip(judgments.item_ids, np.random.default_rng(2).permutation(12), strict=True))
    rows = [
        (judgments.annotator_ids[u], names[judgments.item_ids[a]], names[judgments.item_ids[b]])
        for u, a, b, times in zip(
            judgments.annotator, judgments.left, judgments.right, judgments.count, strict=True
        )
        for _ in range(times)
    ]
    plain = aggcal.suggest_pairs(judgments, n=6, explore=0.0)
    renamed = aggcal.suggest_pairs(rows, n=6, explore=0.0)
    assert [str(names[x]) for x in plain.left] == renamed.left.tolist()
    assert [str(names[x]) for x in plain.right] == renamed.right.tolist()
    assert plain.information == pytest.approx(renamed.information, rel=1e-6)


def test_the_favourite_is_on_the_left_in_half_of_the_pairs() -> None:
    found = aggcal.suggest_pairs(study(), n=20)
    assert np.sum(found.probability > 0.5) == 10
    assert ((found.probability > 0.0) & (found.probability < 1.0)).all()


def test_pieces_are_joined_first() -> None:
    rows = [("ann", f"{piece}1", f"{piece}2") for piece in "abcd"]
    rows += [("bob", "a2", "a3"), ("bob", "a1", "a3")]
    found = aggcal.suggest_pairs(rows, n=5, explore=0.0)
    assert found.reason.tolist()[:3] == ["connects components"] * 3
    assert found.reason[3] != "connects components"
    answered = [("eve", left, right) for left, right in zip(found.left, found.right, strict=True)]
    from aggcal.data.graph import ComparisonGraph

    graph = ComparisonGraph(aggcal.read_judgments(rows + answered[:3]))
    assert len(graph.component_sizes) == 1


def test_new_items_are_asked_from_scores_and_from_a_list() -> None:
    judgments = study()
    scores = {item: float(k) for k, item in enumerate(judgments.item_ids)} | {"scored": 3.0}
    found = aggcal.suggest_pairs(judgments, scores, n=3, items=["listed"], explore=0.0)
    assert found.reason.tolist()[:2] == ["new item", "new item"]
    assert {"scored", "listed"} <= set(np.concatenate([found.left[:2], found.right[:2]]))


def test_a_new_item_is_expected_where_the_model_puts_it() -> None:
    made = simulate(items=30, annotators=10, judgments=3000, model_sd=1.0, seed=2)
    judgments = aggcal.read_judgments(made.judgments)
    scores = dict(zip(made.item_ids, made.model, strict=True)) | {"top": float(made.model.max())}
    consensus = aggcal.aggregate(judgments, warn=False)
    suggested = aggcal.suggest_pairs(judgments, scores, n=1, consensus=consensus)
    (partner,) = pairs(suggested)[0] - {"top"}
    assert partner in set(consensus.item_ids[consensus.order[:6]])
    assert 0.2 < suggested.probability[0] < 0.8


def test_nobody_is_asked_what_they_judged_or_skipped() -> None:
    made = simulate(items=6, annotators=3, judgments=18, seed=1)
    rows = [(u, w, x, "left") for u, w, x in zip(*made.judgments.values(), strict=True)]
    rows.append(("annotator-1", "item-1", "item-2", "skip"))
    judgments = aggcal.read_judgments(
        [dict(zip(("annotator", "left", "right", "outcome"), row, strict=True)) for row in rows]
    )
    done = {(u, frozenset({a, b})) for u, a, b, _ in rows}
    found = aggcal.suggest_pairs(judgments, per_annotator=4, repeat=True)
    assert len(found) == 12
    assert found.annotator is not None
    asked = list(zip(found.annotator, pairs(found), strict=True))
    assert not done & set(asked)
    assert len(set(asked)) == 12


def test_the_reliable_are_asked_first_and_the_unknown_to_learn_about_them() -> None:
    made = simulate(items=20, annotators=6, judgments=1500, reliability_sd=0.8, seed=4)
    judgments = aggcal.read_judgments(made.judgments)
    consensus = aggcal.aggregate(judgments, warn=False)
    ids = judgments.annotator_ids.tolist()
    found = aggcal.suggest_pairs(
        judgments, n=8, annotators=ids, new_annotators=["new"], per_annotator=4, explore=0.125
    )
    assert found.annotator is not None
    best = [ids[u] for u in np.argsort(-consensus.reliabilities)]
    assert found.annotator.tolist() == [best[0]] * 4 + [best[1]] * 3 + ["new"]
    assert found.reason[-1] == "to learn about the annotator"
    # What is known already tells about who judges it.
    assert abs(found.probability[-1] - 0.5) > 0.2
    assert found.information[0] > found.information[4] > found.information[-1]


def test_more_judgments_make_the_next_one_worth_less() -> None:
    few, many = study(20, 200, seed=9), study(20, 4000, seed=9)
    assert (
        aggcal.suggest_pairs(few, n=1).information[0]
        > 3.0 * aggcal.suggest_pairs(many, n=1).information[0]
    )


def test_pairs_at_stake_for_the_scores_are_those_the_model_tells_apart() -> None:
    judgments = study(30, 600)
    flat = dict.fromkeys(judgments.item_ids, 1.0)
    chosen = judgments.item_ids[:5]
    model = flat | {item: 10.0 * k for k, item in enumerate(chosen, 2)}
    found = aggcal.suggest_pairs(judgments, model, n=8, about="scores", explore=0.0)
    assert all(set(pair) & set(chosen) for pair in pairs(found))
    assert found.unit.endswith("squared")


def test_many_items_need_no_matrix() -> None:
    n = MOST_DENSE + 50
    made = simulate(items=n, annotators=10, judgments=4 * n, seed=1)
    judgments = aggcal.read_judgments(made.judgments)
    consensus = aggcal.aggregate(judgments, warn=False)
    found = aggcal.suggest_pairs(
        judgments, n=20, items=["new-1", "new-2"], per_item=2, consensus=consensus
    )
    assert set(found.reason.tolist()) <= {
        "new item",
        "connects components",
        "close and uncertain",
        "few judgments",
    }
    assert (found.reason == "new item").sum() == 2
    assert len(set(pairs(found))) == 20
    close = found.probability[found.reason == "close and uncertain"]
    assert np.nanmax(np.abs(close - 0.5), initial=0.0) < 0.3


def test_a_table_comes_back_in_the_users_library() -> None:
    pandas = pytest.importorskip("pandas")
    made = simulate(items=10, annotators=4, judgments=60, seed=1)
    found = aggcal.suggest_pairs(pandas.DataFrame(made.judgments), n=4)
    assert list(found.pairs.columns) == ["left", "right", "information", "probability", "reason"]
    assert str(found).startswith("4 suggested pairs (")


@pytest.mark.parametrize("method", ["hra-e", "hra-n", "btl", "tcv"])
def test_every_method_with_a_known_information_suggests(method: PredictableName) -> None:
    judgments = study()
    found = aggcal.suggest_pairs(judgments, n=4, method=method, per_annotator=2)
    assert (found.information > 0.0).all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n": 0}, "1 or more"),
        ({"n": 67}, "12 items allow only 66"),
        ({"n": 10, "per_item": 1}, "allow only 6"),
        ({"per_item": 0}, "1 or more"),
        ({"per_annotator": 0}, "1 or more"),
        ({"explore": 1.5}, "from 0 to 1"),
        ({"seed": -1}, "seed"),
        ({"about": "fun"}, "choose order, scores"),
        ({"about": "scores"}, "need the model's scores"),
        ({"scores": {"zz": 1.0}, "about": "scores"}, "same ids"),
        ({"method": "crowd-bt"}, "choose hra-g"),
        ({"annotators": ["nobody"]}, "'nobody'"),
        ({"new_annotators": ["annotator-1"]}, "annotators="),
        ({"annotators": ["annotator-1", "annotator-1"]}, "duplicate annotators"),
        ({"annotators": ["annotator-1"], "per_annotator": 2, "n": 3}, "allow more per annotator"),
        ({"items": [1, 2]}, "list of ids"),
    ],
)
def test_what_cannot_be_done_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        aggcal.suggest_pairs(study(), **options)  # type: ignore[arg-type]  # bad on purpose


def test_one_who_has_judged_everything_is_named() -> None:
    rows = [("ann", "a", "b"), ("ann", "b", "c"), ("ann", "a", "c"), ("bob", "a", "b")]
    with pytest.raises(OptionError, match="'ann' has judged the others"):
        aggcal.suggest_pairs(rows, n=1, annotators=["ann"])
    with pytest.raises(OptionError, match="belongs to other judgments"):
        aggcal.suggest_pairs(rows, consensus=aggcal.aggregate(rows[:1], warn=False))
    assert len(aggcal.suggest_pairs(rows)) == 3


def test_a_consensus_without_a_way_to_tell_is_refused() -> None:
    judgments = study()
    bare = aggcal.Consensus.of(judgments, np.arange(12.0), method="mine")
    with pytest.raises(OptionError, match="'mine'"):
        aggcal.suggest_pairs(judgments, consensus=bare)


# ---------------------------------------------------------------------------- the command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = simulate(items=15, annotators=5, judgments=120, seed=2)
    tables = {"judgments.csv": csv_writer(made.judgments), "scores.csv": csv_writer(made.scores)}
    return write_files(tmp_path / "data", tables, Manifest("data.json"))[0].parent


def test_the_command_prints_a_table(folder: Path, command: Command) -> None:
    done = command("suggest", folder / "judgments.csv", "-n", 7, "--per-item", 3)
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert list(rows[0])[:4] == ["annotator", "left", "right", "outcome"]
    assert list(rows[0])[4:] == ["information", "probability", "why"]
    assert {row["annotator"] + row["outcome"] for row in rows} == {""}  # several people judge
    assert len(rows) == 7
    assert "information: expected number of pairs" in done.stderr
    quiet = command("suggest", folder / "judgments.csv", "-n", 7, "--per-item", 3, "--quiet")
    assert quiet.stdout == done.stdout
    assert all(line.startswith("warning: ") for line in quiet.stderr.splitlines())


def test_the_command_asks_annotators_and_writes_files(folder: Path, command: Command) -> None:
    (folder / "items.csv").write_text("item\nitem-01\nextra\n", encoding="utf-8")
    done = command(
        "suggest",
        folder / "judgments.csv",
        folder / "scores.csv",
        *("--about", "scores", "--items", folder / "items.csv", "--per-annotator", 2),
        *("--json", "-o", "out/next.csv"),
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["files_written"] == ["out/next.csv"]
    with (folder.parent / "out" / "next.csv").open(encoding="utf-8") as file:
        assert [row["left"] for row in csv.DictReader(file)] == [p["left"] for p in found["pairs"]]
    assert found["about"] == "scores"
    assert len(found["pairs"]) == 10
    assert {"annotator", "left", "right"} < set(found["pairs"][0])
    assert any("extra" in (row["left"], row["right"]) for row in found["pairs"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-n", "1000"), "allow only 105"),
        (("-n", "0"), "1 or more"),
        (("--about", "scores"), "need the model's scores"),
        (("--items", "missing.csv"), "missing.csv"),
        (("-o", "data/judgments.csv"), "already exists"),
        (("-o", "data/judgments.csv", "--force"), "is being read"),
        (("--method", "gppl"), "'gppl' is unknown"),
    ],
)
def test_bad_options_end_with_one_sentence(
    folder: Path, command: Command, options: tuple[str, ...], said: str
) -> None:
    before = (folder / "judgments.csv").read_bytes()
    done = command("suggest", folder / "judgments.csv", *options)
    assert done.returncode == 2
    assert done.stdout == ""
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert (folder / "judgments.csv").read_bytes() == before
