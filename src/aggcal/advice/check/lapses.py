r"""Annotators who err on easy pairs: as if a share λ of their answers were tosses of a coin.

    P(agree with the others) = (1 − λ) F(γ |gap|) + λ/2

Their reliability γ alone, λ = 0, foretells few errors where the others put two items far apart; who
is careful on close pairs and still errs on those lapses now and then, or understood the question in
another way. A likelihood ratio tells, the reliability that fits best being taken with λ and
without. The reliability that was fitted cannot: lapses have lowered it until all is as expected.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from aggcal._core.arrays import BoolArray, CodeArray, FloatArray, IntArray, elementwise, sums
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.findings import Affects, Finding, annotators_named, listed, rounded
from aggcal.advice.check.testing import holm
from aggcal.aggregation.links import LOGISTIC
from aggcal.errors import count

_RATE = 0.01
"""Chance that a study names anybody who never lapses: a lower one misses more of those who do."""
_LEAST_SHARE = 0.05  # of answers: fewer lapses, however sure, change no score to speak of
_WORTH_A_LOOK = 1.0
"""Standard errors of errors on easy pairs that an annotator may lack of what would tell, and is
looked at more closely all the same: fewer would miss some, more take time for nothing."""
_TYPICAL = 0.1  # the share that errors on easy pairs are first weighed for
_SHARES: FloatArray = np.array([0.0, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.45])
_OTHERS = 200
"""Annotators, those with most answers, who tell how often people lapse: more take longer."""
_ALIKE = 10.0
"""Annotators that the model counts as when others are asked how much shares differ: a higher number
trusts that it is right."""
_UPPER_QUARTILE = 0.455  # of squared scores, of which half are 0: the median of χ² with 1 degree
_AT_ONCE = 32  # annotators who are looked at together: more take more memory, fewer more time
_SIZES: FloatArray = np.concatenate([np.arange(80) / 20.0, 4.0 + np.arange(17) / 2.0])
"""What sizes of gaps are rounded to: easy pairs are all alike."""
_STEPS = (np.arange(-5.0, 6.0), *(np.array([-1, -0.5, 0, 0.5, 1]) / 2**k for k in range(1, 5)))
"""Powers of two by which the reliability is looked for, ever more closely, in the end to 2%."""


@dataclass(frozen=True, eq=False)
class Lapses:
    """Who lapses, and how much.

    Examples
    --------
    One of ten answers well, but tosses a coin now and then:

    >>> import aggcal
    >>> from aggcal.simulation import simulate
    >>> study = simulate(items=15, annotators=10, judgments=6000, seed=1)
    >>> table = dict(study.shown)
    >>> mine = np.flatnonzero(study.annotator == 0)
    >>> best = study.latent[study.left] > study.latent[study.right]
    >>> table["outcome"] = table["outcome"].copy()
    >>> table["outcome"][mine] = np.where(best, "left", "right")[mine]
    >>> table["outcome"][mine[::4]] = ["left", "right"] * (len(mine[::4]) // 2)
    >>> found = Lapses.of(Fitted.of(aggcal.read_judgments(table)))
    >>> found.who, found.share[found.who]
    (array([0]), array([0.2]))
    """

    who: IntArray
    """Those who lapse beyond doubt, most first."""
    share: FloatArray
    """Of each annotator's answers, how many look tossed; 0 of those who were not looked at."""

    @classmethod
    def of(cls, fitted: Fitted) -> Lapses:
        """Find them, each held against how often the others lapse."""
        m = fitted.judgments.n_annotators
        beyond, off = _beyond(fitted)
        some = np.flatnonzero(beyond > -ndtri(_RATE / m) - _WORTH_A_LOOK)
        share: FloatArray = np.zeros(m)
        if not len(some):
            return cls(some, share)
        inflation = fitted.clusters.inflation(off)
        likely = _likelihoods(fitted, some)
        share[some] = _SHARES[likely.argmax(axis=1)]

        def sure(some: IntArray, squares: FloatArray) -> BoolArray:
            """Say whose squared standard scores tell."""
            score: FloatArray = np.zeros(m)
            score[some] = -np.sqrt(squares)
            p_value = fitted.clusters.tail(score, inflation)
            return holm(np.where(score < 0.0, p_value, 1.0), _RATE) & (share >= _LEAST_SHARE)

        # The likelihoods of the others take longer: first, as if they were known never to lapse.
        chosen = sure(some, _excess(likely, np.where(_SHARES == 0.0, 0.0, -np.inf)[None]))
        if chosen.any():
            crowd = _Crowd.of(fitted, inflation)
            chosen = sure(some, crowd.excess(likely, some))
        if chosen.any():
            # Errors about one item, which was misread or is seen in another way, are no lapses.
            some = np.flatnonzero(chosen)
            likely = _likelihoods(fitted, some, _about_worst(fitted, off, chosen))
            chosen = sure(some, crowd.excess(likely, some))
        who = np.flatnonzero(chosen)
        return cls(who[np.argsort(-share[who], kind="stable")], share)


def lapse_findings(fitted: Fitted, found: Lapses, named_already: set[int]) -> list[Finding]:
    """Report annotators who err on easy pairs, unless something worse was said of them."""
    judgments = fitted.judgments
    who = np.array([u for u in found.who.tolist() if u not in named_already], dtype=np.int64)
    if not len(who):
        return []
    ids, share = judgments.annotator_ids[who], found.share[who]
    return [
        Finding(
            "note",
            "erratic",
            f"'{ids[0]}' errs more on easy pairs than their answers to close pairs suggest: about "
            f"{share[0]:.0%} of all answers look like tosses of a coin.{annotators_named(ids)}",
            "Look at their answers to easy pairs for lapses of attention, or for another "
            "understanding of the question.",
            {"annotators": listed(ids), "number": len(who), "tossed": rounded(share)},
            title=f"{count(len(who), 'annotator')} of {judgments.n_annotators:,} "
            f"{'errs' if len(who) == 1 else 'err'} on easy pairs",
            affects=Affects.by_annotators(judgments, who.tolist()),
        )
    ]


def _beyond(fitted: Fitted) -> tuple[FloatArray, FloatArray]:
    """Return how many standard errors lapses are above 0, and what each row has to do with it.

    A score test; what another reliability would explain is taken out.
    """
    judgments, m = fitted.judgments, fitted.judgments.n_annotators

    def weighed(
        p: FloatArray, gap: FloatArray, outcome: FloatArray, number: FloatArray
    ) -> tuple[FloatArray, ...]:
        tossed = (1.0 - _TYPICAL) * p + 0.5 * _TYPICAL
        weight = (0.5 - p) / (tossed * (1.0 - tossed))
        off, variance = outcome - p, number * p * (1.0 - p)
        pulls = number * off * weight, number * off * gap
        squares = variance * weight * weight, variance * weight * gap, variance * gap * gap
        return off * weight, *pulls, *squares

    columns = fitted.probability, fitted.gap, judgments.outcome, fitted.number
    off, *parts = elementwise(weighed, *columns, results=6)
    pull, slope, own, both, other = (sums(judgments.annotator, each, m) for each in parts)
    explained = both / np.maximum(other, 1e-300)
    variance = np.maximum(own - explained * both, 1e-12)
    return (pull - explained * slope) / np.sqrt(variance), off


def _excess(likely: FloatArray, others: FloatArray) -> FloatArray:
    """Return twice the log-likelihood ratio against the same share as others; 0 for a lower one."""
    together = (likely + others).max(axis=1)
    more = np.maximum(likely.max(axis=1) + others.max(axis=1) - together, 0.0)
    return np.where(likely.argmax(axis=1) > others.argmax(axis=1), 2.0 * more, 0.0)


@dataclass(frozen=True, eq=False)
class _Crowd:
    """Those who gave most answers: how often people lapse, and how much they differ in that."""

    who: IntArray
    own: FloatArray
    """Log-likelihood of each share, annotators by shares; 0 of those who are not among them."""
    squares: FloatArray
    """By how much each of them lapses more than the others: standard scores, squared."""

    @classmethod
    def of(cls, fitted: Fitted, inflation: FloatArray) -> _Crowd:
        judgments, m = fitted.judgments, fitted.judgments.n_annotators
        given = sums(judgments.annotator, fitted.number, m)
        who = np.argsort(-given, kind="stable")[:_OTHERS]
        own: FloatArray = np.zeros((m, len(_SHARES)))
        own[who] = _likelihoods(fitted, who)
        squares = _excess(own[who], own.sum(axis=0) - own[who]) / inflation[who]
        return cls(who, own, squares)

    def excess(self, likely: FloatArray, some: IntArray) -> FloatArray:
        """Return by how much each of these lapses more than the others, beside how those differ.

        Where everybody lapses nobody is worse for it. Where errors follow no logistic curve, or
        answers depend on each other in ways that the data do not tell, people differ by more than
        chance.
        """
        found = _excess(likely, self.own.sum(axis=0) - self.own[some])
        for k, u in enumerate(some.tolist()):
            others = self.squares[self.who != u]
            high = float(np.quantile(others, np.array([0.75]))[0]) / _UPPER_QUARTILE
            wider = (len(others) * high + _ALIKE) / (len(others) + _ALIKE)
            found[k] /= max(wider, 1.0)
        return found


def _about_worst(fitted: Fitted, off: FloatArray, chosen: BoolArray) -> BoolArray:
    """Say which rows are about the item on which their annotator, one of these, lapses most."""
    judgments = fitted.judgments
    found: BoolArray = np.zeros(len(off), dtype=bool)
    for u in np.flatnonzero(chosen).tolist():
        mine = np.flatnonzero(judgments.annotator == u)
        pull, left, right = (fitted.number * off)[mine], judgments.left[mine], judgments.right[mine]
        n = judgments.n_items
        worst = int(np.argmax(sums(left, pull, n) + sums(right, pull, n)))
        found[mine] = (left == worst) | (right == worst)
    return found


def _likelihoods(fitted: Fitted, some: IntArray, without: BoolArray | None = None) -> FloatArray:
    """Return the log-likelihood of each share, at the reliability that fits it best."""
    agreed, differed = _counted(fitted, some, without)
    parts = [slice(k, k + _AT_ONCE) for k in range(0, len(some), _AT_ONCE)]
    return np.concatenate([_fitted(agreed[part], differed[part]) for part in parts])


def _counted(
    fitted: Fitted, some: IntArray, without: BoolArray | None
) -> tuple[FloatArray, FloatArray]:
    """Count answers that agree with the others, and that do not, by annotator and size of gap."""
    judgments = fitted.judgments
    place = np.full(judgments.n_annotators, -1)
    place[some] = np.arange(len(some))
    counted = (place[judgments.annotator] >= 0) & (fitted.number > 0.0)
    kept = np.flatnonzero(counted if without is None else counted & ~without)
    who: CodeArray = judgments.annotator[kept]
    gap, outcome, number = fitted.gap[kept], judgments.outcome[kept], fitted.number[kept]
    rounded_size = np.searchsorted(0.5 * (_SIZES[1:] + _SIZES[:-1]), np.abs(gap))
    agrees = np.where(gap >= 0.0, outcome, 1.0 - outcome)
    cell = place[who] * len(_SIZES) + rounded_size
    agreed, differed = (
        sums(cell, number * each, len(some) * len(_SIZES)).reshape(len(some), -1)
        for each in (agrees, 1.0 - agrees)
    )
    return agreed, differed


def _fitted(agreed: FloatArray, differed: FloatArray) -> FloatArray:
    """Return the log-likelihood of each share, annotators by shares."""
    used = (agreed + differed).any(axis=0)
    agreed, differed, sizes = agreed[:, used], differed[:, used], _SIZES[used]
    log_slope: FloatArray = np.zeros((len(agreed), len(_SHARES)))
    found, tossed = log_slope, _SHARES[:, None, None]
    for steps in _STEPS:
        tried = log_slope[..., None] + np.log(2.0) * steps
        chance = LOGISTIC.probability(np.exp(tried)[..., None] * sizes)
        chance = (1.0 - tossed) * chance + 0.5 * tossed
        # Where the slope is steep no error is possible but a lapse.
        against = np.log(np.maximum(1.0 - chance, 1e-300))
        likely = np.log(chance) @ agreed[:, None, :, None] + against @ differed[:, None, :, None]
        best = likely.argmax(axis=2)
        log_slope = np.take_along_axis(tried, best, axis=2)[..., 0]
        found = np.take_along_axis(likely[..., 0], best, axis=2)[..., 0]
    return found
