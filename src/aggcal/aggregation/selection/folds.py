"""Parts of the judgments that are held out in turn, so that what belongs together stays together.

Answers about one context share its accidents: whoever has seen some of them predicts the others
better than those of a new context. So whole contexts are held out where they are known, else whole
screens or rankings, else all answers of an annotator to one pair.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, sums
from aggcal.data.judgments import Judgments
from aggcal.errors import TooLittleDataError, count
from aggcal.registry.limits import FEWEST_SAMPLED

FOLDS = 5
"""Parts by default: more leave each fit nearer to the whole, and take longer."""
_LARGEST = 0.5
"""Share of the judgments that a context or screen may hold: one with more leaves too few to fit."""
_FEWEST_ANNOTATORS = 30
"""Whole annotators are sampled if so many are left; of fewer, questions are."""
_HEAVY = 20
"""Units of which fewer than this fill a fold are placed first: with more of those, an annotator's
units would follow each other less often; with fewer, folds would differ in weight."""
_ROUNDS = 4
"""Passes that move units until nobody is in one fold alone: each can undo a little of the last."""
QUESTION = "question"
"""What is held out where nothing larger is known: an annotator's answers to one pair."""
PAIR, ROW = "pair", "row"
"""What is held out only if asked for: all answers to a pair of items, and single judgments."""
HoldOut: TypeAlias = Literal["auto", "context", "screen", "question", "pair", "row"]
HOLD_OUT: tuple[HoldOut, ...] = get_args(HoldOut)
"""What may be asked to be held out together."""


@dataclass(frozen=True, eq=False)
class Folds:
    """Judgments, and the fold and the unit of each row."""

    judgments: Judgments
    fold: IntArray
    unit: IntArray
    held_out: str
    """What a unit is: ``prompt``, ``screen``, ``question``."""
    number: int
    n_units: int
    n_whole: int
    """Judgments before a sample was taken."""
    notes: tuple[str, ...] = ()

    def parts(self, k: int) -> tuple[Judgments, Judgments]:
        """Return what is fitted and what is held out in a fold."""
        out = self.fold == k
        return self.judgments.of_rows(~out), self.judgments.of_rows(out)


def folds_of(
    judgments: Judgments,
    number: int,
    seed: int,
    most: int | None = None,
    hold_out: str = HOLD_OUT[0],
) -> Folds:
    """Part judgments into folds of whole units.

    Parameters
    ----------
    judgments
        In memory.
    number
        How many folds.
    seed
        Seed for all random numbers.
    most
        Judgments from which on a sample is taken.
    hold_out
        What stays together: ``context``, ``screen``, ``question`` (all answers of an annotator to
        a pair), ``pair`` (those of all annotators), ``row`` (nothing), or ``auto`` for the first of
        context, screen and question that is known.

    Examples
    --------
    >>> import aggcal
    >>> study = aggcal.simulate(items=5, annotators=4, judgments=100, seed=1)
    >>> found = folds_of(aggcal.read_judgments(study.judgments), 5, 0)
    >>> found.held_out, len(np.unique(found.fold))
    ('question', 5)
    """
    if judgments.n_judgments < FEWEST_SAMPLED:
        raise TooLittleDataError(
            f"{judgments.source}: {count(judgments.n_judgments, 'judgment')} cannot tell methods "
            f"apart; at least {FEWEST_SAMPLED} are needed."
        )
    random = np.random.default_rng(seed)
    whole, name, unit, notes = _units(judgments, number, hold_out)
    kept = np.arange(len(unit))
    if most is not None and judgments.n_judgments > most:
        kept, said = _sample(whole, name, unit, most, random)
        notes = (*notes, said)
    chosen = whole if len(kept) == len(unit) else whole.of_rows(kept)
    codes = np.unique(unit[kept], return_inverse=True)[1].ravel()
    n = int(codes.max()) + 1
    if n < number:
        raise TooLittleDataError(
            f"{judgments.source}: {count(n, name)} cannot be parted into {number} folds; collect "
            "more judgments or give fewer --folds."
        )
    fold = _spread(chosen, codes, n, number, random)[codes]
    return Folds(chosen, fold, codes, name, number, n, judgments.n_judgments, notes)


def _units(
    judgments: Judgments, number: int, hold_out: str
) -> tuple[Judgments, str, IntArray, tuple[str, ...]]:
    """Return rows, what is held out together, its number in each row, and what to say of it."""
    notes: list[str] = []
    if hold_out == PAIR:
        return judgments, PAIR, _pairs(judgments), ()
    if hold_out == ROW:
        single = _singly(judgments)
        return single, ROW, np.arange(len(single.left)), ()
    free = hold_out == HOLD_OUT[0]
    if judgments.context is not None and (free or hold_out == "context"):
        name = judgments.context_name
        fault = _unfit(judgments, judgments.context, number)
        if not fault:
            return judgments, name, _with_questions(judgments, judgments.context), ()
        notes.append(f"Whole {name}s cannot be held out: {fault}.")
    elif judgments.screen is not None and (free or hold_out == "screen"):
        bare = replace(judgments, context=None, context_ids=None)
        split = bare.with_context_of_screens()
        fault = "" if split.context is None else _unfit(split, split.context, number)
        if split.context is not None and not fault:
            rows = replace(split, context=None, context_ids=None)
            return rows, "screen", split.context.astype(np.int64), ()
        if fault:
            notes.append(f"Whole screens cannot be held out: {fault}.")
    if not (free or hold_out == QUESTION):
        reason = notes[0] if notes else f"The judgments have no {hold_out}s."
        raise TooLittleDataError(f"{judgments.source}: {reason} Choose --hold-out {QUESTION}.")
    return judgments, QUESTION, _questions(judgments), tuple(notes)


def _unfit(judgments: Judgments, code: CodeArray, number: int) -> str:
    """Say why units cannot be held out; nothing if they can."""
    known = code >= 0
    found, at = np.unique(code[known], return_inverse=True)
    if len(found) < number:
        return f"there {'is' if len(found) == 1 else 'are'} only {len(found)} for {number} folds"
    held = sums(at.ravel(), np.asarray(judgments.weight)[known], len(found))
    share = float(held.max() / np.asarray(judgments.weight).sum())
    return f"one has {share:.0%} of the judgments" if share > _LARGEST else ""


def _singly(judgments: Judgments) -> Judgments:
    """Return judgments with a row each: equal ones that were merged would be held out together."""
    bare = replace(judgments, screen=None, screen_weight=None)
    split = bare.of_rows(np.repeat(np.arange(len(bare.count)), bare.count))
    return replace(split, weight=split.weight / split.count, count=np.ones_like(split.count))


def _pairs(judgments: Judgments) -> IntArray:
    """Return the number of each row's pair, whichever side the items were on."""
    n = np.int64(judgments.n_items)
    low = np.minimum(judgments.left, judgments.right).astype(np.int64)
    high = np.maximum(judgments.left, judgments.right).astype(np.int64)
    return np.asarray(np.unique(low * n + high, return_inverse=True)[1].ravel(), dtype=np.int64)


def _questions(judgments: Judgments) -> IntArray:
    """Return the number of each annotator's pairs, whichever side the items were on."""
    pair = _pairs(judgments)
    key = judgments.annotator.astype(np.int64) * (int(pair.max()) + 1) + pair
    return np.asarray(np.unique(key, return_inverse=True)[1].ravel(), dtype=np.int64)


def _with_questions(judgments: Judgments, code: CodeArray) -> IntArray:
    """Return the context of each row; rows without one are parted by question."""
    none = code < 0
    found = code.astype(np.int64)
    if none.any():
        found[none] = int(found.max()) + 1 + _questions(judgments)[none]
    return found


def _sample(
    judgments: Judgments, name: str, unit: IntArray, most: int, random: np.random.Generator
) -> tuple[IntArray, str]:
    """Return the rows of a sample of contexts, else of annotators, else of questions."""
    total = judgments.n_judgments
    annotators = judgments.n_annotators * most >= _FEWEST_ANNOTATORS * total
    by_annotator = name in (QUESTION, ROW) and annotators
    code = judgments.annotator.astype(np.int64) if by_annotator else unit
    codes = np.unique(code, return_inverse=True)[1].ravel()
    sizes = sums(codes, judgments.count, int(codes.max()) + 1)
    order = random.permutation(len(sizes))
    chosen = np.zeros(len(sizes), dtype=bool)
    chosen[order[np.cumsum(sizes[order]) <= most]] = True
    kept = np.flatnonzero(chosen[codes])
    what = count(int(chosen.sum()), "annotator" if by_annotator else name)
    taken = int(judgments.count[kept].sum())
    return kept, f"Compared on a sample of {taken:,} of {total:,} judgments ({what})."


def _spread(
    judgments: Judgments, unit: IntArray, n: int, number: int, random: np.random.Generator
) -> IntArray:
    """Return the fold of each unit: folds alike in weight, with everybody in more than one.

    An annotator or item all of whose units are in one fold would be unknown when that is held out.
    """
    weight = sums(unit, judgments.weight, n)
    first = np.full(n, judgments.n_annotators, dtype=np.int64)
    np.minimum.at(first, unit, judgments.annotator.astype(np.int64))
    shuffled = random.permutation(n)
    # Units of one annotator follow each other, so that dealing them out parts everybody's; large
    # ones go first, while there is room for them everywhere.
    light = weight[shuffled] <= weight.sum() / (_HEAVY * number)
    key = np.where(light, first[shuffled], -weight[shuffled])
    fold, loads = np.empty(n, dtype=np.int64), np.zeros(number)
    for u in shuffled[np.lexsort((key, light))].tolist():
        k = int(loads.argmin())
        fold[u] = k
        loads[k] += weight[u]
    return _repaired(judgments, unit, fold, weight, number)


def _repaired(
    judgments: Judgments, unit: IntArray, fold: IntArray, weight: FloatArray, number: int
) -> IntArray:
    """Move units of annotators and items that are in one fold alone, where they have another."""
    n, m = judgments.n_items, judgments.n_annotators
    codes = [judgments.left, judgments.right, judgments.annotator.astype(np.int64) + n]
    member = np.concatenate([np.asarray(code, dtype=np.int64) for code in codes])
    both = np.unique(np.stack([member, np.tile(unit, 3)], axis=1), axis=0)
    member, of = both[:, 0], both[:, 1]
    starts = np.searchsorted(member, np.arange(n + m + 1))
    for _ in range(_ROUNDS):
        low = np.minimum.reduceat(fold[of], starts[:-1])
        high = np.maximum.reduceat(fold[of], starts[:-1])
        alone = np.flatnonzero((low == high) & (np.diff(starts) > 1))
        if not len(alone):
            break
        for who in alone.tolist():
            own = of[starts[who] : starts[who + 1]]
            moved = own[int(weight[own].argmin())]
            fold[moved] = (fold[moved] + 1) % number
    return fold
