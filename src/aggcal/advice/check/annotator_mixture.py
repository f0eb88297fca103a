"""What annotators are like: a spread of reliabilities, those who guess, those who turn it round."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import stdtr

from aggcal._core.arrays import FloatArray, IntArray, elementwise, starts_of, sums
from aggcal.advice.check.pair_answers import TIE
from aggcal.advice.check.row_sums import Seen, slope_losses
from aggcal.data.judgments import Judgments
from aggcal.data.weights import answers

_SLOPES: FloatArray = np.geomspace(0.04, 10.0, 40)
_LOCATIONS: FloatArray = np.linspace(np.log(0.2), np.log(4.0), 16)
_SDS: FloatArray = np.array([0.25, 0.35, 0.45, 0.6, 0.8, 1.0])
_LEAST_SD_TO_ACCUSE = 0.5
"""Spread of log γ that the honest are granted: more misses those who guess, less accuses the
careless.
"""
_FEW = 1.0
"""Of one annotator the spread would be taken for twice as wide: few tell little of it."""
_LITTLE_CARE = 0.3  # of the typical slope: with more, the merely less careful would be meant
_USUAL_SD, _HOW_USUAL = 0.45, 0.5  # prior of log sd: keeps few annotators from an sd of 0
_HONEST_BEFOREHAND = 6.0  # annotators: more accuse fewer, in small studies above all
_BEGIN: FloatArray = np.array([0.9, 0.05, 0.05])  # shares of the kinds from which EM sets out
_ROUNDS = 60  # of EM: the shares move by less than .001 well before
_SETTLED = 1e-4  # of a share: less is found by as many rounds again, and decides nothing
_AT_ONCE = 256  # annotators whose chances are worked out together: more take more memory
_ENOUGH = 2000  # annotators: more tell the spread no better and take longer
_HONEST, _GUESSING, _REVERSED = range(3)


@dataclass(frozen=True, eq=False)
class Population:
    """Annotators as a mixture: honest (γ log-normal), guessing (γ = 0), reversed (−γ log-normal).

    By the logistic link the likelihood of an annotator's slope γ depends on two numbers only:
    Σ log F(γ|d|), and ``wrong``, the sum of |d| over the answers that the others contradict.

    ``location`` and ``sd`` are of log γ of the honest; ``shares`` of the three kinds.
    """

    wrong: FloatArray
    right: FloatArray
    plain: FloatArray
    """Σ log F(γ|d|) of each annotator (row) at each slope of the grid (column)."""
    number: FloatArray
    location: float
    sd: float
    shares: FloatArray
    gain: float
    """Log-likelihood that allowing for reversed annotators gains."""

    @classmethod
    def of(cls, judgments: Judgments, gap: FloatArray) -> Population:
        """Estimate it from the gaps that the others see.

        Examples
        --------
        >>> import aggcal
        >>> rows = [("ann", "a", "b"), ("bob", "a", "b"), ("eve", "b", "a")]
        >>> Population.of(aggcal.read_judgments(rows), np.array([1.0, 1.0, -1.0])).wrong
        array([0., 0., 1.])
        """
        m = judgments.n_annotators
        count = effective(judgments)

        def parted(
            gap: FloatArray, outcome: FloatArray, count: FloatArray
        ) -> tuple[FloatArray, FloatArray, FloatArray]:
            size = np.abs(gap)
            agreeing = np.where(gap >= 0.0, outcome, 1.0 - outcome)
            return size, count * (1.0 - agreeing) * size, count * agreeing * size

        size, against, along = elementwise(parted, gap, judgments.outcome, count, results=3)
        wrong, right = (sums(judgments.annotator, part, m) for part in (against, along))
        starts = starts_of(judgments.annotator, m)
        plain = -slope_losses(starts, size, count, _SLOPES)
        number = sums(judgments.annotator, count, m)
        return cls._fitted(wrong, right, plain, number)

    @classmethod
    def _fitted(
        cls, wrong: FloatArray, right: FloatArray, plain: FloatArray, number: FloatArray
    ) -> Population:
        # Some thousands of annotators tell the spread as well as all of them.
        some = slice(None, None, max(1, len(wrong) // _ENOUGH))
        forward = plain[some] - wrong[some, None] * _SLOPES
        backward = plain[some] - right[some, None] * _SLOPES
        guess = -number[some] * np.log(2.0)
        tops = forward.max(axis=1), backward.max(axis=1)
        likely = np.exp(forward - tops[0][:, None]), np.exp(backward - tops[1][:, None])
        laws = [(sd, location) for sd in _SDS.tolist() for location in _LOCATIONS.tolist()]
        priors = np.exp([_log_prior(location, sd) for sd, location in laws])
        along, against = (
            np.log(np.maximum(priors @ part.T, 1e-300)) + top
            for part, top in zip(likely, tops, strict=True)
        )
        kinds = np.stack([along, np.broadcast_to(guess, along.shape), against], axis=2)
        every, fits = _shares(kinds, (True, True, True))
        unusual = -0.5 * np.square((np.log(_SDS) - np.log(_USUAL_SD)) / _HOW_USUAL)
        best = int(np.argmax(fits + np.repeat(unusual, len(_LOCATIONS))))
        (sd, location), shares = laws[best], every[best]
        gain = float(fits[best] - _shares(kinds[best : best + 1], (True, True, False))[1][0])
        return cls(wrong, right, plain, number, location, sd, shares, gain)

    @cached_property
    def log_likelihoods(self) -> FloatArray:
        """Of each annotator: as honest, as guessing, as reversed."""
        log_prior = _log_prior(self.location, self.sd)
        forward = _log_sum(self.plain - self.wrong[:, None] * _SLOPES + log_prior)
        backward = _log_sum(self.plain - self.right[:, None] * _SLOPES + log_prior)
        return np.stack([forward, -self.number * np.log(2.0), backward], axis=1)

    @cached_property
    def posterior(self) -> FloatArray:
        """Of each annotator: the probability of being honest, of guessing, of being reversed."""
        joint = self.log_likelihoods + np.log(np.maximum(self.shares, 1e-4))
        found: FloatArray = np.exp(joint - _log_sum(joint, keepdims=True))
        return found

    @cached_property
    def _slope_moments(self) -> tuple[FloatArray, FloatArray]:
        log_prior = _log_prior(self.location, self.sd)
        first, second = np.zeros(len(self.wrong)), np.zeros(len(self.wrong))
        for kind, against, sign in ((_HONEST, self.wrong, 1.0), (_REVERSED, self.right, -1.0)):
            weight = self.plain - against[:, None] * _SLOPES + log_prior
            weight = np.exp(weight - _log_sum(weight, keepdims=True))
            first += self.posterior[:, kind] * sign * (weight @ _SLOPES)
            second += self.posterior[:, kind] * (weight @ np.square(_SLOPES))
        return first, np.sqrt(np.maximum(second - np.square(first), 0.0))

    @property
    def slopes(self) -> FloatArray:
        """Expected reliability of each annotator (negative where reversed)."""
        return self._slope_moments[0]

    @property
    def slope_errors(self) -> FloatArray:
        """Standard deviation of that."""
        return self._slope_moments[1]

    @property
    def typical_slope(self) -> float:
        """The median reliability of the honest."""
        return float(np.exp(self.location))

    @property
    def accusing(self) -> tuple[float, float]:
        """Mean and standard deviation of log γ that the honest are granted before one is accused.

        They are taken to differ by `_LEAST_SD_TO_ACCUSE` at least, and by more where there are few
        annotators to tell it from.
        """
        sd = max(self.sd, _LEAST_SD_TO_ACCUSE) * (1.0 + _FEW / len(self.wrong))
        return self.location, sd

    @cached_property
    def care(self) -> float:
        """Log-likelihood gained if those who seem to guess follow the others a little instead.

        Each of them may look random. Together they tell carelessness from coins: all have one
        slope, of at most `_LITTLE_CARE` times that of the typical honest annotator.

        Examples
        --------
        Forty annotators who are right in 55 of 100 answers each do not all toss coins:

        >>> import aggcal
        >>> rows = [
        ...     (f"u{k}", *("ab" if answer < right else "ba"))
        ...     for k in range(60)
        ...     for right in (55 if k < 40 else 95,)
        ...     for answer in range(100)
        ... ]
        >>> judgments = aggcal.read_judgments(rows)
        >>> gap = np.where(judgments.left == 0, 1.0, -1.0)
        >>> Population.of(judgments, gap).care > 10.0
        True
        """
        little = _LITTLE_CARE * self.typical_slope >= _SLOPES
        if not little.any():
            return 0.0
        joint = self.log_likelihoods + np.log(np.maximum(self.shares, 1e-4))
        rest = np.logaddexp(joint[:, _HONEST], joint[:, _REVERSED])
        careless = (self.plain - self.wrong[:, None] * _SLOPES)[:, little]
        careless += np.log(max(float(self.shares[_GUESSING]), 1e-4))
        fits = np.logaddexp(rest[:, None], careless).sum(axis=0)
        return float(fits.max() - np.logaddexp(rest, joint[:, _GUESSING]).sum())

    def p_values_if_honest(
        self,
        total: FloatArray,
        seen: Seen,
        who: IntArray,
        *,
        inflation: FloatArray,
        degrees_of_freedom: FloatArray,
    ) -> FloatArray:
        """Return the chances that an honest annotator agrees as little with the others, or less.

        How much one agrees is Σ |d| (agrees − ½). It is compared with what annotators of every
        slope would reach, each slope as frequent as among the honest, and with every set of scores
        that the judgments of the others allow: in a small study the consensus itself may err.

        To be fair to the careless, the honest are taken to differ as `accusing` says.

        Parameters
        ----------
        total
            The sum of each annotator.
        seen
            The rows as the others see them.
        who
            The annotators to look at.
        inflation
            Factor of the variance of each annotator's sum, where answers depend on each other.
        degrees_of_freedom
            Degrees of freedom of that.
        """
        prior, found = np.exp(_log_prior(*self.accusing)), np.zeros(len(who))
        for begin in range(0, len(who), _AT_ONCE):
            some = who[begin : begin + _AT_ONCE]
            mean, variance = seen.agreeing(some, _SLOPES)
            mine = some, None, None
            error = np.sqrt(inflation[mine] * variance + 1e-300)
            chance = stdtr(degrees_of_freedom[mine], (total[mine] - mean) / error)
            found[begin : begin + _AT_ONCE] = chance.mean(axis=2) @ prior
        return found


def decided(judgments: Judgments) -> IntArray:
    """Return how many decided answers each row stands for: a tie is neither right nor wrong.

    Examples
    --------
    >>> import aggcal
    >>> decided(aggcal.read_judgments([("ann", "a", "b", "left"), ("bob", "a", "b", "tie")]))
    array([1, 0])
    """
    return np.where(judgments.outcome == TIE, 0, judgments.count)


def effective(judgments: Judgments) -> FloatArray:
    """Return how many independent answers each row stands for, ties left out.

    See `answers`.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b", "left", 0.5), ("bob", "a", "b", "tie", 1)]
    >>> effective(aggcal.read_judgments(rows))
    array([0.5, 0. ])
    """
    return np.where(judgments.outcome == TIE, 0.0, answers(judgments))


def _log_sum(values: FloatArray, *, keepdims: bool = False) -> FloatArray:
    """Return the logarithm of the sum of exponentials along the last axis.

    SciPy's own looks so closely at what it is given that it takes longer than the sum.
    """
    top = values.max(axis=-1, keepdims=True)
    total: FloatArray = top + np.log(np.exp(values - top).sum(axis=-1, keepdims=True))
    return total if keepdims else total[..., 0]


def _log_prior(location: float, sd: float) -> FloatArray:
    weight: FloatArray = -0.5 * np.square((np.log(_SLOPES) - location) / sd)
    return weight - float(_log_sum(weight))


def _shares(kinds: FloatArray, allowed: tuple[bool, bool, bool]) -> tuple[FloatArray, FloatArray]:
    """Return the most probable shares of the kinds by each law, and the log-likelihood there.

    Parameters
    ----------
    kinds
        Log-likelihoods of annotators as each kind: laws by annotators by kinds.
    allowed
        The kinds that may be.
    """
    open_ = np.array(allowed)
    # Of the kinds that may be, the likeliest is 1: with another on top all of them may be 0.
    top = np.where(open_, kinds, -np.inf).max(axis=2, keepdims=True)
    likely = np.where(open_, np.exp(np.minimum(kinds - top, 0.0)), 0.0)
    likely = np.ascontiguousarray(likely.swapaxes(1, 2))  # rows a kind: products take half the time
    shares = np.tile(np.where(open_, _BEGIN, 0.0), (len(kinds), 1))
    beforehand = np.array([_HONEST_BEFOREHAND, 0.0, 0.0])
    for _ in range(_ROUNDS):
        part = likely @ (1.0 / (shares[:, None] @ likely)).swapaxes(1, 2)
        new = shares * part[:, :, 0] + beforehand
        new /= new.sum(axis=1, keepdims=True)
        moves, shares = float(np.abs(new - shares).max()), new
        if moves < _SETTLED:
            break
    fit = (np.log(shares[:, None] @ likely) + top.swapaxes(1, 2)).sum(axis=(1, 2))
    return shares, fit + _HONEST_BEFOREHAND * np.log(shares[:, _HONEST])
