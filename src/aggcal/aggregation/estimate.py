"""Work out how far a consensus can be trusted: by its curvature, or by fitting again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import partial
from math import inf

import numpy as np

from aggcal import registry
from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.records import dataclass
from aggcal._core.tables import aligned
from aggcal._core.unmasked import median
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.curved import Alike, Curved, known_forces
from aggcal.aggregation.last import Last
from aggcal.aggregation.protocols import Aggregator, Curvature
from aggcal.aggregation.refusals import refuse_apart, refuse_pieces
from aggcal.aggregation.resampling import MOST_GROUPS, bootstrap, jackknife, n_contexts, n_groups
from aggcal.aggregation.solve.placing import place_item
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.aggregation.uncertainty.covariance import (
    MOST_DENSE,
    Covariance,
    DenseCovariance,
    DrawnCovariance,
)
from aggcal.aggregation.uncertainty.efficiency import known_sd, relative_variances
from aggcal.aggregation.uncertainty.groups import Groups, claimed_groups
from aggcal.aggregation.uncertainty.laplace import laplace
from aggcal.aggregation.uncertainty.row_forces import RowForces
from aggcal.aggregation.uncertainty.sandwich import Design, few_annotators, sandwich
from aggcal.aggregation.uncertainty.shrinkage import drawn_shrinkage, shrinkage
from aggcal.data.base import AnyJudgments
from aggcal.data.features import Features
from aggcal.data.judgments import Judgments
from aggcal.data.scores import Scores
from aggcal.errors import AggcalWarning, OptionError, TooLittleDataError
from aggcal.models.general.terms import PLAIN
from aggcal.models.information import Information, information
from aggcal.models.links import link as link_of
from aggcal.models.quadrature import GAP_WEIGHTS, GAPS
from aggcal.models.rows import Rows, rows_of

_FEWEST_ANNOTATORS = 2  # of one, nothing tells how annotators vary
_MOST_COMPARED = 600  # items: the comparison takes a second fit and matrices of items by items
_TIE = 0.5  # the outcome of a tie: half of a win
_FIXED = registry.SANDWICH_FIXED.name
_DESIGNS: dict[str, Design] = {
    registry.SANDWICH.name: "annotator",
    registry.SANDWICH_RANDOM.name: "random",
    _FIXED: "fixed",
}


@dataclass(frozen=True, eq=False)
class Quantify:
    """Holds what is needed to work out the uncertainty of a consensus when it is asked for."""

    aggregator: Aggregator
    judgments: AnyJudgments
    _last: Last[Curvature] = field(default_factory=Last, init=False, repr=False)

    @property
    def quick(self) -> bool:
        """Whether the aggregator knows its curvature; if not, only refits tell."""
        return isinstance(self.aggregator, Curved)

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
        if kind not in registry.UNCERTAINTIES:
            known = ", ".join(registry.UNCERTAINTIES)
            raise OptionError(f"uncertainty '{kind}' is unknown; choose {known}.")
        own: object = self.aggregator
        if kind not in (registry.LAPLACE.name, registry.SANDWICH_CONTEXT.name):
            self.judgments.on_one_machine(f"uncertainty '{kind}'")
        if kind == registry.LAPLACE.name and self._by_context(consensus):
            few = n_contexts(self.judgments) <= MOST_GROUPS
            kind = registry.JACKKNIFE.name if few else registry.SANDWICH_CONTEXT.name
        if kind in (registry.JACKKNIFE.name, registry.SANDWICH_CONTEXT.name):
            return self._clustered(consensus, kind, level, seed, on_draw)
        if kind == registry.BOOTSTRAP.name:
            return self._bootstrap(consensus, level, draws, seed, on_draw)
        if not isinstance(own, Curved):
            raise OptionError(
                f"'{kind}' needs the curvature of the fit, which method '{consensus.method}' does "
                "not provide; choose bootstrap."
            )
        if kind != registry.LAPLACE.name:
            return self._sandwich(own, consensus, kind, level, seed)
        given = own, consensus, seed, on_draw
        found = self._last.of(consensus.scores, seed, lambda: self._laplace(*given))
        return Uncertainty.of(
            kind,
            level,
            consensus.scores,
            found.covariance,
            reliabilities=consensus.reliabilities,
            reliability_variances=found.reliability_variances,
            logits=found.logits,
            bounds=own.bounds,
            scale=found.scale,
            prior_sd=None if consensus.prior is None else consensus.prior.score_sd,
            **self._groups(consensus, lambda: found.covariance),
            seed=seed,
        )

    def _sandwich(
        self, own: Curved, consensus: Consensus, kind: str, level: float, seed: int
    ) -> Uncertainty:
        """Return errors that do not suppose annotators to be alike, though the fit does."""
        if not isinstance(own, Alike) or own.heterogeneous:
            raise OptionError(
                f"'{kind}' is for methods in which all annotators are equally reliable (btl, tcv), "
                f"not for {consensus.method}; choose laplace or bootstrap."
            )
        if kind == registry.SANDWICH.name and self.judgments.n_annotators < _FEWEST_ANNOTATORS:
            raise OptionError(f"'{kind}' needs at least two annotators; choose laplace.")
        curved = self._information(own, consensus, rows := rows_of(self.judgments), observed=True)
        curved.fix_location()
        fixed, weight = kind == _FIXED, float(self.judgments.on_one_machine(kind).weight.sum())
        covariance = sandwich(
            rows,
            link_of(own.link),
            consensus.scores,
            curved,
            _DESIGNS[kind],
            probabilities=own.probabilities(self.judgments) if fixed else None,
            unit=weight / self.judgments.n_judgments,
            seed=seed,
        )
        by_annotator, m = kind == registry.SANDWICH.name, self.judgments.n_annotators
        return Uncertainty.of(
            kind,
            level,
            consensus.scores,
            covariance,
            degrees_of_freedom=m - 1 if by_annotator else inf,
            **self._groups(consensus, warnings=few_annotators(m) if by_annotator else ()),
            seed=seed,
        )

    def _bootstrap(
        self,
        consensus: Consensus,
        level: float,
        draws: int,
        seed: int,
        on_draw: Callable[[int, int], None] | None,
    ) -> Uncertainty:
        """Refit what other annotators, or other contexts, would have given."""
        refit, given = partial(self._refit, consensus), self.judgments
        scores = bootstrap(given, consensus, refit, draws=draws, seed=seed, on_draw=on_draw)
        known = getattr(self.curvature(consensus), "covariance", None)
        scores += drawn_shrinkage(known, consensus.prior, draws, seed)
        clusters = n_contexts(given) or given.n_annotators
        # Reliabilities get no interval: whom else one is drawn with says little about one's own.
        return Uncertainty.of(
            registry.BOOTSTRAP.name,
            level,
            consensus.scores,
            DrawnCovariance(scores),
            degrees_of_freedom=min(clusters, draws) - 1,
            **self._groups(consensus, warnings=few_annotators(self.judgments.n_annotators)),
            seed=seed,
        )

    def _by_context(self, consensus: Consensus) -> bool:  # noqa: ARG002
        """Whether answers in one context depend on each other in ways that were not fitted."""
        use = getattr(self.aggregator, "terms", PLAIN).context
        return use != PLAIN.context and n_contexts(self.judgments) > 1

    def _clustered(
        self,
        consensus: Consensus,
        kind: str,
        level: float,
        seed: int,
        on_draw: Callable[[int, int], None] | None,
    ) -> Uncertainty:
        """Allow for what answers in a context share; reliabilities keep the errors of the fit."""
        matrix = self._context_sandwich() if kind == registry.SANDWICH_CONTEXT.name else None
        number, found = n_contexts(self.judgments), self.curvature(consensus)
        if matrix is None:
            local = self.judgments.on_one_machine("a jackknife by context")
            kind, number = registry.JACKKNIFE.name, n_groups(local)
            matrix = jackknife(local, consensus, partial(self._refit, consensus), on_draw)
            matrix += shrinkage(getattr(found, "covariance", None), consensus.prior)
        covariance = DenseCovariance(matrix)
        return Uncertainty.of(
            kind,
            level,
            consensus.scores,
            covariance,
            reliabilities=consensus.reliabilities,
            reliability_variances=None if found is None else found.reliability_variances,
            degrees_of_freedom=number - 1,
            **self._groups(consensus, lambda: covariance),
            seed=seed,
        )

    def _context_sandwich(self) -> FloatArray | None:
        """Return the covariance by a sandwich; None where the fit has none, but a jackknife."""
        return None

    def _refit(self, consensus: Consensus, part: AnyJudgments) -> Consensus:
        """Fit other judgments in the same way."""
        own = self.aggregator
        if isinstance(own, Curved):
            return own.refit(part, consensus, consensus)
        return own.fit(part.on_one_machine("a refit"))

    def curvature(self, consensus: Consensus, /) -> Curvature | None:
        """Return the covariance of scores and reliabilities; None where it is not known."""
        own: object = self.aggregator
        if not isinstance(own, Curved):
            return None
        return self._last.of(consensus.scores, 0, lambda: self._laplace(own, consensus, 0, None))

    def _laplace(
        self,
        own: Curved,
        consensus: Consensus,
        seed: int,
        on_draw: Callable[[int, int], None] | None,
    ) -> Curvature:
        if consensus.prior is None and len(consensus.scores) > MOST_DENSE:
            refuse_pieces(self.judgments)
        rows = rows_of(self.judgments)
        unit, curved = own.unit_weights(rows, consensus), self._information(own, consensus, rows)
        return Curvature(*laplace(curved, unit=unit, seed=seed, on_draw=on_draw))

    def _component(self) -> IntArray | None:
        """Return the component of each item; None where features relate items nobody compared."""
        if isinstance(getattr(self.aggregator, "features", None), Features):
            return None
        return self.judgments.graph.component

    def _groups(
        self,
        consensus: Consensus,
        covariance: Callable[[], Covariance] | None = None,
        *,
        warnings: tuple[AggcalWarning, ...] = (),
    ) -> Groups:
        """Return the component of each item, split where groups are weakly joined, and warnings."""
        curved = lambda: getattr(self.curvature(consensus), "covariance", None)  # noqa: E731
        sd = None if consensus.prior is None else consensus.prior.score_sd
        known, scores, component = covariance or curved, consensus.scores, self._component()
        return claimed_groups(self.judgments, component, known, sd, warnings, scores=scores)

    def _information(
        self, own: Curved, consensus: Consensus, rows: Rows, *, observed: bool = False
    ) -> Information:
        """Return the information at a consensus."""
        return information(
            own.problem(rows, consensus),
            consensus.scores,
            own.parameters(consensus.reliabilities),
            observed=observed,
        )

    def row_forces(self, consensus: Consensus) -> RowForces | None:
        """Return what each judgment does to the scores; None where the fit does not know."""
        return known_forces(self.aggregator, self.judgments, consensus)

    def place(self, consensus: Consensus, judgments: AnyJudgments) -> Scores:
        """Place items that were judged later, with all that was fitted held fixed."""
        judgments = judgments.on_one_machine("placing items")
        own: object = self.aggregator
        if not isinstance(own, Curved):
            raise OptionError(
                f"method '{consensus.method}' cannot place single items; aggregate all judgments "
                "again."
            )
        fixed = aligned(consensus.scores, consensus.item_ids, judgments.item_ids)
        new = np.flatnonzero(np.isnan(fixed))
        if not len(new):
            raise TooLittleDataError(
                f"{judgments.source}: every item is in the consensus already; aggregate all "
                "judgments again to move them."
            )
        found, sd = self._placed(judgments, new, fixed, consensus)
        return Scores(judgments.item_ids[new], found, sd, judgments.source)

    def _placed(
        self, judgments: Judgments, new: IntArray, fixed: FloatArray, consensus: Consensus
    ) -> tuple[FloatArray, FloatArray]:
        """Return scores of new items and their standard deviations, the others' scores fixed."""
        own = self.aggregator
        assert isinstance(own, Curved)  # noqa: S101  # others cannot place
        problem = own.problem(rows_of(judgments), consensus)
        known = aligned(consensus.reliabilities, consensus.annotator_ids, judgments.annotator_ids)
        theta = own.parameters(np.where(np.isnan(known), median(consensus.reliabilities), known))
        owner = np.repeat(np.arange(problem.rows.n_annotators), np.diff(problem.rows.starts))
        rows, theta = problem.rows, theta[owner]
        found, sd = np.empty(len(new)), np.empty(len(new))
        for k, item in enumerate(new.tolist()):
            won = (rows.winner == item) & np.isfinite(fixed[rows.loser])
            lost = (rows.loser == item) & np.isfinite(fixed[rows.winner])
            if not (won | lost).any():
                refuse_apart(judgments, item)
            mine = won | lost
            sign = np.where(won, 1.0, -1.0)[mine]
            other = np.where(won, fixed[rows.loser], fixed[rows.winner])[mine]
            weight = rows.weight[mine]
            found[k], sd[k] = place_item(problem, sign, other, theta[mine], weight)
        return found, sd

    def probabilities(self, consensus: Consensus, judgments: AnyJudgments) -> FloatArray:
        """Return the probability that each row's annotator prefers its left item."""
        judgments = judgments.on_one_machine("the probability of each judgment")
        own: object = self.aggregator
        if not isinstance(own, Curved) or consensus.uncertainty is None:
            raise OptionError(
                f"method '{consensus.method}' gives no probabilities of judgments; choose "
                f"{registry.DEFAULT_METHOD}."
            )
        ids, sd = consensus.item_ids, 0.0 if consensus.prior is None else consensus.prior.score_sd
        place = aligned(np.arange(float(len(ids))), ids, judgments.item_ids)
        known = np.isfinite(place)
        where = np.where(known, place, 0).astype(np.int64)
        scores = np.where(known, consensus.scores[where], 0.0)
        covariance, left, right = consensus.uncertainty.covariance, judgments.left, judgments.right
        variances = np.where(known, covariance.variances[where], sd**2)
        variance_of_gap = variances[left] + variances[right]
        if isinstance(covariance, DenseCovariance):
            both = known[left] & known[right]
            pairs = where[left[both]], where[right[both]]
            variance_of_gap[both] = covariance.gap_variance(*pairs)
        nodes, weights = self._nodes(own, consensus, judgments)
        problem = own.problem(rows_of(self.judgments), consensus)
        gap, total = scores[left] - scores[right], np.zeros(len(left))
        for point, share in zip(GAPS, GAP_WEIGHTS, strict=True):
            at = gap + point * np.sqrt(variance_of_gap)
            for k in range(nodes.shape[1]):
                loss = problem.row_terms(at, nodes[judgments.annotator, k]).loss
                total += share * weights[judgments.annotator, k] * np.exp(-loss)
        return total

    def outcomes(self, consensus: Consensus, judgments: AnyJudgments) -> FloatArray:
        """Return the probabilities of left, right and tie: of ties, their share everywhere."""
        left = self.probabilities(consensus, judgments)
        fitted = self.judgments.on_one_machine("the probability of each outcome")
        weight = np.asarray(fitted.weight)
        tied = float(weight[np.asarray(fitted.outcome) == _TIE].sum())
        share = (tied + 0.5) / (float(weight.sum()) + 1.0)  # never 0: there may be one yet
        chances = [(1.0 - share) * left, (1.0 - share) * (1.0 - left), np.full(len(left), share)]
        return np.stack(chances, axis=1)

    def _nodes(
        self, own: Curved, consensus: Consensus, judgments: AnyJudgments
    ) -> tuple[FloatArray, FloatArray]:
        """Return values of each annotator's parameter and their probabilities."""
        found = aligned(consensus.reliabilities, consensus.annotator_ids, judgments.annotator_ids)
        typical = median(consensus.reliabilities)
        nodes = own.parameters(np.where(np.isnan(found), typical, found))
        if len(nodes) != len(found):
            nodes = np.ones(len(found))
        return nodes[:, None], np.ones((len(found), 1))

    def heterogeneity(self, consensus: Consensus) -> dict[str, float] | None:
        """Say how far reliabilities differ, and what that is worth to first order."""
        own: object = self.aggregator
        if not isinstance(own, Alike) or not own.heterogeneous or consensus.prior is None:
            return None
        known = consensus.uncertainty
        cv = None if known is None else known_sd(consensus.reliabilities, known)
        return None if cv is None else {"cv": cv, "first_order_factor": 1.0 + cv**2}

    def efficiency(self, consensus: Consensus) -> dict[str, float] | None:
        """Compare the variances of this fit with those of equal weights."""
        found = self.heterogeneity(consensus)
        own, known = self.aggregator, consensus.uncertainty
        if found is None or known is None or not isinstance(own, Alike):
            return None
        if len(consensus.scores) > _MOST_COMPARED or self.judgments.local is None:
            return found
        matrix = known.covariance.dense()
        if matrix is None:
            return found
        alike = own.alike(self.judgments, consensus)
        plain = alike.quantify(_FIXED).uncertainty
        other = None if plain is None else plain.covariance.dense()
        if other is None:
            return found
        return found | relative_variances(known.scores, matrix.matrix, alike.scores, other.matrix)
