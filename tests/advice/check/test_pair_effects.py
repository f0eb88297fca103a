"""Answers that share an effect are found, and independent ones are left in peace."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.advice.check import check, gap_variances
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.gap_variances import GapVariances, Variances
from aggcal.advice.check.pair_effects import (
    effect_findings,
    pair_effects,
    repeated_answers,
    shared_answers,
)
from aggcal.advice.check.shared_pull import RATE, Moments, pulled_together
from aggcal.data.judgments import Judgments
from aggcal.models.links import link
from aggcal.simulation import simulate


def study(
    seed: int, *, pair_sd: float = 0.0, again_sd: float | None = None, annotators: int = 20
) -> Judgments:
    """Simulate 15 items, 60 answers each; ``again_sd`` for answers that are all given twice."""
    random = np.random.default_rng(seed)
    first, second = np.triu_indices(15, 1)
    truth = random.standard_normal(15)
    slope = np.exp(0.4 * random.standard_normal(annotators))
    gap = truth[first] - truth[second] + pair_sd * random.standard_normal(len(first))
    who = np.repeat(np.arange(annotators), 60)
    pair = random.integers(len(first), size=len(who))
    own = gap[pair]
    if again_sd is not None:
        effect = again_sd * random.standard_normal((annotators, len(first)))
        who, pair = np.tile(who, 2), np.tile(pair, 2)
        own = gap[pair] + effect[who, pair]
    wins = random.random(len(who)) < link("logistic").probability(slope[who] * own)
    left = random.random(len(who)) < 0.5
    i, j = first[pair], second[pair]
    return aggcal.read_judgments(
        {
            "annotator": [f"u{u}" for u in who],
            "left": [f"i{k}" for k in np.where(left, i, j)],
            "right": [f"i{k}" for k in np.where(left, j, i)],
            "outcome": np.where(wins == left, "left", "right").astype(object),
        }
    )


def test_the_statistic_is_a_sum_over_pairs_of_units() -> None:
    """Brute force: every product of two different units of a group, with repeated ones unfolded."""
    random = np.random.default_rng(1)
    pull, information = random.standard_normal(30), random.uniform(0.1, 0.3, 30)
    group, number = random.integers(6, size=30), random.integers(1, 4, size=30)
    variance = random.uniform(0.0, 0.5, 6)
    unfolded = np.repeat(np.arange(30), number)
    surplus = expected = 0.0
    for a, one in enumerate(unfolded):
        for b, other in enumerate(unfolded):
            if a != b and group[one] == group[other]:
                both = information[one] * information[other]
                surplus += pull[one] * pull[other] + variance[group[one]] * both
                expected += both
    units = Moments(pull, information, np.zeros(30))
    total = float(number @ information)
    found = pulled_together(units, group, [Variances(variance)], total, number.astype(np.float64))
    assert found is not None
    assert found.sd**2 == pytest.approx(max(0.0, surplus) / expected)
    assert found.inflation == pytest.approx(1.0 + max(0.0, surplus) / total)


def test_the_statistic_of_answers_with_weights() -> None:
    """Brute force: errors of the scores draw two residuals together, and each draws the scores."""
    random = np.random.default_rng(2)
    pull, doubt = random.standard_normal(30), random.uniform(0.1, 0.3, 30)
    weight, group = random.choice([0.02, 0.5, 3.0], 30), random.integers(6, size=30)
    trust = random.uniform(0.1, 2.0, 30)
    by_fit, by_errors = random.uniform(0.0, 0.5, (2, 6))
    surplus = expected = 0.0
    for a in range(30):
        for b in range(30):
            if a != b and (g := group[a]) == group[b]:
                both = trust[a] * trust[b] * doubt[a] * doubt[b]
                surplus += trust[a] * trust[b] * pull[a] * pull[b]
                surplus += both * ((weight[a] + weight[b]) * by_fit[g] - by_errors[g])
                expected += both
    units = Moments(pull, doubt, np.zeros(30)).times(trust, weight)
    found = pulled_together(units, group, [Variances(by_fit, by_errors)], 1.0)
    assert found is not None
    assert found.sd**2 == pytest.approx(max(0.0, surplus) / expected)
    assert found.inflation == pytest.approx(1.0 + max(0.0, surplus))


def test_errors_of_the_scores_widen_what_answers_share() -> None:
    """Simulation: scores that err draw along the answers to all pairs which they move."""
    judgments = weighed(study(4), 4)
    fitted = Fitted.of(judgments)
    found = GapVariances(fitted, np.full(len(judgments.count), 0.2))
    [exact] = found.tried(bounded=False)
    assert exact.beyond is not None
    random = np.random.default_rng(5)
    products = random.uniform(0.0, 30.0, fitted.answers.n_pairs)
    n, usual = judgments.n_items, float(np.average(judgments.weight / judgments.count))
    inverse = np.linalg.inv(found._whole)
    centre = np.eye(n) - 1.0 / n
    drawn = []
    for matrix in (inverse @ found._squared @ inverse, usual * inverse):
        errors = random.multivariate_normal(np.zeros(n), centre @ matrix @ centre, 40_000)
        gaps = errors[:, fitted.answers.first] - errors[:, fitted.answers.second]
        off = np.square(gaps) @ products
        drawn.append((off.var(), np.mean((off - off.mean()) ** 3)))
    (wide, skew), (own_wide, own_skew) = drawn
    assert exact.beyond(products) == pytest.approx((wide - own_wide, skew - own_skew), rel=0.15)


def fitted_with_many_items(seed: int, annotators: int = 12) -> Fitted:
    """Fit a study of so many items that a bound of the variances is looked for."""
    shown = simulate(items=220, annotators=annotators, judgments=4000, seed=seed).judgments
    return Fitted.of(aggcal.read_judgments(shown))


@pytest.mark.parametrize("weight", [1.0, 0.2, 7.0])
def test_variances_of_gaps_are_below_their_bound(weight: float) -> None:
    """The information is that of other answers than the ones which annotators are left out of."""
    fitted = fitted_with_many_items(3)
    random = np.random.default_rng(4)
    information = weight * random.uniform(0.1, 0.3, len(fitted.judgments.count))
    bound, exact = GapVariances(fitted, information).tried(bounded=True)
    assert (bound.by_fit >= exact.by_fit).all()
    if weight <= 1.0:  # of more information the prior, which is the same, keeps the bound above
        assert np.median(bound.by_fit / exact.by_fit) < 3.0
    [alone] = GapVariances(fitted, information).tried(bounded=False)
    assert alone.by_fit.tobytes() == exact.by_fit.tobytes()


@pytest.mark.parametrize("weights", [(1.0, 3.0), (0.1, 0.2), "across"])
def test_a_bound_allows_for_weights(weights: tuple[float, float] | str) -> None:
    """Weights at random, or small ones between two halves of the items."""
    shown = simulate(items=220, annotators=12, judgments=6000, seed=7).judgments
    judgments = aggcal.read_judgments(shown)
    random = np.random.default_rng(4)
    if isinstance(weights, str):
        drawn = np.where((judgments.left < 110) == (judgments.right < 110), 1.0, 0.05)
    else:
        drawn = random.choice(weights, len(judgments.count))
    weighed = judgments.count.astype(np.float64) * drawn
    fitted = Fitted.of(replace(judgments, weight=weighed))
    information = random.uniform(0.1, 0.3, len(weighed))
    found = GapVariances(fitted, information)
    bound, exact = found.tried(bounded=True)
    assert exact.by_errors is not None
    for each in (drawn.min(), drawn.max()):
        usual = np.full(len(exact.by_fit), each)
        assert (bound.as_drawn(usual) >= exact.as_drawn(usual)).all()
    # By matrices, of one pair after the other.
    each, n = weighed / judgments.count, judgments.n_items
    inner, outer = np.zeros((n, n)), fitted.precision * np.eye(n)
    for i, j, w, tells in zip(judgments.left, judgments.right, each, information, strict=True):
        one = np.eye(n)[i] - np.eye(n)[j]
        inner += w * w * tells * np.outer(one, one)
        outer += w * tells * np.outer(one, one)
    covariance = np.linalg.inv(outer)
    answers = fitted.answers
    for k in (0, 7, 300):
        one = np.eye(n)[answers.first[k]] - np.eye(n)[answers.second[k]]
        spread = one @ covariance @ inner @ covariance @ one
        assert exact.by_fit[k] == pytest.approx(one @ covariance @ one, rel=1e-9)
        assert exact.by_errors[k] == pytest.approx(spread, rel=1e-9)
        least = found._least_spread * (one @ covariance @ one)
        assert 0.0 <= least <= spread * (1.0 + 1e-9)
    # Between the halves the sandwich is far smaller than elsewhere: it is left out.
    assert (found._least_spread > 0.0) == (weights != "across")


def test_answers_to_many_items_are_drawn_by_no_more_than_by_a_matrix() -> None:
    judgments = weighed(aggcal.read_judgments(simulate(items=40, judgments=900).judgments), 3)
    fitted = Fitted.of(judgments)
    information = np.random.default_rng(4).uniform(0.1, 0.3, len(judgments.count))
    found = GapVariances(fitted, information)
    [exact] = found.tried(bounded=False)
    weights = judgments.weight / judgments.count
    for each in (weights.min(), np.median(weights), weights.max()):
        usual = np.full(fitted.answers.n_pairs, each)
        least = found._hardly_known.as_drawn(usual)
        assert (least <= exact.as_drawn(usual) + 1e-12).all()
        assert (least <= 0.0).all()
    alike = Fitted.of(aggcal.read_judgments(simulate(items=40, judgments=900).judgments))
    number = np.full(len(alike.judgments.count), 0.2)
    assert not GapVariances(alike, number)._hardly_known.as_drawn(None).any()


def test_there_is_no_bound_where_the_matrices_are_unlike() -> None:
    """Two halves of the items that these answers leave apart, and those of the fit do not."""
    fitted = fitted_with_many_items(3)
    low = np.minimum(fitted.judgments.left, fitted.judgments.right)
    high = np.maximum(fitted.judgments.left, fitted.judgments.right)
    information = np.where((low < 110) & (high >= 110), 1e-9, 0.2)
    assert len(list(GapVariances(fitted, information).tried(bounded=True))) == 1


@pytest.mark.parametrize(("pair_sd", "again_sd"), [(0.0, None), (0.9, None), (0.0, 2.0)])
def test_a_bound_decides_nothing_that_the_variances_would_not(
    monkeypatch: pytest.MonkeyPatch, pair_sd: float, again_sd: float | None
) -> None:
    monkeypatch.setattr(gap_variances, "_WORTH_A_BOUND", 2)
    for seed in range(5):
        fitted = Fitted.of(study(seed, pair_sd=pair_sd, again_sd=again_sd))
        bound, _ = GapVariances(fitted, fitted.number).tried(bounded=True)
        assert (bound.by_fit > 0.0).all()
        exact = pair_effects(fitted), repeated_answers(fitted)
        for quick, whole in zip(shared_answers(fitted), exact, strict=True):
            assert quick is not None
            assert whole is not None
            assert quick.found == whole.found
            assert quick.groups == whole.groups
            assert quick == whole if whole.found else RATE <= quick.p_value <= whole.p_value
        if pair_sd:
            assert exact[0] is not None
            assert exact[0].found


@pytest.mark.parametrize(("groups", "size", "chance"), [(10, 30, 0.6), (150, 3, 0.9), (40, 8, 0.5)])
def test_alarms_are_false_as_often_as_stated(groups: int, size: int, chance: float) -> None:
    """With chances that are known, not fitted, nothing else than the tail is tested."""
    random = np.random.default_rng(groups)
    group = np.repeat(np.arange(groups), size)
    p = np.full(len(group), chance)
    spread = p * (1.0 - p)

    def one() -> float:
        pull: FloatArray = (random.random(len(group)) < p) - p
        moments = Moments(pull, spread, spread * (1.0 - 2.0 * p))
        found = pulled_together(moments, group, [Variances(np.zeros(groups))], 1.0)
        assert found is not None
        return found.p_value

    chances = np.array([one() for _ in range(1500)])
    # Where answers are seldom surprising it is stricter than it says, by its larger variance.
    assert np.mean(chances < 0.01) < 0.02
    assert np.mean(chances < 0.05) < 0.07


def test_independent_answers_are_left_in_peace() -> None:
    found = [pair_effects(Fitted.of(study(seed))) for seed in range(15)]
    assert sum(each is not None and each.found for each in found) <= 2  # 0.15 expected


def test_effects_of_pairs_are_found_and_measured() -> None:
    found = [pair_effects(Fitted.of(study(seed, pair_sd=0.6))) for seed in range(8)]
    assert sum(each is not None and each.found for each in found) >= 7
    size = np.mean([each.sd for each in found if each is not None])
    assert size == pytest.approx(0.6, abs=0.2)  # the scores take a part of it
    assert np.mean([each.inflation for each in found if each is not None]) > 1.3


def test_people_who_repeat_themselves_are_found() -> None:
    alike = [repeated_answers(Fitted.of(study(s, again_sd=1.5))) for s in range(4)]
    anew = [repeated_answers(Fitted.of(study(s, again_sd=0.0))) for s in range(6)]
    assert sum(each is not None and each.found for each in alike) >= 3
    assert sum(each is not None and each.found for each in anew) <= 1
    between = [pair_effects(Fitted.of(study(s, again_sd=1.5))) for s in range(4)]
    assert sum(each is not None and each.found for each in between) <= 1


def test_a_table_recorded_twice_is_found() -> None:
    made = simulate(items=12, annotators=8, judgments=400, seed=2)
    rows = {name: np.tile(column, 2) for name, column in made.judgments.items()}
    codes = {each.code for each in check(aggcal.read_judgments(rows)).findings}
    assert "repeated-answers" in codes


def test_a_scale_that_is_off_and_lapses_are_no_effects_of_pairs() -> None:
    wrong = 0
    for seed in range(8):
        random = np.random.default_rng(seed)
        made = simulate(items=15, annotators=20, judgments=2000, reliability_sd=0.2, seed=seed)
        lapse = random.random(len(made.winner)) < 0.1
        swap = lapse & (random.random(len(lapse)) < 0.5)
        winner = np.where(swap, made.loser, made.winner)
        loser = np.where(swap, made.winner, made.loser)
        rows = {
            "annotator": made.judgments["annotator"],
            "winner": made.item_ids[winner],
            "loser": made.item_ids[loser],
        }
        found = pair_effects(Fitted.of(aggcal.read_judgments(rows)))
        wrong += found is not None and found.found
    assert wrong <= 1


def test_too_little_to_tell_is_no_finding() -> None:
    few = Fitted.of(aggcal.read_judgments([("ann", "a", "b"), ("bob", "a", "b")]))
    assert effect_findings(pair_effects(few), repeated_answers(few)) == []
    single = Fitted.of(aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "c")]))
    assert pair_effects(single) is None


def test_known_copies_do_not_count_as_effects_of_pairs() -> None:
    made = simulate(items=15, annotators=12, judgments=1500, copied_share=0.1, seed=5)
    judgments = aggcal.read_judgments(made.judgments)
    fitted = Fitted.of(judgments)
    names = judgments.annotator_ids.tolist()
    copied = {names.index(made.annotator_ids[u]) for u in made.copied}
    with_copies, without = pair_effects(fitted), pair_effects(fitted, copied)
    assert with_copies is not None
    assert without is not None
    assert without.p_value > with_copies.p_value


def weighed(judgments: Judgments, seed: int) -> Judgments:
    """Give the answers of each annotator another weight."""
    weight = np.exp(np.random.default_rng(seed).standard_normal(judgments.n_annotators))
    return replace(judgments, weight=judgments.weight * weight[judgments.annotator])


def test_unequal_weights_do_not_make_answers_agree() -> None:
    """The scores err more than so many answers would let them, and draw residuals along."""

    def found(pair_sd: float) -> int:
        studies = (weighed(study(seed, pair_sd=pair_sd), seed) for seed in range(20))
        effects = [pair_effects(Fitted.of(judgments)) for judgments in studies]
        return sum(effect is not None and effect.found for effect in effects)

    assert found(0.0) <= 1
    assert found(1.0) >= 13


def test_answers_that_hardly_count_do_not_seem_to_agree() -> None:
    """The fit hardly knows how reliable those are who gave them, and errs alike for all of them."""
    wrong = 0
    for seed in range(16):
        random = np.random.default_rng([7, seed])
        who = np.repeat(np.arange(10), 100)
        left, right = random.permuted(np.tile(np.arange(20), (1000, 1)), axis=1)[:, :2].T
        truth, light = 1.5 * random.standard_normal(20), who % 2 == 0
        odds = np.where(light, 0.3, 1.6) * (truth[left] - truth[right])
        up = random.random(1000) < link("logistic").probability(odds)
        rows = {
            "annotator": who,
            "winner": np.where(up, left, right),
            "loser": np.where(up, right, left),
            "weight": np.where(light, 0.02, 1.0),
        }
        for effect in shared_answers(Fitted.of(aggcal.read_judgments(rows))):
            wrong += effect is not None and effect.found
    assert wrong <= 2  # 0.3 expected; 18 if only the residuals were weighed


@pytest.mark.parametrize("large", [1e4, 1e8])
def test_large_weights_lose_no_digits(large: float) -> None:
    """All weights times a number change nothing, but that the prior counts for less."""
    judgments = study(3)
    far = replace(judgments, left=judgments.left + 15, right=judgments.right + 15)
    apart = aggcal.read_judgments(
        {
            "annotator": np.tile(judgments.annotator, 2),
            "left": np.concatenate([judgments.left, far.left]),
            "right": np.concatenate([judgments.right, far.right]),
            "outcome": np.tile(judgments.outcome, 2),
        }
    )
    weight = np.random.default_rng(5).uniform(0.5, 1.5, len(apart.count)) * apart.count
    found = []
    for times in (1e3, large):
        fitted = Fitted.of(apart)
        fitted = replace(fitted, judgments=replace(apart, weight=times * weight))
        variances = GapVariances(fitted, np.full(len(weight), 0.2))._exact
        assert variances.by_errors is not None
        found.append((times * variances.by_fit, variances.by_errors))
    for few, many in zip(*found, strict=True):
        assert many == pytest.approx(few, rel=1e-2)
