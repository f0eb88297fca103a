r"""Scores from features of the items: gppl, rank-svm and barcw, baselines to compare with.

**gppl** is preference learning with a Gaussian process (Chu & Ghahramani 2005):

    f ~ N(0, K),   P(i above j) = Φ((f_i − f_j)/√2),   K by a `Kernel` of the features.

Each item appears with normal noise of sd 1: that fixes the scale of f, of which the judgments know
nothing. With K = LL' and f = Lz the mode is sought in z, whose prior is N(0, I): the information
I + L'WL is then never near singular, whatever the kernel. W is that of the judgments about f. The
Laplace approximation puts a normal distribution of covariance (K⁻¹ + W)⁻¹ on the mode. The kernel
is the one of the largest evidence: the likelihood with f integrated out by that approximation.

**barcw** (Bayesian ranking with comparison weights) has no public code, and no more than a
description to go by: a Gaussian-process prior on the scores, and comparisons weighted by the
reliability of who made them. This is our reading of it. Annotator u either judges as in gppl,
always, or answers at random, always; the share π of the first kind has a Beta(2, 2) prior:

    Σ_u log( π Π_r Φ(d_r/√2) + (1 − π) Π_r ½ )  −  ½ f'K⁻¹f  +  log π(1 − π)

Its gradient is that of the gppl model in which u's judgments count w_u each, the posterior
probability of the first kind (Fisher's identity), and its curvature that less the variance of the
annotators' scores (Louis's formula); at the mode π = (1 + Σ w_u)/(2 + m). An annotator who answers
the other way round fits neither kind, and the second better: the weight is then near 0.

**rank-svm** is the linear ranking support vector machine with squared hinge loss: scores Xw with

    w minimising  ½|w|² + C Σ c·max(0, 1 − w'(x_i − x_j))²,   i above j with weight c.

W. Chu, Z. Ghahramani, *Preference learning with Gaussian processes*, ICML 2005.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from math import log, sqrt
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular
from scipy.optimize import Bounds, minimize
from scipy.spatial.distance import pdist, squareform
from scipy.special import expit, log_expit

from aggcal import registry
from aggcal._core.arrays import FloatArray
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.covariance import MOST_DENSE, DenseCovariance
from aggcal.aggregation.estimate import Quantify
from aggcal.aggregation.links import link
from aggcal.aggregation.methods import not_converged
from aggcal.aggregation.newton import Convergence, Evaluation, Progress, minimise
from aggcal.aggregation.posterior import FitCovariance
from aggcal.aggregation.rows import GAP, Plan, Rows, rows_by_plan
from aggcal.data.base import AnyJudgments
from aggcal.data.features import FeatureChoice, Features, Kernel
from aggcal.data.judgments import Judgments
from aggcal.data.warnings import data_warnings
from aggcal.errors import (
    AggcalWarning,
    ConvergenceWarning,
    FeatureError,
    KernelWarning,
    OptionError,
)

Design: TypeAlias = Any
"""A sparse matrix; SciPy's types do not say what its product with an array is."""

_NORMAL = link(registry.NORMAL.name)
# Relative gradient of a mode: smaller takes longer, larger leaves scores off it.
_TOLERANCE = 1e-10
# Range of the signal variance: wider finds odd kernels, and takes longer where all are alike.
_VARIANCES = (1e-4, 1e4)
_STRETCH = 30.0  # ends of the range of the length scale, in typical distances between items
_TRIED = (0.25, 1.0, 4.0)  # lengths to start from: more miss fewer optima, and take longer
_FLAT = 1e-4  # slope of the evidence that counts as none
_NEARLY_FLAT = 1e-2  # slope up to which the kernel counts as settled: beyond it, a warning
_AT_THE_END = 1e-6  # logarithms that differ from an end of the range by less lie on it
_MOST_KERNELS = 30  # choices of the kernel of barcw: each takes a fit
_SAME_KERNEL = 1e-3  # relative change of the kernel that counts as none


class Posterior:
    """−log posterior of z = L⁻¹f, for `minimise`; and its Laplace approximation at the last point.

    Parameters
    ----------
    rows, weight
        Wins of their left items, and how much each counts.
    root
        L, the Cholesky root of the prior covariance of the scores.
    guessing
        Whether annotators may guess (barcw): the logit of π, the share of those who do not, is then
        the last unknown, and weights are those of the last point.
    """

    def __init__(
        self, rows: Rows, weight: FloatArray, root: FloatArray, *, guessing: bool = False
    ) -> None:
        self._rows, self.weight, self._root, self._guessing = rows, weight, root, guessing
        self.trust: FloatArray | None = None
        """The probability of each annotator to judge rather than guess; None where all judge."""
        # A gap in sds of the noise of both items.
        self._design: Design = rows.channels[GAP].matrix / sqrt(2.0)
        self._squares = self._design.power(2), np.square(root)
        most = abs(self._design).T @ (_NORMAL.score_at_zero * weight)
        # What a gradient would be if every judgment pulled the same way: convergence is relative.
        self._size = np.abs(root).T @ most + 1.0

    def evaluate(self, x: FloatArray) -> Evaluation:
        """Return the value and derivatives at a point, and remember it."""
        self.whitened = z = x[: len(self._root)]
        self.scores = self._root @ z
        self._gap = self._design @ self.scores
        losses, self._row_score, self._curvature = _NORMAL.terms(self._gap)
        self.log_likelihood, prior = -float(self.weight @ losses), 0.5 * float(z @ z)
        own, information, size = np.zeros(0), np.zeros(0), self._size
        if self._guessing:
            logit, p, m = x[-1], expit(x[-1]), self._rows.n_annotators
            given = self._rows.answers.weight
            judging = log_expit(logit) - self._rows.by_annotator(given * losses)
            guessing = log_expit(-logit) - log(2.0) * self._rows.by_annotator(given)
            self.log_likelihood = float(np.logaddexp(judging, guessing).sum())
            self.trust = trust = expit(judging - guessing)
            self.weight = given * self._rows.per_row(trust)
            prior -= float(log_expit(logit) + log_expit(-logit))
            own = np.array([(m + 2.0) * p - 1.0 - trust.sum()])
            self._of_share = information = np.array([(m + 2.0) * p * (1.0 - p)])
            size = np.append(size, m + 2.0)
        self._score = self._design.T @ (self.weight * self._row_score)
        gradient = np.append(z - self._root.T @ self._score, own)
        by_design, by_root = self._squares
        # Without its cross terms, which would cost as much as the whole matrix: it only scales.
        diagonal = 1.0 + by_root.T @ (by_design.T @ (self.weight * self._curvature))
        norm = float(np.max(np.abs(gradient) / size))
        value = prior - self.log_likelihood
        return Evaluation(value, gradient, np.append(diagonal, information), norm)

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply by I + L'WL; where annotators may guess, less what is missing (Louis)."""
        z = vector[: len(self._root)]
        gap = self._design @ (self._root @ z)
        flow, own = self.weight * self._curvature * gap, np.zeros(0)
        if self.trust is not None:
            given = self._rows.answers.weight
            along = self._rows.by_annotator(given * self._row_score * gap) + vector[-1]
            missing = self.trust * (1.0 - self.trust) * along
            flow -= given * self._rows.per_row(missing) * self._row_score
            own = self._of_share * vector[-1] - missing.sum()
        return np.append(z + self._root.T @ (self._design.T @ flow), own)

    def laplace(self) -> tuple[FloatArray, FloatArray, float]:
        """Return W, the covariance (K⁻¹ + W)⁻¹ without an inverse of K, and log |I + L'WL|."""
        root = self._root
        weighted = sparse.diags_array(self.weight * self._curvature) @ self._design
        information = (self._design.T @ weighted).toarray()
        factor = np.linalg.cholesky(np.eye(len(root)) + root.T @ information @ root)
        half = solve_triangular(factor, root.T, lower=True)
        return information, half.T @ half, 2.0 * float(np.log(np.diag(factor)).sum())

    def evidence(self, derivatives: list[FloatArray]) -> tuple[float, FloatArray]:
        """Return the log-evidence, and its derivatives in directions that change K by these.

        K enters through the prior and the determinant, and by moving the mode.
        """
        information, covariance, log_determinant = self.laplace()
        prior = 0.5 * float(self.whitened @ self.whitened)
        value = self.log_likelihood - prior - 0.5 * log_determinant
        precision = information - information @ covariance @ information  # (K + W⁻¹)⁻¹
        winner, loser = self._rows.left, self._rows.right
        variances, score, curvature = np.diag(covariance), self._row_score, self._curvature
        gap_variance = variances[winner] + variances[loser] - 2.0 * covariance[winner, loser]
        third = score - curvature * (2.0 * score + self._gap)  # derivative of the curvature
        by_mode = self._design.T @ (-0.25 * self.weight * third * gap_variance)
        gradient = []
        for change in derivatives:
            along = change @ self._score
            explicit = 0.5 * (self._score @ along - np.sum(precision * change))
            gradient.append(explicit + by_mode @ (along - covariance @ (information @ along)))
        return value, np.array(gradient)


class KernelChoice(NamedTuple):
    """The kernel of the largest evidence, and whether it is one."""

    kernel: Kernel
    settled: bool = True
    open_ended: tuple[str, ...] = ()
    """What came to rest at the end of its range."""

    def warnings(self, method: str) -> list[AggcalWarning]:
        """Warn of a kernel that is not the one of the largest evidence."""
        result: list[AggcalWarning] = []
        if not self.settled:
            result.append(
                ConvergenceWarning(
                    "The choice of a kernel did not converge",
                    f"The kernel of {method} may not be the one with the largest evidence.",
                    "Give your own kernel, from Python with kernel=.",
                )
            )
        if self.open_ended:
            problem = f"The judgments do not determine the {' and the '.join(self.open_ended)} of"
            reason = "evidence rises to the end of the range. Trust the order of the scores more "
            reason += "than their size."
            result.append(
                KernelWarning(
                    f"{problem} the kernel",
                    f"The {reason}",
                    "Collect more judgments, or give your own kernel, from Python with kernel=.",
                )
            )
        return result


def choose_kernel(
    rows: Rows,
    weight: FloatArray,
    squares: FloatArray,
    start: Kernel | None,
    on_iteration: Progress | None,
) -> KernelChoice:
    """Maximise the Laplace evidence in the logarithms of the kernel's parameters.

    It begins at a variance of 1 and the best of three length scales about the median distance:
    the evidence may have two peaks, one for items on their own and one for neighbours alike.
    """
    whitened, calls = np.zeros(len(squares)), 0

    def loss(logarithms: FloatArray) -> tuple[float, FloatArray]:
        """Return −log evidence and its gradient; each mode is sought from the one before."""
        nonlocal whitened, calls
        kernel, calls = Kernel(*np.exp(logarithms).tolist()), calls + 1
        posterior = Posterior(rows, weight, kernel.root(squares))
        whitened, _ = minimise(posterior, whitened, tolerance=_TOLERANCE)
        value, gradient = posterior.evidence(kernel.derivatives(squares))
        if on_iteration is not None:
            on_iteration(calls, float(np.max(np.abs(gradient))))
        return -value, -gradient

    ranges, tried = [_VARIANCES], [Kernel(1.0)]
    if np.isfinite(squares).all():
        apart = squares[squares > 0.0]
        if not len(apart):
            raise FeatureError(
                "the features are the same for every item that was judged, and tell none apart; "
                "give others, or 'identity'."
            )
        typical = sqrt(np.median(apart))
        ranges.append((typical / _STRETCH, typical * _STRETCH))
        tried = [Kernel(1.0, factor * typical) for factor in _TRIED]
    low, high = np.log(ranges).T
    starts = [kernel.logarithms for kernel in (tried if start is None else [start])]
    begin = starts[0] if len(starts) == 1 else min(starts, key=lambda each: loss(each)[0])
    result = minimize(
        loss,
        begin,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(low, high),
        options={"gtol": _FLAT, "ftol": 1e-14},
    )
    best = np.clip(result.x, low, high)
    # A gradient that points out of the range is no reason to go on.
    projected = np.clip(best - result.jac, low, high) - best
    at_end = (best - low < _AT_THE_END) | (high - best < _AT_THE_END)
    names = ("signal variance", "length scale")
    return KernelChoice(
        Kernel(*np.exp(best).tolist()),
        bool(np.max(np.abs(projected)) <= _NEARLY_FLAT),
        tuple(name for name, end in zip(names, at_end, strict=False) if end),
    )


@dataclass(frozen=True)
class _GaussianProcess:
    """What methods with a Gaussian process share."""

    features: FeatureChoice
    kernel: Kernel | None = None

    _name: ClassVar[str]
    _guessing: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _refuse_others(self.features)
        apart = not isinstance(self.features, Features)
        if self.kernel is not None and apart != (self.kernel.length_scale is None):
            raise OptionError(
                "a length scale goes with features, and the identity kernel goes without; "
                "give a kernel that fits the features, or leave it out."
            )

    def fit(self, judgments: AnyJudgments, /, *, on_iteration: Progress | None = None) -> Consensus:
        """Choose the kernel, and find the mode."""
        began, judgments = time.perf_counter(), judgments.on_one_machine(self._name)
        n = judgments.n_items
        if n > MOST_DENSE:
            raise OptionError(
                f"{self._name} works with matrices of items by items, up to {MOST_DENSE:,} items, "
                f"and there are {n:,}; choose rank-svm or hra-n."
            )
        squares = np.broadcast_to(np.inf, (n, n))  # without features none is near another
        if isinstance(self.features, Features):
            squares = squareform(pdist(self.features.of(judgments.item_ids), "sqeuclidean"))
        rows = rows_by_plan(judgments, Plan(wins=True, alike=not self._guessing))
        posterior, chosen, record = self._mode(rows, squares, on_iteration)
        return _consensus(
            judgments,
            (self._name, self.features, began),
            posterior.scores,
            record,
            *chosen.warnings(self._name),
            reliabilities=posterior.trust,
            log_likelihood=posterior.log_likelihood,
            kernel=chosen.kernel,
            quantifier=_QuantifyGaussian(self, judgments, posterior=posterior),
        )

    def _mode(
        self, rows: Rows, squares: FloatArray, on_iteration: Progress | None
    ) -> tuple[Posterior, KernelChoice, Convergence]:
        """Return the mode with the kernel that was stated, else that of the largest evidence.

        Where annotators may guess, the search begins at the mode that trusts everyone, and the
        kernel is chosen anew for the weighted judgments until it stays the same.
        """
        weight, x = rows.answers.weight, np.zeros(len(squares))
        if self.kernel is not None:
            chosen = KernelChoice(self.kernel)
        else:
            chosen = choose_kernel(rows, weight, squares, None, on_iteration)
        posterior = Posterior(rows, weight, chosen.kernel.root(squares))
        x, record = minimise(posterior, x, tolerance=_TOLERANCE, on_iteration=on_iteration)
        if not self._guessing:
            return posterior, chosen, record
        x = np.append(x, 0.0)
        for _ in range(_MOST_KERNELS):
            posterior = Posterior(rows, weight, chosen.kernel.root(squares), guessing=True)
            x, record = minimise(posterior, x, tolerance=_TOLERANCE, on_iteration=on_iteration)
            if self.kernel is not None:
                return posterior, chosen, record
            again = choose_kernel(rows, posterior.weight, squares, chosen.kernel, on_iteration)
            if np.max(np.abs(again.kernel.logarithms - chosen.kernel.logarithms)) <= _SAME_KERNEL:
                return posterior, chosen, record
            chosen = again
        return posterior, chosen._replace(settled=False), record


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
    >>> consensus = GPPL("identity").fit(aggcal.read_judgments(rows))
    >>> consensus.items["item"].tolist(), consensus.convergence.converged
    (['b', 'a', 'c'], True)
    """

    _name = registry.GPPL.name


@dataclass(frozen=True)
class BARCW(_GaussianProcess):
    """Bayesian ranking with comparison weights: annotators who may answer at random.

    Its authors published no code: this is our own, written from a description of the method; see
    ``aggcal.aggregation.features`` for what exactly is fitted. The reliability of an annotator is
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
    >>> consensus = BARCW("identity").fit(aggcal.read_judgments(rows))
    >>> consensus.annotators["annotator"].tolist()[-1]
    'guest'
    """

    _name = registry.BARCW.name
    _guessing = True


class _Hinge:
    """The objective of rank-svm, for `minimise`: x_i − x_j of each win, its weight, and C."""

    def __init__(self, differences: Design, weight: FloatArray, cost: float) -> None:
        self._differences, self._weight = differences, 2.0 * cost * weight
        at_zero = differences.T @ self._weight
        self._size = max(float(np.max(np.abs(at_zero))), 1e-300)

    def evaluate(self, slopes: FloatArray) -> Evaluation:
        """Return the value and derivatives, and remember which wins are too narrow."""
        short = np.maximum(0.0, 1.0 - self._differences @ slopes)
        self._active = self._weight * (short > 0.0)
        gradient = slopes - self._differences.T @ (self._active * short)
        value = 0.5 * float(slopes @ slopes + self._active @ np.square(short))
        diagonal = 1.0 + self._differences.power(2).T @ self._active
        return Evaluation(value, gradient, diagonal, float(np.abs(gradient).max()) / self._size)

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply by the curvature."""
        flow = self._active * (self._differences @ vector)
        return np.asarray(vector + self._differences.T @ flow)


@dataclass(frozen=True)
class RankSVM:
    """The linear ranking SVM: a support vector machine on differences of features.

    It minimises ½|w|² + C Σ max(0, 1 − w'(x_i − x_j))² over the judgments "i above j", weighted as
    they are; the score of an item is w'x.

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

    def fit(self, judgments: AnyJudgments, /, *, on_iteration: Progress | None = None) -> Consensus:
        """Find the separating direction."""
        began, name = time.perf_counter(), registry.RANK_SVM.name
        judgments = judgments.on_one_machine(name)
        rows = rows_by_plan(judgments, Plan(wins=True, alike=True))
        features = sparse.eye_array(judgments.n_items, format="csr")
        if isinstance(self.features, Features):
            features = sparse.csr_array(self.features.of(judgments.item_ids))
        hinge = _Hinge(rows.channels[GAP].matrix @ features, rows.answers.weight, self.cost)
        slopes, record = minimise(
            hinge,
            np.zeros(features.shape[1]),
            tolerance=_TOLERANCE,
            shared_scale=False,
            on_iteration=on_iteration,
        )
        about = name, self.features, began
        return _consensus(judgments, about, np.asarray(features @ slopes), record)


def _consensus(
    judgments: Judgments,
    about: tuple[str, FeatureChoice, float],
    scores: FloatArray,
    record: Convergence,
    *warnings: AggcalWarning,
    **further: Any,
) -> Consensus:
    """Return a consensus; ``about`` are the method, the features and when it began."""
    name, features, began = about
    return Consensus.of(
        judgments,
        scores,
        method=name,
        warnings=(*data_warnings(judgments), *not_converged(name, record), *warnings),
        objective=record.objective,
        convergence=record,
        seconds=time.perf_counter() - began,
        # Features relate items that nobody compared.
        component=None if isinstance(features, Features) else judgments.component,
        **further,
    )


@dataclass(frozen=True, eq=False)
class _QuantifyGaussian(Quantify):
    """Knows the posterior covariance already; refits are as those of any aggregator."""

    posterior: Posterior = field(kw_only=True)

    @property
    def quick(self) -> bool:
        """It takes no refits."""
        return True

    def covariance(self, consensus: Consensus, seed: int = 0, /) -> FitCovariance:  # noqa: ARG002
        """Return the covariance at the optimum."""
        return FitCovariance(DenseCovariance(self.posterior.laplace()[1]))


def _refuse_others(features: object) -> None:
    if not isinstance(features, Features) and features != "identity":
        raise OptionError(
            f"features are given as {type(features).__name__!r}; give what aggcal.read_features "
            "returns, or 'identity'."
        )
