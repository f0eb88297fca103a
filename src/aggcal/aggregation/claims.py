"""What may be said of an order: claims that hold at any true scores, not only under a prior.

They are made from scores that hardly any prior has pulled together (`Quantify.unshrunk`). Errors
are drawn once; every claim compares t_ij = (s_i − s_j)/se_ij with a quantile of the largest such
number that chance makes among the comparisons that it rests on (max-t). A kind of claim is then
wrong in a share 1 − level of studies at most. Pairs that do not stay
clear without each annotator who might decide them alone (`Quantify.standing`) are not certified.

- **Pairs**: step-down max-t over all one-sided hypotheses s_i ≤ s_j (Romano and Wolf, 2005).
  **Joint ranks** count the certified pairs above and below an item (Mogstad et al., 2024), and
  **tiers** are cuts with all pairs across certified: these three hold together.
- **Could be first, in and out of the top k**: each item with all others, many-to-one (Hsu, 1981).
  Each of these holds by itself.

Items that nothing compares have t = 0: the rest follows, as a rank counts what is certified only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf

import numpy as np
from scipy.special import stdtrit

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, SingleArray, TextArray, frozen
from aggcal._core.machine import one_thread
from aggcal._core.text import brief
from aggcal.aggregation.covariance import Covariance
from aggcal.aggregation.groups import members, pairs_within, several

_DRAWN, _DRAWS = 200, 1500
"""Items whose errors are drawn, and how often: of more, union bounds, which certify 2 to 5% fewer
pairs and take no draws. Each draw counts with either sign: quantiles are off by half a percent of
studies."""
_LEADERS = 200
"""Of items too many for a matrix, those that all that could be first are compared with."""
IN, OPEN, OUT = "in", "open", "out"
"""The verdicts on an item: surely among the first k, neither, surely not."""

_STEPS = 3
"""Steps down at most: later ones certify next to nothing."""


@dataclass(frozen=True, eq=False)
class Claims:
    """What can be said of the order at a level, each kind of claim by itself.

    Examples
    --------
    >>> import aggcal
    >>> rows = [(u, *pair) for u in ("ann", "bob", "eve") for pair in ("ab", "ac", "bc")] * 9
    >>> found = aggcal.aggregate(rows, warn=False).claims()
    >>> found.low, found.high, found.first, found.tiers
    (array([1, 2, 3]), array([1, 2, 3]), array([ True, False, False]), array([0, 1, 2]))
    """

    level: float
    above: BoolArray | None
    """``above[i, j]``: i is above j, all of them right together; None for many items."""
    low: IntArray
    """Best and worst rank of each item: all of them right together, with ``above``."""
    high: IntArray
    best: IntArray
    """Best and worst rank of each item by the comparisons with it: each is right by itself."""
    worst: IntArray
    n_pairs: int
    """Pairs of items that can be compared."""
    resting: int = 0
    """Further pairs that would be certified, but not without one of the annotators."""

    __repr__ = brief

    @property
    def count(self) -> int:
        """How many pairs are certified."""
        return int((self.low - 1).sum())

    @property
    def share(self) -> float:
        """Share of the pairs that can be compared."""
        return self.count / max(self.n_pairs, 1)

    @property
    def first(self) -> BoolArray:
        """Which items could be first: the first one is among them."""
        return np.asarray(self.best == 1)

    def inside(self, k: int) -> BoolArray:
        """Return which items are surely among the first k, each by itself."""
        return np.asarray(self.worst <= k)

    def outside(self, k: int) -> BoolArray:
        """Return which items are surely not among the first k, each by itself."""
        return np.asarray(self.best > k)

    def verdicts(self, k: int) -> TextArray:
        """Return the verdict on each item: in, open or out of the first k."""
        words = np.full(len(self.best), OPEN, dtype=object)
        words[self.inside(k)], words[self.outside(k)] = IN, OUT
        return words

    @cached_property
    def tiers(self) -> IntArray:
        """Number of each item's tier: all of a tier are above all of the next, right together."""
        order = np.argsort(self.high, kind="stable")
        ends = np.maximum.accumulate(self.high[order]) == np.arange(1, len(order) + 1)
        tier = np.empty(len(order), dtype=np.int64)
        tier[order] = np.cumsum(ends) - ends
        return tier

    @property
    def n_tiers(self) -> int:
        """How many tiers there are."""
        return int(self.tiers.max(initial=-1)) + 1


@one_thread()
def claims_of(
    scores: FloatArray,
    covariance: Covariance,
    level: float,
    *,
    degrees_of_freedom: float = inf,
    component: IntArray | None = None,
    stands: BoolArray | None = None,
    seed: int = 0,
) -> Claims:
    """State the claims.

    Parameters
    ----------
    scores, covariance
        Scores that hardly any prior has pulled together, and the covariance of their errors.
    level
        Of each kind of claim.
    degrees_of_freedom
        Of the covariance.
    component
        Label of each item's component: items of different ones are not compared.
    stands
        ``[i, j]``: whether that i is above j does not rest on a single annotator; None if all do.
    seed
        Of the draws.

    Examples
    --------
    >>> from aggcal.aggregation.covariance import DenseCovariance
    >>> found = claims_of(np.array([9.0, 8.0, 0.0]), DenseCovariance(np.eye(3)), 0.95)
    >>> found.low, found.high, found.first, found.inside(2)
    (array([1, 1, 3]), array([2, 2, 3]), array([ True,  True, False]), array([ True,  True, False]))

    Nothing compares the third item with the others:

    >>> alone = np.array([0, 0, 1])
    >>> found = claims_of(np.array([9.0, 0.0, 0.0]), DenseCovariance(np.eye(3)), 0.95,
    ...                   component=alone)
    >>> found.low, found.high, found.count, found.n_pairs
    (array([1, 2, 1]), array([2, 3, 3]), 1, 1)
    """
    component, dense = several(component), covariance.dense()
    if dense is None:
        se = np.sqrt(covariance.variances)
        return _of_many(scores, se, level, degrees_of_freedom, component)
    n, error = len(scores), 1.0 - level
    per_se = _per_standard_error(dense.matrix)
    if component is not None:
        per_se[component[:, None] != component] = 0.0
    t = np.subtract.outer(scores, scores)
    t *= per_se
    if n <= _DRAWN:
        errors, single = _drawn(dense.matrix, degrees_of_freedom, seed), per_se.astype(np.float32)
        by_item = _largest(errors, single)
        above = t > _upper_quantile(by_item.max(axis=0), error)
        for _ in range(_STEPS):  # what is certified cannot be certified falsely again
            left = single * ~above
            more = t > _upper_quantile(_largest(errors, left).max(axis=0), error)
            if not (more & ~above).any():
                break
            above |= more
        above = _closed(above)
        usual = _upper_quantile(by_item, error)
    else:
        above = t > -stdtrit(degrees_of_freedom, error / (n * (n - 1)))
        usual = np.full(n, -stdtrit(degrees_of_freedom, error / (n - 1)))
    resting = int(above.sum())
    if stands is not None:
        above, t = _closed(above & stands), np.where(stands, t, 0.0)
    resting -= int(above.sum())
    low, high = frozen(1 + above.sum(axis=0)), frozen(n - above.sum(axis=1))
    best = frozen(1 + (t > usual).sum(axis=0))
    worst = frozen(n - (t > usual[:, None]).sum(axis=1))
    n_pairs = pairs_within(component, n)
    return Claims(level, frozen(above), low, high, best, worst, n_pairs, resting)


def _per_standard_error(matrix: FloatArray) -> FloatArray:
    """Return one over the standard error of every gap."""
    own = np.diag(matrix)
    variance = own + own[:, None] - 2.0 * matrix
    return np.asarray(np.maximum(variance, 1e-12 * float(own.max()) + 1e-300) ** -0.5)


def _drawn(matrix: FloatArray, degrees_of_freedom: float, seed: int) -> SingleArray:
    """Draw errors, a column a draw; Student's t where there are few degrees of freedom."""
    size, along = np.linalg.eigh(matrix)
    # The symmetric root is the same on every machine.
    random, root = np.random.default_rng(seed), (along * np.sqrt(np.maximum(size, 0.0))) @ along.T
    errors = root @ random.standard_normal((len(size), _DRAWS))
    if degrees_of_freedom < inf:
        errors /= np.sqrt(random.chisquare(degrees_of_freedom, _DRAWS) / degrees_of_freedom)
    return np.asarray(errors, dtype=np.float32)


def _largest(errors: SingleArray, per_se: SingleArray) -> SingleArray:
    """Return, for each item j and draw, the largest (e_i − e_j)/se_ij over items i; 0 at least.

    The draws with the opposite sign come second.
    """
    (n, draws), gap = errors.shape, np.empty_like(errors)
    found = np.empty((n, 2 * draws), dtype=np.float32)
    for j, factor in enumerate(per_se.T):
        np.subtract(errors, errors[j], out=gap)
        np.multiply(gap, factor[:, None], out=gap)
        gap.max(axis=0, out=found[j, :draws])
        np.negative(gap.min(axis=0), out=found[j, draws:])
    return found


def _upper_quantile(values: SingleArray, share: float) -> FloatArray:
    """Return the value that at most this share of all draws exceeds, one more draw counted."""
    draws = values.shape[-1]
    place = min(ceil((1.0 - share) * (draws + 1)), draws) - 1
    return np.asarray(np.partition(values, place, axis=-1)[..., place], dtype=np.float64)


def _closed(above: BoolArray) -> BoolArray:
    """Add what follows: i above j and j above k, so i above k.

    Examples
    --------
    >>> _closed(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)).astype(int).tolist()
    [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    """
    while True:
        more = above | (above.astype(np.float32) @ above > 0.0)
        if (more == above).all():
            return above
        above = more


def _of_many(
    scores: FloatArray,
    se: FloatArray,
    level: float,
    degrees_of_freedom: float,
    component: IntArray | None,
) -> Claims:
    """Claim what intervals that hold together say: items are in order where they do not overlap.

    For the first, gaps to the leaders count, which are known better than the ends of intervals.
    """
    n = len(scores)
    critical_value = -float(stdtrit(degrees_of_freedom, 0.5 * (1.0 - level) / n))
    low, high = scores - critical_value * se, scores + critical_value * se
    best, worst = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for own in members(component, n):
        above = len(own) - np.searchsorted(np.sort(low[own]), high[own], side="right")
        best[own], worst[own] = 1 + above, n - np.searchsorted(np.sort(high[own]), low[own])
    sharper, some = best.copy(), np.flatnonzero(best == 1)
    if component is None:
        leaders = np.argsort(-low, kind="stable")[:_LEADERS, None]
        gap = scores[leaders] - scores[some]
        ahead = gap > critical_value * np.hypot(se[leaders], se[some])
        sharper[some] += ahead.sum(axis=0)
    low_, high_, best_ = frozen(best), frozen(worst), frozen(sharper)
    return Claims(level, None, low_, high_, best_, high_, pairs_within(component, n))
