"""What a fit of the general model found beside scores and reliabilities."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray
from aggcal._core.text import brief
from aggcal.aggregation.consensus import LEVEL
from aggcal.aggregation.disagreement import Camps
from aggcal.aggregation.effects import (
    EDGES,
    AnnotatorEffect,
    Axis,
    CategoryScores,
    Coefficients,
)
from aggcal.aggregation.general.choice import Chosen
from aggcal.aggregation.general.criteria import correlations, weighted, weighted_covariance
from aggcal.aggregation.general.fit import GeneralFit
from aggcal.aggregation.general.placing import Placing
from aggcal.aggregation.general.posing import general_problem
from aggcal.aggregation.general.posterior import Posterior, posterior
from aggcal.aggregation.general.prediction import Labels, Predictor
from aggcal.aggregation.general.problem import Problem
from aggcal.aggregation.solve.prior_sd import centred
from aggcal.data.base import AnyJudgments
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import CRITERION
from aggcal.models.general.annotators import POSITION, READINESS, STANCE
from aggcal.models.general.design import CONTROL, SCORES, Block
from aggcal.models.general.facts import facts_of


class Predicts(Protocol):
    """Knows how likely the answers to questions are."""

    def outcomes(self, judgments: Judgments) -> FloatArray:
        """Return the probabilities of left, right and tie for each row."""
        ...


@dataclass(frozen=True, eq=False)
class GeneralEffects:
    """Everything beside scores and reliabilities that was fitted (see `Effects`)."""

    judgments: AnyJudgments
    chosen: Chosen
    fit: GeneralFit
    uncontrolled: FloatArray | None = None
    """Scores of the fit in which nothing is held equal, where something is in this one."""
    camps: Camps | None = None
    """Camps of annotators; None where they were not looked for."""
    by_camp: Predicts | None = field(default=None, repr=False)
    """Predicts judgments by the camp of their annotator, where there are camps."""

    __repr__ = brief

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what kernels hold, and what follows from the rest."""
        return {name: value for name, value in self.__dict__.items() if name != "problem"}

    @cached_property
    def problem(self) -> Problem:
        """What was fitted."""
        return general_problem(self.judgments, self.chosen)

    @cached_property
    def posterior(self) -> Posterior:
        """How sure it is."""
        return posterior(self.fit, self.problem)

    @property
    def ties(self) -> str:
        """How ties were fitted."""
        return self.chosen.ties

    @property
    def context_fitted(self) -> bool:
        """Whether what items do in each context is part of the fit."""
        return "context" in self.chosen.cells

    @cached_property
    def position(self) -> AnnotatorEffect | None:
        """Preference for the left side."""
        return self._of(POSITION)

    @cached_property
    def readiness(self) -> AnnotatorEffect | None:
        """Readiness to call a tie."""
        return self._of(READINESS)

    def _of(self, name: str) -> AnnotatorEffect | None:
        known, layout = self.fit.known, self.problem.layout
        if self.chosen.alike:
            return self._common(name)
        if name not in known.names:
            return None
        at = layout.at_means + layout.means.index(name)
        return AnnotatorEffect(
            known.mean(known.of(name)),
            self.posterior.annotators[name],
            float(self.fit.state.unknowns[at]),
            float(np.sqrt(self.posterior.common[name])),
            float(self.fit.state.sds[known.names.index(name)]),
        )

    def _common(self, name: str) -> AnnotatorEffect | None:
        """Return a parameter that all annotators share."""
        layout = self.problem.layout
        block = layout.design.blocks.get(POSITION)
        where = layout.where_ties if name == READINESS else getattr(block, "where", slice(0))
        if where.stop == where.start or not where.stop:
            return None
        at, m = int(where.start), self.judgments.n_annotators
        value, variance = float(self.fit.state.unknowns[at]), float(self._variances[at])
        both = np.full(m, value), np.full(m, variance)
        return AnnotatorEffect(*both, value, float(np.sqrt(variance)), 0.0)

    @cached_property
    def _variances(self) -> FloatArray:
        covariance = self.posterior.covariance
        return covariance if covariance.ndim == 1 else np.diag(covariance)

    @property
    def control(self) -> Coefficients | None:
        """Coefficients of what is held equal."""
        block = self.problem.layout.design.blocks.get(CONTROL)
        if block is None:
            return None
        assert self.chosen.control is not None  # noqa: S101  # there are coefficients of it
        values = self.fit.state.unknowns[block.where]
        names = self.chosen.control.names
        return Coefficients(names, values, np.sqrt(self._variances[block.where]))

    @cached_property
    def categories(self) -> tuple[CategoryScores, ...]:
        """Scores by category."""
        return tuple(self._category(name) for name in self.chosen.cells if name != "context")

    def _category(self, name: str) -> CategoryScores:
        layout, n = self.problem.layout, self.judgments.n_items
        block, overall = layout.design.blocks[name], layout.design.blocks[SCORES]
        called = name.removeprefix("by ")
        ids = self.judgments.category_ids[called]
        shape = len(ids), n
        scores, se = np.full(shape, np.nan), np.full(shape, np.nan)
        unknowns, covariance = self.fit.state.unknowns, self.posterior.covariance
        own = np.arange(block.begin, block.end)
        base = overall.begin + block.item
        where = block.group, block.item
        scores[where] = unknowns[base] + unknowns[own]
        if covariance.ndim == 1:
            variances = covariance[base] + covariance[own]
        else:
            variances = covariance[base, base] + covariance[own, own] + 2.0 * covariance[base, own]
        se[where] = np.sqrt(np.maximum(variances, 0.0))
        given = facts_of(self.judgments).category_weights[called]
        sd = self.fit.state.block_sds[name]
        sds = self.fit.state.block_sds[SCORES], sd
        alike = correlations(ids, block, unknowns, covariance, sds)
        joint: tuple[FloatArray, ...] = ()
        if covariance.ndim > 1:
            groups = range(len(ids))
            joint = tuple(_joint(covariance, base, own, block.group == g) for g in groups)
        return CategoryScores(called, ids, scores, se, sd, given, alike, joint)

    @cached_property
    def scores(self) -> FloatArray:
        """What the items are ordered by: the scores, or the weighted mean of those by criterion."""
        n, unknowns = self.judgments.n_items, self.fit.state.unknowns
        if self.chosen.weights is None:
            return unknowns[:n]
        return weighted(self._criteria, self.chosen.weights, unknowns, n)[0]

    @cached_property
    def score_covariance(self) -> FloatArray | None:
        """Their covariance about the mean of their component; None where unknowns are many."""
        weights, found = self.chosen.weights, self.posterior
        if weights is None or found.scores is None:
            return found.scores
        block, unknowns = self._criteria, self.fit.state.unknowns
        map_ = weighted(block, weights, unknowns, self.judgments.n_items)[1]
        own_sd = self.fit.state.block_sds[block.name]
        matrix = weighted_covariance(block, weights, map_, found.covariance, own_sd)
        return centred(matrix, self.problem.component)

    @cached_property
    def by_prior(self) -> FloatArray | None:
        """V Λ V of the scores, with the precisions Λ of all priors; None of many unknowns."""
        covariance = self.posterior.covariance
        if covariance.ndim == 1 or self.chosen.weights is not None:
            return None
        own = covariance[self.problem.layout.design.blocks[SCORES].where]
        precision = self.problem.precision(self.fit.state)
        return centred((own * precision) @ own.T, self.problem.component)

    @property
    def _criteria(self) -> Block:
        return self.problem.layout.design.blocks[f"by {CRITERION}"]

    def _weights(self) -> dict[str, float] | None:
        """Return the weight of each criterion, where scores are their weighted mean."""
        if self.chosen.weights is None:
            return None
        ids = self.judgments.category_ids[CRITERION]
        return dict(zip(map(str, ids), self.chosen.weights, strict=True))

    @cached_property
    def axis(self) -> Axis | None:
        """The axis of disagreement."""
        if STANCE not in self.chosen.names:
            return None
        layout, known, unknowns = self.problem.layout, self.fit.known, self.fit.state.unknowns
        stances = known.mean(known.of(STANCE))
        where = layout.where_axis
        items, n = unknowns[where], self.judgments.n_items
        middle = float(np.quantile(stances, EDGES).mean())
        covariance = self.posterior.covariance
        variances = self._variances
        ground = variances[:n] + middle**2 * variances[where]
        if covariance.ndim > 1:
            ground = ground + 2.0 * middle * np.diag(covariance[:n, where])
        return Axis(
            items,
            np.sqrt(variances[where]),
            stances,
            self.posterior.annotators[STANCE],
            unknowns[:n] + middle * items,
            np.sqrt(np.maximum(ground, 0.0)),
            self._axis_share(),
        )

    def _axis_share(self) -> float:
        """Return the part of the axis in the squared advantages of items over others."""
        state = self.fit.state
        found = self.problem.integrated(state, self.fit.known)
        own, shared = found.axis_parts(state.unknowns).tolist()
        return float(own / max(own + shared, 1e-300))

    @property
    def grades(self) -> FloatArray:
        """How common each strength is between equal items, relative to the first."""
        return self.fit.state.grades

    @cached_property
    def _predictor(self) -> Predictor:
        judgments = self.judgments
        labels = Labels(
            judgments.item_ids,
            judgments.annotator_ids,
            judgments.context_ids,
            {f"by {name}": ids for name, ids in judgments.category_ids.items()},
        )
        return Predictor(labels, self.problem.layout, self.chosen, self.fit, self.posterior)

    def outcomes(self, judgments: Judgments, *, averaged: bool = True) -> FloatArray:
        """Return the probabilities of left, right and tie for each row.

        They are averaged over what is uncertain, or those at the estimates.
        """
        if self.by_camp is not None:
            return self.by_camp.outcomes(judgments)
        held = self._held(judgments)
        return self._predictor.probabilities(judgments, held, averaged=averaged)

    def placing(self, judgments: Judgments) -> Placing:
        """Return what places the new items of some judgments."""
        held = self._held(judgments)
        return Placing.of(self._predictor, judgments, self.chosen, held)

    def _held(self, judgments: Judgments) -> FloatArray | None:
        """Return the differences of what is held equal, rows by covariates."""
        control = self.chosen.control
        if control is None:
            return None
        sides = judgments.left, judgments.right
        return control.differences(judgments, *sides, judgments.context)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as in ``summary.json``."""
        found: dict[str, Any] = {"ties": self.ties}
        for name, effect in (("position", self.position), ("tie_readiness", self.readiness)):
            found[name] = None if effect is None else effect.to_dict()
        found["position_evidence"] = self.chosen.evidence
        found["n_ties"] = facts_of(self.judgments).n_ties
        context = self.judgments.context_name if "context" in self.chosen.cells else None
        found["context"] = context
        found["contexts"] = self._contexts()
        found["categories"] = {
            column.name: {
                "sd": column.sd,
                "categories": [str(one) for one in column.ids],
                "judgments": column.judgments.tolist(),
                "correlations": []
                if column.correlation is None
                else column.correlation.to_dict(LEVEL),
            }
            for column in self.categories
        }
        found["criteria_weights"] = self._weights()
        found["control"] = None if self.control is None else self.control.to_dict()
        found["bridge"] = self.axis is not None or self.camps is not None
        found["axis"] = None if self.axis is None else self.axis.to_dict()
        found["camps"] = None if self.camps is None else self.camps.to_dict()
        if len(self.grades) > 1:
            found["grades"] = self.grades.tolist()
        return found

    def _contexts(self) -> dict[str, Any] | None:
        """Say which contexts there are, and what they do to items where that was fitted."""
        ids = self.judgments.context_ids
        if ids is None:
            return None
        fitted, sds = "context" in self.chosen.cells, self.fit.state.block_sds
        return {
            "name": self.judgments.context_name,
            "number": len(ids),
            "fitted": fitted,
            "sd": sds["context"] if fitted else None,
        }


def _joint(covariance: FloatArray, base: IntArray, own: IntArray, mine: BoolArray) -> FloatArray:
    """Return the covariance of sums of two unknowns each, those of one group."""
    a, b = base[mine], own[mine]
    cross = covariance[np.ix_(a, b)]
    both = covariance[np.ix_(a, a)] + covariance[np.ix_(b, b)]
    return np.asarray(both + cross + cross.T)
