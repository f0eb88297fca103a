r"""How annotators disagree: along an axis, or in camps that have orders of their own.

An axis is a term of the model: η has f_u (v_i − v_j), with stances f of annotators and places v of
items. Camps are looked for by a finite mixture: an annotator u of class k answers with

    η = γ_u (θ_k,i − θ_k,j + …) + …,   θ_k = Σ_p a_kp x_p,   γ = ± ρ,   ρ ~ N(1, τ²),

class, reliability and what else annotators have (position, readiness to tie) integrated out, and
effects of contexts and the like fixed where a fit without classes has them. Four mixtures compete:
one class; an axis, whose classes are in a row; two and three camps, each with what it adds to
common scores. They are compared by held-out annotators: each is fitted without some and asked how
probable all answers of those are. Only what annotators have in common helps there; tastes of one's
own are no camp, however strong.

The mixture gives modes, which are too small where answers are nearly certain. So once it is clear
who is in which camp, the whole model is fitted again with camps as categories of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from math import log
from typing import Any

import numpy as np
from scipy.special import logsumexp

from aggcal._core.arrays import BoolArray, CodeArray, FloatArray, TextArray, dot
from aggcal._core.tables import as_text, positions
from aggcal._core.text import brief
from aggcal.aggregation.effects import Effects, OfRows, Reading
from aggcal.aggregation.empirical import FIRST_SDS, Curvature, Fit, Model, Problem, State
from aggcal.aggregation.families import RELIABILITY, Adjacent, Advantage
from aggcal.aggregation.rows import AXIS, GAP, SCORES, Rows
from aggcal.aggregation.spreads import LEAST_SD, effect_count, next_sd, reversed_share, score_count
from aggcal.aggregation.terms import ChosenTerms, model_of
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import Categories
from aggcal.errors import count

Run = Callable[[Model, State], Fit]
"""Fits a model from a state."""
LETTERS = "ABCDEFGH"
"""What camps are called, the largest first."""
ONE, LINE, TWO, THREE = "one order", "an axis", "two camps", "three camps"
_CAMPS = {TWO: 2, THREE: 3}
FEWEST = 6
"""Annotators from which on camps are looked for: of fewer, a camp would be one or two people."""
MOST_ITEMS = 600
"""Items up to which camps are looked for: every step solves for the scores of all camps at once."""
_FOLDS = 8
"""Groups of annotators that are held out in turn: more take longer, fewer leave camps too small."""
_SE_BETTER, _NATS_BETTER = 2.0, 2.0
"""Standard errors, and nats in all, by which a richer model must predict held-out annotators
better: less is not worth a claim about people."""
_SIGN = 1.0
"""Log evidence of all answers below which nothing is held out: there is no sign of a difference."""
_SAMPLE, _FEWEST_SAMPLED = 40_000, 40
"""Rows that show of what kind the differences are: of more, some annotators are looked at; but no
fewer than so many, as it is annotators that are counted."""
_RANDOM_STARTS = 2
"""Random starts, beside the one that the residuals suggest."""
_APART, _LEAST_LINE = 0.7, 0.3
"""Sd of what camps and an axis add, to begin with, and that of an axis at least, relative to that
of the scores: at 0 nothing pulls them away from it."""
_LARGEST_AXIS = 1.5
"""Root mean square of an axis to begin with, in its prior sd: at 0 nothing pulls it away."""
_STANCES = np.linspace(-2.4, 2.4, 7)
"""Where the classes of an axis are, in standard deviations: closer ones take longer."""
_MIXING = {
    ONE: np.ones((1, 1)),
    LINE: np.stack([np.ones(len(_STANCES)), _STANCES], axis=1),
    TWO: np.column_stack([np.ones(2), np.eye(2)]),
    THREE: np.column_stack([np.ones(3), np.eye(3)]),
}
"""How classes are made of parts, a_kp: the first part is what all have in common."""
_TAU, _LARGEST_TAU, _TAU_PRIOR = 0.5, 1.0, 10.0
"""Sd of the reliabilities beforehand, the largest one, beyond which half of the annotators would
know nothing, and how many annotators the first counts as."""
_FIRST_REVERSED, _MOST_REVERSED = 0.05, 0.15
"""Share of annotators who answer the other way round, to begin with and at most: more of them are a
camp."""
_CLOSE = 1e-4
"""How near annotators' modes are looked for: nodes are only placed by them."""
_ITERATIONS, _TOLERANCE = 60, 5e-3
"""Iterations at most, and the change of scores and sds at which a fit has settled: a tenth of the
standard errors of most studies."""
_FIXED_CLASSES = 4
"""Iterations in which the classes of a start are kept."""
_SURELY = 0.8
"""Probability from which an annotator's answers count for a camp; those of others only for what
camps have in common. Lower, answers of the other camp blur a camp; higher, fewer answers are used.
"""
_WIDER = 1.15
"""What standard errors of the camps' scores are multiplied by: they take as known who is in which
camp and how far camps and reliabilities differ. Without it a nominal 90% covers about 85%
(benchmarks/camps.py)."""
_LEAST_SD = 0.1
"""Sd of scores and of what camps add, at least, to begin with: from 0 it takes long."""
_NOTHING = Reading(np.zeros(0), np.zeros(0))


@dataclass(frozen=True, eq=False)
class Camps:
    """Camps that annotators form, the largest first; none where they form none.

    Examples
    --------
    >>> Camps("one order").stands_out, Camps("one order").names
    (False, ())
    """

    kind: str
    """What predicts held-out annotators best: ``one order``, ``an axis``, ``two camps`` or
    ``three camps``; a richer one only where it does so clearly."""
    gains: dict[str, tuple[float, float]] = field(default_factory=dict)
    """How much more probable the answers of held-out annotators are than by one order: the gain in
    log-likelihood of each alternative, and its standard error. Empty where nothing pointed to
    one."""
    over_axis: tuple[float, float] | None = None
    """The same of the camps over an axis."""
    not_looked: str = ""
    """Why camps were not looked for, such as too few annotators; nothing where they were."""
    members: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    """Probability that each annotator belongs to each camp, annotators by camps."""
    scores: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    """Camps by items."""
    se: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    common_ground: Reading = _NOTHING
    """Scores midway between the camps, however large each is."""
    apart: Reading = _NOTHING
    """How far apart the two camps are that differ most over an item: of two camps, the first less
    the second."""

    __repr__ = brief

    @property
    def shares(self) -> FloatArray:
        """Share of the annotators in each camp."""
        return np.asarray(self.members.sum(axis=0) / max(len(self.members), 1))

    @property
    def stands_out(self) -> bool:
        """Whether there are camps."""
        return len(self.scores) > 1

    @property
    def names(self) -> tuple[str, ...]:
        """What the camps are called: A is the largest."""
        return tuple(LETTERS[: len(self.scores)])

    @property
    def own(self) -> TextArray:
        """The most probable camp of each annotator."""
        return np.asarray(np.array(self.names, dtype=object)[self.members.argmax(axis=1)])

    def to_dict(self) -> dict[str, Any]:
        """Return what is known of the camps as a whole, as in ``summary.json``."""
        gains = {name: {"value": gain, "se": se} for name, (gain, se) in self.gains.items()}
        over = self.over_axis
        return {
            "stands_out": self.stands_out,
            "not_looked": self.not_looked or None,
            "kind": self.kind,
            "held_out_gain": gains,
            "held_out_gain_over_axis": None if over is None else {"value": over[0], "se": over[1]},
            "names": list(self.names),
            "shares": self.shares.tolist(),
        }


# ------------------------------------------------------------------------------- an axis
def continued(model: Model, before: Fit) -> State:
    """Return a state of a model where a fit of a smaller one ended; further unknowns are 0."""
    old, smaller = before.state, before.problem.model
    state = model.first_state(before.scores, old.sds, old.reversed_share)
    for name, block in smaller.rows.blocks.items():
        state.unknowns[model.rows.blocks[name].where] = old.unknowns[block.where]
    for name in smaller.means:
        state.unknowns[model.index(name)] = old.unknowns[smaller.index(name)]
    return replace(state, multiplier=old.multiplier, grades=old.grades)


def fit_axis(model: Model, before: Fit, run: Run) -> Fit:
    """Fit the axis along which annotators differ most: the best of a few starts.

    Parameters
    ----------
    model
        With an axis.
    before
        The fit of the model without one.
    run
        Fits a model from a state.
    """
    begin, random = continued(model, before), np.random.default_rng(0)
    starts = [_leading_axis(before)]
    starts += [random.standard_normal(model.rows.n_items) for _ in range(_RANDOM_STARTS)]
    fits = []
    for start in starts:
        unknowns = begin.unknowns.copy()
        size = float(np.sqrt(np.mean(start**2))) or 1.0
        scale = _LARGEST_AXIS * FIRST_SDS[AXIS] / size
        unknowns[model.rows.blocks[AXIS].where] = scale * start
        fits.append(run(model, replace(begin, unknowns=unknowns)))
    settled = [fit for fit in fits if fit.convergence.converged] or fits
    return min(settled, key=lambda fit: fit.objective)


def _leading_axis(fit: Fit) -> FloatArray:
    """Return the axis along which the annotators' scores, or gradients, differ most."""
    from scipy.sparse.linalg import LinearOperator, svds

    rows, tape, n = fit.problem.model.rows, fit.curvature.tape, fit.problem.model.rows.n_items
    if min(rows.n_annotators, n) < 2:  # noqa: PLR2004  # there is no axis among one
        return np.ones(n)
    values = fit.posterior.weights / np.sqrt(rows.annotator_weights)[:, None]

    def along(axis: FloatArray) -> FloatArray:
        """Return how far each annotator's gradient goes along an axis."""
        whole = np.zeros(tape.size)
        whole[:n] = axis.ravel()
        return tape.forms(values, np.zeros(tape.size), whole)[1]

    def added(shares: FloatArray) -> FloatArray:
        return tape.weighted(values * shares.reshape(-1, 1))[:n]

    gradients: Any = LinearOperator((rows.n_annotators, n), along, added, dtype=np.float64)
    return np.asarray(svds(gradients, k=1, random_state=0)[2][0])


# ------------------------------------------------------------------------------- the mixture
@dataclass(frozen=True, eq=False)
class Values:
    """What is estimated of a mixture."""

    parts: FloatArray
    """x_p, parts by items."""
    shares: FloatArray
    common_sd: float
    apart_sd: float
    tau: float = _TAU
    reversed_share: float = _FIRST_REVERSED
    classes: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    """Probability that each annotator is of each class, annotators by classes."""
    evidence: float = -np.inf
    """Logarithm of the probability of the answers, the parts integrated out."""

    __repr__ = brief


class Mixture:
    """Annotators of several classes: each class is the model of a fit with scores of its own."""

    def __init__(self, rows: Rows, fit: Fit, kind: str) -> None:
        self.rows, self.state, self.kind, self.mixing = rows, fit.state, kind, _MIXING[kind]
        old = fit.problem.model.family
        # Kernels know Davidson's ties only: those of Rao and Kupper are looked at as if by them.
        family = Advantage(old.names, Adjacent(fit.state.grades), old.channels)
        model = replace(fit.problem.model, rows=rows, family=family)
        self.problems = [Problem(model) for _ in self.mixing]

    def evaluate(self, values: Values) -> Expectation:
        """Integrate the annotators' parameters out, in each class."""
        old, n, points = self.state, self.rows.n_items, []
        for problem, scores in zip(self.problems, self.mixing @ values.parts, strict=True):
            state = replace(
                old,
                unknowns=np.concatenate([scores, old.unknowns[n:]]),
                sds=old.sds | {RELIABILITY: values.tau},
                reversed_share=values.reversed_share,
                covariance=np.zeros(len(old.unknowns)),
                multiplier=0.0,
            )
            points.append(problem.at(state, close=_CLOSE))
        return Expectation(self, values, points)


@dataclass(frozen=True, eq=False)
class Expectation:
    """The annotators, classes and parameters integrated out, at some values."""

    mixture: Mixture
    values: Values
    points: list[Curvature]
    """Of each class."""

    @cached_property
    def by_class(self) -> FloatArray:
        """Log evidence of each annotator's answers in each class, classes by annotators."""
        return np.stack([point.posterior.evidence for point in self.points])

    @cached_property
    def evidence(self) -> FloatArray:
        """Log evidence of each annotator's answers."""
        shares = np.maximum(self.values.shares, 1e-300)[:, None]
        return np.asarray(logsumexp(self.by_class + np.log(shares), axis=0))

    @cached_property
    def classes(self) -> FloatArray:
        """Probability that each annotator is of each class, annotators by classes."""
        shares = np.maximum(self.values.shares, 1e-300)[:, None]
        return np.asarray((shares * np.exp(self.by_class - self.evidence)).T)

    def derivatives(self, classes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the gradient in the parts, and the complete information on them."""
        rows, mixing = self.mixture.rows, self.mixture.mixing
        n, parts = rows.n_items, mixing.shape[1]
        pair = rows.left.astype(np.int64) * n + rows.right
        gradient, complete = np.zeros(parts * n), np.zeros((parts * n, parts * n))
        for own, here, mix in zip(classes.T, self.points, mixing, strict=True):
            pull = here.tape.weighted(own[:, None] * here.posterior.weights)[:n]
            gradient += np.kron(mix, pull)
            flow = rows.per_row(own) * here.tape.curvature[GAP, GAP]
            table = np.bincount(pair, flow, n * n).reshape(n, n)
            table = table + table.T
            complete += np.kron(np.outer(mix, mix), np.diag(table.sum(axis=0)) - table)
        return gradient, complete


def fit_mixture(mixture: Mixture, start: Values, classes: FloatArray | None = None) -> Values:
    """Fit a mixture from a start: scores by EM gradient steps, the rest by EM.

    Parameters
    ----------
    mixture, start
        The classes, and where to begin.
    classes
        Probabilities of the classes that are kept at first, annotators by classes.
    """
    values = start
    for iteration in range(_ITERATIONS):
        here = mixture.evaluate(values)
        kept = classes if classes is not None and iteration < _FIXED_CLASSES else None
        new = _step(here, here.classes if kept is None else kept)
        move = float(np.abs(new.parts - values.parts).max()) / values.common_sd
        move = max(move, 0.1 * abs(log(new.apart_sd / values.apart_sd)), abs(new.tau - values.tau))
        values = new
        if kept is None and move < _TOLERANCE:
            break
    return values


def _step(here: Expectation, classes: FloatArray) -> Values:
    """Take an EM gradient step (Lange 1995) in the parts and estimate the rest again.

    Classes and the evidence are those before the step.
    """
    values, mixture, mixing = here.values, here.mixture, here.mixture.mixing
    (m, k), n = classes.shape, mixture.rows.n_items
    gradient, complete = here.derivatives(classes)
    sds = np.array([values.common_sd] + [values.apart_sd] * (mixing.shape[1] - 1))
    precision, x = np.repeat(sds**-2.0, n), values.parts.ravel()
    covariance = np.linalg.inv(complete + np.diag(precision))
    step = covariance @ (gradient - precision * x)
    longest = float(np.abs(step).max()) / values.common_sd
    parts = (x + step * min(1.0, 1.0 / max(longest, 1e-300))).reshape(values.parts.shape)
    evidence = float(here.evidence.sum()) - 0.5 * dot(precision, x * x)
    evidence += 0.5 * float(np.log(precision).sum() + np.linalg.slogdet(covariance)[1])
    common, apart, variances = values.common_sd, values.apart_sd, np.diag(covariance)
    common = next_sd(common, parts[0], variances[:n], score_count(n - 1, 1.0))
    if len(parts) > 1:
        count = effect_count(parts[1:].size)
        apart = max(next_sd(apart, parts[1:].ravel(), variances[n:], count), LEAST_SD)
    posteriors, shares = [point.posterior for point in here.points], values.shares
    turned = classes * np.stack([posterior.reversed for posterior in posteriors], axis=1)
    if mixture.kind in _CAMPS:
        shares = (classes.sum(axis=0) + 1.0) / (m + k)
        # A camp whose members are mostly reversed has scores of the wrong sign.
        for camp in np.flatnonzero(2.0 * turned.sum(axis=0) > classes.sum(axis=0)):
            parts[1 + camp] = -parts[1 + camp] - 2.0 * parts[0]
            mixture.problems[camp].annotators.restart()
    # The typical annotator has reliability 1: else scores and reliabilities drift apart.
    pairs = list(zip(classes.T, posteriors, strict=True))
    first = sum(own @ posterior.mean(posterior.strengths) for own, posterior in pairs) / m
    second = sum(own @ posterior.mean(posterior.strengths**2) for own, posterior in pairs) / m
    scale = float(np.clip(first, 0.5, 2.0))
    square = m * (second / scale**2 - 2.0 * first / scale + 1.0)
    tau = float(np.sqrt((_TAU_PRIOR * _TAU**2 + square) / (_TAU_PRIOR + m)))
    share = min(reversed_share(turned.sum(axis=1)), _MOST_REVERSED)
    spreads = scale * common, scale * apart, min(tau, _LARGEST_TAU)
    return Values(scale * parts, shares, *spreads, share, here.classes, evidence)


def fit_candidates(rows: Rows, fit: Fit, *, seed: int = 0) -> dict[str, Values]:
    """Fit one order, an axis, and two and three camps; of several starts the most probable.

    Parameters
    ----------
    rows, fit
        The answers, and a fit of one order.
    seed
        For the random starts.
    """
    from scipy.cluster.vq import kmeans2

    begin = Values(fit.scores[None], np.ones(1), fit.state.sds[SCORES], 1.0)
    alone = Mixture(rows, fit, ONE)
    one = fit_mixture(alone, begin)
    m, own_sd, tau = rows.n_annotators, one.common_sd, one.tau
    apart_sd = _APART * own_sd

    def best(kind: str, starts: list[FloatArray]) -> Values:
        """Fit camps from each start, probabilities of annotators by camps."""
        number = _CAMPS[kind]
        parts = np.concatenate([one.parts, np.zeros((number, rows.n_items))])
        begin = Values(parts, np.full(number, 1.0 / number), own_sd, apart_sd, tau)
        fits = [fit_mixture(Mixture(rows, fit, kind), begin, each) for each in starts]
        return max(fits, key=lambda fit: fit.evidence)

    # What the residuals of one order have in common.
    here = alone.evaluate(one).points[0]
    table = here.tape.table(here.posterior.weights).toarray()[:, : rows.n_items]
    table /= np.sqrt(np.maximum(rows.annotator_weights, 1e-9))[:, None]
    directions, camps = np.linalg.svd(table, full_matrices=False)[0], []
    for kind, number in _CAMPS.items():
        random, every = np.random.default_rng(seed), np.eye(number)
        starts = [every[kmeans2(directions[:, : number - 1], number, minit="++", seed=seed)[1]]]
        starts += [every[random.permutation(m) % number] for _ in range(_RANDOM_STARTS)]
        camps.append(best(kind, starts))
    two, three = camps
    if three.evidence > two.evidence:
        # All starts may have missed two camps, which three then find: they would be claimed.
        apart = [np.stack([each, 1.0 - each], axis=1) for each in three.classes.T]
        two = max(two, best(TWO, apart), key=lambda fit: fit.evidence)
    (a, b), weights = _MIXING[TWO] @ two.parts, np.exp(-0.5 * _STANCES**2)
    parts = np.stack([0.5 * (a + b), 0.5 * (a - b)])
    parts[1] *= max(1.0, _LEAST_LINE * own_sd / max(float(np.sqrt(np.mean(parts[1] ** 2))), 1e-9))
    start = Values(parts, weights / weights.sum(), own_sd, apart_sd, tau)
    line = fit_mixture(Mixture(rows, fit, LINE), start)
    return {ONE: one, LINE: line, TWO: two, THREE: three}


# ------------------------------------------------------------------------------- the decision
def find_camps(rows: Rows, fit: Fit, *, seed: int = 0) -> Camps:
    """Compare one order, an axis, and two and three camps by held-out annotators.

    The scores of camps are modes: see `fit_by_camp`.

    Parameters
    ----------
    rows, fit
        Of the model without an axis; rows may have other weights than those of the fit.
    seed
        For who is held out when, and for starts.
    """
    m, n, random = rows.n_annotators, rows.n_items, np.random.default_rng(seed)
    if m < FEWEST:
        people = count(m, "annotator")
        are = "is" if m == 1 else "are"
        return Camps(ONE, not_looked=f"there {are} only {people}; it takes {FEWEST}")
    if n > MOST_ITEMS:
        said = f"there are {n:,} items; at most {MOST_ITEMS} can be searched"
        return Camps(ONE, not_looked=said)
    some, step = rows, min(len(rows) // _SAMPLE, m // _FEWEST_SAMPLED)
    if len(rows) > 2 * _SAMPLE and step > 1:
        drawn = np.random.default_rng(seed).permutation(m) < m // step
        some = rows.of(np.repeat(drawn, rows.sizes))
        m = some.n_annotators
    whole = fit_candidates(some, fit, seed=seed)
    if max(each.evidence for each in whole.values()) - whole[ONE].evidence < _SIGN:
        return Camps(ONE)
    fold = random.permutation(m) % min(_FOLDS, m)
    evidence = {name: np.zeros(m) for name in whole}
    for k in range(int(fold.max()) + 1):
        out: BoolArray = fold == k
        kept, rest = (some.of(np.repeat(these, some.sizes)) for these in (~out, out))
        for name, each in whole.items():
            camps = each.classes[~out] if name in _CAMPS else None
            part = fit_mixture(Mixture(kept, fit, name), each, camps)
            evidence[name][out] = Mixture(rest, fit, name).evaluate(part).evidence
    gains = {name: _gain(evidence[name], evidence[ONE]) for name in whole if name != ONE}
    number = THREE if _surely(_gain(evidence[THREE], evidence[TWO])) else TWO
    over_axis = _gain(evidence[number], evidence[LINE])
    if not (_surely(gains[number]) and _surely(over_axis)):
        return Camps(LINE if _surely(gains[LINE]) else ONE, gains, over_axis)
    if some is not rows:
        whole = fit_candidates(rows, fit, seed=seed)
    best = whole[number]
    order = np.argsort(-best.classes.sum(axis=0), kind="stable")  # the largest camp first
    return Camps(
        number,
        gains,
        over_axis,
        members=best.classes[:, order],
        scores=(_MIXING[number] @ best.parts)[order],
    )


def _gain(one: FloatArray, other: FloatArray) -> tuple[float, float]:
    """Return how much more probable held-out annotators are, and the standard error of that."""
    gain = one - other
    return float(gain.sum()), float(np.sqrt(len(gain)) * gain.std(ddof=1))


def _surely(gain: tuple[float, float]) -> bool:
    return gain[0] > max(_SE_BETTER * gain[1], _NATS_BETTER)


# ------------------------------------------------------------------------------- camps' scores
@dataclass(frozen=True, eq=False)
class ByCamp:
    """A fit with a score for each item in each camp."""

    effects: Effects
    members: FloatArray
    """Probability that each annotator belongs to each camp, annotators by camps."""
    name: str
    """What the categories that the camps are in the fit are called."""

    __repr__ = brief

    def expected(self, judgments: Judgments, function: OfRows) -> FloatArray:
        """Return the mean of a function of what moves rows and of annotators' parameters.

        Those of each camp are averaged by how probable it is that the annotator belongs to it; a
        new annotator belongs to one as often as others do.
        """
        fitted, number = self.effects.judgments.annotator_ids, self.members.shape[1]
        index = positions(judgments.annotator_ids, fitted)[:, None]
        anyone = self.members.mean(axis=0)
        members = np.where(index < 0, anyone, self.members[index[:, 0]])[judgments.annotator]
        total = np.zeros((1, 1))
        for k in range(number):
            code = np.full(len(judgments.left), k, dtype=np.int32)
            asked = _with_camps(judgments, self.name, number, code)
            total = total + members[:, k, None] * self.effects.expected(asked, function)
        return total

    def described(self, camps: Camps) -> Camps:
        """Return camps with their scores and what is between them, with standard errors."""
        number = self.members.shape[1]
        unit = np.eye(number)
        own = [self._combined(each) for each in unit]
        pairs = [self._combined(unit[a] - unit[b]) for a, b in combinations(range(number), 2)]
        apart, apart_se = (np.stack(each) for each in zip(*pairs, strict=True))
        most = np.abs(apart).argmax(axis=0), np.arange(apart.shape[1])
        # Of three camps, which two differ most is another thing for each item.
        far = apart[0] if number == 2 else np.abs(apart[most])  # noqa: PLR2004
        return replace(
            camps,
            members=self.members,
            scores=np.stack([scores for scores, _ in own]),
            se=np.stack([se for _, se in own]),
            common_ground=Reading(*self._combined(unit.mean(axis=0))),
            apart=Reading(far, apart_se[most]),
        )

    def _combined(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return Σ_k w_k θ_k about the mean of each component, and its standard errors."""
        from scipy import sparse

        same = self.effects.judgments.graph.component
        same = same[:, None] == same
        about_mean = np.eye(len(same)) - same / same.sum(axis=1)
        matrix, prior = self.effects.combined(f"by {self.name}", weights, weights.sum())
        matrix = sparse.csr_array(about_mean @ matrix.toarray())
        reading = self.effects.reading(matrix, about_mean**2 @ prior)
        return reading.values, _WIDER * reading.se


def fit_by_camp(
    judgments: Judgments, chosen: ChosenTerms, camps: Camps, before: Fit, run: Run
) -> ByCamp:
    """Fit what each camp thinks of the items.

    Parameters
    ----------
    judgments, chosen
        What was judged, and the terms of the fit without camps.
    camps
        Who is in which, and roughly what each thinks.
    before
        The fit without camps.
    run
        Fits a model from a state.
    """
    name, number = "camp", len(camps.scores)
    while name in judgments.category_ids:
        name += "'"
    surely: BoolArray = camps.members.max(axis=1) >= _SURELY
    own = np.where(surely, camps.members.argmax(axis=1), -1).astype(np.int32)
    parted = _with_camps(judgments, name, number, own[judgments.annotator])
    chosen = replace(chosen, cells=(*chosen.cells, f"by {name}"))
    model = model_of(parted, chosen, fixed=before.problem.model.fixed)
    block, common = model.rows.blocks[f"by {name}"], camps.scores.mean(axis=0)
    added = (camps.scores - common)[block.group, block.item]
    sds = {each: before.state.sds[each] for each in (SCORES, RELIABILITY)}
    sds[f"by {name}"] = max(float(np.sqrt(np.mean(added**2))), _LEAST_SD)
    start = model.first_state(common, sds, before.state.reversed_share)
    start.unknowns[block.where] = added
    return ByCamp(Effects(parted, chosen, run(model, start)), camps.members, name)


def _with_camps(judgments: Judgments, name: str, number: int, code: CodeArray) -> Judgments:
    """Return judgments with the camp of each row as a further category."""
    column = Categories(name, as_text(LETTERS[:number]), code)
    return replace(judgments, categories=(*judgments.categories, column))
