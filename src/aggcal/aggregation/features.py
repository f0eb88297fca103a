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

Its mode is found by expectation and maximisation: given f and π, the weight w_u of an annotator
is the posterior probability of the first kind; given the weights, f is the mode of the gppl model
in which u's judgments count w_u each, and π = (1 + Σ w_u)/(2 + m). An annotator who answers
the other way round fits neither kind, and the second better: the weight is then near 0.

**rank-svm** is the linear ranking support vector machine with squared hinge loss: scores Xw with

    w minimising  ½|w|² + C Σ c·max(0, 1 − w'(x_i − x_j))²,   i above j with weight c.

W. Chu, Z. Ghahramani, *Preference learning with Gaussian processes*, ICML 2005.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from math import log, log1p, sqrt
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular
from scipy.optimize import Bounds, minimize
from scipy.spatial.distance import pdist, squareform
from scipy.special import expit

from aggcal import registry
from aggcal._core.arrays import FloatArray, IntArray, sums
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.covariance import MOST_DENSE, DenseCovariance
from aggcal.aggregation.estimate import Quantify
from aggcal.aggregation.links import link
from aggcal.aggregation.newton import Convergence, Evaluation, Progress, minimise
from aggcal.aggregation.posterior import FitCovariance
from aggcal.aggregation.start import not_converged
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
_TOLERANCE = 1e-10
"""Relative gradient of a mode: smaller takes longer, larger leaves scores off it."""

_VARIANCES = (1e-4, 1e4)
"""Range of the signal variance: wider finds odd kernels, and takes longer where all are alike."""
_STRETCH = 30.0  # ends of the range of the length scale, in typical distances between items
_TRIED = (0.25, 1.0, 4.0)  # lengths to start from: more miss fewer optima, and take longer
_FLAT = 1e-4  # slope of the evidence that counts as none
_NEARLY_FLAT = 1e-2  # slope up to which the kernel counts as settled: beyond it, a warning
_AT_THE_END = 1e-6  # logarithms that differ from an end of the range by less lie on it

_EM_TOLERANCE = 1e-8  # gradient of barcw: smaller takes more steps, larger leaves scores off
_MOST_STEPS = 2000  # at most: more take longer before a fit is called not converged
_MOST_KERNELS = 30  # choices of the kernel: each takes a fit
_SAME_KERNEL = 1e-3  # relative change of the kernel that counts as none

_SVM_TOLERANCE = 1e-6  # relative gradient up to which rank-svm counts as converged
_LIBLINEAR_TOLERANCE = 1e-10  # smaller takes longer, larger misses the one above
_MOST_SVM_STEPS = 10_000  # at most: liblinear needs some hundred


class Wins:
    """Judgments as wins of one item over another; an outcome between 0 and 1 is part of a win each.

    Examples
    --------
    >>> import aggcal
    >>> wins = Wins(aggcal.read_judgments([("ann", "a", "b", 0.75), ("bob", "a", "b", 1)]))
    >>> wins.design.toarray(), wins.totals()
    (array([[ 1., -1.],
           [-1.,  1.]]), array([1.75, 0.25]))
    """

    def __init__(self, judgments: Judgments) -> None:
        n = judgments.n_items
        share = np.concatenate([judgments.outcome, 1.0 - judgments.outcome])
        weight = np.tile(judgments.weight, 2) * share
        won = weight > 0.0
        left, right = judgments.left.astype(np.int64), judgments.right.astype(np.int64)
        key = np.concatenate([left * n + right, right * n + left])[won]
        pairs, self.pair = np.unique(key, return_inverse=True)
        self.winner, self.loser = np.divmod(pairs, n)
        self.annotator, self.weight = np.tile(judgments.annotator, 2)[won], weight[won]
        self.n_annotators = judgments.n_annotators
        columns = np.column_stack([self.winner, self.loser]).astype(np.int32).ravel()
        signs = np.tile([1.0, -1.0], len(pairs))
        edges = np.arange(0, len(columns) + 1, 2, dtype=np.int32)  # liblinear takes no wider ones
        self.design: Design = sparse.csr_array((signs, columns, edges), shape=(len(pairs), n))
        """Distinct pairs by items: 1 for the winner, −1 for the loser."""

    def totals(self, trust: FloatArray | None = None) -> FloatArray:
        """Return the weight of each distinct pair, each annotator's judgments times their trust."""
        weight = self.weight if trust is None else self.weight * trust[self.annotator]
        return sums(self.pair, weight, len(self.winner))

    def by_annotator(self, losses: FloatArray) -> FloatArray:
        """Add up each annotator's losses, of which there is one for each distinct pair."""
        return sums(self.annotator, self.weight * losses[self.pair], self.n_annotators)


class Posterior:
    """−log posterior of z = L⁻¹f, for `minimise`; and its Laplace approximation at the last point.

    Parameters
    ----------
    wins, weight
        The distinct pairs, and how much each counts.
    root
        L, the Cholesky root of the prior covariance of the scores.
    """

    def __init__(self, wins: Wins, weight: FloatArray, root: FloatArray) -> None:
        self._wins, self._weight, self._root = wins, weight, root
        self._design: Design = wins.design / sqrt(2.0)  # a gap in sds of the noise of both items
        self._squares = self._design.power(2), np.square(root)
        most = abs(self._design).T @ (_NORMAL.score_at_zero * weight)
        # What a gradient would be if every judgment pulled the same way: convergence is relative.
        self._size = np.abs(root).T @ most + 1.0

    def evaluate(self, whitened: FloatArray) -> Evaluation:
        """Return the value and derivatives at z, and remember the point."""
        self.whitened, self.scores = whitened, self._root @ whitened
        self._gap = self._design @ self.scores
        self.losses, self._row_score, self._curvature = _NORMAL.terms(self._gap)
        self.log_likelihood = -float(self._weight @ self.losses)
        self._score = self._design.T @ (self._weight * self._row_score)
        gradient = whitened - self._root.T @ self._score
        design_squares, root_squares = self._squares
        information = design_squares.T @ (self._weight * self._curvature)
        return Evaluation(
            0.5 * float(whitened @ whitened) - self.log_likelihood,
            gradient,
            # Without its cross terms, which would cost as much as the whole matrix: it only scales.
            1.0 + root_squares.T @ information,
            float(np.max(np.abs(gradient) / self._size)),
        )

    def product(self, vector: FloatArray) -> FloatArray:
        """Multiply by I + L'WL."""
        gap = self._design @ (self._root @ vector)
        flow = self._design.T @ (self._weight * self._curvature * gap)
        return np.asarray(vector + self._root.T @ flow)

    def laplace(self) -> tuple[FloatArray, FloatArray, float]:
        """Return W, the covariance (K⁻¹ + W)⁻¹ without an inverse of K, and log |I + L'WL|."""
        root = self._root
        weighted = sparse.diags_array(self._weight * self._curvature) @ self._design
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
        winner, loser = self._wins.winner, self._wins.loser
        variances = np.diag(covariance)
        gap_variance = variances[winner] + variances[loser] - 2.0 * covariance[winner, loser]
        third = self._row_score - self._curvature * (
            2.0 * self._row_score + self._gap
        )  # derivative of the curvature
        by_mode = self._design.T @ (-0.25 * self._weight * third * gap_variance)
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
                    f"The choice of a kernel for {method} did not converge to the largest "
                    "evidence.",
                    "Give your own kernel, from Python with kernel=.",
                    title="The choice of a kernel did not converge",
                    why=f"The kernel of {method} may not be the one with the largest evidence.",
                )
            )
        if self.open_ended:
            problem = f"The judgments do not determine the {' and the '.join(self.open_ended)} of"
            reason = "evidence rises to the end of the range. Trust the order of the scores more "
            reason += "than their size."
            result.append(
                KernelWarning(
                    f"{problem} {method}'s kernel: the {reason}",
                    "Collect more judgments, or give your own kernel, from Python with kernel=.",
                    title=f"{problem} the kernel",
                    why=f"The {reason}",
                )
            )
        return result


def choose_kernel(
    wins: Wins,
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
        posterior = Posterior(wins, weight, kernel.root(squares))
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


class GaussianFit(NamedTuple):
    """The mode, and what belongs to it."""

    posterior: Posterior
    chosen: KernelChoice
    convergence: Convergence
    log_likelihood: float
    reliabilities: FloatArray | None = None


def fit_alike(
    wins: Wins, squares: FloatArray, kernel: Kernel | None, on_iteration: Progress | None
) -> GaussianFit:
    """Fit gppl: the mode, with the kernel that is given or else the one of the largest evidence."""
    weight = wins.totals()
    if kernel is None:
        chosen = choose_kernel(wins, weight, squares, None, on_iteration)
    else:
        chosen = KernelChoice(kernel)
    posterior = Posterior(wins, weight, chosen.kernel.root(squares))
    start = np.zeros(len(squares))
    _, record = minimise(posterior, start, tolerance=_TOLERANCE, on_iteration=on_iteration)
    return GaussianFit(posterior, chosen, record, posterior.log_likelihood)


class Trust(NamedTuple):
    """Who judges and who guesses, at some scores."""

    weights: FloatArray
    """w_u, between 0 and 1."""
    share: float
    """π of the largest posterior density at these weights."""
    log_likelihood: float
    """Of all judgments, with the kinds of the annotators summed out."""

    @classmethod
    def of(cls, wins: Wins, losses: FloatArray, share: float) -> Trust:
        """Return the posterior probability of each annotator to be of the first kind."""
        judging = log(share) - wins.by_annotator(losses)
        guessing = log1p(-share) - log(2.0) * wins.by_annotator(np.ones(len(losses)))
        weights = expit(judging - guessing)
        log_likelihood = float(np.logaddexp(judging, guessing).sum())
        return cls(weights, (1.0 + float(weights.sum())) / (2.0 + len(weights)), log_likelihood)


def fit_weighted(
    wins: Wins, squares: FloatArray, kernel: Kernel | None, on_iteration: Progress | None
) -> GaussianFit:
    """Fit barcw from the fit that trusts everyone.

    Unless it is given, the kernel is that of the largest evidence for the weighted judgments: it
    is chosen anew when the weights have come to rest, until it stays the same.
    """
    fit = fit_alike(wins, squares, kernel, on_iteration)
    chosen, whitened, share, steps = fit.chosen, fit.posterior.whitened, 0.5, 0
    for _ in range(_MOST_KERNELS):
        root = chosen.kernel.root(squares)
        posterior, trust, record = maximise_expectation(
            wins, root, whitened, share, steps=steps, on_iteration=on_iteration
        )
        fit = GaussianFit(posterior, chosen, record, trust.log_likelihood, trust.weights)
        if kernel is not None:
            return fit
        weight = wins.totals(trust.weights)
        again = choose_kernel(wins, weight, squares, chosen.kernel, on_iteration)
        if np.max(np.abs(again.kernel.logarithms - chosen.kernel.logarithms)) <= _SAME_KERNEL:
            return fit
        chosen, whitened, share, steps = again, posterior.whitened, trust.share, record.iterations
    return fit._replace(chosen=chosen._replace(settled=False))


def maximise_expectation(
    wins: Wins,
    root: FloatArray,
    whitened: FloatArray,
    share: float,
    *,
    steps: int,
    on_iteration: Progress | None,
) -> tuple[Posterior, Trust, Convergence]:
    """Alternate expectation and maximisation under one kernel, counting on from some steps.

    With the weights of the very point, the gradient of the weighted objective is that of the whole
    (Fisher's identity); that in π is how far it would still move.
    """
    posterior = Posterior(wins, wins.totals(), root)
    posterior.evaluate(whitened)
    for _ in range(_MOST_STEPS):
        trust = Trust.of(wins, posterior.losses, share)
        posterior = Posterior(wins, wins.totals(trust.weights), root)
        gradient_norm = posterior.evaluate(whitened).gradient_norm
        log_prior = log(share) + log1p(-share) - 0.5 * float(whitened @ whitened)
        value = -trust.log_likelihood - log_prior
        norm = max(gradient_norm, abs(trust.share - share))
        if norm <= _EM_TOLERANCE:
            break
        steps += 1
        if on_iteration is not None:
            on_iteration(steps, norm)
        whitened, _ = minimise(posterior, whitened, tolerance=_TOLERANCE)
        share = trust.share
    record = Convergence(norm <= _EM_TOLERANCE, steps, norm, _EM_TOLERANCE, value)
    return posterior, trust, record


@dataclass(frozen=True)
class _GaussianProcess:
    """What methods with a Gaussian process share."""

    features: FeatureChoice
    kernel: Kernel | None = None

    _info: ClassVar[registry.MethodInfo]
    _fit: ClassVar[Callable[..., GaussianFit]]

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
        start, name = time.perf_counter(), self._info.name
        judgments = judgments.on_one_machine(name)
        if judgments.n_items > MOST_DENSE:
            raise OptionError(
                f"{name} works with matrices of items by items, up to {MOST_DENSE:,} items, and "
                f"there are {judgments.n_items:,}; choose rank-svm or hra-n."
            )
        squares = _squared_distances(self.features, judgments)
        fit = self._fit(Wins(judgments), squares, self.kernel, on_iteration)
        record = fit.convergence
        return Consensus.of(
            judgments,
            fit.posterior.scores,
            method=name,
            reliabilities=fit.reliabilities,
            warnings=(
                *data_warnings(judgments),
                *not_converged(name, record),
                *fit.chosen.warnings(name),
            ),
            objective=record.objective,
            log_likelihood=fit.log_likelihood,
            convergence=record,
            kernel=fit.chosen.kernel,
            seconds=time.perf_counter() - start,
            quantifier=_QuantifyGaussian(self, judgments, posterior=fit.posterior),
            component=_component(self.features, judgments),
        )


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

    _info = registry.GPPL
    _fit = staticmethod(fit_alike)


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

    _info = registry.BARCW
    _fit = staticmethod(fit_weighted)


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
        start, name = time.perf_counter(), registry.RANK_SVM.name
        judgments = judgments.on_one_machine(name)
        wins = Wins(judgments)
        features: Design = sparse.eye_array(judgments.n_items, format="csr")
        if isinstance(self.features, Features):
            features = sparse.csr_array(self.features.of(judgments.item_ids))
        weight = wins.totals()
        slopes, value, record = fit_rank_svm(wins.design @ features, weight, self.cost)
        return Consensus.of(
            judgments,
            features @ slopes,
            method=name,
            warnings=(*data_warnings(judgments), *not_converged(name, record)),
            objective=value,
            convergence=record,
            seconds=time.perf_counter() - start,
            component=_component(self.features, judgments),
        )


def fit_rank_svm(
    differences: Design, weight: FloatArray, cost: float
) -> tuple[FloatArray, float, Convergence]:
    """Return w, the objective there, and the record, whose gradient is worked out here.

    Parameters
    ----------
    differences, weight
        x_i − x_j of each win, and how much it counts.
    cost
        C, how much a judgment counts against the size of w.
    """
    try:
        from sklearn.svm import LinearSVC
    except ImportError:
        raise OptionError(
            "rank-svm needs scikit-learn, which is not installed: pip install 'aggcal[baselines]'."
        ) from None

    def objective(slopes: FloatArray) -> tuple[float, FloatArray]:
        hinge = np.maximum(0.0, 1.0 - differences @ slopes)
        value = 0.5 * slopes @ slopes + cost * weight @ np.square(hinge)
        return float(value), slopes - 2.0 * cost * (differences.T @ (weight * hinge))

    machine = LinearSVC(
        loss="squared_hinge",
        dual=False,
        fit_intercept=False,
        C=cost,
        tol=_LIBLINEAR_TOLERANCE,
        max_iter=_MOST_SVM_STEPS,
    )
    # Each win both ways round, at half its weight: the same objective, and both classes occur.
    both = sparse.vstack([differences, -differences], format="csr")
    labels = np.repeat([1.0, -1.0], len(weight))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # our own record says whether it converged
        machine.fit(both, labels, sample_weight=0.5 * np.tile(weight, 2))
    slopes = np.ravel(machine.coef_)
    gradient_at_zero = objective(np.zeros_like(slopes))[1]
    value, gradient = objective(slopes)
    size = float(np.max(np.abs(gradient_at_zero)))
    norm = float(np.max(np.abs(gradient))) / max(size, 1e-300)
    record = Convergence(norm <= _SVM_TOLERANCE, int(machine.n_iter_), norm, _SVM_TOLERANCE, value)
    return slopes, value, record


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


def _squared_distances(features: FeatureChoice, judgments: Judgments) -> FloatArray:
    """Return those between the features of items; without features none is near another."""
    if isinstance(features, Features):
        return squareform(pdist(features.of(judgments.item_ids), "sqeuclidean"))
    return np.broadcast_to(np.inf, (judgments.n_items, judgments.n_items))


def _component(features: FeatureChoice, judgments: Judgments) -> IntArray | None:
    """Return the component of each item; None where features relate items nobody compared."""
    return None if isinstance(features, Features) else judgments.component
