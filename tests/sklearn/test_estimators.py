"""The estimators: what scikit-learn expects of them, and that they say what aggcal says."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import aggcal
from aggcal.simulation import Simulation, simulate
from aggcal.sklearn import AggregateCalibrator, PairwiseRanker

ESTIMATORS = [PairwiseRanker, AggregateCalibrator]

# Which of scikit-learn's checks do not apply, and why: `check_estimator` fits matrices of random
# numbers to arbitrary classes or targets. Here X holds ids, and what is learnt is about them; the
# tests below check the same properties on comparisons and items.
_WIDTH = "X is a matrix of another width; here its columns are ids (and a score)"
_LABELS = "y are arbitrary classes; here they are outcomes: who won, or a tie"
_PAIRS = "the ids are such that items are compared with themselves only, or once in all"
_JUDGMENTS = "there are no judgments about the random numbers that it takes for items"
_ONE_CLASS = "a class that did not occur may still occur: every comparison can be won by either"

_WIDE = (
    "check_n_features_in_after_fitting", "check_positive_only_tag_during_fit",
    "check_estimators_dtypes", "check_sample_weights_pandas_series",
    "check_all_zero_sample_weights_error", "check_sample_weight_equivalence_on_dense_data",
    "check_dtype_object", "check_fit2d_1sample",
)  # fmt: skip
_ANY_FIT = (
    "check_fit_score_takes_y", "check_estimators_overwrite_params",
    "check_dont_overwrite_parameters", "check_estimators_fit_returns_self",
    "check_readonly_memmap_input", "check_sample_weights_not_an_array",
    "check_sample_weights_list", "check_sample_weights_shape",
    "check_sample_weights_not_overwritten", "check_f_contiguous_array_estimator",
    "check_supervised_y_2d", "check_methods_sample_order_invariance",
    "check_methods_subset_invariance", "check_dict_unchanged", "check_fit2d_predict1d",
)  # fmt: skip
_SMALL_FIT = ("check_pipeline_consistency", "check_estimators_nan_inf", "check_estimators_pickle")

RANKER: dict[str, str] = {
    **dict.fromkeys(_WIDE, _WIDTH),
    **dict.fromkeys(_ANY_FIT, _LABELS),
    **dict.fromkeys(_SMALL_FIT, _PAIRS),
    "check_classifier_data_not_an_array": _LABELS,
    "check_classifiers_classes": _LABELS,
    "check_classifiers_train": _LABELS,
    "check_classifiers_regression_target": _WIDTH,
    "check_classifiers_one_label": _ONE_CLASS,
    "check_classifiers_one_label_sample_weights": _ONE_CLASS,
}
CALIBRATOR: dict[str, str] = {
    **dict.fromkeys(_WIDE, _WIDTH),
    **dict.fromkeys((*_ANY_FIT, *_SMALL_FIT), _JUDGMENTS),
    "check_regressors_train": _WIDTH,
    "check_regressor_data_not_an_array": _WIDTH,
    "check_regressors_no_decision_function": _WIDTH,
    "check_regressors_int": _WIDTH,
    "check_fit_idempotent": _JUDGMENTS,
    "check_fit_check_is_fitted": _JUDGMENTS,
    "check_n_features_in": _JUDGMENTS,
}


@pytest.fixture(scope="module")
def study() -> Simulation:
    return simulate(items=20, annotators=6, judgments=400, seed=3, model_sd=8.0)


@pytest.fixture(scope="module")
def rows(study: Simulation) -> list[tuple[str, str, str]]:
    shown = study.shown
    return list(zip(shown["annotator"], shown["left"], shown["right"], strict=True))


@pytest.fixture(scope="module")
def sides(study: Simulation) -> list[str]:
    return list(study.shown["outcome"])


@pytest.fixture(scope="module")
def ranker(rows: list[Any], sides: list[str]) -> PairwiseRanker:
    return PairwiseRanker(warn=False).fit(rows, sides)


@pytest.fixture(scope="module")
def scored(study: Simulation) -> list[tuple[str, float]]:
    return list(zip(study.item_ids, study.model.tolist(), strict=True))


@pytest.mark.parametrize(
    ("kind", "expected"), [(PairwiseRanker, RANKER), (AggregateCalibrator, CALIBRATOR)]
)
@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_scikit_learn_that_apply_pass(kind: Any, expected: dict[str, str]) -> None:
    found = check_estimator(kind(), expected_failed_checks=expected, on_skip=None)
    states: dict[str, set[str]] = {}
    for each in found:
        states.setdefault(each["check_name"], set()).add(each["status"])
    assert sum("passed" in each for each in states.values()) >= 15
    # None is excused that would pass.
    assert {name for name in expected if states.get(name) == {"passed"}} == set()
    assert all(reason for reason in expected.values())


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_parameters_are_got_set_and_cloned(kind: Any) -> None:
    made = kind(method="btl", random_state=3)
    assert made.get_params()["method"] == "btl"
    other = clone(made.set_params(method="tcv", warn=False))
    assert (other.method, other.random_state, other.warn) == ("tcv", 3, False)
    assert "tcv" in repr(other)
    with pytest.raises(NotFittedError):
        other.predict([("a", 1.0)])
    with pytest.raises(ValueError, match="nothing"):
        made.set_params(nothing=1)


def test_a_ranker_is_what_aggregate_finds(
    study: Simulation, ranker: PairwiseRanker, rows: list[Any]
) -> None:
    direct = aggcal.aggregate(study.shown, warn=False)
    np.testing.assert_allclose(ranker.consensus_.scores, direct.scores, atol=1e-12)
    assert ranker.item_ids_.tolist() == direct.items["item"].tolist()
    np.testing.assert_array_equal(ranker.scores_, np.sort(direct.scores)[::-1])
    asked = [(who, left, right) for who, left, right in rows[:40]]
    chance = ranker.predict_proba(asked)
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    for row, (left, right) in zip(asked, chance, strict=True):
        one = aggcal.read_judgments([row])  # the winner is on the left
        assert left == pytest.approx(direct.judgment_probabilities(one)[0])
        assert right == pytest.approx(1.0 - left)


def test_predictions_do_not_depend_on_the_other_rows(
    ranker: PairwiseRanker, rows: list[Any], random: np.random.Generator
) -> None:
    asked = [*rows[:60], ("nobody", "item-01", "unknown"), *rows[:5]]
    whole = ranker.predict_proba(asked)
    order = random.permutation(len(asked))
    np.testing.assert_allclose(ranker.predict_proba([asked[k] for k in order]), whole[order])
    np.testing.assert_allclose(ranker.predict_proba(asked[7:9]), whole[7:9])
    turned = ranker.predict_proba([(who, right, left) for who, left, right in asked])
    np.testing.assert_allclose(turned, whole[:, ::-1], atol=1e-9)
    np.testing.assert_array_equal(ranker.predict(asked), ranker.classes_[whole.argmax(axis=1)])
    np.testing.assert_array_equal(ranker.predict_proba([("x", "a", "a")]), [[0.5, 0.5]])


def test_every_coding_of_the_outcome_means_the_same(rows: list[Any], sides: list[str]) -> None:
    tied = ["tie" if k % 7 == 0 else side for k, side in enumerate(sides)]
    codes: list[tuple[list[str], dict[str, Any], list[Any]]] = [
        (sides, {"left": 1, "right": 0}, [0, 1]),
        (sides, {"left": 1.0, "right": 0.0}, [0.0, 1.0]),
        (sides, {"left": True, "right": False}, [False, True]),
        (sides, {"left": 1, "right": -1}, [-1, 1]),
        (tied, {"left": 1, "right": -1, "tie": 0}, [-1, 0, 1]),
    ]
    for words, code, classes in codes:
        plain = PairwiseRanker("btl", warn=False).fit(rows, words)
        made = PairwiseRanker("btl", warn=False).fit(rows, [code[word] for word in words])
        assert made.classes_.tolist() == classes
        assert isinstance(classes[0], type(made.classes_[0].item()))
        for name, label in code.items():
            mine, its = made.classes_.tolist().index(label), plain.classes_.tolist().index(name)
            np.testing.assert_allclose(
                made.predict_proba(rows[:30])[:, mine], plain.predict_proba(rows[:30])[:, its]
            )
        assert [code[word] for word in plain.predict(rows[:30])] == made.predict(rows[:30]).tolist()
        wanted = np.mean([a == b for a, b in zip(plain.predict(rows), words, strict=True)])
        assert plain.score(rows, words) == pytest.approx(wanted)


def test_only_ties_leave_both_sides_possible() -> None:
    made = PairwiseRanker("btl", warn=False).fit([("u", "a", "b"), ("v", "a", "b")], ["tie", "tie"])
    assert made.classes_.tolist() == ["left", "right", "tie"]
    alone = PairwiseRanker("btl", warn=False).fit([("a", "b"), ("b", "c")], [1, 1])
    assert alone.classes_.tolist() == [0, 1]
    assert alone.predict([("a", "c"), ("c", "a")]).tolist() == [1, 0]


def test_weights_count_rows(rows: list[Any], sides: list[str]) -> None:
    weight = np.arange(len(rows)) % 3
    repeated = np.repeat(np.arange(len(rows)), weight)
    whole = PairwiseRanker("btl", warn=False).fit(rows, sides, sample_weight=weight)
    again = PairwiseRanker("btl", warn=False).fit(
        [rows[k] for k in repeated], [sides[k] for k in repeated]
    )
    np.testing.assert_allclose(whole.scores_, again.scores_, atol=1e-7)
    series = pd.Series(weight.astype(float))
    same = PairwiseRanker("btl", warn=False).fit(rows, sides, sample_weight=series)
    np.testing.assert_array_equal(same.scores_, whole.scores_)


def test_frames_arrays_and_lists_are_alike(
    ranker: PairwiseRanker, rows: list[Any], sides: list[str]
) -> None:
    frame = pd.DataFrame(rows, columns=["annotator", "left", "right"])
    frame["note"] = "passed over"
    wanted = ranker.predict_proba(rows[:20])
    for given in (frame, pl.from_pandas(frame), np.array(rows), np.array(rows, dtype=object)):
        made = PairwiseRanker(warn=False).fit(given, pd.Series(sides))
        np.testing.assert_allclose(made.predict_proba(given[:20]), wanted, atol=1e-9)
        assert made.score(given, sides) == ranker.score(rows, sides)
    made = PairwiseRanker(warn=False).fit(frame, sides)
    assert made.feature_names_in_.tolist() == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        made.predict(frame[["left", "right"]])
    with pytest.raises(ValueError, match="expecting 3 features"):
        ranker.predict([("a", "b")])


def test_a_ranker_goes_through_pipelines_and_searches(rows: list[Any], sides: list[str]) -> None:
    frame = pd.DataFrame(rows, columns=["judge", "left", "right"])
    named = FunctionTransformer(lambda table: table.rename(columns={"judge": "annotator"}))
    pipe = make_pipeline(named, PairwiseRanker(warn=False))
    grid = {"pairwiseranker__method": ["btl", "tcv"]}
    search = GridSearchCV(pipe, grid, cv=GroupKFold(3), scoring="neg_log_loss")
    search.fit(frame, sides, groups=frame["left"] + frame["right"])
    assert search.best_params_["pairwiseranker__method"] in ("btl", "tcv")
    assert search.best_estimator_.score(frame, sides) > 0.6
    chance = cross_val_predict(pipe, frame, sides, cv=3, method="predict_proba")
    assert log_loss(sides, chance) < np.log(2.0)
    kept = pickle.loads(pickle.dumps(search.best_estimator_[-1]))  # noqa: S301  # our own
    asked = rows[:9]
    np.testing.assert_array_equal(
        kept.predict(pd.DataFrame(asked, columns=["annotator", "left", "right"])),
        search.predict(frame[:9]),
    )


def test_a_method_without_probabilities_still_has_an_order(
    rows: list[Any], sides: list[str], study: Simulation
) -> None:
    features = {"item": study.item_ids, "x": study.truth}
    made = PairwiseRanker("rank-svm", features=features, warn=False).fit(rows, sides)
    place = {item: k for k, item in enumerate(made.item_ids_)}
    for (_, left, right), side in zip(rows, made.predict(rows), strict=True):
        assert side == ("left" if place[left] < place[right] else "right")
    with pytest.raises(aggcal.AggcalError, match="gives no probabilities"):
        made.predict_proba(rows)


@pytest.mark.parametrize(
    ("given", "outcomes", "said"),
    [
        ([("u", "a", "b")], ["first"], r"row 1 of y is .*'first'.*; give left, right and tie"),
        ([("u", "a", "b"), ("u", "b", "c")], [1, 0.5], "row 2 of y is .*0.5"),
        ([("u", "a", "b"), ("u", "b", "c")], [1.0, np.nan], "row 2 of y is .*nan"),
        ([("u", "a", None)], [1], "row 1 of X has no right"),
        ([("u", "a", "b", "c")], [1], r"X has 4 columns; give rows of \(annotator, left, right\)"),
        ([("a",)], [1], r"1 feature\(s\).*a minimum of 2"),
        (["abc"], [1], "Expected 2D array"),
        ([("u", "a", "b")], [1, 0], "inconsistent numbers of samples"),
        ([("u", "a", "b")], None, "y"),
        (pd.DataFrame({"who": ["u"], "left": ["a"]}), [1], "columns who, left; name its columns"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(given: Any, outcomes: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        PairwiseRanker().fit(given, outcomes)


def test_warnings_are_given_and_kept() -> None:
    once = [("u", "a", "b"), ("u", "b", "c")]
    with pytest.warns(aggcal.AggcalWarning):
        made = PairwiseRanker().fit(once, [1, 1])
    assert made.consensus_.warnings
    assert aggcal.check(made, quick=True, with_precision=False).counts["items"] == 3


def test_a_calibrator_is_what_assess_finds(study: Simulation, scored: list[Any]) -> None:
    for calibrator in ("atc", "fused"):
        made = AggregateCalibrator(study.judgments, calibrator=calibrator, warn=False).fit(scored)
        direct = aggcal.assess(study.judgments, scored, calibrator=calibrator, warn=False)
        wanted = dict(zip(direct.items["item"], direct.items["calibrated"], strict=True))
        np.testing.assert_allclose(made.predict(scored), [wanted[item] for item, _ in scored])
    assert r2_score(study.truth, made.predict(scored)) > r2_score(study.truth, study.model)
    assert made.score(scored, study.truth) == r2_score(study.truth, made.predict(scored))
    known = AggregateCalibrator(direct.consensus, calibrator="fused", warn=False).fit(scored)
    np.testing.assert_allclose(known.predict(scored), made.predict(scored))
    assert aggcal.check(made, quick=True, with_precision=False).counts["items"] == 20


def test_items_that_were_not_fitted_are_predicted(study: Simulation, scored: list[Any]) -> None:
    made = AggregateCalibrator(study.judgments, warn=False, bounds=(0, 100)).fit(scored[:15])
    found = made.predict([*scored[15:], ("never judged", 50.0), scored[0], (scored[0][0], 51.0)])
    assert np.isfinite(found).all()
    wanted = made.calibration_.predict({"never judged": 50.0}).predicted
    np.testing.assert_allclose(found[5], wanted[0])
    # A judged item goes by its place as well: the same score means more for a better one.
    ranked = made.consensus_.items["item"]
    best, worst = made.predict([(ranked[0], 47.0), (ranked[-1], 47.0)])
    assert best > worst
    assert made.predict([("far", 9999.0)])[0] <= 100.0


def test_truths_are_anchors_where_they_are_known(study: Simulation, scored: list[Any]) -> None:
    shifted = [(item, score + 20.0) for item, score in scored]
    truth = np.where(np.arange(20) < 12, study.truth, np.nan)
    options: dict[str, Any] = {"calibrator": "fused", "warn": False}
    told = AggregateCalibrator(study.judgments, **options).fit(shifted, truth)
    untold = AggregateCalibrator(study.judgments, anchors=False, **options).fit(shifted, truth)
    hidden = slice(12, 20)
    errors = [
        np.mean(np.square(each.predict(shifted)[hidden] - study.truth[hidden]))
        for each in (told, untold)
    ]
    assert errors[0] < 0.5 * errors[1]
    plain = AggregateCalibrator(study.judgments, **options).fit(shifted, np.full(20, np.nan))
    np.testing.assert_array_equal(plain.predict(shifted), untold.predict(shifted))


def test_a_calibrator_goes_through_pipelines_and_searches(study: Simulation) -> None:
    frame = pd.DataFrame({"item": study.item_ids, "raw": study.model})
    named = FunctionTransformer(lambda table: table.rename(columns={"raw": "score"}))
    pipe = make_pipeline(named, AggregateCalibrator(study.judgments, method="btl", warn=False))
    grid = {"aggregatecalibrator__calibrator": ["atc", "fused"]}
    search = GridSearchCV(pipe, grid, cv=2).fit(frame, study.truth)
    assert search.best_estimator_.predict(frame).shape == (20,)
    found = cross_val_score(search.best_estimator_, frame, study.truth, cv=4, scoring="r2")
    assert found.mean() > 0.0


def test_weights_of_items(study: Simulation, scored: list[Any]) -> None:
    weight = np.where(np.arange(20) % 4 == 0, 0.0, 1.0 + np.arange(20))
    made = AggregateCalibrator(study.judgments, warn=False).fit(scored, sample_weight=weight)
    kept = [row for row, each in zip(scored, weight, strict=True) if each]
    without = AggregateCalibrator(study.judgments, warn=False).fit(
        kept, sample_weight=weight[weight > 0.0]
    )
    np.testing.assert_allclose(made.predict(scored), without.predict(scored))
    sds = [
        (item, score, each**-0.5)
        for (item, score), each in zip(scored, weight, strict=True)
        if each
    ]
    by_sd = AggregateCalibrator(study.judgments, warn=False).fit(sds)
    np.testing.assert_allclose(by_sd.predict(sds), without.predict(kept))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([("a", "high")], "row 1 of X has the score 'high'"),
        ([("a", 1.0), ("b", np.inf)], "row 2 of X has the score 'inf'"),
        ([("a", 1.0), ("b", None)], "row 2 of X has no score"),
        ([("a", 1.0), ("a", 2.0)], "more than one score for 'a'"),
        ([("a", 1.0, 2.0, 3.0)], "X has 4 columns"),
    ],
)
def test_items_that_cannot_be_read_are_refused_in_a_sentence(given: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        AggregateCalibrator([("u", "a", "b")], warn=False).fit(given)


def test_judgments_are_needed() -> None:
    with pytest.raises(ValueError, match="no judgments to calibrate by; give judgments="):
        AggregateCalibrator().fit([("a", 1.0), ("b", 2.0)])


def test_without_scikit_learn_the_remedy_is_named() -> None:
    code = "import sys; sys.modules['sklearn'] = None; import aggcal; aggcal.sklearn"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ImportError: aggcal.sklearn needs scikit-learn: pip install 'aggcal[sklearn]'" in (
        done.stderr
    )
