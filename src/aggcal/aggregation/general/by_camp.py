"""What each camp thinks of the items: the general model, with the camps as categories of the rows.

The mixture that finds camps takes sides, ties and contexts as one order for all explains them, and
gives the most probable scores, which are too small where answers are nearly certain. So once it is
known who is in which camp, everything is fitted again, and annotated with its uncertainty: scores
that the camps share, what each adds, reliabilities, sides, ties.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from aggcal._core.arrays import BoolArray, CodeArray, FloatArray, IntArray
from aggcal._core.tables import aligned, as_text
from aggcal._core.text import brief
from aggcal.aggregation.disagreement import LETTERS, Camps
from aggcal.aggregation.general.camps import Decision, Found
from aggcal.aggregation.general.choice import Chosen
from aggcal.aggregation.general.fit import GeneralFit
from aggcal.aggregation.general.found import GeneralEffects
from aggcal.aggregation.general.posing import general_problem
from aggcal.aggregation.general.problem import State
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import Categories
from aggcal.models.general.annotators import RELIABILITY
from aggcal.models.general.design import SCORES, Block

_SURE = 0.8
"""Probability from which an annotator's answers count for a camp; those of others only for what
camps have in common. Lower, answers of the other camp blur a camp; higher, fewer answers are used.
"""
_WIDER = 1.15
"""What standard errors of the camps' scores are multiplied by: they take as known who is in which
camp and how far camps and reliabilities differ. Without it a nominal 90% covers about 85%
(benchmarks/camps.py)."""
_LEAST_SD = 0.1
"""Spread of scores and of what camps add, at least, to begin with: from 0 it takes long."""


@dataclass(frozen=True, eq=False)
class ByCamp:
    """A fit of the general model with a score for each item in each camp."""

    effects: GeneralEffects
    members: FloatArray
    """Probability that each annotator belongs to each camp, annotators by camps."""
    name: str
    """What the categories that the camps are in the fit are called."""

    __repr__ = brief

    @property
    def number(self) -> int:
        """How many camps there are."""
        return int(self.members.shape[1])

    @property
    def shares(self) -> FloatArray:
        """Share of the annotators in each camp."""
        return np.asarray(self.members.mean(axis=0))

    def outcomes(self, judgments: Judgments) -> FloatArray:
        """Return the probabilities of left, right and tie for each row.

        Those of each camp are averaged by how probable it is that the annotator belongs to it; a
        new annotator belongs to one as often as others do.
        """
        fitted = self.effects.judgments.annotator_ids
        number = aligned(np.arange(float(len(fitted))), fitted, judgments.annotator_ids)
        new = ~np.isfinite(number)
        known = self.members[np.where(new, 0.0, number).astype(np.int64)]
        chances = np.where(new[:, None], self.shares, known)[judgments.annotator]
        total = np.zeros((len(judgments.left), 3))
        for k in range(self.number):
            code = np.full(len(judgments.left), k, dtype=np.int32)
            asked = _with_camps(judgments, self.name, self.number, code)
            total += chances[:, k, None] * self.effects.outcomes(asked)
        return total

    @cached_property
    def _block(self) -> Block:
        return self.effects.problem.layout.design.blocks[f"by {self.name}"]

    def described(self, told: Decision) -> Camps:
        """Return the scores of the camps and of what is between them, with standard errors.

        Parameters
        ----------
        told
            Why there are camps.
        """
        unit = np.eye(self.number)
        found = [self._combined(each) for each in unit]
        scores, se = (np.stack(part) for part in zip(*found, strict=True))
        common, common_se = self._combined(np.full(self.number, 1.0 / self.number))
        far, far_se = np.zeros(len(common)), np.zeros(len(common))
        for a in range(self.number):
            for b in range(a + 1, self.number):
                apart, apart_se = self._combined(unit[a] - unit[b])
                more: BoolArray = np.abs(apart) > np.abs(far)
                far, far_se = np.where(more, apart, far), np.where(more, apart_se, far_se)
        return Camps(
            told.kind,
            told.gains,
            told.over_axis,
            self.shares,
            scores,
            se,
            self.members,
            common,
            common_se,
            far if self.number == 2 else np.abs(far),  # noqa: PLR2004  # which two differs by item
            far_se,
        )

    def _combined(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return Σ_k w_k θ_k about the mean of each component, and its standard errors."""
        effects, block = self.effects, self._block
        n, state = effects.judgments.n_items, effects.fit.state
        covariance = effects.posterior.covariance
        map_ = np.zeros((n, len(state.unknowns)))
        items = np.arange(n)
        map_[items, effects.problem.layout.design.blocks[SCORES].begin + items] = weights.sum()
        map_[block.item, np.arange(block.begin, block.end)] = weights[block.group]
        # What a camp adds to an item that it never compared is not told by anything.
        unseen = np.ones((len(weights), n))
        unseen[block.group, block.item] = 0.0
        untold = (np.square(weights) @ unseen) * state.block_sds[block.name] ** 2
        about = _about_mean(np.eye(n), effects.problem.component)
        map_ = about @ map_
        spread = (
            map_**2 @ covariance if covariance.ndim == 1 else ((map_ @ covariance) * map_).sum(1)
        )
        variance = spread + about**2 @ untold
        return map_ @ state.unknowns, _WIDER * np.sqrt(np.maximum(variance, 0.0))


def fit_by_camp(
    judgments: Judgments,
    chosen: Chosen,
    found: Found,
    before: State,
    run: Callable[..., GeneralFit],
) -> ByCamp:
    """Fit what each camp thinks of the items.

    Parameters
    ----------
    judgments, chosen
        What was judged, and the terms of the fit without camps.
    found
        The camps.
    before
        Where the fit without camps led.
    run
        Fits a problem from a state.
    """
    name = "camp"
    while name in judgments.category_ids:
        name += "'"
    sure: BoolArray = found.members.max(axis=1) >= _SURE
    own = np.where(sure, found.members.argmax(axis=1), -1).astype(np.int32)
    parted = _with_camps(judgments, name, found.number, own[judgments.annotator])
    terms = replace(chosen, cells=(*chosen.cells, f"by {name}"))
    problem = general_problem(parted, terms)
    block = problem.layout.design.blocks[f"by {name}"]
    common = found.scores.mean(axis=0)
    added = (found.scores - common)[block.group, block.item]
    sds = {
        SCORES: before.block_sds[SCORES],
        RELIABILITY: float(before.sds[0]),
        block.name: max(float(np.sqrt(np.mean(added**2))), _LEAST_SD),
    }
    start = problem.first_state(common, sds, reversed_share=before.reversed_share)
    start.unknowns[block.where] = added
    fit = run(problem, start)
    return ByCamp(GeneralEffects(parted, terms, fit), found.members, name)


def _with_camps(judgments: Judgments, name: str, number: int, code: CodeArray) -> Judgments:
    """Return judgments with the camp of each row as a further category."""
    column = Categories(name, as_text(LETTERS[:number]), code)
    return replace(judgments, categories=(*judgments.categories, column))


def _about_mean(rows: FloatArray, component: IntArray) -> FloatArray:
    """Return rows less the mean of those of their component."""
    total = np.zeros((int(component.max()) + 1, rows.shape[1]))
    np.add.at(total, component, rows)
    return np.asarray(rows - (total / np.bincount(component)[:, None])[component])
