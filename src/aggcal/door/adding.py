"""Add judgments to others that are read already, without reading those again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, TextArray
from aggcal._core.tables import aligned, as_text
from aggcal.data.base import AnyJudgments, Unfitted
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import Categories
from aggcal.door.columns import folded
from aggcal.door.judgments import natural_order, read_judgments, read_more
from aggcal.door.numbering import SEVERAL, constant_if_one
from aggcal.errors import OptionError

_OTHERS = " and others"
_NONE: TextArray = np.empty(0, dtype=object)


def add_judgments(judgments: Any, more: Any) -> Judgments:
    """Return judgments with more of them added, as if both had been read from one table.

    Rows that repeat an earlier one are merged into its weight; new items and annotators get their
    numbers. With ``start=`` of `aggcal.aggregate` a study that grows is fitted again for a small
    part of what reading and fitting all of it takes.

    Parameters
    ----------
    judgments
        Those there are: `Judgments`, or anything that `read_judgments` takes.
    more
        The same; there may be no row, or none that can be fitted. What takes options to read
        (columns of other names, labels of its own) is read by `read_judgments` first.

    Returns
    -------
    Judgments
        The median time of an annotator who is in both is the mean of the two medians, by the number
        of judgments: those of all judgments together would need every row's.

    Examples
    --------
    >>> import aggcal
    >>> monday = aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "a")])
    >>> tuesday = aggcal.add_judgments(monday, [("ann", "a", "b"), ("eve", "c", "a")])
    >>> tuesday
    Judgments(3 items, 3 annotators, 4 judgments)
    >>> tuesday.weight
    array([2., 1., 1.])
    """
    first = _in_memory(judgments) or read_judgments(judgments)
    added = _in_memory(more)
    if added is None and not (isinstance(more, list | tuple) and not more):
        added = read_more(more, first)
    if added is None:
        return first
    both = (first, added)
    items, sides = _numbered([part.item_ids for part in both], [(p.left, p.right) for p in both])
    annotators, who = _numbered(
        [part.annotator_ids for part in both], [(part.annotator,) for part in both]
    )
    further, codes = _further(both)
    values, outcome = np.unique(
        np.concatenate([part.outcome for part in both]), return_inverse=True
    )
    keys = [who[0], *sides, outcome, *(code + 4 for code in codes)]
    key, _ = folded(keys, [int(each.max(initial=0)) + 1 for each in keys])
    times = np.concatenate([part.count for part in both])
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(key[order]) != 0)[: len(key)])
    weight, number = (
        np.add.reduceat(each[order], starts)
        for each in (np.concatenate([part.weight for part in both]), times)
    )
    at = order[starts]
    return Judgments(
        items,
        annotators,
        *(each[at].astype(np.int32) for each in keys[:3]),
        constant_if_one(values[outcome[at]]),
        constant_if_one(weight),
        constant_if_one(number),
        **further(at),
        **_screens(both, np.repeat(key, times)),
        unfitted=_all_unfitted(first.unfitted, added.unfitted, added.source),
        criteria=tuple(sorted({*first.criteria, *added.criteria})),
        source=first.source.removesuffix(_OTHERS) + _OTHERS,
        backend=first.backend,
        seconds=_seconds(both, annotators),
        sided=first.sided and added.sided,
        format=first.format if first.format == added.format else SEVERAL,
        spelling=first.spelling,
        notes=tuple(dict.fromkeys((*first.notes, *added.notes))),
        duplicates=None
        if first.duplicates is None and added.duplicates is None
        else first.n_duplicates + added.n_duplicates,
    )


def _in_memory(given: Any) -> Judgments | None:
    """Return what are judgments already, with their rows; None for what is to be read."""
    if not isinstance(given, AnyJudgments):
        return None
    if given.local is None:
        raise OptionError(
            "the rows of these judgments lie on an engine, where none can be added; add them to "
            "judgments that read_judgments returned."
        )
    return given.local


def _numbered(
    ids: Sequence[TextArray], codes: Sequence[Sequence[np.ndarray]]
) -> tuple[TextArray, list[np.ndarray]]:
    """Return the ids of both in their natural order, and the codes of both among them."""
    every = natural_order(dict.fromkeys(np.concatenate(ids)))
    number = {label: k for k, label in enumerate(every)}
    places = [np.array([*(number[label] for label in own), -1], np.int32) for own in ids]
    columns = zip(*codes, strict=True)
    return every, [
        np.concatenate([p[c] for p, c in zip(places, one, strict=True)]) for one in columns
    ]


def _further(both: Sequence[Judgments]) -> tuple[Any, list[np.ndarray]]:
    """Return what makes context, categories and grades of merged rows, and their codes."""
    codes: dict[str, tuple[TextArray, np.ndarray]] = {}
    contexts = {part.context_name for part in both if part.context is not None}
    if len(contexts) > 1:
        raise OptionError(
            f"the context of these judgments is '{both[0].context_name}' and that of those to be "
            f"added '{both[1].context_name}'; read both with the same context."
        )
    names = dict.fromkeys(each.name for part in both for each in part.categories)
    for name in (*(["context"] if contexts else []), *(f"by {name}" for name in names)):
        mine = [_coded(part, name) for part in both]
        every, (code,) = _numbered([one.ids for one in mine], [(one.code,) for one in mine])
        codes[name] = every, code
    grade = None
    if any(part.grade is not None for part in both):
        grade = np.concatenate([_grades(part) for part in both])

    def further(at: np.ndarray) -> dict[str, Any]:
        found: dict[str, Any] = {
            "categories": tuple(
                Categories(name, codes[f"by {name}"][0], codes[f"by {name}"][1][at])
                for name in names
            ),
            "grade": None if grade is None else grade[at],
        }
        if contexts:
            ids, code = codes["context"]
            found |= {"context": code[at], "context_ids": ids, "context_name": contexts.pop()}
        return found

    return further, [*([grade] if grade is not None else []), *(code for _, code in codes.values())]


def _coded(part: Judgments, name: str) -> Categories:
    """Return the context or the categories of a name; of rows that lack them none is known."""
    if name == "context" and part.context is not None and part.context_ids is not None:
        return Categories(name, part.context_ids, part.context)
    own = (each for each in part.categories if f"by {each.name}" == name)
    return next(own, Categories(name, _NONE, np.full(len(part.count), -1, dtype=np.int32)))


def _grades(part: Judgments) -> np.ndarray:
    """Return grades, of outcomes that have none those of a plain left, tie or right."""
    if part.grade is not None:
        return part.grade
    if not np.isin(part.outcome, (0.0, 0.5, 1.0)).all():
        raise OptionError(
            f"{part.source}: holds outcomes between left and right, which cannot be put together "
            "with steps such as left+; say which step each means with --outcome."
        )
    return np.rint(2.0 * part.outcome - 1.0).astype(np.int8)


def _screens(both: Sequence[Judgments], key: np.ndarray) -> dict[str, Any]:
    """Return which act each judgment is of, in the order of the merged rows, and what it weighs.

    What is of no act is one by itself.
    """
    if all(part.screen is None for part in both):
        return {}
    screens, weights, begin = [], [], 0
    for part in both:
        n = int(part.count.sum())
        own = np.arange(n) if part.screen is None else part.screen
        screens.append(own + begin)
        begin += int(own.max(initial=-1)) + 1
        each = np.repeat(part.weight / part.count, part.count)
        weights.append(each if part.screen_weight is None else part.screen_weight)
    screen, weight = np.concatenate(screens), np.concatenate(weights)
    order = np.lexsort([weight, screen, key])
    same = np.diff(key[order]) == 0
    unequal = (same & (np.diff(weight[order]) != 0.0)).any()
    return {"screen": screen[order], "screen_weight": weight[order] if unequal else None}


def _all_unfitted(old: Unfitted, new: Unfitted, source: str) -> Unfitted:
    if not len(new.count):
        return old
    found: dict[tuple[str, ...], tuple[int, str]] = {}
    for part, prefix in ((old, ""), (new, f"{source}: ")):
        rows = zip(part.reason, part.annotator, part.left, part.right, part.detail, strict=True)
        for row, number, location in zip(rows, part.count.tolist(), part.location, strict=True):
            before, first = found.get(row, (0, prefix + location))
            found[row] = before + number, first
    ordered = sorted(found)
    columns = (as_text(column) for column in zip(*ordered, strict=True))
    reason, annotator, left, right, detail = columns
    count = np.array([found[row][0] for row in ordered], dtype=np.int64)
    location = as_text(found[row][1] for row in ordered)
    return Unfitted(annotator, left, right, reason, count, location, detail)


def _seconds(parts: Iterable[Judgments], annotators: TextArray) -> FloatArray | None:
    total, given = np.zeros(len(annotators)), np.zeros(len(annotators))
    for part in parts:
        if part.seconds is not None:
            seconds = aligned(part.seconds, part.annotator_ids, annotators)
            number = part.judgments_per_annotator.astype(np.float64)
            known = np.isfinite(seconds)
            number = np.where(known, aligned(number, part.annotator_ids, annotators), 0.0)
            total += number * np.where(known, seconds, 0.0)
            given += number
    if not given.any():
        return None
    return np.where(given > 0.0, total / np.maximum(given, 1.0), np.nan)
