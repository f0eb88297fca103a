"""Which of scikit-learn's checks do not apply to these estimators, and why.

``sklearn.utils.estimator_checks.check_estimator`` fits matrices of random numbers to arbitrary
classes or targets. Here X holds ids, and what is learnt is about them; the tests of aggcal check
the same properties on comparisons and items.
"""

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
"""Those of `aggcal.sklearn.PairwiseRanker`."""
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
"""Those of `aggcal.sklearn.AggregateCalibrator`."""
