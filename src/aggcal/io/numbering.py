"""Numbers in place of ids, equal rows merged, and acts weighed: judgments of the rows of files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, prod
from pathlib import Path
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, TextArray
from aggcal._core.tables import as_text
from aggcal.data.acts import Acts, Columns, RankingWeight
from aggcal.data.base import Unfitted
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import Categories
from aggcal.errors import OptionError, TooLittleDataError, count
from aggcal.io import words
from aggcal.io.choices import Choices
from aggcal.io.columns import PLAIN, Column, folded, number, stacked, unfolded
from aggcal.io.naming import Part
from aggcal.io.outcomes import NOT_ANSWERED
from aggcal.io.rated import with_ratings
from aggcal.io.refusals import is_graded, refuse_between

_SAID = ("annotator", "left", "right", "outcome", "winner", "loser")
SEVERAL = "several formats"
"""The format of judgments from files of different ones."""
_REASONS = ("", "other criterion", "skip", "failed", NOT_ANSWERED, "self-pair", "zero weight")
"""Why rows are not fitted, in the order in which it is asked."""


def in_natural_order(ids: Iterable[str]) -> list[str]:
    """Return different ids sorted: numbers as numbers, then text.

    Examples
    --------
    >>> in_natural_order(["b", "10", "9.5"])
    ['9.5', '10', 'b']
    """
    every = {*ids}
    numbers = [text for text in filter(PLAIN.fullmatch, every) if isfinite(float(text))]
    texts = sorted(every.difference(numbers))
    return [*sorted(numbers, key=lambda text: (float(text), text)), *texts]


@dataclass
class _Rows:
    """The rows of all files, one below the other."""

    parts: Sequence[Part]
    columns: dict[str, Column]
    numbers: dict[str, FloatArray]
    starts: list[int]

    @classmethod
    def of(cls, parts: Sequence[Part]) -> _Rows:
        def blank(part: Part) -> Column:
            return Column.fill(None, len(part))

        def numbers_of(part: Part, name: str) -> np.ndarray:
            return part.numbers.get(name, np.full(len(part), 1.0 if name == "weight" else np.nan))

        names = dict.fromkeys(name for part in parts for name in part.columns)
        numeric = dict.fromkeys(name for part in parts for name in part.numbers)
        columns = {n: stacked([p.columns.get(n) or blank(p) for p in parts]) for n in names}
        numbers = {n: np.concatenate([numbers_of(p, n) for p in parts]) for n in numeric}
        return cls(parts, columns, numbers, np.cumsum([0, *map(len, parts)]).tolist())

    def __len__(self) -> int:
        return self.starts[-1]

    def place(self, row: int) -> str:
        """Return where a row stands, in words that a list of unfitted rows has."""
        k = int(np.searchsorted(self.starts, row, "right")) - 1
        part, own = self.parts[k], row - self.starts[k]
        lined = part.table is not None and part.table.delimiter is not None
        where = f"row {own + 1}" if lined else part.place(own)
        return f"{part.label}: {where}" if part.label else where


def numbered(
    parts: Sequence[Part],
    choices: Choices,
    name: str,
    *,
    notes: Sequence[str] = (),
    criterion: str | None = None,
    some: bool = False,
    acts: RankingWeight = "pair",
    surely: bool = False,
) -> Judgments:
    """Unite the rows of all parts, give ids their numbers, and merge equal rows.

    Parameters
    ----------
    parts
        What was read, under our own names.
    choices
        What the user said.
    name
        What all of them are called.
    notes
        What is to be said of them.
    criterion
        The only criterion whose judgments are fitted.
    some
        Whether others hold the rest of the rows: there may be nothing that can be fitted.
    acts
        What pairs of a ranking or screen weigh that stand in a table as pairs; ``"pair"`` looks for
        none.
    surely
        See `Acts.recognised`.
    """
    rows = _Rows.of(parts)
    columns, graded = rows.columns, is_graded(rows.columns["outcome"])
    if graded and len(parts) > 1:
        for part in parts:
            refuse_between(part)
    strength, grade, why = _meanings(columns["outcome"])
    values = np.array(sorted({*strength[~np.isnan(strength)].tolist()}))
    outcome, grade, why = (
        each[columns["outcome"].codes]
        for each in (np.searchsorted(values, strength).astype(np.int32), grade, why)
    )
    items = in_natural_order({*columns["left"].texts, *columns["right"].texts})
    left, right = columns["left"].within(items), columns["right"].within(items)
    why[(why == 0) & (left == right)] = _REASONS.index("self-pair")
    weights = rows.numbers.get("weight")
    if weights is not None:
        why[(why == 0) & (weights == 0.0)] = _REASONS.index("zero weight")
    criteria = _criteria(columns, criterion, name, some=some)
    if criterion is not None:
        why[~columns["criterion"].has(criterion.__eq__)] = _REASONS.index("other criterion")
    fit: Any = why == 0 if why.any() else slice(None)
    unfitted = _unfitted(rows, why)
    annotators = in_natural_order(columns["annotator"].texts)
    item_ids, left, right = _used(items, left[fit], right[fit])
    annotator_ids, annotator = _used(annotators, columns["annotator"].within(annotators)[fit])
    if len(item_ids) < 2 and not some:  # noqa: PLR2004
        aside = ", ".join(f"{n:,} {reason}" for reason, n in unfitted.counts.items()) or "none"
        raise TooLittleDataError(
            f"{name}: fewer than two items have a judgment that can be fitted "
            f"({count(len(rows), 'row')} read; set aside: {aside}); add judgments between "
            "different items."
        )
    keys = [annotator, left, right, outcome[fit]]
    sizes = [len(annotator_ids), len(item_ids), len(item_ids), len(values)]
    further: dict[str, TextArray] = {}
    if graded:
        keys, sizes = [*keys, grade[fit] + 3], [*sizes, 7]
    for own in choices.wished:
        column = columns.get(own) or Column.fill(None, len(rows))
        every = in_natural_order(column.texts)
        further[own], code = _used(every, column.within(every)[fit])
        keys, sizes = [*keys, code + 1], [*sizes, len(further[own]) + 1]
    merged = _Merged.of(
        keys,
        sizes,
        *(None if each is None else each[fit] for each in (weights, _screens(rows))),
        ordered=any(part.whole is not None for part in parts),
    )
    number = constant_if_one(merged.number)
    weight = merged.weight
    if weight is None:
        weight = number.astype(float) if number.strides[0] else np.broadcast_to(1.0, number.shape)
    one, path = parts[0], parts[0].path if len(parts) == 1 else None
    parted = dict(zip(further, merged.keys[len(keys) - len(further) :], strict=True))
    formats = {part.form.name for part in parts}
    who, one_side, other_side = (key.astype(np.int32, copy=False) for key in merged.keys[:3])
    duplicates = _duplicates(rows, merged, fit)
    judgments = Judgments(
        item_ids,
        annotator_ids,
        who,
        one_side,
        other_side,
        constant_if_one(values[merged.keys[3]]),
        constant_if_one(weight),
        number,
        unfitted=unfitted,
        criteria=criteria,
        source=Path(name).name if path is not None else name,
        backend=one.backend if len(parts) == 1 else None,
        seconds=_seconds(rows.numbers.get("seconds"), fit, annotator, len(annotator_ids)),
        sided=all(part.sided for part in parts),
        format=one.form.name if len(formats) == 1 else SEVERAL,
        spelling=choices.spelling,
        notes=(*notes, *_without(rows, choices, further, keys)),
        duplicates=duplicates,
        dated=bool(duplicates) and any(map(_is_dated, parts)),
        grade=merged.keys[4].astype(np.int8) - 3 if graded else None,
        screen=merged.screen,
        screen_weight=merged.screen_weight,
        **_row_columns(choices, further, parted),
    )
    judgments = with_ratings(judgments, parts, choices, criterion)
    if acts == "pair":
        return judgments
    coded = keys[len(keys) - len(further) :]
    return _with_acts(judgments, rows, (keys, coded), values, fit=fit, kind=acts, surely=surely)


def _meanings(outcome: Column) -> tuple[FloatArray, np.ndarray, np.ndarray]:
    """Return the strength of the left, its grade, and why a row is not fitted.

    Of each text of the outcomes, and at last of a blank one.
    """
    steps = [words.GRADES.get(text) for text in outcome.texts]
    strength = [
        number(text) if step is None else (np.sign(step) + 1.0) / 2.0
        for text, step in zip(outcome.texts, steps, strict=True)
    ]
    grades = [
        step if step is not None else 0 if np.isnan(value) else int(np.sign(value - 0.5))
        for step, value in zip(steps, strength, strict=True)
    ]
    why = [_REASONS.index(text) if text in _REASONS else 0 for text in outcome.texts]
    return (
        np.array([*strength, np.nan]),
        np.array([*grades, 0], np.int8),
        np.array([*why, _REASONS.index(NOT_ANSWERED)], np.int8),
    )


def _used(ids: Sequence[str], *codes: np.ndarray) -> tuple[Any, ...]:
    """Leave out ids that no row has; return those that are left, and the rows' new codes."""
    used = np.zeros(len(ids) + 1, bool)
    for code in codes:
        used[code] = True
    used[-1] = False
    place = np.append(np.cumsum(used[:-1], dtype=np.int32) - 1, -1).astype(np.int32)
    kept = as_text(text for text, there in zip(ids, used.tolist(), strict=False) if there)
    return kept, *(place[code] for code in codes)


def constant_if_one(values: np.ndarray) -> np.ndarray:
    """Return values; those that are all 1 take no memory."""
    one = values.dtype.type(1)
    return np.broadcast_to(one, values.shape) if (values == one).all() else values


@dataclass
class _Merged:
    """Rows in the order of their keys, equal ones as one."""

    keys: list[np.ndarray]
    """The keys of each run of equal rows."""
    number: IntArray
    """How many rows each run has."""
    order: IntArray | None
    """The rows in order, where somebody needs it."""
    weight: FloatArray | None = None
    screen: IntArray | None = None
    screen_weight: FloatArray | None = None

    @classmethod
    def of(
        cls,
        keys: Sequence[np.ndarray],
        sizes: Sequence[int],
        weight: FloatArray | None,
        screen: IntArray | None,
        *,
        ordered: bool,
    ) -> _Merged:
        key, size = folded(keys, sizes)
        within = [each for each in (weight, screen) if each is not None]
        if not within and not ordered and size == prod(sizes):
            key.sort()
            starts, number = _runs(key)
            key = key[starts] if len(starts) < len(key) else key
            del starts  # there may be many
            return cls(unfolded(key, sizes), number, None)
        # An ordered sum, so that the same weights add up to the same bits whatever their order.
        order = np.lexsort((*within, key)) if within else np.argsort(key, kind="stable")
        starts, number = _runs(key[order])
        merged = cls([each[order[starts]] for each in keys], number, order)
        if weight is not None and len(starts):
            weight = weight[order]
            merged.weight = np.add.reduceat(weight, starts)
            low, high = (how.reduceat(weight, starts) for how in (np.minimum, np.maximum))
            merged.screen_weight = weight if screen is not None and (low != high).any() else None
        if screen is not None:
            merged.screen = np.unique(screen[order], return_inverse=True)[1].astype(np.int64)
        return merged


def _runs(key: np.ndarray) -> tuple[IntArray, IntArray]:
    """Return where runs of equal keys begin, and how long each is."""
    new = np.ones(len(key), bool)
    np.not_equal(key[1:], key[:-1], out=new[1:])
    starts = np.flatnonzero(new)
    if len(starts) == len(key):
        return starts, np.broadcast_to(np.int64(1), starts.shape)
    return starts, np.diff(starts, append=len(key))


def _screens(rows: _Rows) -> IntArray | None:
    """Return which ranking or screen each row is of; a row without one is alone on its own."""
    if not {"ranking", "screen"} & rows.columns.keys():
        return None
    found, begin, tables = [], 0, [part.columns for part in rows.parts]
    if all(part.origin is not None for part in rows.parts):
        tables = [rows.columns]  # rows of one table in several files
    for columns in tables:
        column, who = columns.get("ranking", columns.get("screen")), columns["annotator"]
        column = column if column is not None else Column.fill(None, len(who))
        texts = [sorted(each.texts) for each in (who, column)]
        alone = len(texts[1]) + np.arange(len(who))  # what is called alike in two files differs
        codes = [who.within(texts[0]), np.where(column.blank, alone, column.within(texts[1]))]
        key, _ = folded(codes, [len(texts[0]) + 1, len(texts[1]) + len(who) + 1])
        screen = np.unique(key, return_inverse=True)[1] + begin
        begin = int(screen.max(initial=begin)) + 1
        found.append(screen)
    return np.concatenate(found)


def _criteria(
    columns: Mapping[str, Column], criterion: str | None, name: str, *, some: bool
) -> tuple[str, ...]:
    """Return the criteria that are read, or refuse the one chosen."""
    if "criterion" not in columns:
        if criterion is not None:
            raise OptionError(
                f"{name}: there is no column 'criterion' to choose '{criterion}' from; "
                "leave the option out."
            )
        return ()
    every = tuple(sorted(columns["criterion"].compact().texts))
    if criterion is None:
        return every
    if criterion not in every and not some:
        raise OptionError(
            f"{name}: no judgment has the criterion '{criterion}'; "
            f"there are {', '.join(every) or 'none'}."
        )
    return (criterion,) if criterion in every else ()


def _unfitted(rows: _Rows, why: np.ndarray) -> Unfitted:
    """Return the rows that are not fitted, equal ones as one."""
    aside = np.flatnonzero(why)
    if not len(aside):
        return Unfitted.none()
    reasons = [_REASONS[code] for code in why[aside].tolist()]
    blank = Column.fill(None, len(rows))
    names = ("annotator", "left", "right", "reason")
    cells = [rows.columns.get(name, blank).rows(aside).cells() for name in names]
    found: dict[tuple[str, ...], list[int]] = {}
    for row, *said in zip(aside.tolist(), reasons, *cells, strict=True):
        found.setdefault(tuple(text or "" for text in said), []).append(row)
    every = sorted(found)
    reason, who, left, right, detail = (as_text(column) for column in zip(*every, strict=True))
    number = np.array([len(found[each]) for each in every], dtype=np.int64)
    place = as_text(rows.place(found[each][0]) for each in every)
    return Unfitted(who, left, right, reason, number, place, detail)


def _seconds(
    seconds: FloatArray | None, fit: Any, annotator: np.ndarray, annotators: int
) -> FloatArray | None:
    """Return the median time that each annotator took for a judgment, where it is known."""
    if seconds is None:
        return None
    taken, found = seconds[fit], np.full(annotators, np.nan)
    known = np.flatnonzero(np.isfinite(taken) & (taken >= 0.0))
    order = known[np.argsort(annotator[known], kind="stable")]
    for mine in np.split(order, np.flatnonzero(np.diff(annotator[order])) + 1):
        if len(mine):
            found[annotator[mine[0]]] = np.median(taken[mine])
    return None if np.isnan(found).all() else found


def without_note(number: int, name: str, *, context: bool, taken_apart: bool = False) -> str:
    """Say how many judgments have no context, or no category of a name.

    Examples
    --------
    >>> print(without_note(2, "prompt", context=True))
    2 judgments have no context ('prompt' is blank there)
    """
    verb, what = "has" if number == 1 else "have", "context" if context else "category"
    why = "is blank there" + (", or differs between the two items" if taken_apart else "")
    return f"{count(number, 'judgment')} {verb} no {what} ('{name}' {why})"


def _without(
    rows: _Rows, choices: Choices, further: Collection[str], keys: Sequence[np.ndarray]
) -> list[str]:
    """Say how many judgments have no context or category; ``further`` are the last of the keys."""
    apart = "ranking" in rows.columns
    lost = [int((key == 0).sum()) for key in keys[len(keys) - len(further) :]]
    return [
        without_note(number, name, context=own == "context", taken_apart=apart and own != "context")
        for (own, name), number in zip(choices.wished.items(), lost, strict=True)
        if number
    ]


def _row_columns(
    choices: Choices, ids: Mapping[str, TextArray], keys: Mapping[str, np.ndarray]
) -> dict[str, Any]:
    """Return the context and the categories of merged rows, as arguments of judgments."""
    codes = {own: key.astype(np.int32) - 1 for own, key in keys.items()}
    categories = tuple(
        Categories(name, ids[f"by_{k}"], codes[f"by_{k}"]) for k, name in enumerate(choices.by, 1)
    )
    if choices.context is None:
        return {"categories": categories}
    named = {"context_ids": ids["context"], "context_name": choices.context}
    return {"categories": categories, "context": codes["context"], **named}


def _duplicates(rows: _Rows, merged: _Merged, fit: Any) -> int | None:
    """Count the rows that repeat another one in every column of their file.

    None where there is no column but those by which equal rows are merged: all of them do then.
    """
    if merged.order is None or all(part.whole is None for part in rows.parts):
        return None
    again = np.repeat(merged.number > 1, merged.number)
    run = np.repeat(np.arange(len(merged.number)), merged.number)[again]
    at = np.arange(len(rows))[fit][merged.order[again]]
    found: dict[Any, Counter[str]] = {}
    for k, part in enumerate(rows.parts):
        mine = (at >= rows.starts[k]) & (at < rows.starts[k + 1])
        if part.whole is not None and mine.any():
            own = at[mine] - rows.starts[k]
            kind = None if part.table is None else tuple(sorted(part.table.columns))
            for r, row, what in zip(run[mine].tolist(), own.tolist(), part.whole(own), strict=True):
                # One record may hold several judgments: only those of others are its duplicates.
                where = f"{k} {row if part.table is not None else part.place(row)}"
                found.setdefault((r, kind, what), Counter())[where] += 1
    return sum(each.total() - max(each.values()) for each in found.values())


def _is_dated(part: Part) -> bool:
    """Whether a file tells rows apart, by ids or times in a record or a column."""
    if part.table is None:
        return part.whole is not None
    ours = {part.names.get(own, own) for own in _SAID}
    columns = part.table.load([n for n in part.table.columns if n and n not in ours])
    return any(2 * len(column.texts) > len(column) for column in columns.values())


def _with_acts(
    judgments: Judgments,
    rows: _Rows,
    codes: tuple[Sequence[np.ndarray], Sequence[np.ndarray]],
    values: FloatArray,
    *,
    fit: Any,
    kind: RankingWeight,
    surely: bool,
) -> Judgments:
    """Weigh the pairs of rankings and screens that a table names, or that are recognised."""
    weight = rows.numbers.get("weight")
    if judgments.screen is not None:
        acts, columns = Acts.named(judgments)
        ranked = len(rows.parts) == 1 and "ranking" in rows.columns
        if weight is not None or not acts.several.any() or not (ranked or acts.depend(columns)):
            return judgments
        return acts.weighing(judgments, np.arange(judgments.n_judgments), None, kind)
    keys, coded = codes
    whose, left, right, outcome = keys[:4]
    if coded:  # what is of two contexts or categories is not one ranking
        parted = [whose, *coded]
        key, _ = folded(parted, [int(each.max(initial=0)) + 1 for each in parted])
        whose = np.unique(key, return_inverse=True)[1]

    def first(most: int) -> Columns:
        n = most if isinstance(fit, slice) else int(np.count_nonzero(fit[:most]))
        who, one, other = (c[:n].astype(np.int32, copy=False) for c in (whose, left, right))
        return Columns(who, one, other, values[outcome[:n]])

    found = Acts.recognised(len(rows), first, surely=surely)
    if found is None:
        return judgments
    order = np.lexsort([*reversed(keys)])
    each = None if weight is None else weight[fit]
    return found.weighing(judgments, order, each, kind)
