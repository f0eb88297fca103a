"""Annotators who agree with each other far more than independent people would."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, sums
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.findings import LISTED, Affects, Finding, listed, rounded
from aggcal.advice.check.likeness import SINGLE, Counts, Likeness, likeness, urn_variance
from aggcal.advice.check.testing import benjamini_hochberg, odds_against
from aggcal.data.judgments import Judgments
from aggcal.errors import count

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_RATE = 0.01
"""Of studies without copies in which anyone is accused, at most: e-values make it far fewer."""
_FEWEST_ANNOTATORS = 3
LEAST_SHARED = 8
"""Pairs that two must share: copied answers to fewer are no proof among many annotators."""
_SEVERAL = 3
"""Pairs of one ranking or screen from which they hang together: those of three items."""
_MOST_WORK = 2e8
"""Couples of annotators, each counted once a pair: some ten seconds."""
_BLOCK = 1 << 23
"""Entries of a product that are held at once, about 100 MB."""
_WORTH_A_LOOK = 2.0
"""Standard errors of surplus from which a couple is compared answer by answer: copies of eight
even answers have about three.
"""
_MOST_COMPARED = 5000
"""Couples compared answer by answer, the most suspicious first: a millisecond each."""
_YARDSTICKS = 300
"""Couples from which it is learnt how alike answers usually are; more take time and add little."""
_LEAST_EFFECT, _MOST_EFFECT = 0.1**2, 1.0
"""Limits of the variance, in squared logits, of what all see in a pair beyond the model. Without
an upper one a study of nothing but copies would pass for one whose pairs are special.
"""
_EFFECT_UNKNOWN = 0.5**2
"""That variance where too few couples share pairs to learn it."""
_OF_THE_TWO = 0.5
"""Variance of what two annotators may see alike in a pair, and the others not. More would let
copies of some thirty answers off, less would accuse people with the same background.
"""
_MOST_ALIKE = 0.8
"""Limit of how alike answers to pairs that are asked again and again may usually be."""
_ROUNDS = 8  # of Newton's steps for the effects of pairs: it has settled before
_SHOWN = 3  # annotators named before "and so many more"


@dataclass(frozen=True, eq=False)
class Copies:
    """Pairs of annotators whose answers are too much alike.

    ``shared`` answers of each couple are to the same pairs, ``agreed`` of them match, where
    ``expected`` would; ``p_value`` bounds the probability that independent ones match as well.
    ``skipped`` says why nothing was looked for, where that is so.
    """

    one: IntArray
    other: IntArray
    shared: FloatArray
    agreed: FloatArray
    expected: FloatArray
    p_value: FloatArray
    skipped: str | None = None
    compared: int = 0
    """How many couples of annotators share enough pairs to be compared."""
    left_out: str | None = None
    """Whose answers are compared with nobody's, and why; None if everybody's are."""

    @classmethod
    def none(cls, *, skipped: str | None = None) -> Copies:
        """No such couple, or none looked for."""
        who: IntArray = np.empty(0, dtype=np.int64)
        what: FloatArray = np.empty(0)
        return cls(who, who, what, what, what, what, skipped)

    @property
    def groups(self) -> list[list[int]]:
        """Annotators who are copies of each other, directly or through others."""
        group: dict[int, set[int]] = {}
        for u, v in zip(self.one.tolist(), self.other.tolist(), strict=True):
            joined = group.get(u, {u}) | group.get(v, {v})
            for w in joined:
                group[w] = joined
        unique = {tuple(sorted(members)) for members in group.values()}
        return sorted((list(members) for members in unique), key=lambda g: (-len(g), g))


def copies(fitted: Fitted, dropped: Iterable[int] = ()) -> Copies:
    """Look for them among annotators who share at least eight pairs.

    Answers are held against answers (`aggcal.advice.check.likeness`), never sums against what a
    single answer leads one to expect. What the others say of a pair counts: where all lean one way,
    more than the model explains, two who do so too are no copies. Pairs of rankings and ratings are
    not compared: two who would rate ten items alike agree on 45 pairs at once.

    Parameters
    ----------
    fitted
        The study and its fit.
    dropped
        Annotators to leave aside: two who always choose the left agree without copying.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal.simulation import simulate
    >>> study = simulate(items=15, annotators=10, judgments=1000, copied_share=0.1, seed=3)
    >>> found = copies(Fitted.of(aggcal.read_judgments(study.judgments)))
    >>> found.groups == [sorted([*study.copied, *study.copied.values()])]
    True
    """
    if fitted.judgments.n_annotators < _FEWEST_ANNOTATORS:
        return Copies.none(skipped="copied answers (this needs three or more annotators)")
    in_acts = _mostly_in_acts(fitted.judgments)
    left_out = None
    if in_acts.any():
        who = "all" if in_acts.all() else f"{in_acts.sum():,} of {len(in_acts):,}"
        left_out = (
            f"copied answers of {who} annotators (they ranked or rated several items at once, and "
            "pairs of one ranking are not independent)"
        )
    if np.sum(~in_acts) < _FEWEST_ANNOTATORS:
        return Copies.none(skipped=left_out)
    said = _Said.of(fitted, {*dropped, *np.flatnonzero(in_acts).tolist()})
    work = float(np.sum(np.square(said.judged)))
    if work > _MOST_WORK:
        why = (
            "copied answers (so many annotators share the same pairs that comparing all of them "
            f"takes {work:.0e} steps)"
        )
        return Copies.none(skipped=why)
    alone = f"copied answers (no two annotators share {LEAST_SHARED} or more pairs)"
    if not len(said.pair):
        return Copies.none(skipped=alone)
    couples = _couples(said)
    if not len(couples.one):
        return Copies.none(skipped=alone)
    return replace(_tested(couples, _Yardstick.of(said, couples)), left_out=left_out)


def _mostly_in_acts(judgments: Judgments) -> BoolArray:
    """Whether most judgments of an annotator are part of rankings or ratings of several items."""
    if judgments.screen is None:
        return np.zeros(judgments.n_annotators, dtype=bool)
    _, act, number = np.unique(judgments.screen, return_inverse=True, return_counts=True)
    who = np.repeat(judgments.annotator, judgments.count)
    several = sums(who, (number[act] >= _SEVERAL).astype(np.float64), judgments.n_annotators)
    return np.asarray(several > 0.5 * judgments.judgments_per_annotator)


@dataclass(frozen=True, eq=False)
class _Said:
    """The decided answers of each annotator to each pair, and what the model expects of them.

    Where contexts are known, a pair in two of them counts as two.
    """

    annotator: IntArray
    pair: IntArray
    up: IntArray
    number: IntArray
    logit: FloatArray
    """Of putting the first item above."""
    turn: FloatArray
    """Of each annotator: −1 for those who answer the other way round, else 1."""
    judged: FloatArray
    """How many annotators judged each pair."""

    @classmethod
    def of(cls, fitted: Fitted, dropped: set[int]) -> _Said:
        answers, m = fitted.answers, fitted.judgments.n_annotators
        grouped, question = answers.asked, answers.question
        ups, downs = answers.decided
        number = ups + downs
        toward = np.where(answers.first_is_left, fitted.probability, 1.0 - fitted.probability)
        mean = np.bincount(grouped.of_row, toward) / np.bincount(grouped.of_row)
        kept = number > 0
        kept[np.isin(grouped.annotator, list(dropped))] = False
        kept &= np.bincount(grouped.annotator[kept], minlength=m)[grouped.annotator] >= LEAST_SHARED
        judged = np.bincount(question[kept], minlength=int(question.max(initial=-1)) + 1)
        kept &= judged[question] > 1
        return cls(
            grouped.annotator[kept],
            question[kept],
            ups[kept],
            number[kept],
            logit(np.clip(mean[kept], 1e-9, 1.0 - 1e-9)),
            np.where(fitted.population.slopes < 0.0, -1.0, 1.0),
            judged.astype(np.float64),
        )

    def table(self, values: FloatArray) -> csr_array:
        """Return a sparse table, annotators by pairs."""
        from scipy import sparse

        shape = (len(self.turn), len(self.judged))
        return sparse.coo_array((values, (self.annotator, self.pair)), shape=shape).tocsr()

    def off(self, effect: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return how far answers are off, the way the others answer, and the variance of that."""
        turn = self.turn[self.annotator]
        p = expit(self.logit if effect is None else self.logit + turn * effect[self.pair])
        return turn * (self.up - self.number * p), self.number * p * (1.0 - p)


@dataclass(frozen=True, eq=False)
class _Couples:
    """Two annotators each, how far they are off together, and the variance of that by chance."""

    one: IntArray
    other: IntArray
    together: FloatArray
    variance: FloatArray


def _couples(said: _Said) -> _Couples:
    """Compare all annotators who share enough pairs, some rows of the table at a time."""
    off, doubt = (said.table(values) for values in said.off())
    present = said.table(np.ones(len(said.pair)))
    parts: list[_Couples] = []
    for rows in _blocks(np.asarray(present @ said.judged)):
        shared = (present[rows] @ present.T).tocoo()
        u, v = shared.row.astype(np.int64) + rows.start, shared.col.astype(np.int64)
        enough = (u < v) & (shared.data >= LEAST_SHARED)
        u, v = u[enough], v[enough]
        at = (u - rows.start, v)
        together = _entries(off[rows] @ off.T, at)
        variance = np.maximum(_entries(doubt[rows] @ doubt.T, at), 1e-12)
        parts.append(_Couples(u, v, together, variance))
    columns = ([getattr(part, name) for part in parts] for name in _Couples.__annotations__)
    return _Couples(*(np.concatenate(column) for column in columns))


def _blocks(load: FloatArray) -> list[slice]:
    """Cut the rows so that no product has more than so many entries."""
    ends = np.flatnonzero(np.diff(np.floor(np.cumsum(load) / _BLOCK))) + 1
    edges = [0, *ends.tolist(), len(load)]
    return [slice(a, b) for a, b in pairwise(edges) if b > a]


def _entries(product: csr_array, at: tuple[IntArray, IntArray]) -> FloatArray:
    if not len(at[0]):
        return np.empty(0)
    return np.asarray(product.tocsr()[at], dtype=np.float64).ravel()


@dataclass(frozen=True, eq=False)
class _Yardstick:
    """How alike answers to one pair are by what all annotators see in it, beyond the model.

    ``effect`` is that of each pair, in logits, the way those answer who are not reversed;
    ``off`` how far each entry is off all the same, ``doubt`` the variance of that by chance and
    ``whole`` the precision of the effect. ``usual`` is by how much couples of annotators who
    judged pairs again and again match better than independent answers would.
    """

    said: _Said
    starts: IntArray
    effect: FloatArray
    off: FloatArray
    doubt: FloatArray
    whole: FloatArray
    usual: float

    @classmethod
    def of(cls, said: _Said, couples: _Couples) -> _Yardstick:
        pairs = len(said.judged)
        people = len(np.unique(np.concatenate([couples.one, couples.other])))
        variance = _EFFECT_UNKNOWN
        # Where hardly anyone shares pairs, those who do may all be copies, and are no yardstick.
        if len(couples.one) >= people:
            middle = _weighted_median(couples.together / couples.variance, couples.variance)
            variance = min(max(middle, _LEAST_EFFECT), _MOST_EFFECT)
        effect = np.zeros(pairs)
        for _ in range(_ROUNDS):
            off, doubt = said.off(effect)
            pull = sums(said.pair, off, pairs) - effect / variance
            effect = effect + np.clip(
                pull / (sums(said.pair, doubt, pairs) + 1.0 / variance), -1.0, 1.0
            )
        off, doubt = said.off(effect)
        whole = sums(said.pair, doubt, pairs) + 1.0 / variance
        starts = np.searchsorted(said.annotator, np.arange(len(said.turn) + 1))
        alone = cls(said, starts, effect, off, doubt, whole, 0.0)
        step = max(1, len(couples.one) // _YARDSTICKS)
        chosen = zip(couples.one[::step].tolist(), couples.other[::step].tolist(), strict=True)
        alike = [found for u, v in chosen if (found := alone.alike(u, v)) is not None]
        usual = min(max(float(np.median(alike)), 0.0), _MOST_ALIKE) if alike else 0.0
        return cls(said, starts, effect, off, doubt, whole, usual)

    def _shared(self, u: int, v: int) -> tuple[IntArray, IntArray]:
        """Return the entries of two annotators for the pairs that both judged."""
        mine, theirs = (slice(*self.starts[[w, w + 1]].tolist()) for w in (u, v))
        _, a, b = np.intersect1d(
            self.said.pair[mine], self.said.pair[theirs], assume_unique=True, return_indices=True
        )
        return a + mine.start, b + theirs.start

    def alike(self, u: int, v: int) -> float | None:
        """Return the share by which two vary less about their common rate than chance would.

        None if there is no pair that they judged again and again.
        """
        a, b = self._shared(u, v)
        m, n = self.said.number[a], self.said.number[b]
        total = self.said.up[a] + self.said.up[b]
        variance = np.where(np.maximum(m, n) > SINGLE, urn_variance(m, n, total), 0.0)
        if not variance.any():
            return None
        apart = np.square(self.said.up[a] - m * total / (m + n))
        return 1.0 - float(np.sum(apart[variance > 0.0]) / np.sum(variance))

    def compare(self, u: int, v: int) -> Likeness:
        """Compare two, by what the others say of each pair (one Newton step without the two)."""
        said = self.said
        a, b = self._shared(u, v)
        pair = said.pair[a]
        rest = self.whole[pair] - self.doubt[a] - self.doubt[b]
        return likeness(
            Counts(said.up[a], said.number[a]),
            Counts(said.up[b], said.number[b]),
            (said.logit[a], said.logit[b]),
            (float(said.turn[u]), float(said.turn[v])),
            (self.effect[pair] - (self.off[a] + self.off[b]) / rest, 1.0 / rest + _OF_THE_TWO),
            usual=self.usual,
        )


def _weighted_median(values: FloatArray, weights: FloatArray) -> float:
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(below, 0.5 * below[-1])]])


def _tested(couples: _Couples, yardstick: _Yardstick) -> Copies:
    """Choose the couples whose likeness chance does not explain."""
    beyond = couples.together / np.sqrt(couples.variance)
    suspects = np.flatnonzero(beyond > _WORTH_A_LOOK)
    suspects = suspects[np.argsort(-beyond[suspects], kind="stable")][:_MOST_COMPARED]
    found = [yardstick.compare(int(couples.one[k]), int(couples.other[k])) for k in suspects]
    p_value: FloatArray = np.ones(len(beyond))
    p_value[suspects] = np.exp(-np.clip([one.evidence for one in found], 0.0, 690.0))
    chosen = benjamini_hochberg(p_value, _RATE)[suspects]
    order = np.flatnonzero(chosen)[np.argsort(p_value[suspects[chosen]], kind="stable")]
    who = suspects[order]
    numbers = np.array([[found[k].matched, found[k].same, found[k].expected] for k in order])
    shared, same, expected = numbers.reshape(-1, 3).T
    one, other, compared = couples.one[who], couples.other[who], len(couples.one)
    return Copies(one, other, shared, same, expected, p_value[who], compared=compared)


def copy_findings(fitted: Fitted, found: Copies) -> list[Finding]:
    """Report who seems to copy whom."""
    groups = found.groups
    if not groups:
        return []
    ids = fitted.judgments.annotator_ids
    named = "; ".join(
        " and ".join(f"'{ids[u]}'" for u in group[:_SHOWN])
        + (f" and {len(group) - _SHOWN} more" if len(group) > _SHOWN else "")
        for group in groups[:_SHOWN]
    )
    rest = len(groups) - _SHOWN
    more = f"; and {count(rest, 'more group')}" if rest > 0 else ""
    everyone = sorted(u for group in groups for u in group)
    one, other = str(ids[found.one[0]]), str(ids[found.other[0]])
    return [
        Finding(
            "problem",
            "copies",
            f"Some annotators' answers match far more often than independent ones would "
            f"({named}{more}). '{one}' and '{other}' gave {found.agreed[0]:,.0f} of "
            f"{found.shared[0]:,.0f} shared answers alike; {found.expected[0]:,.0f} are expected, "
            f"and chance gives so many {odds_against(max(float(found.p_value[0]), 1e-300))}.",
            "Find out whether they are one person, worked together or use the same program. If so, "
            "keep one of each group, or one opinion counts several times.",
            {
                "groups": [listed(ids[group]) for group in groups[:LISTED]],
                "number": len(groups),
                "couples": [
                    [str(ids[u]), str(ids[v])]
                    for u, v in zip(
                        found.one[:LISTED].tolist(), found.other[:LISTED].tolist(), strict=True
                    )
                ],
                "shared": rounded(found.shared),
                "agreed": rounded(found.agreed),
                "expected": rounded(found.expected),
                "chance": rounded(found.p_value, 10),
            },
            title=f"{count(len(everyone), 'annotator')} in {count(len(groups), 'group')} gave "
            "nearly the same answers",
            affects=Affects.by_annotators(fitted.judgments, everyone),
        )
    ]
