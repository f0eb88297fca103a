"""Baselines as aggregators: Gaussian processes and a ranking SVM, from features of items."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from aggcal import registry
from aggcal._core.arrays import FloatArray, IntArray
from aggcal.aggregation.at_once import QuantifyAtOnce
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.newton import Convergence, Progress
from aggcal.aggregation.protocols import Curvature
from aggcal.aggregation.solve.gaussian_process import KernelChoice, fit_gaussian
from aggcal.aggregation.solve.rank_svm import fit_rank_svm
from aggcal.aggregation.solve.reweighting import fit_weighted
from aggcal.aggregation.start import not_converged
from aggcal.aggregation.uncertainty.covariance import MOST_DENSE, DenseCovariance
from aggcal.data.base import AnyJudgments
from aggcal.data.features import FeatureChoice, Features
from aggcal.data.judgments import Judgments
from aggcal.data.warnings import data_warnings
from aggcal.errors import AggcalWarning, ConvergenceWarning, KernelWarning, OptionError
from aggcal.models.features.covariance_functions import Geometry, Kernel
from aggcal.models.features.gppl import Laplace
from aggcal.models.features.rank_svm import differences
from aggcal.models.rows import rows_of


@dataclass(frozen=True)
class _GaussianProcess:
    """What methods with a Gaussian process take."""

    features: FeatureChoice
    kernel: Kernel | None = None

    def __post_init__(self) -> None:
        _refuse_others(self.features)


@dataclass(frozen=True)
class GPPL(_GaussianProcess):
    """Preference learning with a Gaussian process (Chu & Ghahramani 2005).

    P(i above j) = Φ((f_i − f_j)/√2), f ~ N(0, K); the scores are the mode of f, every annotator
    counts alike. Standard errors come from the Laplace approximation and take the kernel as known.

    Parameters
    ----------
    features
        `Features`; or ``"identity"``: K is then a multiple of the identity, and the model is
        Thurstone's with a normal prior on the scores.
    kernel
        A `Kernel`; None to choose the one of the largest Laplace evidence.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "b", "c"), ("bob", "b", "a")]
    >>> found = GPPL("identity").fit(aggcal.read_judgments(rows))
    >>> found.items["item"].tolist(), found.convergence.converged
    (['b', 'a', 'c'], True)
    """

    def fit(self, judgments: AnyJudgments, /, *, on_iteration: Progress | None = None) -> Consensus:
        """Choose the kernel and find the mode."""
        began = time.perf_counter()
        judgments = judgments.on_one_machine(registry.GPPL.name)
        geometry = _geometry(registry.GPPL.name, self.features, judgments)
        rows = rows_of(judgments).pooled()
        fit = fit_gaussian(rows, geometry, self.kernel, on_iteration=on_iteration)
        return Consensus.of(
            judgments,
            fit.laplace.scores,
            method=registry.GPPL.name,
            warnings=_gaussian_warnings(registry.GPPL.name, judgments, fit.convergence, fit.chosen),
            objective=fit.convergence.objectives[-1],
            log_likelihood=fit.laplace.log_likelihood,
            convergence=fit.convergence,
            kernel=fit.chosen.kernel,
            seconds=time.perf_counter() - began,
            quantifier=_QuantifyGaussian(self, judgments, fit.laplace),
            component=_component(self.features, judgments),
        )


@dataclass(frozen=True)
class BARCW(_GaussianProcess):
    """Bayesian ranking with comparison weights: annotators who may answer at random.

    Its authors published no code: this is our own, written from a description of the method; see
    ``aggcal.models.features.barcw`` for what exactly is fitted. The reliability of an annotator is
    the posterior probability that they judge at all rather than guess, from 0 to 1. Standard errors
    take the reliabilities and the kernel as known.

    Parameters
    ----------
    features, kernel
        See `GPPL`.

    Examples
    --------
    >>> import aggcal
    >>> rows = [(u, a, b) for u in ("ann", "bob", "eve") for a, b in ("ab", "bc", "cd", "ad")]
    >>> rows += [("guest", "d", "a"), ("guest", "a", "b"), ("guest", "c", "b")]
    >>> found = BARCW("identity").fit(aggcal.read_judgments(rows))
    >>> found.annotators["annotator"].tolist()[-1]
    'guest'
    """

    def fit(self, judgments: AnyJudgments, /, *, on_iteration: Progress | None = None) -> Consensus:
        """Alternate between the scores and the weights of the annotators."""
        began = time.perf_counter()
        judgments = judgments.on_one_machine(registry.BARCW.name)
        geometry = _geometry(registry.BARCW.name, self.features, judgments)
        fit = fit_weighted(rows_of(judgments), geometry, self.kernel, on_iteration=on_iteration)
        return Consensus.of(
            judgments,
            fit.laplace.scores,
            method=registry.BARCW.name,
            reliabilities=fit.trust.weights,
            warnings=_gaussian_warnings(
                registry.BARCW.name, judgments, fit.convergence, fit.chosen
            ),
            objective=fit.objective,
            log_likelihood=fit.trust.log_likelihood,
            convergence=fit.convergence,
            kernel=fit.chosen.kernel,
            seconds=time.perf_counter() - began,
            quantifier=_QuantifyGaussian(self, judgments, fit.laplace),
            component=_component(self.features, judgments),
        )


@dataclass(frozen=True)
class RankSVM:
    """The linear ranking SVM: a support vector machine on differences of features.

    It minimises ½|w|² + C Σ max(0, 1 − w'(x_i − x_j))² over the judgments "i above j", weighted as
    they are; the score of an item is w'x. Needs scikit-learn (``pip install 'aggcal[baselines]'``).

    Parameters
    ----------
    features
        `Features`; or ``"identity"``: every item then has a score of its own.
    cost
        C: how much a judgment counts against the size of w.

    Examples
    --------
    >>> import aggcal
    >>> features = aggcal.read_features([("a", 1.0), ("b", 2.0), ("c", 3.0)])
    >>> judgments = aggcal.read_judgments([("ann", "b", "a"), ("bob", "c", "a")])
    >>> RankSVM(features).fit(judgments).items["item"].tolist()
    ['c', 'b', 'a']
    """

    features: FeatureChoice
    cost: float = 1.0

    def __post_init__(self) -> None:
        _refuse_others(self.features)
        if not self.cost > 0.0:
            raise OptionError(f"cost of rank-svm is {self.cost}; give a number above 0.")

    def fit(self, judgments: AnyJudgments, /) -> Consensus:
        """Find the separating direction."""
        began = time.perf_counter()
        judgments = judgments.on_one_machine(registry.RANK_SVM.name)
        features = _matrix(self.features, judgments)
        rows = rows_of(judgments).pooled()
        slopes, value, record = fit_rank_svm(differences(rows, features), rows.weight, self.cost)
        return Consensus.of(
            judgments,
            slopes if features is None else features @ slopes,
            method=registry.RANK_SVM.name,
            warnings=(*data_warnings(judgments), *not_converged(registry.RANK_SVM.name, record)),
            objective=value,
            convergence=record,
            seconds=time.perf_counter() - began,
            component=_component(self.features, judgments),
        )


def _component(features: FeatureChoice, judgments: AnyJudgments) -> IntArray | None:
    """Return the component of each item; None where features relate items nobody compared."""
    return None if isinstance(features, Features) else judgments.component


@dataclass(frozen=True, eq=False)
class _QuantifyGaussian(QuantifyAtOnce):
    """Knows the posterior covariance already; refits are as those of any aggregator."""

    laplace: Laplace

    def _curvature(
        self,
        consensus: Consensus,  # noqa: ARG002
        seed: int,  # noqa: ARG002
        on_draw: Callable[[int, int], None] | None,  # noqa: ARG002
    ) -> Curvature:
        return Curvature(DenseCovariance(self.laplace.covariance), None)


def _refuse_others(features: object) -> None:
    if not isinstance(features, Features) and features != "identity":
        raise OptionError(
            f"features are given as {type(features).__name__!r}; give what aggcal.read_features "
            "returns, or 'identity'."
        )


def _matrix(features: FeatureChoice, judgments: Judgments) -> FloatArray | None:
    return features.of(judgments.item_ids) if isinstance(features, Features) else None


def _geometry(name: str, features: FeatureChoice, judgments: Judgments) -> Geometry:
    if judgments.n_items > MOST_DENSE:
        raise OptionError(
            f"{name} works with matrices of items by items, up to {MOST_DENSE:,} items, and there "
            f"are {judgments.n_items:,}; choose rank-svm or hra-n."
        )
    matrix = _matrix(features, judgments)
    return Geometry.identity(judgments.n_items) if matrix is None else Geometry.of(matrix)


def _gaussian_warnings(
    name: str, judgments: Judgments, record: Convergence, chosen: KernelChoice
) -> tuple[AggcalWarning, ...]:
    said = [*data_warnings(judgments), *not_converged(name, record)]
    if not chosen.settled:
        said.append(
            ConvergenceWarning(
                f"The choice of a kernel for {name} did not converge to the largest evidence.",
                "Give your own kernel, from Python with kernel=.",
                title="The choice of a kernel did not converge",
                why=f"The kernel of {name} may not be the one with the largest evidence.",
            )
        )
    if chosen.open_ended:
        said.append(
            KernelWarning(
                f"The judgments do not determine the {' and the '.join(chosen.open_ended)} of "
                f"{name}'s kernel: the evidence rises to the end of the range. Trust the order of "
                "the scores more than their size.",
                "Collect more judgments, or give your own kernel, from Python with kernel=.",
                title=f"The judgments do not determine the {' and the '.join(chosen.open_ended)} "
                "of the kernel",
                why="The evidence rises to the end of the range. Trust the order of the scores "
                "more than their size.",
            )
        )
    return tuple(said)
