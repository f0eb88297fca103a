"""The variance of the gap of each pair of items, given all answers: a bound first, if it decides.

Of many items the inverse of the information matrix takes long. That of a similar matrix is at hand,
from leaving annotators out: if A − κB is positive definite, A⁻¹ is at most B⁻¹ / κ, and a factor of
it, a third of the work, tells whether it is.

Where weights differ, a sandwich A⁻¹ M A⁻¹ is taken from that. If M − νA is positive definite but
for a shift of all scores, of the gap of a pair it is at least ν times what A⁻¹ is.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from aggcal._core.arrays import FloatArray, sums
from aggcal._core.compiled_scipy import dpotrf
from aggcal._core.records import dataclass
from aggcal.advice.check.context import Fitted
from aggcal.aggregation.solve.inverse import inverse_of

_WORTH_A_BOUND = 200  # items: of fewer, the inverse itself takes no longer
_BELOW = 0.9
"""Part of the least ratio of the two diagonals that is tried as κ: the least eigenvalue is a few
percent below it. A larger one fails more often, a smaller one decides less."""


@dataclass(frozen=True, eq=False)
class GapVariances:
    """Variances of the gaps of all pairs that were judged.

    For very many items they are taken to be 0, which makes a test err on the quiet side. Where
    weights differ, they are such that independent answers seem to agree as much as with equal ones.
    """

    fitted: Fitted
    information: FloatArray
    """What each row adds to the information about the scores."""

    def tried(self, *, bounded: bool) -> Iterator[FloatArray]:
        """Yield an upper bound of all of them where that is wanted and there is one, then them.

        Examples
        --------
        >>> import aggcal
        >>> rows = [("ann", "a", "b"), ("bob", "b", "c")]
        >>> fitted = Fitted.of(aggcal.read_judgments(rows))
        >>> [found] = GapVariances(fitted, np.array([1.0, 1.0])).tried(bounded=True)
        >>> bool((found > 0.0).all())
        True
        """
        if bounded and self._bound is not None:
            yield self._bound
        yield self._exact

    @cached_property
    def _whole(self) -> FloatArray:
        """The information matrix, with the prior: as answers are weighed."""
        weights = self._weights
        each = self.information if weights is None else weights * self.information
        return self._matrix(each, self.fitted.precision)

    @cached_property
    def _squared(self) -> FloatArray:
        """What answers that are weighed err by: weights are squared, and there is no prior."""
        weights = 1.0 if self._weights is None else np.square(self._weights)
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
    def _weights(self) -> FloatArray | None:
        """The weight of an answer of each row; None where it is 1 everywhere."""
        weights = self.fitted.judgments.weight / np.maximum(self.fitted.judgments.count, 1)
        return None if np.allclose(weights, 1.0) else np.asarray(weights)

    @cached_property
    def _exact(self) -> FloatArray:
        if self.fitted.others.information is None:
            return np.zeros(self.fitted.answers.n_pairs)
        covariance = inverse_of(self._whole)
        if self._weights is None:
            return self._among(covariance)
        spread = covariance @ self._squared @ covariance
        return 2.0 * self._usual_weights * self._among(covariance) - self._among(spread)

    @cached_property
    def _usual_weights(self) -> FloatArray:
        """The mean weight of the answers to each pair, by what they tell.

        The variances are to be what they would be if all answers counted alike, in what they
        explain. Errors of the scores draw two residuals of a pair together, and answers of weights
        v and w that draw the scores apart. The former have the variance V = C (Σ w² I) C with the
        inverse C of Σ w I, and the latter add −(v + w) C: with weights of 1, −C in all.
        """
        answers, each = self.fitted.answers, self.information
        weighed = each if self._weights is None else self._weights * each
        pulls, told = (sums(answers.pair, x, answers.n_pairs) for x in (weighed, each))
        return np.asarray(pulls / np.maximum(told, 1e-300))

    @cached_property
    def _bound(self) -> FloatArray | None:
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
        if self._weights is None:
            return bound
        return np.maximum(2.0 * self._usual_weights - self._least_spread, 0.0) * bound

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


def _is_definite(matrix: FloatArray) -> bool:
    """Tell whether a symmetric matrix is positive definite; it is overwritten.

    Examples
    --------
    >>> [_is_definite(np.array([[1.0, x], [x, 1.0]])) for x in (0.5, 2.0)]
    [True, False]
    """
    return not dpotrf(matrix.T, lower=False, clean=False, overwrite_a=True)[1]
