"""The consensus: what Stage 1 returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, TextArray, frozen, ranks
from aggcal._core.positions import positions
from aggcal._core.progress import report
from aggcal._core.tables import Columns, as_frame
from aggcal._core.text import card, clipped, head, named, wrapped
from aggcal.aggregation.claims import Claims, claims_of
from aggcal.aggregation.effects import Effects, in_camps
from aggcal.aggregation.newton import Convergence
from aggcal.aggregation.priors import Prior
from aggcal.aggregation.tables import annotator_columns, item_columns, snapped
from aggcal.aggregation.uncertainty import (
    Uncertainty,
    no_majority,
    reversed_annotators,
    reversed_warnings,
)
from aggcal.data.base import AnyJudgments
from aggcal.data.features import Kernel
from aggcal.data.judgments import Judgments
from aggcal.data.scores import Scores
from aggcal.errors import AggcalWarning, OptionError, UnknownItemError, count
from aggcal.registry import ROBUST, limits
from aggcal.registry.literals import UncertaintyName

if TYPE_CHECKING:
    from aggcal.aggregation.estimate import Quantify

LEVEL = 0.95
"""Level of intervals, unless another is asked for."""


@runtime_checkable
class Aggregator(Protocol):
    """Stage 1 in one method: any object that has it can be passed to `aggcal.aggregate`."""

    def fit(self, judgments: Judgments, /) -> Consensus:
        """Return the consensus of some judgments (`Consensus.of` makes one from scores)."""
        ...


@dataclass(frozen=True, eq=False)
class Consensus:
    """The item scores and annotator reliabilities that fit the judgments best.

    The order of ``scores`` is the consensus ranking. Their unit is that of the link for the typical
    annotator, who has reliability 1. The consensus is what the annotators agree on, not the truth.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "b", "c"), ("bob", "c", "a")]
    >>> consensus = aggcal.aggregate(aggcal.read_judgments(rows), warn=False)
    >>> consensus.items["item"].tolist(), consensus.items["rank"].tolist()
    (['b', 'a', 'c'], [1, 2, 3])
    """

    method: str
    item_ids: TextArray
    scores: FloatArray
    annotator_ids: TextArray
    reliabilities: FloatArray
    agreement: FloatArray
    judgments_per_item: IntArray
    judgments_per_annotator: IntArray
    objective: float | None = None
    log_likelihood: float | None = None
    convergence: Convergence | None = None
    prior: Prior | None = None
    kernel: Kernel | None = None
    """Of the prior of the scores, where that is a Gaussian process."""
    estimator: str | None = None
    """``"marginal"`` where reliabilities were integrated out, ``"mode"`` where not."""
    reversed_share: float | None = None
    """Estimated share of reversed annotators; ``prior`` has the standard deviations."""
    unit: float = 1.0
    """What the scores at the optimum were multiplied by, so that the typical reliability is 1."""
    seconds: float = 0.0
    warnings: tuple[AggcalWarning, ...] = ()
    backend: str | None = None
    random_reliability: float = 0.0
    """The reliability of random answers; below it, answers are reversed."""
    quantifier: Quantify | None = field(default=None, repr=False)
    stated: Uncertainty | None = field(default=None, repr=False)
    """The uncertainty that was asked for; see `uncertainty`."""
    effects: Effects | None = field(default=None, repr=False)
    """The other terms that were fitted: ties, position, contexts, categories; None for none."""
    selection: dict[str, Any] | None = field(default=None, repr=False)  # how it was chosen, if so
    position_evidence: float | None = field(default=None, repr=False)  # log, for a preferred side
    component: IntArray | None = field(default=None, repr=False)  # None: features relate all

    @classmethod
    def of(
        cls,
        judgments: AnyJudgments,
        scores: FloatArray,
        *,
        method: str,
        reliabilities: FloatArray | None = None,
        random_reliability: float = 0.0,
        warnings: tuple[AggcalWarning, ...] = (),
        **record: Any,
    ) -> Consensus:
        """Make a consensus from scores of ``judgments.item_ids``, wherever they come from.

        Scores that differ by no more than rounding are made equal: tied items are tied for all.
        """
        scores = _checked(scores, judgments.item_ids, f"method '{method}' gave scores", "items")
        every, tied = judgments.annotator_ids, snapped(scores)
        gammas = np.ones(len(every)) if reliabilities is None else reliabilities
        gammas = _checked(gammas, every, f"method '{method}' gave reliabilities", "annotators")
        return cls(
            method,
            judgments.item_ids,
            frozen(tied),
            judgments.annotator_ids,
            frozen(gammas),
            frozen(judgments.agreement(tied)),
            judgments.judgments_per_item,
            judgments.judgments_per_annotator,
            warnings=warnings,
            backend=judgments.backend,
            random_reliability=random_reliability,
            **({"component": judgments.component} | record),
        )

    def quantify(
        self,
        kind: UncertaintyName = ROBUST.name,
        *,
        level: float = LEVEL,
        draws: int = 200,
        seed: int = 0,
        on_draw: Callable[[int, int], None] | None = None,
    ) -> Consensus:
        """Return the same consensus with its uncertainty computed.

        Parameters
        ----------
        kind
            ``"robust"`` (the default): the inverse information, widened by how far answers that
            share an annotator, a question, a context or an act depend on each other.
            ``"laplace"``: the inverse information alone, as if all answers were independent. For
            any aggregator ``"bootstrap"``, by annotator, or by context where there are some.
        level
            Level of the intervals.
        draws
            How many refits a bootstrap takes.
        seed
            Seed for all random numbers.
        on_draw
            Called after each refit with its number and how many there are.

        Examples
        --------
        >>> import aggcal
        >>> rows = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "b", "c"), ("bob", "c", "a")]
        >>> found = aggcal.aggregate(rows, warn=False).quantify(level=0.9)
        >>> found.uncertainty.se.round(2)
        array([0.5 , 0.48, 0.48])
        """
        limits.check(seed=seed)
        work_out = self._known_fit(
            "gave scores without a way to compute their uncertainty; aggregate the judgments with "
            "aggcal.aggregate"
        )
        report("standard errors")
        found = work_out(self, kind, level=level, draws=draws, seed=seed, on_draw=on_draw)
        stated = replace(self, stated=found)
        # What was said of an earlier uncertainty is no longer so, or is said again.
        before = () if self.stated is None else (*self.stated.warnings, *self.reversed_warnings())
        outdated = {(type(warning), str(warning)) for warning in before}
        kept = (one for one in self.warnings if (type(one), str(one)) not in outdated)
        return replace(stated, warnings=(*kept, *found.warnings, *stated.reversed_warnings()))

    def reversed_warnings(self) -> tuple[AggcalWarning, ...]:
        """Name the annotators of `reversed_ids`, if there are any."""
        number = len(self.annotator_ids)
        return reversed_warnings(self.reversed_ids, number, self.random_reliability)

    @property
    def quantifiable(self) -> bool:
        """Whether its uncertainty can be computed without fitting again."""
        return self.quantifier is not None and self.quantifier.quick

    @cached_property
    def uncertainty(self) -> Uncertainty | None:
        """The uncertainty of the scores, computed when first asked for."""
        if self.stated is not None or not self.quantifiable:
            return self.stated
        return self.quantify().stated

    def place(self, judgments: AnyJudgments) -> Scores:
        """Place items that were judged after the fit, everything else held fixed.

        Parameters
        ----------
        judgments
            Judgments that compare new items with items of this consensus. Annotators without a
            reliability are given the median one.

        Returns
        -------
        Scores
            The new items' scores on the consensus's scale, with their standard deviations.

        Examples
        --------
        >>> import aggcal
        >>> rows = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "a", "c"), ("bob", "b", "c")]
        >>> consensus = aggcal.aggregate(rows, warn=False)
        >>> later = aggcal.read_judgments([("ann", "new", "a"), ("bob", "new", "b")])
        >>> consensus.place(later)["new"] > 0
        True
        """
        return self._known_fit("cannot place single items").place(self, judgments)

    def judgment_probabilities(self, judgments: AnyJudgments) -> FloatArray:
        """Return, for each row, the probability that its annotator prefers the left item.

        It is averaged over what is uncertain: the scores and the annotator's reliability. An
        unknown annotator is treated as a random one, an unknown item as one in the middle, with
        the standard deviation of the scores as its uncertainty.

        Parameters
        ----------
        judgments
            Rows to predict; their outcomes are not used.

        Examples
        --------
        >>> import aggcal
        >>> consensus = aggcal.aggregate([("ann", "a", "b"), ("bob", "a", "b")], warn=False)
        >>> asked = aggcal.read_judgments([("ann", "a", "b"), ("eve", "a", "b")])
        >>> consensus.judgment_probabilities(asked).round(1)
        array([0.7, 0.7])
        """
        return self._known_fit("gives no probabilities of judgments").probabilities(self, judgments)

    def outcome_probabilities(self, judgments: AnyJudgments) -> FloatArray:
        """Return, for each row, the probabilities of left, right and tie.

        They are averaged over what is uncertain, as those of `judgment_probabilities`; in a context
        that was not fitted, over what contexts are like. Where ties were not fitted, they are as
        frequent for every question as among the fitted judgments.

        Parameters
        ----------
        judgments
            See `judgment_probabilities`.

        Examples
        --------
        >>> import aggcal
        >>> rows = [("ann", "a", "b", "left"), ("bob", "a", "b", "left"), ("ann", "a", "b", "tie")]
        >>> consensus = aggcal.aggregate(rows, warn=False)
        >>> asked = aggcal.read_judgments([("ann", "a", "b")])
        >>> consensus.outcome_probabilities(asked).round(1)
        array([[0.5, 0.2, 0.3]])
        """
        return self._known_fit("gives no probabilities of judgments").outcomes(self, judgments)

    def _known_fit(self, otherwise: str) -> Quantify:
        if self.quantifier is None:
            raise OptionError(f"method '{self.method}' {otherwise}.")
        return self.quantifier

    @cached_property
    def _claims(self) -> dict[float, Claims]:
        """Claims that were made, by level."""
        return {}

    def claims(self, level: float | None = None) -> Claims | None:
        """Return what holds of the order at any true scores, not only under a prior.

        Which pairs are certified, between which ranks items surely are, which could be first, which
        are in or out of the first k, and tiers: each kind of claim is right with probability
        ``level``, whatever the true scores. They are made from the same fit under a prior three
        times as wide, with errors of the kind that was asked for. None where these are not known,
        or the fit did not converge.

        Parameters
        ----------
        level
            That of the intervals, unless another is given.

        Examples
        --------
        >>> import aggcal
        >>> rows = [(u, *pair) for u in ("ann", "bob", "eve") for pair in ("ab", "ac", "bc")] * 9
        >>> found = aggcal.aggregate(rows, warn=False).claims()
        >>> found.first, found.count, found.n_pairs
        (array([ True, False, False]), 3, 3)
        """
        known = self.uncertainty
        record = self.convergence
        if known is None or self.quantifier is None or (record and not record.converged):
            return None
        level = known.level if level is None else level
        limits.check(level=level)
        if level not in self._claims:
            scores, covariance, freedom = self.quantifier.unshrunk(self, known)
            self._claims[level] = claims_of(
                scores,
                covariance,
                level,
                stands=self.quantifier.standing(self),
                degrees_of_freedom=freedom,
                component=known.component,
                seed=known.seed,
            )
        return self._claims[level]

    def order_probability(self, above: str, below: str) -> float:
        """Probability that one item is above another in the consensus (not in truth).

        Refused where no chain of comparisons links the two, or too few judgments do.

        Examples
        --------
        >>> import aggcal
        >>> consensus = aggcal.aggregate([("ann", "a", "b"), ("bob", "a", "b")], warn=False)
        >>> round(consensus.order_probability("a", "b"), 2)
        0.78
        """
        if self.uncertainty is None:
            raise OptionError(f"method '{self.method}' has no uncertainty, which this needs.")
        asked = positions([str(above), str(below)], self.item_ids)
        for item, position in zip((above, below), asked, strict=True):
            if position < 0:
                raise UnknownItemError(item, "the consensus")
        probability = float(self.uncertainty.order_probability(*asked[:, None])[0])
        if np.isnan(probability):
            raise OptionError(
                f"no chain of comparisons links '{above}' and '{below}', or too few judgments "
                "connect their groups; ask for more that do (see aggcal suggest)."
            )
        return probability

    @property
    def ranks(self) -> IntArray:
        """Rank of each item of ``item_ids``: 1 is the highest, tied items share the best."""
        return ranks(self.scores)

    @property
    def order(self) -> IntArray:
        """Positions of the items from the highest score to the lowest."""
        return np.argsort(-self.scores, kind="stable")

    @property
    def reversed_ids(self) -> list[str]:
        """Annotators who clearly answer against the consensus.

        Their whole interval is below random answers'; none without intervals, or without a majority
        (camps, two annotators). See ``Assessment.verdicts``.
        """
        ids, camps = self.annotator_ids, in_camps(self.effects)
        known = None if camps or no_majority(len(ids), self.warnings) else self.uncertainty
        return reversed_annotators(ids, known, self.random_reliability)

    @property
    def n_judgments(self) -> int:
        """Judgments that were fitted."""
        return int(self.judgments_per_annotator.sum())

    def item_columns(self) -> Columns:
        """Return the items' table as plain columns."""
        return item_columns(self)

    @property
    def items(self) -> Any:
        """Table of the items, the highest first; the columns are those of ``items.csv``."""
        return as_frame(self.item_columns(), self.backend)

    @property
    def annotators(self) -> Any:
        """Table of annotators, the best first: reliability, its interval, n_judgments, agreement.

        ``agreement`` is the share of their judgments that the consensus order confirms; a tie, on
        either side, counts one half.
        """
        return as_frame(self.annotator_columns(), self.backend)

    def annotator_columns(self) -> Columns:
        """Return the annotators' table as plain columns."""
        return annotator_columns(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the facts about the whole fit: plain data, as in ``summary.json``."""
        record, prior, known = self.convergence, self.prior, self.uncertainty
        return {
            "method": self.method,
            "n_items": len(self.item_ids),
            "n_annotators": len(self.annotator_ids),
            "n_judgments": self.n_judgments,
            "prior": None if prior is None else asdict(prior),
            "estimator": self.estimator,
            "reversed_share": self.reversed_share,
            "kernel": None if self.kernel is None else asdict(self.kernel),
            "objective": self.objective,
            "log_likelihood": self.log_likelihood,
            **{n: getattr(record, n, None) for n in ("converged", "iterations", "gradient_norm")},
            "uncertainty": None if known is None else known.to_dict(),
            "random_reliability": self.random_reliability,
            "position_evidence": self.position_evidence,
            "terms": None if self.effects is None else self.effects.to_dict(LEVEL),
            **({} if self.selection is None else {"selection": self.selection}),
        }

    def __repr__(self) -> str:
        return wrapped(self._title())

    def __str__(self) -> str:
        return wrapped(self._title(), f"highest: {named(self.item_ids[self.order])}")

    def _title(self) -> str:
        how, record = "", self.convergence
        if record is not None:
            state = "converged" if record.converged else "did NOT converge"
            how = f"; {state} in {count(record.iterations, 'iteration')}"
        sizes = (len(self.item_ids), "item"), (len(self.annotator_ids), "annotator")
        counts = ", ".join(count(*size) for size in (*sizes, (self.n_judgments, "judgment")))
        return f"Consensus by {clipped(self.method)}: {counts}{how}"

    def _repr_html_(self) -> str:
        # Intervals are shown where they are at hand: looking at a result must not take minutes.
        ready = self if "uncertainty" in vars(self) else replace(self, quantifier=None)
        names = "item", "consensus", "consensus_se", "rank", "rank_low", "rank_high", "n_judgments"
        shown = head(ready.item_columns(), names)
        return card(self._title(), shown, rows=len(self.item_ids), warnings=self.warnings)


def _checked(values: FloatArray, ids: TextArray, gave: str, what: str) -> FloatArray:
    """Return a finite number for each id, or refuse what a method gave."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (len(ids),) or not np.isfinite(array).all():
        raise OptionError(
            f"{gave} of shape {array.shape}; a finite number is needed for each of the {len(ids)} "
            f"{what}."
        )
    return array
