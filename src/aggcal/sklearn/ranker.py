"""Stage 1 as a classifier: who wins a comparison."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from aggcal._core.arrays import FloatArray, TextArray
from aggcal._core.tables import aligned
from aggcal.aggregation.consensus import Aggregator, Consensus
from aggcal.aggregation.methods import PriorChoice
from aggcal.aggregation.terms import Terms
from aggcal.data.judgments import Judgments
from aggcal.errors import OptionError
from aggcal.io import read_judgments
from aggcal.registry import DEFAULT_METHOD
from aggcal.registry.literals import Estimator, MethodName
from aggcal.sklearn.tables import columns_of, consensus_of

LEFT, RIGHT, TIE = "left", "right", "tie"
_ORDER = (LEFT, RIGHT, TIE)  # of the columns of Consensus.outcome_probabilities
_CODES: tuple[dict[Any, str], ...] = (
    {0: RIGHT, 1: LEFT},
    {-1: RIGHT, 0: TIE, 1: LEFT},
    {LEFT: LEFT, RIGHT: RIGHT, TIE: TIE},
)
_SHAPES = (("annotator", "left", "right"), ("left", "right"))
_ANYBODY = "anybody"


class PairwiseRanker(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # untyped
    """Rank items by comparisons; predict who wins a comparison.

    A sample is a comparison: who compares what is on the left with what is on the right. Its class
    is the outcome.

    Parameters
    ----------
    method, prior, estimator, features, terms
        See `aggcal.aggregate`.
    warn
        Emit the warnings of a fit; they are in ``consensus_.warnings`` too.
    random_state
        Seed for all random numbers (the default methods use none).

    Attributes
    ----------
    consensus_ : Consensus
        The fit: ``consensus_.items`` is the ranking, ``consensus_.annotators`` the reliabilities.
    classes_ : ndarray
        The outcomes, coded as in ``y``.
    item_ids_, scores_ : ndarray
        The items, the highest first, and their scores.
    n_features_in_ : int
        The columns of ``X``; their names are in ``feature_names_in_`` if it was a data frame.

    Examples
    --------
    >>> from aggcal.sklearn import PairwiseRanker
    >>> X = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c"), ("bob", "c", "b")]
    >>> ranker = PairwiseRanker(warn=False).fit(X, ["left", "left", "left", "right"])
    >>> ranker.item_ids_
    array(['a', 'b', 'c'], dtype=object)
    >>> ranker.predict([("eve", "c", "a")])
    array(['right'], dtype='<U5')
    >>> ranker.predict_proba([("eve", "c", "a")]).round(1)
    array([[0.2, 0.8]])
    """

    def __init__(
        self,
        method: MethodName | str | Aggregator = DEFAULT_METHOD,
        *,
        prior: PriorChoice = "default",
        estimator: Estimator | None = None,
        features: Any = None,
        terms: Terms | None = None,
        warn: bool = True,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.prior = prior
        self.estimator = estimator
        self.features = features
        self.terms = terms
        self.warn = warn
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PairwiseRanker:  # noqa: N803
        """Fit the ranking.

        Parameters
        ----------
        X
            Rows (annotator, left, right), or (left, right) if it is not known who answered; or a
            data frame with columns of these names, of which others are passed over. Ids are text.
        y
            The outcomes: ``"left"``, ``"right"`` and ``"tie"``; or 1 where the left item won and 0
            where the right one did; or 1, 0 and -1, where 0 is a tie.
        sample_weight
            How often each row counts; rows of weight 0 are left out.
        """
        rows = columns_of(self, X, _SHAPES, reset=True)
        if y is None:
            raise OptionError("requires y to be passed, but the target y is None: the outcomes.")
        given = column_or_1d(y, warn=True)
        check_consistent_length(X, given)
        code = _code(given)
        outcomes = np.array([code[_plain(one)] for one in given], dtype=object)
        # Ties are a class where there are some; who may win is always one.
        known = {LEFT, RIGHT, *outcomes}
        labels = np.unique([each for each, means in code.items() if means in known])
        self.classes_ = labels.astype(given.dtype) if given.dtype.kind in "biuf" else labels
        self._means = [code[_plain(each)] for each in self.classes_]
        columns: dict[str, Any] = {"annotator": np.full(len(given), _ANYBODY, object)} | rows
        columns["outcome"] = outcomes
        if sample_weight is not None:
            columns["weight"] = _check_sample_weight(
                sample_weight, columns["outcome"][:, None], dtype=np.float64
            )
        self.consensus_: Consensus = consensus_of(self, read_judgments(columns))
        order = self.consensus_.order
        self.item_ids_: TextArray = self.consensus_.item_ids[order]
        self.scores_: FloatArray = self.consensus_.scores[order]
        return self

    def predict_proba(self, X: Any) -> FloatArray:  # noqa: N803
        """Return the probability of each outcome, in the order of ``classes_``.

        It allows for what is uncertain: the scores and the annotator's reliability. An unknown
        annotator is taken for a random one, an unknown item for one in the middle.

        Parameters
        ----------
        X
            Rows as for ``fit``.
        """
        check_is_fitted(self)
        rows = columns_of(self, X, _SHAPES, reset=False)
        apart = np.flatnonzero(rows[LEFT] != rows[RIGHT])
        chances = np.tile([0.5, 0.5, 0.0], (len(rows[LEFT]), 1))  # an item against itself
        if len(apart):
            asked, order = _asked({name: column[apart] for name, column in rows.items()})
            if TIE in self._means:
                found = self.consensus_.outcome_probabilities(asked)
            else:
                left = self.consensus_.judgment_probabilities(asked)
                found = np.stack([left, 1.0 - left, np.zeros(len(left))], axis=1)
            chances[apart[order]] = found
        return chances[:, [_ORDER.index(each) for each in self._means]]

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """Return the most probable outcome of each comparison, coded as in ``y``.

        Of a method that gives no probabilities, the item with the higher score wins.

        Parameters
        ----------
        X
            Rows as for ``fit``.
        """
        check_is_fitted(self)
        try:
            return np.asarray(self.classes_[np.argmax(self.predict_proba(X), axis=1)])
        except OptionError:  # a method without probabilities still has an order
            rows = columns_of(self, X, _SHAPES, reset=False)
        ids, scores = self.consensus_.item_ids, self.consensus_.scores
        left, right = (np.nan_to_num(aligned(scores, ids, rows[side])) for side in (LEFT, RIGHT))
        means = np.array(self._means, dtype=object)
        wins, loses = (self.classes_[means == side][0] for side in (LEFT, RIGHT))
        return np.asarray(np.where(left >= right, wins, loses), dtype=self.classes_.dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags


def _plain(label: Any) -> Any:
    """Return a label as Python's own: True is 1, 1.0 is 1."""
    value = label.item() if isinstance(label, np.generic) else label
    whole = isinstance(value, bool) or (isinstance(value, float) and value.is_integer())
    return int(value) if whole else value


def _code(given: np.ndarray) -> dict[Any, str]:
    """Return what the labels of some outcomes mean; refuse labels that mean nothing."""
    labels = [_plain(one) for one in given]
    for code in _CODES:
        if all(isinstance(one, int | str) and one in code for one in labels):
            return code
    bad = next((k for k, one in enumerate(labels) if one not in _CODES[1] | _CODES[2]), 0)
    raise OptionError(
        f"Unknown label type: row {bad + 1} of y is {given[bad]!r}; give left, right and tie, or 1 "
        "(the left item won) and 0, or 1, 0 (a tie) and -1."
    )


def _asked(rows: dict[str, TextArray]) -> tuple[Judgments, np.ndarray]:
    """Return rows as judgments of no outcome, and the row that each of them is."""
    n = len(rows[LEFT])
    who = rows.get("annotator", np.full(n, _ANYBODY, dtype=object))
    annotators, annotator = np.unique(who.astype(str), return_inverse=True)
    both = np.concatenate([rows[LEFT], rows[RIGHT]]).astype(str)
    items, item = np.unique(both, return_inverse=True)
    order = np.argsort(annotator, kind="stable")
    left, right = (item[part][order].astype(np.int32) for part in (slice(0, n), slice(n, None)))
    judgments = Judgments.of_codes(
        annotator[order].astype(np.int32),
        left,
        right,
        item_ids=items.astype(object),
        annotator_ids=annotators.astype(object),
    )
    return replace(judgments, sided=True), order
