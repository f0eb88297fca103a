"""How steeply annotators answer where a tie counts as half of a win for either item."""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, elementwise, sums
from aggcal._core.compiled_scipy import expit
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.pair_answers import TIE

_STEPS = 3  # of Newton's method, for slopes that need not be exact
_Two = tuple[FloatArray, FloatArray]


def slopes_with_ties(fitted: Fitted) -> FloatArray:
    """Return slopes that fit all answers, a tie being half of a win for either item.

    Those of the population fit decided answers. Who often calls a tie answers less steeply as a
    whole, to a pair asked again as well, and repeats nothing by that.

    Examples
    --------
    Nine of ten answers are ties:

    >>> import aggcal
    >>> rows = [("ann", "a", "b", "tie" if k % 10 else "left") for k in range(40)]
    >>> fitted = Fitted.of(aggcal.read_judgments([*rows, ("bob", "a", "b", "left")]))
    >>> (slopes_with_ties(fitted) < fitted.population.slopes).tolist()
    [True, False]
    """
    judgments, m = fitted.judgments, fitted.judgments.n_annotators
    slopes, ties = fitted.population.slopes, judgments.outcome == TIE
    tied = np.flatnonzero(np.bincount(judgments.annotator[ties], minlength=m))
    if not len(tied):
        return slopes
    factor = np.ones(m)
    for _ in range(_STEPS):

        def step(who: CodeArray, left: CodeArray, right: CodeArray, *given: FloatArray) -> _Two:
            outcome, number = given
            x = slopes[who] * (fitted.scores[left] - fitted.scores[right])
            chance = expit(factor[who] * x)
            return number * x * (outcome - chance), number * x * x * chance * (1.0 - chance)

        columns = judgments.annotator, judgments.left, judgments.right
        pull, curve = (
            sums(judgments.annotator, part, m)
            for part in elementwise(step, *columns, judgments.outcome, judgments.count, results=2)
        )
        factor[tied] = np.clip(factor + pull / np.maximum(curve, 1e-300), 0.0, 1.0)[tied]
    return factor * slopes
