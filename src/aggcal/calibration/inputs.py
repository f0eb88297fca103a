"""What a calibration is made from: every table in one order of items, and what follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any, Literal, TypeAlias

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, TextArray, frozen
from aggcal._core.tables import aligned, positions, taken
from aggcal._core.text import brief
from aggcal.aggregation.consensus import LEVEL, Consensus
from aggcal.aggregation.covariance import MOST_DENSE, Covariance, independent
from aggcal.aggregation.groups import model_level_warnings, several
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.calibration.components import located, n_levels
from aggcal.calibration.draws import Agreement, Knowledge, agreement
from aggcal.calibration.expected import Expected, expected
from aggcal.calibration.mixture import Mixture, fused
from aggcal.calibration.moments import Moments, Pooled, moments, pool, regressed
from aggcal.calibration.project import project
from aggcal.calibration.says import alike_warnings, unused_anchors
from aggcal.data.scores import Scores
from aggcal.errors import (
    AggcalWarning,
    OptionError,
    PairedByLevelWarning,
    TooLittleDataError,
    count,
    option,
    some,
)

Anchors: TypeAlias = tuple[IntArray, FloatArray]
"""Positions of items whose truth is known, and their truths."""

Weights: TypeAlias = Literal["sd"] | Mapping[str, float] | None

FEWEST_ANCHORS = 5
"""Anchors that tell anything: of fewer, neither a share nor its error can be estimated."""

_FEWEST_SHARED = 5
"""Items that a second model must share with the first: a covariance of fewer is chance."""

_FARTHEST = 1e100
"""How far an sd may be from the median one, as a factor: its square still is a number."""

_WITHOUT_ANCHORS = ("pooled", "places", "base", "moments", "projected", "logged", "fusion")
"""What takes time and no anchor changes: it is worked out once for all parts of the anchors."""

_CLEARLY_LOG = 2.0
"""By how much the log likelihood must rise for errors to count as proportions. With 0, scores were
worse than the model's in 29% of 240 simulated small studies instead of 26%, and no better on
average; with more, fewer proportions are seen."""

_FEWEST_FOR_LOG = 5
"""Items that tell even errors from proportional ones."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """What a calibration was made from: the items that are in both tables."""

    item_ids: TextArray
    model: FloatArray
    consensus: FloatArray
    """On the scale of ``covariance``. Where there are several components, each is where the model
    puts it: nothing else relates them."""
    covariance: Covariance | None
    weight: FloatArray
    variances: FloatArray | None
    """Of the model's scores, where they are known."""
    anchors: Anchors | None
    second: FloatArray | tuple[FloatArray, ...] | None
    """Scores of a second model, or of several; NaN where one has none."""
    level: float
    seed: int
    degrees_of_freedom: float = inf
    """Degrees of freedom of ``covariance``."""
    drawn: bool = True
    """Whether the anchors are a random sample, as far as is known."""
    component: IntArray | None = None
    """Connected component of each item, by a number from 0; None where all are in one. Nothing
    orders items of different components."""

    __repr__ = brief

    @property
    def others(self) -> tuple[FloatArray, ...]:
        """The scores of further models."""
        if self.second is None:
            return ()
        return self.second if isinstance(self.second, tuple) else (self.second,)

    @property
    def model_variance(self) -> float:
        """The model's mean squared error, as it was stated."""
        if self.variances is None:
            raise OptionError("nobody stated the standard deviation of the model's scores.")
        return float(self.variances.mean())

    @cached_property
    def pooled(self) -> Pooled | None:
        """The model and further ones as one; None where there are none, or none that tell."""
        if not self.others:
            return None
        wide = 0.0 if self.covariance is None else float(self.covariance.variances.sum())
        wide /= len(self.model) - n_levels(self.component)
        known = None if self.variances is None else self.model_variance
        models = (self.model, *self.others)
        return pool(models, self.consensus, wide, known, self.component)

    @property
    def fusible(self) -> FloatArray:
        """The scores that are fused with the consensus: of the model, or of all models pooled."""
        return self.model if self.pooled is None else self.pooled.model

    def located(self, consensus: FloatArray) -> FloatArray:
        """Return consensus scores with each component where what is fused puts it."""
        return located(consensus, self.fusible, self.component)

    @cached_property
    def places(self) -> FloatArray:
        """The consensus scores, with each component where what is fused puts it."""
        return self.located(self.consensus)

    @cached_property
    def base(self) -> Expected:
        """What the fusible score is expected to be at each consensus score."""
        return expected(self.places, self.fusible, self.seed, self.component)

    @cached_property
    def moments(self) -> Moments:
        """How what is fused relates to the consensus."""
        known = None if self.variances is None else self.model_variance
        found = moments(
            self.fusible, self.places, self.covariance, model_variance=known, base=self.base,
            component=self.component,
        )  # fmt: skip
        if self.pooled is None:
            return found
        noise = float(self.pooled.noise.mean())
        told = {"crowd": self.pooled.crowd, "noise": noise, "known": "second model"}
        return replace(found, **told, hedged=None)  # type: ignore[arg-type]  # by name

    @cached_property
    def projected(self) -> tuple[FloatArray, IntArray]:
        """The projection, and its blocks."""
        return project(self.consensus, self.model, self.weight, self.component)

    @cached_property
    def logged(self) -> Inputs | None:
        """The same with the logarithm of the model's scores, where its errors are proportions.

        Asked where nothing else is known: a stated sd is one of even errors.
        """
        told = len(self.model) - n_levels(self.component)
        if self.variances is not None or self.others or told < _FEWEST_FOR_LOG:
            return None
        if not (self.model > 0.0).all() or not self.base.steepness.any():
            return None
        other = replace(self, model=np.log(self.model), anchors=None)
        # Densities of another scale: those of the logarithm are wider by the scores themselves.
        gained = other.base.log_likelihood - self.base.log_likelihood - float(other.model.sum())
        vars(other)["logged"] = None
        return other if gained > _CLEARLY_LOG else None

    @cached_property
    def fusion(self) -> Mixture:
        """Model and consensus mixed, without anchors."""
        return fused(self)

    @cached_property
    def knowledge(self) -> Knowledge | None:
        """What draws of the exact consensus are made from; None where it counts as exact."""
        if self.covariance is None:
            return None
        least = 0.0 if self.variances is None else float(self.variances.min())
        return Knowledge(
            self.consensus, self.covariance, self.model, least, self.degrees_of_freedom,
            self.component,
        )  # fmt: skip

    @cached_property
    def agreement(self) -> Agreement | None:
        """How the model agrees with the estimate; None where that counts as exact."""
        return None if self.knowledge is None else agreement(self.knowledge, self.seed)

    @property
    def dependent(self) -> bool:
        """Whether the model's scores may know of the same judgments: intervals do without them."""
        return self.agreement is not None and self.agreement.suspected

    @cached_property
    def hurts(self) -> float:
        """The share of draws of the exact consensus that the model itself is closer to.

        Each draw is put on the model's scale by the line through it. 0 where nothing is drawn.
        """
        if self.knowledge is None or len(self.model) > MOST_DENSE or self.dependent:
            return 0.0
        moved, closer = self.projected[0] - self.model, []
        for drawn in self.knowledge.draws(self.seed):
            before = regressed(self.model, drawn, self.component).left
            after = moved + before
            closer.append(after @ after > before @ before)
        return float(np.mean(closer))

    def with_anchors(self, anchors: Anchors | None) -> Inputs:
        """Return the same with other anchors; what they do not change is kept as worked out."""
        other = replace(self, anchors=anchors)
        vars(other).update({k: v for k, v in vars(self).items() if k in _WITHOUT_ANCHORS})
        return other

    def only(self, positions: IntArray) -> Inputs:
        """Return some components alone, which have the items at these positions, without anchors.

        What all items tell of the agreement is kept; other models are left out.
        """
        other = replace(
            self,
            item_ids=self.item_ids[positions],
            model=self.model[positions],
            consensus=self.consensus[positions],
            covariance=None if self.covariance is None else self.covariance.of(positions),
            weight=self.weight[positions],
            variances=None if self.variances is None else self.variances[positions],
            anchors=None,
            second=None,
            component=None if self.component is None else several(self.component[positions]),
        )
        vars(other)["agreement"] = self.agreement
        return other

    def to_dict(self) -> dict[str, Any]:
        """Say what else was known: plain data."""
        return {
            "model_sd": None if self.variances is None else self.model_variance**0.5,
            "n_anchors": 0 if self.anchors is None else len(self.anchors[0]),
            "second_model": self.second is not None,
            **({} if self.component is None else {"n_components": n_levels(self.component) + 1}),
            **({"n_further_models": len(self.others)} if len(self.others) > 1 else {}),
        }


# From tables to inputs ----------------------------------------------------------------------------


def align(to: TextArray, tables: Mapping[str, tuple[Any, FloatArray]]) -> dict[str, FloatArray]:
    """Bring tables (of ids and their values) into the order of some ids; NaN where one lacks an id.

    Examples
    --------
    >>> align(np.array(["b", "c"], dtype=object), {"model": (["a", "b"], np.array([1.0, 2.0]))})
    {'model': array([ 2., nan])}
    """
    return {name: aligned(values, ids, to) for name, (ids, values) in tables.items()}


@dataclass(frozen=True, eq=False)
class Order:
    """What is calibrated onto: a consensus, or any other numbers with or without an sd."""

    item_ids: TextArray
    heights: FloatArray
    sd: FloatArray | None = None
    fit: Consensus | None = None

    @classmethod
    def of(cls, consensus: Consensus | Scores) -> Order:
        """Take the order of a consensus or of a table of numbers."""
        if isinstance(consensus, Scores):
            return cls(consensus.item_ids, consensus.values, consensus.sd)
        known = consensus.uncertainty
        se = None if known is None else known.se
        return cls(consensus.item_ids, consensus.scores, se, consensus)

    @property
    def uncertainty(self) -> Uncertainty | None:
        """How sure a fitted consensus is."""
        return None if self.fit is None else self.fit.uncertainty

    @property
    def component(self) -> IntArray | None:
        """Connected component of each item, or its weakly joined group; None where all are in one.

        Numbers of a table are an order of all its items.
        """
        if self.fit is None:
            return None
        known = self.uncertainty
        return several(self.fit.component) if known is None else known.component

    def covariance(self, both: BoolArray) -> Covariance | None:
        """Return what is known of the uncertainty of these items' consensus."""
        known, component = self.uncertainty, self.components(both)
        if known is None:
            return None if self.sd is None else independent(self.sd[both])
        found = known.covariance if both.all() else known.covariance.of(np.flatnonzero(both))
        return found if component is None else found.within(component)

    def level_warnings(self, both: BoolArray, model: FloatArray) -> tuple[AggcalWarning, ...]:
        """Warn of a model whose scores may have chosen the pairs, unless that is said already."""
        known = self.uncertainty
        if known is None or any(isinstance(w, PairedByLevelWarning) for w in known.warnings):
            return ()
        return model_level_warnings(known.slow, both, model)

    def components(self, both: BoolArray) -> IntArray | None:
        """Return the connected component of each of these items; None where all are in one."""
        return None if self.component is None else several(self.component[both])


@dataclass(frozen=True, eq=False)
class Given:
    """Tables as they were read: what is known of the items besides their order."""

    scores: Scores
    weights: Weights = "sd"
    model_sd: float | None = None
    anchors: Scores | None = None
    second_model: Scores | tuple[Scores, ...] | None = None

    @property
    def others(self) -> tuple[Scores, ...]:
        """The tables of further models."""
        if self.second_model is None:
            return ()
        return self.second_model if isinstance(self.second_model, tuple) else (self.second_model,)

    @property
    def weighted(self) -> bool:
        """Whether items have weights of their own."""
        return self.weights is not None and (
            isinstance(self.weights, Mapping) or self.scores.sd is not None
        )

    def columns(self, to: TextArray, where: IntArray) -> dict[str, FloatArray]:
        """Return all tables in the order of some ids, which have these positions in the scores."""
        scores = self.scores
        own, tables = {"model": scores.values}, dict[str, tuple[Any, FloatArray]]()
        if scores.sd is not None:
            own["sd"] = scores.sd
        if isinstance(self.weights, Mapping):
            tables["weight"] = _named_weights(self.weights, scores)
        elif self.weighted and scores.sd is not None:
            # Only ratios count: about the median, squares neither over- nor underflow.
            relative = np.clip(scores.sd / np.median(scores.sd), 1.0 / _FARTHEST, _FARTHEST)
            own["weight"] = relative**-2.0
        if self.anchors is not None:
            tables["truth"] = self.anchors.item_ids, self.anchors.values
        for k, other in enumerate(self.others):
            tables[f"second {k}"] = other.item_ids, other.values
        return {name: taken(values, where) for name, values in own.items()} | align(to, tables)


@dataclass(frozen=True, eq=False)
class Alignment:
    """The items that both tables have, and which of the consensus items these are."""

    inputs: Inputs
    both: BoolArray
    unjudged: IntArray
    """Positions of the scored items that the consensus does not have."""
    warnings: tuple[AggcalWarning, ...]


def _small(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _without_zeros(ids: TextArray) -> set[str]:
    """Return ids that are numbers as a spreadsheet would write them."""
    return {label.lstrip("0") or "0" for label in ids.tolist() if label.isdecimal()}


def inputs_of(calibrator: Any, given: Given, order: Order, level: float, seed: int) -> Alignment:
    """Bring everything that is known of the items into the order's, and refuse what is too little.

    Parameters
    ----------
    calibrator
        What it is for: some need an sd.
    given, order
        The tables, and the order that the scores are calibrated onto.
    level, seed
        The level of the intervals, and the seed for all random numbers.
    """
    if calibrator.needs_model_sd and given.model_sd is None and given.scores.sd is None:
        raise OptionError(
            f"the {calibrator.name} calibrator needs the standard deviation of the model's scores; "
            f"give {option('model-sd')}, or an sd column (such as its validation error)."
        )
    where = positions(order.item_ids, given.scores.item_ids)
    found, both = given.columns(order.item_ids, where), where >= 0
    if not both.any():
        alike = alike_warnings(order.item_ids, given.scores.item_ids)
        same = "check that both use the same ids"
        if alike:
            same = f"{alike[0].what.rstrip('.')}; {_small(alike[0].remedy).rstrip('.')}"
        elif _without_zeros(order.item_ids) & _without_zeros(given.scores.item_ids):
            same = (
                "they differ in leading zeros, which spreadsheets drop: format the column as text "
                f"and enter the ids again, or list which is which with {option('alias', 'FILE')}"
            )
        raise TooLittleDataError(
            f"no item is in both tables (the consensus has {some(order.item_ids)}, "
            f"{given.scores.source} has {some(given.scores.item_ids)}); {same}."
        )
    ids, n = order.item_ids[both], int(np.count_nonzero(both))
    here = {name: frozen(column[both]) for name, column in found.items()}
    anchors, said = _anchors(given.anchors, here.get("truth"), ids)
    others = tuple(here[f"second {k}"] for k in range(len(given.others)))
    for other, column in zip(given.others, others, strict=True):
        _check_shared(other, column)
    variances = np.square(here["sd"]) if "sd" in here else None
    if given.model_sd is not None:
        variances = np.full(n, given.model_sd**2)
    known, component = order.uncertainty, order.components(both)
    inputs = Inputs(
        ids,
        here["model"],
        frozen(located(order.heights[both], here["model"], component)),
        order.covariance(both),
        here["weight"] if given.weighted else np.ones(n),
        variances,
        anchors,
        (others[0] if len(others) == 1 else others) if others else None,
        level,
        seed,
        inf if known is None else known.degrees_of_freedom,
        given.anchors is None or not given.anchors.chosen,
        component,
    )
    unjudged = np.ones(len(given.scores), dtype=bool)
    unjudged[where[both]] = False
    return Alignment(inputs, both, np.flatnonzero(unjudged), said)


def check_tables(calibrator: Any, given: Given, ids: TextArray) -> None:
    """Refuse tables that cannot be calibrated by an order of these items, before it is known."""
    inputs_of(calibrator, given, Order(ids, np.zeros(len(ids))), LEVEL, 0)


def _anchors(
    anchors: Scores | None, truth: FloatArray | None, ids: TextArray
) -> tuple[Anchors | None, tuple[AggcalWarning, ...]]:
    """Return the positions and truths of the anchors among these items."""
    if anchors is None or truth is None:
        return None, ()
    where = np.flatnonzero(np.isfinite(truth))
    if len(where) < FEWEST_ANCHORS:
        if len(where) == len(anchors):
            raise TooLittleDataError(
                f"{anchors.source}: has only {count(len(where), 'anchor')}; give at least "
                f"{FEWEST_ANCHORS}."
            )
        raise TooLittleDataError(
            f"{anchors.source}: only {count(len(where), 'anchor')} of {len(anchors)} "
            f"{'is' if len(where) == 1 else 'are'} among the calibrated items (anchors: "
            f"{some(anchors.item_ids)}; items: {some(ids)}); give at least {FEWEST_ANCHORS}, with "
            "the same ids."
        )
    return (where, truth[where]), unused_anchors(anchors, ids)


def _check_shared(second_model: Scores, found: FloatArray) -> None:
    if np.count_nonzero(np.isfinite(found)) < _FEWEST_SHARED:
        raise TooLittleDataError(
            f"{second_model.source}: scores fewer than {_FEWEST_SHARED} of the items that are in "
            "the consensus and in the first model's scores; check that all use the same ids."
        )


def _named_weights(weights: Mapping[str, float], scores: Scores) -> tuple[list[str], FloatArray]:
    named = {str(k): float(v) for k, v in weights.items()}
    missing = [i for i in scores.item_ids if i not in named]
    wrong = [i for i, v in named.items() if not (np.isfinite(v) and v > 0.0)]
    if missing or wrong:
        raise OptionError(
            f"weights: {some(missing or wrong)} {'missing' if missing else 'not positive'}; "
            "give every scored item a positive weight."
        )
    return list(named), np.array(list(named.values()))
