"""The consensus: what Stage 1 returns, and the protocol that every aggregator keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, TextArray, frozen, sums
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import each_range, even
from aggcal._core.tables import Columns, as_frame
from aggcal._core.text import card, head, named, unwrapped, wrapped
from aggcal.aggregation.solve.newton import Convergence
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.aggregation.uncertainty.covariance import Covariance
from aggcal.data.judgments import Judgments
from aggcal.data.scores import Scores
from aggcal.engines.remote import ShardedJudgments
from aggcal.errors import AggcalWarning, OptionError, ReversedWarning, count, some
from aggcal.models.features.covariance_functions import Kernel
from aggcal.models.priors import Prior
from aggcal.registry import LAPLACE

LEVEL = 0.95
"""Of intervals, unless another is asked for."""

_TIE = 1e-9
_PIECE = 1 << 20


@runtime_checkable
class Aggregator(Protocol):
    """Stage 1 in one method: any object that has it can be passed to `aggcal.aggregate`."""

    def fit(self, judgments: Judgments, /) -> Consensus:
        """Return the consensus of some judgments (`Consensus.of` makes one from scores)."""
        ...


class Quantifier(Protocol):
    """Works out how far a consensus can be trusted."""

    @property
    def quick(self) -> bool:
        """Whether that needs no refits."""
        ...

    def __call__(
        self,
        consensus: Consensus,
        kind: str,
        /,
        *,
        level: float,
        draws: int,
        seed: int,
        on_draw: Callable[[int, int], None] | None,
    ) -> Uncertainty:
        """Return the uncertainty of a kind at a level."""
        ...

    def curvature(self, consensus: Consensus, /) -> Curvature | None:
        """Return the covariance at the optimum; None where the fit does not know its curvature."""
        ...

    def place(self, consensus: Consensus, judgments: Judgments, /) -> Scores:
        """Place items that were judged later."""
        ...

    def efficiency(self, consensus: Consensus, /) -> dict[str, float] | None:
        """Return what telling annotators apart is worth."""
        ...

    def probabilities(self, consensus: Consensus, judgments: Judgments, /) -> FloatArray:
        """Return the probability that each row's annotator prefers its left item."""
        ...


@dataclass(frozen=True, eq=False)
class Curvature:
    """The covariance of a fit."""

    covariance: Covariance
    """Of the scores."""
    reliability_variances: FloatArray | None
    """None where annotators are taken to be alike."""
    logits: tuple[FloatArray, FloatArray] | None = None
    """Means and variances of the reliabilities' logits, where they are probabilities."""


@dataclass(frozen=True, eq=False)
class Consensus:
    """Item scores and annotator reliabilities on which the judgments agree best.

    The order of ``scores`` is the consensus ranking. Their unit is that of the link for the typical
    annotator, who has reliability 1. It is what the annotators agree on, not the truth.

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
    """Estimated share of annotators who answer the other way round; ``prior`` has the spreads."""
    unit: float = 1.0
    """What the scores at the optimum were multiplied by, so that the typical reliability is 1."""
    seconds: float = 0.0
    warnings: tuple[AggcalWarning, ...] = ()
    backend: str | None = None
    random_reliability: float = 0.0
    """The reliability of one who answers at random; below it, answers are reversed."""
    quantifier: Quantifier | None = field(default=None, repr=False)
    stated: Uncertainty | None = field(default=None, repr=False)
    """The uncertainty that was asked for; see `uncertainty`."""

    @classmethod
    def of(
        cls,
        judgments: Judgments,
        scores: FloatArray,
        *,
        method: str,
        reliabilities: FloatArray | None = None,
        random_reliability: float = 0.0,
        warnings: tuple[AggcalWarning, ...] = (),
        **record: Any,
    ) -> Consensus:
        """Make a consensus from scores of ``judgments.item_ids``, wherever they come from.

        Scores that differ by no more than rounding are made equal, so that tied items are
        tied for everyone who reads them.
        """
        scores = np.asarray(scores, dtype=np.float64)
        if scores.shape != (judgments.n_items,) or not np.isfinite(scores).all():
            raise OptionError(
                f"method '{method}' gave scores of shape {scores.shape}; a finite number is needed "
                f"for each of the {judgments.n_items} items."
            )
        tied = _snapped(scores)
        gammas = np.ones(judgments.n_annotators) if reliabilities is None else reliabilities
        return cls(
            method,
            judgments.item_ids,
            frozen(tied),
            judgments.annotator_ids,
            frozen(gammas),
            frozen(_agreement(judgments, tied)),
            judgments.judgments_per_item,
            judgments.judgments_per_annotator,
            warnings=warnings,
            backend=judgments.backend,
            random_reliability=random_reliability,
            **record,
        )

    def quantify(
        self,
        kind: str = LAPLACE.name,
        *,
        level: float = LEVEL,
        draws: int = 200,
        seed: int = 0,
        on_draw: Callable[[int, int], None] | None = None,
    ) -> Consensus:
        """Return the same consensus with its uncertainty worked out.

        Parameters
        ----------
        kind
            ``"laplace"``: the penalised inverse information (the default). For the homogeneous
            models ``"sandwich"`` (annotators are a sample), ``"sandwich-random"``,
            ``"sandwich-fixed"``. For any aggregator ``"bootstrap"``, by annotator.
        level
            Of the intervals.
        draws
            Refits of the bootstrap.
        seed
            Of everything random.
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
        if seed < 0:
            raise OptionError(f"the seed is {seed}; give a whole number from 0 on.")
        if self.quantifier is None:
            raise OptionError(
                f"method '{self.method}' gave scores without a way to work out their uncertainty; "
                "aggregate the judgments with aggcal.aggregate."
            )
        found = self.quantifier(self, kind, level=level, draws=draws, seed=seed, on_draw=on_draw)
        stated = replace(self, stated=found)
        said = (*self.warnings, *found.warnings, *stated.reversed_warnings())
        return replace(stated, warnings=said)

    def reversed_warnings(self) -> tuple[AggcalWarning, ...]:
        """Name the annotators of `reversed_ids`, if there are any."""
        turned, border = self.reversed_ids, self.random_reliability
        if not turned:
            return ()
        one = len(turned) == 1
        return (
            ReversedWarning(
                f"{count(len(turned), 'annotator')} of {len(self.annotator_ids):,} "
                f"{'answers' if one else 'answer'} against the consensus ({some(turned)}; the "
                f"whole interval of the reliability is below {border:g})",
                "ask whether they understood the question; the fit turns their answers round",
            ),
        )

    @property
    def quantifiable(self) -> bool:
        """Whether its uncertainty can be worked out without fitting again."""
        return self.quantifier is not None and self.quantifier.quick

    @cached_property
    def uncertainty(self) -> Uncertainty | None:
        """How far the scores can be trusted; worked out when first asked for."""
        if self.stated is not None or not self.quantifiable:
            return self.stated
        return self.quantify().stated

    def efficiency(self) -> dict[str, float] | None:
        """Return diagnostics of what telling annotators apart is worth.

        None where it is not done, or where the estimated reliabilities differ no more than chance
        makes those of equal annotators differ.

        ``cv`` is the coefficient of variation of the reliabilities, their sampling variance taken
        off (the intervals' whole, so it is rather too small), and ``first_order_factor``
        1 + cv², the variance that equal weights would cost with small gaps and one design for all.
        For a moderate number of items ``median_ratio`` and ``share_worse`` estimate it for this
        design: the variances of the homogeneous fit over those of this one, in the directions that
        both identify. They are no guarantee: the published one (Theorem 3.3) is false.
        """
        return None if self.quantifier is None else self.quantifier.efficiency(self)

    def place(self, judgments: Judgments) -> Scores:
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
        if self.quantifier is None:
            raise OptionError(f"method '{self.method}' cannot place single items.")
        return self.quantifier.place(self, judgments)

    def judgment_probabilities(self, judgments: Judgments) -> FloatArray:
        """Return, for each row, the probability that its annotator prefers the left item.

        It is averaged over what is uncertain: the scores and the annotator's reliability. An
        annotator whom the consensus does not know is taken as any, an item as in the middle and
        as uncertain as the spread of the scores.

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
        if self.quantifier is None:
            raise OptionError(f"method '{self.method}' gives no probabilities of judgments.")
        return self.quantifier.probabilities(self, judgments)

    def order_probability(self, above: str, below: str) -> float:
        """Probability that one item is above another in the consensus (not in truth).

        Refused where nothing compares the two, not even through other items, or too little does.

        Examples
        --------
        >>> import aggcal
        >>> consensus = aggcal.aggregate([("ann", "a", "b"), ("bob", "a", "b")], warn=False)
        >>> round(consensus.order_probability("a", "b"), 2)
        0.78
        """
        if self.uncertainty is None:
            raise OptionError(f"method '{self.method}' has no uncertainty to tell this from.")
        found = []
        for item in (above, below):
            at_ = np.flatnonzero(self.item_ids == str(item))
            if not len(at_):
                raise OptionError(f"item '{item}' is not in the consensus; check its id.")
            found.append(at_[:1])
        chance = float(self.uncertainty.order_probability(found[0], found[1])[0])
        if np.isnan(chance):
            raise OptionError(
                f"nothing compares '{above}' with '{below}', not even through other items, or too "
                "few judgments join their groups; ask for more that do (see aggcal suggest)."
            )
        return chance

    @property
    def ranks(self) -> IntArray:
        """Rank of each item of ``item_ids``: 1 is the highest, tied items share the best."""
        ordered = np.sort(self.scores)
        return len(ordered) + 1 - np.searchsorted(ordered, self.scores, side="right")

    @property
    def order(self) -> IntArray:
        """Positions of the items from the highest score to the lowest."""
        return np.argsort(-self.scores, kind="stable")

    @property
    def reversed_ids(self) -> list[str]:
        """Annotators whose answers run against the consensus beyond doubt.

        The whole interval of their reliability is below that of random answers; a negative
        reliability alone may be chance. Nobody where there are no such intervals. After a check
        (``Assessment.advised``) its verdict counts instead: see ``Assessment.verdicts``.
        """
        high = None if self.uncertainty is None else self.uncertainty.reliability_high
        if high is None:
            return []
        return [str(one) for one in self.annotator_ids[high < self.random_reliability]]

    @property
    def n_judgments(self) -> int:
        """Judgments that were fitted."""
        return int(self.judgments_per_annotator.sum())

    def item_columns(self) -> Columns:
        """Return the items' table as plain columns."""
        order, known = self.order, self.uncertainty
        columns: Columns = {"item": self.item_ids[order], "score": self.scores[order]}
        if known is not None:
            columns |= {
                "se": known.se[order],
                "low": known.low[order],
                "high": known.high[order],
            }
        columns["rank"] = self.ranks[order]
        if known is not None:
            columns |= {"rank_low": known.rank_low[order], "rank_high": known.rank_high[order]}
        columns["n_judgments"] = self.judgments_per_item[order]
        return columns

    @property
    def items(self) -> Any:
        """Table of item, score, se, low, high, rank, rank_low, rank_high, n_judgments."""
        return as_frame(self.item_columns(), self.backend)

    @property
    def annotators(self) -> Any:
        """Table of the annotators: reliability and its interval, n_judgments, agreement.

        The most reliable stand first.
        ``agreement`` is the share of the annotator's judgments that the consensus order
        confirms; a tie, on either side, counts one half.
        """
        return as_frame(self.annotator_columns(), self.backend)

    def annotator_columns(self) -> Columns:
        """Return the annotators' table as plain columns."""
        order, known = np.argsort(-self.reliabilities, kind="stable"), self.uncertainty
        columns: Columns = {
            "annotator": self.annotator_ids[order],
            "reliability": self.reliabilities[order],
        }
        if known is not None and known.reliability_low is not None:
            columns["reliability_low"] = known.reliability_low[order]
        if known is not None and known.reliability_high is not None:
            columns["reliability_high"] = known.reliability_high[order]
        return columns | {
            "n_judgments": self.judgments_per_annotator[order],
            "agreement": self.agreement[order],
        }

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        record = self.convergence
        how = ""
        if record is not None:
            state = "converged" if record.converged else "did NOT converge"
            how = f"; {state} in {count(record.iterations, 'iteration')}"
        return wrapped(
            f"Consensus by {self.method}: {count(len(self.item_ids), 'item')}, "
            f"{count(len(self.annotator_ids), 'annotator')}, "
            f"{count(self.n_judgments, 'judgment')}{how}",
            f"highest: {named(self.item_ids[self.order])}",
        )

    def _repr_html_(self) -> str:
        # Intervals are shown where they are at hand: looking at a result must not take minutes.
        ready = self if "uncertainty" in vars(self) else replace(self, quantifier=None)
        chosen = ("item", "score", "se", "rank", "rank_low", "rank_high", "n_judgments")
        return card(
            unwrapped(str(self))[0],
            head(ready.item_columns(), chosen),
            rows=len(self.item_ids),
            warnings=self.warnings,
        )


def _snapped(scores: FloatArray) -> FloatArray:
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    near = _TIE * float(np.ptp(ordered))
    group = np.concatenate([[0], np.cumsum(np.diff(ordered) > near)])
    means = np.bincount(group, ordered) / np.bincount(group)
    snapped = np.empty_like(scores)
    # A lone item keeps its bits; only real ties are averaged.
    snapped[order] = np.where(np.bincount(group)[group] > 1, means[group], ordered)
    return snapped


def _agreement(judgments: Judgments, scores: FloatArray) -> FloatArray:
    if isinstance(judgments, ShardedJudgments):
        return judgments.agreement(scores)
    kernels, weight = library(), judgments.weight
    plain = weight.strides == (0,) and bool((weight[:1] == 1.0).all())
    agreed = np.zeros(judgments.n_annotators)
    if kernels is not None:
        columns = (judgments.annotator, judgments.left, judgments.right)
        codes = [np.ascontiguousarray(column, dtype=np.int32) for column in columns]
        outcome = None if judgments.decided_for_left else np.ascontiguousarray(judgments.outcome)
        weights = None if plain else np.ascontiguousarray(weight)
        heights = np.ascontiguousarray(scores)

        def work(begin: int, end: int) -> None:
            rows = slice(begin, end)
            given = [None if column is None else column[rows] for column in (outcome, weights)]
            arrays = at(*(code[rows] for code in codes), *given, heights, agreed)
            kernels.aggcal_agreement(end - begin, *arrays)

        # Cut between annotators, of whom each thread then has its own.
        cuts = np.searchsorted(codes[0], codes[0][even(len(weight))[1:-1]])
        each_range(work, [0, *np.unique(cuts).tolist(), len(weight)])
    else:
        for k in range(0, len(weight), _PIECE):
            rows = slice(k, k + _PIECE)
            side = np.sign(scores[judgments.left[rows]] - scores[judgments.right[rows]])
            agrees = weight[rows] * (0.5 + side * (judgments.outcome[rows] - 0.5))
            agreed += sums(judgments.annotator[rows], agrees, judgments.n_annotators)
    return agreed / sums(judgments.annotator, weight, judgments.n_annotators)
