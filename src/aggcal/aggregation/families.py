r"""Families: the likelihood of a row, and its derivatives in what moves it.

A row is moved by channels (its gap m, an axis a, the readiness ω of its context: see `rows`) and by
the parameters of its annotator. `Advantage` has

    η = γ m + p + f a,    ν = ν_u + ω

under a law of answers: γ the reliability, p the position, ν_u the readiness to tie and f the stance
of the annotator. `Mixture` is the crowd models' P = h F(m) + (1 − h) F(−m), h the honesty.

Laws: `Wins` of any link; `Adjacent` categories, which with one grade is Davidson's model of ties
and without ties Bradley and Terry's; and `RaoKupper`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from aggcal._core.arrays import FloatArray, special_of
from aggcal.aggregation.links import Link
from aggcal.aggregation.rows import AXIS, GAP, TIE, Answers

RELIABILITY, POSITION, READINESS, STANCE = "reliability", "position", "readiness", "stance"
HONESTY = "honesty"
"""Parameters of annotators."""
_NEVER = -1e300
"""A readiness below this is none: the answers are left and right only."""
_LARGEST_READINESS, _LARGEST_LOG = 600.0, 600.0
"""Readiness, and logarithm of the root of odds, beyond which exponentials would overflow."""
_WIDEST, _NARROWEST = 5.0, 30.0
"""Largest logarithm of Rao and Kupper's threshold, beyond which every answer is a tie to rounding,
and minus the smallest, beyond which none is."""
_POINTS, _BISECTIONS = 8, 30
"""Gauss and Hermite's points in either direction, and bisections, of a typical readiness."""
_LEAST_TYPICAL, _MOST_TYPICAL = -12.0, 8.0
"""Between which a typical readiness is looked for."""


class LawTerms(NamedTuple):
    """The loss of each row, and its derivatives in the advantage η and the readiness ν."""

    loss: FloatArray
    score: FloatArray
    curvature: FloatArray
    tie_score: FloatArray
    tie_curvature: FloatArray
    cross: FloatArray


@dataclass(frozen=True, eq=False)
class Terms:
    """The loss of rows, its score in each variable, and its curvature in each pair of them."""

    loss: FloatArray
    score: dict[str, FloatArray]
    curvature: dict[tuple[str, str], FloatArray]

    def __add__(self, other: Terms) -> Terms:
        return Terms(
            self.loss + other.loss,
            {name: value + other.score[name] for name, value in self.score.items()},
            {pair: value + other.curvature[pair] for pair, value in self.curvature.items()},
        )

    def times(self, share: float) -> Terms:
        """Return a share of them."""
        return Terms(
            share * self.loss,
            {name: share * value for name, value in self.score.items()},
            {pair: share * value for pair, value in self.curvature.items()},
        )


@dataclass(frozen=True, eq=False)
class Advantage:
    """η = γ m + p + f a and ν = ν_u + ω; parameters that are not named are 1 (γ) and 0.

    Examples
    --------
    Half a judgment for either side tells nothing of equal items:

    >>> answers = Answers(np.ones(1), np.zeros(1), np.zeros(1))
    >>> family = Advantage((RELIABILITY,), Adjacent())
    >>> terms = family.terms({GAP: np.zeros(1)}, {RELIABILITY: np.ones(1)}, answers)
    >>> terms.score[GAP], terms.curvature[GAP, GAP]
    (array([0.]), array([0.25]))
    """

    names: tuple[str, ...]
    law: Law
    channels: tuple[str, ...] = (GAP,)

    def advantage(
        self, moved: dict[str, FloatArray], theta: dict[str, Any]
    ) -> tuple[FloatArray, FloatArray]:
        """Return η and ν."""
        eta = theta.get(RELIABILITY, 1.0) * moved[GAP] + theta.get(POSITION, 0.0)
        if AXIS in moved:
            eta = eta + theta.get(STANCE, 0.0) * moved[AXIS]
        ties = READINESS in theta or TIE in moved
        nu = np.zeros_like(eta) + (0.0 if ties else -np.inf)
        return eta, nu + theta.get(READINESS, 0.0) + moved.get(TIE, 0.0)

    def probabilities(self, moved: dict[str, FloatArray], theta: dict[str, Any]) -> FloatArray:
        """Return the probabilities of left, right and tie, rows by answers."""
        return self.law.probabilities(*self.advantage(moved, theta))

    def terms(self, moved: dict[str, FloatArray], theta: dict[str, Any], answers: Answers) -> Terms:
        """Return the loss of rows and its derivatives: the chain rule through η and ν."""
        law = self.law.terms(*self.advantage(moved, theta), answers)
        # Derivatives of η; the variables that are not here are terms of ν.
        in_eta: dict[str, Any] = {GAP: theta.get(RELIABILITY, 1.0), RELIABILITY: moved[GAP]}
        in_eta[POSITION] = 1.0
        if AXIS in moved:
            in_eta |= {AXIS: theta.get(STANCE, 0.0), STANCE: moved[AXIS]}
        variables = (*self.channels, *self.names)
        score = {
            name: law.score * in_eta[name] if name in in_eta else law.tie_score
            for name in variables
        }
        curvature: dict[tuple[str, str], FloatArray] = {}
        for i, one in enumerate(variables):
            for two in variables[i:]:
                if one in in_eta and two in in_eta:
                    curvature[one, two] = law.curvature * in_eta[one] * in_eta[two]
                elif one in in_eta or two in in_eta:
                    curvature[one, two] = law.cross * in_eta[one if one in in_eta else two]
                else:
                    curvature[one, two] = law.tie_curvature
        for pair in ((GAP, RELIABILITY), (AXIS, STANCE)):  # η has the products γ m and f a
            if pair in curvature:
                curvature[pair] = curvature[pair] + law.score
        return Terms(law.loss, score, curvature)


@dataclass(frozen=True, eq=False)
class Mixture:
    """P = h F(m/c) + (1 − h) F(−m/c), c the width; the parameter is the honesty h, or its logit."""

    link: Link
    width: float = 1.0
    logit: bool = False
    names: tuple[str, ...] = (HONESTY,)
    channels: tuple[str, ...] = (GAP,)

    def probabilities(self, moved: dict[str, FloatArray], theta: dict[str, Any]) -> FloatArray:
        """Return the probabilities of left, right and tie, rows by answers."""
        one = np.ones_like(moved[GAP])
        left = np.exp(-self.terms(moved, theta, Answers(one, one, one)).loss)
        return np.stack([left, 1.0 - left, 0.0 * one], axis=1)

    def terms(self, moved: dict[str, FloatArray], theta: dict[str, Any], answers: Answers) -> Terms:
        """Return the loss of rows that are wins of their left items, and its derivatives."""
        weight, x, honesty = answers.weight, moved[GAP] / self.width, theta[HONESTY]
        honesty = special_of(honesty).expit(honesty) if self.logit else honesty
        ahead, behind = self.link.probability(x), self.link.probability(-x)
        _, score, curvature = self.link.terms(x)
        density = ahead * score / self.width
        density_slope = ahead * (score * score - curvature) / self.width**2
        inverse, lean = 1.0 / (honesty * ahead + (1.0 - honesty) * behind), 2.0 * honesty - 1.0
        in_gap, in_honesty = lean * density * inverse, (ahead - behind) * inverse
        score = -weight * in_honesty
        cross = weight * (in_gap * in_honesty - 2.0 * density * inverse)
        curvature = weight * in_honesty**2
        if self.logit:
            first = honesty * (1.0 - honesty)
            curvature = first**2 * curvature + first * (1.0 - 2.0 * honesty) * score
            cross, score = first * cross, first * score
        by_gap = weight * (in_gap**2 - lean * density_slope * inverse)
        return Terms(
            weight * np.log(inverse),
            {GAP: -weight * in_gap, HONESTY: score},
            {(GAP, GAP): by_gap, (GAP, HONESTY): cross, (HONESTY, HONESTY): curvature},
        )


@dataclass(frozen=True)
class Wins:
    """Rows are wins of their left items: −log F(η)."""

    link: Link

    def terms(self, eta: FloatArray, nu: FloatArray, answers: Answers) -> LawTerms:  # noqa: ARG002
        """Return the loss of rows and its derivatives."""
        weight, (loss, score, curvature) = answers.weight, self.link.terms(eta)
        none = np.zeros_like(eta)
        return LawTerms(weight * loss, -weight * score, weight * curvature, none, none, none)

    def probabilities(self, eta: FloatArray, nu: FloatArray) -> FloatArray:  # noqa: ARG002
        """Return the probabilities of left, right and tie, rows by answers."""
        left, right = self.link.probability(eta), self.link.probability(-eta)
        return np.stack([left, right, np.zeros(len(eta))], axis=1)


@dataclass(frozen=True)
class Adjacent:
    r"""Adjacent categories: Davidson's model of ties where there is one grade.

    The probabilities of the answers are proportional to

        left by g grades: exp(g η/2 + κ_g),   right: exp(−g η/2 + κ_g),   tie: exp(ν),   κ_1 = 0.

    With one grade P(tie) = exp(ν) / (exp(η/2) + exp(−η/2) + exp(ν)): Davidson (1970), whose ν is
    exp(ν) here. The loss leaves out what does not depend on η and ν: Σ κ_g.

    Examples
    --------
    Without ties and with one grade it is the logistic loss:

    >>> won = Answers(np.ones(1), np.full(1, 0.5), np.zeros(1))
    >>> terms = Adjacent().terms(np.array([1.0]), np.array([-np.inf]), won)
    >>> round(float(terms.loss[0]), 6), round(float(np.log1p(np.exp(-1.0))), 6)
    (0.313262, 0.313262)
    >>> Adjacent().probabilities(np.zeros(1), np.zeros(1)).round(3)
    array([[0.333, 0.333, 0.333]])
    """

    grades: tuple[float, ...] = (1.0,)
    """exp(κ_g)."""

    def terms(self, eta: FloatArray, nu: FloatArray, answers: Answers) -> LawTerms:
        """Return the loss of rows and its derivatives."""
        weight, chances = answers.weight, self._chances(eta, nu)
        loss = weight * chances.log_total - answers.lean * eta
        return LawTerms(
            loss - answers.tied * np.where(nu > _NEVER, nu, 0.0),
            weight * chances.mean - answers.lean,
            weight * (chances.square - chances.mean**2),
            weight * chances.tie - answers.tied,
            weight * chances.tie * (1.0 - chances.tie),
            -weight * chances.tie * chances.mean,
        )

    def probabilities(self, eta: FloatArray, nu: FloatArray) -> FloatArray:
        """Return the probabilities of left, right and tie, rows by answers: grades are added up."""
        chances = self._chances(eta, nu)
        left = np.where(eta >= 0.0, chances.ahead, chances.behind)
        right = np.where(eta >= 0.0, chances.behind, chances.ahead)
        return np.stack([left, right, chances.tie], axis=1)

    def levels(self, eta: FloatArray, nu: FloatArray) -> list[FloatArray]:
        """Return the probability of each grade, for either side."""
        return self._chances(eta, nu).levels

    def _chances(self, eta: FloatArray, nu: FloatArray) -> _Chances:
        top, size = len(self.grades), np.abs(eta)
        # All is divided by the largest weight of a decided answer, exp(top |η|/2).
        small = np.exp(-0.5 * size)
        tie = np.exp(np.minimum(nu, _LARGEST_READINESS)) * small**top
        every = [
            (0.5 * g, share * small ** (top - g), share * small ** (top + g))
            for g, share in enumerate(self.grades, 1)
        ]
        ahead, behind = sum(each[1] for each in every), sum(each[2] for each in every)
        total = ahead + behind + tie
        mean = sum(a * (more - less) for a, more, less in every)
        square = sum(a * a * (more + less) for a, more, less in every)
        return _Chances(
            0.5 * top * size + np.log(total),
            np.sign(eta) * mean / total,
            square / total,
            tie / total,
            ahead / total,
            behind / total,
            [(more + less) / total for _, more, less in every],
        )


class _Chances(NamedTuple):
    log_total: FloatArray
    mean: FloatArray
    """Expected lean: E a, a = ±g/2."""
    square: FloatArray
    tie: FloatArray
    ahead: FloatArray
    behind: FloatArray
    """Of all answers for the side that is ahead, and for the other."""
    levels: list[FloatArray]
    """Probability of each grade, for either side."""


@dataclass(frozen=True)
class RaoKupper:
    r"""Rao and Kupper's model of ties (1967).

    With a logistic F, and log θ = c = exp(ν) their threshold,

        P(left) = F(η − c),   P(right) = F(−η − c),   P(tie) = F(c − η) F(c + η) (1 − exp(−2c)).

    Curvatures in ν, and in η and ν, are expected ones, which are definite.

    Examples
    --------
    >>> won = Answers(np.ones(1), np.full(1, 0.5), np.zeros(1))
    >>> terms = RaoKupper().terms(np.array([1.0]), np.array([0.0]), won)
    >>> round(float(np.exp(-terms.loss[0])), 3)
    0.5
    >>> RaoKupper().probabilities(np.zeros(1), np.zeros(1)).round(3)
    array([[0.269, 0.269, 0.462]])
    """

    def terms(self, eta: FloatArray, nu: FloatArray, answers: Answers) -> LawTerms:
        """Return the loss of rows and its derivatives."""
        cut = _threshold(nu)
        left, right, tie = self.probabilities(eta, nu).T
        won = 0.5 * (answers.weight - answers.tied) + answers.lean
        lost = 0.5 * (answers.weight - answers.tied) - answers.lean
        loss = won * np.logaddexp(0.0, cut - eta) + lost * np.logaddexp(0.0, cut + eta)
        beyond = np.logaddexp(0.0, eta - cut) + np.logaddexp(0.0, -eta - cut)
        loss = loss + answers.tied * (beyond - np.log(-np.expm1(-2.0 * cut)))
        # Derivatives of the logarithms of the three probabilities in η and in c.
        in_eta = (1.0 - left), -(1.0 - right), right - left
        narrow = 2.0 * np.exp(-2.0 * cut) / -np.expm1(-2.0 * cut)
        in_cut = -(1.0 - left), -(1.0 - right), left + right + narrow
        counts, weight = (won, lost, answers.tied), answers.weight
        chances = (left, right, tie)
        score = -sum(c * d for c, d in zip(counts, in_eta, strict=True))
        cut_score = -sum(c * d for c, d in zip(counts, in_cut, strict=True))
        steep_left, steep_right = left * (1.0 - left), right * (1.0 - right)
        curvature = (
            won * steep_left + lost * steep_right + answers.tied * (steep_left + steep_right)
        )
        cut_curvature = weight * sum(p * d * d for p, d in zip(chances, in_cut, strict=True))
        cross = weight * sum(p * d * e for p, d, e in zip(chances, in_eta, in_cut, strict=True))
        return LawTerms(
            loss,
            score,
            curvature,
            cut * cut_score,
            cut * cut * cut_curvature,
            cut * cross,
        )

    def probabilities(self, eta: FloatArray, nu: FloatArray) -> FloatArray:
        """Return the probabilities of left, right and tie, rows by answers."""
        cut, expit = _threshold(nu), special_of(eta).expit
        tie = -np.expm1(-2.0 * cut) * expit(cut - eta) * expit(cut + eta)
        return np.stack([expit(eta - cut), expit(-eta - cut), tie], axis=1)


Law = Wins | Adjacent | RaoKupper
Family = Advantage | Mixture


def win_terms(family: Family, gap: FloatArray, theta: FloatArray) -> Terms:
    """Return the terms of single wins at gaps, of annotators with these parameters.

    Where the family has no parameters of annotators, theirs do not matter.
    """
    one = np.ones_like(gap)
    known = dict.fromkeys(family.names, theta)
    return family.terms({GAP: gap}, known, Answers(one, 0.5 * one, np.zeros_like(gap)))


def information_roots(family: Family, gap: FloatArray, theta: FloatArray) -> list[FloatArray]:
    """Return roots of an answer's Fisher information in the gap, and in the parameter, if any.

    The information is the outer product of the two with themselves.

    Examples
    --------
    >>> family = Advantage((RELIABILITY,), Adjacent())
    >>> information_roots(family, np.zeros(1), np.full(1, 2.0))
    [array([1.]), array([0.])]
    """
    won, lost = win_terms(family, gap, theta), win_terms(family, -gap, theta)
    # The derivatives of P over the root of P (1 − P), each part exact in its tail.
    root_odds = np.exp(np.minimum(0.5 * (lost.loss - won.loss), _LARGEST_LOG))
    return [-won.score[name] * root_odds for name in (GAP, *family.names)]


def _threshold(nu: FloatArray) -> FloatArray:
    threshold: FloatArray = np.exp(np.clip(nu, -_NARROWEST, _WIDEST))
    return threshold


@lru_cache(maxsize=32)  # the same study is begun with several times
def typical_readiness(share: float, law: Law, gap_sd: float, sd: float) -> float:
    """Return the mean readiness at which a share of the answers are ties.

    Parameters
    ----------
    share
        That share.
    law
        How likely each answer is.
    gap_sd, sd
        Standard deviations of the advantages and of the readiness, both taken to be normal.

    Examples
    --------
    >>> round(typical_readiness(1 / 3, Adjacent(), 0.0, 0.0), 3)
    0.0
    """
    points, weights = np.polynomial.hermite_e.hermegauss(_POINTS)
    eta, off = (each.ravel() for each in np.meshgrid(gap_sd * points, sd * points))
    chance = np.outer(weights, weights).ravel() / weights.sum() ** 2
    low, high = _LEAST_TYPICAL, _MOST_TYPICAL
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        ties = float(chance @ law.probabilities(eta, middle + off)[:, 2])
        low, high = (low, middle) if ties > share else (middle, high)
    return 0.5 * (low + high)
