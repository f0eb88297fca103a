"""Annotators who agree with each other far more than two independent people would."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from aggcal.arrays import BoolArray, FloatArray, IntArray, sums
from aggcal.check.answers import TIE
from aggcal.check.evidence import chance_of_at_least, discoveries, odds_against
from aggcal.check.findings import LISTED, Finding, listed, rounded
from aggcal.check.fitted import Fitted
from aggcal.errors import count

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_RATE = 0.01
_LEAST_SHARED = 8
_LEAST_MISSING = 0.5
_MOST_WORK = 2e8
_BLOCK = 1 << 23
_WORTH_A_LOOK = 2.5
_MOST_EXACT = 5000
_NORMAL_MAD = 1.4826
_ENOUGH_FOR_NULL = 20
_PARTNERS = 2
_SHOWN = 3


@dataclass(frozen=True, eq=False)
class Couples:
    """Two annotators each, the pairs they share, and their agreement beyond what is expected."""

    one: IntArray
    other: IntArray
    shared: FloatArray
    surplus: FloatArray
    spread: FloatArray


@dataclass(frozen=True, eq=False)
class Copies:
    """Pairs of annotators whose answers are too much alike.

    ``skipped`` says why nothing was looked for, where that is so.
    """

    one: IntArray
    other: IntArray
    shared: FloatArray
    agreed: FloatArray
    expected: FloatArray
    chance: FloatArray
    skipped: str | None = None

    @classmethod
    def none(cls, *, skipped: str | None = None) -> Copies:
        """No such pair, or none looked for."""
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


def copies(fitted: Fitted) -> Copies:
    """Look for them among annotators who share at least eight pairs.

    Only annotators who share pairs are compared, by sparse products: with y = ±1 an answer and
    t = 2p − 1 its expectation, the surplus of agreement of u and v is Σ (y_u y_v − t_u t_v) over
    the pairs they share. What all couples of annotators agree in beyond the model (it is never
    quite right) is taken off: the middle and the spread of all surpluses are the yardstick.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal.simulate import simulate
    >>> study = simulate(items=15, annotators=10, judgments=1000, copied_share=0.1, seed=3)
    >>> found = copies(Fitted.of(aggcal.read_judgments(study.judgments)))
    >>> found.groups == [sorted([*study.copied, *study.copied.values()])]
    True
    """
    grouped, m = fitted.answers.grouped, fitted.judgments.n_annotators
    toward = np.where(fitted.answers.first_is_left, fitted.chance, 1.0 - fitted.chance)
    mean = np.bincount(grouped.of_row, toward) / np.bincount(grouped.of_row)
    expected = 2.0 * mean - 1.0
    answer = np.sign(grouped.up - TIE)
    kept = answer != 0.0
    kept &= sums(grouped.annotator, kept, m)[grouped.annotator] >= _LEAST_SHARED
    judged = np.bincount(grouped.pair[kept], minlength=fitted.answers.n_pairs).astype(np.float64)
    kept &= judged[grouped.pair] > 1.0
    work = float(np.sum(np.square(judged)))
    if work > _MOST_WORK:
        why = (
            "annotators who copy each other (so many share the same pairs that comparing all of "
            f"them takes {work:.0e} steps)"
        )
        return Copies.none(skipped=why)
    if not kept.any():
        return Copies.none()
    shape = (m, fitted.answers.n_pairs)
    said = grouped.matrix(answer, kept, shape)
    meant = grouped.matrix(expected, kept, shape)
    present = grouped.matrix(np.ones(len(answer)), kept, shape)
    return _tested(said, meant, _couples(said, meant, present, judged))


def _tested(said: csr_array, meant: csr_array, couples: Couples) -> Copies:
    """Choose the couples whose agreement chance does not explain, by the exact distribution."""
    beyond = couples.surplus / couples.spread
    middle, width = 0.0, 1.0
    people = len(np.unique(np.concatenate([couples.one, couples.other])))
    # Where hardly anyone shares pairs, those who do may all be copies, and are no yardstick.
    if len(beyond) >= max(_ENOUGH_FOR_NULL, _PARTNERS * people):
        middle = max(0.0, float(np.median(beyond)))
        width = max(1.0, _NORMAL_MAD * float(np.median(np.abs(beyond - np.median(beyond)))))
    size = len(beyond)
    chance, agreed, usual, missing = np.ones(size), np.zeros(size), np.zeros(size), np.zeros(size)
    suspects = np.flatnonzero((beyond - middle) / width > _WORTH_A_LOOK)
    suspects = suspects[np.argsort(-beyond[suspects], kind="stable")][:_MOST_EXACT]
    for k in suspects.tolist():
        same, likely = _on_shared(said, meant, int(couples.one[k]), int(couples.other[k]))
        agreed[k], usual[k] = float(same.sum()), float(likely.sum())
        missing[k] = (agreed[k] - usual[k]) / max(len(same) - usual[k], 1e-9)
        exact = max(chance_of_at_least(int(same.sum()), likely), 1e-300)
        chance[k] = float(ndtr((float(ndtri(exact)) + middle) / width))
    chosen = np.flatnonzero(discoveries(chance, _RATE) & (missing >= _LEAST_MISSING))
    chosen = chosen[np.argsort(chance[chosen], kind="stable")]
    return Copies(
        couples.one[chosen],
        couples.other[chosen],
        couples.shared[chosen],
        agreed[chosen],
        usual[chosen],
        chance[chosen],
    )


def _on_shared(said: csr_array, meant: csr_array, u: int, v: int) -> tuple[BoolArray, FloatArray]:
    """Return for each pair that two share whether they agree, and how likely that is."""
    mine, theirs = (slice(int(said.indptr[w]), int(said.indptr[w + 1])) for w in (u, v))
    _, a, b = np.intersect1d(
        said.indices[mine], said.indices[theirs], assume_unique=True, return_indices=True
    )
    same = said.data[mine][a] == said.data[theirs][b]
    return same, 0.5 + 0.5 * meant.data[mine][a] * meant.data[theirs][b]


def _couples(said: csr_array, meant: csr_array, present: csr_array, judged: FloatArray) -> Couples:
    """Compare all annotators who share enough pairs, some rows of the table at a time."""
    squared = meant.power(2)
    load = np.asarray(present @ judged)
    parts: list[Couples] = []
    for rows in _blocks(load):
        shared = (present[rows] @ present.T).tocoo()
        u, v = shared.row.astype(np.int64) + rows.start, shared.col.astype(np.int64)
        enough = (u < v) & (shared.data >= _LEAST_SHARED)
        u, v, number = u[enough], v[enough], shared.data[enough]
        at = (u - rows.start, v)
        surplus = _entries(said[rows] @ said.T, at) - _entries(meant[rows] @ meant.T, at)
        variance = number - _entries(squared[rows] @ squared.T, at)
        parts.append(Couples(u, v, number, surplus, np.sqrt(np.maximum(variance, 1e-9))))
    columns = ([getattr(part, name) for part in parts] for name in Couples.__annotations__)
    return Couples(*(np.concatenate(column) for column in columns))


def _blocks(load: FloatArray) -> list[slice]:
    """Cut the rows so that no product has more than so many entries."""
    ends = np.flatnonzero(np.diff(np.floor(np.cumsum(load) / _BLOCK))) + 1
    edges = [0, *ends.tolist(), len(load)]
    return [slice(a, b) for a, b in pairwise(edges) if b > a]


def _entries(product: csr_array, at: tuple[IntArray, IntArray]) -> FloatArray:
    if not len(at[0]):
        return np.empty(0)
    return np.asarray(product.tocsr()[at], dtype=np.float64).ravel()


def copy_findings(fitted: Fitted, found: Copies) -> list[Finding]:
    """Put into words who seems to copy whom."""
    groups = found.groups
    if not groups:
        return []
    ids = fitted.judgments.annotator_ids
    named = "; ".join(
        " and ".join(f"'{ids[u]}'" for u in group[:_SHOWN])
        + (f" and {len(group) - _SHOWN} more" if len(group) > _SHOWN else "")
        for group in groups[:_SHOWN]
    )
    more = f"; and {len(groups) - _SHOWN} more groups" if len(groups) > _SHOWN else ""
    one, other = str(ids[found.one[0]]), str(ids[found.other[0]])
    return [
        Finding(
            "problem",
            "copies",
            f"{count(len(groups), 'group')} of annotators agree with each other far more than "
            f"independent people would ({named}{more}; '{one}' and '{other}' gave the same answer "
            f"to {found.agreed[0]:.0f} of {found.shared[0]:.0f} pairs they both judged, where "
            f"{found.expected[0]:.0f} are expected; chance does that "
            f"{odds_against(max(float(found.chance[0]), 1e-300))})",
            "find out whether they are one person, worked together or use the same program; keep "
            "one of each group, or the same opinion is counted several times",
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
                "chance": rounded(found.chance, 10),
            },
        )
    ]
