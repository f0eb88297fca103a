"""What may explain answers beside one order: a table, and one way to test each of its rows.

Every statistic is a sum over groups of what is left unexplained (`replicate.Residuals`), for the
study and for draws of it; a row of `EXPLANATIONS` says which. To add one, write a function that
returns a `Statistic` and give it a row; `look` does everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import gammaincc

from aggcal._core.arrays import FloatArray, IntArray
from aggcal.advice.check.cells import Cells, indicator
from aggcal.advice.check.replicate import Residuals

_SPREADS: list[float] = np.geomspace(0.08, 4.0, 12).tolist()
"""Sds of effects that are tried, in logits."""
LEAST_SHARED = 8
"""Questions that two annotators share from which they are compared: of fewer, agreement is luck."""
_COPIED = 0.7
"""Share of answers that a copier takes over, for the most powerful test against that."""
_MOST_TOGETHER = 400_000
"""Couples of answers to one question that are compared; of more, some of the questions are."""
_FEWEST_IN_CAMPS, _STEPS = 4, 25  # annotators who may form camps; steps of the power iteration

_NOBODY: IntArray = np.zeros((0, 1), dtype=np.int64)


class Statistic(NamedTuple):
    """A statistic of the study (first column) and of its draws, for each suspect (row)."""

    values: FloatArray
    spread: float = 0.0
    """Of the effects that explain the study best."""
    who: IntArray = _NOBODY
    """The annotators of each suspect: suspects by annotators; empty for the whole study."""


class Explanation(NamedTuple):
    """One row of the table."""

    name: str
    of: Callable[[Cells, Residuals], Statistic | None]
    adds: str = ""
    """The field of `replicate.Effects` that takes it into the model; else who is named is set
    aside."""


def gains(
    pull: FloatArray, info: FloatArray, group: IntArray, size: int, spreads: Sequence[float]
) -> FloatArray:
    """Return the log-likelihood that independent effects add: spreads by groups by studies.

    ``pull`` is effects by studies, ``info`` what is known of each effect; effects of one group have
    a spread of their own.
    """
    adds = indicator(group, size)
    square, found = pull**2, []
    for sd in spreads:
        explained = adds @ (square * (0.5 / (info + sd**-2))[:, None])
        found.append(explained - 0.5 * (adds @ np.log1p(sd**2 * info))[:, None])
    return np.stack(found)


def _of_the_study(pull: FloatArray, info: FloatArray) -> Statistic:
    gain = gains(pull, info, np.zeros(len(info), dtype=np.int64), 1, _SPREADS)
    return Statistic(np.maximum(gain.max(axis=0), 0.0), _SPREADS[int(gain[:, 0, 0].argmax())])


def _asked_again(cells: Cells) -> tuple[IntArray, IntArray, IntArray]:
    """Return the number of each cell's question to its annotator, and whose and which these are."""
    size = len(cells.low)
    keys, entry = np.unique(cells.who * size + cells.question, return_inverse=True)
    return entry.ravel(), keys // size, keys % size


def question_effects(cells: Cells, residuals: Residuals) -> Statistic | None:
    """Measure what all annotators see in a question beyond its items."""
    if cells.annotators < 2:  # noqa: PLR2004
        return None
    by_question = indicator(cells.question, len(cells.low))
    return _of_the_study(by_question @ residuals.left, by_question @ residuals.variance)


def repeated_answers(cells: Cells, residuals: Residuals) -> Statistic | None:
    """Measure how far annotators repeat what they said of a question."""
    entry, owner, _ = _asked_again(cells)
    adds = indicator(entry, len(owner))
    again = np.flatnonzero(adds @ cells.number > 1.0)
    if not len(again):
        return None
    return _of_the_study((adds @ residuals.left)[again], (adds @ residuals.variance)[again])


def item_sums(
    cells: Cells, left: FloatArray, known: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return codes of annotators by items, what is left for each, and what is known of it."""
    codes = np.concatenate([cells.who * cells.items + end for end in cells.ends])
    keys, entry = np.unique(codes, return_inverse=True)
    low, high = np.split(entry.ravel(), 2)
    lower, higher = indicator(low, len(keys)), indicator(high, len(keys))
    return keys, (lower - higher) @ left, (lower + higher) @ known


def tastes(cells: Cells, residuals: Residuals) -> Statistic:
    """Measure what each annotator sees in an item."""
    return _of_the_study(*item_sums(cells, residuals.left, residuals.variance)[1:])


def own_orders(cells: Cells, residuals: Residuals) -> Statistic:
    """Measure it for each annotator alone: who has an order of one's own."""
    keys, pull, info = item_sums(cells, residuals.left, residuals.variance)
    m = cells.annotators
    gain = gains(pull, info, keys // cells.items, m, _SPREADS)
    return Statistic(np.maximum(gain.max(axis=0), 0.0), who=np.arange(m)[:, None])


def camps(cells: Cells, residuals: Residuals) -> Statistic | None:
    """Measure how far annotators share what they see in items: the largest eigenvalue of that."""
    if cells.annotators < _FEWEST_IN_CAMPS:
        return None
    keys, pull, _ = item_sums(cells, residuals.left, residuals.variance)
    owner, item = keys // cells.items, keys % cells.items
    of_all = np.maximum(cells.by_who @ residuals.variance, 1e-9)
    table = pull / np.sqrt(of_all)[owner][:, None]
    by_owner, by_item = indicator(owner, cells.annotators), indicator(item, cells.items)
    alone = by_owner @ table**2
    shift = alone.max(axis=0)
    vector = np.random.default_rng(0).standard_normal(alone.shape)
    size = shift
    for _ in range(_STEPS):
        shared = by_item @ (table * vector[owner])
        vector = by_owner @ (table * shared[item]) + (shift - alone) * vector
        size = np.sqrt(np.sum(vector**2, axis=0))
        vector /= np.maximum(size, 1e-300)
    return Statistic((size - shift)[None])


def copies(cells: Cells, residuals: Residuals) -> Statistic | None:
    """Measure how much likelier the answers of two annotators are if one copies the other's.

    Of two answers to a question the product of their standardised residuals is how much more
    often equal ones agree than by chance.
    """
    entry, owner, question = _asked_again(cells)
    adds = indicator(entry, len(owner))
    variance = adds @ residuals.variance
    known = variance > 1e-9  # noqa: PLR2004
    table = sparse.csr_array(
        (np.ones(len(owner)), (owner, question)), (cells.annotators, len(cells.low))
    )
    shared = sparse.triu(table @ table.T, 1).tocoo()
    some = shared.data >= LEAST_SHARED
    if not some.any():
        return None
    couples = shared.row[some].astype(np.int64) * cells.annotators + shared.col[some]
    first, second, couple = _together(owner, question, np.sort(couples), cells.annotators)
    kept = known[first] & known[second]
    first, second, couple = first[kept], second[kept], couple[kept]
    by_couple = indicator(couple, len(couples))
    deviation = 1.0 / np.sqrt(np.maximum(variance, 1e-9))
    values = np.empty((len(couples), residuals.left.shape[1]))
    for r in range(values.shape[1]):  # of one study at a time: couples of answers are many
        z = (adds @ residuals.left[:, r]) * deviation
        values[:, r] = by_couple @ np.log(np.maximum(1.0 + _COPIED * z[first] * z[second], 0.05))
    chance = values[:, 1:]
    about = chance.mean(axis=1, keepdims=True)
    values = (values - about) / (chance.std(axis=1, keepdims=True) + 1e-9)
    sorted_ = np.sort(couples)
    who = np.stack([sorted_ // cells.annotators, sorted_ % cells.annotators], axis=1)
    return Statistic(values, who=who)


def _together(
    owner: IntArray, question: IntArray, couples: IntArray, m: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Return all two answers of these couples to one question, and the number of the couple."""
    order = np.argsort(question, kind="stable")
    given = np.bincount(question)
    total = float(np.sum(given * (given - 1.0)) / 2.0)
    if total > _MOST_TOGETHER:
        random = np.random.default_rng(0).random(len(given))
        order = order[random[question[order]] < _MOST_TOGETHER / total]
    sorted_, firsts, seconds = question[order], [], []
    last = int(given.max())
    for shift in range(1, last):
        same = np.flatnonzero(sorted_[shift:] == sorted_[:-shift])
        if not len(same):
            break
        firsts.append(order[same])
        seconds.append(order[same + shift])
    empty = [np.zeros(0, dtype=np.int64)]
    first, second = np.concatenate(firsts or empty), np.concatenate(seconds or empty)
    low, high = np.minimum(owner[first], owner[second]), np.maximum(owner[first], owner[second])
    couple = np.searchsorted(couples, low * m + high)
    kept = couples[np.minimum(couple, len(couples) - 1)] == low * m + high
    return first[kept], second[kept], couple[kept]


EXPLANATIONS = (
    Explanation("repeated", repeated_answers, "again"),
    Explanation("questions", question_effects, "question"),
    Explanation("tastes", tastes, "taste"),
    Explanation("own-order", own_orders),
    Explanation("copies", copies),
    Explanation("camps", camps),
)
"""All that is looked for. `look.Look` asks `find_camps` about the last one."""


@dataclass(frozen=True, eq=False)
class Tested:
    """How far each suspect is beyond the largest of the draws, and the chance of that."""

    beyond: FloatArray
    chance: FloatArray
    spread: float
    who: IntArray

    @classmethod
    def of(cls, statistic: Statistic) -> Tested:
        """Hold the study against the largest statistic of each draw."""
        largest = statistic.values[:, 1:].max(axis=0)
        mean, sd = float(largest.mean()), float(largest.std()) + 1e-9
        z = (statistic.values[:, 0] - mean) / sd
        return cls(z, _tail(z, (largest - mean) / sd), statistic.spread, statistic.who)

    def those(self, level: float) -> IntArray:
        """Return the suspects whom chance does not explain, the farthest first."""
        found = np.flatnonzero(self.chance <= level)
        return found[np.argsort(-self.beyond[found], kind="stable")]


def _tail(z: FloatArray, drawn: FloatArray) -> FloatArray:
    """Return the chance of values: their rank, and beyond the drawn the tail of a gamma law."""
    rank = (1.0 + np.sum(drawn >= z[:, None], axis=1)) / (len(drawn) + 1.0)
    skew = float(np.clip(np.mean(drawn**3), 0.1, 2.5))
    shape = 4.0 / skew**2
    beyond = gammaincc(shape, np.maximum(shape + z * np.sqrt(shape), 0.0))
    far = z > np.sort(drawn)[-5]
    return np.asarray(np.where(far, np.maximum(beyond, 1e-12), rank))
