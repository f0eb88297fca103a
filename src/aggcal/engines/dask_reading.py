"""Judgments in files that the workers of a cluster read: numbered and cut without a common memory.

Each function is one task of a cluster, and a pure one: what is lost can be made again from the
files. Parts are read with ids numbered among their own (1), what they say of themselves is merged
in a tree (2), all ids get their numbers (3), and each part is numbered anew (4) and cut between
annotators (5); a shard is made of its pieces of all parts (6).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, TextArray, constant, order_by, sums
from aggcal._core.tables import as_text
from aggcal.data.acts import not_recognised
from aggcal.data.base import Unfitted
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import codes_of
from aggcal.engines.base import Shard
from aggcal.engines.remote import (
    CONTEXT,
    GRADE,
    Piece,
    RowColumns,
    cuts,
    further_columns,
    nameless,
)
from aggcal.errors import FileError, InputError, OptionError, TooLittleDataError, count, printable
from aggcal.io.choices import Choices, categories_of, stated_scale
from aggcal.io.judgments import read_part
from aggcal.io.numbering import in_natural_order, is_without, without_note
from aggcal.io.parquet import refuse_partitions
from aggcal.io.saving import scratch_folder
from aggcal.io.sides import chosen_sides, no_sides
from aggcal.io.words import NAMES

if TYPE_CHECKING:
    from distributed import Future

    from aggcal.engines.dask import Dask

_BRANCHES = 8
"""Summaries that one task merges: more make the tree flatter and each task longer."""
_MOST_ASIDE = 10_000
"""Rows named in an error: all of them could fill the memory."""

Aside = dict[tuple[str, str, str, str, str], tuple[int, str]]
"""Rows that are not fitted: reason, annotator, left, right, detail; how many, and where."""


class ShardsOfFiles:
    """Makes shards of files; called again, it reads them again."""

    def __init__(
        self,
        engine: Dask,
        path: str,
        options: dict[str, Any],
        on_progress: Callable[[float], None] | None,
    ) -> None:
        self._engine, self._path = engine, path
        self._files, self._how = _files(path), _reading(options)
        self._on_progress = on_progress
        self.about: dict[str, Any]
        self._cut: IntArray | None = None

    def __call__(self) -> list[Future]:
        """Read the files on the workers, and cut their rows between annotators."""
        engine, submit = self._engine, self._engine.submit
        read = [submit(read_file, file, self._how) for file in self._files]
        level = [submit(summary, file, part) for file, part in zip(self._files, read, strict=True)]
        self._watch(level)
        while len(level) > 1:
            level = [
                submit(merged, level[k : k + _BRANCHES]) for k in range(0, len(level), _BRANCHES)
            ]
        names = submit(numbered, level[0], self._path, self._how.criterion)
        numbering: Numbering = names.result()
        self.about = numbering.about
        if self._cut is None:
            # Made once: shards that are made again must be those that were lost.
            number = engine.number_of_shards(int(numbering.rows.sum()))
            self._cut = cuts(numbering.rows, number)
        cut = self._cut
        ours = [submit(renumbered, part, names) for part in read]
        n, shards = len(numbering.about["item_ids"]), []
        homes = engine.homes(len(cut) - 1)
        for k in range(len(cut) - 1):
            first, last = int(cut[k]), int(cut[k + 1])
            mine = [submit(cut_out, part, first, last) for part in ours]
            sizes = n, last - first
            shards.append(submit(shard_of, mine, first, sizes, home=homes[k]))
        return shards

    def _watch(self, level: list[Future]) -> None:
        """Tell how many files are read, and stop at the first that cannot be."""
        from distributed import as_completed

        for done, future in enumerate(as_completed(level), 1):
            if future.status == "error":
                future.result()
            if self._on_progress is not None:
                self._on_progress(100.0 * done / len(level))


def _reading(options: dict[str, Any]) -> Reading:
    """Take the options of `read_judgments` that make sense for parts of a table."""
    given = dict(options)
    context, by = given.pop("context", None), given.pop("by", None) or ()
    if Choices(context=context).by_ranking:
        raise OptionError(
            f"the context '{context}' numbers rankings on one machine; name the column of another "
            "context, or choose the engine 'local'."
        )
    choices = Choices(
        given.pop("outcomes", None) or {},
        given.pop("columns", None) or {},
        given.pop("annotator", None),
        blank=given.pop("blank", None) or "skip",
        context=context,
        by=categories_of(by, given.get("criterion"), given.pop("criteria", None)),
        strength_scale=stated_scale(given.pop("strength_scale", None)),
    )
    found = Reading(choices, given.pop("format", None), given.pop("criterion", None))
    if given.pop("normalize_ids", False) or given.pop("aliases", None) is not None:
        raise OptionError(
            "ids are merged on one machine; write the judgments with 'aggcal convert' and "
            "--normalize-ids or --alias first, or choose the engine 'local'."
        )
    # What is left belongs to formats that are not read in parts; what is not set is not missed.
    usual = Choices({}, {})
    for name, value in given.items():
        if value is not None and value != getattr(usual, name, None):
            raise OptionError(
                f"{name} is for formats that are read on one machine; leave it out, or choose the "
                "engine 'local'."
            )
    return found


def _files(path: str) -> list[str]:
    """Return the files that a path stands for: a file, a folder of Parquet files, or a pattern.

    The path may be any that fsspec knows (``s3://...``), if what that takes is installed.
    """
    import fsspec

    try:
        system, inside = fsspec.core.url_to_fs(path)
        if system.isdir(inside):
            found = [f for f in system.find(inside) if f.endswith(".parquet")]
            if not found:
                raise FileError(
                    f"{path}: is a directory without Parquet files; give the file in it."
                )
            # Whether the files have the column, too, is known only where they are read.
            inner = [Path(file.removeprefix(inside).lstrip("/")) for file in found]
            refuse_partitions(inner, path, NAMES)
        elif system.exists(inside):
            found = [inside]
        elif any(sign in inside for sign in "*?["):
            found = system.glob(inside)
            if not found:
                raise FileError(f"{path}: no file has such a name; check the pattern.")
        else:
            raise FileError(f"{path}: no such file; check the path.")
        return sorted(_url(path, system, file) for file in found)
    except (ImportError, ValueError, OSError) as error:
        if isinstance(error, InputError):
            raise
        reason = str(error).split("\n", 1)[0]
        raise FileError(f"{path}: cannot be opened ({reason}); check the path.") from None


def _url(path: str, system: Any, file: str) -> str:
    """Write a file as the path was written: a plain path stays one."""
    return str(system.unstrip_protocol(file)) if "://" in path else file


# -------------------------------------------------------------------- tasks


@dataclass(frozen=True)
class Reading:
    """How parts are to be read; the names are those of `read_judgments`."""

    choices: Choices
    format: str | None
    criterion: str | None


def read_file(path: str, how: Reading) -> Judgments | None:
    """Read one file (1)."""
    import fsspec

    take = partial(
        read_part,
        choices=how.choices,
        format_name=how.format,
        criterion=how.criterion,
    )
    try:
        if "://" not in path:
            return take(path)
        with scratch_folder() as folder:
            copy = str(folder / Path(path).name)
            system, inside = fsspec.core.url_to_fs(path)
            system.get_file(inside, copy)
            try:
                return take(copy)
            except InputError as error:
                raise type(error)(str(error).replace(copy, path)) from None
    except OSError as error:
        raise FileError(
            f"{path}: a worker cannot read it ({error}); put the files where all workers can."
        ) from None


@dataclass(frozen=True)
class Summary:
    """What parts say of themselves: ids and counts, no rows."""

    item_ids: TextArray
    annotator_ids: TextArray
    rows: IntArray
    """Of each annotator."""
    timed: FloatArray
    """Of each annotator: the judgments whose time is known, times their median, and how many."""
    formats: frozenset[str] = frozenset()
    criteria: frozenset[str] = frozenset()
    notes: tuple[str, ...] | None = None
    """Those that all parts have."""
    sided: bool = True
    aside: Aside = field(default_factory=dict)
    duplicates: int = 0
    """Rows that repeat another one of their file in every column."""
    further: bool = False
    """Whether a file has columns besides those by which rows are merged. Equal rows of different
    files are then not called duplicates: they may differ in those."""
    graded: bool = False
    """Whether an outcome says how much better an item is."""
    parted: Mapping[str, TextArray] = field(default_factory=dict)
    """Ids of contexts and categories, by the names of `RowColumns`."""
    without: Mapping[str, int] = field(default_factory=dict)
    """How many judgments have none of them."""
    context_name: str = "context"
    chosen: tuple[int, int] = (0, 0)
    """Judgments for the left item and for the right one."""
    on_screens: bool = False
    """Whether a file says which judgments were made together."""


def summary(path: str, part: Judgments | None) -> Summary:
    """Say what a part holds (2)."""
    none: TextArray = np.empty(0, dtype=object)
    if part is None:
        return Summary(none, none, np.empty(0, dtype=np.int64), np.empty((2, 0)))
    unfitted, name = part.unfitted, Path(path).name
    columns = (unfitted.reason, unfitted.annotator, unfitted.left, unfitted.right, unfitted.detail)
    numbers = zip(
        unfitted.count.tolist(),
        (f"{location} of {name}" for location in unfitted.location),
        strict=True,
    )
    aside = dict(zip(zip(*columns, strict=True), numbers, strict=True))
    return Summary(
        part.item_ids,
        part.annotator_ids,
        sums(part.annotator, constant(1.0, len(part.annotator)), part.n_annotators).astype(
            np.int64
        ),
        _timed(part),
        frozenset([part.format]),
        frozenset(part.criteria),
        tuple(note for note in part.notes if not is_without(note)),
        part.sided,
        _shortened(aside),
        part.n_duplicates,
        part.duplicates is not None,
        part.grade is not None,
        _parted(part),
        {name: int(part.count[code < 0].sum()) for name, code in codes_of(part).items()},
        part.context_name,
        chosen_sides(part),
        part.screen is not None,
    )


def _parted(part: Judgments) -> dict[str, TextArray]:
    context = {} if part.context_ids is None else {CONTEXT: part.context_ids}
    return context | {f"by {name}": ids for name, ids in part.category_ids.items()}


def merged(parts: Sequence[Summary]) -> Summary:
    """Merge summaries (2)."""
    items = _different(part.item_ids for part in parts)
    annotators = _different(part.annotator_ids for part in parts)
    which = _positions(np.concatenate([part.annotator_ids for part in parts]), annotators)
    rows = sums(which, np.concatenate([part.rows for part in parts]), len(annotators))
    timed = np.hstack([part.timed for part in parts])
    aside: Aside = {}
    for row, (number, location) in chain.from_iterable(part.aside.items() for part in parts):
        before = aside.get(row, (0, location))
        aside[row] = before[0] + number, before[1]
    said = [part.notes for part in parts if part.notes is not None]
    common = None
    if said:
        common = tuple(note for note in said[0] if all(note in other for other in said))
    return Summary(
        items,
        annotators,
        rows.astype(np.int64),
        np.vstack([sums(which, row, len(annotators)) for row in timed]),
        frozenset().union(*(part.formats for part in parts)),
        frozenset().union(*(part.criteria for part in parts)),
        common,
        all(part.sided for part in parts),
        _shortened(aside),
        sum(part.duplicates for part in parts),
        any(part.further for part in parts),
        any(part.graded for part in parts),
        _united(parts),
        dict(sum((Counter(part.without) for part in parts), Counter())),
        next((part.context_name for part in parts if CONTEXT in part.parted), "context"),
        (sum(part.chosen[0] for part in parts), sum(part.chosen[1] for part in parts)),
        any(part.on_screens for part in parts),
    )


def _united(parts: Sequence[Summary]) -> dict[str, TextArray]:
    """Return all contexts and categories; a part without a row knows of none."""
    names = list(dict.fromkeys(name for part in parts for name in part.parted))
    return {name: _different(p.parted[name] for p in parts if name in p.parted) for name in names}


def _different(ids: Iterable[TextArray]) -> TextArray:
    """Return the different ids in the order of their text.

    Examples
    --------
    >>> _different([np.array(["b", "a"], dtype=object), np.array(["b"], dtype=object)])
    array(['a', 'b'], dtype=object)
    """
    # A set is many times faster than sorting what comes again and again in every part.
    return np.array(sorted(set(chain.from_iterable(part.tolist() for part in ids))), dtype=object)


def _positions(ids: TextArray, among: TextArray) -> CodeArray:
    """Return where each id is among others.

    Examples
    --------
    >>> _positions(np.array(["b", "b", "a"]), np.array(["a", "b"]))
    array([1, 1, 0], dtype=int32)
    """
    position = {text: k for k, text in enumerate(among.tolist())}
    return np.fromiter(map(position.__getitem__, ids.tolist()), dtype=np.int32, count=len(ids))


def _timed(part: Judgments) -> FloatArray:
    """Return the numbers from which the time that annotators took is averaged over files."""
    given = part.judgments_per_annotator.astype(np.float64)
    seconds = np.full(len(given), np.nan) if part.seconds is None else part.seconds
    known = np.isfinite(seconds)
    return np.vstack([np.where(known, given * seconds, 0.0), np.where(known, given, 0.0)])


def _shortened(aside: Aside) -> Aside:
    """Keep the names of the first rows that are not fitted, and the number of all."""
    if len(aside) <= _MOST_ASIDE:
        return aside
    ordered = sorted(aside)
    kept = {row: aside[row] for row in ordered[:_MOST_ASIDE]}
    rest: Counter[str] = Counter()
    for row in ordered[_MOST_ASIDE:]:
        rest[row[0]] += aside[row][0]
    for reason, number in rest.items():
        row = (reason, "", "", "", "not named one by one")
        kept[row] = kept.get(row, (0, ""))[0] + number, "further rows"
    return kept


@dataclass(frozen=True)
class Numbering:
    """The ids in the order of their numbers."""

    about: dict[str, Any]
    """What is known without the rows, by name (see `AnyJudgments.about`)."""
    rows: IntArray
    """Of each annotator."""
    graded: bool
    parted: Mapping[str, TextArray]
    """Contexts and categories in their order."""


def numbered(total: Summary, path: str, criterion: str | None) -> Numbering:
    """Give all ids their numbers (3)."""
    if len(total.formats) > 1:
        raise OptionError(
            f"{path}: its files look like different formats ({', '.join(sorted(total.formats))}); "
            "name the one to read with --format."
        )
    if criterion is not None and not total.criteria and len(total.item_ids) == 0:
        raise OptionError(f"{path}: no judgment has the criterion '{criterion}'.")
    unfitted = _unfitted(total.aside)
    if len(total.item_ids) < 2:  # noqa: PLR2004
        read = int(total.rows.sum() + unfitted.count.sum())
        raise TooLittleDataError(
            f"{path}: fewer than two items have a judgment that can be fitted "
            f"({count(read, 'row')} read); add judgments between different items."
        )
    items, annotators = (
        as_text(in_natural_order(ids)) for ids in (total.item_ids, total.annotator_ids)
    )
    at = _positions(annotators, total.annotator_ids)
    parted = {name: as_text(in_natural_order(ids)) for name, ids in total.parted.items()}
    unsided = no_sides(*total.chosen) if total.sided else None
    about = {
        "item_ids": items,
        "annotator_ids": annotators,
        "unfitted": unfitted,
        "criteria": tuple(sorted(total.criteria)),
        "source": printable(Path(path).name),
        "seconds": _seconds(total.timed[:, at]),
        "sided": total.sided and unsided is None,
        "on_screens": total.on_screens,
        "format": next(iter(total.formats)),
        "notes": (
            *(total.notes or ()),
            *_without(total),
            *([unsided] if unsided else []),
            not_recognised("Dask"),
        ),
        "duplicates": total.duplicates if total.further else None,
        "context_ids": parted.get(CONTEXT),
        "context_name": total.context_name,
        "category_ids": {
            name.removeprefix("by "): ids for name, ids in parted.items() if name != CONTEXT
        },
    }
    return Numbering(
        about,
        total.rows[at],
        total.graded,
        parted,
    )


def _without(total: Summary) -> list[str]:
    """Say how many judgments have no context or category."""
    called = {name: name.removeprefix("by ") for name in total.parted}
    called |= {CONTEXT: total.context_name} if CONTEXT in called else {}
    return [
        without_note(number, called[name], context=name == CONTEXT)
        for name, number in total.without.items()
        if number
    ]


def _seconds(timed: FloatArray) -> FloatArray | None:
    """Return the mean of the files' medians, NaN where no file has one; the rows are elsewhere."""
    total, given = timed
    return np.where(given > 0.0, total / np.maximum(given, 1.0), np.nan) if given.any() else None


def _unfitted(aside: Aside) -> Unfitted:
    rows = sorted(aside)
    reason, who, left, right, detail = (
        np.array([row[k] for row in rows], dtype=object) for k in range(5)
    )
    numbers = np.array([aside[row][0] for row in rows], dtype=np.int64)
    locations = np.array([aside[row][1] for row in rows], dtype=object)
    return Unfitted(who, left, right, reason, numbers, locations, detail)


def renumbered(part: Judgments | None, names: Numbering) -> Piece | None:
    """Give the rows of a part the numbers that all parts share (4)."""
    if part is None or not len(part.count):
        return None
    items = _positions(part.item_ids, names.about["item_ids"])
    who = _positions(part.annotator_ids, names.about["annotator_ids"])
    # Both numberings follow the same order, so rows stay sorted by annotator.
    return Piece.of(
        RowColumns(
            who[part.annotator],
            items[part.left],
            items[part.right],
            part.outcome,
            part.weight,
            part.count,
            _further(part, names),
        )
    )


def _further(part: Judgments, names: Numbering) -> dict[str, np.ndarray]:
    """Return grades, and contexts and categories by the numbers that all parts share."""
    found, ids = {}, _parted(part)
    if names.graded:
        plain = np.sign(np.asarray(part.outcome) - 0.5).astype(np.int8)
        found[GRADE] = plain if part.grade is None else part.grade
    codes = further_columns(part)
    for name, every in names.parted.items():
        number = _positions(ids[name], every)
        code = codes[name]
        found[name] = np.where(code >= 0, np.append(number, np.int32(-1))[code], np.int32(-1))
    return found


def cut_out(part: Piece | None, first: int, last: int) -> Piece | None:
    """Return the rows of some annotators, who are then counted from 0 (5)."""
    if part is None:
        return None
    begin, end = np.searchsorted(part[0], np.array([first, last], dtype=np.int32))
    if begin == end:
        return None
    rest = (None if column is None else column[begin:end] for column in part[1:6])
    further = {name: column[begin:end] for name, column in part[6].items()}
    return Piece((part[0][begin:end] - np.int32(first), *rest, further))


def joined(parts: Sequence[RowColumns]) -> RowColumns:
    """Put columns one after the other, sort them by annotator and items, and merge equal rows."""
    if len(parts) == 1:
        return parts[0]
    names = list(parts[0].further)
    columns = [np.concatenate(column) for column in zip(*(p[:6] for p in parts), strict=True)]
    further = [np.concatenate([part.further[name] for part in parts]) for name in names]
    *codes, outcome, weight, times = columns
    which = np.unique(outcome, return_inverse=True)[1]
    order = order_by([*codes, which, *further])
    keys = [column[order] for column in (*codes, outcome, *further)]
    new = np.ones(len(order), dtype=bool)
    new[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    first = np.flatnonzero(new)
    rows = [key[first] for key in keys]
    added = (np.add.reduceat(column[order], first) for column in (weight, times))
    kept = dict(zip(names, rows[4:], strict=True))
    whole: list[Any] = [*rows[:4], *added]
    merged = Piece.of(RowColumns(*whole)._replace(further=kept))
    return merged.columns()


def shard_of(parts: Sequence[Piece | None], first: int, sizes: tuple[int, int]) -> Shard:
    """Make a shard of its pieces; rows that are equal are merged (6).

    ``sizes`` are the numbers of all items and of its annotators.
    """
    columns = joined([part.columns() for part in parts if part is not None])
    return Shard(nameless(columns, *sizes), first)
