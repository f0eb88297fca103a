"""Shards of judgments in files, which the workers of a cluster read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from aggcal._core.arrays import IntArray
from aggcal.engines import dask_tasks
from aggcal.engines.dask_pieces import cut_out
from aggcal.engines.remote import cuts
from aggcal.errors import FileError, InputError, OptionError
from aggcal.io.formats._base import Choices
from aggcal.io.formats._parting import OF_A_RANKING, categories_of
from aggcal.io.formats._steps import stated_scale
from aggcal.io.known_columns import KnownColumns
from aggcal.io.tables.parquet import refuse_partitions

if TYPE_CHECKING:
    from distributed import Future

    from aggcal.engines.dask import Dask

BRANCHES = 8
"""Answers that one task adds up: more make the tree of sums flatter and each task longer."""


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
        read = [submit(dask_tasks.read, file, self._how) for file in self._files]
        level = [
            submit(dask_tasks.summary, file, part)
            for file, part in zip(self._files, read, strict=True)
        ]
        self._watch(level)
        while len(level) > 1:
            level = [
                submit(dask_tasks.merged, level[k : k + BRANCHES])
                for k in range(0, len(level), BRANCHES)
            ]
        names = submit(dask_tasks.numbered, level[0], self._path, self._how.criterion)
        numbering: dask_tasks.Numbering = names.result()
        self.about = numbering.about
        if self._cut is None:
            # Made once: shards that are made again must be those that were lost.
            number = engine.number_of_shards(int(numbering.rows.sum()))
            self._cut = cuts(numbering.rows, number)
        cut = self._cut
        ours = [submit(dask_tasks.renumbered, part, names) for part in read]
        n, shards = len(numbering.about["item_ids"]), []
        homes = engine.homes(len(cut) - 1)
        for k in range(len(cut) - 1):
            first, last = int(cut[k]), int(cut[k + 1])
            mine = [submit(cut_out, part, first, last) for part in ours]
            sizes = n, last - first
            shards.append(submit(dask_tasks.shard_of, mine, first, sizes, home=homes[k]))
        return shards

    def _watch(self, level: list[Future]) -> None:
        """Tell how many files are read, and stop at the first that cannot be."""
        from distributed import as_completed

        for done, future in enumerate(as_completed(level), 1):
            if future.status == "error":
                future.result()
            if self._on_progress is not None:
                self._on_progress(100.0 * done / len(level))


def _reading(options: dict[str, Any]) -> dask_tasks.Reading:
    """Take the options of `read_judgments` that make sense for parts of a table."""
    given = dict(options)
    context, by = given.pop("context", None), given.pop("by", None) or ()
    if context is not None and context.strip().lower() in OF_A_RANKING:
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
    how = partial(dask_tasks.Reading, choices, threads=1)
    found = how(
        format=given.pop("format", None),
        criterion=given.pop("criterion", None),
        memory=given.pop("memory", None),
    )
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
            inner = (file.removeprefix(inside) for file in found)
            refuse_partitions(inner, path, KnownColumns())
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
