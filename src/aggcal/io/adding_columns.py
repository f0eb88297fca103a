"""Context, categories, grades and screens of judgments that are put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from aggcal._core.arrays import BoolArray, CodeArray, GradeArray, IntArray, TextArray
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import Categories
from aggcal.errors import OptionError

_NONE: TextArray = np.empty(0, dtype=object)

United: TypeAlias = Callable[[TextArray, TextArray], TextArray]
"""Returns the ids of both in the order in which judgments number them."""


def alike(first: Judgments, added: Judgments, united: United) -> tuple[Judgments, Judgments]:
    """Return both with the same columns, numbered alike; what one lacks is not known of its rows.

    Examples
    --------
    >>> import aggcal
    >>> plain = aggcal.read_judgments([("ann", "a", "b", "left")])
    >>> graded = aggcal.read_judgments([("bob", "a", "b", "right+")])
    >>> alike(plain, graded, lambda a, b: a)[0].grade
    array([1], dtype=int8)
    """
    first, added = _one_context(first, added, united)
    names = dict.fromkeys(each.name for part in (first, added) for each in part.categories)
    both: list[list[Categories]] = [[], []]
    for name in names:
        ids = [_categories(part, name).ids for part in (first, added)]
        every = united(*ids)
        for k, part in enumerate((first, added)):
            code = _recoded(_categories(part, name).code, ids[k], every)
            both[k].append(Categories(name, every, code))
    if first.grade is not None or added.grade is not None:
        first, added = (replace(part, grade=_grades(part)) for part in (first, added))
    if not names:
        return first, added
    return replace(first, categories=tuple(both[0])), replace(added, categories=tuple(both[1]))


def _one_context(first: Judgments, added: Judgments, united: United) -> tuple[Judgments, Judgments]:
    if first.context is None and added.context is None:
        return first, added
    names = [part.context_name for part in (first, added) if part.context is not None]
    if len(set(names)) > 1:
        raise OptionError(
            f"the context of these judgments is '{names[0]}' and that of those to be added "
            f"'{names[1]}'; read both with the same context."
        )
    ids = [_NONE if part.context_ids is None else part.context_ids for part in (first, added)]
    every = united(*ids)
    old, new = (
        replace(
            part,
            context=_recoded(_or_none(part.context, len(part.count)), own, every),
            context_ids=every,
            context_name=names[0],
        )
        for part, own in zip((first, added), ids, strict=True)
    )
    return old, new


def _categories(part: Judgments, name: str) -> Categories:
    found = next((each for each in part.categories if each.name == name), None)
    return found or Categories(name, _NONE, _or_none(None, len(part.count)))


def _or_none(codes: CodeArray | None, rows: int) -> CodeArray:
    return np.full(rows, -1, dtype=np.int32) if codes is None else codes


def _recoded(codes: CodeArray, ids: TextArray, among: TextArray) -> CodeArray:
    """Return codes counted among other ids; none stays none."""
    position = {label: k for k, label in enumerate(among)}
    known = np.array([*(position[label] for label in ids), -1], dtype=np.int32)
    found: CodeArray = known[codes]
    return found


def _grades(part: Judgments) -> GradeArray:
    """Return grades, of outcomes that have none those of a plain left, tie or right."""
    if part.grade is not None:
        return part.grade
    if not np.isin(part.outcome, (0.0, 0.5, 1.0)).all():
        raise OptionError(
            f"{part.source}: holds outcomes between left and right, which cannot be put together "
            "with steps such as left+; say which step each means with --outcome."
        )
    return np.rint(2.0 * part.outcome - 1.0).astype(np.int8)


def sorted_screens(part: Judgments, order: IntArray) -> dict[str, Any]:
    """Return the screens of judgments whose rows are put in another order."""
    if part.screen is None:
        return {}
    row = np.repeat(np.argsort(order), part.count)
    at = np.argsort(row, kind="stable")
    weight = part.screen_weight
    return {
        "screen": part.screen[at],
        "screen_weight": None if weight is None else weight[at],
    }


def screens_of_both(
    old: Judgments, new: Judgments, position: IntArray, same: BoolArray
) -> dict[str, Any]:
    """Return the screens of both, where new rows were inserted or added to one that is there.

    A judgment of data that name no screens is one of its own.
    """
    if old.screen is None and new.screen is None:
        return {}
    at = position[~same]
    row_of_new = np.empty(len(new.count), dtype=np.int64)
    row_of_new[~same] = at + np.arange(len(at))
    row_of_old = np.arange(len(old.count)) + np.searchsorted(at, np.arange(len(old.count)), "right")
    row_of_new[same] = row_of_old[position[same]]
    row = np.concatenate([np.repeat(row_of_old, old.count), np.repeat(row_of_new, new.count)])
    ours, theirs = (
        np.arange(part.n_judgments) if part.screen is None else part.screen for part in (old, new)
    )
    screen = np.concatenate([ours, theirs + (int(ours.max(initial=-1)) + 1)])
    weight = np.concatenate([_weights(old), _weights(new)])
    order = np.lexsort((screen, row))
    again = row[order][1:] == row[order][:-1]
    unequal = (again & (weight[order][1:] != weight[order][:-1])).any()
    return {"screen": screen[order], "screen_weight": weight[order] if unequal else None}


def _weights(part: Judgments) -> np.ndarray:
    """Return what each judgment weighs."""
    if part.screen_weight is not None:
        return part.screen_weight
    each: np.ndarray = np.repeat(part.weight / part.count, part.count)
    return each
