"""Honest people who give few answers each, or slip, do not look as if their answers depended."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.advice.check import annotator_posterior, second_look
from aggcal.advice.check.annotator_posterior import Entries, Means, Posterior
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.pair_effects import (
    _between,
    _Rows,
    _within,
    pair_effects,
    repeated_answers,
)
from aggcal.advice.check.second_look import _Again, looked_again
from aggcal.advice.check.shared_pull import Products
from aggcal.data.judgments import Judgments

FEW_EACH = {"items": 8, "annotators": 1000, "each": 10}
MANY_EACH = {"items": 8, "annotators": 10, "each": 500, "slips": 0.3}


def study(
    seed: int,
    *,
    items: int,
    annotators: int,
    each: int,
    sd: float = 1.0,
    slips: float = 0.0,
    pair_sd: float = 0.0,
    own_sd: float = 0.0,
) -> Judgments:
    """Simulate people of unequal reliability who slip in up to ``2 * slips`` of their answers."""
    random = np.random.default_rng(seed)
    truth, slope = random.normal(0.0, sd, items), np.exp(random.normal(0.0, 0.4, annotators))
    lapses = random.uniform(0.0, 2.0 * slips, annotators)
    first, second = np.triu_indices(items, 1)
    gap = truth[first] - truth[second] + random.normal(0.0, pair_sd, len(first))
    who = np.repeat(np.arange(annotators), each)
    pair = random.integers(len(first), size=len(who))
    own = gap[pair] + random.normal(0.0, own_sd, (annotators, len(first)))[who, pair]
    agrees = (1.0 - lapses[who]) / (1.0 + np.exp(-slope[who] * own)) + 0.5 * lapses[who]
    wins = random.random(len(who)) < agrees
    return aggcal.read_judgments(
        {
            "annotator": who.astype(str),
            "winner": np.where(wins, first[pair], second[pair]).astype(str),
            "loser": np.where(wins, second[pair], first[pair]).astype(str),
        }
    )


@pytest.mark.parametrize(
    "kind",
    [FEW_EACH, FEW_EACH | {"slips": 0.15}, MANY_EACH | {"sd": 4.0}],
    ids=["few answers each", "few answers each, slips", "slips"],
)
def test_independent_answers_are_left_in_peace(kind: dict[str, float]) -> None:
    """The first test alone finds effects of pairs in most of these studies."""
    found = before = 0
    for seed in range(6):
        fitted = Fitted.of(study(seed, **kind))  # type: ignore[arg-type]
        first = _between(fitted, _Rows.of(fitted, frozenset()))
        assert first is not None
        before += first.found
        again, _ = looked_again(fitted, first, None)
        assert again is not None
        found += again.found
    assert before >= 2
    assert found == 0


@pytest.mark.parametrize("kind", [FEW_EACH, MANY_EACH | {"slips": 0.15}])
def test_effects_of_pairs_are_found(kind: dict[str, float]) -> None:
    """Of a sd of 0.8 they stand out; scores that were fitted to them take up a part."""
    found = [pair_effects(Fitted.of(study(seed, pair_sd=0.8, **kind))) for seed in range(4)]  # type: ignore[arg-type]
    assert sum(each is not None and each.found for each in found) >= 3
    assert 0.3 < np.mean([each.sd for each in found if each is not None]) < 0.9


def test_answers_that_people_repeat_are_found() -> None:
    """By people who see a pair in a way of their own."""
    found = repeated_answers(Fitted.of(study(1, items=8, annotators=40, each=200, own_sd=0.8)))
    assert found is not None
    assert found.found
    assert 0.5 < found.sd < 1.1


def entries_of_one(random: np.random.Generator) -> Entries:
    """Make those of one annotator, three items."""
    ends = np.array([0, 0, 1]), np.array([1, 2, 2])
    return Entries(
        np.zeros(3, dtype=np.int64),
        np.arange(3),
        np.full(3, 4.0),
        random.integers(0, 5, 3).astype(np.float64),
        *ends,
    )


def test_means_are_those_of_the_exact_posterior() -> None:
    """An independent integration over slope and lapses, much finer and by another rule."""
    from scipy.integrate import simpson

    entries = entries_of_one(np.random.default_rng(3))
    found = Posterior.of(entries, np.array([1.0, 0.2, -0.8]), np.ones(1), 1.0)
    log_slope, logit = np.linspace(-2.1, 2.1, 401)[:, None], np.linspace(-9.0, 5.0, 401)
    lapses = 1.0 / (1.0 + np.exp(-logit))
    gap = found.scores[entries.first] - found.scores[entries.second]
    sd, mean, other_sd = np.exp(found.laws[0]), found.laws[1], np.exp(found.laws[2])
    density = -0.5 * (log_slope / sd) ** 2 - 0.5 * ((logit - mean) / other_sd) ** 2
    parts = []
    for one, up, number in zip(gap, entries.up, entries.number, strict=True):
        logistic = 1.0 / (1.0 + np.exp(-np.exp(log_slope) * one))
        p = (1.0 - lapses) * logistic + 0.5 * lapses
        density = density + up * np.log(p) + (number - up) * np.log1p(-p)
        x = (1.0 - lapses) * np.exp(log_slope) * logistic * (1.0 - logistic) / (p * (1.0 - p))
        v = x * x * p * (1.0 - p)
        w = x * v * (1.0 - 2.0 * p)
        parts.append([x, x * p, x * x, x * x * p, (x * p) ** 2, v * v, v**3, w, w * w])
    weight = np.exp(density - density.max())
    whole = simpson(simpson(weight, x=logit), x=log_slope[:, 0])
    exact = [
        [simpson(simpson(weight * each, x=logit), x=log_slope[:, 0]) / whole for each in part]
        for part in parts
    ]
    by_grid = np.array(found.means()).T
    assert by_grid == pytest.approx(np.array(exact), rel=5e-3, abs=2e-4)


def test_the_slope_of_the_loss_is_that_of_its_differences() -> None:
    """Of scores and laws, some annotators answering the other way round."""
    random = np.random.default_rng(0)
    first, second = np.triu_indices(6, 1)
    who = np.repeat(np.arange(40), 12)
    number = random.integers(1, 4, len(who)).astype(np.float64)
    up = random.binomial(number.astype(np.int64), 0.6).astype(np.float64)
    pair = random.integers(0, len(first), len(who))
    entries = Entries(who, pair, number, up, first, second)
    slopes = np.where(random.random(40) < 0.2, -1.0, 1.0)
    work = annotator_posterior._Work(entries, random.normal(size=6), slopes, 0.7)
    grid = annotator_posterior._Grid.coarsest(0.1)
    crowd = annotator_posterior._Crowd.of(entries, np.arange(40), slopes < 0.0, grid)
    at = np.concatenate([random.normal(size=6), [-0.7, -2.9, 0.1]])

    def loss(x: FloatArray) -> tuple[float, FloatArray]:
        return work.loss([crowd], x[:6], x[6:])

    steps = 1e-5 * np.eye(9)
    numeric = [(loss(at + step)[0] - loss(at - step)[0]) / 2e-5 for step in steps]
    assert loss(at)[1] == pytest.approx(np.array(numeric), abs=1e-6)


def test_scores_pull_in_no_direction_on_average() -> None:
    """Simulation: with the true scores and laws, posterior means of pulls are 0 on average."""
    random = np.random.default_rng(5)
    ends = np.array([0, 0, 1]), np.array([1, 2, 2])
    scores, m = np.array([1.5, 0.2, -1.0]), 40_000
    slope = np.exp(0.45 * random.standard_normal(m))
    lapses = 1.0 / (1.0 + np.exp(3.0 - random.standard_normal(m)))
    who, pair = np.divmod(np.arange(3 * m), 3)
    gap = (scores[ends[0]] - scores[ends[1]])[pair]
    chance = (1.0 - lapses[who]) / (1.0 + np.exp(-slope[who] * gap)) + 0.5 * lapses[who]
    up = random.binomial(2, chance).astype(np.float64)
    entries = Entries(who, pair, np.full(3 * m, 2.0), up, *ends)
    grid = annotator_posterior._Grid.coarsest(0.0)
    crowd = annotator_posterior._Crowd.of(entries, np.arange(m), np.zeros(m, dtype=bool), grid)
    found = Posterior(entries, scores, (crowd,), annotator_posterior._BEFOREHAND).means()
    pull = (up * found.x - 2.0 * found.z).reshape(m, 3)
    assert np.abs(pull.mean(axis=0) / (pull.std(axis=0) / np.sqrt(m))).max() < 3.0
    # Louis: the variance of the means is the mean information less the variance they are means of.
    left = up**2 * (found.xx - found.x**2) - 4.0 * up * (found.xz - found.x * found.z)
    left = left + 4.0 * (found.zz - found.z**2)
    louis = (2.0 * found.v - left).reshape(m, 3).mean(axis=0)
    assert louis == pytest.approx(np.square(pull).mean(axis=0), rel=0.03)


def in_contexts(seed: int) -> Judgments:
    """Simulate three items judged by two people in two contexts, most questions more than once."""
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(40):
        i, j = random.permutation(3)[:2].tolist()
        row = {"annotator": f"u{random.integers(2)}", "winner": f"i{i}", "loser": f"i{j}"}
        rows.append(row | {"prompt": f"p{random.integers(2)}"})
    return aggcal.read_judgments(rows, context="prompt")


@pytest.mark.parametrize("contexts", [False, True])
def test_the_statistics_are_means_of_products(
    contexts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brute force: every two answers, with two kinds of people whom the posterior leaves open."""
    judgments = in_contexts(7)
    if not contexts:
        table: dict[str, list[str]] = {"annotator": [], "winner": [], "loser": []}
        for row in range(len(judgments.count)):
            for _ in range(int(judgments.count[row])):
                ends = [judgments.left[row], judgments.right[row]]
                ends = ends if judgments.outcome[row] == 1.0 else ends[::-1]
                table["annotator"].append(f"u{judgments.annotator[row]}")
                table["winner"].append(f"i{ends[0]}")
                table["loser"].append(f"i{ends[1]}")
        judgments = aggcal.read_judgments(table)
    fitted = Fitted.of(judgments)
    answers, random = fitted.answers, np.random.default_rng(8)
    size = len(answers.grouped.pair)
    p, x = random.uniform(0.2, 0.8, (2, size)), random.uniform(0.5, 1.5, (2, size))
    open_to = random.uniform(0.2, 0.8, judgments.n_annotators)[answers.grouped.annotator]
    weight = np.stack([open_to, 1.0 - open_to])
    z = x * p
    v, w = z * (x - z), z * (x - z) * (x - 2.0 * z)
    each = x, z, x * x, x * z, z * z, v * v, v**3, w, w * w
    again = _Again(fitted, np.ones(judgments.n_annotators, dtype=bool))
    again.__dict__["means"] = Means(*((weight * part).sum(axis=0) for part in each))
    again.__dict__["turned"] = np.zeros(judgments.n_annotators, dtype=bool)
    context = judgments.context if contexts else None
    single = [
        (int(row), int(answers.grouped.of_row[row]))
        for row in range(len(judgments.count))
        for _ in range(int(judgments.count[row]))
    ]
    between = within = 0.0
    for (a, g), (b, h) in combinations(single, 2):
        if answers.pair[a] != answers.pair[b]:
            continue
        one, other = (x[:, k] * answers.up[row] - z[:, k] for row, k in ((a, g), (b, h)))
        same = answers.grouped.annotator[g] == answers.grouped.annotator[h]
        product = weight[:, g] @ (one * other) if same else (weight[:, g] @ one) * (
            weight[:, h] @ other
        )  # fmt: skip
        if context is None:
            between += 0.0 if same else 2.0 * product
            within += 2.0 * product if same else 0.0
        elif context[a] != context[b]:
            between += 2.0 * product
            within += 2.0 * product if same else 0.0
    taken: list[float] = []

    def caught(products: Products, *_: object) -> None:
        taken.append(products.together)

    monkeypatch.setattr(Products, "held_against", caught)
    assert again.between is None
    assert again.within is None
    assert taken == pytest.approx([between, within])


def test_a_sample_of_many_people_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they show is still found; nobody who was left out comes in."""
    judgments = study(2, pair_sd=0.8, **FEW_EACH)
    monkeypatch.setattr(second_look, "_MOST", 3000)
    fitted = Fitted.of(judgments)
    drawn = _Again.of(fitted, frozenset({1, 2, 3})).drawn
    assert not drawn[[1, 2, 3]].any()
    assert 200 < drawn.sum() < 500
    found = pair_effects(fitted)
    assert found is not None
    assert found.found


def test_the_first_look_within_people_is_lessened_too() -> None:
    """Whatever the second one finds, the chance is never smaller."""
    fitted = Fitted.of(study(4, items=8, annotators=10, each=300, own_sd=0.5))
    first = _within(fitted, _Rows.of(fitted, frozenset()))
    assert first is not None
    _, again = looked_again(fitted, None, first)
    assert again is not None
    assert again.p_value >= first.p_value
