"""Fits with terms beside items and reliabilities, and the uncertainty of their scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, dot, sums
from aggcal._core.text import brief
from aggcal.aggregation.at_once import QuantifyAtOnce
from aggcal.aggregation.camps import continued, find_camps, fit_axis, fit_by_camp
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.effects import Effects
from aggcal.aggregation.empirical import FIRST_SDS, Fit, Model, Problem, Progress, State, fit
from aggcal.aggregation.estimate import MANY_JUDGMENTS
from aggcal.aggregation.families import RELIABILITY
from aggcal.aggregation.protocols import Curvature, Curved
from aggcal.aggregation.refusals import refuse_apart, refuse_pieces
from aggcal.aggregation.rows import COMMON_POSITION, CONTEXT_READINESS, CONTROL, GAP, SCORES
from aggcal.aggregation.spreads import LOG_SD, centred
from aggcal.aggregation.terms import ChosenTerms, model_of, weights_are_counts
from aggcal.aggregation.uncertainty.covariance import Covariance, DenseCovariance
from aggcal.aggregation.uncertainty.laplace import laplace
from aggcal.aggregation.uncertainty.matrix_free import MatrixFreeCovariance
from aggcal.aggregation.uncertainty.robust import Answers
from aggcal.aggregation.uncertainty.row_forces import RowForces
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.errors import AggcalWarning, NoMaximumWarning, OptionError
from aggcal.models.information import Information
from aggcal.models.information import information as information_of
from aggcal.models.rows import rows_of

_VANISHING = (1.0, 10.0, 100.0, 1e4)
"""Sds of priors that get weaker, each fit beginning where the last one ended: the widest moves
nothing by more than a hundred-millionth of itself, and still holds what the data leave free."""
_FAR_OUT = 15.0
"""Size of a score or an effect beyond which it is taken to run away."""
_CERTAIN = 1e-12
"""A variance of an answer below which it says nothing."""
_PROBES = 8
"""Random vectors that show how far variances exceed those of the diagonal, a few percent."""


def fit_terms(
    judgments: AnyJudgments,
    chosen: ChosenTerms,
    begin: Callable[[Model], State],
    *,
    fixed: frozenset[str] = frozenset(),
    on_iteration: Progress | None = None,
) -> Effects:
    """Fit judgments with further terms, annotators' parameters integrated out.

    What is controlled for, camps and an axis are added to a fit without them.

    Parameters
    ----------
    judgments, chosen
        What was judged, and the terms.
    begin
        Returns where to begin with a model: a fit without terms.
    fixed
        Names of standard deviations that are known.
    on_iteration
        Called with the iteration and what still moves.
    """

    def run(model: Model, state: State) -> Fit:
        return fit(Problem(model), state, on_iteration)

    first = replace(chosen, bridge=False, camps="", control=None)
    model = model_of(judgments, first, fixed=fixed)
    result, uncontrolled, camps, by_camp = run(model, begin(model)), None, None, None
    if chosen.control is not None:
        uncontrolled, first = result.scores, replace(first, control=chosen.control)
        model = model_of(judgments, first, fixed=fixed)
        result = run(model, continued(model, result))
    if chosen.camps:
        local = judgments.on_one_machine("looking for camps")
        rows = model.rows
        if not weights_are_counts(local):
            rows = model_of(local, first, answers=True).rows
        camps = find_camps(rows, result)
        if len(camps.scores):
            by_camp = fit_by_camp(local, first, camps, result, run)
            camps = by_camp.described(camps)
        chosen = replace(chosen, bridge=chosen.camps == "auto" and by_camp is None)
    if chosen.bridge:
        result = fit_axis(model_of(judgments, chosen, fixed=fixed), result, run)
    # Refits keep what was decided, and do not look for camps again.
    return Effects(judgments, replace(chosen, camps=""), result, uncontrolled, camps, by_camp)


def fit_alike(
    judgments: AnyJudgments,
    chosen: ChosenTerms,
    scores: FloatArray,
    score_sd: float | None,
    *,
    fixed: bool,
    on_iteration: Progress | None = None,
) -> Effects:
    """Fit judgments of annotators who are alike with further terms: one readiness, one position.

    Parameters
    ----------
    judgments, chosen
        What was judged, and the terms.
    scores
        To begin with.
    score_sd, fixed
        Sd of the prior of the scores, and whether it is known; None is no prior at all.
    on_iteration
        Called with the iteration and what still moves.
    """
    uncontrolled = None
    if chosen.control is not None:
        without, uncontrolled = replace(chosen, control=None), scores
        if not without.plain:
            before = fit_alike(
                judgments, without, scores, score_sd, fixed=fixed, on_iteration=on_iteration
            )
            scores = uncontrolled = before.fit.scores
    model = model_of(judgments, chosen, fixed=frozenset({SCORES} if fixed else ()))
    if score_sd is None:
        result = _likelihood_maximum(model, chosen, scores, on_iteration)
    else:
        result = fit(Problem(model), model.first_state(scores, {SCORES: score_sd}), on_iteration)
    return Effects(judgments, chosen, result, uncontrolled)


def _likelihood_maximum(
    model: Model, chosen: ChosenTerms, scores: FloatArray, on_iteration: Progress | None
) -> Fit:
    """Return the maximum-likelihood estimate, approached by priors that get weaker."""
    if chosen.cells:
        raise OptionError(
            "effects of contexts and scores by category need a prior; use one (the default), "
            "or leave --context-effects and --by out."
        )
    model = replace(model, fixed=frozenset({SCORES}))
    state = model.first_state(scores)
    for sd in _VANISHING:
        wide = dict.fromkeys((SCORES, COMMON_POSITION, CONTEXT_READINESS), sd)
        wide[CONTROL] = max(sd, FIRST_SDS[CONTROL])
        sds = {name: wide.get(name, value) for name, value in state.sds.items()}
        result = fit(Problem(model), replace(state, sds=sds), on_iteration)
        state = result.state
        if _ran_away(result):
            break
    return result


def _ran_away(result: Fit) -> bool:
    return float(np.abs(result.state.unknowns).max(initial=0.0)) > _FAR_OUT


def no_maximum(result: Fit) -> list[AggcalWarning]:
    """Say that a maximum-likelihood estimate does not exist, where it runs away."""
    if not _ran_away(result):
        return []
    return [
        NoMaximumWarning(
            "The maximum-likelihood estimate does not exist: scores or effects grow without "
            "bound, because the judgments never contradict them.",
            "Use a prior (the default), or collect judgments that contradict these.",
            title="There is no maximum-likelihood estimate",
            why="Scores or effects grow without bound, because the judgments never contradict "
            "them.",
        )
    ]


def penalised(result: Fit) -> float:
    """Return the penalised negative log-likelihood at a fit."""
    return result.problem.prior(result.state)[0] - result.posterior.log_evidence


@dataclass(frozen=True, eq=False)
class QuantifyTerms(QuantifyAtOnce):
    """Knows the posterior of a fit with terms."""

    effects: Effects = field(repr=False)

    __repr__ = brief

    def _laplace(
        self,
        own: Curved,
        consensus: Consensus,
        seed: int,
        on_draw: Callable[[int, int], None] | None,  # noqa: ARG002
    ) -> Curvature:
        if consensus.prior is None:
            refuse_pieces(self.judgments)
        effects = self.effects
        integrated = RELIABILITY in effects.chosen.names
        variances = effects.variances_of(RELIABILITY) if integrated else None
        if effects.covariance.ndim == 1:
            likelihood = own.problem(rows_of(self.judgments), consensus)
            at = consensus.scores, own.parameters(consensus.reliabilities)
            information = information_of(likelihood, *at)
            return Curvature(_many_scores(effects, information, seed), variances)
        matrix, by_prior = _dense_scores(effects)
        return Curvature(DenseCovariance(matrix), variances, by_prior=by_prior)

    def _answers(
        self, consensus: Consensus, judgments: Judgments, row: IntArray, weight: FloatArray
    ) -> Answers:
        """Return what each answer tells, by its probabilities with all terms."""
        averaged = judgments.n_judgments < MANY_JUDGMENTS
        left, _, tie = self.effects.outcomes(judgments, averaged=averaged).T
        # Of a logistic link the mean's derivative in γ (s_i − s_j) is the outcome's variance.
        sd = np.sqrt(np.maximum(left + 0.25 * tie - np.square(left + 0.5 * tie), _CERTAIN))
        residual = (judgments.outcome - left - 0.5 * tie) / sd
        gap = consensus.scores[judgments.left] - consensus.scores[judgments.right]
        reliability = consensus.reliabilities
        answers = Answers(
            judgments.annotator[row],
            judgments.left[row],
            judgments.right[row],
            weight,
            residual[row],
            (reliability[judgments.annotator] * sd)[row],
        )
        if self.effects.chosen.alike or consensus.prior is None:
            return answers
        return replace(
            answers,
            by_reliability=(gap * sd)[row],
            excess=reliability - np.sign(reliability),
            prior_precision=consensus.prior.reliability_precision,
        )

    def row_forces(self, consensus: Consensus) -> RowForces | None:
        """Return what each judgment does to the scores, everything beside them fixed."""
        effects = self.effects
        if effects.chosen.alike or effects.chosen.weights is not None:
            return super().row_forces(consensus)
        curvature = effects.fit.curvature
        tape, rows = curvature.tape, effects.fit.problem.model.rows
        return RowForces(
            rows.owner,
            rows.left,
            rows.right,
            -tape.force[GAP],
            tape.curve[GAP, GAP],
            curvature.precision[rows.blocks[SCORES].where],
            rows.n_annotators,
        )

    def _placed(
        self,
        judgments: Judgments,
        new: IntArray,
        fixed: FloatArray,
        consensus: Consensus,  # noqa: ARG002
    ) -> tuple[FloatArray, FloatArray]:
        """Score new items by all that was fitted: sides, ties, contexts."""
        known, placed = np.isfinite(fixed), []
        for item in new.tolist():
            mine = (judgments.left == item) & known[judgments.right]
            mine |= (judgments.right == item) & known[judgments.left]
            if not mine.any():
                refuse_apart(judgments, item)
            placed.append(self.effects.score_of(judgments, item, mine))
        scores, sd = np.array(placed).T
        return scores, sd

    def probabilities(self, consensus: Consensus, judgments: AnyJudgments) -> FloatArray:  # noqa: ARG002
        """Return the probability that each row's annotator prefers its left item: a tie is half."""
        rows = judgments.on_one_machine("the probability of each judgment")
        left, _, tie = self.effects.outcomes(rows).T
        return np.asarray(left + 0.5 * tie)

    def outcomes(self, consensus: Consensus, judgments: AnyJudgments) -> FloatArray:  # noqa: ARG002
        """Return the probabilities of left, right and tie for each row."""
        return self.effects.outcomes(judgments.on_one_machine("the probability of each outcome"))


def _dense_scores(effects: Effects) -> tuple[FloatArray, FloatArray | None]:
    """Return the covariance of the scores, and V Λ V with the precisions Λ of all priors."""
    if effects.chosen.weights is not None:
        return effects.weighted_covariance(), None
    result, covariance = effects.fit, effects.covariance
    model, n = result.problem.model, len(result.scores)
    by_prior = (covariance[:n] * result.curvature.precision) @ covariance[:n].T
    matrix = centred(covariance[:n, :n], model.component)
    if SCORES in model.estimated:
        # What the uncertain sd of the scores adds.
        precision, components = result.state.sds[SCORES] ** -2.0, int(model.component.max()) + 1
        trace, square = float(np.trace(matrix)), dot(matrix.ravel(), matrix.ravel())
        room = n - components - 2.0 * precision * trace + precision**2 * square
        push = 2.0 * precision * (matrix @ result.scores)
        matrix += np.outer(push, push) / (2.0 * max(room, 0.0) + LOG_SD**-2)
    return matrix, centred(by_prior, model.component)


def _many_scores(effects: Effects, information: Information, seed: int) -> Covariance:
    """Return the covariance of scores among many unknowns.

    How scores go together is taken from the likelihood with ties as halves; how sure each is, from
    the fit with terms.
    """
    curvature, blocks = effects.fit.curvature, effects.fit.problem.model.rows.blocks
    scores, precision, diagonal = blocks[SCORES].where, curvature.precision, curvature.diagonal()
    own = diagonal[scores].copy()
    for name, block in blocks.items():
        if name != SCORES and (block.item >= 0).all():  # coefficients are of no item
            coupled = np.maximum(diagonal[block.where] - precision[block.where], 0.0)
            own -= sums(block.item, coupled**2 / diagonal[block.where], len(own))
    own = np.maximum(own, precision[scores])
    information.constraints.append(curvature.constraint[scores])
    covariance, _ = laplace(information, seed=seed, probes=_PROBES)
    factors = information.diagonal() / own
    if isinstance(covariance, MatrixFreeCovariance):
        return covariance.scaled(factors)
    root = np.sqrt(factors)
    matrix = covariance.matrix if isinstance(covariance, DenseCovariance) else np.diag(root)
    return DenseCovariance(root[:, None] * matrix * root)
