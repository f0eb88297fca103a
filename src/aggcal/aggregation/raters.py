"""What a fit of ratings says: of those who rated, of errors, and of later judgments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import pi, sqrt
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from aggcal._core.arrays import FloatArray
from aggcal._core.text import brief
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.covariance import Covariance, DenseCovariance
from aggcal.aggregation.effects import Effects, Reading
from aggcal.aggregation.empirical import Fit
from aggcal.aggregation.estimate import Quantify
from aggcal.aggregation.families import RELIABILITY
from aggcal.aggregation.graded import ABOVE, BELOW, LENIENCY, USE, Marks
from aggcal.aggregation.posterior import FitCovariance
from aggcal.aggregation.ratings import RatingsFit
from aggcal.aggregation.robust import Answers, Robust, robust
from aggcal.aggregation.rows import GAP, SCORES
from aggcal.aggregation.spreads import DEFAULT_RELIABILITY_SD, Prior
from aggcal.aggregation.terms import ChosenTerms
from aggcal.data.base import AnyJudgments

_LOGISTIC_SD = pi / sqrt(3.0)
_LEAST_INFORMATION = 1e-12  # of a rating that says nothing; only against division by 0


@dataclass(frozen=True, eq=False)
class Raters:
    """How annotators used the scale of the ratings, in its points."""

    leniency: Reading
    """How much higher each rates the same items than a typical annotator."""
    leniency_sd: float
    """How far annotators differ in it."""
    lowest: float | str
    """The lowest and the highest rating that somebody gave, as in the file."""
    highest: float | str
    lowest_best: bool
    use: Reading | None = None
    """How much of the scale each uses for the same items: 1 is typical."""
    noise: Reading | None = None
    """Standard deviation of each annotator's ratings of items that are equally good."""
    evidence: float | None = None
    """Log evidence that they differ in reliability and noise; None where too few ratings tell."""

    fewest: ClassVar[int] = 5
    """Ratings from which somebody may be called reversed."""

    __repr__ = brief

    @property
    def columns(self) -> dict[str, Reading]:
        """What is known of each annotator, by column."""
        every = {"leniency": self.leniency, "use_of_scale": self.use, "noise": self.noise}
        return {name: reading for name, reading in every.items() if reading is not None}

    def to_dict(self) -> dict[str, Any]:
        """Return what is known of all annotators together, as in ``summary.json``."""
        return {
            "leniency_sd": self.leniency_sd,
            "lowest": self.lowest,
            "highest": self.highest,
            "best": "lowest" if self.lowest_best else "highest",
            "reliability_and_noise_differ": self.noise is not None,
            "evidence": self.evidence,
        }

    def __str__(self) -> str:
        best = " (the lowest is the best)" if self.lowest_best else ""
        scale = f"on a scale from {mark(self.lowest)} to {mark(self.highest)}{best}"
        said = f"Leniency differs by {self.leniency_sd:.2g} points (standard deviation) {scale}"
        if self.noise is not None:
            return f"{said}; annotators differ in reliability and noise, too."
        why = "the data show no difference"
        if self.evidence is None:
            why = "too few ratings each would tell"
        return f"{said}; reliability and noise are taken to be alike: {why}."

    @classmethod
    def of(cls, fitted: RatingsFit) -> Raters:
        """Return what a fit says."""
        fit, act, scale, ratings = fitted.fit, fitted.act, fitted.scale, fitted.ratings
        names, posterior = fitted.names, act.posterior
        assert posterior is not None  # noqa: S101  # there is a fit
        typical = float(act.mean[names.index(USE)]) if USE in names else 1.0
        points = _points(fitted) / typical
        ends = float(ratings.value.min()), float(ratings.value.max())
        lowest, highest = (-ends[1], -ends[0]) if ratings.lowest_best else ends
        shown: tuple[float | str, float | str, bool] = lowest, highest, ratings.lowest_best
        if ratings.labels and not ratings.lowest_best:
            low, high = (ratings.labels[round(-end)] for end in ends)
            shown = low, high, False

        def reading(values: FloatArray, factor: float) -> Reading:
            mean, variance = fit.moments(act, values)
            return Reading(factor * mean, factor * np.sqrt(variance))

        k = names.index(LENIENCY)
        style: dict[str, Any] = {}
        if USE in names:
            use = posterior.of(USE)
            noise = 1.0 if scale.begins is None else _LOGISTIC_SD
            style = {
                "use": reading(posterior.strengths / use, typical),
                "noise": reading(1.0 / use, points * typical * noise),
            }
        sd = points * float(np.sqrt(act.covariance[k, k]))
        leniency = reading(posterior.of(LENIENCY), points)
        return cls(leniency, sd, *shown, **style, evidence=fitted.evidence)


def mark(rating: float | str) -> str:
    """Write a rating: a number, or a label.

    Examples
    --------
    >>> mark(3.0), mark("good")
    ('3', "'good'")
    """
    return f"'{rating}'" if isinstance(rating, str) else f"{rating:g}"


def _points(fitted: RatingsFit) -> float:
    """Return by how many points the expected rating rises with a unit of leniency, on average."""
    fit, scale, ratings = fitted.fit, fitted.scale, fitted.ratings
    if scale.begins is None:
        return float(scale.sd / fitted.act.family.precision)
    level = np.searchsorted(scale.begins, ratings.value, side="right")
    value = np.bincount(level, ratings.value) / np.maximum(np.bincount(level), 1)
    n = fit.n_items
    above = expit(fit.unknowns[:n, None] - fit.unknowns[None, n:])
    return float(((above * (1.0 - above)) @ np.diff(value)).mean())


def per_annotator(fitted: RatingsFit) -> FloatArray:
    """Return the posterior mean reliability of each annotator."""
    posterior = fitted.act.posterior
    assert posterior is not None  # noqa: S101  # there is a fit
    if RELIABILITY not in fitted.names:
        return np.ones(len(fitted.act.who))
    return posterior.mean(posterior.of(RELIABILITY))


@dataclass(frozen=True, eq=False)
class QuantifyRatings(Quantify):
    """The same as `Quantify`, of a fit of ratings."""

    rated: RatingsFit | None = None

    @property
    def _own(self) -> RatingsFit:
        assert self.rated is not None  # noqa: S101  # it is always given
        return self.rated

    def fit(self, consensus: Consensus) -> Fit | None:  # noqa: ARG002
        """Return none: there are no rows of pairs."""
        return None

    def covariance(self, consensus: Consensus, seed: int = 0, /) -> FitCovariance:  # noqa: ARG002
        """Return the covariance of scores and reliabilities."""
        own = self._own
        fit, square, variances = own.fit, own.scale.unit**2, None
        posterior = own.act.posterior
        if RELIABILITY in own.names and posterior is not None:
            variances = fit.moments(own.act, posterior.of(RELIABILITY))[1]
        matrix = DenseCovariance(square * fit.score_covariance)
        return FitCovariance(matrix, variances, by_prior=square * fit.by_prior)

    def _robust(
        self,
        consensus: Consensus,  # noqa: ARG002
        covariance: Covariance,
        seed: int,
    ) -> Robust:
        """Return the factor of what an annotator's ratings share beside leniency."""
        own, dense = self._own, covariance.dense()
        assert dense is not None  # noqa: S101  # there are no more items than that
        fit, act, n = own.fit, own.act, own.fit.n_items
        residual, by_gap, by_leniency = _residuals(own)
        marks: Any = act.rows.answers
        k = own.names.index(LENIENCY)
        leniency = act.posterior.mean(act.posterior.of(LENIENCY)) if act.posterior else 0.0
        # A rating compares its item with the scale, which is like an item that does not move.
        matrix = np.zeros((n + 1, n + 1))
        matrix[:n, :n] = dense.matrix
        answers = Answers(
            act.rows.owner.astype(np.int32),
            act.rows.left,
            np.full(len(act.rows), n, dtype=np.int32),
            marks.weight,
            residual,
            by_gap / own.scale.unit,
            by_leniency,
            np.asarray(leniency),
            1.0 / float(act.covariance[k, k]),
        )
        scores = np.append(own.scale.unit * fit.scores, 0.0)
        clusters = {"annotator": act.rows.owner.astype(np.int64)}
        found = robust(answers, scores, DenseCovariance(matrix), clusters, seed=seed)
        items = None if found.items is None else found.items[:n]
        return Robust(found.factors, items)

    def predictor(self, consensus: Consensus, otherwise: str) -> Effects:
        """Return what says how likely comparisons are, at the scores of the ratings."""
        own, prior = self._needed(consensus, otherwise), consensus.prior
        assert prior is not None  # noqa: S101  # ratings are fitted with one
        fit = self._results.of("pairs", consensus.scores, 0, lambda: self._at_mode(own, consensus))
        state = replace(fit.state, sds={SCORES: prior.score_sd})
        return Effects(self.judgments, ChosenTerms("halves"), replace(fit, state=state))


def _residuals(own: RatingsFit) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return Pearson residuals, and slopes of the mean in the gap and in the leniency, over the sd.

    That is, score and root of the Fisher information of each rating. Scores are expected ones: at
    posterior means those of ordinal ratings are larger, and errors came out 9% too wide.
    """
    fit, act, scale = own.fit, own.act, own.scale
    rows, posterior, family = act.rows, act.posterior, act.family
    assert posterior is not None  # noqa: S101  # there is a fit
    theta = {name: rows.per_row(posterior.mean(posterior.of(name))) for name in own.names}
    one, gap = np.ones(len(rows)), rows.channels[GAP].gather(fit.unknowns)
    reliability = theta.get(RELIABILITY, one)
    marks: Any = rows.answers
    if scale.begins is None:
        terms = family.terms({GAP: gap}, theta, Marks(one, marks.value, one, one))
        return -terms.score[LENIENCY], reliability, one
    cuts = np.concatenate([[0.0], fit.unknowns[fit.n_items :], [0.0]])
    information = np.zeros(len(rows))
    for level in range(scale.n_cuts + 1):
        moved = {GAP: gap, ABOVE: cuts[level + 1] * one, BELOW: cuts[level] * one}
        above, below = (level < scale.n_cuts) * one, (level > 0) * one
        terms = family.terms(moved, theta, Marks(one, one, above, below))
        information += np.exp(-terms.loss) * terms.score[LENIENCY] ** 2
    root = np.sqrt(np.maximum(information, _LEAST_INFORMATION))
    tape = fit.tapes[fit.acts.index(act)]
    # Raising both cuts is the same as less leniency.
    score = (tape.score[ABOVE] + tape.score[BELOW]) / marks.weight / theta.get(USE, one)
    return score / root, reliability * root, root


def rated_record(fitted: RatingsFit, method: Any, judgments: AnyJudgments) -> dict[str, Any]:
    """Return what a consensus records of a fit of ratings."""
    act, unit, names = fitted.act, fitted.scale.unit, fitted.names
    record: dict[str, Any] = {
        "scores": unit * fitted.fit.scores,
        "objective": fitted.fit.objective,
        "log_likelihood": None if act.posterior is None else act.posterior.log_evidence,
        "estimator": "marginal",
        "quantifier": QuantifyRatings(method, judgments, rated=fitted),
        "reliabilities": per_annotator(fitted),
        "raters": Raters.of(fitted),
    }
    sd = DEFAULT_RELIABILITY_SD
    if RELIABILITY in names:
        k = names.index(RELIABILITY)
        sd, record["reversed_share"] = float(np.sqrt(act.covariance[k, k])), act.share
    return record | {"prior": Prior(unit * fitted.fit.sd, sd)}
