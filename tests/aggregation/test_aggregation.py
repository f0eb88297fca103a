"""Stage 1: the true optimum, its symmetries, and what it says about the annotators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize

import aggcal
from aggcal._core.arrays import FloatArray, sums
from aggcal.aggregation.links import link
from aggcal.aggregation.spreads import default_prior
from aggcal.errors import (
    AggcalWarning,
    NoMaximumWarning,
    OptionError,
    ReversedWarning,
)
from aggcal.registry import METHODS
from aggcal.registry.literals import Estimator
from aggcal.simulation import Simulation, simulate

NAMES = tuple(name for name, method in METHODS.items() if not method.from_features)
LINK_OF = {
    "hra-g": "logistic",
    "hra-e": "laplace",
    "hra-n": "normal",
    "btl": "logistic",
    "tcv": "normal",
    "crowd-bt": "logistic",
    "crowd-tcv": "normal",
}
rows_strategy = st.lists(
    st.tuples(
        st.sampled_from("uvw"),
        st.sampled_from("abcde"),
        st.sampled_from("abcde"),
        st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    ).filter(lambda row: row[1] != row[2]),
    min_size=1,
    max_size=25,
)


def scipy_optimum(
    judgments: aggcal.Judgments, method: str, prior: aggcal.Prior, start: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, float]:
    """The same objective, summed plainly over s and γ together, by SciPy's L-BFGS."""
    n, m = judgments.n_items, judgments.n_annotators
    if method.startswith("crowd"):
        return scipy_crowd_optimum(judgments, method, prior)
    terms = link(LINK_OF[method]).terms
    fixed = method in ("btl", "tcv")
    u, i, j = judgments.annotator, judgments.left, judgments.right
    w, p = judgments.weight, judgments.outcome

    def value(theta: FloatArray) -> tuple[float, FloatArray]:
        s, g = theta[:n], np.ones(m) if fixed else theta[n:]
        d = s[i] - s[j]
        ahead, behind = terms(g[u] * d), terms(-g[u] * d)
        slope = w * (-p * ahead[1] + (1 - p) * behind[1])
        gs = sums(i, slope * g[u], n) - sums(j, slope * g[u], n) + s / prior.score_sd**2
        total = float(w @ (p * ahead[0] + (1 - p) * behind[0])) + s @ s / (2 * prior.score_sd**2)
        if fixed:
            return float(total), gs
        gg = sums(u, slope * d, m) + (g - 1) / prior.reliability_sd**2
        total += float(np.sum((g - 1) ** 2)) / (2 * prior.reliability_sd**2)
        return float(total), np.concatenate([gs, gg])

    theta = np.concatenate([np.zeros(n), [] if fixed else np.ones(m)])
    if start is not None:
        theta[:n] = start
    for _ in range(20):
        found = minimize(
            value,
            theta,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 20000, "maxfun": 40000, "ftol": 0.0, "gtol": 1e-9, "maxcor": 50},
        )
        if np.array_equal(found.x, theta):
            break  # started from here it finds nothing better
        theta = found.x
    return theta[:n], np.ones(m) if fixed else theta[n:], float(found.fun)


def scipy_crowd_optimum(
    judgments: aggcal.Judgments, method: str, prior: aggcal.Prior
) -> tuple[FloatArray, FloatArray, float]:
    """The crowd mixture with its Beta(4, 1) prior, from SciPy's own distributions."""
    n, m = judgments.n_items, judgments.n_annotators
    noise = stats.logistic() if method == "crowd-bt" else stats.norm(scale=np.sqrt(2.0))
    u, i, j = judgments.annotator, judgments.left, judgments.right
    w, p = judgments.weight, judgments.outcome

    def value(theta: FloatArray) -> tuple[float, FloatArray]:
        s, eta = theta[:n], theta[n:]
        d = s[i] - s[j]
        ahead, density, lean = noise.cdf(d), noise.pdf(d), 2.0 * eta[u] - 1.0
        chance = eta[u] * ahead + (1.0 - eta[u]) * noise.sf(d) + 1e-300
        other = eta[u] * noise.sf(d) + (1.0 - eta[u]) * ahead + 1e-300
        slope = w * (-p / chance + (1.0 - p) / other)
        total = -float(w @ (p * np.log(chance) + (1.0 - p) * np.log(other)))
        total += float(s @ s) / (2 * prior.score_sd**2) - 3.0 * float(np.sum(np.log(eta)))
        gs = sums(i, slope * lean * density, n) - sums(j, slope * lean * density, n)
        ge = sums(u, slope * (2.0 * ahead - 1.0), m) - 3.0 / eta
        return total, np.concatenate([gs + s / prior.score_sd**2, ge])

    theta = np.concatenate([np.zeros(n), np.full(m, 0.8)])
    bounds = [(None, None)] * n + [(1e-9, 1.0)] * m
    for _ in range(20):
        found = minimize(
            value,
            theta,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": 20000, "maxfun": 40000, "ftol": 0.0, "gtol": 1e-9, "maxcor": 50},
        )
        if np.array_equal(found.x, theta):
            break
        theta = found.x
    return theta[:n], theta[n:], float(found.fun)


def mode(
    judgments: aggcal.Judgments, method: str, start: FloatArray | None = None
) -> tuple[aggcal.Consensus, aggcal.Prior]:
    """The penalised optimum under the default prior, and that prior."""
    made = METHODS[method].make()
    usual = default_prior(link(LINK_OF[method]))
    prior = aggcal.Prior(usual.score_sd * getattr(made, "width", 1.0), usual.reliability_sd)
    estimator: Estimator | None = "mode" if METHODS[method].integrates else None
    found = aggcal.aggregate(
        judgments, method, prior=prior, estimator=estimator, start=start, warn=False
    )
    return found, prior


@pytest.mark.parametrize("method", NAMES)
def test_agrees_with_an_independent_solver(method: str, study_judgments: aggcal.Judgments) -> None:
    consensus, prior = mode(study_judgments, method)
    scores, gammas, objective = scipy_optimum(study_judgments, method, prior)
    np.testing.assert_allclose(consensus.scores / consensus.unit, scores, atol=1e-6)
    np.testing.assert_allclose(consensus.reliabilities * consensus.unit, gammas, atol=1e-6)
    assert consensus.objective == pytest.approx(objective, rel=1e-10)


@pytest.mark.parametrize("method", NAMES)
def test_reading_level_converges_to_the_optimum(
    method: str, reading_judgments: aggcal.Judgments, random: np.random.Generator
) -> None:
    consensus, prior = mode(reading_judgments, method)
    assert consensus.convergence is not None
    assert consensus.convergence.converged
    assert consensus.convergence.gradient_norm <= 1e-8
    # A fit of the crowd begins at several places itself.
    for _ in range(1 if method.startswith("crowd") else 3):
        start = random.normal(size=reading_judgments.n_items)
        again, _ = mode(reading_judgments, method, start)
        np.testing.assert_allclose(again.scores, consensus.scores, atol=1e-6)
        np.testing.assert_allclose(again.reliabilities, consensus.reliabilities, atol=1e-6)
    scores, gammas, objective = scipy_optimum(reading_judgments, method, prior)
    # With a bound on every annotator L-BFGS itself stops a few millionths off.
    close = 1e-5 if method.startswith("crowd") else 1e-6
    np.testing.assert_allclose(consensus.scores / consensus.unit, scores, atol=close)
    np.testing.assert_allclose(consensus.reliabilities * consensus.unit, gammas, atol=close)
    assert consensus.objective == pytest.approx(objective, rel=1e-10)


@pytest.mark.parametrize(("reliability_sd", "tau"), [(0.5, 0.359), (1.0, 0.367)])
def test_reading_level_order_against_the_truth(
    reliability_sd: float, tau: float, reading_judgments: aggcal.Judgments, reading_level: object
) -> None:
    truth = aggcal.read_scores(f"{reading_level}/items.csv", column="truth")
    prior = aggcal.Prior(1.0, reliability_sd)
    consensus = aggcal.aggregate(
        reading_judgments, "hra-g", prior=prior, estimator="mode", warn=False
    )
    levels = [truth[item] for item in consensus.item_ids]
    assert stats.kendalltau(consensus.scores, levels).statistic == pytest.approx(tau, abs=0.002)


# Few examples: each is several fits, and those of tiny studies take the longest to settle.
@settings(max_examples=8, deadline=None, derandomize=True)
@given(rows_strategy)
def test_turning_every_judgment_round_negates_the_scores(
    rows: list[tuple[str, str, str, float]],
) -> None:
    judgments = aggcal.read_judgments(rows)
    one = aggcal.aggregate(judgments, warn=False)
    other = aggcal.aggregate(judgments.swapped(), warn=False)
    np.testing.assert_allclose(other.scores, -one.scores, atol=1e-7)
    np.testing.assert_allclose(other.reliabilities, one.reliabilities, atol=1e-7)
    sides = [(u, j, i, 1.0 - p) for u, i, j, p in rows]
    same = aggcal.aggregate(aggcal.read_judgments(sides), warn=False)
    np.testing.assert_allclose(same.scores, one.scores, atol=1e-7)


@settings(max_examples=8, deadline=None, derandomize=True)
@given(rows_strategy, st.permutations("abcde"), st.randoms(use_true_random=False))
def test_relabelling_and_shuffling_change_nothing(
    rows: list[tuple[str, str, str, float]], names: list[str], shuffler: object
) -> None:
    new = dict(zip("abcde", names, strict=True))
    one = aggcal.aggregate(rows, warn=False)
    renamed = [(u, new[i], new[j], p) for u, i, j, p in rows]
    shuffler.shuffle(renamed)  # type: ignore[attr-defined]  # a random.Random
    other = aggcal.aggregate(renamed, warn=False)
    theirs = dict(zip(other.item_ids, other.scores, strict=True))
    for item, score in zip(one.item_ids, one.scores, strict=True):
        assert theirs[new[item]] == pytest.approx(score, abs=1e-7)


@pytest.mark.parametrize("method", NAMES)
def test_a_row_repeated_twice_equals_weight_two(method: str) -> None:
    rows = [("u", "a", "b", "left"), ("v", "b", "c", 0.3), ("u", "c", "a", "tie")]
    twice = aggcal.aggregate(rows + rows[:2], method, warn=False)
    weights = [2.0, 2.0, 1.0]
    weighted = [(*row, w) for row, w in zip(rows, weights, strict=True)]
    once = aggcal.aggregate(weighted, method, warn=False)
    np.testing.assert_array_equal(twice.scores, once.scores)
    np.testing.assert_array_equal(twice.reliabilities, once.reliabilities)
    assert twice.objective == once.objective


def test_truth_comes_back_as_judgments_grow() -> None:
    order, reliability, error = [], [], []
    for judgments in (2_000, 20_000, 200_000):
        made = simulate(items=40, annotators=20, judgments=judgments, reversed_share=0.1, seed=3)
        consensus = aggcal.aggregate(made.judgments, warn=False)
        np.testing.assert_array_equal(consensus.item_ids, made.item_ids)
        order.append(stats.kendalltau(consensus.scores, made.latent).statistic)
        reliability.append(np.corrcoef(consensus.reliabilities, made.reliability)[0, 1])
        error.append(float(np.sqrt(np.mean((consensus.scores - made.latent) ** 2))))
    assert order[0] < order[1] < order[2]
    assert order[2] > 0.97
    assert reliability[2] > 0.99
    # The error falls as one over the root of the data.
    assert error[2] < 0.25 * error[0]
    np.testing.assert_allclose(consensus.reliabilities, made.reliability, atol=0.15)


def test_reversed_annotators_are_found_and_reported(
    study: Simulation, study_judgments: aggcal.Judgments
) -> None:
    consensus = aggcal.aggregate(study_judgments, warn=False)
    turned = set(study.annotator_ids[study.reliability < 0])
    assert set(consensus.annotator_ids[consensus.reliabilities < 0]) == turned
    # A negative number alone may be chance: nothing is said before its interval is known.
    assert not any(isinstance(w, ReversedWarning) for w in consensus.warnings)
    quantified = consensus.quantify()
    warning = next(w for w in quantified.warnings if isinstance(w, ReversedWarning))
    assert all(f"'{who}'" in str(warning) for who in turned)
    assert set(quantified.reversed_ids) == turned
    agreement = dict(zip(consensus.annotator_ids, consensus.agreement, strict=True))
    assert all(agreement[who] < 0.5 for who in turned)


def test_crowd_finds_reversed_annotators_below_one_half(
    study: Simulation, study_judgments: aggcal.Judgments
) -> None:
    for method in (aggcal.methods.CrowdBT(), aggcal.methods.CrowdTCV()):
        consensus = aggcal.aggregate(study_judgments, method, warn=False)
        assert ((consensus.reliabilities >= 0.0) & (consensus.reliabilities <= 1.0)).all()
        assert set(consensus.reversed_ids) == set(study.annotator_ids[study.reliability < 0])
        assert stats.kendalltau(consensus.scores, study.latent).statistic > 0.8


@pytest.mark.parametrize("wrong", [{"alpha": 0.5}, {"prior": None}])
def test_impossible_crowds_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(OptionError, match="crowd-bt"):
        aggcal.methods.CrowdBT(**wrong)  # type: ignore[arg-type]  # on purpose


def test_two_opposite_annotators_are_told_apart_and_called_out() -> None:
    """Their average says nothing: equal scores are a saddle of the objective, not its optimum."""
    pairs = [(a, b) for a in range(10) for b in range(10) if a < b]
    rows = [("ann", f"i{a}", f"i{b}") for a, b in pairs]
    rows += [("bob", f"i{b}", f"i{a}") for a, b in pairs]
    each = aggcal.read_judgments(rows, ranking_weight="pair")
    consensus = aggcal.aggregate(each, estimator="mode", warn=False)
    assert np.ptp(consensus.scores) > 1.0
    assert (np.sort(consensus.reliabilities) * [-1, 1] > 0.5).all()
    assert any("very different order" in str(w) for w in consensus.warnings)


def test_the_better_of_two_optima_is_found() -> None:
    """Here the homogeneous start alone leads to the mirrored, worse optimum."""
    made = simulate(
        items=15, annotators=5, judgments=200, reversed_share=0.2, reliability_sd=0.8, seed=41
    )
    judgments = aggcal.read_judgments(made.judgments)
    consensus = aggcal.aggregate(judgments, warn=False)
    random = np.random.default_rng(0)
    for _ in range(20):
        start = 2.0 * random.normal(size=15)
        other = aggcal.aggregate(judgments, start=start, warn=False)
        assert consensus.objective is not None
        assert other.objective is not None
        assert consensus.objective <= other.objective + 0.01


def test_one_enormous_weight_does_not_hide_the_other_items(random: np.random.Generator) -> None:
    columns = {
        "annotator": random.integers(0, 4, 200),
        "winner": random.integers(0, 8, 200),
        "loser": random.integers(8, 16, 200),
        "weight": np.ones(200),
    }
    columns["weight"][0] = 1e8
    judgments = aggcal.read_judgments(columns)
    consensus = aggcal.aggregate(judgments, "btl", prior=aggcal.Prior(1.0, 0.5), warn=False)
    assert abs(consensus.scores.sum()) < 1e-7
    heavy = int(np.argmax(judgments.weight))
    light = np.ones(len(judgments.weight), dtype=bool)
    light[heavy] = False
    s, pull = consensus.scores, link("logistic").terms
    gap = s[judgments.left] - s[judgments.right]
    force = judgments.weight * pull(gap)[1]
    gradient = sums(judgments.right, force, 16) - sums(judgments.left, force, 16) + s
    elsewhere = np.setdiff1d(np.arange(16), [judgments.left[heavy], judgments.right[heavy]])
    assert np.abs(gradient[elsewhere]).max() < 1e-7


@pytest.mark.parametrize("reliability_sd", [1e-3, 0.01, 50.0])
@pytest.mark.parametrize("method", ["hra-g", "hra-e", "hra-n"])
def test_extreme_priors_converge(
    method: str, reliability_sd: float, study_judgments: aggcal.Judgments
) -> None:
    prior = aggcal.Prior(1.0, reliability_sd)
    consensus = aggcal.aggregate(study_judgments, method, prior=prior, warn=False)
    assert consensus.convergence is not None
    assert consensus.convergence.converged


def test_auto_prior_stays_put_when_there_is_little_data() -> None:
    made = simulate(items=300, annotators=100, judgments=1500, seed=0)
    usual = aggcal.aggregate(made.judgments, warn=False)
    auto = aggcal.aggregate(made.judgments, prior="auto", warn=False)
    assert auto.prior is not None
    assert 0.3 < auto.prior.score_sd < 2.0
    assert auto.prior.reliability_sd < 1.5
    tau = [
        stats.kendalltau(c.scores, made.latent[[int(i[5:]) - 1 for i in c.item_ids]]).statistic
        for c in (usual, auto)
    ]
    assert tau[1] > tau[0] - 0.03


def test_a_plug_in_that_returns_nonsense_is_refused() -> None:
    class Broken:
        def fit(self, judgments: aggcal.Judgments, /) -> aggcal.Consensus:
            return aggcal.Consensus.of(judgments, np.array([1.0, np.nan]), method="broken")

    with pytest.raises(OptionError, match="'broken'"):
        aggcal.aggregate([("u", "a", "b")], Broken())
    with pytest.raises(OptionError, match="BTL itself"):
        aggcal.aggregate([("u", "a", "b")], aggcal.methods.BTL(), prior=None)


def test_aggregate_emits_its_warnings() -> None:
    with pytest.warns(AggcalWarning, match="only one annotator"):
        aggcal.aggregate([("u", "a", "b"), ("u", "b", "a")])
    unnamed = aggcal.read_judgments({"left": ["a", "b"], "right": ["b", "a"], "outcome": [1, 1]})
    with pytest.warns(AggcalWarning, match="No annotators are named"):
        aggcal.aggregate(unnamed)


@pytest.mark.parametrize("method", ["btl", "hra-g", "hra-n", "crowd-bt"])
def test_warm_start_gives_the_same_optimum_in_fewer_steps(
    study: Simulation, study_judgments: aggcal.Judgments, method: str
) -> None:
    first = aggcal.aggregate(study_judgments, method, warn=False)
    early, late = (
        {name: column[part] for name, column in study.judgments.items()}
        for part in (slice(0, -100), slice(-100, None))
    )
    fewer = aggcal.read_judgments(early)
    old = aggcal.aggregate(fewer, method, warn=False)
    warm = aggcal.aggregate(aggcal.add_judgments(fewer, late), method, start=old, warn=False)
    # The spreads are estimated to a ten-thousandth of themselves.
    np.testing.assert_allclose(warm.scores, first.scores, atol=1e-3)
    np.testing.assert_allclose(warm.reliabilities, first.reliabilities, atol=1e-3)
    if not METHODS[method].integrates:
        assert warm.convergence is not None
        assert first.convergence is not None
        assert warm.convergence.iterations <= first.convergence.iterations


@pytest.mark.parametrize("method", ["hra-g", "crowd-bt"])
def test_a_start_on_the_wrong_side_is_left(method: str) -> None:
    """The first day's only annotator was reversed; those of the other days outvote them."""
    days = simulate(items=20, annotators=8, judgments=800, reversed_share=0.0, seed=3)
    columns = {name: np.asarray(column) for name, column in days.judgments.items()}
    who = columns["annotator"]
    first = who == who[0]
    columns["winner"], columns["loser"] = (
        np.where(first, columns["loser"], columns["winner"]),
        np.where(first, columns["winner"], columns["loser"]),
    )
    grown = aggcal.read_judgments({name: column[first] for name, column in columns.items()})
    consensus = aggcal.aggregate(grown, method, warn=False)
    for day in sorted(set(who) - {who[0]}):
        batch = {name: column[who == day] for name, column in columns.items()}
        grown = aggcal.add_judgments(grown, batch)
        consensus = aggcal.aggregate(grown, method, start=consensus, warn=False)
    cold = aggcal.aggregate(grown, method, warn=False)
    assert consensus.objective == pytest.approx(cold.objective, rel=1e-5)
    assert consensus.reversed_ids == [who[0]]


def test_identical_items_are_tied_exactly() -> None:
    rows = [("u", "a", "b"), ("u", "a", "c"), ("v", "b", "d"), ("v", "c", "d"), ("w", "d", "a")]
    consensus = aggcal.aggregate(rows, warn=False)
    scores = dict(zip(consensus.item_ids, consensus.scores, strict=True))
    assert scores["b"] == scores["c"]
    ranks = dict(zip(consensus.item_ids, consensus.ranks.tolist(), strict=True))
    assert ranks["b"] == ranks["c"]
    assert sorted(ranks.values()) == [1, 2, 2, 4]


def test_maximum_likelihood_without_prior_matches_the_closed_form() -> None:
    rows = [("u", "a", "b", "left", 3.0), ("u", "a", "b", "right", 1.0)]
    for method, gap in (("btl", np.log(3.0)), ("tcv", 0.6744897501960817)):
        consensus = aggcal.aggregate(rows, method, prior=None, warn=False)
        assert consensus.scores[0] - consensus.scores[1] == pytest.approx(gap, abs=1e-8)
        assert consensus.objective == pytest.approx(-float(consensus.log_likelihood or 0), rel=1e-9)


def test_maximum_likelihood_of_hra_has_mean_reliability_one(study: Simulation) -> None:
    consensus = aggcal.aggregate(study.judgments, prior=None, warn=False)
    assert consensus.convergence is not None
    assert consensus.convergence.converged
    assert consensus.reliabilities.mean() == pytest.approx(1.0, abs=1e-12)
    # No direction of (s, γ) improves the likelihood: its gradient vanishes.
    d = consensus.scores[study.winner] - consensus.scores[study.loser]
    g = consensus.reliabilities[study.annotator]
    pull = link("logistic").terms(g * d)[1]
    slope_s = np.bincount(study.winner, pull * g, 30) - np.bincount(study.loser, pull * g, 30)
    slope_g = np.bincount(study.annotator, pull * d, 20)
    assert np.abs(slope_s).max() < 1e-3
    assert np.abs(slope_g).max() < 1e-3


def test_missing_maximum_names_items_and_annotators() -> None:
    rows = [("u", "a", "b"), ("u", "b", "a"), ("v", "b", "last"), ("v", "a", "last")]
    plain = aggcal.aggregate(rows, "btl", prior=None, warn=False)
    said = [w for w in plain.warnings if isinstance(w, NoMaximumWarning)]
    assert len(said) == 1
    assert "'last'" in str(said[0])
    hetero = aggcal.aggregate(rows, "hra-g", prior=None, warn=False)
    said = [w for w in hetero.warnings if isinstance(w, NoMaximumWarning)]
    assert any("'v'" in str(w) for w in said)


def test_auto_prior_finds_the_scales_that_made_the_data() -> None:
    made = simulate(items=80, annotators=60, judgments=40_000, reliability_sd=0.3, seed=5)
    consensus = aggcal.aggregate(made.judgments, prior="auto", warn=False)
    assert consensus.prior is not None
    assert consensus.prior.score_sd == pytest.approx(1.0, abs=0.15)
    assert consensus.prior.reliability_sd == pytest.approx(float(made.reliability.std()), abs=0.08)


def test_many_items_are_fitted_as_few_are(
    study_judgments: aggcal.Judgments, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond some hundred items steps are solved by products, variances by the diagonal."""
    exact = aggcal.aggregate(study_judgments, warn=False)
    monkeypatch.setattr("aggcal.aggregation.empirical._FEW_UNKNOWNS", 0)
    free = aggcal.aggregate(study_judgments, warn=False)
    assert exact.prior is not None
    assert free.prior is not None
    assert free.prior.score_sd == pytest.approx(exact.prior.score_sd, rel=0.03)
    assert free.prior.reliability_sd == pytest.approx(exact.prior.reliability_sd, rel=0.03)
    np.testing.assert_allclose(free.scores, exact.scores, atol=0.03)
    np.testing.assert_allclose(free.reliabilities, exact.reliabilities, atol=0.03)


def test_any_object_with_fit_is_an_aggregator() -> None:
    class WinRate:
        def fit(self, judgments: aggcal.Judgments, /) -> aggcal.Consensus:
            wins = sums(judgments.left, judgments.weight, judgments.n_items)
            return aggcal.Consensus.of(judgments, wins, method="win-rate")

    consensus = aggcal.aggregate([("u", "a", "b"), ("u", "a", "c"), ("u", "b", "c")], WinRate())
    assert consensus.items["item"].tolist() == ["a", "b", "c"]
    assert consensus.method == "win-rate"


@pytest.mark.parametrize("bad", ["elo", object()])
def test_unknown_method_names_the_known_ones(bad: object) -> None:
    with pytest.raises(OptionError, match="hra-g"):
        aggcal.aggregate([("u", "a", "b")], bad)  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize("bad", [np.zeros(3), np.array([0.0, np.nan])])
def test_a_start_of_the_wrong_shape_is_refused(bad: FloatArray) -> None:
    with pytest.raises(OptionError, match="2 items"):
        aggcal.aggregate([("u", "a", "b")], start=bad)


@pytest.mark.parametrize("sd", [0.0, -1.0, float("nan")])
def test_an_impossible_prior_is_refused(sd: float) -> None:
    with pytest.raises(OptionError, match="above 0"):
        aggcal.Prior(1.0, sd)


NO_START = [
    np.zeros(4), np.zeros((3, 1)), [0.0, np.nan, 0.0], [0.0, np.inf, 0.0], "scores.csv", {"a": 1.0},
    [[0.0], [1.0, 2.0]], aggcal.Scores.of({"x": 1.0, "y": 2.0}),
]  # fmt: skip


class Elsewhere:
    """A method of the user's own, which takes no start."""

    def fit(self, judgments: aggcal.Judgments, /) -> aggcal.Consensus:
        return aggcal.Consensus.of(judgments, np.zeros(judgments.n_items), method="own")


@pytest.mark.parametrize("method", [*METHODS, Elsewhere(), aggcal.methods.BTL()])
@pytest.mark.parametrize("bad", NO_START, ids=lambda bad: str(bad)[:20])
def test_every_method_refuses_a_wrong_start(method: Any, bad: Any) -> None:
    rows = [("u", "a", "b"), ("v", "b", "c"), ("u", "a", "c")]
    named = isinstance(method, str) and METHODS[method].from_features
    features = "identity" if named else None
    with pytest.raises(OptionError, match=r"^start .*3 items"):
        aggcal.aggregate(rows, method, start=bad, features=features, warn=False)


def test_reversed_annotators_are_named_once() -> None:
    made = simulate(items=20, annotators=12, judgments=2400, reversed_share=0.2, seed=3)
    found = aggcal.aggregate(made.judgments, warn=False).quantify().quantify().quantify()
    assert sum(isinstance(one, ReversedWarning) for one in found.warnings) == 1


def test_the_level_of_intervals_does_not_decide_who_is_named() -> None:
    """A hundred honest people: by intervals of level .5 one of them was called reversed."""
    random = np.random.default_rng([9, 6, 300, 1000, 200, 5])
    truth, rows = 0.5 * random.normal(size=30), []
    for who in range(100):
        i = random.integers(0, 30, 20)
        j = (i + random.integers(1, 30, 20)) % 30
        first = random.random(20) < 1.0 / (1.0 + np.exp(truth[j] - truth[i]))
        both = zip(np.where(first, i, j), np.where(first, j, i), strict=True)
        rows += [(f"u{who}", f"i{above}", f"i{below}") for above, below in both]
    consensus = aggcal.aggregate(rows, warn=False).quantify(level=0.5)
    known = consensus.uncertainty
    assert known is not None
    assert known.reliability_high is not None
    assert (known.reliability_high < 0.0).any()
    assert consensus.reversed_ids == []
