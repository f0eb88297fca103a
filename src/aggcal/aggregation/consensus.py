"""The consensus: what Stage 1 returns, and its tables as plain columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, TextArray, frozen, ranks
from aggcal._core.progress import report
from aggcal._core.ranking import Ranking
from aggcal._core.tables import Columns, as_frame, positions
from aggcal._core.text import card, clipped, wrapped
from aggcal.aggregation.claims import Claims, claims_of
from aggcal.aggregation.covariance import DenseCovariance
from aggcal.aggregation.effects import Effects, Reading, in_camps
from aggcal.aggregation.newton import Convergence
from aggcal.aggregation.spreads import Prior
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
from aggcal.registry import DEFAULT_METHOD, ROBUST, limits
from aggcal.registry.literals import UncertaintyName

if TYPE_CHECKING:
    from aggcal.aggregation.camps import Camps
    from aggcal.aggregation.estimate import Quantify
    from aggcal.aggregation.raters import Raters

LEVEL = 0.95
"""Level of intervals, unless another is asked for."""
_NO_PROBABILITIES = f"gives no probabilities of judgments; choose {DEFAULT_METHOD}"
_TIE = 1e-9
"""Share of the range of the scores within which neighbours are tied: more ties what differs, less
leaves to rounding which of two equal items is above."""


@runtime_checkable
class Aggregator(Protocol):
    """Stage 1 in one method: any object that has it can be passed to `aggcal.aggregate`."""

    def fit(self, judgments: Judgments, /) -> Consensus:
        """Return the consensus of some judgments (`Consensus.of` makes one from scores)."""
        ...


_QUICK = 500
"""Items up to which intervals are computed to be shown: that takes less than a second."""
SAMPLING = "The intervals are of these judges' consensus: sampling error only, not the truth."
"""What intervals of a consensus are about."""


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
    raters: Raters | None = field(default=None, repr=False)
    """How annotators used the scale, where ratings were fitted as such; None for comparisons."""

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
            Judgments that compare new items with items of this consensus. Annotators who
            were not fitted are like those whom the prior expects.

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
        otherwise = "cannot place single items; aggregate all judgments again"
        return self._predictor(otherwise).place(judgments.on_one_machine("placing items"))

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
        here = judgments.on_one_machine("the probability of each judgment")
        return self._predictor(_NO_PROBABILITIES).preferences(here)

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
        here = judgments.on_one_machine("the probability of each outcome")
        return self._predictor(_NO_PROBABILITIES).outcomes(here)

    def _predictor(self, otherwise: str) -> Effects:
        return self._known_fit(otherwise).predictor(self, otherwise)

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

    def order_probability(self, above: object, below: object) -> float:
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

    def draws(self, n: int | None = None, *, seed: int = 0) -> FloatArray:
        """Return draws of all scores given the judgments: a row a draw, a column an item.

        Columns are in the order of ``item_ids``. The likely ranks are those of these draws.

        Parameters
        ----------
        n
            How many; all that the ranks are made of if that is not said, and no more than these.
        seed
            Which of them are taken.

        Examples
        --------
        >>> import aggcal
        >>> consensus = aggcal.aggregate([("ann", "a", "b"), ("bob", "a", "b")], warn=False)
        >>> drawn = consensus.draws(500)
        >>> drawn.shape, bool(np.mean(drawn[:, 0] > drawn[:, 1]) > 0.6)
        ((500, 2), True)
        """
        every = None if self.uncertainty is None else self.uncertainty.draws()
        if every is None:
            raise OptionError("there are no draws: no uncertainty is known, or items are too many.")
        if n is None:
            return every
        if not 0 < n <= len(every):
            raise OptionError(f"n is {n}; give a whole number from 1 to {len(every):,}.")
        rows = np.random.default_rng(seed).choice(len(every), n, replace=False)
        return np.asarray(every[rows])

    def to_arviz(self) -> Any:
        """Return the draws as an object of ArviZ, with the variable ``score`` by item.

        It needs ``arviz``, which is not installed with aggcal.
        """
        try:
            arviz = import_module("arviz")
        except ImportError:
            raise OptionError("this needs arviz: pip install arviz") from None
        posterior = {"score": self.draws()[None]}
        named = {"coords": {"item": self.item_ids.tolist()}, "dims": {"score": ["item"]}}
        if str(arviz.__version__).startswith("0."):
            return arviz.from_dict(posterior=posterior, **named)
        return arviz.from_dict({"posterior": posterior}, **named)

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
        named = reversed_annotators(ids, known, self.random_reliability)
        if self.raters is None:
            return named
        enough = ids[self.judgments_per_annotator >= self.raters.fewest]
        return [one for one in named if one in enough]

    @property
    def n_judgments(self) -> int:
        """Judgments that were fitted."""
        return int(self.judgments_per_annotator.sum())

    def item_columns(self) -> Columns:
        """Return the items' table as plain columns, the highest first."""
        columns: Columns = {"item": self.item_ids, "consensus": self.scores}
        ranked: Columns = {"rank": self.ranks}
        if (spread := self.uncertainty) is not None:
            columns |= {"consensus_se": spread.se}
            columns |= {"consensus_low": spread.low, "consensus_high": spread.high}
            ranked |= {"rank_low": spread.rank_low, "rank_high": spread.rank_high}
        if (claims := self.claims()) is not None:
            ranked |= {"sure_low": claims.low, "sure_high": claims.high}
        columns |= ranked | {"n_judgments": self.judgments_per_item}
        return {name: column[self.order] for name, column in columns.items()}

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
        """Return the annotators' table as plain columns, the most reliable first."""
        columns: Columns = {
            "annotator": self.annotator_ids,
            "reliability": self.reliabilities,
        }
        for end in ("reliability_low", "reliability_high"):
            if (column := getattr(self.uncertainty, end, None)) is not None:
                columns[end] = column
        columns |= {
            "n_judgments": self.judgments_per_annotator,
            "agreement": self.agreement,
        }
        if (effects := self.effects) is not None:
            for name, reading in effects.parameters.items():
                ends = _ends(self, reading)
                columns |= {name: reading.values} | {
                    f"{name}_{end}": each for end, each in ends.items()
                }
        for name, reading in {} if self.raters is None else self.raters.columns.items():
            ends = _ends(self, reading)
            columns |= {name: reading.values} | {f"{name}_{end}": ends[end] for end in ends}
        if (camps := _camps(self)) is not None:
            chances = zip(camps.names, camps.members.T, strict=True)
            columns["camp"] = camps.own
            columns |= {f"p_camp_{name.lower()}": chance for name, chance in chances}
        order = annotator_order(self)
        return {name: column[order] for name, column in columns.items()}

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
            **({} if self.raters is None else {"ratings": self.raters.to_dict()}),
        }

    def __repr__(self) -> str:
        return wrapped(self._title())

    def __str__(self) -> str:
        ranking = self._ranking()
        notes = [] if ranking.level is None else [SAMPLING]
        return "\n".join([wrapped(self._title()), "", str(ranking), "", *notes]).rstrip()

    def _ranking(self) -> Ranking:
        # Of many items intervals are shown where they are at hand: looking must not take minutes.
        small = len(self.item_ids) <= _QUICK
        ready = self if small or "uncertainty" in vars(self) else replace(self, quantifier=None)
        level = None if ready.uncertainty is None else ready.uncertainty.level
        return Ranking.of(ready.item_columns(), "consensus", level)

    def _title(self) -> str:
        record = self.convergence
        failed = record is not None and not record.converged
        said = " The fit did NOT converge." if failed else ""
        people = count(len(self.annotator_ids), "annotator")
        return (
            f"Consensus by {clipped(self.method)}: {count(len(self.item_ids), 'item')}, "
            f"{count(self.n_judgments, 'judgment')} by {people}.{said}"
        )

    def _repr_html_(self) -> str:
        ranking = self._ranking()
        notes = [] if ranking.level is None else [SAMPLING]
        return card(
            self._title(), ranking.html(), rows=ranking.total, notes=[*notes, ranking.more],
            warnings=self.warnings,
        )  # fmt: skip


def snapped(scores: FloatArray) -> FloatArray:
    """Make scores equal that differ by no more than rounding.

    Examples
    --------
    >>> snapped(np.array([1.0, 0.3, 0.1 + 0.2])).tolist()
    [1.0, 0.30000000000000004, 0.30000000000000004]
    """
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    group = np.cumsum(np.diff(ordered, prepend=ordered[:1]) > _TIE * np.ptp(ordered))
    number = np.bincount(group)
    equal = np.empty_like(scores)
    # A lone item keeps its bits; only real ties are averaged.
    means = np.bincount(group, ordered) / number
    equal[order] = np.where(number[group] > 1, means[group], ordered)
    return equal


def _checked(values: FloatArray, ids: TextArray, gave: str, what: str) -> FloatArray:
    """Return a finite number for each id, or refuse what a method gave."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (len(ids),) or not np.isfinite(array).all():
        raise OptionError(
            f"{gave} of shape {array.shape}; a finite number is needed for each of the {len(ids)} "
            f"{what}."
        )
    return array


# Further tables ----------------------------------------------------------------------------------


def annotator_order(consensus: Consensus) -> IntArray:
    """Return where the rows of the annotators' table are among their ids."""
    return np.argsort(-consensus.reliabilities, kind="stable")


def term_columns(consensus: Consensus) -> Columns:
    """Return what the other terms say of the items, in the order of their ids."""
    columns: Columns = {}
    if (effects := consensus.effects) is None:
        return columns
    if effects.uncontrolled is not None:
        scores = snapped(effects.uncontrolled)
        columns |= {"consensus_uncontrolled": scores, "rank_uncontrolled": ranks(scores)}
    if (axis := effects.axis) is not None:
        columns |= _named(common_ground=axis.common_ground, axis=axis.items)
    if (camps := _camps(consensus)) is not None:
        own = zip(camps.names, camps.scores, strict=True)
        columns |= _named(common_ground=camps.common_ground)
        columns |= {f"camp_{name.lower()}": scores for name, scores in own}
        columns |= _named(camps_apart=camps.apart)
    return columns


def camp_columns(consensus: Consensus) -> Columns:
    """Return the scores by camp, as in ``camps.csv``; nothing where there are no camps."""
    if (camps := _camps(consensus)) is None:
        return {}
    rows = zip(camps.names, camps.shares.tolist(), camps.scores, camps.se, strict=True)
    return _stacked(
        [
            _group(consensus, {"camp": name, "share": share}, scores, se)[0]
            for name, share, scores, se in rows
        ]
    )


def category_columns(consensus: Consensus) -> Columns:
    """Return the scores by category, as in ``categories.csv``; nothing where there are none.

    Items that nobody compared in a category have no row in it.
    """
    parts, spread = [], consensus.uncertainty
    for column in () if consensus.effects is None else consensus.effects.categories:
        rows = zip(column.ids, column.scores, column.se, column.judgments.tolist(), strict=True)
        for k, (name, scores, se, weight) in enumerate(rows):
            category = {"column": column.name, "category": str(name)}
            part, order = _group(consensus, category, scores, se)
            number = int(weight) if weight.is_integer() else weight
            part["n_judgments"] = np.full(len(order), number, dtype=object)
            if spread is not None and column.covariances and spread.component is None:
                matrix = DenseCovariance(column.covariances[k][np.ix_(order, order)])
                own = Uncertainty.of(spread.kind, spread.level, part["score"], matrix, seed=k)
                part |= {"rank_low": own.rank_low, "rank_high": own.rank_high}
            parts.append(part)
    return _stacked(parts)


def _camps(consensus: Consensus) -> Camps | None:
    """Return the camps that annotators form, if they form some."""
    camps = None if consensus.effects is None else consensus.effects.camps
    return camps if camps is not None and camps.stands_out else None


def _named(**readings: Reading) -> Columns:
    """Return readings with their standard errors."""
    columns: Columns = {}
    for name, reading in readings.items():
        columns |= {name: reading.values, f"{name}_se": reading.se}
    return columns


def _ends(consensus: Consensus, reading: Reading) -> Columns:
    """Return the ends of intervals at the level of the consensus, where it has one."""
    if consensus.uncertainty is None:
        return {}
    low, high = reading.interval(consensus.uncertainty.level)
    return {"low": low, "high": high}


def _group(
    consensus: Consensus, group: Mapping[str, str | float], scores: FloatArray, se: FloatArray
) -> tuple[Columns, IntArray]:
    """Return the rows of one group of scores, the highest first; and their order.

    Items without a score have no row, and do not count in the order.
    """
    items = np.flatnonzero(np.isfinite(scores))
    order = np.argsort(-scores[items], kind="stable")
    items = items[order]
    value, columns = snapped(scores[items]), Columns()
    for name, each in group.items():
        columns[name] = np.full(len(items), each, dtype=object if isinstance(each, str) else float)
    columns |= {"item": consensus.item_ids[items], "score": value}
    if ends := _ends(consensus, Reading(value, se[items])):
        columns |= {"se": se[items]} | ends
    return columns | {"rank": ranks(value)}, order


def _stacked(parts: list[Columns]) -> Columns:
    """Return one table of the rows of several."""
    names = parts[0] if parts else ()
    return {name: np.concatenate([part[name] for part in parts]) for name in names}
