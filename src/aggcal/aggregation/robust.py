"""Cluster-robust standard errors, pooled into one factor: they hold where answers are dependent.

The robust (sandwich) covariance is V (Σ S_c S_c') V, with the covariance V by the model as bread
and the scores S_c of clusters of answers as meat. The meat of a few clusters is noise in most
directions; here its ratio to what the model expects is pooled over all of them.

An answer with the Pearson residual z and the weight ω pulls the scores along x by ω z h(x), where
h(x) = a (x_i − x_j) − b G_u(x)/D_u is the root of its Fisher information once the reliability of
annotator u has followed: D_u is the precision of that reliability, G_u(x) how it moves with the
scores. With the covariance V of the scores by the model, and the score S_c and the information I_c
of each cluster c of answers,

    T = Σ S_c' V S_c,   E = tr(V I),   L = Σ tr(V I_c V I_c).

Of independent answers E T = E − L (the fit has seen them) and Var T = 2 L. So f² = T/(E − L),
pooled over all directions in which answers tell anything, is how many times too small the variances
of the model are. What the prior tells is not widened: the covariance becomes V + (f² − 1) V I V.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from math import inf, sqrt
from typing import Any

import numpy as np
from scipy import sparse

from aggcal._core.arrays import CodeArray, FloatArray, IntArray
from aggcal._core.text import brief
from aggcal.aggregation.covariance import Covariance, DenseCovariance
from aggcal.data.judgments import Judgments
from aggcal.data.weights import Tally

_DIRECTIONS = ((1 << 16, 150), (200_000, 48), (1 << 62, 12))
"""Up to so many answers, T is summed over so many directions: over all, where V has no more, else
over random ones. Fewer take less time; with more answers there are more clusters to pool over."""
_COUPLES = 3
"""Pairs of each direction with others from which L is estimated: of all of them it would take K
times as long. From two, f² was off by 2% in a thin study of five annotators."""
_LEAST_FREE = 0.05
"""Share of E that L is taken to leave at least."""
_COMMON = 4.0
"""Clusters that the common factor counts as where items get a factor each. Where prompts moved a
quarter of the items only, these were covered .79 to .82 at .90 (.67 to .73 without)."""
_TINY, _MANY = 1e-300, 1e6  # keeps what divides by it finite; degrees of freedom like infinite
NEGLIGIBLE = 1.05
"""Factor of the errors below which dependence is not mentioned: it would be printed as 1.0."""
SERIOUS = 2.0
"""Factor of the variance from which dependence is a problem and not a note: half as many answers
would tell as much if they were independent."""
_TOGETHER, _WEIGHT = "all", "weight"
_REASONS = {
    "question": "answers to the same question agree more than the fitted curve says",
    "annotator": "answers of the same annotator agree (tastes, or acts that nothing names)",
    "weight": "weights count one row as several answers",
    "act": "answers given together agree",
    "context": "answers in the same context agree",
}
_MORE = {
    "question": "more questions",
    "annotator": "more annotators",
    "act": "more rankings, ratings or screens",
    "context": "more contexts",
}


@dataclass(frozen=True)
class Factor:
    """How many times as large variances are, by clusters of one grouping, as by the model.

    Examples
    --------
    >>> round(Factor("question", 1.5, 0.2, 40).used, 2), Factor("question", 1.1, 0.2, 40).used
    (1.42, 1.0)
    """

    name: str
    """What answers of a cluster share: ``annotator``, ``question``, ``act`` or the name of a
    column; ``all`` for answers that share any of them, ``weight`` for what weights above 1 widen
    alone."""
    squared: float
    chance_sd: float
    """Standard deviation of ``squared`` where answers are independent."""
    clusters: int
    """Those of more than one answer; 0 for ``all`` and ``weight``."""
    degrees_of_freedom: float = inf

    def to_dict(self) -> dict[str, float | int | str]:
        """Return plain data, as in ``summary.json``."""
        return {name: getattr(self, name) for name in ("name", "squared", "chance_sd", "clusters")}

    @property
    def used(self) -> float:
        """``squared`` shrunk to 1: no excess below one ``chance_sd``, nearly all of several."""
        excess = self.squared - 1.0
        return 1.0 + max(excess - self.chance_sd**2 / excess, 0.0) if excess > 0.0 else 1.0


@dataclass(frozen=True, eq=False)
class Answers:
    """What each answer tells, an entry an answer."""

    annotator: CodeArray
    left: CodeArray
    right: CodeArray
    weight: FloatArray
    residual: FloatArray
    """Pearson's: the outcome less its mean, over its standard deviation."""
    by_gap: FloatArray
    """Derivative of the mean in the gap of the scores, over the same standard deviation."""
    by_reliability: FloatArray | None = None
    """The same in the annotator's reliability; None where annotators are alike."""
    excess: FloatArray | None = None
    """Each reliability less the mean of its prior."""
    prior_precision: float = 0.0
    """Of the reliabilities."""


@dataclass(frozen=True, eq=False)
class Robust:
    """The factors of a study, and what they make of a covariance."""

    factors: tuple[Factor, ...] = ()
    items: FloatArray | None = field(default=None, repr=False)
    """How many times as wide as by the common factor each item's standard error is."""

    __repr__ = brief

    @property
    def used(self) -> float:
        """What the judgments tell has so many times the variance that the model says."""
        return max((factor.used for factor in self.factors), default=1.0)

    @property
    def degrees_of_freedom(self) -> float:
        """Of the clusters of the widest grouping; infinite where nothing is widened."""
        single = [factor for factor in self.factors if factor.clusters]
        if self.used == 1.0 or not single:
            return inf
        return max(single, key=lambda factor: factor.squared).degrees_of_freedom

    def widened(
        self, covariance: Covariance, prior_sd: float | None, by_prior: FloatArray | None = None
    ) -> Covariance:
        """Return V + (f² − 1) V I V, with the information I of the judgments alone.

        ``by_prior`` is V Λ V, with the precision Λ of priors. Where it is not known, as of very
        many items, the mean share of the scores' prior counts.

        Examples
        --------
        >>> found = Robust((Factor("question", 4.0, 0.0, 99),))
        >>> found.widened(DenseCovariance(np.eye(2)), None).variances
        array([2., 2.])
        """
        excess = self.used - 1.0
        if excess == 0.0:
            return covariance
        dense = covariance.dense()
        if dense is None or by_prior is None:
            share = 0.0 if prior_sd is None else prior_sd**-2 * float(np.mean(covariance.variances))
            return covariance.scaled(1.0 + excess * max(1.0 - share, 0.0))
        told = dense.matrix - by_prior
        told[np.diag(told) < 0.0] = 0.0  # where a fit has not settled: nothing gets narrower
        told[:, np.diag(told) <= 0.0] = 0.0
        matrix = dense.matrix + excess * told
        if self.items is not None:
            matrix *= np.outer(self.items, self.items)
        return DenseCovariance(matrix)

    # In words
    @property
    def widest(self) -> Factor | None:
        """The grouping that widens errors most; None where answers look independent."""
        most = max(self.factors, key=lambda factor: factor.used, default=None)
        return None if most is None or sqrt(most.used) < NEGLIGIBLE else most

    @property
    def is_clear(self) -> bool:
        """Whether independent answers would give so large a factor in 1 study of 40 at most."""
        most = self.widest
        return most is not None and most.squared > 1.0 + 2.0 * most.chance_sd

    @property
    def title(self) -> str:
        """By how much errors are larger, in a few words."""
        large = "as large" if self.widest is None else f"{sqrt(self.used):.1f} times as large"
        return f"Errors are {large} as if all answers were independent"

    @property
    def reasons(self) -> str:
        """Which answers agree, and how much that widens errors.

        Examples
        --------
        >>> factors = Factor("question", 2.5, 0.05, 40), Factor("weight", 2.4, 0.05, 0)
        >>> print(Robust(factors).reasons)
        weights count one row as several answers (question 1.6, weight 1.5; chance gives up to 1.05)
        """
        words = [
            _REASONS.get(name, f"answers about the same {name} agree") for name in self._causes
        ]
        return f"{' and '.join(words)} {self._numbers}"

    def __str__(self) -> str:
        """Say how much larger errors are, and why; nothing where no factor could be estimated.

        Examples
        --------
        >>> print(Robust((Factor("question", 2.5, 0.05, 40), Factor("annotator", 1.0, 0.05, 40))))
        Errors are 1.6 times as large as if all answers were independent, because answers to the
        same question agree more than the fitted curve says (question 1.6, annotator 1.0; chance
        gives up to 1.05).
        >>> print(Robust((Factor("annotator", 1.0, 0.05, 40),)))
        Errors are as large as if all answers were independent (annotator 1.0; chance gives up to
        1.05).
        """
        if not self.factors:
            return ""
        if self.is_clear:
            return f"{self.title}, because {self.reasons}."
        safe = "" if self.widest is None else ", to be safe: chance can look like this"
        return f"{self.title}{safe} {self._numbers}."

    @property
    def remedy(self) -> str:
        """What would make errors smaller.

        Examples
        --------
        >>> print(Robust((Factor("question", 2.5, 0.05, 40),)).remedy)
        Intervals and claims allow for it. To narrow them, ask for more questions: more of what is
        there adds little.
        """
        names, allowed = self._causes, "Intervals and claims allow for it."
        if names == [_WEIGHT]:
            return f"{allowed} If weights are no numbers of answers, divide them by Σw²/Σw."
        more = " and ".join(_MORE.get(name, f"more values of '{name}'") for name in names)
        return f"{allowed} To narrow them, ask for {more}: more of what is there adds little."

    @property
    def _numbers(self) -> str:
        """The factor of each grouping, and what chance gives: more in 1 study of 40."""
        most = self.widest
        each = ", ".join(
            f"{'all together' if factor.name == _TOGETHER else factor.name} "
            f"{sqrt(max(factor.squared, 1.0)):.1f}"
            for factor in self.factors
        )
        sd = most.chance_sd if most else max(factor.chance_sd for factor in self.factors)
        return f"({each}; chance gives up to {sqrt(1.0 + 2.0 * sd):.3g})"

    @property
    def _causes(self) -> list[str]:
        """Which groupings to name: the widest, or the wide ones where all together are.

        Weights widen every grouping, and what answers of an act share, their annotator's share,
        too: only what widens more than these is named beside them.
        """
        by_name = {factor.name: factor for factor in self.factors}

        def beyond(name: str, inner: str) -> bool:
            if inner not in by_name:
                return True
            outer, within = by_name[name], by_name[inner]
            return outer.squared > within.squared * (1.0 + 2.0 * outer.chance_sd)

        names = [] if self.widest is None else [self.widest.name]
        if names == [_TOGETHER]:
            single = [name for name in by_name if name not in {_TOGETHER, _WEIGHT}]
            names = [name for name in single if sqrt(by_name[name].used) >= NEGLIGIBLE] or single
        if not any(beyond(name, _WEIGHT) for name in names):
            return [_WEIGHT]
        if "annotator" in names and not beyond("annotator", "act"):
            names = [name for name in names if name not in {"annotator", "act"}] + ["act"]
        return names


def answer_rows(judgments: Judgments) -> tuple[IntArray, FloatArray]:
    """Return the row that each answer stands in, and what it weighs there.

    Examples
    --------
    >>> import aggcal
    >>> both = aggcal.read_judgments([("ann", "a", "b"), ("ann", "a", "b"), ("bob", "a", "b")])
    >>> answer_rows(both)
    (array([0, 0, 1]), array([1., 1., 1.]))
    """
    number = np.asarray(judgments.count)
    if Tally.of(judgments).counts:  # a row that weighs 3 is three answers
        number = np.asarray(judgments.weight).astype(np.int64)
    row: IntArray = np.repeat(np.arange(len(number)), number)
    if judgments.screen_weight is not None and len(judgments.screen_weight) == len(row):
        return row, np.asarray(judgments.screen_weight)
    return row, np.asarray((judgments.weight / number)[row])


def groupings(judgments: Judgments, row: IntArray) -> dict[str, IntArray]:
    """Return the clusters of answers that stand in these rows: what they share, by name.

    Examples
    --------
    >>> import aggcal
    >>> both = aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "a"), ("bob", "b", "c")])
    >>> groupings(both, np.arange(3))
    {'annotator': array([0, 1, 1]), 'question': array([1, 1, 5])}
    """
    left, right = judgments.left.astype(np.int64), judgments.right.astype(np.int64)
    found = {"annotator": judgments.annotator.astype(np.int64)[row]}
    if judgments.n_items > 2:  # noqa: PLR2004  # of two items there is one question
        question = np.minimum(left, right) * judgments.n_items + np.maximum(left, right)
        found["question"] = question[row]
    if judgments.context is not None:
        found[judgments.context_name] = judgments.context.astype(np.int64)[row]
    if judgments.screen is not None and len(judgments.screen) == len(row):
        found["act"] = np.asarray(judgments.screen)
    return found


def _shared(groupings: dict[str, IntArray], answers: int) -> dict[tuple[str, ...], Any]:
    """Return matrices that add answers up by cluster: one for all that they may share at once.

    Answers that agree in all columns are a cluster, if there are several. After the answers come
    the priors of reliabilities, which are like an answer of their annotator each.
    """
    columns, clusters = {}, {}
    for name, of in groupings.items():
        priors = answers - len(of)
        columns[name] = np.append(of, np.arange(priors) if name == "annotator" else [-1] * priors)
    for size in range(1, len(columns) + 1):
        for names in combinations(columns, size):
            rows = np.flatnonzero(np.all([columns[name] >= 0 for name in names], axis=0))
            code = np.zeros(len(rows), dtype=np.int64)
            for name in names:
                code = code * (int(columns[name].max()) + 1) + columns[name][rows]
                _, code, counts = np.unique(code, return_inverse=True, return_counts=True)
                several = counts[code] > 1
                rows, code = rows[several], code[several]
            number, code = np.unique(code, return_inverse=True)
            if len(rows):
                shape = len(number), answers
                clusters[names] = sparse.csr_array((np.ones(len(rows)), (code, rows)), shape)
    return clusters


def robust(
    answers: Answers,
    scores: FloatArray,
    covariance: Covariance,
    groupings: dict[str, IntArray],
    *,
    seed: int = 0,
) -> Robust:
    """Estimate the factor of each grouping, and of all at once.

    All at once: answers that share any cluster, by inclusion and exclusion over intersections
    (Cameron, Gelbach and Miller, 2011), to which nested groupings add nothing.

    Parameters
    ----------
    answers, scores, covariance
        What was fitted, and its covariance by the model.
    groupings
        The number of each answer's cluster, -1 for none.
    seed
        Seed of the random directions.
    """
    root, drawn = _directions(covariance, scores, len(answers.left), np.random.default_rng(seed))
    along, score, weight = _answer_scores(answers, root)
    length = np.einsum("rk,rk->r", along, along)
    information, squares = weight * length, np.square(score) * length
    single = float(np.square(information).sum())
    whole, base = float(information.sum()) - single, float(weight @ information) - single
    if not whole > 0.0:  # all answers are ties: nothing differs
        return Robust()

    def factor(name: str, beyond: float, leverage: float, number: int, freedom: float) -> Factor:
        """Return f² and its standard deviation by chance, of which single answers have a part."""
        free = max(whole - leverage, _LEAST_FREE * whole)
        chance = sqrt(2.0 * (max(leverage, 0.0) + single)) / free
        return Factor(name, (base + beyond) / free, chance, number, freedom)

    clusters = _shared(groupings, len(score))
    if not clusters:
        return Robust()
    every = sparse.vstack([*clusters.values()], format="csr")
    moved = _squares(every @ (along * score[:, None]))
    leverages = _leverages(every, along, weight, drawn=drawn)
    total = leverage = 0.0
    factors: list[Factor] = []
    for names, each in clusters.items():
        rows, n = each.indices, each.shape[0]
        (of_clusters, moved), (own, leverages) = (np.split(a, [n]) for a in (moved, leverages))
        # Squares of single answers are replaced by their expectation: reliabilities are fitted to
        # the answers, whose squares come out too small. Not so all of an annotator's.
        beyond = float(of_clusters.sum() - squares[rows].sum())
        if names == ("annotator",):
            beyond += float(squares.sum()) - base
        among = max(float(own.sum() - np.square(information[rows]).sum()), 0.0)
        sign = -((-1) ** len(names))
        total, leverage = total + sign * beyond, leverage + sign * among
        if len(names) == 1:
            # Degrees of freedom of T, as unequal clusters have made it (after Satterthwaite).
            share = each @ information
            off = of_clusters - of_clusters.sum() * share / share.sum()
            noise = float(np.square(off).sum()) * n / max(n - 1, 1)
            freedom = min(2.0 * (base + beyond) ** 2 / max(noise, _TINY), _MANY)
            factors.append(factor(names[0], beyond, among, n, freedom))
    widest = max(factors, key=lambda factor: factor.squared)
    if len(factors) > 1:
        factors.append(factor(_TOGETHER, total, leverage, 0, widest.degrees_of_freedom))
    by_weights = factor(_WEIGHT, 0.0, 0.0, 0, inf)
    if by_weights.squared > 1.0 + by_weights.chance_sd:
        factors.append(by_weights)
    found = Robust(tuple(factors))
    if drawn or found.used == 1.0:
        return found
    trusted = widest.name == "annotator"
    wide = clusters[(widest.name,)]
    items = _items(wide, along @ root.T, score, weight, found.used, trusted=trusted)
    return Robust(found.factors, items)


def _squares(rows: FloatArray) -> FloatArray:
    """Return the squared length of each row."""
    return np.asarray(np.einsum("ck,ck->c", rows, rows))


def _directions(
    covariance: Covariance, scores: FloatArray, answers: int, random: np.random.Generator
) -> tuple[FloatArray, bool]:
    """Return columns whose outer products add up to V, and whether they are drawn at random.

    The direction of the scores themselves is left out: how far they are stretched is a convention,
    and a reliability that is a little off stretches them. Of two items it is the only one.
    """
    most = next(number for rows, number in _DIRECTIONS if answers <= rows)
    dense = covariance.dense()
    if len(scores) > most or dense is None:
        return covariance.draws(most, random).T / sqrt(most), True
    values, vectors = np.linalg.eigh(dense.matrix)
    kept = values > 1e-9 * values.max()  # the mean of all scores is known
    sd, vectors = np.sqrt(values[kept]), vectors[:, kept]
    root = (vectors * sd) @ vectors.T  # the symmetric root is the same on every machine
    if len(sd) > 1:
        along = (vectors / sd) @ (vectors.T @ scores)
        along /= max(float(np.linalg.norm(along)), _TINY)
        root -= np.outer(root @ along, along)
    # Turned at random, each two of them stand for all others: see `_leverages`.
    turn = np.linalg.qr(random.standard_normal(root.shape))[0]
    return root @ turn, False


def _answer_scores(answers: Answers, root: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return h of each answer (a row) along each direction, its residual, and its weight.

    After the answers come the reliabilities' priors, one an annotator.
    """
    weight, n = np.asarray(answers.weight, dtype=np.float64), len(answers.weight)
    excess = np.zeros(0) if answers.excess is None else answers.excess
    priors, stiff = len(excess), sqrt(answers.prior_precision)
    who, b = answers.annotator, answers.by_reliability
    h = np.empty((n + priors, root.shape[1]))
    np.subtract(root[answers.left], root[answers.right], out=h[:n])
    h[:n] *= answers.by_gap[:, None]
    if b is not None:
        by_owner: Any = sparse.csr_array((weight * b, (who, np.arange(n))), (priors, n))
        precision = by_owner @ b + answers.prior_precision
        followed = (by_owner @ h[:n]) / precision[:, None]
        h[:n] -= b[:, None] * followed[who]
        h[n:] = stiff * followed
    score = np.concatenate([weight * answers.residual, stiff * excess])
    weight = np.concatenate([weight, np.ones(priors)])
    # E is at most the number of scores, but where they stand for the effects of contexts, too.
    whole = float(weight @ _squares(h))
    h *= sqrt(min(1.0, len(root) / max(whole, _TINY)))
    return h, score, weight


def _leverages(clusters: Any, along: FloatArray, weight: FloatArray, *, drawn: bool) -> FloatArray:
    """Return tr(V I_c V I_c) by cluster from some pairs of directions, which stand for all."""
    number, weighted = along.shape[1], weight[:, None] * along

    def squares(shift: int) -> FloatArray:
        return _squares(clusters @ (weighted * np.roll(along, shift, axis=1)))

    shifts = np.unique(np.linspace(1, max(number // 2, 1), _COUPLES).astype(int)).tolist()
    others = np.mean([squares(shift) for shift in shifts], axis=0)
    return np.asarray(number * others if drawn else (number - 1) * others + squares(0))


def _items(
    clusters: Any,
    moves: FloatArray,
    score: FloatArray,
    weight: FloatArray,
    squared: float,
    *,
    trusted: bool,
) -> FloatArray:
    """Return how many times as wide each item's standard error is as by the common factor.

    The same for each item: what clusters move its score by, over what independent answers would
    (``moves`` are by unit residuals). It is trusted as far as several clusters have moved the item.
    Squares of single answers count only where they can be trusted.
    """
    rows, squares = clusters.indices, np.square(moves)
    moved = np.square(clusters @ (moves * score[:, None]))
    found, expected, alone = moved.sum(axis=0), weight @ squares, np.square(weight)
    if trusted:
        alone[rows] = 0.0
    else:
        found -= np.square(score[rows]) @ squares[rows]
    known = expected > _TINY
    ratio = np.full(len(expected), squared)
    ratio[known] = (found + alone @ squares)[known] / expected[known]
    ratio *= squared / ratio.mean()
    fourth = np.square(moved).sum(axis=0)
    number = np.square(moved.sum(axis=0)) / np.where(fourth > 0.0, fourth, 1.0)
    own = (_COMMON * squared + number * ratio) / (_COMMON + number)
    return np.asarray(np.sqrt(np.maximum(own, 1.0) / squared))
