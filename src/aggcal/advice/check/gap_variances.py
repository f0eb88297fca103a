"""The variance of the gap of each pair of items, given all answers: a bound first, if it decides.

Of many items the inverse of the information matrix takes long. That of a similar matrix is at hand,
from leaving annotators out: if A − κB is positive definite, A⁻¹ is at most B⁻¹ / κ, and a factor of
it, a third of the work, tells whether it is.

Where weights differ, a sandwich A⁻¹ M A⁻¹ is taken from that. If M − νA is positive definite but
for a shift of all scores, of the gap of a pair it is at least ν times what A⁻¹ is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, sums
from aggcal._core.compiled_scipy import dpotrf
from aggcal._core.records import dataclass
from aggcal.advice.check.context import Fitted
from aggcal.aggregation.solve.inverse import inverse_of
from aggcal.aggregation.solve.prior_sd import centred
from aggcal.data.judgments import Judgments

_WORTH_A_BOUND = 200  # items: of fewer, the inverse itself takes no longer
_BELOW = 0.9
"""Part of the least ratio of the two diagonals that is tried as κ: the least eigenvalue is a few
percent below it. A larger one fails more often, a smaller one decides less."""


class Variances(NamedTuple):
    """Of some pairs: the variances C of their gaps by the fit, and of their errors.

    Errors of the scores draw two residuals of a pair together, by V, and answers of the weights v
    and w draw the scores apart, by (v + w) C: with weights of 1, where C and V are the same, by C.
    """

    by_fit: FloatArray
    by_errors: FloatArray | None = None
    """V; None where all weights are 1."""
    least: float | None = None
    """Where C is an upper bound and weights differ: how many times the real C is V at least."""
    most: float | None = None
    """And at most, where nothing else is known."""

    beyond: Callable[[FloatArray], tuple[float, float]] | None = None
    """Where weights differ: see `GapVariances.beyond`."""

    def of(self, pairs: IntArray) -> Variances:
        """Return those of some."""
        errors = None if self.by_errors is None else self.by_errors[pairs]
        beyond, number = self.beyond, len(self.by_fit)
        if beyond is None:
            return Variances(self.by_fit[pairs], errors, self.least, self.most)
        return Variances(
            self.by_fit[pairs], errors, beyond=lambda x: beyond(sums(pairs, x, number))
        )

    def as_drawn(self, weight: FloatArray | None) -> FloatArray:
        """Return by how much the products of two residuals fall short of independent ones'.

        Parameters
        ----------
        weight
            The usual weight of the two, for each pair; None where all are 1.

        Examples
        --------
        >>> found = Variances(np.array([0.5]), np.array([0.5]))
        >>> found.as_drawn(np.array([1.0])), Variances(np.array([0.5])).as_drawn(None)
        (array([0.5]), array([0.5]))
        """
        if weight is None:
            return self.by_fit
        if self.most is not None:
            return np.minimum(2.0 * weight - self.most, 0.0) * self.by_fit
        if self.by_errors is None:
            return np.maximum(2.0 * weight - (self.least or 0.0), 0.0) * self.by_fit
        return 2.0 * weight * self.by_fit - self.by_errors


@dataclass(frozen=True, eq=False)
class GapVariances:
    """Variances of the gaps of all pairs that were judged.

    For very many items they are taken to be 0, or by a bound if weights differ, which makes a test
    err on the quiet side.
    """

    fitted: Fitted
    information: FloatArray
    """What each row adds to the information about the scores."""
    as_weighed: bool = True
    """Whether the scores are those that weights of answers lead to."""

    def tried(self, *, bounded: bool) -> Iterator[Variances]:
        """Yield an upper bound of all of them where that is wanted and there is one, then them.

        Examples
        --------
        >>> import aggcal
        >>> rows = [("ann", "a", "b"), ("bob", "b", "c")]
        >>> fitted = Fitted.of(aggcal.read_judgments(rows))
        >>> [found] = GapVariances(fitted, np.array([1.0, 1.0])).tried(bounded=True)
        >>> bool((found.by_fit > 0.0).all())
        True
        """
        if bounded and self._bound is not None:
            yield self._bound
        yield self._exact

    @cached_property
    def _whole(self) -> FloatArray:
        """The information matrix, with the prior: as answers are weighed."""
        weights = self.weights
        each = self.information if weights is None else weights * self.information
        return self._matrix(each, self.fitted.precision)

    @cached_property
    def _squared(self) -> FloatArray:
        """What answers that are weighed err by: weights are squared, and there is no prior."""
        weights = 1.0 if self.weights is None else np.square(self.weights)
        return self._matrix(weights * self.information, 0.0)

    def _matrix(self, each: FloatArray, precision: float) -> FloatArray:
        """Add up what rows tell of the scores, and a prior."""
        judgments, n = self.fitted.judgments, self.fitted.judgments.n_items
        pairs = judgments.left.astype(np.int64) * n + judgments.right
        whole = -sums(pairs, each, n * n).reshape(n, n)
        whole = whole + whole.T
        np.fill_diagonal(whole, precision - whole.sum(axis=1))
        return np.asarray(whole)

    @cached_property
    def weights(self) -> FloatArray | None:
        """The weight of an answer of each row; None where it is 1 everywhere."""
        return weights_of_answers(self.fitted.judgments) if self.as_weighed else None

    @cached_property
    def _exact(self) -> Variances:
        if self.fitted.others.information is None:
            return self._hardly_known
        covariance = inverse_of(self._whole)
        if self.weights is None:
            return Variances(self._among(covariance))
        # Large weights leave a shift of all scores, which is no gap, as unsure as it was: beside it
        # the gaps would be lost in rounding.
        covariance = centred(covariance, self.fitted.judgments.graph.component)
        errors = covariance @ self._squared @ covariance
        beyond = partial(self.beyond, covariance, errors)
        return Variances(self._among(covariance), self._among(errors), beyond=beyond)

    @property
    def _hardly_known(self) -> Variances:
        """What is never more than what answers are really drawn by, without a matrix."""
        number = self.fitted.answers.n_pairs
        if self.weights is None:
            return Variances(np.zeros(number))
        # The answers to a pair are a part of what tells its gap, and no answer weighs more.
        own = sums(self.fitted.answers.pair, self.weights * self.information, number)
        return Variances(1.0 / np.maximum(own, 1e-300), most=float(self.weights.max()))

    def beyond(
        self, covariance: FloatArray, errors: FloatArray, products: FloatArray
    ) -> tuple[float, float]:
        """Return variance and third moment by which weights that differ widen the agreement.

        Errors of the scores draw together all answers to all pairs that they move. Of equal
        weights the answers that caused them make up for that; where a few answers decide the
        scores, those of the others have their errors and do not.

        Parameters
        ----------
        covariance, errors
            Of the scores, by the fit, and of their errors.
        products
            Of each pair: the sum of the products of what any two answers tell.
        """
        answers, n = self.fitted.answers, self.fitted.judgments.n_items
        ends = answers.first.astype(np.int64) * n + answers.second
        each = -sums(ends, products, n * n).reshape(n, n)
        each = each + each.T
        np.fill_diagonal(each, -each.sum(axis=1))
        weights = np.ones(1) if self.weights is None else self.weights
        usual = float(weights @ self.information) / float(self.information.sum())
        found = []
        for matrix in (errors, usual * covariance):
            drawn = each @ matrix
            twice = drawn @ drawn
            found.append((2.0 * float(np.trace(twice)), 8.0 * float(np.sum(twice * drawn.T))))
        (wide, skew), (own_wide, own_skew) = found
        return max(wide - own_wide, 0.0), max(skew - own_skew, 0.0)

    @cached_property
    def _bound(self) -> Variances | None:
        others, n = self.fitted.others, self.fitted.judgments.n_items
        if others.information is None or others.covariance is None or n < _WORTH_A_BOUND:
            return None
        similar, own = others.information, np.diag(self._whole)
        ratio = own / (np.diag(similar) + self.fitted.precision)
        # Both have the same prior: of a shift of all scores the ratio is 1.
        part = _BELOW * min(1.0, float(ratio.min()))
        rest = self._whole - part * similar
        rest.flat[:: n + 1] -= part * self.fitted.precision
        if not part > 0.0 or not _is_definite(rest):
            return None
        bound = self._among(others.covariance) / part
        return Variances(bound, least=None if self.weights is None else self._least_spread)

    @cached_property
    def _least_spread(self) -> float:
        """How many times the variance of a gap the sandwich of it is at least."""
        part = _BELOW * float(np.min(np.diag(self._squared) / np.diag(self._whole)))
        rest = self._squared - part * self._whole
        # A shift of all scores is no gap, and both matrices keep it apart from all gaps.
        rest += 2.0 * float(np.mean(np.diag(self._squared))) / len(rest)
        rest += part * self.fitted.precision / len(rest)
        return part if part > 0.0 and _is_definite(rest) else 0.0

    def _among(self, covariance: FloatArray) -> FloatArray:
        """Return the variance of each pair's gap by a covariance of the scores."""
        own, i, j = np.diag(covariance), self.fitted.answers.first, self.fitted.answers.second
        return np.asarray(own[i] + own[j] - 2.0 * covariance[i, j])


def weights_of_answers(judgments: Judgments) -> FloatArray | None:
    """Return the weight of an answer of each row; None where it is 1 everywhere.

    Examples
    --------
    >>> import aggcal
    >>> rows = {"annotator": ["u", "v"], "winner": ["a", "a"], "loser": ["b", "b"]}
    >>> weights_of_answers(aggcal.read_judgments(rows | {"weight": [1.0, 0.5]}))
    array([1. , 0.5])
    """
    weights = judgments.weight / np.maximum(judgments.count, 1)
    return None if np.allclose(weights, 1.0) else np.asarray(weights)


def _is_definite(matrix: FloatArray) -> bool:
    """Tell whether a symmetric matrix is positive definite; it is overwritten.

    Examples
    --------
    >>> [_is_definite(np.array([[1.0, x], [x, 1.0]])) for x in (0.5, 2.0)]
    [True, False]
    """
    return not dpotrf(matrix.T, lower=False, clean=False, overwrite_a=True)[1]
