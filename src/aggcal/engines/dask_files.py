"""Judgments in files that the workers of a cluster read: cut by annotator, then numbered.

Each function is one task of a cluster, and a pure one: what is lost is made again from the files.
A file becomes a part (1), of which it is known who judged how often (2); its rows are cut between
annotators (3). The rows of some annotators in all files are numbered as on one machine (4), and
weighed if acts depend (5); what is known without the rows is united (6), and with the numbers that
all share they are a shard (7).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from inspect import signature
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from aggcal._core.arrays import CodeArray, IntArray, TextArray
from aggcal._core.tables import as_text
from aggcal.data.acts import Acts, Sample, Size, not_recognised
from aggcal.data.base import Unfitted
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import codes_of
from aggcal.engines.base import Shard
from aggcal.engines.remote import about_rows, cuts, nameless
from aggcal.errors import (
    FileError,
    InputError,
    OptionError,
    TooLittleDataError,
    count,
    option,
    printable,
)
from aggcal.io import read_judgments
from aggcal.io.choices import Choices, categories_of, stated_scale
from aggcal.io.columns import Column
from aggcal.io.judgments import read_part
from aggcal.io.naming import Part
from aggcal.io.numbering import in_natural_order, numbered, without_note
from aggcal.io.parquet import refuse_partitions
from aggcal.io.saving import scratch_folder
from aggcal.io.sides import chosen_sides, no_sides
from aggcal.io.words import NAMES

if TYPE_CHECKING:
    from distributed import Future

    from aggcal.engines.dask import Dask

_OF_FILES = ("outcomes", "columns", "annotator", "blank", "context", "strict")
"""Options of `read_judgments` that are as good for one file of many, as they are."""
_TOGETHER = {"format", "criterion", "by", "strength_scale"}
"""Further ones."""


class Reading(NamedTuple):
    """How files are to be read."""

    path: str
    choices: Choices
    format: str | None
    criterion: str | None


class ShardsOfFiles:
    """Makes shards of files; called again, it reads them again."""

    def __init__(
        self,
        engine: Dask,
        path: str,
        options: dict[str, Any],
        on_progress: Callable[[float], None] | None,
    ) -> None:
        self._engine, self._on_progress = engine, on_progress
        self._files, self._how = _files(path), _reading(path, options)
        self.about: dict[str, Any]
        self._cut: IntArray | None = None

    def __call__(self) -> list[Future]:
        """Read the files on the workers, and cut their rows between annotators."""
        from distributed import as_completed

        engine, submit, how = self._engine, self._engine.submit, self._how
        parts = [submit(read_file, file, how) for file in self._files]
        counted = [submit(census_of, part) for part in parts]
        for done, file in enumerate(as_completed(counted), 1):
            file.result()  # what cannot be read is told at once
            if self._on_progress is not None:
                self._on_progress(100.0 * done / len(counted))
        whose = submit(added_up, counted, how)
        rows = np.array([*whose.result().rows.values()], dtype=np.int64)
        if self._cut is None:
            # Made once: shards that are made again must be those that were lost.
            self._cut = cuts(rows, engine.number_of_shards(int(rows.sum())))
        judgments, homes = [], engine.homes(len(self._cut) - 1)
        for home, first, last in zip(homes, self._cut, self._cut[1:], strict=False):
            mine = [submit(cut_out, part, whose, int(first), int(last)) for part in parts]
            judgments.append(submit(judgments_of, mine, how, home=home))
        said = submit(acts_said, [submit(acts_of, each) for each in judgments], whose)
        judgments = [submit(weighed, each, said) for each in judgments]
        numbers = submit(united, [submit(head_of, each) for each in judgments], whose, said, how)
        self.about, _, firsts, _ = numbers.result()
        return [
            submit(shard_of, each, numbers, k, home=home)
            for k, (each, home) in enumerate(zip(judgments, homes, strict=True))
            if firsts[k + 1] > firsts[k]
        ]


def _reading(path: str, options: Mapping[str, Any]) -> Reading:
    """Take the options of `read_judgments` that make sense for parts of a table."""
    usual = {name: each.default for name, each in signature(read_judgments).parameters.items()}
    asked = {name: value for name, value in options.items() if value not in (None, usual[name])}
    for name in asked.keys() - {*_OF_FILES, *_TOGETHER}:
        why, instead = "is for formats that are read on one machine; leave it out", ""
        if name in ("aliases", "normalize_ids"):
            why = "merges ids on one machine; write the judgments with 'aggcal convert' and "
            instead = f"{option('normalize-ids')} or {option('alias')} first"
        raise OptionError(f"{name} {why}{instead}, or choose the engine 'local'.")
    criterion = asked.get("criterion")
    choices = Choices(
        **{name: asked[name] for name in _OF_FILES if name in asked},
        by=categories_of(asked.get("by", ()), criterion),
        strength_scale=stated_scale(asked.get("strength_scale")),
    )
    if choices.by_ranking:
        raise OptionError(
            f"the context '{choices.context}' numbers rankings on one machine; name the column of "
            "another context, or choose the engine 'local'."
        )
    return Reading(path, choices, asked.get("format"), criterion)


def _files(path: str) -> list[str]:
    """Return the files that a path stands for: a file, a folder of Parquet files, or a pattern.

    The path may be any that fsspec knows (``s3://...``), if what that takes is installed.
    """
    import fsspec

    try:
        system, inside = fsspec.core.url_to_fs(path)
        if system.isdir(inside):
            found = [f for f in system.find(inside) if f.endswith(".parquet")]
            # Whether the files have the column, too, is known only where they are read.
            inner = [Path(file.removeprefix(inside).lstrip("/")) for file in found]
            refuse_partitions(inner, path, NAMES)
            nothing = "is a directory without Parquet files; give the file in it"
        else:
            found = [inside] if system.exists(inside) else system.glob(inside)
            nothing = "no such file; check the path"
    except (ImportError, ValueError, OSError) as error:
        if isinstance(error, InputError):
            raise
        reason = str(error).split("\n", 1)[0]
        raise FileError(f"{path}: cannot be opened ({reason}); check the path.") from None
    if not found:
        raise FileError(f"{path}: {nothing}.")
    # A plain path stays one.
    return sorted(str(system.unstrip_protocol(f)) if "://" in path else f for f in found)


# -------------------------------------------------------------------- tasks


def read_file(path: str, how: Reading) -> Part | None:
    """Read one file (1)."""
    import fsspec

    try:
        if "://" not in path:
            return read_part(path, how.choices, how.format)
        with scratch_folder() as folder:
            copy = str(folder / Path(path).name)
            system, inside = fsspec.core.url_to_fs(path)
            system.get_file(inside, copy)
            try:
                return read_part(copy, how.choices, how.format)
            except InputError as error:
                raise type(error)(str(error).replace(copy, path)) from None
    except OSError as error:
        raise FileError(
            f"{path}: a worker cannot read it ({error}); put the files where all workers can."
        ) from None


class Census(NamedTuple):
    """Who judged how often, and what is said of all rows."""

    rows: dict[str, int]
    notes: tuple[str, ...]
    formats: frozenset[str]
    weighted: bool
    ranked: bool
    """Whether they name the ranking that they are of."""


def census_of(part: Part | None) -> Census | None:
    """Count the rows of each annotator in one file (2)."""
    if part is None:
        return None
    who = part.columns["annotator"]
    rows = dict(zip(who.texts, who.times().tolist(), strict=True))
    formats, ranked = frozenset([part.form.name]), "ranking" in part.columns
    return Census(rows, tuple(part.notes), formats, "weight" in part.numbers, ranked)


def added_up(parts: Sequence[Census | None], how: Reading) -> Census:
    """Add up the counts of all files, annotators in their order (2)."""
    every = [part for part in parts if part is not None]
    if not every:
        raise TooLittleDataError(f"{how.path}: holds no judgment; add some.")
    formats = frozenset().union(*(part.formats for part in every))
    if len(formats) > 1:
        raise OptionError(
            f"{how.path}: its files look like different formats ({', '.join(sorted(formats))}); "
            f"name the one to read with {option('format')}."
        )
    total: Counter[str] = Counter()
    for part in every:
        total.update(part.rows)
    common = [note for note in every[0].notes if all(note in part.notes for part in every)]
    rows = {who: total[who] for who in in_natural_order(total)}
    weighted, ranked = any(part.weighted for part in every), all(part.ranked for part in every)
    return Census(rows, tuple(common), formats, weighted, ranked)


def cut_out(part: Part | None, census: Census, first: int, last: int) -> Part | None:
    """Return the rows of some annotators (3); those that name none are with the first."""
    if part is None:
        return None
    who = part.columns["annotator"].within([*census.rows])
    return part.rows(np.flatnonzero((who < last) & (who >= (first or -1))))


def judgments_of(parts: Sequence[Part | None], how: Reading) -> Judgments:
    """Return the judgments of some annotators, numbered as on one machine (4)."""
    some = [part for part in parts if part is not None]
    return numbered(some, how.choices, how.path, criterion=how.criterion, some=True)


class SomeActs(NamedTuple):
    """Acts of some annotators: how many, as how many answers they count, and rows of some."""

    size: Size
    answers: float
    sample: Sample


def acts_of(part: Judgments) -> SomeActs | None:
    """Return the acts that are named, if any holds several items (5)."""
    if part.screen is None:
        return None
    acts, rows = Acts.named(part)
    if acts.size is None:
        return None
    act, who, pair, won = acts.sample(rows)
    sample = Sample(act, part.annotator_ids[who], part.item_ids[pair], won)  # as all call them
    return SomeActs(acts.size, float(acts.weights()[acts.several].sum()), sample)


def acts_said(parts: Sequence[SomeActs | None], census: Census) -> str | None:
    """Say as how many answers acts count; None if each of their pairs counts (5)."""
    some = [part for part in parts if part is not None]
    if census.weighted or not some:
        return None
    firsts = np.cumsum([0, *(part.sample.act.max(initial=-1) + 1 for part in some)])
    each, who, items, won = zip(*(part.sample for part in some), strict=True)
    act = np.concatenate([own + first for own, first in zip(each, firsts, strict=False)])
    sample = Sample(act, np.concatenate(who), np.concatenate(items, axis=1), np.concatenate(won))
    if not census.ranked and not sample.depend():
        return None
    acts, pairs, least, most = zip(*(part.size for part in some), strict=True)
    size = Size(sum(acts), sum(pairs), min(least), max(most))
    return size.note(sum(part.answers for part in some))


def weighed(part: Judgments, said: str | None) -> Judgments:
    """Return judgments whose acts weigh what they tell, if that is so (5)."""
    if said is None or part.screen is None:
        return part
    return Acts.named(part)[0].weighing(part, np.arange(part.n_judgments))


class Head(NamedTuple):
    """What is known of the judgments of some annotators without their rows."""

    about: dict[str, Any]
    judgments: int
    chosen: tuple[int, int]
    """Judgments for the left item and for the right one."""
    without: dict[str, int]
    """How many have none of the contexts and categories, by the names of `codes_of`."""
    columns: frozenset[str]
    """Which columns there are that need not be."""


def head_of(part: Judgments) -> Head:
    """Return what is known of a part without its rows (6)."""
    without = {name: int(part.count[code < 0].sum()) for name, code in codes_of(part).items()}
    optional = ("grade", "screen", "screen_weight")
    columns = frozenset(name for name in optional if getattr(part, name) is not None)
    return Head(about_rows(part), part.n_judgments, chosen_sides(part), without, columns)


class Numbers(NamedTuple):
    """What all judgments number alike."""

    about: dict[str, Any]
    """What is known without the rows, by name (see `AnyJudgments.about`)."""
    columns: frozenset[str]
    annotators: list[int]
    """Of each part, the number of its first annotator; last, how many there are."""
    judgments: list[int]
    """The same of its first judgment."""


def united(heads: Sequence[Head], census: Census, said: str | None, how: Reading) -> Numbers:
    """Unite what parts know, and give all ids their numbers (6)."""
    known = [head.about for head in heads]

    def every(ids: list[TextArray]) -> TextArray:
        return as_text(in_natural_order(chain.from_iterable(ids)))

    items, chosen = every([each["item_ids"] for each in known]), [head.chosen for head in heads]
    criteria = {name for each in known for name in each["criteria"]}
    aside = [np.concatenate([getattr(each["unfitted"], part.name) for each in known])
             for part in fields(Unfitted)]  # fmt: skip
    unfitted, read = Unfitted(*aside), sum(head.judgments for head in heads)
    if how.criterion is not None and not criteria and not read:
        raise OptionError(f"{how.path}: no judgment has the criterion '{how.criterion}'.")
    if len(items) < 2:  # noqa: PLR2004
        raise TooLittleDataError(
            f"{how.path}: fewer than two items have a judgment that can be fitted "
            f"({count(read + int(unfitted.count.sum()), 'row')} read); add judgments between "
            "different items."
        )
    contexts = [each["context_ids"] for each in known if each["context_ids"] is not None]
    sided = all(each["sided"] for each in known)
    unsided = no_sides(*map(sum, zip(*chosen, strict=True))) if sided else None
    duplicates = [each["duplicates"] for each in known if each["duplicates"] is not None]
    seconds = [np.full(len(each["annotator_ids"]), np.nan)
               if each["seconds"] is None else each["seconds"] for each in known]  # fmt: skip
    about = known[0] | {
        "item_ids": items,
        "annotator_ids": np.concatenate([each["annotator_ids"] for each in known]),
        "unfitted": unfitted,
        "criteria": tuple(sorted(criteria)),
        "source": printable(Path(how.path).name),
        "seconds": None if np.isnan(np.concatenate(seconds)).all() else np.concatenate(seconds),
        "sided": sided and unsided is None,
        "notes": (
            *census.notes,
            *_without(heads, known[0]["context_name"]),
            *([unsided] if unsided else []),
            said or not_recognised("Dask"),
        ),
        "duplicates": sum(duplicates) if duplicates else None,
        "context_ids": every(contexts) if contexts else None,
        "category_ids": {
            name: every([each["category_ids"][name] for each in known])
            for name in known[0]["category_ids"]
        },
    }
    sizes = [[len(each["annotator_ids"]) for each in known], [head.judgments for head in heads]]
    firsts = [np.cumsum([0, *each]).tolist() for each in sizes]
    return Numbers(about, frozenset().union(*(head.columns for head in heads)), *firsts)


def _without(heads: Sequence[Head], context: str) -> list[str]:
    """Say how many judgments have no context or category."""
    return [
        without_note(
            number,
            context if name == "context" else name.removeprefix("by "),
            context=name == "context",
        )
        for name in heads[0].without
        if (number := sum(head.without[name] for head in heads))
    ]


def shard_of(part: Judgments, numbers: Numbers, k: int) -> Shard:
    """Make a shard of part ``k``, by the numbers that all parts share (7)."""
    about, n = numbers.about, part.n_judgments
    rows = part.take(slice(0, len(part.count)))
    items = _places(part.item_ids, about["item_ids"])
    # Both numberings follow the same order, so rows stay sorted.
    rows |= {"left": items[part.left], "right": items[part.right]}
    if part.context is not None and part.context_ids is not None:
        rows["context"] = _places(part.context_ids, about["context_ids"])[part.context]
    rows["categories"] = tuple(
        replace(each, code=_places(each.ids, about["category_ids"][each.name])[each.code])
        for each in part.categories
    )
    if "grade" in numbers.columns and part.grade is None:
        rows["grade"] = np.sign(part.outcome - 0.5).astype(np.int8)
    if "screen" in numbers.columns:
        own = np.arange(n) if part.screen is None else part.screen
        rows["screen"] = own + numbers.judgments[k]
    if "screen_weight" in numbers.columns and part.screen_weight is None:
        rows["screen_weight"] = np.repeat(part.weight / part.count, part.count)
    return Shard(nameless(rows, len(about["item_ids"]), part.n_annotators), numbers.annotators[k])


def _places(ids: TextArray, among: TextArray) -> CodeArray:
    """Return where each id is among others; last, −1 for none."""
    every = np.append(np.arange(len(ids), dtype=np.int32), np.int32(-1))
    return np.asarray(Column(ids.tolist(), every).within(among.tolist()), dtype=np.int32)
