"""How likely each answer to a question is: averaged over all that is uncertain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, TextArray
from aggcal._core.tables import aligned
from aggcal.aggregation.general.choice import Chosen
from aggcal.aggregation.general.fit import GeneralFit
from aggcal.aggregation.general.posterior import Posterior
from aggcal.aggregation.general.problem import TIE_CONTEXT_SD
from aggcal.data.judgments import Judgments
from aggcal.models.general.annotators import (
    POSITION,
    READINESS,
    RELIABILITY,
    STANCE,
    cubature,
)
from aggcal.models.general.design import CONTROL, SCORES, Block
from aggcal.models.general.outcomes import adjacent_probabilities, rao_kupper_probabilities
from aggcal.models.general.sums import Layout
from aggcal.models.quadrature import GAP_WEIGHTS, GAPS

_TIE_POINTS, _TIE_WEIGHTS = np.array([-(3**0.5), 0.0, 3**0.5]), np.array([1 / 6, 2 / 3, 1 / 6])
"""Where the readiness of a context is looked at."""
_ESTIMATE = [(0.0, 1.0)]
"""One point, with all of the weight."""


@dataclass(frozen=True, eq=False)
class Labels:
    """The ids of what was fitted."""

    items: TextArray
    annotators: TextArray
    contexts: TextArray | None = None
    categories: dict[str, TextArray] | None = None


@dataclass(frozen=True, eq=False)
class Predictor:
    """Predicts answers from a fit."""

    labels: Labels
    layout: Layout
    chosen: Chosen
    fit: GeneralFit
    posterior: Posterior

    def probabilities(
        self, judgments: Judgments, control: FloatArray | None = None, *, averaged: bool = True
    ) -> FloatArray:
        """Return the probabilities of left, right and tie for each row; outcomes are not used.

        Not ``averaged`` over what is uncertain, they are those at the estimates.
        """
        gap, variance = self._gaps(judgments, control)
        ready, ready_variance = self.readiness(judgments)
        nodes, weights = self.nodes(judgments)
        axis = self.axis(judgments)
        total, sd = np.zeros((3, len(gap))), np.sqrt(variance)
        gaps: Sequence[tuple[float, float]] = list(zip(GAPS, GAP_WEIGHTS, strict=True))
        spots = list(zip(_TIE_POINTS, _TIE_WEIGHTS, strict=True))
        if not averaged:
            nodes = np.einsum("uk,ukp->up", weights, nodes)[:, None]
            weights = np.ones((len(nodes), 1))
            gaps = _ESTIMATE
        if not averaged or not ready_variance.any():
            spots = _ESTIMATE
        names = self.chosen.names
        for k in range(nodes.shape[1]):
            share = weights[judgments.annotator, k]
            if not share.any():
                continue
            theta = dict(zip(names, nodes[judgments.annotator, k].T, strict=True))
            for at, gap_share in gaps:
                eta = theta.get(RELIABILITY, 1.0) * (gap + at * sd)
                eta = eta + theta.get(POSITION, 0.0)
                if axis is not None:
                    eta = eta + theta[STANCE] * axis
                for spot, spot_share in spots:
                    nu = np.full(len(gap), -np.inf)
                    if self.chosen.ties != "halves":
                        nu = theta.get(READINESS, 0.0) + ready + spot * np.sqrt(ready_variance)
                    total += share * gap_share * spot_share * self._answers(eta, nu).T
        return total.T

    def _answers(self, eta: FloatArray, nu: FloatArray) -> FloatArray:
        if self.chosen.ties == "rao-kupper":
            return rao_kupper_probabilities(eta, nu)
        return adjacent_probabilities(eta, nu, self.fit.state.grades)

    def _items(self, judgments: Judgments) -> IntArray:
        """Return the number of each item of some judgments in the fit; −1 for an unknown one."""
        return _numbers(self.labels.items, judgments.item_ids)

    def _gaps(
        self, judgments: Judgments, control: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of each row's gap."""
        layout, state, n = self.layout, self.fit.state, len(self.labels.items)
        items = self._items(judgments)
        sides = [items[judgments.left], items[judgments.right]]
        columns: list[IntArray] = []
        signs: list[FloatArray] = []
        rows = len(judgments.left)
        unsure = np.zeros(rows)
        for name, block in layout.design.blocks.items():
            if name == POSITION:
                columns.append(np.full(rows, block.begin))
                signs.append(np.ones(rows))
            if name in (CONTROL, POSITION):
                continue
            group = self.group(name, judgments)
            used = group != _NONE
            for side, sign in zip(sides, (1.0, -1.0), strict=True):
                at = _columns(block, group, side, n)
                known = at >= 0
                columns.append(np.where(known, at, 0))
                signs.append(np.where(known, sign, 0.0))
                unsure += np.where(~known & used, state.block_sds[name] ** 2, 0.0)
        if control is not None:
            first = layout.design.blocks[CONTROL].begin
            for k, values in enumerate(control.T):
                columns.append(np.full(rows, first + k))
                signs.append(values)
        mean, variance = np.zeros(rows), unsure
        cov = self.posterior.covariance
        for a, (one, x) in enumerate(zip(columns, signs, strict=True)):
            mean += x * state.unknowns[one]
            if cov.ndim == 1:
                variance = variance + x * x * cov[one]
                continue
            for b in range(a, len(columns)):
                both = x * signs[b] * cov[one, columns[b]]
                variance = variance + (both if a == b else 2.0 * both)
        return mean, np.maximum(variance, 0.0)

    def known_gaps(self, judgments: Judgments, control: FloatArray | None = None) -> FloatArray:
        """Return the mean of each row's gap; what is not known is 0."""
        return self._gaps(judgments, control)[0]

    def group(self, name: str, judgments: Judgments, *, of_fit: bool = True) -> IntArray:
        """Return the group of each row in a block: −1 for an unknown one, `_NONE` for none.

        ``of_fit`` says whether groups are numbered as in the fit, or as in the judgments.
        """
        rows = len(judgments.left)
        if name == SCORES:
            return np.zeros(rows, dtype=np.int64)
        if name == "context":
            code, ids, known = judgments.context, judgments.context_ids, self.labels.contexts
        else:
            column = next((c for c in judgments.categories if f"by {c.name}" == name), None)
            known = (self.labels.categories or {}).get(name)
            code, ids = (None, None) if column is None else (column.code, column.ids)
        if code is None or ids is None or known is None:
            # Asked about no context in particular: the effects are those of a new one.
            return np.full(rows, -1 if name == "context" else _NONE, dtype=np.int64)
        if not of_fit:
            return np.asarray(code, dtype=np.int64)
        numbers = _numbers(known, ids)
        return np.where(code >= 0, numbers[np.maximum(code, 0)], _NONE)

    def readiness(self, judgments: Judgments) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of what contexts add to the readiness to tie."""
        rows, layout = len(judgments.left), self.layout
        if not layout.contexts:
            return np.zeros(rows), np.zeros(rows)
        group = np.zeros(rows, dtype=np.int64)  # alike, everyone's is the same anywhere
        if not self.chosen.alike:
            group = self.group("context", judgments)
        known = group >= 0
        at = layout.where_ties.start + np.where(known, group, 0)
        cov = self.posterior.covariance
        own = cov[at] if cov.ndim == 1 else cov[at, at]
        wide = self.fit.state.block_sds[TIE_CONTEXT_SD] ** 2
        mean = np.where(known, self.fit.state.unknowns[at], 0.0)
        return mean, np.where(known, own, np.where(group == _NONE, 0.0, wide))

    def axis(self, judgments: Judgments) -> FloatArray | None:
        """Return v_i − v_j of each row, if there is an axis; a new item is in its middle."""
        if STANCE not in self.chosen.names:
            return None
        items = self._items(judgments)
        values = self.fit.state.unknowns[self.layout.where_axis]
        found = np.where(items >= 0, values[np.maximum(items, 0)], 0.0)
        return np.asarray(found[judgments.left] - found[judgments.right])

    def nodes(self, judgments: Judgments) -> tuple[FloatArray, FloatArray]:
        """Return values of each annotator's parameters and their probabilities."""
        known, state, layout = self.fit.known, self.fit.state, self.layout
        if self.chosen.alike:
            m = judgments.n_annotators
            return np.zeros((m, 1, 0)), np.ones((m, 1))
        number = _numbers(self.labels.annotators, judgments.annotator_ids)
        seen: BoolArray = number >= 0
        points, shares = cubature(len(known.names))
        means = np.array([1.0 if n == RELIABILITY else 0.0 for n in known.names])
        for j, name in enumerate(layout.means):
            means[known.names.index(name)] = state.unknowns[layout.at_means + j]
        anyone = np.concatenate([means + points * state.sds] * 2)
        anyone[len(points) :, 0] *= -1.0
        odds = np.repeat([1.0 - state.reversed_share, state.reversed_share], len(points))
        weights = np.tile(shares, 2) * odds
        at = np.maximum(number, 0)
        nodes = np.where(seen[:, None, None], known.nodes[at], anyone[None])
        if POSITION in known.names and not judgments.sided:
            # Left may be the winner; where the items were shown is not known.
            nodes[:, :, known.names.index(POSITION)] = 0.0
        return nodes, np.where(seen[:, None], known.weights[at], weights[None])


_NONE = -2
"""A row that is in no group."""


def _numbers(known: TextArray, ids: TextArray) -> IntArray:
    """Return the position of ids among known ones; −1 where they are not."""
    found = aligned(np.arange(float(len(known))), known, ids)
    return np.where(np.isfinite(found), found, -1.0).astype(np.int64)


def _columns(block: Block, group: IntArray, item: IntArray, n: int) -> IntArray:
    """Return the unknown of each item in each group; −1 where it was not fitted."""
    keys = block.group * n + block.item
    asked = group * n + item
    at = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
    found = (keys[at] == asked) & (item >= 0) & (group >= 0)
    return np.where(found, block.begin + at, -1)
